//! Gemini CLI sessions: `gemini-v1`, the append log of JSON lines that it writes since 2026.
//!
//! Each line is decoded by itself; that a message is written again with more fields, that a checkpoint replaces what
//! stands before it, or that the conversation goes back, is for the context to follow (`context`). The older files
//! of one JSON object are another format, `gemini-legacy-v1` (`legacy`).

#[cfg(test)]
mod chain_tests;
mod client;
mod context;
mod detect;
mod encode;
pub(crate) mod legacy;
mod part;
mod place;
mod read;
mod record;
mod repair;
mod restated;
#[cfg(test)]
pub(crate) mod samples_tests;
mod told;
mod validate;

pub(crate) use restated::as_loaded;

use stemmata_model::{Entry, FormatId, Timestamp};

use crate::adapter::{
    Adapter, ClientPlace, ContextPlan, Decoded, Detection, Keeps, PlaceRequest, Placer, PlanStop, Segments,
    SourceError, Validator,
};
use crate::document::head;
use crate::lines::Dialect;
use crate::lines::facts::Templates;
use crate::reading::Reading;
use crate::repair::Document;

pub use client::CLIENT;
pub use legacy::GeminiLegacy;

/// The name of this runtime.
pub const RUNTIME: &str = "gemini";

/// The format of its append logs.
pub const FORMAT: &str = "gemini-v1";

static DIALECT: Dialect = Dialect {
    runtime: RUNTIME,
    templates: Templates { main: "gemini/main", subagent: "gemini/subagent" },
    read: read::read,
    rescue: record::apart,
};

/// The adapter of Gemini CLI's append logs.
#[derive(Debug, Clone, Copy)]
pub struct Gemini;

impl Adapter for Gemini {
    fn format(&self) -> FormatId {
        FormatId::new(FORMAT).expect("the name is short and plain")
    }

    fn reading(&self) -> Reading {
        Reading::lines(&DIALECT)
    }

    fn detect(&self, head: &[u8]) -> Option<Detection> {
        detect::detect(head, self.format())
    }

    fn unknown_version(&self, head: &[u8]) -> Option<String> {
        detect::unknown_version(head)
    }

    // A main session's file has the first eight characters of its id in its name, which name no session.
    fn short_name<'n>(&self, session: &'n str) -> Option<&'n str> {
        Some(place::name_of(session))
    }

    fn closing(&self, bytes: &[u8], keep: usize) -> Vec<u8> {
        // A commit that is cut between the messages of one line.
        let kept = bytes.get(..keep).unwrap_or(bytes);
        let start = memchr::memrchr(b'\n', kept).map_or(0, |newline| newline + 1);
        let line = kept.get(start..).unwrap_or_default();
        let closing = head::closing(line, line.len());
        if closing.is_empty() { closing } else { [closing.as_slice(), b"\n"].concat() }
    }

    fn said_alone(&self, entries: Vec<Entry>, bytes: &[u8], is_first: bool) -> Vec<Entry> {
        restated::said_alone(entries, bytes, is_first)
    }

    fn told(&self, bytes: &[u8]) -> Decoded {
        let decoded = self.decode(bytes);
        Decoded { entries: told::with_results(decoded.entries, bytes), ..decoded }
    }

    fn encode(&self, entries: &[Entry]) -> Vec<u8> {
        encode::encode(entries)
    }

    fn encode_compaction(&self, summary: &str, _keeps: &Keeps<'_>, at: Timestamp) -> Vec<u8> {
        encode::compaction(summary, at)
    }

    fn plan_context(&self, chain: &mut dyn Segments, stop: PlanStop) -> Result<ContextPlan, SourceError> {
        context::plan_context(&DIALECT, chain, stop)
    }

    fn placer(&self, request: &PlaceRequest) -> Box<dyn Placer> {
        Box::new(place::LinePlacer::new(request))
    }

    fn client_place(&self, request: &PlaceRequest) -> ClientPlace {
        place::client_place(request)
    }

    fn mend(&self, document: &mut Document, _client_version: Option<&str>) {
        repair::mend(document);
    }

    fn validator(&self, _client_version: Option<&str>) -> Box<dyn Validator> {
        Box::new(validate::LineValidator::default())
    }
}
