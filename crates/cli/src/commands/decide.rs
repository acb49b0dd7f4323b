//! `decide` and `task`: what a person, or an agent, wants a project to remember.
//!
//! What becomes of it is the reducers'.

use stemmata_api::v1::{Appended, CloseThreadRequest, DecideRequest, DecisionKind, FinishTaskRequest};
use stemmata_service::MakeLedger;

use crate::args::ledger::{Decide, Task, Which};
use crate::commands::events::{ledger, number, published};
use crate::errors::{CliError, Exit};
use crate::wiring::App;

/// Runs `decide`.
pub(crate) fn run(app: &App, args: &Decide) -> Result<Exit, CliError> {
    let Some(text) = &args.text else { return close(app, args) };
    let (kind, name) = match (args.fact, args.thread) {
        (true, _) => (DecisionKind::Fact, "fact"),
        (false, true) => (DecisionKind::Thread, "thread"),
        (false, false) => (DecisionKind::Decision, "decision"),
    };
    // What is to be replaced is in a ledger that is there.
    let make = if args.supersedes.is_some() { MakeLedger::Never } else { MakeLedger::Always };
    let request = DecideRequest {
        ledger: ledger(app, &args.which, make)?,
        kind,
        text: text.clone(),
        reason: args.reason.clone(),
        supersedes: args.supersedes.clone(),
    };
    recorded(app, name, &app.service()?.decide(&request)?)
}

fn close(app: &App, args: &Decide) -> Result<Exit, CliError> {
    let thread = args.close.clone().unwrap_or_default();
    let ledger = ledger(app, &args.which, MakeLedger::Never)?;
    let done = app.service()?.close_thread(&CloseThreadRequest { ledger, thread })?;
    recorded(app, "end of the thread", &done)
}

/// Runs `task`.
pub(crate) fn task(app: &App, args: &Task) -> Result<Exit, CliError> {
    match (&args.text, &args.done) {
        (_, Some(done)) => {
            let ledger = ledger(app, &args.which, MakeLedger::Never)?;
            let done = app.service()?.finish_task(&FinishTaskRequest { ledger, task: done.clone() })?;
            recorded(app, "end of the task", &done)
        }
        (Some(text), None) => begun(app, &args.which, text),
        (None, None) => super::state::open_tasks(app, &args.which),
    }
}

fn begun(app: &App, which: &Which, text: &str) -> Result<Exit, CliError> {
    let request = DecideRequest {
        ledger: ledger(app, which, MakeLedger::Always)?,
        kind: DecisionKind::Task,
        text: text.to_owned(),
        reason: None,
        supersedes: None,
    };
    recorded(app, "task", &app.service()?.decide(&request)?)
}

fn recorded(app: &App, what: &str, done: &Appended) -> Result<Exit, CliError> {
    published(app, done, || {
        format!("Recorded the {what} as event {} of {}\n", number(&done.last), done.ledger)
    })
}
