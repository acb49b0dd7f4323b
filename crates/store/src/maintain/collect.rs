//! Collection: what nobody needs is condemned first, and deleted once the grace is over.
//!
//! Which sessions are retired is the engine's to decide.

use stemmata_model::{CommitId, Timestamp, to_u64};

use super::forget::Kept;
use crate::error::StoreError;

/// What is to be collected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collect {
    /// Commits that retention lets go; each goes unless something else needs it. Sightings do not keep them:
    /// who retires a commit has looked at all of its sessions.
    pub retired: Vec<CommitId>,
    /// Now.
    pub now: Timestamp,
    /// How long something has to stay condemned before it is deleted, in microseconds.
    pub grace_us: i64,
    /// What a dry run said: where anything else would be collected by now, nothing is, and it fails with `PlanMoved`.
    pub expect: Option<Collected>,
    /// Find out what would happen, and change nothing.
    pub dry_run: bool,
}

/// How many things, and how many bytes they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    /// Commits.
    pub commits: u64,
    /// Contents.
    pub contents: u64,
    /// Bytes of the contents, uncompressed.
    pub bytes: u64,
}

/// What was collected, or what would be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Collected {
    /// What this run condemned.
    pub condemned: Amount,
    /// What was condemned before, and waits for the end of its grace.
    pub waiting: Amount,
    /// What was deleted.
    pub deleted: Amount,
    /// What was condemned and is needed again.
    pub revived: u64,
    /// Retired commits that stay, and why.
    pub kept: Vec<Kept>,
    /// Ranges of deleted contents that other contents have, and that were copied out before.
    pub copied_out: u64,
    /// Files that were removed.
    pub files_removed: u64,
    /// Bytes that the store's files became smaller by.
    pub bytes_freed: u64,
    /// Stands for what exactly all of this is: of two collections that count the same, each has its own.
    pub which: Which,
}

/// Stands for a set of things and what becomes of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Which([u8; 16]);

impl Which {
    /// Takes in what becomes of a thing, in any order.
    pub fn add(&mut self, fate: &str, id: &[u8]) {
        let hash = blake3::Hasher::new().update(fate.as_bytes()).update(b"\0").update(id).finalize();
        for (own, new) in self.0.iter_mut().zip(hash.as_bytes()) {
            *own ^= new;
        }
    }

    /// Returns the bytes.
    pub const fn bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl Collect {
    /// Refuses what is not what was planned. Asked within the transaction.
    ///
    /// # Errors
    /// `PlanMoved`.
    pub fn checked(&self, done: Collected) -> Result<Collected, StoreError> {
        let is_planned = self.expect.as_ref().is_none_or(|expect| *expect == done);
        if is_planned { Ok(done) } else { Err(StoreError::PlanMoved) }
    }
}

impl Amount {
    /// Adds so many commits, contents and bytes.
    pub fn add(&mut self, commits: usize, contents: u64, bytes: u64) {
        self.commits += to_u64(commits);
        self.contents += contents;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_collected_is_more_than_its_number() {
        let of = |things: &[(&str, &[u8])]| {
            let mut collected = Collected::default();
            for (fate, id) in things {
                collected.which.add(fate, id);
            }
            collected
        };
        let planned = of(&[("deleted", b"one"), ("condemned", b"two")]);
        assert_eq!(planned, of(&[("condemned", b"two"), ("deleted", b"one")]));
        for other in
            [[("deleted", b"two"), ("condemned", b"one")], [("deleted", b"one"), ("condemned", b"six")]]
        {
            let other = of(&other.map(|(fate, id)| (fate, &id[..])));
            assert_ne!(planned, other);
        }
    }
}
