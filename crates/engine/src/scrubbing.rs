//! Which rules replace secrets: the shipped ones, the store's own and a project's. Finds and reads files of rules;
//! what a rule means is `stemmata-redact`'s.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use stemmata_redact::{Finding, RULES_BYTES_MAX, RuleFile, RuleFileError, RuleScope, Scrubbed, Scrubber};
use stemmata_runtimes::Adapter;

use crate::engine::Engine;
use crate::error::{EngineError, Result};

/// Where a project keeps its rules, below its directory.
pub const PROJECT_RULES: &str = ".stemmata/secrets.toml";

/// Folders above a working directory that are looked into at most.
const FOLDERS_MAX: usize = 64;

/// Scrubbers of projects that are kept: expressions are compiled once.
const KEPT_MAX: usize = 64;

/// The store's own rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreRules {
    /// The file, for messages.
    pub name: String,
    /// What stands in it.
    pub text: String,
}

/// The rules in force.
#[derive(Debug)]
pub(crate) struct Scrubbing {
    store: Option<StoreRules>,
    scrubber: std::result::Result<Scrubber, RuleFileError>,
    /// By the text of a project's rules.
    projects: Mutex<HashMap<String, Scrubber>>,
}

impl Default for Scrubbing {
    fn default() -> Self {
        Self { store: None, scrubber: Ok(Scrubber::builtin()), projects: Mutex::default() }
    }
}

impl Scrubbing {
    fn of(store: StoreRules) -> Self {
        let file = RuleFile { name: &store.name, text: &store.text, scope: RuleScope::Store };
        let scrubber = Scrubber::with_files(&[file]);
        Self { scrubber, store: Some(store), projects: Mutex::default() }
    }

    fn with_project(&self, path: &Path, text: String) -> std::result::Result<Scrubber, RuleFileError> {
        let known = self.projects.lock().ok().and_then(|known| known.get(&text).cloned());
        if let Some(scrubber) = known {
            return Ok(scrubber);
        }
        let name = path.display().to_string();
        let own = self.store.iter().map(|rules| RuleFile {
            name: &rules.name,
            text: &rules.text,
            scope: RuleScope::Store,
        });
        let project = RuleFile { name: &name, text: &text, scope: RuleScope::Project };
        let files: Vec<RuleFile<'_>> = own.chain([project]).collect();
        let scrubber = Scrubber::with_files(&files)?;
        if let Ok(mut known) = self.projects.lock() {
            if known.len() >= KEPT_MAX {
                known.clear();
            }
            known.insert(text, scrubber.clone());
        }
        Ok(scrubber)
    }
}

impl Engine {
    /// Has secrets be replaced by the store's own rules beside the shipped ones. Rules that make no sense block all
    /// content: [`Engine::scrubber`] says why.
    #[must_use]
    pub fn with_rules(mut self, rules: StoreRules) -> Self {
        self.scrubbing = Arc::new(Scrubbing::of(rules));
        self
    }

    /// Returns what replaces secrets in what belongs to no project.
    ///
    /// # Errors
    /// `Rules` where the store's own rules make no sense.
    pub fn scrubber(&self) -> Result<&Scrubber> {
        self.scrubbing.scrubber.as_ref().map_err(|error| error.clone().into())
    }

    /// Returns what replaces secrets in a session that began in a directory.
    ///
    /// # Errors
    /// `Rules` where the store's or the project's rules make no sense, `Io` where a file of rules cannot be read.
    pub(crate) fn scrubber_at(&self, cwd: Option<&Path>) -> Result<Scrubber> {
        let own = self.scrubber()?;
        let Some((path, text)) = cwd.map(project_rules).transpose()?.flatten() else {
            return Ok(own.clone());
        };
        Ok(self.scrubbing.with_project(&path, text)?)
    }
}

/// Returns whether what is replaced in a document stands in its bytes as it is: where the document is no text, a text that
/// changes has another head too, and nothing is put back by its place alone.
pub(crate) fn is_scrubbed_in_place(adapter: &dyn Adapter, bytes: &[u8]) -> bool {
    adapter.readable(bytes).is_none()
}

/// Replaces the secrets of a document: in its bytes, or, where those are no text, in what is read instead of them.
///
/// # Errors
/// `Rules` as [`Scrubber::scrub_line`], `Refused` where a secret was found and cannot be replaced.
pub(crate) fn scrub_document<'b>(
    scrubber: &Scrubber,
    adapter: &dyn Adapter,
    bytes: &'b [u8],
) -> Result<Scrubbed<'b>> {
    let Some(readable) = adapter.readable(bytes) else { return Ok(scrubber.scrub_line(bytes)?) };
    let clean = scrubber.scrub_line(readable.json.as_bytes())?;
    let Cow::Owned(json) = clean.bytes else {
        return Ok(Scrubbed { bytes: Cow::Borrowed(bytes), findings: Vec::new() });
    };
    let rewritten = std::str::from_utf8(&json).ok().and_then(|json| adapter.rewritten(bytes, json));
    let rewritten = rewritten.ok_or_else(|| EngineError::Refused {
        what: "storing a document",
        reasons: vec!["it holds a secret that cannot be replaced without breaking it".to_owned()],
    })?;
    let findings = clean.findings.into_iter().map(|finding| {
        let place = readable.place(finding.offset..finding.offset + finding.len);
        Finding { offset: place.start, len: place.len(), ..finding }
    });
    Ok(Scrubbed { findings: findings.collect(), bytes: Cow::Owned(rewritten) })
}

/// Finds the rules of the project that a directory belongs to: the nearest file above it.
fn project_rules(cwd: &Path) -> Result<Option<(PathBuf, String)>> {
    if !cwd.is_absolute() {
        return Ok(None);
    }
    for folder in cwd.ancestors().take(FOLDERS_MAX) {
        let path = folder.join(PROJECT_RULES);
        // A pipe would keep its reader waiting without end.
        if !std::fs::metadata(&path).is_ok_and(|metadata| metadata.is_file()) {
            continue;
        }
        let bound = u64::try_from(RULES_BYTES_MAX).expect("a bound fits 64 bits") + 1;
        let mut text = String::new();
        std::fs::File::open(&path)
            .and_then(|file| file.take(bound).read_to_string(&mut text))
            .map_err(EngineError::io("read", &path))?;
        return Ok(Some((path, text)));
    }
    Ok(None)
}
