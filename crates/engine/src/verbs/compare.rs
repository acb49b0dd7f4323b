//! `diff A B`: what one chain has that another has not, from where they parted.

use std::collections::{HashMap, HashSet};

use stemmata_model::{Closure, Commit, CommitId, Entry, EntryId, Part, SessionId};
use stemmata_prompt::story::{SessionFold, SessionStory};

use crate::chain::path::own_entries;
use crate::chain::segments::read_whole;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::Result;

/// Two chains, from where they parted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The newest commit that both have. Absent where they share none.
    pub ancestor: Option<CommitId>,
    /// What only the first one has.
    pub first: ChainSide,
    /// What only the second one has.
    pub second: ChainSide,
}

/// What one of two chains has alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainSide {
    /// The commit that it ends with.
    pub ctx: CommitId,
    /// Its commits behind the common one.
    pub commits: u64,
    /// Their entries that the other chain has not.
    pub entries: u64,
    /// What happened in them.
    pub story: SessionStory<CommitId>,
}

impl Engine {
    /// Compares two chains from their newest common commit on. An entry that both have, such as one that a client copied to a
    /// fork of its own, is in neither.
    ///
    /// # Errors
    /// `CommitMissing`, `Forgotten`, `Format` for a format that cannot be read, store errors.
    pub fn compare(&self, first: CommitId, second: CommitId) -> Result<Comparison> {
        let ancestor = self.common_ancestor(first, second)?;
        let (own, other) = (self.commits_behind(first, ancestor)?, self.commits_behind(second, ancestor)?);
        let (own, other) = (self.entries_in(own)?, self.entries_in(other)?);
        Ok(Comparison {
            ancestor,
            first: self.side(first, &own, &by_id(&other))?,
            second: self.side(second, &other, &by_id(&own))?,
        })
    }

    fn side(
        &self,
        ctx: CommitId,
        commits: &[(CommitId, Vec<Entry>)],
        other: &HashMap<&EntryId, &[Part]>,
    ) -> Result<ChainSide> {
        let root = self.first_session(ctx)?.and_then(|session| session.cwd);
        let mut fold = SessionFold::new(&SessionId::new("diff")?, root.as_deref());
        let mut count = 0_u64;
        for (id, entries) in commits {
            let is_own = |entry: &&Entry| other.get(&entry.id) != Some(&entry.parts.as_slice());
            let own: Vec<Entry> = entries.iter().filter(is_own).cloned().collect();
            count += own.len() as u64;
            fold.add(*id, &own, &[]);
        }
        Ok(ChainSide { ctx, commits: commits.len() as u64, entries: count, story: fold.finish() })
    }

    fn common_ancestor(&self, first: CommitId, second: CommitId) -> Result<Option<CommitId>> {
        let mut seen = HashSet::new();
        let mut walk = Walk::new(self.store.as_ref(), Some(first));
        while let Some(commit) = walk.next()? {
            seen.insert(commit.id);
        }
        let mut walk = Walk::new(self.store.as_ref(), Some(second));
        while let Some(commit) = walk.next()? {
            if seen.contains(&commit.id) {
                return Ok(Some(commit.id));
            }
        }
        Ok(None)
    }

    /// Returns the commits behind another one, the oldest first.
    fn commits_behind(&self, tip: CommitId, ancestor: Option<CommitId>) -> Result<Vec<Commit>> {
        let mut walk = Walk::new(self.store.as_ref(), Some(tip));
        let mut commits = Vec::new();
        while let Some(commit) = walk.next()? {
            if Some(commit.id) == ancestor {
                break;
            }
            commits.push(commit);
        }
        commits.reverse();
        Ok(commits)
    }

    fn entries_in(&self, commits: Vec<Commit>) -> Result<Vec<(CommitId, Vec<Entry>)>> {
        let readable = commits.into_iter().filter(|commit| commit.closure != Closure::Forgotten);
        let entries = readable.map(|commit| {
            let bytes = read_whole(self, commit.core.native_artifact())?;
            Ok((commit.id, own_entries(&commit, &bytes)?))
        });
        entries.collect()
    }
}

/// Returns the entries by their ids. A client that rewrites a session may give an id to another text, so the parts count, too.
fn by_id(commits: &[(CommitId, Vec<Entry>)]) -> HashMap<&EntryId, &[Part]> {
    commits.iter().flat_map(|(_, entries)| entries).map(|entry| (&entry.id, entry.parts.as_slice())).collect()
}
