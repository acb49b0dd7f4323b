//! `search`: finds what was said, and goes on from it.

mod screen;

use stemmata_api::v1::{SearchFilter, SearchForm, SearchHits, SearchRequest};
use stemmata_api::{Code, Control, Problem};

use crate::args::give::{Fork, Placement, Resume};
use crate::args::search::Search;
use crate::commands::{fork, resume};
use crate::errors::{CliError, Exit};
use crate::output::style::Style;
use crate::output::time;
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Search) -> Result<Exit, CliError> {
    if (args.print) && !(args.resume || args.fork) {
        return Err(CliError::Usage("`--print` belongs to `--resume` or `--fork`".to_owned()));
    }
    let request = request(app, args)?;
    let found = app.service()?.search(&request, &Control::none())?;
    if args.resume || args.fork {
        return go_on(app, args, &found);
    }
    if !app.console.json {
        app.console.notes(&found.notes);
    }
    if found.hits.is_empty() && !app.console.json {
        nothing(app, &request);
        return Ok(Exit::Done);
    }
    let exit = app.answer(&found, || screen::shown(app, &found))?;
    if !app.console.json {
        screen::say_how_to_go_on(app, &found)?;
    }
    Ok(exit)
}

fn request(app: &App, args: &Search) -> Result<SearchRequest, CliError> {
    let here = args.here.then(|| app.environment.current_dir.clone());
    let projects = args.project.iter().map(|project| app.environment.absolute(project)).chain(here);
    let since = args.since.as_deref().map(|text| since(text, app)).transpose()?;
    Ok(SearchRequest {
        text: args.words.join(" "),
        form: match (args.literal, args.regex) {
            (true, _) => SearchForm::Literal,
            (_, true) => SearchForm::Regex,
            (false, false) => SearchForm::Words,
        },
        filter: SearchFilter {
            client: args.client.clone(),
            role: args.role.clone(),
            project: projects.map(|path| path.to_string_lossy().into_owned()).collect(),
            branch: args.branch.clone(),
            file: args.file.clone(),
            kind: args.kind.clone(),
            since,
            session: args.session.clone(),
            no_tool_output: args.no_tool_output,
        },
        limit: if args.resume || args.fork { Some(1) } else { args.limit },
        settle_ms: None,
    })
}

/// Reads when entries begin to count: a day is its first moment.
fn since(text: &str, app: &App) -> Result<String, CliError> {
    let is_day = text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let day = format!("{text}T00:00:00Z");
    let at = time::parse(if is_day { &day } else { text }, app.now())?;
    Ok(at.to_string())
}

/// Goes on from the best hit.
fn go_on(app: &App, args: &Search, found: &SearchHits) -> Result<Exit, CliError> {
    let Some(ctx) = found.hits.iter().find_map(|hit| hit.ctx.clone()) else {
        let what = format!("nothing that was captured matches `{}`", args.words.join(" "));
        return Err(CliError::Problem(Box::new(Problem::new(Code::ReferenceNotFound, what))));
    };
    let placement = Placement {
        at: None,
        stop: "compaction".to_owned(),
        cwd: None,
        runtime: None,
        client_version: None,
        with_secrets: false,
    };
    if args.fork {
        return fork::run(app, &Fork { reference: ctx, print: args.print, placement });
    }
    resume::run(app, &Resume { reference: Some(ctx), last: false, print: args.print, placement })
}

/// Says that nothing was found, and what to try.
fn nothing(app: &App, request: &SearchRequest) {
    app.console.say("Nothing found.");
    let hint = Style::Hint.paint("hint");
    let next = if request.filter != SearchFilter::all() {
        "fewer filters search more"
    } else if request.form == SearchForm::Words {
        "`--literal` looks for the text as it is; `stemma import` reads the sessions of this machine"
    } else {
        "without `--literal` or `--regex` words are found in all their forms"
    };
    app.console.say(&format!("{hint}: {next}"));
}
