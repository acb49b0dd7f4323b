//! Documents of agents that are only read; each is in the folder of its client. Normative: `docs/format/imported.md`.
//!
//! Nothing is placed for them; a session goes on in a client that is named.

#[cfg(test)]
mod samples_tests;

use stemmata_model::{Entry, FormatId};

use crate::adapter::{
    Adapter, ClientPlace, Confidence, Detection, Finding, PlaceRequest, Validation, Validator,
};
use crate::document::Dialect;
use crate::placing::unplaced;
use crate::reading::{Counting, Reading};

/// The adapter of a document that is only read.
#[derive(Debug, Clone, Copy)]
pub struct Imported {
    pub(crate) name: &'static str,
    pub(crate) dialect: &'static Dialect,
    /// Whether brackets that are open have to be closed where it is cut.
    pub(crate) is_json: bool,
    pub(crate) claims: fn(&[u8]) -> Option<Confidence>,
    /// Says what its own program would not read of it.
    pub(crate) check: fn(&[u8]) -> Option<Finding>,
    pub(crate) encode: fn(&[Entry]) -> String,
}

impl Adapter for Imported {
    fn format(&self) -> FormatId {
        FormatId::new(self.name).expect("the names are short and plain")
    }

    fn closing(&self, bytes: &[u8], keep: usize) -> Vec<u8> {
        if self.is_json { self.reading().closing(bytes, keep) } else { Vec::new() }
    }

    fn reading(&self) -> Reading {
        Reading::document(self.dialect)
    }

    fn detect(&self, head: &[u8]) -> Option<Detection> {
        let confidence = (self.claims)(head)?;
        Some(Detection { format: self.format(), version: None, confidence })
    }

    fn encode(&self, entries: &[Entry]) -> Vec<u8> {
        (self.encode)(entries).into_bytes()
    }

    fn is_placeable(&self) -> bool {
        false
    }

    fn client_place(&self, request: &PlaceRequest) -> ClientPlace {
        unplaced(request, "")
    }

    fn validator(&self, _client_version: Option<&str>) -> Box<dyn Validator> {
        Box::new(Checking { check: self.check, finding: None, counting: Counting::new(self.reading()) })
    }
}

/// Says nothing of a document.
pub(crate) fn unchecked(_document: &[u8]) -> Option<Finding> {
    None
}

/// Counts the messages of a document, and says what its own program would not read.
struct Checking {
    check: fn(&[u8]) -> Option<Finding>,
    finding: Option<Finding>,
    counting: Counting,
}

impl Validator for Checking {
    fn line(&mut self, document: &[u8]) {
        self.finding = (self.check)(document);
        self.counting.line(document);
    }

    fn finish(&mut self) -> Validation {
        let findings = self.finding.take().into_iter().collect();
        Validation { findings, ..self.counting.finish() }
    }
}
