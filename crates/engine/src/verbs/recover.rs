//! `recover`: a transcript as its client wrote it, from the store.
//!
//! A client may have deleted its file, or damaged it, and the damaged one may have been captured since. So of all that a session
//! ever held, the state with the most lines that the client would load completely is given back. The installed client judges, as it
//! does for `doctor`. Here the state is written and checked under no name; where it goes is the caller's.

mod missing;
mod there;

use std::collections::HashSet;
use std::io::{BufWriter, Write};
use std::path::Path;

use memchr::memmem::Finder;
use stemmata_model::{Closure, CommitId, FormatId, SessionId, to_u64};
use stemmata_runtimes::adapter::{Shape, Validation};
use stemmata_store::{Session, SessionKey, SessionOrigin};

use crate::capture::cursor::{Cursor, Windows};
use crate::capture::namesakes::{overwritten, transcript_of};
use crate::capture::source::look;
use crate::capture::transcript_file::Transcript;
use crate::engine::Engine;
use crate::error::{EngineError, ErrorKind, FormatUse, Refusal, Result};
use crate::scrubbing::PLACEHOLDER;
use crate::temporary::TempFile;
use crate::verbs::doctor::is_subagent;

/// States of one session that are tried: each damage that was captured left one.
const STATES_MAX: usize = 16;

/// Commits of one session that are looked at for states.
const COMMITS_MAX: usize = 1_000_000;

/// Commits that are read at once.
const PAGE_COMMITS: usize = 1_000;

/// A transcript that its client would load completely, in a file without its name.
#[derive(Debug)]
pub struct RecoveredCopy {
    /// The file; dropped, it is gone.
    pub file: TempFile,
    /// The commit that it ends with.
    pub ctx: CommitId,
    /// Its format.
    pub format: FormatId,
    /// Its lines.
    pub lines: u64,
    /// Its bytes.
    pub bytes: u64,
    /// What the client would make of it.
    pub validation: Validation,
    /// Whether the client would load less than all of it.
    pub loses: bool,
    /// Secrets that stay replaced in it.
    pub replaced: u64,
}

/// Returns the version of the client that a transcript of a format is judged by; none: the newest that is known.
pub type JudgedBy<'a> = dyn Fn(&FormatId) -> Option<String> + 'a;

/// What a session's transcript is now, compared with what the store has.
#[derive(Debug)]
pub enum TranscriptState {
    /// It is not there.
    Gone,
    /// It is there with all that was read, and its client would load it.
    Intact,
    /// The store has a better one: the client would not load all of this.
    Damaged(String),
    /// Its client would load it, and lines are missing that were read before.
    Shortened(String),
    /// The client would not load all of it, and the store has nothing better.
    Lossy(String),
}

impl TranscriptState {
    /// Returns what is wrong with it, where the store has a better one.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Damaged(why) | Self::Shortened(why) => Some(why),
            Self::Gone | Self::Intact | Self::Lossy(_) => None,
        }
    }
}

/// A better state of a session than its transcript is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BetterState {
    /// The session.
    pub session: SessionId,
    /// The commit that the state ends with.
    pub ctx: CommitId,
    /// What is wrong with the transcript.
    pub why: String,
}

/// The session whose states are tried, where they are written, and which client judges them.
#[derive(Clone, Copy)]
struct Trial<'a> {
    session: &'a Session,
    folder: &'a Path,
    judged_by: &'a JudgedBy<'a>,
}

impl Engine {
    /// Writes the best state of a session into a file of a folder: of those that the client would load completely the longest, else
    /// the longest that it would load at all.
    ///
    /// # Errors
    /// `Refused` where no state of it is one that its client would load; `Io`; store errors.
    pub fn recovered(
        &self,
        session: &Session,
        folder: &Path,
        judged_by: &JudgedBy<'_>,
    ) -> Result<RecoveredCopy> {
        if let SessionOrigin::Placed(_) = session.origin
            && self.seen(session)?.is_empty()
        {
            return Err(refused(
                "it is a copy that nobody used: `stemma resume` places one again".to_owned(),
            ));
        }
        let states = self.states(session)?;
        self.recovered_of(&states, Trial { session, folder, judged_by })
    }

    /// Writes what a session was at a commit into a file of a folder, as [`Engine::recovered`] writes its best state.
    ///
    /// # Errors
    /// As [`Engine::recovered`].
    pub fn recovered_at(
        &self,
        (session, ctx): (&Session, CommitId),
        folder: &Path,
        judged_by: &JudgedBy<'_>,
    ) -> Result<RecoveredCopy> {
        self.recovered_of(&[ctx], Trial { session, folder, judged_by })
    }

    fn recovered_of(&self, states: &[CommitId], trial: Trial<'_>) -> Result<RecoveredCopy> {
        let mut best: Option<RecoveredCopy> = None;
        let mut why = "the store has nothing of it".to_owned();
        // Of two states with as many lines one may have lost a message: a line of it is torn.
        let worth = |copy: &RecoveredCopy| (!copy.loses, copy.lines, copy.validation.messages_present);
        for ctx in states.iter().copied() {
            match self.state(ctx, trial) {
                Ok(copy) if !copy.validation.is_accepted() => {
                    "the client would not load all of any state that the store has; `stemma repair` writes one that it loads"
                        .clone_into(&mut why);
                }
                Ok(copy) if best.as_ref().is_none_or(|best| worth(&copy) > worth(best)) => best = Some(copy),
                Ok(_) => {}
                // That nothing can be written, as on a full disk, says nothing of any state.
                Err(error)
                    if matches!(error.kind(), ErrorKind::Full | ErrorKind::System | ErrorKind::Locked) =>
                {
                    return Err(error);
                }
                Err(error) => why = error.to_string(),
            }
        }
        best.ok_or_else(|| refused(why))
    }

    /// Compares a session's transcript with what the store has of it.
    ///
    /// # Errors
    /// `Io`.
    pub fn transcript_state(
        path: &Path,
        copy: &RecoveredCopy,
        judged_by: &JudgedBy<'_>,
    ) -> Result<TranscriptState> {
        // Its client may have compressed it.
        let Some((found, _)) = look(path) else { return Ok(TranscriptState::Gone) };
        let found = match Self::doctor(&found, judged_by) {
            Ok(found) => found,
            Err(error @ EngineError::Io { .. }) => return Err(error),
            // What is there is no transcript any more.
            Err(error) => return Ok(TranscriptState::Damaged(error.to_string())),
        };
        let (sent, present) = (found.validation.messages_sent, found.validation.messages_present);
        let more = copy.validation.messages_present;
        let loss = || match present {
            0 => "the client would load nothing of it".to_owned(),
            present => format!("the client would load {sent} of {present} messages"),
        };
        let loads_more = !found.validation.is_accepted() || sent < copy.validation.messages_sent;
        Ok(if found.loses() && (!copy.loses || loads_more) {
            TranscriptState::Damaged(loss())
        } else if found.lines < copy.lines {
            TranscriptState::Shortened(format!("it has {} of {} lines", found.lines, copy.lines))
        } else if found.lines == copy.lines && present < more && !copy.loses {
            TranscriptState::Shortened(format!("it has {present} of {more} messages"))
        } else if found.loses() {
            TranscriptState::Lossy(loss())
        } else {
            TranscriptState::Intact
        })
    }

    /// Returns the state of a session that its transcript should be in, where that is there and damaged. States are written into
    /// `folder`, and are gone again.
    ///
    /// # Errors
    /// As [`Engine::recovered`].
    pub fn better_state(
        &self,
        session: &Session,
        folder: &Path,
        judged_by: &JudgedBy<'_>,
    ) -> Result<Option<BetterState>> {
        let path = transcript_of(session);
        // What is a folder is not given back as one: a file of its lines would hide that an event is missing.
        if path.is_dir() {
            return Ok(None);
        }
        let copy = self.recovered(session, folder, judged_by)?;
        let why = match Self::transcript_state(path, &copy, judged_by)? {
            TranscriptState::Damaged(why) => why,
            TranscriptState::Shortened(why) if !self.says_more(session, copy.ctx)? => why,
            TranscriptState::Shortened(_)
            | TranscriptState::Gone
            | TranscriptState::Intact
            | TranscriptState::Lossy(_) => return Ok(None),
        };
        Ok(Some(BetterState { session: session.session.clone(), ctx: copy.ctx, why }))
    }

    /// Says whether a session's transcript says what another state of it does not: its client went on with what was left.
    fn says_more(&self, session: &Session, than: CommitId) -> Result<bool> {
        let key =
            SessionKey { path: transcript_of(session).to_string_lossy().into_owned(), ..session.key.clone() };
        let there = self.store.session(&key)?.and_then(|there| there.tip);
        there.map_or(Ok(false), |tip| Ok(self.is_lost(tip, Some(than))? == Some(true)))
    }

    /// Returns what a session's transcript held before and does not hold any more, however many lines it has now: prompts of a person
    /// are missing in it. States that came after the one that it is in are not asked for: who put an older one back meant to. Cheap
    /// where [`Engine::may_lack_lines`] says that nothing is missing.
    ///
    /// # Errors
    /// As [`Engine::recovered`].
    pub fn lost_state(
        &self,
        session: &Session,
        folder: &Path,
        judged_by: &JudgedBy<'_>,
    ) -> Result<Option<BetterState>> {
        let path = transcript_of(session);
        if !path.is_file() || !self.may_lack_lines(session)? {
            return Ok(None);
        }
        let trial = Trial { session, folder, judged_by };
        for ctx in self.states_before(session)? {
            let Ok(copy) = self.state(ctx, trial) else { continue };
            if copy.loses || copy.validation.messages_present == 0 {
                continue;
            }
            let missing = missing::missing(&copy.file.path(), path)?;
            if missing.has_prompt {
                let why = match missing.groups {
                    1 => "a line that was read before is missing".to_owned(),
                    lines => format!("{lines} lines that were read before are missing"),
                };
                return Ok(Some(BetterState { session: session.session.clone(), ctx, why }));
            }
        }
        Ok(None)
    }

    /// Returns the states of a session's transcript that it was in before the one that it is in now, the newest first.
    fn states_before(&self, session: &Session) -> Result<Vec<CommitId>> {
        let mut states = self.all_states(session)?;
        let (Some(tip), Some(cursor)) = (session.tip, self.cursor_of(session)?) else { return Ok(states) };
        let is_as_read =
            Transcript::open_whole(transcript_of(session)).is_ok_and(|opened| opened.stamp() == cursor.stamp);
        if is_as_read {
            let seen = self.seen(session)?;
            let place = |id: CommitId| seen.iter().position(|(known, _)| *known == id);
            states.retain(|state| *state != tip && place(*state) < place(tip));
        }
        Ok(states)
    }

    fn cursor_of(&self, session: &Session) -> Result<Option<Cursor>> {
        Ok(self.store.cursor(&session.key)?.and_then(|bytes| Cursor::decode(&bytes)))
    }

    /// Says whether a transcript may lack lines that were read from it before: it is shorter than it was, or the session had several
    /// states. Only of formats that add lines and never take them away. Cheap; [`Engine::better_state`] knows.
    ///
    /// # Errors
    /// `Format` for a format that cannot be read, store errors.
    pub fn may_lack_lines(&self, session: &Session) -> Result<bool> {
        let path = transcript_of(session);
        let Ok(file) = std::fs::metadata(path) else { return Ok(false) };
        if !file.is_file() || Self::adapter(&session.format, FormatUse::Read)?.shape() != Shape::Lines {
            return Ok(false);
        }
        let has_several = self.all_states(session)?.len() > 1;
        let Some(cursor) = self.cursor_of(session)? else {
            return Ok(has_several || overwritten(&session.key.path).is_some());
        };
        let is_other = || -> Result<bool> {
            let opened = Transcript::open_whole(path)?;
            if opened.stamp() == cursor.stamp {
                return Ok(false);
            }
            let now = Windows::before(&opened, cursor.seen_bytes)?.hashes(&self.store.identity()?.secret);
            Ok(now != (cursor.head, cursor.tail))
        };
        Ok(has_several || file.len() < cursor.stamp.length || is_other()?)
    }

    /// Returns the newest commits of all lines that a session ever held, newest first.
    fn states(&self, session: &Session) -> Result<Vec<CommitId>> {
        let mut states = self.all_states(session)?;
        // What came before may be what this one damaged; what came later was overwritten by it in turn.
        let mut others = Vec::new();
        for other in
            self.held_before(&session.key, session)?.into_iter().filter(|other| other.key != session.key)
        {
            others.extend(other.tip.map(|tip| self.root_of(tip)).transpose()?.flatten());
        }
        if let Some(own) =
            session.tip.filter(|_| !others.is_empty()).map(|tip| self.root_of(tip)).transpose()?.flatten()
        {
            let seen = self.seen(session)?;
            let place = |id: CommitId| seen.iter().position(|(known, _)| *known == id);
            others.retain(|other| place(*other) > place(own));
        }
        if !others.is_empty() {
            let mut own = Vec::new();
            for state in states {
                if self.root_of(state)?.is_none_or(|root| !others.contains(&root)) {
                    own.push(state);
                }
            }
            states = own;
        }
        Ok(states)
    }

    /// Returns what [`states`](Self::states) does, and those of other conversations that its transcript held.
    fn all_states(&self, session: &Session) -> Result<Vec<CommitId>> {
        let seen = self.seen(session)?;
        let parents: HashSet<CommitId> = seen.iter().filter_map(|(_, parent)| *parent).collect();
        let mut states: Vec<CommitId> = session.tip.into_iter().collect();
        for (id, _) in seen.iter().rev() {
            if !parents.contains(id) && !states.contains(id) && states.len() < STATES_MAX {
                states.push(*id);
            }
        }
        Ok(states)
    }

    /// Returns the commits that a session's transcript held at any time, with their parents.
    fn seen(&self, session: &Session) -> Result<Vec<(CommitId, Option<CommitId>)>> {
        let mut seen = Vec::new();
        let mut after = None;
        loop {
            let page = self.store.seen_by(&session.key, after, PAGE_COMMITS)?;
            let is_last = page.len() < PAGE_COMMITS;
            for (at, commit) in page {
                after = Some(at);
                if !matches!(commit.closure, Closure::Covered | Closure::Forgotten) {
                    seen.push((commit.id, commit.core.parent));
                }
            }
            if is_last || seen.len() >= COMMITS_MAX {
                return Ok(seen);
            }
        }
    }

    /// Writes what a transcript was at a commit, and reads it as its client's loader would.
    fn state(&self, ctx: CommitId, Trial { session, folder, judged_by }: Trial<'_>) -> Result<RecoveredCopy> {
        let failed = |operation: &'static str| EngineError::io(operation, folder);
        let mut file = self.leftovers.files.create(folder).map_err(failed("create a file in"))?;
        let mut out = Counting { out: BufWriter::new(&mut file), replaced: 0, tail: Vec::new() };
        self.native(ctx, &mut out)?;
        out.flush().map_err(failed("write in"))?;
        let replaced = out.replaced;
        drop(out);
        file.as_file().sync_all().map_err(failed("sync a file in"))?;
        let mut found = Self::doctor_as(&file.path(), Path::new(&session.key.path), judged_by)?;
        // The folder says whose it is; this file has no place yet.
        found.is_subagent = is_subagent(transcript_of(session));
        Ok(RecoveredCopy {
            loses: found.loses(),
            file,
            ctx,
            format: found.format,
            lines: found.lines,
            bytes: found.bytes,
            validation: found.validation,
            replaced,
        })
    }
}

/// Counts placeholders on the way to a file.
struct Counting<W> {
    out: W,
    replaced: u64,
    /// The end of what was written, where a placeholder may begin.
    tail: Vec<u8>,
}

impl<W: Write> Write for Counting<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.out.write_all(bytes)?;
        self.tail.extend_from_slice(bytes);
        let found = Finder::new(PLACEHOLDER).find_iter(&self.tail).count();
        self.replaced += to_u64(found);
        // Shorter than a placeholder's beginning, so that none is counted twice.
        let counted = self.tail.len().saturating_sub(PLACEHOLDER.len() - 1);
        self.tail.drain(..counted);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

fn refused(reason: String) -> EngineError {
    EngineError::Refused { what: Refusal::GiveBack, reasons: vec![reason] }
}
