//! `install` and `uninstall`: a client's settings get our hooks, or lose them.
//!
//! Which bytes change is decided in the engine; here the file is read, kept aside and replaced.

mod completions;
mod made;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use stemmata_api::{Answer, Code, Problem, v1};
use stemmata_engine::{
    HookWish, SETTINGS_BYTES_MAX, SettingsError, TempFile, TempFiles, calls_exports,
    clients::{self, Client, HookKind, Hooks},
    create_private, differs_by_hooks_only, installed_hooks, with_hooks, without_hooks,
};
use stemmata_store::{FileLock, Files as _, SystemFiles, read_bounded};

use self::made::{Made, missing_folders};
use super::Host;
use crate::fault::{Fault, io_failed};

/// Copies within one second at most.
const COPIES_MAX: u32 = 1_000;

/// Asks to change a client's settings.
#[derive(Debug, Clone)]
pub struct InstallRequest {
    /// The runtime.
    pub runtime: String,
    /// The program that hooks are to call, at a path that lasts.
    pub program: Option<PathBuf>,
    /// Whether hooks may tell the agent what was lost.
    pub inject: bool,
    /// Whether our hooks are taken out instead.
    pub removes: bool,
    /// Change nothing.
    pub dry_run: bool,
}

/// What became of a client's settings.
#[derive(Debug, Clone)]
pub struct InstallChange {
    /// The file, and what was done.
    pub installed: v1::Installed,
    /// Its text before; none where there was none.
    pub before: Option<String>,
    /// Its text after; none where it goes.
    pub after: Option<String>,
    /// What the user has to do besides.
    pub trust: Option<&'static str>,
}

impl Host {
    /// Puts our hooks into a client's settings, or takes them out. What stood there is kept beside it.
    ///
    /// # Errors
    /// `unknown_client`, `no_home`, `program_unnamable`, `settings_unreadable`, `io_failed`.
    pub fn install(&self, request: &InstallRequest) -> Answer<InstallChange> {
        self.changed(request).map_err(|fault| fault.0)
    }

    /// Returns the clients that have hooks for us and are here: their program is on the `PATH`, or they have a home.
    pub fn hook_clients(&self) -> Vec<&'static str> {
        let is_here = |client: &&Client| {
            let home = self.machine.clients.config_dir(client);
            home.is_some_and(|folder| folder.is_dir()) || self.has_program(client.program).is_ok()
        };
        clients::hooked().filter(is_here).map(|client| client.id).collect()
    }

    /// Returns the clients whose settings have hooks of ours, or beside whose settings lies what `install` made: hooks may have been
    /// taken out by hand.
    pub fn hooked_clients(&self) -> Vec<&'static str> {
        let has_ours = |client: &&Client| {
            let Ok(path) = self.settings_of(client.id) else { return false };
            let hooks = || installed_hooks(&read_settings(&path).ok()??, client).ok()?;
            hooks().is_some() || Made::read(self, client, &path).is_some()
        };
        clients::hooked().filter(has_ours).map(|client| client.id).collect()
    }

    fn changed(&self, request: &InstallRequest) -> Result<InstallChange, Fault> {
        let (client, hooks, path) = self.settings_at(&request.runtime)?;
        let _alone = self.alone_unless(request.dry_run)?;
        let before = read_text(&path)?;
        let made = Made::read(self, client, &path);
        let after = if request.removes {
            let after = without_hooks(before.as_deref().unwrap_or_default(), client);
            let after = after.map_err(|error| unreadable(&path, &error))?;
            let first = made.as_ref().and_then(Made::first).filter(|first| {
                before.as_deref().is_some_and(|before| differs_by_hooks_only(before, first, client))
            });
            let after = first.or(after);
            // A file that we made, and that nobody put anything into, goes as it came.
            let is_ours = made.as_ref().is_some_and(|made| made.created);
            after.filter(|after| !(is_empty(after) && is_ours))
        } else {
            Some(self.with_ours(request, client, (&path, before.as_deref()))?)
        };
        let changed = before.as_deref().unwrap_or_default() != after.as_deref().unwrap_or_default();
        let written = changed && !request.dry_run;
        let mut kept = None;
        if written {
            // Taken out again, settings that are as they were need no copy of what they were with our hooks.
            let is_as_before =
                request.removes && made.as_ref().is_some_and(|made| made.is_as_before(after.as_deref()));
            let mut making = made.clone().unwrap_or_else(|| Made {
                path: path.clone(),
                created: before.is_none(),
                ..Made::default()
            });
            making.folders.extend(missing_folders(&path));
            if !is_as_before {
                kept = before.as_deref().map(|before| keep_aside(self, &path, before)).transpose()?;
            }
            if !request.removes {
                making.copies.extend(kept.clone());
                making.keep(self, client);
            }
            replace(&self.home.temp_files(), &path, after.as_deref())?;
        }
        let mut removed = Vec::new();
        if request.removes && request.dry_run {
            removed = made.map(|made| made.present()).unwrap_or_default();
        } else if request.removes {
            removed = made.map(|made| made.remove()).unwrap_or_default();
            Made::forget(self, client);
            self.home.calls().forget(client.id);
        }
        let installed = v1::Installed {
            runtime: client.id.to_owned(),
            path: path.to_string_lossy().into_owned(),
            changed,
            written,
            hooks: hooks_between(client, before.as_deref(), after.as_deref()),
            kept: kept.map(|path| path.to_string_lossy().into_owned()),
            removed: removed.iter().map(|path| path.to_string_lossy().into_owned()).collect(),
            brief: (!request.removes).then(|| hooks.brief.to_owned()),
            briefs: !request.removes && request.inject,
        };
        let grows = after.as_ref().map_or(0, String::len) > before.as_ref().map_or(0, String::len);
        Ok(InstallChange { installed, before, after, trust: hooks.trust.filter(|_| grows) })
    }

    /// Holds what this program changes of clients and repositories, so that what was read of it is still so when it is written.
    pub(super) fn alone_unless(&self, dry_run: bool) -> Result<Option<Box<dyn FileLock>>, Fault> {
        Ok(if dry_run { None } else { Some(self.home.alone()?) })
    }

    /// Returns settings with our hooks.
    fn with_ours(
        &self,
        request: &InstallRequest,
        client: &Client,
        (path, before): (&Path, Option<&str>),
    ) -> Result<String, Fault> {
        let program = request.program.as_deref().and_then(Path::to_str).ok_or_else(|| {
            let detail = "where this program is cannot be said in a client's settings";
            Problem::new(Code::ProgramUnnamable, detail)
        })?;
        let provisional = self.home.options().settings.provisional;
        let home = self.machine.clients.config_dir(client);
        let calls_exports = calls_exports(client, home.as_deref());
        let wish = HookWish { program, provisional, inject: request.inject, calls_exports };
        with_hooks(before, client, &wish).map_err(|error| unreadable(path, &error))
    }

    /// Returns where a runtime is told to call us.
    ///
    /// # Errors
    /// `unknown_client`, `no_home`.
    pub fn settings_of(&self, runtime: &str) -> Answer<PathBuf> {
        self.settings_at(runtime).map(|(_, _, path)| path).map_err(|fault| fault.0)
    }

    fn settings_at(&self, name: &str) -> Result<(&'static Client, &'static Hooks, PathBuf), Fault> {
        let known = clients::client_named(name);
        let client = known.as_ref().ok().copied();
        let Some((client, hooks, home)) =
            client.and_then(|client| Some((client, client.hooks?, client.home?)))
        else {
            let names = clients::hooked().map(|client| client.id).collect::<Vec<_>>().join(", ");
            let detail = match known {
                Err(error) if error.nearest.is_some() => error.to_string(),
                _ => {
                    format!("`{name}` has no hooks, and its agents get no brief; clients with hooks: {names}")
                }
            };
            return Err(Problem::new(Code::UnknownClient, detail).into());
        };
        let (folder, variable) = match hooks.config {
            Some(config) => {
                let named = self.machine.settings.iter().find(|(id, _)| *id == client.id);
                let variable = config.variables.last().map_or(home.variable, |(name, _)| *name);
                (named.map(|(_, folder)| folder.clone()), variable)
            }
            None => (self.machine.clients.config_dir(client), home.variable),
        };
        let folder = folder.ok_or_else(|| super::place::no_home("the client's settings", variable))?;
        Ok((client, hooks, folder.join(hooks.file)))
    }
}

/// Reads a client's settings; none where there are none.
///
/// # Errors
/// `io_failed`, also for what is no text or too long.
pub fn read_settings(path: &Path) -> Answer<Option<String>> {
    read_text(path).map_err(|fault| fault.0)
}

fn read_text(path: &Path) -> Result<Option<String>, Fault> {
    let text = read_bounded(path, SETTINGS_BYTES_MAX).and_then(|bytes| {
        let text = bytes.map(String::from_utf8).transpose();
        text.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    });
    text.map_err(|source| io_failed("read", path, &source))
}

fn unreadable(path: &Path, error: &SettingsError) -> Fault {
    let next = match error {
        SettingsError::Foreign => "Move it away first",
        SettingsError::NotJson { .. } | SettingsError::Shape { .. } => {
            "Repair it, or add the hooks by hand as docs/guide/live.md shows"
        }
    };
    let detail = format!("{} was not changed: {error}. {next}", path.display());
    Problem::new(Code::SettingsUnreadable, detail).into()
}

/// Says whether settings hold nothing.
fn is_empty(text: &str) -> bool {
    text.trim().is_empty()
        || serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text)
            .is_ok_and(|map| map.is_empty())
}

/// Returns how many hooks of ours one text has more than the other; a file of our own counts as one.
fn hooks_between(client: &Client, before: Option<&str>, after: Option<&str>) -> u64 {
    let call = format!(" hook {}", client.id);
    let count = |text: Option<&str>| match client.hooks.map(|hooks| hooks.kind) {
        Some(HookKind::Settings(_)) => text.map_or(0, |text| text.matches(&call).count()),
        Some(HookKind::Extension(_)) | None => usize::from(text.is_some()),
    };
    u64::try_from(count(before).abs_diff(count(after))).unwrap_or(u64::MAX)
}

/// Replaces settings, or removes them.
fn replace(files: &TempFiles, path: &Path, after: Option<&str>) -> Result<(), Fault> {
    if let Some(folder) = path.parent() {
        create_private(folder)?;
    }
    // The file that a link leads to is replaced, so that the link stays.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match after {
        Some(after) => write(files, &target, after),
        None => std::fs::remove_file(path).map_err(|source| io_failed("remove", path, &source)),
    }
}

/// Keeps settings as they were beside them, under a name that nothing has: of two changes within a second each keeps its
/// own, so that the first copy is what there was before all of them.
fn keep_aside(host: &Host, path: &Path, text: &str) -> Result<PathBuf, Fault> {
    let seconds = host.now().as_micros() / 1_000_000;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let failed = |source: io::Error| io_failed("create", path, &source);
    for number in 1..COPIES_MAX {
        let more = if number == 1 { String::new() } else { format!("-{number}") };
        let aside = path.with_file_name(format!("{name}.before-stemma-{seconds}{more}"));
        match unnamed(&host.home.temp_files(), path, text).and_then(|whole| whole.name_new(&aside)) {
            Ok(()) => return Ok(aside),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Err(failed(std::io::ErrorKind::AlreadyExists.into()))
}

/// Replaces settings, whole or not at all, with the mode that they have.
fn write(files: &TempFiles, path: &Path, text: &str) -> Result<(), Fault> {
    let failed = |source: io::Error| io_failed("write", path, &source);
    unnamed(files, path, text).and_then(|whole| whole.name_over(path)).map_err(failed)?;
    let folder = path.parent().unwrap_or(path);
    SystemFiles.sync_directory(folder).map_err(|source| io_failed("sync", folder, &source))
}

/// Writes text beside a file, with the mode that the file has; its owner's alone where there is none.
fn unnamed(files: &TempFiles, path: &Path, text: &str) -> std::io::Result<TempFile> {
    let mut whole = files.create(path.parent().unwrap_or(path))?;
    whole.write_all(text.as_bytes())?;
    if let Ok(metadata) = std::fs::metadata(path) {
        whole.as_file().set_permissions(metadata.permissions())?;
    }
    whole.as_file().sync_all()?;
    Ok(whole)
}
