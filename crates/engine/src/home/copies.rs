//! Sound copies of what is damaged: backups, other stores and bundles, opened for a repair.

use std::cell::OnceCell;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stemmata_store::maintain::repair::{RepairOutcome, RepairSource};
use stemmata_store::{SqliteStore, Store, StoreError};

use super::{Home, create_private};
use crate::error::{Absent, EngineError, Result};
use crate::temporary::TempFolder;

/// The database of a store, and the folder of its packs.
const DATABASE: &str = "stemmata.db";
const PACKS: &str = "packs";

/// A store that may have sound copies.
struct Copy {
    name: String,
    store: Arc<SqliteStore>,
    packs: PathBuf,
    /// The folder of a bundle's contents, which goes when they are not needed any more. After the store, which is in it.
    _aside: Option<TempFolder>,
}

impl Copy {
    fn source(&self) -> RepairSource<'_> {
        let (name, packs) = (self.name.clone(), Some(self.packs.clone()));
        RepairSource { name, store: self.store.as_ref(), packs }
    }
}

impl Home {
    /// Mends what can be mended from backups, data directories, other stores and bundles, and from transcripts that are still
    /// there. `named` says how people call a place.
    ///
    /// # Errors
    /// `NothingThere` where a place has none of these, `OpenStore`, `Bundle`, store errors.
    pub fn repair(&self, from: &[PathBuf], named: &dyn Fn(&Path) -> String) -> Result<RepairOutcome> {
        let copies: Vec<Copy> = from.iter().map(|from| self.copy_in(from, named)).collect::<Result<_>>()?;
        let sources: Vec<RepairSource<'_>> = copies.iter().map(Copy::source).collect();
        // Declared first, so that the folder goes after the store in it.
        let folder = OnceCell::new();
        self.engine()?.repair(&sources, &|| {
            let (aside, _, store) = self.store_aside()?;
            let _empty = folder.set(aside);
            Ok(store as Arc<dyn Store>)
        })
    }

    /// Makes a store in a temporary folder, for what is only looked through.
    fn store_aside(&self) -> Result<(TempFolder, PathBuf, Arc<SqliteStore>)> {
        let cache = self.cache_dir();
        let aside = TempFolder::create(&cache).map_err(EngineError::io("write in", &cache))?;
        // In a folder of its own within the temporary one: a store locks its folder, and that one is locked already.
        let folder = aside.path().join("store");
        create_private(&folder)?;
        let store = SqliteStore::open(&folder, self.store_options())
            .map_err(|source| EngineError::OpenStore { folder: folder.clone(), source })?;
        Ok((aside, folder, Arc::new(store)))
    }

    /// Opens a backup or another store, or lays a bundle out in a store of its own.
    fn copy_in(&self, from: &Path, named: &dyn Fn(&Path) -> String) -> Result<Copy> {
        let open = |folder: &Path| {
            SqliteStore::open(folder, self.store_options()).map(Arc::new).map_err(|source| match source {
                // It is not this data directory's store that should be replaced.
                StoreError::NotAStore { .. } | StoreError::DatabaseDamaged { .. } => source.into(),
                source => EngineError::OpenStore { folder: folder.to_owned(), source },
            })
        };
        if from.is_file() {
            let bundle = File::open(from).map_err(EngineError::io("read", from))?;
            let (aside, folder, store) = self.store_aside()?;
            self.engine()?.unpack_aside(&bundle, Arc::clone(&store) as Arc<dyn Store>)?;
            let packs = folder.join(PACKS);
            return Ok(Copy { name: named(from), store, packs, _aside: Some(aside) });
        }
        // A data directory is as good as the store in it.
        let inner = from.join("store");
        let folder = if inner.join(DATABASE).is_file() { inner } else { from.to_owned() };
        if !folder.join(DATABASE).is_file() {
            return Err(EngineError::NothingThere {
                what: Absent::Copy,
                place: folder.display().to_string(),
            });
        }
        Ok(Copy { name: named(&folder), store: open(&folder)?, packs: folder.join(PACKS), _aside: None })
    }
}
