//! What a command reads and prints, on its way into the file of its record.
//!
//! What the lines mean is the engine's. What cannot be recorded is counted, and stops nothing.

use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stemmata_engine::{Clock, StreamRecorder, StreamRest, StreamSide};
use stemmata_model::FormatId;

/// The record that both pipes of a command write to, from several threads.
#[derive(Clone)]
pub struct Tape {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    news: AtomicBool,
}

struct State {
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
    pub has_passed: bool,
    /// Whether anything of it stands in the file.
    pub is_kept: bool,
    /// What is not in the file though there is one, and why.
    pub lost: Option<String>,
}

impl Tape {
    pub(super) fn start(clock: Arc<dyn Clock>, recorder: StreamRecorder, file: Option<File>) -> Self {
        // A record that another process began holds something already.
        let bytes = file.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |there| there.len());
        let state =
            Mutex::new(State { recorder: Some(recorder), file, bytes, has_passed: false, failure: None });
        Self { shared: Arc::new(Shared { clock, state, news: AtomicBool::new(false) }) }
    }

    /// Records what the command read.
    pub fn read(&self, bytes: &[u8]) {
        self.take(StreamSide::Input, bytes);
    }

    /// Records what it printed.
    pub fn printed(&self, bytes: &[u8]) {
        self.take(StreamSide::Output, bytes);
    }

    fn take(&self, side: StreamSide, bytes: &[u8]) {
        let at = self.shared.clock.now();
        let mut state = self.state();
        state.has_passed |= !bytes.is_empty();
        if state.file.is_none() {
            return;
        }
        let Some(recorder) = &mut state.recorder else { return };
        let lines = recorder.take(side, bytes, at);
        state.keep(&lines);
        if !lines.is_empty() {
            self.shared.news.store(true, Ordering::Relaxed);
        }
    }

    /// Returns, once, whether there is something new.
    pub(super) fn has_news(&self) -> bool {
        self.shared.news.swap(false, Ordering::Relaxed)
    }

    /// Returns the format of the record, once it is known.
    pub(super) fn format(&self) -> Option<FormatId> {
        self.state().recorder.as_ref().and_then(StreamRecorder::format)
    }

    /// Ends the record: what stands behind the last line break is kept too.
    pub(super) fn finish(&self) -> Ended {
        let at = self.shared.clock.now();
        let mut state = self.state();
        for side in [StreamSide::Input, StreamSide::Output] {
            let rest = state.recorder.as_mut().map(|recorder| recorder.end(side, at));
            state.keep(&rest.unwrap_or_default());
        }
        let lost = state.lost();
        Ended { has_passed: state.has_passed, is_kept: state.bytes > 0, lost }
    }

    /// Ends this process's part of the record. Returns the file, what another process needs to go on, and what was lost.
    pub(super) fn suspend(&self) -> (Option<File>, Option<StreamRest>, Option<String>) {
        let at = self.shared.clock.now();
        let mut state = self.state();
        let before = state.lost();
        let Some(recorder) = state.recorder.take() else { return (None, None, before) };
        let (kept, rest) = recorder.suspend(at);
        state.keep(&kept);
        let lost = state.lost().or(before);
        (state.file.take(), Some(rest), lost)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn lost(&self) -> Option<String> {
        let unkept = || {
            let unkept = self.recorder.as_ref().and_then(StreamRecorder::unkept)?;
            let lines = if unkept.lines == 1 { "line" } else { "lines" };
            Some(format!("secrets cannot be found in {} {lines}: {}", unkept.lines, unkept.reason))
        };
        self.failure.clone().or_else(unkept)
    }

    fn keep(&mut self, lines: &[u8]) {
        let Some(file) = &mut self.file else { return };
        if let Err(error) = file.write_all(lines) {
            self.failure = Some(format!("the record ends early: {error}"));
            self.file = None;
        }
        self.bytes = self.bytes.saturating_add(lines.len() as u64);
    }
}

impl std::fmt::Debug for Tape {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Tape").finish_non_exhaustive()
    }
}
