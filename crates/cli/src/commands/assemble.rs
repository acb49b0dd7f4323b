//! `assemble`: the prompt of a turn on standard output, what it cost beside it.

use std::path::Path;

use stemmata_api::v1::{
    AssembleRequest, Assembled, PROMPT_FILE_BYTES_MAX, PromptTrigger, StrategySource, TraceDetail,
};
use stemmata_api::{Code, Problem, RawJson};
use stemmata_service::MakeLedger;

use crate::args::prompts::{Assemble, PromptArgs};
use crate::commands::events::ledger;
use crate::commands::read_input;
use crate::commands::start::in_file;
use crate::errors::{CliError, Exit};
use crate::output::Console;
use crate::output::file::Target;
use crate::wiring::App;

/// Says on standard error what a prompt cost. The second name is seed 000's.
const METRICS: [&str; 2] = ["STEMMATA_CONTEXT_METRICS", "ZEROSHOT_CONTEXT_METRICS"];

/// Says it in the ledger.
const METRICS_LEDGER: [&str; 2] = ["STEMMATA_CONTEXT_METRICS_LEDGER", "ZEROSHOT_CONTEXT_METRICS_LEDGER"];

/// Runs the command.
pub(crate) fn run(app: &App, args: &Assemble) -> Result<Exit, CliError> {
    let (says, records_metrics) = metrics(app);
    let request = AssembleRequest { records_metrics, ..request(app, &args.prompt)? };
    let made = app.service()?.assemble(&request).map_err(|problem| in_its_file(&args.prompt, problem))?;
    app.console.notes(&made.notes);
    if says {
        say_metrics(app, &made);
    }
    if app.console.json {
        app.console.json(&made)?;
        return Ok(Exit::Done);
    }
    // Byte for byte where a program reads it.
    let standard_output = Target::of(Path::new("-"));
    standard_output
        .write(&app.temp_files(), |out| out.write_all(made.prompt.as_bytes()).map_err(CliError::Output))?;
    Ok(Exit::Done)
}

/// Names the file of a strategy or a profile that is wrong: the service gets its text alone.
pub(crate) fn in_its_file(args: &PromptArgs, problem: Box<Problem>) -> Box<Problem> {
    let files = [(Code::StrategyBad, &args.strategy), (Code::ProfileBad, &args.profile)];
    let file = files.into_iter().find(|(code, _)| problem.is(*code)).and_then(|(_, file)| file.as_deref());
    let Some(file) = file else { return problem };
    let file = if file == "-" { "standard input" } else { file };
    Box::new(Problem { detail: format!("{file}: {}", problem.detail), ..*problem })
}

/// Says whether what prompts cost goes to standard error, and whether it goes into the ledger.
pub(crate) fn metrics(app: &App) -> (bool, bool) {
    (is_set(app, METRICS), is_set(app, METRICS_LEDGER))
}

/// Says what a prompt cost, also where notes are left out: it was asked for.
pub(crate) fn say_metrics(app: &App, made: &Assembled) {
    let metrics = made.metrics.as_ref().map_or("{}", RawJson::as_str);
    Console::plain_error(&format!("[ContextMetrics] {metrics}"), app.console.err);
}

/// Says whether one of these variables is `1` or `true`; the first that is set decides.
fn is_set(app: &App, names: [&str; 2]) -> bool {
    let set = names.iter().find_map(|name| app.environment.text(name));
    set.is_some_and(|text| crate::config::is_on(&text))
}

/// Returns what asks for a prompt.
pub(crate) fn request(app: &App, args: &PromptArgs) -> Result<AssembleRequest, CliError> {
    let templates = app.config.templates();
    let template = args.template.as_deref();
    let agent = template.map(|name| app.host()?.agent(templates, name).map_err(CliError::from));
    let agent = agent.transpose()?;
    if let (Some(name), Some(agent), None) = (template, &agent, &args.model) {
        say_unknown_model(app, name, agent.unknown_model.as_deref());
    }
    let (own_strategy, own_profile, own_model) =
        agent.map_or((None, None, None), |agent| (agent.strategy, agent.profile, agent.model));
    let strategy = match &args.strategy {
        Some(name) => strategy(app, name)?,
        None => own_strategy.ok_or_else(|| {
            CliError::Usage(match template {
                Some(template) => {
                    format!("template `{template}` names no strategy; name one with `--strategy`")
                }
                None => "name what the prompt is made of: `--strategy`, or `--template`".to_owned(),
            })
        })?,
    };
    let profile = match &args.profile {
        Some(name) if is_path(app, name) => Some(text(app, name)?),
        Some(name) => Some(app.host()?.profile(templates, name).map_err(|problem| in_file(app, problem))?),
        None => own_profile,
    };
    if args.say.as_ref().is_some_and(|said| said.trim().is_empty()) {
        return Err(CliError::Usage("`--say` is empty: say what the user says, or leave it out".to_owned()));
    }
    let event = args.trigger.map(PromptTrigger::Event);
    Ok(AssembleRequest {
        ledger: ledger(app, &args.which, MakeLedger::Looked)?,
        session: args.session.clone(),
        strategy,
        profile,
        agent: args.agent.clone(),
        trigger: event.or_else(|| args.say.clone().map(PromptTrigger::Said)),
        max_tokens: args.max_tokens,
        counter: args.counter.clone(),
        model: args.model.clone().or(own_model),
        after: args.after,
        through: args.through,
        task: None,
        iteration: args.iteration,
        records_metrics: false,
        trace: Some(TraceDetail::Full),
        messages: None,
    })
}

/// Says that a template's model is not known, so that its tokens are estimated and no window is taken from it.
pub(crate) fn say_unknown_model(app: &App, template: &str, model: Option<&str>) {
    let note = model.map(|model| {
        format!(
            "the model `{model}` of template `{template}` is not known: tokens are estimated; a full name such as \
             `claude-opus-4-5` is counted"
        )
    });
    app.console.notes(note.as_slice());
}

fn strategy(app: &App, name: &str) -> Result<StrategySource, CliError> {
    if is_path(app, name) {
        return Ok(StrategySource::Text(text(app, name)?));
    }
    Ok(StrategySource::Name(name.to_owned()))
}

/// Says whether an argument is a file: what has an ending or a folder, and what is there.
pub(crate) fn is_path(app: &App, name: &str) -> bool {
    name == "-" || name.contains(['/', '.']) || app.environment.absolute(Path::new(name)).is_file()
}

/// Reads a strategy or a profile.
pub(crate) fn text(app: &App, name: &str) -> Result<String, CliError> {
    let path =
        if name == "-" { Path::new(name).to_owned() } else { app.environment.absolute(Path::new(name)) };
    let bytes = read_input(&path, PROMPT_FILE_BYTES_MAX)?;
    String::from_utf8(bytes).map_err(|error| CliError::io("read", &path, std::io::Error::other(error)))
}
