//! Which rules replace secrets: the shipped ones, the store's own and a project's. Finds and reads files of rules;
//! what a rule means is `stemmata-redact`'s.
//!
//! `line_scrubber` says which formats are read over several lines.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use stemmata_model::{CommitId, FormatId, Note, NoteCode};
use stemmata_redact::{
    Finding, LineScrubber, PrivateKeyState, RULES_BYTES_MAX, RuleFile, RuleFileError, RuleScope, Scrubbed,
    Scrubber,
};
use stemmata_runtimes::adapter::{Adapter, Shape};
use stemmata_runtimes::captured::is_said_in_parts;
use stemmata_runtimes::registry;
use stemmata_store::SIDECAR_FORMAT;

use crate::capture::lines::split_lines;
use crate::engine::Engine;
use crate::error::{Absent, EngineError, Refusal, Result};
use crate::home::rules_of;
use crate::system;

/// Where a project keeps its rules, below its directory.
pub const PROJECT_RULES: &str = ".stemmata/secrets.toml";

/// The folder of these rules.
const PROJECT_FOLDER: &str = ".stemmata";

/// Folders above a working directory that are looked into at most.
const FOLDERS_MAX: usize = 64;

/// Scrubbers of projects that are kept: expressions are compiled once.
const KEPT_MAX: usize = 64;

/// Commits above one that no session made, which are looked at for one that a session made: what the engine makes
/// itself below a session is few commits deep.
const OWN_COMMITS_MAX: usize = 16;

/// The store's own rules; none where it is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoreRules {
    /// The file, for messages.
    pub name: String,
    /// What stands in it.
    pub text: String,
}

/// Which projects' rules count. A file of rules comes with whatever is cloned, so somebody has to say so of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ProjectTrust {
    /// All: for a program that looks after that itself.
    #[default]
    All,
    /// Those whose text has one of these hashes, as [`rules_file_hash`] returns them, in files of this user: a changed file is another one.
    Only {
        /// The hashes.
        hashes: BTreeSet<String>,
        /// The user.
        owner: u32,
    },
}

/// Collects rules of projects that were met and do not count, from all engines that it is given to.
#[derive(Debug, Clone, Default)]
pub struct UntrustedMet {
    reasons: Arc<Mutex<BTreeMap<PathBuf, String>>>,
}

impl UntrustedMet {
    pub(crate) fn add(&self, path: PathBuf, reason: String) {
        if let Ok(mut reasons) = self.reasons.lock()
            && reasons.len() < KEPT_MAX
        {
            reasons.insert(path, reason);
        }
    }

    /// Returns the files that were met so far, and why each does not count.
    pub fn list(&self) -> BTreeMap<PathBuf, String> {
        self.reasons.lock().map(|reasons| reasons.clone()).unwrap_or_default()
    }
}

impl ProjectTrust {
    /// Returns why a file of rules does not count, if it does not.
    fn objection(&self, rules: &ProjectRules) -> Option<String> {
        let Self::Only { hashes, owner } = self else { return None };
        let Ok(text) = &rules.text else {
            return Some("it cannot be read as text".to_owned());
        };
        if rules.owner != Some(*owner) {
            return Some("the file belongs to another user".to_owned());
        }
        let is_trusted = hashes.contains(&text_hash(text.as_bytes()));
        (!is_trusted).then(|| "nobody trusted it, or it changed since".to_owned())
    }
}

/// A project's file of rules.
struct ProjectRules {
    path: PathBuf,
    /// Anybody may put a file there that cannot be read: that is an error only where everything there is trusted.
    text: Result<String>,
    /// None where it cannot be looked up.
    owner: Option<u32>,
}

/// The rules in force where there is no store at hand.
///
/// # Errors
/// As [`Engine::scrubber_at`].
pub(crate) fn scrubber_without_store(
    store: Option<StoreRules>,
    trust: ProjectTrust,
    cwd: Option<&Path>,
) -> Result<Scrubber> {
    Scrubbing::new(store, trust, UntrustedMet::default()).at(cwd)
}

/// The rules in force.
#[derive(Debug)]
pub(crate) struct Scrubbing {
    pub store: Option<StoreRules>,
    scrubber: std::result::Result<Scrubber, RuleFileError>,
    /// By the text of a project's rules.
    projects: Mutex<HashMap<String, Scrubber>>,
    pub trust: ProjectTrust,
    /// Rules that were met and do not count, with the reason.
    pub untrusted: UntrustedMet,
}

impl Default for Scrubbing {
    fn default() -> Self {
        Self::new(None, ProjectTrust::default(), UntrustedMet::default())
    }
}

impl Scrubbing {
    /// Makes rules of the store's own, beside the shipped ones, and those of trusted projects; others that are met are added to
    /// `untrusted`. Rules of the store that make no sense block all content: [`Engine::scrubber`] says why.
    pub(crate) fn new(store: Option<StoreRules>, trust: ProjectTrust, untrusted: UntrustedMet) -> Self {
        let scrubber = match &store {
            Some(rules) => {
                let file = RuleFile { name: &rules.name, text: &rules.text, scope: RuleScope::Store };
                Scrubber::with_files(&[file])
            }
            None => Ok(Scrubber::builtin()),
        };
        Self { scrubber, store, trust, untrusted, projects: Mutex::default() }
    }

    /// Makes rules of a file that cannot be read: they block all content as rules do that make no sense.
    pub(crate) fn unusable(error: RuleFileError, (trust, untrusted): (ProjectTrust, UntrustedMet)) -> Self {
        Self { scrubber: Err(error), ..Self::new(None, trust, untrusted) }
    }

    /// Makes the shipped rules that were in force before.
    #[cfg(test)]
    pub(crate) fn of_earlier_rules() -> Self {
        let earlier = Scrubber::builtin().earlier().cloned().expect("there were rules before");
        Self { scrubber: Ok(earlier), ..Self::default() }
    }

    /// Returns whether the store's own rules are those that a data directory has now.
    pub(crate) fn is_of(&self, data: &Path) -> bool {
        match rules_of(data) {
            Ok(rules) => rules == self.store,
            Err(_) => self.scrubber.is_err(),
        }
    }

    fn own(&self) -> Result<&Scrubber> {
        self.scrubber.as_ref().map_err(|error| error.clone().into())
    }

    fn at(&self, cwd: Option<&Path>) -> Result<Scrubber> {
        let own = self.own()?;
        let Some(rules) = cwd.and_then(project_rules) else {
            return Ok(own.clone());
        };
        if let Some(reason) = self.trust.objection(&rules) {
            self.untrusted.add(rules.path, reason);
            return Ok(own.clone());
        }
        Ok(self.with_project(&rules.path, rules.text?)?)
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
    /// Returns what replaces secrets in what belongs to no project.
    ///
    /// # Errors
    /// `Rules` where the store's own rules make no sense.
    pub fn scrubber(&self) -> Result<&Scrubber> {
        self.scrubbing.own()
    }

    /// Returns what replaces secrets in a session that began in a directory.
    ///
    /// # Errors
    /// `Rules` where the store's or the project's rules make no sense, `Io` where a file of rules cannot be read.
    pub(crate) fn scrubber_at(&self, cwd: Option<&Path>) -> Result<Scrubber> {
        self.scrubbing.at(cwd)
    }

    /// Returns the directory that a commit's first session worked in. What the engine itself made below a session belongs
    /// to that one.
    pub(crate) fn project_of(&self, commit: CommitId) -> Result<Option<String>> {
        let mut at = commit;
        for _ in 0..OWN_COMMITS_MAX {
            if let Some(session) = self.first_session(at)? {
                return Ok(session.cwd);
            }
            let Some(parent) = self.store.commit(at)?.and_then(|known| known.core.parent) else { break };
            at = parent;
        }
        Ok(None)
    }

    /// Returns what replaces secrets in what is said of a commit, or made below it.
    ///
    /// # Errors
    /// As `Engine::scrubber_at`, and store errors.
    pub fn scrubber_of(&self, commit: CommitId) -> Result<Scrubber> {
        self.scrubber_at(self.project_of(commit)?.as_deref().map(Path::new))
    }

    /// Returns what replaces secrets in a text that is made of what is stored at a commit alone. What is stored went through the rules
    /// of its capture, so that rules that cannot be used now keep nobody from it: the shipped ones stand for them, and a note says so.
    ///
    /// # Errors
    /// Store errors.
    pub(crate) fn scrubber_of_stored(&self, commit: CommitId) -> Result<(Scrubber, Option<Note>)> {
        match self.scrubber_of(commit) {
            Ok(scrubber) => Ok((scrubber, None)),
            Err(error @ (EngineError::Rules(_) | EngineError::Io { .. })) => {
                let message = format!("only the shipped rules for secrets were used: {error}");
                Ok((Scrubber::builtin(), Some(Note::new(NoteCode::Degraded, message))))
            }
            Err(error) => Err(error),
        }
    }
}

/// Looks at a content that a program gave as a whole, where that is how it is looked at: a document, and text that is no
/// lines of JSON, since its secrets may have several lines. None where it is looked at line by line.
pub(crate) fn scrubbed_whole<'a>(
    scrubber: &Scrubber,
    format: &FormatId,
    bytes: &'a [u8],
) -> Result<Option<Scrubbed<'a>>> {
    if let Some(adapter) = registry::by_format(format).filter(|own| own.shape() == Shape::Document) {
        return Ok(Some(scrub_document(scrubber, adapter, bytes)?));
    }
    scrubbed_text(scrubber, bytes)
}

/// Replaces the secrets of a text that is no lines of JSON; none for what is.
fn scrubbed_text<'a>(scrubber: &Scrubber, bytes: &'a [u8]) -> Result<Option<Scrubbed<'a>>> {
    let is_json = |line: &[u8]| matches!(line.trim_ascii_start().first(), None | Some(b'{' | b'['));
    let Ok(text) = std::str::from_utf8(bytes) else { return Ok(None) };
    if split_lines(bytes).all(is_json) {
        return Ok(None);
    }
    let clean = scrubber.scrub_text(text)?;
    let bytes = match clean.text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    };
    Ok(Some(Scrubbed { bytes, findings: clean.findings }))
}

/// Starts replacing the secrets of a content of a format, line by line: capture, checkpoints and scans all do it with this.
pub(crate) fn line_scrubber(scrubber: &Scrubber, format: &FormatId) -> LineScrubber {
    if is_said_in_parts(format) {
        LineScrubber::new(scrubber.clone())
    } else {
        LineScrubber::of_whole_records(scrubber.clone())
    }
}

/// Checks a project's file of rules, and returns the hash that trust in it is for.
///
/// # Errors
/// `Rules` where they make no sense, `Refused` where the file is another user's, `NothingThere` without one, `Io`.
pub(crate) fn check_project_rules(folder: &Path, owner: u32) -> Result<(PathBuf, String)> {
    let place = format!("in {} or a folder above it", folder.display());
    let nothing = || EngineError::NothingThere { what: Absent::ProjectRules, place };
    let rules = project_rules(folder).ok_or_else(nothing)?;
    let text = rules.text?;
    if rules.owner != Some(owner) {
        let reason = format!("{} belongs to another user", rules.path.display());
        return Err(EngineError::Refused { what: Refusal::TrustRules, reasons: vec![reason] });
    }
    let name = rules.path.display().to_string();
    Scrubber::with_files(&[RuleFile { name: &name, text: &text, scope: RuleScope::Project }])?;
    let hash = text_hash(text.as_bytes());
    Ok((rules.path, hash))
}

/// Returns the hash of a file of rules, in hex; none where there is none that can be read.
pub fn rules_file_hash(path: &Path) -> Option<String> {
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    let mut text = Vec::new();
    let bound = u64::try_from(RULES_BYTES_MAX).expect("a bound fits 64 bits") + 1;
    std::fs::File::open(path).ok()?.take(bound).read_to_end(&mut text).ok()?;
    Some(text_hash(&text))
}

fn text_hash(text: &[u8]) -> String {
    blake3::hash(text).to_hex().to_string()
}

/// Tells whether a format's contents are one document each.
pub(crate) fn is_document(format: &FormatId) -> bool {
    registry::by_format(format).is_some_and(|adapter| adapter.shape() == Shape::Document)
}

/// What every placeholder of a secret begins with.
pub(crate) const PLACEHOLDER: &[u8] = b"[REDACTED:";

/// Replaces the secrets of a document: in its bytes, or, where those are no text, in what is read instead of them.
///
/// # Errors
/// `Rules` as [`Scrubber::scrub_line`], `Refused` where a secret was found and cannot be replaced.
pub(crate) fn scrub_document<'b>(
    scrubber: &Scrubber,
    adapter: &dyn Adapter,
    bytes: &'b [u8],
) -> Result<Scrubbed<'b>> {
    if adapter.format().as_str() == SIDECAR_FORMAT {
        return scrub_file(scrubber, bytes);
    }
    let Some(readable) = adapter.readable(bytes) else { return Ok(scrubber.scrub_line(bytes)?) };
    let clean = scrubber.scrub_line(readable.json.as_bytes())?;
    let Cow::Owned(json) = clean.bytes else {
        return Ok(Scrubbed { bytes: Cow::Borrowed(bytes), findings: Vec::new() });
    };
    let rewritten = std::str::from_utf8(&json).ok().and_then(|json| adapter.rewritten(bytes, json));
    let rewritten = rewritten.ok_or_else(|| EngineError::Refused {
        what: Refusal::StoreDocument,
        reasons: vec!["it holds a secret that cannot be replaced without breaking it".to_owned()],
    })?;
    let findings = clean.findings.into_iter().map(|finding| {
        let place = readable.place(finding.offset..finding.offset + finding.len);
        Finding { offset: place.start, len: place.len(), ..finding }
    });
    Ok(Scrubbed { findings: findings.collect(), bytes: Cow::Owned(rewritten) })
}

/// Replaces the secrets of a text in UTF-16 that says so by its first two bytes, as some shells write it; none for any
/// other, and where nothing is found.
fn scrub_utf16<'b>(scrubber: &Scrubber, bytes: &'b [u8]) -> Result<Option<Scrubbed<'b>>> {
    let (mark, is_little) = match bytes {
        [0xff, 0xfe, ..] => ([0xff, 0xfe], true),
        [0xfe, 0xff, ..] => ([0xfe, 0xff], false),
        _ => return Ok(None),
    };
    let read = |unit: [u8; 2]| if is_little { u16::from_le_bytes(unit) } else { u16::from_be_bytes(unit) };
    let write = |unit: u16| if is_little { unit.to_le_bytes() } else { unit.to_be_bytes() };
    let units = bytes.get(2..).unwrap_or_default().chunks_exact(2);
    if !units.remainder().is_empty() {
        return Ok(None);
    }
    let units: Vec<u16> = units
        .map(|unit| read([unit.first().copied().unwrap_or(0), unit.get(1).copied().unwrap_or(0)]))
        .collect();
    let Ok(text) = String::from_utf16(&units) else { return Ok(None) };
    let clean = scrubber.scrub_text(&text)?;
    // Bytes that only begin so may be anything else.
    if clean.findings.is_empty() {
        return Ok(None);
    }
    let length = |text: &str| text.encode_utf16().count() * 2;
    let findings = clean.findings.into_iter().map(|finding| {
        let (before, rest) = text.split_at_checked(finding.offset).unwrap_or((&text, ""));
        let own = rest.get(..finding.len).unwrap_or(rest);
        Finding { offset: mark.len() + length(before), len: length(own), ..finding }
    });
    let findings = findings.collect();
    let bytes = mark.into_iter().chain(clean.text.encode_utf16().flat_map(write)).collect();
    Ok(Some(Scrubbed { bytes: Cow::Owned(bytes), findings }))
}

/// Replaces the secrets of a file of any kind: a JSON value, a text, lines of records, or bytes between which text may stand.
fn scrub_file<'b>(scrubber: &Scrubber, bytes: &'b [u8]) -> Result<Scrubbed<'b>> {
    if serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok() {
        return Ok(scrubber.scrub_line(bytes)?);
    }
    if let Some(clean) = scrubbed_text(scrubber, bytes)? {
        return Ok(clean);
    }
    if let Some(clean) = scrub_utf16(scrubber, bytes)? {
        return Ok(clean);
    }
    let mut keys = PrivateKeyState::default();
    let (mut whole, mut findings, mut offset) = (Vec::new(), Vec::new(), 0);
    for line in split_lines(bytes) {
        let clean = scrubber.scrub_line_within(line, &mut keys)?;
        findings.extend(clean.findings.into_iter().map(|own| Finding { offset: own.offset + offset, ..own }));
        whole.extend_from_slice(&clean.bytes);
        offset += line.len();
    }
    let bytes = if findings.is_empty() { Cow::Borrowed(bytes) } else { Cow::Owned(whole) };
    Ok(Scrubbed { bytes, findings })
}

/// Finds the rules of the project that a directory belongs to: the nearest file above it.
fn project_rules(cwd: &Path) -> Option<ProjectRules> {
    if !cwd.is_absolute() {
        return None;
    }
    for folder in cwd.ancestors().take(FOLDERS_MAX) {
        let path = folder.join(PROJECT_RULES);
        let owner = match std::fs::metadata(&path) {
            Ok(metadata) if metadata.is_file() => Some(system::owner(&metadata)),
            // A pipe would keep its reader waiting without end.
            Ok(_) => continue,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => continue,
            // A transcript may name any directory, also one of another user or of no machine: where nothing can be
            // looked up, there is no project of this user. Where there is one, its rules may not be passed over.
            Err(_) if std::fs::symlink_metadata(folder.join(PROJECT_FOLDER)).is_err() => continue,
            Err(error) => {
                let text = Err(EngineError::io("read", &path)(error));
                return Some(ProjectRules { path, text, owner: None });
            }
        };
        let bound = u64::try_from(RULES_BYTES_MAX).expect("a bound fits 64 bits") + 1;
        let mut text = String::new();
        let read = std::fs::File::open(&path).and_then(|file| file.take(bound).read_to_string(&mut text));
        let text = read.map(|_| text).map_err(EngineError::io("read", &path));
        return Some(ProjectRules { path, text, owner });
    }
    None
}
