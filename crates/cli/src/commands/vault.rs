//! `vault`: how much is kept of what was replaced, and its end. Never a value.

use stemmata_api::v1::{VaultPurgeRequest, VaultPurged, VaultStatus};

use crate::args::secrets;
use crate::commands::confirm::{Final, confirmed, shown, unasked};
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
        app.console.say(&format!("{hint}: `stemma config set secrets.vault true` turns it on"));
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
    if args.yes && !args.dry_run {
        let apply = |digest: &_| host.apply_vault_purge(&request, digest);
        let done = unasked(plan, |plan| plan.digest.as_ref(), apply)?;
        return app.answer(&done, || Ok(purged(&done, "Deleted")));
    }
    let plan = plan()?;
    if args.dry_run {
        return app.answer(&plan, || Ok(purged(&plan, "Would delete")));
    }
    let act = Final {
        what: "purging the vault cannot be undone",
        plan: &purged(&plan, "Would delete"),
        is_nothing: plan.places == 0,
        question: "Delete these values permanently? [y/N] ",
        declined: "Nothing was deleted.",
    };
    if !confirmed(app, &act)? {
        return Ok(Exit::Done);
    }
    let done = host.apply_vault_purge(&request, &shown(plan.digest.as_ref()))?;
    app.answer(&done, || Ok(purged(&done, "Deleted")))
}

fn purged(done: &VaultPurged, verb: &str) -> String {
    match done.places {
        0 => "Nothing to delete\n".to_owned(),
        places => {
            let (places, contents) = (many(places, "value"), many(done.contents, "content"));
            format!("{} {places} in {contents}\n", Style::Good.paint(verb))
        }
    }
}
