//! Passwords in URLs: `scheme://user:password@host`.
//! Not a URL parser: it looks only for what stands between the colon and the `@`.

use crate::value::Values;

/// Longest user and password looked at, a signed token as password included.
const USERINFO_BYTES_MAX: usize = 2048;
/// Backslashes before a slash, as nested JSON may write it.
const ESCAPES_MAX: usize = 16;
const SCHEME_BYTES_MIN: usize = 2;

/// Finds the password of the URL whose `:` before the slashes is at `colon`.
pub(crate) fn password(text: &[u8], colon: usize, values: Values<'_>) -> Option<(usize, usize)> {
    let (start, authority) = authority(text, colon)?;
    let rest = text.get(start..)?;
    let userinfo = rest.get(..memchr::memrchr(b'@', rest.get(..authority)?)?)?;
    let from = memchr::memchr(b':', userinfo)? + 1;
    let password = userinfo.get(from..)?;
    // Something must follow the `@`, or it is a text that ends in one.
    let has_host =
        rest.get(userinfo.len() + 1).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'[');
    let templated = userinfo.iter().any(|byte| matches!(byte, b'$' | b'{' | b'}' | b'*'));
    (has_host && !templated && values.is_placed_password(password))
        .then(|| (start + from, start + userinfo.len()))
}

/// Tells whether the URL in a raw text goes on in a view: behind a letter that is spelled by its number.
pub(crate) fn goes_on_escaped(raw: &[u8], colon: usize) -> bool {
    authority(raw, colon).is_some_and(|(start, len)| {
        let rest = raw.get(start + len..).unwrap_or_default();
        let escapes = rest.iter().take(ESCAPES_MAX).take_while(|byte| **byte == b'\\').count();
        escapes > 0 && rest.get(escapes) == Some(&b'u')
    })
}

/// Finds where user, password and host begin, and how many bytes could be theirs.
fn authority(text: &[u8], colon: usize) -> Option<(usize, usize)> {
    let before = text.get(..colon)?;
    let is_scheme = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    if before.iter().rev().take(SCHEME_BYTES_MIN).take_while(is_scheme).count() < SCHEME_BYTES_MIN {
        return None;
    }
    let start = after_slash(text, after_slash(text, colon + 1)?)?;
    let is_part = |byte: &&u8| !byte.is_ascii_whitespace() && !b"/?#\"'`<>\\(),;|".contains(byte);
    Some((start, text.get(start..)?.iter().take(USERINFO_BYTES_MAX).take_while(is_part).count()))
}

fn after_slash(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let escapes = rest.iter().take(ESCAPES_MAX).take_while(|byte| **byte == b'\\').count();
    (rest.get(escapes) == Some(&b'/')).then_some(at + escapes + 1)
}
