//! Gives back the files that a client kept beside a transcript: with a session that is placed, and with one that is recovered.
//!
//! Which files these are the service says; where a client looks for them is `clients::Sidecars`. Nothing that exists is touched.

use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use stemmata_api::v1::{self, NativeRequest, SidecarsRequest};
use stemmata_api::{Control, GiveBack};
use stemmata_engine::clients::{Client, SidecarFolder, SidecarKind};
use stemmata_engine::{Engine, PlacedFile, TempFiles, create_private};
use stemmata_model::CommitId;
use stemmata_model::{Note, NoteCode, plural};
use stemmata_store::Session;

use super::Host;
use crate::fault::{Fault, io_failed};

/// Files that were given back.
#[derive(Debug, Default)]
pub(super) struct GivenBack {
    /// How many.
    pub(super) files: u64,
    /// Backups of files that were not given back, because secrets were replaced in them.
    withheld: u64,
    /// Files with placeholders in the place of secrets.
    altered: u64,
    /// The first that could not be written, and why.
    failed: Option<String>,
    failures: u64,
}

impl GivenBack {
    /// Says what was not given back.
    pub(super) fn notes(&self) -> Vec<Note> {
        let withheld = (self.withheld > 0).then(|| {
            let message = format!(
                "backups of {} were not given back: secrets were replaced in them, and the client would write the \
                 placeholders into the user's files",
                plural(self.withheld, "file")
            );
            Note::new(NoteCode::Redacted, message)
        });
        let failed = self.failed.as_ref().map(|why| {
            let message = format!(
                "{} beside the transcript could not be written: {why}",
                plural(self.failures, "file")
            );
            Note::new(NoteCode::Degraded, message)
        });
        let altered = (self.altered > 0).then(|| {
            let message = format!(
                "secrets are replaced in {} that came with the transcript",
                plural(self.altered, "file")
            );
            Note::new(NoteCode::Redacted, message)
        });
        withheld.into_iter().chain(altered).chain(failed).collect()
    }

    /// Counts a file; one that cannot be written keeps no other from being written.
    fn count(&mut self, written: Result<bool, Fault>) {
        match written {
            Ok(is_new) => self.files += u64::from(is_new),
            Err(fault) => {
                self.failures += 1;
                self.failed.get_or_insert(fault.0.detail);
            }
        }
    }
}

impl Host {
    /// Writes the files of a context beside a session that was placed. Long outputs also go back to where they were, if that is
    /// in the same client's directory on this machine and nothing is there: the transcript names them by that path.
    pub(super) fn give_sidecars(
        &self,
        service: &dyn GiveBack,
        (ctx, client): (CommitId, &'static Client),
        (file, config_dir): (&PlacedFile, &Path),
        control: &Control<'_>,
    ) -> Result<GivenBack, Fault> {
        let mut given = GivenBack::default();
        let Some(kept) = client.sidecars else { return Ok(given) };
        let listed = match service.sidecars(&SidecarsRequest { ctx: ctx.to_string() }) {
            Ok(listed) => listed,
            // The session is placed by now.
            Err(problem) => {
                given.count(Err(problem.into()));
                return Ok(given);
            }
        };
        let (files, here) = (self.home.temp_files(), self.home.identity()?.machine.clone());
        for sidecar in listed.sidecars {
            let folder = kept.folders.iter().find(|folder| folder.name == sidecar.folder);
            // A session that is placed has no subagents of its own.
            let Some(folder) = folder.filter(|folder| !folder.is_of_subagents) else { continue };
            if is_withheld(folder, sidecar.altered) {
                given.withheld += 1;
                continue;
            }
            let names: Vec<&str> = sidecar.name.split('/').collect();
            let Some(target) = kept.place((&file.path, file.session.as_str()), folder, &names) else {
                continue;
            };
            let request = NativeRequest::of(sidecar.ctx.to_string());
            let mut write = |out: &mut dyn Write| -> Result<(), Fault> {
                service.native(&request, out, control)?;
                Ok(())
            };
            given.altered += u64::from(sidecar.altered);
            given.count(put(&files, &target, &mut write));
            let own = PathBuf::from(&sidecar.path);
            // A service elsewhere may say anything.
            let is_plain =
                own.components().all(|part| !matches!(part, Component::ParentDir | Component::CurDir));
            let is_own = folder.kind == SidecarKind::Result
                && sidecar.machine == here
                && is_plain
                && own.starts_with(config_dir.join(kept.transcripts))
                && kept.within(&sidecar.path, &sidecar.session_id).is_some();
            if is_own
                && !own.exists()
                && let Err(fault) = put(&files, &own, &mut write)
            {
                given.count(Err(fault));
            }
        }
        Ok(given)
    }
}

/// Writes the files of sessions of this machine that are gone back to where they were. With `dry_run` only says which.
pub(super) fn recover_sidecars(
    engine: &Engine,
    session: &Session,
    dry_run: bool,
) -> Result<(Vec<v1::RecoveredFile>, GivenBack), Fault> {
    let (mut files, mut given) = (Vec::new(), GivenBack::default());
    for sidecar in engine.sidecars_of(session)? {
        let path = Path::new(&sidecar.session.key.path);
        let is_here = sidecar.session.key.machine == engine.identity().machine;
        if !is_here || path.symlink_metadata().is_ok() {
            continue;
        }
        if is_withheld(sidecar.folder, sidecar.is_altered) {
            given.withheld += 1;
            continue;
        }
        if !dry_run {
            let mut write = |out: &mut dyn Write| -> Result<(), Fault> {
                engine.native(sidecar.ctx, out)?;
                Ok(())
            };
            let written = put(engine.temp_files(), path, &mut write);
            let is_written = written.is_ok();
            given.altered += u64::from(sidecar.is_altered);
            given.count(written);
            if !is_written {
                continue;
            }
        }
        files.push(v1::RecoveredFile {
            path: sidecar.session.key.path.clone(),
            what: "written".to_owned(),
            ctx: sidecar.ctx,
            format: sidecar.session.format.clone(),
            bytes: sidecar.bytes,
            messages: 0,
            damage: None,
            kept: None,
            still_redacted: 0,
        });
    }
    Ok((files, given))
}

/// Says whether a file must not be given back: the client writes a backup over the user's own file when it rewinds, and
/// placeholders would take the place of secrets there.
fn is_withheld(folder: &SidecarFolder, is_altered: bool) -> bool {
    is_altered && folder.kind == SidecarKind::Backup
}

/// Writes a file for its owner alone, whole or not at all. Returns whether it did: what exists stays as it is.
fn put(
    files: &TempFiles,
    target: &Path,
    write: &mut dyn FnMut(&mut dyn Write) -> Result<(), Fault>,
) -> Result<bool, Fault> {
    if target.symlink_metadata().is_ok() {
        return Ok(false);
    }
    let folder = target.parent().unwrap_or(target);
    // A link may lead anywhere.
    let is_link = |folder: &Path| folder.symlink_metadata().is_ok_and(|found| found.is_symlink());
    if let Some(link) = folder.ancestors().take(2).find(|folder| is_link(folder)) {
        return Err(io_failed("write below", link, &io::Error::other("it is a link")));
    }
    create_private(folder)?;
    files.write_new(target, |source| io_failed("write", target, &source), write)
}
