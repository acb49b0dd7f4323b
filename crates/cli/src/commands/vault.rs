//! `vault`: how much is kept of what was replaced, and its end. Never a value.

use stemmata_api::v1;
use stemmata_engine::{VaultPurge, VaultPurged, VaultStatus};

use crate::args::secrets;
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::size::{self, many};
use crate::output::style::Style;
use crate::output::time;
use crate::wiring::App;
use stemmata_service::wire;

/// Runs the command.
pub(crate) fn run(app: &App, args: &secrets::Vault) -> Result<Exit, CliError> {
    match &args.command {
        secrets::VaultCommand::Status(_) => status(app),
        secrets::VaultCommand::Purge(args) => purge(app, args),
    }
}

fn status(app: &App) -> Result<Exit, CliError> {
    let Some(status) = app.engine()?.vault_status()? else { return Ok(Exit::Done) };
    if app.console.json {
        app.console.json(&wire::secrets::vault(&status))?;
        return Ok(Exit::Done);
    }
    app.console.text(&told(app, &status))?;
    if !status.keeps {
        let hint = Style::Hint.paint("hint");
        app.console.say(&format!("{hint}: `stemma config set secrets.vault 1` turns it on"));
    }
    Ok(Exit::Done)
}

fn told(app: &App, status: &VaultStatus) -> String {
    let mut text = String::new();
    let state = if status.keeps { Style::Good.paint("On") } else { Style::Warning.paint("Off") };
    let what = if status.keeps {
        "capture keeps what it replaces"
    } else {
        "capture keeps nothing that it replaces"
    };
    put!(text, "{state}: {what}\n");
    if status.places == 0 && status.damaged == 0 {
        text.push_str("Holds nothing\n");
        return text;
    }
    put!(
        text,
        "Holds {} at {} in {}, {}\n",
        many(status.values, "value"),
        many(status.places, "place"),
        many(status.contents, "content"),
        size::bytes(status.bytes)
    );
    if let (Some(oldest), Some(newest)) = (status.oldest, status.newest) {
        let ago = |point| time::ago(point, app.now());
        put!(text, "Kept: the oldest {}, the newest {}\n", ago(oldest), ago(newest));
    }
    if status.damaged > 0 {
        put!(
            text,
            "{}: {} do not open any more\n",
            Style::Warning.paint("Damaged"),
            many(status.damaged, "record")
        );
    }
    put!(text, "  {}\n", app.environment.shown(&status.folder));
    text
}

fn purge(app: &App, args: &secrets::VaultPurge) -> Result<Exit, CliError> {
    let purge = match &args.older_than {
        Some(text) => VaultPurge::Before(time::parse(text, app.now())?),
        None if args.all => VaultPurge::All,
        None => VaultPurge::Unstored,
    };
    let VaultPurged { contents, places } = app.engine()?.vault_purge(purge)?;
    if app.console.json {
        app.console.json(&v1::VaultPurged { contents, places })?;
        return Ok(Exit::Done);
    }
    app.console.text(&match places {
        0 => "Nothing to remove\n".to_owned(),
        _ => format!(
            "{} what stood at {} in {}\n",
            Style::Good.paint("Removed"),
            many(places, "place"),
            many(contents, "content")
        ),
    })?;
    Ok(Exit::Done)
}
