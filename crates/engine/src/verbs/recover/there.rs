//! What is in the place of a transcript.

use std::io::Read as _;
use std::path::Path;

use crate::capture::transcript_file::Transcript;
use crate::error::EngineError;

/// Bytes of a file that are looked at for what a transcript begins with.
const BEGINNING_BYTES: usize = 64;

/// Returns whether what is in a transcript's place is no transcript: it was emptied, or something was written over it. Of what begins
/// as JSON only doctor finds out.
pub(super) fn is_something_else(path: &Path) -> bool {
    let mut head = [0; BEGINNING_BYTES];
    let Some(count) = std::fs::File::open(path).ok().and_then(|mut file| file.read(&mut head).ok()) else {
        return false;
    };
    let head = head.get(..count).unwrap_or_default();
    let begins_as_one = head.trim_ascii_start().first().is_some_and(|byte| matches!(byte, b'{' | b'['));
    if begins_as_one || path.is_dir() {
        return false;
    }
    let detected = Transcript::open_whole(path).and_then(|mut opened| opened.detected().map(drop));
    matches!(detected, Err(EngineError::NotATranscript { .. }))
}
