//! What users said: verbatim, each text once; where they do not fit, long ones lose their middle and keep their demands.

use std::collections::HashSet;

use super::counted::{Counted, hash};
use super::draft::{Draft, Section};
use super::lines::{char_end, constrains, sentences};
use super::table::Table;

/// Characters that a text keeps at least: less of it says nothing.
const KEPT_CHARS_MIN: usize = 60;
/// Characters of the mark and the number before a text.
const NUMBER_CHARS: usize = 8;
/// Stands for what is left out.
const GAP: &str = " […] ";
/// Characters that prompts may take of any summary, however short it is.
const ROOM_CHARS_MIN: usize = 400;

pub(super) fn prompts(table: &mut Table<'_>, draft: &mut Draft<'_>, entries: &[Counted], chars: usize) {
    let mut seen = HashSet::new();
    let mut found: Vec<(usize, &str)> = Vec::new();
    for (at, entry) in entries.iter().enumerate().take(table.recent_from) {
        let own = entry.pieces.iter().filter_map(|piece| piece.prompt);
        for text in own.map(|span| entry.text(span)) {
            if seen.insert(hash(text.bytes())) {
                found.push((at, text));
            }
        }
    }
    let chars = chars.max(ROOM_CHARS_MIN).min(draft.left);
    let limit = limit(&found, chars);
    // The newest come first, so that they are there if not all fit.
    for (at, text) in found.iter().rev() {
        let line = format!("@{}: {}", draft.number(*at), clip(text, limit));
        draft.add(table, (Section::Prompts, *at, &line), chars);
    }
    draft.reverse(Section::Prompts);
}

/// Returns the length that all texts are cut to, so that they fit: short ones leave what they do not need to the long ones.
fn limit(found: &[(usize, &str)], chars: usize) -> usize {
    let mut lengths: Vec<usize> = found.iter().map(|(_, text)| text.chars().count() + NUMBER_CHARS).collect();
    lengths.sort_unstable();
    let mut rest = chars;
    for (at, length) in lengths.iter().enumerate() {
        let share = rest / (lengths.len() - at);
        if *length > share {
            return share.saturating_sub(NUMBER_CHARS).max(KEPT_CHARS_MIN);
        }
        rest -= length;
    }
    usize::MAX
}

/// Cuts a text to so many characters: its beginning, what it demands, its end.
fn clip(text: &str, chars: usize) -> String {
    if char_end(text, chars).is_none() {
        return text.to_owned();
    }
    let head_chars = chars / 2;
    let head = text.get(..char_end(text, head_chars).unwrap_or(text.len())).unwrap_or(text);
    let tail_chars = chars / 4;
    let all = text.chars().count();
    let tail_at = char_end(text, all - tail_chars).unwrap_or(text.len());
    let tail = text.get(tail_at..).unwrap_or_default();
    let mut left = chars.saturating_sub(head_chars + tail_chars + 3 * GAP.chars().count());
    let mut kept = vec![head.trim_end().to_owned()];
    let middle = text.get(head.len()..tail_at).unwrap_or_default();
    for sentence in sentences(middle).into_iter().filter(|sentence| constrains(sentence)) {
        let cost = sentence.chars().count() + 1;
        if cost <= left {
            left -= cost;
            kept.push(sentence.to_owned());
        }
    }
    kept.push(tail.trim_start().to_owned());
    kept.join(GAP).chars().take(chars).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_prompt_keeps_what_it_demands() {
        let filler = "Some words that tell nothing at all. ".repeat(40);
        let text = format!("Build it.\n{filler}You must never touch the file a.rs. {filler}Thank you.");
        let cut = clip(&text, 300);
        assert!(cut.starts_with("Build it.") && cut.ends_with("Thank you."), "{cut}");
        assert!(cut.contains("You must never touch the file a.rs."), "{cut}");
        assert!(cut.chars().count() <= 300);
        assert_eq!(clip("short", 300), "short");
    }

    #[test]
    fn short_prompts_leave_their_share_to_long_ones() {
        let long = "x".repeat(1_000);
        assert_eq!(limit(&[(0, "short"), (1, &long)], 500), 500 - 13 - NUMBER_CHARS);
        assert_eq!(limit(&[(0, "short")], 500), usize::MAX);
    }
}
