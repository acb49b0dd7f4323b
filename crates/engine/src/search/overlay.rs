//! Commits that the index does not hold, made searchable in memory.
//!
//! Bounded: what is left out is counted, and the answer says so.

use std::collections::HashMap;

use stemmata_model::{Commit, CommitId, Entry};
use stemmata_prompt::search::{MemoryEntry, MemorySegment};
use stemmata_store::SessionKey;

use super::groups::starts_of;
use super::prepared::prepare;

/// Where an entry stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Standing {
    /// The commit.
    pub(crate) commit: CommitId,
    /// The position among the commit's entries.
    pub(crate) position: usize,
    /// The session by which the commit was reached, where it was reached by one.
    pub(crate) session: Option<SessionKey>,
}

/// A commit with its entries.
pub(crate) struct DecodedCommit {
    pub(crate) commit: Commit,
    pub(crate) entries: Vec<Entry>,
    /// How many of them were said before.
    pub(crate) restated: usize,
    /// The sessions by which it was reached.
    pub(crate) sessions: Vec<SessionKey>,
}

/// Entries that were read from commits, numbered from `base`.
#[derive(Default)]
pub(crate) struct Overlay {
    base: u32,
    entries: Vec<MemoryEntry>,
    standing: Vec<Vec<Standing>>,
    numbers: HashMap<u64, usize>,
    /// The authors; the first has number 1.
    authors: Vec<(u16, String)>,
    /// The group that a commit ends in.
    tails: HashMap<CommitId, u32>,
    groups: u32,
}

impl Overlay {
    /// Returns one without entries, beside an index that has these authors and all numbers below `base`.
    pub(crate) fn beside(base: u32, authors: Vec<(u16, String)>) -> Self {
        Self { base, authors, ..Self::default() }
    }

    /// Adds a commit; its parent was added before, if it is to be added at all. `is_known` says of a key that the index
    /// has it.
    pub(crate) fn add(&mut self, decoded: &DecodedCommit, is_known: &dyn Fn(u64) -> bool) {
        let DecodedCommit { commit, entries, restated, sessions } = decoded;
        let starts = starts_of(entries, commit.core.parent.is_none());
        let tail = commit.core.parent.and_then(|parent| self.tails.get(&parent).copied());
        let mut group = tail.unwrap_or_else(|| self.next_group());
        let mut starts = starts.into_iter().peekable();
        for (position, entry) in entries.iter().enumerate() {
            if starts.next_if_eq(&position).is_some() && (position > 0 || tail.is_some()) {
                group = self.next_group();
            }
            if position < *restated {
                continue;
            }
            let Some(found) = prepare(entry) else { continue };
            let in_session = |session| Standing { commit: commit.id, position, session };
            let standing = sessions.iter().map(|session| in_session(Some(session.clone())));
            let standing: Vec<Standing> =
                if sessions.is_empty() { vec![in_session(None)] } else { standing.collect() };
            if let Some(all) = self.numbers.get(&found.key).and_then(|at| self.standing.get_mut(*at)) {
                all.extend(standing);
            } else if !is_known(found.key) {
                let author = self.author(found.author);
                self.numbers.insert(found.key, self.entries.len());
                self.standing.push(standing);
                self.entries.push(MemoryEntry {
                    key: found.key,
                    terms: found.terms,
                    length: found.length,
                    class: found.class,
                    marks: found.marks,
                    minute: found.minute,
                    author,
                    group,
                });
            }
        }
        self.tails.insert(commit.id, group);
    }

    /// Returns the numbers of the entries, each with where it stands.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = (u32, &[Standing])> {
        (self.base..).zip(self.standing.iter().map(Vec::as_slice))
    }

    /// Returns how many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the entries as they are searched.
    pub(crate) fn segment(&self) -> MemorySegment {
        MemorySegment::of(self.base, &self.entries)
    }

    /// Returns where an entry stands; nothing for a number that is none of these.
    pub(crate) fn standing(&self, number: u32) -> Option<&[Standing]> {
        let at = number.checked_sub(self.base)?;
        self.standing.get(usize::try_from(at).ok()?).map(Vec::as_slice)
    }

    /// Returns the authors with their numbers, lower case.
    pub(crate) fn authors(&self) -> Vec<(u16, String)> {
        self.authors.iter().map(|(number, name)| (*number, name.to_lowercase())).collect()
    }

    /// Returns the number of an author; more of them than there are numbers have none.
    fn author(&mut self, name: Option<String>) -> u16 {
        let Some(name) = name else { return 0 };
        if let Some((number, _)) = self.authors.iter().find(|(_, known)| *known == name) {
            return *number;
        }
        let last = self.authors.iter().map(|(number, _)| *number).max().unwrap_or(0);
        let Some(number) = last.checked_add(1) else { return 0 };
        self.authors.push((number, name));
        number
    }

    fn next_group(&mut self) -> u32 {
        self.groups += 1;
        self.groups
    }
}
