//! What an earlier reading of a transcript left, when it is read again from its start.
//!
//! Keeps what is to be met again and says what was not; comparing bytes is the reader's.

use stemmata_model::CommitId;

use crate::capture::cursor::Provisional;

/// The end of an earlier reading.
#[derive(Debug, Clone)]
pub(crate) struct Earlier {
    /// The newest closed commit then.
    tip: Option<CommitId>,
    /// The provisional commits on it that were not compared yet with what follows there now, oldest first.
    provisional: Vec<Provisional>,
    /// Whether the new chain went through `tip`.
    met: bool,
    /// The newest provisional commit on `tip` that what follows there now does not begin with.
    replaced: Option<CommitId>,
}

/// What an earlier reading gave and the new one does not go through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Left {
    /// The newest commit of it, which keeps all of it.
    pub newest: CommitId,
    /// The commit that a chain which shares nothing with it derives from.
    pub origin: CommitId,
    /// Whether the two chains may share nothing.
    pub may_be_apart: bool,
}

impl Earlier {
    pub(crate) const fn new(tip: Option<CommitId>, provisional: Vec<Provisional>) -> Self {
        Self { tip, provisional, met: false, replaced: None }
    }

    /// Takes the newest closed commit of the new chain, none before there is one.
    pub(crate) fn meet(&mut self, newest: Option<CommitId>) {
        self.met |= self.tip == newest;
    }

    /// Returns the provisional commits that what comes next is to be compared with: none before `tip` was met.
    pub(crate) fn unsure(&self) -> &[Provisional] {
        if self.met { &self.provisional } else { &[] }
    }

    /// Gives these up, to be compared.
    pub(crate) fn take_unsure(&mut self) -> Vec<Provisional> {
        if self.met { std::mem::take(&mut self.provisional) } else { Vec::new() }
    }

    /// Takes one that is not there any more; the last one counts.
    pub(crate) const fn replaced(&mut self, commit: CommitId) {
        self.replaced = Some(commit);
    }

    /// Returns whether all of the earlier reading was met or found missing.
    pub(crate) const fn is_settled(&self) -> bool {
        self.met && self.provisional.is_empty()
    }

    /// Returns what is not in the new chain, which is at its end.
    pub(crate) fn left(&self) -> Option<Left> {
        let open = self.provisional.last().map(|provisional| provisional.commit);
        if self.met {
            let newest = open.or(self.replaced)?;
            return Some(Left { newest, origin: newest, may_be_apart: self.tip.is_none() });
        }
        let newest = open.or(self.tip)?;
        Some(Left { newest, origin: self.tip.unwrap_or(newest), may_be_apart: true })
    }
}
