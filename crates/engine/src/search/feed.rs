//! From commits in the order of storing to what the index takes in at once.

use std::collections::{HashMap, HashSet, hash_map};

use stemmata_model::{ArtifactId, Closure, Commit, CommitId, Entry};
use stemmata_runtimes::translate::runtime_of;
use stemmata_store::{
    COMMIT_ENTRIES_MAX, EntryRef, IndexEntry, IndexPlace, IndexReader, IndexedCommit, IndexedState,
    SessionKey, StoreError, StoredAt,
};
use stemmata_tokens::{UsagePair, usage_pairs};

use super::groups::starts_of;
use super::prepared::{Prepared, prepare};
use super::scan::is_searched;
use super::settle::SettleError;
use crate::calibration::Calibration;
use crate::chain::beside::key_of_sighting;
use crate::chain::path::entries_of;
use crate::chain::segments::read_whole;
use crate::engine::Engine;
use crate::error::{EngineError, Result};

/// A page of the feed as the index takes it.
#[derive(Default)]
pub(crate) struct FeedPage {
    pub(crate) entries: Vec<IndexEntry>,
    pub(crate) commits: Vec<IndexedCommit>,
    pub(crate) places: Vec<IndexPlace>,
    /// What models reported for what they were sent.
    pub(crate) usage: Vec<UsagePair>,
    by_key: HashMap<u64, usize>,
    place_of: HashMap<SessionKey, Option<usize>>,
}

/// What is read of a commit.
struct Searched {
    /// The entries in order; `None` for an entry that search leaves out.
    entries: Vec<Option<Prepared>>,
    /// The positions at which groups begin.
    starts: Vec<u32>,
    usage: Vec<UsagePair>,
}

/// What is known of commits that others continue.
type Chain = HashMap<CommitId, (Closure, Option<CommitId>)>;

/// A commit with what of it is searched; without entries where nobody can read it.
struct Read<'c> {
    stored: StoredAt,
    commit: &'c Commit,
    /// What it continues in the index.
    parent: Option<CommitId>,
    entries: Option<Vec<Option<Prepared>>>,
    starts: Vec<u32>,
}

impl Engine {
    /// Reads a page of the feed.
    ///
    /// # Errors
    /// Those of the store and of the index.
    pub(crate) fn feed_page(
        &self,
        page: &[(StoredAt, Commit)],
        reader: &IndexReader<'_>,
    ) -> Result<FeedPage, SettleError> {
        let live: Vec<&(StoredAt, Commit)> =
            page.iter().filter(|(_, commit)| commit.closure != Closure::Covered).collect();
        let mut entries = self.prepared_of(&live)?;
        let mut keys: Vec<u64> = Vec::new();
        for found in entries.iter().flatten().flat_map(|found| found.entries.iter().flatten()) {
            keys.push(found.key);
        }
        keys.sort_unstable();
        keys.dedup();
        let known: HashMap<u64, u32> = keys
            .iter()
            .copied()
            .zip(reader.known(&keys)?)
            .filter_map(|(key, number)| Some((key, number?)))
            .collect();
        let mut sightings = self.sessions_seen(&live)?;
        let mut chain: Chain =
            page.iter().map(|(_, commit)| (commit.id, (commit.closure, commit.core.parent))).collect();
        let mut made = FeedPage::default();
        for ((stored, commit), found) in live.into_iter().zip(entries.drain(..)) {
            let seen = sightings.remove(&commit.id).unwrap_or_default();
            let places = self.index_places(&mut made, &seen)?;
            let parent = self.uncovered(commit.core.parent, &mut chain)?;
            let covers = self.provisional_of((commit, parent), &seen, (reader, &made))?;
            let (found, starts) = match found {
                Some(Searched { entries, starts, usage }) => {
                    // What somebody else's bundle brought was not sent by who learns here.
                    if !usage.is_empty() && self.is_any_recorded_here(&seen)? {
                        made.usage.extend(usage);
                    }
                    (Some(entries), starts)
                }
                None => (None, Vec::new()),
            };
            let read = Read { stored: *stored, commit, parent, entries: found, starts };
            made.add(read, &known, (places, covers));
        }
        Ok(made)
    }

    /// Returns the nearest of a commit and its ancestors that is not covered: a fork may continue a turn that was open then, and
    /// the index has only what covers that, which is not in the fork's chain.
    fn uncovered(&self, from: Option<CommitId>, chain: &mut Chain) -> Result<Option<CommitId>> {
        let mut next = from;
        while let Some(id) = next {
            let (closure, parent) = match chain.entry(id) {
                hash_map::Entry::Occupied(known) => *known.get(),
                hash_map::Entry::Vacant(place) => {
                    let Some(commit) = self.store.commit(id)? else { break };
                    *place.insert((commit.closure, commit.core.parent))
                }
            };
            if closure != Closure::Covered {
                break;
            }
            next = parent;
        }
        Ok(next)
    }

    /// Decodes commits; a commit that cannot be read becomes `None`.
    fn prepared_of(&self, page: &[&(StoredAt, Commit)]) -> Result<Vec<Option<Searched>>> {
        let readable: Vec<&Commit> =
            page.iter().map(|(_, commit)| commit).filter(|commit| is_searched(commit)).collect();
        let ids: Vec<ArtifactId> = readable.iter().map(|commit| commit.core.native_artifact()).collect();
        let learned = self.calibration.load(self.store.identity()?.store_id);
        let new = |(stored, commit): &&(StoredAt, Commit)| {
            let learns = learned.as_ref().filter(|learned| learned.is_new(*stored));
            learns.filter(|_| commit.closure == Closure::Closed).map(|_| commit.id)
        };
        let new: HashSet<CommitId> = page.iter().filter_map(&new).collect();
        let said_before = |commit: &&Commit| Ok((commit.id, self.said_before(commit)?));
        let said_before: HashMap<CommitId, usize> =
            readable.iter().map(said_before).collect::<Result<_>>()?;
        let mut found: HashMap<CommitId, Searched> = HashMap::new();
        let mut take = |commit: &Commit, bytes: &[u8]| {
            if let Ok(entries) = entries_of(commit, bytes) {
                // A longer one is no conversation, and is counted with what cannot be read.
                if entries.len() <= COMMIT_ENTRIES_MAX {
                    let learned = learned.as_ref().filter(|_| new.contains(&commit.id));
                    let restated = said_before.get(&commit.id).copied().unwrap_or(0);
                    found.insert(commit.id, searched((commit, restated), &entries, learned));
                }
            }
        };
        let all = self.each_whole(&ids, &mut |at, bytes| {
            if let Some(commit) = readable.get(at) {
                take(commit, bytes);
            }
            Ok(())
        });
        match all {
            Err(error) if is_of_content(&error) => {
                for commit in &readable {
                    match read_whole(self, commit.core.native_artifact()) {
                        Ok(bytes) => take(commit, &bytes),
                        // It is passed over; `verify` says what is wrong with it.
                        Err(error) if is_of_content(&error) => {}
                        Err(error) => return Err(error),
                    }
                }
            }
            all => all?,
        }
        Ok(page.iter().map(|(_, commit)| found.remove(&commit.id)).collect())
    }

    fn is_any_recorded_here(&self, seen: &[SessionKey]) -> Result<bool> {
        for key in seen {
            if self.is_recorded_here(key)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn sessions_seen(&self, page: &[&(StoredAt, Commit)]) -> Result<HashMap<CommitId, Vec<SessionKey>>> {
        let ids: Vec<CommitId> = page.iter().map(|(_, commit)| commit.id).collect();
        let described = self.store.described(&ids)?;
        Ok(described
            .into_iter()
            .map(|of| (of.commit.id, of.sightings.iter().map(key_of_sighting).collect()))
            .collect())
    }

    /// Returns the place of a session, or `None` if the store does not have it.
    pub(super) fn place_of_session(&self, key: &SessionKey) -> Result<Option<IndexPlace>> {
        Ok(self.store.session(key)?.map(|session| IndexPlace {
            key: key.clone(),
            session: session.session.to_string(),
            client: runtime_of(&session.format).to_owned(),
            cwd: session.cwd,
            branch: session.git_branch,
        }))
    }

    /// Returns the places of sessions within a page, each once; sessions that are gone have none.
    fn index_places(&self, made: &mut FeedPage, keys: &[SessionKey]) -> Result<Vec<usize>> {
        let mut places = Vec::new();
        for key in keys {
            let known = made.place_of.get(key).copied();
            let at = if let Some(known) = known {
                known
            } else {
                let at = self.place_of_session(key)?.map(|place| {
                    made.places.push(place);
                    made.places.len() - 1
                });
                made.place_of.insert(key.clone(), at);
                at
            };
            places.extend(at);
        }
        places.sort_unstable();
        places.dedup();
        Ok(places)
    }

    /// Returns provisional commits that a commit may cover: those of the same parent that are covered by now.
    fn provisional_of(
        &self,
        (commit, parent): (&Commit, Option<CommitId>),
        seen: &[SessionKey],
        (reader, made): (&IndexReader<'_>, &FeedPage),
    ) -> Result<Vec<CommitId>, SettleError> {
        let within = made.commits.iter().filter(|other| other.state == IndexedState::Provisional);
        let within = within.filter(|other| other.parent == parent).map(|other| other.id);
        let mut known = reader.open_beside(parent, seen)?;
        if commit.core.parent != parent {
            // They were indexed before what they continue was covered.
            known.extend(reader.open_beside(commit.core.parent, seen)?);
        }
        let mut covered = Vec::new();
        for id in known.into_iter().chain(within) {
            if self.store.commit(id)?.is_some_and(|open| open.closure == Closure::Covered) {
                covered.push(id);
            }
        }
        Ok(covered)
    }
}

impl FeedPage {
    fn add(
        &mut self,
        read: Read<'_>,
        known: &HashMap<u64, u32>,
        (places, covers): (Vec<usize>, Vec<CommitId>),
    ) {
        let state = match (&read.entries, read.commit.closure) {
            (None, _) => IndexedState::Skipped,
            (Some(_), Closure::Provisional) => IndexedState::Provisional,
            (Some(_), _) => IndexedState::Closed,
        };
        let entries = read.entries.unwrap_or_default();
        let entries = entries.into_iter().map(|found| found.map(|found| self.entry(found, known))).collect();
        self.commits.push(IndexedCommit {
            stored: read.stored,
            id: read.commit.id,
            parent: read.parent,
            state,
            entries,
            starts: read.starts,
            places,
            covers,
        });
    }

    fn entry(&mut self, found: Prepared, known: &HashMap<u64, u32>) -> EntryRef {
        if let Some(number) = known.get(&found.key) {
            return EntryRef::Known(*number);
        }
        if let Some(at) = self.by_key.get(&found.key) {
            return EntryRef::New(*at);
        }
        let at = self.entries.len();
        self.by_key.insert(found.key, at);
        self.entries.push(found.into());
        EntryRef::New(at)
    }
}

/// Says whether the content itself is the reason, so that the rest can be read.
pub(super) const fn is_of_content(error: &EngineError) -> bool {
    matches!(
        error,
        EngineError::Store(
            StoreError::Corrupt { .. }
                | StoreError::ContentMissing { .. }
                | StoreError::ContentForgotten { .. }
        )
    )
}

/// Prepares the entries of a commit, and says where groups begin. What only says again what came before is left out.
fn searched(
    (commit, restated): (&Commit, usize),
    entries: &[Entry],
    learned: Option<&Calibration>,
) -> Searched {
    let found = entries.iter().enumerate();
    let found = found.map(|(at, entry)| if at < restated { None } else { prepare(entry) }).collect();
    let starts = starts_of(entries, commit.core.parent.is_none());
    let usage = learned
        .zip(entries.get(restated..))
        .map(|(learned, entries)| usage_pairs(entries, &|model| learned.wants(model)));
    Searched {
        entries: found,
        starts: starts.into_iter().filter_map(|at| u32::try_from(at).ok()).collect(),
        usage: usage.unwrap_or_default(),
    }
}
