//! `start`: an agent of a configured kind, with a context or none.
//!
//! Fresh, resumed and forked are one operation with different contexts.

use std::path::PathBuf;

use stemmata_api::{Code, Control, Problem};
use stemmata_service::{StartFrom, StartRequest};

use crate::args::live::Start;
use crate::commands::launch::Launch;
use crate::commands::place::{self, Target};
use crate::environment::SESSION_VARIABLE;
use crate::errors::{CliError, Exit};
use crate::wiring::{App, THREAD_VARIABLE, TICKET_VARIABLE};

/// What the client's environment calls the kind of agent: our hooks record it.
pub(crate) const TEMPLATE_VARIABLE: &str = "STEMMATA_TEMPLATE";

/// Runs the command.
pub(crate) fn run(app: &App, args: &Start) -> Result<Exit, CliError> {
    let context = args.context.as_deref().filter(|context| *context != "none");
    let from = match context {
        None => None,
        Some(reference) => {
            let found = place::found_newest(app, reference)?;
            let Target { ctx, at, .. } = Target::of(app, found, args.at.as_deref());
            Some(StartFrom { service: app.service()?, ctx, at })
        }
    };
    let request = StartRequest {
        templates: app.config.templates(),
        template: args.named.clone().or_else(|| args.template.clone()).unwrap_or_default(),
        from,
        cwd: place::cwd(app, args.cwd.as_deref()),
        extra: args.extra.clone(),
        starts: !args.print && (args.dry_run || !app.console.json),
        dry_run: args.dry_run,
    };
    let started = app.host()?.start(&request, &Control::none()).map_err(|problem| in_file(app, problem))?;
    let placed = started.placed.as_ref();
    if let Some(placed) = placed {
        place::say_losses(app, placed.losses.as_ref(), placed.messages);
    }
    if app.console.json {
        app.console.json(&started)?;
        return Ok(Exit::Done);
    }
    let mut variables = vec![(TEMPLATE_VARIABLE, started.template.clone())];
    variables.extend(app.ticket(args.ticket.as_ref()).map(|ticket| (TICKET_VARIABLE, ticket.to_string())));
    variables.extend(app.thread(args.thread.as_ref()).map(|thread| (THREAD_VARIABLE, thread.to_string())));
    variables.extend(placed.map(|placed| (SESSION_VARIABLE, placed.session_id.to_string())));
    let launch = Launch {
        words: started.command.clone(),
        cwd: PathBuf::from(&started.cwd),
        variables,
        import: placed.and_then(|placed| placed.import_command.clone()),
    };
    app.console.notes(&started.notes);
    if let Some(placed) = placed {
        app.console.notes(&placed.notes);
        place::say_prompt(app, placed);
    }
    if args.dry_run {
        match placed {
            Some(placed) => place::say_plan(app, placed, &launch.shown(app))?,
            None => app.console.text(&format!("Would start `{}`\n", launch.shown(app)))?,
        }
        return Ok(Exit::Done);
    }
    if args.print {
        app.console.text(&format!("{}\n", launch.shown(app)))?;
        return Ok(Exit::Done);
    }
    let begun = match started.mode.as_str() {
        "fresh" => "Starting without a context",
        "resume" => "Resuming",
        _ => "Forking",
    };
    app.console.say(&format!("{begun} as `{}`: `{}`", started.template, launch.shown(app)));
    launch.start(app)
}

/// Says of a template that cannot be meant so which file it is in.
pub(crate) fn in_file(app: &App, problem: Box<Problem>) -> Box<Problem> {
    let file = app.config.file().filter(|_| problem.is(Code::ConfigBad));
    let Some(file) = file else { return problem };
    Box::new(Problem { detail: format!("{}: {}", file.display(), problem.detail), ..*problem })
}
