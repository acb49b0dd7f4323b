//! `audit`: what was deleted, when, and on whose request.

use stemmata_api::PageRequest;
use stemmata_api::v1::{AuditOutcome, AuditPage, AuditRequest};

use crate::args::registry::Audit;
use crate::commands::{gather, list, rows};
use crate::errors::{CliError, Exit};
use crate::output::style::{Style, tame};
use crate::output::table::{Column, Table, cell};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Audit) -> Result<Exit, CliError> {
    let service = app.service()?;
    let (entries, next) = gather(rows(args.limit, app.console.json), None, |limit, after| {
        let page = PageRequest { limit: Some(limit), after };
        let request = AuditRequest { principal: args.by.clone(), operation: args.operation.clone(), page };
        let page = service.audit(&request)?;
        Ok((page.entries, page.next))
    })?;
    let found = AuditPage { entries, next };
    if found.entries.is_empty() && !app.console.json {
        app.console.say("No rows: nothing was deleted from the store");
    }
    let exit = app.answer(&found, || {
        if found.entries.is_empty() {
            return Ok(String::new());
        }
        let mut table = Table::new(&[
            ("when", Column::Left),
            ("who", Column::Left),
            ("operation", Column::Left),
            ("how", Column::Left),
            ("of what", Column::Flexible),
        ]);
        for entry in &found.entries {
            let (outcome, style) = outcome(entry.outcome);
            let more = entry.detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default();
            table.row(vec![
                cell(Style::Faint, app.moment(Some(entry.at))),
                cell(Style::Plain, tame(entry.principal.as_str())),
                cell(Style::Plain, tame(&entry.operation)),
                cell(style, outcome),
                cell(Style::Plain, tame(format!("{}{more}", entry.target))),
            ]);
        }
        Ok(table.render(app.console.width))
    })?;
    list::say_rest(app, found.next.is_some());
    Ok(exit)
}

const fn outcome(outcome: AuditOutcome) -> (&'static str, Style) {
    match outcome {
        AuditOutcome::Begun => ("begun", Style::Faint),
        AuditOutcome::Done => ("done", Style::Plain),
        AuditOutcome::Refused => ("refused", Style::Error),
        AuditOutcome::Failed => ("failed", Style::Error),
    }
}
