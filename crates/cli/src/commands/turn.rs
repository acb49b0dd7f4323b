//! `turn`: turns of one's own loop, for programs that are not written in Rust. JSON goes in, JSON comes out.

use std::path::Path;

use serde::de::DeserializeOwned;
use stemmata_api::read_request;
use stemmata_api::v1::{
    BeginTurnRequest, MarkTurnEntriesRequest, RecoverTurnRequest, TURN_BYTES_MAX, TraceDetail,
    TurnMadeRequest, TurnOf, TurnPrompt, TurnWindowRequest,
};
use stemmata_model::json_text;
use stemmata_service::MakeLedger;

use crate::args::prompts::{Turn, TurnArgs, TurnCommand};
use crate::commands::events::ledger;
use crate::commands::{assemble, read_input};
use crate::errors::{CliError, Exit};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Turn) -> Result<Exit, CliError> {
    match &args.command {
        TurnCommand::Begin(args) => begin(app, args),
        TurnCommand::Step(args) => {
            let request = made(app, args)?;
            app.console.json(&app.service()?.step(&request)?)?;
            Ok(Exit::Done)
        }
        TurnCommand::End(args) => {
            let request = made(app, args)?;
            app.console.json(&app.service()?.end_turn(&request)?)?;
            Ok(Exit::Done)
        }
        TurnCommand::Window(args) => {
            let mut request: TurnWindowRequest = no_prompt(args).and_then(|()| input(app))?;
            request.turn = filled(app, args, request.turn)?;
            app.console.json(&app.service()?.turn_window(&request)?)?;
            Ok(Exit::Done)
        }
        TurnCommand::Recover(args) => {
            let mut request: RecoverTurnRequest = no_prompt(args).and_then(|()| input(app))?;
            request.turn = filled(app, args, request.turn)?;
            app.console.json(&app.service()?.recover_turn(&request)?)?;
            Ok(Exit::Done)
        }
        TurnCommand::Rehydrate(args) => mark(app, args, "rehydrate"),
        TurnCommand::Pin(args) => mark(app, args, "pin"),
        TurnCommand::Unpin(args) => mark(app, args, "unpin"),
    }
}

fn begin(app: &App, args: &TurnArgs) -> Result<Exit, CliError> {
    let mut request: BeginTurnRequest = input(app)?;
    request.turn = filled(app, args, request.turn)?;
    if let (None, Some(name)) = (&request.prompt, &args.template) {
        let agent = app.host()?.agent(app.config.templates(), name)?;
        let strategy = agent.strategy.ok_or_else(|| {
            CliError::Usage(format!(
                "template `{name}` names no strategy; give it one, or leave `--template` out to begin the turn without a prompt"
            ))
        })?;
        assemble::say_unknown_model(app, name, agent.unknown_model.as_deref());
        request.prompt = Some(TurnPrompt {
            strategy,
            profile: agent.profile,
            max_tokens: None,
            counter: None,
            model: agent.model,
            after: None,
            iteration: None,
            records_metrics: false,
            trace: None,
        });
    }
    let (says, records) = assemble::metrics(app);
    if let Some(prompt) = &mut request.prompt {
        prompt.records_metrics |= records;
        // A person reads along: all of it, unless the request says otherwise. Metrics are made of it.
        prompt.trace = prompt.trace.filter(|_| !says).or(Some(TraceDetail::Full));
    }
    let begun = app.service()?.begin_turn(&request)?;
    if let Some(prompt) = begun.prompt.as_ref().filter(|_| says) {
        assemble::say_metrics(app, prompt);
    }
    app.console.json(&begun)?;
    Ok(Exit::Done)
}

fn mark(app: &App, args: &TurnArgs, mark: &str) -> Result<Exit, CliError> {
    let mut request: MarkTurnEntriesRequest = no_prompt(args).and_then(|()| input(app))?;
    request.turn = filled(app, args, request.turn)?;
    request.mark = Some(mark.to_owned());
    app.console.json(&app.service()?.mark_turn_entries(&request)?)?;
    Ok(Exit::Done)
}

fn no_prompt(args: &TurnArgs) -> Result<(), CliError> {
    match args.template {
        Some(_) => {
            Err(CliError::Usage("`--template` is for `turn begin`, which makes the prompt".to_owned()))
        }
        None => Ok(()),
    }
}

fn made(app: &App, args: &TurnArgs) -> Result<TurnMadeRequest, CliError> {
    let mut request: TurnMadeRequest = no_prompt(args).and_then(|()| input(app))?;
    request.turn = filled(app, args, request.turn)?;
    Ok(request)
}

/// Fills in what the surroundings know: the ledger of this directory's project, and the names of the environment.
fn filled(app: &App, args: &TurnArgs, turn: TurnOf) -> Result<TurnOf, CliError> {
    let ledger = match turn.ledger {
        Some(ledger) => ledger,
        None => ledger(app, &args.which, MakeLedger::Always)?,
    };
    Ok(TurnOf {
        ledger: Some(ledger),
        thread: turn.thread.or_else(|| app.thread(None)),
        ticket: turn.ticket.or_else(|| app.ticket(None)),
        ..turn
    })
}

fn input<T: DeserializeOwned>(app: &App) -> Result<T, CliError> {
    // Nobody types JSON, and waiting for it would look like hanging.
    if app.environment.stdin_is_terminal {
        return Err(CliError::Usage("`turn` reads its request as JSON from standard input".to_owned()));
    }
    let bytes = read_input(Path::new("-"), TURN_BYTES_MAX)?;
    if bytes.trim_ascii().is_empty() {
        let reason =
            "`turn` expects a JSON object on standard input, which is empty: docs/guide/prompts.md shows one";
        return Err(CliError::Usage(reason.to_owned()));
    }
    // Some editors and shells begin a text with a byte order mark.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    // A tool may print what is not of Unicode, and a harness may cut it within a character: it is stored all the same.
    read_request(json_text(bytes).as_bytes()).map_err(|problem| {
        if problem.about.contains_key("field") {
            return CliError::from(problem);
        }
        CliError::Usage(format!("standard input cannot be read as the request of a turn: {}", problem.detail))
    })
}
