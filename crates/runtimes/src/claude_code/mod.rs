//! Claude Code transcripts, versions 1.0 to 2.1: `claude-code-v1`.
//!
//! Not its stream of events on standard output, which is another format.

mod count;
mod decode;
mod facts;
mod kind;
pub mod message;
pub mod record;
#[cfg(test)]
pub(crate) mod samples;
mod split;
