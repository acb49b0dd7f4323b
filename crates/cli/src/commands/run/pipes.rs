//! The pipes between a command and the world: every byte goes on at once, and a copy of it to the record.
//!
//! What cannot be recorded goes on all the same.

use std::fs::File;
use std::io::{self, Read, Write};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stemmata_engine::{Clock, StreamRecorder, StreamSide};

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
    recorder: StreamRecorder,
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
        let tape = Mutex::new(Tape { recorder, file, bytes: 0, has_passed: false, failure: None });
        Self { shared: Arc::new(Shared { clock, tape, news: AtomicBool::new(false) }) }
    }

    /// Returns, once, whether there is something new.
    pub(super) fn has_news(&self) -> bool {
        self.shared.news.swap(false, Ordering::Relaxed)
    }

    /// Ends the record: what stands behind the last line break is kept too.
    pub(super) fn finish(&self) -> Ended {
        let at = self.shared.clock.now();
        let mut tape = self.tape();
        for side in [StreamSide::Input, StreamSide::Output] {
            let rest = tape.recorder.end(side, at);
            tape.keep(&rest);
        }
        let unkept = tape.recorder.unkept().map(|unkept| {
            let lines = many(unkept.lines, "line");
            format!("secrets cannot be told from the rest of {lines}: {}", unkept.reason)
        });
        let lost = tape.failure.clone().or(unkept);
        Ended { has_passed: tape.has_passed, is_kept: tape.bytes > 0, lost }
    }

    fn take(&self, side: StreamSide, bytes: &[u8]) {
        let at = self.shared.clock.now();
        let mut tape = self.tape();
        tape.has_passed |= !bytes.is_empty();
        if tape.file.is_none() {
            return;
        }
        let lines = tape.recorder.take(side, bytes, at);
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
    fn keep(&mut self, lines: &[u8]) {
        let Some(file) = &mut self.file else { return };
        if let Err(error) = file.write_all(lines) {
            self.failure = Some(format!("the record ends early: {error}"));
            self.file = None;
        }
        self.bytes = self.bytes.saturating_add(u64::try_from(lines.len()).unwrap_or(u64::MAX));
    }
}

/// Starts passing bytes on.
pub(super) fn pump(
    child: &mut Child,
    recording: &Recording,
    happens: &SyncSender<Happened>,
) -> Result<(), CliError> {
    if let Some(output) = child.stdout.take() {
        let (recording, happens) = (recording.clone(), happens.clone());
        spawn("stemma-output", move || {
            // Where nobody reads any more, the command finds that out as it would without us: the pipe closes.
            let _over = copy(output, io::stdout(), |bytes| {
                recording.take(StreamSide::Output, bytes);
                let _full = happens.try_send(Happened::News);
            });
            let _gone = happens.send(Happened::OutputEnded);
        })?;
    }
    if let Some(input) = child.stdin.take() {
        let recording = recording.clone();
        // Nobody waits for it: it may stand in a read that never ends.
        spawn("stemma-input", move || {
            let _over = copy(io::stdin(), input, |bytes| recording.take(StreamSide::Input, bytes));
        })?;
    }
    Ok(())
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
