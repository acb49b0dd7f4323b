//! Sessions of opencode: `opencode-v1`, what its `export` writes and its `import` takes.
//!
//! The client keeps them in a database; who reads that yields the same document.

mod client;
mod context;
#[cfg(test)]
mod context_tests;
mod encode;
mod flat;
#[cfg(test)]
mod flat_tests;
mod ids;
mod needs;
mod place;
#[cfg(test)]
mod place_tests;
mod read;
mod record;
mod repair;
#[cfg(test)]
pub(crate) mod samples_tests;
mod validate;

pub use client::{CLIENT, DATABASE};
pub(crate) use context::as_told;
use stemmata_model::{Entry, FormatId, SessionId, Timestamp};

use crate::adapter::{Adapter, ClientPlace, Confidence, Detection, PlaceRequest, Placer, Validator};
use crate::document::{Dialect, head, whole};
use crate::lines::facts::Templates;
use crate::reading::Reading;
use crate::repair::Document;

/// The name of this runtime.
pub const RUNTIME: &str = "opencode";

/// The format of its exports.
pub const FORMAT: &str = "opencode-v1";

static DIALECT: Dialect = Dialect {
    runtime: RUNTIME,
    templates: Templates { main: "opencode/main", subagent: "opencode/subagent" },
    read: read::read,
    list: read::list,
    compactions: context::compactions,
};

/// The adapter of opencode's exports.
#[derive(Debug, Clone, Copy)]
pub struct Opencode;

impl Adapter for Opencode {
    fn format(&self) -> FormatId {
        FormatId::new(FORMAT).expect("the name is short and plain")
    }

    fn reading(&self) -> Reading {
        Reading::document(&DIALECT)
    }

    fn detect(&self, head: &[u8]) -> Option<Detection> {
        if !head.trim_ascii_start().starts_with(b"{") {
            return None;
        }
        let json = head::closed(head)?;
        let session = record::Session::read(whole(&json).ok()?).ok()?;
        let about = record::info(session.info);
        let is_session = crate::json::owned(about.id)?.starts_with("ses_");
        let is_whole = session.messages.is_none_or(|messages| messages.raw().starts_with('['));
        let version = crate::json::owned(about.version);
        (is_session && is_whole).then(|| Detection {
            format: self.format(),
            version,
            confidence: Confidence::Certain,
        })
    }

    fn session_of_name<'n>(&self, stem: &'n str) -> Option<&'n str> {
        let is_name = |rest: &str| rest.len() == 26 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric());
        stem.strip_prefix("ses_").is_some_and(is_name).then_some(stem)
    }

    fn new_session(&self, drawn: &SessionId, at: Timestamp) -> SessionId {
        SessionId::new(ids::session(drawn.as_str(), at)).expect("letters and digits are a name")
    }

    fn encode(&self, entries: &[Entry]) -> Vec<u8> {
        encode::encode(entries).into_bytes()
    }

    fn placer(&self, request: &PlaceRequest) -> Box<dyn Placer> {
        Box::new(place::DocumentPlacer::new(request))
    }

    fn client_place(&self, request: &PlaceRequest) -> ClientPlace {
        place::client_place(request)
    }

    fn mend(&self, document: &mut Document, _client_version: Option<&str>) {
        repair::mend(document);
    }

    fn validator(&self, _client_version: Option<&str>) -> Box<dyn Validator> {
        Box::new(validate::DocumentValidator::default())
    }
}
