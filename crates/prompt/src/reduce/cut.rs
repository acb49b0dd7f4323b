//! Texts within bounds. Characters are Unicode scalar values.

/// What ends a text that was cut.
const CUT: &str = "...";

/// Returns a text that has at most so many characters; one that was cut ends in three dots.
pub(super) fn cut(text: &str, chars_max: usize) -> String {
    // No text has more characters than bytes: most need no count.
    if text.len() <= chars_max || text.chars().nth(chars_max).is_none() {
        return text.to_owned();
    }
    let kept = chars_max.saturating_sub(CUT.len());
    let end = text.char_indices().nth(kept).map_or(text.len(), |(at, _)| at);
    let mut out = String::with_capacity(end + CUT.len());
    out.push_str(text.get(..end).unwrap_or_default());
    out.push_str(CUT);
    out
}

/// Returns a text on one line, white space collapsed, cut.
pub(super) fn line(text: &str, chars_max: usize) -> String {
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
    cut(&out, chars_max)
}
