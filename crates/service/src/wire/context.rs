//! What gives conversations back, as wire types.

use stemmata_api::v1;
use stemmata_engine::{HandedOff, Materialized, Stop};
use stemmata_model::CommitId;

/// Returns the wire form of a context that was written.
pub(crate) fn materialized(ctx: Option<CommitId>, stop: Stop, made: &Materialized) -> v1::Materialized {
    let reparented = made.reparented.iter().map(|(entry, parent)| v1::Reparented {
        entry: entry.to_string(),
        parent: parent.as_ref().map(ToString::to_string),
    });
    v1::Materialized {
        ctx,
        stop: stop.to_string(),
        format: made.format.clone(),
        tier: made.tier.as_str().to_owned(),
        bytes: made.bytes.0,
        message_count: made.counts.messages,
        token_count: made.counts.tokens,
        entry_count: made.counts.entries,
        commits_read: made.commits_read,
        abandoned_entries: made.abandoned_entries,
        skipped_compactions: made.skipped_compactions,
        hidden_entries: made.hidden_entries,
        reparented: reparented.collect(),
        losses: made.losses.clone(),
        notes: made.notes.clone(),
        path: None,
    }
}

/// Returns the wire form of a context that was told within a budget.
pub(crate) fn handoff(ctx: CommitId, stop: Stop, budget_tokens: u64, made: &HandedOff) -> v1::Handoff {
    let (whole, cut, left_out) = made.blocks;
    v1::Handoff {
        ctx,
        stop: stop.to_string(),
        tier: made.tier.as_str().to_owned(),
        budget_tokens,
        token_count: made.tokens,
        turns_told: made.turns.0,
        turns: made.turns.1,
        since_compaction: made.since_compaction,
        whole,
        cut,
        left_out,
        text: None,
        path: None,
        notes: made.notes.clone(),
    }
}
