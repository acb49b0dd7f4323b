//! Where a line says a part of a text that goes on in other lines: a delta of a streamed message, maybe in a line with its
//! time. Joins nothing and finds no secrets.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::escape::View;
use crate::json::{NotJson, Token, Tokens};

/// Longest line that is looked at for a part of a text: what is streamed comes in lines far shorter.
pub(crate) const LINE_BYTES_MAX: usize = 64 * 1024;
/// Deepest object in which a delta stands.
const DEPTH_MAX: usize = 6;
/// Fields of a delta that hold its text.
const TEXTS: [&[u8]; 10] = [
    b"text",
    b"partial_json",
    b"thinking",
    b"delta",
    b"content",
    b"arguments",
    b"chunk",
    b"output",
    b"reasoning",
    b"reasoning_content",
];
/// Fields that say whose stream it is.
const SCOPES: [&[u8]; 3] = [b"session_id", b"thread_id", b"parent_tool_use_id"];
/// Fields that say which text of that stream it is. What changes from line to line is not among them.
const BLOCKS: [&[u8]; 9] = [
    b"index",
    b"content_index",
    b"output_index",
    b"item_id",
    b"itemId",
    b"call_id",
    b"response_id",
    b"message_id",
    b"id",
];

/// How types end that say that something is whole now: `message_stop`, `item.completed`, `assistant`.
const ENDS: [&[u8]; 6] = [b"message_stop", b"completed", b"done", b"failed", b"result", b"assistant"];

/// What a line is to the deltas around it.
#[derive(Debug)]
pub(crate) enum Said {
    /// A part of a text that is streamed.
    Delta { block: u64, scope: u64, piece: Piece },
    /// Neither; it ends the text of its block, or with `all` every text of its scope.
    Ends { block: u64, scope: u64, all: bool },
    /// Neither; what is streamed goes on.
    Passes,
}

/// A stretch of a line with its escapes resolved.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) text: Vec<u8>,
    /// The strings that it stands in, the outermost first: where each begins, and its view.
    levels: Vec<(usize, Option<View>)>,
}

impl Piece {
    fn whole(line: &[u8]) -> Piece {
        Piece { text: line.to_vec(), levels: Vec::new() }
    }

    fn string(line: &[u8], (start, end): (usize, usize)) -> Piece {
        let mut piece = Piece::whole(line);
        piece.narrow(start, end);
        piece
    }

    /// Goes into a stretch of the text that begins there and is no string.
    fn narrow_to_end(&mut self, start: usize) {
        self.text.drain(..start.min(self.text.len()));
        self.levels.push((start, None));
    }

    /// Goes into a string of the text.
    fn narrow(&mut self, start: usize, end: usize) {
        let raw = self.text.get(start..end).unwrap_or_default().to_vec();
        let view = View::of(&raw);
        self.text = view.as_ref().map_or(raw, |view| view.text.clone());
        self.levels.push((start, view));
    }

    /// Returns where a stretch of the text stands in the line.
    pub(crate) fn in_line(&self, mut start: usize, mut end: usize) -> (usize, usize) {
        for (at, view) in self.levels.iter().rev() {
            if let Some(view) = view {
                (start, end) = (view.source_start(start), view.source_end(end));
            }
            (start, end) = (start + at, end + at);
        }
        (start, end)
    }
}

/// Tells whether a line may be a delta. Errs on the side of yes.
pub(crate) fn may_be_delta(line: &[u8]) -> bool {
    let follows = |at: usize| matches!(line.get(at + 5), Some(b'"' | b'\\'));
    line.len() <= LINE_BYTES_MAX && memchr::memmem::find_iter(line, "delta").any(follows)
}

/// Says what a line is, without its line break.
pub(crate) fn said(line: &[u8]) -> Said {
    if line.len() > LINE_BYTES_MAX || !line.trim_ascii_start().starts_with(b"{") {
        return Said::Passes;
    }
    let Ok(record) = Record::read(line) else { return Said::Passes };
    let Some(at) = record.timed() else { return record.said(|| Piece::whole(line), 0) };
    // What a command streams stands as JSON in the timed line, maybe as an event of a server.
    let mut piece = Piece::string(line, at);
    let Some(from) = memchr::memchr(b'{', &piece.text) else { return Said::Passes };
    piece.narrow_to_end(from);
    match Record::read(&piece.text) {
        Ok(inner) => inner.said(|| piece, hash(&record.stream)),
        Err(NotJson) => Said::Passes,
    }
}

/// Returns what a line shows, and in which stream: the text of a timed line, or the line where it is no JSON.
pub(crate) fn shown(line: &[u8]) -> Option<(u64, Piece)> {
    if line.len() > LINE_BYTES_MAX {
        return None;
    }
    let record = line.trim_ascii_start().starts_with(b"{").then(|| Record::read(line));
    match record {
        Some(Ok(record)) => Some((hash(&record.stream), Piece::string(line, record.timed()?))),
        Some(Err(NotJson)) | None => Some((0, Piece::whole(line))),
    }
}

/// What of a JSON record says whether it is a delta, and of what.
#[derive(Default)]
struct Record {
    /// Strings that may be the text of a delta, with whether they stand in a field of that name.
    texts: Vec<(usize, usize, bool)>,
    /// Whether a type says that it is one.
    is_delta: bool,
    /// Whether a type says that something is whole now.
    is_end: bool,
    ids: Vec<(&'static [u8], Vec<u8>)>,
    /// Of a timed line: its stream, and where its text stands.
    stream: Vec<u8>,
    line: Option<(usize, usize)>,
    has_time: bool,
    fields: usize,
}

/// An object or array on the way to a value.
struct Frame {
    key: Vec<u8>,
    /// Where the value of the key begins, for numbers.
    value_at: usize,
    is_object: bool,
    in_delta: bool,
}

impl Record {
    fn read(line: &[u8]) -> Result<Record, NotJson> {
        let (mut record, mut frames) = (Record::default(), Vec::<Frame>::new());
        for token in Tokens::of(line) {
            match token? {
                Token::Open { object, .. } => {
                    let in_delta = frames.last().is_some_and(|frame| frame.in_delta || frame.key == b"delta");
                    frames.push(Frame { key: Vec::new(), value_at: 0, is_object: object, in_delta });
                }
                Token::Close { .. } => {
                    frames.pop();
                }
                Token::Key { start, end } => {
                    record.fields += usize::from(frames.len() == 1);
                    if let Some(frame) = frames.last_mut() {
                        frame.key = line.get(start..end).unwrap_or_default().to_vec();
                        frame.value_at = end + 1;
                    }
                }
                Token::Text { start, end } => record.string(line, &frames, (start, end)),
                Token::Scalar => record.number(line, &frames),
            }
        }
        Ok(record)
    }

    fn string(&mut self, line: &[u8], frames: &[Frame], (start, end): (usize, usize)) {
        let Some(frame) = frames.last().filter(|frame| frame.is_object && frames.len() <= DEPTH_MAX) else {
            return;
        };
        let value = line.get(start..end).unwrap_or_default();
        let key = frame.key.as_slice();
        self.is_delta |= key == b"type" && value.ends_with(b"delta");
        self.is_end |= key == b"type" && ENDS.iter().any(|end| value.ends_with(end));
        if TEXTS.contains(&key) {
            self.texts.push((start, end, frame.in_delta || key == b"delta"));
        }
        self.id(key, value);
        if frames.len() == 1 {
            match key {
                b"t" => self.has_time = true,
                b"fd" => self.stream = value.to_vec(),
                b"line" => self.line = Some((start, end)),
                _ => {}
            }
        }
    }

    fn number(&mut self, line: &[u8], frames: &[Frame]) {
        let Some(frame) = frames.last().filter(|frame| frame.is_object && frames.len() <= DEPTH_MAX) else {
            return;
        };
        let rest = line.get(frame.value_at..).unwrap_or_default();
        let is_blank = |byte: &&u8| byte.is_ascii_whitespace() || **byte == b':';
        let blank = rest.iter().take_while(is_blank).count();
        let digits: Vec<u8> = rest.iter().skip(blank).copied().take_while(u8::is_ascii_digit).collect();
        self.id(&frame.key, &digits);
    }

    fn id(&mut self, key: &[u8], value: &[u8]) {
        if let Some(known) = SCOPES.iter().chain(&BLOCKS).find(|known| **known == key) {
            self.ids.push((known, value.to_vec()));
        }
    }

    /// Returns where the text of a timed line stands: one that has nothing else.
    fn timed(&self) -> Option<(usize, usize)> {
        self.line.filter(|_| self.has_time && !self.stream.is_empty() && self.fields == 3)
    }

    /// Returns where the text of a delta stands: the longest, where several fields could be it.
    fn text(&self) -> Option<(usize, usize)> {
        let in_delta = self.texts.iter().any(|(.., in_delta)| *in_delta);
        let texts = self.texts.iter().filter(|(.., own)| *own || (self.is_delta && !in_delta));
        texts.max_by_key(|(start, end, _)| end - start).map(|(start, end, _)| (*start, *end))
    }

    fn said(&self, whole: impl FnOnce() -> Piece, stream: u64) -> Said {
        let of = |keys: &[&[u8]]| {
            let ids: Vec<_> = self.ids.iter().filter(|(key, _)| keys.contains(key)).collect();
            hash(&(stream, ids))
        };
        let scope = of(&SCOPES);
        match self.text() {
            Some((start, end)) => {
                let mut piece = whole();
                piece.narrow(start, end);
                Said::Delta { block: hash(&(scope, of(&BLOCKS))), scope, piece }
            }
            None => Said::Ends { block: hash(&(scope, of(&BLOCKS))), scope, all: self.is_end },
        }
    }
}

fn hash(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}
