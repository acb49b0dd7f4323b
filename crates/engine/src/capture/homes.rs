//! Finds transcripts: in runtimes' homes, or below folders that were named.
//!
//! Decides by path only; whether a file is a transcript is for the adapters to say.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use stemmata_runtimes::adapter::Confidence;
use stemmata_runtimes::clients::{self, Client, SIDECAR_DEPTH_MAX, sidecar_folder};

use crate::capture::database::{self, Which};
use crate::capture::events;
use crate::capture::folders;
use crate::capture::source::{is_transcript_name, plain_name};
use crate::capture::transcript_file::{Transcript, check_regular};
use crate::error::{EngineError, Refusal};

/// Files that one scan returns at most: far more than any home holds, and a bound against cycles and mistakes.
pub const FILES_MAX: usize = 1_000_000;

/// Folders below each other that a scan enters at most.
const DEPTH_MAX: usize = 32;

/// How names of documents end that may be transcripts.
const DOCUMENT_ENDINGS: [&str; 4] = ["json", "traj", "md", "cbor"];

/// A runtime's home on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeHome {
    /// The runtime.
    pub runtime: &'static str,
    /// Its configuration directory.
    pub config_dir: PathBuf,
    /// The folder below it that holds transcripts, or the database.
    pub transcripts: PathBuf,
}

/// Where runtimes keep their configuration, as the environment says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HomeHints {
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// Directories that the environment gives instead of a runtime's own place in the home directory.
    pub overrides: Vec<(&'static str, PathBuf)>,
}

impl HomeHints {
    /// Returns a client's configuration directory, whether it exists or not; none of one whose sessions are not looked for.
    pub fn config_dir(&self, client: &Client) -> Option<PathBuf> {
        let place = client.home?;
        let given = self.overrides.iter().find(|(runtime, _)| *runtime == client.id);
        let below_home = || self.home.as_ref().map(|home| home.join(place.below_home));
        given.map(|(_, path)| path.clone()).or_else(below_home)
    }

    /// Returns the homes that exist; a runtime with several folders of transcripts has one for each.
    pub fn existing(&self) -> Vec<RuntimeHome> {
        let mut homes = Vec::new();
        for client in clients::at_home() {
            let (Some(config_dir), Some(place)) = (self.config_dir(client), client.home) else { continue };
            for folder in place.transcripts {
                let transcripts = config_dir.join(folder);
                if transcripts.is_dir() || transcripts.is_file() {
                    let config_dir = config_dir.clone();
                    homes.push(RuntimeHome { runtime: client.id, config_dir, transcripts });
                }
            }
            let others = place.database.map(|_| database::of_channels(&config_dir)).unwrap_or_default();
            homes.extend(others.into_iter().map(|transcripts| {
                let config_dir = config_dir.clone();
                RuntimeHome { runtime: client.id, config_dir, transcripts }
            }));
        }
        homes
    }
}

/// Files to import, and how they were named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundFile {
    pub path: PathBuf,
    /// Whether the user named this very file: then not being a transcript is an error, not a skip.
    pub is_named: bool,
    pub bytes: u64,
    /// When a session in a database was written last; none for files.
    pub modified_ns: Option<i128>,
}

impl FoundFile {
    const fn new(path: PathBuf, is_named: bool, bytes: u64) -> Self {
        Self { path, is_named, bytes, modified_ns: None }
    }
}

/// What a search found, and what it could not look at.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Files, in the order of their paths.
    pub files: Vec<FoundFile>,
    /// Files below folders that are looked into no further: by their names, and of documents by what is in them, they are no
    /// transcripts, and no files of a transcript that is there.
    pub others: Vec<PathBuf>,
    /// Paths that could not be looked at, and why. The search went on.
    pub failures: Vec<(PathBuf, EngineError)>,
}

/// What `recover` puts into the name of a copy beside a transcript.
pub const RECOVERED: &str = "recovered";

/// What `repair` puts into the name of a copy beside a transcript.
pub const REPAIRED: &str = "repaired";

/// Returns the place beside a transcript for a copy of it, which is no session of its own.
pub fn beside(path: &Path, kind: &str) -> PathBuf {
    let name = plain_name(path).file_name().unwrap_or_default().to_string_lossy();
    let (stem, ending) = name.rsplit_once('.').unwrap_or((&name, "jsonl"));
    path.with_file_name(format!("{stem}.{kind}.{ending}"))
}

fn is_beside(path: &Path) -> bool {
    let stem = plain_name(path).file_stem().map(Path::new);
    let kind = stem.and_then(Path::extension).and_then(OsStr::to_str).unwrap_or_default();
    // Of several that were recovered, the later ones have numbers.
    let (name, number) = kind.rsplit_once('-').unwrap_or((kind, "2"));
    number.parse::<u32>().is_ok() && (name == RECOVERED || name == REPAIRED)
}

/// Says whether a file below a folder is looked into: by its name, and of documents, most of which are somebody else's,
/// only those that are transcripts beyond doubt.
pub(crate) fn may_be_transcript(path: &Path) -> bool {
    let ending = path.extension().and_then(|extension| extension.to_str());
    let is_document = ending.is_some_and(|ending| DOCUMENT_ENDINGS.contains(&ending));
    !is_beside(path) && (is_transcript_name(path) || (is_document && is_transcript_for_sure(path)))
}

/// Lists files to import below `paths`: named files as they are, folders searched for `.jsonl` and `.jsonl.zst`, and for
/// `.json`, `.traj`, `.md` and `.cbor` with a transcript in it. A folder of events is one itself.
pub(crate) fn find(paths: &[PathBuf]) -> Found {
    let mut found = Found::default();
    for path in paths {
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => found.scan(path, 0),
            Ok(metadata) if metadata.is_file() && database::is_database(path) => found.database(path),
            Ok(metadata) => match check_regular(path, &metadata) {
                Ok(()) => {
                    found.files.push(FoundFile::new(path.clone(), true, metadata.len()));
                }
                Err(error) => found.failures.push((path.clone(), error)),
            },
            Err(_) if database::session_in(path).is_some() => {
                found.files.push(FoundFile::new(path.clone(), true, 0));
            }
            Err(error) => found.failed("read", path, error),
        }
    }
    found.files.sort_by(|left, right| left.path.cmp(&right.path));
    found.files.dedup_by(|left, right| left.path == right.path);
    drop_packed_twins(&mut found.files);
    found.others.sort();
    found
}

/// Leaves compressed files out whose plain one is there too: a client is just packing or unpacking it.
fn drop_packed_twins(files: &mut Vec<FoundFile>) {
    let plain: std::collections::HashSet<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
    files.retain(|file| {
        let name = plain_name(&file.path);
        file.is_named || name == file.path || !plain.contains(name)
    });
}

/// Returns whether a document below a folder is a transcript beyond doubt. One that cannot be read is not.
fn is_transcript_for_sure(path: &Path) -> bool {
    let Ok(mut opened) = Transcript::open(path) else { return false };
    opened.detected().is_ok_and(|(_, detection)| detection.confidence == Confidence::Certain)
}

/// Returns whether a file is one that a client keeps beside a transcript that is there: it is captured with that one.
fn is_beside_a_transcript(path: &Path) -> bool {
    let text = |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let Some(name) = text(path) else { return false };
    path.ancestors().skip(1).take(SIDECAR_DEPTH_MAX).any(|folder| {
        let kept = text(folder).and_then(|folder| sidecar_folder(&folder));
        let Some((kept, session)) = kept.zip(folder.parent()) else { return false };
        let transcript = text(session).map(|stem| session.with_file_name(format!("{stem}.jsonl")));
        !kept.is_transcript(&name) && transcript.is_some_and(|transcript| transcript.is_file())
    })
}

impl Found {
    fn failed(&mut self, operation: &'static str, path: &Path, error: std::io::Error) {
        self.failures.push((path.to_owned(), EngineError::io(operation, path)(error)));
    }

    fn scan(&mut self, folder: &Path, depth: usize) {
        let bound = if depth > DEPTH_MAX {
            format!("it lies more than {DEPTH_MAX} folders deep")
        } else {
            format!("{FILES_MAX} files were found before it")
        };
        if depth > DEPTH_MAX || self.files.len() >= FILES_MAX {
            let refused = EngineError::Refused { what: Refusal::SearchFolder, reasons: vec![bound] };
            return self.failures.push((folder.to_owned(), refused));
        }
        if folders::is_storage(folder) {
            return self.storage(folder);
        }
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return self.failed("list", folder, error),
        };
        if events::is_folder(folder) {
            // How much it holds shows when it is read.
            return self.files.push(FoundFile {
                path: folder.to_owned(),
                is_named: false,
                bytes: 0,
                modified_ns: None,
            });
        }
        for entry in entries {
            let looked = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)));
            match looked {
                Ok((path, kind)) if kind.is_dir() => self.scan(&path, depth + 1),
                Ok((path, _)) if database::is_database(&path) => self.database(&path),
                Ok((path, _)) if is_beside(&path) || is_beside_a_transcript(&path) => {}
                Ok((path, _)) if may_be_transcript(&path) => self.file(path),
                Ok((path, kind)) if kind.is_file() && self.others.len() < FILES_MAX => self.others.push(path),
                Ok(_) => {}
                Err(error) => self.failed("list", folder, error),
            }
        }
    }

    /// Takes the sessions in a database. How large one is shows when it is read.
    fn database(&mut self, database: &Path) {
        match database::sessions(database, Which::All) {
            Ok(sessions) => {
                self.failures.extend(sessions.unread.map(|error| (database.to_owned(), error)));
                self.files.extend(sessions.found.into_iter().map(|(path, modified_ns)| FoundFile {
                    modified_ns: Some(modified_ns),
                    ..FoundFile::new(path, false, 0)
                }));
            }
            Err(error) => self.failures.push((database.to_owned(), error)),
        }
    }

    /// Takes the sessions in folders of records, without looking into each record for one.
    fn storage(&mut self, storage: &Path) {
        match folders::sessions(storage) {
            Ok(sessions) => sessions.into_iter().for_each(|path| self.file(path)),
            Err(error) => self.failures.push((storage.to_owned(), error)),
        }
    }

    /// Takes a file below a folder; a link to a file counts, one to a folder does not, since it may be a cycle.
    fn file(&mut self, path: PathBuf) {
        match std::fs::metadata(&path) {
            Ok(metadata) if metadata.is_file() => {
                self.files.push(FoundFile::new(path, false, metadata.len()));
            }
            Ok(_) => {}
            Err(error) => self.failed("read", &path, error),
        }
    }
}
