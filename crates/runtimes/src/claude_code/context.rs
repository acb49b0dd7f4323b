//! Plans a context: the active path of a chain, as pieces of its bytes with a few replaced parents.
//!
//! It copies no content and reads no more of a chain than it needs; writing the pieces is the engine's.

mod emit;
mod fate;
mod load;
mod relink;

use std::collections::HashSet;
use std::ops::Range;

use stemmata_model::{EntryId, Note, NoteCode};

use super::path::{Path, Reach, leaf, walk};
use super::row::{Key, Kind, Row};
use super::tree::{Older, Tree};
use crate::adapter::{ContextPlan, PlanStop, Segments, SourceError, segment_number};
use crate::placing::counted;
use relink::{Relink, relinks};

/// Plans a context (see `Adapter::plan_context`).
///
/// # Errors
/// What the chain's storage says.
pub(super) fn plan(chain: &mut dyn Segments, stop: PlanStop) -> Result<ContextPlan, SourceError> {
    let mut loaded = load::load(chain, stop)?;
    let (tree, path) = find_path(&mut loaded, stop);
    let fates = fate::decide(&tree, &path);
    let edits = relinks(&tree, &path, &fates, stop);
    let mut plan = ContextPlan {
        pieces: emit::pieces(&tree, &path, &fates, &edits),
        abandoned_entries: fates.abandoned,
        reparented: reparented(&tree, &edits),
        adopted: adopted(&tree, &path),
        recovered: path.recovered.len() as u64,
        skipped_compactions: path.skipped_compactions,
        segments_read: loaded.segments_read(),
        ..ContextPlan::default()
    };
    plan.notes = notes(&plan, &path);
    Ok(plan)
}

/// Finds the path, and where it ends at a compaction, finds it again with the compaction's artifact in the
/// place of everything before: what an artifact keeps does not stand in the file at that place.
fn find_path(loaded: &mut load::Loaded, stop: PlanStop) -> (Tree, Path) {
    let end = |segment: Option<usize>, prefix: bool| segment.map(|segment| segment_number(segment, prefix));
    let reach = |prefix: bool| match stop {
        PlanStop::Compaction => Reach::Compaction,
        PlanStop::Root => Reach::Beginning { stop: None },
        PlanStop::Ancestor => Reach::Beginning { stop: end(loaded.stop, prefix) },
    };
    let (native, artifact) = (reach(false), reach(true));
    let side = loaded.side();
    let tree = Tree::new(loaded.take_rows(), loaded.names.clone(), side, loaded.older.clone());
    let path = path_of(&tree, native);
    let Some(start) = path.start else {
        return (tree, path);
    };
    let kept: HashSet<usize> = tree.kept_by(start).into_iter().collect();
    // Progress through which something hangs on a kept record stays with it.
    let is_between = |position: usize| {
        let row = tree.row(position);
        row.kind == Kind::Progress && tree.parent(position).is_some_and(|parent| kept.contains(&parent))
    };
    let kept = (0..tree.rows.len()).filter(|position| kept.contains(position) || is_between(*position));
    let kept = kept.filter_map(|kept| tree.row(kept).key).collect();
    let segment = tree.row(start).segment / 2;
    // Also what an earlier compaction keeps, which stands in its artifact.
    let of_row = |row: &Row| row.preserved.iter().copied().chain(row.key).collect::<Vec<_>>();
    let was_there = |rows: &[Row]| rows.iter().flat_map(of_row).collect::<HashSet<_>>();
    let is_cut = matches!(loaded.older, Older::Some);
    let mut replaced = if is_cut { was_there(&tree.rows) } else { HashSet::new() };
    let rows = loaded.replace(tree.rows, segment, &kept);
    let older = if is_cut {
        let there = was_there(&rows);
        replaced.retain(|key| !there.contains(key));
        Older::But(replaced)
    } else {
        loaded.older.clone()
    };
    let tree = Tree::new(rows, std::mem::take(&mut loaded.names), side, older);
    let path = path_of(&tree, artifact);
    (tree, path)
}

fn path_of(tree: &Tree, reach: Reach) -> Path {
    leaf(tree).map_or_else(Path::default, |leaf| walk(tree, leaf, reach))
}

fn reparented(tree: &Tree, edits: &[Relink]) -> Vec<(EntryId, Option<EntryId>)> {
    let id = |row: usize| tree.row(row).key.and_then(|key| entry_id(tree, key));
    let named = edits.iter().filter_map(|edit| Some((id(edit.row)?, edit.parent.and_then(id))));
    named.collect()
}

fn adopted(tree: &Tree, path: &Path) -> HashSet<EntryId> {
    let in_the_way = (0..tree.rows.len()).filter(|&row| is_in_the_way(tree, path, row));
    in_the_way.filter_map(|row| entry_id(tree, tree.row(row).key?)).collect()
}

/// Returns whether a line is a subagent's record that stands in the way of the conversation, and is one of it.
fn is_in_the_way(tree: &Tree, path: &Path, row: usize) -> bool {
    !tree.is_own(row) && path.units.contains(&tree.unit(row))
}

fn entry_id(tree: &Tree, key: Key) -> Option<EntryId> {
    EntryId::new(id_text(tree, key)).ok()
}

/// Returns what a boundary should say that it keeps, where that is something else than it says, and where in the line: its records
/// by the ids that they have in this copy, and none that is not there, or not in `kept` where that is given.
pub(super) fn kept_said(
    tree: &Tree,
    boundary: usize,
    kept: Option<&[usize]>,
) -> Option<(Range<usize>, String)> {
    let row = tree.row(boundary);
    let metadata = row.metadata.as_deref()?;
    let kept: Option<HashSet<usize>> = kept.map(|kept| kept.iter().copied().collect());
    let is_left = |position| kept.as_ref().is_some_and(|kept| !kept.contains(&position));
    let is_missing = |key: &Key| tree.lacks(*key) || tree.find(*key).is_some_and(is_left);
    let summary = lost_anchor(tree, boundary);
    let is_as_it_is = metadata.is_own && row.stated.is_none() && summary.is_none();
    if is_as_it_is && !row.preserved.iter().any(is_missing) {
        return None;
    }
    let known = |id: &str| {
        let key = Key::of(id).0;
        if let Some(summary) = summary.filter(|_| metadata.anchor == Some(key)) {
            return Some(id_text(tree, summary));
        }
        let found = tree.find(key).or_else(|| tree.find_copy(key))?;
        let is_there = |found: &Key| metadata.anchor == Some(key) || !is_missing(found);
        tree.row(found).key.filter(is_there).map(|key| id_text(tree, key))
    };
    let said = super::kept::renamed(&metadata.said, known);
    let said = said.or_else(|| (!metadata.is_own).then(|| metadata.said.clone()));
    said.map(|said| (metadata.span.clone(), said))
}

/// Returns what a boundary that keeps a chain should say, and where in the line, where a client does not find what is kept: an end of
/// the chain is not there, or parallel calls beside the chain stand before the boundary.
fn chain_listed(tree: &Tree, boundary: usize, kept: &[usize]) -> Option<(Range<usize>, String)> {
    let row = tree.row(boundary);
    let mut ends = row.preserved.first().into_iter().chain(row.preserved.last());
    let is_cut = ends.any(|&key| tree.find(key).is_some_and(|position| !kept.contains(&position)));
    let chain = row.preserved.iter().filter(|&&key| !tree.lacks(key)).count();
    let is_beside = kept.len() > chain && kept.first().is_some_and(|first| *first < boundary);
    if is_cut || is_beside { listed(tree, boundary, kept) } else { None }
}

/// Returns what a boundary that keeps a chain says if it lists messages instead, and where in the line.
pub(super) fn listed(tree: &Tree, boundary: usize, kept: &[usize]) -> Option<(Range<usize>, String)> {
    let row = tree.row(boundary);
    let metadata = row.metadata.as_deref().filter(|_| row.keeps_chain)?;
    let id = |position: usize| tree.row(position).key.map(|key| id_text(tree, key));
    let anchor = tree.summary_of(boundary).and_then(id)?;
    let ids: Vec<String> = kept.iter().copied().filter_map(id).collect();
    Some((metadata.span.clone(), super::kept::listed(&metadata.said, &anchor, &ids)?))
}

/// Returns the summary that what a boundary keeps should hang on, where the boundary names a record that is not there.
pub(super) fn lost_anchor(tree: &Tree, boundary: usize) -> Option<Key> {
    let anchor = tree.row(boundary).metadata.as_deref()?.anchor?;
    let is_lost = tree.find(anchor).is_none() && tree.find_copy(anchor).is_none();
    tree.row(tree.summary_of(boundary).filter(|_| is_lost)?).key
}

/// Returns the text of an id.
pub(super) fn id_text(tree: &Tree, key: Key) -> String {
    tree.names.get(&key).map_or_else(|| key.uuid_text(), ToString::to_string)
}

/// What the plan's counts do not say.
fn notes(plan: &ContextPlan, path: &Path) -> Vec<Note> {
    counted([
        (
            path.spliced,
            NoteCode::Reparented,
            ("part", "of the conversation, cut off by a wrong parent, put back"),
        ),
        (path.incomplete, NoteCode::Degraded, ("compaction", "without a summary left out")),
        (plan.reparented.len() as u64, NoteCode::Reparented, ("entry", "got another parent")),
    ])
}

#[cfg(test)]
mod kept_tests;
#[cfg(test)]
mod tests;
