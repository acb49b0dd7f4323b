//! `backup` and `restore`: a whole store into a folder, and back.
//!
//! What is copied, and in which order, is the store's.

use std::path::Path;

use stemmata_api::v1;
use stemmata_engine::{EngineError, Home, Refusal};
use stemmata_model::Timestamp;
use stemmata_store::SqliteStore;
use stemmata_store::maintain::backup::{BackedUp, Restored};

use crate::args::maintain::{Backup, Restore};
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::size::{self, many};
use crate::output::style::Style;
use crate::wiring::App;
use stemmata_service::wire;

/// Runs `backup`.
pub(crate) fn run(app: &App, args: &Backup) -> Result<Exit, CliError> {
    let to = app.environment.absolute(&args.folder);
    let done = app.engine()?.store().backup(&to)?.ok_or_else(|| {
        CliError::from(EngineError::Refused {
            what: Refusal::Backup,
            reasons: vec!["this store keeps nothing on a disk".to_owned()],
        })
    })?;
    let sound = done.damages.is_empty();
    if app.console.json {
        app.console.json(&wire::maintain::backed_up(&to, &done))?;
    } else {
        app.console.text(&told(app, &to, &done))?;
        let hint = if sound {
            format!("`stemma restore {}` puts it back", app.environment.shown(&to))
        } else {
            "`stemma verify --repair` mends what can be mended; then back up once more".to_owned()
        };
        app.console.say(&format!("{}: {hint}", Style::Hint.paint("hint")));
    }
    Ok(if sound { Exit::Done } else { Exit::Corrupt })
}

fn told(app: &App, to: &Path, done: &BackedUp) -> String {
    let what = if done.is_update { "Brought up to date" } else { "Backed up" };
    let mut text = format!(
        "{} {}: {} in a database of {}",
        Style::Good.paint(what),
        app.environment.shown(to),
        many(done.commits, "commit"),
        size::bytes(done.database_bytes)
    );
    if done.packs > 0 {
        put!(text, ", and {} of {}", many(done.packs, "pack"), size::bytes(done.pack_bytes));
        put!(text, " ({} new)", size::grouped(done.packs_new));
    }
    text.push('\n');
    for damage in &done.damages {
        put!(text, "  {}  {}\n", Style::Error.paint(&damage.object), damage.message);
    }
    text
}

/// Runs `restore`.
pub(crate) fn restore(app: &App, args: &Restore) -> Result<Exit, CliError> {
    let Some(folder) = &args.folder else {
        return super::restore::run(app, args);
    };
    let from = app.environment.absolute(folder);
    let other;
    let home = match &args.into {
        Some(root) => {
            other = app.open_home(&app.environment.absolute(root))?;
            &other
        }
        None => app.home()?,
    };
    let aside = home.dir().join(format!("store.before-restore-{}", compact(app.now())));
    let done = SqliteStore::restore(&from, &home.store_dir(), &aside, &home.store_options())?;
    if app.console.json {
        app.console.json(&v1::Restored {
            path: home.store_dir().to_string_lossy().into_owned(),
            from: from.to_string_lossy().into_owned(),
            commits: done.verified.commits,
            contents: done.verified.contents,
            aside: done.aside.as_ref().map(|path| path.to_string_lossy().into_owned()),
        })?;
        return Ok(Exit::Done);
    }
    app.console.text(&restored(app, home, &done))?;
    if done.aside.is_some() {
        app.console.say(&format!(
            "{}: `stemma import` reads what your clients wrote since the backup; when you miss nothing, delete \
             the folder of the old store",
            Style::Hint.paint("hint")
        ));
    }
    Ok(Exit::Done)
}

fn restored(app: &App, home: &Home, done: &Restored) -> String {
    let mut text = format!(
        "{} {}: {} and {}, all verified\n",
        Style::Good.paint("Restored"),
        app.environment.shown(&home.store_dir()),
        many(done.verified.commits, "commit"),
        many(done.verified.contents, "content"),
    );
    if let Some(aside) = &done.aside {
        put!(text, "  the store that was there is now {}\n", app.environment.shown(aside));
    }
    text
}

/// Returns a time as part of a file name: `20260309T120000Z`.
pub(crate) fn compact(time: Timestamp) -> String {
    let text = time.to_string();
    let seconds = text.split('.').next().unwrap_or(&text).trim_end_matches('Z');
    let plain: String = seconds.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("{plain}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_names_are_short() {
        assert_eq!(compact("2026-03-09T12:00:00.000000Z".parse().unwrap()), "20260309T120000Z");
    }
}
