//! Plans a context: the active path of a chain, as pieces of its bytes with a few replaced parents.
//!
//! It copies no content and reads no more of a chain than it needs; writing the pieces is the engine's.

mod emit;
mod fate;
mod load;

use stemmata_model::{EntryId, Note, NoteCode};

use super::path::{Path, Reach, leaf, walk};
use super::row::{Key, Link};
use super::tree::Tree;
use crate::adapter::{ContextPlan, PlanStop, Segments, SourceError, segment_number};

/// Plans a context (see `Adapter::plan_context`).
///
/// # Errors
/// What the chain's storage says.
pub(super) fn plan(chain: &mut dyn Segments, stop: PlanStop) -> Result<ContextPlan, SourceError> {
    let mut loaded = load::load(chain, stop)?;
    let (tree, path) = find_path(&mut loaded, stop);
    let fates = fate::decide(&tree, &path);
    let edits = relink(&tree, &path, &fates, stop);
    let mut plan = ContextPlan {
        pieces: emit::pieces(&tree, &fates, &edits),
        abandoned_entries: fates.abandoned,
        reparented: reparented(&tree, &edits),
        recovered: path.recovered.len() as u64,
        skipped_compactions: path.skipped_compactions,
        segments_read: loaded.segments_read(),
        notes: Vec::new(),
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
    let tree = Tree::new(loaded.take_rows(), loaded.names.clone(), side);
    let path = path_of(&tree, native);
    let Some(segment) = path.start.map(|start| tree.row(start).segment / 2) else {
        return (tree, path);
    };
    let rows = loaded.replace(tree.rows, segment);
    let tree = Tree::new(rows, std::mem::take(&mut loaded.names), side);
    let path = path_of(&tree, artifact);
    (tree, path)
}

fn path_of(tree: &Tree, reach: Reach) -> Path {
    leaf(tree).map_or_else(Path::default, |leaf| walk(tree, leaf, reach))
}

/// A line that gets another parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Relink {
    row: usize,
    parent: Option<usize>,
}

/// Finds the lines whose parent is not the one that they hang on in the result.
fn relink(tree: &Tree, path: &Path, fates: &fate::Fates, stop: PlanStop) -> Vec<Relink> {
    let mut edits = Vec::new();
    let mut relink = |row: usize, parent: Option<usize>| {
        let line = tree.row(row);
        if line.of_artifact || line.parent_span.is_none() || !fates.is_kept(row) {
            return;
        }
        let named = parent.and_then(|parent| tree.row(parent).key);
        if line.parent != named.map_or(Link::Root, Link::Of) {
            edits.push(Relink { row, parent });
        }
    };
    let older = path.steps.iter().skip(1).map(Some).chain([None]);
    for (step, older) in path.steps.iter().zip(older) {
        let head = tree.head(step.unit);
        match older {
            Some(older) if hangs_on(tree, fates, head, older.unit) => {}
            Some(older) => relink(head, Some(landing(tree, fates, older.landing))),
            None if stop == PlanStop::Ancestor && path.start.is_none() => relink(head, None),
            None if tree.parent(head).is_some() => relink(head, None),
            None => {}
        }
    }
    if let Some((stray, parent)) = fates.stray {
        relink(stray, Some(parent));
    }
    edits.sort_unstable_by_key(|edit| edit.row);
    edits
}

/// Returns whether a line hangs on a unit as it is written, so that a loader finds it.
fn hangs_on(tree: &Tree, fates: &fate::Fates, row: usize, unit: usize) -> bool {
    let named = match tree.row(row).parent {
        Link::Of(key) => tree.find(key),
        Link::Absent | Link::Root => None,
    };
    let is_there = named.is_some_and(|named| fates.is_kept(named));
    is_there && !tree.is_made_up(row) && tree.parent(row).is_some_and(|parent| tree.unit(parent) == unit)
}

/// A line can only be hung on one that has an id and is there.
fn landing(tree: &Tree, fates: &fate::Fates, wanted: usize) -> usize {
    if tree.row(wanted).key.is_some() && fates.is_kept(wanted) {
        return wanted;
    }
    tree.head(tree.unit(wanted))
}

fn reparented(tree: &Tree, edits: &[Relink]) -> Vec<(EntryId, Option<EntryId>)> {
    let id = |row: usize| tree.row(row).key.and_then(|key| entry_id(tree, key));
    let named = edits.iter().filter_map(|edit| Some((id(edit.row)?, edit.parent.and_then(id))));
    named.collect()
}

fn entry_id(tree: &Tree, key: Key) -> Option<EntryId> {
    EntryId::new(id_text(tree, key)).ok()
}

/// Returns the text of an id.
fn id_text(tree: &Tree, key: Key) -> String {
    tree.names.get(&key).map_or_else(|| key.uuid_text(), ToString::to_string)
}

/// What the plan's counts do not say.
fn notes(plan: &ContextPlan, path: &Path) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut note = |count: u64, code: NoteCode, what: &str| {
        if count > 0 {
            notes.push(Note::new(code, format!("{count} {what}")));
        }
    };
    note(
        path.spliced,
        NoteCode::Reparented,
        "branches that a wrong parent had cut off are part of the conversation again",
    );
    note(path.incomplete, NoteCode::Degraded, "compactions without a summary were left out");
    note(plan.reparented.len() as u64, NoteCode::Reparented, "entries got another parent");
    notes
}

#[cfg(test)]
mod tests;
