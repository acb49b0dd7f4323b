//! A hook's nudge: capture what a transcript holds beyond what is stored, if that is little; else say who should.
//!
//! A hook runs while its client waits, so it looks at size, identity and the ends of what was read, and never reads a
//! whole file.

use std::path::Path;

use stemmata_runtimes::adapter::Shape;
use stemmata_store::StoreError;

use crate::capture::captured::Captured;
use crate::capture::cursor::{Cursor, Relation};
use crate::capture::kept::Kept;
use crate::capture::options::CaptureOptions;
use crate::engine::Engine;
use crate::error::{EngineError, Result};

/// Bytes of news that a hook reads at most; more is left to an import in the background.
pub const NUDGE_BYTES_MAX: u64 = 1 << 20;

/// Why a hook leaves a transcript to an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Later {
    /// It was never read.
    FirstContact,
    /// It was rewritten, or is read by other rules now.
    Rewritten,
    /// It has more news than a hook reads.
    TooMuch {
        /// Bytes that were not read yet.
        bytes: u64,
    },
}

/// What a nudge did.
#[derive(Debug)]
pub enum Nudged {
    /// What is new is stored.
    Captured(Box<Captured>),
    /// Nothing was read.
    Later(Later),
}

/// Decides from what is known of a transcript whether a hook reads it.
const fn decide(relation: Option<Relation>, news: u64) -> Option<Later> {
    match relation {
        None => Some(Later::FirstContact),
        Some(Relation::Rewritten) => Some(Later::Rewritten),
        Some(Relation::Grown) if news > NUDGE_BYTES_MAX => Some(Later::TooMuch { bytes: news }),
        Some(Relation::Grown | Relation::Unchanged) => None,
    }
}

impl Engine {
    /// Captures complete lines that a transcript has gained, where that is at most [`NUDGE_BYTES_MAX`].
    ///
    /// # Errors
    /// As `capture`.
    pub fn nudge(&self, path: &Path, options: &CaptureOptions) -> Result<Nudged> {
        self.nudge_as(path, options, true)
    }

    /// As [`Engine::nudge`], but a transcript that was never read is captured too where it is that little: of the session
    /// that is asked for by its own agent there may be no more yet.
    ///
    /// # Errors
    /// As `capture`.
    pub fn nudge_own(&self, path: &Path, options: &CaptureOptions) -> Result<Nudged> {
        self.nudge_as(path, options, false)
    }

    fn nudge_as(&self, path: &Path, options: &CaptureOptions, is_known: bool) -> Result<Nudged> {
        // What was never read is news from its first byte on.
        let first = if is_known { None } else { Some(Relation::Grown) };
        let mut transcript = self.open_transcript(path)?;
        if let Some(later) = self.later_of_kept(path, first)? {
            return Ok(Nudged::Later(later));
        }
        let prepared = self.prepare(&mut transcript, options)?;
        let is_document = prepared.adapter.shape() == Shape::Document;
        let seen = prepared.cursor.as_ref().map_or(0, |cursor| cursor.closed_bytes);
        let news = prepared.transcript.stamp().length.saturating_sub(seen);
        let is_known = prepared.cursor.is_some() && prepared.relation.is_none();
        let later = match (is_known, is_document && prepared.again.is_none()) {
            // A document is read whole each time, so that all of it is news.
            (true, true) => decide(Some(Relation::Grown), prepared.transcript.stamp().length),
            (true, false) => Some(Later::Rewritten),
            (false, _) => decide(prepared.relation.or(first), news),
        };
        if let Some(later) = later {
            return Ok(Nudged::Later(later));
        }
        let captured = match self.capture_prepared(prepared, options) {
            // Somebody else read it at the same time, or something of it was forgotten: looked at anew.
            Err(EngineError::Store(StoreError::CursorMoved { .. } | StoreError::Forgotten(_))) => {
                self.capture(path, options)?
            }
            done => done?,
        };
        Ok(Nudged::Captured(Box::new(captured)))
    }

    /// Decides of a session that is no file by what is known without reading it.
    fn later_of_kept(&self, path: &Path, first: Option<Relation>) -> Result<Option<Later>> {
        let Some(kept) = Kept::of(path) else { return Ok(None) };
        let cursor = self.store.cursor(&self.session_key(path))?;
        let cursor = cursor.as_deref().and_then(Cursor::decode);
        let outline = kept.outline()?;
        let Some(cursor) = cursor else {
            return Ok(decide(first, outline.map_or(0, |outline| outline.bytes)));
        };
        let news = outline.filter(|outline| outline.modified_ns != cursor.stamp.modified_ns);
        Ok(news.and_then(|news| decide(Some(Relation::Grown), news.bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_reads_what_is_little_and_known() {
        for (relation, news, wanted) in [
            (None, 10, Some(Later::FirstContact)),
            (Some(Relation::Rewritten), 10, Some(Later::Rewritten)),
            (Some(Relation::Grown), NUDGE_BYTES_MAX, None),
            (Some(Relation::Grown), NUDGE_BYTES_MAX + 1, Some(Later::TooMuch { bytes: NUDGE_BYTES_MAX + 1 })),
            (Some(Relation::Unchanged), 0, None),
        ] {
            assert_eq!(decide(relation, news), wanted);
        }
    }
}
