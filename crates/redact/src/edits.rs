//! Replacements in a line: how findings become edits, and how edits of several passes become one set.
//! Finds nothing itself.

use std::borrow::Cow;
use std::cmp::Reverse;

use crate::scan::Span;

/// What stands for a signed block whose text held a secret: its signature would not fit any more.
pub(crate) const THINKING_BLOCK: &[u8] = br#"{"type":"text","text":"[REDACTED:thinking]"}"#;
pub(crate) const THINKING_KIND: &str = "thinking";

/// What replaces the bytes of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// The placeholder of the rule or name with this order.
    Secret(usize),
    /// What stands in this line of a secret that began in an earlier one, which has the placeholder.
    Gone(usize),
    /// A whole signed thinking block becomes a text block.
    Thinking,
    /// A whole string of signed reasoning.
    ThinkingText,
    /// The type of reasoning that is signed and says nothing any more: it is text from now on.
    PlainType,
}

impl What {
    /// A block swallows whatever lies in it; of secrets the earlier rule wins.
    fn rank(self) -> (bool, usize) {
        match self {
            What::Thinking | What::ThinkingText | What::PlainType => (false, 0),
            What::Secret(order) | What::Gone(order) => (true, order),
        }
    }

    /// Returns what stands there instead.
    pub(crate) fn replacement<'k>(self, kind: impl Fn(usize) -> &'k str) -> Cow<'static, [u8]> {
        match self {
            What::Secret(order) => placeholder(kind(order)).into_bytes().into(),
            What::Gone(_) => b"".as_slice().into(),
            What::Thinking => THINKING_BLOCK.into(),
            What::ThinkingText => placeholder(THINKING_KIND).into_bytes().into(),
            What::PlainType => b"text".as_slice().into(),
        }
    }
}

/// One replacement, in bytes of the line as it came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) what: What,
}

impl From<Span> for Edit {
    fn from(span: Span) -> Edit {
        Edit { start: span.start, end: span.end, what: What::Secret(span.order) }
    }
}

/// Makes edits disjoint: leftmost first, then longest, then the order of the rules. What overlaps is joined, so that
/// no end of a secret stays behind.
pub(crate) fn settle(mut edits: Vec<Edit>) -> Vec<Edit> {
    edits.retain(|edit| edit.start < edit.end);
    edits.sort_by_key(|edit| (edit.start, Reverse(edit.end), edit.what.rank()));
    let mut settled: Vec<Edit> = Vec::with_capacity(edits.len());
    for edit in edits {
        match settled.last_mut() {
            Some(last) if edit.start < last.end => {
                if matches!(edit.what, What::Thinking | What::ThinkingText) && last.what != What::Thinking {
                    last.what = edit.what;
                }
                last.end = last.end.max(edit.end);
            }
            _ => settled.push(edit),
        }
    }
    settled
}

/// Returns the line with its edits made.
pub(crate) fn apply<'k>(line: &[u8], edits: &[Edit], kind: impl Fn(usize) -> &'k str) -> Vec<u8> {
    let mut out = Vec::with_capacity(line.len());
    let mut at = 0;
    for edit in edits {
        out.extend_from_slice(line.get(at..edit.start).unwrap_or_default());
        out.extend_from_slice(&edit.what.replacement(&kind));
        at = edit.end;
    }
    out.extend_from_slice(line.get(at..).unwrap_or_default());
    out
}

/// Returns what stands for a secret of a kind.
pub(crate) fn placeholder(kind: &str) -> String {
    format!("[REDACTED:{kind}]")
}

/// Adds the edits of a later pass, given in bytes of the edited line, to those made before.
pub(crate) fn compose<'k>(made: &[Edit], later: &[Edit], kind: impl Fn(usize) -> &'k str) -> Vec<Edit> {
    // Where each made edit stands in the edited line.
    let (mut shift, mut placed) = (0isize, Vec::with_capacity(made.len()));
    for edit in made {
        let len = edit.what.replacement(&kind).len();
        let start = edit.start.saturating_add_signed(shift);
        placed.push((start, start + len, *edit));
        shift += len.cast_signed() - (edit.end - edit.start).cast_signed();
    }
    let before = |at: usize, inclusive: bool| {
        let known = placed.partition_point(|(start, ..)| if inclusive { *start <= at } else { *start < at });
        known.checked_sub(1).and_then(|index| placed.get(index)).copied()
    };
    let back = later.iter().map(|edit| {
        let start = match before(edit.start, true) {
            Some((_, end, made)) if edit.start < end => made.start,
            Some((_, end, made)) => made.end + (edit.start - end),
            None => edit.start,
        };
        let end = match before(edit.end, false) {
            Some((_, end, made)) if edit.end <= end => made.end,
            Some((_, end, made)) => made.end + (edit.end - end),
            None => edit.end,
        };
        Edit { start, end, what: edit.what }
    });
    settle(made.iter().copied().chain(back).collect())
}

#[cfg(test)]
mod tests {
    use super::{Edit, What, apply, compose, settle};

    const KINDS: [&str; 3] = ["a", "b", "c"];

    fn kind(order: usize) -> &'static str {
        KINDS[order]
    }

    fn edit(start: usize, end: usize, order: usize) -> Edit {
        Edit { start, end, what: What::Secret(order) }
    }

    #[test]
    fn overlaps_are_joined_under_the_first_name() {
        assert_eq!(settle(vec![edit(5, 9, 0), edit(2, 6, 2)]), [edit(2, 9, 2)]);
        assert_eq!(settle(vec![edit(2, 6, 2), edit(2, 6, 1)]), [edit(2, 6, 1)]);
        assert_eq!(settle(vec![edit(2, 6, 0), edit(2, 8, 1)]), [edit(2, 8, 1)]);
        assert_eq!(settle(vec![edit(2, 6, 0), edit(6, 8, 1)]), [edit(2, 6, 0), edit(6, 8, 1)]);
        let block = Edit { start: 0, end: 20, what: What::Thinking };
        assert_eq!(settle(vec![edit(2, 6, 0), block]), [block]);
    }

    #[test]
    fn passes_add_up() {
        let line = b"0123456789abcdefghij";
        let made = vec![edit(2, 4, 0), edit(10, 15, 1)];
        let once = apply(line, &made, kind);
        assert_eq!(once, b"01[REDACTED:a]456789[REDACTED:b]fghij");
        // «fg» behind the second placeholder, and «9» with a part of it.
        let later = vec![edit(32, 34, 2), edit(19, 22, 2)];
        let all = compose(&made, &later, kind);
        assert_eq!(all, [edit(2, 4, 0), edit(9, 15, 2), edit(15, 17, 2)]);
        assert_eq!(apply(line, &all, kind), b"01[REDACTED:a]45678[REDACTED:c][REDACTED:c]hij");
    }
}
