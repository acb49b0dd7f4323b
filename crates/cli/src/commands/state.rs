//! `state` and `replay`: what is known of a project, and how it came to be known.
//!
//! What is remembered, and from what, is the engine's.

use stemmata_api::Control;
use stemmata_api::v1::{self, ReplayRequest, StateRequest};
use stemmata_service::MakeLedger;

use crate::args::ledger::{Replay, State};
use crate::commands::events::ledger;
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::size::many;
use crate::output::style::{Style, tame};
use crate::wiring::App;

/// Characters of a state for people at most: some screens.
const TEXT_CHARS_MAX: u64 = 24_000;

/// Runs `state`.
pub(crate) fn run(app: &App, args: &State) -> Result<Exit, CliError> {
    let request = StateRequest {
        ledger: ledger(app, &args.which, MakeLedger::Looked)?,
        at: args.at.map(|at| at.to_string()),
        text_chars_max: (!app.console.json).then_some(TEXT_CHARS_MAX),
    };
    let state = app.service()?.state(&request)?;
    app.answer(&state, || {
        app.console.notes(&state.notes);
        Ok(told(app, &state))
    })
}

fn told(app: &App, state: &v1::State) -> String {
    let events = many(counted(&state.through), "event");
    let sources = match state.transcripts {
        0 => events,
        transcripts => format!("{events} and {}", many(transcripts, "captured session")),
    };
    let name = name(app, state.ledger.as_str(), state.root.as_deref());
    let mut text = format!("{name}  {}\n", Style::Faint.paint(&sources));
    if let Some(said) = &state.snapshot_text {
        put!(text, "\n{}\n", tamed(said));
    }
    let memory = state.text.as_deref().unwrap_or_default();
    if memory.trim().is_empty() {
        text.push_str("\nNothing is known yet: no decision, task, file or error.\n");
    } else {
        put!(text, "\n{}\n", tamed(memory.trim_end()));
    }
    text
}

/// Returns what people call a ledger: the place of its project, or its id.
pub(crate) fn name(app: &App, ledger: &str, root: Option<&str>) -> String {
    let name = root.map_or_else(|| ledger.to_owned(), |root| app.environment.shown(root.as_ref()));
    Style::Strong.paint(&tame(&name))
}

/// Returns the number of a ledger's last event, which is how many it has.
pub(crate) fn counted(number: &str) -> u64 {
    number.parse().unwrap_or(0)
}

/// Keeps the lines of a text and nothing else that a terminal would obey.
fn tamed(text: &str) -> String {
    text.lines().map(tame).collect::<Vec<_>>().join("\n")
}

/// Runs `replay`.
pub(crate) fn replay(app: &App, args: &Replay) -> Result<Exit, CliError> {
    let ledger = ledger(app, &args.which, MakeLedger::Never)?;
    let request = ReplayRequest { ledger, check: args.check };
    let replayed = app.service()?.replay(&request, &Control::none())?;
    let done = app.answer(&replayed, || Ok(compared(app, &replayed, args.check)))?;
    Ok(if replayed.same || !args.check { done } else { Exit::Corrupt })
}

fn compared(app: &App, replayed: &v1::Replayed, check: bool) -> String {
    let mut text = String::new();
    for one in &replayed.reducers {
        let verdict = verdict(one.same, check);
        put!(
            text,
            "{:<17} {} folded again, {}\n",
            one.name,
            many(counted(&replayed.through), "event"),
            match counted(&one.saved_through) {
                0 => "and no saved state to compare with".to_owned(),
                through => format!("the saved state was at {through}: {verdict}"),
            }
        );
        app.console.notes(&one.notes);
    }
    let transcripts = &replayed.transcripts;
    if transcripts.sessions > 0 {
        let verdict = verdict(transcripts.different.is_empty(), check);
        let sessions = many(transcripts.sessions, "captured session");
        put!(text, "{:<17} {sessions} folded again: {verdict}\n", "transcripts");
        for session in &transcripts.different {
            put!(text, "  {}\n", tame(session));
        }
    }
    app.console.notes(&transcripts.notes);
    text
}

fn verdict(same: bool, check: bool) -> String {
    match (same, check) {
        (true, _) => Style::Good.paint("the same"),
        (false, true) => Style::Error.paint("differs"),
        (false, false) => Style::Warning.paint("differed; saved again"),
    }
}
