//! The scrubber of lines that follow each other: a secret that stands in several of them is found in their texts, joined.
//! Which lines say parts of one text is `pieces`; what is a secret in it is the scrubber's.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::context::Contexts;
use crate::edits::{Edit, What};
use crate::pem::{self, PrivateKeyState};
use crate::pieces::{self, Piece, Said};
use crate::rules::RuleFailure;
use crate::scrubber::{Finding, Scrubbed, Scrubber};

/// Lines that are held back at most.
const HELD_LINES_MAX: usize = 4_096;
/// Bytes of lines that are held back at most.
const HELD_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes at the end of a long text that stay held back when what is before them goes, and bytes of what went that are still
/// known: longer than any secret that is no private key.
const KEPT_BYTES: usize = 8 * 1024;
/// Bytes of one joined text that are held back at most, and one line: so there is always a first line to give out.
const TEXT_BYTES_MAX: usize = pieces::LINE_BYTES_MAX + KEPT_BYTES;
/// Texts whose end is known when what they said was given out.
const TEXTS_MAX: usize = 64;

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
    held: Vec<Held>,
    held_bytes: usize,
    texts: Vec<Text>,
    contexts: Contexts,
}

/// What another scrubber needs to go on where one stopped. Holds what may be secrets: it is for memory and pipes, never for a
/// disk. Only the same program can read it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineState {
    keys: PrivateKeyState,
    texts: Vec<Text>,
    held: Vec<Vec<u8>>,
    /// A program before this field wrote what a running stream continues from.
    #[serde(default)]
    contexts: Contexts,
}

impl LineState {
    /// Returns the lines that were held back, where nobody can go on.
    pub fn into_held(self) -> Vec<Vec<u8>> {
        self.held
    }
}

#[derive(Debug)]
struct Held {
    raw: Vec<u8>,
    /// The text that it says a part of, where, and the part.
    piece: Option<(usize, usize, Piece)>,
}

/// A text that several lines say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Text {
    block: u64,
    scope: u64,
    /// Whether a private key is open where the bytes begin.
    keys: PrivateKeyState,
    /// The end of what was given out, for a secret that begins there or a name in front of it, and what is held back.
    bytes: Vec<u8>,
    /// How many of the bytes were given out.
    given: usize,
    /// How many lines were held back when one ended it.
    ended: Option<usize>,
}

impl Text {
    const fn is_open(&self) -> bool {
        self.ended.is_none()
    }

    const fn held_bytes(&self) -> usize {
        self.bytes.len() - self.given
    }

    /// Forgets what is held back, and of what was given out all but the end.
    fn keep_given(&mut self) {
        self.bytes.truncate(self.given);
        let gone = pem::cut_before(&self.bytes, self.given.saturating_sub(KEPT_BYTES));
        let rest = self.bytes.split_off(gone);
        self.keys.advance(&self.bytes);
        (self.bytes, self.given) = (rest, self.given - gone);
    }
}

impl LineScrubber {
    /// Starts before the first line.
    pub fn new(scrubber: Scrubber) -> LineScrubber {
        LineScrubber::resume(scrubber, LineState::default())
    }

    /// Starts where another one stopped.
    pub fn resume(scrubber: Scrubber, state: LineState) -> LineScrubber {
        let LineState { keys, texts, held, contexts } = state;
        let (joins, held_bytes) = (true, 0);
        let mut lines = LineScrubber { scrubber, joins, keys, held: Vec::new(), held_bytes, texts, contexts };
        for line in held {
            lines.hold(line);
        }
        lines
    }

    /// Starts where another one stopped that scrubs by other rules.
    #[must_use]
    pub fn going_on_from(self, state: LineState) -> LineScrubber {
        LineScrubber { joins: self.joins, ..LineScrubber::resume(self.scrubber, state) }
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
        if self.held.is_empty() && self.texts.is_empty() && !pieces::may_be_delta(line) {
            return Ok(vec![self.alone(line)?]);
        }
        let piece = self.take_in(body(line));
        if self.held.is_empty() && piece.is_none() {
            self.texts.retain(Text::is_open);
            return Ok(vec![self.alone(line)?]);
        }
        self.held_bytes += line.len();
        self.held.push(Held { raw: line.to_vec(), piece });
        let is_full = self.held.len() >= HELD_LINES_MAX || self.held_bytes >= HELD_BYTES_MAX;
        let is_long = self.texts.iter().any(|text| text.held_bytes() >= TEXT_BYTES_MAX);
        if !self.texts.iter().any(Text::is_open) {
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

    /// Stops, for another one to go on with the same rules: nothing is given out of what is held back.
    pub fn take_state(&mut self) -> LineState {
        let held = std::mem::take(&mut self.held);
        self.keep_given(&held, 0);
        let held = held.into_iter().map(|held| held.raw).collect();
        let (keys, texts) = (std::mem::take(&mut self.keys), std::mem::take(&mut self.texts));
        LineState { keys, texts, held, contexts: std::mem::take(&mut self.contexts) }
    }

    fn alone<'a>(&mut self, line: &'a [u8]) -> Result<ScrubbedLine<'a>, RuleFailure> {
        let own = self.scrub(line, &[])?;
        Ok(ScrubbedLine { raw: Cow::Borrowed(line), bytes: own.bytes, findings: own.findings })
    }

    /// Scrubs the next line that is given out.
    fn scrub<'a>(&mut self, line: &'a [u8], known: &[Edit]) -> Result<Scrubbed<'a>, RuleFailure> {
        let mut known = known.to_vec();
        let beside = self.contexts.take_in(&self.scrubber, body(line))?;
        // Within a key each line is known by what is open.
        if !self.keys.is_open() {
            known.extend(beside);
        }
        self.scrubber.scrub_line_with(line, &known, &mut self.keys)
    }

    /// Adds what a line says to its text; returns which text that is, where in it, and the piece.
    fn take_in(&mut self, line: &[u8]) -> Option<(usize, usize, Piece)> {
        match pieces::said(line) {
            Said::Delta { block, scope, piece } => Some(self.add((block, scope), piece)),
            Said::Ends { block, scope, all } => {
                let ends = |text: &&mut Text| text.block == block || (all && text.scope == scope);
                for text in self.texts.iter_mut().filter(ends) {
                    text.ended.get_or_insert(self.held.len());
                }
                None
            }
            Said::Passes => None,
        }
    }

    fn add(&mut self, (block, scope): (u64, u64), piece: Piece) -> (usize, usize, Piece) {
        let known = self.texts.iter().position(|text| text.block == block && text.is_open());
        let index = known.unwrap_or(self.texts.len());
        if known.is_none() {
            let (keys, bytes) = (PrivateKeyState::default(), Vec::new());
            self.texts.push(Text { block, scope, keys, bytes, given: 0, ended: None });
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
            let is_held = text.held_bytes() > 0;
            let edits = is_held.then(|| self.scrubber.joined_edits(&text.bytes, &text.keys));
            found.push(edits.transpose()?.unwrap_or_default());
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

    /// Gives out the first lines of a long text, as far as no secret goes on behind them if that is not too far back.
    fn give_first(&mut self) -> Result<Vec<ScrubbedLine<'static>>, RuleFailure> {
        let mut edits = self.edits()?;
        // What stays of each text, and whether a secret goes on into it.
        let mut behind = vec![0; self.texts.len()];
        let mut goes_on = vec![false; self.texts.len()];
        let mut by_size = None;
        for count in (1..self.held.len()).rev() {
            let Some((held, own)) = self.held.get(count).zip(edits.get(count)) else { break };
            if let Some((index, _, piece)) = &held.piece
                && let (Some(behind), Some(goes_on)) = (behind.get_mut(*index), goes_on.get_mut(*index))
            {
                *behind += piece.text.len();
                *goes_on = own.first().is_some_and(|edit| matches!(edit.what, What::Gone(_)));
            }
            let keeps = |(text, kept): (&Text, &usize)| {
                let is_long = text.held_bytes() >= TEXT_BYTES_MAX;
                let wanted = KEPT_BYTES.min(text.held_bytes() / 2);
                // A text that began long ago and says nothing must not keep all that came since.
                let is_few = !is_long && count <= self.held.len() / 2;
                !text.is_open() || is_few || *kept >= wanted
            };
            if by_size.is_none() && !self.texts.iter().zip(&behind).all(keeps) {
                continue;
            }
            let first = *by_size.get_or_insert(count);
            if count < first / 2 {
                break;
            }
            if !goes_on.iter().any(|goes_on| *goes_on) {
                by_size = Some(count);
                break;
            }
        }
        // A secret that goes on all the way is a private key: it is known behind the cut too.
        let count = by_size.unwrap_or(self.held.len());
        self.hide_unfinished(count, &mut edits);
        self.give(count, &edits)
    }

    /// Replaces the word in which a text is cut where nobody knows yet how it ends: it may be the first half of a token. Only a text of which far less is said than what stands between its parts is cut so: holding it back would mean
    /// to hold back all of that.
    fn hide_unfinished(&self, count: usize, edits: &mut [Vec<Edit>]) {
        let given = self.held.get(..count).unwrap_or(&self.held);
        for (index, text) in self.texts.iter().enumerate().filter(|(_, text)| text.is_open()) {
            let of_text = |held: &&Held| held.piece.as_ref().is_some_and(|(of, ..)| *of == index);
            let Some((_, at, piece)) = given.iter().rfind(of_text).and_then(|held| held.piece.as_ref())
            else {
                continue;
            };
            let cut = at + piece.text.len();
            let (said, behind) = text.bytes.split_at(cut.min(text.bytes.len()));
            // A word that ends behind the cut was looked at whole.
            if behind.len() >= KEPT_BYTES || behind.iter().any(u8::is_ascii_whitespace) {
                continue;
            }
            let word =
                said.iter().rev().take(KEPT_BYTES).take_while(|byte| !byte.is_ascii_whitespace()).count();
            let word = Edit { start: cut - word, end: cut, what: What::Secret(self.scrubber.unsure_order()) };
            for (held, edits) in given.iter().zip(edits.iter_mut()) {
                if let Some((of, at, piece)) = &held.piece
                    && *of == index
                {
                    edits.extend(part_of(&word, (*at, at + piece.text.len()), piece));
                }
            }
        }
    }

    /// Gives out the first so many lines; the rest begins anew.
    fn give(&mut self, count: usize, edits: &[Vec<Edit>]) -> Result<Vec<ScrubbedLine<'static>>, RuleFailure> {
        let mut given = Vec::with_capacity(count);
        let held = std::mem::take(&mut self.held);
        for (line, edits) in held.iter().zip(edits).take(count) {
            let own = match self.scrub(&line.raw, edits) {
                Ok(own) => own,
                Err(failure) => {
                    self.held = held;
                    return Err(failure);
                }
            };
            let bytes = Cow::Owned(own.bytes.into_owned());
            given.push(ScrubbedLine { raw: Cow::Owned(line.raw.clone()), bytes, findings: own.findings });
        }
        self.keep_given(&held, count);
        for Held { raw, .. } in held.into_iter().skip(count) {
            self.hold(raw);
        }
        Ok(given)
    }

    /// Forgets what the held lines say behind the first so many, and the texts that are whole there.
    fn keep_given(&mut self, held: &[Held], count: usize) {
        self.held_bytes = 0;
        let mut said = vec![false; self.texts.len()];
        for (index, at, piece) in held.iter().take(count).filter_map(|held| held.piece.as_ref()) {
            if let Some((text, said)) = self.texts.get_mut(*index).zip(said.get_mut(*index)) {
                (text.given, *said) = (at + piece.text.len(), true);
            }
        }
        let (mut idle, mut texts) = (Vec::new(), Vec::new());
        for (mut text, said) in std::mem::take(&mut self.texts).into_iter().zip(said) {
            if text.given > 0 && text.ended.is_none_or(|ended| ended >= count) {
                text.keep_given();
                text.ended = None;
                let of = if said { &mut texts } else { &mut idle };
                of.push(text);
            }
        }
        idle.append(&mut texts);
        self.texts = idle.split_off(idle.len().saturating_sub(TEXTS_MAX));
    }

    fn hold(&mut self, raw: Vec<u8>) {
        let piece = self.take_in(body(&raw));
        self.held_bytes += raw.len();
        self.held.push(Held { raw, piece });
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
