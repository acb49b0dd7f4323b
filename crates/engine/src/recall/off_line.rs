//! Branches that a session left: commits that follow one of its line and are not on it themselves.
//! Not what else the project holds: a session of its own root is nobody's branch.

use std::collections::{HashMap, HashSet};

use stemmata_model::CommitId;
use stemmata_store::SessionKey;

use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::Result;

/// Commits of the line that are known, the newest.
const LINE_MAX: usize = 10_000;

/// Commits that are walked in one search for branches.
const WALKED_MAX: usize = 16_384;

/// The branches off a line.
pub(super) struct OffLine<'e> {
    engine: &'e Engine,
    head: CommitId,
    line: Option<HashSet<CommitId>>,
    known: HashMap<CommitId, bool>,
    walked: usize,
    /// Whether a chain was too long to follow.
    pub(super) is_cut: bool,
}

impl<'e> OffLine<'e> {
    /// Begins with nothing read.
    pub(super) fn new(engine: &'e Engine, head: CommitId) -> Self {
        Self { engine, head, line: None, known: HashMap::new(), walked: 0, is_cut: false }
    }

    /// Says whether a commit follows one of the line and is not on it. One whose chain is too long to follow may be.
    pub(super) fn has(&mut self, ctx: CommitId) -> Result<bool> {
        let line = match self.line.take() {
            Some(line) => line,
            None => self.read_line()?,
        };
        let is_off = self.follows(ctx, &line);
        self.line = Some(line);
        is_off
    }

    /// Says whether a session that came in turns went on from the line to somewhere else. What it recorded beside its turns is
    /// then left to the line's memory, which knows how far it was on the line.
    pub(super) fn left(&mut self, session: &str) -> Result<bool> {
        let key =
            SessionKey { machine: self.engine.identity.machine.clone(), path: format!("api:{session}") };
        let tip = self.engine.store.session(&key)?.and_then(|session| session.tip);
        tip.map_or(Ok(false), |tip| self.has(tip))
    }

    fn read_line(&self) -> Result<HashSet<CommitId>> {
        let mut line = HashSet::new();
        let mut walk = Walk::new(self.engine.store.as_ref(), Some(self.head));
        while let Some(commit) = walk.next()? {
            line.insert(commit.id);
            if line.len() >= LINE_MAX {
                break;
            }
        }
        Ok(line)
    }

    fn follows(&mut self, ctx: CommitId, line: &HashSet<CommitId>) -> Result<bool> {
        if line.contains(&ctx) {
            return Ok(false);
        }
        let mut walk = Walk::new(self.engine.store.as_ref(), Some(ctx));
        let mut passed = Vec::new();
        let is_off = loop {
            if self.walked >= WALKED_MAX {
                self.is_cut = true;
                break true;
            }
            let Some(commit) = walk.next()? else { break false };
            self.walked += 1;
            if line.contains(&commit.id) {
                break true;
            }
            if let Some(known) = self.known.get(&commit.id) {
                break *known;
            }
            passed.push(commit.id);
        };
        self.known.extend(passed.into_iter().map(|passed| (passed, is_off)));
        Ok(is_off)
    }
}
