//! `decide` and `task`: what a person, or an agent, wants a project to remember.
//!
//! What becomes of it is the reducers'.

use serde_json::{Value, json};
use stemmata_model::{Json, LedgerId, NewEvent, NewPayload, Party, SessionId, topics};
use stemmata_prompt::reduce::memory::v1::{Task as Remembered, TaskStatus};

use crate::args::ledger::{Decide, Task, Which};
use crate::commands::events::{known_ledger, ledger, number, published};
use crate::errors::{CliError, Exit};
use crate::output::style::tame;
use crate::wiring::App;

/// The session of what is said on the command line.
const SESSION: &str = "stemma";

/// Candidates that an error names at most.
const NAMED_MAX: usize = 5;

/// Runs `decide`.
pub(crate) fn run(app: &App, args: &Decide) -> Result<Exit, CliError> {
    let kind = if args.fact { "fact" } else { "decision" };
    let mut data = json!({ "kind": kind, "decision": args.text });
    if let Some(reason) = &args.reason {
        data["reason"] = json!(reason);
    }
    if let Some(superseded) = &args.supersedes {
        check_superseded(app, &known_ledger(app, &args.which)?, superseded)?;
        data["supersedes"] = json!(superseded);
    }
    remember(app, &args.which, (kind, &args.text), &data)
}

/// Refuses what names no decision that still holds, which would replace nothing, or several, which would replace them all.
fn check_superseded(app: &App, ledger: &LedgerId, named: &str) -> Result<(), CliError> {
    let memory = app.engine()?.remember(ledger)?.memory;
    let standing = memory.items.decisions.iter().filter(|one| one.superseded.is_none());
    let meant: Vec<(&str, &str)> = standing
        .filter(|one| one.is_named(named))
        .map(|one| (one.proof.source.as_str(), one.text.as_str()))
        .collect();
    match meant.as_slice() {
        [_] => Ok(()),
        [] => Err(CliError::Usage(format!(
            "no decision that holds is `{}`; `stemma state` shows them with their numbers",
            tame(named)
        ))),
        several => Err(ambiguous(named, "decisions", several)),
    }
}

/// Says which of several things a name may mean, by their numbers and words.
fn ambiguous(named: &str, what: &str, several: &[(&str, &str)]) -> CliError {
    let one = |(source, text): &(&str, &str)| format!("{} `{}`", tame(source), tame(text));
    let mut shown: Vec<String> = several.iter().take(NAMED_MAX).map(one).collect();
    if several.len() > NAMED_MAX {
        shown.push(format!("… and {} more", several.len() - NAMED_MAX));
    }
    CliError::Usage(format!(
        "`{}` may be {} {what}: {}; give what stands before one, or say more of it",
        tame(named),
        several.len(),
        shown.join(", ")
    ))
}

/// Runs `task`.
pub(crate) fn task(app: &App, args: &Task) -> Result<Exit, CliError> {
    match (&args.text, &args.done) {
        (_, Some(done)) => {
            let task = open_task(app, &known_ledger(app, &args.which)?, done)?;
            let mut data = json!({ "kind": "task_done", "decision": task.text });
            if let Some(hash) = &task.hash {
                data["hash"] = json!(hash);
            }
            remember(app, &args.which, ("end of the task", &task.text), &data)
        }
        (Some(text), None) => {
            remember(app, &args.which, ("task", text), &json!({ "kind": "task", "decision": text }))
        }
        (None, None) => super::state::open_tasks(app, &args.which),
    }
}

/// Returns an open task, which ends by its words whatever tool it is from. Its name is surest, then all of its words, then
/// some of them.
fn open_task(app: &App, ledger: &LedgerId, named: &str) -> Result<Remembered, CliError> {
    let memory = app.engine()?.remember(ledger)?.memory;
    let open: Vec<&Remembered> =
        memory.items.tasks.iter().filter(|task| task.status != TaskStatus::Done).collect();
    let words = named.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let is_number = named.bytes().all(|byte| byte.is_ascii_digit());
    let by_name = |task: &Remembered| task.name().eq_ignore_ascii_case(named);
    let by_id = |task: &Remembered| task.id.as_deref() == Some(named) || task.proof.source == named;
    let by_all_words = |task: &Remembered| task.says(&words);
    let by_words = |task: &Remembered| !is_number && task.text.to_lowercase().contains(&words);
    let ways: [&dyn Fn(&Remembered) -> bool; 4] = [&by_name, &by_id, &by_all_words, &by_words];
    let found = ways.into_iter().map(|is_meant| open.iter().copied().filter(|task| is_meant(task)).collect());
    let found: Vec<&Remembered> =
        found.into_iter().find(|some: &Vec<_>| !some.is_empty()).unwrap_or_default();
    match found.as_slice() {
        [task] => Ok((*task).clone()),
        [] => Err(CliError::Usage(format!("no open task is `{}`; `stemma task` shows them", tame(named)))),
        several => {
            let shown: Vec<String> = several.iter().map(|task| task.name()).collect();
            let texts = several.iter().map(|task| task.text.as_str());
            let several: Vec<(&str, &str)> = shown.iter().map(String::as_str).zip(texts).collect();
            Err(ambiguous(named, "tasks", &several))
        }
    }
}

fn remember(app: &App, which: &Which, (kind, text): (&str, &str), data: &Value) -> Result<Exit, CliError> {
    let ledger = ledger(app, which)?;
    let payload = NewPayload::Plain { text: Some(text.to_owned()), data: Some(Json::of(data)) };
    let session = SessionId::new(SESSION).expect("a constant name is a name");
    let sender = Party::new(app.engine()?.identity().user.clone())?;
    let event = NewEvent::new(session, topics::topic(topics::DECISION_EVENT), sender, payload);
    let done = app.engine()?.publish(&ledger, vec![event])?;
    let last = number(done.appended.last);
    published(app, &ledger, &done, &format!("Recorded the {kind} as event {last} of {ledger}\n"))
}
