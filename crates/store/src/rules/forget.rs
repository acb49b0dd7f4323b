//! Forgetting: what goes in which order, and what is left of it, in every backend.
//!
//! Runs within one transaction of the backend, which commits it or takes it back. What can go is `removal`'s, what becomes of
//! contents `sweep`'s.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;

use stemmata_model::{CommitId, SessionId, Timestamp};

use super::annotation;
use super::removal::{self, Holders, Named, Unrooting, contents_of};
use super::sweep::{Contents, Lines, give_up};
use crate::error::StoreError;
use crate::maintain::forget::{Forget, Forgotten, Reworded, Tombstone, api_sessions};
use crate::write::{AuditRecord, SessionKey};

/// A commit as it is removed.
pub type Row<S> = Named<<S as Removing>::Place, <S as Contents>::Key>;

/// Removing commits from a store, within one transaction. Each method fails where the storage does, as for all traits here.
pub trait Removing: Contents + Holders<Commit = Row<Self>> {
    /// What a commit is found by.
    type Place: Copy + Eq + Hash;
    /// A place in the order of storing.
    type Order: Ord;

    /// Returns the place of the first of some commits.
    fn first_stored(&self, of: &[Row<Self>]) -> Result<Option<Self::Order>, StoreError>;

    /// Removes commits with everything that is about them; sessions end at what stays. No commit that stays continues one of them.
    fn remove_commits(&mut self, gone: &[Row<Self>]) -> Result<(), StoreError>;

    /// Has an index be cut before a place; for none, only places and events go.
    fn index_due(&mut self, first: Option<Self::Order>, at: Timestamp) -> Result<(), StoreError>;
}

/// Forgetting in a store.
pub trait Forgetting: Removing {
    /// Hands every commit to `act`.
    fn each(&self, act: &mut dyn FnMut(Row<Self>)) -> Result<(), StoreError>;

    /// Returns the id of the session of a transcript.
    fn session_of(&self, key: &SessionKey) -> Result<Option<SessionId>, StoreError>;

    /// Returns the contents that the request names as lines, those whose bytes are there.
    fn lines(&self, request: &Forget) -> Result<BTreeSet<<Self as Contents>::Key>, StoreError>;

    /// Forgets the events of sessions, and those that the request names, with the saved states of their ledgers. Returns how many
    /// these are, and the contents that were lines of them alone.
    fn forget_events(
        &mut self,
        sessions: &BTreeSet<SessionId>,
        request: &Forget,
    ) -> Result<(u64, BTreeSet<<Self as Contents>::Key>), StoreError>;

    /// Makes holes of commits: their summaries, notes and anchors go, their contents are given up after this.
    fn make_holes(&mut self, cut: &[Row<Self>]) -> Result<(), StoreError>;

    /// Removes the summaries and notes of holes; says whether there were any.
    fn silence(&mut self, holes: &[Row<Self>]) -> Result<bool, StoreError>;

    /// Removes sessions, their cursors and placements and what they saw; returns how many there were.
    fn remove_sessions(&mut self, sessions: &[SessionKey]) -> Result<u64, StoreError>;

    /// Removes the cursors and titles that the request names; says whether there were any.
    fn clear_sessions(&mut self, request: &Forget) -> Result<bool, StoreError>;

    /// Returns all that was recorded of a commit.
    fn records(&self, of: Row<Self>) -> Result<BTreeSet<AuditRecord>, StoreError>;

    /// Replaces all that was recorded of a commit, and has its metadata be what the records say.
    fn put_records(&mut self, of: Row<Self>, records: BTreeSet<AuditRecord>) -> Result<(), StoreError>;

    /// Drops the saved states that may hold words of any commit. A fold that is under way cannot save its state afterwards. Returns
    /// whether there were any.
    fn drop_memories(&mut self) -> Result<bool, StoreError>;

    /// Leaves a tombstone with the time and the author of the request; says whether there was none.
    fn bury(&mut self, what: &Tombstone, request: &Forget) -> Result<bool, StoreError>;

    /// Notes that files may still hold what is gone.
    fn note_unclean(&mut self, request: &Forget) -> Result<(), StoreError>;
}

/// Forgets.
///
/// # Errors
/// What the store fails with.
pub fn forget<S: Forgetting>(store: &mut S, request: &Forget) -> Result<Forgotten, StoreError> {
    let plan = removal::plan(store, Unrooting::forgetting(request))?;
    let tombstones = tombstones_of(store, request)?;
    let known = tombstones.iter().filter_map(|tombstone| match tombstone {
        Tombstone::Session(session) => Some(session.clone()),
        Tombstone::Commit(_) | Tombstone::Transcript(_) => None,
    });
    let (events, lines) = store.forget_events(&known.chain(api_sessions(request)).collect(), request)?;
    let first_gone = store.first_stored(&plan.gone)?;
    store.remove_commits(&plan.gone)?;
    let (holes, asked): (Vec<Row<S>>, Vec<Row<S>>) =
        store.find(&request.cut)?.into_iter().partition(|commit| commit.is_hole);
    let more = match asked.as_slice() {
        [] => Vec::new(),
        asked => removal::cut_too(asked, &|act| store.each(act))?,
    };
    let cut: Vec<Row<S>> = asked.iter().chain(&more).copied().collect();
    let first = first_gone.into_iter().chain(store.first_stored(&cut)?).min();
    store.make_holes(&cut)?;
    let mut going: BTreeSet<<S as Contents>::Key> = contents_of(&plan.gone);
    going.extend(lines);
    let these = store.lines(request)?;
    let swept = give_up(store, (going, &contents_of(&cut)), Lines::forgetting(request, &these))?;
    let sessions = store.remove_sessions(&request.sessions)?;
    // One that came as a hole may have come with what others said of it.
    let has_cleared = store.silence(&holes)? | store.clear_sessions(request)? | store.drop_memories()?;
    let reworded = reword_all(store, &request.reworded)?;
    let ids = |rows: &[Row<S>]| rows.iter().map(|row| store.id(*row)).collect::<Vec<CommitId>>();
    let mut forgotten = Forgotten {
        removed: ids(&plan.gone),
        cut: ids(&asked),
        cut_too: ids(&more),
        sealed: ids(&holes),
        kept: plan.kept,
        sessions,
        reworded,
        events: events + swept.events,
        contents: swept.contents,
        bytes: swept.bytes,
        copied_out: swept.copied_out,
        unfinished: None,
    };
    bury_all(store, request, (&mut forgotten, tombstones))?;
    let has_less = sessions > 0 || forgotten.events > 0 || !request.ledgers.is_empty() || first.is_some();
    if has_less {
        store.index_due(first, request.at)?;
    }
    if swept.any || has_cleared || has_less || reworded > 0 {
        store.note_unclean(request)?;
    }
    Ok(forgotten)
}

/// Leaves tombstones of what went, where it is to stay away. Of what is a hole already nothing can go, but something could fill it.
fn bury_all<S: Forgetting>(
    store: &mut S,
    request: &Forget,
    (forgotten, mut tombstones): (&mut Forgotten, Vec<Tombstone>),
) -> Result<(), StoreError> {
    let Forgotten { removed, cut, cut_too, .. } = &*forgotten;
    tombstones.extend(removed.iter().chain(cut).chain(cut_too).copied().map(Tombstone::Commit));
    for tombstone in tombstones.iter().filter(|_| request.is_final) {
        store.bury(tombstone, request)?;
    }
    let mut sealed = std::mem::take(&mut forgotten.sealed);
    sealed.sort();
    for hole in sealed {
        if store.bury(&Tombstone::Commit(hole), request)? {
            forgotten.sealed.push(hole);
        }
    }
    Ok(())
}

/// Returns the names of sessions that go, beside their transcripts': a copy under another path is the same session.
fn tombstones_of<S: Forgetting>(store: &S, request: &Forget) -> Result<Vec<Tombstone>, StoreError> {
    let mut tombstones = Vec::new();
    for key in &request.sessions {
        tombstones.push(Tombstone::Transcript(key.clone()));
        tombstones.extend(store.session_of(key)?.map(Tombstone::Session));
    }
    Ok(tombstones)
}

/// Replaces records, and returns of how many commits there was one to replace.
fn reword_all<S: Forgetting>(store: &mut S, requests: &[Reworded]) -> Result<u64, StoreError> {
    let mut by_commit: BTreeMap<CommitId, Vec<&Reworded>> = BTreeMap::new();
    for request in requests {
        by_commit.entry(request.commit).or_default().push(request);
    }
    let ids: Vec<CommitId> = by_commit.keys().copied().collect();
    let mut reworded = 0;
    for row in store.find(&ids)? {
        let mut records = store.records(row)?;
        let own = by_commit.get(&store.id(row)).into_iter().flatten().copied();
        if annotation::reword(&mut records, own) {
            store.put_records(row, records)?;
            reworded += 1;
        }
    }
    Ok(reworded)
}

/// Gives up the lines of events that were forgotten by themselves, unless a commit or another event needs them.
///
/// # Errors
/// What the store fails with.
pub fn forget_lines<S: Removing>(
    store: &mut S,
    (events, lines): (u64, BTreeSet<<S as Contents>::Key>),
) -> Result<u64, StoreError> {
    if events > 0 {
        store.index_due(None, Timestamp::EPOCH)?;
    }
    give_up(store, (lines, &BTreeSet::new()), Lines::Keep)?;
    Ok(events)
}
