//! `tips`: the ends of branches, by ticket, thread or session.

use stemmata_api::v1;
use stemmata_store::{Page, TipFilter};

use crate::args::browse::Tips;
use crate::commands::{children, list, rows};
use crate::errors::{CliError, Exit};
use crate::wiring::App;
use stemmata_service::wire;

/// Tips that one page of the store holds.
const PAGE_ROWS: usize = 1_000;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Tips) -> Result<Exit, CliError> {
    let filter =
        TipFilter { session: args.session.clone(), ticket: args.ticket.clone(), thread: args.thread.clone() };
    let engine = app.engine()?;
    let wanted = rows(args.limit, app.console.json);
    let mut tips = Vec::new();
    while tips.len() <= wanted {
        let skip = u64::try_from(tips.len()).unwrap_or(u64::MAX);
        let page =
            engine.store().tips(&filter, Page { skip, rows_max: PAGE_ROWS.min(wanted + 1 - tips.len()) })?;
        if page.is_empty() {
            break;
        }
        tips.extend(page);
    }
    let is_cut = tips.len() > wanted;
    tips.truncate(wanted);
    if app.console.json {
        let commits = wire::commit::commits(engine, &tips)?;
        let next_skip = is_cut.then(|| u64::try_from(wanted).unwrap_or(u64::MAX));
        app.console.json(&v1::CommitPage { commits, next_skip })?;
        return Ok(Exit::Done);
    }
    if tips.is_empty() {
        app.console.say("No tips.");
    }
    app.console.long_text(&children::lines(app, &tips)?)?;
    if is_cut {
        list::say_cut(app);
    }
    Ok(Exit::Done)
}
