//! Steps that move chains between the main store and a second one of the same disk, as bundles.

use std::fs::File;
use std::path::PathBuf;

use anyhow::Context as _;
use stemmata_engine::{BundleError, BundleImportOptions, BundleSelection, Engine, EngineError};
use stemmata_model::CommitId;
use stemmata_store::write_whole;

use super::{Act, captured, transcript};
use crate::ledger::Done;

/// The second store.
const SECOND: &str = "second";

/// What goes from the main store to the second one, and what comes back.
const OUT: &str = "out.bundle";
const BACK: &str = "back.bundle";

fn path(act: &Act<'_>, name: &str) -> PathBuf {
    act.stage.disk.join(name)
}

fn export(act: &Act<'_>, from: &Engine, have: &[CommitId], name: &'static str) -> anyhow::Result<Done> {
    let path = path(act, name);
    let failed = |source| EngineError::Bundle(BundleError::Io { operation: "writing", source });
    write_whole(act.stage.files.as_ref(), &path, failed, |out| {
        from.export_bundle(&BundleSelection::All, have, out)
    })?;
    Ok(Done { bundles: vec![name], ..Done::default() })
}

fn import(act: &Act<'_>, into: &Engine, name: &str) -> anyhow::Result<Vec<CommitId>> {
    let file = File::open(path(act, name)).context("opening a bundle")?;
    Ok(into.import_bundle(&file, &BundleImportOptions::default())?.tips)
}

pub(super) fn out(act: &Act<'_>) -> anyhow::Result<Done> {
    export(act, act.engine, &[], OUT)
}

pub(super) fn into_second(act: &Act<'_>) -> anyhow::Result<Done> {
    import(act, &act.stage.engine_of(SECOND, act.day)?, OUT)?;
    Ok(Done { stores: vec![SECOND], ..Done::default() })
}

/// A session that only the second store has.
pub(super) fn work_in_second(act: &Act<'_>) -> anyhow::Result<Done> {
    let path = transcript(act, "fifth", 25)?;
    captured(&act.stage.engine_of(SECOND, act.day)?, &path)?;
    Ok(Done { stores: vec![SECOND], ..Done::default() })
}

/// Only what the main store lacks.
pub(super) fn back(act: &Act<'_>) -> anyhow::Result<Done> {
    let have = act.engine.bundle_have(&BundleSelection::All)?;
    export(act, &act.stage.engine_of(SECOND, act.day)?, &have, BACK)
}

pub(super) fn home(act: &Act<'_>) -> anyhow::Result<Done> {
    let tips = import(act, act.engine, BACK)?;
    Ok(Done { tips, ..Done::default() })
}
