//! Private keys in PEM armour, whole, cut off, indented, quoted or numbered by a tool that showed the file.
//! Certificates and public keys are none of its business.

/// Longest armoured key looked at: an RSA key of 16,384 bits takes 13 KiB; escapes and line numbers may double it.
const PEM_BYTES_MAX: usize = 64 * 1024;
/// Longest `BEGIN` or `END` line.
const HEADER_BYTES_MAX: usize = 80;
/// A run of base64 this long is a line of a key; shorter runs are words.
const RUN_BYTES_MIN: usize = 16;
/// The shortest private key, an Ed25519 one, has 64 bytes of base64.
const KEY_BYTES_MIN: usize = 40;
/// The shortest run taken for a line of a key that a tool has split into strings.
pub(crate) const LINE_BYTES_MIN: usize = 16;

pub(crate) const BEGIN: &[u8] = b"-----BEGIN";
const END: &[u8] = b"-----END";
const DASHES: &[u8] = b"-----";

/// Returns where the header of a private key that begins at `at` ends.
pub(crate) fn header(text: &[u8], at: usize) -> Option<usize> {
    armour(text, at, BEGIN)
}

/// Tells whether a text opens a private key and does not close it.
pub(crate) fn is_left_open(text: &[u8]) -> bool {
    let opened = memchr::memmem::rfind(text, BEGIN).filter(|&at| header(text, at).is_some());
    opened.is_some_and(|at| memchr::memmem::find(text.get(at..).unwrap_or_default(), END).is_none())
}

/// Tells whether a text closes a key.
pub(crate) fn closes(text: &[u8]) -> bool {
    memchr::memmem::find(text, END).is_some()
}

/// Finds the key whose armour begins at `at`: to the end of its last line, or of its base64 where that is missing.
pub(crate) fn key(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let body = header(text, at)?;
    let (mut pos, mut total, mut end, mut on_new_line) = (body, 0, body, false);
    let limit = text.len().min(at + PEM_BYTES_MAX);
    while pos < limit {
        let rest = text.get(pos..limit)?;
        if rest.starts_with(DASHES) {
            return (total >= KEY_BYTES_MIN).then(|| (at, armour(text, pos, END).unwrap_or(end)));
        }
        let run = base64_run(rest);
        if run > 0 {
            pos += run;
            // The last line of a key is short: it counts when it follows long ones and nothing follows it.
            if run >= RUN_BYTES_MIN || (on_new_line && total >= KEY_BYTES_MIN && closes_key(rest.get(run..)?))
            {
                total += run;
                end = pos;
            }
            on_new_line = false;
        } else if rest.first().is_some_and(|byte| is_decoration(*byte)) {
            on_new_line |= matches!(rest.first(), Some(b'\n' | b'\\'));
            pos += 1;
        } else {
            break;
        }
    }
    (total >= KEY_BYTES_MIN).then_some((at, end))
}

/// Finds the base64 in a string that is one line of a key.
pub(crate) fn lines(text: &[u8]) -> Vec<(usize, usize)> {
    let (mut found, mut pos) = (Vec::new(), 0);
    while pos < text.len() {
        let rest = text.get(pos..).unwrap_or_default();
        if rest.starts_with(END) {
            break;
        }
        let run = base64_run(rest);
        // Diff marks are base64 too, and must stay.
        let mark = usize::from(pos == 0 && rest.first() == Some(&b'+'));
        if run >= LINE_BYTES_MIN + mark {
            found.push((pos + mark, pos + run));
        }
        pos += run.max(1);
    }
    found
}

fn armour(text: &[u8], at: usize, start: &[u8]) -> Option<usize> {
    let line = text.get(at..)?.strip_prefix(start)?;
    let line = line.get(..HEADER_BYTES_MAX).unwrap_or(line);
    let len = line
        .iter()
        .take_while(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || **byte == b' ')
        .count();
    let label = line.get(..len)?.strip_suffix(b" BLOCK").unwrap_or(line.get(..len)?);
    (label.ends_with(b"PRIVATE KEY") && line.get(len..)?.starts_with(DASHES))
        .then_some(at + start.len() + len + DASHES.len())
}

fn closes_key(rest: &[u8]) -> bool {
    let decoration = rest.iter().take_while(|byte| is_decoration(**byte) && **byte != b'-').count();
    rest.get(decoration..)
        .is_none_or(|rest| rest.is_empty() || rest.starts_with(DASHES) || matches!(rest, [b'n' | b'r', ..]))
}

/// Counts the base64 at the beginning; the letter of a `\n` before it is not part of it.
fn base64_run(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')).count()
}

/// What may stand between the lines of a key: blanks, quotes, escapes, line numbers and their arrows, diff marks.
fn is_decoration(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"\\\"'`,-:;.|>@#()[]*".contains(&byte) || byte >= 0x80
}
