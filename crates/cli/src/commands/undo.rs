//! `undo` and `forget --copies`: copies that were placed for a client and that nobody continued, gone.

use std::path::Path;

use stemmata_api::v1::{CopiesRemoved, IdleCopy};
use stemmata_service::{CopiesWanted, RemoveCopiesRequest};

use crate::args::keep::Undo;
use crate::commands::confirm::{Final, confirmed};
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::session;
use crate::output::size::{more, plural};
use crate::output::style::{Style, tame};
use crate::wiring::App;

/// Copies that people see; `--json` has all.
const LINES_MAX: usize = 20;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Undo) -> Result<Exit, CliError> {
    let done = removed(app, CopiesWanted::Last, args.dry_run)?;
    app.answer(&done, || Ok(told(app, &done)))
}

/// Removes all copies, after a question.
pub(crate) fn all(app: &App, (dry_run, is_asked): (bool, bool)) -> Result<Exit, CliError> {
    let plan = removed(app, CopiesWanted::All, true)?;
    if dry_run {
        return app.answer(&plan, || Ok(told(app, &plan)));
    }
    if !is_asked {
        let act = Final {
            what: "removing copies deletes files of clients",
            plan: &told(app, &plan),
            is_nothing: plan.removed.is_empty(),
            question: "Remove them? [y/N] ",
            declined: "Nothing was removed.",
        };
        if !confirmed(app, &act)? {
            return Ok(Exit::Done);
        }
    }
    let paths = plan.removed.iter().map(|copy| copy.session.path.clone()).collect();
    let mut done = removed(app, CopiesWanted::Planned(paths), false)?;
    done.kept.extend(plan.kept);
    app.answer(&done, || Ok(told(app, &done)))
}

fn removed(app: &App, which: CopiesWanted, dry_run: bool) -> Result<CopiesRemoved, CliError> {
    Ok(app.host()?.remove_copies(app.service()?, &RemoveCopiesRequest { which, dry_run })?)
}

fn told(app: &App, done: &CopiesRemoved) -> String {
    let mut text = String::new();
    let verb = if done.dry_run { "Would remove" } else { "Removed" };
    let count = |copies: &[IdleCopy]| plural(copies.len(), "copy");
    let mut listed = |heading: String, copies: &[IdleCopy]| {
        if copies.is_empty() {
            return;
        }
        put!(text, "{heading}\n");
        for copy in copies.iter().take(LINES_MAX) {
            let id = Style::Id.paint(&session::short(&copy.session));
            let title = session::title_of(copy.session.title.as_deref().unwrap_or_default());
            put!(text, "  {id}  {}  {title}\n", tame(&copy.session.client));
            let path = app.environment.shown(Path::new(&copy.session.path));
            let because = copy.because.as_deref().map(|why| format!(": {}", tame(why))).unwrap_or_default();
            put!(text, "    {}{because}\n", Style::Faint.paint(&path));
        }
        text.push_str(&more(copies.len(), LINES_MAX, "  ", ""));
    };
    listed(
        format!("{} {} that nobody continued:", Style::Warning.paint(verb), count(&done.removed)),
        &done.removed,
    );
    listed(
        format!(
            "{} that nobody continued {}:",
            count(&done.kept),
            if done.kept.len() == 1 { "stays" } else { "stay" }
        ),
        &done.kept,
    );
    if text.is_empty() {
        text.push_str("No copies were placed that nobody continued.\n");
    }
    text
}
