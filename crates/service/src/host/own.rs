//! The client's own session, resumed as it is in place of a copy.

use std::path::{Path, PathBuf};

use stemmata_api::Answer;
use stemmata_api::v1::Placed;
use stemmata_engine::{HeldSession, Holding, RuntimeHome, clients::Client, runtime_of};

use super::Host;
use super::place::{WhatToPlace, place_of};
use crate::fault::Fault;

impl Host {
    /// Records that this process is about to become the client of its own session, unless that was opened since it was placed:
    /// then the reason is returned. Of several that are about to, only one is not given a reason.
    ///
    /// # Errors
    /// `unknown_client`, `no_home`, `io_failed`.
    pub fn claim(&self, placed: &Placed) -> Answer<Option<String>> {
        self.claimed(placed).map_err(|fault| fault.0)
    }

    fn claimed(&self, placed: &Placed) -> Result<Option<String>, Fault> {
        let client = place_of(runtime_of(&placed.format))?;
        let config_dir = self.config_dir(client)?;
        let (path, cwd) = (Path::new(&placed.path), Path::new(&placed.cwd));
        let held = held(client, (placed.session_id.as_str(), path), (Some(cwd), &config_dir));
        let clients = self.home.clients(&self.machine.processes);
        let holding = match clients.process(std::process::id()) {
            Some(own) => clients.claim(&own, &held)?,
            None => Holding::Unknown,
        };
        Ok(why_not(holding, client))
    }

    /// Returns the client's own session where it is what was asked for, unchanged and not open; else the reason why it is not.
    pub(super) fn own(&self, what: &WhatToPlace<'_>) -> Result<Result<Placed, String>, Fault> {
        let request = what.request;
        let engine = self.home.engine()?;
        let ctx = request.ctx;
        if request.at.is_some() || request.stop != "compaction" {
            return Ok(Err("only a part of the session is wanted".to_owned()));
        }
        let client = what.client;
        if engine.runtime_of_commit(ctx)? != client.id {
            return Ok(Err("another client continues it".to_owned()));
        }
        let is_its_own = |dir: &Path| real(dir) == real(&what.cwd);
        let elsewhere = || Ok(Err("it continues in another directory".to_owned()));
        if !what.preview.origin_cwd.as_deref().is_some_and(|own| is_its_own(Path::new(own))) {
            return elsewhere();
        }
        let Some(folder) = client.home.and_then(|home| home.transcripts.first()) else {
            return Ok(Err(String::new()));
        };
        let home = RuntimeHome {
            runtime: client.id,
            config_dir: what.config_dir.clone(),
            transcripts: what.config_dir.join(folder),
        };
        let installed = || self.machine.installed_version(client.id);
        let version = request.client_version.clone().or_else(installed);
        let own = match engine.own_session(ctx, request.session.as_deref(), (&home, version.as_deref()))? {
            Ok(own) => own,
            Err(reason) => return Ok(Err(reason.to_string())),
        };
        if own.placed_for.as_deref().is_some_and(|placed| !is_its_own(placed)) {
            return elsewhere();
        }
        let held = held(client, (own.session.as_str(), &own.path), (Some(&what.cwd), &what.config_dir));
        let holding = self.home.clients(&self.machine.processes).holding(&held);
        if let Some(reason) = why_not(holding, client) {
            return Ok(Err(reason));
        }
        Ok(Ok(Placed {
            ctx,
            session_id: own.session,
            path: own.path.to_string_lossy().into_owned(),
            format: what.preview.format.clone(),
            bytes: own.bytes,
            messages: own.messages,
            resume_command: own.resume_command,
            import_command: None,
            cwd: what.cwd.to_string_lossy().into_owned(),
            prompt: None,
            losses: None,
            own_session: true,
            copied_because: None,
            dry_run: request.dry_run,
            sidecars: 0,
            notes: what.preview.notes.clone(),
        }))
    }
}

/// Returns a session as the processes of the machine are asked about it.
pub(super) fn held<'a>(
    client: &'static Client,
    (id, path): (&'a str, &'a Path),
    (cwd, config_dir): (Option<&'a Path>, &'a Path),
) -> HeldSession<'a> {
    let open_sign = client.open_sign.map(|sign| (sign, config_dir));
    HeldSession { id, path, program: client.program, cwd, open_sign }
}

/// Says why a session is not resumed as it is; none where no client has it open.
fn why_not(holding: Holding, client: &Client) -> Option<String> {
    match holding {
        Holding::Free => None,
        Holding::Held(pid) => Some(format!("{} has it open (process {pid})", client.shown)),
        // Two clients that write one transcript destroy it; a copy is always safe.
        Holding::Unknown => Some(format!("this system does not say whether {} has it open", client.shown)),
    }
}

/// Returns a directory without links, where it is there.
fn real(dir: &Path) -> PathBuf {
    dir.canonicalize().unwrap_or_else(|_| dir.to_owned())
}
