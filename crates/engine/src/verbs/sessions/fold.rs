//! Which sessions a listing folds into the rows of others: copies that nobody went on with.
//!
//! Read once for a listing, and in proportion to the copies that there are, not to the sessions.

use std::collections::{HashMap, HashSet};

use stemmata_model::{Closure, Commit, CommitId};
use stemmata_store::{Link, LinkKind, Session, SessionKey, SessionOrigin};

use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::Result;

/// Copies that are looked at for one listing.
const COPIES_MAX: usize = 10_000;

/// Commits beside the beginning of one that are looked at for the one that has it whole.
const SIBLINGS_MAX: usize = 256;

/// Commits that no session has, such as translations and compactions of ours, that are followed to one that a session has.
const MADE_MAX: usize = 16;

/// What is folded, and where.
#[derive(Debug, Default)]
pub(super) struct Folds {
    /// How many copies each session's row stands for beside itself.
    counts: HashMap<SessionKey, u64>,
    /// Sessions that a client copied: the commit that each was copied from, and how many commits it has without anything of its
    /// own.
    copies: HashMap<SessionKey, (CommitId, u64)>,
    /// Commits whose sessions are here, of those that something was placed from.
    origins: HashMap<CommitId, SessionKey>,
}

impl Folds {
    /// Returns how many copies nobody went on with.
    pub(super) fn count(&self, of: &SessionKey) -> u64 {
        self.counts.get(of).copied().unwrap_or(0)
    }

    /// Returns the commit that a client copied a session from.
    pub(super) fn original_of(&self, session: &SessionKey) -> Option<CommitId> {
        self.copies.get(session).map(|(from, _)| *from)
    }

    /// Returns how many commits of a session a client copied from another one; 0 where it is no copy.
    pub(super) fn copied_commits(&self, session: &SessionKey) -> u64 {
        self.copies.get(session).map_or(0, |(_, commits)| *commits)
    }

    /// Says whether a session is counted in another one's row: it holds nothing of its own, and its original is here.
    pub(super) fn hides(&self, session: &Session) -> bool {
        match session.origin {
            SessionOrigin::Placed(from) if session.is_unused() => self.origins.contains_key(&from),
            _ => self.copies.get(&session.key).is_some_and(|(_, commits)| session.commits <= *commits),
        }
    }
}

impl Engine {
    /// Returns what a listing folds.
    pub(super) fn folds(&self) -> Result<Folds> {
        let mut folds = Folds::default();
        let mut links = self.store.copies(COPIES_MAX)?;
        // One link a copy, as `copied_from` takes it.
        links.dedup_by_key(|link| link.from);
        for link in &links {
            self.fold_copy(link, &mut folds)?;
        }
        for session in self.store.unused_sessions(COPIES_MAX)? {
            let SessionOrigin::Placed(from) = session.origin else { continue };
            if !folds.origins.contains_key(&from)
                && let Some(origin) = self.original_of(from)?
            {
                folds.origins.insert(from, origin.key);
            }
            if let Some(origin) = folds.origins.get(&from) {
                *folds.counts.entry(origin.clone()).or_default() += 1;
            }
        }
        Ok(folds)
    }

    /// Says whether a session is a placed copy that nobody went on with, of one that is here: it holds nothing of its own.
    pub(crate) fn is_idle_copy(&self, session: &Session) -> Result<bool> {
        match session.origin {
            SessionOrigin::Placed(from) if session.is_unused() => Ok(self.original_of(from)?.is_some()),
            _ => Ok(false),
        }
    }

    /// Returns the placed copies that nobody went on with of sessions, which are not among these themselves.
    pub(crate) fn copies_placed_of(&self, sessions: &[Session]) -> Result<Vec<Session>> {
        if sessions.is_empty() {
            return Ok(Vec::new());
        }
        let keys: HashSet<&SessionKey> = sessions.iter().map(|session| &session.key).collect();
        let mut copies = self.store.unused_sessions(COPIES_MAX)?;
        copies.retain(|copy| !keys.contains(&copy.key));
        let mut of_these = Vec::new();
        for copy in copies {
            let SessionOrigin::Placed(from) = copy.origin else { continue };
            if self.original_of(from)?.is_some_and(|origin| keys.contains(&origin.key)) {
                of_these.push(copy);
            }
        }
        Ok(of_these)
    }

    /// Returns the session that placed copies of a commit have their words from. Where no session has the commit, because we made it,
    /// that is the one of the nearest commit before it; where it is the beginning of a commit, the one that has it whole.
    fn original_of(&self, from: CommitId) -> Result<Option<Session>> {
        let mut walk = Walk::new(self.store.as_ref(), Some(from));
        for _ in 0..MADE_MAX {
            let Some(commit) = walk.next()? else { return Ok(None) };
            let mut beside = vec![commit.id];
            if commit.closure == Closure::Covered {
                beside.extend(self.begun_with(&commit)?);
            }
            for id in beside {
                if let Some(session) = self.first_session(id)?.filter(|session| !session.is_unused()) {
                    return Ok(Some(session));
                }
            }
        }
        Ok(None)
    }

    /// Returns commits that may have whole what a covered one is the beginning of: those beside it, or what a root was cut from.
    fn begun_with(&self, commit: &Commit) -> Result<Vec<CommitId>> {
        if let Some(parent) = commit.core.parent {
            let children = self.store.children(parent, SIBLINGS_MAX)?;
            return Ok(children.into_iter().map(|child| child.id).collect());
        }
        let links = self.store.links(commit.id, SIBLINGS_MAX)?.into_iter();
        let is_cut_from = |link: &Link| {
            link.from == commit.id && link.kind == LinkKind::DerivedFrom && link.entry.is_some()
        };
        let cut_from = links.filter(is_cut_from).map(|link| link.to);
        Ok(self.roots_beside(commit.id)?.into_iter().chain(cut_from).collect())
    }

    fn fold_copy(&self, link: &Link, folds: &mut Folds) -> Result<()> {
        let (Some(copy), Some(original)) = (self.first_session(link.from)?, self.first_session(link.to)?)
        else {
            return Ok(());
        };
        // A subagent's session and what a file held before may be linked with itself.
        let Some(depth) =
            self.store.commit(link.to)?.map(|commit| commit.depth).filter(|_| copy.key != original.key)
        else {
            return Ok(());
        };
        let shared = depth + 1;
        if copy.commits <= shared {
            *folds.counts.entry(original.key).or_default() += 1;
        }
        folds.copies.insert(copy.key, (link.to, shared));
        Ok(())
    }
}
