//! The size, the health and the versions of the store as wire types.

use std::path::{Path, PathBuf};

use stemmata_api::v1;
use stemmata_engine::ChainCost;
use stemmata_store::maintain::backup::BackedUp;
use stemmata_store::maintain::migrate::{MigrationPlan, MigrationStep, StepKind};
use stemmata_store::{Damage, Packed, Usage};

/// Returns the wire form of a damage.
pub fn damage(damage: &Damage) -> v1::Damage {
    v1::Damage {
        check: damage.check.to_owned(),
        object: damage.object.clone(),
        message: damage.message.clone(),
    }
}

/// Returns the wire form.
pub fn usage(usage: Usage) -> v1::Du {
    v1::Du {
        logical_bytes: usage.logical_bytes,
        physical_bytes: usage.physical_bytes,
        distinct_bytes: usage.distinct_bytes,
        content_bytes: usage.content_bytes,
        inbox_bytes: usage.inbox_bytes,
        packed_bytes: usage.packed_bytes,
        packs: usage.packs,
        commits: usage.commits,
        sessions: usage.sessions,
        contents: usage.contents,
    }
}

/// Returns the wire form of what a chain takes.
pub fn chain_cost(cost: &ChainCost) -> v1::DuChain {
    let session = &cost.session;
    v1::DuChain {
        session_id: session.session.to_string(),
        path: session.key.path.clone(),
        machine: session.key.machine.to_string(),
        parent_session: session.parent_session.as_ref().map(ToString::to_string),
        title: session.title.clone(),
        cwd: session.cwd.clone(),
        tip: session.tip.map(|tip| tip.to_string()),
        commits: cost.own.commits,
        logical_bytes: cost.own.logical_bytes,
        stored_bytes: cost.own.stored_bytes,
        packed_bytes: cost.own.packed_bytes,
        shared_commits: cost.shared.commits,
        shared_logical_bytes: cost.shared.logical_bytes,
        shared_stored_bytes: cost.shared.stored_bytes,
        copy_of: cost.copy_of.map(|original| original.to_string()),
    }
}

/// Returns the wire form of what was packed.
pub fn packed(packed: &Packed, physical_bytes: u64) -> v1::Packing {
    v1::Packing {
        contents: packed.contents,
        content_bytes: packed.content_bytes,
        inbox_bytes: packed.inbox_bytes,
        packs: packed.packs,
        blocks: packed.blocks,
        based_blocks: packed.based_blocks,
        pack_bytes: packed.pack_bytes,
        damaged: packed.damaged,
        busy: packed.busy,
        physical_bytes,
    }
}

/// Returns the wire form of a backup.
pub fn backed_up(to: &Path, done: &BackedUp) -> v1::BackedUp {
    v1::BackedUp {
        path: to.to_string_lossy().into_owned(),
        commits: done.commits,
        database_bytes: done.database_bytes,
        packs: done.packs,
        packs_new: done.packs_new,
        pack_bytes: done.pack_bytes,
        copied_bytes: done.copied_bytes,
        is_update: done.is_update,
        damages: done.damages.iter().map(damage).collect(),
    }
}

/// Returns the wire form of a migration: planned, done or undone.
pub fn migration(plan: &MigrationPlan, backup: Option<PathBuf>, now: Option<u32>) -> v1::Migration {
    let step = |step: &MigrationStep| v1::MigrationStep {
        to: u64::from(step.to),
        kind: match step.kind {
            StepKind::Additive => "additive",
            StepKind::Rewriting => "rewriting",
        }
        .to_owned(),
        about: step.about.to_owned(),
    };
    v1::Migration {
        found: u64::from(plan.found),
        newest: u64::from(plan.newest),
        now: u64::from(now.unwrap_or(plan.found)),
        steps: plan.steps.iter().map(step).collect(),
        backup: backup.map(|path| path.to_string_lossy().into_owned()),
    }
}
