//! Commits for people: their ids in short, and what they are at a glance.
//!
//! What a commit is about is the engine's to say.

use stemmata_engine::Engine;
use stemmata_model::{Closure, Commit, CommitId, CommitType, IdKind, shortest_unique};

use crate::errors::CliError;
use crate::output::style::Style;

/// Ids of one output that are checked against the whole store; beyond, they are only told apart from each other.
const CHECKED_IDS_MAX: usize = 256;

/// How ids of one output are cut: to one length, at which each names one commit of the store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShortIds {
    chars: usize,
}

impl ShortIds {
    /// Finds the shortest length that is enough for all of `ids`.
    pub(crate) fn of(engine: &Engine, ids: &[CommitId]) -> Result<Self, CliError> {
        let mut chars = shortest_unique(ids);
        for id in ids.iter().take(CHECKED_IDS_MAX) {
            while let Ok(prefix) = id.short(chars).parse()
                && engine.store().commits_in(prefix, 2)?.len() > 1
            {
                chars += 1;
            }
        }
        Ok(Self { chars })
    }

    /// Returns how ids are cut, as the service says it.
    pub(crate) fn at(chars: u64) -> Self {
        Self { chars: usize::try_from(chars).unwrap_or(usize::MAX) }
    }

    /// Returns an id in short.
    pub(crate) fn text(self, id: CommitId) -> String {
        id.short(self.chars)
    }

    /// Returns a whole id of a response in short.
    pub(crate) fn cut(self, id: &str) -> String {
        id.chars().take(IdKind::Commit.tag().len().saturating_add(self.chars)).collect()
    }

    /// Returns an id in short, styled.
    pub(crate) fn shown(self, id: CommitId) -> String {
        Style::Id.paint(&self.text(id))
    }
}

/// Returns the mark of a commit: what it is at a glance.
pub(crate) const fn mark(commit: &Commit) -> (&'static str, Style) {
    match (commit.core.commit_type, commit.closure) {
        (_, Closure::Forgotten) => ("✕", Style::Open),
        (CommitType::Compaction, _) => ("◆", Style::Compaction),
        (CommitType::Snapshot { .. }, _) => ("■", Style::Compaction),
        (CommitType::Delta, Closure::Provisional) => ("○", Style::Open),
        (CommitType::Delta, Closure::Closed | Closure::Covered) => ("●", Style::Plain),
    }
}

/// Returns the ids of commits.
pub(crate) fn ids_of(commits: &[Commit]) -> Vec<CommitId> {
    commits.iter().map(|commit| commit.id).collect()
}
