//! `secrets.toml`: the store's own rules for secrets, kept in the data directory by their owner; and which projects' rules
//! the owner trusts.
//!
//! What they mean, and what follows where they make no sense, is `scrubbing`'s.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stemmata_api::v1::UntrustedRules;
use stemmata_model::quote::one_line_within;
use stemmata_redact::RuleFileError;
use stemmata_store::{read_bounded, write_file};

use super::Home;
use crate::capture::stream::StreamRules;
use crate::error::{EngineError, Result};
use crate::scrubbing::{
    PROJECT_RULES, ProjectTrust, StoreRules, check_project_rules, rules_file_hash, scrubber_without_store,
};

/// Bytes of the file that are read at most: one more than make sense, so that its reader says so.
const FILE_BYTES_MAX: u64 = 256 * 1024 + 1;

/// Bytes of the lists below that are read at most.
const LIST_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Characters of a title at most, as the store bounds them.
const TITLE_CHARS_MAX: usize = 200;

/// Rules of projects that are remembered as met and not trusted.
const MET_MAX: usize = 100;

/// A project's rules that are trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedRules {
    /// The file, as it was when it was trusted.
    pub path: PathBuf,
    /// The BLAKE3 hash of its text, in hex: a changed file is another one.
    pub hash: String,
    /// When it was trusted, in microseconds since 1970.
    pub at: i64,
}

/// Rules of a project that were met and are not trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Met {
    path: PathBuf,
    reason: String,
    is_told: bool,
    /// What the file said then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
}

/// Returns a path without links and `..`; one that leads nowhere as it is.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

impl Home {
    /// Returns the projects' rules for secrets that are trusted.
    ///
    /// # Errors
    /// `Io` where the list cannot be read.
    pub fn trusted_rules(&self) -> Result<Vec<TrustedRules>> {
        read_list(&self.trusted_file())
    }

    /// Trusts the rules of a directory's project as they are now; of one file only that. Returns the file.
    ///
    /// # Errors
    /// Where there are none, or they make no sense, or belong to another user; `Io` where the list cannot be kept.
    pub fn trust_rules(&self, folder: &Path) -> Result<PathBuf> {
        let (path, hash) = check_project_rules(&real(folder), self.options.machine.user_id)?;
        let _alone = self.alone()?;
        let mut trusted = self.trusted_rules()?;
        trusted.retain(|known| known.path != path);
        trusted.push(TrustedRules { path: path.clone(), hash, at: self.options.clock.now().as_micros() });
        write_list(&self.trusted_file(), &trusted)?;
        Ok(path)
    }

    /// Trusts the rules of a directory's project no more; the file may be gone, and its project too. Returns whether any were
    /// trusted.
    ///
    /// # Errors
    /// `Io` where the list cannot be read or kept.
    pub fn distrust_rules(&self, folder: &Path) -> Result<bool> {
        let _alone = self.alone()?;
        let mut trusted = self.trusted_rules()?;
        let count = trusted.len();
        let folder = real(folder);
        trusted
            .retain(|known| !folder.ancestors().any(|above| above.join(PROJECT_RULES) == real(&known.path)));
        if trusted.len() == count {
            return Ok(false);
        }
        write_list(&self.trusted_file(), &trusted)?;
        Ok(true)
    }

    /// Remembers projects' rules that the engine met and that are not trusted. Returns those that nobody was told of yet,
    /// where the caller tells somebody now.
    ///
    /// # Errors
    /// `Io` where the list cannot be read or kept.
    pub fn remember_untrusted(&self, is_told: bool) -> Result<Vec<PathBuf>> {
        let met = self.untrusted.list();
        if met.is_empty() {
            return Ok(Vec::new());
        }
        let _alone = self.alone()?;
        let before: Vec<Met> = read_list(&self.met_file())?;
        let mut known = before.clone();
        let mut news = Vec::new();
        for (path, reason) in met {
            let has_room = known.len() < MET_MAX;
            let there = known.iter_mut().find(|known| known.path == path && known.reason == reason);
            // A file that says something else now is told of anew.
            let hash = rules_file_hash(&path);
            let was_told = there.as_ref().is_some_and(|known| known.is_told && known.hash == hash);
            if is_told && !was_told {
                news.push(path.clone());
            }
            match there {
                Some(known) => (known.is_told, known.hash) = (was_told || is_told, hash),
                None if has_room => known.push(Met { path, reason, is_told, hash }),
                None => {}
            }
        }
        if known != before {
            write_list(&self.met_file(), &known)?;
        }
        Ok(news)
    }

    /// Returns the rules of projects that were met and do not count, with the reason. What is gone, or was trusted since, is
    /// left out.
    ///
    /// # Errors
    /// `Io` where a list cannot be read.
    pub fn untrusted_rules(&self) -> Result<Vec<UntrustedRules>> {
        let known: Vec<Met> = read_list(&self.met_file())?;
        let trusted = self.trusted_rules()?;
        let is_trusted = |path: &Path| {
            rules_file_hash(path).is_some_and(|hash| trusted.iter().any(|known| known.hash == hash))
        };
        let rest = known.into_iter().filter(|met| met.path.is_file() && !is_trusted(&met.path));
        let of =
            |met: Met| UntrustedRules { path: met.path.to_string_lossy().into_owned(), reason: met.reason };
        Ok(rest.map(of).collect())
    }

    /// Returns the rules that replace secrets in what a command prints in a directory, whether the store can be opened or not.
    ///
    /// # Errors
    /// `Rules`, and `Io` where the list of trusted ones cannot be read.
    pub fn stream_rules<'a>(&self, cwd: &'a Path) -> Result<StreamRules<'a>> {
        let Rules { store, trust } = self.rules()?;
        let store = store?;
        Ok(StreamRules { store, cwd: Some(cwd), trust })
    }

    /// Returns a text on one line as a session's title, without its secrets. None where the rules for these make no sense:
    /// what cannot be scrubbed is not kept.
    pub fn scrubbed_title(&self, text: &str, cwd: &Path) -> Option<String> {
        let Rules { store, trust } = self.rules().ok()?;
        let scrubber = scrubber_without_store(store.ok()?, trust, Some(cwd)).ok()?;
        // Cut afterwards: half a secret is not found.
        let text = scrubber.scrub_text(text).ok()?.text;
        Some(one_line_within(&text, TITLE_CHARS_MAX)).filter(|title| !title.is_empty())
    }

    /// Reads which rules count now.
    pub(super) fn rules(&self) -> Result<Rules> {
        let hashes = self.trusted_rules()?.into_iter().map(|known| known.hash).collect();
        let trust = ProjectTrust::Only { hashes, owner: self.options.machine.user_id };
        Ok(Rules { store: rules_of(self.dir()), trust })
    }

    fn trusted_file(&self) -> PathBuf {
        self.dir().join("trusted-rules.json")
    }

    fn met_file(&self) -> PathBuf {
        self.run_dir().join("untrusted-rules.json")
    }
}

/// Which rules for secrets count beside the shipped ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rules {
    /// The store's own. A file that cannot be read keeps nobody from what is stored: like rules that make no sense, it blocks what is
    /// new.
    pub store: Result<Option<StoreRules>, RuleFileError>,
    /// Which projects'.
    pub trust: ProjectTrust,
}

/// Reads the rules of a data directory; none where there is no such file.
pub(crate) fn rules_of(home: &Path) -> Result<Option<StoreRules>, RuleFileError> {
    let path = home.join("secrets.toml");
    let unusable = |reason: String| {
        let file = path.display().to_string();
        RuleFileError { file, line: None, about: String::new(), reason }
    };
    // A pipe would keep its reader waiting without end.
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Err(unusable("it is not a regular file".to_owned()));
    }
    let bytes = read_bounded(&path, FILE_BYTES_MAX);
    let bytes = bytes.map_err(|error| unusable(format!("it cannot be read: {error}")))?;
    // What is no text is no TOML either, and its reader says so.
    let text = bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(text.map(|text| StoreRules { name: path.display().to_string(), text }))
}

fn read_list<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let read = read_bounded(path, LIST_BYTES_MAX);
    let parsed = read.and_then(|bytes| match bytes {
        Some(bytes) => serde_json::from_slice(&bytes).map_err(std::io::Error::from),
        None => Ok(Vec::new()),
    });
    parsed.map_err(EngineError::io("read", path))
}

fn write_list<T: Serialize>(path: &Path, list: &[T]) -> Result<()> {
    let text = serde_json::to_string_pretty(list).map_err(std::io::Error::from);
    text.and_then(|text| write_file(path, text.as_bytes())).map_err(EngineError::io("write", path))
}
