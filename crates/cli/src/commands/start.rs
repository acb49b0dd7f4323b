//! `start`: an agent of a configured kind, with a context or none.
//!
//! Fresh, resumed and forked are one operation with different contexts.

use stemmata_api::v1;
use stemmata_engine::StartMode;
use stemmata_model::CommitId;

use crate::args::give::Placement;
use crate::args::live::Start;
use crate::commands::launch::Launch;
use crate::commands::place;
use crate::commands::run::SESSION_VARIABLE;
use crate::errors::{CliError, Exit};
use crate::wiring::App;
use stemmata_service::wire;

/// What the client's environment calls the kind of agent: our hooks record it.
pub(crate) const TEMPLATE_VARIABLE: &str = "STEMMATA_TEMPLATE";

/// Runs the command.
pub(crate) fn run(app: &App, args: &Start) -> Result<Exit, CliError> {
    let (alias, template) = app
        .config
        .templates()
        .parse(&args.template)
        .map_err(|error| CliError::Config { place: file(app), reason: error.reason })?;
    let context = args.context.as_deref().filter(|context| *context != "none");
    let context = context.map(|reference| place::newest(app, reference)).transpose()?;
    // Said before anything is placed.
    template.command_line(None, &args.extra).map_err(|error| CliError::Config {
        place: file(app),
        reason: format!("template `{alias}`: {error}"),
    })?;
    let mode = match context {
        Some(_) => app.engine()?.start_mode(context)?,
        None => StartMode::Fresh,
    };
    let placed = context.map(|ctx| placed(app, args, ctx, &template.runtime)).transpose()?;
    let resume = placed.as_ref().map(|placed| placed.resume_command.as_slice());
    let words =
        template.command_line(resume, &args.extra).map_err(|error| CliError::Usage(error.to_string()))?;
    let cwd = args
        .cwd
        .as_deref()
        .map_or_else(|| app.environment.current_dir.clone(), |cwd| app.environment.absolute(cwd));
    if !cwd.is_dir() {
        return Err(CliError::Usage(format!("{} is no directory to work in", cwd.display())));
    }
    let mut variables = vec![(TEMPLATE_VARIABLE, alias.to_string())];
    variables.extend(placed.as_ref().map(|placed| (SESSION_VARIABLE, placed.session.to_string())));
    let import = placed.as_ref().and_then(|placed| placed.import_command.clone());
    let launch = Launch { words, cwd, variables, import };
    if app.console.json {
        app.console.json(&v1::Started {
            template: alias.to_string(),
            runtime: template.runtime.clone(),
            mode: mode.as_str().to_owned(),
            command: launch.words.clone(),
            cwd: launch.cwd.to_string_lossy().into_owned(),
            placed: placed.as_ref().map(wire::context::placed),
        })?;
        return Ok(Exit::Done);
    }
    if let Some(placed) = &placed {
        app.console.notes(&placed.notes);
        place::say_prompt(app, placed);
    }
    if args.print {
        app.console.text(&format!("{}\n", launch.shown(app)))?;
        return Ok(Exit::Done);
    }
    let begun = match mode {
        StartMode::Fresh => "Starting afresh",
        StartMode::Resume => "Resuming",
        StartMode::Fork => "Forking",
    };
    app.console.say(&format!("{begun} as `{alias}`: `{}`", launch.shown(app)));
    launch.start(app)
}

fn placed(
    app: &App,
    args: &Start,
    ctx: CommitId,
    runtime: &str,
) -> Result<stemmata_engine::Placed, CliError> {
    let placement = Placement {
        at: args.at.clone(),
        stop: "compaction".to_owned(),
        cwd: args.cwd.clone(),
        runtime: Some(runtime.to_owned()),
        client_version: None,
        with_secrets: false,
    };
    place::place(app, ctx, &placement)
}

fn file(app: &App) -> String {
    app.config.file().map(|path| path.display().to_string()).unwrap_or_default()
}
