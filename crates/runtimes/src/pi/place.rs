//! Rewrites a session for another place: its id and directory change, everything else stays as it is.
//!
//! What the loader would stumble over is mended on the way: a missing header is made up, an entry without a parent hangs
//! on the one before it, an answer without `usage` gets one. It never writes a file: that is the engine's.

use stemmata_model::{Note, NoteCode, Timestamp};

use super::client::RESUME;
use super::encode::{derive, header, result, text_block};
use super::record::{Message, Record, apart};
use super::trail::{Said, Trail, Waiting};
use super::tree::{Parent, Row};
use crate::adapter::{ClientPlace, PlaceRequest, Placer};
use crate::apart::each;
use crate::json::{Object, one_line, push_line, quote, text};
use crate::lines::iso;
use crate::messages::turns::LOST_CALL;
use crate::placing::{CLOSED, CLOSED_TEXT, Edit, TORN, counted, put, replace, unreadable};

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

/// A compaction whose messages have lines of their own.
pub(super) struct Unfolded {
    /// The lines, to stand before the compaction.
    pub(super) lines: Vec<String>,
    /// What the compaction's line says instead: what it hangs on, and what it keeps first.
    pub(super) edits: Vec<Edit>,
}

/// Gives the messages that a compaction holds word for word lines of their own: the client keeps entries alone. `before` is
/// the entry that it follows where it names none.
pub(super) fn unfold(record: &Record<'_>, row: &Row, before: Option<String>) -> Option<Unfolded> {
    let own = row.id.as_deref()?;
    let time = text(record.envelope.timestamp).unwrap_or_default();
    let mut parent = match &row.parent {
        Parent::Id(id) => Some(String::from(id.clone())),
        Parent::Root => None,
        Parent::Before => before,
    };
    let mut first = None;
    let mut lines = Vec::new();
    let mut waiting = Waiting::mended();
    for (number, message) in (0..).zip(record.retained()) {
        // The first messages before it may be left out, and with them the call of a result that stays.
        let is_lost = waiting.take(&Said::of(&message), 0).is_some();
        let said = if is_lost { as_said(&message.message) } else { None };
        let json = said.or_else(|| one_line(message.whole.raw()))?;
        let id = derive(&format!("{own} retained"), number);
        let line =
            Object::new().text("type", "message").text("id", &id).optional("parentId", parent.as_deref());
        lines.push(line.text("timestamp", &time).raw("message", &json).finish());
        first = first.or_else(|| Some(id.clone()));
        parent = Some(id);
    }
    let (first, last) = (quote(&first?), quote(&parent?));
    let mut edits = Vec::new();
    let mut added = String::new();
    if row.parent_span.is_empty() {
        added.extend([",\"parentId\":", &last]);
    } else {
        edits.push((row.parent_span.clone(), last));
    }
    match record.envelope.kept_id {
        Some(field) => edits.push((field.span(), first)),
        None => added.extend([",\"firstKeptEntryId\":", &first]),
    }
    let end = record.envelope.id?.span().end;
    edits.push((end..end, added));
    Some(Unfolded { lines, edits })
}

/// Returns a result that no call waits for as a message of the user.
pub(super) fn as_said(message: &Message<'_>) -> Option<String> {
    let mark = text_block(LOST_CALL);
    let content = match message.content {
        Some(list) if list.raw().starts_with('[') => {
            let list = one_line(list.raw())?;
            let rest = list.get(1..)?;
            let comma = if rest.trim_start().starts_with(']') { "" } else { "," };
            format!("[{mark}{comma}{rest}")
        }
        Some(said) => format!("[{mark},{}]", text_block(&said.text()?)),
        None => format!("[{mark}]"),
    };
    let said = Object::new().text("role", "user").raw("content", &content);
    Some(message.timestamp.into_iter().fold(said, |said, at| said.raw("timestamp", at.raw())).finish())
}

/// Returns what makes an entry a message of the user, whose result no call waits for.
pub(super) fn said_instead(record: &Record<'_>) -> Option<Edit> {
    Some((record.envelope.message?.span(), as_said(&record.message)?))
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
    unfolded: u64,
    orphans: u64,
    waiting: Waiting,
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
            unfolded: 0,
            orphans: 0,
            waiting: Waiting::mended(),
        }
    }

    fn record(&mut self, line: &[u8], record: &Record<'_>, out: &mut Vec<u8>) {
        self.last_time = record.time().unwrap_or(self.last_time);
        let row = self.trail.take(record, 0);
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
            edits = self.unfolded(record, &row, out);
            let holds = !edits.is_empty();
            if !holds {
                edits.extend(self.linked(&row));
            }
            edits.extend(self.completed(record));
            let said = self.trail.nodes.last().filter(|_| row.is_node);
            if said.is_some_and(|node| self.waiting.take_node(node, holds).is_some()) {
                self.orphans += 1;
                edits.extend(said_instead(record));
            }
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
        push_line(out, &made);
    }

    fn moved(&self, record: &Record<'_>) -> Vec<Edit> {
        let wanted = [
            ("id", record.envelope.id, quote(self.request.session.as_str())),
            ("cwd", record.envelope.cwd, quote(&self.request.cwd)),
        ];
        put((record.whole.raw().as_bytes(), 0), wanted)
    }

    fn linked(&mut self, row: &Row) -> Option<Edit> {
        let is_lost = row.id.is_some() && row.parent == Parent::Before && self.trail.is_linear == Some(false);
        let parent = self.last.as_deref().filter(|_| is_lost).map(quote);
        self.linked += u64::from(is_lost);
        let with = parent.unwrap_or_else(|| "null".to_owned());
        is_lost.then(|| (row.parent_span.clone(), format!(",\"parentId\":{with}")))
    }

    fn completed(&mut self, record: &Record<'_>) -> Option<Edit> {
        let is_lacking = record.is_role("assistant") && record.message.usage.is_none();
        let end = record.envelope.message.filter(|_| is_lacking)?.span().end.checked_sub(1)?;
        self.completed += 1;
        Some((end..end, format!(",{NO_USAGE}")))
    }

    /// Writes the messages that a compaction holds word for word as lines of their own, and returns what the compaction's
    /// line says instead.
    fn unfolded(&mut self, record: &Record<'_>, row: &Row, out: &mut Vec<u8>) -> Vec<Edit> {
        let is_needed = row.retained > 0 && self.trail.is_linear == Some(false);
        let is_needed = is_needed && self.trail.passed_over(&self.trail.loaded()).is_some();
        let parent = self.last.clone().filter(|_| row.parent == Parent::Before);
        let unfolded = if is_needed { unfold(record, row, parent) } else { None };
        let Some(unfolded) = unfolded else { return Vec::new() };
        self.unfolded += u64::try_from(unfolded.lines.len()).unwrap_or(u64::MAX);
        unfolded.lines.iter().for_each(|line| push_line(out, line));
        unfolded.edits
    }

    /// Closes the calls that wait for results.
    fn close(&mut self, out: &mut Vec<u8>) -> u64 {
        let open = self.trail.open(&self.trail.whole());
        for (index, (call, name)) in open.iter().enumerate() {
            let content = format!("[{}]", text_block(CLOSED_TEXT));
            let message = result(call, name, true, &content, self.last_time).finish();
            let mut object = Object::new().text("type", "message");
            if let Some(last) = &mut self.last {
                let seed = blake3::Hash::from_bytes(self.request.seed).to_hex();
                let id = derive(&format!("{seed} {call}"), u64::try_from(index).unwrap_or_default());
                object = object.text("id", &id).text("parentId", last);
                *last = id;
            }
            push_line(out, &object.text("timestamp", &iso(self.last_time)).raw("message", &message).finish());
        }
        u64::try_from(open.len()).unwrap_or(u64::MAX)
    }
}

impl Placer for LinePlacer {
    fn line(&mut self, line: &[u8], out: &mut Vec<u8>) {
        // Of a line that holds several records, each gets a line of its own.
        let taken = each(line, apart, &mut |text, _| {
            Record::parse(text).map(|record| self.record(text, &record, out))
        });
        if taken.is_err() {
            self.dropped_tails += unreadable(line, out);
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Vec<Note> {
        let closed = self.close(out);
        counted([
            (self.dropped_tails, NoteCode::TornTail, TORN),
            (self.linked, NoteCode::Reparented, ("entry", "without a parent hung on the one before")),
            (self.completed, NoteCode::Degraded, ("answer", "without `usage` got one of zeros")),
            (self.unfolded, NoteCode::Degraded, ("message", "held by a compaction got an own line")),
            (self.orphans, NoteCode::Degraded, ("result", "without a call made a message of the user")),
            (closed, NoteCode::SyntheticResult, CLOSED),
        ])
    }
}
