//! Sessions that ended without saying so: what they still held is captured at the next look beside them.
//!
//! A client that was killed calls no hook; the next session of the same place is when somebody looks again.

use std::path::Path;

use stemmata_model::Trigger;

use crate::capture::catch_up::latest;
use crate::capture::database;
use crate::capture::nudge::Nudged;
use crate::capture::options::CaptureOptions;
use crate::capture::transcript_file::{is_costly, modified_ns};
use crate::engine::Engine;
use crate::error::{EngineError, Result};

/// Sessions beside one that are looked at: a hook has milliseconds.
const DEAD_MAX: usize = 4;

/// A session that nobody wrote to for so long has ended: an hour.
const SILENT_MICROS: i64 = 3_600_000_000;

impl Engine {
    /// Captures what transcripts of the same folder hold that nobody wrote to for an hour. As little of each as a hook
    /// reads, and complete lines only; none that would be unpacked for that. Returns how many had news.
    ///
    /// # Errors
    /// `Io` where the folder cannot be listed, store errors.
    pub fn close_dead(&self, beside: &Path, options: &CaptureOptions) -> Result<usize> {
        // In a database nothing is beside: whoever looks at it looks at all its sessions.
        let Some(folder) = beside.parent().filter(|folder| folder.is_dir()) else { return Ok(0) };
        let options = CaptureOptions { trigger: Trigger::SessionEnd, leaf: true, ..options.clone() };
        let mut closed = 0;
        let others = latest(&[folder.to_owned()])?.into_iter();
        let others = others.filter(|path| path != beside && !is_costly(path)).take(DEAD_MAX);
        for path in others.filter(|path| self.is_silent(path)) {
            match self.nudge(&path, &options) {
                Ok(Nudged::Captured(captured)) => closed += usize::from(captured.new_commits > 0),
                // The next import reads these, or tells what is wrong with them.
                Ok(Nudged::Later(_)) => {}
                Err(EngineError::Store(error)) => return Err(EngineError::Store(error)),
                Err(error) => tracing::debug!(path = %path.display(), %error, "left to an import"),
            }
        }
        Ok(closed)
    }

    /// Says whether nobody wrote to a transcript for so long that its session must have ended, or it is gone.
    pub fn is_silent(&self, path: &Path) -> bool {
        let since = i128::from(self.clock.now().as_micros().saturating_sub(SILENT_MICROS));
        // A database that cannot be read just now says nothing about its sessions.
        let is_gone = || database::session_in(path).is_none();
        modified_ns(path).map_or_else(is_gone, |at_ns| at_ns / 1_000 < since)
    }
}
