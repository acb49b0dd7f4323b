//! `decide` and `task`: what a person, or an agent, wants a project to remember.
//!
//! What becomes of it is the reducers'.

use serde_json::{Value, json};
use stemmata_model::{EventSeq, Json, NewEvent, NewPayload, Party, Payload, SessionId, topics};
use stemmata_store::EventQuery;

use crate::args::ledger::{Decide, Task, Which};
use crate::commands::events::{known_ledger, ledger, number, published};
use crate::errors::{CliError, Exit};
use crate::wiring::App;

/// The session of what is said on the command line.
const SESSION: &str = "stemma";

/// Runs `decide`.
pub(crate) fn run(app: &App, args: &Decide) -> Result<Exit, CliError> {
    let kind = if args.fact { "fact" } else { "decision" };
    let mut data = json!({ "kind": kind, "decision": args.text });
    if let Some(reason) = &args.reason {
        data["reason"] = json!(reason);
    }
    if let Some(superseded) = args.supersedes {
        data["supersedes"] = json!(superseded.to_string());
    }
    remember(app, &args.which, (kind, &args.text), &data)
}

/// Runs `task`.
pub(crate) fn task(app: &App, args: &Task) -> Result<Exit, CliError> {
    match (&args.text, args.done) {
        (_, Some(done)) => {
            let text = task_of(app, &args.which, done)?;
            remember(
                app,
                &args.which,
                ("end of the task", &text),
                &json!({ "kind": "task_done", "decision": text }),
            )
        }
        (Some(text), None) => {
            remember(app, &args.which, ("task", text), &json!({ "kind": "task", "decision": text }))
        }
        (None, None) => super::state::open_tasks(app, &args.which),
    }
}

/// Returns the words of the task that an event recorded: by them it ends.
fn task_of(app: &App, which: &Which, seq: EventSeq) -> Result<String, CliError> {
    let ledger = known_ledger(app, which)?;
    let query = EventQuery { through: Some(seq), ..EventQuery::after(EventSeq::new(seq.get() - 1), 1) };
    let event = app.engine()?.log().events(&ledger, &query)?.into_iter().next();
    let words = event.and_then(|event| match event.payload {
        Payload::Plain { data: Some(data), .. } => {
            let data = data.to_value();
            let is_task = data.get("kind").and_then(Value::as_str) == Some("task");
            data.get("decision").and_then(Value::as_str).filter(|_| is_task).map(ToOwned::to_owned)
        }
        Payload::Plain { .. } | Payload::Line { .. } | Payload::Gone(_) => None,
    });
    words.ok_or_else(|| {
        CliError::Usage(format!("event {seq} of {ledger} records no task; `stemma task` shows the open ones"))
    })
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
