//! Claude Code transcripts, versions 1.0 to 2.1: `claude-code-v1`.
//!
//! Not its stream of events on standard output, which is another format.

#[cfg(test)]
pub(crate) mod chain_tests;
mod compaction;
mod context;
pub(crate) mod count;
pub(crate) mod decode;
mod detect;
pub(crate) mod encode;
mod facts;
mod ids;
mod kind;
mod loader;
pub mod message;
mod path;
mod place;
pub mod record;
mod repair;
mod row;
#[cfg(test)]
pub(crate) mod samples_tests;
mod split;
#[cfg(test)]
pub(crate) mod story_tests;
mod tree;
mod validate;

use stemmata_model::{Entry, FormatId, Granularity, Timestamp};

use crate::adapter::{
    Adapter, ClientPlace, CompactionPlan, ContextPlan, Decoded, Detection, IdKind, PlaceRequest, Placer,
    PlanStop, Segments, SourceError, Splitter, Validator, is_uuid_shaped,
};
use crate::repair::Document;

pub use decode::{OPAQUE_UNREADABLE, RUNTIME};
pub use encode::{ENCODED_VERSION, UNPLACED_SESSION};
pub use facts::{TEMPLATE_MAIN, TEMPLATE_SUBAGENT, TITLE_CHARS_MAX};
pub(crate) use row::uuid_text;

/// The name of the format.
pub const FORMAT: &str = "claude-code-v1";

/// The adapter of Claude Code's transcripts, subagents' files included.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClaudeCode;

impl Adapter for ClaudeCode {
    fn format(&self) -> FormatId {
        FormatId::new(FORMAT).expect("the name is short and plain")
    }

    fn detect(&self, head: &[u8]) -> Option<Detection> {
        detect::detect(head, self.format())
    }

    fn session_of_name<'n>(&self, stem: &'n str) -> Option<&'n str> {
        (is_uuid_shaped(stem) || stem.starts_with("agent-")).then_some(stem)
    }

    fn splitter(&self, granularity: Granularity, state: Option<&[u8]>) -> Box<dyn Splitter> {
        Box::new(split::LineSplitter::new(granularity, state))
    }

    fn decode(&self, bytes: &[u8]) -> Decoded {
        decode::decode(bytes)
    }

    fn ids(&self, line: &[u8], found: &mut dyn FnMut(IdKind, &str)) {
        ids::ids(line, found);
    }

    fn encode(&self, entries: &[Entry]) -> Vec<u8> {
        encode::encode(entries)
    }

    fn plan_compaction(
        &self,
        native: &[u8],
        earlier: &mut dyn Segments,
    ) -> Result<CompactionPlan, SourceError> {
        compaction::plan(native, earlier)
    }

    fn encode_compaction(&self, summary: &str, last: &Decoded, at: Timestamp) -> Vec<u8> {
        compaction::encode(summary, last, at)
    }

    fn plan_context(&self, chain: &mut dyn Segments, stop: PlanStop) -> Result<ContextPlan, SourceError> {
        context::plan(chain, stop)
    }

    fn placer(&self, request: &PlaceRequest) -> Box<dyn Placer> {
        Box::new(place::LinePlacer::new(request))
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
