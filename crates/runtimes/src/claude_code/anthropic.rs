//! The messages of Anthropic's API, which are in Claude Code's records as they are: what reads and writes both.

pub(crate) use super::count::NESTING_MAX;
pub(crate) use super::decode::{RUNTIME, content_parts, usage};
pub(crate) use super::encode::block;
pub(crate) use super::message::{Block, Content, Message};
