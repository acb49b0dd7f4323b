//! A subagent's conversation, placed as a session of its own: its client opens no session whose records are all marked.

use super::super::apart::apart;
use super::super::record::Record;
use crate::json::{Field, text, without};
use crate::placing::replace;

/// Records that decide by themselves whether a conversation is a subagent's. Older clients wrote subagents into the file of the
/// session, and there one may stand before the session's own first record.
const DECIDING_RECORDS: usize = 64;

/// What the placer does with the mark of subagents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// So many marked records of the tree came first, and no other one.
    Undecided(usize),
    /// It stays: the conversation is a session's own.
    Keep,
    /// It goes, and with it the name of the agent.
    Remove,
}

impl Mark {
    /// Returns whether more records have to be seen.
    pub(super) const fn is_undecided(self) -> bool {
        matches!(self, Self::Undecided(_))
    }

    /// Returns what is done when this line is the next.
    pub(super) fn with_line(self, line: &[u8]) -> Self {
        if let Ok(record) = Record::parse(line) {
            return self.with(&record);
        }
        let records = apart(line, false).into_iter().filter_map(|part| part.record);
        records.fold(self, |mark, text| match Record::parse(text.as_bytes()) {
            Ok(record) => mark.with(&record),
            Err(_) => mark,
        })
    }

    fn with(self, record: &Record<'_>) -> Self {
        match self {
            Self::Undecided(_) if text(record.uuid).is_none() => self,
            Self::Undecided(_) if !record.is_sidechain_record() => Self::Keep,
            Self::Undecided(marked) if marked + 1 < DECIDING_RECORDS => Self::Undecided(marked + 1),
            Self::Undecided(_) => Self::Remove,
            decided => decided,
        }
    }

    /// Returns what is done if no more records are seen.
    pub(super) const fn decided(self) -> Self {
        match self {
            Self::Undecided(0) => Self::Keep,
            Self::Undecided(_) => Self::Remove,
            decided => decided,
        }
    }
}

/// Returns a subagent's line as one of a session of its own.
pub(super) fn unmarked(line: &str, record: &Record<'_>) -> Vec<u8> {
    let mut edits = Vec::new();
    if let Some(mark) = record.is_sidechain.filter(|_| record.is_sidechain_record()) {
        edits.push((mark.span(), "false".to_owned()));
    }
    edits.extend(without(Field::whole(line), "agentId").map(|span| (span, String::new())));
    let mut unmarked = Vec::with_capacity(line.len());
    replace(line.as_bytes(), edits, &mut unmarked);
    unmarked
}
