//! Claude Code transcripts, versions 1.0 to 2.1: `claude-code-v1`.
//!
//! Not its stream of events on standard output, which is another format.

mod compaction;
mod context;
mod count;
mod decode;
mod encode;
mod facts;
mod json;
mod kind;
mod loader;
pub mod message;
mod path;
mod place;
pub mod record;
mod row;
#[cfg(test)]
pub(crate) mod samples;
mod split;
mod tree;
mod validate;
