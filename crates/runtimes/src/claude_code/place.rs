//! Rewrites a transcript for another place: session and directory change, everything else stays as it is.
//!
//! It never looks for a free session id and never writes a file: both are the engine's.

pub(super) mod close;
mod side;
mod slug;

use stemmata_model::{Note, NoteCode};

use super::apart::apart;
use super::client::RESUME;
use super::record::Record;
use super::validate::{LineValidator, Seen};
use super::whole::Whole;
use crate::adapter::{ClientPlace, PlaceRequest, Placer, Placing, Validation, Validator};
use crate::json::{REPLACED, is_blank, lone_surrogates, owned, quote, text};
use crate::placing::{CLOSED, TORN, counted, moved, replace};
use close::{Call, Closer, Facts};

/// Lines that wait at most until it is decided whether a conversation is a subagent's.
const UNDECIDED_MAX: usize = 1_024;

/// Says where Claude Code looks for a session, and how to start it.
pub(super) fn client_place(request: &PlaceRequest) -> ClientPlace {
    let session = request.session.as_str();
    ClientPlace {
        relative_path: vec!["projects".to_owned(), slug::of(&request.cwd), format!("{session}.jsonl")],
        resume_command: RESUME.words(&request.session),
        import_command: RESUME.import_words(),
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
    held: Option<Vec<HeldLine>>,
    /// What its client would make of it, where somebody asks.
    validator: Option<LineValidator>,
    dropped_tails: u64,
    dropped_boundaries: u64,
    mark: side::Mark,
    /// Lines that wait until it is decided whether the conversation is a subagent's.
    undecided: Vec<Vec<u8>>,
}

/// A line that is held back.
struct HeldLine {
    bytes: Vec<u8>,
    /// Whether it stands in the tree: one outside of it stays when the boundary goes.
    is_node: bool,
    seen: Option<Seen>,
}

impl LinePlacer {
    /// Starts with nothing written.
    pub(super) fn new(request: &PlaceRequest, validator: Option<LineValidator>) -> Self {
        Self {
            session: quote(request.session.as_str()),
            cwd: request.cwd.clone(),
            origin_cwd: request.origin_cwd.clone(),
            closer: Closer::new(request),
            held: None,
            validator,
            dropped_tails: 0,
            dropped_boundaries: 0,
            mark: side::Mark::Undecided(0),
            undecided: Vec::new(),
        }
    }

    /// Appends a line with its structural fields replaced: those that a [`Row`](super::row::Row) is not made of, so that
    /// the line need not be read again to be checked. Returns whether it also changed a text, which is no text as it was.
    fn rewrite(&self, line: &[u8], record: &Record<'_>, out: &mut Vec<u8>) -> bool {
        let mut edits = Vec::new();
        let sessions = [record.session_id, record.session_id_snake].into_iter().flatten();
        edits.extend(
            sessions.filter(|field| field.text().is_some()).map(|field| (field.span(), self.session.clone())),
        );
        for field in [record.cwd, record.relocated_cwd].into_iter().flatten() {
            let moved = field.text().and_then(|old| moved(&old, self.origin_cwd.as_deref(), &self.cwd));
            edits.extend(moved.map(|moved| (field.span(), quote(&moved))));
        }
        let structural = edits.len();
        if let Some(message) = record.message {
            let halves = lone_surrogates(message.raw()).into_iter();
            let start = message.span().start;
            edits.extend(halves.map(|at| (start + at.start..start + at.end, REPLACED.to_owned())));
        }
        let has_changed_text = edits.len() > structural;
        replace(line, edits, out);
        has_changed_text
    }

    /// Writes a line, or holds it back; one that is no record stays as it is.
    fn emit(&mut self, line: &[u8], whole: Option<&Whole<'_>>, is_node: bool, out: &mut Vec<u8>) {
        let start = out.len();
        let has_changed_text = if let Some(whole) = whole {
            self.rewrite(line, &whole.record, out)
        } else {
            out.extend_from_slice(line);
            false
        };
        if !line.ends_with(b"\n") {
            out.push(b'\n');
        }
        let written = out.get(start..).unwrap_or_default();
        // What was wrong with a text is right in what was written.
        let read_again = has_changed_text.then(|| Whole::parse(written.trim_ascii_end()).ok()).flatten();
        let whole = read_again.as_ref().or(whole);
        let seen = self.validator.as_mut().map(|validator| validator.see(written, whole));
        match &mut self.held {
            Some(held) => held.push(HeldLine { bytes: out.split_off(start), is_node, seen }),
            None => self.take(seen),
        }
    }

    fn take(&mut self, seen: Option<Seen>) {
        if let (Some(validator), Some(seen)) = (&mut self.validator, seen) {
            validator.take(seen);
        }
    }

    /// Writes what was held back.
    fn release(&mut self, out: &mut Vec<u8>, with_nodes: bool) {
        for held in self.held.take().into_iter().flatten().filter(|held| with_nodes || !held.is_node) {
            out.extend_from_slice(&held.bytes);
            self.take(held.seen);
        }
    }

    /// Has made-up lines checked, which nobody has read.
    fn check_made(&mut self, made: &[u8]) {
        if let Some(validator) = &mut self.validator {
            made.split_inclusive(|byte| *byte == b'\n').for_each(|line| validator.line(line));
        }
    }

    /// Writes each record of a line on a line of its own, in good UTF-8: only so its client reads all of them.
    fn parts(&mut self, line: &[u8], out: &mut Vec<u8>) {
        for part in apart(line, false) {
            let whole =
                part.record.as_ref().and_then(|text| Some((Whole::parse(text.as_bytes()).ok()?, text)));
            let is_torn = part.range.end == line.len() && !line.ends_with(b"\n");
            match whole {
                Some((whole, text)) => self.marked(text.as_bytes(), &whole, out),
                None if is_torn => self.dropped_tails += 1,
                // On a line of its own it may be a record to the client, though it was none behind another one.
                None if part.range.len() < line.len() => {
                    self.write(line.get(part.range).unwrap_or_default(), out);
                }
                None => self.emit(line, None, false, out),
            }
        }
    }

    /// Takes lines that waited.
    fn decided(&mut self, out: &mut Vec<u8>) {
        self.mark = self.mark.decided();
        for line in std::mem::take(&mut self.undecided) {
            self.write(&line, out);
        }
    }

    fn write(&mut self, line: &[u8], out: &mut Vec<u8>) {
        match Whole::parse(line) {
            Ok(whole) => self.marked(line, &whole, out),
            Err(_) if is_blank(line) && !line.ends_with(b"\n") => {}
            Err(_) if is_blank(line) => self.emit(line, None, false, out),
            Err(_) => self.parts(line, out),
        }
    }

    /// Takes a record as one of a session's own, also where it is a subagent's.
    fn marked(&mut self, line: &[u8], whole: &Whole<'_>, out: &mut Vec<u8>) {
        let text = std::str::from_utf8(line).ok().filter(|_| self.mark == side::Mark::Remove);
        let unmarked = text.map(|line| side::unmarked(line, &whole.record));
        match unmarked.as_deref().map(|line| (line, Whole::parse(line))) {
            Some((line, Ok(whole))) => self.record(line, &whole, out),
            _ => self.record(line, whole, out),
        }
    }

    fn record(&mut self, line: &[u8], whole: &Whole<'_>, out: &mut Vec<u8>) {
        let facts = Facts::of(whole);
        let is_boundary = whole.record.is_compact_boundary() && facts.is_node;
        if facts.is_message || is_boundary {
            self.release(out, true);
        }
        let start = out.len();
        self.closer.before(&facts, out);
        self.check_made(out.get(start..).unwrap_or_default());
        if is_boundary {
            self.held = Some(Vec::new());
        }
        self.emit(line, Some(whole), facts.is_node, out);
        // What is held back may go, and then nothing can hang on it.
        if facts.is_node && !facts.is_progress && self.held.is_none() {
            self.closer.after(facts);
        }
    }
}

impl Placer for LinePlacer {
    fn line(&mut self, line: &[u8], out: &mut Vec<u8>) {
        if !self.mark.is_undecided() {
            return self.write(line, out);
        }
        self.mark = self.mark.with_line(line);
        self.undecided.push(line.to_vec());
        if !self.mark.is_undecided() || self.undecided.len() == UNDECIDED_MAX {
            self.decided(out);
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Vec<Note> {
        self.decided(out);
        self.dropped_boundaries += u64::from(self.held.is_some());
        self.release(out, false);
        let start = out.len();
        self.closer.finish(out);
        self.check_made(out.get(start..).unwrap_or_default());
        counted([
            (self.dropped_tails, NoteCode::TornTail, TORN),
            (
                self.dropped_boundaries,
                NoteCode::Degraded,
                ("start", "of a compaction without its summary left out"),
            ),
            (self.closer.closed, NoteCode::SyntheticResult, CLOSED),
            (self.closer.late, NoteCode::Conflict, ("result", "after a call that had got a marked one")),
        ])
    }
}

impl Placing for LinePlacer {
    fn verdict(&mut self) -> Validation {
        self.validator.as_mut().map(Validator::finish).unwrap_or_default()
    }
}

/// Returns the calls of an assistant's record.
pub(super) fn calls_of(Whole { record, inside }: &Whole<'_>) -> Vec<Call> {
    let message = inside.message.and_then(|message| owned(message.id));
    let calls = inside.content.blocks().filter(|block| block.is_type("tool_use"));
    let ids = calls.filter_map(|block| text(block.id));
    ids.map(|call| Call::of(&call, message.clone(), record)).collect()
}

#[cfg(test)]
mod tests;
