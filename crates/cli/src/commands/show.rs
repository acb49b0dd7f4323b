//! `show`: a turn as a person reads it, a session at a glance, or what the store knows of a commit.

pub(crate) mod around;
mod meta;
mod session;
mod turn;

use stemmata_api::v1::{Commit, OverviewRequest, SessionOverview, ShowRequest, ShowTurnRequest};

use crate::args::browse::Show;
use crate::errors::{CliError, Exit};
use crate::output::style::Style;
use crate::wiring::App;

/// What a reference of `show` means.
enum Meant {
    /// A session, with its newest commit.
    Session(String, Box<SessionOverview>),
    /// A commit, with the number of its prompt where that is known.
    Turn(String, Option<u64>),
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
            let commit = commit(app, &tip)?;
            let shown = Commit { overview: Some(overview), ..commit };
            let exit = app.answer(&shown, || session::render(app, args, &shown))?;
            hint_at_turns(app, args, &shown);
            Ok(exit)
        }
        Meant::Turn(ctx, number) => {
            let commit = commit(app, &ctx)?;
            let turn = app.service()?.turn(&ShowTurnRequest { ctx, full: args.full })?;
            let shown = Commit { turn: Some(Box::new(turn)), ..commit };
            app.answer(&shown, || turn::render(app, args, &shown, number))
        }
    }
}

/// Shows what the store knows of a commit, and with `--entries` its entries.
fn table(app: &App, args: &Show) -> Result<Exit, CliError> {
    let request = ShowRequest { ctx: app.ctx(&args.reference)?, entries: args.entries };
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

fn commit(app: &App, ctx: &str) -> Result<Commit, CliError> {
    Ok(app.service()?.show(&ShowRequest { ctx: ctx.to_owned(), entries: false })?)
}

/// Finds what a reference means: a session, the turn of one of its prompts (`SESSION:N`), else a commit.
fn meant(app: &App, reference: &str) -> Result<Meant, CliError> {
    if let Some(overview) = overview(app, reference)?
        && let Some(tip) = overview.session.tip.clone()
    {
        return Ok(Meant::Session(tip, Box::new(overview)));
    }
    let numbered =
        reference.rsplit_once(':').and_then(|(of, number)| Some((of, number.parse::<u64>().ok()?)));
    if let Some((of, number)) = numbered
        && let Some(overview) = overview(app, of)?
    {
        let turn = overview.turns.iter().find(|turn| turn.number == Some(number));
        let prompts = overview.turns.iter().filter_map(|turn| turn.number).max().unwrap_or(0);
        let turn = turn.ok_or_else(|| {
            CliError::Usage(match prompts {
                0 => format!("there is no prompt {number} in `{of}`: nobody prompted it"),
                _ => format!("there is no prompt {number} in `{of}`: its prompts are 1 to {prompts}"),
            })
        })?;
        return Ok(Meant::Turn(turn.ctx.clone(), Some(number)));
    }
    Ok(Meant::Turn(app.ctx(reference)?, None))
}

fn overview(app: &App, reference: &str) -> Result<Option<SessionOverview>, CliError> {
    let ask = |reference: String| -> Result<Option<SessionOverview>, CliError> {
        let here = Some(app.environment.current_dir.to_string_lossy().into_owned());
        Ok(app.service()?.overview(&OverviewRequest { reference, here })?.overview)
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
        let (hint, of) = (Style::Hint.paint("hint"), &args.reference);
        app.console.say(&format!("{hint}: `stemma show {of}:{last}` shows the turn of prompt {last}"));
    }
}
