//! Rewrites a session for another place: its id and directory change, everything else stays as it is.
//!
//! What the loader would stumble over is mended on the way: a missing header is made up, an entry without a parent hangs
//! on the one before it, an answer without `usage` gets one. It never writes a file: that is the engine's.

use stemmata_model::{Note, NoteCode, Timestamp};

use super::client::RESUME;
use super::encode::{derive, header, result, text_block};
use super::record::Record;
use super::trail::Trail;
use super::tree::{Parent, Row};
use crate::adapter::{ClientPlace, PlaceRequest, Placer};
use crate::json::{Object, quote};
use crate::lines::iso;
use crate::placing::{CLOSED, CLOSED_TEXT, TORN, counted, replace, unreadable};

/// What an answer needs that says nothing of its tokens.
pub(super) const NO_USAGE: &str = r#""usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}"#;

/// Says where pi looks for a session, and how to start it.
pub(super) fn client_place(request: &PlaceRequest) -> ClientPlace {
    let session = request.session.as_str();
    let at = Timestamp::from_micros(request.at.as_micros().div_euclid(1000).saturating_mul(1000));
    let name = format!("{}_{session}.jsonl", iso(at).replace([':', '.'], "-"));
    let cwd = request.cwd.strip_prefix(['/', '\\']).unwrap_or(&request.cwd);
    let folder = format!("--{}--", cwd.replace(['/', '\\', ':'], "-"));
    ClientPlace {
        relative_path: vec!["sessions".to_owned(), folder, name],
        resume_command: RESUME.words(&request.session),
        import_command: RESUME.import_words(),
    }
}

/// Rewrites a session line by line.
pub(super) struct LinePlacer {
    request: PlaceRequest,
    trail: Trail,
    has_header: bool,
    /// The last entry's id, and when it was written.
    last: Option<String>,
    last_time: Timestamp,
    dropped_tails: u64,
    linked: u64,
    completed: u64,
}

impl LinePlacer {
    /// Starts with nothing written.
    pub(super) fn new(request: &PlaceRequest) -> Self {
        Self {
            request: request.clone(),
            trail: Trail::default(),
            has_header: false,
            last: None,
            last_time: request.at,
            dropped_tails: 0,
            linked: 0,
            completed: 0,
        }
    }

    fn record(&mut self, line: &[u8], record: &Record<'_>, out: &mut Vec<u8>) {
        self.last_time = record.time().unwrap_or(self.last_time);
        let row = self.trail.take(line, record, 0);
        if !self.has_header {
            self.has_header = true;
            if !row.is_header {
                self.make_header(out);
            }
        }
        let mut edits = Vec::new();
        if row.is_header {
            edits.extend(self.moved(record));
        } else {
            edits.extend(self.linked(&row));
            edits.extend(self.completed(record));
        }
        replace(line, edits, out);
        if !line.ends_with(b"\n") {
            out.push(b'\n');
        }
        self.last = row.id.map(String::from).or_else(|| self.last.take());
    }

    fn make_header(&self, out: &mut Vec<u8>) {
        let made = header(self.request.session.as_str(), self.last_time, &self.request.cwd);
        // The loader gives ids to entries that have none, in a file that names no version.
        let is_linear = self.trail.is_linear == Some(true);
        let made = if is_linear { made.replacen("\"version\":3,", "", 1) } else { made };
        out.extend_from_slice(made.as_bytes());
        out.push(b'\n');
    }

    fn moved(&self, record: &Record<'_>) -> Vec<(std::ops::Range<usize>, String)> {
        let start = record.whole.raw().find('{').map_or(0, |at| at + 1);
        let wanted = [
            ("id", record.envelope.id, self.request.session.as_str()),
            ("cwd", record.envelope.cwd, self.request.cwd.as_str()),
        ];
        let mut added = Vec::new();
        let mut edits = Vec::new();
        for (key, field, value) in wanted {
            match field {
                Some(field) => edits.push((field.span(), quote(value))),
                None => added.push(format!("{}:{},", quote(key), quote(value))),
            }
        }
        if !added.is_empty() {
            edits.push((start..start, added.concat()));
        }
        edits
    }

    fn linked(&mut self, row: &Row) -> Option<(std::ops::Range<usize>, String)> {
        let is_lost = row.id.is_some() && row.parent == Parent::Before && self.trail.is_linear == Some(false);
        let parent = self.last.as_deref().filter(|_| is_lost).map(quote);
        self.linked += u64::from(is_lost);
        let with = parent.unwrap_or_else(|| "null".to_owned());
        is_lost.then(|| (row.parent_span.clone(), format!(",\"parentId\":{with}")))
    }

    fn completed(&mut self, record: &Record<'_>) -> Option<(std::ops::Range<usize>, String)> {
        let is_lacking = record.is_role("assistant") && record.message.usage.is_none();
        let end = record.envelope.message.filter(|_| is_lacking)?.span().end.checked_sub(1)?;
        self.completed += 1;
        Some((end..end, format!(",{NO_USAGE}")))
    }

    /// Closes the calls that wait for results.
    fn close(&mut self, out: &mut Vec<u8>) -> u64 {
        let open = self.trail.open(&self.trail.way(true));
        for (index, (call, name)) in open.iter().enumerate() {
            let content = format!("[{}]", text_block(CLOSED_TEXT));
            let message = result(call, name, true, &content, self.last_time).finish();
            let object = Object::new().text("type", "message");
            let object = match &self.last {
                Some(last) => {
                    let seed = blake3::Hash::from_bytes(self.request.seed).to_hex();
                    let id = derive(&format!("{seed} {call}"), u64::try_from(index).unwrap_or_default());
                    let object = object.text("id", &id).text("parentId", last);
                    self.last = Some(id);
                    object
                }
                None => object,
            };
            let line = object.text("timestamp", &iso(self.last_time)).raw("message", &message).finish();
            out.extend_from_slice(line.as_bytes());
            out.push(b'\n');
        }
        u64::try_from(open.len()).unwrap_or(u64::MAX)
    }
}

impl Placer for LinePlacer {
    fn line(&mut self, line: &[u8], out: &mut Vec<u8>) {
        match Record::parse(line) {
            Ok(record) => self.record(line, &record, out),
            Err(_) => self.dropped_tails += unreadable(line, out),
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Vec<Note> {
        let closed = self.close(out);
        counted([
            (self.dropped_tails, NoteCode::TornTail, TORN),
            (self.linked, NoteCode::Reparented, "entries without a parent hang on the one before"),
            (self.completed, NoteCode::Degraded, "answers without `usage` got one of zeros"),
            (closed, NoteCode::SyntheticResult, CLOSED),
        ])
    }
}
