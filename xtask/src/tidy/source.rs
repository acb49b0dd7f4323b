//! A Rust file told apart into code, comments and literals, so that a rule about code is not fooled by
//! a word in a string. Not a parser: it knows tokens and braces, which is all the rules need.

use std::ops::{Deref, Range};
use std::rc::Rc;

/// What a byte of a Rust file belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Code,
    /// A comment that documents nothing.
    Remark,
    /// `///`, `//!` and their block forms.
    Doc,
    Literal,
}

/// What a line is counted as: code beside a comment is code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineKind {
    Code,
    Doc,
    Remark,
    Blank,
}

/// One line of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) kind: LineKind,
    /// Whether it is part of an item that only tests compile.
    pub(crate) is_test: bool,
}

/// One Rust file. `code`, `production` and `comments` have the text's length and line breaks; all that
/// is not theirs is blank, so that an offset in one is an offset in all.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    /// Path in the repository.
    pub(crate) path: &'a str,
    /// The file as it is.
    pub(crate) text: &'a str,
    parts: Rc<Parts>,
}

/// What a file is told apart into. Each is as long as the file, with spaces for what it leaves out.
#[derive(Debug)]
pub(crate) struct Parts {
    /// Code without comments and literals.
    pub(crate) code: String,
    /// `code` without what only tests compile.
    pub(crate) production: String,
    /// Comments only.
    pub(crate) comments: String,
    classes: Vec<Class>,
    tests: Vec<Range<usize>>,
}

impl Deref for Source<'_> {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.parts
    }
}

impl Parts {
    pub(crate) fn of(path: &str, text: &str) -> Self {
        let classes = classify(text);
        let code = only(text, &classes, &[Class::Code]);
        let comments = only(text, &classes, &[Class::Remark, Class::Doc]);
        let tests = if is_test(path) { std::iter::once(0..code.len()).collect() } else { test_items(&code) };
        let production = blank(&code, &tests);
        Self { code, production, comments, classes, tests }
    }
}

impl<'a> Source<'a> {
    #[cfg(test)]
    pub(crate) fn new(path: &'a str, text: &'a str) -> Self {
        Self::told_apart(path, text, Rc::new(Parts::of(path, text)))
    }

    pub(super) fn told_apart(path: &'a str, text: &'a str, parts: Rc<Parts>) -> Self {
        Self { path, text, parts }
    }

    /// Returns the lines in order. A blank line within a literal is code: it is part of a value.
    pub(crate) fn lines(&self) -> Vec<Line> {
        let mut start = 0;
        let lines = self.text.split_inclusive('\n').map(|line| {
            let range = start..start + line.len();
            start = range.end;
            let is_test = self.tests.iter().any(|test| test.start < range.end && range.start < test.end);
            Line { kind: self.line_kind(range), is_test }
        });
        lines.collect()
    }

    fn line_kind(&self, range: Range<usize>) -> LineKind {
        let classes = self.classes.get(range.clone()).unwrap_or_default();
        let code = self.code.get(range).unwrap_or_default();
        match () {
            () if classes.contains(&Class::Literal) || !code.trim().is_empty() => LineKind::Code,
            () if classes.contains(&Class::Doc) => LineKind::Doc,
            () if classes.contains(&Class::Remark) => LineKind::Remark,
            () => LineKind::Blank,
        }
    }

    /// Returns whether only tests compile what stands at an offset.
    pub(crate) fn in_tests(&self, offset: usize) -> bool {
        self.tests.iter().any(|range| range.contains(&offset))
    }

    /// Returns every literal with the offset of its quote, its line continuations joined.
    pub(crate) fn literals(&self) -> Vec<(usize, String)> {
        let mut literals: Vec<(usize, String)> = Vec::new();
        let mut end = 0;
        for (at, character) in self.text.char_indices() {
            if self.classes.get(at) != Some(&Class::Literal) {
                continue;
            }
            match literals.last_mut().filter(|_| end == at) {
                Some((_, text)) => text.push(character),
                None => literals.push((at, character.to_string())),
            }
            end = at + character.len_utf8();
        }
        for (_, text) in &mut literals {
            let mut joined = String::new();
            for part in text.split("\\\n") {
                joined.push_str(if joined.is_empty() { part } else { part.trim_start() });
            }
            *text = joined;
        }
        literals
    }

    /// Returns the line of an offset, counted from 1.
    pub(crate) fn line(&self, offset: usize) -> usize {
        let before = self.text.as_bytes().iter().take(offset);
        1 + before.filter(|byte| **byte == b'\n').count()
    }
}

/// Returns whether a path is test code by its name: `tests.rs`, `*_tests.rs`, or below a `tests` folder.
pub(crate) fn is_test(path: &str) -> bool {
    let stem = path.strip_suffix(".rs").unwrap_or(path);
    stem.ends_with("/tests") || stem.ends_with("_tests") || path.contains("/tests/")
}

/// Returns the offsets where `needle` stands as whole words: no letter, digit or `_` joins its ends.
pub(crate) fn words(haystack: &str, needle: &str) -> Vec<usize> {
    let bytes = haystack.as_bytes();
    let joined = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(|byte| is_word(*byte));
    let starts_open = needle.as_bytes().first().is_none_or(|byte| !is_word(*byte));
    let ends_open = needle.as_bytes().last().is_none_or(|byte| !is_word(*byte));
    let hits = haystack.match_indices(needle).map(|(at, _)| at);
    hits.filter(|at| {
        (starts_open || !joined(at.checked_sub(1))) && (ends_open || !joined(Some(at + needle.len())))
    })
    .collect()
}

/// Returns the offset just behind the brace that closes the one at `open`, or the end of the code.
pub(crate) fn closing(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' if depth <= 1 => return at + 1,
            b'}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

/// Returns the offset of the `{` or `;` that ends an item's head, outside of any parentheses.
pub(crate) fn head_end(code: &str, start: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate().skip(start) {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b'{' | b';' if depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric()
}

/// Words that begin an item or a statement, behind its visibility.
const ITEM_WORDS: &[&str] = &[
    "async", "const", "enum", "extern", "fn", "impl", "let", "mod", "static", "struct", "trait", "type",
    "unsafe", "use",
];

/// Returns where what is under `#[cfg(test)]` or `#[cfg(all(test, …))]` stands: an item, or one element of a list, such
/// as a field, a variant or a match arm.
fn test_items(code: &str) -> Vec<Range<usize>> {
    let marks = ["#[cfg(test)]", "#[cfg(all(test"].into_iter().flat_map(|mark| code.match_indices(mark));
    let items = marks.map(|(start, _)| {
        let item = behind_attributes(code, start);
        let end = if is_item(code.get(item..).unwrap_or_default()) {
            match head_end(code, item) {
                Some(at) if code.as_bytes().get(at) == Some(&b'{') => closing(code, at),
                Some(at) => at + 1,
                None => code.len(),
            }
        } else {
            element_end(code, item)
        };
        // The last element of a list may have no comma; the line on which the list closes is not its own.
        start..code.get(..end).map_or(end, |until| until.trim_end().len())
    });
    items.collect()
}

/// Returns the offset of what the attributes that start at an offset belong to.
fn behind_attributes(code: &str, start: usize) -> usize {
    let mut at = start;
    loop {
        let rest = code.get(at..).unwrap_or_default();
        let item = rest.trim_start();
        at += rest.len() - item.len();
        if !item.starts_with("#[") {
            return at;
        }
        at = element_end(code, at + "#[".len()) + "]".len();
    }
}

/// Returns whether a text starts with an item or a statement. It ends with its block or its semicolon, where an element
/// of a list ends with its comma: the commas of `fn f<A, B>() {}` do not end it.
fn is_item(text: &str) -> bool {
    let first_word = |text: &str| text.bytes().take_while(|byte| is_word(*byte)).count();
    let behind = text.strip_prefix("pub").filter(|rest| rest.starts_with([' ', '('])).unwrap_or(text);
    let bare = match behind.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        Some((_, rest)) => rest,
        None => behind,
    };
    let bare = bare.trim_start();
    ITEM_WORDS.contains(&bare.get(..first_word(bare)).unwrap_or_default())
}

/// Returns the offset just behind the comma or semicolon of a list's element, or of what closes the list.
fn element_end(code: &str, start: usize) -> usize {
    let bytes = code.as_bytes();
    let before = |at: usize| at.checked_sub(1).and_then(|at| bytes.get(at)).copied().unwrap_or_default();
    let mut depth = 0_usize;
    let mut arm = false;
    for (at, byte) in code.bytes().enumerate().skip(start) {
        match byte {
            b'{' if depth == 0 => {
                // The block of a match arm needs no comma behind it.
                arm = at == start || code.get(start..at).is_some_and(|head| head.trim_end().ends_with("=>"));
                depth = 1;
            }
            b'(' | b'[' | b'{' => depth += 1,
            // Written as rustfmt does: `Vec<u8>` has no space before it and `a < b` has one.
            b'<' if is_word(before(at)) || before(at) == b':' => depth += 1,
            b'>' if matches!(before(at), b'-' | b'=' | b' ') => {}
            b'}' if depth == 1 && arm => return at + 1,
            b')' | b']' | b'}' if depth == 0 => return at,
            b')' | b']' | b'}' | b'>' => depth = depth.saturating_sub(1),
            b',' | b';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

/// Returns the text with spaces in these ranges; line breaks stay.
fn blank(text: &str, ranges: &[Range<usize>]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for range in ranges {
        let end = range.end.min(bytes.len());
        let range = bytes.get_mut(range.start..end).unwrap_or_default();
        range.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the text with spaces in place of all that is of no wanted class; line breaks stay.
fn only(text: &str, classes: &[Class], wanted: &[Class]) -> String {
    let bytes = text.bytes().zip(classes);
    let kept = bytes.map(|(byte, of)| if wanted.contains(of) || byte == b'\n' { byte } else { b' ' });
    String::from_utf8_lossy(&kept.collect::<Vec<u8>>()).into_owned()
}

/// Says of every byte what it belongs to. A text that is no Rust gives some answer of the right length.
fn classify(text: &str) -> Vec<Class> {
    let mut classes = Vec::with_capacity(text.len());
    let mut joined = false;
    while let Some(rest) = text.get(classes.len()..).filter(|rest| !rest.is_empty()) {
        let (length, class) = token(rest, joined);
        joined = rest.as_bytes().get(length - 1).is_some_and(|byte| is_word(*byte)) && class == Class::Code;
        classes.extend(std::iter::repeat_n(class, length));
    }
    classes
}

/// Returns the length, at least 1 and on a character's border, and the class of what a text starts with.
/// `joined` says that the byte before it is part of a word, so that no literal's prefix starts here.
fn token(rest: &str, joined: bool) -> (usize, Class) {
    if rest.starts_with("//") {
        return (rest.find('\n').unwrap_or(rest.len()), comment_class(rest));
    }
    if rest.starts_with("/*") {
        return (block_comment(rest), comment_class(rest));
    }
    let prefix = if joined { 0 } else { literal_prefix(rest) };
    let body = rest.get(prefix..).unwrap_or_default();
    let literal = match body.as_bytes().first() {
        Some(b'"') if rest.get(..prefix).is_some_and(|mark| mark.contains('r')) => raw_string(body),
        Some(b'#') if prefix > 0 => raw_string(body),
        Some(b'"') => Some(quoted(body)),
        Some(b'\'') => character(body),
        _ => None,
    };
    if let Some(length) = literal {
        return (prefix + length, Class::Literal);
    }
    // A word at once, and white space: nothing begins within.
    let run = |is_of: fn(&u8) -> bool| rest.bytes().take_while(is_of).count();
    let plain = run(|byte| is_word(*byte)).max(run(u8::is_ascii_whitespace));
    (plain.max(rest.chars().next().map_or(1, char::len_utf8)), Class::Code)
}

/// Returns whether a comment documents; `////` and `/***` are lines that people draw.
fn comment_class(comment: &str) -> Class {
    let is_inner = comment.starts_with("//!") || comment.starts_with("/*!");
    let is_outer = ["///", "/**"].into_iter().any(|mark| {
        let next = comment.strip_prefix(mark).and_then(|rest| rest.bytes().next());
        comment.starts_with(mark) && !matches!(next, Some(b'/' | b'*'))
    });
    if is_inner || is_outer { Class::Doc } else { Class::Remark }
}

/// Returns the length of `b`, `c`, `r`, `br` or `cr` before a quote or a `#`.
fn literal_prefix(rest: &str) -> usize {
    let fits = |prefix: &str| {
        let next = rest.strip_prefix(prefix).and_then(|tail| tail.bytes().next());
        let raw = next == Some(b'#') && prefix.ends_with('r');
        raw || next == Some(b'"') || (next == Some(b'\'') && prefix == "b")
    };
    let prefixes = ["br", "cr", "b", "c", "r"].into_iter();
    prefixes.filter(|prefix| fits(prefix)).map(str::len).next().unwrap_or(0)
}

/// Returns the length of a block comment; they nest.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(tail) = rest.get(at..).filter(|tail| !tail.is_empty()) {
        if tail.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if tail.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += tail.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// Returns the length of a string literal from its quote on.
fn quoted(body: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in body.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    body.len()
}

/// Returns the length of a raw string from its first `#` or quote on; a raw identifier is none.
fn raw_string(body: &str) -> Option<usize> {
    let hashes = body.bytes().take_while(|byte| *byte == b'#').count();
    let content = body.get(hashes..)?.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(content.find(&end).map_or(body.len(), |at| hashes + 1 + at + end.len()))
}

/// Returns the length of a character literal; a lifetime is none.
fn character(body: &str) -> Option<usize> {
    let mut characters = body.char_indices().skip(1);
    let (_, first) = characters.next()?;
    let (second_at, second) = characters.next()?;
    if first != '\\' {
        return (second == '\'').then_some(second_at + 1);
    }
    // Behind the backslash stands the escaped character itself, which may be a quote.
    characters.find(|(_, character)| *character == '\'').map(|(at, _)| at + 1)
}
