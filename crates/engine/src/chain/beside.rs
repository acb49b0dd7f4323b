//! What stands beside commits: where they were seen, what was said of them, their links. Read a page of commits at a time.
//!
//! What they hold is `segments`'.

use std::borrow::Cow;
use std::collections::BTreeSet;

use stemmata_model::{Commit, CommitId, Sighting};
use stemmata_store::{
    AuditRecord, DESCRIBED_LINKS_MAX, DESCRIBED_SIGHTINGS_MAX, Described, Link, SessionKey, StoreError,
};

use crate::engine::Engine;
use crate::error::Result;

/// Commits that are described at once: enough that the cost of a query vanishes.
pub(crate) const PAGE_COMMITS: usize = 512;

/// Commits that a session saw which are read at once: each page goes through all of them.
const SEEN_COMMITS: usize = 10_000;

/// Sightings of one root that are looked at.
const SIGHTINGS_MAX: usize = 1_000;

impl Engine {
    /// Returns what the store knows of the commits of one page.
    pub(crate) fn described(&self, page: &[CommitId]) -> Result<Vec<Described>> {
        let described = self.store.described(page)?;
        let missing = || page.iter().find(|id| described.iter().all(|found| found.commit.id != **id));
        if described.len() < page.len()
            && let Some(id) = missing()
        {
            return Err(StoreError::CommitMissing(*id).into());
        }
        Ok(described)
    }

    /// Hands out what the store knows of commits, in their order. One that went away meanwhile is left out.
    pub(crate) fn each_described(
        &self,
        of: &[Commit],
        each: &mut dyn FnMut(Described) -> Result<()>,
    ) -> Result<()> {
        for page in of.chunks(PAGE_COMMITS) {
            let ids: Vec<CommitId> = page.iter().map(|commit| commit.id).collect();
            self.store.described(&ids)?.into_iter().try_for_each(&mut *each)?;
        }
        Ok(())
    }

    /// Returns where a commit was seen, at most `limit` places. A page has a bounded number of each, of which any real commit
    /// has all.
    pub(crate) fn sightings_of<'d>(&self, of: &'d Described, limit: usize) -> Result<Cow<'d, [Sighting]>> {
        if of.sightings.len() < DESCRIBED_SIGHTINGS_MAX {
            return Ok(Cow::Borrowed(&of.sightings));
        }
        Ok(Cow::Owned(self.store.sightings(of.commit.id, limit)?))
    }

    /// Hands out the commits that a session saw, each after those of them that it continues.
    pub(crate) fn each_seen(&self, by: &SessionKey, each: &mut dyn FnMut(Commit)) -> Result<()> {
        let mut after = None;
        loop {
            let page = self.store.seen_by(by, after, SEEN_COMMITS)?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            after = Some(*last);
            for (_, commit) in page {
                each(commit);
            }
        }
    }

    /// Returns the roots that were seen in the transcripts in which one was: an early look at a first turn is a root of its own,
    /// and so is what a transcript began with before it was rewritten.
    pub(crate) fn roots_beside(&self, root: CommitId) -> Result<BTreeSet<CommitId>> {
        let seen = self.store.sightings(root, SIGHTINGS_MAX)?;
        let written = seen.iter().filter(|seen| seen.source.is_some()).map(key_of_sighting);
        let mut found = BTreeSet::new();
        for key in written.collect::<BTreeSet<SessionKey>>() {
            self.each_seen(&key, &mut |commit| {
                found.extend(commit.core.parent.is_none().then_some(commit.id));
            })?;
        }
        found.remove(&root);
        Ok(found)
    }

    /// Returns a commit's links, at most `limit`.
    pub(crate) fn links_of<'d>(&self, of: &'d Described, limit: usize) -> Result<Cow<'d, [Link]>> {
        if of.links.len() < DESCRIBED_LINKS_MAX {
            return Ok(Cow::Borrowed(&of.links));
        }
        Ok(Cow::Owned(self.store.links(of.commit.id, limit)?))
    }

    /// Returns the changes of what was said of a commit, at most `limit`; of nearly every one there are none.
    pub(crate) fn changes_of(&self, of: &Described, limit: usize) -> Result<Vec<AuditRecord>> {
        if of.changes == 0 {
            return Ok(Vec::new());
        }
        Ok(self.store.audit(of.commit.id, limit)?)
    }
}

/// Returns the session that saw a commit.
pub(crate) fn key_of_sighting(sighting: &Sighting) -> SessionKey {
    let path = match &sighting.source {
        Some(source) => source.path.clone(),
        None => format!("api:{}", sighting.session),
    };
    SessionKey { machine: sighting.machine.clone(), path }
}
