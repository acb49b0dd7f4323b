//! `show`: everything that is known about a commit.

use stemmata_api::v1::Summary;
use stemmata_model::{Commit, CommitId, Sighting};
use stemmata_store::{Annotations, AuditRecord, Link};

use crate::engine::Engine;
use crate::error::Result;

/// Sightings, links, children and audit records that are shown at most.
pub const SHOWN_MAX: usize = 100;

/// Everything that is known about a commit.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// The commit.
    pub commit: Commit,
    /// Its summary, given or derived.
    pub summary: Summary,
    /// Where it was captured; the first is its provenance.
    pub sightings: Vec<Sighting>,
    /// Tags, notes, pin.
    pub annotations: Annotations,
    /// Changes of these.
    pub audit: Vec<AuditRecord>,
    /// Links from and to it.
    pub links: Vec<Link>,
    /// Commits that continue it.
    pub children: Vec<CommitId>,
}

impl Engine {
    /// Returns all metadata of a commit.
    ///
    /// # Errors
    /// `CommitMissing`, store errors.
    pub fn show(&self, id: CommitId) -> Result<Shown> {
        let commit = self.store.commit(id)?.ok_or(stemmata_store::StoreError::CommitMissing(id))?;
        Ok(Shown {
            summary: self.summary(&commit)?,
            sightings: self.store.sightings(id, SHOWN_MAX)?,
            annotations: self.store.annotations(id)?,
            audit: self.store.audit(id, SHOWN_MAX)?,
            links: self.store.links(id, SHOWN_MAX)?,
            children: self.store.children(id, SHOWN_MAX)?.into_iter().map(|child| child.id).collect(),
            commit,
        })
    }
}
