//! `recall`: what of earlier work fits a task, ready to paste or to inject.

use std::path::Path;

use stemmata_api::v1::{QUERY_BYTES_MAX, RecallRequest, RecallScope, Recalled};
use stemmata_api::{Code, Problem};
use stemmata_model::LedgerId;
use stemmata_service::MakeLedger;

use crate::args::prompts::Recall;
use crate::commands::events::ledger;
use crate::commands::read_input;
use crate::errors::{CliError, Exit};
use crate::output::size::{grouped, many};
use crate::output::style::{Style, tame};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Recall) -> Result<Exit, CliError> {
    let request = RecallRequest {
        text: text(args)?,
        ledger: ledger_here(app, args)?,
        max_tokens: args.max_tokens,
        counter: args.counter.clone(),
        model: args.model.clone(),
        thread: app.thread(args.thread.as_ref()),
        ticket: app.ticket(args.ticket.as_ref()),
        session: args.session.clone(),
        foreign: args.foreign,
        settle_ms: args.settle_ms,
    };
    let found = app.service()?.recall(&request).map_err(as_option)?;
    app.console.notes(&found.notes);
    if !app.console.json {
        app.console.say(&told(&found));
        app.console.say(&scope(app, &found.scope));
    }
    // What is said on standard error begins on a line of its own.
    let end = if found.text.is_empty() || found.text.ends_with('\n') { "" } else { "\n" };
    app.answer(&found, || Ok(format!("{}{end}", found.text)))
}

/// Names the option by which the command line gives what the request calls `max_tokens`.
fn as_option(problem: Box<Problem>) -> Box<Problem> {
    let detail = problem.detail.replace("max_tokens", "--max-tokens");
    if problem.is(Code::BadRequest) { Box::new(Problem { detail, ..*problem }) } else { problem }
}

fn told(found: &Recalled) -> String {
    let (items, tokens) = (many(found.items.len() as u64, "item"), grouped(found.tokens));
    let skipped = match found.skipped.budget {
        0 => String::new(),
        left => format!("; {} more did not fit", grouped(left)),
    };
    let foreign = match found.skipped.foreign {
        0 => String::new(),
        left => format!("; {} came in bundles, `--foreign` takes them in", grouped(left)),
    };
    format!("{items}, {tokens} of {} tokens{skipped}{foreign}", grouped(found.max_tokens))
}

/// Says what was searched, which depends on the folder, and how to search more or less.
fn scope(app: &App, scope: &RecallScope) -> String {
    let hint = Style::Hint.paint("hint");
    match (&scope.ledger, &scope.dir) {
        (None, _) => format!(
            "searched all projects\n{hint}: `--project DIR` or `--ledger ID` takes one project with its memory"
        ),
        (Some(ledger), dir) => {
            let dir = dir.as_ref().map(|dir| tame(app.environment.shown(Path::new(dir))));
            let what = dir.map_or_else(|| format!("ledger {ledger}"), |dir| format!("project {dir}"));
            format!(
                "searched {what}\n{hint}: `--everywhere` searches all projects, `--project DIR` another one"
            )
        }
    }
}

/// Returns the task: the words of the command, or standard input for `-`.
fn text(args: &Recall) -> Result<String, CliError> {
    match args.text.as_slice() {
        [one] if one == "-" => {
            let bytes = read_input(Path::new("-"), QUERY_BYTES_MAX)?;
            Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
        }
        words if words.concat().trim().is_empty() => {
            Err(CliError::Usage("name the task in words, or `-` to read it from standard input".to_owned()))
        }
        words => Ok(words.join(" ")),
    }
}

/// Returns the ledger whose memory is read. A directory that has none has nothing to remember: what is stored is searched.
fn ledger_here(app: &App, args: &Recall) -> Result<Option<LedgerId>, CliError> {
    if args.everywhere {
        return Ok(None);
    }
    match ledger(app, &args.which, MakeLedger::Looked) {
        Ok(ledger) => Ok(Some(ledger)),
        Err(CliError::Problem(problem)) if problem.is(Code::NoLedgerHere) && args.which.project.is_none() => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
