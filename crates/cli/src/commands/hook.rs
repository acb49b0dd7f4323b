//! `hook`: a client's nudge. Never fails the client, and prints only what its agent is to be told.
//!
//! What is captured and what is kept of trouble is the host's; here are standard input, and what the environment says.

use std::io::Read;

use serde_json::json;
use stemmata_service::{HookRequest, clients, drain};

use crate::args::live::Hook;
use crate::commands::start::TEMPLATE_VARIABLE;
use crate::config::{INJECT, is_on};
use crate::environment::Environment;
use crate::errors::{CliError, Exit, with_causes};
use crate::wiring::App;

/// Runs the command. Whatever happens, the client goes on.
pub(crate) fn run(app: &App, args: &Hook) -> Exit {
    if let Err(error) = listen(app, args) {
        tracing::warn!(command = "hook", reason = with_causes(&error), "not all was done");
    }
    Exit::Done
}

/// Does nothing, but for what a client expects even of that: its words are read, else it may stumble over a closed pipe.
pub(crate) fn pass_over(environment: &Environment) -> Exit {
    if !environment.stdin_is_terminal {
        drain(std::io::stdin().lock());
    }
    Exit::Done
}

fn listen(app: &App, args: &Hook) -> Result<(), CliError> {
    let host = app.host().inspect_err(|_| {
        pass_over(&app.environment);
    })?;
    let request = HookRequest {
        runtime: args.runtime.clone(),
        event: args.event.clone(),
        database: app.environment.path(clients::DATABASE.variable),
        template: app.environment.text(TEMPLATE_VARIABLE),
        ticket: app.ticket(None),
        thread: app.thread(None),
        // Off unless somebody said so, for this client or for all.
        briefs: args.inject || app.config.get(&INJECT).is_some_and(|text| is_on(&text)),
        pid: std::process::id(),
    };
    let done = match &args.input {
        Some(text) => host.hook(&request, Some(&mut text.as_bytes())),
        None => with_input(app, |input| host.hook(&request, input)),
    };
    app.say_notes()?;
    let done = done?;
    let (event, commits, background) = (&done.event, done.commits, done.background.len());
    tracing::info!(command = "hook", event, commits, background, "heard");
    let Some(brief) = done.brief else { return Ok(()) };
    tracing::info!(command = "hook", chars = brief.len(), "briefed");
    let printed = app.console.json_line(&json!({
        "hookSpecificOutput": { "hookEventName": done.event, "additionalContext": brief }
    }));
    if let Err(error) = &printed {
        host.keep_trouble(&args.runtime, None, with_causes(error))?;
    }
    printed
}

/// Hands on what a client says; nothing where a person is at the terminal.
pub(crate) fn with_input<T>(app: &App, hear: impl FnOnce(Option<&mut dyn Read>) -> T) -> T {
    let mut input = (!app.environment.stdin_is_terminal).then(|| std::io::stdin().lock());
    hear(input.as_mut().map(|input| input as &mut dyn Read))
}
