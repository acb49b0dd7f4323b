//! Secrets that earlier versions kept in files of this machine, and their end.

use stemmata_api::Answer;
use stemmata_api::v1::VaultRemoved;
use stemmata_engine::VaultFiles;

use super::Host;

impl Host {
    /// Overwrites and removes the secrets that earlier versions kept (`vault/`), with `dry_run` says what that would be.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn remove_vault(&self, dry_run: bool) -> Answer<VaultRemoved> {
        self.with(|home| {
            let found = if dry_run { home.vault_files()? } else { home.remove_vault()? };
            let none = VaultRemoved { path: None, files: 0, bytes: 0, dry_run };
            Ok(found.map_or(none, |VaultFiles { folder, files, bytes }| VaultRemoved {
                path: Some(folder.to_string_lossy().into_owned()),
                files,
                bytes,
                dry_run,
            }))
        })
    }
}
