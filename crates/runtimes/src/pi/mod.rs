//! pi sessions: `pi-v3`, and the `pi-v2` and `pi-v1` that its client turns into it when it loads them; `pi-v4` of programs on
//! pi's library, which pi itself does not load.
//!
//! A session is a tree in one file: each entry names its parent, the last one is where the conversation stands. The
//! first version has no ids: there each entry follows the one before. The fourth says in lines of their own where the conversation
//! stands, and has others (*lanes*) beside it.

#[cfg(test)]
mod chain_tests;
mod client;
mod context;
mod detect;
mod encode;
mod fourth;
#[cfg(test)]
mod fourth_tests;
mod order;
mod place;
mod read;
mod record;
mod repair;
#[cfg(test)]
pub(crate) mod samples_tests;
mod trail;
mod tree;
mod upgrade;
mod validate;
mod ways;

use stemmata_model::{Entry, FormatId, Timestamp};

use crate::adapter::{
    Adapter, ClientPlace, CompactionPlan, ContextPlan, Detection, Keeping, Keeps, PlaceRequest, Placer,
    PlanStop, Segments, SourceError, Validator,
};
use crate::lines::Dialect;
use crate::lines::facts::Templates;
use crate::reading::Reading;
use crate::repair::{Document, is_uuid_shaped};

pub use client::CLIENT;
pub(crate) use order::as_loaded;

/// The name of this runtime.
pub const RUNTIME: &str = "pi";

static DIALECT: Dialect = Dialect {
    runtime: RUNTIME,
    templates: Templates { main: "pi/main", subagent: "pi/subagent" },
    read: read::read,
    rescue: record::apart,
};

/// The adapter of pi sessions; one for each version of the format.
#[derive(Debug, Clone, Copy)]
pub struct Pi {
    version: u8,
}

impl Pi {
    /// The adapter of `pi-v1`: entries without ids.
    pub const V1: Self = Self { version: 1 };

    /// The adapter of `pi-v2`.
    pub const V2: Self = Self { version: 2 };

    /// The adapter of `pi-v3`, which is also what all four write.
    pub const V3: Self = Self { version: 3 };

    /// The adapter of `pi-v4`: lines that are numbered.
    pub const V4: Self = Self { version: 4 };
}

impl Adapter for Pi {
    fn format(&self) -> FormatId {
        FormatId::new(format!("{RUNTIME}-v{}", self.version)).expect("all names are short and plain")
    }

    fn reading(&self) -> Reading {
        Reading::lines(&DIALECT)
    }

    fn detect(&self, head: &[u8]) -> Option<Detection> {
        detect::detect(head, self.version, self.format())
    }

    fn unknown_version(&self, head: &[u8]) -> Option<String> {
        detect::unknown_version(head)
    }

    fn session_of_name<'n>(&self, stem: &'n str) -> Option<&'n str> {
        // `<time>_<session>`.
        let (_, id) = stem.rsplit_once('_')?;
        is_uuid_shaped(id).then_some(id)
    }

    fn encode(&self, entries: &[Entry]) -> Vec<u8> {
        encode::encode(entries)
    }

    fn upgrade(&self, from: &FormatId, bytes: &[u8]) -> Option<Vec<u8>> {
        match from.as_str() {
            _ if self.version != 3 => None,
            "pi-v1" => Some(upgrade::upgrade(bytes, true)),
            "pi-v2" => Some(upgrade::upgrade(bytes, false)),
            "pi-v4" => Some(fourth::as_third(bytes)),
            _ => None,
        }
    }

    fn plan_compaction(
        &self,
        native: &[u8],
        earlier: &mut dyn Segments,
    ) -> Result<CompactionPlan, SourceError> {
        context::plan_compaction(native, earlier, self.version == 1)
    }

    fn keeping(&self, _context: &[u8]) -> Keeping {
        // The first version names what is kept by its number in a file, which a chain does not have.
        if self.version == 1 { Keeping::Nothing } else { Keeping::Recent }
    }

    fn encode_compaction(&self, summary: &str, keeps: &Keeps<'_>, at: Timestamp) -> Vec<u8> {
        let line = encode::compaction(summary, keeps, at, self.version == 1);
        if self.version == 4 { fourth::entry(&line) } else { line }
    }

    fn is_placeable(&self) -> bool {
        self.version != 4
    }

    fn plan_context(&self, chain: &mut dyn Segments, stop: PlanStop) -> Result<ContextPlan, SourceError> {
        context::plan_context(chain, stop, self.version == 1)
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
