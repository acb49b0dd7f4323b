//! Values that a sentence tells: "the password is hunter2", "log in with user ann and password hunter2".

use super::lines::{MARKS, marks};
use super::{Form, Named, lines};
use crate::assignment::Assignments;
use crate::quotes::closes_string;
use crate::said::quoted_text;
use crate::value::Values;

/// Words between a name and its value at most: "password for the account of ann is now".
const WORDS_MAX: usize = 10;
/// Words that tell a value; behind some of them may stand anything else as well.
const TELLING: [&[u8]; 11] = [
    b"is",
    b"was",
    b"to",
    b"=",
    b"->",
    b"=>",
    b"-",
    b"\xe2\x86\x92",
    b"\xe2\x80\x93",
    b"\xe2\x80\x94",
    b"be",
];
/// Words that say of what it is.
const OF: [&[u8]; 6] = [b"for", b"of", b"on", b"in", b"will", b"has"];
/// Words between one that tells and the value.
const FILLERS: [&[u8]; 9] =
    [b"now", b"still", b"set", b"to", b"currently", b"just", b"simply", b"been", b"changed"];
/// Words before a name that stands right before its value.
const WITH: [&[u8]; 6] = [b"with", b"and", b"using", b"use", b"enter", b"pass"];

impl Assignments<'_> {
    /// Finds what a sentence says the value is.
    pub(super) fn in_sentence(self, of: Named<'_>, found: &mut Vec<(usize, usize)>) {
        let Some(told) = value_start(of) else { return };
        if !of.rest(told.at).trim_ascii().is_empty() {
            let is_value = |place: &_| told.is_sure || self.counts(of, *place, Values::is_told).is_some();
            found.extend(self.told(of, told.at).filter(is_value));
        } else if told.has_colon {
            self.on_next_line(of, (told.at, Form::Colon), found);
        }
    }

    /// Reads the value at `at`, quoted or a word: one that no word of a sentence looks like.
    pub(super) fn told(self, of: Named<'_>, at: usize) -> Option<(usize, usize)> {
        let rest = of.rest(at);
        let at = at + lines::marks(rest, b"*");
        if closes_string(of.text, at) {
            return None;
        }
        if let Some((start, end)) = quoted_text(of.text, at).filter(|(_, end)| *end <= of.line.end) {
            // Files and names of other things are quoted, too.
            let is_plain = |value: &[u8]| !value.iter().any(|byte| b"/._:-".contains(byte));
            return self.counts(of, (start, end), |values, value| {
                values.is_told(value) || (is_plain(value) && values.is_said(value) && !values.is_prose(value))
            });
        }
        let ends =
            |byte: &u8| byte.is_ascii_whitespace() || byte.is_ascii_control() || b"\"'`<>|\\".contains(byte);
        let rest = of.rest(at);
        let word = rest.get(..rest.iter().position(ends).unwrap_or(rest.len()))?;
        let mark = |byte: &&u8| b".,;:?*)]}".contains(byte);
        let marks = word.iter().rev().take_while(mark).count();
        self.counts(of, (at, at + word.len() - marks), Values::is_told)
    }
}

/// Where a sentence would tell a value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told {
    pub(super) at: usize,
    has_colon: bool,
    /// Whether it says that this is the value.
    is_sure: bool,
}

/// Finds where the value that a sentence tells would begin.
pub(super) fn value_start(of: Named<'_>) -> Option<Told> {
    let mut at = of.whole.end + marks_of(of.rest(of.whole.end));
    let (mut is_told, mut is_of) = (is_with(of.before()), false);
    let (mut has_colon, mut is_sure) = (false, false);
    for _ in 0..WORDS_MAX {
        let rest = of.rest(at);
        let word = rest.get(..rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len()))?;
        let bare = word.strip_suffix(b":").unwrap_or(word);
        let is_telling = TELLING.contains(&bare) || (is_told && FILLERS.contains(&bare));
        if !is_telling && (is_told || !(is_of || OF.contains(&bare))) {
            break;
        }
        is_of |= OF.contains(&bare);
        is_told |= is_telling;
        is_sure |= matches!(bare, b"is" | b"was" | b"=" | b"be" | b"->" | b"=>");
        at += word.len();
        at += rest.get(word.len()..)?.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        if bare.len() < word.len() {
            (has_colon, is_sure, is_told) = (true, true, true);
            break;
        }
    }
    (is_told && at > of.whole.end).then_some(Told { at, has_colon, is_sure })
}

/// Tells whether a sentence may tell a value, by the raw text around its name.
pub(super) fn may_tell(before: &[u8], rest: &[u8]) -> bool {
    let word = rest.get(..rest.iter().position(|byte| b" \t:\\\n".contains(byte)).unwrap_or(rest.len()));
    let word = word.unwrap_or_default();
    TELLING.contains(&word) || OF.contains(&word) || is_with(before)
}

/// Blanks after a name, and what ends its emphasis; none where there is no blank.
fn marks_of(rest: &[u8]) -> usize {
    let len = marks(rest, MARKS);
    let quotes = rest.iter().take(len).take_while(|byte| MARKS.contains(byte)).count();
    if len > quotes && rest.get(quotes).is_some_and(u8::is_ascii_whitespace) {
        quotes + blanks(rest, quotes)
    } else {
        0
    }
}

fn blanks(rest: &[u8], from: usize) -> usize {
    rest.iter().skip(from).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

fn is_with(before: &[u8]) -> bool {
    let word = before.strip_suffix(b" ").unwrap_or_default().rsplit(u8::is_ascii_whitespace).next();
    word.is_some_and(|word| WITH.contains(&word))
}
