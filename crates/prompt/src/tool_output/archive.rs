//! Which results of tools are archived when there are too many: the oldest tool groups, whole, never the newest result.

use std::collections::HashMap;

use stemmata_model::{Entry, EntryKind, Part};

use crate::guard::Groups;

/// A tool group that is archived: hidden from the model, still there for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedGroup {
    /// Its entries, ascending: calls and results.
    pub entries: Vec<usize>,
    /// The results in it.
    pub results: usize,
}

/// What is archived.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ArchivePlan {
    /// Groups that stand next to each other are summarized in one call.
    pub batches: Vec<Vec<ArchivedGroup>>,
    /// Visible results before.
    pub visible_before: usize,
    /// Visible results after. What may never go is not counted against the cutoff: with more pins than that the model would see no
    /// result but pinned ones and the newest.
    pub visible_after: usize,
    /// Why not more, or not less.
    pub reason: &'static str,
}

impl ArchivePlan {
    /// Returns every archived entry, batch by batch.
    pub fn entries(&self) -> impl Iterator<Item = usize> {
        self.batches.iter().flatten().flat_map(|group| group.entries.iter().copied())
    }
}

/// A tool group as it stands in the window. A result without its call is one by itself.
struct Standing {
    group: ArchivedGroup,
    may_go: bool,
    is_pinned: bool,
}

/// Returns how many visible results count against a cutoff: those of groups without a pinned entry.
pub fn counted_results(entries: &[Entry], is_pinned: &dyn Fn(usize) -> bool) -> usize {
    counted(&standing(entries, is_pinned))
}

fn counted(standing: &[Standing]) -> usize {
    standing.iter().filter(|standing| !standing.is_pinned).map(|standing| standing.group.results).sum()
}

/// Plans what to archive so that at most `cutoff` results are visible beside those of pinned groups; 0 or less archives nothing. A
/// group that waits for a result, and one with a pinned entry, stay.
pub fn plan_archive(entries: &[Entry], is_pinned: &dyn Fn(usize) -> bool, cutoff: i64) -> ArchivePlan {
    let standing = standing(entries, is_pinned);
    let visible_before: usize = standing.iter().map(|standing| standing.group.results).sum();
    let mut plan = ArchivePlan {
        visible_before,
        visible_after: visible_before,
        reason: "within the cutoff",
        ..ArchivePlan::default()
    };
    let Some(cutoff) = usize::try_from(cutoff).ok().filter(|cutoff| *cutoff > 0) else {
        plan.reason = "archiving is off";
        return plan;
    };
    let (mut left, mut is_neighbour) = (counted(&standing), false);
    for standing in standing {
        if left <= cutoff {
            break;
        }
        if !standing.may_go {
            is_neighbour = false;
            plan.reason = "what is left is pinned, waits for a result or is the newest";
            continue;
        }
        left -= standing.group.results;
        plan.visible_after -= standing.group.results;
        match plan.batches.last_mut().filter(|_| is_neighbour) {
            Some(batch) => batch.push(standing.group),
            None => plan.batches.push(vec![standing.group]),
        }
        is_neighbour = true;
    }
    if left <= cutoff && !plan.batches.is_empty() {
        plan.reason = "the oldest results above the cutoff";
    }
    plan
}

fn standing(entries: &[Entry], is_pinned: &dyn Fn(usize) -> bool) -> Vec<Standing> {
    let groups = Groups::of(entries);
    let mut standing: Vec<Standing> = Vec::new();
    let mut by_group: HashMap<u32, usize> = HashMap::new();
    let mut newest = None;
    for (at, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.meta.visibility.agent) {
        let group = groups.of_entry.get(at).copied().flatten();
        let results = match entry.kind {
            EntryKind::ToolResultArchived => 0,
            _ => entry.parts.iter().filter(|part| matches!(part, Part::ToolResult { .. })).count(),
        };
        if group.is_none() && results == 0 {
            continue;
        }
        let fresh = standing.len();
        let place = group.map_or(fresh, |group| *by_group.entry(group).or_insert(fresh));
        if place == fresh {
            let is_open = group.is_some_and(|group| groups.is_open.get(&group).copied().unwrap_or(false));
            standing.push(Standing {
                group: ArchivedGroup { entries: Vec::new(), results: 0 },
                may_go: !is_open,
                is_pinned: false,
            });
        }
        if let Some(standing) = standing.get_mut(place) {
            standing.group.entries.push(at);
            standing.group.results += results;
            standing.is_pinned |= is_pinned(at);
            standing.may_go &= !is_pinned(at);
        }
        if results > 0 {
            newest = Some(place);
        }
    }
    if let Some(newest) = newest.and_then(|newest| standing.get_mut(newest)) {
        newest.may_go = false;
    }
    standing.retain(|standing| standing.group.results > 0);
    standing
}

#[cfg(test)]
mod tests;
