//! Branches: what search found that is on another branch of what a session goes on from.
//!
//! A session that goes on from a context knows its chain. What was said and recorded after that chain was left, in the same
//! session or in one that went on from there, is not told; what has nothing to do with the chain is.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};

use stemmata_model::{CommitId, EventSeq, SessionId};
use stemmata_store::{SessionKey, StoreError};

use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::Result;
use crate::ledger::Line;

/// Commits of a chain that are followed at most. A branch that left deeper passes for something else.
const BRANCH_COMMITS_MAX: usize = 100_000;

/// What a session that goes on from a context is a branch of.
pub(super) struct Branch<'e> {
    engine: &'e Engine,
    line: Line<'e>,
    /// The commits of its chain.
    chain: HashSet<CommitId>,
    /// The commit that the chain begins with; `None` for one that is gone.
    root: Option<CommitId>,
    /// Up to where the chain has what sessions said in the ledger.
    sessions: BTreeMap<SessionId, EventSeq>,
    /// The first commits of chains that were followed, by each commit of them.
    roots: RefCell<HashMap<CommitId, Option<CommitId>>>,
}

impl Engine {
    /// Returns what a session is a branch of.
    pub(super) fn branch<'e>(&'e self, line: Line<'e>) -> Result<Branch<'e>> {
        let tip = self.tip_in(&line, line.session)?;
        let sessions = match line.opening.head {
            Some(head) => self.sessions_on_chain(&line.ledger.id, head)?,
            None => BTreeMap::new(),
        };
        let (mut chain, mut root) = (HashSet::new(), None);
        self.follow(tip.or(line.opening.head), &mut |commit| {
            root = Some(commit);
            chain.insert(commit)
        })?;
        Ok(Branch { engine: self, line, chain, root, sessions, roots: RefCell::default() })
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
    fn follow(&self, from: Option<CommitId>, act: &mut dyn FnMut(CommitId) -> bool) -> Result<()> {
        let mut walk = Walk::new(self.store.as_ref(), from);
        for _ in 0..BRANCH_COMMITS_MAX {
            match walk.next() {
                Ok(Some(commit)) if act(commit.id) => {}
                Ok(_) | Err(StoreError::CommitMissing(_) | StoreError::Forgotten(_)) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

impl Branch<'_> {
    /// Returns whether a commit is on another branch: on a chain that begins as this one does, and not on this one.
    pub(super) fn is_other(&self, commit: CommitId) -> Result<bool> {
        if self.root.is_none() || self.chain.contains(&commit) {
            return Ok(false);
        }
        Ok(self.root_of(commit)? == self.root)
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
            Some(tip) => Ok(self.root.is_some() && self.root_of(tip)? == self.root),
            None => Ok(false),
        }
    }

    fn root_of(&self, commit: CommitId) -> Result<Option<CommitId>> {
        let mut roots = self.roots.borrow_mut();
        let (mut followed, mut root) = (Vec::new(), None);
        self.engine.follow(Some(commit), &mut |at| {
            if self.chain.contains(&at) {
                root = self.root;
                return false;
            }
            if let Some(known) = roots.get(&at) {
                root = *known;
                return false;
            }
            root = Some(at);
            followed.push(at);
            true
        })?;
        roots.extend(followed.into_iter().map(|at| (at, root)));
        Ok(root)
    }
}
