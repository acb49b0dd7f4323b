//! Whether a quote behind a name closes the string in which the name stands: `input('Password: ', x)`.
//! Reads one line backwards; what a value may be is not asked here.

/// Bytes before a quote in which its line is looked at.
const LINE_BYTES_MAX: usize = 2048;
/// Letters before a quote that belong to it at most: `rb'…'`.
const PREFIX_BYTES_MAX: usize = 2;

/// Tells whether the quote at `at`, maybe behind backslashes, closes a string that its line opened before. An odd number of the same
/// quotes, with as many backslashes, stands there, or the last of them opens a string by what stands around it: where the escapes of
/// JSON are resolved, its quotes are counted too. Behind it stands what stands behind strings; without this test one stray quote in a
/// line would hide a password.
pub(crate) fn closes_string(text: &[u8], at: usize) -> bool {
    let rest = text.get(at..).unwrap_or_default();
    let escapes = rest.iter().take(LINE_BYTES_MAX).take_while(|byte| **byte == b'\\').count();
    let Some(&quote) = rest.get(escapes).filter(|byte| b"\"'`".contains(byte)) else { return false };
    let behind = rest.get(escapes + 1..).unwrap_or_default();
    // Three open a text, also where the string around it is shown unescaped.
    if behind.starts_with(&[quote, quote]) || !stands_behind_strings(behind) {
        return false;
    }
    let before = text.get(at.saturating_sub(LINE_BYTES_MAX)..at).unwrap_or_default();
    let line = memchr::memrchr(b'\n', before).and_then(|end| before.get(end + 1..)).unwrap_or(before);
    let counts = |quote_at: &usize| {
        let (before, after) = line.split_at(*quote_at);
        before.iter().rev().take_while(|byte| **byte == b'\\').count() == escapes
            && !(quote == b'\'' && is_apostrophe(before, after.get(1)))
    };
    let quotes = || memchr::memchr_iter(quote, line).filter(counts);
    quotes().count() % 2 == 1 || quotes().next_back().is_some_and(|quote_at| opens(line, quote_at))
}

/// Tells whether a quote can only be one that opens a string: a bracket or a sign stands before it, a letter behind it.
fn opens(line: &[u8], quote_at: usize) -> bool {
    let (before, after) = line.split_at(quote_at);
    let escapes = before.iter().rev().take_while(|byte| **byte == b'\\').count();
    let before = before.get(..before.len() - escapes).unwrap_or_default();
    let is_sign = before.last().is_some_and(|byte| b" \t([{=,:+".contains(byte));
    is_sign && after.get(1).is_some_and(u8::is_ascii_alphabetic)
}

/// Tells whether code goes on there as it does behind a string, or its line ends.
fn stands_behind_strings(rest: &[u8]) -> bool {
    match rest {
        // `'Password: '.format(x)`, `"Password: "..x`.
        [b'.', next, ..] => next.is_ascii_alphabetic() || *next == b'.',
        [b'/', next, ..] => *next == b'>',
        [byte, ..] => *byte <= b' ' || b",)]};|?:<>+%&=\\\"'`".contains(byte),
        [] => true,
    }
}

/// `don't`, `bob's`; the letter of `f'…'` belongs to the quote.
fn is_apostrophe(before: &[u8], after: Option<&u8>) -> bool {
    let word = before.iter().rev().take(PREFIX_BYTES_MAX + 1).take_while(|byte| byte.is_ascii_alphanumeric());
    let len = word.clone().count();
    let is_prefix = len <= PREFIX_BYTES_MAX && word.clone().all(|byte| b"bBfFrRuUL".contains(byte));
    len > 0 && !is_prefix && after.is_some_and(u8::is_ascii_alphanumeric)
}
