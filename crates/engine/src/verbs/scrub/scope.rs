//! What a scrub works on: whole trees, with those that hold copies, and what today's rules find there.
//!
//! Changes nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use stemmata_model::{Commit, CommitId, SessionId};
use stemmata_store::{LinkKind, StoreError};

use super::{ForgetTarget, ScanTarget, Scope, ScrubTarget};
use crate::engine::Engine;
use crate::error::Result;

/// Links of one commit that are followed.
const LINKS_MAX: usize = 10_000;

/// Sightings of one commit that are looked at.
const SIGHTINGS_MAX: usize = 1_000;

/// Commits that are looked up at once.
const PAGE_COMMITS: usize = 1_000;

impl Engine {
    pub(super) fn scope_of(&self, target: &ScrubTarget) -> Result<Scope> {
        let mut left = self.all_redirects()?;
        let mut there = HashMap::new();
        for (from, to) in left.drain() {
            if from != to && self.store.commit(from)?.is_some() {
                there.insert(from, to);
            }
        }
        let mut roots = self.roots_of(target)?;
        for from in there.keys() {
            roots.extend(self.root_of(*from)?);
        }
        let commits = self.trees_of(roots, *target == ScrubTarget::All)?;
        let mut scope = Scope {
            commits,
            dirty: HashSet::new(),
            said: HashSet::new(),
            named: HashSet::new(),
            left: there,
            told: BTreeMap::new(),
            told_beside: BTreeMap::new(),
            events: 0,
            unread: Vec::new(),
            kinds: BTreeMap::new(),
        };
        let ids: Vec<CommitId> = scope.commits.iter().map(|commit| commit.id).collect();
        let sessions = self.sessions_meant(target, &scope.commits)?;
        let is_all = *target == ScrubTarget::All;
        let (other, mut ids) = (self.with_other_log(), Some(ids));
        // The commits once, and the events of both.
        for (engine, is_beside) in
            std::iter::once((self, false)).chain(other.iter().map(|other| (other, true)))
        {
            let mut take = |found| {
                scope.take(found, is_beside);
                true
            };
            let meant = ScanTarget::These(ids.take().unwrap_or_default(), sessions.clone());
            let mut scanned = engine.scan_in_use(&meant, &mut take)?;
            if is_all {
                scanned = engine.scan_all_ledgers(&mut take)?;
            }
            scope.events += scanned.events;
            scope.unread.extend(scanned.unread);
        }
        Ok(scope)
    }

    /// Returns the sessions whose events are looked at; none where all are.
    fn sessions_meant(&self, target: &ScrubTarget, commits: &[Commit]) -> Result<Vec<SessionId>> {
        let mut sessions = BTreeSet::new();
        if let ScrubTarget::Session(key) = target {
            let own = self.sessions_of(&ForgetTarget::Session(key.clone()))?;
            sessions.extend(own.into_iter().map(|session| session.session));
        }
        if *target != ScrubTarget::All {
            self.each_described(commits, &mut |described| {
                let seen = self.sightings_of(&described, SIGHTINGS_MAX)?;
                sessions.extend(seen.iter().map(|seen| seen.session.clone()));
                Ok(())
            })?;
        }
        Ok(sessions.into_iter().collect())
    }

    fn roots_of(&self, target: &ScrubTarget) -> Result<Vec<CommitId>> {
        match target {
            ScrubTarget::Commit(id) => {
                let commit = self.store.commit(*id)?.ok_or(StoreError::CommitMissing(*id))?;
                Ok(vec![self.root_from(&commit)?])
            }
            ScrubTarget::Session(key) => {
                let mut roots = Vec::new();
                for session in self.sessions_of(&ForgetTarget::Session(key.clone()))? {
                    for commit in self.commits_of(std::slice::from_ref(&session))? {
                        if commit.core.parent.is_none() {
                            roots.push(commit.id);
                        }
                    }
                }
                Ok(roots)
            }
            ScrubTarget::All => {
                let (mut roots, mut after) = (Vec::new(), None);
                loop {
                    let page = self.store.commits_after(after, PAGE_COMMITS)?;
                    after = page.last().map(|commit| commit.id);
                    let is_last = page.len() < PAGE_COMMITS;
                    let own = page.into_iter().filter(|commit| commit.core.parent.is_none());
                    roots.extend(own.map(|commit| commit.id));
                    if is_last {
                        return Ok(roots);
                    }
                }
            }
        }
    }

    /// Returns all commits of trees, and of all that are linked to them as copies, parents before their children.
    fn trees_of(&self, roots: Vec<CommitId>, are_all: bool) -> Result<Vec<Commit>> {
        let mut known: HashSet<CommitId> = HashSet::new();
        let mut next: Vec<CommitId> = roots;
        let mut commits = Vec::new();
        while let Some(root) = next.pop() {
            if !known.insert(root) {
                continue;
            }
            let tree = self.whole_tree(root)?;
            if !are_all {
                // What closed a first turn is made of the bytes of the looks at it.
                next.extend(self.roots_beside(root)?);
                self.each_described(&tree, &mut |described| {
                    for link in self.links_of(&described, LINKS_MAX)?.iter() {
                        if link.kind == LinkKind::DerivedFrom {
                            let other = if link.from == described.commit.id { link.to } else { link.from };
                            next.extend(self.root_of_there(other)?);
                        }
                    }
                    Ok(())
                })?;
            }
            commits.extend(tree);
        }
        Ok(commits)
    }

    fn root_of_there(&self, id: CommitId) -> Result<Option<CommitId>> {
        self.store.commit(id)?.map(|commit| self.root_from(&commit)).transpose()
    }
}
