//! `backup` and `restore`: a whole store into a folder, and back.
//!
//! What is copied, and in which order, is the store's.

use std::path::Path;
use std::sync::Arc;

use stemmata_api::v1::{BackedUp, Restored};

use crate::args::maintain::{Backup, Restore};
use crate::commands::confirm::{Final, confirmed};
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::size::{self, many};
use crate::output::style::Style;
use crate::wiring::App;

/// Runs `backup`.
pub(crate) fn run(app: &App, args: &Backup) -> Result<Exit, CliError> {
    let to = app.environment.absolute(&args.folder);
    app.service()?;
    let done = app.host()?.backup(&to)?;
    let exit = app.answer(&done, || Ok(told(app, &done)))?;
    let sound = done.damages.is_empty();
    if !app.console.json {
        let hint = if sound {
            format!("`stemma restore {}` puts it back", app.environment.shown(&to))
        } else {
            "`stemma verify --repair` repairs what it can; then back up again".to_owned()
        };
        app.console.hint(&hint);
    }
    Ok(if sound { exit } else { Exit::Corrupt })
}

fn told(app: &App, done: &BackedUp) -> String {
    let what = if done.is_update { "Brought up to date" } else { "Backed up" };
    let mut text = format!(
        "{} {}: {} in a database of {}",
        Style::Good.paint(what),
        app.environment.shown(done.path.as_ref()),
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
    let elsewhere = match &args.into {
        Some(root) => Some(app.host_of(Arc::new(app.open_home(&app.environment.absolute(root))?))),
        None => None,
    };
    let host = elsewhere.as_ref().map_or_else(|| app.host(), Ok)?;
    if !args.yes && !args.dry_run && !may_replace(app, &from)? {
        return Ok(Exit::Done);
    }
    let done = host.restore(&from, args.dry_run)?;
    let exit = app.answer(&done, || Ok(restored(app, &done)))?;
    if done.aside.is_some() && !done.dry_run && !app.console.json {
        app.console.hint(
            "`stemma import` reads what your clients wrote since the backup; when you miss nothing, delete \
             the folder of the old store",
        );
    }
    Ok(exit)
}

/// Asks a person whether the backup may take the store's place.
fn may_replace(app: &App, from: &Path) -> Result<bool, CliError> {
    let plan = format!(
        "The backup {} takes the place of the store, once its copy is verified. The old store is renamed.\n",
        app.environment.shown(from)
    );
    let act = Final {
        what: "restoring replaces the store",
        plan: &plan,
        is_nothing: false,
        question: "Restore it? [y/N] ",
        declined: "Nothing was changed.",
    };
    confirmed(app, &act)
}

fn restored(app: &App, done: &Restored) -> String {
    let verb =
        if done.dry_run { Style::Warning.paint("Would restore") } else { Style::Good.paint("Restored") };
    let mut text = format!(
        "{verb} {}: {} and {}, all verified\n",
        app.environment.shown(done.path.as_ref()),
        many(done.commits, "commit"),
        many(done.contents, "content"),
    );
    if let Some(aside) = &done.aside {
        let what = if done.dry_run {
            "the store that is there would become"
        } else {
            "the store that was there is now"
        };
        put!(text, "  {what} {}\n", app.environment.shown(aside.as_ref()));
    }
    text
}
