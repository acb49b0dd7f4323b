//! The record of a command: what it read and printed becomes a session, while it runs.
//!
//! Nothing here fails: what goes wrong with a record stops no command. It is in what the record says of itself at its end, and
//! `status` tells of it.

mod tape;

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use stemmata_api::Problem;
use stemmata_engine::{
    CaptureOptions, Captured, Engine, LineState, StreamForm, StreamProof, StreamRecorder, StreamRest,
    StreamRules, Streams, SystemClock,
};
use stemmata_model::{FormatId, ThreadId, TicketId, Trigger};

use super::Host;
use crate::fault::{Fault, io_failed, with_causes};
use tape::Ended;

pub use tape::Tape;

/// Milliseconds between two checkpoints at least.
const PACE_MS: u64 = 1_000;

/// A checkpoint takes at most one part in so many of the time: what one open turn holds is read again each time.
const SHARE: u32 = 20;

/// Where `status` shows what went wrong.
const SOURCE: &str = "run";

/// A command that is to be recorded.
#[derive(Debug, Clone)]
pub struct RecordRequest {
    /// The id of its session: no other command's.
    pub session: String,
    /// The directory that it works in.
    pub dir: PathBuf,
    /// The command line: what the session is called where nothing else names it.
    pub command: String,
    /// Whether its output is kept as timed lines, also where it is structured.
    pub timed: bool,
    /// A ticket to record with the session.
    pub ticket: Option<TicketId>,
    /// A thread to record with the session.
    pub thread: Option<ThreadId>,
}

/// The record of one command.
pub struct Record<'a> {
    /// None where there is no data directory to record in.
    host: Option<&'a Host>,
    request: RecordRequest,
    /// The command line without secrets.
    title: Option<String>,
    tape: Tape,
    path: Option<PathBuf>,
    engine: Option<Engine>,
    /// Why nothing is recorded, where somebody wants it so.
    held_back: Option<String>,
    /// What stands in the way of storing what is recorded.
    trouble: Option<String>,
    captured: Option<Captured>,
    /// When the next checkpoint is due.
    next: Instant,
}

/// What became of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Commits of the session, where something of it is stored.
    pub commits: Option<u64>,
    /// Why nothing was recorded, where somebody wants it so.
    pub held_back: Option<String>,
    /// What is not recorded, or not stored yet.
    pub trouble: Vec<String>,
    /// Whether `status` will say so, too.
    pub is_kept: bool,
}

/// A record that this process has handed over to the next one.
#[derive(Debug)]
pub struct Suspended {
    /// The file, locked; `None` if nothing is recorded. The next process holds it open.
    pub file: Option<File>,
    /// Where it is.
    pub path: Option<PathBuf>,
    rest: Option<StreamRest>,
}

/// What a recorder had not given out, on its way through a pipe. It may hold secrets, and never touches a disk.
#[derive(Serialize, Deserialize)]
struct Unsent {
    form: StreamForm,
    format: String,
    lines: LineState,
    rest: Vec<u8>,
}

impl Suspended {
    /// Returns what another process needs to go on.
    ///
    /// # Errors
    /// `FileTooLarge` where that is more than so many bytes.
    pub fn to_bytes(&self, bytes_max: u64) -> io::Result<Vec<u8>> {
        let of = |StreamRest { form, format, lines, rest }| Unsent {
            form,
            format: format.to_string(),
            lines,
            rest,
        };
        let state = serde_json::to_vec(&self.rest.clone().map(of))?;
        if u64::try_from(state.len()).is_ok_and(|bytes| bytes <= bytes_max) {
            return Ok(state);
        }
        let reason = "what is held back is too much to be passed on";
        Err(io::Error::new(io::ErrorKind::FileTooLarge, reason))
    }

    /// Opens what another process left: the file at `path`, where there is a record, and what it wrote of the rest.
    fn read(path: Option<&Path>, state: &[u8]) -> (Self, Option<io::Error>) {
        let rest: Option<Unsent> = serde_json::from_slice(state).unwrap_or_default();
        let rest = rest.and_then(|Unsent { form, format, lines, rest }| {
            Some(StreamRest { form, format: FormatId::new(format.as_str()).ok()?, lines, rest })
        });
        let file = path.map(|path| OpenOptions::new().append(true).open(path)).transpose();
        let (file, failure) = file.map_or_else(|error| (None, Some(error)), |file| (file, None));
        let path = path.filter(|_| file.is_some()).map(Path::to_owned);
        (Self { file, path, rest }, failure)
    }
}

impl Host {
    /// Begins the record of a command: its file, its rules, and the store, which is no reason to wait where it does not open.
    pub fn record(&self, request: RecordRequest) -> Record<'_> {
        let mut record = Record::new(Some(self), request);
        let policy = self.home.policy_in_force();
        let reason = policy.decide(&record.request.dir, &[], self.now());
        record.held_back = reason.map(|reason| reason.to_string());
        let mut file = None;
        if record.held_back.is_none() {
            record.entitle();
            let RecordRequest { session, dir, .. } = &record.request;
            match self.home.streams().open(session, dir, record.title.as_deref()) {
                Ok((path, opened)) => {
                    (record.path, file) = (Some(path), Some(opened));
                    record.open_engine();
                }
                Err(error) => record.fail(error),
            }
        }
        record.go_on(None, file);
        record
    }

    /// Goes on with the record that another process left.
    pub fn record_on(&self, request: RecordRequest, path: Option<&Path>, state: &[u8]) -> Record<'_> {
        let mut record = Record::new(Some(self), request);
        let (left, failure) = Suspended::read(path, state);
        if let Some(source) = failure {
            let path = self.home.streams().path_of(&record.request.session);
            record.fail(io_failed("open", &path, &source));
        }
        if left.file.is_some() {
            record.path.clone_from(&left.path);
            record.entitle();
            record.open_engine();
        }
        record.resume(left);
        record
    }
}

impl<'a> Record<'a> {
    fn new(host: Option<&'a Host>, request: RecordRequest) -> Self {
        Self {
            host,
            tape: Tape::start(Arc::new(SystemClock), StreamRecorder::new(None, None), None),
            request,
            title: None,
            path: None,
            engine: None,
            held_back: None,
            trouble: None,
            captured: None,
            next: Instant::now() + Duration::from_millis(PACE_MS),
        }
    }

    /// Returns a record of nothing, where there is no host: the command runs all the same.
    pub fn of_nothing(request: RecordRequest, problem: &Problem) -> Self {
        Self { trouble: Some(with_causes(problem)), ..Self::new(None, request) }
    }

    /// Returns what both pipes write to.
    pub fn tape(&self) -> Tape {
        self.tape.clone()
    }

    /// Returns the session.
    pub fn session(&self) -> &str {
        &self.request.session
    }

    /// Deletes the file of a command that did not start.
    pub fn discard_empty(&self) {
        if let Some(path) = &self.path {
            Streams::remove(path, StreamProof::Empty);
        }
    }

    /// Returns how long to wait for what happens, `until` a moment where there is one.
    pub fn wait(&self, until: Option<Instant>) -> Duration {
        let until = until.unwrap_or(self.next);
        until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
    }

    /// Makes a checkpoint where it is time, and there are news.
    pub fn keep_pace(&mut self) {
        let began = Instant::now();
        if began < self.next {
            return;
        }
        if self.tape.has_news() {
            self.checkpoint(Trigger::ToolCall);
        }
        self.next = Instant::now() + Duration::from_millis(PACE_MS).max(began.elapsed() * SHARE);
    }

    /// Stores what is recorded so far.
    pub fn checkpoint_now(&mut self) {
        self.checkpoint(Trigger::Explicit);
    }

    /// Ends this process's part of the record, for another one to go on. That one counts anew, and says only what it loses
    /// itself.
    pub fn suspend(&mut self) -> Suspended {
        let (file, rest, lost) = self.tape.suspend();
        if let Some(reason) = lost {
            self.keep_trouble(&format!("not all of this was recorded: {reason}"));
        }
        let path = self.path.clone().filter(|_| file.is_some());
        Suspended { file, path, rest }
    }

    /// Goes on where a process ended its part.
    pub fn resume(&mut self, left: Suspended) {
        self.go_on(left.rest, left.file);
    }

    /// Stores the rest, takes the file away where that went well, and keeps for `status` what did not.
    pub fn finish(&mut self) -> Recorded {
        let Ended { has_passed, is_kept, lost } = self.tape.finish();
        let mut lost = lost.map(|reason| format!("not all of this was recorded: {reason}"));
        let before = self.trouble.take();
        if is_kept {
            self.checkpoint(Trigger::SessionEnd);
        } else if self.path.is_none() && has_passed {
            // Without a file there is nothing that the next command could try again.
            lost = before.map(|reason| format!("nothing of this was recorded: {reason}"));
        }
        if let Some(path) = &self.path {
            let stored = self.captured.as_ref().filter(|_| is_kept && self.trouble.is_none());
            Streams::remove(path, stored.map_or(StreamProof::Empty, StreamProof::Captured));
        }
        let retried = "not all of this was stored; the next `stemma` command tries again";
        let unstored = self.trouble.as_ref().map(|trouble| format!("{retried}: {trouble}"));
        let trouble: Vec<String> = lost.into_iter().chain(unstored).collect();
        let is_kept = trouble.is_empty() || self.keep_trouble(&trouble.join("; "));
        if let (true, Some(_), Some(host)) = (trouble.is_empty(), &self.captured, self.host) {
            host.home.calls().went_well(SOURCE, None);
        }
        let commits = self.captured.as_ref().map(|captured| captured.session.commits);
        Recorded { commits, held_back: self.held_back.take(), trouble, is_kept }
    }

    fn go_on(&mut self, rest: Option<StreamRest>, file: Option<File>) {
        let Some(host) = self.host else { return };
        let form = self.request.timed.then_some(StreamForm::Timed);
        let rules = host.home.stream_rules(&self.request.dir);
        let recorder = |rules: Option<StreamRules<'_>>| match rest {
            Some(rest) => StreamRecorder::resume(rest, rules),
            None => StreamRecorder::new(form, rules),
        };
        let (recorder, failed) = match rules {
            Ok(rules) => (recorder(Some(rules)), None),
            Err(error) => (recorder(None), Some(error)),
        };
        self.tape = Tape::start(Arc::clone(&host.home.options().clock), recorder, file);
        if let Some(error) = failed {
            self.fail(error);
        }
    }

    fn entitle(&mut self) {
        let RecordRequest { command, dir, .. } = &self.request;
        self.title = self.host.and_then(|host| host.home.scrubbed_title(command, dir));
    }

    fn open_engine(&mut self) {
        match self.host.map(|host| host.home.engine()) {
            Some(Ok(engine)) => self.engine = Some(engine.clone()),
            Some(Err(error)) => self.fail(error),
            None => {}
        }
    }

    fn checkpoint(&mut self, trigger: Trigger) {
        let (Some(path), Some(host)) = (self.path.clone(), self.host) else { return };
        if self.engine.is_none() {
            self.open_engine();
        }
        let Some(engine) = &self.engine else { return };
        let settings = &host.home.options().settings;
        let is_over = trigger == Trigger::SessionEnd;
        let options = CaptureOptions {
            granularity: settings.granularity,
            cwd: Some(self.request.dir.to_string_lossy().into_owned()),
            ticket: self.request.ticket.clone(),
            thread: self.request.thread.clone(),
            // At the end nothing follows any more: an unfinished line is all that there will be of it, and an open turn too.
            torn_tail: is_over,
            leaf: is_over || settings.provisional.keeps(trigger, false),
            title: self.title.clone(),
            format: self.tape.format(),
            ..CaptureOptions::live(trigger)
        };
        match engine.capture(&path, &options) {
            Ok(captured) => (self.captured, self.trouble) = (Some(captured), None),
            Err(error) => self.fail(error),
        }
    }

    fn fail(&mut self, fault: impl Into<Fault>) {
        let Fault(problem) = fault.into();
        self.trouble = Some(with_causes(&problem));
    }

    /// Keeps trouble for `status`; says whether that went well.
    fn keep_trouble(&self, told: &str) -> bool {
        self.host.is_some_and(|host| host.keep_trouble(SOURCE, None, format!("`stemma run`: {told}")).is_ok())
    }
}

impl std::fmt::Debug for Record<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Record").field("request", &self.request).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found in review: what the other process does not read would have held this one for ever.
    #[test]
    fn more_than_is_read_is_not_written() {
        let format = stemmata_engine::timed_format();
        let rest =
            StreamRest { form: StreamForm::Timed, format, lines: LineState::default(), rest: vec![7; 1_000] };
        let suspended = Suspended { file: None, path: None, rest: Some(rest.clone()) };
        assert!(suspended.to_bytes(1_000).is_err());
        let state = suspended.to_bytes(10_000).expect("it fits");
        assert_eq!(Suspended::read(None, &state).0.rest, Some(rest));
        assert_eq!(Suspended::read(None, b"null").0.rest, None);
    }
}
