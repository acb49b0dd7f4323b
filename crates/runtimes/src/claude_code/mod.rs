//! Claude Code transcripts, versions 1.0 to 2.1: `claude-code-v1`.
//!
//! Its events on standard output are another format, `claude-stream-v1` (`stream`).

pub(crate) mod anthropic;
mod apart;
#[cfg(test)]
pub(crate) mod chain_tests;
mod client;
mod compaction;
mod context;
pub(crate) mod count;
pub(crate) mod decode;
mod detect;
pub(crate) mod encode;
mod facts;
mod ids;
mod kept;
mod keys;
mod kind;
mod loader;
pub mod message;
mod order;
mod path;
mod place;
pub mod record;
mod repair;
mod row;
#[cfg(test)]
pub(crate) mod samples_tests;
mod spanning;
mod split;
#[cfg(test)]
pub(crate) mod story_tests;
mod stream;
mod tree;
mod validate;
mod whole;

use stemmata_model::{Entry, FormatId, Timestamp};

use crate::adapter::{
    Adapter, ClientPlace, Detection, Keeping, Keeps, PlaceRequest, Placer, Placing, Validator,
};
use crate::lines::split::LineSplitter;
use crate::reading::{OwnReading, Reading};
use crate::repair::{Document, is_uuid_shaped};

pub use client::CLIENT;
pub use decode::RUNTIME;
pub use encode::ENCODED_VERSION;
pub use facts::{TEMPLATE_MAIN, TEMPLATE_SUBAGENT};
pub use stream::{FORMAT_STREAM, STREAM};

/// The name of the format.
pub const FORMAT: &str = "claude-code-v1";

/// Its lines are large, and its tree needs more than one line tells: it shares the splitter and the decoder of formats of
/// lines, and reads records by itself.
static READING: OwnReading = OwnReading {
    splitter: |granularity, state| Box::new(LineSplitter::new(split::Turns, granularity, state)),
    decode: decode::decode,
    ids: ids::ids,
    plan_compaction: compaction::plan,
    plan_context: context::plan,
};

/// The adapter of Claude Code's transcripts, subagents' files included.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClaudeCode;

impl Adapter for ClaudeCode {
    fn format(&self) -> FormatId {
        FormatId::new(FORMAT).expect("the name is short and plain")
    }

    fn reading(&self) -> Reading {
        Reading::own(&READING)
    }

    fn detect(&self, head: &[u8]) -> Option<Detection> {
        detect::detect(head, self.format())
    }

    fn session_of_name<'n>(&self, stem: &'n str) -> Option<&'n str> {
        (is_uuid_shaped(stem) || stem.starts_with("agent-")).then_some(stem)
    }

    fn encode(&self, entries: &[Entry]) -> Vec<u8> {
        encode::encode(entries)
    }

    fn keeping(&self, context: &[u8]) -> Keeping {
        compaction::keeping(context)
    }

    fn encode_compaction(&self, summary: &str, keeps: &Keeps<'_>, at: Timestamp) -> Vec<u8> {
        compaction::encode(summary, keeps, at)
    }

    fn placer(&self, request: &PlaceRequest) -> Box<dyn Placer> {
        Box::new(place::LinePlacer::new(request, None))
    }

    fn placing(&self, request: &PlaceRequest) -> Box<dyn Placing> {
        let validator = validate::LineValidator::new(request.client_version.as_deref());
        Box::new(place::LinePlacer::new(request, Some(validator)))
    }

    fn client_place(&self, request: &PlaceRequest) -> ClientPlace {
        place::client_place(request)
    }

    fn mend(&self, document: &mut Document, client_version: Option<&str>) {
        repair::mend(document, client_version);
    }

    fn validator(&self, client_version: Option<&str>) -> Box<dyn Validator> {
        Box::new(validate::LineValidator::new(client_version))
    }
}
