//! Steps that make other stores of one: backups, a restore, a migration of an old one.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use stemmata_store::maintain::repair::RepairSource;
use stemmata_store::{SqliteStore, StoreError, write_whole};
use stemmata_testkit::memory::MemoryStore;

use super::Act;
use crate::ledger::Done;

/// A store of the first version that is read, as it was released.
const OLD_STORE: &[u8] =
    include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../store/tests/fixtures/v5/stemmata.db"));

/// A backup that is damaged and mended.
const HURT: &str = "hurt";

/// The folder of packs in a store.
const PACKS: &str = "packs";

/// Restores of one run at most.
const TRIES_MAX: u32 = 10_000;

pub(super) fn backup(act: &Act<'_>) -> anyhow::Result<Done> {
    act.engine.store().on_disk().context("a store with files")?.backup(&act.stage.disk.join("copy"))?;
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

/// A backup of which a pack is damaged afterwards: nothing is promised of it.
pub(super) fn hurt(act: &Act<'_>) -> anyhow::Result<Done> {
    let (disk, files) = (&act.stage.disk, act.stage.files.as_ref());
    act.engine.store().on_disk().context("a store with files")?.backup(&disk.join(HURT))?;
    let packs = disk.join(HURT).join(PACKS);
    let name = files.list(&packs)?.into_iter().filter(|name| name.strip_suffix(".pack").is_some()).min();
    let name = name.context("a pack in the backup")?;
    let mut bytes = fs::read(disk.join("store").join(PACKS).join(&name))?;
    let middle = bytes.len() / 2;
    *bytes.get_mut(middle).context("a pack that is not empty")? ^= 1;
    // The backup's may share its bytes with the store's: it is replaced, not written to.
    let failed = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::StorageFull => StoreError::Full { operation: "hurting" },
        _ => StoreError::Io { operation: "hurting", path: name.clone(), source },
    };
    write_whole(files, &packs.join(&name), failed, |out| out.write_all(&bytes).map_err(failed))?;
    Ok(Done::default())
}

/// Mends it from the store that it was made of.
pub(super) fn repair(act: &Act<'_>) -> anyhow::Result<Done> {
    let hurt = act.stage.engine_of(HURT, act.day)?;
    let source = RepairSource {
        name: "the store".to_owned(),
        store: act.engine.store(),
        packs: Some(act.stage.disk.join("store").join(PACKS)),
    };
    let outcome = hurt.repair(&[source], &|| Ok(Arc::new(MemoryStore::default())))?;
    anyhow::ensure!(outcome.remaining.is_empty(), "not mended: {:?}", outcome.remaining);
    Ok(Done { stores: vec![HURT], repaired: outcome.repaired.len() as u64, ..Done::default() })
}

/// Puts a store of the first version that is read on the disk, as a copy by hand would.
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
