//! Forgetting in memory: what the transaction of a store on disk does, in the plainest way.
//!
//! There are no files to clean.

use std::collections::{BTreeSet, HashSet};

use stemmata_model::{
    ArtifactId, Closure, Commit, CommitId, CommitPrefix, Event, EventSeq, LedgerId, SessionId, Sighting,
    to_u64,
};

use super::sweep::{Lines, give_up};
use super::{Note, State, events};
use crate::maintain::forget::{Forget, Forgotten, Keep, Kept, MEMORY_STATES, Tombstone, api_sessions};
use crate::write::{Annotation, Session, SessionKey, SessionOrigin};

/// What is no root any more, and what does not count as a reason to keep it.
#[derive(Clone, Copy)]
pub(super) struct Wish<'a> {
    pub(super) unroot: &'a [CommitId],
    pub(super) sessions: &'a [SessionKey],
    pub(super) even_sighted: bool,
    pub(super) even_pinned: bool,
}

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

pub(super) fn forget(state: &mut State, wish: &Forget) -> Forgotten {
    let (gone, kept) = plan(
        state,
        Wish {
            unroot: &wish.unroot,
            sessions: &wish.sessions,
            even_sighted: wish.even_sighted,
            even_pinned: wish.even_pinned,
        },
    );
    let mut candidates = contents_of(state, &gone);
    let sessions = sessions_of(state, wish);
    let (mut events, lines) =
        events::forget(state, &|of, event| sessions.contains(&event.session) || is_named(wish, of, event));
    wish.ledgers.iter().for_each(|ledger| state.logs.drop_folded(ledger));
    candidates.extend(lines);
    let first_gone = state.first_stored(&gone);
    remove(state, &gone);
    let sealed = seal(state, wish);
    for id in &wish.cut {
        if state.commits.get(id).is_some_and(|commit| commit.closure == Closure::Forgotten) {
            silence(state, *id);
        }
    }
    let (asked, cut_too) = cut(state, &wish.cut);
    let holes: Vec<CommitId> = asked.iter().chain(&cut_too).copied().collect();
    let emptied = contents_of(state, &holes);
    for id in &holes {
        hole(state, *id);
    }
    let lines = match &wish.lines {
        Some(these) => Lines::ForgetThese(these),
        None if wish.sessions.is_empty() => Lines::Forget,
        None => Lines::ForgetCut,
    };
    let swept = give_up(state, candidates, &emptied, lines);
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
    let reworded = super::apply::reword(state, &wish.reworded);
    Forgotten {
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
    }
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

/// Finds out what can go, children before parents, and what stays.
pub(super) fn plan(state: &State, wish: Wish<'_>) -> (Vec<CommitId>, Vec<Kept>) {
    let mut rows: Vec<&Commit> = wish.unroot.iter().filter_map(|id| state.commits.get(id)).collect();
    rows.sort_by_key(|commit| (std::cmp::Reverse(commit.depth), commit.id));
    rows.dedup_by_key(|commit| commit.id);
    let mut gone = Vec::new();
    let mut going = HashSet::new();
    let mut kept = Vec::new();
    for commit in rows {
        if let Some(because) = reason(state, wish, commit.id, &going) {
            kept.push(Kept { commit: commit.id, because });
        } else {
            going.insert(commit.id);
            gone.push(commit.id);
        }
    }
    (gone, kept)
}

fn reason(state: &State, wish: Wish<'_>, id: CommitId, going: &HashSet<CommitId>) -> Option<Keep> {
    if !wish.even_pinned
        && let Some(own) = state.annotations.get(&id)
    {
        if own.pinned {
            return Some(Keep::Pin);
        }
        if !own.tags.is_empty() {
            return Some(Keep::Tag);
        }
    }
    let others: Vec<&Sighting> =
        state.sightings_of(id).filter(|sighting| !wish.sessions.contains(&key_of(sighting))).collect();
    let refers = |sighting: &&Sighting| sighting.ticket.is_some() || sighting.thread.is_some();
    if !wish.even_pinned && others.iter().any(refers) {
        return Some(Keep::Ticket);
    }
    if !wish.even_sighted && (!others.is_empty() || ends_another(state, wish, id)) {
        return Some(Keep::Session);
    }
    let mut children = state.children.range((id, 0)..=(id, u64::MAX));
    children.any(|(_, child)| !going.contains(child)).then_some(Keep::Child)
}

fn ends_another(state: &State, wish: Wish<'_>, id: CommitId) -> bool {
    state.sessions.iter().any(|(key, session)| {
        !wish.sessions.contains(key)
            && (session.tip == Some(id) || session.origin == SessionOrigin::Placed(id))
    })
}

pub(super) fn key_of(sighting: &Sighting) -> SessionKey {
    let path = match &sighting.source {
        Some(source) => source.path.clone(),
        None => format!("api:{}", sighting.session),
    };
    SessionKey { machine: sighting.machine.clone(), path }
}

pub(super) fn contents_of(state: &State, commits: &[CommitId]) -> BTreeSet<ArtifactId> {
    let found = commits.iter().filter_map(|id| state.commits.get(id));
    found.flat_map(|commit| std::iter::once(commit.core.artifact).chain(commit.core.native)).collect()
}

/// Removes commits and everything that is about them.
pub(super) fn remove(state: &mut State, gone: &[CommitId]) {
    let going: HashSet<CommitId> = gone.iter().copied().collect();
    move_tips(state, &going);
    for id in gone {
        let Some(commit) = state.commits.get(id).cloned() else { continue };
        state.commits.remove(id);
        if let Some(at) = state.first_stored(&[*id]) {
            state.stored.remove(&at);
        }
        state.sightings.remove(id);
        state.annotations.remove(id);
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
    drop_notes(state, &|of| going.contains(&of));
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
}

fn unanchor(state: &mut State, is_gone: &dyn Fn(CommitId) -> bool) {
    let held: Vec<(u64, CommitId)> =
        state.anchors.iter().map(|(key, ())| *key).filter(|(_, id)| is_gone(*id)).collect();
    for key in &held {
        state.anchors.remove(key);
    }
}

/// Has sessions that ended at a commit that goes end at its nearest ancestor that stays.
fn move_tips(state: &mut State, going: &HashSet<CommitId>) {
    let sessions: Vec<_> = state.sessions.iter().map(|(_, session)| session.clone()).collect();
    for mut session in sessions {
        let before = session.clone();
        if let SessionOrigin::Placed(from) = session.origin
            && going.contains(&from)
        {
            session.origin = SessionOrigin::Imported;
        }
        if session.tip.is_some_and(|tip| going.contains(&tip)) {
            let mut next = session.tip;
            while let Some(id) = next.filter(|id| going.contains(id)) {
                next = state.commits.get(&id).and_then(|commit| commit.core.parent);
            }
            session.tip = next;
            (session.commits, session.messages, session.bytes) = (0, 0, 0);
            if next.is_none() {
                session.title = None;
            }
            while let Some(commit) = next.and_then(|id| state.commits.get(&id)) {
                session.commits += 1;
                session.messages += commit.counts.messages;
                session.bytes += commit.native_bytes;
                next = commit.core.parent;
            }
        }
        if session != before {
            state.sessions.put(session.key.clone(), session);
        }
    }
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
fn cut(state: &State, wanted: &[CommitId]) -> (Vec<CommitId>, Vec<CommitId>) {
    let stands =
        |id: &CommitId| state.commits.get(id).is_some_and(|commit| commit.closure != Closure::Forgotten);
    let mut asked: Vec<CommitId> = wanted.iter().copied().filter(stands).collect();
    asked.sort();
    asked.dedup();
    let mut holes: BTreeSet<CommitId> = asked.iter().copied().collect();
    loop {
        let named = contents_of(state, &holes.iter().copied().collect::<Vec<_>>());
        let is_cut = |commit: &Commit| {
            std::iter::once(commit.core.artifact).chain(commit.core.native).any(|id| named.contains(&id))
        };
        let more: Vec<CommitId> = state
            .commits
            .iter()
            .filter(|(id, commit)| {
                is_cut(commit) && commit.closure != Closure::Forgotten && !holes.contains(id)
            })
            .map(|(id, _)| *id)
            .collect();
        if more.is_empty() {
            let too = holes.iter().copied().filter(|id| asked.binary_search(id).is_err()).collect();
            return (asked, too);
        }
        holes.extend(more);
    }
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
    if let Some(mut own) = state.annotations.get(&id).cloned() {
        own.summary = None;
        state.annotations.put(id, own);
    }
    if let Some(mut audit) = state.audit.get(&id).cloned() {
        audit.retain(|record| !matches!(record.change, Annotation::Summary { .. } | Annotation::AddNote(_)));
        state.audit.put(id, audit);
    }
    drop_notes(state, &|of| of == id);
}

/// Removes all notes of some commits.
pub(super) fn drop_notes(state: &mut State, of: &dyn Fn(CommitId) -> bool) {
    let notes = state.notes.iter().map(|(note, _)| note).filter(|note| of(note.commit));
    let notes: Vec<Note> = notes.cloned().collect();
    for note in &notes {
        state.notes.remove(note);
    }
}
