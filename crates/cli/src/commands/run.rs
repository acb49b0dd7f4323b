//! `run`: a command as it is, and a record of what it read and printed.
//!
//! Nothing that goes wrong with the record stops the command or changes what it prints: it is told to a person at the
//! end, and to `status`. What the lines mean is the engine's.

mod handover;
mod pipes;

use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use stemmata_api::{Code, Problem};
use stemmata_service::{Host, Record, RecordRequest};

use crate::args::live::Run;
use crate::commands::launch::quoted;
use crate::environment::SESSION_VARIABLE;
use crate::errors::{CliError, Exit};
use crate::output::size::many;
use crate::signals::{self, Listening};
use crate::wiring::App;
use pipes::{Output, Stopped};

/// Milliseconds that are waited for another process that holds the store: the command waits for its end only.
pub(crate) const WAIT_MS: u64 = 500;

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
        return handover::go_on(app, args, left);
    }
    let session = uuid::Uuid::new_v4().to_string();
    let mut command = program(args)?;
    command.env(SESSION_VARIABLE, &session);
    let mut running = Running::begin(app, args, session, Host::record);
    let is_timed_input = !app.environment.stdin_is_terminal;
    command.stdout(Stdio::piped());
    if is_timed_input {
        command.stdin(Stdio::piped());
    }
    let mut child = command.spawn().map_err(|source| {
        running.record.discard_empty();
        let program = args.command.first().map(String::as_str).unwrap_or_default();
        let problem = Problem::new(Code::CommandNotStarted, format!("`{program}` could not be started"));
        CliError::from(Box::new(problem.because(vec![source.to_string()])))
    })?;
    let (happens, happened) = sync_channel(64);
    let is_over = Arc::new(AtomicBool::new(false));
    let _listening = forward(&child, &happens, &is_over)?;
    let tape = running.record.tape();
    let output = child.stdout.take().map(OwnedFd::from);
    let output = output.map(|output| Output::pass_on(output, &tape, &happens)).transpose()?;
    pipes::pass_on_input(&mut child, &tape)?;
    wait_for(child, happens)?;
    let status = running.follow(&happened)?;
    is_over.store(true, Ordering::Relaxed);
    // What still tells of the command must not wait for anybody to hear it.
    drop(happened);
    match output.and_then(Output::stop) {
        None => running.finish(),
        Some(stopped) => running.stop(stopped)?,
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

/// A command that runs, and its record.
struct Running<'a> {
    app: &'a App,
    record: Record<'a>,
}

impl<'a> Running<'a> {
    /// Begins the record; where there is no host, of nothing.
    fn begin(
        app: &'a App,
        args: &Run,
        session: String,
        begin: impl FnOnce(&'a Host, RecordRequest) -> Record<'a>,
    ) -> Self {
        let request = RecordRequest {
            session,
            dir: app.environment.current_dir.clone(),
            command: args.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
            timed: args.timed,
            ticket: app.ticket(args.ticket.as_ref()),
            thread: app.thread(args.thread.as_ref()),
        };
        let record = match app.host() {
            Ok(host) => begin(host, request),
            Err(error) => Record::of_nothing(request, &error.problem()),
        };
        let _untold = app.say_notes();
        Self { app, record }
    }

    /// Ends this process's part where the output goes on, or nobody takes it. A command on its own would wait for its reader, and so
    /// do we; what it said is stored before, since that reader may never come.
    fn stop(&mut self, mut stopped: Stopped) -> Result<(), CliError> {
        if !stopped.is_taken() {
            if stopped.drain(&self.record.tape()) {
                self.finish();
                let _gone = stopped.give_out();
                return Ok(());
            }
            self.record.checkpoint_now();
            if stopped.give_out().is_err() {
                self.finish();
                return Ok(());
            }
        }
        self.leave(stopped.into_pipe())
    }

    /// Has another process go on passing on and recording what the command left behind prints. Where there can be none,
    /// this one does, and ends with it.
    fn leave(&mut self, output: OwnedFd) -> Result<(), CliError> {
        let left = self.record.suspend();
        if let Err(error) = handover::start(self.app, self.record.session(), &left, &output) {
            tracing::warn!(%error, "no other process is left");
            self.record.resume(left);
            return self.go_on(output);
        }
        if self.app.environment.stderr_is_terminal && left.path.is_some() {
            let session = self.record.session();
            let told = format!("Session {session} continues with what the command left in the background");
            self.app.console.say(&told);
        }
        Ok(())
    }

    /// Passes on and records what is left of the output, to its end.
    fn go_on(&mut self, output: OwnedFd) -> Result<(), CliError> {
        let (happens, happened) = sync_channel(64);
        let output = Output::pass_on(output, &self.record.tape(), &happens)?;
        self.follow_output(&happened);
        drop(happened);
        output.stop();
        self.finish();
        Ok(())
    }

    /// Makes checkpoints until the command has ended, and until its output has, unless somebody else holds it.
    fn follow(&mut self, happened: &Receiver<Happened>) -> Result<ExitStatus, CliError> {
        let mut status = None;
        let mut is_output_over = false;
        // Once the command has ended: however much those that it left behind print, it is waited for no longer.
        let mut last = None;
        loop {
            match happened.recv_timeout(self.record.wait(last)) {
                Ok(Happened::News) | Err(RecvTimeoutError::Timeout) => {}
                Ok(Happened::OutputEnded) | Err(RecvTimeoutError::Disconnected) => is_output_over = true,
                Ok(Happened::AskedToEnd) => self.record.checkpoint_now(),
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
            self.record.keep_pace();
        }
    }

    /// Makes checkpoints until the output has ended.
    fn follow_output(&mut self, happened: &Receiver<Happened>) {
        loop {
            match happened.recv_timeout(self.record.wait(None)) {
                Ok(Happened::OutputEnded) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(_) | Err(RecvTimeoutError::Timeout) => self.record.keep_pace(),
            }
        }
    }

    /// Stores the rest, and tells a person how that went. What the command says on standard error is not mixed with ours where
    /// a program reads it, unless that is the only place where trouble can be told.
    fn finish(&mut self) {
        let done = self.record.finish();
        let is_terminal = self.app.environment.stderr_is_terminal;
        for told in &done.trouble {
            tracing::warn!(command = "run", told, kept = done.is_kept, "not all was stored");
            if is_terminal || !done.is_kept {
                self.app.console.warn(told);
            }
        }
        if !is_terminal {
            return;
        }
        if let Some(reason) = &done.held_back {
            self.app.console.say(&format!("Nothing of this was recorded: {reason}"));
        }
        if let Some(commits) = done.commits {
            let (session, commits) = (self.record.session(), many(commits, "commit"));
            self.app.console.say(&format!("Recorded as session {session} ({commits})"));
        }
    }
}
