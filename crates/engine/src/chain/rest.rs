//! What is left of a chain of which something was forgotten, read for the title that it gives.
//!
//! It is the title that an import of the remaining lines alone would give, whoever asks: a capture, whose splitter has read what
//! was forgotten too, or a bundle, whose sender may have kept a title made of it. Which commits were forgotten is the store's.

use stemmata_model::{Closure, CommitId, CommitType, Granularity};
use stemmata_runtimes::adapter::{Adapter, SessionFacts, Shape, Splitter};
use stemmata_store::SessionOrigin;

use crate::chain::segments::read_whole;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::Result;

/// A session's own commits, read as far as was asked for: each is read once, however often a long capture asks.
pub(crate) struct Rest {
    adapter: &'static dyn Adapter,
    splitter: Box<dyn Splitter>,
    /// The newest commit that was read; at the start the one that the session was placed from, which is not its own.
    through: Option<CommitId>,
}

impl Rest {
    pub(crate) fn of(adapter: &'static dyn Adapter, origin: SessionOrigin) -> Self {
        let through = match origin {
            SessionOrigin::Placed(from) => Some(from),
            SessionOrigin::Imported | SessionOrigin::Api => None,
        };
        Self { adapter, splitter: adapter.splitter(Granularity::Turn, None), through }
    }

    /// Goes on from a splitter's state behind a commit, which knows of what came before only what is left: forgetting clears the
    /// cursors of its sessions. Without this, each look at a long session would read all of it again.
    pub(crate) fn behind(
        adapter: &'static dyn Adapter,
        granularity: Granularity,
        state: &[u8],
        through: Option<CommitId>,
    ) -> Self {
        Self { adapter, splitter: adapter.splitter(granularity, Some(state)), through }
    }

    /// Reads the commits up to `tip` that were not forgotten, and returns what their lines say.
    ///
    /// # Errors
    /// Store errors.
    pub(crate) fn read_to(&mut self, engine: &Engine, tip: Option<CommitId>) -> Result<&SessionFacts> {
        let mut walk = Walk::new(engine.store.as_ref(), tip);
        let mut unread = Vec::new();
        while let Some(commit) = walk.next()? {
            if Some(commit.id) == self.through {
                break;
            }
            if commit.closure != Closure::Forgotten {
                unread.push((commit.core.commit_type, commit.core.native_artifact()));
            }
        }
        for (commit_type, artifact) in unread.into_iter().rev() {
            let bytes = read_whole(engine, artifact)?;
            match (self.adapter.shape(), commit_type) {
                (Shape::Lines, _) => {
                    // A last line without an end was not taken in by any splitter yet.
                    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
                    for line in lines.filter_map(|line| line.strip_suffix(b"\n")) {
                        self.splitter.line(line, &mut Vec::new());
                    }
                }
                // Each state stands for all of those before it.
                (Shape::Document, CommitType::Snapshot { .. }) => {
                    self.splitter = self.adapter.splitter(Granularity::Turn, None);
                    self.splitter.line(&bytes, &mut Vec::new());
                }
                (Shape::Document, CommitType::Delta | CommitType::Compaction) => {}
            }
        }
        self.through = tip.or(self.through);
        Ok(self.splitter.facts())
    }
}
