//! The bar of a prompt: which part is how large, how much of the budget it takes, and what the provider can reuse.
//!
//! Letters and signs that every terminal has; colour only repeats what they say.

use stemmata_api::v1::PromptTrace;

use crate::output::put;
use crate::output::style::Style;

/// Columns of the names of the lines.
const NAME_WIDTH: usize = 7;

/// Columns of the whole at least and at most.
const COLUMNS_MIN: usize = 20;
const COLUMNS_MAX: usize = 200;

/// What stands for parts, in their order. Further parts begin again.
const LETTERS: &[u8; 26] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// The colours of neighbours differ.
const STYLES: [Style; 5] = [Style::Id, Style::Branch, Style::Compaction, Style::Open, Style::Good];

/// Returns each candidate's letter, or `None` for one that is not in the prompt.
pub(super) fn letters(trace: &PromptTrace) -> Vec<Option<char>> {
    let mut letters = LETTERS.iter().cycle().map(|letter| char::from(*letter));
    trace.candidates.iter().map(|one| if one.tokens > 0 { letters.next() } else { None }).collect()
}

/// Returns the colour of a part.
pub(super) fn style(position: u64) -> Style {
    let at = usize::try_from(position % STYLES.len() as u64).unwrap_or_default();
    STYLES.get(at).copied().unwrap_or(Style::Plain)
}

/// Draws the bar, no line wider than the terminal.
pub(super) fn render(trace: &PromptTrace, columns: usize) -> String {
    let width = columns.clamp(COLUMNS_MIN, COLUMNS_MAX) - NAME_WIDTH;
    let mut text = String::new();
    put!(text, "{:<NAME_WIDTH$}{}\n", "prompt", parts(trace, width));
    if let Some(budget) = trace.budget.max_tokens {
        put!(text, "{:<NAME_WIDTH$}{}\n", "budget", against(trace.budget.final_tokens, budget, width));
    }
    if let Some(prefix) = trace.cached_prefix {
        let cached = scaled(prefix.chars, trace.chars, width);
        put!(text, "{:<NAME_WIDTH$}{}{}\n", "cached", "^".repeat(cached), ".".repeat(width - cached));
    }
    text
}

/// The parts by their tokens, over the whole width.
fn parts(trace: &PromptTrace, width: usize) -> String {
    let whole = trace.candidates.iter().fold(0_u64, |sum, one| sum.saturating_add(one.tokens));
    let (mut text, mut before) = (String::new(), 0_u64);
    for (one, letter) in trace.candidates.iter().zip(letters(trace)) {
        let Some(letter) = letter else { continue };
        let end = before.saturating_add(one.tokens);
        let own = scaled(end, whole, width) - scaled(before, whole, width);
        before = end;
        if own > 0 {
            text.push_str(&style(one.position).paint(&letter.to_string().repeat(own)));
        }
    }
    text
}

/// What is used of the budget. `!` is beyond it, and `|` is where it ends then.
fn against(used: u64, budget: u64, width: usize) -> String {
    if used <= budget {
        let own = scaled(used, budget, width);
        return format!("{}{}", "#".repeat(own), ".".repeat(width - own));
    }
    let end = scaled(budget, used, width).min(width - 1);
    format!("{}|{}", "#".repeat(end), Style::Error.paint(&"!".repeat(width - end - 1)))
}

/// Returns how many of `width` columns a part of a whole has.
fn scaled(part: u64, whole: u64, width: usize) -> usize {
    if whole == 0 {
        return 0;
    }
    let columns = u128::from(part.min(whole)) * width as u128 / u128::from(whole);
    usize::try_from(columns).unwrap_or(width)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use stemmata_api::v1::{
        CachedPrefix, PromptBudget, PromptCandidate, PromptDecision, PromptReason, PromptTruncation,
        PromptTurn,
    };

    use super::*;
    use crate::output::screen;

    fn candidate(position: u64, tokens: u64) -> PromptCandidate {
        PromptCandidate {
            id: format!("source:T:{position}"),
            section: "s".to_owned(),
            priority: "high".to_owned(),
            position,
            offset_chars: 0,
            decision: PromptDecision::Full,
            reason: PromptReason::Fits,
            variant: None,
            tokens,
            chars: tokens.saturating_mul(4),
            full_tokens: tokens,
            compact_tokens: None,
            room_tokens: None,
            cached: false,
            is_cut: false,
            items: Vec::new(),
        }
    }

    fn trace(tokens: &[u64], budget: Option<u64>, cached: Option<u64>) -> PromptTrace {
        let used = tokens.iter().fold(0_u64, |sum, one| sum.saturating_add(*one));
        PromptTrace {
            version: 1,
            mode: "full".to_owned(),
            turn: PromptTurn {
                ledger: None,
                agent: "a".to_owned(),
                role: "r".to_owned(),
                iteration: None,
                triggered_by: None,
                trigger_from: None,
                trigger_id: None,
            },
            after: None,
            through: None,
            counter: None,
            sources: tokens.len() as u64,
            budget: PromptBudget {
                max_tokens: budget,
                remaining_tokens: None,
                over_budget_tokens: 0,
                used_tokens: used,
                final_tokens: used,
            },
            sections: Vec::new(),
            candidates: (0..).zip(tokens).map(|(at, tokens)| candidate(at, *tokens)).collect(),
            chars: used.saturating_mul(4),
            truncation: PromptTruncation { applied: false, chars_max: None, before_chars: 0, after_chars: 0 },
            cached_prefix: cached.map(|chars| CachedPrefix { tokens: chars / 4, chars }),
        }
    }

    fn plain(trace: &PromptTrace, columns: usize) -> String {
        screen::finish(&render(trace, columns), false)
    }

    #[test]
    fn a_part_is_as_wide_as_it_is_large() {
        let shown = plain(&trace(&[10, 0, 20, 10], Some(160), Some(80)), 47);
        assert_eq!(
            shown,
            "prompt AAAAAAAAAABBBBBBBBBBBBBBBBBBBBCCCCCCCCCC\n\
             budget ##########..............................\n\
             cached ^^^^^^^^^^^^^^^^^^^^....................\n"
        );
        let over = plain(&trace(&[80], Some(60), None), 27);
        assert_eq!(over, "prompt AAAAAAAAAAAAAAAAAAAA\nbudget ###############|!!!!\n");
    }

    proptest! {
        #[test]
        fn the_bar_fits_any_width_and_is_plain_without_colour(
            tokens in prop::collection::vec(prop_oneof![Just(0), 1..9_u64, any::<u64>()], 0..70),
            budget in prop::option::of(1..u64::MAX),
            cached in prop::option::of(any::<u64>()),
            columns in 0..300_usize,
        ) {
            let shown = plain(&trace(&tokens, budget, cached), columns);
            prop_assert!(shown.is_ascii());
            for line in shown.lines() {
                prop_assert!(line.len() <= columns.clamp(COLUMNS_MIN, COLUMNS_MAX), "{line}");
            }
        }
    }
}
