//! Cutting a text to a room: its beginning, or its beginning and end with a marker between them. Never within a character, and
//! never within the marker.

use super::limits::{Extent, Keep, Room};

/// Lines of room from which the end is kept too.
const HEAD_TAIL_LINES_MIN: usize = 3;

/// The marker may take at most this part of the room.
const MARKER_PART: usize = 4;

/// A text that was cut, and how much of it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CutText {
    pub(super) text: String,
    pub(super) shown: Extent,
}

/// Cuts a text to a room. What fits is returned as it is.
pub(super) fn cut_to(text: &str, room: Room, keep: Keep) -> CutText {
    let whole = Extent::of(text);
    if whole.lines <= room.lines && whole.bytes <= room.bytes && whole.chars <= room.chars {
        return CutText { text: text.to_owned(), shown: whole };
    }
    let with_tail = (keep == Keep::HeadTail).then(|| head_and_tail(text, whole, room)).flatten();
    with_tail.unwrap_or_else(|| {
        let head = first_lines(text, room.lines);
        let head = prefix(head, room.chars, room.bytes);
        CutText { text: head.to_owned(), shown: Extent::of(head) }
    })
}

/// Keeps both ends. `None` where the room is too small for a marker between them.
fn head_and_tail(text: &str, whole: Extent, room: Room) -> Option<CutText> {
    let cuts_lines = whole.lines > room.lines;
    if cuts_lines && room.lines < HEAD_TAIL_LINES_MIN {
        return None;
    }
    // With as many digits as it can have.
    let longest = marker(cuts_lines, if cuts_lines { whole.lines } else { whole.chars });
    if longest.len() > room.bytes / MARKER_PART || longest.len() > room.chars / MARKER_PART {
        return None;
    }
    let (head, tail) = if cuts_lines {
        let tail_lines = (room.lines - 1) / 2;
        (first_lines(text, room.lines - 1 - tail_lines), last_lines(text, tail_lines))
    } else {
        (text, text)
    };
    let room =
        |taken: Extent| (room.chars - longest.len() - taken.chars, room.bytes - longest.len() - taken.bytes);
    let (chars, bytes) = room(Extent::default());
    // Each end may have half; what the beginning leaves over goes to the end.
    let shortest = suffix(tail, chars / 2, bytes / 2);
    let (chars, bytes) = room(Extent::of(shortest));
    let head = prefix(head, chars, bytes);
    let (chars, bytes) = room(Extent::of(head));
    let tail = suffix(tail, chars, bytes);
    let (of_head, of_tail) = (Extent::of(head), Extent::of(tail));
    let lines = of_head.lines + of_tail.lines;
    let shown = Extent {
        lines: lines.min(whole.lines),
        bytes: of_head.bytes + of_tail.bytes,
        chars: of_head.chars + of_tail.chars,
    };
    let missing = if cuts_lines { whole.lines.saturating_sub(lines) } else { whole.chars - shown.chars };
    Some(CutText { text: format!("{head}{}{tail}", marker(cuts_lines, missing)), shown })
}

/// A marker of lines stands on a line of its own; one of characters stands within the line that it cuts, since another line
/// might be one too many.
fn marker(is_of_lines: bool, missing: usize) -> String {
    if is_of_lines {
        format!("\n... [truncated {missing} lines] ...\n")
    } else {
        format!("... [truncated {missing} chars] ...")
    }
}

fn first_lines(text: &str, lines: usize) -> &str {
    let end = match lines.checked_sub(1) {
        None => 0,
        Some(last) => text.match_indices('\n').nth(last).map_or(text.len(), |(at, _)| at),
    };
    text.get(..end).unwrap_or_default()
}

fn last_lines(text: &str, lines: usize) -> &str {
    let start = match lines.checked_sub(1) {
        None => text.len(),
        Some(last) => text.rmatch_indices('\n').nth(last).map_or(0, |(at, _)| at + 1),
    };
    text.get(start..).unwrap_or_default()
}

/// Returns the longest beginning within so many characters and bytes.
fn prefix(text: &str, chars: usize, bytes: usize) -> &str {
    let ends = text.char_indices().map(|(at, character)| at + character.len_utf8());
    let end = ends.take(chars).take_while(|end| *end <= bytes).last().unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

/// Returns the longest end within so many characters and bytes.
fn suffix(text: &str, chars: usize, bytes: usize) -> &str {
    let starts = text.char_indices().rev().map(|(at, _)| at);
    let start =
        starts.take(chars).take_while(|start| text.len() - start <= bytes).last().unwrap_or(text.len());
    text.get(start..).unwrap_or_default()
}

/// What stands where the middle of a text was left out.
const LEFT_OUT: &str = "\n... (truncated) ...\n";

/// Returns a text of at most so many characters, what stands for the left-out middle included: two thirds of its beginning and
/// a third of its end. Where that does not fit, its beginning.
pub fn head_tail(text: &str, chars_max: usize) -> String {
    // No text has more characters than bytes.
    if text.len() <= chars_max || text.chars().nth(chars_max).is_none() {
        return text.to_owned();
    }
    let room = chars_max.saturating_sub(LEFT_OUT.len());
    if room < LEFT_OUT.len() {
        return prefix(text, chars_max, usize::MAX).to_owned();
    }
    let tail = room / 3;
    format!("{}{LEFT_OUT}{}", prefix(text, room - tail, usize::MAX), suffix(text, tail, usize::MAX))
}
