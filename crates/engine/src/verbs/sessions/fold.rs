//! Which sessions a listing folds into the rows of others: copies that nobody went on with.
//!
//! Read once for a listing, and in proportion to the copies that there are, not to the sessions.

use std::collections::HashMap;

use stemmata_model::CommitId;
use stemmata_store::{Link, Session, SessionKey, SessionOrigin};

use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::Result;
use crate::verbs::find::titles::is_unused;

/// Copies that are looked at for one listing.
const COPIES_MAX: usize = 10_000;

/// Translations of translations that are followed to the session that they began with.
const TRANSLATIONS_MAX: usize = 16;

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
            SessionOrigin::Placed(from) if is_unused(session) => {
                self.origins.get(&from).is_some_and(|origin| *origin != session.key)
            }
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
                && let Some(origin) = self.original_of(from, &session)?
            {
                folds.origins.insert(from, origin.key);
            }
            if let Some(origin) = folds.origins.get(&from).filter(|origin| **origin != session.key) {
                *folds.counts.entry(origin.clone()).or_default() += 1;
            }
        }
        Ok(folds)
    }

    /// Says whether a session is a placed copy that nobody went on with, of one that is here: it holds nothing of its own.
    pub(crate) fn is_idle_copy(&self, session: &Session) -> Result<bool> {
        match session.origin {
            SessionOrigin::Placed(from) if is_unused(session) => {
                Ok(self.original_of(from, session)?.is_some())
            }
            _ => Ok(false),
        }
    }

    /// Returns the session whose words a placed copy has: where they were translated, the one that they were translated from.
    fn original_of(&self, from: CommitId, copy: &Session) -> Result<Option<Session>> {
        let mut walk = Walk::new(self.store.as_ref(), Some(from));
        for _ in 0..TRANSLATIONS_MAX {
            let Some(commit) = walk.next()? else { return Ok(None) };
            // A snapshot that was made for copies was first seen in one of them.
            let first = self.first_session(commit.id)?;
            let is_copy = |session: &Session| session.key == copy.key || is_unused(session);
            match first.filter(|session| !is_copy(session)) {
                Some(original) => return Ok(Some(original)),
                None if commit.core.commit_type.restated() == commit.counts.entries => {}
                None => return Ok(None),
            }
        }
        Ok(None)
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
