//! Documents of other agents that are only read: trajectories of SWE-agent, older events of
//! `OpenHands` and chat histories of aider. Normative:
//! `docs/format/imported.md`.
//!
//! Nothing is placed for them; a session goes on in a client that is named.

mod aider;
mod openhands;
#[cfg(test)]
mod samples_tests;
mod swe_agent;

use stemmata_model::{Entry, FormatId, Granularity, Note};

use crate::adapter::{
    Adapter, ClientPlace, Confidence, ContextPlan, Decoded, Detection, IdKind, PlaceRequest, Placer,
    PlanStop, Segments, Shape, SourceError, Splitter, Validation, Validator,
};
use crate::document::{Dialect, decode, head, join, split};
use crate::placing::{Verbatim, unplaced};

/// The adapter of a document that is only read.
#[derive(Clone, Copy)]
pub struct Imported {
    name: &'static str,
    dialect: &'static Dialect,
    /// Whether brackets that are open have to be closed where it is cut.
    is_json: bool,
    claims: fn(&[u8]) -> Option<Confidence>,
    encode: fn(&[Entry]) -> String,
}

impl std::fmt::Debug for Imported {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Imported").field(&self.name).finish()
    }
}

impl Imported {
    /// The adapter of `swe-agent-v1`.
    pub const SWE_AGENT: Self = Self {
        name: "swe-agent-v1",
        dialect: &swe_agent::DIALECT,
        is_json: true,
        claims: swe_agent::claims,
        encode: swe_agent::encode,
    };

    /// The adapter of `openhands-legacy-v1`.
    pub const OPENHANDS: Self = Self {
        name: "openhands-legacy-v1",
        dialect: &openhands::DIALECT,
        is_json: true,
        claims: openhands::claims,
        encode: openhands::encode,
    };

    /// The adapter of `aider-v1`.
    pub const AIDER: Self = Self {
        name: "aider-v1",
        dialect: &aider::DIALECT,
        is_json: false,
        claims: aider::claims,
        encode: aider::encode,
    };
}

impl Adapter for Imported {
    fn format(&self) -> FormatId {
        FormatId::new(self.name).expect("the names are short and plain")
    }

    fn shape(&self) -> Shape {
        Shape::Document
    }

    fn join(&self, contents: &[&[u8]]) -> Option<Vec<u8>> {
        join::join(self.dialect, contents)
    }

    fn closing(&self, bytes: &[u8], keep: usize) -> Vec<u8> {
        if self.is_json { head::closing(bytes, keep) } else { Vec::new() }
    }

    fn detect(&self, head: &[u8]) -> Option<Detection> {
        let confidence = (self.claims)(head)?;
        Some(Detection { format: self.format(), version: None, confidence })
    }

    fn splitter(&self, _granularity: Granularity, _state: Option<&[u8]>) -> Box<dyn Splitter> {
        Box::new(split::DocumentSplitter::new(self.dialect))
    }

    fn decode(&self, bytes: &[u8]) -> Decoded {
        decode::decode(self.dialect, bytes)
    }

    fn ids(&self, document: &[u8], found: &mut dyn FnMut(IdKind, &str)) {
        decode::ids(self.dialect, document, found);
    }

    fn encode(&self, entries: &[Entry]) -> Vec<u8> {
        (self.encode)(entries).into_bytes()
    }

    fn plan_context(&self, chain: &mut dyn Segments, stop: PlanStop) -> Result<ContextPlan, SourceError> {
        join::plan_context(self.dialect, chain, stop)
    }

    fn is_placeable(&self) -> bool {
        false
    }

    fn placer(&self, _request: &PlaceRequest) -> Box<dyn Placer> {
        Box::new(Verbatim)
    }

    fn client_place(&self, request: &PlaceRequest) -> ClientPlace {
        unplaced(request.session.to_string())
    }

    fn validator(&self, _client_version: Option<&str>) -> Box<dyn Validator> {
        Box::new(Counting { dialect: self.dialect, messages: 0 })
    }
}

/// Counts messages; there is no loader to stumble.
struct Counting {
    dialect: &'static Dialect,
    messages: u64,
}

impl Validator for Counting {
    fn line(&mut self, document: &[u8]) {
        let mut notes: Vec<Note> = Vec::new();
        let cut = split::DocumentSplitter::new(self.dialect).line(document, &mut notes);
        self.messages += cut.after.map_or(0, |facts| facts.counts.messages);
    }

    fn finish(&mut self) -> Validation {
        Validation { findings: Vec::new(), messages_sent: self.messages, messages_present: self.messages }
    }
}
