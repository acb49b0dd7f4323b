//! A store in memory: a plain model of the seam, for tests and for trying things out.
//!
//! Nothing is durable: what is in it is gone with it. Every batch takes one lock, and many reads look at
//! every row.

mod apply;
mod collect;
mod content;
mod costs;
mod events;
mod forget;
mod logs;
mod names;
mod state;
mod stored;
mod sweep;
mod table;
mod upkeep;
mod verify;

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use stemmata_model::{
    ArtifactId, Commit, CommitId, EventSeq, LedgerId, MachineId, Sighting, Timestamp, to_u64,
};
use stemmata_store::maintain::forget::{Redirects, Tombstone};
use stemmata_store::rules::bounds::{check_anchors, check_batch, check_page};
use stemmata_store::rules::closure::is_live;
use stemmata_store::rules::latest::Origin;
use stemmata_store::{
    Annotations, AuditRecord, BatchOutcome, CommitFilter, Commits, Coverage, Link, Page, PartOf, Placement,
    ResolveScope, SIDECAR_FORMAT, Session, SessionFilter, SessionKey, Sink, StoreError, StoreIdentity,
    StoredAt, TipFilter, Usage, Write,
};

use self::content::{Content, Contents};
use self::state::Sightings;
use logs::Logs;
use table::Table;

/// A [`Store`](stemmata_store::Store) that keeps everything in memory and nothing beyond its own life.
#[derive(Debug)]
pub struct MemoryStore {
    identity: StoreIdentity,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    contents: Contents,
    commits: Table<CommitId, Commit>,
    /// In the order of storing.
    stored: Table<StoredAt, CommitId>,
    /// For what an index has to be cut, and when it was left.
    index_due: Table<Option<StoredAt>, u64>,
    /// Sessions that saw commits after these were stored, and when it was left.
    index_unseen: Table<SessionKey, u64>,
    /// By parent and by the order of storing.
    children: Table<(CommitId, u64), CommitId>,
    sightings: Table<CommitId, Sightings>,
    sessions: Table<SessionKey, Session>,
    cursors: Table<SessionKey, Vec<u8>>,
    placements: Table<(MachineId, String), Placement>,
    /// What stands of a commit, in the order of storing.
    standing: Table<CommitId, Vec<AuditRecord>>,
    audit: Table<CommitId, Vec<AuditRecord>>,
    links: Table<Link, ()>,
    anchors: Table<(u64, CommitId), ()>,
    /// With the time of the forgetting that left them.
    tombstones: Table<Tombstone, Timestamp>,
    redirects: Table<CommitId, CommitId>,
    /// Condemned commits and contents, and since when.
    condemned: Table<CommitId, Timestamp>,
    orphans: Table<ArtifactId, Timestamp>,
    /// How far commits cover ledgers.
    coverage: Table<(CommitId, LedgerId), EventSeq>,
    logs: Logs,
    /// What orders the next thing that is stored.
    next_order: u64,
    /// The last order before the batch that is being applied.
    batch_from: u64,
    /// Nothing is written any more.
    closed: bool,
}

/// The bounds of all ids.
const LEAST: CommitId = CommitId::from_bytes([0; 16]);
const GREATEST: CommitId = CommitId::from_bytes([0xff; 16]);

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new(StoreIdentity {
            store_id: *b"a store in memry",
            secret: *b"what is in memory is no secret. ",
        })
    }
}

impl MemoryStore {
    /// Makes an empty store with the identity given; `default` has a fixed one, alike for all.
    pub fn new(identity: StoreIdentity) -> Self {
        Self {
            identity,
            state: Mutex::new(State {
                contents: Table::new(),
                commits: Table::new(),
                stored: Table::new(),
                index_due: Table::new(),
                index_unseen: Table::new(),
                children: Table::new(),
                sightings: Table::new(),
                sessions: Table::new(),
                cursors: Table::new(),
                placements: Table::new(),
                standing: Table::new(),
                audit: Table::new(),
                links: Table::new(),
                anchors: Table::new(),
                tombstones: Table::new(),
                redirects: Table::new(),
                condemned: Table::new(),
                orphans: Table::new(),
                coverage: Table::new(),
                logs: Logs::default(),
                next_order: 0,
                batch_from: 0,
                closed: false,
            }),
        }
    }

    /// A thread that panicked in a test must not hide the store from the others; the next batch begins with a
    /// rollback, so that nothing half applied is ever kept.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryStore {
    /// Returns the state for writing, as the last transaction left it.
    fn open(&self, operation: &'static str) -> Result<MutexGuard<'_, State>, StoreError> {
        let mut state = self.lock();
        state.roll_back();
        if state.closed { Err(StoreError::Closed { operation }) } else { Ok(state) }
    }
}

impl Commits for MemoryStore {
    fn commit_batch(&self, batch: Vec<Write>) -> Result<BatchOutcome, StoreError> {
        check_batch(&batch)?;
        let mut state = self.open("writing a batch")?;
        let mut outcome = BatchOutcome::default();
        state.batch_from = state.next_order;
        for write in batch {
            if let Err(error) = apply::apply(&mut state, write, &mut outcome) {
                state.roll_back();
                return Err(error);
            }
        }
        state.commit();
        Ok(outcome)
    }

    fn commit(&self, id: CommitId) -> Result<Option<Commit>, StoreError> {
        Ok(self.lock().commits.get(&id).cloned())
    }

    fn ancestors(&self, from: CommitId, limit: usize) -> Result<Vec<Commit>, StoreError> {
        let state = self.lock();
        let mut next = Some(from);
        let mut chain = Vec::new();
        if !state.commits.contains(&from) {
            return Err(StoreError::CommitMissing(from));
        }
        while let Some(id) = next
            && chain.len() < limit
        {
            let commit = state.commits.get(&id).ok_or(StoreError::CommitMissing(id))?;
            next = commit.core.parent;
            chain.push(commit.clone());
        }
        Ok(chain)
    }

    fn children(&self, of: CommitId, limit: usize) -> Result<Vec<Commit>, StoreError> {
        let state = self.lock();
        let ids = state.children.range((of, 0)..=(of, u64::MAX)).map(|(_, id)| id);
        let found = ids.filter_map(|id| state.commits.get(id));
        Ok(found.take(limit).cloned().collect())
    }

    fn tips(&self, filter: &TipFilter, page: Page) -> Result<Vec<Commit>, StoreError> {
        check_page(page)?;
        let state = self.lock();
        let mut tips: Vec<Commit> = state
            .commits
            .iter()
            .filter(|(_, commit)| state.is_tip(commit, filter))
            .map(|(_, commit)| commit.clone())
            .collect();
        tips.sort_by_key(|commit| (std::cmp::Reverse(commit.core.created_at), commit.id));
        Ok(cut(tips, page))
    }

    fn listed(&self, filter: &CommitFilter, page: Page) -> Result<Vec<Commit>, StoreError> {
        check_page(page)?;
        let state = self.lock();
        let is_seen = |commit: &Commit| {
            filter.seen == TipFilter::default()
                || state.sightings_of(commit.id).any(|sighting| filter.seen.holds(sighting))
        };
        let holds = |commit: &&Commit| {
            let summary = state.annotations_of(commit.id).summary.map(|(_, source)| source);
            is_live(commit.closure)
                && commit.core.format.as_str() != SIDECAR_FORMAT
                && filter.holds(commit, summary)
                && is_seen(commit)
        };
        let mut listed: Vec<Commit> =
            state.commits.iter().map(|(_, commit)| commit).filter(holds).cloned().collect();
        listed.sort_by_key(|commit| (std::cmp::Reverse(commit.core.created_at), commit.id));
        Ok(cut(listed, page))
    }

    fn commits_after(&self, after: Option<CommitId>, limit: usize) -> Result<Vec<Commit>, StoreError> {
        let state = self.lock();
        let all = state.commits.iter().map(|(_, commit)| commit);
        let rest = all.filter(|commit| after.is_none_or(|after| commit.id > after));
        Ok(rest.take(limit).cloned().collect())
    }

    fn content_length(&self, id: ArtifactId) -> Result<Option<u64>, StoreError> {
        Ok(self.lock().contents.get(&id).map(Content::length))
    }

    fn read_content(
        &self,
        id: ArtifactId,
        range: Option<Range<u64>>,
        sink: &mut Sink<'_>,
    ) -> Result<(), StoreError> {
        content::read(&self.lock().contents, id, range, sink)
    }

    fn content_parts(&self, id: ArtifactId) -> Result<Option<Vec<PartOf>>, StoreError> {
        Ok(content::parts_of(&self.lock().contents, id))
    }

    fn sightings(&self, commit: CommitId, limit: usize) -> Result<Vec<Sighting>, StoreError> {
        let state = self.lock();
        let mut found: Vec<Sighting> = state.sightings_of(commit).cloned().collect();
        found.sort_by_cached_key(|sighting| {
            (sighting.observed_at, sighting.machine.clone(), Origin::of(sighting))
        });
        found.truncate(limit);
        Ok(found)
    }

    fn sessions(&self, filter: &SessionFilter, page: Page) -> Result<Vec<Session>, StoreError> {
        check_page(page)?;
        let state = self.lock();
        let all = state.sessions.iter().map(|(_, session)| session);
        let mut found: Vec<Session> = all.filter(|session| filter.holds(session)).cloned().collect();
        found.sort_by_cached_key(|session| {
            let key = session.key.clone();
            (std::cmp::Reverse(session.last_at), key.path, key.machine)
        });
        Ok(cut(found, page))
    }

    fn session(&self, key: &SessionKey) -> Result<Option<Session>, StoreError> {
        Ok(self.lock().sessions.get(key).cloned())
    }

    fn resolve(
        &self,
        scope: &ResolveScope,
        at: Timestamp,
        limit: usize,
    ) -> Result<Vec<CommitId>, StoreError> {
        let state = self.lock();
        let time_of = |id: &CommitId| state.commits.get(id).map(|commit| commit.core.created_at);
        let ids = state.in_scope(scope);
        let nearest = ids.iter().filter_map(time_of).filter(|time| *time <= at).max();
        let Some(nearest) = nearest else {
            return Ok(Vec::new());
        };
        let tied = ids.iter().filter(|id| time_of(id) == Some(nearest));
        Ok(tied.copied().take(limit).collect())
    }

    fn annotations(&self, commit: CommitId) -> Result<Annotations, StoreError> {
        Ok(self.lock().annotations_of(commit))
    }

    fn tagged(&self, tag: &str, limit: usize) -> Result<Vec<CommitId>, StoreError> {
        let state = self.lock();
        let carriers = state.tags().filter(|(_, name)| name == tag);
        Ok(carriers.map(|(id, _)| id).take(limit).collect())
    }

    fn audit(&self, commit: CommitId, limit: usize) -> Result<Vec<AuditRecord>, StoreError> {
        let mut found = self.lock().audit.get(&commit).cloned().unwrap_or_default();
        found.truncate(limit);
        Ok(found)
    }

    fn links(&self, commit: CommitId, limit: usize) -> Result<Vec<Link>, StoreError> {
        let state = self.lock();
        let found = state.links.iter().map(|(link, ())| link);
        let ends = found.filter(|link| link.from == commit || link.to == commit);
        Ok(ends.take(limit).cloned().collect())
    }

    fn anchored(&self, hashes: &[u64], limit: usize) -> Result<Vec<(u64, CommitId)>, StoreError> {
        check_anchors(hashes)?;
        let state = self.lock();
        let mut found = Vec::new();
        for hash in hashes {
            let holders = state.anchors.range((*hash, LEAST)..=(*hash, GREATEST)).map(|(key, ())| *key);
            found.extend(holders.filter(|(_, commit)| state.holds_anchors(*commit)).take(limit));
        }
        Ok(found)
    }

    fn coverage(&self, commit: CommitId) -> Result<Option<Coverage>, StoreError> {
        Ok(events::coverage(&self.lock(), commit))
    }

    fn last_covered(&self, ledger: &LedgerId) -> Result<Option<Coverage>, StoreError> {
        Ok(events::last_covered(&self.lock(), ledger))
    }

    fn cursor(&self, key: &SessionKey) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.lock().cursors.get(key).cloned())
    }

    fn placement(&self, machine: &MachineId, path: &str) -> Result<Option<Placement>, StoreError> {
        let key = (machine.clone(), path.to_owned());
        Ok(self.lock().placements.get(&key).cloned())
    }

    fn identity(&self) -> Result<StoreIdentity, StoreError> {
        Ok(self.identity.clone())
    }

    fn usage(&self) -> Result<Usage, StoreError> {
        let state = self.lock();
        let sidecars = count(state.sessions.iter().filter(|(_, session)| session.is_sidecar()).count());
        let mut usage = Usage {
            sessions: count(state.sessions.len()) - sidecars,
            sidecars,
            commits: count(state.commits.len()),
            contents: count(state.contents.len()),
            ..Usage::default()
        };
        for (_, commit) in state.commits.iter() {
            if commit.core.format.as_str() == SIDECAR_FORMAT {
                usage.sidecar_commits += 1;
                usage.sidecar_bytes = usage.sidecar_bytes.saturating_add(commit.native_bytes);
            }
            usage.logical_bytes = usage.logical_bytes.saturating_add(commit.native_bytes);
        }
        for (_, content) in state.contents.iter() {
            if let Content::Literal { bytes } = content {
                usage.distinct_bytes += count(bytes.len());
            }
        }
        usage.content_bytes = usage.distinct_bytes;
        usage.inbox_bytes = usage.distinct_bytes;
        usage.physical_bytes = usage.distinct_bytes;
        Ok(usage)
    }

    fn tombstones(&self, of: &[Tombstone]) -> Result<Vec<Tombstone>, StoreError> {
        let state = self.lock();
        Ok(of.iter().filter(|tombstone| state.tombstones.contains(tombstone)).cloned().collect())
    }

    fn redirects(&self, after: Option<CommitId>, limit: usize) -> Result<Redirects, StoreError> {
        let state = self.lock();
        let later = |from: &CommitId| after.is_none_or(|after| *from > after);
        Ok(state
            .redirects
            .iter()
            .filter(|(from, _)| later(from))
            .take(limit)
            .map(|(a, b)| (*a, *b))
            .collect())
    }

    fn has_tombstones(&self) -> Result<bool, StoreError> {
        Ok(self.lock().tombstones.len() > 0)
    }
}

fn cut<T>(rows: Vec<T>, page: Page) -> Vec<T> {
    let skip = usize::try_from(page.skip).unwrap_or(usize::MAX);
    rows.into_iter().skip(skip).take(page.rows_max).collect()
}

fn count(length: usize) -> u64 {
    to_u64(length)
}
