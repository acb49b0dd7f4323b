//! `resume` and `fork`: a context becomes a session file where a client looks.
//!
//! A service prepares the context, writes its bytes and remembers the session; the file between is this machine's.

use std::path::{Path, PathBuf};

use stemmata_api::v1::{MaterializeRequest, Note, Placed, PreparePlacementRequest, PreparedPlacement};
use stemmata_api::{Answer, Code, Control, GiveBack, Problem};
use stemmata_engine::{
    BetterState, PlacedFile, Placing, PlacingWish,
    clients::{self, Client},
    runtime_of, transcript_of,
};
use stemmata_model::{CommitId, FormatId, NoteCode};

use super::Host;
use super::hooks::is_program;
use super::recover::better_state;
use super::sidecars::GivenBack;
use crate::fault::Fault;
use crate::wire;

/// Where and how to place a context.
#[derive(Debug, Clone)]
pub struct PlaceRequest {
    /// The commit.
    pub ctx: CommitId,
    /// The session that was named, where one was: of several that hold the commit it is the one to resume.
    pub session: Option<String>,
    /// The client that continues it, by any of its names; none: the one that it comes from.
    pub runtime: Option<String>,
    /// The directory that the agent will work in, absolute; none: the session's own.
    pub cwd: Option<PathBuf>,
    /// Where the context begins: `compaction`, `root`, or an ancestor.
    pub stop: String,
    /// End at this entry: an assistant's is the last one, a user's is left out and its text returned.
    pub at: Option<String>,
    /// The client's version; none: the newest that was seen on this machine.
    pub client_version: Option<String>,
    /// Resume the client's own session in place of a copy, where it is unchanged and no client has it open.
    pub reuses: bool,
    /// Whether the client is about to be started here: its program has to be there. A dry run notes that it is not.
    pub starts: bool,
    /// Check everything, and write nothing.
    pub dry_run: bool,
}

/// What is placed, once everything that can be refused has been.
pub(super) struct WhatToPlace<'a> {
    pub(super) request: &'a PlaceRequest,
    pub(super) runtime: Option<&'static str>,
    pub(super) preview: PreparedPlacement,
    /// The client that will load it.
    pub(super) client: &'static Client,
    pub(super) config_dir: PathBuf,
    pub(super) cwd: PathBuf,
}

impl Host {
    /// Places a commit as a new session, which what the client adds to it continues; or returns the client's own session where
    /// that is unchanged and the request allows it. Never touches a file that exists.
    ///
    /// # Errors
    /// `not_a_directory`, `directory_gone`, `unknown_client`, `client_missing`, `no_home`, `not_loadable`, `place_taken`,
    /// `outside_the_home`, and those of [`prepare_placement`](stemmata_api::GiveBack::prepare_placement) and
    /// [`materialize`](stemmata_api::GiveBack::materialize).
    pub fn place(
        &self,
        service: &dyn GiveBack,
        request: &PlaceRequest,
        control: &Control<'_>,
    ) -> Answer<Placed> {
        self.placed(service, request, control).map_err(|fault| fault.0)
    }

    /// Returns the directory where the session of a commit began to work, whether it is there or not.
    ///
    /// # Errors
    /// Those of [`prepare_placement`](stemmata_api::GiveBack::prepare_placement).
    pub fn own_directory(&self, service: &dyn GiveBack, request: &PlaceRequest) -> Answer<Option<PathBuf>> {
        let preview = || -> Result<Option<PathBuf>, Fault> {
            let runtime = request.runtime.as_deref().map(named).transpose()?;
            Ok(service.prepare_placement(&prepare(request, runtime, true))?.origin_cwd.map(PathBuf::from))
        };
        preview().map_err(|fault| fault.0)
    }

    pub(super) fn placed(
        &self,
        service: &dyn GiveBack,
        request: &PlaceRequest,
        control: &Control<'_>,
    ) -> Result<Placed, Fault> {
        let better = self.better_than_named(request)?;
        let mended =
            better.as_ref().map(|better| PlaceRequest { ctx: better.ctx, reuses: false, ..request.clone() });
        let request = mended.as_ref().unwrap_or(request);
        let what = self.what_to_place(service, request)?;
        let mut copied_because = better.map(|better| format!("its transcript is damaged, {}", better.why));
        let absent = self.absent_program(what.client.program, (request.starts, request.dry_run))?;
        let own = if request.reuses { Some(self.own(&what)?) } else { None };
        let mut placed = match own {
            Some(Ok(own)) => own,
            refused => {
                copied_because = refused.and_then(Result::err).or(copied_because);
                let placed = if request.dry_run {
                    self.rehearsed(service, &what, control)
                } else {
                    self.written(service, &what, control)
                };
                Placed { copied_because, ..placed? }
            }
        };
        placed.notes.extend(absent);
        Ok(placed)
    }

    /// Returns the better state of the session whose newest commit is to be placed, where its transcript lost lines: what was said
    /// in them is part of it.
    fn better_than_named(&self, request: &PlaceRequest) -> Result<Option<BetterState>, Fault> {
        let named = request.session.as_deref().filter(|_| request.at.is_none());
        let Some(id) = named else { return Ok(None) };
        let engine = self.home.engine()?;
        let Some(session) = engine.find_session(id)? else { return Ok(None) };
        if session.tip != Some(request.ctx) {
            return Ok(None);
        }
        let judged_by = |format: &FormatId| self.judged_by(format, request.client_version.as_deref());
        Ok(better_state(&self.home, transcript_of(&session), (false, &judged_by)))
    }

    /// Finds out everything that placing may be refused for, before a translation is stored or a file is made.
    fn what_to_place<'a>(
        &self,
        service: &dyn GiveBack,
        request: &'a PlaceRequest,
    ) -> Result<WhatToPlace<'a>, Fault> {
        if let Some(cwd) = &request.cwd {
            is_directory(cwd)?;
        }
        let runtime = request.runtime.as_deref().map(named).transpose()?;
        let preview = service.prepare_placement(&prepare(request, runtime, true))?;
        let client = place_of(runtime_of(&preview.format))?;
        let config_dir = self.config_dir(client)?;
        let cwd = match (&request.cwd, &preview.origin_cwd) {
            (Some(cwd), _) => cwd.clone(),
            (None, Some(own)) if PathBuf::from(own).is_dir() => PathBuf::from(own),
            (None, Some(own)) => {
                let detail = format!("the session worked in {own}, which does not exist on this machine");
                return Err(Problem::new(Code::DirectoryGone, detail).with("path", own).into());
            }
            (None, None) => {
                let detail = "the session does not say which directory it worked in";
                return Err(Problem::new(Code::DirectoryGone, detail).into());
            }
        };
        Ok(WhatToPlace { request, runtime, preview, client, config_dir, cwd })
    }

    /// Returns a note for a dry run where the program is not there that would be started; otherwise refuses to start it.
    pub(super) fn absent_program(
        &self,
        program: &str,
        (starts, dry_run): (bool, bool),
    ) -> Result<Option<Note>, Fault> {
        if !starts {
            return Ok(None);
        }
        match self.has_program(program) {
            Err(_) if dry_run => {
                let message =
                    format!("`{program}` was not found on the `PATH`: install it before you run this");
                Ok(Some(Note::new(NoteCode::Degraded, message)))
            }
            found => found.map(|()| None),
        }
    }

    /// Refuses to start a program that is not there.
    pub(super) fn has_program(&self, program: &str) -> Result<(), Fault> {
        let is_there = if program.contains('/') {
            is_program(Path::new(program))
        } else {
            self.machine.folders.iter().any(|folder| is_program(&folder.join(program)))
        };
        if is_there {
            return Ok(());
        }
        let detail = format!("`{program}` is not on the `PATH`; nothing was written");
        Err(Problem::new(Code::ClientMissing, detail).with("program", program).into())
    }

    /// Writes the session.
    fn written(
        &self,
        service: &dyn GiveBack,
        what: &WhatToPlace<'_>,
        control: &Control<'_>,
    ) -> Result<Placed, Fault> {
        let prepared = service.prepare_placement(&prepare(what.request, what.runtime, false))?;
        let wish = self.wish(what, &prepared)?;
        let options = self.home.options();
        let mut placing =
            Placing::begin(&wish, &self.home.temp_files(), (options.ids.as_ref(), options.clock.as_ref()))?;
        let notes = service.materialize(&context(&prepared, None), &mut placing, control)?.notes;
        let machine = &self.home.identity()?.machine;
        let file = placing.check()?.settle(machine, &mut |record| -> Result<(), Fault> {
            service.record_placement(&wire::place::record(record))?;
            Ok(())
        })?;
        // Only the client that wrote these files knows them.
        let is_own = runtime_of(&wish.format) == what.client.id && prepared.losses.is_none();
        let files = (&file, what.config_dir.as_path());
        let given = if is_own {
            self.give_sidecars(service, (what.request.ctx, what.client), files, control)?
        } else {
            GivenBack::default()
        };
        let told = told(what, prepared, file, [notes, given.notes()].concat());
        Ok(Placed { sidecars: given.files, ..told })
    }

    /// Writes the session into a file of ours that goes at once, so that everything is checked and nothing changed.
    fn rehearsed(
        &self,
        service: &dyn GiveBack,
        what: &WhatToPlace<'_>,
        control: &Control<'_>,
    ) -> Result<Placed, Fault> {
        let mut prepared = what.preview.clone();
        let wish = self.wish(what, &prepared)?;
        let options = self.home.options();
        let ports = (options.ids.as_ref(), options.clock.as_ref());
        let mut placing = Placing::rehearse(&wish, &self.home.cache_dir(), ports)?;
        // A fork within a commit has no commit of its own yet.
        let request = MaterializeRequest {
            ctx: Some(what.request.ctx.to_string()),
            at: what.request.at.clone(),
            ..context(&prepared, Some(prepared.format.to_string()))
        };
        let made = service.materialize(&request, &mut placing, control)?;
        prepared.losses = made.losses;
        let file = placing.check()?.rehearsed();
        Ok(Placed { dry_run: true, ..told(what, prepared, file, made.notes) })
    }

    fn wish(&self, what: &WhatToPlace<'_>, prepared: &PreparedPlacement) -> Result<PlacingWish, Fault> {
        Ok(PlacingWish {
            continues: prepared.continues,
            config_dir: what.config_dir.clone(),
            cwd: what.cwd.clone(),
            origin_cwd: prepared.origin_cwd.clone(),
            // As `doctor` judges, so that both say the same of a session.
            client_version: self.judged_by(&prepared.format, what.request.client_version.as_deref()),
            format: prepared.format.clone(),
            conversion_of: prepared.conversion_of.as_ref().map(wire::place::conversion_of).transpose()?,
        })
    }

    /// Returns a client's configuration directory.
    pub(super) fn config_dir(&self, client: &Client) -> Result<PathBuf, Fault> {
        let dir = self.machine.clients.config_dir(client);
        dir.ok_or_else(|| no_home("the client's sessions", client.home.map_or("HOME", |home| home.variable)))
    }
}

/// Returns the client that a name means.
pub(super) fn named(name: &str) -> Result<&'static str, Fault> {
    let client = clients::client_named(name).map(|client| client.id);
    client.map_err(|error| Problem::new(Code::UnknownClient, error.to_string()).into())
}

pub(super) fn place_of(runtime: &str) -> Result<&'static Client, Fault> {
    clients::local(runtime).ok_or_else(|| {
        let known: Vec<&str> = clients::at_home().map(|client| client.id).collect();
        let detail = format!("cannot resume in `{runtime}`; supported clients: {}", known.join(", "));
        Problem::new(Code::UnknownClient, detail).into()
    })
}

fn prepare(request: &PlaceRequest, runtime: Option<&str>, dry_run: bool) -> PreparePlacementRequest {
    PreparePlacementRequest {
        ctx: request.ctx.to_string(),
        runtime: runtime.map(str::to_owned),
        stop: request.stop.clone(),
        at: request.at.clone(),
        dry_run,
    }
}

fn context(prepared: &PreparedPlacement, format: Option<String>) -> MaterializeRequest {
    let (ctx, stop) = (Some(prepared.continues.to_string()), prepared.stop.clone());
    MaterializeRequest { ctx, at: None, stop, format, budget_tokens: None }
}

fn told(what: &WhatToPlace<'_>, prepared: PreparedPlacement, file: PlacedFile, notes: Vec<Note>) -> Placed {
    Placed {
        ctx: prepared.continues,
        session_id: file.session.clone(),
        path: file.path.to_string_lossy().into_owned(),
        format: prepared.format,
        bytes: file.bytes,
        messages: file.messages,
        resume_command: file.resume_command,
        import_command: file.import_command,
        cwd: what.cwd.to_string_lossy().into_owned(),
        prompt: prepared.prompt,
        losses: prepared.losses,
        own_session: false,
        copied_because: None,
        dry_run: false,
        sidecars: 0,
        notes: [notes, file.notes.clone(), prepared.notes].concat(),
    }
}

/// Says that nobody knows where something of the user's is.
pub(super) fn no_home(what: &str, variable: &str) -> Fault {
    let detail = format!("there is no place for {what}: neither `{variable}` nor `HOME` is set");
    Problem::new(Code::NoHome, detail).with("variable", variable).into()
}

/// Refuses what is no directory to work in.
pub(super) fn is_directory(dir: &std::path::Path) -> Result<(), Fault> {
    if dir.is_dir() {
        return Ok(());
    }
    let detail = format!("{} is not a directory to work in", dir.display());
    Err(Problem::new(Code::NotADirectory, detail).with("path", dir.display()).into())
}
