//! Mends a transcript for the loader of a version: fields first, then compactions, calls, and the links between lines.
//!
//! What a loader finds is `loader`'s to know, and what the conversation is `path`'s; here the lines are made such that
//! the one finds all of the other.

mod boundaries;
mod calls;
mod fields;
mod lines;
mod links;
mod order;

use super::apart::apart;
use super::loader::Loader;
use super::row::{Names, Place, Row};
use super::tree::{Older, Tree};
use super::validate::{Conversation, side_of};
use crate::repair::Document;

/// Mends one kind of trouble, the first that there is: what it changes may show or hide the next.
pub(super) fn mend(document: &mut Document, client_version: Option<&str>) {
    let before = document.changes();
    document.cut_torn_tail(|line| apart(line, false).iter().any(|part| part.record.is_some()));
    lines::mend(document);
    if document.changes() > before {
        return;
    }
    fields::mend(document, Loader::of(client_version));
    if document.changes() > before {
        return;
    }
    let view = View::of(document, client_version);
    if view.tree.is_only_sidechain() {
        return unmark(document, &view);
    }
    if view.tree.is_sorted() {
        return mend_stages(document, &view);
    }
    // What came late is put in its place where a client loses anything by it, or something else has to be mended.
    let is_whole = view.is_whole();
    let mut sorted = document.clone();
    order::mend(&mut sorted, &view);
    let moved = sorted.changes();
    let view = View::of(&sorted, client_version);
    // Lines could not be put into an order: nothing else is known of their places. Or the order costs what the client finds.
    if !view.tree.is_sorted() || (is_whole && !view.is_whole()) {
        return;
    }
    mend_stages(&mut sorted, &view);
    if sorted.changes() > moved || !is_whole {
        *document = sorted;
    }
}

/// Makes a session of messages that all are marked as a subagent's.
fn unmark(document: &mut Document, view: &View) {
    for (position, row) in view.tree.rows.iter().enumerate() {
        if let Some((start, length)) = row.side_span {
            let what = "the client finds no conversation where all messages are a subagent's";
            let edits = vec![(start..start + length, "false".to_owned())];
            document.edit(view.tree.written(position), edits, ("sidechain", what));
        }
    }
}

/// Mends one kind of trouble, the first that there is.
fn mend_stages(document: &mut Document, view: &View) {
    document.mend_first(&[
        &|document| boundaries::mend(document, view),
        &|document| calls::mend(document, view),
        &|document| links::mend(document, view),
    ]);
}

/// A transcript as its loader sees it.
struct View {
    loader: Loader,
    tree: Tree,
    conversation: Conversation,
}

impl View {
    fn of(document: &Document, client_version: Option<&str>) -> Self {
        let mut names = Names::new();
        let mut offset = 0;
        let mut rows = Vec::with_capacity(document.len());
        for line in document.lines() {
            // Lines were taken apart before: what is left is one record each, or none.
            let before = rows.len();
            let place = Place { segment: 0, offset };
            Row::each((line, rows.is_empty()), place, &mut names, &mut |read| rows.push(read.row));
            offset += line.len() as u64;
            rows.truncate(before + 1);
        }
        let side = side_of(&rows);
        let tree = Tree::new(rows, names, side, Older::None);
        let conversation = Conversation::of(&tree);
        Self { loader: Loader::of(client_version), tree, conversation }
    }

    /// Returns whether the loader finds the whole conversation as it stands there.
    fn is_whole(&self) -> bool {
        let reached = self.loader.reached(&self.tree);
        self.conversation.messages.iter().all(|position| reached.contains(position))
    }

    /// Returns the text of a line's own id.
    fn id(&self, position: usize) -> Option<String> {
        self.tree.row(position).key.map(|key| super::context::id_text(&self.tree, key))
    }

    /// Hangs a line on another one.
    fn hang(&self, document: &mut Document, line: usize, parent: Option<usize>, why: &str) {
        let id = parent.and_then(|parent| self.id(parent));
        let value = id.as_deref().map_or_else(|| "null".to_owned(), crate::json::quote);
        let what = ("parent", format!("re-linked to {}: {why}", told(id.as_deref())));
        match self.tree.row(line).parent_span {
            Some((offset, length)) => document.edit(line, vec![(offset..offset + length, value)], what),
            None => document.put(line, [("parentUuid", None, value)], what),
        }
    }
}

fn told(id: Option<&str>) -> String {
    id.map_or_else(|| "nothing".to_owned(), |id| format!("`{id}`"))
}
