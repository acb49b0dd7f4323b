//! The peer that everybody has: one git commit of the growing file a turn, then `git gc`.
//! Not there on every machine; then its line is missing.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;

/// The file that grows.
const FILE: &str = "conversation.jsonl";

/// A repository.
#[derive(Debug)]
pub(crate) struct Repository {
    folder: PathBuf,
}

impl Repository {
    /// Makes an empty repository, none where git cannot be run.
    ///
    /// # Errors
    /// When git fails.
    pub(crate) fn create(folder: &Path) -> anyhow::Result<Option<Self>> {
        let version =
            Command::new("git").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !version.is_ok_and(|status| status.success()) {
            return Ok(None);
        }
        std::fs::create_dir_all(folder)?;
        let repository = Self { folder: folder.to_owned() };
        repository.git(&["init", "--quiet"])?;
        for setting in [
            "user.name=bench",
            "user.email=bench@localhost",
            "gc.auto=0",
            "core.fsync=committed",
            "core.hooksPath=",
        ] {
            let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
            repository.git(&["config", name, value])?;
        }
        Ok(Some(repository))
    }

    /// Appends a turn and commits.
    ///
    /// # Errors
    /// When git fails.
    pub(crate) fn commit(&self, turn: &[u8]) -> anyhow::Result<()> {
        OpenOptions::new().append(true).create(true).open(self.folder.join(FILE))?.write_all(turn)?;
        self.git(&["add", FILE])?;
        self.git(&["commit", "--quiet", "--message", "turn"])
    }

    /// Packs everything.
    ///
    /// # Errors
    /// When git fails.
    pub(crate) fn gc(&self) -> anyhow::Result<()> {
        self.git(&["gc", "--quiet", "--prune=now"])
    }

    /// Returns the folder that holds the repository without the checked-out file.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join(".git")
    }

    fn git(&self, arguments: &[&str]) -> anyhow::Result<()> {
        let mut command = Command::new("git");
        // The user's own settings must change nothing here.
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        command.current_dir(&self.folder).args(arguments).stdout(Stdio::null());
        let status = command.status().context("starting git")?;
        anyhow::ensure!(status.success(), "`git {}` failed ({status})", arguments.join(" "));
        Ok(())
    }
}
