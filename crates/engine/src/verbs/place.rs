//! `resume` and `fork`: writes a context where a client looks, under a new session id.
//!
//! Three steps, of which only the middle one is about files: a context is prepared, written where the client looks (`placing`),
//! and remembered, so that what the client adds continues the chain (`record`).
//!
//! A conversion says in its first record how it was made (`mark`), so that a store that did not place it can know it (`recognized`).

use std::io::Write;
use std::path::PathBuf;

use stemmata_model::{Closure, CommitId, FormatId, Losses, Note, NoteCode, SessionId};
use stemmata_runtimes::adapter::Adapter;
use stemmata_runtimes::registry;
use stemmata_runtimes::translate::runtime_of;
use stemmata_store::{Session, SessionOrigin, StoreError};

use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};
use crate::verbs::at::Head;
use crate::verbs::materialize::Stop;

pub(crate) mod mark;
mod name;
mod output;
pub(crate) mod own;
pub(crate) mod placing;
pub(crate) mod recognized;
pub(crate) mod record;
pub(crate) mod undo;

use mark::ConversionOf;
use placing::{Placing, PlacingWish};

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
    pub losses: Option<Losses>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// A context that a client is about to load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedPlacement {
    /// The commit that it continues: the one that was asked for, the one that ends at an entry of it, or a translation.
    pub continues: CommitId,
    /// Where the context of that commit begins.
    pub stop: Stop,
    /// Its format.
    pub format: FormatId,
    /// Where its session began to work, so that paths can be mapped.
    pub origin_cwd: Option<String>,
    /// The text of the user entry that was cut off.
    pub prompt: Option<String>,
    /// For a translation: the commit, start and entry that it is made from. `None` where the client gets the stored bytes.
    pub conversion_of: Option<ConversionOf>,
    /// What the translation changed and dropped. `None` without a translation; a preview does not translate.
    pub losses: Option<Losses>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

impl Engine {
    /// Materializes a commit, checks the result as the client's loader would, and writes it under a new session
    /// id. Never touches a file that exists. Records the placement, so that what the client appends becomes a
    /// child of the commit.
    ///
    /// # Errors
    /// `Refused` with reasons when the loader would not take it whole; `Io`; store errors.
    pub fn place(&self, ctx: CommitId, options: &PlaceOptions) -> Result<Placed> {
        let (runtime, at) = (options.runtime.as_deref(), options.at_entry.as_deref());
        let prepared = self.prepare_placement(ctx, runtime, options.stop, at)?;
        let wish = PlacingWish {
            format: prepared.format.clone(),
            continues: prepared.continues,
            config_dir: options.config_dir.clone(),
            cwd: options.cwd.clone(),
            origin_cwd: prepared.origin_cwd.clone(),
            client_version: options.client_version.clone(),
            conversion_of: prepared.conversion_of,
        };
        let mut placing =
            Placing::begin(&wish, &self.leftovers.files, (self.ids.as_ref(), self.clock.as_ref()))?;
        let told = self.write_context((prepared.continues, prepared.stop), &mut placing)?;
        let ready = placing.check()?;
        let file = ready.settle(&self.identity.machine, &mut |record| self.record_placement(record))?;
        Ok(Placed {
            ctx: prepared.continues,
            session: file.session,
            path: file.path,
            format: prepared.format,
            bytes: file.bytes,
            messages: file.messages,
            resume_command: file.resume_command,
            import_command: file.import_command,
            cwd: options.cwd.clone(),
            prompt: prepared.prompt,
            losses: prepared.losses,
            notes: [told, file.notes, prepared.notes].concat(),
        })
    }

    /// Prepares a context for a runtime (none: the one that the commit comes from), ended at an entry where one is named. A
    /// translation is stored, so that what the client adds has something to continue. Repeating it gives the same.
    ///
    /// # Errors
    /// `Refused` for a runtime that no session can be written for, and where a translation says nothing; `NotFound` for the
    /// entry; `NoAncestor`; store errors.
    pub fn prepare_placement(
        &self,
        ctx: CommitId,
        runtime: Option<&str>,
        stop: Stop,
        at: Option<&str>,
    ) -> Result<PreparedPlacement> {
        let head = self.head(ctx, at)?;
        let mut prepared = self.prepared((ctx, head), runtime, stop)?;
        // Of the same format too, where others wrote on the way to the stop.
        if let Some(target) = self.other_format(prepared.continues, Some(&prepared.format), stop)? {
            let (snapshot, made) = self.translated_snapshot(prepared.continues, target, stop)?;
            (prepared.continues, prepared.stop, prepared.losses) = (snapshot, Stop::Compaction, made.losses);
            prepared.conversion_of = Some(ConversionOf { ctx, stop, at: at.map(str::to_owned) });
        }
        Ok(prepared)
    }

    /// Says what [`Engine::prepare_placement`] would do, and stores nothing: neither a translation nor a commit that ends within
    /// another one. What it continues is the commit before both.
    ///
    /// # Errors
    /// As `prepare_placement`, but for translations.
    pub fn preview_placement(
        &self,
        ctx: CommitId,
        runtime: Option<&str>,
        stop: Stop,
        at: Option<&str>,
    ) -> Result<PreparedPlacement> {
        let (head, is_within) = self.head_uncut(ctx, at)?;
        let mut prepared = self.prepared((ctx, head), runtime, stop)?;
        if is_within && !self.is_cut_as_lines(prepared.continues, Some(&prepared.format), stop)? {
            let message = "checked to the end of the turn; the session would end at the entry".to_owned();
            prepared.notes.push(Note::new(NoteCode::Degraded, message));
        }
        if self.other_format(prepared.continues, Some(&prepared.format), stop)?.is_some() {
            prepared.conversion_of = Some(ConversionOf { ctx, stop, at: at.map(str::to_owned) });
        }
        Ok(prepared)
    }

    fn prepared(
        &self,
        (ctx, head): (CommitId, Head),
        runtime: Option<&str>,
        stop: Stop,
    ) -> Result<PreparedPlacement> {
        let asked = self.store.commit(ctx)?.ok_or(StoreError::CommitMissing(ctx))?.core.format;
        let commit = self.store.commit(head.ctx)?.ok_or(StoreError::CommitMissing(head.ctx))?;
        if commit.closure == Closure::Forgotten {
            return Err(StoreError::Forgotten(head.ctx).into());
        }
        if let Stop::Ancestor(ancestor) = stop {
            self.check_ancestor(ancestor, head.ctx)?;
        }
        let format = format_for(runtime, &asked, commit.core.format)?;
        // What was covered has no sighting of its own any more; it came with the commits that cover it.
        let origin = if commit.closure == Closure::Covered { ctx } else { head.ctx };
        let mut notes = self.note_of_origin(origin)?;
        notes.extend(self.note_of_stop(head.ctx)?);
        Ok(PreparedPlacement {
            continues: head.ctx,
            stop,
            format,
            origin_cwd: self.origin_cwd(ctx)?,
            prompt: head.prompt,
            conversion_of: None,
            losses: None,
            notes,
        })
    }

    /// Writes a context of one format, and says what the user should know of it.
    fn write_context(&self, (ctx, stop): (CommitId, Stop), out: &mut dyn Write) -> Result<Vec<Note>> {
        let mut context = self.plan_context(ctx, stop)?;
        context.write_uncounted(&mut |piece: &[u8]| out.write_all(piece))?;
        Ok(context.notes())
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
        // One without a transcript says where it works in its row alone.
        let session = session.map_or_else(|| self.session_of_sightings(ctx), |session| Ok(Some(session)));
        Ok(match first {
            Some(first) => Some(first),
            None => session?.and_then(|session| session.cwd),
        })
    }

    /// Returns the session of the transcript that a commit was first read from.
    ///
    /// # Errors
    /// Store errors.
    pub fn session_of(&self, ctx: CommitId) -> Result<Option<Session>> {
        Ok(self.session_of_sightings(ctx)?.filter(|session| !session.key.path.starts_with("api:")))
    }
}

/// Returns the format to place in: the stored one where its client takes it, else the one that the client takes best.
fn format_for(runtime: Option<&str>, asked: &FormatId, stored: FormatId) -> Result<FormatId> {
    let client = runtime.unwrap_or_else(|| runtime_of(asked));
    let is_taken = registry::by_format(&stored).is_some_and(Adapter::is_placeable);
    if is_taken && runtime_of(&stored) == client {
        return Ok(stored);
    }
    if let Some(adapter) = registry::by_runtime(client) {
        return Ok(adapter.format());
    }
    if runtime.is_none() {
        let reason = format!("no client loads `{stored}`: name one with `--in`");
        return Err(EngineError::Refused { what: Refusal::PlaceFormat, reasons: vec![reason] });
    }
    let placeable = registry::adapters().iter().filter(|adapter| adapter.is_placeable());
    let names: std::collections::BTreeSet<String> =
        placeable.map(|adapter| runtime_of(&adapter.format()).to_owned()).collect();
    let known = names.into_iter().collect::<Vec<_>>().join(", ");
    let reason =
        format!("`{client}` is not a client that sessions can be written for; supported clients: {known}");
    Err(EngineError::Refused { what: Refusal::PlaceClient, reasons: vec![reason] })
}
