//! Rewrites a transcript for another place: session and directory change, everything else stays as it is.
//!
//! It never looks for a free session id and never writes a file: both are the engine's.

pub(super) mod close;
mod slug;

use stemmata_model::{Note, NoteCode};

use super::message::Message;
use super::record::Record;
use crate::adapter::{ClientPlace, PlaceRequest, Placer};
use crate::json::{is_blank, quote, text};
use crate::placing::{CLOSED, TORN, counted, moved, replace};
use close::{Call, Closer, Facts};

/// Says where Claude Code looks for a session, and how to start it.
pub(super) fn client_place(request: &PlaceRequest) -> ClientPlace {
    let session = request.session.as_str();
    ClientPlace {
        relative_path: vec!["projects".to_owned(), slug::of(&request.cwd), format!("{session}.jsonl")],
        resume_command: ["claude", "--resume", session].map(str::to_owned).to_vec(),
        import_command: None,
    }
}

/// Rewrites a transcript line by line.
///
/// It holds back a compaction's boundary until the summary is there: a boundary without one would hide the
/// whole conversation before it.
pub(super) struct LinePlacer {
    session: String,
    cwd: String,
    origin_cwd: Option<String>,
    closer: Closer,
    /// A boundary and what follows it, until its summary is there.
    held: Option<Held>,
    dropped_tails: u64,
    dropped_boundaries: u64,
}

/// What is held back.
#[derive(Debug, Default)]
struct Held {
    /// All of it.
    all: Vec<u8>,
    /// Those lines of it that are outside the tree: they stay when the rest goes.
    outside: Vec<u8>,
}

impl LinePlacer {
    /// Starts with nothing written.
    pub(super) fn new(request: &PlaceRequest) -> Self {
        Self {
            session: quote(request.session.as_str()),
            cwd: request.cwd.clone(),
            origin_cwd: request.origin_cwd.clone(),
            closer: Closer::new(request),
            held: None,
            dropped_tails: 0,
            dropped_boundaries: 0,
        }
    }

    /// Appends a line with its structural fields replaced.
    fn rewrite(&self, line: &[u8], record: &Record<'_>, out: &mut Vec<u8>) {
        let mut edits = Vec::new();
        let sessions = [record.session_id, record.session_id_snake].into_iter().flatten();
        edits.extend(
            sessions.filter(|field| field.text().is_some()).map(|field| (field.span(), self.session.clone())),
        );
        for field in [record.cwd, record.relocated_cwd].into_iter().flatten() {
            let moved = field.text().and_then(|old| moved(&old, self.origin_cwd.as_deref(), &self.cwd));
            edits.extend(moved.map(|moved| (field.span(), quote(&moved))));
        }
        replace(line, edits, out);
    }

    /// Writes to what is held back, else to the output.
    fn emit(&mut self, bytes: &[u8], is_node: bool, out: &mut Vec<u8>) {
        match &mut self.held {
            Some(held) => {
                held.all.extend_from_slice(bytes);
                held.outside.extend_from_slice(if is_node { b"" } else { bytes });
            }
            None => out.extend_from_slice(bytes),
        }
    }

    fn release(&mut self, out: &mut Vec<u8>) {
        if let Some(held) = self.held.take() {
            out.extend_from_slice(&held.all);
        }
    }

    fn record(&mut self, line: &[u8], record: &Record<'_>, out: &mut Vec<u8>) {
        let facts = Facts::of(record);
        let is_boundary = record.is_compact_boundary() && facts.is_node;
        if facts.is_message || is_boundary {
            self.release(out);
        }
        self.closer.before(&facts, out);
        if is_boundary {
            self.held = Some(Held::default());
        }
        let mut written = Vec::with_capacity(line.len() + 1);
        self.rewrite(line, record, &mut written);
        if !line.ends_with(b"\n") {
            written.push(b'\n');
        }
        self.emit(&written, facts.is_node, out);
        // What is held back may go, and then nothing can hang on it.
        if facts.is_node && !facts.is_progress && self.held.is_none() {
            self.closer.after(facts);
        }
    }
}

impl Placer for LinePlacer {
    fn line(&mut self, line: &[u8], out: &mut Vec<u8>) {
        match Record::parse(line) {
            Ok(record) => self.record(line, &record, out),
            Err(_) if line.ends_with(b"\n") => self.emit(line, false, out),
            Err(_) if is_blank(line) => {}
            Err(_) => self.dropped_tails += 1,
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Vec<Note> {
        if let Some(held) = self.held.take() {
            self.dropped_boundaries += 1;
            out.extend_from_slice(&held.outside);
        }
        self.closer.finish(out);
        counted([
            (self.dropped_tails, NoteCode::TornTail, TORN),
            (
                self.dropped_boundaries,
                NoteCode::Degraded,
                "start of a compaction without its summary was left out",
            ),
            (self.closer.closed, NoteCode::SyntheticResult, CLOSED),
            (self.closer.late, NoteCode::Conflict, "results came after their call had got a marked one"),
        ])
    }
}

/// Returns the calls of an assistant's record.
pub(super) fn calls_of(record: &Record<'_>, message: &Message<'_>) -> Vec<Call> {
    let blocks = record.blocks();
    let calls = blocks.iter().filter(|block| block.is_type("tool_use")).filter_map(|block| text(block.id));
    let message = text(message.id).map(std::borrow::Cow::into_owned);
    calls.map(|call| Call::of(&call, message.clone(), record)).collect()
}

#[cfg(test)]
mod tests;
