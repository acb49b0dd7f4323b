//! Taking up what others left: transcripts that hooks could not capture, and streams of commands under `run`.
//!
//! Never done by opening: a program says when, and how much.

use std::fmt;
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use stemmata_model::Trigger;
use stemmata_store::StoreError;

use super::streams::StreamProof;
use super::{Home, Streams};
use crate::capture::options::CaptureOptions;
use crate::capture::policy::HeldBack;
use crate::engine::Engine;
use crate::error::{EngineError, Result};
use crate::search::SettleBudget;

/// How long a command that took something up lets the search index take it in: nobody asked for it.
const SETTLE_TIME: Duration = Duration::from_millis(50);

/// How much is taken up at once; the rest is for the next time. What a transcript costs is not known before it is read, so
/// there is no bound of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TakeUpLimits {
    /// Transcripts at most.
    pub transcripts_max: usize,
    /// Streams at most.
    pub streams_max: usize,
}

impl TakeUpLimits {
    /// What a command takes up before its own work.
    pub const COMMAND: Self = Self { transcripts_max: 64, streams_max: 16 };
}

/// Something that was left and could not be captured. As text it says what, and why.
#[derive(Debug)]
pub enum NotTakenUp {
    /// A transcript; it stays for the next time.
    Transcript {
        /// The transcript.
        path: PathBuf,
        /// Why.
        error: EngineError,
    },
    /// A stream; it stays for the next time.
    Stream {
        /// The stream.
        path: PathBuf,
        /// Why.
        error: EngineError,
    },
    /// A stream that never can be captured; it is kept, since it may be the only copy.
    SetAside {
        /// Where it is now.
        kept: PathBuf,
        /// Why.
        reason: String,
    },
}

impl NotTakenUp {
    /// Returns the file.
    pub fn path(&self) -> &Path {
        match self {
            Self::Transcript { path, .. } | Self::Stream { path, .. } | Self::SetAside { kept: path, .. } => {
                path
            }
        }
    }
}

impl fmt::Display for NotTakenUp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transcript { path, error } => {
                write!(formatter, "{}, which a hook left, was not read: {error}", path.display())
            }
            Self::Stream { path, error } => {
                write!(formatter, "{}, which `run` left, was not read: {error}", path.display())
            }
            Self::SetAside { kept, reason } => {
                write!(formatter, "{reason}; what `run` recorded is kept in {}", kept.display())
            }
        }
    }
}

impl Home {
    /// Captures what hooks and `run` left, with exclusions and rules as they are now. Returns what could not be captured.
    /// Two processes may do so at once.
    ///
    /// # Errors
    /// As [`Home::renewed`]; nothing is opened where nothing was left.
    pub fn take_up(&self, limits: TakeUpLimits) -> Result<Vec<NotTakenUp>> {
        let mut claims = self.markers().claims(limits.transcripts_max).peekable();
        let left = self.streams().left();
        let mut trouble = Vec::new();
        if claims.peek().is_none() && left.is_empty() {
            return Ok(trouble);
        }
        let engine = self.renewed()?;
        let mut is_more = false;
        for left in claims {
            match engine.capture(&left.transcript, &CaptureOptions::live(Trigger::TurnBoundary)) {
                Ok(_) => {
                    is_more = true;
                    left.done();
                }
                Err(
                    EngineError::NotATranscript { .. }
                    | EngineError::HeldBack { reason: HeldBack::Excluded(_), .. },
                ) => left.done(),
                // The transcripts of a paused session wait until the pause ends; the user knows of the pause.
                Err(EngineError::HeldBack { .. }) => {}
                Err(error) if is_gone(&error) => left.done(),
                // It says the same each time, and hooks name the transcript again and again: it is told once.
                Err(error) if is_beyond(&error) => {
                    let path = left.transcript.clone();
                    left.done();
                    if self.is_told_first(&error.to_string(), &path) {
                        trouble.push(NotTakenUp::Transcript { path, error });
                    }
                }
                Err(error) => {
                    trouble.push(NotTakenUp::Transcript { path: left.transcript.clone(), error });
                }
            }
        }
        let mut tried = 0;
        for path in left {
            if tried == limits.streams_max {
                break;
            }
            if !Streams::remove(&path, StreamProof::Empty) {
                trouble.extend(self.take_up_stream(&engine, path, &mut tried));
            }
        }
        if is_more || tried > 0 {
            // What is left, and what is wrong with the index, is the next search's.
            engine
                .settle_index(SettleBudget::Within(SETTLE_TIME), &mut |_, _, _| ControlFlow::Continue(()))?;
        }
        Ok(trouble)
    }

    /// Captures what a command under `run` left. What never can be captured is set aside.
    fn take_up_stream(&self, engine: &Engine, path: PathBuf, tried: &mut usize) -> Option<NotTakenUp> {
        let options = CaptureOptions { trigger: Trigger::SessionEnd, ..CaptureOptions::import() };
        let options = Streams::capture_options(&path, options);
        let captured = engine.capture(&path, &options);
        // What is excluded costs nothing and stays: it must not stand in the way of the rest.
        *tried += usize::from(!matches!(captured, Err(EngineError::HeldBack { .. })));
        let reason = match captured {
            Ok(captured) if Streams::remove(&path, StreamProof::Captured(&captured)) => return None,
            // Another command stored it meanwhile.
            Ok(_) if !path.exists() => return None,
            Ok(_) => "not all of it could be stored".to_owned(),
            Err(error) if is_gone(&error) => return None,
            Err(error) if is_for_good(&error) => error.to_string(),
            Err(error) => return Some(NotTakenUp::Stream { path, error }),
        };
        match self.streams().set_aside(&path) {
            Ok(kept) => Some(NotTakenUp::SetAside { kept, reason }),
            Err(error) if is_gone(&error) => None,
            Err(_) => Some(NotTakenUp::SetAside { kept: path, reason }),
        }
    }
}

/// Says whether a file is not there any more.
fn is_gone(error: &EngineError) -> bool {
    matches!(error, EngineError::Io { source, .. } if source.kind() == ErrorKind::NotFound)
}

/// Says whether a file itself is the reason, so that another try gives the same.
fn is_for_good(error: &EngineError) -> bool {
    is_beyond(error)
        || matches!(
            error,
            EngineError::NotATranscript { .. }
                | EngineError::Torn { .. }
                | EngineError::Damaged { .. }
                | EngineError::Refused { .. }
        )
}

/// Says whether a file holds more than a bound lets in: what is before that is stored, and no other try stores more.
fn is_beyond(error: &EngineError) -> bool {
    matches!(
        error,
        EngineError::LineTooLong { .. }
            | EngineError::DocumentTooLong { .. }
            | EngineError::Store(StoreError::Bound { .. })
    )
}
