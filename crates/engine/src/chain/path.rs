//! The active path of a chain from its beginning, a commit at a time: what an agent at its end would know if nothing had
//! been compacted.
//!
//! Which bytes are part of it is the adapter's plan; here they become entries.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use stemmata_model::{Closure, Commit, CommitId, CommitType, Entry, EntryId, EntryKind};
use stemmata_runtimes::adapter::{Adapter, Piece, segment_number};

use crate::chain::late::{Late, late};
use crate::chain::segments::read_whole;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{FormatUse, Result};
use crate::verbs::materialize::{PlannedContext, Stop};

/// Translations of translations that are followed to what was said first.
const TRANSLATIONS_MAX: usize = 64;

/// A commit of a chain with its own entries.
pub(crate) struct PathCommit {
    pub commit: Commit,
    /// The entries that it adds, in the order in which they were said: what a client wrote late is part of the commit that goes on
    /// from it, and not of the one that holds it.
    pub entries: Vec<Entry>,
    /// Which of them are part of the path: the others are of branches that were left, or were said again.
    pub is_active: Vec<bool>,
    /// Where each stands among the commit's own entries, from 0: those that stand in one line share its place. One that was written
    /// late counts on from the commit that it is said in.
    pub places: Vec<u64>,
    /// Those that were written late, and the commits that hold them: (index, commit).
    pub late: Vec<(usize, CommitId)>,
    /// The place of the first one in the chain, from 1. Absent where the history began in another session, whose
    /// entries this chain does not count.
    pub first_ordinal: Option<u64>,
    /// Whether it says what the commits before it say, for another client.
    pub is_translation: bool,
}

impl Engine {
    /// Returns the estimated tokens of all that a chain holds, each entry once: as an overview of it says.
    ///
    /// # Errors
    /// As [`materialize`](Engine::materialize).
    pub fn chain_tokens(&self, ctx: CommitId) -> Result<u64> {
        let context = self.plan_context(ctx, Stop::Root)?;
        let commits = context.chain.commits();
        let mut tokens = 0_u64;
        for commit in self.behind_snapshot(commits.last())?.iter().chain(commits) {
            tokens =
                tokens.saturating_add(if self.is_translation(commit)? { 0 } else { commit.counts.tokens });
        }
        Ok(tokens)
    }

    /// Calls `visit` with the commits of a chain from its beginning to `ctx`, until it breaks. Forgotten ones end the chain there.
    pub(crate) fn each_of_path(
        &self,
        ctx: CommitId,
        visit: &mut dyn FnMut(PathCommit) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        // What was translated is a path of its own: the plan of the translation's format knows nothing of it.
        let mut parts = Vec::new();
        let mut next = Some(ctx);
        while let Some(ctx) = next {
            let context = self.plan_context(ctx, Stop::Root)?;
            let translation =
                if parts.len() < TRANSLATIONS_MAX { self.translation_in(&context)? } else { None };
            next = translation.and_then(|at| context.chain.commits().get(at)?.core.parent);
            parts.push((context, translation));
        }
        let mut ordinal = 1;
        for (context, translation) in parts.iter().rev() {
            if self.each_of_part((context, *translation), &mut ordinal, visit)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Returns the position of the newest translation in a plan.
    fn translation_in(&self, context: &PlannedContext<'_>) -> Result<Option<usize>> {
        for (position, commit) in context.chain.commits().iter().enumerate() {
            if self.is_translation(commit)? {
                return Ok(Some(position));
            }
        }
        Ok(None)
    }

    /// As [`Engine::each_of_path`] for what a plan takes, from its newest translation on where it has one, and else with what a snapshot
    /// restates that it begins with; `ordinal` is that of the first entry, and then of the one behind the last.
    fn each_of_part(
        &self,
        (context, translation): (&PlannedContext<'_>, Option<usize>),
        ordinal: &mut u64,
        visit: &mut dyn FnMut(PathCommit) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let active = spans(&context.plan.pieces);
        let commits = context.chain.commits();
        let mut place = |commit: &Commit| -> Result<u64> {
            let first = *ordinal;
            *ordinal += self.own_count(commit)?;
            Ok(first)
        };
        let mut known: Option<HashSet<EntryId>> = None;
        for commit in self.behind_snapshot(commits.last().filter(|_| translation.is_none()))? {
            if known.is_none() {
                known = Some(Self::told_by(context, commits.len().saturating_sub(1), &active)?);
            }
            let bytes = read_whole(self, commit.core.native_artifact())?;
            let (entries, places) = own_entries_at(&commit, self.said_before(&commit)?, &bytes)?;
            let is_told = |entry: &Entry| known.as_ref().is_some_and(|known| known.contains(&entry.id));
            let is_active = entries.iter().map(is_told).collect();
            let first_ordinal = Some(place(&commit)?);
            let late = Vec::new();
            let is_translation = self.is_translation(&commit)?;
            let read = PathCommit { commit, entries, is_active, places, late, first_ordinal, is_translation };
            if visit(read)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        // Behind the root of the chain itself come commits of the session that it went on from.
        let own = commits.iter().position(|commit| commit.core.parent.is_none());
        let own = own.map_or(commits.len(), |root| root + 1);
        let said = self.said_order(context)?;
        let part = commits.get(..=translation.unwrap_or(commits.len().saturating_sub(1))).unwrap_or_default();
        for (position, commit) in part.iter().enumerate().rev() {
            let Some(bytes) = context.chain.load(segment_number(position, false))? else { continue };
            let (mut entries, places) = own_entries_at(commit, self.said_before(commit)?, &bytes)?;
            for entry in entries.iter_mut().filter(|entry| context.plan.adopted.contains(&entry.id)) {
                entry.meta.sidechain = None;
            }
            let spans = spans_of(&active, commit, position);
            // The plan is of the last commit's format: in a chain of several it knows nothing of the others.
            let is_planned = Some(&commit.core.format) == commits.first().map(|last| &last.core.format);
            let is_active = |entry: &Entry| {
                !is_planned || holds(&spans, entry.native.offset) || context.plan.says_within(&entry.id)
            };
            let is_active = entries.iter().map(is_active).collect();
            let first_ordinal = (position < own).then(|| place(commit)).transpose()?;
            let commit = commit.clone();
            let (is_translation, late) = (self.is_translation(&commit)?, Vec::new());
            let mut read =
                PathCommit { commit, entries, is_active, places, late, first_ordinal, is_translation };
            said.arrange(&mut read, position);
            if visit(read)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Returns whether what was said in an entry is on a branch beside the way to `ctx`, a commit of whose chain holds it: a context
    /// of `ctx` does not have it. What no context has, such as records about the session, is beside nothing.
    pub(crate) fn is_beside(&self, ctx: CommitId, (holder, entry): (CommitId, &Entry)) -> Result<bool> {
        if !entry.meta.visibility.agent || !matches!(entry.kind, EntryKind::Message | EntryKind::ToolResult) {
            return Ok(false);
        }
        // What is sent is found near the end; only what a compaction replaced asks for all of the chain.
        for stop in [Stop::Compaction, Stop::Root] {
            let context = self.plan_context(ctx, stop)?;
            let position = context.chain.commits().iter().position(|commit| commit.id == holder);
            let Some((position, commit)) =
                position.and_then(|at| Some((at, context.chain.commits().get(at)?)))
            else {
                continue;
            };
            let is_planned =
                context.chain.commits().first().is_some_and(|last| last.core.format == commit.core.format);
            let spans = spans_of(&spans(&context.plan.pieces), commit, position);
            if !is_planned || holds(&spans, entry.native.offset) {
                return Ok(false);
            }
            if stop == Stop::Root {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the commits that a snapshot restates, the oldest first: a plan ends at it and reads no further.
    fn behind_snapshot(&self, last: Option<&Commit>) -> Result<Vec<Commit>> {
        let is_snapshot = |commit: &&Commit| matches!(commit.core.commit_type, CommitType::Snapshot { .. });
        let Some(snapshot) = last.filter(is_snapshot) else { return Ok(Vec::new()) };
        let mut walk = Walk::new(self.store.as_ref(), snapshot.core.parent);
        let mut behind = Vec::new();
        while let Some(commit) = walk.next()? {
            if commit.closure == Closure::Forgotten {
                break;
            }
            behind.push(commit);
        }
        behind.reverse();
        Ok(behind)
    }

    /// Returns the entries of a planned commit that are part of the path, those that it restates too.
    fn told_by(
        context: &PlannedContext<'_>,
        position: usize,
        active: &HashMap<usize, Vec<(u64, u64)>>,
    ) -> Result<HashSet<EntryId>> {
        let Some(commit) = context.chain.commits().get(position) else { return Ok(HashSet::new()) };
        let Some(bytes) = context.chain.load(segment_number(position, false))? else {
            return Ok(HashSet::new());
        };
        let spans = spans_of(active, commit, position);
        let entries = Self::adapter(&commit.core.format, FormatUse::Read)?.decode(&bytes).entries;
        let told = entries.into_iter().filter(|entry| holds(&spans, entry.native.offset));
        Ok(told.map(|entry| entry.id).collect())
    }
}

/// An entry that was written late, with its place among all entries of the chain's newer part.
struct LateEntry {
    of: Late,
    entry: Entry,
    holder: CommitId,
    /// How many entries stand between the oldest planned commit and it.
    place: u64,
}

/// What was written late in a chain, and where it was said.
struct SaidOrder {
    late: Vec<Late>,
    entries: Vec<LateEntry>,
    /// How many entries the planned commits before each one have, by its position.
    before: Vec<u64>,
}

impl Engine {
    fn said_order(&self, context: &PlannedContext<'_>) -> Result<SaidOrder> {
        let (late, commits) = (late(&context.plan.pieces), context.chain.commits());
        let mut order = SaidOrder { late, entries: Vec::new(), before: Vec::new() };
        if order.late.is_empty() {
            return Ok(order);
        }
        let mut before = 0;
        for commit in commits.iter().rev() {
            order.before.push(before);
            before += self.own_count(commit)?;
        }
        order.before.reverse();
        let mut read = HashMap::new();
        for of in &order.late {
            let position = of.at.0;
            let Some(commit) = commits.get(position) else { continue };
            if let std::collections::hash_map::Entry::Vacant(vacant) = read.entry(position) {
                let bytes = context.chain.load(segment_number(position, false))?.unwrap_or_default();
                vacant.insert(own_entries_at(commit, self.said_before(commit)?, &bytes)?);
            }
            let Some((entries, places)) = read.get(&position) else { continue };
            let within = entries.iter().zip(places);
            for (entry, place) in within.filter(|(entry, _)| of.holds((position, entry.native.offset))) {
                let place = order.before.get(position).copied().unwrap_or(0) + place;
                order.entries.push(LateEntry { of: *of, entry: entry.clone(), holder: commit.id, place });
            }
        }
        Ok(order)
    }
}

impl SaidOrder {
    /// Moves what was written late out of the commit that holds it, and into the one that goes on from it.
    fn arrange(&self, commit: &mut PathCommit, position: usize) {
        if self.late.is_empty() {
            return;
        }
        let moved: Vec<&Late> = self.late.iter().filter(|late| late.at.0 == position).collect();
        let is_late = |entry: &Entry| moved.iter().any(|late| late.holds((position, entry.native.offset)));
        let own = std::mem::take(&mut commit.entries).into_iter();
        let own = own.zip(std::mem::take(&mut commit.is_active)).zip(std::mem::take(&mut commit.places));
        let mut coming = self.entries.iter().filter(|late| late.of.before.0 == position).peekable();
        for ((entry, is_active), place) in own.filter(|((entry, _), _)| !is_late(entry)) {
            while let Some(late) = coming.next_if(|late| late.of.before.1 <= entry.native.offset) {
                self.push(commit, late, position);
            }
            commit.entries.push(entry);
            commit.is_active.push(is_active);
            commit.places.push(place);
        }
        coming.for_each(|late| self.push(commit, late, position));
    }

    fn push(&self, commit: &mut PathCommit, late: &LateEntry, position: usize) {
        let first = self.before.get(position).copied().unwrap_or(0);
        commit.late.push((commit.entries.len(), late.holder));
        commit.entries.push(late.entry.clone());
        commit.is_active.push(true);
        commit.places.push(late.place.saturating_sub(first));
    }
}

/// Returns the ranges of a commit's bytes that a plan takes. Where the commit is its own artifact, a plan may name the bytes by it.
fn spans_of(active: &HashMap<usize, Vec<(u64, u64)>>, commit: &Commit, position: usize) -> Vec<(u64, u64)> {
    let of = |is_prefix| active.get(&segment_number(position, is_prefix)).into_iter().flatten().copied();
    let is_snapshot = matches!(commit.core.commit_type, CommitType::Snapshot { .. });
    let mut spans: Vec<(u64, u64)> = of(false).collect();
    if is_snapshot && commit.core.native.is_none() {
        spans.extend(of(true));
        spans.sort_unstable();
    }
    spans
}

/// Returns all that a commit says: messages that stand in no line of their own, too.
pub(crate) fn entries_of(commit: &Commit, bytes: &[u8]) -> Result<Vec<Entry>> {
    Ok(entries_at(commit, bytes)?.0)
}

/// Returns the entries that a commit adds to its chain, and where each stands among them. Its first `restated` ones say what is below
/// it.
pub(crate) fn own_entries_at(
    commit: &Commit,
    restated: usize,
    bytes: &[u8],
) -> Result<(Vec<Entry>, Vec<u64>)> {
    let adapter = Engine::adapter(&commit.core.format, FormatUse::Read)?;
    let mut entries = adapter.decode(bytes).entries;
    match commit.core.commit_type {
        CommitType::Snapshot { .. } => {
            entries.drain(..restated.min(entries.len()));
        }
        CommitType::Compaction if commit.core.native.is_none() => {
            entries.retain(|entry| entry.kind == EntryKind::CompactionSummary);
        }
        CommitType::Compaction | CommitType::Delta => {}
    }
    Ok(with_places(adapter, entries, commit, bytes))
}

/// Returns all that a commit says, and where each stands among its lines.
pub(crate) fn entries_at(commit: &Commit, bytes: &[u8]) -> Result<(Vec<Entry>, Vec<u64>)> {
    let adapter = Engine::adapter(&commit.core.format, FormatUse::Read)?;
    Ok(with_places(adapter, adapter.decode(bytes).entries, commit, bytes))
}

fn with_places(
    adapter: &dyn Adapter,
    entries: Vec<Entry>,
    commit: &Commit,
    bytes: &[u8],
) -> (Vec<Entry>, Vec<u64>) {
    let lines: Vec<u64> = entries.iter().map(|entry| entry.native.offset).collect();
    let entries = adapter.said_alone(entries, bytes, commit.core.parent.is_none());
    let place = |(at, entry): (usize, &Entry)| {
        let within = || lines.partition_point(|line| *line <= entry.native.offset).saturating_sub(1);
        u64::try_from(if entries.len() == lines.len() { at } else { within() }).unwrap_or(u64::MAX)
    };
    let places = entries.iter().enumerate().map(place).collect();
    (entries, places)
}

/// Returns the ranges of each content that a plan takes, ascending, without what it leaves out within a line.
fn spans(pieces: &[Piece]) -> HashMap<usize, Vec<(u64, u64)>> {
    let mut spans: HashMap<usize, Vec<(u64, u64)>> = HashMap::new();
    for piece in pieces {
        let own = spans.entry(piece.segment).or_default();
        let mut from = piece.offset;
        for gone in piece.edits.iter().filter(|edit| edit.with.is_empty()) {
            let start = piece.offset.saturating_add(gone.offset);
            own.push((from, start));
            from = start.saturating_add(gone.length);
        }
        own.push((from, piece.offset.saturating_add(piece.length)));
    }
    for spans in spans.values_mut() {
        spans.sort_unstable();
    }
    spans
}

fn holds(spans: &[(u64, u64)], offset: u64) -> bool {
    let behind = spans.partition_point(|(start, _)| *start <= offset);
    let last = behind.checked_sub(1).and_then(|at| spans.get(at));
    last.is_some_and(|(_, end)| offset < *end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_held_by_the_range_that_begins_last_before_it() {
        let spans = [(0, 10), (20, 30)];
        for (offset, held) in [(0, true), (9, true), (10, false), (19, false), (20, true), (30, false)] {
            assert_eq!(holds(&spans, offset), held, "{offset}");
        }
        assert!(!holds(&[], 0));
    }
}
