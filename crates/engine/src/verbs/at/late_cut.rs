//! Cuts at an entry of a chain in which a client wrote something late: what was said before the entry is not what stands before it.
//!
//! The late lines follow the ones that are kept, as they would in the transcript; the adapter puts them where they were said.

use std::cmp::Ordering::{Greater, Less};

use stemmata_model::{ArtifactId, CommitId};
use stemmata_runtimes::adapter::{Piece, Shape, segment_number};
use stemmata_store::StoreError;

use super::{Cut, Found, end_of};
use crate::chain::late::{Place, late, stands_before};
use crate::chain::segments::read_whole;
use crate::engine::Engine;
use crate::error::{EngineError, Result};
use crate::verbs::materialize::{PlannedContext, Stop};

/// Lines of a content.
pub(super) struct LateLine {
    pub(super) of: ArtifactId,
    pub(super) offset: u64,
    pub(super) bytes: Vec<u8>,
}

impl Engine {
    /// Returns the commit and the cut in it that end with an entry in the order in which it was said, where the order of the chain's
    /// lines is another one: `None` where the lines before the entry are what was said before it.
    pub(super) fn cut_of_late(
        &self,
        ctx: CommitId,
        found: &Found,
        is_prompt: bool,
    ) -> Result<Option<(Found, Cut)>> {
        if found.shape != Shape::Lines {
            return Ok(None);
        }
        let Some((context, position)) = self.context_with(ctx, found.commit.id)? else { return Ok(None) };
        let pieces = &context.plan.pieces;
        let (all_late, entry) = (late(pieces), (position, found.entry.native.offset));
        let is_at = |piece: &Piece| {
            let (start, end) = (piece.offset, piece.offset.saturating_add(piece.length));
            piece.segment == segment_number(position, false) && (start..end).contains(&entry.1)
        };
        let Some(index) = pieces.iter().position(is_at).filter(|_| !all_late.is_empty()) else {
            return Ok(None);
        };
        let own = all_late.iter().find(|late| late.holds(entry));
        let end = if is_prompt { entry.1 } else { end_of(found) };
        let cut_at = own.map_or((position, end), |own| own.before);
        let mut lines = Vec::new();
        for piece in pieces.iter().take(index + 1).filter(|piece| piece.segment.is_multiple_of(2)) {
            let at = (piece.segment / 2, piece.offset);
            let Some(of) = all_late.iter().find(|late| late.at == at) else { continue };
            let length = if of.holds(entry) { end.saturating_sub(at.1) } else { of.length };
            if length > 0 && stands_before(cut_at, at) {
                lines.push((at, length));
            }
        }
        // As they stand in the transcript: only its very last line may have no end.
        lines.sort_by(|(one, _), (other, _)| if stands_before(*one, *other) { Less } else { Greater });
        let lines = lines.into_iter().map(|(at, length)| late_line(&context, at, length));
        let lines = lines.collect::<Result<Vec<_>>>()?;
        if own.is_none() && lines.is_empty() {
            return Ok(None);
        }
        let Some(commit) = context.chain.commits().get(cut_at.0) else { return Ok(None) };
        let native = read_whole(self, commit.core.native_artifact())?;
        let (commit, entry, shape) = (commit.clone(), found.entry.clone(), found.shape);
        let cut = Found { commit, native, entry, shape, before: 0, is_first: false, is_last: false };
        Ok(Some((cut, Cut { keep: cut_at.1, late: lines })))
    }

    /// Plans the context of a chain so that it contains `commit`, and returns the plan with the position of that commit. Returns
    /// `None` if even the plan of the whole chain leaves the commit out, or that chain cannot be planned.
    fn context_with(&self, ctx: CommitId, commit: CommitId) -> Result<Option<(PlannedContext<'_>, usize)>> {
        // What is sent is found near the end; only what a compaction replaced asks for all of the chain.
        for stop in [Stop::Compaction, Stop::Root] {
            let context = match self.plan_context(ctx, stop) {
                // A chain that ends in a hole, or in a format of another version, is cut as its lines stand.
                Err(EngineError::Store(StoreError::Forgotten(_)) | EngineError::Format { .. }) => {
                    return Ok(None);
                }
                context => context?,
            };
            let position = context.chain.commits().iter().position(|known| known.id == commit);
            if let Some(position) = position {
                return Ok(Some((context, position)));
            }
        }
        Ok(None)
    }
}

fn late_line(context: &PlannedContext<'_>, (position, offset): Place, length: u64) -> Result<LateLine> {
    let bytes = context.chain.load(segment_number(position, false))?.unwrap_or_default();
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    let line = bytes.iter().skip(start).take(usize::try_from(length).unwrap_or(usize::MAX));
    let commit = context.chain.commits().get(position).expect("a plan names commits that it was given");
    Ok(LateLine { of: commit.core.native_artifact(), offset, bytes: line.copied().collect() })
}
