//! Compactions: a start without its summary hides what is before it, and a list of kept records that names one which is
//! not there keeps none.

use std::collections::HashSet;

use super::super::context::{kept_said, listed, lost_anchor};
use super::super::loader::Loader;
use super::super::record::Record;
use super::super::row::{Key, Kind, Row};
use super::View;
use crate::json::quote;
use crate::repair::Document;

/// What a start of a compaction is called that hides what it must not: a note of the runtime like any other.
const NOTE: &str = "compact_boundary_unfinished";

const UNFINISHED: &str = "the compaction has no summary and would hide what is before it; it is made a note";
const LEFT: &str =
    "the conversation went back to before the compaction, which would hide it; it is made a note";

const RENAMED: &str =
    "the compaction named what it keeps by ids of the session that this one was copied from";
const MISSING: &str =
    "the compaction keeps records that do not exist, and so would keep none; they are removed from its list";

const ANCHOR: &str =
    "the compaction hangs what it keeps on a record that does not exist; it hangs on the summary now";
const BESIDE: &str = "the compaction keeps a chain, and the loader would lose the parallel calls beside it; all of them are listed";
const BROKEN: &str = "the chain that the compaction keeps ends at progress, and so the loader would keep none; its messages are listed";

/// Mends the compactions.
pub(super) fn mend(document: &mut Document, view: &View) {
    let tree = &view.tree;
    let is_whole = view.is_whole();
    for (position, row) in tree.rows.iter().enumerate().filter(|(_, row)| row.kind == Kind::Boundary) {
        let is_behind = view.conversation.path.start.is_none_or(|start| start < position);
        if !tree.is_complete(position) {
            let mut after = tree.rows.iter().skip(position + 1);
            if !is_whole || after.any(|row| row.kind.is_message() && row.sidechain == tree.side) {
                open_up(document, view, position, UNFINISHED);
            }
        } else if !is_whole && is_behind && row.metadata.as_deref().is_some_and(|said| said.lists) {
            open_up(document, view, position, LEFT);
        } else if row.stated.is_some() {
            name_kept(document, view, position, RENAMED);
        } else if view.conversation.path.start == Some(position) {
            let is_missing = |key: &Key| tree.lacks(*key);
            if row.preserved.iter().any(is_missing) && !row.keeps_chain {
                name_kept(document, view, position, MISSING);
            } else if lost_anchor(tree, position).is_some() {
                name_kept(document, view, position, ANCHOR);
            } else if row.keeps_chain && view.loader == Loader::Recovering {
                list_beside(document, view, position);
            }
        }
    }
}

/// Makes the start of a compaction that hides the conversation before it a note within that conversation.
fn open_up(document: &mut Document, view: &View, position: usize, what: &str) {
    let line = document.line(position).to_vec();
    let Ok(record) = Record::parse(&line) else { return };
    let (Some(subtype), Some(parent)) = (record.subtype, record.parent_uuid) else { return };
    let tree = &view.tree;
    let logical = tree.row(position).other.and_then(|key| tree.find(key));
    let before = logical.filter(|&logical| logical < position).or_else(|| tree.nearest(position));
    let id = before.and_then(|before| view.id(before)).map_or_else(|| "null".to_owned(), |id| quote(&id));
    let edits = vec![(subtype.span(), quote(NOTE)), (parent.span(), id)];
    document.edit(position, edits, ("compaction", what));
}

/// Lets a compaction that keeps a chain list all that is in it, where the loader would lose parallel calls or results beside it.
fn list_beside(document: &mut Document, view: &View, position: usize) {
    let tree = &view.tree;
    let reached = view.loader.reached(tree);
    let units: HashSet<usize> = reached.iter().map(|&position| tree.unit(position)).collect();
    let kept = tree.kept_by(position);
    let is_lost = |kept: &usize| !reached.contains(kept) && units.contains(&tree.unit(*kept));
    // A chain that begins or ends with progress is none for the client.
    let is_broken = tree.names_progress(position);
    if !is_broken && !kept.iter().any(is_lost) {
        return;
    }
    let Some(edit) = listed(tree, position, &kept) else { return };
    document.edit(position, vec![edit], ("compaction", if is_broken { BROKEN } else { BESIDE }.to_owned()));
    // What hung on a record beside the chain stays where the loader puts it.
    for &head in &view.conversation.path.recovered {
        if let Some(end) = tree.parent(head).filter(|end| kept.last() == Some(end)) {
            view.hang(document, head, Some(end), "it hung on a record that the compaction put away");
        }
    }
    let is_dead = |row: &Row| {
        row.kind == Kind::Checkpoint
            && tree.named(row).and_then(|named| tree.put_away_by(named)).is_some_and(|(by, _)| by == position)
    };
    for (line, _) in tree.rows.iter().enumerate().rev().filter(|(_, row)| is_dead(row)) {
        document.remove(line, ("checkpoint", "it named a record that the compaction put away"));
    }
}

/// Lets a compaction name what it keeps by the ids that the records have, and nothing that is not there.
fn name_kept(document: &mut Document, view: &View, position: usize, what: &str) {
    if let Some(edit) = kept_said(&view.tree, position, None) {
        document.edit(position, vec![edit], ("compaction", what.to_owned()));
    }
}
