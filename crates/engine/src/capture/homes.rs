//! Finds transcripts: in runtimes' homes, or below folders that were named.
//!
//! Decides by path only; whether a file is a transcript is for the adapters to say.

use std::path::{Path, PathBuf};

use crate::error::{EngineError, Result};

/// Files that one scan returns at most: far more than any home holds, and a bound against cycles and mistakes.
pub const FILES_MAX: usize = 1_000_000;

/// Folders below each other that a scan enters at most.
const DEPTH_MAX: usize = 32;

/// A runtime's home on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeHome {
    /// The runtime.
    pub runtime: &'static str,
    /// Its configuration directory.
    pub config_dir: PathBuf,
    /// The folder below it that holds transcripts.
    pub transcripts: PathBuf,
}

/// Where runtimes keep their configuration, as the environment says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HomeHints {
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// `CLAUDE_CONFIG_DIR`.
    pub claude_config_dir: Option<PathBuf>,
}

impl HomeHints {
    /// Returns Claude Code's configuration directory, whether it exists or not.
    pub fn claude(&self) -> Option<PathBuf> {
        self.claude_config_dir.clone().or_else(|| self.home.as_ref().map(|home| home.join(".claude")))
    }

    /// Returns the homes that exist.
    pub fn existing(&self) -> Vec<RuntimeHome> {
        let claude = self.claude().map(|config_dir| RuntimeHome {
            runtime: "claude-code",
            transcripts: config_dir.join("projects"),
            config_dir,
        });
        claude.into_iter().filter(|home| home.transcripts.is_dir()).collect()
    }
}

/// Files to import, and how they were named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundFile {
    pub path: PathBuf,
    /// Whether the user named this very file: then not being a transcript is an error, not a skip.
    pub is_named: bool,
    pub bytes: u64,
}

/// Lists files to import below `paths`: named files as they are, folders searched for `.jsonl`.
pub(crate) fn find(paths: &[PathBuf]) -> Result<Vec<FoundFile>> {
    let mut found = Vec::new();
    for path in paths {
        let metadata = std::fs::metadata(path).map_err(EngineError::io("read", path))?;
        if metadata.is_dir() {
            scan(path, 0, &mut found)?;
        } else {
            found.push(FoundFile { path: path.clone(), is_named: true, bytes: metadata.len() });
        }
    }
    found.sort_by(|left, right| left.path.cmp(&right.path));
    found.dedup_by(|left, right| left.path == right.path);
    Ok(found)
}

fn scan(folder: &Path, depth: usize, found: &mut Vec<FoundFile>) -> Result<()> {
    if depth > DEPTH_MAX || found.len() >= FILES_MAX {
        return Ok(());
    }
    let entries = std::fs::read_dir(folder).map_err(EngineError::io("list", folder))?;
    for entry in entries {
        let entry = entry.map_err(EngineError::io("list", folder))?;
        let kind = entry.file_type().map_err(EngineError::io("read", entry.path()))?;
        if kind.is_dir() {
            scan(&entry.path(), depth + 1, found)?;
        } else if kind.is_file() && entry.path().extension().is_some_and(|extension| extension == "jsonl") {
            let bytes = entry.metadata().map_or(0, |metadata| metadata.len());
            found.push(FoundFile { path: entry.path(), is_named: false, bytes });
        }
    }
    Ok(())
}
