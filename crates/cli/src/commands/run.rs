//! `run`: a command as it is, and a record of what it read and printed.
//!
//! Nothing that goes wrong with the record stops the command or changes what it prints: it is told to a person at the
//! end, and to `status`. What the lines mean is the engine's.

mod handover;
mod pipes;

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use stemmata_api::{Code, Problem};
use stemmata_engine::{
    CaptureOptions, Captured, Engine, Marker, StreamForm, StreamProof, StreamRecorder, StreamRules, Streams,
};
use stemmata_model::Trigger;

use crate::args::live::Run;
use crate::errors::{CliError, Exit};
use crate::output::size::many;
use crate::signals::{self, Listening};
use crate::wiring::App;
use handover::{Left, Recorded};
use pipes::{Output, Recording, Stopped};

/// What a child's environment calls its session.
pub(crate) const SESSION_VARIABLE: &str = "STEMMATA_SESSION";

/// Milliseconds that are waited for another process that holds the store: the command waits for its end only.
pub(crate) const WAIT_MS: u64 = 500;

/// Milliseconds between two checkpoints at least.
const PACE_MS: u64 = 1_000;

/// A checkpoint takes at most one part in so many of the time: what one open turn holds is read again each time.
const SHARE: u32 = 20;

/// How long the end of the output is waited for once the command ended. What is open then is held by processes that it
/// left behind, and another process of ours passes on what they print.
const LINGER_MS: u64 = 100;

/// What happens while a command runs.
#[derive(Debug)]
pub(crate) enum Happened {
    /// There is something new in the record.
    News,
    /// The command's output is at its end.
    OutputEnded,
    /// Somebody asked this process to end, and the command was told.
    AskedToEnd,
    /// The command ended.
    Ended(std::io::Result<ExitStatus>),
}

/// Runs the command.
pub(crate) fn run(app: &App, args: &Run) -> Result<Exit, CliError> {
    if let Some(left) = handover::asked(app) {
        return handover::go_on(app, args, &left);
    }
    let session = uuid::Uuid::new_v4().to_string();
    let mut record = Record::new(app, args, session.clone());
    let opened = record.open();
    let mut command = program(args)?;
    command.env(SESSION_VARIABLE, &session);
    let is_timed_input = !app.environment.stdin_is_terminal;
    command.stdout(Stdio::piped());
    if is_timed_input {
        command.stdin(Stdio::piped());
    }
    let mut child = command.spawn().map_err(|source| {
        record.discard_empty();
        let program = args.command.first().map(String::as_str).unwrap_or_default();
        let problem = Problem::new(Code::CommandNotStarted, format!("`{program}` could not be started"));
        CliError::from(Box::new(problem.because(vec![source.to_string()])))
    })?;
    let (happens, happened) = sync_channel(64);
    let is_over = Arc::new(AtomicBool::new(false));
    let _listening = forward(&child, &happens, &is_over)?;
    let form = args.timed.then_some(StreamForm::Timed);
    let recorder = StreamRecorder::new(form, record.rules());
    let recording = Recording::start(app.clock(), recorder, opened);
    let output = child.stdout.take().map(OwnedFd::from);
    let output = output.map(|output| Output::pass_on(output, &recording, &happens)).transpose()?;
    pipes::pass_on_input(&mut child, &recording)?;
    wait_for(child, happens)?;
    let status = record.follow(&recording, &happened)?;
    is_over.store(true, Ordering::Relaxed);
    // What still tells of the command must not wait for anybody to hear it.
    drop(happened);
    match output.and_then(Output::stop) {
        None => record.finish(&recording),
        Some(stopped) => record.stop(&recording, stopped)?,
    }
    Ok(exit(status))
}

fn program(args: &Run) -> Result<Command, CliError> {
    let (program, arguments) = args
        .command
        .split_first()
        .ok_or_else(|| CliError::Usage("`stemma run` needs a command after `--`".to_owned()))?;
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}

/// Passes on what this process is asked to do. What the terminal asks the whole group for, the command has heard. Once the
/// command is over it is this process that is meant: what it did not store yet is in its record.
fn forward(
    child: &Child,
    happens: &SyncSender<Happened>,
    is_over: &Arc<AtomicBool>,
) -> Result<Listening, CliError> {
    let pid = rustix::process::Pid::from_child(child);
    let (happens, is_over) = (happens.clone(), Arc::clone(is_over));
    signals::pass_on(move |signal, is_ours_alone| {
        if is_over.load(Ordering::Relaxed) {
            signals::end_by(signal);
        }
        if !is_ours_alone {
            return;
        }
        if let Some(signal) = rustix::process::Signal::from_named_raw(signal) {
            let _gone = rustix::process::kill_process(pid, signal);
        }
        let _full = happens.try_send(Happened::AskedToEnd);
    })
    .map_err(|source| CliError::io("listen for signals in", Path::new("this process"), source))
}

fn wait_for(mut child: Child, happens: SyncSender<Happened>) -> Result<(), CliError> {
    let wait = move || {
        let ended = child.wait();
        let _gone = happens.send(Happened::Ended(ended));
    };
    let thread = std::thread::Builder::new().name("stemma-wait".to_owned()).spawn(wait);
    thread.map(drop).map_err(|source| CliError::io("wait for", Path::new("the command"), source))
}

/// Ends as the command ended.
fn exit(status: ExitStatus) -> Exit {
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        signals::end_by(signal);
        return Exit::Passed(u8::try_from(128 + signal).unwrap_or(u8::MAX));
    }
    Exit::Passed(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}

/// When checkpoints are made.
struct Pace {
    next: Instant,
}

impl Pace {
    fn start() -> Self {
        Self { next: Instant::now() + Duration::from_millis(PACE_MS) }
    }

    /// Returns how long to wait for what happens, `until` a moment where there is one.
    fn wait(&self, until: Option<Instant>) -> Duration {
        let until = until.unwrap_or(self.next);
        until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
    }

    /// Does it where it is time.
    fn keep(&mut self, checkpoint: impl FnOnce()) {
        if Instant::now() >= self.next {
            let began = Instant::now();
            checkpoint();
            self.next = Instant::now() + Duration::from_millis(PACE_MS).max(began.elapsed() * SHARE);
        }
    }
}

/// The record of one command.
struct Record<'a> {
    app: &'a App,
    args: &'a Run,
    session: String,
    path: Option<PathBuf>,
    engine: Option<Engine>,
    /// Why nothing is recorded, where somebody wants it so.
    held_back: Option<String>,
    /// What stands in the way of storing what is recorded.
    trouble: Option<String>,
    /// What is not recorded, and why.
    lost: Option<String>,
    captured: Option<Captured>,
}

impl<'a> Record<'a> {
    const fn new(app: &'a App, args: &'a Run, session: String) -> Self {
        Self {
            app,
            args,
            session,
            path: None,
            engine: None,
            held_back: None,
            trouble: None,
            lost: None,
            captured: None,
        }
    }

    /// Opens the file; without one nothing is recorded, and the command runs all the same.
    fn open(&mut self) -> Option<File> {
        self.held_back = self.held_back();
        if self.held_back.is_some() {
            return None;
        }
        let opened = self
            .app
            .home()
            .and_then(|home| Ok(home.streams().open(&self.session, &self.app.environment.current_dir)?));
        match opened {
            Ok((path, file)) => {
                self.path = Some(path);
                self.open_engine();
                Some(file)
            }
            Err(error) => {
                self.trouble(&error);
                None
            }
        }
    }

    /// Returns why nothing is recorded here, where somebody wants it so.
    fn held_back(&self) -> Option<String> {
        let policy = self.app.home().ok()?.policy_in_force();
        let here = &self.app.environment.current_dir;
        policy.decide(here, &[], self.app.now()).map(|reason| reason.to_string())
    }

    /// Deletes the file of a command that did not start.
    fn discard_empty(&self) {
        if let Some(path) = &self.path {
            Streams::remove(path, StreamProof::Empty);
        }
    }

    /// Ends this process's part where the output goes on, or nobody takes it. A command on its own would wait for its reader, and so
    /// do we; what it said is stored before, since that reader may never come.
    fn stop(&mut self, recording: &Recording, mut stopped: Stopped) -> Result<(), CliError> {
        if !stopped.is_taken() {
            if stopped.drain(recording) {
                self.finish(recording);
                let _gone = stopped.give_out();
                return Ok(());
            }
            self.checkpoint(Trigger::Explicit, recording);
            if stopped.give_out().is_err() {
                self.finish(recording);
                return Ok(());
            }
        }
        self.leave(recording, stopped.into_pipe())
    }

    /// Has another process go on passing on and recording what the command left behind prints. Where there can be none,
    /// this one does, and ends with it.
    fn leave(&mut self, recording: &Recording, output: OwnedFd) -> Result<(), CliError> {
        let before = recording.lost();
        let record = recording.suspend();
        // The other process counts anew, and says only what it loses itself.
        if let Some(reason) = recording.lost().or(before) {
            self.keep_for_status(&format!("not all of this was recorded: {reason}"));
        }
        let path = self.path.clone().filter(|_| record.0.is_some());
        let left = Left { session: self.session.clone(), path };
        if let Err(error) = handover::start(self.app, &left, &record, &output) {
            tracing::warn!(%error, "no other process goes on");
            return self.go_on(record, output);
        }
        if self.app.environment.stderr_is_terminal && left.path.is_some() {
            let session = &self.session;
            let told = format!("Session {session} goes on with what the command left in the background");
            self.app.console.say(&told);
        }
        Ok(())
    }

    /// Passes on and records what is left of the output, to its end.
    fn go_on(&mut self, (file, rest): Recorded, output: OwnedFd) -> Result<(), CliError> {
        let recorder = match rest {
            Some(rest) => StreamRecorder::resume(rest, self.rules()),
            None => StreamRecorder::new(None, self.rules()),
        };
        let recording = Recording::start(self.app.clock(), recorder, file);
        let (happens, happened) = sync_channel(64);
        let output = Output::pass_on(output, &recording, &happens)?;
        self.follow_output(&recording, &happened);
        drop(happened);
        output.stop();
        self.finish(&recording);
        Ok(())
    }

    fn open_engine(&mut self) {
        match self.app.engine() {
            Ok(engine) => self.engine = Some(engine.clone()),
            Err(error) => self.trouble(&error),
        }
    }

    /// Returns which rules replace secrets, whether the store can be opened or not; none where they cannot be read.
    fn rules(&mut self) -> Option<StreamRules<'a>> {
        let cwd = &self.app.environment.current_dir;
        let rules = self.app.home().and_then(|home| Ok(home.stream_rules(cwd)?));
        match rules {
            Ok(rules) => Some(rules),
            Err(error) => {
                self.trouble(&error);
                None
            }
        }
    }

    fn trouble(&mut self, error: &CliError) {
        self.trouble = Some(crate::errors::with_causes(error));
    }

    /// Makes checkpoints until the command has ended, and until its output has, unless somebody else holds it.
    fn follow(
        &mut self,
        recording: &Recording,
        happened: &Receiver<Happened>,
    ) -> Result<ExitStatus, CliError> {
        let mut status = None;
        let mut is_output_over = false;
        let mut pace = Pace::start();
        // Once the command has ended: however much those that it left behind print, it is waited for no longer.
        let mut last = None;
        loop {
            match happened.recv_timeout(pace.wait(last)) {
                Ok(Happened::News) | Err(RecvTimeoutError::Timeout) => {}
                Ok(Happened::OutputEnded) | Err(RecvTimeoutError::Disconnected) => is_output_over = true,
                Ok(Happened::AskedToEnd) => self.checkpoint(Trigger::Explicit, recording),
                Ok(Happened::Ended(ended)) => {
                    status = Some(
                        ended.map_err(|source| CliError::io("wait for", Path::new("the command"), source))?,
                    );
                    last = Some(Instant::now() + Duration::from_millis(LINGER_MS));
                }
            }
            is_output_over |= last.is_some_and(|last| Instant::now() >= last);
            if let Some(status) = status.filter(|_| is_output_over) {
                return Ok(status);
            }
            pace.keep(|| self.checkpoint_news(recording));
        }
    }

    /// Makes checkpoints until the output has ended.
    fn follow_output(&mut self, recording: &Recording, happened: &Receiver<Happened>) {
        let mut pace = Pace::start();
        loop {
            match happened.recv_timeout(pace.wait(None)) {
                Ok(Happened::OutputEnded) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(_) | Err(RecvTimeoutError::Timeout) => pace.keep(|| self.checkpoint_news(recording)),
            }
        }
    }

    fn checkpoint_news(&mut self, recording: &Recording) {
        if recording.has_news() {
            self.checkpoint(Trigger::ToolCall, recording);
        }
    }

    fn checkpoint(&mut self, trigger: Trigger, recording: &Recording) {
        let Some(path) = self.path.clone() else { return };
        if self.engine.is_none() {
            self.open_engine();
        }
        let Some(engine) = &self.engine else { return };
        let settings = &self.app.settings;
        let is_over = trigger == Trigger::SessionEnd;
        let options = CaptureOptions {
            granularity: settings.granularity,
            cwd: Some(self.app.environment.current_dir.to_string_lossy().into_owned()),
            ticket: self.args.ticket.clone(),
            thread: self.args.thread.clone(),
            // At the end nothing follows any more: an unfinished line is all that there will be of it, and an open turn too.
            torn_tail: is_over,
            leaf: is_over || settings.provisional.keeps(trigger, false),
            format: recording.format(),
            ..CaptureOptions::live(trigger)
        };
        match engine.check_vault().and_then(|()| engine.capture(&path, &options)) {
            Ok(captured) => {
                self.captured = Some(captured);
                self.trouble = None;
            }
            Err(error) => self.trouble(&error.into()),
        }
    }

    /// Stores the rest, and takes the file away where that went well.
    fn finish(&mut self, recording: &Recording) {
        let ended = recording.finish();
        self.lost = ended.lost.map(|reason| format!("not all of this was recorded: {reason}"));
        let before = self.trouble.take();
        if ended.is_kept {
            self.checkpoint(Trigger::SessionEnd, recording);
        } else if self.path.is_none() && ended.has_passed {
            // Without a file there is nothing that the next command could try again.
            self.lost = before.map(|reason| format!("nothing of this was recorded: {reason}"));
        }
        if let Some(path) = &self.path {
            let stored = self.captured.as_ref().filter(|_| ended.is_kept && self.trouble.is_none());
            let is_removed = match stored {
                Some(captured) => Streams::remove(path, StreamProof::Captured(captured)),
                None => Streams::remove(path, StreamProof::Empty),
            };
            tracing::debug!(is_removed, "the record is stored");
        }
        self.tell();
    }

    fn tell(&self) {
        let retried = "not all of this was stored; the next `stemma` command tries again";
        let trouble = self.trouble.as_ref().map(|trouble| format!("{retried}: {trouble}"));
        let told: Vec<String> = self.lost.iter().cloned().chain(trouble).collect();
        let is_kept = told.is_empty() || self.keep_for_status(&told.join("; "));
        if let (true, Some(_), Ok(home)) = (told.is_empty(), &self.captured, self.app.home()) {
            home.calls().went_well("run", None);
        }
        // What the command says on standard error is not mixed with ours where a program reads it, unless that is the
        // only place where it can be said.
        let is_terminal = self.app.environment.stderr_is_terminal;
        if is_terminal || !is_kept {
            for told in &told {
                self.app.console.warn(told);
            }
        }
        if !is_terminal {
            return;
        }
        if let Some(reason) = &self.held_back {
            self.app.console.say(&format!("Nothing of this was recorded: {reason}"));
        }
        if let Some(captured) = &self.captured {
            let commits = many(captured.session.commits, "commit");
            self.app.console.say(&format!("Recorded as session {} ({commits})", self.session));
        }
    }

    fn keep_for_status(&self, told: &str) -> bool {
        tracing::warn!(command = "run", told, "not all was stored");
        let kept = self.app.home().and_then(|home| {
            let reason = format!("`stemma run`: {told}");
            let trouble = Marker { path: None, reason, at: self.app.now().as_micros() };
            Ok(home.calls().keep_trouble("run", &trouble)?)
        });
        if let Err(error) = &kept {
            tracing::warn!(error = %error, "the trouble itself could not be kept");
        }
        kept.is_ok()
    }
}
