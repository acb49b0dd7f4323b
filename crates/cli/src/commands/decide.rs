//! `decision`, `decide` and `task`: what a person, or an agent, wants a project to remember.
//!
//! What becomes of it is the reducers'.

use stemmata_api::v1::{
    Appended, CloseThreadRequest, DecideRequest, DecisionKind, Decisions, FinishTaskRequest, LedgerRequest,
    OpenTasks,
};
use stemmata_service::MakeLedger;

use crate::args::ledger::Which;
use crate::args::memory::{Decide, Decision, DecisionCommand, DecisionHow, Task, TaskCommand};
use crate::commands::events::{ledger, number, published};
use crate::errors::{CliError, Exit};
use crate::output::style::{Style, tame};
use crate::output::table::{Column, Table, cell};
use crate::wiring::App;

/// Runs `decision`.
pub(crate) fn run(app: &App, args: &Decision) -> Result<Exit, CliError> {
    match &args.command {
        Some(DecisionCommand::Add(add)) => record(app, &add.text, &add.how, &add.which),
        Some(DecisionCommand::Close(close)) => close_thread(app, &close.thread, &close.which),
        Some(DecisionCommand::List(which)) => list_decisions(app, which),
        None => list_decisions(app, &args.which),
    }
}

/// Runs `decide`.
pub(crate) fn decide(app: &App, args: &Decide) -> Result<Exit, CliError> {
    match (&args.text, &args.close) {
        (Some(text), _) => record(app, text, &args.how, &args.which),
        (None, close) => close_thread(app, close.as_deref().unwrap_or_default(), &args.which),
    }
}

fn record(app: &App, text: &str, how: &DecisionHow, which: &Which) -> Result<Exit, CliError> {
    let (kind, name) = match (how.fact, how.thread) {
        (true, _) => (DecisionKind::Fact, "fact"),
        (false, true) => (DecisionKind::Thread, "thread"),
        (false, false) => (DecisionKind::Decision, "decision"),
    };
    // What is to be replaced is in a ledger that is there.
    let make = if how.supersedes.is_some() { MakeLedger::Never } else { MakeLedger::Always };
    let request = DecideRequest {
        ledger: ledger(app, which, make)?,
        kind,
        text: text.to_owned(),
        reason: how.reason.clone(),
        supersedes: how.supersedes.clone(),
    };
    added(app, name, text, &app.service()?.decide(&request)?)
}

fn close_thread(app: &App, thread: &str, which: &Which) -> Result<Exit, CliError> {
    let request =
        CloseThreadRequest { ledger: ledger(app, which, MakeLedger::Never)?, thread: thread.to_owned() };
    let done = app.service()?.close_thread(&request)?;
    finished(app, "Closed", &done)
}

fn list_decisions(app: &App, which: &Which) -> Result<Exit, CliError> {
    let request = LedgerRequest { ledger: ledger(app, which, MakeLedger::Looked)? };
    let known = app.service()?.decisions(&request)?;
    let exit = app.answer(&known, || {
        app.console.notes(&known.notes);
        Ok(decision_table(&known, app.console.width))
    })?;
    if !app.console.json {
        app.console.say(&if known.decisions.is_empty() {
            "No decision, fact or open thread is known".to_owned()
        } else {
            let hint = Style::Hint.paint("hint");
            format!("{hint}: `stemma decision add TEXT --supersedes NAME` replaces one, `stemma decision close NAME` closes a thread")
        });
    }
    Ok(exit)
}

fn decision_table(known: &Decisions, width: usize) -> String {
    if known.decisions.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[("NAME", Column::Left), ("KIND", Column::Left), ("TEXT", Column::Flexible)]);
    for one in &known.decisions {
        let reason = one.reason.as_deref().map(|reason| format!(" (because {reason})")).unwrap_or_default();
        table.row(vec![
            cell(Style::Id, one.name.clone()),
            cell(Style::Faint, one.kind.as_str()),
            cell(Style::Plain, tame(format!("{}{reason}", one.text))),
        ]);
    }
    table.render(width)
}

/// Runs `task`.
pub(crate) fn task(app: &App, args: &Task) -> Result<Exit, CliError> {
    match (&args.command, &args.text, &args.done) {
        (Some(TaskCommand::Add(add)), ..) => add_task(app, &add.text, &add.which),
        (Some(TaskCommand::Done(done)), ..) => finish_task(app, &done.task, &done.which),
        (Some(TaskCommand::List(which)), ..) => list_tasks(app, which),
        (None, _, Some(done)) => finish_task(app, done, &args.which),
        (None, Some(text), None) => add_task(app, text, &args.which),
        (None, None, None) => list_tasks(app, &args.which),
    }
}

fn add_task(app: &App, text: &str, which: &Which) -> Result<Exit, CliError> {
    let request = DecideRequest {
        ledger: ledger(app, which, MakeLedger::Always)?,
        kind: DecisionKind::Task,
        text: text.to_owned(),
        reason: None,
        supersedes: None,
    };
    let done = app.service()?.decide(&request)?;
    let exit = added(app, "task", text, &done)?;
    if !app.console.json {
        app.console.hint(&format!("finish it with `stemma task done {}`", done.last));
    }
    Ok(exit)
}

fn finish_task(app: &App, task: &str, which: &Which) -> Result<Exit, CliError> {
    let request = FinishTaskRequest { ledger: ledger(app, which, MakeLedger::Never)?, task: task.to_owned() };
    let done = app.service()?.finish_task(&request)?;
    finished(app, "Done", &done)
}

fn list_tasks(app: &App, which: &Which) -> Result<Exit, CliError> {
    let request = LedgerRequest { ledger: ledger(app, which, MakeLedger::Looked)? };
    let open = app.service()?.tasks(&request)?;
    let exit = app.answer(&open, || {
        app.console.notes(&open.notes);
        Ok(task_table(&open, app.console.width))
    })?;
    if !app.console.json {
        let hint = Style::Hint.paint("hint");
        app.console.say(&if open.tasks.is_empty() {
            "No open tasks".to_owned()
        } else {
            format!("{hint}: `stemma task done NAME` finishes one")
        });
    }
    Ok(exit)
}

fn task_table(open: &OpenTasks, width: usize) -> String {
    if open.tasks.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[("NAME", Column::Left), ("TASK", Column::Flexible)]);
    for task in &open.tasks {
        table.row(vec![cell(Style::Id, tame(&task.name)), cell(Style::Plain, tame(&task.text))]);
    }
    table.render(width)
}

fn added(app: &App, what: &str, text: &str, done: &Appended) -> Result<Exit, CliError> {
    published(app, done, || format!("Added {what} {}: {}\n", number(&done.last), tame(text)))
}

fn finished(app: &App, verb: &str, done: &Appended) -> Result<Exit, CliError> {
    published(app, done, || format!("{verb}: {}\n", tame(done.finished.as_deref().unwrap_or_default())))
}
