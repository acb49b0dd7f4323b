//! How far a scan of everything looked, as a text that the next one goes on from.

use std::fmt;
use std::str::FromStr;

use stemmata_model::{CommitId, EventSeq, LedgerId};

/// What stands for a whole ledger in the text of a place.
const WHOLE: &str = "end";

/// What stands behind a place in ledgers that are not in use.
const BESIDE: char = '~';

/// How far everything was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScanPlace {
    /// Up to a commit and with it.
    Commit(CommitId),
    /// All commits, and ledgers up to an event and with it.
    Event(LedgerId, EventSeq),
    /// All commits, and ledgers up to this one and with all of it.
    Ledger(LedgerId),
    /// All commits, all ledgers that are in use, and of those that are not up to there.
    Beside(Box<ScanPlace>),
}

impl fmt::Display for ScanPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Commit(commit) => write!(formatter, "{commit}"),
            Self::Event(ledger, seq) => write!(formatter, "{ledger}#{seq}"),
            Self::Ledger(ledger) => write!(formatter, "{ledger}#{WHOLE}"),
            Self::Beside(place) => write!(formatter, "{place}{BESIDE}"),
        }
    }
}

impl FromStr for ScanPlace {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let Some((ledger, place)) = text.rsplit_once('#') else {
            return text.parse().map(Self::Commit).map_err(|error| format!("{error}"));
        };
        if let Some(place) = place.strip_suffix(BESIDE) {
            return Ok(Self::Beside(Box::new(Self::in_ledger(ledger, place)?)));
        }
        Self::in_ledger(ledger, place)
    }
}

impl ScanPlace {
    fn in_ledger(ledger: &str, place: &str) -> std::result::Result<Self, String> {
        let ledger = LedgerId::new(ledger).map_err(|error| error.to_string())?;
        if place == WHOLE {
            return Ok(Self::Ledger(ledger));
        }
        let seq = place
            .parse()
            .map_err(|_| format!("`{place}` is neither the number of an event nor `{WHOLE}`"))?;
        Ok(Self::Event(ledger, seq))
    }
}
