//! Passwords in URLs: `scheme://user:password@host`.
//! Not a URL parser: it looks only for what stands between the colon and the `@`.

use crate::value::Values;

/// Longest user and password looked at, a signed token as password included.
const USERINFO_BYTES_MAX: usize = 2048;
/// Longest password with bytes in it that a URL would spell, and its host: people write these.
const RESERVED_BYTES_MAX: usize = 256;
/// Backslashes before a slash, as nested JSON may write it.
const ESCAPES_MAX: usize = 16;
const SCHEME_BYTES_MIN: usize = 2;

/// Finds the password of the URL whose `:` before the slashes is at `colon`.
pub(crate) fn password(text: &[u8], colon: usize, values: Values<'_>) -> Option<(usize, usize)> {
    let (start, authority) = authority(text, colon)?;
    let rest = text.get(start..)?;
    let at = memchr::memrchr(b'@', rest.get(..authority)?).or_else(|| reserved(rest, b"\"'`<>\\"))?;
    let userinfo = rest.get(..at)?;
    let from = memchr::memchr(b':', userinfo)? + 1;
    let password = userinfo.get(from..)?;
    // Something must follow the `@`, or it is a text that ends in one.
    let has_host =
        rest.get(userinfo.len() + 1).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'[');
    let templated = userinfo.iter().any(|byte| matches!(byte, b'$' | b'{' | b'}' | b'*'));
    (has_host && !templated && values.is_placed_password(password))
        .then(|| (start + from, start + userinfo.len()))
}

/// Finds the `@` behind a password in which bytes stand that a URL would have to spell: `user:p#ss/w?rd@host`.
fn reserved(rest: &[u8], edges: &[u8]) -> Option<usize> {
    // `host/a:b@c` has a path.
    let is_user = |byte: &&u8| byte.is_ascii_alphanumeric() || b"._-+%~!".contains(byte);
    let colon = rest.iter().take(USERINFO_BYTES_MAX).take_while(is_user).count();
    let password = rest.get(colon..)?.strip_prefix(b":")?;
    // `host:8080/path@x` has a port.
    let digits = password.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if password.get(digits).is_none_or(|byte| b"/?#(),;|".contains(byte)) {
        return None;
    }
    let is_part = |byte: &&u8| **byte > b' ' && **byte != 0x7f && !edges.contains(byte);
    let len = password.iter().take(RESERVED_BYTES_MAX).take_while(is_part).count();
    let at = memchr::memchr(b'@', password.get(..len)?)?;
    let host = password.get(at + 1..len)?;
    let name = host.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b".-[]_".contains(byte)).count();
    let is_host = name > 0 && matches!(host.get(name), None | Some(b':' | b'/' | b'?' | b',' | b';' | b')'));
    is_host.then_some(colon + 1 + at)
}

/// Tells whether the URL in a raw text goes on in a view: behind a letter that is spelled by its number.
pub(crate) fn goes_on_escaped(raw: &[u8], colon: usize) -> bool {
    authority(raw, colon).is_some_and(|(start, len)| {
        let rest = raw.get(start + len..).unwrap_or_default();
        let escapes = rest.iter().take(ESCAPES_MAX).take_while(|byte| **byte == b'\\').count();
        let is_spelled = escapes > 0 && rest.get(escapes) == Some(&b'u');
        // Escaped slashes may stand in a password.
        is_spelled || raw.get(start..).is_some_and(|rest| reserved(rest, b"\"'`<>").is_some())
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
