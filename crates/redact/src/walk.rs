//! Finds the secrets of one line: field by field where it is JSON (torn or whole), else as text.
//! Replaces nothing.

use crate::assignment::pairs;
use crate::edits::{Edit, What};
use crate::escape::View;
use crate::fields::{Field, Verdict};
use crate::json::{NotJson, Token, Tokens};
use crate::pem::PrivateKeyState;
use crate::scan::{Effort, Scanner, Span, VIEWS_MAX};

/// Longest key whose name is looked at.
const KEY_BYTES_MAX: usize = 256;
/// Shortest string that could say of itself that it holds a secret.
const TEXT_BYTES_MIN: usize = 8;

/// Fields that say what a record is and what it belongs to.
const STRUCTURAL: [&[u8]; 19] = [
    b"type",
    b"subtype",
    b"role",
    b"kind",
    b"id",
    b"uuid",
    b"timestamp",
    b"fd",
    b"version",
    b"cwd",
    b"model",
    b"status",
    b"name",
    b"stop_reason",
    b"userType",
    b"gitBranch",
    b"projectHash",
    b"provider",
    b"phase",
];
/// How names end of fields that hold ids.
const ID_ENDS: [&[u8]; 5] = [b"Id", b"ID", b"_id", b"Uuid", b"_uuid"];

/// How a line is looked at.
#[derive(Debug)]
pub(crate) struct Look<'a> {
    pub(crate) scanner: &'a Scanner,
    /// Whole strings are taken instead of their secrets.
    pub(crate) wide: bool,
    /// Whether it continues a private key; afterwards, whether the next line does.
    pub(crate) keys: &'a mut PrivateKeyState,
    /// What rules of one's own may still look at.
    pub(crate) effort: &'a mut Effort,
}

/// Finds the edits that a line needs.
pub(crate) fn edits_of(look: Look<'_>, line: &[u8]) -> Vec<Edit> {
    let Look { scanner, wide, keys, effort } = look;
    let (edits, frames, texts) = (Vec::new(), Vec::new(), Vec::new());
    let mut walk = Walk { scanner, line, wide, edits, frames, texts, keys: keys.clone(), effort };
    if walk.json().is_ok() {
        *keys = walk.keys;
        return walk.edits;
    }
    text_edits(Look { scanner, wide, keys, effort: walk.effort }, line)
}

/// Finds the edits that a text needs.
pub(crate) fn text_edits(look: Look<'_>, text: &[u8]) -> Vec<Edit> {
    let Look { scanner, wide, keys, effort } = look;
    let mut spans = Vec::new();
    scanner.collect(text, VIEWS_MAX, effort, &mut spans);
    let order = scanner.pem_order();
    let lines = keys.advance_in(b"", text).into_iter();
    spans.extend(lines.map(|(start, end)| Span { start, end, order }));
    if spans.is_empty() {
        return Vec::new();
    }
    let protected = scanner.rules.fields.protected(text);
    spans.retain(|span| {
        // Where nobody knows what else is in it, all of a text is taken.
        if (span.start, span.end) == (0, text.len()) {
            return true;
        }
        // Protected stretches are sorted and disjoint: only the last one that begins before the end can overlap.
        let before = protected.partition_point(|(start, _)| *start < span.end);
        before.checked_sub(1).and_then(|last| protected.get(last)).is_none_or(|(_, end)| *end <= span.start)
    });
    widen(&mut spans, 0..text.len(), wide);
    spans.into_iter().map(Edit::from).collect()
}

/// Moves what was found in a string, given by its view, to where it stands in the line.
fn in_line(spans: &mut [Span], view: Option<&View>, at: usize) {
    for span in spans {
        if let Some(view) = view {
            (span.start, span.end) = (view.source_start(span.start), view.source_end(span.end));
        }
        (span.start, span.end) = (at + span.start, at + span.end);
    }
}

fn widen(spans: &mut [Span], whole: std::ops::Range<usize>, wide: bool) {
    for span in spans.iter_mut().filter(|_| wide) {
        (span.start, span.end) = (whole.start, whole.end);
    }
}

/// What the `type` of an object says about its other fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Its data is ciphertext or an image.
    Opaque,
    /// Its text is signed.
    Thinking,
    /// Its texts, which may stand deeper, may be signed.
    Reasoning,
}

/// An open object or array.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "four facts that have nothing to do with each other")]
struct Frame {
    start: usize,
    /// How many edits there were when it began.
    first_edit: usize,
    object: bool,
    /// Inside what a tool was given or gave back.
    free: bool,
    /// The current field's name, resolved.
    key: Vec<u8>,
    kind: Option<Kind>,
    /// Where its type stands.
    type_at: (usize, usize),
    /// Where its own text stands.
    text_at: (usize, usize),
    /// Where the name of something stands, and where its value.
    /// An object may have several members that hold names.
    names_at: Vec<(usize, usize)>,
    value_at: Option<(usize, usize)>,
    signed: bool,
    /// It, or an object in it, holds a signature or ciphertext.
    sealed: bool,
    /// Edits of a field that count only if the object has no opaque type.
    if_plain: Vec<Edit>,
    /// Edits of the text of a thinking block.
    in_thinking: Vec<Edit>,
}

struct Walk<'a> {
    scanner: &'a Scanner,
    line: &'a [u8],
    wide: bool,
    edits: Vec<Edit>,
    frames: Vec<Frame>,
    /// Texts with findings that may belong to signed reasoning.
    texts: Vec<(usize, usize)>,
    keys: PrivateKeyState,
    effort: &'a mut Effort,
}

impl Walk<'_> {
    fn json(&mut self) -> Result<(), NotJson> {
        for token in Tokens::of(self.line) {
            match token? {
                Token::Open { at, object } => {
                    let parent = self.frames.last();
                    let free = parent
                        .is_some_and(|frame| frame.free || self.scanner.rules.fields.is_free(&frame.key));
                    let first_edit = self.edits.len();
                    self.frames.push(Frame { start: at, first_edit, object, free, ..Frame::default() });
                }
                Token::Close { end } => self.close(Some(end)),
                Token::Key { start, end } => {
                    self.text(start, end, false);
                    let raw = self.line.get(start..end.min(start + KEY_BYTES_MAX)).unwrap_or_default();
                    let key = View::of(raw).map_or_else(|| raw.to_vec(), |view| view.text);
                    if let Some(frame) = self.frames.last_mut() {
                        frame.key = key;
                    }
                }
                Token::Text { start, end } => self.value(start, end),
                Token::Scalar => {}
            }
        }
        while !self.frames.is_empty() {
            self.close(None);
        }
        Ok(())
    }

    fn close(&mut self, end: Option<usize>) {
        let Some(mut frame) = self.frames.pop() else { return };
        self.pair(&frame);
        if frame.kind != Some(Kind::Opaque) {
            self.edits.append(&mut frame.if_plain);
        }
        let is_signed = frame.kind == Some(Kind::Thinking) && frame.signed;
        let replaceable = is_signed && !frame.in_thinking.is_empty() && !frame.free;
        match end {
            Some(end) if replaceable => {
                self.edits.push(Edit { start: frame.start, end, what: What::Thinking });
            }
            _ => self.edits.extend(std::mem::take(&mut frame.in_thinking)),
        }
        if frame.kind == Some(Kind::Reasoning) && frame.sealed && !frame.free && end.is_some() {
            self.hide_reasoning(&frame);
        }
        if let Some(parent) = self.frames.last_mut() {
            parent.sealed |= frame.sealed && !frame.free;
        }
    }

    /// Replaces whole texts of signed reasoning. Where the text is the object's own the object becomes text: a client
    /// sends both back as one. Where it stands deeper it is a summary, beside ciphertext that says all by itself.
    fn hide_reasoning(&mut self, frame: &Frame) {
        let first = self.texts.partition_point(|(start, _)| *start < frame.start);
        let texts = self.texts.split_off(first);
        if texts.is_empty() {
            return;
        }
        // Texts are sorted and disjoint: only the last one that begins before an edit can hold it.
        let is_inside = |edit: &Edit| {
            let before = texts.partition_point(|(start, _)| *start <= edit.start);
            before.checked_sub(1).and_then(|last| texts.get(last)).is_some_and(|(_, end)| edit.end <= *end)
        };
        let own = self.edits.split_off(frame.first_edit.min(self.edits.len()));
        self.edits.extend(own.into_iter().filter(|edit| !is_inside(edit)));
        self.edits.extend(texts.iter().map(|&(start, end)| Edit { start, end, what: What::ThinkingText }));
        if texts.contains(&frame.text_at) {
            let (start, end) = frame.type_at;
            self.edits.push(Edit { start, end, what: What::PlainType });
        }
    }

    fn value(&mut self, start: usize, end: usize) {
        let raw = self.line.get(start..end).unwrap_or_default();
        let fields = &self.scanner.rules.fields;
        let verdict = match self.frames.last_mut() {
            Some(frame) if frame.object => {
                match frame.key.as_slice() {
                    b"type" => {
                        frame.kind = match raw {
                            b"thinking" => Some(Kind::Thinking),
                            b"reasoning" => Some(Kind::Reasoning),
                            _ => fields.is_opaque_type(raw).then_some(Kind::Opaque),
                        };
                        frame.type_at = (start, end);
                    }
                    b"text" => frame.text_at = (start, end),
                    // What a client calls the signature of a thought: Claude Code, pi.
                    b"signature" | b"thinkingSignature" => frame.signed = !raw.is_empty(),
                    _ => {}
                }
                if !raw.is_empty() && fields.is_seal(&frame.key) {
                    frame.sealed = true;
                }
                fields.verdict(Field { key: &frame.key, value: raw, free: frame.free })
            }
            Some(_) | None => Verdict::Look,
        };
        let first = self.edits.len();
        if verdict != Verdict::Skip {
            self.text(start, end, true);
        }
        let Some(frame) = self.frames.last_mut().filter(|frame| frame.object) else {
            return;
        };
        if pairs::NAMES.contains(&frame.key.as_slice()) && end - start <= KEY_BYTES_MAX {
            frame.names_at.push((start, end));
        } else if pairs::VALUES.contains(&frame.key.as_slice()) && verdict == Verdict::Look {
            frame.value_at = Some((start, end));
        }
        if self.edits.len() > first && frame.key == b"text" && !frame.free {
            self.texts.push((start, end));
        }
        if verdict == Verdict::SkipIfTyped {
            frame.if_plain.extend(self.edits.drain(first..));
        } else if frame.key == b"thinking" {
            frame.in_thinking.extend(self.edits.drain(first..));
        }
    }

    /// Looks at one string, given by its raw content.
    fn text(&mut self, start: usize, end: usize, is_value: bool) {
        let raw = self.line.get(start..end).unwrap_or_default();
        if raw.len() < TEXT_BYTES_MIN && !is_value {
            return;
        }
        let view = View::of(raw);
        let text = view.as_ref().map_or(raw, |view| view.text.as_slice());
        let mut spans = Vec::new();
        // A password may be shorter where its field's name says it, and so may the last line of a key.
        if raw.len() >= TEXT_BYTES_MIN {
            self.scanner.collect(text, VIEWS_MAX - 1, self.effort, &mut spans);
        }
        if is_value {
            spans.extend(self.as_field(text));
            spans.extend(self.as_key_line(text));
        }
        in_line(&mut spans, view.as_ref(), start);
        // Somebody's own rule must not take what holds a transcript together: nobody could resume it.
        if !is_value || self.is_structural(raw) {
            spans.retain(|span| !self.scanner.is_own(span.order, false));
        }
        widen(&mut spans, start..end, self.wide);
        self.edits.extend(spans.into_iter().map(Edit::from));
    }

    /// Looks at an object that gives a name in one field, or that a name was given to, and the value in another.
    fn pair(&mut self, frame: &Frame) {
        let Some((start, end)) = frame.value_at else { return };
        let raw = |(start, end)| self.line.get(start..end).unwrap_or_default();
        let resolved = |raw: &[u8]| View::of(raw).map_or_else(|| raw.to_vec(), |view| view.text);
        let mut names: Vec<Vec<u8>> = frame.names_at.iter().map(|at| resolved(raw(*at))).collect();
        if names.is_empty() {
            names.extend(self.frames.last().filter(|parent| parent.object).map(|parent| parent.key.clone()));
        }
        let view = View::of(raw((start, end)));
        let text = view.as_ref().map_or(raw((start, end)), |view| view.text.as_slice());
        let mut spans: Vec<Span> =
            names.iter().find_map(|name| self.scanner.field(name, text)).into_iter().collect();
        in_line(&mut spans, view.as_ref(), start);
        widen(&mut spans, start..end, self.wide);
        self.edits.extend(spans.into_iter().map(Edit::from));
    }

    /// Tells whether the current field holds a record's structure: what it is, which one, and what it belongs to.
    fn is_structural(&self, value: &[u8]) -> bool {
        let Some(frame) = self.frames.last().filter(|frame| frame.object && !frame.free) else {
            return false;
        };
        let key = frame.key.as_slice();
        let is_time = value.get(10) == Some(&b'T') && value.get(4) == Some(&b'-');
        is_time || STRUCTURAL.contains(&key) || ID_ENDS.iter().any(|end| key.ends_with(end))
    }

    fn as_field(&self, text: &[u8]) -> Option<Span> {
        let frame = self.frames.last().filter(|frame| frame.object)?;
        self.scanner.field(&frame.key, text)
    }

    /// A client that shows a file's lines as an array, of strings or of objects, splits a private key over its strings.
    fn as_key_line(&mut self, text: &[u8]) -> impl Iterator<Item = Span> + use<> {
        let order = self.scanner.pem_order();
        let field = self.frames.iter().rev().find(|frame| frame.object).map(|frame| frame.key.as_slice());
        let lines = self.keys.advance_in(field.unwrap_or_default(), text);
        lines.into_iter().map(move |(start, end)| Span { start, end, order })
    }
}
