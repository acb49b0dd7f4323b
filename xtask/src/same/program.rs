//! The build of `stemma` that is asked: a copy of its program, so that a build meanwhile does not change it.
//! Not how it is run: `home` does that.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tempfile::TempDir;

use crate::process::{cargo, execute, target};

/// A program, for as long as it is asked.
pub(super) struct Program {
    /// Holds the copy.
    folder: TempDir,
    /// How a person knows it.
    pub(super) shown: String,
}

impl Program {
    /// Copies a program; without one, builds that of this tree.
    ///
    /// # Errors
    /// Where there is none, or it does not build.
    pub(super) fn take(root: &Path, binary: Option<&Path>) -> anyhow::Result<Self> {
        let binary = binary.map_or_else(|| build(root), |path| Ok(path.to_owned()))?;
        let folder = tempfile::tempdir().context("creating a folder for the program")?;
        let program = Self { folder, shown: binary.display().to_string() };
        fs::copy(&binary, program.path()).with_context(|| format!("copying {}", binary.display()))?;
        Ok(program)
    }

    /// Returns where the copy is. Its name is the same for every build: usage texts show it.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("stemma")
    }
}

fn build(root: &Path) -> anyhow::Result<PathBuf> {
    execute(&mut cargo(root, &["build", "--release", "--package", "stemmata", "--bin", "stemma"]))?;
    Ok(target(root)?.join("release").join("stemma"))
}
