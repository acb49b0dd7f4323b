//! The scrubber of lines that follow each other: a secret that stands in several of them is found in their texts, joined.
//! Which lines say parts of one text is `pieces`; what is a secret in it is the scrubber's.

use std::borrow::Cow;

use crate::edits::{Edit, What};
use crate::pem::PrivateKeyState;
use crate::pieces::{self, Piece, Said};
use crate::rules::RuleFailure;
use crate::scrubber::{Finding, Scrubbed, Scrubber};

/// Lines that are held back at most.
const HELD_LINES_MAX: usize = 4_096;
/// Bytes of lines that are held back at most.
const HELD_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes of one joined text at most: what a streamed message says in minutes, and more than most private keys have.
const TEXT_BYTES_MAX: usize = 64 * 1024;
/// Bytes at the end of a long text that stay held back when what is before them goes: longer than any secret that is no
/// private key.
const KEPT_BYTES: usize = 8 * 1024;

/// A line without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScrubbedLine<'a> {
    /// The line as it came in.
    pub raw: Cow<'a, [u8]>,
    /// The line without its secrets; borrowed where nothing was found and it was not held back.
    pub bytes: Cow<'a, [u8]>,
    /// What was replaced, in the order of the line. Of a secret in several lines the first has the placeholder, and the
    /// others have nothing in its place.
    pub findings: Vec<Finding>,
}

/// Scrubs lines one after the other. A private key that is printed line by line is known from its header on; deltas are held
/// back while what they say may be a part of a secret. What was given out is final.
#[derive(Debug)]
pub struct LineScrubber {
    scrubber: Scrubber,
    joins: bool,
    keys: PrivateKeyState,
    /// The lines since the one in which a private key began that is open.
    key_lines: Vec<Vec<u8>>,
    held: Vec<Held>,
    held_bytes: usize,
    texts: Vec<Text>,
}

#[derive(Debug)]
struct Held {
    raw: Vec<u8>,
    /// The text that it says a part of, where, and the part.
    piece: Option<(usize, usize, Piece)>,
}

/// A text that several lines say.
#[derive(Debug)]
struct Text {
    block: u64,
    scope: u64,
    bytes: Vec<u8>,
    is_open: bool,
}

impl Text {
    /// Tells whether a private key, or its header, goes on behind the first bytes.
    fn has_open_key(&self, count: usize) -> bool {
        let before = self.bytes.get(..count).unwrap_or_default();
        let mut keys = PrivateKeyState::default();
        keys.advance(before);
        let line = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
        keys.is_open() || memchr::memmem::find(before.get(line..).unwrap_or_default(), b"--").is_some()
    }
}

impl LineScrubber {
    /// Starts before the first line.
    pub fn new(scrubber: Scrubber) -> LineScrubber {
        let (keys, key_lines) = (PrivateKeyState::default(), Vec::new());
        let (held, texts) = (Vec::new(), Vec::new());
        LineScrubber { scrubber, joins: true, keys, key_lines, held, held_bytes: 0, texts }
    }

    /// Starts before lines that stand for themselves, as whole records do: none is held back.
    pub fn of_whole_records(scrubber: Scrubber) -> LineScrubber {
        LineScrubber { joins: false, ..LineScrubber::new(scrubber) }
    }

    /// Returns what it scrubs by.
    pub fn scrubber(&self) -> &Scrubber {
        &self.scrubber
    }

    /// Takes the next line, with or without its newline, and returns the lines that are final now, in their order.
    ///
    /// # Errors
    /// As [`Scrubber::scrub_line`]; what was held back stays so.
    pub fn push<'a>(&mut self, line: &'a [u8]) -> Result<Vec<ScrubbedLine<'a>>, RuleFailure> {
        if !self.joins {
            let own = self.scrubber.scrub_line(line)?;
            return Ok(vec![ScrubbedLine {
                raw: Cow::Borrowed(line),
                bytes: own.bytes,
                findings: own.findings,
            }]);
        }
        if self.held.is_empty() && !pieces::may_be_delta(line) {
            return Ok(vec![self.alone(line)?]);
        }
        let piece = self.take_in(body(line));
        if self.held.is_empty() && piece.is_none() {
            return Ok(vec![self.alone(line)?]);
        }
        self.held_bytes += line.len();
        self.held.push(Held { raw: line.to_vec(), piece });
        let is_full = self.held.len() >= HELD_LINES_MAX || self.held_bytes >= HELD_BYTES_MAX;
        let is_long = self.texts.iter().any(|text| text.bytes.len() >= TEXT_BYTES_MAX);
        if !self.texts.iter().any(|text| text.is_open) {
            return self.finish();
        }
        if is_full || is_long {
            return self.give_first();
        }
        Ok(Vec::new())
    }

    /// Returns what is held back: no line follows that could make a difference.
    ///
    /// # Errors
    /// As [`LineScrubber::push`].
    pub fn finish(&mut self) -> Result<Vec<ScrubbedLine<'static>>, RuleFailure> {
        let edits = self.edits()?;
        self.give(self.held.len(), &edits)
    }

    /// Returns the lines that are held back as they came in, and forgets them.
    pub fn take_held(&mut self) -> Vec<Vec<u8>> {
        self.texts.clear();
        self.held_bytes = 0;
        std::mem::take(&mut self.held).into_iter().map(|held| held.raw).collect()
    }

    /// Returns lines from which another scrubber knows what this one knows: those since a private key began that is open,
    /// and, to be given out by it, those that are held back.
    pub fn take_state(&mut self) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        (std::mem::take(&mut self.key_lines), self.take_held())
    }

    fn alone<'a>(&mut self, line: &'a [u8]) -> Result<ScrubbedLine<'a>, RuleFailure> {
        let own = self.scrub(line, &[])?;
        Ok(ScrubbedLine { raw: Cow::Borrowed(line), bytes: own.bytes, findings: own.findings })
    }

    /// Scrubs the next line that is given out.
    fn scrub<'a>(&mut self, line: &'a [u8], known: &[Edit]) -> Result<Scrubbed<'a>, RuleFailure> {
        let scrubbed = self.scrubber.scrub_line_with(line, known, &mut self.keys)?;
        if self.keys.is_open() {
            self.key_lines.push(line.to_vec());
        } else {
            self.key_lines.clear();
        }
        Ok(scrubbed)
    }

    /// Adds what a line says to its text; returns which text that is, where in it, and the piece.
    fn take_in(&mut self, line: &[u8]) -> Option<(usize, usize, Piece)> {
        match pieces::said(line) {
            Said::Delta { block, scope, piece } => Some(self.add((block, scope), piece)),
            Said::Ends { block, scope, all } => {
                for text in &mut self.texts {
                    text.is_open &= text.block != block && !(all && text.scope == scope);
                }
                None
            }
            Said::Passes => None,
        }
    }

    fn add(&mut self, (block, scope): (u64, u64), piece: Piece) -> (usize, usize, Piece) {
        let known = self.texts.iter().position(|text| text.block == block && text.is_open);
        let index = known.unwrap_or(self.texts.len());
        if known.is_none() {
            self.texts.push(Text { block, scope, bytes: Vec::new(), is_open: true });
        }
        let Some(text) = self.texts.get_mut(index) else { return (index, 0, piece) };
        let at = text.bytes.len();
        text.bytes.extend_from_slice(&piece.text);
        (index, at, piece)
    }

    /// Finds what has to be replaced in each line that is held back because of what the others say.
    fn edits(&self) -> Result<Vec<Vec<Edit>>, RuleFailure> {
        let mut found = Vec::with_capacity(self.texts.len());
        for text in &self.texts {
            found.push(self.scrubber.joined_edits(&text.bytes)?);
        }
        let of_line = |held: &Held| {
            let Some((index, at, piece)) = &held.piece else { return Vec::new() };
            let end = at + piece.text.len();
            let all = found.get(*index).map(Vec::as_slice).unwrap_or_default();
            let first = all.partition_point(|edit| edit.end <= *at);
            let own = all.iter().skip(first).take_while(|edit| edit.start < end);
            own.filter_map(|edit| part_of(edit, (*at, end), piece)).collect()
        };
        Ok(self.held.iter().map(of_line).collect())
    }

    /// Gives out the first lines of a long text, as far as no secret goes on behind them.
    fn give_first(&mut self) -> Result<Vec<ScrubbedLine<'static>>, RuleFailure> {
        let edits = self.edits()?;
        // What stays of each text, and whether a secret goes on into it.
        let mut behind = vec![0; self.texts.len()];
        let mut goes_on = vec![false; self.texts.len()];
        let mut count = self.held.len();
        while count > 0 {
            let Some((held, own)) = self.held.get(count - 1).zip(edits.get(count - 1)) else { break };
            if let Some((index, _, piece)) = &held.piece
                && let (Some(behind), Some(goes_on)) = (behind.get_mut(*index), goes_on.get_mut(*index))
            {
                *behind += piece.text.len();
                *goes_on = own.first().is_some_and(|edit| matches!(edit.what, What::Gone(_)));
            }
            count -= 1;
            let keeps = |(text, kept): (&Text, &usize)| {
                !text.is_open || *kept >= KEPT_BYTES.min(text.bytes.len() / 2)
            };
            // A text that began long ago and says nothing must not keep all that came since.
            let is_enough = count <= self.held.len() / 2 || self.texts.iter().zip(&behind).all(keeps);
            let has_open_key = || {
                let mut texts = self.texts.iter().zip(&behind).filter(|(text, _)| text.is_open);
                texts.any(|(text, kept)| text.has_open_key(text.bytes.len() - kept))
            };
            if is_enough && !goes_on.iter().any(|goes_on| *goes_on) && !has_open_key() {
                break;
            }
        }
        let count = if count == 0 { self.held.len() } else { count };
        self.give(count, &edits)
    }

    /// Gives out the first so many lines; the rest begins anew.
    fn give(&mut self, count: usize, edits: &[Vec<Edit>]) -> Result<Vec<ScrubbedLine<'static>>, RuleFailure> {
        let mut given = Vec::with_capacity(count);
        let lines = self.take_held();
        for (line, edits) in lines.iter().zip(edits).take(count) {
            let own = match self.scrub(line, edits) {
                Ok(own) => own,
                Err(failure) => {
                    self.held = lines.into_iter().map(|raw| Held { raw, piece: None }).collect();
                    return Err(failure);
                }
            };
            let bytes = Cow::Owned(own.bytes.into_owned());
            given.push(ScrubbedLine { raw: Cow::Owned(line.clone()), bytes, findings: own.findings });
        }
        for line in lines.into_iter().skip(count) {
            let piece = self.take_in(body(&line));
            self.held_bytes += line.len();
            self.held.push(Held { raw: line, piece });
        }
        Ok(given)
    }
}

fn body(line: &[u8]) -> &[u8] {
    let body = line.strip_suffix(b"\n").unwrap_or(line);
    body.strip_suffix(b"\r").unwrap_or(body)
}

/// Returns what an edit of a joined text is in one of its pieces: the placeholder stands where the secret begins.
fn part_of(edit: &Edit, (at, end): (usize, usize), piece: &Piece) -> Option<Edit> {
    let What::Secret(order) = edit.what else { return None };
    let (first, last) = (edit.start.max(at), edit.end.min(end));
    let (start, end) = piece.in_line(first - at, last - at);
    let what = if edit.start >= at { What::Secret(order) } else { What::Gone(order) };
    (start < end).then_some(Edit { start, end, what })
}
