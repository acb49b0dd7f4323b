//! `secrets.toml`: the store's own rules for secrets, kept in the data directory by their owner; and which projects' rules
//! the owner trusts.
//!
//! What they mean, and what follows where they make no sense, is the engine's.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stemmata_engine::{ProjectTrust, StoreRules, UntrustedRules, rules_file_hash};
use stemmata_store::{SystemFiles, write_whole};

use crate::errors::CliError;
use crate::home::{DataHome, create_private};

/// Bytes of the file that are read at most: one more than make sense, so that the engine says so.
const FILE_BYTES_MAX: u64 = 256 * 1024 + 1;

/// Reads the rules of a data directory; none where there is no such file.
pub(crate) fn load(home: &Path) -> Result<Option<StoreRules>, CliError> {
    let path = home.join("secrets.toml");
    let mut bytes = Vec::new();
    let read = std::fs::File::open(&path).and_then(|file| file.take(FILE_BYTES_MAX).read_to_end(&mut bytes));
    match read {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(CliError::io("read", &path, error)),
    }
    // What is no text is no TOML either, and its reader says so.
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Some(StoreRules { name: path.display().to_string(), text }))
}

/// Bytes of the lists below that are read at most.
const LIST_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Rules of projects that are remembered as met and not trusted.
const MET_MAX: usize = 100;

/// A project's rules that are trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Trusted {
    /// The file, as it was when it was trusted.
    pub(crate) path: PathBuf,
    /// The BLAKE3 hash of its text, in hex: a changed file is another one.
    pub(crate) hash: String,
    /// When it was trusted, in microseconds since 1970.
    pub(crate) at: i64,
}

/// Rules of a project that were met and are not trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Met {
    path: PathBuf,
    reason: String,
    is_told: bool,
}

/// Returns the user whose files may be trusted.
pub(crate) fn owner() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns what is trusted.
pub(crate) fn trusted(home: &DataHome) -> Result<Vec<Trusted>, CliError> {
    read_list(&trusted_file(home))
}

/// Returns which projects' rules count.
pub(crate) fn trust(home: &DataHome) -> Result<ProjectTrust, CliError> {
    let known = trusted(home)?;
    Ok(ProjectTrust::Only { hashes: known.into_iter().map(|known| known.hash).collect(), owner: owner() })
}

/// Replaces what is trusted.
pub(crate) fn set_trusted(home: &DataHome, trusted: &[Trusted]) -> Result<(), CliError> {
    write_list(&trusted_file(home), trusted)
}

/// Remembers rules that were met and are not trusted; returns those that nobody was told of, where somebody is told now.
pub(crate) fn met(home: &DataHome, met: &[UntrustedRules], is_told: bool) -> Result<Vec<PathBuf>, CliError> {
    let file = home.run().join("untrusted-rules.json");
    let before: Vec<Met> = read_list(&file)?;
    let mut known = before.clone();
    let mut news = Vec::new();
    for rules in met {
        let has_room = known.len() < MET_MAX;
        let there = known.iter_mut().find(|known| known.path == rules.path && known.reason == rules.reason);
        let was_told = there.as_ref().is_some_and(|known| known.is_told);
        if is_told && !was_told {
            news.push(rules.path.clone());
        }
        match there {
            Some(known) => known.is_told |= is_told,
            None if has_room => {
                known.push(Met { path: rules.path.clone(), reason: rules.reason.clone(), is_told });
            }
            None => {}
        }
    }
    if known != before {
        create_private(&home.run())?;
        write_list(&file, &known)?;
    }
    Ok(news)
}

/// Returns the rules of projects that were met and do not count, with the reason.
pub(crate) fn untrusted(home: &DataHome) -> Result<Vec<(PathBuf, String)>, CliError> {
    let known: Vec<Met> = read_list(&home.run().join("untrusted-rules.json"))?;
    let trusted = trusted(home)?;
    // What is gone, or was trusted since, is no trouble any more.
    let is_trusted = |path: &Path| {
        rules_file_hash(path).is_some_and(|hash| trusted.iter().any(|known| known.hash == hash))
    };
    let rest = known.into_iter().filter(|met| met.path.is_file() && !is_trusted(&met.path));
    Ok(rest.map(|met| (met.path, met.reason)).collect())
}

fn trusted_file(home: &DataHome) -> PathBuf {
    home.root().join("trusted-rules.json")
}

fn read_list<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Vec<T>, CliError> {
    let mut text = String::new();
    match std::fs::File::open(path).and_then(|file| file.take(LIST_BYTES_MAX).read_to_string(&mut text)) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(CliError::io("read", path, error)),
    }
    serde_json::from_str(&text).map_err(|error| CliError::io("read", path, error.into()))
}

fn write_list<T: Serialize>(path: &Path, list: &[T]) -> Result<(), CliError> {
    let failed = |source| CliError::io("write", path, source);
    let text = serde_json::to_string_pretty(list).map_err(|error| failed(error.into()))?;
    write_whole(&SystemFiles, path, failed, |out| out.write_all(text.as_bytes()).map_err(failed))
}
