//! Compactions: a start without its summary hides what is before it, and a list of kept records that names one which is
//! not there keeps none.

use super::super::context::id_text;
use super::super::record::Record;
use super::super::row::{Key, Kind};
use super::View;
use crate::json::{Field, members, quote};
use crate::repair::Document;

/// What a start of a compaction is called that never got its summary: a note of the runtime like any other.
const UNFINISHED: &str = "compact_boundary_unfinished";

/// Mends the compactions.
pub(super) fn mend(document: &mut Document, view: &View) {
    let tree = &view.tree;
    for (position, row) in tree.rows.iter().enumerate().filter(|(_, row)| row.kind == Kind::Boundary) {
        if !tree.is_complete(position) {
            let mut after = tree.rows.iter().skip(position + 1);
            if after.any(|row| row.kind.is_message() && row.sidechain == tree.side) {
                open_up(document, view, position);
            }
        } else if row.stated.is_some() {
            rename(document, view, position);
        } else if view.conversation.path.start == Some(position) {
            let is_missing = |key: &Key| tree.find(*key).is_none();
            if row.preserved.iter().any(is_missing) && !row.keeps_chain {
                shorten(document, view, position);
            }
        }
    }
}

/// Lets a compaction in a copied session name what it keeps by the ids that the records have there.
fn rename(document: &mut Document, view: &View, position: usize) {
    let line = document.line(position).to_vec();
    let Some(metadata) = Record::parse(&line).ok().and_then(|record| record.compact_metadata) else { return };
    let mut renamed = metadata.raw().to_owned();
    for (at, row) in view.tree.rows.iter().enumerate() {
        if let (Some(origin), Some(id)) = (row.origin, view.id(at)) {
            renamed = renamed.replace(&quote(&id_text(&view.tree, origin)), &quote(&id));
        }
    }
    let what = "the compaction named what it keeps by ids of the session that this one was copied from";
    document.edit(position, vec![(metadata.span(), renamed)], ("compaction", what));
}

/// Makes the start of a compaction that hides the conversation before it a note within that conversation.
fn open_up(document: &mut Document, view: &View, position: usize) {
    let line = document.line(position).to_vec();
    let Ok(record) = Record::parse(&line) else { return };
    let (Some(subtype), Some(parent)) = (record.subtype, record.parent_uuid) else { return };
    let tree = &view.tree;
    let logical = tree.row(position).other.and_then(|key| tree.find(key));
    let before = logical.filter(|&logical| logical < position).or_else(|| tree.nearest(position));
    let id = before.and_then(|before| view.id(before)).map_or_else(|| "null".to_owned(), |id| quote(&id));
    let what = "the compaction has no summary and would hide what is before it; it is made a note";
    let edits = vec![(subtype.span(), quote(UNFINISHED)), (parent.span(), id)];
    document.edit(position, edits, ("compaction", what));
}

/// Takes records that are not there from the list of those that a compaction keeps.
fn shorten(document: &mut Document, view: &View, position: usize) {
    let line = document.line(position).to_vec();
    let Ok(record) = Record::parse(&line) else { return };
    let member = |object: Field<'_>, name: &str| {
        members(object)?.into_iter().find(|member| member.name == name).map(|member| member.value.span())
    };
    let text = std::str::from_utf8(&line).unwrap_or_default();
    let Some(metadata) = record.compact_metadata else { return };
    let Some(kept) =
        members(metadata).into_iter().flatten().find(|member| member.name == "preservedMessages")
    else {
        return;
    };
    let mut edits = Vec::new();
    for name in ["uuids", "allUuids"] {
        let Some(span) = member(kept.value, name) else { continue };
        let list = Field::whole(text.get(span.clone()).unwrap_or_default());
        let is_there = |id: &Field<'_>| id.text().is_some_and(|id| view.tree.find(Key::of(&id).0).is_some());
        let left: Vec<&str> =
            list.elements().unwrap_or_default().iter().filter(|id| is_there(id)).map(Field::raw).collect();
        edits.push((span, format!("[{}]", left.join(","))));
    }
    let what = "the compaction keeps records that do not exist, and so would keep none; they are removed from its list";
    document.edit(position, edits, ("compaction", what));
}
