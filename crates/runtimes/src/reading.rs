//! How formats are read: as lines that each stand for themselves, as one document, or in a way of their own.
//!
//! What only one format does otherwise, its adapter says itself.

use stemmata_model::{Entry, Granularity, NoteCode, Role};

use crate::adapter::{
    CompactionPlan, ContextPlan, Decoded, DocumentCompaction, IdKind, Piece, PlanStop, Segments, Severity,
    SourceError, Splitter, Validation, Validator, segment_number,
};
use crate::findings::Findings;
use crate::shape::Shape;
use crate::{document, lines};

/// How a format is read.
#[derive(Debug, Clone, Copy)]
pub struct Reading(Way);

#[derive(Debug, Clone, Copy)]
enum Way {
    Lines(&'static lines::Dialect),
    Document(&'static document::Dialect),
    Own(&'static OwnReading),
}

type Ids = fn(&[u8], &mut dyn FnMut(IdKind, &str));
type Plan<T> = Result<T, SourceError>;

/// How a format of lines is read that shares nothing with the others; see the methods of the adapter.
#[derive(Debug)]
pub(crate) struct OwnReading {
    pub(crate) splitter: fn(Granularity, Option<&[u8]>) -> Box<dyn Splitter>,
    pub(crate) decode: fn(&[u8]) -> Decoded,
    pub(crate) ids: Ids,
    pub(crate) plan_compaction: fn(&[u8], &mut dyn Segments) -> Plan<CompactionPlan>,
    pub(crate) plan_context: fn(&mut dyn Segments, PlanStop) -> Plan<ContextPlan>,
}

impl Reading {
    /// Each line stands for itself.
    pub(crate) const fn lines(dialect: &'static lines::Dialect) -> Self {
        Self(Way::Lines(dialect))
    }

    /// A transcript is one document.
    pub(crate) const fn document(dialect: &'static document::Dialect) -> Self {
        Self(Way::Document(dialect))
    }

    /// The format has a way of its own.
    pub(crate) const fn own(own: &'static OwnReading) -> Self {
        Self(Way::Own(own))
    }

    pub(crate) const fn shape(self) -> Shape {
        match self.0 {
            Way::Lines(_) | Way::Own(_) => Shape::Lines,
            Way::Document(_) => Shape::Document,
        }
    }

    pub(crate) fn join(self, contents: &[&[u8]]) -> Option<Vec<u8>> {
        match self.0 {
            Way::Lines(_) | Way::Own(_) => Some(contents.concat()),
            Way::Document(dialect) => document::join::join(dialect, contents),
        }
    }

    pub(crate) fn closing(self, bytes: &[u8], keep: usize) -> Vec<u8> {
        match self.0 {
            Way::Lines(_) | Way::Own(_) => Vec::new(),
            Way::Document(_) => document::head::closing(bytes, keep),
        }
    }

    pub(crate) fn splitter(self, granularity: Granularity, state: Option<&[u8]>) -> Box<dyn Splitter> {
        match self.0 {
            Way::Lines(dialect) => Box::new(lines::split::LineSplitter::new(dialect, granularity, state)),
            Way::Document(dialect) => Box::new(document::split::DocumentSplitter::new(dialect)),
            Way::Own(own) => (own.splitter)(granularity, state),
        }
    }

    pub(crate) fn decode(self, bytes: &[u8]) -> Decoded {
        match self.0 {
            Way::Lines(dialect) => lines::decode::decode(dialect, bytes),
            Way::Document(dialect) => document::decode::decode(dialect, bytes),
            Way::Own(own) => (own.decode)(bytes),
        }
    }

    pub(crate) fn ids(self, unit: &[u8], found: &mut dyn FnMut(IdKind, &str)) {
        match self.0 {
            Way::Lines(dialect) => lines::decode::ids(dialect, unit, found),
            Way::Document(dialect) => document::decode::ids(dialect, unit, found),
            Way::Own(own) => (own.ids)(unit, found),
        }
    }

    pub(crate) fn plan_compaction(self, native: &[u8], earlier: &mut dyn Segments) -> Plan<CompactionPlan> {
        match self.0 {
            Way::Lines(dialect) => lines::linear::plan_compaction(dialect, native, earlier),
            Way::Document(_) => {
                let length = u64::try_from(native.len()).unwrap_or(u64::MAX);
                let segment = segment_number(0, false);
                let whole = Piece { segment, offset: 0, length, edits: Vec::new() };
                Ok(CompactionPlan { pieces: vec![whole], notes: Vec::new() })
            }
            Way::Own(own) => (own.plan_compaction)(native, earlier),
        }
    }

    pub(crate) fn compactions(self, document: &[u8]) -> Vec<DocumentCompaction> {
        match self.0 {
            Way::Lines(_) | Way::Own(_) => Vec::new(),
            Way::Document(dialect) => document::compactions::compactions(dialect, document),
        }
    }

    pub(crate) fn plan_context(self, chain: &mut dyn Segments, stop: PlanStop) -> Plan<ContextPlan> {
        match self.0 {
            Way::Lines(dialect) => lines::linear::plan_context(dialect, chain, stop),
            Way::Document(dialect) => document::join::plan_context(dialect, chain, stop),
            Way::Own(own) => (own.plan_context)(chain, stop),
        }
    }
}

/// Counts the messages of a transcript that no client loads: there is no loader to stumble. What is not read is named all the same.
pub(crate) struct Counting {
    reading: Reading,
    messages: u64,
    units: u64,
    findings: Findings,
}

impl Counting {
    /// Starts with none.
    pub(crate) fn new(reading: Reading) -> Self {
        Self { reading, messages: 0, units: 0, findings: Findings::default() }
    }
}

impl Validator for Counting {
    fn line(&mut self, unit: &[u8]) {
        let decoded = self.reading.decode(unit);
        let is_message = |entry: &&Entry| entry.meta.visibility.agent && entry.role != Role::System;
        self.messages += decoded.entries.iter().filter(is_message).map(|_| 1).sum::<u64>();
        self.units += 1;
        let line = Some(self.units).filter(|_| matches!(self.reading.0, Way::Lines(_)));
        for note in decoded.notes {
            let (severity, check) = if note.code == NoteCode::UnparsableLine {
                (Severity::Warning, "unreadable_line")
            } else if note.code == NoteCode::UnknownRecord {
                (Severity::Info, "unknown_type")
            } else {
                continue;
            };
            self.findings.add(severity, check, line, note.message);
        }
    }

    fn finish(&mut self) -> Validation {
        let findings = self.findings.take();
        Validation { findings, messages_sent: self.messages, messages_present: self.messages }
    }
}
