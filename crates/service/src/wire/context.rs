//! What gives conversations back, as wire types.

use stemmata_api::v1::{self, ExportForm};
use stemmata_engine::{CompactionDiff, Exported, HandedOff, Materialized, Projection, Stop};
use stemmata_model::CommitId;

use crate::wire;

/// Returns the wire form of a context that was written.
pub(crate) fn materialized(ctx: Option<CommitId>, stop: Stop, made: &Materialized) -> v1::Materialized {
    let reparented = made.reparented.iter().map(|(entry, parent)| v1::Reparented {
        entry: entry.to_string(),
        parent: parent.as_ref().map(ToString::to_string),
    });
    v1::Materialized {
        ctx: ctx.map(|ctx| ctx.to_string()),
        stop: stop.to_string(),
        format: made.format.to_string(),
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
        losses: made.losses.as_ref().map(wire::losses),
        notes: wire::notes(&made.notes),
        path: None,
    }
}

/// Returns the engine's word for a form of an export.
pub(crate) const fn projection(form: ExportForm) -> Projection {
    match form {
        ExportForm::Html => Projection::Html,
        ExportForm::Markdown => Projection::Markdown,
        ExportForm::Atif => Projection::Atif,
        ExportForm::Acp => Projection::Acp,
        ExportForm::OtelGenai => Projection::OtelGenai,
    }
}

/// Returns the wire form of an export.
pub(crate) fn exported(ctx: CommitId, stop: Stop, made: &Exported) -> v1::Exported {
    v1::Exported {
        ctx: ctx.to_string(),
        stop: stop.to_string(),
        format: made.projection.as_str().to_owned(),
        bytes: made.bytes.0,
        entry_count: made.entries,
        notes: wire::notes(&made.notes),
        path: None,
    }
}

/// Returns the wire form of a context that was told within a budget.
pub(crate) fn handoff(ctx: CommitId, stop: Stop, budget_tokens: u64, made: &HandedOff) -> v1::Handoff {
    let (whole, cut, left_out) = made.blocks;
    v1::Handoff {
        ctx: ctx.to_string(),
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
        notes: wire::notes(&made.notes),
    }
}

/// Returns the wire form of what a compaction lost.
pub(crate) fn diff(diff: CompactionDiff) -> v1::Diff {
    let lost = |entry: stemmata_engine::LostEntry| v1::LostEntry {
        id: entry.id,
        role: entry.role.as_str().to_owned(),
        kind: entry.kind,
        text: entry.text,
    };
    v1::Diff {
        compaction: diff.compaction.to_string(),
        before: diff.before.to_string(),
        kept_entries: diff.kept_entries,
        lost_entries: diff.lost_entries.into_iter().map(lost).collect(),
        lost_files: diff.lost_files,
        kept_files: diff.kept_files,
        unsure_files: diff.unsure_files,
        lost_commands: diff.lost_commands,
        lost_decisions: diff.lost_decisions,
        lost_errors: diff.lost_errors,
        notes: Vec::new(),
    }
}
