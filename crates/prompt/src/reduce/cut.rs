//! Texts within bounds. Characters are Unicode scalar values.

/// What ends a text that was cut.
const CUT: &str = "...";

/// Returns a text that has at most so many characters; one that was cut ends in three dots.
pub(crate) fn cut(text: &str, chars_max: usize) -> String {
    cut_with(text, chars_max, CUT)
}

/// Returns a text on one line, white space collapsed, cut.
pub(super) fn line(text: &str, chars_max: usize) -> String {
    line_with(text, chars_max, CUT)
}

/// The same as [`cut`] with another end.
pub(super) fn cut_with(text: &str, chars_max: usize, end: &str) -> String {
    // No text has more characters than bytes: most need no count.
    if text.len() <= chars_max || text.chars().nth(chars_max).is_none() {
        return text.to_owned();
    }
    let kept = chars_max.saturating_sub(end.chars().count());
    let at = text.char_indices().nth(kept).map_or(text.len(), |(at, _)| at);
    let mut out = String::with_capacity(at + end.len());
    out.push_str(text.get(..at).unwrap_or_default());
    out.push_str(end);
    out
}

/// The same as [`line()`] with another end.
pub(super) fn line_with(text: &str, chars_max: usize, end: &str) -> String {
    let mut out = String::new();
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
        // Four bytes a character at most: what comes after cannot be within the bound.
        if out.len() > chars_max.saturating_mul(4) {
            break;
        }
    }
    cut_with(&out, chars_max, end)
}
