//! Forgetting in memory: what the transaction of a store on disk does, in the plainest way.
//!
//! There are no files to clean.

use std::collections::{BTreeSet, HashSet};

use stemmata_model::{
    ArtifactId, Closure, Commit, CommitId, CommitPrefix, Event, EventSeq, LedgerId, SessionId, Sighting,
    to_u64,
};
use stemmata_store::maintain::forget::{Forget, Forgotten, MEMORY_STATES, Tombstone, api_sessions};
use stemmata_store::rules::annotation::says_content;
use stemmata_store::rules::removal::{self, EachSession, Holders, Named, Plan, SeenBy, Unrooting};
use stemmata_store::rules::sweep::{Contents as _, Lines, give_up};
use stemmata_store::rules::tips::{Standing, Step, move_tip};
use stemmata_store::{Session, SessionKey, SessionOrigin, StoreError};

use super::{State, events};

/// The ids of sessions that go, and those that their keys tell.
fn sessions_of(state: &State, wish: &Forget) -> BTreeSet<SessionId> {
    let known = wish.sessions.iter().filter_map(|key| state.sessions.get(key));
    known.map(|session| session.session.clone()).chain(api_sessions(wish)).collect()
}

/// Says whether an event is to be forgotten by its ledger or by its place.
fn is_named(wish: &Forget, of: &LedgerId, event: &Event) -> bool {
    let by_place =
        |(ledger, seqs): &(LedgerId, BTreeSet<EventSeq>)| ledger == of && seqs.contains(&event.seq);
    wish.ledgers.contains(of) || wish.events.iter().any(by_place)
}

pub(super) fn forget(state: &mut State, wish: &Forget) -> Result<Forgotten, StoreError> {
    let Plan { gone, kept } = removal::plan(state, Unrooting::forgetting(wish))?;
    let mut candidates = contents_of(state, &gone);
    let sessions = sessions_of(state, wish);
    let (mut events, lines) =
        events::forget(state, &|of, event| sessions.contains(&event.session) || is_named(wish, of, event));
    wish.ledgers.iter().for_each(|ledger| state.logs.drop_folded(ledger));
    candidates.extend(lines);
    let first_gone = state.first_stored(&gone);
    remove(state, &gone)?;
    let sealed = seal(state, wish);
    for id in &wish.cut {
        if state.commits.get(id).is_some_and(|commit| commit.closure == Closure::Forgotten) {
            silence(state, *id);
        }
    }
    let (asked, cut_too) = cut(state, &wish.cut)?;
    let holes: Vec<CommitId> = asked.iter().chain(&cut_too).copied().collect();
    let emptied = contents_of(state, &holes);
    for id in &holes {
        hole(state, *id);
    }
    let these = wish.lines.clone().unwrap_or_default();
    let swept = give_up(state, (candidates, &emptied), Lines::forgetting(wish, &these))?;
    events += swept.events;
    // A memory may hold words of what went, and so may one that is being made.
    state.logs.raise_epochs(&|_| true);
    state.logs.drop_states(&|_, name| name.starts_with(MEMORY_STATES));
    for id in gone.iter().chain(&holes).filter(|_| wish.is_final) {
        state.tombstones.put(Tombstone::Commit(*id), wish.at);
    }
    let gone_sessions = remove_sessions(state, wish);
    let first = first_gone.into_iter().chain(state.first_stored(&holes)).min();
    if first.is_some() || gone_sessions > 0 || events > 0 || !wish.ledgers.is_empty() {
        state.index_due_from(first);
    }
    for key in &wish.unread {
        state.cursors.remove(key);
    }
    for key in &wish.untitled {
        if let Some(session) = state.sessions.get(key).cloned() {
            state.sessions.put(key.clone(), Session { title: None, ..session });
        }
    }
    let reworded = super::apply::reword_all(state, &wish.reworded);
    Ok(Forgotten {
        removed: gone,
        cut: asked,
        cut_too,
        sealed,
        kept,
        sessions: gone_sessions,
        reworded,
        events,
        contents: swept.contents,
        bytes: swept.bytes,
        copied_out: swept.copied_out,
        unfinished: None,
    })
}

/// Removes what is kept of sessions, and says how many there were.
fn remove_sessions(state: &mut State, wish: &Forget) -> u64 {
    let mut sessions = 0;
    for key in &wish.sessions {
        let session = state.sessions.get(key).cloned();
        sessions += u64::from(session.is_some());
        if wish.is_final {
            state.tombstones.put(Tombstone::Transcript(key.clone()), wish.at);
            if let Some(session) = session {
                state.tombstones.put(Tombstone::Session(session.session), wish.at);
            }
        }
        forget_session(state, key);
    }
    sessions
}

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
    type Commit = CommitId;
    type Key = CommitId;

    fn find(&self, ids: &[CommitId]) -> Result<Vec<CommitId>, StoreError> {
        let mut rows: Vec<&Commit> = ids.iter().filter_map(|id| self.commits.get(id)).collect();
        rows.sort_by_key(|commit| (std::cmp::Reverse(commit.depth), commit.id));
        rows.dedup_by_key(|commit| commit.id);
        Ok(rows.iter().map(|commit| commit.id).collect())
    }

    fn key(&self, commit: CommitId) -> CommitId {
        commit
    }

    fn id(&self, commit: CommitId) -> CommitId {
        commit
    }

    fn is_marked(&self, commit: CommitId) -> Result<[bool; 2], StoreError> {
        let own = self.annotations_of(commit);
        Ok([own.pinned, !own.tags.is_empty()])
    }

    fn each_sighting(&self, commit: CommitId, act: &mut dyn FnMut(SeenBy<'_>)) -> Result<(), StoreError> {
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

    fn children(&self, commit: CommitId) -> Result<Vec<CommitId>, StoreError> {
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

pub(super) fn contents_of(state: &State, commits: &[CommitId]) -> BTreeSet<ArtifactId> {
    let found: Vec<Named<CommitId, ArtifactId>> =
        commits.iter().filter_map(|id| state.commits.get(id)).map(named).collect();
    removal::contents_of(&found)
}

/// Returns a commit as far as it names contents.
pub(super) fn named(commit: &Commit) -> Named<CommitId, ArtifactId> {
    Named {
        commit: commit.id,
        is_hole: commit.closure == Closure::Forgotten,
        artifact: commit.core.artifact,
        native: commit.core.native,
    }
}

/// Removes commits and everything that is about them.
pub(super) fn remove(state: &mut State, gone: &[CommitId]) -> Result<(), StoreError> {
    let going: HashSet<CommitId> = gone.iter().copied().collect();
    move_tips(state, &going)?;
    for id in gone {
        let Some(commit) = state.commits.get(id).cloned() else { continue };
        state.commits.remove(id);
        if let Some(at) = state.first_stored(&[*id]) {
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

/// Leaves tombstones of commits that were to be cut and are holes already, and returns those that had none.
fn seal(state: &mut State, wish: &Forget) -> Vec<CommitId> {
    let is_open = |id: &CommitId| {
        let is_hole = state.commits.get(id).is_some_and(|commit| commit.closure == Closure::Forgotten);
        is_hole && !state.tombstones.contains(&Tombstone::Commit(*id))
    };
    let mut sealed: Vec<CommitId> = wish.cut.iter().copied().filter(is_open).collect();
    sealed.sort();
    sealed.dedup();
    for id in &sealed {
        state.tombstones.put(Tombstone::Commit(*id), wish.at);
    }
    sealed
}

/// Returns what becomes a hole: what was asked for, and everything else that names a content of it.
fn cut(state: &State, wanted: &[CommitId]) -> Result<(Vec<CommitId>, Vec<CommitId>), StoreError> {
    let ids: BTreeSet<CommitId> = wanted.iter().copied().collect();
    let asked = ids.iter().filter_map(|id| state.commits.get(id)).map(named);
    let asked: Vec<Named<CommitId, ArtifactId>> = asked.filter(|commit| !commit.is_hole).collect();
    let more = removal::cut_too(&asked, &|act| state.each_commit(act))?;
    let ids = |named: &[Named<CommitId, ArtifactId>]| named.iter().map(|own| own.commit).collect();
    Ok((ids(&asked), ids(&more)))
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
