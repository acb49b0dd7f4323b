//! `vault`: how much is kept of what was replaced, and its end. Never a value.

use stemmata_api::v1::{VaultPurgeRequest, VaultStatus};

use crate::args::secrets;
use crate::commands::confirm::unasked;
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::size::{self, many};
use crate::output::style::Style;
use crate::output::time;
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &secrets::Vault) -> Result<Exit, CliError> {
    match &args.command {
        secrets::VaultCommand::Status(_) => status(app),
        secrets::VaultCommand::Purge(args) => purge(app, args),
    }
}

fn status(app: &App) -> Result<Exit, CliError> {
    let Some(status) = app.opened_host()?.vault_status()? else { return Ok(Exit::Done) };
    app.answer(&status, || Ok(told(app, &status)))?;
    if !status.keeps && !app.console.json {
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
    if let (Some(oldest), Some(newest)) = (&status.oldest, &status.newest) {
        let ago = |text: &str| time::ago(time::of_text(text), app.now());
        put!(text, "Kept: the oldest {}, the newest {}\n", ago(oldest), ago(newest));
    }
    if status.damaged > 0 {
        put!(
            text,
            "{}: {} can no longer be decrypted\n",
            Style::Warning.paint("Damaged"),
            many(status.damaged, "record")
        );
    }
    put!(text, "  {}\n", app.environment.shown(std::path::Path::new(&status.path)));
    text
}

fn purge(app: &App, args: &secrets::VaultPurge) -> Result<Exit, CliError> {
    let before = args.older_than.as_ref().map(|text| time::parse(text, app.now())).transpose()?;
    let request = VaultPurgeRequest { before: before.map(|time| time.to_string()), all: args.all };
    let host = app.opened_host()?;
    let plan = || host.plan_vault_purge(&request);
    let done = unasked(plan, |plan| plan.digest.as_ref(), |digest| host.apply_vault_purge(&request, digest))?;
    app.answer(&done, || {
        Ok(match done.places {
            0 => "Nothing to remove\n".to_owned(),
            places => format!(
                "{} the values of {} in {}\n",
                Style::Good.paint("Removed"),
                many(places, "place"),
                many(done.contents, "content")
            ),
        })
    })
}
