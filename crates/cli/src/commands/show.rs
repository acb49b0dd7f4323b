//! `show`: a turn as a person reads it, a session at a glance, or what the store knows of a commit.

pub(crate) mod around;
mod meta;
mod session;
mod turn;

use stemmata_api::v1::{
    Commit, FoundRange, OverviewRequest, SHOWN_TURNS_MAX, SessionOverview, ShowRequest, ShowTurnRequest,
    ShowTurnsRequest, ShownTurn,
};
use stemmata_api::{Code, Problem};

use crate::args::browse::Show;
use crate::commands::launch::quoted;
use crate::errors::{CliError, Exit};
use crate::wiring::App;
use stemmata_model::CommitId;

/// What a reference of `show` means.
enum Meant {
    /// A session, with its newest commit.
    Session(CommitId, Box<SessionOverview>),
    /// A commit.
    Commit(String),
    /// The turn of a numbered prompt, in the chain that ends at a commit.
    Turn(String, u64),
    /// Those of a range of prompts.
    Turns(String, FoundRange),
}

/// Runs the command.
pub(crate) fn run(app: &App, args: &Show) -> Result<Exit, CliError> {
    if args.entry.is_some() {
        return around::run(app, args);
    }
    if args.meta || args.entries {
        return table(app, args);
    }
    match meant(app, &args.reference)? {
        Meant::Session(tip, overview) => {
            let commit = commit(app, tip)?;
            let shown = Commit { overview: Some(overview), ..commit };
            let exit = app.answer(&shown, || session::render(app, args, &shown))?;
            hint_at_turns(app, args, &shown);
            Ok(exit)
        }
        Meant::Commit(ctx) => {
            let turn = app.service()?.turn(&ShowTurnRequest { ctx, prompt: None, full: args.full })?;
            shown(app, args, turn, None)
        }
        Meant::Turn(ctx, number) => {
            let turn = turn_of(app, args, (ctx, number))?;
            shown(app, args, turn, Some(number))
        }
        Meant::Turns(ctx, prompts) => {
            let turns = app.service()?.turns(&ShowTurnsRequest { ctx, prompts, full: args.full })?;
            let exit = app.answer(&turns, || {
                let text = |commit: &Commit| turn::render(app, args, commit, commit.prompt);
                Ok(turns.turns.iter().map(text).collect::<Result<Vec<_>, _>>()?.join("\n"))
            })?;
            if turns.is_cut && !app.console.json {
                app.console
                    .warn(&format!("these are the first {SHOWN_TURNS_MAX}; name a later range for more"));
            }
            Ok(exit)
        }
    }
}

/// Returns the turn of a prompt of this number in the chain that ends at a commit.
fn turn_of(app: &App, args: &Show, (ctx, number): (String, u64)) -> Result<ShownTurn, CliError> {
    let request = ShowTurnRequest { ctx, prompt: Some(number), full: args.full };
    app.service()?.turn(&request).map_err(|problem| said(app, &args.reference, problem))
}

fn shown(app: &App, args: &Show, turn: ShownTurn, number: Option<u64>) -> Result<Exit, CliError> {
    let shown = with_turn(app, turn)?;
    app.answer(&shown, || turn::render(app, args, &shown, number))
}

fn with_turn(app: &App, turn: ShownTurn) -> Result<Commit, CliError> {
    let commit = commit(app, turn.ctx)?;
    Ok(Commit { turn: Some(Box::new(turn)), ..commit })
}

/// Names the chain as it was typed where it has no such prompt.
fn said(app: &App, reference: &str, problem: Box<Problem>) -> CliError {
    let is_it = |error: &CliError| matches!(error, CliError::Problem(other) if other.code == problem.code);
    let named = if problem.is(Code::PromptNotFound) { app.ctx(reference).err() } else { None };
    named.filter(is_it).unwrap_or_else(|| problem.into())
}

/// Shows what the store knows of a commit, and with `--entries` its entries.
fn table(app: &App, args: &Show) -> Result<Exit, CliError> {
    let ctx = match numbered(app, &args.reference)? {
        Some((ctx, number)) => turn_of(app, args, (ctx, number))?.ctx.to_string(),
        // Of a range the error says that it is no commit.
        None => app.ctx(&args.reference)?,
    };
    let request = ShowRequest { ctx, entries: args.entries };
    let commit = app.service()?.show(&request)?;
    app.answer(&commit, || {
        let mut text = meta::table(app, &commit)?;
        if let Some(entries) = &commit.entries {
            text.push('\n');
            text.push_str(&meta::entry_table(entries, app.console.width));
        }
        Ok(text)
    })
}

fn commit(app: &App, ctx: CommitId) -> Result<Commit, CliError> {
    Ok(app.service()?.show(&ShowRequest { ctx: ctx.to_string(), entries: false })?)
}

/// Finds what a reference means: the turns of a chain's prompts (`REF:N`, `REF:N..M`), a session, else a commit.
fn meant(app: &App, reference: &str) -> Result<Meant, CliError> {
    if let Some((ctx, range)) = app.range(reference)? {
        return Ok(Meant::Turns(ctx, range));
    }
    if let Some((ctx, number)) = numbered(app, reference)? {
        return Ok(Meant::Turn(ctx, number));
    }
    if let Some(overview) = overview(app, reference)?
        && let Some(tip) = overview.session.tip
    {
        return Ok(Meant::Session(tip, Box::new(overview)));
    }
    Ok(Meant::Commit(app.ctx(reference)?))
}

/// Returns a commit and the number of a prompt of its chain, where a reference names such a one.
fn numbered(app: &App, reference: &str) -> Result<Option<(String, u64)>, CliError> {
    let Some((of, number)) = reference.rsplit_once(':') else { return Ok(None) };
    let Ok(number) = number.parse() else { return Ok(None) };
    let found = app.service()?.find(&app.reference(of)).ok();
    Ok(found.map(|found| (app.told(&found).to_string(), number)))
}

fn overview(app: &App, reference: &str) -> Result<Option<SessionOverview>, CliError> {
    let ask = |reference: String| -> Result<Option<SessionOverview>, CliError> {
        let here = Some(app.environment.current_dir.to_string_lossy().into_owned());
        let meant = app.service()?.overview(&OverviewRequest { reference, here })?;
        app.say_cut(meant.cut.as_ref());
        Ok(meant.overview)
    };
    // A path is the caller's; a tag may look like one.
    if reference.contains('/')
        && let Some(overview) = ask(app.path_of(reference))?
    {
        return Ok(Some(overview));
    }
    ask(reference.to_owned())
}

/// Says how to read a turn of a session.
fn hint_at_turns(app: &App, args: &Show, shown: &Commit) {
    let last =
        shown.overview.iter().flat_map(|overview| &overview.turns).filter_map(|turn| turn.number).max();
    if let Some(last) = last.filter(|_| !app.console.json) {
        let turn = quoted(&format!("{}:{last}", args.reference));
        app.console.hint(&format!("`stemma show {turn}` shows the turn of prompt {last}"));
    }
}
