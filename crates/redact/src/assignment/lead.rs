//! What may stand between a sign and a quoted value: the `Some(` of Rust, a tag of YAML. What the value is, is not asked here.

/// Measures the `Some(` of Rust before a quoted value.
pub(super) fn some_len(text: &[u8], at: usize) -> usize {
    let some = text.get(at..).and_then(|rest| rest.strip_prefix(b" Some(".as_slice()));
    let is_quoted = some.is_some_and(|rest| matches!(rest.first(), Some(b'"' | b'\\')));
    if is_quoted { b" Some(".len() } else { 0 }
}

/// Tells whether a tag of YAML stands there, before a quoted text: it is no value itself.
pub(super) fn is_tag(text: &[u8], at: usize) -> bool {
    let Some([b'!', tag @ ..]) = text.get(at..) else { return false };
    let len = tag.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte)).count();
    len > 0 && matches!(tag.get(len..), Some([b' ', b'"' | b'\'' | b'\\', ..]))
}
