//! `tips`: the ends of branches, by ticket, thread or session.

use stemmata_api::v1::{CommitPage, TipsRequest};

use crate::args::browse::Tips;
use crate::commands::{gather, list, log, rows};
use crate::errors::{CliError, Exit};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Tips) -> Result<Exit, CliError> {
    let service = app.service()?;
    let (commits, next_skip) = gather(rows(args.limit, app.console.json), None, |limit, skip| {
        let page = service.tips(&TipsRequest {
            session: args.session.as_ref().map(ToString::to_string),
            ticket: args.ticket.clone(),
            thread: args.thread.clone(),
            skip: skip.unwrap_or(0),
            limit: Some(limit),
        })?;
        Ok((page.commits, page.next_skip))
    })?;
    let page = CommitPage { commits, next_skip };
    if page.commits.is_empty() && !app.console.json {
        app.console.say("No tips.");
    }
    let exit = app.answer(&page, || log::commit_table(app, &page.commits))?;
    list::say_rest(app, page.next_skip.is_some());
    Ok(exit)
}
