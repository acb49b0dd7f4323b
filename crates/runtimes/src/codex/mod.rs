//! Codex rollouts: `codex-v1` with numbered lines, `codex-legacy-v1` without, down to those of 2025 that have no
//! envelope.
//!
//! The events of `codex exec --json` are another format, `codex-exec-v1` (`exec`). A rollout that continues another one by byte
//! offset says so in its header (`base`); putting the two together is the engine's.

mod answers;
mod base;
#[cfg(test)]
mod chain_tests;
mod client;
mod detect;
mod encode;
mod exec;
#[cfg(test)]
mod exec_tests;
mod header;
mod loader;
#[cfg(test)]
mod loader_tests;
mod place;
mod read;
mod record;
mod repair;
#[cfg(test)]
pub(crate) mod samples_tests;
mod upgrade;
mod usage;
mod validate;

use stemmata_model::{Entry, FormatId, Timestamp};

use crate::adapter::{Adapter, ClientPlace, Detection, Keeps, PlaceRequest, Placer, Validator};
use crate::lines::Dialect;
use crate::lines::facts::Templates;
use crate::reading::Reading;
use crate::repair::{Document, is_uuid_shaped};

pub use client::CLIENT;
pub use encode::ENCODED_VERSION;
pub use exec::{EXEC, FORMAT_EXEC};
pub(crate) use read::is_sealed;
pub(crate) use usage::usage;

/// The name of this runtime.
pub const RUNTIME: &str = "codex";

/// The format of rollouts whose lines are numbered.
pub const FORMAT: &str = "codex-v1";

/// The format of rollouts whose lines are not.
pub const FORMAT_LEGACY: &str = "codex-legacy-v1";

static DIALECT: Dialect = Dialect {
    runtime: RUNTIME,
    templates: Templates { main: "codex/main", subagent: "codex/subagent" },
    read: read::read,
    rescue: loader::apart,
};

/// The adapter of rollouts; one for each of the two formats, which differ in their headers and numbers only.
#[derive(Debug, Clone, Copy)]
pub struct Codex {
    is_paginated: bool,
}

impl Codex {
    /// The adapter of `codex-v1`.
    pub const PAGINATED: Self = Self { is_paginated: true };

    /// The adapter of `codex-legacy-v1`.
    pub const LEGACY: Self = Self { is_paginated: false };
}

impl Adapter for Codex {
    fn format(&self) -> FormatId {
        let name = if self.is_paginated { FORMAT } else { FORMAT_LEGACY };
        FormatId::new(name).expect("both names are short and plain")
    }

    fn reading(&self) -> Reading {
        Reading::lines(&DIALECT)
    }

    fn detect(&self, head: &[u8]) -> Option<Detection> {
        detect::detect(head, self.is_paginated, self.format())
    }

    fn unknown_version(&self, head: &[u8]) -> Option<String> {
        detect::unknown_version(head)
    }

    fn session_of_name<'n>(&self, stem: &'n str) -> Option<&'n str> {
        // `rollout-<time>-<thread>`, and `.jsonl` is still there where the file is compressed.
        let stem = stem.strip_suffix(".jsonl").unwrap_or(stem);
        let start = stem.len().checked_sub(36)?;
        stem.get(start..).filter(|id| is_uuid_shaped(id))
    }

    fn encode(&self, entries: &[Entry]) -> Vec<u8> {
        encode::encode(entries, self.is_paginated)
    }

    fn upgrade(&self, from: &FormatId, bytes: &[u8]) -> Option<Vec<u8>> {
        let is_ours = matches!(from.as_str(), FORMAT | FORMAT_LEGACY);
        is_ours.then(|| upgrade::upgrade(bytes, self.is_paginated))
    }

    fn encode_compaction(&self, summary: &str, _keeps: &Keeps<'_>, at: Timestamp) -> Vec<u8> {
        encode::compaction(summary, at)
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
