//! Captures the files that a client keeps beside a transcript: long outputs of tools, what is known of subagents, backups of
//! files that the agent changed.
//!
//! Each file is a small chain of its own, of the format `sidecar-v1`, that belongs to the session as a subagent's does. So
//! commits of the session do not depend on its sidecars, and forgetting, retention, scrubbing, packing and bundles treat the
//! files like everything else that is stored. What goes back to a client is in `verbs::sidecars`.

pub(crate) mod found;
mod kept;

use std::path::Path;

use stemmata_model::{
    ArtifactId, Closure, Commit, CommitCore, CommitId, CommitType, Counts, FormatId, Granularity, Note,
    NoteCode, Reasons, RulesHash, SessionId, Sighting, Source, Template, Timestamp, Trigger, plural, to_u64,
};
use stemmata_redact::Scrubber;
use stemmata_runtimes::clients::{Sidecars, of_format};
use stemmata_runtimes::sidecar::{TEMPLATE_ALTERED, TEMPLATE_WHOLE};
use stemmata_store::maintain::forget::Tombstone;
use stemmata_store::{NewCommit, SIDECAR_FORMAT, Session, SessionKey, SessionOrigin, StoreError, Write};

use self::found::{FoundSidecar, FoundSidecars};
pub use self::kept::KeptSidecars;
use crate::capture::captured::UnreadSoFar;
use crate::capture::cursor::{Cursor, SplitterState, Windows};
use crate::capture::ingest::ChainTotals;
use crate::capture::namesakes::overwritten;
use crate::capture::segment::{Head, OpenSegment};
use crate::engine::Engine;
use crate::error::{EngineError, FormatUse, Result};
use crate::scrubbing::scrub_document;
use crate::verbs::forget::is_beside;

/// Bytes of one file at most. It is read whole, because a secret may stand anywhere in it.
pub const SIDECAR_BYTES_MAX: u64 = 64 << 20;

/// Bytes of the files of one session at most.
pub const SESSION_SIDECAR_BYTES_MAX: u64 = 512 << 20;

/// Files of one session at most.
pub const SESSION_SIDECARS_MAX: usize = 4_096;

/// Bytes of new content after which files are handed to the store: each batch costs a sync of the disk.
const BATCH_BYTES: u64 = 4 << 20;

/// Files of one batch at most.
const BATCH_FILES: usize = 64;

/// Places of one file that are looked at.
const PLACES_MAX: usize = 16;

/// What a capture did with the files beside a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CapturedSidecars {
    /// Files that were new or changed.
    pub files: u64,
    /// Their bytes, as they are stored.
    pub bytes: u64,
    /// Of these files, those in which secrets were replaced.
    pub altered: u64,
    /// Bytes that the store took for them.
    pub bytes_stored: u64,
    /// Files that were left out: one of them is too long, or the session has too many, or one could not be read.
    pub left_out: u64,
}

impl CapturedSidecars {
    /// Adds what another capture did.
    pub fn add(&mut self, other: Self) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.altered += other.altered;
        self.bytes_stored += other.bytes_stored;
        self.left_out += other.left_out;
    }
}

/// What the store knows of a file.
struct Known {
    /// Its cursor.
    stored: Option<Vec<u8>>,
    /// The state that it was in.
    before: Option<Commit>,
    /// Where it was before it was moved.
    left: Option<SessionKey>,
}

/// A state of a file that is to be stored.
struct NewState {
    key: SessionKey,
    writes: Vec<Write>,
    bytes: u64,
    is_altered: bool,
}

impl NewState {
    /// Returns the commit, where the store does not have it.
    fn commit(&self) -> Option<&NewCommit> {
        self.writes
            .iter()
            .find_map(|write| if let Write::Commit(commit) = write { Some(commit) } else { None })
    }
}

impl Engine {
    /// Captures what is new of the files that a session's client keeps beside its transcript. A file that cannot be captured is
    /// counted and named in a note; the others are captured all the same.
    ///
    /// # Errors
    /// Store errors.
    pub(crate) fn capture_sidecars(&self, session: &Session) -> Result<(CapturedSidecars, Vec<Note>)> {
        let mut done = CapturedSidecars::default();
        let Some(kept) = self.kept_beside(session) else { return Ok((done, Vec::new())) };
        let found = self.find_sidecars(session, kept);
        if found.is_empty() {
            return Ok((done, Vec::new()));
        }
        let mut notes = found.notes();
        done.left_out = found.left_out();
        let scrubber = self.scrubber_at(session.cwd.as_deref().map(Path::new))?;
        // Nothing is stored beside a session that is forgotten meanwhile.
        let parent =
            Write::ExpectCursor { key: session.key.clone(), value: self.store.cursor(&session.key)? };
        let mut batch: Vec<NewState> = Vec::new();
        for file in found.files() {
            match self.new_state(session, file, &scrubber) {
                Ok(state) => batch.extend(state.map(|mut state| {
                    state.writes.insert(0, parent.clone());
                    state
                })),
                Err(EngineError::Store(error)) => return Err(error.into()),
                Err(error) => {
                    done.left_out += 1;
                    notes.push(Note::new(NoteCode::Degraded, format!("a file was left out: {error}")));
                }
            }
            if batch.len() >= BATCH_FILES || batch.iter().map(|state| state.bytes).sum::<u64>() >= BATCH_BYTES
            {
                self.store_states(std::mem::take(&mut batch), &mut done, &mut notes)?;
            }
        }
        self.store_states(batch, &mut done, &mut notes)?;
        if done.altered > 0 {
            let message =
                format!("secrets were replaced in {} beside the transcript", plural(done.altered, "file"));
            notes.push(Note::new(NoteCode::Redacted, message));
        }
        Ok((done, notes))
    }

    /// Returns whether a capture would store something of the files beside a transcript that is as it was.
    ///
    /// # Errors
    /// Store errors.
    pub(crate) fn has_new_sidecars(&self, key: &SessionKey) -> Result<bool> {
        let Some(session) = self.store.session(key)? else { return Ok(false) };
        let Some(kept) = self.kept_beside(&session) else { return Ok(false) };
        let found = self.find_sidecars(&session, kept);
        if found.files().is_empty() {
            return Ok(false);
        }
        let scrubber = self.scrubber_at(session.cwd.as_deref().map(Path::new))?;
        for file in found.files() {
            let state = match self.new_state(&session, file, &scrubber) {
                Err(EngineError::Store(error)) => return Err(error.into()),
                // A capture leaves it out, and says so each time.
                state => state.ok().flatten(),
            };
            if let Some(commit) = state.as_ref().and_then(NewState::commit)
                && !self.is_tombstoned(commit.core.id())?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns where a session's client keeps files beside its transcript, where that is one of this machine that is there.
    fn kept_beside(&self, session: &Session) -> Option<&'static Sidecars> {
        let is_main = session.parent_session.is_none() && session.tip.is_some();
        let is_here =
            session.key.machine == self.identity.machine && overwritten(&session.key.path).is_none();
        of_format(&session.format).filter(|_| is_main && is_here)?.sidecars
    }

    fn find_sidecars(&self, session: &Session, kept: &Sidecars) -> FoundSidecars {
        let mut found = FoundSidecars::default();
        for (folder, place) in kept.folders(Path::new(&session.key.path), session.session.as_str()) {
            if self.sidecars.wants(folder.kind) {
                found.look(kept, &place);
            }
        }
        found
    }

    /// Returns the writes that store a file as it is now. Returns `None` if the store has this state already, or the user had the
    /// file forgotten.
    fn new_state(&self, of: &Session, file: &FoundSidecar, scrubber: &Scrubber) -> Result<Option<NewState>> {
        let key = SessionKey { machine: self.identity.machine.clone(), path: file.path.clone() };
        let session = sidecar_id(&of.session, &file.path)?;
        let Some(known) = self.known_of(of, (&key, &session), file, scrubber)? else { return Ok(None) };
        let format = FormatId::new(SIDECAR_FORMAT)?;
        let raw = file.read()?;
        let clean = scrub_document(scrubber, Self::adapter(&format, FormatUse::Read)?, &raw)?;
        let mut segment = OpenSegment::default();
        segment.be_patient(clean.bytes.len());
        let mut writes = segment.push(&clean.bytes);
        let finished = segment.finish(self.shared_with(known.before.as_ref(), &clean.bytes)?);
        let core = self.state_core(&known, &format, finished.artifact, !clean.findings.is_empty())?;
        // What we placed ourselves is said where it was captured first.
        let is_altered = !clean.findings.is_empty();
        let rules = RulesHash(scrubber.rules_hash());
        let before = known.before.as_ref();
        let same = before.filter(|commit| {
            (commit.core.artifact, &commit.core.template) == (core.artifact, &core.template)
        });
        let tip = same.map_or_else(|| core.id(), |commit| commit.id);
        let bytes = if same.is_some() { 0 } else { finished.bytes };
        if same.is_none() {
            let counts = Counts { messages: 0, entries: 1, tokens: 0 };
            writes.push(finished.write);
            writes.push(Write::Commit(NewCommit { core, rules, closure: Closure::Closed, counts }));
        }
        let is_moved = known.left.is_some();
        writes.extend(known.left.map(Write::Leave));
        if same.is_none() || is_moved {
            let sighting = Box::new(self.sidecar_sighting(&key, session.clone(), finished.bytes)?);
            writes.push(Write::Sighting { commit: tip, sighting });
        }
        let commits = before.map_or(0, |commit| commit.depth + 1) + u64::from(same.is_none());
        let total = before.map_or(0, |commit| commit.cumulative_bytes) + bytes;
        let row = sidecar_row(&key, of, (session, format), (tip, commits, total));
        let replaced = clean.findings.iter().map(|finding| to_u64(finding.len)).sum();
        let cursor = Cursor { redacted_bytes: replaced, ..self.read_through(file, &raw, rules, &row)? };
        let value = cursor.encode(&row);
        writes.push(Write::ExpectCursor { key: key.clone(), value: known.stored });
        writes.push(Write::Session(Box::new(row)));
        writes.push(Write::Cursor { key: key.clone(), value });
        Ok(Some(NewState { key, writes, bytes, is_altered: is_altered && same.is_none() }))
    }

    /// Returns what the store knows of a file. Returns `None` if there is nothing to store: the file did not change, or the user
    /// had it forgotten.
    fn known_of(
        &self,
        of: &Session,
        (key, session): (&SessionKey, &SessionId),
        file: &FoundSidecar,
        scrubber: &Scrubber,
    ) -> Result<Option<Known>> {
        let stored = self.store.cursor(key)?;
        let cursor = stored.as_deref().and_then(Cursor::decode);
        let mut previous = self.store.session(key)?;
        let tip = previous.as_ref().and_then(|known| known.tip);
        let is_stored = tip.map(|tip| self.store.commit(tip)).transpose()?.flatten().is_some();
        // As with a transcript, other rules for secrets mean that the file is read again, unless they are only the next shipped ones.
        // It is read again, too, where retention deleted its content and its session goes on.
        let is_known =
            |cursor: Cursor| cursor.stamp == file.stamp && cursor.earlier_under(scrubber).is_some();
        if is_stored && cursor.is_some_and(is_known) {
            return Ok(None);
        }
        if previous.as_ref().is_some_and(|known| !known.is_sidecar()) {
            // Somebody imported it as a transcript, which it is too.
            return Ok(None);
        }
        let mut left = None;
        if previous.is_none() {
            // By its path alone: another session of the same id has files of the same names.
            if !self.store.tombstones(&[Tombstone::Transcript(key.clone())])?.is_empty() {
                return Ok(None);
            }
            previous = self.moved_from(of, session)?;
            left = previous.as_ref().map(|moved| moved.key.clone());
        }
        let before = previous.and_then(|known| known.tip);
        let before = before.map(|tip| self.store.commit(tip)).transpose()?.flatten();
        let before = before.filter(|commit| commit.closure != Closure::Forgotten);
        Ok(Some(Known { stored, before, left }))
    }

    /// Returns what of the state before a state begins with: a log that grows is not stored again and again.
    fn shared_with(&self, before: Option<&Commit>, bytes: &[u8]) -> Result<Option<Head>> {
        let Some(before) = before else { return Ok(None) };
        let old = self.document_of(before)?;
        Ok(old.and_then(|old| old.head(old.shared(bytes), before.depth + 1)))
    }

    /// Returns what names a state.
    fn state_core(
        &self,
        known: &Known,
        format: &FormatId,
        artifact: ArtifactId,
        is_altered: bool,
    ) -> Result<CommitCore> {
        let core = |template: &str| -> Result<CommitCore> {
            Ok(CommitCore {
                parent: known.before.as_ref().map(|commit| commit.id),
                commit_type: CommitType::Snapshot { restated_entries: 0 },
                artifact,
                native: None,
                format: format.clone(),
                template: Template::new(template)?,
                // A file has no time of its own that every machine would agree on.
                created_at: Timestamp::EPOCH,
            })
        };
        let altered = core(TEMPLATE_ALTERED)?;
        // Where we placed bytes in which secrets were replaced, they come back as they are, and are still not the client's.
        let is_known = self.store.commit(altered.id())?.is_some() || self.is_tombstoned(altered.id())?;
        if is_altered || is_known { Ok(altered) } else { core(TEMPLATE_WHOLE) }
    }

    /// Returns the file's chain where it was known at another place and is there no longer: the session was moved.
    fn moved_from(&self, of: &Session, session: &SessionId) -> Result<Option<Session>> {
        let known = self.store.sessions_of(session, PLACES_MAX)?;
        let mut gone = known.into_iter().filter(|known| {
            known.key.machine == self.identity.machine && !Path::new(&known.key.path).exists()
        });
        let Some(gone) = gone.next() else { return Ok(None) };
        // The client may have deleted it, of another session of the same id that is still where it was.
        let namesakes = self.namesakes_of(of)?;
        let is_anothers = |other: &Session| is_beside(&gone, other) && Path::new(&other.key.path).exists();
        Ok(if namesakes.iter().any(is_anothers) { None } else { Some(gone) })
    }

    fn sidecar_sighting(&self, key: &SessionKey, session: SessionId, bytes: u64) -> Result<Sighting> {
        Ok(Sighting {
            // Of its own, so that no look-up of what somebody's agent said by a time finds a file.
            principal: self.identity.principal("sidecar")?,
            machine: key.machine.clone(),
            session,
            trigger: Trigger::Explicit,
            ticket: None,
            thread: None,
            reasons: Reasons::NONE,
            template_alias: None,
            observed_at: self.clock.now(),
            source: Some(Source { path: key.path.clone(), offset: 0, length: bytes }),
        })
    }

    /// Returns the cursor of a file that was read to its end.
    fn read_through(
        &self,
        file: &FoundSidecar,
        raw: &[u8],
        rules: RulesHash,
        row: &Session,
    ) -> Result<Cursor> {
        let mut windows = Windows::empty();
        windows.push(raw);
        let (head, tail) = windows.hashes(&self.store.identity()?.secret);
        Ok(Cursor {
            format: SIDECAR_FORMAT.to_owned(),
            rules: rules.into(),
            earlier_bytes: 0,
            granularity: Granularity::Turn,
            closed_bytes: to_u64(raw.len()),
            closed_line: 1,
            tip: row.tip,
            splitter: SplitterState::Whole(Vec::new()),
            seen_bytes: to_u64(raw.len()),
            provisional: Vec::new(),
            stamp: file.stamp,
            head,
            tail,
            redacted_bytes: 0,
            totals: ChainTotals { commits: row.commits, messages: 0, entries: row.commits, bytes: row.bytes },
            seen_entries: row.commits,
            seen_redacted_bytes: 0,
            is_version_known: false,
            unread: UnreadSoFar::default(),
        })
    }

    /// Stores states of files. One that another process stored meanwhile, or that was forgotten, is not changed.
    fn store_states(
        &self,
        states: Vec<NewState>,
        done: &mut CapturedSidecars,
        notes: &mut Vec<Note>,
    ) -> Result<()> {
        if states.is_empty() {
            return Ok(());
        }
        let all: Vec<Write> = states.iter().flat_map(|state| state.writes.iter().cloned()).collect();
        match self.commit_batch(all) {
            Ok(outcome) => {
                done.bytes_stored += outcome.stored_bytes;
                for state in &states {
                    done.count(state);
                }
                return Ok(());
            }
            Err(error) if !is_left(&error) => return Err(error.into()),
            Err(_) => {}
        }
        let mut forgotten = Vec::new();
        for state in states {
            match self.commit_batch(state.writes.clone()) {
                Ok(outcome) => {
                    done.bytes_stored += outcome.stored_bytes;
                    done.count(&state);
                }
                Err(error) if !is_left(&error) => return Err(error.into()),
                Err(StoreError::Forgotten(commit)) => {
                    done.left_out += 1;
                    forgotten.push((state.key.path, commit));
                }
                Err(error) => tracing::debug!(path = %state.key.path, %error, "a sidecar was not changed"),
            }
        }
        if let Some((path, commit)) = forgotten.first() {
            let more = match forgotten.len() {
                1 => String::new(),
                all => format!(", and so were {} more", all - 1),
            };
            let note = format!(
                "{path} was left out{more}: what it holds was forgotten; `stemma forget --undo {commit}` allows it"
            );
            notes.push(Note::new(NoteCode::Forgotten, note));
        }
        Ok(())
    }
}

impl CapturedSidecars {
    fn count(&mut self, state: &NewState) {
        // Where there is none, only its place in the file system changed.
        self.files += u64::from(state.commit().is_some());
        self.bytes += state.bytes;
        self.altered += u64::from(state.is_altered);
    }
}

/// Says whether a batch was refused because of one file alone.
fn is_left(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::CursorMoved { .. } | StoreError::Forgotten(_) | StoreError::ParentMissing { .. }
    )
}

/// Returns the id of a file's own chain: the same wherever the session's files are.
pub(crate) fn sidecar_id(of: &SessionId, path: &str) -> Result<SessionId> {
    let name = path.rfind(of.as_str()).and_then(|at| path.get(at..)).unwrap_or(path);
    let drawn = blake3::hash(format!("{of}\0{name}").as_bytes()).to_hex();
    Ok(SessionId::new(format!("file-{}", drawn.get(..16).unwrap_or_default()))?)
}

fn sidecar_row(
    key: &SessionKey,
    of: &Session,
    (session, format): (SessionId, FormatId),
    (tip, commits, bytes): (CommitId, u64, u64),
) -> Session {
    Session {
        key: key.clone(),
        session,
        parent_session: Some(of.session.clone()),
        format,
        template: of.template.clone(),
        principal: of.principal.clone(),
        granularity: Granularity::Turn,
        origin: SessionOrigin::Imported,
        title: None,
        cwd: of.cwd.clone(),
        git_branch: None,
        version: None,
        // Without a time it stands behind all sessions in the order of lists, and none is read past it.
        started_at: None,
        last_at: None,
        tip: Some(tip),
        commits,
        messages: 0,
        bytes,
    }
}
