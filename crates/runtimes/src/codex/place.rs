//! Rewrites a rollout for another place: session and directory change, everything else stays as it is.
//!
//! What the loader would refuse is mended on the way: lines without an envelope get one, a missing header is made up,
//! numbers go on where some are missing. It never writes a file: that is the engine's.

use std::collections::HashSet;

use stemmata_model::{Note, NoteCode};

use super::answers::{answer, answered_by, is_answer};
use super::client::RESUME;
use super::encode::header_payload;
use super::header;
use super::loader;
use super::record::{Kind, Record};
use crate::adapter::{ClientPlace, PlaceRequest, Placer};
use crate::json::{Field, Object, is_blank, is_string, owned, push_line, quote, text};
use crate::lines::iso;
use crate::placing::{CLOSED, CLOSED_TEXT, Edit, TORN, counted, moved, replace, unreadable};

/// Says where Codex looks for a session, and how to start it.
pub(super) fn client_place(request: &PlaceRequest) -> ClientPlace {
    let session = request.session.as_str();
    let at = request.at.to_string();
    let part = |range| at.get(range).unwrap_or("00").to_owned();
    let name = format!("rollout-{}-{session}.jsonl", part(0..19).replace(':', "-"));
    ClientPlace {
        relative_path: vec!["sessions".to_owned(), part(0..4), part(5..7), part(8..10), name],
        resume_command: RESUME.words(&request.session),
        import_command: RESUME.import_words(),
    }
}

/// Rewrites a rollout line by line.
pub(super) struct LinePlacer {
    request: PlaceRequest,
    /// The session that the rollout was; of a fork whose parent's lines stand ahead of it, both.
    origins: Vec<String>,
    has_header: bool,
    is_paginated: bool,
    /// The number of the next line, where lines are numbered.
    next_ordinal: u64,
    /// Calls without a result so far, and the type of their results.
    open: Vec<(String, &'static str)>,
    /// Results so far: one also counts ahead of its call.
    answered: HashSet<String>,
    last_time: String,
    dropped_tails: u64,
    renumbered: u64,
    wrapped: u64,
    rescued: u64,
}

impl LinePlacer {
    /// Starts with nothing written.
    pub(super) fn new(request: &PlaceRequest) -> Self {
        Self {
            request: request.clone(),
            origins: Vec::new(),
            has_header: false,
            is_paginated: false,
            next_ordinal: 0,
            open: Vec::new(),
            answered: HashSet::new(),
            last_time: iso(request.at),
            dropped_tails: 0,
            renumbered: 0,
            wrapped: 0,
            rescued: 0,
        }
    }

    /// Keeps a line that is no record for the eye; ahead of the header it would cost the session.
    fn garbage(&mut self, line: &[u8], out: &mut Vec<u8>) {
        if self.has_header || !line.ends_with(b"\n") {
            self.dropped_tails += unreadable(line, out);
        }
    }

    fn record(&mut self, line: &[u8], record: &Record<'_>, out: &mut Vec<u8>) {
        if let Some(time) = text(record.envelope.timestamp) {
            self.last_time = time.into_owned();
        }
        let is_second = self.has_header && record.kind == Kind::SessionMeta;
        if !self.has_header {
            self.has_header = true;
            if record.kind == Kind::SessionMeta {
                let mode = record.payload.history_mode;
                self.is_paginated = mode.is_some_and(|mode| is_string(mode, "paginated"));
            } else {
                self.make_header(out);
            }
        }
        if record.kind == Kind::SessionMeta
            && (self.origins.is_empty() || record.payload.history_base.is_some())
        {
            self.origins.extend(owned(record.payload.id));
        }
        // A paginated history begins for the loader with its last header: what stands ahead would be lost in silence.
        if is_second && self.is_paginated {
            return;
        }
        if record.has_envelope {
            self.enveloped(line, record, out);
        } else {
            self.bare(record, out);
        }
        self.track(record);
    }

    fn make_header(&mut self, out: &mut Vec<u8>) {
        let session = self.request.session.as_str();
        let payload = header_payload(session, &self.last_time, &self.request.cwd, false).finish();
        self.push("session_meta", &payload, out);
    }

    /// Appends a line of ours.
    fn push(&mut self, kind: &str, payload: &str, out: &mut Vec<u8>) {
        let object = Object::new().text("timestamp", &self.last_time);
        let object = if self.is_paginated {
            self.next_ordinal += 1;
            object.number("ordinal", self.next_ordinal - 1)
        } else {
            object
        };
        push_line(out, &object.text("type", kind).raw("payload", payload).finish());
    }

    fn enveloped(&mut self, line: &[u8], record: &Record<'_>, out: &mut Vec<u8>) {
        let mut edits: Vec<Edit> = Vec::new();
        let payload = &record.payload;
        let completed = if record.kind == Kind::SessionMeta { self.completed(record) } else { Vec::new() };
        for field in [payload.id, payload.session_id, payload.thread_id].into_iter().flatten() {
            // What is replaced already is not replaced twice.
            if completed.iter().any(|(span, _)| *span == field.span()) {
                continue;
            }
            let is_session = self.origins.iter().any(|origin| is_string(field, origin));
            edits.extend(is_session.then(|| (field.span(), quote(self.request.session.as_str()))));
        }
        if matches!(record.kind, Kind::SessionMeta | Kind::TurnContext) {
            edits.extend(self.moved(payload.cwd));
            edits.extend(completed);
        }
        if record.kind == Kind::SessionMeta {
            edits.extend(payload.history_base.map(|base| (base.span(), "null".to_owned())));
        }
        edits.extend(self.timed(line, record));
        if self.is_paginated {
            edits.extend(self.numbered(line, record));
        }
        replace(line, edits, out);
        if !line.ends_with(b"\n") {
            out.push(b'\n');
        }
    }

    fn moved(&self, cwd: Option<Field<'_>>) -> Option<Edit> {
        let field = cwd?;
        let moved = moved(&field.text()?, self.request.origin_cwd.as_deref(), &self.request.cwd)?;
        Some((field.span(), quote(&moved)))
    }

    /// Adds what a loader needs and this header lacks, and replaces what it refuses.
    fn completed(&self, record: &Record<'_>) -> Vec<Edit> {
        let wanted = header_payload(self.request.session.as_str(), &self.last_time, &self.request.cwd, false);
        header::edits(record, &wanted.finish())
    }

    /// Gives a line that has no time the one of the line before: the loader drops it otherwise.
    fn timed(&self, line: &[u8], record: &Record<'_>) -> Option<Edit> {
        let time = quote(&self.last_time);
        match record.envelope.timestamp {
            Some(field) => text(Some(field)).is_none().then(|| (field.span(), time)),
            // The loader does not read a line of a type that it does not know.
            None if record.kind == Kind::Unknown => None,
            None => begin(line).map(|at| (at..at, format!("\"timestamp\":{time},"))),
        }
    }

    /// Numbers a line that has none, or one that was given already.
    fn numbered(&mut self, line: &[u8], record: &Record<'_>) -> Option<Edit> {
        let own = record.envelope.ordinal.and_then(|ordinal| ordinal.number());
        let edit = match (own, record.envelope.ordinal) {
            (Some(own), _) if own >= self.next_ordinal => {
                self.next_ordinal = own + 1;
                return None;
            }
            (_, Some(field)) => (field.span(), self.next_ordinal.to_string()),
            (_, None) => {
                let number = format!("\"ordinal\":{}", self.next_ordinal);
                match record.envelope.timestamp.map(|time| time.span().end) {
                    Some(end) => (end..end, format!(",{number}")),
                    None => begin(line).map(|at| (at..at, format!("{number},")))?,
                }
            }
        };
        self.next_ordinal += 1;
        self.renumbered += 1;
        Some(edit)
    }

    /// Puts a line of old into an envelope.
    fn bare(&mut self, record: &Record<'_>, out: &mut Vec<u8>) {
        let kind = match record.kind {
            Kind::SessionMeta => "session_meta",
            Kind::Item => "response_item",
            _ => {
                // Nothing that a loader knows: kept for the eye.
                return push_line(out, record.body.raw());
            }
        };
        self.wrapped += 1;
        let mut line = Vec::new();
        self.push(kind, record.body.raw().trim_end(), &mut line);
        if let Ok(wrapped) = Record::parse(&line) {
            self.enveloped(&line, &wrapped, out);
        }
    }

    /// Follows which calls have no result yet.
    fn track(&mut self, record: &Record<'_>) {
        if record.kind == Kind::Compacted && loader::misread(record).is_none() {
            self.open.clear();
            self.answered.clear();
        }
        if record.kind != Kind::Item {
            return;
        }
        let Some(call) = text(record.payload.call_id) else { return };
        if is_answer(record) {
            self.open.retain(|(open, _)| *open != call);
            self.answered.insert(call.into_owned());
        } else if let Some(kind) = answered_by(record).filter(|_| !self.answered.contains(&*call)) {
            self.open.push((call.into_owned(), kind));
        }
    }
}

/// Returns where the members of a line's object begin.
fn begin(line: &[u8]) -> Option<usize> {
    memchr::memchr(b'{', line).map(|at| at + 1)
}

impl Placer for LinePlacer {
    fn line(&mut self, line: &[u8], out: &mut Vec<u8>) {
        if is_blank(line) {
            return;
        }
        if loader::dropped(line).is_none() {
            match Record::parse(line) {
                Ok(record) => self.record(line, &record, out),
                Err(_) => self.garbage(line, out),
            }
            return;
        }
        let read = loader::readable(line);
        if read.records.is_empty() {
            return self.garbage(String::from_utf8_lossy(line).as_bytes(), out);
        }
        self.rescued += 1;
        for line in read.records.into_iter().map(|record| format!("{record}\n")) {
            if let Ok(record) = Record::parse(line.as_bytes()) {
                self.record(line.as_bytes(), &record, out);
            }
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Vec<Note> {
        let open = std::mem::take(&mut self.open);
        for (call, kind) in &open {
            self.push("response_item", &answer(kind, call, CLOSED_TEXT), out);
        }
        let closed = u64::try_from(open.len()).unwrap_or(u64::MAX);
        counted([
            (self.dropped_tails, NoteCode::TornTail, TORN),
            (self.renumbered, NoteCode::Degraded, ("line", "got a number, or another one")),
            (self.wrapped, NoteCode::Degraded, ("line", "of an old version got an envelope")),
            (
                self.rescued,
                NoteCode::Degraded,
                ("line", "that the loader would drop written so that it reads it"),
            ),
            (closed, NoteCode::SyntheticResult, CLOSED),
        ])
    }
}
