//! What users said: verbatim, each text once; where they do not fit, long ones lose their middle and keep their demands.

use std::collections::HashSet;

use super::counted::{Counted, hash};
use super::draft::{Draft, Section, numbered, verbatim};
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
/// Characters of the section's title, with some to spare.
const TITLE_CHARS: usize = 24;

/// Where texts would be cut to fewer characters than these, the older ones do not come in at all: what is left of a text has no
/// room for a demand.
const CROWDED_CHARS: usize = 240;
/// What the first text may take of a crowded section, as a fraction: it is the task, and nothing later says it again.
const TASK_FRACTION: usize = 4;
/// The same of what users demand in texts that do not come in.
const DEMANDS_FRACTION: usize = 4;

pub(super) fn prompts(table: &mut Table<'_>, draft: &mut Draft<'_>, entries: &[Counted], chars: usize) {
    let mut seen = HashSet::new();
    let mut found: Vec<(usize, String)> = Vec::new();
    for (at, entry) in entries.iter().enumerate().take(table.recent_from) {
        let own = entry.pieces.iter().filter_map(|piece| piece.prompt);
        for text in own.map(|span| entry.text(span)) {
            if seen.insert(hash(text.bytes())) {
                found.push((at, verbatim(text)));
            }
        }
    }
    let found: Vec<(usize, &str)> = found.iter().map(|(at, text)| (*at, text.as_str())).collect();
    let chars = chars.max(ROOM_CHARS_MIN).min(draft.left);
    let limit = limit(&found, chars);
    let lines = match found.split_first() {
        Some((first, later)) if limit < CROWDED_CHARS => crowded(*first, later, chars),
        _ => found.iter().map(|(at, text)| (*at, clip(text, limit))).collect(),
    };
    draft.drop_many(Section::Prompts, found.len() - lines.len());
    // The first comes first and then the newest, so that they are there if not all fit.
    let numbered = lines.iter().map(|(at, text)| (*at, numbered(draft.number(*at), text)));
    let numbered: Vec<(usize, String)> = numbered.collect();
    let Some(((at, task), later)) = numbered.split_first() else { return };
    let has_task = draft.add(table, (Section::Prompts, *at, task), chars);
    for (at, line) in later.iter().rev() {
        draft.add(table, (Section::Prompts, *at, line), chars);
    }
    draft.reverse_behind(Section::Prompts, usize::from(has_task));
}

/// Chooses among more texts than fit, and returns them in their order: the task, what later texts demand, and of the rest the newest.
fn crowded<'t>(first: (usize, &'t str), later: &[(usize, &'t str)], chars: usize) -> Vec<(usize, String)> {
    let cost = |text: &str| text.chars().count() + NUMBER_CHARS + 1;
    let task = clip(first.1, (chars / TASK_FRACTION).saturating_sub(NUMBER_CHARS + 1).max(KEPT_CHARS_MIN));
    let mut left = chars.saturating_sub(TITLE_CHARS + cost(&task));
    let mut demands_left = left / DEMANDS_FRACTION;
    let mut demands: Vec<Option<String>> = vec![None; later.len()];
    for ((_, text), demand) in later.iter().zip(&mut demands).rev() {
        let own = demands_of(text);
        if !own.is_empty() && cost(&own) <= demands_left {
            demands_left -= cost(&own);
            left -= cost(&own);
            *demand = Some(own);
        }
    }
    let length = limit(later, left).max(CROWDED_CHARS);
    let mut chosen: Vec<(usize, String)> = Vec::new();
    for ((at, text), demand) in later.iter().zip(demands).rev() {
        let whole = clip(text, length);
        let refund = demand.as_deref().map_or(0, cost);
        let has_all = demand.as_deref().is_none_or(|demand| demand.split(GAP).all(|one| whole.contains(one)));
        if has_all && cost(&whole) <= left + refund {
            left = left + refund - cost(&whole);
            chosen.push((*at, whole));
        } else if let Some(demand) = demand {
            chosen.push((*at, demand));
        }
    }
    chosen.push((first.0, task));
    chosen.reverse();
    chosen
}

/// Returns the sentences of a text that demand or forbid something.
fn demands_of(text: &str) -> String {
    let own = sentences(text).into_iter().filter(|sentence| constrains(sentence));
    own.collect::<Vec<_>>().join(GAP)
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
    fn among_more_texts_than_fit_the_task_and_what_users_demand_stay() {
        let task = "Move the billing service to the new ledger.";
        let texts: Vec<String> = (1..400)
            .map(|number| match number {
                200 => "Look at this one. You must never write to the invoices table. Go ahead.".to_owned(),
                _ => format!("Go ahead with number {number}, and say how it went when it is done, please."),
            })
            .collect();
        let later: Vec<(usize, &str)> =
            texts.iter().enumerate().map(|(at, text)| (at + 1, text.as_str())).collect();
        let kept = crowded((0, task), &later, 3_000);
        assert_eq!(kept.first(), Some(&(0, task.to_owned())));
        let demand = "You must never write to the invoices table.";
        assert!(kept.iter().any(|(at, text)| *at == 200 && text.contains(demand)), "{kept:?}");
        assert_eq!(kept.last(), later.last().map(|(at, text)| (*at, (*text).to_owned())).as_ref());
        assert!(kept.is_sorted_by_key(|(at, _)| *at));
        let chars: usize = kept.iter().map(|(_, text)| text.chars().count() + NUMBER_CHARS + 1).sum();
        assert!((2_800..=3_000 - TITLE_CHARS).contains(&chars), "{chars}");
    }

    #[test]
    fn short_prompts_leave_their_share_to_long_ones() {
        let long = "x".repeat(1_000);
        assert_eq!(limit(&[(0, "short"), (1, &long)], 500), 500 - 13 - NUMBER_CHARS);
        assert_eq!(limit(&[(0, "short")], 500), usize::MAX);
    }
}
