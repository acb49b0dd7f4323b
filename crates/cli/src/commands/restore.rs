//! `restore` without a backup: a ledger's state, what it was made from, and what was wrong on the way.
//!
//! Putting a backup in the place of the store is `backup`'s.

use stemmata_api::v1::{RestoreStateRequest, RestoredLedger};

use crate::args::maintain::Restore;
use crate::commands::events::damaged_ledger;
use crate::commands::state::{counted, name};
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::size::{grouped, many, plural};
use crate::output::style::Style;
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Restore) -> Result<Exit, CliError> {
    let ledger = damaged_ledger(app, &args.which).map_err(meant_a_backup)?;
    let request = RestoreStateRequest { ledger, repair: args.repair };
    let restored = app.service()?.restore_state(&request)?;
    let done = app.answer(&restored, || {
        app.console.notes(&restored.notes);
        Ok(told(app, &restored))
    })?;
    if !args.repair && !app.console.json {
        app.console.hint("this is the ledger; `stemma restore DIR` puts a backup in the place of the store");
    }
    Ok(if restored.reducers.is_empty() { Exit::Corrupt } else { done })
}

/// Says what most people mean by the command where there is no ledger.
fn meant_a_backup(error: CliError) -> CliError {
    let CliError::Problem(mut problem) = error else { return error };
    let backup = "`stemma restore DIR` puts a backup in the place of the store";
    problem.hint = Some(problem.hint.map_or_else(|| backup.to_owned(), |hint| format!("{backup}; {hint}")));
    CliError::Problem(problem)
}

fn told(app: &App, restored: &RestoredLedger) -> String {
    let mut text = format!(
        "{}  {}\n",
        name(app, restored.ledger.as_str(), restored.root.as_deref()),
        Style::Faint.paint(&format!("{}, in {}", many(counted(&restored.last), "event"), place(restored)))
    );
    if restored.quarantined > 0 || !restored.lost.is_empty() {
        put!(
            text,
            "{} set aside, {} lost{}\n",
            many(restored.quarantined, "damaged line"),
            plural(restored.lost.len(), "event"),
            restored.lost.first().map_or_else(String::new, |first| format!(", from {first} on"))
        );
    }
    for one in &restored.reducers {
        let saved = match counted(&one.saved_through) {
            0 => "no saved state".to_owned(),
            through => format!("saved at event {}", grouped(through)),
        };
        put!(text, "  {:<17}  {saved}, {} folded again\n", one.name, many(one.replayed, "event"));
    }
    if restored.reducers.is_empty() {
        text.push_str("Nothing was folded: the ledger cannot be read past the damage. `stemma restore --repair` sets it aside\n");
    } else {
        put!(text, "  {:<17}  {}\n", "transcripts", many(restored.transcripts, "captured session"));
    }
    text
}

fn place(restored: &RestoredLedger) -> &str {
    if restored.engine == "files" { "files" } else { "the store" }
}
