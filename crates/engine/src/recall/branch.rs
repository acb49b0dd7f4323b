//! Branches: what search found that is on another branch of what a session goes on from.
//!
//! A session that goes on from a context knows its chain. What was said and recorded after that chain was left, in the same
//! session or in one that went on from there, is not told; what has nothing to do with the chain is.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};

use stemmata_model::{Commit, CommitId, EventSeq, SessionId};
use stemmata_store::{SessionKey, StoreError};

use crate::chain::segments::read_whole;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{FormatUse, Result};
use crate::ledger::Line;

/// Commits of a chain that are followed at most. A branch that left deeper passes for something else.
const BRANCH_COMMITS_MAX: usize = 100_000;

/// Forks of forks that are followed at most.
const ORIGINS_MAX: usize = 16;

/// What a session that goes on from a context is a branch of.
pub(super) struct Branch<'e> {
    engine: &'e Engine,
    line: Line<'e>,
    /// The commits of its chain.
    chain: HashSet<CommitId>,
    /// The commit that the oldest chain begins with which this one goes back to; `None` for one that is gone. A fork within the
    /// first commit of a session begins a chain of its own: only the session's opening says what it goes on from.
    tree: Option<CommitId>,
    /// The commit that the session was forked within, and its entries up to there.
    cut: Option<(CommitId, HashSet<String>)>,
    /// Up to where the chain has what sessions said in the ledger.
    sessions: BTreeMap<SessionId, EventSeq>,
    /// The trees of commits that were followed.
    trees: RefCell<HashMap<CommitId, Option<CommitId>>>,
}

impl Engine {
    /// Returns what a session is a branch of.
    pub(super) fn branch<'e>(&'e self, line: Line<'e>) -> Result<Branch<'e>> {
        let tip = self.tip_in(&line, line.session)?;
        let sessions = match line.opening.head {
            Some(head) => self.sessions_on_chain(&line.ledger.id, head)?,
            None => BTreeMap::new(),
        };
        let (chain, cut, trees) = (HashSet::new(), self.cut_within(&line)?, RefCell::default());
        let mut branch = Branch { engine: self, line, chain, tree: None, cut, sessions, trees };
        let context = line.opening.ctx.map(|ctx| self.newest_of(ctx)).transpose()?;
        if let Some(from) = context.or(tip).or(line.opening.head) {
            branch.tree = branch.tree_of(from, 0)?;
        }
        self.follow(tip.or(line.opening.head), &mut |commit| branch.chain.insert(commit.id))?;
        Ok(branch)
    }

    /// Returns the commit that a session was forked within, and the entries of it that the session goes on from.
    fn cut_within(&self, line: &Line<'_>) -> Result<Option<(CommitId, HashSet<String>)>> {
        let opening = line.opening;
        let (Some(ctx), Some(head), Some(_)) = (opening.ctx, opening.head, &opening.at) else {
            return Ok(None);
        };
        let Some(head) = self.store.commit(head)? else { return Ok(None) };
        let mut cut = None;
        self.follow(Some(self.newest_of(ctx)?), &mut |commit| {
            if commit.id == head.id {
                return false;
            }
            if commit.core.parent == head.core.parent {
                cut = Some(commit.id);
            }
            cut.is_none()
        })?;
        let Some(cut) = cut else { return Ok(None) };
        let bytes = read_whole(self, head.core.native_artifact())?;
        let entries = Self::adapter(&head.core.format, FormatUse::Read)?.decode(&bytes).entries;
        Ok(Some((cut, entries.iter().map(|entry| entry.id.to_string()).collect())))
    }

    /// Returns the newest commit of a session of turns.
    fn tip_in(&self, line: &Line<'_>, session: &SessionId) -> Result<Option<CommitId>> {
        let key = SessionKey { machine: self.identity.machine.clone(), path: format!("api:{session}") };
        if let Some(tip) = self.store.session(&key)?.and_then(|session| session.tip) {
            return Ok(Some(tip));
        }
        // One that has said something and not ended a turn yet.
        Ok(self.opening_of(&line.ledger.id, session, None)?.and_then(|opening| opening.head))
    }

    /// Hands out the commits of a chain from the newest on, while that is wanted.
    fn follow(&self, from: Option<CommitId>, act: &mut dyn FnMut(&Commit) -> bool) -> Result<()> {
        let mut walk = Walk::new(self.store.as_ref(), from);
        for _ in 0..BRANCH_COMMITS_MAX {
            match walk.next() {
                Ok(Some(commit)) if act(&commit) => {}
                Ok(_) | Err(StoreError::CommitMissing(_) | StoreError::Forgotten(_)) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

impl Branch<'_> {
    /// Returns whether what a commit says, or an entry of it, is on another branch: on a chain that begins as this one does, and
    /// not on this one.
    pub(super) fn is_other(&self, commit: CommitId, entry: Option<&str>) -> Result<bool> {
        if self.tree.is_none() || self.chain.contains(&commit) {
            return Ok(false);
        }
        if let Some((cut, entries)) = &self.cut
            && *cut == commit
        {
            return Ok(!entry.is_some_and(|entry| entries.contains(entry)));
        }
        Ok(self.tree_of(commit, 0)? == self.tree)
    }

    /// Returns whether an entry beside one of a commit came after the fork.
    pub(super) fn is_cut_off(&self, commit: CommitId, entry: &str) -> bool {
        self.cut.as_ref().is_some_and(|(cut, entries)| *cut == commit && !entries.contains(entry))
    }

    /// Returns whether an event of the ledger was published on another branch.
    pub(super) fn is_others_event(&self, session: &str, seq: EventSeq) -> Result<bool> {
        if session == self.line.session.as_str() {
            return Ok(false);
        }
        let Ok(session) = SessionId::new(session) else { return Ok(false) };
        if let Some(through) = self.sessions.get(&session) {
            return Ok(seq > *through);
        }
        match self.engine.tip_in(&self.line, &session)? {
            // No commit of it is on the chain, so that it left it, if it was ever there.
            Some(tip) => Ok(self.tree.is_some() && self.tree_of(tip, 0)? == self.tree),
            None => Ok(false),
        }
    }

    /// Returns the commit that the oldest chain begins with which a commit goes back to.
    fn tree_of(&self, commit: CommitId, origins: usize) -> Result<Option<CommitId>> {
        let (mut followed, mut known) = (Vec::new(), None);
        self.engine.follow(Some(commit), &mut |at| {
            known = if self.chain.contains(&at.id) {
                Some(self.tree)
            } else {
                self.trees.borrow().get(&at.id).copied()
            };
            followed.push(at.id);
            known.is_none()
        })?;
        let tree = match known {
            Some(tree) => tree,
            None => match self.context_of(&followed)? {
                Some(ctx) if origins < ORIGINS_MAX => self.tree_of(ctx, origins + 1)?,
                Some(_) | None => followed.last().copied(),
            },
        };
        self.trees.borrow_mut().extend(followed.into_iter().map(|at| (at, tree)));
        Ok(tree)
    }

    /// Returns what the session goes on from that made the first commit of a chain, newest first. A cut that a fork begins with
    /// was seen in no session, only what follows it.
    fn context_of(&self, chain: &[CommitId]) -> Result<Option<CommitId>> {
        for commit in chain.iter().rev().take(2) {
            if let Some(sighting) = self.engine.store.sightings(*commit, 1)?.into_iter().next() {
                let opening = self.engine.opening_of(&self.line.ledger.id, &sighting.session, None)?;
                let ctx = opening.and_then(|opening| opening.ctx);
                return ctx.map(|ctx| self.engine.newest_of(ctx)).transpose();
            }
        }
        Ok(None)
    }
}
