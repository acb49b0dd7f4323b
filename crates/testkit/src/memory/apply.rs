//! Applying one write to the tables in memory.
//!
//! Transactions and reads are the parent's.

use std::collections::BTreeSet;

use stemmata_model::{ArtifactId, Closure, Commit, CommitId, Sighting};
use stemmata_store::maintain::forget::Tombstone;
use stemmata_store::rules::annotation;
use stemmata_store::rules::closure::{self, Again, Past};
use stemmata_store::rules::latest::{Origin, is_replaced, sighting_order};
use stemmata_store::{
    AuditRecord, BatchOutcome, Link, NewCommit, NewHole, Placement, Session, SessionOrigin, StoreError, Write,
};

use super::content::{self, Content};
use super::events;
use super::forget::{forget_session, key_of};
use super::stored::place_of;
use super::{GREATEST, LEAST, State};

pub(super) fn apply(state: &mut State, write: Write, outcome: &mut BatchOutcome) -> Result<(), StoreError> {
    match write {
        Write::Content(new) => {
            let id = new.id();
            content::store(&mut state.contents, id, new.into_parts(), outcome)?;
            for part in content::parts_of(&state.contents, id).unwrap_or_default() {
                state.orphans.remove(&part.of);
            }
            state.orphans.remove(&id);
            Ok(())
        }
        Write::Commit(new) => commit(state, new, outcome),
        Write::Hole(new) => hole(state, *new, outcome),
        Write::Cover { commit } => cover(state, commit),
        Write::Counts { commit, counts } => {
            let mut stored = state.commits.get(&commit).ok_or(StoreError::CommitMissing(commit))?.clone();
            stored.counts = counts;
            state.commits.put(commit, stored);
            Ok(())
        }
        Write::Sighting { commit, sighting } => see(state, commit, *sighting),
        Write::Session(session) => upsert_session(state, *session),
        Write::Leave(key) => {
            forget_session(state, &key);
            Ok(())
        }
        Write::ExpectCursor { key, value } => {
            if state.cursors.get(&key) == value.as_ref() {
                return Ok(());
            }
            Err(StoreError::CursorMoved { path: key.path })
        }
        Write::ExpectTip { key, tip } => {
            if state.sessions.get(&key).and_then(|session| session.tip) == tip {
                return Ok(());
            }
            Err(StoreError::TipMoved { path: key.path })
        }
        Write::Cursor { key, value } => {
            state.cursors.put(key, value);
            Ok(())
        }
        Write::Placement(placement) => place(state, *placement),
        Write::Annotate { commit, change, at, by } => annotate(state, commit, AuditRecord { at, by, change }),
        Write::MergeAnnotations { commit, records } => merge(state, commit, records),
        Write::Link(link) => add_link(state, link),
        Write::Unlink(link) => {
            state.links.remove(&link);
            Ok(())
        }
        Write::Redirect { from, to, .. } => {
            if !state.redirects.contains(&from) {
                state.redirects.put(from, to);
            }
            Ok(())
        }
        Write::Anchors { commit, hashes } => anchor(state, commit, &hashes),
        Write::Append(append) => events::append(state, *append, outcome),
        Write::Covers(coverage) => {
            need(state, coverage.commit)?;
            events::cover(state, coverage)
        }
        Write::ExpectEpoch { ledger, epoch } => state.logs.expect_epoch(&ledger, epoch),
        Write::SaveStates { ledger, states } => state.logs.save_states(&ledger, states),
        Write::ChangeLedger(change) => state.logs.change(*change),
    }
}

fn commit(state: &mut State, new: NewCommit, outcome: &mut BatchOutcome) -> Result<(), StoreError> {
    let id = new.core.id();
    if state.tombstones.contains(&Tombstone::Commit(id)) {
        return Err(StoreError::Forgotten(id));
    }
    state.condemned.remove(&id);
    if let Some(mut stored) = state.commits.get(&id).cloned() {
        match closure::store_again(&stored, &new)? {
            Again::Keep => return Ok(()),
            Again::Close => {}
            Again::Fill => {
                let mut contents = std::iter::once(new.core.artifact).chain(new.core.native);
                contents.try_for_each(|content| has_bytes(state, content))?;
                state.index_due_from(state.first_of(&[id]));
            }
        }
        stored.closure = new.closure;
        state.commits.put(id, stored);
        return Ok(());
    }
    let before = beginning(state, id, new.core.parent)?;
    has_bytes(state, new.core.artifact)?;
    let native = new.core.native_artifact();
    has_bytes(state, native)?;
    add(state, new, before)?;
    outcome.new_commits += 1;
    Ok(())
}

/// Stores a commit without its contents, unless it is here.
fn hole(state: &mut State, hole: NewHole, outcome: &mut BatchOutcome) -> Result<(), StoreError> {
    let id = hole.core.id();
    state.condemned.remove(&id);
    if let Some(stored) = state.commits.get(&id) {
        if stored.closure == Closure::Forgotten {
            forget_with(state, id, hole.holds);
        }
        return Ok(());
    }
    let before = beginning(state, id, hole.core.parent)?;
    let native = hole.core.native.map(|native| (native, hole.native_bytes));
    for (content, length) in std::iter::once((hole.core.artifact, hole.artifact_bytes)).chain(native) {
        state.orphans.remove(&content);
        if !state.contents.contains(&content) {
            state.contents.put(content, Content::Forgotten { length });
            outcome.new_contents += 1;
        }
    }
    let (core, rules, counts) = (hole.core, hole.rules, hole.counts);
    add(state, NewCommit { core, rules, closure: Closure::Forgotten, counts }, before)?;
    forget_with(state, id, hole.holds);
    outcome.new_commits += 1;
    Ok(())
}

/// Leaves a tombstone of a commit that holds a forgotten one, to be lifted with that one's.
fn forget_with(state: &mut State, id: CommitId, holds: Option<CommitId>) {
    let at = holds.and_then(|held| state.tombstones.get(&Tombstone::Commit(held)).copied());
    if let Some(at) = at.filter(|_| !state.tombstones.contains(&Tombstone::Commit(id))) {
        state.tombstones.put(Tombstone::Commit(id), at);
    }
}

/// Returns what is before a commit that is not here.
fn beginning(state: &mut State, id: CommitId, parent: Option<CommitId>) -> Result<Past, StoreError> {
    let Some(parent) = parent else { return Ok(Past::default()) };
    let commit = state.commits.get(&parent).ok_or(StoreError::ParentMissing { commit: id, parent })?;
    let past = Past::after(commit.depth, commit.cumulative_bytes);
    state.condemned.remove(&parent);
    past
}

fn add(state: &mut State, new: NewCommit, past: Past) -> Result<(), StoreError> {
    let id = new.core.id();
    let native = new.core.native_artifact();
    let native_bytes =
        state.contents.get(&native).map(Content::length).ok_or(StoreError::ContentMissing(native))?;
    let order = state.order();
    state.stored.put(place_of(order), id);
    if let Some(parent) = new.core.parent {
        state.children.put((parent, order), id);
    }
    let commit = Commit {
        id,
        core: new.core,
        rules: new.rules,
        closure: new.closure,
        counts: new.counts,
        native_bytes,
        depth: past.commits,
        cumulative_bytes: past.bytes.saturating_add(native_bytes),
    };
    state.commits.put(id, commit);
    Ok(())
}

/// A content that a commit names is there, and was not forgotten.
fn has_bytes(state: &mut State, id: ArtifactId) -> Result<(), StoreError> {
    state.orphans.remove(&id);
    match state.contents.get(&id) {
        None => Err(StoreError::ContentMissing(id)),
        Some(Content::Forgotten { .. }) => Err(StoreError::ContentForgotten(id)),
        Some(Content::Literal { .. } | Content::Composed { .. }) => Ok(()),
    }
}

fn cover(state: &mut State, id: CommitId) -> Result<(), StoreError> {
    let mut stored = state.commits.get(&id).ok_or(StoreError::CommitMissing(id))?.clone();
    stored.closure = closure::covered(stored.closure);
    state.commits.put(id, stored);
    Ok(())
}

fn see(state: &mut State, id: CommitId, sighting: Sighting) -> Result<(), StoreError> {
    need(state, id)?;
    let mut own = state.sightings.get(&id).cloned().unwrap_or_default();
    let key = Origin::of(&sighting);
    if own.get(&key).is_none_or(|stored| sighting_order(&sighting) < sighting_order(stored)) {
        let session = key_of(&sighting);
        own.insert(key, sighting);
        state.sightings.put(id, own);
        if !state.is_of_batch(id) {
            state.see_later(session);
        }
    }
    Ok(())
}

fn upsert_session(state: &mut State, session: Session) -> Result<(), StoreError> {
    if let SessionOrigin::Placed(ctx) = session.origin {
        need(state, ctx)?;
    }
    if let Some(tip) = session.tip {
        need(state, tip)?;
    }
    state.sessions.put(session.key.clone(), session);
    Ok(())
}

fn place(state: &mut State, placement: Placement) -> Result<(), StoreError> {
    need(state, placement.ctx)?;
    let key = (placement.machine.clone(), placement.path.clone());
    let stored = state.placements.get(&key).map(|stored| stored.placed_at);
    if is_replaced(stored, placement.placed_at) {
        state.placements.put(key, placement);
    }
    Ok(())
}

fn add_link(state: &mut State, link: Link) -> Result<(), StoreError> {
    need(state, link.from)?;
    need(state, link.to)?;
    state.links.put(link, ());
    Ok(())
}

fn anchor(state: &mut State, id: CommitId, hashes: &[u64]) -> Result<(), StoreError> {
    need(state, id)?;
    for hash in hashes {
        let holders = state.anchors.range((*hash, LEAST)..=(*hash, GREATEST)).map(|(key, ())| *key);
        let covered: Vec<(u64, CommitId)> =
            holders.filter(|(_, commit)| !state.holds_anchors(*commit)).collect();
        for key in covered {
            state.anchors.remove(&key);
        }
        state.anchors.put((*hash, id), ());
    }
    Ok(())
}

fn need(state: &mut State, id: CommitId) -> Result<(), StoreError> {
    state.condemned.remove(&id);
    if state.commits.contains(&id) { Ok(()) } else { Err(StoreError::CommitMissing(id)) }
}

fn annotate(state: &mut State, id: CommitId, record: AuditRecord) -> Result<(), StoreError> {
    need(state, id)?;
    let mut standing = state.standing.get(&id).cloned().unwrap_or_default();
    if !annotation::apply(&mut standing, &record) {
        return Ok(());
    }
    state.standing.put(id, standing);
    let mut audit = state.audit.get(&id).cloned().unwrap_or_default();
    if !audit.contains(&record) {
        audit.push(record);
        audit.sort_by_key(|record| record.at);
        state.audit.put(id, audit);
    }
    Ok(())
}

/// Adds records of another store, and has the metadata be what all of them say.
fn merge(state: &mut State, id: CommitId, records: Vec<AuditRecord>) -> Result<(), StoreError> {
    need(state, id)?;
    let mut all = records_of(state, id);
    all.extend(records);
    stand(state, id, all);
    Ok(())
}

pub(super) fn records_of(state: &State, id: CommitId) -> BTreeSet<AuditRecord> {
    state.audit.get(&id).into_iter().flatten().cloned().collect()
}

/// Keeps all records of a commit, and what they say together.
pub(super) fn stand(state: &mut State, id: CommitId, all: BTreeSet<AuditRecord>) {
    state.standing.put(id, annotation::standing_records(&all));
    state.audit.put(id, all.into_iter().collect());
}
