//! `diff A B`: what one chain has that another has not, from where they parted.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;

use stemmata_api::v1::{ChainSide, Comparison};
use stemmata_model::{Closure, Commit, CommitId, Entry, Part, SessionId};
use stemmata_prompt::story::{SessionFold, changed_files};
use stemmata_prompt::title::title;

use crate::chain::segments::read_whole;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::Result;

impl Engine {
    /// Compares two chains from their newest common commit on. An entry that both have, such as one that a client copied to a
    /// fork of its own, is in neither, also where the copy has an id of its own.
    ///
    /// # Errors
    /// `CommitMissing`, `Forgotten`, `Format` for a format that cannot be read, store errors.
    pub fn compare(&self, first: CommitId, second: CommitId) -> Result<Comparison> {
        let ancestor = self.common_ancestor(first, second)?;
        let (own, other) = (self.commits_behind(first, ancestor)?, self.commits_behind(second, ancestor)?);
        let (own, other) = (self.entries_in(own)?, self.entries_in(other)?);
        let all = |commits: &[(CommitId, Vec<Entry>)]| -> Vec<Entry> {
            commits.iter().flat_map(|(_, entries)| entries).cloned().collect()
        };
        let (only_first, only_second) = unmatched(&all(&own), &all(&other));
        Ok(Comparison {
            ancestor,
            first: self.side(first, &own, &only_first)?,
            second: self.side(second, &other, &only_second)?,
        })
    }

    /// Tells what one chain has alone; `is_own` says it of each of its entries, in their order.
    fn side(&self, ctx: CommitId, commits: &[(CommitId, Vec<Entry>)], is_own: &[bool]) -> Result<ChainSide> {
        let mut is_own = is_own.iter().copied();
        let root = self.first_session(ctx)?.and_then(|session| session.cwd);
        let mut fold = SessionFold::new(&SessionId::new("diff")?, root.as_deref());
        let mut count = 0_u64;
        for (id, entries) in commits {
            let own: Vec<Entry> = entries.iter().filter(|_| is_own.next().unwrap_or(true)).cloned().collect();
            count += own.len() as u64;
            fold.add(*id, &own, &[]);
        }
        let story = fold.finish();
        let turns = || story.turns.iter().map(|turn| &turn.outline);
        Ok(ChainSide {
            ctx,
            commits: commits.len() as u64,
            entries: count,
            prompts: turns().filter_map(|turn| Some(title(Some(&turn.prompt.as_ref()?.text)))).collect(),
            files: changed_files(&story.files),
            git_commits: turns().flat_map(|turn| turn.commits.clone()).collect(),
            tests_passed: turns().map(|turn| turn.tests_passed).sum(),
            tests_failed: turns().map(|turn| turn.tests_failed).sum(),
            commands: story.commands,
            errors: story.errors,
            decisions: story.decisions,
        })
    }

    fn common_ancestor(&self, first: CommitId, second: CommitId) -> Result<Option<CommitId>> {
        let mut seen = HashSet::new();
        let mut walk = Walk::new(self.store.as_ref(), Some(first));
        while let Some(commit) = walk.next()? {
            seen.insert(commit.id);
        }
        let mut walk = Walk::new(self.store.as_ref(), Some(second));
        while let Some(commit) = walk.next()? {
            if seen.contains(&commit.id) {
                return Ok(Some(commit.id));
            }
        }
        Ok(None)
    }

    /// Returns the commits behind another one, the oldest first.
    fn commits_behind(&self, tip: CommitId, ancestor: Option<CommitId>) -> Result<Vec<Commit>> {
        let mut walk = Walk::new(self.store.as_ref(), Some(tip));
        let mut commits = Vec::new();
        while let Some(commit) = walk.next()? {
            if Some(commit.id) == ancestor {
                break;
            }
            commits.push(commit);
        }
        commits.reverse();
        Ok(commits)
    }

    fn entries_in(&self, commits: Vec<Commit>) -> Result<Vec<(CommitId, Vec<Entry>)>> {
        let readable = commits.into_iter().filter(|commit| commit.closure != Closure::Forgotten);
        let entries = readable.map(|commit| {
            let bytes = read_whole(self, commit.core.native_artifact())?;
            Ok((commit.id, self.own_entries(&commit, &bytes)?))
        });
        entries.collect()
    }
}

/// Pairs the entries of two lists that are the same, each with one of the other list at most, and says which of either list have
/// no partner. An entry's partner has its id, where there is one; the rest is paired by what was said, because some clients
/// give new ids when they copy a session. The parts always count: a client that rewrites a session may give an id to another
/// text.
fn unmatched(first: &[Entry], second: &[Entry]) -> (Vec<bool>, Vec<bool>) {
    let mut alone = (vec![true; first.len()], vec![true; second.len()]);
    pair(first, second, &mut alone, |entry| entry.id.as_str());
    // Only narrows down what is compared: a key that is shared by many would make it slow, never wrong.
    pair(first, second, &mut alone, |entry| (entry.role, first_text(&entry.parts)));
    alone
}

/// Pairs what has no partner yet: equal entries with the same key, in their order.
fn pair<'e, K: Eq + Hash>(
    first: &'e [Entry],
    second: &'e [Entry],
    (first_alone, second_alone): &mut (Vec<bool>, Vec<bool>),
    key: impl Fn(&'e Entry) -> K,
) {
    let mut open: HashMap<K, VecDeque<(&Entry, &mut bool)>> = HashMap::new();
    for (entry, alone) in second.iter().zip(second_alone).filter(|(_, alone)| **alone) {
        open.entry(key(entry)).or_default().push_back((entry, alone));
    }
    for (entry, alone) in first.iter().zip(first_alone).filter(|(_, alone)| **alone) {
        let Some(same) = open.get_mut(&key(entry)) else { continue };
        let is_same =
            |(other, _): &(&Entry, &mut bool)| other.role == entry.role && other.parts == entry.parts;
        if let Some((_, other_alone)) = same.iter().position(is_same).and_then(|at| same.remove(at)) {
            *alone = false;
            *other_alone = false;
        }
    }
}

/// Returns the first text in these parts, for people or for tools.
fn first_text(parts: &[Part]) -> &str {
    match parts.first() {
        None => "",
        Some(Part::Text(text) | Part::Thinking { text, .. } | Part::Summary { text, .. }) => text,
        Some(Part::ToolCall { arguments, .. }) => arguments,
        Some(Part::ToolResult { parts, .. }) => first_text(parts),
        Some(Part::Image { media_type, .. }) => media_type,
        Some(Part::File { name, .. }) => name,
        Some(Part::Opaque { json, .. }) => json,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use stemmata_model::{EntryId, Role};

    use super::*;

    fn entry((id, role, text): (u8, bool, u8)) -> Entry {
        let role = if role { Role::User } else { Role::Assistant };
        let id = EntryId::new(format!("e{id}")).expect("an id");
        Entry::said(id, role, vec![Part::Text(format!("text {text}"))])
    }

    fn entries() -> impl Strategy<Value = Vec<Entry>> {
        proptest::collection::vec((0..4_u8, any::<bool>(), 0..3_u8).prop_map(entry), 0..12)
    }

    fn count(entries: &[Entry], alone: Option<&[bool]>, like: &Entry) -> usize {
        let is_counted = |at: usize| alone.is_none_or(|alone| alone[at]);
        let is_like = |entry: &Entry| entry.role == like.role && entry.parts == like.parts;
        entries.iter().enumerate().filter(|(at, entry)| is_counted(*at) && is_like(entry)).count()
    }

    proptest! {
        #[test]
        fn what_one_has_more_often_is_alone(first in entries(), second in entries()) {
            let (only_first, only_second) = unmatched(&first, &second);
            for like in first.iter().chain(&second) {
                let (of_first, of_second) = (count(&first, None, like), count(&second, None, like));
                prop_assert_eq!(count(&first, Some(&only_first), like), of_first.saturating_sub(of_second));
                prop_assert_eq!(count(&second, Some(&only_second), like), of_second.saturating_sub(of_first));
            }
            prop_assert_eq!(unmatched(&second, &first).0.len(), second.len());
        }

        #[test]
        fn new_ids_make_no_difference(first in entries(), offset in 0..9_u8) {
            let renamed = |(at, entry): (usize, &Entry)| {
                let id = EntryId::new(format!("n{offset}-{at}")).expect("an id");
                Entry { id, ..entry.clone() }
            };
            let second: Vec<Entry> = first.iter().enumerate().map(renamed).collect();
            let (only_first, only_second) = unmatched(&first, &second);
            prop_assert!(!only_first.contains(&true) && !only_second.contains(&true));
        }
    }

    #[test]
    fn a_partner_with_the_same_id_comes_first() {
        let first = [entry((1, true, 0))];
        let second = [entry((2, true, 0)), entry((1, true, 0))];
        assert_eq!(unmatched(&first, &second), (vec![false], vec![true, false]));
        // An id that occurs twice on one side has both of its texts compared.
        let twice = [entry((1, true, 0)), entry((1, true, 1))];
        assert_eq!(unmatched(&first, &twice), (vec![false], vec![false, true]));
        assert_eq!(unmatched(&twice, &first), (vec![false, true], vec![false]));
    }
}
