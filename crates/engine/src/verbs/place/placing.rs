//! A session on its way to where a client looks: rewritten, checked and hashed as it is written, and then given its name.
//!
//! Knows no store: the bytes may come from one on another machine.

use std::fs::File;
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};

use stemmata_model::{CommitId, FormatId, MachineId, Note, SessionId, Timestamp};
use stemmata_runtimes::adapter::{Adapter, ClientPlace, Finding, PlaceRequest, Severity, Validation};
use stemmata_runtimes::clients;
use stemmata_runtimes::translate::runtime_of;
use stemmata_store::SessionKey;

use super::mark::{ConversionOf, Mark};
use super::output::Output;
use super::record::{PlacementRecord, WrittenFile};
use crate::capture::cursor::FileStamp;
use crate::capture::database;
use crate::capture::transcript_file::key_path;
use crate::engine::Engine;
use crate::error::{EngineError, FormatUse, Refusal, Result};
use crate::home::create_private;
use crate::ports::{Clock, NewIds};
use crate::temporary::{TempFile, TempFiles};

/// What is placed, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacingWish {
    /// The format of the bytes.
    pub format: FormatId,
    /// The commit that they continue.
    pub continues: CommitId,
    /// The client's configuration directory.
    pub config_dir: PathBuf,
    /// The directory that the agent will work in, absolute.
    pub cwd: PathBuf,
    /// Where the session began to work: paths below it are mapped.
    pub origin_cwd: Option<String>,
    /// The version of the client that will load it.
    pub client_version: Option<String>,
    /// What the bytes were converted from; none where they are as they were stored. It is written into the file, so that an import in
    /// another store recognizes the copy.
    pub conversion_of: Option<ConversionOf>,
}

/// A session that is being written: takes the bytes of a context.
pub struct Placing {
    output: Output,
    wish: PlacingWish,
    session: SessionId,
    path: PathBuf,
    place: ClientPlace,
}

/// A session whose client would load it, which has no name yet. Dropped, it leaves nothing behind.
#[derive(Debug)]
pub struct ReadyFile {
    file: TempFile,
    wish: PlacingWish,
    hash: [u8; 32],
    /// Bytes and lines of the file that came from the commit.
    taken: (u64, u64),
    placed: PlacedFile,
}

/// A session's file where a client looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedFile {
    /// The new session id.
    pub session: SessionId,
    /// The file.
    pub path: PathBuf,
    /// Bytes of it.
    pub bytes: u64,
    /// Messages that the client will send.
    pub messages: u64,
    /// The client's own command line that resumes it, program first.
    pub resume_command: Vec<String>,
    /// The client's own command line that takes the file in first, where it does not find it by itself.
    pub import_command: Option<Vec<String>>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

impl Placing {
    /// Chooses the session's id and its place, makes the folders, and begins a file without a name in them.
    ///
    /// # Errors
    /// `Refused` for a directory that is no text, and a place that is taken or outside of the client's home; `Io`.
    pub fn begin(wish: &PlacingWish, files: &TempFiles, ports: (&dyn NewIds, &dyn Clock)) -> Result<Self> {
        Self::begin_in(wish, (None, files), ports)
    }

    /// Begins a session that is only checked, in a file of a folder of ours: nothing of the client's home is touched.
    ///
    /// # Errors
    /// As [`Placing::begin`].
    pub fn rehearse(wish: &PlacingWish, scratch: &Path, ports: (&dyn NewIds, &dyn Clock)) -> Result<Self> {
        Self::begin_in(wish, (Some(scratch), &TempFiles::default()), ports)
    }

    /// Begins a session that was placed before, in a file of a folder of ours, to be compared with what its client has.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn again(
        wish: &PlacingWish,
        (session, at): (SessionId, Timestamp),
        (scratch, files): (&Path, &TempFiles),
    ) -> Result<Self> {
        let adapter = Engine::adapter(&wish.format, FormatUse::Write)?;
        let request = request(adapter, wish, (session, at))?;
        let place = adapter.client_place(&request);
        Self::written_to(wish, (adapter, request, place), (PathBuf::new(), scratch, files))
    }

    fn begin_in(
        wish: &PlacingWish,
        (scratch, files): (Option<&Path>, &TempFiles),
        (ids, clock): (&dyn NewIds, &dyn Clock),
    ) -> Result<Self> {
        let adapter = Engine::adapter(&wish.format, FormatUse::Write)?;
        let at = clock.now();
        let session = super::name::new_session(adapter, &wish.config_dir, ids, at)?;
        let request = request(adapter, wish, (session, at))?;
        let place = adapter.client_place(&request);
        let path = destination(&wish.config_dir, &place)?;
        let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
        if scratch.is_none() {
            create_private(&folder)?;
        }
        Self::written_to(wish, (adapter, request, place), (path, scratch.unwrap_or(&folder), files))
    }

    fn written_to(
        wish: &PlacingWish,
        (adapter, request, place): (&dyn Adapter, PlaceRequest, ClientPlace),
        (path, folder, files): (PathBuf, &Path, &TempFiles),
    ) -> Result<Self> {
        let file = files.create(folder).map_err(EngineError::io("create a file in", folder))?;
        let mark = wish.conversion_of.as_ref().map(|of| Mark {
            of: of.clone(),
            format: wish.format.clone(),
            session: request.session.clone(),
            cwd: request.cwd.clone(),
            client_version: wish.client_version.clone(),
            placed_at: request.at,
        });
        let output = Output::new(file, adapter, (&request, mark));
        Ok(Self { output, wish: wish.clone(), session: request.session, path, place })
    }

    /// Ends the session and checks it as the client's loader would.
    ///
    /// # Errors
    /// `Refused` with reasons where the loader would not take it whole; `Io`.
    pub fn check(mut self) -> Result<ReadyFile> {
        let path = self.path;
        self.output.end_line().map_err(EngineError::io("write", &path))?;
        let taken = (self.output.written, self.output.lines());
        let notes = self.output.finish().map_err(EngineError::io("write", &path))?;
        let validation = self.output.placing.verdict();
        refuse_fatal(&validation)?;
        self.output.file.as_file().sync_all().map_err(EngineError::io("sync", &path))?;
        let import_command = self.place.import_command.map(|mut words| {
            words.push(path.to_string_lossy().into_owned());
            words
        });
        let placed = PlacedFile {
            session: self.session,
            path,
            bytes: self.output.written,
            messages: validation.messages_sent,
            resume_command: self.place.resume_command,
            import_command,
            notes,
        };
        let hash = *self.output.hasher.finalize().as_bytes();
        Ok(ReadyFile { file: self.output.file, wish: self.wish, hash, taken, placed })
    }
}

impl Write for Placing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.bytes(bytes)?;
        Ok(bytes.len())
    }

    /// What was written is only complete once it is checked.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ReadyFile {
    /// Returns what would be placed, and removes the file.
    pub fn rehearsed(self) -> PlacedFile {
        self.placed
    }

    /// Makes the file appear under its name, durable and never over another, and has it recorded.
    ///
    /// What it continues is recorded first: wherever this is interrupted, a file that is there is known. Where the second
    /// record fails, the file is removed.
    ///
    /// # Errors
    /// `Io`, and those of `record`.
    pub fn settle<E: From<EngineError>>(
        self,
        machine: &MachineId,
        record: &mut dyn FnMut(&PlacementRecord) -> std::result::Result<(), E>,
    ) -> std::result::Result<PlacedFile, E> {
        let mut told = self.record(machine)?;
        record(&told)?;
        let Self { file, placed, .. } = self;
        let path = &placed.path;
        file.name_new(path).map_err(EngineError::io("create", path))?;
        let recorded = sync_folders(path).and_then(|()| stamp(path)).map_err(E::from).and_then(|written| {
            told.written = Some(written);
            record(&told)
        });
        if let Err(error) = recorded {
            // Ours, new, and unknown to the caller: left there, it would be a session that nobody asked for.
            std::fs::remove_file(path).map_err(EngineError::io("remove", path))?;
            return Err(error);
        }
        Ok(placed)
    }

    /// Returns what is to be remembered of it where capture reads it there, if that file begins with the same bytes.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn found_at(&self, key: &SessionKey, placed_at: Timestamp) -> Result<Option<PlacementRecord>> {
        let path = Path::new(&key.path);
        let file = File::open(path).map_err(EngineError::io("read", path))?;
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(file.take(self.placed.bytes)).map_err(EngineError::io("read", path))?;
        if *hasher.finalize().as_bytes() != self.hash {
            return Ok(None);
        }
        let record = self.record_at(&key.machine, key.path.clone());
        Ok(Some(PlacementRecord { placed_at: Some(placed_at), written: Some(stamp(path)?), ..record }))
    }

    fn record(&self, machine: &MachineId) -> Result<PlacementRecord> {
        Ok(self.record_at(machine, self.read_from()?))
    }

    fn record_at(&self, machine: &MachineId, path: String) -> PlacementRecord {
        let Self { wish, placed, .. } = self;
        PlacementRecord {
            ctx: wish.continues,
            session: placed.session.clone(),
            machine: machine.clone(),
            path,
            format: wish.format.clone(),
            taken_bytes: self.taken.0,
            taken_lines: self.taken.1,
            placed_bytes: placed.bytes,
            messages: placed.messages,
            hash: self.hash,
            written: None,
            taken_in_by_client: placed.import_command.is_some(),
            cwd: wish.cwd.to_string_lossy().into_owned(),
            placed_at: None,
        }
    }

    /// Returns where capture will read the session: its file, or where the client will keep what it takes in.
    fn read_from(&self) -> Result<String> {
        let PlacedFile { path, session, import_command, .. } = &self.placed;
        let config_dir = path.parent().and_then(Path::parent).filter(|_| import_command.is_some());
        if let Some(config_dir) = config_dir {
            return Ok(key_path(&config_dir.join(database::FILE).join(session.as_str())));
        }
        // It is not there yet, and its folder may be a link.
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok(key_path(path)) };
        let folder = folder.canonicalize().map_err(EngineError::io("read", folder))?;
        Ok(key_path(&folder.join(name)))
    }
}

fn request(
    adapter: &dyn Adapter,
    wish: &PlacingWish,
    (session, at): (SessionId, Timestamp),
) -> Result<PlaceRequest> {
    let cwd = wish.cwd.to_str().ok_or_else(|| {
        let reason = format!("{} is not text that a transcript can name", wish.cwd.display());
        refused(Refusal::PlaceFolder, reason)
    })?;
    Ok(PlaceRequest {
        session,
        cwd: cwd.to_owned(),
        origin_cwd: wish.origin_cwd.clone(),
        client_version: wish.client_version.clone().or_else(|| second_version(adapter, &wish.config_dir)),
        at,
        seed: blake3::derive_key("stemmata.place.v1", &wish.continues.to_bytes()),
    })
}

fn stamp(path: &Path) -> Result<WrittenFile> {
    let metadata = std::fs::metadata(path).map_err(EngineError::io("read", path))?;
    let FileStamp { device, inode, modified_ns, .. } = FileStamp::of(&metadata);
    Ok(WrittenFile { device, inode, modified_ns })
}

/// Returns the version of a client that says it by its database alone: which form of a session its import takes.
fn second_version(adapter: &dyn Adapter, config_dir: &Path) -> Option<String> {
    let client = clients::by_id(runtime_of(&adapter.format()))?;
    client.home?.database?;
    database::second_version(config_dir)
}

fn refused(what: Refusal, reason: String) -> EngineError {
    EngineError::Refused { what, reasons: vec![reason] }
}

fn refuse_fatal(validation: &Validation) -> Result<()> {
    if validation.is_accepted() {
        return Ok(());
    }
    let describe = |finding: &Finding| match finding.line {
        Some(line) => format!("line {line}: {}", finding.message),
        None => finding.message.clone(),
    };
    let fatal = validation.findings.iter().filter(|finding| finding.severity == Severity::Fatal);
    Err(EngineError::Refused { what: Refusal::PlaceInvalid, reasons: fatal.map(describe).take(10).collect() })
}

/// Returns where to write; refuses a place that is taken or that leaves the client's home.
fn destination(config_dir: &Path, place: &ClientPlace) -> Result<PathBuf> {
    let is_plain = |part: &String| !part.is_empty() && part != "." && part != ".." && !part.contains('/');
    if !place.relative_path.iter().all(is_plain) {
        return Err(EngineError::Refused {
            what: Refusal::PlaceOutside,
            reasons: vec!["the path would leave the client's home".to_owned()],
        });
    }
    let path = place.relative_path.iter().fold(config_dir.to_owned(), |path, part| path.join(part));
    if path.exists() {
        return Err(EngineError::Refused {
            what: Refusal::PlaceTaken,
            reasons: vec![format!("{} exists already", path.display())],
        });
    }
    Ok(path)
}

/// Makes a new file's name durable, and that of its folder, which may be new too.
fn sync_folders(path: &Path) -> Result<()> {
    for folder in path.ancestors().skip(1).take(2) {
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(EngineError::io("sync", folder))?;
    }
    Ok(())
}
