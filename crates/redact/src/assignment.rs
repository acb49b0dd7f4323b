//! Assignments: a name that says "secret", a sign, a value that could be one.
//! Reads `NAME=value`, `"name": "value"`, `--name value`, `<name>value<` and their escaped spellings, and nothing
//! that computes its value.

mod lead;
pub(crate) mod pairs;

use crate::bounds::ends_with_colour;
use crate::quotes::closes_string;
use crate::rules::{Name, Rules, ValueTest};
use crate::said::{Bare, SAID_BYTES_MAX, Sign, quoted_text};
use crate::value::Values;

/// Longest part of a name on either side of the word.
const NAME_BYTES_MAX: usize = 64;
/// Longest value looked at: cloud session tokens reach 2 KiB.
const VALUE_BYTES_MAX: usize = 4096;
/// Most quotes, escapes and blanks between a name and its value. JSON written by people aligns columns.
pub(crate) const GAP_BYTES_MAX: usize = 64;
/// Most raw bytes that one byte of a text takes after three levels of escaping: `\\\\\\\"` is eight.
const ESCAPED_BYTES: usize = 9;
/// Longest type between a name and its value, as in `token: Option<&'static str> = "…"`.
const TYPE_BYTES_MAX: usize = 40;

/// Whether a match must be exact, or may be unsure because the text is still escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Certainty {
    Exact,
    Possible,
}

impl Certainty {
    /// Returns how many bytes of a text those of a view may take.
    const fn reach(self, bytes: usize) -> usize {
        match self {
            Certainty::Exact => bytes,
            Certainty::Possible => bytes * ESCAPED_BYTES,
        }
    }
}

/// A keyword's place in a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hit {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// A name around a keyword, found secret-like.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whole {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// What a value is looked at for.
#[derive(Debug, Clone, Copy)]
struct Looking<'a> {
    whole: Whole,
    name: &'a Name,
    certainty: Certainty,
}

/// Decides about assignments under one rule set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Assignments<'a> {
    pub(crate) rules: &'a Rules,
}

impl Assignments<'_> {
    /// Finds the value of the name around `hit`: what is assigned to it, or stands in a member beside it.
    pub(crate) fn value(
        self,
        text: &[u8],
        hit: Hit,
        name: &Name,
        certainty: Certainty,
    ) -> Option<(usize, usize)> {
        let assigned = self.assigned(text, hit, name, certainty);
        assigned.or_else(|| self.paired(text, hit, name, certainty))
    }

    fn assigned(self, text: &[u8], hit: Hit, name: &Name, certainty: Certainty) -> Option<(usize, usize)> {
        let whole = self.whole_name(text, hit)?;
        // The letter of an escape before the name may look like a part of it.
        let glued = text.get(..whole.start)?.ends_with(b"\\");
        if self.is_other(text, hit, whole, name) && !(glued && certainty == Certainty::Possible) {
            return None;
        }
        let at = sign(text, whole, certainty)?;
        let start = at + blanks(text, at, certainty);
        let is_new = self.rules.edition.looks_beside();
        if is_new
            && certainty == Certainty::Exact
            && (closes_string(text, start) || lead::is_tag(text, start))
        {
            return None;
        }
        let at = if is_new { at + lead::some_len(text, at) } else { at };
        // Nearly anything counts behind such a name: what it is, a view says.
        if certainty == Certainty::Possible && name.spec.said && may_be_said(text, at, whole, name) {
            return Some((whole.end, at));
        }
        let typed =
            if text.get(..at)?.ends_with(b":") { annotation(text, at) } else { declaration(text, at) };
        let typed = typed.map(|len| at + len);
        let mut places = typed.into_iter().chain([at]);
        places.find_map(|at| self.value_behind(text, at, Looking { whole, name, certainty }))
    }

    /// Reads the value behind the sign that ends before `sign`.
    fn value_behind(self, text: &[u8], sign: usize, looking: Looking<'_>) -> Option<(usize, usize)> {
        let Looking { whole, name, certainty } = looking;
        if name.spec.said
            && let Some(place) = self.said(text, sign, looking)
        {
            return Some(place);
        }
        let value = read_value(text, sign + blanks(text, sign, certainty), certainty)?;
        if !is_set(text, sign, &value, looking) {
            return None;
        }
        let found = text.get(value.start..value.end)?;
        let after = text.get(value.end..).unwrap_or_default();
        let hides_more = || if value.quoted { found.contains(&b'\\') } else { goes_on_escaped(after) };
        if certainty == Certainty::Possible && hides_more() {
            return Some((value.start, value.end));
        }
        let passes = self.passes(text.get(whole.start..whole.end)?, name, found);
        // An escape in a value is resolved in the next view; here its letter would be part of a wrong value.
        (passes && !has_escape(found)).then_some((value.start, value.end))
    }

    /// Reads what is assigned to a name that says password, whatever it is.
    fn said(self, text: &[u8], at: usize, looking: Looking<'_>) -> Option<(usize, usize)> {
        let values = Values { placeholders: &self.rules.placeholders };
        let Looking { whole, name, .. } = looking;
        let before = text.get(..whole.start)?;
        let start = at + blanks(text, at, Certainty::Exact);
        let sign = sign_kind(text, whole, (at, start));
        // A bare `pass:` reports; behind a shell's backquote stands a command.
        let is_report = is_bare_word(whole.end - whole.start, name) && sign != Sign::Tight;
        if is_report || (sign == Sign::Tight && text.get(start) == Some(&b'`')) {
            return None;
        }
        if text.get(..at)?.ends_with(b",") {
            return self.argument(text, start, before);
        }
        if sign == Sign::Tag {
            let rest = text.get(start..)?.get(..SAID_BYTES_MAX).unwrap_or(text.get(start..)?);
            let len = memchr::memchr(b'<', rest).filter(|len| rest.get(len + 1) == Some(&b'/'))?;
            return values.is_said(rest.get(..len)?).then_some((start, start + len));
        }
        if let Some((start, end)) = quoted_text(text, start) {
            let found = text.get(start..end)?;
            return (values.is_said(found) && !has_escape(found)).then_some((start, end));
        }
        let rest = text.get(start..)?;
        if matches!(sign, Sign::Colon | Sign::Spaced)
            && let Some(len) = values.phrase_len(before, rest)
        {
            return Some((start, start + len));
        }
        let end = start + bare_len(rest, SAID_BYTES_MAX + 1)?;
        let (value, after) = (text.get(start..end)?, text.get(end..)?);
        let is_secret = values.is_said_bare(Bare { value, sign, before, after });
        // What goes on behind an escape is whole in the next view alone.
        (is_secret && !has_escape(value) && !goes_on_escaped(after)).then_some((start, end))
    }

    /// `define('DB_PASSWORD', 'hunter2')` sets; `"password", "…"` elsewhere lists words.
    fn argument(self, text: &[u8], start: usize, before: &[u8]) -> Option<(usize, usize)> {
        let values = Values { placeholders: &self.rules.placeholders };
        let quotes =
            before.iter().rev().take(GAP_BYTES_MAX).take_while(|byte| b"\\\"'`".contains(byte)).count();
        let is_call = before.get(..before.len() - quotes)?.ends_with(b"(");
        let (start, end) = quoted_text(text, start).filter(|_| is_call)?;
        let found = text.get(start..end)?;
        let has_digit = found.iter().any(u8::is_ascii_digit);
        (has_digit && values.is_said(found) && !has_escape(found)).then_some((start, end))
    }

    /// Decides about a field of a JSON object: the name must reach from `hit` to the end of the key.
    pub(crate) fn field(self, key: &[u8], hit: Hit, name: &Name, value: &[u8]) -> bool {
        self.whole_name(key, hit)
            .is_some_and(|whole| whole.end == key.len() && !self.is_other(key, hit, whole, name))
            && value.len() <= VALUE_BYTES_MAX
            && (self.is_said_field(key, name, value) || self.passes(key, name, value))
    }

    fn is_said_field(self, key: &[u8], name: &Name, value: &[u8]) -> bool {
        let values = Values { placeholders: &self.rules.placeholders };
        name.spec.said && !is_bare_word(key.len(), name) && values.is_said(value)
    }

    pub(crate) fn passes(self, whole: &[u8], name: &Name, value: &[u8]) -> bool {
        let values = Values { placeholders: &self.rules.placeholders };
        // A bare `token` that holds a UUID names a thing more often than it opens one.
        let is_bare = whole.eq_ignore_ascii_case(b"token") && name.spec.value == ValueTest::Random;
        values.passes(name.spec.value, value) && !(is_bare && is_uuid(value))
    }

    pub(crate) fn whole_name(self, text: &[u8], hit: Hit) -> Option<Whole> {
        let after = text.get(hit.end..)?;
        let tail = after.iter().take(NAME_BYTES_MAX).take_while(|byte| is_name_byte(**byte)).count();
        if !self.is_tail(after.get(..tail)?) {
            return None;
        }
        let before = text.get(..hit.start)?;
        let head = before.iter().rev().take(NAME_BYTES_MAX).take_while(|byte| is_name_byte(**byte)).count();
        let start = hit.start - head;
        // A colour right before a name is no part of it.
        let colour =
            text.get(start..hit.start)?.iter().position(|byte| *byte == b'm').map(|at| start + at + 1);
        let start = colour.filter(|at| text.get(..*at).is_some_and(ends_with_colour)).unwrap_or(start);
        Some(Whole { start, end: hit.end + tail })
    }

    /// Tells whether what stands before the word makes it another thing.
    pub(crate) fn is_other(self, text: &[u8], hit: Hit, whole: Whole, name: &Name) -> bool {
        let head = text.get(whole.start..hit.start).unwrap_or_default();
        self.is_excluded(head) || (name.spec.alone && !stands_alone(head.last(), text.get(hit.start)))
    }

    fn is_tail(self, tail: &[u8]) -> bool {
        let letters = || tail.iter().filter(|byte| !matches!(byte, b'_' | b'-')).map(u8::to_ascii_lowercase);
        tail.is_empty() || self.rules.tails.iter().any(|known| letters().eq(known.bytes()))
    }

    /// Tells whether the part before the word makes it another thing: `csrf_token`, `nextPageToken`.
    fn is_excluded(self, head: &[u8]) -> bool {
        let bare = head.iter().rposition(u8::is_ascii_alphanumeric).map_or(0, |last| last + 1);
        let bare = head.get(..bare).unwrap_or_default();
        let has_lower = bare.last().is_some_and(u8::is_ascii_lowercase);
        let starts_part =
            |byte: &u8| !byte.is_ascii_alphanumeric() || (has_lower && byte.is_ascii_uppercase());
        let from = bare.iter().rposition(starts_part).unwrap_or(0);
        let part = bare.get(from..).unwrap_or_default();
        let part = part.strip_prefix(b"_").or_else(|| part.strip_prefix(b"-")).unwrap_or(part);
        self.rules.not_after.iter().any(|word| part.eq_ignore_ascii_case(word.as_bytes()))
    }
}

/// `pass` alone reports more often than it sets; `db_pass` does not.
pub(crate) fn is_bare_word(bytes: usize, name: &Name) -> bool {
    name.spec.alone && bytes == name.spec.word.len()
}

/// `bypass` is one word; `smtpPass`, `SMTP_PASS` and `pass` hold the word itself.
fn stands_alone(before: Option<&u8>, first: Option<&u8>) -> bool {
    let Some(before) = before else { return true };
    !before.is_ascii_alphabetic() || before.is_ascii_lowercase() != first.is_some_and(u8::is_ascii_lowercase)
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_uuid(value: &[u8]) -> bool {
    let dashes = [8, 13, 18, 23];
    value.len() == 36
        && value
            .iter()
            .enumerate()
            .all(|(at, byte)| if dashes.contains(&at) { *byte == b'-' } else { byte.is_ascii_hexdigit() })
}

/// An escape that the next view resolves. A backslash before another letter is a backslash.
pub(crate) fn has_escape(value: &[u8]) -> bool {
    value.windows(2).any(|pair| matches!(pair, [b'\\', b'n' | b'r' | b't' | b'u' | b'"' | b'\\' | b'/']))
}

/// In a raw text the value goes on behind an escaped slash, and behind a letter that is spelled by its number; also
/// where one of these stands behind what would else end it.
fn goes_on_escaped(after: &[u8]) -> bool {
    let after = match after {
        [b'&' | b';' | b',', rest @ ..] => rest,
        _ => after,
    };
    let escapes = after.iter().take(GAP_BYTES_MAX).take_while(|byte| **byte == b'\\').count();
    escapes > 0 && matches!(after.get(escapes), Some(b'/' | b'u'))
}

/// Counts quotes, their escapes and blanks at the beginning; says whether a quote was among them.
fn gap(text: &[u8], certainty: Certainty, is_part: impl Fn(u8) -> bool) -> (usize, bool) {
    let (mut len, mut quoted) = (0, false);
    while len < certainty.reach(GAP_BYTES_MAX) {
        match text.get(len..).unwrap_or_default() {
            [b'\\', b't', ..] => len += 2,
            [b'\\', b'"' | b'\'' | b'\\' | b'`', ..] | [b' ' | b'\t', ..] => len += 1,
            [byte, ..] if is_part(*byte) => {
                quoted = true;
                len += 1;
            }
            _ => break,
        }
    }
    (len, quoted)
}

/// Tells whether the sign that ends before `sign` sets a value like this one.
fn is_set(text: &[u8], sign: usize, value: &Value, looking: Looking<'_>) -> bool {
    match text.get(..sign).unwrap_or_default().trim_ascii_end().last() {
        // `"TOKEN", "…"` is a call; `"TOKEN", other` is a list, and so are words beside each other.
        Some(b',') => value.quoted && looking.name.spec.value == ValueTest::Random,
        // `<password>@host` is a placeholder, `<password>…</password>` a value.
        Some(b'>') if text.get(looking.whole.end) == Some(&b'>') => text.get(value.end) == Some(&b'<'),
        // `PASS: Test7` is a report; `PASS=…` and `pass: "…"` set something.
        Some(b'=') => true,
        _ => value.quoted || !is_bare_word(looking.whole.end - looking.whole.start, looking.name),
    }
}

/// Reads the sign after a name; returns where it ends.
fn sign(text: &[u8], name: Whole, certainty: Certainty) -> Option<usize> {
    let rest = text.get(name.end..)?;
    let (len, quoted) = gap(rest, certainty, |byte| matches!(byte, b'"' | b'\'' | b'`' | b']'));
    let before = text.get(..name.start).unwrap_or_default().last();
    let is_flag =
        || memchr::memmem::find(text.get(name.start..name.end).unwrap_or_default(), b"--").is_some();
    let taken = match rest.get(len..)? {
        [b':', b':', b'=', ..] => 3,
        [b':', b':', b':', b'=', ..] => 4,
        [b':', b'=', ..] | [b'=', b'>', ..] | [b'?', b'=' | b'?', ..] | [b'|', b'|', ..] => 2,
        [b'=', b'=' | b'~', ..] | [b':', b':', ..] => return None,
        [b':' | b'=', ..] => 1,
        [b',', ..] if quoted => 1,
        [b'>', ..] if before == Some(&b'<') && !quoted => 1,
        // `--token value`: the dashes are part of the name; a quote behind the blanks is the value's.
        _ if is_flag() && blanks(text, name.end, certainty) > 0 => {
            return Some(name.end + blanks(text, name.end, certainty));
        }
        // `var token string = "…"`: a type may stand between.
        _ if declaration(text, name.end).is_some() => return Some(name.end),
        _ => return None,
    };
    Some(name.end + len + taken)
}

/// Tells whether anything is assigned by the sign that ends before `at` in a raw text. Errs on the side of yes.
fn may_be_said(text: &[u8], at: usize, whole: Whole, name: &Name) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let is_tight = before.ends_with(b"=");
    // Everything up to the closing tag is the value, whatever it begins with: an escape in it may make it look like a path.
    if before.ends_with(b">") && !before.ends_with(b"=>") {
        return true;
    }
    let start = at + blanks(text, at, Certainty::Possible);
    let rest = text.get(start..).unwrap_or_default();
    let escapes = rest.iter().take(GAP_BYTES_MAX).take_while(|byte| **byte == b'\\').count();
    let begins = match rest.get(escapes) {
        None | Some(b'$' | b'(' | b'[' | b'{' | b',' | b')' | b']' | b'}') => false,
        Some(b'n' | b'r') => escapes == 0,
        Some(_) => true,
    };
    begins && (is_tight || !is_bare_word(whole.end - whole.start, name))
}

/// Tells which sign stands between a name and the value at `start`; the sign itself ends before `at`.
fn sign_kind(text: &[u8], name: Whole, (at, start): (usize, usize)) -> Sign {
    let between = text.get(name.end..at).unwrap_or_default();
    match between.trim_ascii() {
        [] => Sign::Flag,
        [.., b'>'] if !between.contains(&b'=') => Sign::Tag,
        [.., b':'] => Sign::Colon,
        [.., b'='] if between == b"=" && start == at => Sign::Tight,
        [.., b'='] => Sign::Spaced,
        _ => Sign::Other,
    }
}

/// Counts the blanks at `at`; of a raw text the escaped ones too.
fn blanks(text: &[u8], at: usize, certainty: Certainty) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
    if certainty == Certainty::Exact {
        return rest.iter().take(GAP_BYTES_MAX).take_while(is_blank).count();
    }
    let mut len = 0;
    while len < certainty.reach(GAP_BYTES_MAX) {
        let rest = rest.get(len..).unwrap_or_default();
        let escapes = rest.iter().take(ESCAPED_BYTES).take_while(|byte| **byte == b'\\').count();
        len += match rest.get(escapes) {
            Some(b't') if escapes > 0 => escapes + 1,
            Some(b' ' | b'\t') if escapes == 0 => 1,
            _ => break,
        };
    }
    len
}

/// Returns the length of one word and the ` = ` after it, where both stand before a quoted value.
fn declaration(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?.strip_prefix(b" ")?;
    let is_type = |byte: &&u8| byte.is_ascii_alphanumeric() || b"&*_.".contains(byte);
    let word = rest.iter().take(TYPE_BYTES_MAX).take_while(is_type).count();
    let is_set = matches!(rest.get(word..)?, [b' ', b'=', b' ', b'"' | b'\'' | b'`' | b'\\', ..]);
    (word > 0 && is_set).then_some(word + 3)
}

/// Returns the length of a type and the `=` after it, where both stand before a quoted value.
fn annotation(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let is_type = |byte: &&u8| byte.is_ascii_alphanumeric() || b" &'<>[]?|_.".contains(byte);
    let len = rest.iter().take(TYPE_BYTES_MAX).take_while(is_type).count();
    let is_quoted = match rest.get(len..)? {
        [b'=', b' ', next, ..] | [b'=', next, ..] => matches!(next, b'"' | b'\'' | b'\\'),
        _ => false,
    };
    (is_quoted && rest.starts_with(b" ")).then_some(len + 1)
}

struct Value {
    start: usize,
    end: usize,
    quoted: bool,
}

fn read_value(text: &[u8], at: usize, certainty: Certainty) -> Option<Value> {
    let rest = text.get(at..)?;
    // b"…", r"…", f"…": the letter belongs to the quote.
    let prefix =
        usize::from(matches!(rest, [b'b' | b'r' | b'f' | b'u' | b'@' | b'L', b'"' | b'\'' | b'\\', ..]));
    let rest = rest.get(prefix..)?;
    let escapes = rest.iter().take(GAP_BYTES_MAX).take_while(|byte| **byte == b'\\').count();
    match rest.get(escapes) {
        Some(&quote @ (b'"' | b'\'' | b'`')) => {
            let start = at + prefix + escapes + 1;
            // A bare quote ends the JSON string around a value that is itself quoted otherwise.
            let outer = if certainty == Certainty::Possible { b'"' } else { quote };
            let most = certainty.reach(VALUE_BYTES_MAX);
            let len = quoted_len(text.get(start..)?, [quote, outer], escapes, most)?;
            Some(Value { start, end: start + len, quoted: true })
        }
        // What it begins with is known in a view alone.
        _ if certainty == Certainty::Possible && goes_on_escaped(rest) => {
            Some(Value { start: at, end: at + prefix, quoted: false })
        }
        _ if prefix == 0 && escapes == 0 => {
            let len = bare_len(rest, VALUE_BYTES_MAX)?;
            Some(Value { start: at, end: at + len, quoted: false })
        }
        _ => None,
    }
}

/// Measures a quoted value. The closing quote has as many backslashes as the opening one; fewer mean that the
/// string around it ends first. No blank may stand inside: that would be a sentence.
fn quoted_len(text: &[u8], [quote, outer]: [u8; 2], escapes: usize, most: usize) -> Option<usize> {
    let mut before = 0;
    for (at, &byte) in text.iter().take(most).enumerate() {
        match byte {
            b'\\' => before += 1,
            _ if byte == quote && before <= escapes => return Some(at - before),
            _ if byte == outer && before == 0 => return Some(at),
            b'"' if before < escapes => return Some(at - before),
            b' ' | b'\t' | b'\n' | b'\r' => return None,
            _ => before = 0,
        }
    }
    // The text ends inside the value: a torn line.
    (text.len() < most).then_some(text.len())
}

/// Measures an unquoted value, and refuses what goes on as code.
fn bare_len(text: &[u8], most: usize) -> Option<usize> {
    let window = text.get(..most.min(text.len()))?;
    let mut at = 0;
    while let Some(rest @ [byte, ..]) = window.get(at..) {
        match byte {
            b'(' | b'[' | b'{' => return None,
            b'$' if at == 0 => return None,
            b'=' if !ends_after_padding(rest) => return None,
            b'&' | b';' | b',' if is_separator(rest) => break,
            b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b')' | b']' | b'}' | b'|' => break,
            _ if byte.is_ascii_whitespace() || byte.is_ascii_control() => break,
            _ => at += 1,
        }
    }
    // `PASSWORD: WIN32_ERROR = 86` gives a type, not a value.
    let gap = blanks(text, at, Certainty::Exact);
    let is_type = gap > 0 && text.get(at + gap) == Some(&b'=');
    (at > 0 && at < most && !is_type).then_some(at)
}

/// `a=1&b=2`, `a=1;B=2`, `a=1; command`, `a:1,b:2`: the value ends. Elsewhere the byte is part of a password.
fn is_separator(rest: &[u8]) -> bool {
    let after = rest.get(1..).unwrap_or_default();
    let name =
        after.iter().take(NAME_BYTES_MAX).take_while(|byte| is_name_byte(**byte) || **byte == b' ').count();
    after.first().is_none_or(|byte| *byte <= b' ' || b"\"'\\".contains(byte))
        || matches!(after.get(name), Some(b'=' | b':'))
}

/// Base64 padding at the end of a value.
fn ends_after_padding(rest: &[u8]) -> bool {
    let padding = rest.iter().take(3).take_while(|byte| **byte == b'=').count();
    padding <= 2
        && rest.get(padding).is_none_or(|next| next.is_ascii_whitespace() || b"\"'`<\\),;&}]|".contains(next))
}
