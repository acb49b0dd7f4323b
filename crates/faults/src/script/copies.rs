//! Steps that make other stores of one: backups, a restore, a migration of an old one.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use stemmata_store::SqliteStore;

use super::Act;
use crate::ledger::Done;

/// A store of the first version, as it was released.
const OLD_STORE: &[u8] =
    include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../store/tests/fixtures/v1/stemmata.db"));

/// Restores of one run at most.
const TRIES_MAX: u32 = 10_000;

pub(super) fn backup(act: &Act<'_>) -> anyhow::Result<Done> {
    act.engine.store().backup(&act.stage.disk.join("copy"))?;
    Ok(Done { stores: vec!["copy"], ..Done::default() })
}

pub(super) fn restore(act: &Act<'_>) -> anyhow::Result<Done> {
    let disk = &act.stage.disk;
    // Each try needs a name of its own for what it finds there.
    let aside = (0..TRIES_MAX).map(|number| disk.join(format!("aside-{number}"))).find(|path| !path.exists());
    let aside = aside.context("a free name")?;
    SqliteStore::restore(&disk.join("copy"), &disk.join("restored"), &aside, &act.stage.options())?;
    Ok(Done { stores: vec!["restored"], ..Done::default() })
}

/// Puts a store of the first version on the disk, as a copy by hand would.
pub(super) fn old_store(act: &Act<'_>) -> anyhow::Result<Done> {
    let folder = act.stage.disk.join("old");
    fs::create_dir_all(&folder)?;
    let mut file = File::create(folder.join("stemmata.db"))?;
    file.write_all(OLD_STORE).and_then(|()| file.sync_all())?;
    sync(&folder).and_then(|()| sync(&act.stage.disk))?;
    Ok(Done::default())
}

pub(super) fn migrate(act: &Act<'_>) -> anyhow::Result<Done> {
    let disk = &act.stage.disk;
    SqliteStore::migrate(&disk.join("old"), &disk.join("before-migration"), &act.stage.options())?;
    Ok(Done { stores: vec!["old"], ..Done::default() })
}

fn sync(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}
