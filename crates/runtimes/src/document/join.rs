//! Lists of several documents as one list, and the context of a chain of documents.
//!
//! A snapshot stands for everything before it. What commits behind it add (deltas of a list, as programs make them)
//! joins its list, byte for byte: brackets go and commas come, nothing else.

use std::ops::Range;

use stemmata_model::{CommitType, Note, NoteCode, to_u64};

use super::{Dialect, compactions};
use crate::adapter::{ContextPlan, Edit, Piece, PlanStop, Segment, Segments, SourceError, segment_number};

/// Where one document stands: the number of its content, as [`segment_number`] counts, and its bytes.
pub(crate) type Numbered<'b> = (usize, &'b [u8]);

/// Says what the join of documents is made of, oldest first; none where one of several has no list.
pub(crate) type Pieces<'p> = dyn Fn(&[Numbered<'_>]) -> Option<Vec<Piece>> + 'p;

/// Joins documents, oldest first; none where one of several has no list.
pub(crate) fn join(dialect: &Dialect, contents: &[&[u8]]) -> Option<Vec<u8>> {
    join_by(&|documents| pieces(dialect, documents, &mut |_, _, list| vec![list]), contents)
}

/// Joins documents as [`join`] does, by what a format says that the join is made of. Edits only put something before a
/// piece.
pub(crate) fn join_by(pieces: &Pieces<'_>, contents: &[&[u8]]) -> Option<Vec<u8>> {
    let numbered: Vec<Numbered<'_>> = contents.iter().copied().enumerate().collect();
    let mut out = Vec::new();
    for piece in pieces(&numbered)? {
        let start = usize::try_from(piece.offset).ok()?;
        let end = start.checked_add(usize::try_from(piece.length).ok()?)?;
        piece.edits.iter().for_each(|edit| out.extend_from_slice(&edit.with));
        out.extend_from_slice(contents.get(piece.segment)?.get(start..end)?);
    }
    Some(out)
}

/// Says which bytes of a list are taken: of the document with that index, of all its bytes, and of the list in them.
type Take<'t> = dyn FnMut(usize, &[u8], Range<usize>) -> Vec<Range<usize>> + 't;

/// Returns what the joined document is made of.
fn pieces(dialect: &Dialect, contents: &[Numbered<'_>], take: &mut Take<'_>) -> Option<Vec<Piece>> {
    let Some((first_number, first)) = contents.first() else { return Some(Vec::new()) };
    let Some(frame) = (dialect.list)(first) else {
        return (contents.len() == 1).then(|| vec![piece(*first_number, 0..first.len(), "")]);
    };
    let frame = trimmed(first, frame);
    let mut pieces = vec![piece(*first_number, 0..frame.start, "")];
    let mut has_some = false;
    for (index, (number, bytes)) in contents.iter().enumerate() {
        let list = trimmed(bytes, (dialect.list)(bytes)?);
        let mut comma = if has_some { "," } else { "" };
        for range in take(index, bytes, list).into_iter().filter(|range| !range.is_empty()) {
            push(&mut pieces, piece(*number, range, comma));
            (comma, has_some) = ("", true);
        }
    }
    push(&mut pieces, piece(*first_number, frame.end..first.len(), ""));
    Some(pieces)
}

/// Appends a piece; one that goes on where the last one ended becomes a part of it.
fn push(pieces: &mut Vec<Piece>, piece: Piece) {
    match pieces.last_mut() {
        Some(last)
            if last.segment == piece.segment
                && last.offset + last.length == piece.offset
                && piece.edits.is_empty() =>
        {
            last.length += piece.length;
        }
        _ => pieces.push(piece),
    }
}

/// Returns what is left of a range without some parts of it, which ascend.
fn left(range: Range<usize>, gone: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut left = Vec::with_capacity(gone.len() + 1);
    let mut at = range.start;
    for part in gone {
        left.push(at..part.start.clamp(at, range.end.max(at)));
        at = part.end.clamp(at, range.end.max(at));
    }
    left.push(at..range.end.max(at));
    left
}

fn piece(segment: usize, range: std::ops::Range<usize>, before: &str) -> Piece {
    piece_behind(segment, range, before.as_bytes())
}

/// Returns a part of a document, with something before it.
pub(crate) fn piece_behind(segment: usize, range: std::ops::Range<usize>, before: &[u8]) -> Piece {
    let edit = Edit { offset: 0, length: 0, with: before.to_vec() };
    Piece {
        segment,
        offset: to_u64(range.start),
        length: to_u64(range.len()),
        edits: if before.is_empty() { Vec::new() } else { vec![edit] },
    }
}

/// Leaves out the white space at both ends.
fn trimmed(bytes: &[u8], range: std::ops::Range<usize>) -> std::ops::Range<usize> {
    let inner = bytes.get(range.clone()).unwrap_or_default();
    let start = range.start + (inner.len() - inner.trim_ascii_start().len());
    start..start + inner.trim_ascii().len()
}

/// Plans a context (see `Adapter::plan_context`).
///
/// # Errors
/// What the chain's storage says.
pub(crate) fn plan_context(
    dialect: &Dialect,
    chain: &mut dyn Segments,
    stop: PlanStop,
) -> Result<ContextPlan, SourceError> {
    let (mut plan, kept) = gather(&|bytes| compactions::is_within(dialect, bytes), chain, stop)?;
    let mut skipped = 0;
    let mut take = |index: usize, bytes: &[u8], list: Range<usize>| match stop {
        PlanStop::Compaction => {
            let begin = compactions::begin(dialect, bytes);
            left(begin.map_or(list.start, |begin| begin.max(list.start))..list.end, Vec::new())
        }
        PlanStop::Root => {
            let (gone, count) = compactions::summaries(dialect, bytes, index == 0);
            skipped += count;
            let is_compaction = |(_, segment): &(_, Segment)| segment.commit_type == CommitType::Compaction;
            let own = kept.get(index).filter(|segment| is_compaction(segment));
            // All else that a compaction holds was said before it.
            left(own.and_then(|_| compactions::own(dialect, bytes)).unwrap_or(list), gone)
        }
        PlanStop::Ancestor => vec![list],
    };
    emit(&mut |documents| pieces(dialect, documents, &mut take), &mut plan, &kept);
    plan.skipped_compactions += skipped;
    Ok(plan)
}

/// Plans a context as [`plan_context`] does, by what a format says that the join of documents is made of.
///
/// # Errors
/// What the chain's storage says.
pub(crate) fn plan_context_by(
    pieces: &Pieces<'_>,
    chain: &mut dyn Segments,
    stop: PlanStop,
) -> Result<ContextPlan, SourceError> {
    let (mut plan, kept) = gather(&|_| false, chain, stop)?;
    emit(&mut |documents| pieces(documents), &mut plan, &kept);
    Ok(plan)
}

/// Returns the commits of a context, oldest first, with their positions; `has_compaction` looks for one within a document.
fn gather(
    has_compaction: &dyn Fn(&[u8]) -> bool,
    chain: &mut dyn Segments,
    stop: PlanStop,
) -> Result<(ContextPlan, Vec<(usize, Segment)>), SourceError> {
    let mut plan = ContextPlan::default();
    // Newest first.
    let mut kept: Vec<(usize, Segment)> = Vec::new();
    while let Some(segment) = chain.next()? {
        let position = plan.segments_read;
        plan.segments_read += 1;
        let is_marked = stop == PlanStop::Ancestor && segment.is_stop;
        let (is_end, is_skipped) = match segment.commit_type {
            CommitType::Delta => {
                let is_begin = stop == PlanStop::Compaction && has_compaction(&segment.native);
                (is_marked || is_begin, false)
            }
            // One that an API made may hold an answer, too.
            CommitType::Compaction => (
                is_marked || stop == PlanStop::Compaction,
                stop == PlanStop::Root && !has_compaction(&segment.native),
            ),
            CommitType::Snapshot { .. } => (true, false),
        };
        if is_skipped {
            plan.skipped_compactions += 1;
        } else {
            kept.push((position, segment));
        }
        if is_end {
            break;
        }
    }
    kept.reverse();
    Ok((plan, kept))
}

/// Adds what a context is made of to its plan.
fn emit(
    pieces: &mut dyn FnMut(&[Numbered<'_>]) -> Option<Vec<Piece>>,
    plan: &mut ContextPlan,
    kept: &[(usize, Segment)],
) {
    let numbered: Vec<Numbered<'_>> = kept
        .iter()
        .map(|(position, segment)| match &segment.prefix {
            Some(prefix) => (segment_number(*position, true), prefix.as_slice()),
            None => (segment_number(*position, false), segment.native.as_slice()),
        })
        .collect();
    plan.pieces = if let Some(pieces) = pieces(&numbered) {
        pieces
    } else {
        let message = "a commit of this chain holds no list, so the newest one stands alone";
        plan.notes.push(Note::new(NoteCode::Degraded, message));
        let newest = numbered.last().copied();
        newest.map(|(number, bytes)| piece(number, 0..bytes.len(), "")).into_iter().collect()
    };
}
