//! `install` and `uninstall`: a client's settings get our hooks, or lose them.
//!
//! Which bytes change is decided in the engine; here the file is read, shown, kept aside and replaced.

mod made;

use std::io::ErrorKind::InvalidData;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use stemmata_api::v1;
use stemmata_engine::{
    HOOK_PLACES, HookPlace, HookWish, RUNTIMES, SETTINGS_BYTES_MAX, SettingsError, create_private,
    with_hooks, without_hooks,
};
use stemmata_store::{Files as _, SystemFiles, read_bounded};

use crate::args::live::Install;
use crate::errors::{CliError, Exit};
use crate::wiring::App;

/// Copies within one second at most.
const COPIES_MAX: u32 = 1_000;

/// Runs `install`.
pub(crate) fn run(app: &App, args: &Install) -> Result<Exit, CliError> {
    let (place, path) = find(app, &args.runtime)?;
    let program = app.environment.lasting_program();
    let program = program.as_deref().and_then(Path::to_str).ok_or_else(|| {
        CliError::Usage("where this program is cannot be said in a client's settings".to_owned())
    })?;
    let before = read(&path)?;
    let wish = HookWish { program, provisional: app.settings.provisional, inject: args.inject };
    let after = with_hooks(before.as_deref(), place, &wish).map_err(|error| unreadable(&path, &error))?;
    let exit = change(app, args, place, (&path, before.as_deref(), Some(&after)))?;
    if !args.dry_run && before.is_none() {
        made::keep(app, place, &path);
    }
    Ok(exit)
}

/// Runs `uninstall`.
pub(crate) fn remove(app: &App, args: &Install) -> Result<Exit, CliError> {
    let (place, path) = find(app, &args.runtime)?;
    let before = read(&path)?;
    let text = before.clone().unwrap_or_default();
    let after = without_hooks(&text, place).map_err(|error| unreadable(&path, &error))?;
    // A file that we made, and that nobody put anything into, goes as it came.
    let after = after.filter(|after| !(is_empty(after) && made::is_ours(app, place, &path)));
    let exit = change(app, args, place, (&path, before.as_deref(), after.as_deref()))?;
    if !args.dry_run {
        made::forget(app, place);
        app.home()?.calls().forget(place.runtime);
    }
    Ok(exit)
}

/// Says whether settings hold nothing.
fn is_empty(text: &str) -> bool {
    text.trim().is_empty()
        || serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text)
            .is_ok_and(|map| map.is_empty())
}

/// Finds where a runtime is told to call us.
pub(super) fn find(app: &App, runtime: &str) -> Result<(&'static HookPlace, PathBuf), CliError> {
    let place = HOOK_PLACES.iter().find(|place| place.runtime == runtime);
    let home = RUNTIMES.iter().find(|place| place.runtime == runtime);
    let (Some(place), Some(home)) = (place, home) else {
        let known: Vec<&str> = HOOK_PLACES.iter().map(|place| place.runtime).collect();
        let known = known.join(", ");
        return Err(CliError::Usage(format!(
            "`{runtime}` is no runtime that has hooks for us; these have: {known}"
        )));
    };
    let own = |name: &str| app.environment.path(name).map(|path| app.environment.absolute(&path));
    let (folder, variable) = match place.config {
        Some(config) => {
            let variable = config.variables.last().map_or(home.variable, |(name, _)| *name);
            (config.directory(app.environment.home(), own), variable)
        }
        None => (app.homes().config_dir(home), home.variable),
    };
    let folder = folder.ok_or(CliError::NoHome { what: "the client's settings", variable })?;
    Ok((place, folder.join(place.file)))
}

/// Reads settings; none where there are none.
pub(super) fn read(path: &Path) -> Result<Option<String>, CliError> {
    let text = read_bounded(path, SETTINGS_BYTES_MAX).and_then(|bytes| {
        bytes.map(String::from_utf8).transpose().map_err(|error| std::io::Error::new(InvalidData, error))
    });
    text.map_err(|source| CliError::io("read", path, source))
}

fn unreadable(path: &Path, error: &SettingsError) -> CliError {
    let next = match error {
        SettingsError::Foreign => "Move it away first",
        SettingsError::NotJson { .. } | SettingsError::Shape { .. } => {
            "Mend it, or add the hooks by hand as docs/guide/live.md shows"
        }
    };
    CliError::Usage(format!("{} was left as it is: {error}. {next}", path.display()))
}

/// Shows what changes, and changes it.
fn change(
    app: &App,
    args: &Install,
    place: &HookPlace,
    (path, before, after): (&Path, Option<&str>, Option<&str>),
) -> Result<Exit, CliError> {
    let is_changed = before.unwrap_or_default() != after.unwrap_or_default();
    let mut kept = None;
    if is_changed && !args.dry_run {
        if let Some(folder) = path.parent() {
            create_private(folder)?;
        }
        if let Some(before) = before {
            kept = Some(keep_aside(app, path, before)?);
        }
        // A link keeps pointing where it points.
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        match after {
            Some(after) => write(&target, after)?,
            None => std::fs::remove_file(path).map_err(|source| CliError::io("remove", path, source))?,
        }
    }
    if app.console.json {
        app.console.json(&v1::Installed {
            runtime: place.runtime.to_owned(),
            path: path.to_string_lossy().into_owned(),
            changed: is_changed,
            written: is_changed && !args.dry_run,
            kept: kept.map(|path| path.to_string_lossy().into_owned()),
        })?;
        return Ok(Exit::Done);
    }
    let shown = app.environment.shown(path);
    if !is_changed {
        app.console.say(&format!("{shown}: nothing to change"));
        return Ok(Exit::Done);
    }
    app.console.text(&diff(&shown, before.unwrap_or_default(), after.unwrap_or_default()))?;
    if args.dry_run {
        app.console.say("Nothing was written (`--dry-run`)");
    } else {
        let copy = kept.map(|kept| format!("; the old one is {}", app.environment.shown(&kept)));
        let what = if after.is_some() { "written" } else { "removed" };
        app.console.say(&format!("{shown} {what}{}", copy.unwrap_or_default()));
        if let Some(trust) = place.trust.filter(|_| after.map_or(0, str::len) > before.map_or(0, str::len)) {
            app.console.say(trust);
        }
    }
    Ok(Exit::Done)
}

/// Keeps settings as they were beside them, under a name that nothing has: of two changes within a second each keeps its
/// own, so that the first copy is what there was before all of them.
fn keep_aside(app: &App, path: &Path, text: &str) -> Result<PathBuf, CliError> {
    let seconds = app.now().as_micros() / 1_000_000;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let failed = |source| CliError::io("create", path, source);
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
fn write(path: &Path, text: &str) -> Result<(), CliError> {
    let failed = |source| CliError::io("write", path, source);
    let persisted = unnamed(path, text).and_then(|whole| whole.persist(path).map_err(|error| error.error));
    persisted.map_err(failed)?;
    let folder = path.parent().unwrap_or(path);
    SystemFiles.sync_directory(folder).map_err(|source| CliError::io("sync", folder, source))
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

/// Returns the lines that differ: what is common before and after them is left out.
pub(super) fn diff(name: &str, before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| {
        pairs.take_while(|(left, right)| left == right).count()
    };
    let head = same(&mut old.iter().zip(&new));
    let tail = same(&mut old.iter().skip(head).rev().zip(new.iter().skip(head).rev()));
    let mut text = format!("--- {name}\n+++ {name}\n@@ line {} @@\n", head + 1);
    let changed = |lines: &[&str], sign: char| -> String {
        let end = lines.len().saturating_sub(tail);
        lines.get(head..end).unwrap_or_default().iter().map(|line| format!("{sign}{line}\n")).collect()
    };
    text.push_str(&changed(&old, '-'));
    text.push_str(&changed(&new, '+'));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_shows_what_changes_and_no_more() {
        assert_eq!(diff("f", "a\nb\nc\n", "a\nB\nb2\nc\n"), "--- f\n+++ f\n@@ line 2 @@\n-b\n+B\n+b2\n");
        assert_eq!(diff("f", "", "a\n"), "--- f\n+++ f\n@@ line 1 @@\n+a\n");
    }
}
