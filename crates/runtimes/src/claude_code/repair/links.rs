//! The links between lines: made such that the loader finds the whole conversation.
//!
//! Where it finds all of it already no link is touched.

use std::collections::HashSet;

use super::super::loader::Loader;
use super::super::place::close::NO_TIME;
use super::super::record::Record;
use super::super::row::Kind;
use super::View;
use crate::json::{Object, owned, quote};
use crate::repair::{Document, made_up_uuid};

const BROKEN: &str = "its parent led elsewhere, and the loader lost what is before it";

/// Mends the links.
pub(super) fn mend(document: &mut Document, view: &View) {
    let reached = view.loader.reached(&view.tree);
    let is_whole = view.conversation.messages.iter().all(|position| reached.contains(position));
    if is_whole && view.conversation.path.recovered.is_empty() {
        return;
    }
    let before = document.changes();
    tell_apart(document, view, &reached);
    if document.changes() > before {
        return;
    }
    let links = Links { view, thread: thread(view) };
    if view.loader == Loader::Walking {
        add_times(document, view);
    } else {
        links.mend_gaps(document);
    }
    if document.changes() == before {
        links.mend_lines(document);
    }
    if document.changes() == before && !links.thread.last().is_none_or(|last| reached.contains(last)) {
        links.mend_end(document);
    }
}

/// Returns the messages of the conversation in the order in which they were said: a message's calls before its results.
fn thread(view: &View) -> Vec<usize> {
    let (tree, path) = (&view.tree, &view.conversation.path);
    let mut thread = Vec::with_capacity(view.conversation.messages.len());
    let mut listed: HashSet<usize> = HashSet::new();
    let kept = &path.kept;
    let mut by_unit: std::collections::HashMap<usize, Vec<usize>> = std::collections::HashMap::new();
    for &position in &view.conversation.messages {
        by_unit.entry(tree.unit(position)).or_default().push(position);
    }
    for step in path.steps.iter().rev() {
        let mut members = by_unit.remove(&step.unit).unwrap_or_default();
        members.retain(|position| !kept.contains(position) && listed.insert(*position));
        members.sort_by_key(|&position| (tree.row(position).kind == Kind::Result, position));
        thread.extend(&members);
        // The newer loader hangs the kept ones below the summary by itself.
        let is_summary = members.iter().any(|&position| tree.row(position).kind == Kind::Summary);
        if is_summary && view.loader == Loader::Walking {
            thread.extend(kept.iter().copied().filter(|position| listed.insert(*position)));
        }
    }
    thread
}

/// Gives another id to messages that share theirs with a later one: the loader finds only that.
fn tell_apart(document: &mut Document, view: &View, reached: &HashSet<usize>) {
    for &position in view.conversation.messages.iter().filter(|position| !reached.contains(position)) {
        let key = view.tree.row(position).key;
        if key.and_then(|key| view.tree.find(key)).is_none_or(|found| found == position) {
            continue;
        }
        let line = document.line(position).to_vec();
        let Some(field) = Record::parse(&line).ok().and_then(|record| record.uuid) else { continue };
        let place = u64::try_from(position).unwrap_or(u64::MAX).to_le_bytes();
        let id = quote(&made_up_uuid(&[b"again", &place, &line]));
        let what = "its `uuid` is a later record's too, and the loader finds only that: it got another one";
        document.edit(position, vec![(field.span(), id)], ("field", what));
    }
}

/// Gives a time to the records that have none: the older loaders stop at them.
fn add_times(document: &mut Document, view: &View) {
    let mut last: Option<String> = None;
    for index in 0..document.len() {
        let line = document.line(index).to_vec();
        let Ok(record) = Record::parse(&line) else { continue };
        let row = view.tree.row(index);
        if row.kind.is_node() && row.time.is_none() {
            let value = quote(last.as_deref().unwrap_or(NO_TIME));
            let what = ("field", "the loader stops at a record without `timestamp`");
            document.put(index, [("timestamp", record.timestamp, value)], what);
        } else if row.time.is_some() {
            last = owned(record.timestamp).or(last);
        }
    }
}

struct Links<'v> {
    view: &'v View,
    thread: Vec<usize>,
}

impl Links<'_> {
    /// Returns the next line up, as the loader goes.
    fn up(&self, position: usize) -> Option<usize> {
        let tree = &self.view.tree;
        match self.view.loader {
            Loader::Recovering => tree.parent(position).filter(|_| !tree.is_made_up(position)),
            Loader::Walking => tree.named(tree.row(position)),
        }
    }

    /// Goes up from a line to the first that is wanted, or until the way ends.
    fn first_above(&self, position: usize, is_wanted: impl Fn(usize) -> bool) -> Option<usize> {
        let mut seen = HashSet::from([position]);
        let mut next = self.up(position);
        while let Some(at) = next.filter(|&at| seen.insert(at)) {
            if is_wanted(at) {
                return Some(at);
            }
            next = self.up(at);
        }
        None
    }

    /// Hangs each message, by the line through which it hangs on anything, on the message before it.
    fn mend_gaps(&self, document: &mut Document) {
        let tree = &self.view.tree;
        let units: HashSet<usize> = self.thread.iter().map(|&position| tree.unit(position)).collect();
        let kept = |position: usize| {
            let start = self.view.conversation.path.start;
            start.is_some_and(|start| {
                tree.row(position).key.is_some_and(|key| tree.preserved_by(key) == Some(start))
            })
        };
        let is_wanted = |at: usize| units.contains(&tree.unit(at)) || kept(at);
        for pair in self.thread.windows(2) {
            let [older, newer] = pair else { continue };
            let (unit, own) = (tree.unit(*older), tree.unit(*newer));
            if unit == own {
                continue;
            }
            let head = tree.head(own);
            let above = self.first_above(head, |at| tree.unit(at) != own && is_wanted(at));
            let is_summary = tree.row(unit).kind == Kind::Summary;
            let leads = above.is_some_and(|above| tree.unit(above) == unit || (is_summary && kept(above)));
            if !leads {
                self.view.hang(document, head, Some(*older), BROKEN);
            }
        }
    }

    /// Hangs every line of the conversation on the one before it, calls and results in a row.
    fn mend_lines(&self, document: &mut Document) {
        let all: HashSet<usize> = self.thread.iter().copied().collect();
        if let Some(&first) = self.thread.first()
            && self.first_above(first, |at| all.contains(&at)).is_some()
        {
            self.view.hang(document, first, None, "the conversation begins with it");
        }
        // Of a message that is there twice the loader finds one: through the other nothing can hang on anything.
        let tree = &self.view.tree;
        let is_found =
            |at: &usize| tree.row(*at).key.and_then(|key| tree.find(key)).is_none_or(|found| found == *at);
        let thread: Vec<usize> = self.thread.iter().copied().filter(is_found).collect();
        for pair in thread.windows(2) {
            let [older, newer] = pair else { continue };
            if self.first_above(*newer, |at| all.contains(&at)) != Some(*older) {
                let why = "the loader follows parent links and would skip this parallel call";
                self.view.hang(document, *newer, Some(*older), why);
            }
        }
    }

    /// Makes the loader begin at the last message.
    fn mend_end(&self, document: &mut Document) {
        let tree = &self.view.tree;
        let Some(&end) = self.thread.last() else { return };
        if self.view.loader == Loader::Recovering && self.mend_checkpoint(document, end) {
            return;
        }
        let is_stray = |position: &usize| {
            let row = tree.row(*position);
            let is_read_over = self.view.loader == Loader::Recovering && row.kind == Kind::Progress;
            tree.is_own(*position) && row.kind.is_node() && !is_read_over
        };
        let Some(last) = (0..tree.rows.len()).rev().find(is_stray) else { return };
        if let Some(place) = self.thread.iter().position(|&position| position == last) {
            // It belongs further up and stands last: a result that came late.
            if let Some(&next) = self.thread.get(place + 1) {
                document.move_line(last, next, ("order", "it came late, and the loader took it for the end"));
            }
            return;
        }
        if self.first_above(last, |at| at == end).is_none() {
            self.view.hang(document, last, Some(end), "the loader took it for the end, and lost the rest");
        } else if self.view.loader == Loader::Recovering
            && let Some(id) = self.view.id(end)
        {
            let line = Object::new().text("type", "last-prompt").text("leafUuid", &id);
            let what = "a line that names the last message: the loader began elsewhere";
            document.insert(document.len(), &line.finish(), ("checkpoint", what));
        }
    }

    /// Lets the last note on where the session goes on name the last message. Returns whether there is one.
    fn mend_checkpoint(&self, document: &mut Document, end: usize) -> bool {
        let tree = &self.view.tree;
        let since = tree.rows.iter().rposition(|row| row.kind == Kind::Boundary).unwrap_or_default();
        let mut lines = (since..tree.rows.len()).rev();
        let Some(checkpoint) = lines.find(|&position| tree.row(position).kind == Kind::Checkpoint) else {
            return false;
        };
        let named = tree.named(tree.row(checkpoint));
        if named.is_none_or(|named| tree.unit(named) == tree.unit(end)) {
            return false;
        }
        let line = document.line(checkpoint).to_vec();
        let field = Record::parse(&line).ok().and_then(|record| record.leaf_uuid);
        let (Some(field), Some(id)) = (field, self.view.id(end)) else { return false };
        let what = "the end of the session: it named a dead end, and names the last message now";
        document.edit(checkpoint, vec![(field.span(), quote(&id))], ("checkpoint", what));
        true
    }
}
