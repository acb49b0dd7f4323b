//! The terms of a text: what an entry is found by, and what a query looks for.
//!
//! | term | of |
//! |---|---|
//! | `retri` | a part of an identifier or a word: lower case, its base if irregular, stemmed |
//! | `=parse_query` | an identifier of several parts, or a file name: lower case |
//! | `=search/mod.rs` | a file name with its folder: lower case |
//! | `~検索` | two neighbouring characters of a script without blanks |
//! | `поиск` | a word of another script: lower case, without diacritics; of Arabic and Hebrew also without prefixes |
//! | `@2023` | a date; see [`super::date_terms`] |

use std::collections::HashMap;
use std::ops::Range;

use super::{camel, files, irregular, scripts, stem};

/// What the rules of this module, of stemming and of the tables are: an index made with others is built anew.
pub const TERMS_VERSION: u32 = 5;
/// How many characters of an entry are indexed: long tool results repeat themselves, and lengths stay in 16 bits.
pub const ENTRY_CHARS_MAX: usize = 20_000;
/// Longer runs without an underscore are hashes or Base64; longer words and names are not words.
const WORD_BYTES_MAX: usize = 64;
/// Longer identifiers and file names are not indexed whole.
pub(super) const NAME_BYTES_MAX: usize = 128;
/// Shorter runs of hexadecimal digits are codes or words; `git` shortens hashes to as many.
const HASH_BYTES_MIN: usize = 7;
/// How far from its end a text is searched for a question mark.
const ASKS_CHARS: usize = 400;
/// Question marks: ASCII, Arabic, full width.
const QUESTION_MARKS: [char; 3] = ['?', '؟', '？'];

/// The terms of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// Terms in ascending order, each once, with how often it occurs.
    pub terms: Vec<(String, u16)>,
    /// The sum of the counts, but for names with their folder: these say once more what their parts say.
    pub length: u16,
    /// Whether the end of the text holds a question mark; counts as [`super::marks::ASKS`] for prompts and answers.
    pub asks: bool,
}

/// Returns the terms of an entry's text, without those of its date.
pub fn entry_terms(text: &str) -> Terms {
    // Words are counted as they are written, so that each is stemmed once.
    let mut counts: HashMap<String, u16> = HashMap::new();
    let mut length = 0_u16;
    scan_written(first_chars(text, ENTRY_CHARS_MAX), &mut |term, _| {
        length = length.saturating_add(u16::from(!has_folder(term)));
        if let Some(count) = counts.get_mut(term.as_str()) {
            *count = count.saturating_add(1);
        } else {
            counts.insert(term.clone(), 1);
        }
    });
    let mut terms: Vec<(String, u16)> = counts.into_iter().collect();
    for (term, _) in &mut terms {
        reduce(term);
    }
    terms.sort_unstable();
    terms.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.1 = kept.1.saturating_add(next.1);
        }
        is_same
    });
    let asks = text.chars().rev().take(ASKS_CHARS).any(|char| QUESTION_MARKS.contains(&char));
    Terms { terms, length, asks }
}

/// Returns whether a term is a file name with its folder.
fn has_folder(term: &str) -> bool {
    term.starts_with('=') && term.contains('/')
}

/// Returns the beginning of a text, cut between two characters.
pub(super) fn first_chars(text: &str, chars_max: usize) -> &str {
    if text.len() <= chars_max {
        return text;
    }
    let end = text.char_indices().nth(chars_max).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

/// Reports every term of a text with the bytes that it comes from: words first, then file names.
pub(super) fn scan(text: &str, found: &mut dyn FnMut(&str, Range<usize>)) {
    scan_written(text, &mut |term, range| {
        reduce(term);
        found(term, range);
    });
}

/// Replaces a written word by its base and its stem; other terms stay.
fn reduce(term: &mut String) {
    if let Some(base) = irregular::base(term) {
        base.clone_into(term);
    }
    stem::stem(term);
}

/// Reports every term as [`scan`] does, words with their endings.
fn scan_written(text: &str, found: &mut dyn FnMut(&mut String, Range<usize>)) {
    let mut scanner = Scanner { text, term: String::new(), found };
    let mut start = None;
    for (at, char) in text.char_indices() {
        let is_inside = if char.is_ascii() { is_name_byte(char) } else { scripts::is_word(char) };
        match start {
            None if is_inside => start = Some(at),
            Some(first) if !is_inside => {
                scanner.run(first..at);
                start = None;
            }
            _ => {}
        }
    }
    if let Some(first) = start {
        scanner.run(first..text.len());
    }
    files::scan(text, &mut |name, range| {
        scanner.term.clear();
        scanner.term.push('=');
        let slashed = name.chars().map(|char| if char == '\\' { '/' } else { char });
        scanner.term.extend(slashed.flat_map(char::to_lowercase));
        (scanner.found)(&mut scanner.term, range);
    });
}

/// Returns whether a run is a hash, or the beginning of one: its letters and digits are no words.
fn is_hash(run: &str) -> bool {
    let has = |is: fn(&u8) -> bool| run.as_bytes().iter().any(is);
    run.len() >= HASH_BYTES_MIN
        && run.bytes().all(|byte| byte.is_ascii_hexdigit())
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
}

/// Returns whether an ASCII character belongs to a word or identifier.
fn is_name_byte(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

struct Scanner<'a> {
    text: &'a str,
    /// The term that is being made.
    term: String,
    found: &'a mut dyn FnMut(&mut String, Range<usize>),
}

impl Scanner<'_> {
    /// Reports the terms of a run of letters, digits and underscores.
    fn run(&mut self, range: Range<usize>) {
        let text = self.text;
        let Some(run) = text.get(range.clone()) else { return };
        if run.is_ascii() {
            if !self.is_possessive(&range) {
                self.identifier(run, range.start, None);
            }
            return;
        }
        for (script, piece) in scripts::pieces(run) {
            let Some(word) = run.get(piece.clone()) else { continue };
            let range = range.start + piece.start..range.start + piece.end;
            if script != scripts::Script::Bigrams {
                self.word(word, &range);
            }
            if script != scripts::Script::Words {
                self.bigrams(word, range.start);
            }
        }
    }

    /// Returns whether a run is the `s` of `John's` before a blank, which is not a word.
    fn is_possessive(&self, range: &Range<usize>) -> bool {
        let (before, after) = (self.text.get(..range.start), self.text.get(range.end..));
        self.text.get(range.clone()) == Some("s")
            && before.is_some_and(|before| before.ends_with(['\'', '’']))
            && after.is_some_and(|after| after.starts_with(' '))
    }

    /// Reports an identifier of ASCII: whole where it has several parts, and its parts.
    ///
    /// `whole` is the range to report for text that is not the source's own bytes.
    fn identifier(&mut self, run: &str, start: usize, whole: Option<&Range<usize>>) {
        if run.len() > WORD_BYTES_MAX && !run.contains('_') {
            return;
        }
        let parts = camel::parts(run);
        if run.len() <= NAME_BYTES_MAX && parts.clone().nth(1).is_some() {
            self.begin("=", run);
            (self.found)(&mut self.term, whole.cloned().unwrap_or(start..start + run.len()));
        }
        if is_hash(run) {
            return;
        }
        for part in parts {
            let Some(word) = run.get(part.clone()) else { continue };
            if word.len() > WORD_BYTES_MAX {
                continue;
            }
            self.begin("", word);
            (self.found)(&mut self.term, whole.cloned().unwrap_or(start + part.start..start + part.end));
        }
    }

    /// Makes the term of ASCII text.
    fn begin(&mut self, prefix: &str, text: &str) {
        self.term.clear();
        self.term.push_str(prefix);
        self.term.push_str(text);
        self.term.make_ascii_lowercase();
    }

    /// Reports a word with letters beyond ASCII: `café` is `cafe`, `Поиск` is `поиск`.
    fn word(&mut self, word: &str, range: &Range<usize>) {
        let folded = scripts::fold(word);
        if folded.is_ascii() {
            self.identifier(&folded, range.start, Some(range));
        } else if folded.len() <= NAME_BYTES_MAX {
            for form in scripts::forms(&folded) {
                self.term.clear();
                self.term.push_str(form);
                (self.found)(&mut self.term, range.clone());
            }
        }
    }

    /// Reports neighbouring characters in pairs, and a character that stands alone.
    fn bigrams(&mut self, word: &str, start: usize) {
        let chars = scripts::whole_chars(word);
        // One that stands alone is a window of its own.
        for window in chars.windows(chars.len().clamp(1, 2)) {
            let (Some((_, first)), Some((_, last))) = (window.first(), window.last()) else { return };
            self.term.clear();
            self.term.push('~');
            self.term.extend(window.iter().map(|(char, _)| *char));
            (self.found)(&mut self.term, start + first.start..start + last.end);
        }
    }
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
