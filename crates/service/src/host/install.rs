//! `install` and `uninstall`: a client's settings get our hooks, or lose them.
//!
//! Which bytes change is decided in the engine; here the file is read, kept aside and replaced.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use stemmata_api::{Answer, Code, Problem, v1};
use stemmata_engine::{
    HOOK_PLACES, HookPlace, HookWish, Marker, RUNTIMES, SETTINGS_BYTES_MAX, SettingsError, create_private,
    with_hooks, without_hooks,
};
use stemmata_store::{Files as _, SystemFiles, read_bounded};

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

    fn changed(&self, request: &InstallRequest) -> Result<InstallChange, Fault> {
        let (place, path) = self.settings_at(&request.runtime)?;
        let before = read_text(&path)?;
        let after = if request.removes {
            let after = without_hooks(before.as_deref().unwrap_or_default(), place);
            let after = after.map_err(|error| unreadable(&path, &error))?;
            // A file that we made, and that nobody put anything into, goes as it came.
            after.filter(|after| !(is_empty(after) && is_ours(self, place, &path)))
        } else {
            let program = request.program.as_deref().and_then(Path::to_str).ok_or_else(|| {
                let detail = "where this program is cannot be said in a client's settings";
                Problem::new(Code::ProgramUnnamable, detail)
            })?;
            let provisional = self.home.options().settings.provisional;
            let wish = HookWish { program, provisional, inject: request.inject };
            Some(with_hooks(before.as_deref(), place, &wish).map_err(|error| unreadable(&path, &error))?)
        };
        let changed = before.as_deref().unwrap_or_default() != after.as_deref().unwrap_or_default();
        let written = changed && !request.dry_run;
        let kept = if written { replace(self, &path, before.as_deref(), after.as_deref())? } else { None };
        if request.removes && !request.dry_run {
            forget(self, place);
            self.home.calls().forget(place.runtime);
        } else if !request.dry_run && before.is_none() {
            keep_in_mind(self, place, &path);
        }
        let installed = v1::Installed {
            runtime: place.runtime.to_owned(),
            path: path.to_string_lossy().into_owned(),
            changed,
            written,
            kept: kept.map(|path| path.to_string_lossy().into_owned()),
            brief: (!request.removes).then(|| place.brief.to_owned()),
            briefs: !request.removes && request.inject,
        };
        let grows = after.as_ref().map_or(0, String::len) > before.as_ref().map_or(0, String::len);
        Ok(InstallChange { installed, before, after, trust: place.trust.filter(|_| grows) })
    }

    /// Returns where a runtime is told to call us.
    ///
    /// # Errors
    /// `unknown_client`, `no_home`.
    pub fn settings_of(&self, runtime: &str) -> Answer<PathBuf> {
        self.settings_at(runtime).map(|(_, path)| path).map_err(|fault| fault.0)
    }

    fn settings_at(&self, runtime: &str) -> Result<(&'static HookPlace, PathBuf), Fault> {
        let place = HOOK_PLACES.iter().find(|place| place.runtime == runtime);
        let home = RUNTIMES.iter().find(|place| place.runtime == runtime);
        let (Some(place), Some(home)) = (place, home) else {
            let known: Vec<&str> = HOOK_PLACES.iter().map(|place| place.runtime).collect();
            let known = known.join(", ");
            let detail = format!(
                "`{runtime}` has no hooks that Stemmata can use, so its agents get no brief; these clients have hooks: {known}"
            );
            return Err(Problem::new(Code::UnknownClient, detail).into());
        };
        let (folder, variable) = match place.config {
            Some(config) => {
                let named = self.machine.settings.iter().find(|(runtime, _)| *runtime == place.runtime);
                let variable = config.variables.last().map_or(home.variable, |(name, _)| *name);
                (named.map(|(_, folder)| folder.clone()), variable)
            }
            None => (self.machine.clients.config_dir(home), home.variable),
        };
        let folder = folder.ok_or_else(|| super::place::no_home("the client's settings", variable))?;
        Ok((place, folder.join(place.file)))
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
    let detail = format!("{} was left as it is: {error}. {next}", path.display());
    Problem::new(Code::SettingsUnreadable, detail).into()
}

/// Says whether settings hold nothing.
fn is_empty(text: &str) -> bool {
    text.trim().is_empty()
        || serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text)
            .is_ok_and(|map| map.is_empty())
}

/// Replaces settings, or removes them, and returns where the old ones are.
fn replace(
    host: &Host,
    path: &Path,
    before: Option<&str>,
    after: Option<&str>,
) -> Result<Option<PathBuf>, Fault> {
    if let Some(folder) = path.parent() {
        create_private(folder)?;
    }
    let kept = before.map(|before| keep_aside(host, path, before)).transpose()?;
    // A link keeps pointing where it points.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match after {
        Some(after) => write(&target, after)?,
        None => std::fs::remove_file(path).map_err(|source| io_failed("remove", path, &source))?,
    }
    Ok(kept)
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
        let whole = unnamed(path, text).map_err(failed)?;
        match whole.persist_noclobber(&aside) {
            Ok(_) => return Ok(aside),
            Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error.error)),
        }
    }
    Err(failed(std::io::ErrorKind::AlreadyExists.into()))
}

/// Replaces settings, whole or not at all, with the mode that they have.
fn write(path: &Path, text: &str) -> Result<(), Fault> {
    let failed = |source: io::Error| io_failed("write", path, &source);
    let persisted = unnamed(path, text).and_then(|whole| whole.persist(path).map_err(|error| error.error));
    persisted.map_err(failed)?;
    let folder = path.parent().unwrap_or(path);
    SystemFiles.sync_directory(folder).map_err(|source| io_failed("sync", folder, &source))
}

/// Writes text beside a file, with the mode that the file has; its owner's alone where there is none.
fn unnamed(path: &Path, text: &str) -> std::io::Result<tempfile::NamedTempFile> {
    let mut whole = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(path))?;
    whole.write_all(text.as_bytes())?;
    if let Ok(metadata) = std::fs::metadata(path) {
        whole.as_file().set_permissions(metadata.permissions())?;
    }
    whole.as_file().sync_all()?;
    Ok(whole)
}

/// Returns where it is kept in mind that there were no settings before we made them: then `uninstall` may remove a file that
/// holds nothing any more.
fn file(host: &Host, place: &HookPlace) -> PathBuf {
    host.home.run_dir().join("made").join(format!("{}.json", place.runtime))
}

/// Keeps in mind that a file was made. Where that fails the file stays when the hooks are taken out, which harms nobody.
fn keep_in_mind(host: &Host, place: &HookPlace, path: &Path) {
    let file = file(host, place);
    let reason = "made by install".to_owned();
    let made = Marker { path: Some(path.to_owned()), reason, at: host.now().as_micros() };
    let folder = file.parent().unwrap_or(&file);
    let _unknown = create_private(folder).and_then(|()| made.write(&file));
}

/// Says whether a file was made by an `install`.
fn is_ours(host: &Host, place: &HookPlace, path: &Path) -> bool {
    let made = Marker::read(&file(host, place));
    made.is_some_and(|made| made.path.as_deref() == Some(path))
}

/// Forgets that: the hooks were taken out: what is left of the file is the user's.
fn forget(host: &Host, place: &HookPlace) {
    let _kept = std::fs::remove_file(file(host, place));
}
