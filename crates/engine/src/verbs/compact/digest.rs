//! Results of tools that a compaction archives in what it keeps, and the digest that stands for them.
//!
//! Which ones are archived is decided in `stemmata_prompt::tool_output`; here it becomes lines behind the summary's own.

use std::collections::HashSet;
use std::sync::Arc;

use stemmata_model::{CommitType, Entry, EntryId, Estimate, Timestamp, Tokens};
use stemmata_prompt::tool_output::{archived_results, digest, plan_archive};
use stemmata_prompt::window::{entry_tokens, tool_summary_entry};
use stemmata_runtimes::adapter::{Adapter, PlanStop, Segment, Segments, SourceError};
use stemmata_runtimes::captured::visibility::{self, SHOWN_IDS_MAX, ShowAs, Shown};

use super::refused;
use crate::capture::ingest::source_error;
use crate::error::{Refusal, Result};

/// What is archived of the kept entries.
pub(super) struct Archived {
    /// The lines that hide the entries, and the one that stands for them.
    pub lines: Vec<u8>,
    /// How many entries are hidden.
    pub entries: usize,
}

/// Plans what to archive of the entries that a compaction keeps, so that at most `cutoff` results stay visible. None where they
/// do already, where the digest would take more than it saves, and where the lines could not name the entries.
pub(super) fn archived(
    kept: &[Entry],
    is_pinned: &dyn Fn(&EntryId) -> bool,
    (cutoff, at): (i64, Timestamp),
) -> Option<Archived> {
    if cutoff <= 0 {
        return None;
    }
    let pinned = |at: usize| kept.get(at).is_some_and(|entry| is_pinned(&entry.id));
    let plan = plan_archive(kept, &pinned, cutoff);
    let places: HashSet<usize> = plan.entries().collect();
    let (gone, stays): (Vec<_>, Vec<_>) = kept.iter().enumerate().partition(|(at, _)| places.contains(at));
    let shown: HashSet<&EntryId> = stays.iter().map(|(_, entry)| &entry.id).collect();
    // An id that also stays would hide both, and one that was made of a line's bytes is not in the line.
    let is_named = |entry: &Entry| !shown.contains(&entry.id) && !entry.id.as_str().starts_with("line-");
    if gone.is_empty() || gone.len() > SHOWN_IDS_MAX || !gone.iter().all(|(_, entry)| is_named(entry)) {
        return None;
    }
    let groups: Vec<_> = plan.batches.iter().flatten().cloned().collect();
    let text = digest(&archived_results(kept, &groups));
    let saved: Tokens = gone.iter().map(|(_, entry)| entry_tokens(entry, &Estimate)).sum();
    let digest = tool_summary_entry(EntryId::new("digest").expect("a constant name is a name"), text.clone());
    if entry_tokens(&digest, &Estimate) >= saved {
        return None;
    }
    let shown = Shown {
        entries: gone.iter().map(|(_, entry)| entry.id.clone()).collect(),
        show_as: ShowAs::Archived,
        reason: format!("more than {cutoff} results of tools behind a compaction"),
    };
    let mut lines = visibility::line(&[shown], at);
    lines.extend(visibility::tool_summary_line(&text, at));
    Some(Archived { lines, entries: gone.len() })
}

/// A compaction with nothing before it.
struct Alone(Option<Segment>);

impl Segments for Alone {
    fn next(&mut self) -> std::result::Result<Option<Segment>, SourceError> {
        Ok(self.0.take())
    }
}

/// Returns the context of a compaction that is not stored yet: what stands for everything before, and its own lines behind that.
pub(super) fn context_after(adapter: &dyn Adapter, artifact: Vec<u8>, native: &[u8]) -> Result<Vec<u8>> {
    let (prefix, native) = (Arc::new(artifact), Arc::new(native.to_vec()));
    let segment = Segment {
        commit_type: CommitType::Compaction,
        native: Arc::clone(&native),
        prefix: Some(Arc::clone(&prefix)),
        is_stop: false,
        created_at: Timestamp::EPOCH,
    };
    let plan = adapter.plan_context(&mut Alone(Some(segment)), PlanStop::Compaction).map_err(source_error)?;
    let mut bytes = Vec::new();
    for piece in &plan.pieces {
        // The number of a segment's own bytes is 0, that of what stands for everything before it is 1.
        let of = if piece.segment == 0 { &native } else { &prefix };
        let start = usize::try_from(piece.offset).unwrap_or(usize::MAX);
        let length = usize::try_from(piece.length).unwrap_or(usize::MAX);
        let part = of.get(start..).and_then(|rest| rest.get(..length));
        let outside = || refused(Refusal::Materialize, "its plan points outside the compaction's bytes");
        bytes.extend_from_slice(part.ok_or_else(outside)?);
    }
    Ok(bytes)
}
