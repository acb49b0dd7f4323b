//! Which entries of a context a compaction covers. Decides only.
//!
//! A border never lies within a tool group, and the entry behind it has an id that no other one of the window has.

use std::collections::HashMap;

use stemmata_model::{
    Entry, EntryId, EntryKind, Estimate, IMAGE_TOKENS, Role, TokenCounter as _, Tokens, group_tools,
};

use super::refused;
use crate::error::{EngineError, Refusal, Result, Wanted};
use crate::search::text_of;

/// What stays as it is at the end of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepRecent {
    /// So many tokens at most, at least the last turn; if all turns fit, the newer half of the context.
    Tokens(Tokens),
    /// So many entries, rounded to whole turns or tool groups.
    Entries(usize),
    /// Nothing.
    Nothing,
}

/// What a compaction covers: positions in the window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Covered {
    /// The first entry that it covers; 0 covers from the beginning.
    pub from: usize,
    /// The first entry behind it, or the window's length if nothing is kept.
    pub to: usize,
}

/// Splits a window into what is covered and what is kept. The window module's `split` and its limits are to take this over.
pub(super) fn split(window: &[Entry], keep: KeepRecent) -> Result<Covered> {
    let nothing = || refused(Refusal::NothingToCompact, "nothing stands before the last turn");
    let borders = Borders::of(window);
    let to = match keep {
        KeepRecent::Nothing | KeepRecent::Entries(0) => window.len(),
        KeepRecent::Entries(count) => {
            let at = window.len().saturating_sub(count);
            borders.at_or_before(at).ok_or_else(nothing)?
        }
        KeepRecent::Tokens(tokens) => {
            let sizes: Vec<u64> = window.iter().map(|entry| size(entry).0).collect();
            borders.of_tokens(&sizes, tokens.0).ok_or_else(nothing)?
        }
    };
    if !window.iter().take(to).any(is_compactable) {
        return Err(nothing());
    }
    Ok(Covered { from: 0, to })
}

/// Finds a range by its first entry and the one behind it.
pub(super) fn range(
    window: &[Entry],
    numbers: &HashMap<&EntryId, u64>,
    (from, to): (&str, &str),
) -> Result<Covered> {
    let find = |text: &str| -> Result<usize> {
        let number = text.strip_prefix('@').and_then(|number| number.parse::<u64>().ok());
        let is_it = |entry: &Entry| match number {
            Some(number) => numbers.get(&entry.id) == Some(&number),
            None => entry.id.as_str() == text,
        };
        let mut found = (0..window.len()).filter(|at| window.get(*at).is_some_and(is_it));
        let not_found = || EngineError::NotFound { what: Wanted::Entry, text: text.to_owned() };
        let at = found.next().ok_or_else(not_found)?;
        if found.next().is_some() {
            return Err(refused(
                Refusal::CompactRange,
                format!("entry `{text}` stands in the context twice"),
            ));
        }
        Ok(at)
    };
    let covered = Covered { from: find(from)?, to: find(to)? };
    if covered.from >= covered.to {
        let reason = format!(
            "`{to}` does not come after `{from}`; a range is a first entry and the one behind its last"
        );
        return Err(refused(Refusal::CompactRange, reason));
    }
    let borders = Borders::of(window);
    for at in [covered.from, covered.to] {
        if let Some((first, last)) = borders.group_around(at) {
            let name = |at: usize| {
                let entry = window.get(at);
                let number = entry.and_then(|entry| numbers.get(&entry.id));
                number.map_or_else(
                    || entry.map_or_else(String::new, |entry| entry.id.to_string()),
                    |number| format!("@{number}"),
                )
            };
            let reason = format!(
                "the range splits a call from its results: they stand from {} to {}",
                name(first),
                name(last)
            );
            return Err(refused(Refusal::CompactRange, reason));
        }
        if !borders.is_own(at) {
            let reason = "an entry at the end of the range has an id that stands twice, or none".to_owned();
            return Err(refused(Refusal::CompactRange, reason));
        }
    }
    let is_there = window.get(covered.from..covered.to).is_some_and(|range| range.iter().any(is_compactable));
    if is_there { Ok(covered) } else { Err(refused(Refusal::NothingToCompact, "the range holds no message")) }
}

/// Returns whether a summary could stand for it: summaries stand for others already.
fn is_compactable(entry: &Entry) -> bool {
    let is_summary = matches!(entry.kind, EntryKind::CompactionSummary | EntryKind::ToolSummary);
    entry.meta.visibility.agent && entry.role != Role::System && !is_summary
}

/// Returns the estimated tokens of an entry.
pub(super) fn size(entry: &Entry) -> Tokens {
    if !entry.meta.visibility.agent {
        return Tokens(0);
    }
    let images = entry.parts.iter().filter(|part| matches!(part, stemmata_model::Part::Image { .. })).count();
    let images = u64::try_from(images).unwrap_or(u64::MAX).saturating_mul(IMAGE_TOKENS.0);
    Tokens(Estimate.count(&text_of(entry)).0.saturating_add(images))
}

/// Where a window may be split.
struct Borders {
    /// For each entry the tool group that it is within, not at its beginning.
    groups: Vec<Option<(usize, usize)>>,
    /// Where turns begin.
    turns: Vec<bool>,
    /// Entries whose id no other one has.
    own: Vec<bool>,
}

impl Borders {
    fn of(window: &[Entry]) -> Self {
        let mut groups = vec![None; window.len()];
        for group in group_tools(window) {
            let members = || group.calls.iter().chain(&group.results);
            let (Some(first), Some(last)) = (members().min(), members().max()) else { continue };
            for at in *first + 1..=*last {
                if let Some(inside) = groups.get_mut(at) {
                    *inside = Some((*first, *last));
                }
            }
        }
        let mut seen: HashMap<&EntryId, usize> = HashMap::new();
        for entry in window {
            *seen.entry(&entry.id).or_default() += 1;
        }
        // An id that was made of a line's bytes is not in the line, where a reader looks for it.
        let own = |entry: &Entry| seen.get(&entry.id) == Some(&1) && !entry.id.as_str().starts_with("line-");
        Self {
            groups,
            turns: window.iter().map(Entry::is_prompt).collect(),
            own: window.iter().map(own).collect(),
        }
    }

    fn group_around(&self, at: usize) -> Option<(usize, usize)> {
        self.groups.get(at).copied().flatten()
    }

    fn is_own(&self, at: usize) -> bool {
        self.own.get(at).copied().unwrap_or(false)
    }

    fn may_split(&self, at: usize) -> bool {
        self.group_around(at).is_none() && self.is_own(at)
    }

    fn is_turn(&self, at: usize) -> bool {
        self.may_split(at) && self.turns.get(at).copied().unwrap_or(false)
    }

    fn at_or_before(&self, at: usize) -> Option<usize> {
        (1..=at.min(self.groups.len().saturating_sub(1))).rev().find(|at| self.may_split(*at))
    }

    /// Returns the first kept entry where so many tokens are kept at most.
    fn of_tokens(&self, sizes: &[u64], tokens: u64) -> Option<usize> {
        let fits = |tokens: u64| {
            let mut kept = 0_u64;
            let fits = |size: &&u64| {
                kept = kept.saturating_add(**size);
                kept <= tokens
            };
            sizes.len() - sizes.iter().rev().take_while(fits).count()
        };
        let first = fits(tokens);
        let turns = |range: std::ops::Range<usize>| range.filter(|at| self.is_turn(*at));
        if first == 0 {
            // Everything would be kept: who asks for a compaction wants one.
            let half = fits(sizes.iter().sum::<u64>() / 2).max(1);
            return turns(half..sizes.len()).next().or_else(|| turns(1..half).next_back());
        }
        let last = sizes.len().saturating_sub(1);
        let at = (first.min(last)..sizes.len()).find(|at| self.may_split(*at));
        // A turn that lacks its beginning is worth less than a shorter one, where that is not much shorter.
        let kept = |at: usize| sizes.iter().skip(at).sum::<u64>();
        let near = at.and_then(|at| turns(at..sizes.len()).next().filter(|turn| kept(*turn) >= kept(at) / 2));
        // A last group that is larger than what is kept stays whole.
        near.or(at).or_else(|| (1..first.min(sizes.len())).rev().find(|at| self.may_split(*at)))
    }
}

#[cfg(test)]
mod tests;
