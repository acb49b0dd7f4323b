//! `ledger`: which ledgers there are, and moving them as files.
//!
//! What such a file holds is the store's.

use std::path::Path;

use stemmata_api::PageRequest;
use stemmata_api::v1::{AdoptRequest, DisownRequest, Ledger, LedgerPage, LedgerRequest, LedgersRequest};
use stemmata_service::MakeLedger;

use crate::args::ledger::{Ledger as Args, LedgerAdopt, LedgerCommand, LedgerExport, LedgerImport};
use crate::commands::events::ledger;
use crate::commands::state::counted;
use crate::errors::{CliError, Exit};
use crate::output::size::many;
use crate::output::style::{Style, tame};
use crate::output::table::{Column, Table, cell};
use crate::output::{put, time};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Args) -> Result<Exit, CliError> {
    match &args.command {
        LedgerCommand::List => list(app),
        LedgerCommand::Adopt(args) => adopt(app, args),
        LedgerCommand::Export(args) => export(app, args),
        LedgerCommand::Import(args) => import(app, args),
    }
}

fn page(ledgers: Vec<Ledger>) -> LedgerPage {
    LedgerPage { ledgers, next: None }
}

fn adopt(app: &App, args: &LedgerAdopt) -> Result<Exit, CliError> {
    let make = if args.folder.is_some() { MakeLedger::Always } else { MakeLedger::Never };
    let ledger = ledger(app, &args.which, make)?;
    if let Some(folder) = &args.remove {
        let request = DisownRequest { ledger, folder: whole(app, folder) };
        let known = page(vec![app.service()?.disown(&request)?]);
        return app.answer(&known, || {
            let folder = tame(&request.folder);
            Ok(format!("Sessions of {folder} no longer count for {}\n", request.ledger))
        });
    }
    let Some(folder) = &args.folder else {
        let known = page(vec![app.service()?.ledger(&LedgerRequest { ledger })?]);
        return app.answer(&known, || {
            let folders = known.ledgers.iter().flat_map(|known| &known.adopted);
            let lines: Vec<String> = folders.map(|folder| format!("{}\n", tame(folder))).collect();
            if lines.is_empty() {
                app.console.say("No folder was adopted");
            }
            Ok(lines.concat())
        });
    };
    let homes = app.environment.home().into_iter().flat_map(|home| [home.canonicalize().ok(), Some(home)]);
    let homes = homes.flatten().map(|home| home.to_string_lossy().into_owned()).collect();
    let request = AdoptRequest { ledger, folder: whole(app, folder), homes, anyway: args.yes };
    let known = page(vec![app.service()?.adopt(&request)?]);
    app.answer(&known, || {
        Ok(format!("Sessions of {} count for {} from now on\n", tame(&request.folder), request.ledger))
    })
}

/// Returns the whole path of a folder. One that is here may be named from where one stands, or by a link: sessions name what that leads
/// to. One of another machine is taken as it is, and so is what names nothing.
fn whole(app: &App, folder: &str) -> String {
    let here = std::fs::canonicalize(app.environment.absolute(Path::new(folder))).ok();
    let here = here.filter(|_| !folder.is_empty());
    here.map_or_else(|| folder.to_owned(), |here| here.to_string_lossy().into_owned())
}

fn export(app: &App, args: &LedgerExport) -> Result<Exit, CliError> {
    let id = ledger(app, &args.which, MakeLedger::Never)?;
    let out = app.environment.absolute(&args.out);
    app.service()?;
    let done = app.host()?.export_ledger(&id, &out, args.force)?;
    app.answer(&done, || {
        let events = many(done.events, "event");
        let mut text = format!("Wrote {events} of {id} to {}\n", app.environment.shown(&out));
        if done.gone > 0 {
            let gone = many(done.gone, "event");
            put!(text, "{gone} without content: expired or forgotten\n");
        }
        Ok(text)
    })
}

fn import(app: &App, args: &LedgerImport) -> Result<Exit, CliError> {
    let file = app.environment.absolute(&args.file);
    app.service()?;
    let (known, notes) = app.host()?.import_ledger(&file, args.into.as_ref())?;
    let told = format!("Read {} into {}\n", many(counted(&known.last), "event"), known.id);
    app.answer(&page(vec![known]), || {
        app.console.notes(&notes);
        Ok(told)
    })
}

fn list(app: &App) -> Result<Exit, CliError> {
    let mut request = LedgersRequest { page: PageRequest::first() };
    let mut all = page(Vec::new());
    loop {
        let found = app.service()?.ledgers(&request)?;
        all.ledgers.extend(found.ledgers);
        request.page.after = found.next.map(|next| next.to_string());
        if request.page.after.is_none() {
            break;
        }
    }
    app.answer(&all, || {
        if all.ledgers.is_empty() {
            app.console
                .say("There is no ledger yet; `stemma decision add` and `stemma events append` create one");
        }
        Ok(table(app, &all.ledgers))
    })
}

fn table(app: &App, ledgers: &[Ledger]) -> String {
    let mut table = Table::new(&[
        ("LEDGER", Column::Left),
        ("EVENTS", Column::Right),
        ("LAST", Column::Left),
        ("PROJECT", Column::Flexible),
    ]);
    for known in ledgers {
        let last = known.last_at.map_or_else(|| "–".to_owned(), |at| time::ago(at, app.now()));
        let root =
            known.root.as_deref().map_or_else(String::new, |root| app.environment.shown(root.as_ref()));
        table.row(vec![
            cell(Style::Id, tame(&known.id)),
            cell(Style::Plain, known.last.clone()),
            cell(Style::Faint, last),
            cell(Style::Plain, tame(&root)),
        ]);
    }
    table.render(app.console.width)
}
