//! `search`: finds what was said, and goes on from it.

mod pick;
pub(crate) mod progress;
mod screen;

pub(crate) use screen::matched_line;

use stemmata_api::v1::{
    HITS_DEFAULT, HITS_MAX, NOTHING_IMPORTED, SearchFilter, SearchForm, SearchHits, SearchRequest,
};
use stemmata_api::{Code, Problem, read_field};

use crate::args::browse::{AROUND_DEFAULT, Show};
use crate::args::give::{Fork, Placement, Resume};
use crate::args::search::Search;
use crate::commands::{fork, here, project, resume, show};
use crate::errors::{CliError, Exit};
use crate::output::time;
use crate::pick::Act;
use crate::wiring::App;

/// Codes of notes that say what to do where nothing was found.
const SAYS_WHY: [&str; 3] = [NOTHING_IMPORTED, "filters_exclude", "session_unknown"];

/// Codes of notes, beside those about the index, that say that not all was searched.
const SEARCHED_IN_PART: [&str; 3] = ["scan_cut", "checked_cut", "content_damaged"];

/// Runs the command.
pub(crate) fn run(app: &App, args: &Search) -> Result<Exit, CliError> {
    let may_pick = app.takes_keys();
    if args.pick && !may_pick {
        return Err(CliError::Usage("`--pick` needs a terminal to read keys from and to draw on".to_owned()));
    }
    let picks = args.pick || (args.words.is_empty() && may_pick);
    let goes_on = args.resume || args.fork || picks;
    for (flag, is_given) in [("--print", args.print), ("--in", args.runtime.is_some())] {
        if is_given && !goes_on {
            let belongs = format!("`{flag}` belongs to `--resume`, `--fork` or `--pick`");
            return Err(CliError::Usage(belongs));
        }
    }
    let request = request(app, args)?;
    if picks {
        return pick::run(app, args, request);
    }
    let found = progress::watched(app, |control| Ok(app.service()?.search(&request, control)?))?;
    if !app.console.json {
        app.console.notes(&found.notes);
    }
    if args.resume || args.fork {
        return go_on(app, args, found);
    }
    if found.hits.is_empty() && !app.console.json {
        nothing(app, &request, &found);
        return Ok(Exit::Done);
    }
    let exit = app.answer(&found, || screen::shown(app, &found))?;
    if !app.console.json {
        let limit = match request.limit {
            None => HITS_DEFAULT,
            Some(0) => HITS_MAX,
            Some(limit) => limit,
        };
        screen::say_how_to_go_on(app, &found, limit)?;
    }
    Ok(exit)
}

fn request(app: &App, args: &Search) -> Result<SearchRequest, CliError> {
    let here = args.here.then(|| here(app));
    let since = args.since.as_deref().map(|text| time::parse(text, app.now())).transpose()?;
    let until = args.until.as_deref().map(|text| time::parse_end(text, app.now())).transpose()?;
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
            project: args.project.iter().map(|text| project(app, text)).chain(here).collect(),
            branch: args.branch.clone(),
            file: args.file.clone(),
            kind: args.kind.clone(),
            since,
            until,
            session: args.session.clone(),
            no_tool_output: args.no_tool_output,
        },
        limit: args.limit,
        is_unfinished: false,
        settle_ms: None,
    })
}

/// Goes on from the best hit.
fn go_on(app: &App, args: &Search, found: SearchHits) -> Result<Exit, CliError> {
    // An event of a ledger belongs to no session that a client could go on with.
    let best = found.hits.iter().find_map(|hit| Some((hit.ctx?, hit.clone())));
    let Some((ctx, hit)) = best else {
        let what = if args.words.is_empty() {
            "no session has an entry that passes the filters".to_owned()
        } else {
            format!("no session has an entry that matches `{}`", args.words.join(" "))
        };
        return Err(CliError::Problem(Box::new(Problem::new(Code::ReferenceNotFound, what))));
    };
    let entry = hit.entry.clone();
    if !app.console.json {
        let hits = SearchHits { hits: vec![hit], ..found };
        app.console.say(screen::shown(app, &hits)?.trim_end());
    }
    act(app, args, if args.fork { Act::Fork } else { Act::Resume }, (ctx.to_string(), Some(entry)))
}

/// Shows a session or commit that was chosen, around an entry where one is given.
pub(crate) fn show(app: &App, reference: String, entry: Option<String>) -> Result<Exit, CliError> {
    let around = AROUND_DEFAULT;
    let args = Show {
        reference,
        entry,
        around,
        full: false,
        verbose: false,
        prompts: false,
        meta: false,
        entries: false,
        max_tokens: None,
    };
    show::run(app, &args)
}

/// Resumes a session or commit that was chosen, as without flags.
pub(crate) fn resume(app: &App, reference: String) -> Result<Exit, CliError> {
    let placement = plain_placement(None, None);
    resume::run(
        app,
        &Resume { reference: Some(reference), last: false, print: false, copy: false, placement },
    )
}

/// Forks a session or commit that was chosen, as without flags.
pub(crate) fn fork(app: &App, reference: String) -> Result<Exit, CliError> {
    fork::run(app, &Fork { reference, print: false, placement: plain_placement(None, None) })
}

fn plain_placement(at: Option<String>, runtime: Option<String>) -> Placement {
    Placement {
        at,
        stop: "compaction".to_owned(),
        here: false,
        dry_run: false,
        cwd: None,
        runtime,
        client_version: None,
    }
}

/// Runs the chosen command on the hit: `show`, `resume` or `fork`. A fork ends at the entry. `resume` keeps the whole turn, because a
/// person who finds their prompt also wants the answer to it.
fn act(
    app: &App,
    args: &Search,
    act: Act,
    (reference, entry): (String, Option<String>),
) -> Result<Exit, CliError> {
    let print = args.print;
    // What is on another branch is in no session that goes on behind the turn.
    let is_beside = match &entry {
        Some(entry) if act == Act::Resume => screen::is_beside(app, read_field("ctx", &reference)?, entry)?,
        _ => false,
    };
    let at = entry.clone().filter(|_| act == Act::Fork || is_beside);
    let placement = Placement { cwd: args.cwd.clone(), ..plain_placement(at, args.runtime.clone()) };
    match act {
        Act::Show => show(app, reference, entry),
        Act::Resume => {
            if entry.is_some() && !app.console.json {
                let ctx = read_field("ctx", &reference)?;
                let ctx = app.short_ids([ctx])?.cut(ctx);
                app.console.say(&if is_beside {
                    "This is on a branch that was left: the new session ends with the hit.".to_owned()
                } else {
                    format!(
                        "The new session continues after the turn with this hit ({ctx}), without what was said later."
                    )
                });
            }
            resume::run(
                app,
                &Resume { reference: Some(reference), last: false, print, copy: false, placement },
            )
        }
        Act::Fork => {
            let fork = Fork { reference, print, placement };
            match fork::run(app, &fork) {
                // Before the first prompt there is nothing to go on from: its turn is kept then.
                Err(CliError::Problem(problem)) if problem.is(Code::ForkBeforeFirst) => {
                    if !app.console.json {
                        app.console.say("This is the first prompt of its session: the fork keeps its turn.");
                    }
                    let placement = Placement { at: None, ..fork.placement };
                    fork::run(app, &Fork { placement, ..fork })
                }
                done => done,
            }
        }
    }
}

/// Says that nothing was found, and what to try.
fn nothing(app: &App, request: &SearchRequest, found: &SearchHits) {
    let is_in_part = |code: &str| code.starts_with("index_") || SEARCHED_IN_PART.contains(&code);
    if found.notes.iter().any(|note| is_in_part(note.code.as_str())) {
        // The notes say what was not searched, and what to do about it.
        app.console.say("Nothing found in what was searched.");
        return;
    }
    app.console.say("Nothing found.");
    if found.notes.iter().any(|note| SAYS_WHY.contains(&note.code.as_str())) {
        return;
    }
    let next = match request.form {
        SearchForm::Words => {
            "`--literal` searches for the text as it is; `stemma import` reads what clients wrote since"
        }
        _ if request.filter != SearchFilter::all() => "fewer filters search more",
        SearchForm::Literal | SearchForm::Regex => {
            "without `--literal` or `--regex` words are found in all their forms"
        }
    };
    app.console.hint(next);
}
