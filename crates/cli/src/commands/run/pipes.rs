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

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use stemmata_engine::{Clock, StreamRecorder, StreamRest, StreamSide};
use stemmata_model::FormatId;

use super::Happened;
use crate::errors::CliError;
use crate::output::size::many;

/// Bytes that are passed on at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// Bytes that a pipe which takes anything takes without waiting, on every system.
const TAKEN_AT_ONCE: usize = if cfg!(target_os = "linux") { 4096 } else { 512 };

/// Bytes that a pipe may hold: more than Linux gives a user who asks for a large one.
const PIPE_BYTES_MAX: usize = 2 << 20;

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
    thread: std::thread::JoinHandle<Option<Stopped>>,
}

/// Where passing on was told to stop.
pub(super) struct Stopped {
    from: File,
    /// What was read and recorded, and what nobody took yet.
    untaken: Vec<u8>,
}

impl Stopped {
    /// Returns the pipe, and what nobody took yet is lost.
    pub(super) fn into_pipe(self) -> OwnedFd {
        self.from.into()
    }

    /// Says whether somebody took all that was read.
    pub(super) const fn is_taken(&self) -> bool {
        self.untaken.is_empty()
    }

    /// Records what is in the pipe, without waiting; says whether that is the end of the output.
    pub(super) fn drain(&mut self, recording: &Recording) -> bool {
        let mut chunk = vec![0; CHUNK_BYTES];
        while self.untaken.len() < PIPE_BYTES_MAX {
            match poll(&mut [PollFd::new(&self.from, PollFlags::IN)], Some(&Timespec::default())) {
                Ok(0) => return false,
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return true,
            }
            match self.from.read(&mut chunk) {
                Ok(0) => return true,
                Ok(count) => {
                    let bytes = chunk.get(..count).unwrap_or_default();
                    recording.take(StreamSide::Output, bytes);
                    self.untaken.extend_from_slice(bytes);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return true,
            }
        }
        false
    }

    /// Gives out what nobody took yet, however long that takes; to a pipe that does not block, too.
    pub(super) fn give_out(&mut self) -> io::Result<()> {
        let mut to = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let untaken = std::mem::take(&mut self.untaken);
        let mut rest = untaken.as_slice();
        while !rest.is_empty() {
            match poll(&mut [PollFd::new(&to, PollFlags::OUT)], None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            match to.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
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
        let to = io::stdout().as_fd().try_clone_to_owned().map(File::from).map_err(failed)?;
        let (recording, happens) = (recording.clone(), happens.clone());
        let thread = std::thread::Builder::new().name("stemma-output".to_owned()).spawn(move || {
            let mut from = File::from(from);
            // Where nobody reads any more, the command finds that out as it would without us: the pipe closes.
            let untaken = copy_until(&mut from, &to, &stopped, |bytes| {
                recording.take(StreamSide::Output, bytes);
                let _full = happens.try_send(Happened::News);
            });
            let left = untaken.ok().flatten().map(|untaken| Stopped { from, untaken });
            let _gone = happens.send(Happened::OutputEnded);
            left
        });
        Ok(Self { stop, thread: thread.map_err(failed)? })
    }

    /// Stops passing on; returns what is left where the output is not at its end, or not taken.
    pub(super) fn stop(self) -> Option<Stopped> {
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

/// Passes on until there is nothing more, nobody takes it any more, or it is told to stop: then returns what was recorded and
/// nobody took yet. A write that waits for a reader could not be told to stop, so it is asked first whether it would.
fn copy_until(
    from: &mut File,
    to: &File,
    stopped: &PipeReader,
    mut record: impl FnMut(&[u8]),
) -> io::Result<Option<Vec<u8>>> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let count = match (Until { from, stopped }).read(&mut chunk) {
            Ok(0) => return Ok(None),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == STOPPED => return Ok(Some(Vec::new())),
            Err(error) => return Err(error),
        };
        let bytes = chunk.get(..count).unwrap_or_default();
        record(bytes);
        let untaken = bytes.get(write_until(to, stopped, bytes)?..).unwrap_or_default();
        if !untaken.is_empty() {
            return Ok(Some(untaken.to_vec()));
        }
    }
}

/// Writes until it is told to stop where nobody reads; returns how many bytes were taken.
fn write_until(mut to: &File, stopped: &PipeReader, bytes: &[u8]) -> io::Result<usize> {
    let mut taken = 0;
    while taken < bytes.len() {
        let mut ready =
            [PollFd::new(to, PollFlags::OUT), PollFd::from_borrowed_fd(stopped.as_fd(), PollFlags::IN)];
        match poll(&mut ready, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let [reader, stop] = &ready;
        if reader.revents().is_empty() {
            if !stop.revents().is_empty() {
                return Ok(taken);
            }
            continue;
        }
        let piece = bytes.get(taken..bytes.len().min(taken + TAKEN_AT_ONCE)).unwrap_or_default();
        match to.write(piece) {
            Ok(count) => taken += count,
            Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(taken)
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
