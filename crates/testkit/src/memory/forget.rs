//! What forgetting removes from the tables in memory, in the plainest way.
//!
//! In which order it happens is decided in `stemmata_store::rules::forget`.

use std::collections::{BTreeSet, HashSet};

use stemmata_model::{
    ArtifactId, Closure, Commit, CommitId, CommitPrefix, Event, LedgerId, SessionId, Sighting, Timestamp,
    to_u64,
};
use stemmata_store::maintain::forget::{Forget, MEMORY_STATES, Tombstone};
use stemmata_store::rules::annotation::says_content;
use stemmata_store::rules::forget::{Forgetting, Removing};
use stemmata_store::rules::removal::{EachSession, Holders, Named, SeenBy};
use stemmata_store::rules::sweep::Contents as _;
use stemmata_store::rules::tips::{Standing, Step, move_tip};
use stemmata_store::{AuditRecord, Session, SessionKey, SessionOrigin, StoreError, StoredAt};

use super::{State, events};

impl Removing for State {
    type Place = CommitId;
    type Order = StoredAt;

    fn first_stored(&self, of: &[Row]) -> Result<Option<StoredAt>, StoreError> {
        let of: Vec<CommitId> = of.iter().map(|row| row.commit).collect();
        Ok(self.first_of(&of))
    }

    fn remove_commits(&mut self, gone: &[Row]) -> Result<(), StoreError> {
        remove(self, gone)
    }

    fn index_due(&mut self, first: Option<StoredAt>, _at: Timestamp) -> Result<(), StoreError> {
        self.index_due_from(first);
        Ok(())
    }
}

impl Forgetting for State {
    fn each(&self, act: &mut dyn FnMut(Row)) -> Result<(), StoreError> {
        self.each_commit(act)
    }

    fn session_of(&self, key: &SessionKey) -> Result<Option<SessionId>, StoreError> {
        Ok(self.sessions.get(key).map(|session| session.session.clone()))
    }

    fn lines(&self, request: &Forget) -> Result<BTreeSet<ArtifactId>, StoreError> {
        Ok(request.lines.clone().unwrap_or_default())
    }

    fn forget_events(
        &mut self,
        sessions: &BTreeSet<SessionId>,
        request: &Forget,
    ) -> Result<(u64, BTreeSet<ArtifactId>), StoreError> {
        let is_named = |of: &LedgerId, event: &Event| {
            let mut events = request.events.iter();
            request.ledgers.contains(of)
                || events.any(|(ledger, seqs)| ledger == of && seqs.contains(&event.seq))
        };
        let went =
            events::forget(self, &|of, event| sessions.contains(&event.session) || is_named(of, event));
        for ledger in &request.ledgers {
            self.logs.drop_folded(ledger);
        }
        Ok(went)
    }

    fn make_holes(&mut self, cut: &[Row]) -> Result<(), StoreError> {
        for row in cut {
            hole(self, row.commit);
        }
        Ok(())
    }

    fn silence(&mut self, holes: &[Row]) -> Result<bool, StoreError> {
        for row in holes {
            silence(self, row.commit);
        }
        Ok(false)
    }

    fn remove_sessions(&mut self, sessions: &[SessionKey]) -> Result<u64, StoreError> {
        let mut removed = 0;
        // One may be named twice.
        for key in sessions {
            removed += u64::from(self.sessions.contains(key));
            forget_session(self, key);
        }
        Ok(removed)
    }

    fn clear_sessions(&mut self, request: &Forget) -> Result<bool, StoreError> {
        for key in &request.unread {
            self.cursors.remove(key);
        }
        for key in &request.untitled {
            if let Some(session) = self.sessions.get(key).cloned() {
                self.sessions.put(key.clone(), Session { title: None, ..session });
            }
        }
        Ok(false)
    }

    fn records(&self, of: Row) -> Result<BTreeSet<AuditRecord>, StoreError> {
        Ok(super::apply::records_of(self, of.commit))
    }

    fn put_records(&mut self, of: Row, records: BTreeSet<AuditRecord>) -> Result<(), StoreError> {
        super::apply::stand(self, of.commit, records);
        Ok(())
    }

    fn drop_memories(&mut self) -> Result<bool, StoreError> {
        self.logs.raise_epochs(&|_| true);
        self.logs.drop_states(&|_, name| name.starts_with(MEMORY_STATES));
        Ok(false)
    }

    fn bury(&mut self, what: &Tombstone, request: &Forget) -> Result<bool, StoreError> {
        let is_new = !self.tombstones.contains(what);
        if is_new {
            self.tombstones.put(what.clone(), request.at);
        }
        Ok(is_new)
    }

    /// There are no files.
    fn note_unclean(&mut self, _request: &Forget) -> Result<(), StoreError> {
        Ok(())
    }
}

/// A commit as it is removed.
type Row = Named<CommitId, ArtifactId>;

/// Removes a session's row, cursor and placement, and what was seen there.
pub(super) fn forget_session(state: &mut State, key: &SessionKey) {
    state.sessions.remove(key);
    let seen: Vec<CommitId> = state.sightings.iter().map(|(id, _)| *id).collect();
    for id in seen {
        let mut own = state.sightings.get(&id).cloned().unwrap_or_default();
        own.retain(|_, sighting| key_of(sighting) != *key);
        state.sightings.put(id, own);
    }
    state.cursors.remove(key);
    state.index_unseen.remove(key);
    state.placements.remove(&(key.machine.clone(), key.path.clone()));
}

pub(super) fn lift(state: &mut State, of: &Tombstone) -> u64 {
    let Some(at) = state.tombstones.get(of).copied() else {
        return 0;
    };
    let all: Vec<Tombstone> = state
        .tombstones
        .iter()
        .filter(|(_, set)| **set == at)
        .map(|(tombstone, _)| tombstone.clone())
        .collect();
    for tombstone in &all {
        // What comes back is itself again, and leads nowhere else.
        if let Tombstone::Commit(id) = tombstone {
            state.redirects.remove(id);
        }
        state.tombstones.remove(tombstone);
    }
    to_u64(all.len())
}

pub(super) fn tombstones_in(state: &State, prefix: CommitPrefix, limit: usize) -> Vec<CommitId> {
    let within = Tombstone::Commit(prefix.low)..=Tombstone::Commit(prefix.high);
    let ids = state.tombstones.range(within).filter_map(|(tombstone, _)| match tombstone {
        Tombstone::Commit(id) => Some(*id),
        Tombstone::Session(_) | Tombstone::Transcript(_) => None,
    });
    ids.take(limit).collect()
}

impl Holders for State {
    type Commit = Row;
    type Key = CommitId;

    fn find(&self, ids: &[CommitId]) -> Result<Vec<Row>, StoreError> {
        let mut rows: Vec<&Commit> = ids.iter().filter_map(|id| self.commits.get(id)).collect();
        rows.sort_by_key(|commit| (std::cmp::Reverse(commit.depth), commit.id));
        rows.dedup_by_key(|commit| commit.id);
        Ok(rows.into_iter().map(named).collect())
    }

    fn key(&self, row: Row) -> CommitId {
        row.commit
    }

    fn id(&self, row: Row) -> CommitId {
        row.commit
    }

    fn is_marked(&self, Row { commit, .. }: Row) -> Result<[bool; 2], StoreError> {
        let own = self.annotations_of(commit);
        Ok([own.pinned, !own.tags.is_empty()])
    }

    fn each_sighting(
        &self,
        Row { commit, .. }: Row,
        act: &mut dyn FnMut(SeenBy<'_>),
    ) -> Result<(), StoreError> {
        for sighting in self.sightings_of(commit) {
            let SessionKey { machine, path } = key_of(sighting);
            let refers = sighting.ticket.is_some() || sighting.thread.is_some();
            act(SeenBy { machine: machine.as_str(), path: &path, refers });
        }
        Ok(())
    }

    fn each_session(&self, act: &mut EachSession<'_>) -> Result<(), StoreError> {
        for (key, session) in self.sessions.iter() {
            let placed_from = match session.origin {
                SessionOrigin::Placed(from) => Some(from),
                SessionOrigin::Imported | SessionOrigin::Api => None,
            };
            act((key.machine.as_str(), &key.path), [session.tip, placed_from]);
        }
        Ok(())
    }

    fn children(&self, Row { commit, .. }: Row) -> Result<Vec<CommitId>, StoreError> {
        Ok(self.children_of(commit).map(|child| child.id).collect())
    }
}

pub(super) fn key_of(sighting: &Sighting) -> SessionKey {
    let path = match &sighting.source {
        Some(source) => source.path.clone(),
        None => format!("api:{}", sighting.session),
    };
    SessionKey { machine: sighting.machine.clone(), path }
}

/// Returns a commit as far as it names contents.
pub(super) fn named(commit: &Commit) -> Row {
    Named {
        commit: commit.id,
        is_hole: commit.closure == Closure::Forgotten,
        artifact: commit.core.artifact,
        native: commit.core.native,
    }
}

/// Removes commits and everything that is about them.
fn remove(state: &mut State, gone: &[Row]) -> Result<(), StoreError> {
    let going: HashSet<CommitId> = gone.iter().map(|row| row.commit).collect();
    move_tips(state, &going)?;
    for id in &going {
        let Some(commit) = state.commits.get(id).cloned() else { continue };
        state.commits.remove(id);
        if let Some(at) = state.first_of(&[*id]) {
            state.stored.remove(&at);
        }
        state.sightings.remove(id);
        state.standing.remove(id);
        state.audit.remove(id);
        state.condemned.remove(id);
        if let Some(parent) = commit.core.parent {
            let among = state.children.range((parent, 0)..=(parent, u64::MAX));
            let own: Vec<(CommitId, u64)> =
                among.filter(|(_, child)| *child == id).map(|(key, _)| *key).collect();
            for key in &own {
                state.children.remove(key);
            }
        }
    }
    let about = |from: &CommitId, to: &CommitId| going.contains(from) || going.contains(to);
    let links: Vec<_> = state
        .links
        .iter()
        .map(|(link, ())| link)
        .filter(|link| about(&link.from, &link.to))
        .cloned()
        .collect();
    for link in &links {
        state.links.remove(link);
    }
    let placed: Vec<_> = state
        .placements
        .iter()
        .filter(|(_, placement)| going.contains(&placement.ctx))
        .map(|(key, _)| key.clone())
        .collect();
    for key in &placed {
        state.placements.remove(key);
    }
    unanchor(state, &|id| going.contains(&id));
    events::uncover(state, &|id| going.contains(&id));
    Ok(())
}

fn unanchor(state: &mut State, is_gone: &dyn Fn(CommitId) -> bool) {
    let held: Vec<(u64, CommitId)> =
        state.anchors.iter().map(|(key, ())| *key).filter(|(_, id)| is_gone(*id)).collect();
    for key in &held {
        state.anchors.remove(key);
    }
}

/// Has sessions that ended at a commit that goes end at its nearest ancestor that stays.
fn move_tips(state: &mut State, going: &HashSet<CommitId>) -> Result<(), StoreError> {
    let sessions: Vec<_> = state.sessions.iter().map(|(_, session)| session.clone()).collect();
    for mut session in sessions {
        let before = session.clone();
        if let SessionOrigin::Placed(from) = session.origin
            && going.contains(&from)
        {
            session.origin = SessionOrigin::Imported;
        }
        if let Some(tip) = session.tip.filter(|tip| going.contains(tip)) {
            let standing = move_tip(tip, |id| {
                Ok(state.commits.get(&id).map(|commit| Step {
                    id,
                    parent: commit.core.parent,
                    stays: !going.contains(&id),
                    depth: commit.depth,
                    cumulative_bytes: commit.cumulative_bytes,
                    messages: commit.counts.messages,
                }))
            })?;
            let number = |of: fn(Standing) -> u64| standing.map_or(0, of);
            session.tip = standing.map(|standing| standing.tip);
            session.title = session.title.filter(|_| standing.is_some());
            session.commits = number(|standing| standing.commits);
            session.messages = number(|standing| standing.messages);
            session.bytes = number(|standing| standing.bytes);
        }
        if session != before {
            state.sessions.put(session.key.clone(), session);
        }
    }
    Ok(())
}

fn hole(state: &mut State, id: CommitId) {
    let Some(mut commit) = state.commits.get(&id).cloned() else { return };
    commit.closure = Closure::Forgotten;
    state.commits.put(id, commit);
    silence(state, id);
    unanchor(state, &|anchored| anchored == id);
}

/// Removes the summary and the notes of a hole: they say what the commit held.
fn silence(state: &mut State, id: CommitId) {
    for table in [&mut state.standing, &mut state.audit] {
        if let Some(mut own) = table.get(&id).cloned() {
            own.retain(|record| !says_content(&record.change));
            table.put(id, own);
        }
    }
}
