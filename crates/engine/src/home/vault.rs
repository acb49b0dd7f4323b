//! `vault/`: the secrets that earlier versions kept for their owner. Nothing reads them now; they can only be removed.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::Home;
use crate::error::{EngineError, Result};

/// Files that are removed at most in one call. A vault had a few.
const FILES_MAX: usize = 10_000;

/// What the names of its keys begin with.
const KEY: &str = "key-";

/// Files of a vault that were removed, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultFiles {
    /// The folder.
    pub folder: PathBuf,
    /// How many files.
    pub files: u64,
    /// Bytes of these.
    pub bytes: u64,
}

impl Home {
    /// Returns the folder of a vault, where one is left.
    pub(super) fn vault(&self) -> Option<PathBuf> {
        let folder = self.dir().join("vault");
        folder.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()).then_some(folder)
    }

    /// Says what is left of a vault. `None` where nothing is.
    ///
    /// # Errors
    /// `Io`.
    pub fn vault_files(&self) -> Result<Option<VaultFiles>> {
        let Some(folder) = self.vault() else { return Ok(None) };
        let mut found = VaultFiles { folder, files: 0, bytes: 0 };
        for file in files_in(&found.folder)? {
            found.files += 1;
            found.bytes += file.symlink_metadata().map_or(0, |metadata| metadata.len());
        }
        Ok(Some(found))
    }

    /// Overwrites what is left of a vault and removes it. Where a file system writes elsewhere what is overwritten, the old bytes stay
    /// until it needs their room; they are encrypted, and their key goes first.
    ///
    /// # Errors
    /// `Io`; what was removed by then stays so.
    pub fn remove_vault(&self) -> Result<Option<VaultFiles>> {
        let Some(found) = self.vault_files()? else { return Ok(None) };
        let mut files = files_in(&found.folder)?;
        files.sort_by_key(|file| {
            !file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(KEY))
        });
        for file in &files {
            wipe(file).map_err(EngineError::io("overwrite and remove", file))?;
        }
        std::fs::remove_dir(&found.folder).map_err(EngineError::io("remove", &found.folder))?;
        File::open(self.dir())
            .and_then(|folder| folder.sync_all())
            .map_err(EngineError::io("sync", self.dir()))?;
        Ok(Some(found))
    }
}

fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = || EngineError::io("list", folder);
    let listed = std::fs::read_dir(folder).map_err(failed())?;
    listed.take(FILES_MAX).map(|entry| Ok(entry.map_err(failed())?.path())).collect()
}

/// Overwrites a file and removes it; what is no file of ours is only removed.
fn wipe(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.is_file() {
        let mut file = OpenOptions::new().write(true).open(path)?;
        let length = file.metadata()?.len();
        io::copy(&mut io::repeat(0).take(length), &mut file)?;
        file.sync_all()?;
    }
    std::fs::remove_file(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::OpenFor;
    use crate::home::tests::{options, put};

    #[test]
    fn what_is_left_of_a_vault_is_overwritten_and_gone() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::open(folder.path(), options(OpenFor::Command, "")).expect("a home");
        assert_eq!(home.remove_vault().expect("nothing"), None);
        let vault = folder.path().join("vault");
        std::fs::create_dir(&vault).expect("a folder");
        for (name, text) in [("values-00000001", "sealed"), ("key-00000001", "key"), ("lock", "")] {
            put(&vault.join(name), text);
        }
        // A second name shows what the bytes became.
        let other = folder.path().join("other");
        std::fs::hard_link(vault.join("values-00000001"), &other).expect("a link");
        std::os::unix::fs::symlink(&other, vault.join("link")).expect("a link");
        let left = home.vault_files().expect("listed").expect("a vault");
        assert_eq!((left.files, left.bytes >= 9), (4, true));
        assert_eq!(home.remove_vault().expect("removed"), Some(left));
        assert!(!vault.exists());
        assert_eq!(std::fs::read(&other).expect("read"), [0; 6]);
    }
}
