//! Capture: from transcripts on disk to commits. Finding homes, reading lines, cursors, import.

pub(crate) mod anchors;
pub(crate) mod big_parts;
pub(crate) mod catch_up;
pub(crate) mod copies;
pub(crate) mod cursor;
pub(crate) mod document;
pub(crate) mod earlier;
pub(crate) mod git_hook;
pub(crate) mod homes;
pub(crate) mod import;
pub(crate) mod ingest;
pub(crate) mod install;
pub(crate) mod lines;
pub(crate) mod look;
pub(crate) mod metadata;
pub(crate) mod nudge;
pub(crate) mod policy;
pub(crate) mod reading;
pub(crate) mod segment;
pub(crate) mod source;
pub(crate) mod stream;
pub(crate) mod subagents;
pub(crate) mod survey;
pub(crate) mod transcript;
pub(crate) mod watch;
