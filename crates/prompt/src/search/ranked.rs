//! What a search wants and what it finds: scored entries with the reasons for their scores.

use super::source::{Scope, Statistics};
use super::weights::Weights;

/// What is searched and how it is weighed.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a, S> {
    /// The segments, in any order: scores and order do not depend on it.
    pub segments: &'a [S],
    /// The size of all that is indexed.
    pub statistics: Statistics,
    /// What may be a hit.
    pub scope: Scope<'a>,
    /// The weights.
    pub weights: &'a Weights,
}

/// How much is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// How many entries are returned at most.
    pub hits: usize,
    /// How many entries the first stage hands to the second; `usize::MAX`: all that match.
    pub candidates: usize,
}

/// Fewer candidates lose hits: 50 lost none on the development questions, but these have few entries.
const CANDIDATES_MIN: usize = 200;
/// Candidates for each hit that is wanted.
const CANDIDATES_A_HIT: usize = 4;

impl Wanted {
    /// Returns what to ask for to get so many hits.
    pub fn hits(hits: usize) -> Self {
        Self { hits, candidates: hits.saturating_mul(CANDIDATES_A_HIT).max(CANDIDATES_MIN) }
    }
}

/// An entry that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    /// Its number.
    pub number: u32,
    /// Its key.
    pub key: u64,
    /// The minute since 1970 that it is ranked by, 0 without a time that can be right.
    pub minute: u32,
    /// Its score; comparable within one answer only.
    pub score: f32,
    /// Why: the sum of the amounts times the factors is the score.
    pub reasons: Vec<Reason>,
}

/// One reason for a score.
#[derive(Debug, Clone, PartialEq)]
pub struct Reason {
    /// What it is.
    pub name: ReasonName,
    /// What it adds or multiplies by, by [`ReasonName::is_amount`].
    pub value: f32,
    /// The words concerned, the rarest first; empty where there are none.
    pub text: String,
}

/// The kinds of reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum ReasonName {
    /// Words that the entry has itself.
    Words,
    /// Words of the entries around it.
    Near,
    /// It has most of the query's words itself, or all of them.
    Coverage,
    /// It is newer than others.
    Recent,
    /// It asks, and answers are wanted.
    Question,
    /// It is by the participant that the query names.
    Speaker,
    /// It has the phrase in quotes.
    Phrase,
    /// It has the file name.
    File,
    /// It is of a kind that counts more, or less.
    Kind,
}

impl ReasonName {
    /// Returns the name used in JSON output.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns whether the value is added to the score; the others multiply it.
    pub const fn is_amount(self) -> bool {
        matches!(self, Self::Words | Self::Near)
    }
}
