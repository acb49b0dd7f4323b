//! The memory of a project: its ledger and every session that was captured in it, whatever tool it was in.
//!
//! What is remembered of an event or an entry is the reducers'; here is what they are fed, and how far they have read.

mod blocks;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use stemmata_api::v1::ReplayedTranscripts;
use stemmata_model::{
    Closure, Commit, CommitId, CommitType, Entry, EventSeq, LedgerId, Note, NoteCode, Timestamp,
};
use stemmata_prompt::reduce::Reducer;
use stemmata_prompt::reduce::memory::{MemoryReducer, ProjectMemory, SessionMemory};
use stemmata_store::{EventQuery, LedgerChange, SavedState, Session, SessionOrigin};

use self::blocks::{BLOCK_PREFIX, Member, Reading};
use super::project::{Elsewhere, ProjectSessions};
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::Result;

/// Sessions of one project that are read at most, the ones with the latest activity first.
pub const MEMORY_SESSIONS_MAX: usize = 1_000;

/// States that are saved at once: each may be some hundred kilobytes.
const SAVED_AT_ONCE: usize = 64;

/// What is remembered, and what it was made of.
#[derive(Debug, Clone)]
pub struct Remembered {
    /// The memory.
    pub memory: ProjectMemory,
    /// The ledger's last event that is in it.
    pub through: u64,
    /// Sessions that were captured from transcripts and are in it.
    pub transcripts: u64,
    /// Events and entries that had to be read; the others were in saved states.
    pub read: u64,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// What is to be remembered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Remembering {
    /// The last event; all that there is where absent. Of captured sessions it is what was said up to the event's time:
    /// times stand in for numbers, since transcripts are in no ledger.
    pub(crate) at: Option<u64>,
    /// Whether what came in bundles counts.
    pub(crate) wants_foreign: bool,
}

impl Remembering {
    /// All that is known now.
    pub(crate) const NOW: Self = Self { at: None, wants_foreign: true };
}

/// Where the transcripts of a memory are, by session.
pub(crate) type Transcripts = BTreeMap<String, TranscriptPlace>;

/// Where a session's transcript was captured.
#[derive(Debug, Clone)]
pub(crate) struct TranscriptPlace {
    /// Its newest commit.
    pub(crate) tip: Option<CommitId>,
    /// The client.
    pub(crate) client: String,
    /// The machine that it came from in a bundle.
    pub(crate) foreign_machine: Option<String>,
}

/// What was read of sessions, to be saved.
struct Read {
    /// The ledger's epoch before anything was read.
    epoch: u64,
    states: Vec<SavedState>,
    /// When a window was compacted last, as far as it was read.
    compacted_at: Option<Timestamp>,
}

impl Engine {
    /// Returns what a project's ledger and its captured sessions say together, and saves how far they were read.
    ///
    /// # Errors
    /// Store errors. A session that cannot be read is left out with a note.
    pub fn remember(&self, ledger: &LedgerId) -> Result<Remembered> {
        Ok(self.remember_of(ledger, Remembering::NOW)?.0)
    }

    /// Does what [`Engine::remember`] does of a place, and says where the transcripts are.
    pub(crate) fn remember_of(
        &self,
        ledger: &LedgerId,
        Remembering { at, wants_foreign }: Remembering,
    ) -> Result<(Remembered, Transcripts)> {
        let folded = self.fold::<MemoryReducer>(ledger, at)?;
        self.save_folded(ledger, &folded, false)?;
        let until = self.time_of_place(ledger, at)?;
        let mut notes = folded.notes;
        let project = self.project_of_ledger(ledger)?;
        let mut told = vec![folded.reducer];
        for other in project.ledgers.iter().skip(1) {
            let other = self.fold::<MemoryReducer>(other, self.place_at_time(other, until)?)?;
            notes.extend(other.notes);
            told.push(other.reducer);
        }
        let mut members = Vec::new();
        for session in self.sessions_told(&project, until, &mut notes)? {
            members.push(Member { foreign_machine: self.foreign_machine(&session)?, session });
        }
        let mut reading = Reading::new(self, &project.ledgers, (folded.epoch, until))?;
        let memory = reading.merged(&told, &members, wants_foreign)?;
        let Reading { read, told: transcripts, places, notes: told, .. } = reading;
        notes.extend(told);
        let read = folded.replayed + read;
        Ok((Remembered { memory, through: folded.through, transcripts, read, notes }, places))
    }

    /// Notes when a window of the project's was compacted last, as far as captured sessions say.
    fn compacted(&self, ledger: &LedgerId, compacted_at: Option<Timestamp>) -> Result<()> {
        let Some(at) = compacted_at else { return Ok(()) };
        let Some(known) = self.log.ledger(ledger)? else { return Ok(()) };
        if known.compacted_at < Some(at) {
            let change = LedgerChange::new(known.id, self.clock.now());
            self.log.change_ledger(LedgerChange { compacted_at, ..change })?;
        }
        Ok(())
    }

    /// Folds the captured sessions of a project anew and says of which of them the saved state would have led elsewhere;
    /// with `mends` what was found is saved in its place.
    ///
    /// # Errors
    /// Store errors. A session that cannot be read is named in a note.
    pub fn replay_transcripts(&self, ledger: &LedgerId, mends: bool) -> Result<ReplayedTranscripts> {
        if mends {
            // They may be made of a state that is wrong. This ends the epoch, so it comes first.
            self.log.drop_states(ledger, BLOCK_PREFIX)?;
        }
        let epoch = self.log.ledger(ledger)?.map_or(0, |known| known.epoch);
        let saved = self.saved_sessions(ledger)?;
        let mut replayed = ReplayedTranscripts { sessions: 0, different: Vec::new(), notes: Vec::new() };
        let project = self.project_of_ledger(ledger)?;
        for session in self.sessions_told(&project, None, &mut replayed.notes)? {
            let folds = || -> Result<(OneSession, OneSession)> {
                let whole = self.session_memory(&project.ledgers, &session, None)?;
                Ok((self.session_memory(&project.ledgers, &session, saved.get(&name_of(&session)))?, whole))
            };
            match folds() {
                Ok((resumed, whole)) => {
                    replayed.sessions += 1;
                    if resumed.memory != whole.memory {
                        replayed.different.push(session.session.to_string());
                        let states = whole.saved.into_iter().filter(|_| mends).collect();
                        let read = Read { epoch, states, compacted_at: None };
                        self.save_or_note(ledger, read, &mut replayed.notes);
                    }
                }
                Err(error) => {
                    let message = format!("session {} cannot be read: {error}", session.session);
                    replayed.notes.push(Note::new(NoteCode::Degraded, message));
                }
            }
        }
        Ok(replayed)
    }

    /// Returns what was saved of transcripts, by name.
    fn saved_sessions(&self, ledger: &LedgerId) -> Result<BTreeMap<String, SavedState>> {
        let states = self.log.saved_states(ledger, &prefix())?;
        Ok(states.into_iter().map(|state| (state.name.clone(), state)).collect())
    }

    /// Saves states. They can be made again, so one that cannot be kept costs time and nothing else.
    fn save_or_note(&self, ledger: &LedgerId, read: Read, notes: &mut Vec<Note>) {
        // Before the states that have read beyond it are saved.
        let marked = self.compacted(ledger, read.compacted_at);
        let is_new = !read.states.is_empty();
        let saves = || if is_new { self.keep_folded(ledger, read.epoch, read.states) } else { Ok(true) };
        if let Err(error) = marked.and_then(|()| saves()) {
            let message =
                format!("the memory of sessions was not saved, and is computed again next time: {error}");
            notes.push(Note::new(NoteCode::Degraded, message));
        }
    }

    /// Returns the time of a place: that of its event. None for a place that is not in the past: all that is known now.
    fn time_of_place(&self, ledger: &LedgerId, at: Option<u64>) -> Result<Option<Timestamp>> {
        let Some(at) = at else { return Ok(None) };
        let Some(seq) = EventSeq::new(at) else { return Ok(Some(Timestamp::EPOCH)) };
        let query = EventQuery { through: Some(seq), ..EventQuery::after(EventSeq::new(at - 1), 1) };
        Ok(self.log.events(ledger, &query)?.first().map(|event| event.at))
    }

    /// Returns the last event of a ledger by a time; nothing for now.
    fn place_at_time(&self, ledger: &LedgerId, until: Option<Timestamp>) -> Result<Option<u64>> {
        let Some(until) = until else { return Ok(None) };
        let mut before = 0;
        let mut after = self.log.ledger(ledger)?.map_or(0, |known| known.last) + 1;
        while after - before > 1 {
            let middle = before + (after - before) / 2;
            match self.time_of_place(ledger, Some(middle))? {
                Some(at) if at <= until => before = middle,
                Some(_) | None => after = middle,
            }
        }
        Ok(Some(before))
    }

    /// Returns what is of a ledger's project; of a cluster, which has no folder, the ledger alone.
    fn project_of_ledger(&self, ledger: &LedgerId) -> Result<ProjectSessions> {
        match self.log.ledger(ledger)? {
            Some(known) if known.root.is_some() || !known.marks.is_empty() => self.project_sessions(&known),
            Some(_) | None => Ok(ProjectSessions::of_cluster(ledger)),
        }
    }

    /// Returns the sessions of a project that have commits and had begun by a time.
    fn sessions_told(
        &self,
        project: &ProjectSessions,
        until: Option<Timestamp>,
        notes: &mut Vec<Note>,
    ) -> Result<Vec<Session>> {
        let has_begun = |session: &Session| match (session.started_at, until) {
            (Some(started), Some(until)) => started <= until,
            (None, _) | (_, None) => true,
        };
        let (mut sessions, mut left_over) = (BTreeMap::new(), Vec::new());
        let mut failed = Ok(());
        self.each_stored_session(&mut |session| {
            let is_of = |cwd: &str| project.has(session.key.machine.as_str(), cwd, Elsewhere::Marked);
            // What follows is older.
            if sessions.len() > MEMORY_SESSIONS_MAX {
                return ControlFlow::Break(());
            }
            if !session.cwd.as_deref().is_some_and(is_of) || !has_begun(&session) {
                return ControlFlow::Continue(());
            }
            match self.is_idle_copy(&session).and_then(|is_idle| {
                // A copy that nobody went on with takes the place of no session.
                if !is_idle {
                    left_over.extend(self.left_of(&session)?.map(|left| left.key));
                    sessions.insert(session.key.clone(), session);
                }
                Ok(())
            }) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Err(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        failed?;
        sessions.retain(|key, _| !left_over.contains(key));
        let mut sessions: Vec<Session> = sessions.into_values().collect();
        sessions.sort_by(|left, right| right.last_at.cmp(&left.last_at).then(left.key.cmp(&right.key)));
        if sessions.len() > MEMORY_SESSIONS_MAX {
            let message = format!(
                "the project has more sessions than the newest {MEMORY_SESSIONS_MAX}, which the memory holds"
            );
            notes.push(Note::new(NoteCode::TooLarge, message));
            sessions.truncate(MEMORY_SESSIONS_MAX);
        }
        Ok(sessions)
    }

    /// Says whether what a commit holds are lines of the ledgers' events, as those of turns are.
    fn is_told_by(&self, ledgers: &[LedgerId], session: &Session, commit: CommitId) -> Result<bool> {
        let is_api = session.origin == SessionOrigin::Api;
        Ok(is_api && self.store.coverage(commit)?.is_some_and(|coverage| ledgers.contains(&coverage.ledger)))
    }

    /// Folds what a session has gained since its state was saved, and of one that went on after a time what it had said by
    /// then.
    fn session_memory_until(
        &self,
        ledgers: &[LedgerId],
        session: &Session,
        (saved, until): (Option<&SavedState>, Option<Timestamp>),
    ) -> Result<OneSession> {
        let Some(until) = until.filter(|until| session.last_at.is_none_or(|last| last > *until)) else {
            return self.session_memory(ledgers, session, saved);
        };
        // Commits are dated by what they end with: a state that ends before the time knows nothing later.
        let mut known = None;
        if let Some((memory, position)) = loaded(saved)
            && let Some(commit) = self.store.commit(position)?
            && commit.core.created_at <= until
        {
            known = Some((memory, position));
        }
        let position = known.as_ref().map(|(_, position)| *position);
        let (is_met, commits) = match session.tip {
            Some(tip) => self.chain_after(tip, position)?,
            None => (false, Vec::new()),
        };
        let known = known.filter(|_| is_met);
        let mut tip = position.filter(|_| known.is_some());
        let mut memory = known.map_or_else(|| begun(session), |(memory, _)| memory);
        let before = memory.folded();
        let mut said_at = None;
        for commit in &commits {
            if self.is_told_by(ledgers, session, commit.id)? {
                continue;
            }
            let folded = memory.folded();
            self.fold_commit(&mut memory, commit, &mut |entry| {
                said_at = entry.timestamp.or(said_at);
                said_at.unwrap_or(commit.core.created_at) <= until
            })?;
            if memory.folded() > folded {
                tip = Some(commit.id);
            }
        }
        let read = memory.folded() - before;
        Ok(OneSession { memory, tip, read, saved: None, compacted_at: None })
    }

    /// Folds what a session has gained since its state was saved.
    fn session_memory(
        &self,
        ledgers: &[LedgerId],
        session: &Session,
        saved: Option<&SavedState>,
    ) -> Result<OneSession> {
        let known = loaded(saved);
        let Some(tip) = session.tip else {
            let memory = begun(session);
            return Ok(OneSession { memory, tip: None, read: 0, saved: None, compacted_at: None });
        };
        let chain = self.chain_after(tip, known.as_ref().map(|(_, position)| *position))?;
        let (mut memory, commits) = match (chain, known) {
            ((true, commits), Some((memory, _))) => (memory, commits),
            ((_, commits), _) => (begun(session), commits),
        };
        let before = memory.folded();
        let mut position = None;
        let mut kept = None;
        let mut compacted_at = None;
        for commit in &commits {
            match commit.closure {
                // What is open may be replaced by other bytes, so neither it nor what follows is in what is saved.
                Closure::Provisional | Closure::Covered => {
                    kept.get_or_insert_with(|| memory.clone());
                }
                Closure::Closed if kept.is_none() => position = Some(commit.id),
                Closure::Closed | Closure::Forgotten => {}
            }
            if commit.core.commit_type == CommitType::Compaction {
                compacted_at = compacted_at.max(Some(commit.core.created_at));
            }
            if !self.is_told_by(ledgers, session, commit.id)? {
                self.fold_commit(&mut memory, commit, &mut |_| true)?;
            }
        }
        let saved = position.map(|position| SavedState {
            name: name_of(session),
            version: MemoryReducer::VERSION,
            through: 0,
            position: Some(position.to_string()),
            state: kept.as_ref().unwrap_or(&memory).save(),
        });
        let read = memory.folded() - before;
        Ok(OneSession { memory, tip: session.tip, read, saved, compacted_at })
    }

    /// Returns the commits after one of a chain, from the root on, and whether that one was met; all where it was not.
    fn chain_after(&self, tip: CommitId, position: Option<CommitId>) -> Result<(bool, Vec<Commit>)> {
        let mut commits = Vec::new();
        let mut walk = Walk::new(self.store.as_ref(), Some(tip));
        let mut is_met = false;
        while let Some(commit) = walk.next()? {
            is_met = Some(commit.id) == position;
            if is_met {
                break;
            }
            commits.push(commit);
        }
        commits.reverse();
        Ok((is_met, commits))
    }

    fn fold_commit(
        &self,
        memory: &mut SessionMemory,
        commit: &Commit,
        is_meant: &mut dyn FnMut(&Entry) -> bool,
    ) -> Result<()> {
        // A summary says nothing that the entries before it did not.
        if commit.core.commit_type == CommitType::Compaction || commit.closure == Closure::Forgotten {
            return Ok(());
        }
        let entries = self.entries(commit.id)?;
        let new = entries.iter().skip(self.said_before(commit)?);
        for entry in new.filter(|entry| is_meant(entry)) {
            let ordinal = memory.folded();
            memory.entry(entry, ordinal);
        }
        Ok(())
    }
}

/// A session's memory, and what to save of it.
struct OneSession {
    memory: SessionMemory,
    /// The newest commit that is in it.
    tip: Option<CommitId>,
    read: u64,
    saved: Option<SavedState>,
    /// When its window was compacted last, among the commits that were read.
    compacted_at: Option<Timestamp>,
}

fn begun(session: &Session) -> SessionMemory {
    let memory = SessionMemory::new(&session.session, session.cwd.as_deref());
    // Templates are named by tool and kind.
    let tool = session.template.as_str().split('/').next().unwrap_or_default();
    memory.with_tool(tool)
}

/// Returns what was saved of a session, and up to which commit.
fn loaded(saved: Option<&SavedState>) -> Option<(SessionMemory, CommitId)> {
    let saved = saved?;
    let memory = SessionMemory::load(saved.version, &saved.state).ok()?;
    Some((memory, saved.position.as_ref()?.parse().ok()?))
}

/// Returns what the names of sessions' states begin with.
fn prefix() -> String {
    format!("{}/", MemoryReducer::NAME)
}

/// Returns the name of a session's state: paths may be longer than names, so it is a hash of them.
fn name_of(session: &Session) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(session.key.machine.as_str().as_bytes()).update(&[0]).update(session.key.path.as_bytes());
    format!("{}{}", prefix(), hasher.finalize().to_hex())
}
