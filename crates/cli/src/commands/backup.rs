//! `backup` and `restore`: a whole store into a folder, and back.
//!
//! What is copied, and in which order, is the store's.

use std::sync::Arc;

use stemmata_api::v1::{BackedUp, Restored};

use crate::args::maintain::{Backup, Restore};
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
        app.console.say(&format!("{}: {hint}", Style::Hint.paint("hint")));
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
    let done = match &args.into {
        Some(root) => {
            let home = app.open_home(&app.environment.absolute(root))?;
            app.host_of(Arc::new(home)).restore(&from)?
        }
        None => app.host()?.restore(&from)?,
    };
    let exit = app.answer(&done, || Ok(restored(app, &done)))?;
    if done.aside.is_some() && !app.console.json {
        app.console.say(&format!(
            "{}: `stemma import` reads what your clients wrote since the backup; when you miss nothing, delete \
             the folder of the old store",
            Style::Hint.paint("hint")
        ));
    }
    Ok(exit)
}

fn restored(app: &App, done: &Restored) -> String {
    let mut text = format!(
        "{} {}: {} and {}, all verified\n",
        Style::Good.paint("Restored"),
        app.environment.shown(done.path.as_ref()),
        many(done.commits, "commit"),
        many(done.contents, "content"),
    );
    if let Some(aside) = &done.aside {
        put!(text, "  the store that was there is now {}\n", app.environment.shown(aside.as_ref()));
    }
    text
}
