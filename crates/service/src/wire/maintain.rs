//! The size, the health and the versions of the store as wire types.

use std::path::Path;

use stemmata_api::v1;
use stemmata_store::maintain::backup::BackedUp;
use stemmata_store::maintain::migrate::{Migrated, MigrationPlan, MigrationStep, RolledBack, StepKind};
use stemmata_store::{Damage, Packed, Usage, Verified};

/// Returns the wire form of a damage.
pub(crate) fn damage(damage: &Damage) -> v1::Damage {
    v1::Damage {
        check: damage.check.to_owned(),
        object: damage.object.clone(),
        message: damage.message.clone(),
    }
}

/// Returns the wire form of a look at everything: what is wrong, and how much more than is listed.
pub(crate) fn verified(looked: &Verified, damages: &[Damage], damages_unlisted: u64) -> v1::Verify {
    v1::Verify {
        ok: damages.is_empty(),
        contents: looked.contents,
        commits: looked.commits,
        sidecar_commits: 0,
        references: looked.references,
        leftover_files: looked.leftover_files,
        unfinished_log_at: looked.unfinished_log_at,
        kept_rows: looked.kept_rows,
        damages: damages.iter().map(damage).collect(),
        damages_unlisted,
        repaired: Vec::new(),
    }
}

/// Returns the wire form.
pub(crate) fn usage(usage: Usage, index_bytes: u64) -> v1::Du {
    v1::Du {
        logical_bytes: usage.logical_bytes,
        physical_bytes: usage.physical_bytes,
        distinct_bytes: usage.distinct_bytes,
        content_bytes: usage.content_bytes,
        inbox_bytes: usage.inbox_bytes,
        packed_bytes: usage.packed_bytes,
        packs: usage.packs,
        commits: usage.commits - usage.sidecar_commits,
        sessions: usage.sessions,
        sidecars: usage.sidecars,
        sidecar_bytes: usage.sidecar_bytes,
        contents: usage.contents,
        index_bytes: (index_bytes > 0).then_some(index_bytes),
    }
}

/// Returns the wire form of what was packed.
pub(crate) fn packed(packed: &Packed, physical_bytes_before: u64, physical_bytes: u64) -> v1::Packing {
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
        physical_bytes_before,
        physical_bytes,
    }
}

/// Returns the wire form of a backup.
pub(crate) fn backed_up(to: &Path, done: &BackedUp) -> v1::BackedUp {
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

/// Returns the wire form of a migration that is planned, without its digest.
pub(crate) fn migration(plan: &MigrationPlan) -> v1::Migration {
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
        now: u64::from(plan.found),
        steps: plan.steps.iter().map(step).collect(),
        backup: None,
        commits: None,
        contents: None,
        aside: None,
        lost_commits: None,
        digest: None,
    }
}

/// Returns the wire form of a migration that was done.
pub(crate) fn migrated(done: &Migrated) -> v1::Migration {
    v1::Migration {
        now: u64::from(done.plan.newest),
        backup: done.backup.as_ref().map(|path| path.to_string_lossy().into_owned()),
        commits: done.verified.map(|verified| verified.commits),
        contents: done.verified.map(|verified| verified.contents),
        ..migration(&done.plan)
    }
}

/// Returns the wire form of the way back to the version before the one of a plan.
pub(crate) fn rolled_back(plan: &MigrationPlan, done: &RolledBack) -> v1::Migration {
    let (now, aside, lost_commits) = match done {
        RolledBack::Undone { to, .. } => (*to, None, None),
        RolledBack::Restored { aside, lost_commits } => {
            (plan.found.saturating_sub(1), Some(aside), Some(*lost_commits))
        }
    };
    let aside = aside.map(|path| path.to_string_lossy().into_owned());
    v1::Migration { now: u64::from(now), aside, lost_commits, ..migration(plan) }
}
