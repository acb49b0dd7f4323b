//! Where a conversation is split: what is summarized, and what is kept as it is. Never within a tool group.

use stemmata_model::{Entry, Tokens};
use thiserror::Error;

use crate::guard::Groups;

/// What may begin at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Border {
    /// A tool group goes on there.
    None,
    /// An entry or a tool group begins.
    Group,
    /// A turn begins.
    Turn,
}

/// The places at which a list of entries can be split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Borders {
    borders: Vec<Border>,
}

impl Borders {
    /// Reads the borders of entries: within no tool group and no message.
    pub fn of(entries: &[Entry]) -> Self {
        let groups = Groups::of(entries);
        let mut ends: std::collections::HashMap<u32, usize> = std::collections::HashMap::new();
        for (at, group) in groups.of_entry.iter().enumerate() {
            ends.extend(group.map(|group| (group, at)));
        }
        // The last entry of any group that has begun.
        let mut inside = 0;
        let border = |(at, entry): (usize, &Entry)| {
            let border = match (at > 0 && at <= inside, entry.is_prompt()) {
                (true, _) => Border::None,
                (false, true) => Border::Turn,
                (false, false) => Border::Group,
            };
            let group = groups.of_entry.get(at).copied().flatten();
            inside = inside.max(group.and_then(|group| ends.get(&group)).copied().unwrap_or(0));
            border
        };
        Self { borders: entries.iter().enumerate().map(border).collect() }
    }

    /// Returns borders of so many messages that nothing ties together.
    pub fn of_messages(count: usize) -> Self {
        Self { borders: vec![Border::Turn; count] }
    }

    /// Takes away the places before which nothing may begin for another reason.
    #[must_use]
    pub fn only_where(mut self, may: impl Fn(usize) -> bool) -> Self {
        for (at, border) in self.borders.iter_mut().enumerate() {
            if !may(at) {
                *border = Border::None;
            }
        }
        self
    }

    /// Says whether a list may be split before a place.
    pub fn may_split(&self, at: usize) -> bool {
        self.borders.get(at).is_some_and(|border| *border != Border::None)
    }
}

/// What is kept of the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepRecent {
    /// So many tokens at most; at least the last entry with its group.
    Tokens(Tokens),
    /// So many entries.
    Entries(usize),
}

/// Where a list is split, and why there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// The first entry that is kept; what is before it is summarized.
    pub recent_from: usize,
    /// Tokens that are summarized.
    pub old: Tokens,
    /// Tokens that are kept.
    pub recent: Tokens,
    /// Whether everything would have been kept, and the window is over its limit.
    pub is_forced: bool,
    /// Why there.
    pub reason: &'static str,
}

/// Why there is nothing to summarize.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NothingToCompact {
    /// Everything is recent, and the window is within its limit.
    #[error("everything is within what is kept, and the window is within its limit")]
    AllRecent,
    /// There is nothing.
    #[error("the conversation is empty")]
    Empty,
    /// The window is over its limit, and is one message or tool group.
    #[error(
        "the window is one message or tool group, which can't be split: shorten the output of the tool, or start a new session"
    )]
    OneGroup,
}

/// Splits a list of entries with these sizes. Where `is_over`, the window is over its limit and something is summarized even
/// if all would be kept.
///
/// # Errors
/// [`NothingToCompact`] says why nothing is.
pub fn split(
    sizes: &[Tokens],
    borders: &Borders,
    keep: KeepRecent,
    is_over: bool,
) -> Result<Split, NothingToCompact> {
    let Some(last) = sizes.len().checked_sub(1) else { return Err(NothingToCompact::Empty) };
    let kept_from = |at: usize| -> Tokens { sizes.iter().skip(at).copied().sum() };
    let made = |recent_from: usize, is_forced, reason| {
        let old = sizes.iter().take(recent_from).copied().sum();
        Split { recent_from, old, recent: kept_from(recent_from), is_forced, reason }
    };
    let first = match keep {
        KeepRecent::Tokens(tokens) => walk_back(sizes, tokens).min(last),
        KeepRecent::Entries(count) => sizes.len().saturating_sub(count.max(1)),
    };
    if first > 0 {
        let at = (first..=last).find(|at| borders.may_split(*at));
        if let Some(at) = at.map(|at| turn_near(sizes, borders, at)) {
            return Ok(made(at, false, "what is kept fits what is kept of the end"));
        }
        // The last group is larger than what is kept: it stays whole.
        return match (1..first).rev().find(|at| borders.may_split(*at)) {
            Some(at) => {
                Ok(made(at, false, "the last tool group is larger than what is kept, and stays whole"))
            }
            None if is_over => Err(NothingToCompact::OneGroup),
            None => Err(NothingToCompact::AllRecent),
        };
    }
    if !is_over {
        return Err(NothingToCompact::AllRecent);
    }
    let half = Tokens(kept_from(0).0 / 2);
    let first = walk_back(sizes, half).clamp(1, last.max(1));
    let behind = (first..=last).find(|at| borders.may_split(*at));
    let at = behind.or_else(|| (1..first).rev().find(|at| borders.may_split(*at)));
    at.map(|at| {
        made(
            turn_near(sizes, borders, at),
            true,
            "the window is over its limit: the older half is summarized",
        )
    })
    .ok_or(NothingToCompact::OneGroup)
}

/// Returns the first place from which everything fits.
fn walk_back(sizes: &[Tokens], room: Tokens) -> usize {
    let mut kept = Tokens(0);
    let fits = |size: &&Tokens| {
        kept += **size;
        kept <= room
    };
    sizes.len() - sizes.iter().rev().take_while(fits).count()
}

/// Returns the next beginning of a turn where that keeps at least half as much: a kept turn that lacks its beginning is worth
/// less than a shorter one.
fn turn_near(sizes: &[Tokens], borders: &Borders, at: usize) -> usize {
    let is_turn = |at: &usize| borders.borders.get(*at) == Some(&Border::Turn);
    let kept = |at: usize| -> u64 { sizes.iter().skip(at).copied().sum::<Tokens>().0 };
    let turn = (at..sizes.len()).find(is_turn);
    turn.filter(|turn| kept(*turn) >= kept(at) / 2).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use stemmata_model::{EntryId, Part, Role};

    use super::*;

    fn entry(kind: u8, id: usize) -> Entry {
        let call_id = format!("c{id}");
        let (role, part) = match kind {
            0 => (Role::User, Part::Text("go".to_owned())),
            1 => (Role::Assistant, Part::Text("done".to_owned())),
            2 => (
                Role::Assistant,
                Part::ToolCall { call_id, name: "bash".to_owned(), arguments: "{}".to_owned() },
            ),
            _ => (Role::Tool, Part::ToolResult { call_id, is_error: false, parts: Vec::new() }),
        };
        Entry::said(EntryId::new("e").expect("a name"), role, vec![part])
    }

    #[test]
    fn a_turn_is_kept_with_its_beginning_where_that_costs_little() {
        // user, call, result, user, call, result
        let entries: Vec<Entry> = [0, 2, 3, 0, 2, 3]
            .into_iter()
            .enumerate()
            .map(|(at, kind)| entry(kind, at - usize::from(kind == 3)))
            .collect();
        let borders = Borders::of(&entries);
        let sizes = [10, 10, 10, 10, 10, 10].map(Tokens);
        let at = |keep, is_over| split(&sizes, &borders, keep, is_over).map(|split| split.recent_from);
        assert_eq!(
            at(KeepRecent::Tokens(Tokens(55)), false),
            Ok(3),
            "the group is not split, and the turn is near"
        );
        assert_eq!(at(KeepRecent::Tokens(Tokens(25)), false), Ok(4));
        assert_eq!(at(KeepRecent::Tokens(Tokens(5)), false), Ok(4), "the last group stays whole");
        assert_eq!(at(KeepRecent::Entries(3), false), Ok(3));
        assert_eq!(at(KeepRecent::Tokens(Tokens(100)), false), Err(NothingToCompact::AllRecent));
        assert_eq!(at(KeepRecent::Tokens(Tokens(100)), true), Ok(3));
        let one = Borders::of(&entries[1..3]);
        let over = split(&sizes[1..3], &one, KeepRecent::Tokens(Tokens(1)), true);
        assert_eq!(over, Err(NothingToCompact::OneGroup));
        assert_eq!(split(&[], &Borders::of(&[]), KeepRecent::Entries(1), true), Err(NothingToCompact::Empty));
    }

    proptest! {
        #[test]
        fn a_split_never_cuts_a_group_keeps_the_last_entry_and_leaves_something_old_when_over(
            kinds in proptest::collection::vec((0..4_u8, 0..4_usize, 0..50_u64), 0..30), keep in 0..400_u64, by_count: bool, is_over: bool,
        ) {
            let entries: Vec<Entry> = kinds.iter().map(|(kind, id, _)| entry(*kind, *id)).collect();
            let sizes: Vec<Tokens> = kinds.iter().map(|(_, _, size)| Tokens(*size)).collect();
            let borders = Borders::of(&entries);
            let keep = if by_count { KeepRecent::Entries(usize::try_from(keep).expect("small")) } else { KeepRecent::Tokens(Tokens(keep)) };
            let groups = Groups::of(&entries);
            let may = |at: usize| (0..at).all(|one| {
                groups.of_entry[one].is_none() || (at..entries.len()).all(|two| groups.of_entry[one] != groups.of_entry[two])
            });
            for at in 1..entries.len() {
                prop_assert_eq!(borders.may_split(at), may(at));
            }
            match split(&sizes, &borders, keep, is_over) {
                Ok(split) => {
                    prop_assert!(split.recent_from > 0 && split.recent_from < entries.len());
                    prop_assert!(may(split.recent_from));
                    prop_assert_eq!(split.old + split.recent, sizes.iter().copied().sum());
                    prop_assert!(!split.is_forced || is_over);
                    if let (KeepRecent::Tokens(keep), false) = (keep, split.is_forced) {
                        let is_last = (split.recent_from + 1..entries.len()).all(|at| !may(at));
                        prop_assert!(split.recent <= keep || is_last);
                    }
                }
                Err(NothingToCompact::Empty) => prop_assert!(entries.is_empty()),
                Err(NothingToCompact::OneGroup) => prop_assert!(is_over && (1..entries.len()).all(|at| !may(at))),
                Err(NothingToCompact::AllRecent) => prop_assert!(!is_over),
            }
        }
    }
}
