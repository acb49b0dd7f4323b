//! `resume` and `fork`: a context becomes a session file where a client looks.
//!
//! A service prepares the context, writes its bytes and remembers the session; the file between is this machine's.

use std::io::Write;
use std::path::PathBuf;

use stemmata_api::v1::{MaterializeRequest, Note, Placed, PreparePlacementRequest, PreparedPlacement};
use stemmata_api::{Answer, Code, Control, GiveBack, Problem};
use stemmata_engine::{Placing, PlacingWish, RUNTIMES, runtime_of};
use stemmata_model::FormatId;

use super::Host;
use crate::fault::Fault;
use crate::local;
use crate::wire;

/// Where and how to place a context.
#[derive(Debug, Clone)]
pub struct PlaceRequest {
    /// The commit.
    pub ctx: String,
    /// The runtime that goes on with it; none: the one that it comes from.
    pub runtime: Option<String>,
    /// The directory that the agent will work in, absolute.
    pub cwd: PathBuf,
    /// Where the context begins: `compaction`, `root`, or an ancestor.
    pub stop: String,
    /// End at this entry: an assistant's is the last one, a user's is left out and its text returned.
    pub at: Option<String>,
    /// The client's version; none: the newest that was seen on this machine.
    pub client_version: Option<String>,
    /// Put back what capture replaced. Values of the vault do not travel, so the bytes come from this machine's store.
    pub with_secrets: bool,
}

impl Host {
    /// Places a commit as a new session, which what the client adds to it continues. Never touches a file that exists.
    ///
    /// # Errors
    /// `not_a_directory`, `unknown_client`, `no_home`, `not_loadable`, `place_taken`, `outside_the_home`, and those of
    /// [`prepare_placement`](stemmata_api::GiveBack::prepare_placement) and
    /// [`materialize`](stemmata_api::GiveBack::materialize).
    pub fn place(
        &self,
        service: &dyn GiveBack,
        request: &PlaceRequest,
        control: &Control<'_>,
    ) -> Answer<Placed> {
        self.placed(service, request, control).map_err(|fault| fault.0)
    }

    pub(super) fn placed(
        &self,
        service: &dyn GiveBack,
        request: &PlaceRequest,
        control: &Control<'_>,
    ) -> Result<Placed, Fault> {
        is_directory(&request.cwd)?;
        // Before a translation is stored that nobody can load.
        request.runtime.as_deref().map(|runtime| self.config_dir(runtime)).transpose()?;
        let prepared = service.prepare_placement(&PreparePlacementRequest {
            ctx: request.ctx.clone(),
            runtime: request.runtime.clone(),
            stop: request.stop.clone(),
            at: request.at.clone(),
        })?;
        let format = FormatId::new(prepared.format.as_str())?;
        let runtime = runtime_of(&format);
        let client_version = match &request.client_version {
            Some(version) => Some(version.clone()),
            None => self.home.engine()?.newest_version(runtime)?,
        };
        let wish = PlacingWish {
            continues: prepared.continues.parse()?,
            config_dir: self.config_dir(runtime)?,
            cwd: request.cwd.clone(),
            origin_cwd: prepared.origin_cwd.clone(),
            client_version,
            format,
        };
        let options = self.home.options();
        let mut placing = Placing::begin(&wish, options.ids.as_ref(), options.clock.as_ref())?;
        let told = if request.with_secrets {
            self.with_secrets(&prepared, &mut placing)?
        } else {
            let wish = MaterializeRequest {
                ctx: Some(prepared.continues.clone()),
                stop: prepared.stop.clone(),
                format: None,
                budget_tokens: None,
            };
            service.materialize(&wish, &mut placing, control)?.notes
        };
        let machine = &self.home.identity()?.machine;
        let file = placing.check()?.settle(machine, &mut |record| -> Result<(), Fault> {
            service.record_placement(&wire::place::record(record))?;
            Ok(())
        })?;
        Ok(Placed {
            ctx: prepared.continues,
            session_id: file.session.to_string(),
            path: file.path.to_string_lossy().into_owned(),
            format: prepared.format,
            bytes: file.bytes,
            messages: file.messages,
            resume_command: file.resume_command,
            import_command: file.import_command,
            cwd: request.cwd.to_string_lossy().into_owned(),
            prompt: prepared.prompt,
            losses: prepared.losses,
            notes: [told, wire::notes(&file.notes), prepared.notes].concat(),
        })
    }

    fn with_secrets(&self, prepared: &PreparedPlacement, out: &mut dyn Write) -> Result<Vec<Note>, Fault> {
        let engine = self.home.engine()?;
        let stop = local::stop(engine, &prepared.stop)?;
        let is_translated = prepared.losses.is_some();
        let told = engine.write_with_secrets(prepared.continues.parse()?, stop, is_translated, out)?;
        Ok(wire::notes(&told))
    }

    /// Returns a client's configuration directory.
    fn config_dir(&self, runtime: &str) -> Result<PathBuf, Fault> {
        let place = RUNTIMES.iter().find(|place| place.runtime == runtime).ok_or_else(|| {
            let known: Vec<&str> = RUNTIMES.iter().map(|place| place.runtime).collect();
            let known = known.join(", ");
            Problem::new(
                Code::UnknownClient,
                format!("cannot resume in `{runtime}`; supported clients: {known}"),
            )
        })?;
        let dir = self.machine.clients.config_dir(place);
        dir.ok_or_else(|| no_home("the client's sessions", place.variable))
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
