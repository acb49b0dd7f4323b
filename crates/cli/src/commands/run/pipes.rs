//! The pipes between a command and the world: every byte goes on at once, and a copy of it to the record.
//!
//! What cannot be recorded goes on all the same.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, poll};
use stemmata_engine::{Clock, StreamRecorder, StreamRest, StreamSide};
use stemmata_model::FormatId;

use super::Happened;
use crate::errors::CliError;
use crate::output::size::many;

/// Bytes that are passed on at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// The record that both pipes write to.
#[derive(Clone)]
pub(super) struct Recording {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Arc<dyn Clock>,
    tape: Mutex<Tape>,
    news: AtomicBool,
}

struct Tape {
    /// None once another process records on.
    recorder: Option<StreamRecorder>,
    /// None where nothing can be recorded (any more).
    file: Option<File>,
    bytes: u64,
    has_passed: bool,
    failure: Option<String>,
}

/// What became of a record.
pub(super) struct Ended {
    /// Whether anything was read or printed.
    pub(super) has_passed: bool,
    /// Whether anything of it stands in the file.
    pub(super) is_kept: bool,
    /// What is not in the file though there is one, and why.
    pub(super) lost: Option<String>,
}

impl Recording {
    pub(super) fn start(clock: Arc<dyn Clock>, recorder: StreamRecorder, file: Option<File>) -> Self {
        // A record that another process began holds something already.
        let bytes = file.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |there| there.len());
        let tape =
            Mutex::new(Tape { recorder: Some(recorder), file, bytes, has_passed: false, failure: None });
        Self { shared: Arc::new(Shared { clock, tape, news: AtomicBool::new(false) }) }
    }

    /// Returns, once, whether there is something new.
    pub(super) fn has_news(&self) -> bool {
        self.shared.news.swap(false, Ordering::Relaxed)
    }

    /// Returns the format of the record, once it is known.
    pub(super) fn format(&self) -> Option<FormatId> {
        self.tape().recorder.as_ref().and_then(StreamRecorder::format)
    }

    /// Ends the record: what stands behind the last line break is kept too.
    pub(super) fn finish(&self) -> Ended {
        let at = self.shared.clock.now();
        let mut tape = self.tape();
        for side in [StreamSide::Input, StreamSide::Output] {
            let rest = tape.recorder.as_mut().map(|recorder| recorder.end(side, at));
            tape.keep(&rest.unwrap_or_default());
        }
        let lost = tape.lost();
        Ended { has_passed: tape.has_passed, is_kept: tape.bytes > 0, lost }
    }

    /// Returns what is not in the file though there is one, and why.
    pub(super) fn lost(&self) -> Option<String> {
        self.tape().lost()
    }

    /// Ends this process's part of the record; returns the file, if there is one, and what another process needs to go on.
    pub(super) fn suspend(&self) -> (Option<File>, Option<StreamRest>) {
        let at = self.shared.clock.now();
        let mut tape = self.tape();
        let Some(recorder) = tape.recorder.take() else { return (None, None) };
        let (kept, rest) = recorder.suspend(at);
        tape.keep(&kept);
        (tape.file.take(), Some(rest))
    }

    fn take(&self, side: StreamSide, bytes: &[u8]) {
        let at = self.shared.clock.now();
        let mut tape = self.tape();
        tape.has_passed |= !bytes.is_empty();
        if tape.file.is_none() {
            return;
        }
        let Some(recorder) = &mut tape.recorder else { return };
        let lines = recorder.take(side, bytes, at);
        tape.keep(&lines);
        if !lines.is_empty() {
            self.shared.news.store(true, Ordering::Relaxed);
        }
    }

    fn tape(&self) -> MutexGuard<'_, Tape> {
        self.shared.tape.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tape {
    fn lost(&self) -> Option<String> {
        let unkept = || {
            let unkept = self.recorder.as_ref().and_then(StreamRecorder::unkept)?;
            let lines = many(unkept.lines, "line");
            Some(format!("secrets cannot be told from the rest of {lines}: {}", unkept.reason))
        };
        self.failure.clone().or_else(unkept)
    }

    fn keep(&mut self, lines: &[u8]) {
        let Some(file) = &mut self.file else { return };
        if let Err(error) = file.write_all(lines) {
            self.failure = Some(format!("the record ends early: {error}"));
            self.file = None;
        }
        self.bytes = self.bytes.saturating_add(u64::try_from(lines.len()).unwrap_or(u64::MAX));
    }
}

/// The pipe that a command prints to, while a thread passes on what comes through it.
pub(super) struct Output {
    stop: PipeWriter,
    thread: std::thread::JoinHandle<Option<OwnedFd>>,
}

impl Output {
    /// Starts passing on what a command prints.
    pub(super) fn pass_on(
        from: OwnedFd,
        recording: &Recording,
        happens: &SyncSender<Happened>,
    ) -> Result<Self, CliError> {
        let failed = |source| CliError::io("read from", std::path::Path::new("the command"), source);
        let (stopped, stop) = io::pipe().map_err(failed)?;
        let (recording, happens) = (recording.clone(), happens.clone());
        let thread = std::thread::Builder::new().name("stemma-output".to_owned()).spawn(move || {
            let mut from = File::from(from);
            // Where nobody reads any more, the command finds that out as it would without us: the pipe closes.
            let ended = copy(&mut Until { from: &mut from, stopped: &stopped }, io::stdout(), |bytes| {
                recording.take(StreamSide::Output, bytes);
                let _full = happens.try_send(Happened::News);
            });
            let is_stopped = ended.is_err_and(|error| error.kind() == STOPPED);
            let from = is_stopped.then(|| OwnedFd::from(from));
            let _gone = happens.send(Happened::OutputEnded);
            from
        });
        Ok(Self { stop, thread: thread.map_err(failed)? })
    }

    /// Stops passing on; returns the pipe where it is not at its end.
    pub(super) fn stop(self) -> Option<OwnedFd> {
        drop(self.stop);
        self.thread.join().ok().flatten()
    }
}

/// Passes on what a command reads, for as long as this process lives.
pub(super) fn pass_on_input(child: &mut Child, recording: &Recording) -> Result<(), CliError> {
    let Some(input) = child.stdin.take() else { return Ok(()) };
    let recording = recording.clone();
    // Nobody waits for it: it may stand in a read that never ends.
    spawn("stemma-input", move || {
        let _over = copy(io::stdin(), input, |bytes| recording.take(StreamSide::Input, bytes));
    })
}

/// What reading ends with when it was told to stop.
const STOPPED: io::ErrorKind = io::ErrorKind::WouldBlock;

/// A pipe that is read until another one closes.
struct Until<'a> {
    from: &'a mut File,
    stopped: &'a PipeReader,
}

impl Read for Until<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut ready = [
            PollFd::new(&*self.from, PollFlags::IN),
            PollFd::from_borrowed_fd(self.stopped.as_fd(), PollFlags::IN),
        ];
        poll(&mut ready, None)?;
        // Asked first: what never pauses would be read for ever, and what is left in the pipe is for the next reader.
        let [_, stopped] = &ready;
        if !stopped.revents().is_empty() {
            return Err(STOPPED.into());
        }
        self.from.read(buffer)
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), CliError> {
    let spawned = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    spawned.map(drop).map_err(|source| CliError::io("read from", std::path::Path::new("the command"), source))
}

/// Passes on until there is nothing more, or nobody takes it. Recorded first: whatever ends this process, what somebody has
/// seen stands in the record.
fn copy(mut from: impl Read, mut to: impl Write, mut record: impl FnMut(&[u8])) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let count = match from.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let bytes = chunk.get(..count).unwrap_or_default();
        record(bytes);
        to.write_all(bytes)?;
        to.flush()?;
    }
}
