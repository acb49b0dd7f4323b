//! Commits for people: their ids in short, and what they are at a glance.
//!
//! What a commit is about is the engine's to say.

use stemmata_api::v1::{Commit, CommitType};
use stemmata_model::{Closure, CommitId};

use crate::output::style::{Style, tame};
use crate::output::table::fit;

/// How ids of one output are cut: to one length, at which each names one commit of the store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShortIds {
    chars: usize,
}

impl ShortIds {
    /// Returns how ids are cut, as the service says it.
    pub(crate) fn at(chars: u64) -> Self {
        Self { chars: usize::try_from(chars).unwrap_or(usize::MAX) }
    }

    /// Returns a whole id of a response in short.
    pub(crate) fn cut(self, id: CommitId) -> String {
        id.short(self.chars)
    }

    /// Returns a whole id of a response in short, styled.
    pub(crate) fn painted(self, id: CommitId) -> String {
        Style::Id.paint(&self.cut(id))
    }
}

/// Returns the mark of a commit: what it is at a glance.
pub(crate) fn mark(commit: &Commit) -> (&'static str, Style) {
    match (commit.commit_type, commit.closure) {
        (_, Closure::Forgotten) => ("✕", Style::Open),
        (CommitType::Compaction, _) => ("◆", Style::Compaction),
        (CommitType::Snapshot, _) => ("■", Style::Compaction),
        (CommitType::Delta, Closure::Provisional) => ("○", Style::Open),
        (CommitType::Delta, Closure::Closed | Closure::Covered) => ("●", Style::Plain),
    }
}

/// Returns the names that people gave to a commit, each of at most so many columns.
pub(crate) fn names(commit: &Commit, width: usize) -> Vec<(Style, String)> {
    let tags = commit.tags.iter().map(|tag| (Style::Branch, format!("#{}", fit(&tame(tag), width))));
    tags.chain(commit.pinned.then(|| (Style::Faint, "pinned".to_owned()))).collect()
}
