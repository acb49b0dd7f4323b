//! `ledger`: which ledgers there are, and moving them as files.
//!
//! What such a file holds is the store's.

use std::path::Path;

use stemmata_api::v1;
use stemmata_store::Ledger;

use crate::args::ledger::{Ledger as Args, LedgerAdopt, LedgerCommand, LedgerExport, LedgerImport};
use crate::commands::events::{known_ledger, ledger};
use crate::errors::{CliError, Exit};
use crate::output::size::many;
use crate::output::style::{Style, tame};
use crate::output::table::{Column, Table, cell};
use crate::output::{put, time};
use crate::wiring::App;
use stemmata_service::wire;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Args) -> Result<Exit, CliError> {
    match &args.command {
        LedgerCommand::List => list(app),
        LedgerCommand::Adopt(args) => adopt(app, args),
        LedgerCommand::Export(args) => export(app, args),
        LedgerCommand::Import(args) => import(app, args),
    }
}

fn adopt(app: &App, args: &LedgerAdopt) -> Result<Exit, CliError> {
    let id = ledger(app, &args.which)?;
    // A folder of this machine may be named from where one stands; one of another machine is taken as it is.
    let given = Path::new(&args.folder);
    let here = std::fs::canonicalize(app.environment.absolute(given)).ok().filter(|_| given.is_relative());
    let folder = here.map_or_else(|| args.folder.clone(), |here| here.to_string_lossy().into_owned());
    app.engine()?.adopt_folder(&id, &folder)?;
    let known = app.engine()?.log().ledger(&id)?;
    if app.console.json {
        app.console.json(&v1::LedgerPage { ledgers: known.iter().map(wire::ledger::ledger).collect() })?;
    } else {
        app.console.text(&format!("Sessions of {} count for {id} from now on\n", tame(&folder)))?;
    }
    Ok(Exit::Done)
}

fn export(app: &App, args: &LedgerExport) -> Result<Exit, CliError> {
    let id = known_ledger(app, &args.which)?;
    let out = app.environment.absolute(&args.out);
    let done = app.engine()?.export_cluster(&id, &out, args.force)?;
    if app.console.json {
        app.console.json(&v1::LedgerExported {
            ledger: id.to_string(),
            path: out.to_string_lossy().into_owned(),
            events: done.events,
            gone: done.gone,
            through: done.through.to_string(),
        })?;
        return Ok(Exit::Done);
    }
    let mut text =
        format!("Wrote {} of {id} to {}\n", many(done.events, "event"), app.environment.shown(&out));
    if done.gone > 0 {
        put!(text, "{} without what they said: it was let go of or forgotten\n", many(done.gone, "event"));
    }
    app.console.text(&text)?;
    Ok(Exit::Done)
}

fn import(app: &App, args: &LedgerImport) -> Result<Exit, CliError> {
    let file = app.environment.absolute(&args.file);
    let (cluster, notes) = app.engine()?.import_cluster(&file, args.into.as_ref())?;
    let known = app.engine()?.log().ledger(&cluster.ledger)?;
    if app.console.json {
        app.console.json(&v1::LedgerPage { ledgers: known.iter().map(wire::ledger::ledger).collect() })?;
        return Ok(Exit::Done);
    }
    app.console.notes(&notes);
    let events = many(known.map_or(0, |known| known.last), "event");
    app.console.text(&format!("Read {events} into {}\n", cluster.ledger))?;
    Ok(Exit::Done)
}

fn list(app: &App) -> Result<Exit, CliError> {
    let mut ledgers: Vec<Ledger> = Vec::new();
    app.engine()?.each_ledger(|known| {
        ledgers.push(known.clone());
        Ok(())
    })?;
    if app.console.json {
        app.console.json(&v1::LedgerPage { ledgers: ledgers.iter().map(wire::ledger::ledger).collect() })?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&[
        ("LEDGER", Column::Left),
        ("EVENTS", Column::Right),
        ("LAST", Column::Left),
        ("PROJECT", Column::Flexible),
    ]);
    for known in &ledgers {
        let last = known.last_at.map_or_else(|| "–".to_owned(), |at| time::ago(at, app.now()));
        let root =
            known.root.as_deref().map_or_else(String::new, |root| app.environment.shown(root.as_ref()));
        table.row(vec![
            cell(Style::Id, tame(known.id.as_str())),
            cell(Style::Plain, known.last.to_string()),
            cell(Style::Faint, last),
            cell(Style::Plain, tame(&root)),
        ]);
    }
    app.console.long_text(&table.render(app.console.width))?;
    if ledgers.is_empty() {
        app.console.say("There is no ledger yet; `stemma decide` and `stemma events append` make one");
    }
    Ok(Exit::Done)
}
