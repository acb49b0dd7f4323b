//! Plans a context: the way from the last entry to the root, as pieces of a chain's bytes with a few replaced parents.
//!
//! It copies no content and reads no more of a chain than it needs. What it emits stands in the order of the way, so that the
//! last entry is where the conversation stands; a line without an id goes with the entry before it.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use stemmata_model::{CommitType, EntryId, Note, NoteCode, to_u64};

use super::tree::{At, Kept, Parent, Row, Tree, is_before, rows};
use crate::adapter::{
    CompactionPlan, ContextPlan, Edit, Piece, PlanStop, Segment, Segments, SourceError, segment_number,
};
use crate::json::quote;
use crate::lines::emit::{note_ended, push};

/// Commits that are searched for what a compaction keeps, and for the session's header.
const WALK_SEGMENTS_MAX: usize = 65_536;

/// A way through a tree, newest entry first.
#[derive(Debug, Default)]
struct Path {
    nodes: Vec<At>,
    seen: HashSet<At>,
    /// Entries that a compaction replaced, and that are still there.
    replaced: Vec<At>,
    is_done: bool,
}

/// What a walk came to.
enum Step {
    /// The next entry.
    At(At),
    /// An older commit is needed to know.
    More,
    /// The beginning.
    End,
}

impl Path {
    /// Says what comes next of what is loaded; `is_all` where there is nothing older to load.
    fn step(&self, tree: &Tree, is_all: bool) -> Step {
        let more = if is_all { Step::End } else { Step::More };
        let Some(last) = self.nodes.last().copied() else {
            return tree.leaf(is_all).map_or(more, Step::At);
        };
        let Some(row) = tree.row(last) else { return Step::End };
        let found = match &row.parent {
            Parent::Root => return Step::End,
            Parent::Before => tree.before(last),
            Parent::Id(id) => tree.find(id).or_else(|| tree.before(last).filter(|_| is_all)),
        };
        match found {
            // A tree has no circles; a broken file may.
            Some(at) if self.seen.contains(&at) && tree.is_strict => Step::End,
            Some(at) if self.seen.contains(&at) => more,
            Some(at) => Step::At(at),
            None => more,
        }
    }

    fn take(&mut self, at: At) {
        self.seen.insert(at);
        self.nodes.push(at);
    }
}

/// A segment's rows, and whether nothing older belongs to the context.
fn segment_rows(segment: &Segment, position: usize, stop: PlanStop, is_linear: bool) -> (Vec<Row>, bool) {
    let number = segment_number(position, false);
    let prefix = |restated: u64| {
        let number = segment_number(position, true);
        segment.prefix.as_ref().map(|prefix| rows(number, prefix, restated, is_linear))
    };
    let own = || rows(number, &segment.native, 0, is_linear);
    let is_stop = stop == PlanStop::Ancestor && segment.is_stop;
    match segment.commit_type {
        CommitType::Delta => (own(), is_stop),
        CommitType::Compaction => match prefix(0).filter(|_| is_stop) {
            Some(mut whole) => {
                let own = own();
                let after = own.iter().rposition(|row| row.is_compaction).map_or(0, |at| at + 1);
                whole.extend(own.into_iter().skip(after));
                (whole, true)
            }
            None => (own(), is_stop),
        },
        CommitType::Snapshot { restated_entries } => {
            let is_end = is_stop || stop == PlanStop::Compaction;
            let restated = if is_end { 0 } else { restated_entries };
            let whole =
                prefix(restated).unwrap_or_else(|| rows(number, &segment.native, restated, is_linear));
            (whole, is_end)
        }
    }
}

/// Plans a context (see `Adapter::plan_context`).
///
/// # Errors
/// What the chain's storage says.
pub(super) fn plan_context(
    chain: &mut dyn Segments,
    stop: PlanStop,
    is_linear: bool,
) -> Result<ContextPlan, SourceError> {
    let mut tree = Tree::default();
    let mut path = Path::default();
    let mut prefixes = Vec::new();
    let (mut is_all, mut is_cut) = (false, false);
    loop {
        match path.step(&tree, is_all) {
            Step::End => path.is_done = true,
            Step::At(at) => {
                path.take(at);
                let is_stop = stop == PlanStop::Compaction && tree.is_compacted(at, &path.nodes);
                if is_stop && (is_all || !tree.has_late(at)) {
                    break;
                }
                continue;
            }
            Step::More => {}
        }
        // Also where the way has come to its root: what hangs on the last entry may stand anywhere ahead of it.
        if is_all {
            break;
        }
        match chain.next()? {
            Some(segment) => {
                let (rows, is_end) = segment_rows(&segment, tree.segments.len(), stop, is_linear);
                tree.push(rows);
                prefixes.push(segment.prefix.filter(|_| segment.commit_type == CommitType::Compaction));
                (is_all, is_cut) = (is_end, is_end && stop == PlanStop::Ancestor);
            }
            None => is_all = true,
        }
    }
    let mut plan = ContextPlan { segments_read: prefixes.len(), ..ContextPlan::default() };
    // Now that all is there, something may hang on what was taken for the end.
    let leaf = if is_all { tree.leaf(true) } else { path.nodes.first().copied() };
    (path.nodes, plan.recovered) = tree.mended(leaf, is_all && !is_cut);
    if stop == PlanStop::Compaction {
        let is_stop = |(index, at): (usize, &At)| {
            let (way, older) = path.nodes.split_at(index + 1);
            tree.is_compacted(*at, way) && older.iter().all(|other| is_before(*other, *at))
        };
        if let Some(last) = path.nodes.iter().enumerate().position(is_stop) {
            path.nodes.truncate(last + 1);
            let at = path.nodes.last().copied().unwrap_or_default();
            stand_in(&mut tree, &mut path, prefixes.get(at.0).and_then(Option::as_ref), is_linear);
        } else {
            keep(&tree, &mut path);
        }
    }
    let chosen = choose(&tree, &path, stop, &mut plan);
    let emitted = Emitted::of(&tree, &chosen);
    plan.pieces = emitted.pieces;
    plan.reparented = emitted.reparented;
    note_ended(emitted.ended, &mut plan.notes);
    let count = plan.reparented.len();
    if count > 0 {
        plan.notes.push(Note::new(
            NoteCode::Reparented,
            format!("re-linked {}", stemmata_model::plural(count, "entry")),
        ));
    }
    Ok(plan)
}

/// Puts a compaction's artifact into the place of everything before the last entry of the path, the compaction.
fn stand_in(tree: &mut Tree, path: &mut Path, prefix: Option<&std::sync::Arc<Vec<u8>>>, is_linear: bool) {
    path.is_done = true;
    let Some(at) = path.nodes.last().copied() else { return };
    let Some(prefix) = prefix else { return tree.segments.truncate(at.0 + 1) };
    let whole = rows(segment_number(at.0, true), prefix, 0, is_linear);
    path.nodes.pop();
    let count = tree.replace(at, whole);
    for node in &mut path.nodes {
        if node.0 == at.0 {
            node.1 = (node.1 + count).saturating_sub(at.1 + 1);
        }
    }
    let nodes = (0..count).rev().map(|row| (at.0, row));
    path.nodes.extend(nodes.filter(|at| tree.row(*at).is_some_and(|row| row.is_node)));
}

/// Leaves of a way what is sent where its last compaction was written late, so that its artifact stands for too much.
fn keep(tree: &Tree, path: &mut Path) {
    let row = |at: &At| tree.row(*at);
    let is_compaction = |at: &At| row(at).is_some_and(|row| row.is_compaction);
    let Some(last) = path.nodes.iter().position(is_compaction) else { return };
    let kept = path.nodes.get(last).and_then(row);
    let is_first =
        |at: &At| match (kept.and_then(|row| row.kept.as_ref()), row(at).and_then(|row| row.id.as_ref())) {
            (Some(Kept::Id(kept)), Some(id)) => kept == id,
            _ => false,
        };
    let first = path.nodes.iter().position(is_first).unwrap_or(last).max(last);
    path.replaced = path.nodes.split_off(first + 1);
    let mut place = 0..;
    path.nodes.retain(|at| place.next() <= Some(last) || !is_compaction(at));
}

/// Returns the entries of the path that a context holds, the oldest first, and counts the others.
fn choose(tree: &Tree, path: &Path, stop: PlanStop, plan: &mut ContextPlan) -> Vec<At> {
    let mut chosen = Vec::new();
    let mut has_said = false;
    for at in path.nodes.iter().rev() {
        let Some(row) = tree.row(*at) else { continue };
        // A compaction that nothing stands before is what the context begins with.
        if row.is_compaction && has_said && stop != PlanStop::Compaction {
            plan.skipped_compactions += 1;
            continue;
        }
        has_said |= row.is_message;
        chosen.push(*at);
    }
    let on_path: HashSet<At> = path.nodes.iter().chain(&path.replaced).copied().collect();
    let is_abandoned = |(at, row): &(At, &Row)| {
        row.is_node && row.is_message && !row.is_restated && !on_path.contains(at) && tree.counts(*at)
    };
    let abandoned = tree.in_order().filter(is_abandoned).count();
    plan.abandoned_entries = u64::try_from(abandoned).unwrap_or(u64::MAX);
    chosen
}

/// Lines as they are written.
#[derive(Default)]
struct Emitted {
    pieces: Vec<Piece>,
    reparented: Vec<(EntryId, Option<EntryId>)>,
    /// Records that got a line of their own.
    ended: usize,
}

impl Emitted {
    /// Writes the header, the chosen entries in their order, and the lines that go with them.
    fn of(tree: &Tree, chosen: &[At]) -> Self {
        let mut with: HashMap<At, Vec<&Row>> = chosen.iter().map(|at| (*at, Vec::new())).collect();
        let mut header: Vec<&Row> = Vec::new();
        let mut is_header = false;
        let mut last = None;
        for (at, row) in tree.in_order() {
            if row.is_header {
                is_header = header.is_empty();
                last = None;
            } else if row.is_node {
                is_header = false;
                last = Some(at);
            }
            let is_with = !row.is_restated || row.is_header;
            let lines = last.and_then(|last| with.get_mut(&last));
            if let Some(lines) = lines.or(is_header.then_some(&mut header)).filter(|_| is_with) {
                lines.push(row);
            }
        }
        let mut emitted = Self::default();
        let mut last: Option<&str> = None;
        let entries = chosen.iter().filter_map(|at| with.get(at)).flatten();
        for row in header.iter().chain(entries) {
            let edit = emitted.linked(row, last).map(|edit| within(row, edit));
            push(&mut emitted.pieces, row.place, edit.into_iter().chain(row.place.ended(row.is_joined)));
            emitted.ended += usize::from(row.is_joined);
            last = row.id.as_deref().or(last);
        }
        emitted
    }

    /// Hangs an entry on the one before it, where it hangs on another.
    fn linked(&mut self, row: &Row, last: Option<&str>) -> Option<Edit> {
        let id = row.id.as_deref()?;
        let is_same = match &row.parent {
            Parent::Id(parent) => last == Some(parent),
            Parent::Root => last.is_none(),
            Parent::Before => false,
        };
        if is_same {
            return None;
        }
        let entry = |id: &str| EntryId::new(id.to_owned()).ok();
        self.reparented.extend(entry(id).map(|id| (id, last.and_then(entry))));
        let parent = last.map_or_else(|| "null".to_owned(), quote);
        let with = if row.parent_span.is_empty() { format!(",\"parentId\":{parent}") } else { parent };
        Some(edit(&row.parent_span, with))
    }
}

/// Returns what an edit of a record is to its line: of one that had to be found in it, the whole line is written anew.
fn within(row: &Row, edit: Edit) -> Edit {
    let Some(found) = &row.found else { return edit };
    let narrow = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    let (start, end) = (narrow(edit.offset), narrow(edit.offset.saturating_add(edit.length)));
    let before = found.as_bytes().get(..start).unwrap_or_default();
    let after = found.as_bytes().get(end..).unwrap_or_default();
    let with = [before, &edit.with, after].concat();
    let length = row.place.length.saturating_sub(u64::from(row.has_newline));
    Edit { offset: 0, length, with }
}

fn edit(span: &std::ops::Range<usize>, with: String) -> Edit {
    Edit { offset: to_u64(span.start), length: to_u64(span.len()), with: with.into_bytes() }
}

/// Plans a compaction's artifact: the session's header, the entries that the compaction keeps, and itself.
///
/// # Errors
/// What the chain's storage says.
pub(super) fn plan_compaction(
    native: &[u8],
    earlier: &mut dyn Segments,
    is_linear: bool,
) -> Result<CompactionPlan, SourceError> {
    let mut plan = CompactionPlan::default();
    let mut tree = Tree::strict();
    tree.push(rows(segment_number(0, false), native, 0, is_linear));
    let own = tree.segments.first().and_then(|rows| rows.iter().rposition(|row| row.is_compaction));
    let Some(own) = own else {
        plan.notes.push(Note::new(NoteCode::Degraded, "compaction has no record"));
        return Ok(plan);
    };
    if let Some(rows) = tree.segments.first_mut() {
        rows.truncate(own + 1);
    }
    let compaction = (0, own);
    let kept = tree.row(compaction).and_then(|row| row.kept.clone());
    let found = match &kept {
        Some(Kept::Index(index)) => by_index(&mut tree, earlier, *index, is_linear)?,
        _ => by_path(&mut tree, earlier, compaction, kept.as_ref(), is_linear)?,
    };
    if found.is_none() && kept.is_some() {
        let message = "the first entry that a compaction keeps was not found: it keeps nothing";
        plan.notes.push(Note::new(NoteCode::Degraded, message));
    }
    let mut chosen = found.unwrap_or_default();
    // An older compaction among them is nothing to the loader.
    chosen.retain(|at| tree.row(*at).is_some_and(|row| !row.is_compaction));
    chosen.push(compaction);
    // In the order of the file, whatever hangs on what: a compaction's id is made of it.
    chosen.sort_unstable_by_key(|(segment, row)| (Reverse(*segment), *row));
    chosen.dedup();
    if !tree.has_header() {
        plan.notes.push(Note::new(NoteCode::Degraded, "the session's header was not found"));
    }
    plan.pieces = Emitted::of(&tree, &chosen).pieces;
    name_first(&tree, &chosen, compaction, &mut plan);
    Ok(plan)
}

/// Names the first kept entry anew in the compaction's line, which is the last, where the old name says something else of
/// what is written: numbers do, and so does the id of what was left out.
fn name_first(tree: &Tree, chosen: &[At], compaction: At, plan: &mut CompactionPlan) {
    let Some(row) = tree.row(compaction) else { return };
    let first = chosen.first().and_then(|first| tree.row(*first)).and_then(|row| row.id.as_deref());
    let name = match &row.kept {
        // Behind the header; where nothing is kept, that is the compaction itself.
        Some(Kept::Index(_)) => "1".to_owned(),
        Some(Kept::Id(id)) if first != Some(id) => first.map_or_else(|| "null".to_owned(), quote),
        Some(Kept::Id(_)) | None => return,
    };
    let (Some(span), Some(piece)) = (&row.kept_span, plan.pieces.last_mut()) else { return };
    let before = piece.length.saturating_sub(row.place.length);
    let edit = edit(span, name);
    piece.edits.push(Edit { offset: edit.offset + before, ..edit });
    piece.edits.sort_by_key(|edit| edit.offset);
}

/// Finds the kept entries by the number of the first, among all records of the file.
fn by_index(
    tree: &mut Tree,
    earlier: &mut dyn Segments,
    index: u64,
    is_linear: bool,
) -> Result<Option<Vec<At>>, SourceError> {
    for position in 1..=WALK_SEGMENTS_MAX {
        let Some(segment) = earlier.next()? else { break };
        let (rows, is_end) = if matches!(segment.commit_type, CommitType::Snapshot { .. }) {
            segment_rows(&segment, position, PlanStop::Compaction, is_linear)
        } else {
            (rows(segment_number(position, false), &segment.native, 0, is_linear), false)
        };
        tree.push(rows);
        if is_end {
            break;
        }
    }
    let records = tree.in_order().filter(|(_, row)| row.is_record);
    let kept: Vec<At> = records
        .skip(usize::try_from(index).unwrap_or(usize::MAX))
        .filter(|(_, row)| row.is_node)
        .map(|(at, _)| at)
        .collect();
    Ok((!kept.is_empty()).then_some(kept))
}

/// Finds the kept entries on the way to the root, and goes on to the session's header.
fn by_path(
    tree: &mut Tree,
    earlier: &mut dyn Segments,
    compaction: At,
    kept: Option<&Kept>,
    is_linear: bool,
) -> Result<Option<Vec<At>>, SourceError> {
    let mut path = Path::default();
    path.take(compaction);
    let mut prefixes = vec![None];
    let mut is_all = false;
    let is_first = |tree: &Tree, at: At| match (kept, tree.row(at).and_then(|row| row.id.as_deref())) {
        (Some(Kept::Id(kept)), Some(id)) => **kept == *id,
        _ => false,
    };
    // A compaction that names itself, or nothing, keeps nothing.
    let mut found = (kept.is_none() || is_first(tree, compaction)).then(Vec::new);
    loop {
        if found.is_none() && !path.is_done {
            match path.step(tree, is_all) {
                Step::End => path.is_done = true,
                Step::At(at) => {
                    path.take(at);
                    if is_first(tree, at) {
                        found = Some(path.nodes.clone());
                    } else if tree.row(at).is_some_and(|row| row.is_compaction)
                        && let Some(prefix) = prefixes.get(at.0).and_then(Option::as_ref)
                    {
                        stand_in(tree, &mut path, Some(prefix), is_linear);
                        let first = path.nodes.iter().position(|at| is_first(tree, *at));
                        found = first.map(|first| path.nodes.get(..=first).unwrap_or_default().to_vec());
                        return Ok(found);
                    }
                    continue;
                }
                Step::More => {}
            }
        }
        if is_all || ((found.is_some() || path.is_done) && tree.has_header()) {
            return Ok(found);
        }
        match earlier.next()? {
            Some(segment) if tree.segments.len() <= WALK_SEGMENTS_MAX => {
                let position = tree.segments.len();
                let (rows, is_end) = match &segment.prefix {
                    // Only the header is wanted from here on, and it is there.
                    Some(prefix) if found.is_some() || path.is_done => {
                        (rows(segment_number(position, true), prefix, 0, is_linear), true)
                    }
                    _ => segment_rows(&segment, position, PlanStop::Compaction, is_linear),
                };
                tree.push(rows);
                prefixes.push(segment.prefix.filter(|_| segment.commit_type == CommitType::Compaction));
                is_all = is_end;
            }
            _ => is_all = true,
        }
    }
}
