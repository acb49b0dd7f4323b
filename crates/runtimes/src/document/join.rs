//! Lists of several documents as one list, and the context of a chain of documents.
//!
//! A snapshot stands for everything before it. What commits behind it add (deltas of a list, as programs make them)
//! joins its list, byte for byte: brackets go and commas come, nothing else.

use stemmata_model::{CommitType, Note, NoteCode};

use super::Dialect;
use crate::adapter::{ContextPlan, Edit, Piece, PlanStop, Segment, Segments, SourceError, segment_number};

/// Where one document stands: the number of its content, as [`segment_number`] counts, and its bytes.
pub(crate) type Numbered<'b> = (usize, &'b [u8]);

/// Says what the join of documents is made of, oldest first; none where one of several has no list.
pub(crate) type Pieces<'p> = dyn Fn(&[Numbered<'_>]) -> Option<Vec<Piece>> + 'p;

/// Joins documents, oldest first; none where one of several has no list.
pub(crate) fn join(dialect: &Dialect, contents: &[&[u8]]) -> Option<Vec<u8>> {
    join_by(&|documents| pieces(dialect, documents), contents)
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

/// Returns what the joined document is made of.
fn pieces(dialect: &Dialect, contents: &[Numbered<'_>]) -> Option<Vec<Piece>> {
    let Some(((first_number, first), more)) = contents.split_first() else { return Some(Vec::new()) };
    if more.is_empty() {
        return Some(vec![piece(*first_number, 0..first.len(), "")]);
    }
    let list = trimmed(first, (dialect.list)(first)?);
    let mut pieces = vec![piece(*first_number, 0..list.end, "")];
    let mut has_some = !list.is_empty();
    for (number, bytes) in more {
        let list = trimmed(bytes, (dialect.list)(bytes)?);
        if list.is_empty() {
            continue;
        }
        pieces.push(piece(*number, list, if has_some { "," } else { "" }));
        has_some = true;
    }
    pieces.push(piece(*first_number, list.end..first.len(), ""));
    Some(pieces)
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
    plan_context_by(&|documents| pieces(dialect, documents), chain, stop)
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
    let mut plan = ContextPlan::default();
    // Newest first.
    let mut kept: Vec<(usize, Segment)> = Vec::new();
    while let Some(segment) = chain.next()? {
        let position = plan.segments_read;
        plan.segments_read += 1;
        let is_marked = stop == PlanStop::Ancestor && segment.is_stop;
        let (is_end, is_skipped) = match segment.commit_type {
            CommitType::Delta => (is_marked, false),
            CommitType::Compaction => (is_marked || stop == PlanStop::Compaction, stop == PlanStop::Root),
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
    Ok(plan)
}

fn to_u64(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}
