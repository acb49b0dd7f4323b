//! `resume` and `fork`: writes a context where a client looks, under a new session id.

use std::fs::File;
use std::path::{Path, PathBuf};

use stemmata_model::{CommitId, FormatId, Granularity, Note, SessionId};
use stemmata_runtimes::adapter::{Adapter, ClientPlace, Finding, PlaceRequest, Severity, Validation};
use stemmata_runtimes::registry;
use stemmata_runtimes::translate::{LossReport, runtime_of};
use stemmata_store::{Placement, Session, SessionKey, SessionOrigin, Write};

use crate::capture::cursor::{Cursor, FileStamp, SplitterState, windows};
use crate::capture::database;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{EngineError, FormatUse, Refusal, Result};
use crate::verbs::materialize::{PlannedContext, Stop};

mod name;
mod output;
pub(crate) mod secrets;

use output::Output;
use secrets::PuttingBack;

/// Commits that are asked for the transcript they came from, until one knows: those that we make have none.
const ORIGIN_COMMITS_MAX: usize = 64;

/// Bytes of a commit that is read for the directory that it names first.
const ORIGIN_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Where and how to place a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceOptions {
    /// The runtime that will go on with it; none: the one whose format the commit has.
    pub runtime: Option<String>,
    /// That client's configuration directory.
    pub config_dir: PathBuf,
    /// The directory that the agent will work in, absolute.
    pub cwd: PathBuf,
    /// Where the context begins.
    pub stop: Stop,
    /// End at this entry: an assistant's is the last one, a user's is left out and its text returned.
    pub at_entry: Option<String>,
    /// The version of the client that will load it.
    pub client_version: Option<String>,
    /// Put back what capture replaced, as far as the vault of this machine kept it. Nothing of it is stored.
    pub with_secrets: bool,
}

/// A session that was placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The commit that it continues.
    pub ctx: CommitId,
    /// The new session id.
    pub session: SessionId,
    /// The file that was written.
    pub path: PathBuf,
    /// Its format.
    pub format: FormatId,
    /// Bytes of the file.
    pub bytes: u64,
    /// Messages that the client will send.
    pub messages: u64,
    /// The client's own command line that resumes it, program first.
    pub resume_command: Vec<String>,
    /// The client's own command line that takes the file in first, where it does not find it by itself.
    pub import_command: Option<Vec<String>>,
    /// The directory to run it in.
    pub cwd: PathBuf,
    /// The text of the user entry that was cut off, to edit and send again.
    pub prompt: Option<String>,
    /// What a translation changed and dropped; none where nothing was translated.
    pub losses: Option<LossReport>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

struct Written {
    file: tempfile::NamedTempFile,
    hash: [u8; 32],
    taken_bytes: u64,
    placed_bytes: u64,
    validation: Validation,
    notes: Vec<Note>,
}

impl Engine {
    /// Materializes a commit, checks the result as the client's loader would, and writes it under a new session
    /// id. Never touches a file that exists. Records the placement, so that what the client appends becomes a
    /// child of the commit.
    ///
    /// # Errors
    /// `Refused` with reasons when the loader would not take it whole; `Io`; store errors.
    pub fn place(&self, ctx: CommitId, options: &PlaceOptions) -> Result<Placed> {
        let mut head = self.head(ctx, options.at_entry.as_deref())?;
        let mut commit =
            self.store.commit(head.ctx)?.ok_or(stemmata_store::StoreError::CommitMissing(head.ctx))?;
        let mut losses = None;
        let mut stop = options.stop;
        let mut wish = options.with_secrets;
        let mut notes = self.note_of_origin(head.ctx)?;
        let target = match target_of(options.runtime.as_deref(), &commit.core.format)? {
            Some(target) => Some(target),
            // The same runtime, and on the way to the stop others wrote too.
            None => self.other_format(head.ctx, None, stop)?,
        };
        if let Some(target) = target {
            let (snapshot, made) = self.translated_snapshot(head.ctx, target, stop)?;
            commit =
                self.store.commit(snapshot)?.ok_or(stemmata_store::StoreError::CommitMissing(snapshot))?;
            losses = made.losses;
            if std::mem::take(&mut wish) {
                notes.push(secrets::not_in_translations());
            }
            head.ctx = snapshot;
            stop = Stop::Compaction;
        }
        let context = self.plan_context(head.ctx, stop)?;
        let cwd = options.cwd.to_str().ok_or_else(|| EngineError::Refused {
            what: Refusal::PlaceFolder,
            reasons: vec![format!("{} is no text that a transcript can name", options.cwd.display())],
        })?;
        let request = PlaceRequest {
            session: self.new_session(context.adapter, &options.config_dir)?,
            cwd: cwd.to_owned(),
            origin_cwd: self.origin_cwd(ctx)?,
            client_version: options.client_version.clone(),
            at: self.clock.now(),
            seed: blake3::derive_key("stemmata.place.v1", &head.ctx.to_bytes()),
        };
        if !context.adapter.is_placeable() {
            return Err(EngineError::Refused {
                what: Refusal::PlaceFormat,
                reasons: vec![format!("no client loads `{}`: name one with `--in`", commit.core.format)],
            });
        }
        let place = context.adapter.client_place(&request);
        let path = destination(&options.config_dir, &place)?;
        let putting_back = if wish { self.putting_back(&mut notes)? } else { None };
        let mut written = self.write_placed(context, (&request, putting_back), &path)?;
        written.notes.append(&mut notes);
        refuse_fatal(&written.validation)?;
        let placed = Placed {
            ctx: head.ctx,
            session: request.session.clone(),
            path: path.clone(),
            format: commit.core.format.clone(),
            bytes: written.placed_bytes,
            messages: written.validation.messages_sent,
            resume_command: place.resume_command,
            import_command: place.import_command.map(|mut words| {
                words.push(path.to_string_lossy().into_owned());
                words
            }),
            cwd: options.cwd.clone(),
            prompt: head.prompt,
            losses,
            notes: written.notes.clone(),
        };
        self.persist(written, &placed, &commit)?;
        Ok(placed)
    }

    /// Returns the runtime that wrote a commit.
    ///
    /// # Errors
    /// Store errors.
    pub fn runtime_of_commit(&self, ctx: CommitId) -> Result<String> {
        let commit = self.store.commit(ctx)?.ok_or(stemmata_store::StoreError::CommitMissing(ctx))?;
        Ok(runtime_of(&commit.core.format).to_owned())
    }

    /// Returns where the session of a commit began to work, so that paths can be mapped: where it works last may be
    /// a folder below.
    fn origin_cwd(&self, ctx: CommitId) -> Result<Option<String>> {
        let mut walk = Walk::new(self.store.as_ref(), Some(ctx));
        let mut session: Option<Session> = None;
        let mut oldest = None;
        let mut asked = 0;
        while let Some(commit) = walk.next()? {
            let continued = session.as_ref().map(|session| session.origin);
            if continued == Some(SessionOrigin::Placed(commit.id)) {
                break;
            }
            if session.is_none() && asked < ORIGIN_COMMITS_MAX {
                asked += 1;
                session = self.session_of(commit.id)?;
            }
            oldest = Some(commit);
        }
        let oldest = oldest.filter(|commit| {
            commit.native_bytes <= ORIGIN_BYTES_MAX && commit.closure != stemmata_model::Closure::Forgotten
        });
        let first = oldest.map(|commit| self.entries(commit.id)).transpose()?;
        let first = first.and_then(|entries| entries.into_iter().find_map(|entry| entry.meta.cwd));
        Ok(first.or_else(|| session.and_then(|session| session.cwd)))
    }

    /// Returns the session of the transcript that a commit was first read from.
    pub(crate) fn session_of(&self, ctx: CommitId) -> Result<Option<Session>> {
        let Some(first) = self.store.sightings(ctx, 1)?.into_iter().next() else { return Ok(None) };
        let Some(source) = first.source else { return Ok(None) };
        Ok(self.store.session(&SessionKey { machine: first.machine, path: source.path })?)
    }

    fn write_placed(
        &self,
        mut context: PlannedContext<'_>,
        (request, mut putting_back): (&PlaceRequest, Option<PuttingBack>),
        path: &Path,
    ) -> Result<Written> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        let file = owner_only_temp(folder)?;
        let adapter = context.adapter;
        let mut output = Output::new(file, adapter, request, &self.store.identity()?.secret);
        let (bytes, counts) =
            context.write_edited(putting_back.as_mut(), &mut |piece: &[u8]| output.bytes(piece))?;
        output.end_line().map_err(EngineError::io("write", path))?;
        let taken_bytes = output.written;
        let mut notes = context.finish(bytes, counts).notes;
        notes.extend(output.finish().map_err(EngineError::io("write", path))?);
        notes.extend(putting_back.and_then(PuttingBack::note));
        let validation = output.validator.finish();
        let placed_bytes = output.written;
        let hash = *output.hasher.finalize().as_bytes();
        Ok(Written { file: output.file, hash, taken_bytes, placed_bytes, validation, notes })
    }

    /// Makes the file appear under its name, durable and never over another, and records it.
    ///
    /// What it continues is recorded first: wherever this is interrupted, a file that is there is known.
    fn persist(&self, written: Written, placed: &Placed, commit: &stemmata_model::Commit) -> Result<()> {
        let path = &placed.path;
        written.file.as_file().sync_all().map_err(EngineError::io("sync", path))?;
        let key = self.key_of_placed(placed)?;
        let placement = Placement {
            machine: self.identity.machine.clone(),
            path: key.path.clone(),
            session: placed.session.clone(),
            ctx: placed.ctx,
            taken_bytes: written.taken_bytes,
            placed_bytes: written.placed_bytes,
            keyed_hash: written.hash,
            placed_at: self.clock.now(),
        };
        self.commit_batch(vec![Write::Placement(Box::new(placement.clone()))])?;
        written.file.persist_noclobber(path).map_err(|error| EngineError::io("create", path)(error.error))?;
        let recorded = sync_folders(path).and_then(|()| self.record(key, &placement, placed, commit));
        if recorded.is_err() {
            // Ours, new, and unknown to the caller: left there, it would be a session that nobody asked for.
            std::fs::remove_file(path).map_err(EngineError::io("remove", path))?;
        }
        recorded
    }

    /// Records a file that was placed as a session that was read to its end.
    fn record(
        &self,
        key: SessionKey,
        placement: &Placement,
        placed: &Placed,
        commit: &stemmata_model::Commit,
    ) -> Result<()> {
        let path = &placed.path;
        let session = self.placed_session(key.clone(), placed, commit)?;
        if placed.import_command.is_some() {
            // What the client makes of it is read from its beginning, and goes on from here.
            self.commit_batch(vec![Write::Session(Box::new(session))])?;
            return Ok(());
        }
        let metadata = std::fs::metadata(path).map_err(EngineError::io("read", path))?;
        let cursor = self.placed_cursor(path, placement, FileStamp::of(&metadata), commit)?;
        self.commit_batch(vec![
            Write::Cursor { key, value: cursor.encode(&session) },
            Write::Session(Box::new(session)),
        ])?;
        Ok(())
    }

    /// Returns the key of the session that was placed: its file, or where the client will keep what it takes in.
    fn key_of_placed(&self, placed: &Placed) -> Result<SessionKey> {
        let folder = placed.path.parent().and_then(Path::parent).filter(|_| placed.import_command.is_some());
        match folder {
            Some(config_dir) => {
                Ok(self.session_key(&config_dir.join(database::FILE).join(placed.session.as_str())))
            }
            None => self.key_of_new(&placed.path),
        }
    }

    /// Returns the key that a file will have, which is not there yet.
    fn key_of_new(&self, path: &Path) -> Result<SessionKey> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(self.session_key(path));
        };
        let folder = folder.canonicalize().map_err(EngineError::io("read", folder))?;
        Ok(self.session_key(&folder.join(name)))
    }

    fn placed_cursor(
        &self,
        path: &Path,
        placement: &Placement,
        stamp: FileStamp,
        commit: &stemmata_model::Commit,
    ) -> Result<Cursor> {
        let (head, tail) = windows(path, placement.placed_bytes, &self.store.identity()?.secret)?;
        let lines = count_lines(path, placement.taken_bytes)?;
        let adapter = Self::adapter(&commit.core.format, FormatUse::Read)?;
        let totals = self.totals_of(placement.ctx)?;
        Ok(Cursor {
            format: commit.core.format.to_string(),
            rules: self.rules_of(path)?.into(),
            granularity: Granularity::Turn,
            closed_bytes: placement.taken_bytes,
            closed_line: lines + 1,
            tip: Some(placement.ctx),
            splitter: SplitterState::Whole(adapter.splitter(Granularity::Turn, None).state()),
            seen_bytes: placement.placed_bytes,
            provisional: Vec::new(),
            stamp,
            head,
            tail,
            redacted_bytes: 0,
            totals,
            seen_entries: totals.entries,
            seen_redacted_bytes: 0,
        })
    }

    fn placed_session(
        &self,
        key: SessionKey,
        placed: &Placed,
        commit: &stemmata_model::Commit,
    ) -> Result<Session> {
        let title = self.title_of(placed.ctx)?;
        Ok(Session {
            key,
            session: placed.session.clone(),
            parent_session: None,
            format: placed.format.clone(),
            template: commit.core.template.clone(),
            principal: self.identity.principal(runtime_of(&placed.format))?,
            granularity: Granularity::Turn,
            origin: SessionOrigin::Placed(placed.ctx),
            title,
            cwd: Some(placed.cwd.to_string_lossy().into_owned()),
            git_branch: None,
            version: None,
            started_at: Some(self.clock.now()),
            last_at: Some(self.clock.now()),
            tip: Some(placed.ctx),
            commits: commit.depth + 1,
            messages: placed.messages,
            bytes: commit.cumulative_bytes,
        })
    }
}

/// Returns the adapter to translate into, where another runtime is to go on than the one that wrote a format.
fn target_of(runtime: Option<&str>, format: &FormatId) -> Result<Option<&'static dyn Adapter>> {
    let own = registry::by_format(format).filter(|adapter| adapter.is_placeable());
    // Of formats that its client does not take as they are, there is one that it does.
    let runtime = match runtime {
        None if own.is_none() && registry::by_runtime(runtime_of(format)).is_some() => {
            Some(runtime_of(format))
        }
        other => other.filter(|runtime| *runtime != runtime_of(format) || own.is_none()),
    };
    let Some(runtime) = runtime else { return Ok(None) };
    let target = registry::by_runtime(runtime);
    let known = || {
        let names: std::collections::BTreeSet<String> = registry::adapters()
            .iter()
            .filter(|adapter| adapter.is_placeable())
            .map(|adapter| runtime_of(&adapter.format()).to_owned())
            .collect();
        names.into_iter().collect::<Vec<_>>().join(", ")
    };
    target.map(Some).ok_or_else(|| EngineError::Refused {
        what: Refusal::PlaceClient,
        reasons: vec![format!(
            "`{runtime}` is no runtime that sessions can be written for; these are: {}",
            known()
        )],
    })
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

/// Returns where to write, with folders made; refuses a place that is taken or that leaves the client's home.
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
    if let Some(folder) = path.parent() {
        create_private_dirs(folder)?;
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

fn create_private_dirs(folder: &Path) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(EngineError::io("create", folder))
}

fn owner_only_temp(folder: &Path) -> Result<tempfile::NamedTempFile> {
    // The builder's default mode is 0600, which is what clients use too.
    tempfile::Builder::new()
        .prefix(".stemma-")
        .suffix(".tmp")
        .tempfile_in(folder)
        .map_err(EngineError::io("create a file in", folder))
}

fn count_lines(path: &Path, bytes: u64) -> Result<u64> {
    let mut lines = crate::capture::lines::Lines::open(path, 0, 1, bytes)?;
    while lines.next()?.is_some() {}
    Ok(lines.next_number() - 1)
}
