//! Which entries of a context a compaction covers. Decides only; where a list may be split is `stemmata_prompt`'s.
//!
//! A border never lies within a tool group, and the entry behind it has an id that no other one of the window has.

use std::collections::{HashMap, HashSet};

use stemmata_model::{Entry, EntryId, EntryKind, Estimate, Role, Tokens, group_tools};
use stemmata_prompt::window::{Borders, KeepRecent, NothingToCompact, entry_tokens, split};

use super::refused;
use crate::error::{EngineError, Refusal, Result, Wanted};

/// What a compaction covers: positions in the window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Covered {
    /// The first entry that it covers; 0 covers from the beginning.
    pub from: usize,
    /// The first entry behind it.
    pub to: usize,
}

/// Splits a window into what is covered and what is kept. Who asks for a compaction wants one: where everything would be kept,
/// the older half is covered.
pub(super) fn recent(window: &[Entry], keep: KeepRecent) -> Result<Covered> {
    let nothing = |reason: &str| refused(Refusal::NothingToCompact, reason);
    let sizes: Vec<Tokens> = window.iter().map(|entry| entry_tokens(entry, &Estimate)).collect();
    let borders = borders(window);
    let found = split(&sizes, &borders, keep, true).map_err(|why| match why {
        NothingToCompact::OneGroup => nothing("it is one message, or one call with its results"),
        NothingToCompact::Empty | NothingToCompact::AllRecent => nothing("the context is empty"),
    })?;
    // An earlier summary alone is nothing to compact: what comes next goes with it.
    let has_some = |at: &usize| window.iter().take(*at).any(is_compactable);
    let mut further = (found.recent_from..window.len()).filter(|at| borders.may_split(*at));
    let to = further.find(has_some).ok_or_else(|| nothing("there is only a summary before what is kept"))?;
    Ok(Covered { from: 0, to })
}

/// Returns the first entry that a compaction keeps, of entries that are in no chain.
pub(crate) fn recent_of(window: &[Entry], keep: KeepRecent) -> Result<usize> {
    recent(window, keep).map(|covered| covered.to)
}

/// Finds what an earlier compaction of the window covered, by the entries of the context after it. `None` where it kept nothing
/// behind that, or split the window where we may not.
pub(super) fn as_earlier(window: &[Entry], after: &[Entry]) -> Option<Covered> {
    let stays: HashSet<&EntryId> = after.iter().map(|entry| &entry.id).collect();
    let is_kept = |at: &usize| window.get(*at).is_some_and(|entry| stays.contains(&entry.id));
    let is_gone = |entry: &Entry| is_compactable(entry) && !stays.contains(&entry.id);
    let first = window.iter().position(is_gone)?;
    let last = window.iter().rposition(is_gone)?;
    let from = (0..first).rev().find(is_kept).map_or(0, |at| at + 1);
    // A line that pins something stays wherever it is, and nothing begins with it.
    let is_seen = |at: &usize| window.get(*at).is_some_and(|entry| entry.meta.visibility.agent);
    let to = (last + 1..window.len()).find(|at| is_kept(at) && is_seen(at))?;
    let borders = borders(window);
    (borders.may_split(to) && (from == 0 || borders.may_split(from))).then_some(Covered { from, to })
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
        let not_found = || EngineError::NotFound { what: Wanted::EntryInContext, text: text.to_owned() };
        let at = found.next().ok_or_else(not_found)?;
        if found.next().is_some() {
            return Err(refused(Refusal::CompactRange, format!("entry `{text}` is in the context twice")));
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
    let borders = borders(window);
    if let Some(at) = [covered.from, covered.to].into_iter().find(|at| !borders.may_split(*at)) {
        return Err(refused(Refusal::CompactRange, why_not_at(window, numbers, at)));
    }
    let is_there = window.get(covered.from..covered.to).is_some_and(|range| range.iter().any(is_compactable));
    if is_there { Ok(covered) } else { Err(refused(Refusal::NothingToCompact, "the range holds no message")) }
}

/// Says why a range may not end before an entry, and where it could.
fn why_not_at(window: &[Entry], numbers: &HashMap<&EntryId, u64>, at: usize) -> String {
    let name = |at: usize| {
        let entry = window.get(at);
        let number = entry.and_then(|entry| numbers.get(&entry.id)).map(|number| format!("@{number}"));
        number.unwrap_or_else(|| entry.map_or_else(String::new, |entry| entry.id.to_string()))
    };
    let mut bounds = group_tools(window).into_iter().filter_map(|group| {
        let members = || group.calls.iter().chain(&group.results);
        Some((*members().min()?, *members().max()?))
    });
    match bounds.find(|(first, last)| (*first + 1..=*last).contains(&at)) {
        Some((first, last)) => {
            format!("the range splits a call from its results: they are at {} to {}", name(first), name(last))
        }
        None => format!(
            "{} at the end of the range belongs to the message before it, or has a duplicate id, or none",
            name(at)
        ),
    }
}

/// Returns where a window may be split.
fn borders(window: &[Entry]) -> Borders {
    let mut seen: HashMap<&EntryId, usize> = HashMap::new();
    for entry in window {
        *seen.entry(&entry.id).or_default() += 1;
    }
    // An id that was made of a line's bytes is not in the line, where a reader looks for it.
    let own = |entry: &Entry| seen.get(&entry.id) == Some(&1) && !entry.id.as_str().starts_with("line-");
    Borders::of(window).only_where(|at| window.get(at).is_some_and(own))
}

/// Returns whether a summary could stand for it: summaries stand for others already.
fn is_compactable(entry: &Entry) -> bool {
    let is_summary = matches!(entry.kind, EntryKind::CompactionSummary | EntryKind::ToolSummary);
    entry.meta.visibility.agent && entry.role != Role::System && !is_summary
}

#[cfg(test)]
mod tests;
