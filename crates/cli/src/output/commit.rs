//! Commits for people: their ids in short, and what they are at a glance.
//!
//! What a commit is about is the engine's to say.

use stemmata_api::v1::Commit;
use stemmata_engine::Engine;
use stemmata_model::{CommitId, IdKind, shortest_unique};

use crate::errors::CliError;
use crate::output::style::{Style, tame};
use crate::output::table::fit;

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

    /// Returns a whole id of a response in short, styled.
    pub(crate) fn painted(self, id: &str) -> String {
        Style::Id.paint(&self.cut(id))
    }

    /// Returns an id in short, styled.
    pub(crate) fn shown(self, id: CommitId) -> String {
        Style::Id.paint(&self.text(id))
    }
}

/// Returns the mark of a commit: what it is at a glance.
pub(crate) fn mark(commit: &Commit) -> (&'static str, Style) {
    match (commit.commit_type.as_str(), commit.closure.as_str()) {
        (_, "forgotten") => ("✕", Style::Open),
        ("compaction", _) => ("◆", Style::Compaction),
        ("snapshot", _) => ("■", Style::Compaction),
        (_, "provisional") => ("○", Style::Open),
        (_, _) => ("●", Style::Plain),
    }
}

/// Returns the names that people gave to a commit, each of at most so many columns.
pub(crate) fn names(commit: &Commit, width: usize) -> Vec<(Style, String)> {
    let tags = commit.tags.iter().map(|tag| (Style::Branch, format!("#{}", fit(&tame(tag), width))));
    tags.chain(commit.pinned.then(|| (Style::Faint, "pinned".to_owned()))).collect()
}
