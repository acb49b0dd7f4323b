//! What `install` made beside the hooks themselves: the file, folders for it, copies of it. `uninstall` removes all that.
//!
//! Where the record is lost these stay, which harms nobody.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stemmata_engine::clients::Client;
use stemmata_engine::create_private;
use stemmata_store::{read_bounded, write_file};

use super::Host;

/// Bytes of a record at most.
const RECORD_BYTES_MAX: u64 = 64 * 1024;

/// What was made for one client.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Made {
    /// The settings file.
    pub(super) path: PathBuf,
    /// Whether there was none before. Records of older versions say nothing else.
    #[serde(default = "yes")]
    pub(super) created: bool,
    /// Folders that were made for it, the innermost first.
    #[serde(default)]
    pub(super) folders: Vec<PathBuf>,
    /// Copies of the file as it was, the first one first.
    #[serde(default)]
    pub(super) copies: Vec<PathBuf>,
}

const fn yes() -> bool {
    true
}

impl Made {
    /// Reads what was made for a client at a path.
    pub(super) fn read(host: &Host, client: &Client, path: &Path) -> Option<Self> {
        let bytes = read_bounded(&record(host, client), RECORD_BYTES_MAX).ok()??;
        let made: Self = serde_json::from_slice(&bytes).ok()?;
        (made.path == path).then_some(made)
    }

    /// Keeps it in mind.
    pub(super) fn keep(&self, host: &Host, client: &Client) {
        let record = record(host, client);
        let folder = record.parent().unwrap_or(&record);
        let text = serde_json::to_vec(self).unwrap_or_default();
        let _unknown = create_private(folder).map(|()| write_file(&record, &text));
    }

    /// Returns the copies that are there still, which would go.
    pub(super) fn present(&self) -> Vec<PathBuf> {
        self.copies.iter().filter(|copy| copy.exists()).cloned().collect()
    }

    /// Returns the settings as they were before the first change; none where there were none, or the copy is gone.
    pub(super) fn first(&self) -> Option<String> {
        super::read_text(self.copies.first()?).ok()?
    }

    /// Removes copies, and folders that hold nothing else; returns what was removed.
    pub(super) fn remove(&self) -> Vec<PathBuf> {
        let copies = self.copies.iter().filter(|copy| std::fs::remove_file(copy).is_ok());
        let removed: Vec<PathBuf> = copies.cloned().collect();
        // One that holds something else is not removed: that is the system's own rule.
        let folders = self.folders.iter().filter(|folder| std::fs::remove_dir(folder).is_ok());
        removed.into_iter().chain(folders.cloned()).collect()
    }

    /// Returns whether settings are, byte for byte, what they were before the first change.
    pub(super) fn is_as_before(&self, text: Option<&str>) -> bool {
        match self.copies.first() {
            None => self.created && text.is_none(),
            Some(copy) => {
                std::fs::read(copy).is_ok_and(|before| text.map(str::as_bytes) == Some(before.as_slice()))
            }
        }
    }

    /// Forgets it.
    pub(super) fn forget(host: &Host, client: &Client) {
        let _gone = std::fs::remove_file(record(host, client));
    }
}

/// Returns the folders of a path that are not there yet, the innermost first.
pub(super) fn missing_folders(path: &Path) -> Vec<PathBuf> {
    path.ancestors().skip(1).take_while(|folder| !folder.exists()).map(Path::to_owned).collect()
}

fn record(host: &Host, client: &Client) -> PathBuf {
    host.home.run_dir().join("made").join(format!("{}.json", client.id))
}
