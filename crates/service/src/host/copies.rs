//! `undo` and `forget --copies`: placed copies that nobody went on with, taken out of the store and out of their clients' folders.
//!
//! Only what was placed, as it was placed, goes: a file that changed, or that a client may have open, stays and is named.

use std::fs::File;
use std::path::{Path, PathBuf};

use stemmata_api::v1::{CopiesRemoved, IdleCopy, NativeRequest, SidecarsRequest};
use stemmata_api::{Answer, Code, Control, GiveBack, Problem};
use stemmata_engine::clients::Client;
use stemmata_engine::{CopyFile, Engine, Holding, clients, handed_over, runtime_of};
use stemmata_store::{Files as _, Session, SessionOrigin, SystemFiles};

use super::Host;
use super::own::held;
use crate::fault::{Fault, io_failed};
use crate::wire;

/// Which copies to remove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CopiesWanted {
    /// The one that was placed last.
    Last,
    /// All of them.
    All,
    /// Those at these paths, of which a plan said that they would go.
    Planned(Vec<String>),
}

/// Asks to remove placed copies that nobody went on with.
#[derive(Debug, Clone)]
pub struct RemoveCopiesRequest {
    /// Which.
    pub which: CopiesWanted,
    /// Check everything, and remove nothing.
    pub dry_run: bool,
}

impl Host {
    /// Removes placed copies that nobody went on with. A copy stays where its file is not as it was placed or a client may have
    /// it open; with [`CopiesWanted::Last`] that is an error.
    ///
    /// # Errors
    /// `nothing_to_undo`, `copy_not_removed`, `io_failed`, and those of the store.
    pub fn remove_copies(
        &self,
        service: &dyn GiveBack,
        request: &RemoveCopiesRequest,
    ) -> Answer<CopiesRemoved> {
        self.with(|home| {
            let engine = home.engine()?;
            let copies = engine.idle_copies()?;
            let wanted: Vec<&Session> = match &request.which {
                CopiesWanted::Last => vec![last(engine, &copies)?],
                CopiesWanted::All => copies.iter().collect(),
                CopiesWanted::Planned(paths) => {
                    copies.iter().filter(|copy| paths.contains(&copy.key.path)).collect()
                }
            };
            let folders = self.clients_folders();
            let (mut removed, mut kept) = (Vec::new(), Vec::new());
            for copy in wanted {
                let told = |because| -> Result<IdleCopy, Fault> {
                    Ok(IdleCopy { session: wire::session::named(engine, copy)?, because })
                };
                match self.why_kept(engine, copy)? {
                    Some(why) if request.which == CopiesWanted::Last => {
                        let detail = format!("the copy {} stays: {why}", copy.key.path);
                        return Err(Problem::new(Code::CopyNotRemoved, detail).into());
                    }
                    Some(why) => kept.push(told(Some(why))?),
                    None => {
                        let told = told(None)?;
                        if !request.dry_run {
                            remove_copy(service, engine, (copy, &folders))?;
                        }
                        removed.push(told);
                    }
                }
            }
            Ok(CopiesRemoved { dry_run: request.dry_run, removed, kept })
        })
    }

    /// Says why a copy stays; nothing where it may go.
    fn why_kept(&self, engine: &Engine, copy: &Session) -> Result<Option<String>, Fault> {
        let path = Path::new(&copy.key.path);
        let Some(client) = clients::local(runtime_of(&copy.format)) else {
            return Ok(Some("its client is not known here".to_owned()));
        };
        match engine.copy_file(copy)? {
            CopyFile::Gone => return Ok(None),
            CopyFile::Changed => return Ok(Some("its file is not as it was placed".to_owned())),
            CopyFile::TakenIn => {
                return Ok(Some(format!(
                    "{0} keeps it in its own storage: delete it with {0}",
                    client.shown
                )));
            }
            CopyFile::AsPlaced => {}
        }
        let cwd = copy.cwd.as_deref().map(Path::new);
        let config_dir = self.config_dir(client)?;
        let held = held(client, (copy.session.as_str(), path), (cwd, &config_dir));
        Ok(match self.home.clients(&self.machine.processes).holding(&held) {
            Holding::Free => None,
            Holding::Held(pid) => Some(format!("{} has it open (process {pid})", client.shown)),
            Holding::Unknown => {
                Some(format!("this system does not say whether {} has it open", client.shown))
            }
        })
    }
}

/// Removes the file and what was placed beside it, and then what the store knows of it: an interruption leaves a copy whose
/// file is gone, which the next call removes. Folders that are empty then go too, up to the clients' own `folders`: placing may have
/// made them.
fn remove_copy(
    service: &dyn GiveBack,
    engine: &Engine,
    (copy, folders): (&Session, &[PathBuf]),
) -> Result<(), Fault> {
    let path = Path::new(&copy.key.path);
    let client = clients::local(runtime_of(&copy.format));
    if let Some(client) = client {
        remove_sidecars(service, client, copy)?;
    }
    let file = handed_over(copy).unwrap_or_else(|| path.to_owned());
    match std::fs::remove_file(&file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(io_failed("remove", &file, &error));
        }
        Ok(()) | Err(_) => {}
    }
    let is_clients = |folder: &&Path| folders.iter().any(|own| folder.starts_with(own) && *folder != own);
    let emptied = |folder: &&Path| is_clients(folder) && std::fs::remove_dir(folder).is_ok();
    let left = path.ancestors().skip(1).find(|folder| !emptied(folder));
    if let Some(folder) = left.filter(|folder| folder.is_dir()) {
        SystemFiles.sync_directory(folder).map_err(|source| io_failed("sync", folder, &source))?;
    }
    Ok(engine.leave_copy(copy)?)
}

/// Returns the copy that was placed last, where that was the last thing done.
fn last<'c>(engine: &Engine, copies: &'c [Session]) -> Result<&'c Session, Fault> {
    let placed_at = copies.first().map(|copy| engine.placed_at(copy)).transpose()?.flatten();
    let is_of = |ctx| copies.first().is_some_and(|copy| copy.origin == SessionOrigin::Placed(ctx));
    if let Some((ctx, at)) = engine.last_compaction()?
        && placed_at.is_none_or(|placed| placed <= at)
        && !is_of(ctx)
    {
        let problem =
            Problem::new(Code::NothingToUndo, "the last act was a compaction, which changed no session");
        let copies =
            if copies.is_empty() { "" } else { "; `stemma forget --copies` removes copies placed before" };
        let hint = format!("`stemma uncompact {ctx}` leads back to the context before it{copies}");
        return Err(Problem { hint: Some(hint), ..problem }.into());
    }
    copies.first().ok_or_else(|| {
        Problem::new(Code::NothingToUndo, "no copy was placed that nobody went on with").into()
    })
}

/// Removes the files that were placed beside a copy, where they are as they were placed.
fn remove_sidecars(service: &dyn GiveBack, client: &'static Client, copy: &Session) -> Result<(), Fault> {
    let (Some(kept), Some(ctx)) = (client.sidecars, copy.tip) else { return Ok(()) };
    let transcript = Path::new(&copy.key.path);
    let listed = service.sidecars(&SidecarsRequest { ctx: ctx.to_string() })?;
    for sidecar in listed.sidecars {
        let folder = kept.folders.iter().find(|folder| folder.name == sidecar.folder);
        let names: Vec<&str> = sidecar.name.split('/').collect();
        let place = folder.and_then(|folder| kept.place((transcript, copy.session.as_str()), folder, &names));
        let Some(target) = place.filter(|target| target.is_file()) else { continue };
        let request = NativeRequest::of(sidecar.ctx.to_string());
        let mut placed = blake3::Hasher::new();
        service.native(&request, &mut placed, &Control::none())?;
        let mut found = blake3::Hasher::new();
        let read = File::open(&target).and_then(|mut file| found.update_reader(&mut file).map(|_| ()));
        read.map_err(|source| io_failed("read", &target, &source))?;
        if found.finalize() == placed.finalize() {
            std::fs::remove_file(&target).map_err(|source| io_failed("remove", &target, &source))?;
        }
    }
    for (_, own) in kept.folders(transcript, copy.session.as_str()) {
        remove_empty(&own);
    }
    // The folder of the session's name that holds them.
    if let Some(stem) = transcript.file_stem() {
        remove_empty(&transcript.with_file_name(stem));
    }
    Ok(())
}

/// Removes a folder and those below it, as far as they hold nothing. What holds something stays, which is no error.
fn remove_empty(folder: &Path) {
    let Ok(entries) = folder.read_dir() else { return };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_empty(&entry.path());
        }
    }
    let _is_left = std::fs::remove_dir(folder);
}
