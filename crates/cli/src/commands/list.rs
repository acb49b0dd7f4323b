//! `list`, and `log` without a REF: sessions, one line each.

use stemmata_api::PageRequest;
use stemmata_api::v1::{Session, SessionDetails, SessionPage, SessionsRequest};

use crate::args::browse::List;
use crate::commands::{gather, here, project, rows};
use crate::errors::{CliError, Exit};
use crate::output::session;
use crate::output::size::plural;
use crate::output::style::{Style, tame};
use crate::output::table::{Cell, Column, Table, cell, fit};
use crate::output::time;
use crate::wiring::App;

/// Columns of a project's name and of a branch: enough to tell them apart, and the title needs the rest.
const NAME_COLUMNS: usize = 16;

/// Columns of another machine's name before a title.
const FOREIGN_COLUMNS: usize = 16;

/// Columns that a title keeps where others are left out for it.
const TITLE_COLUMNS_MIN: usize = 24;

/// What a narrow terminal leaves out, in this order.
const LEFT_OUT: &[&str] = &["BRANCH", "COMMITS", "PROJECT", "CLIENT"];

/// Runs the command. `details` are what JSON holds of each session beside what the list shows.
pub(crate) fn run(app: &App, args: &List, details: Option<SessionDetails>) -> Result<Exit, CliError> {
    let here = args.here.then(|| here(app));
    let since = args.since.as_deref().map(|text| time::parse(text, app.now())).transpose()?;
    let until = args.until.as_deref().map(|text| time::parse_end(text, app.now())).transpose()?;
    let request = SessionsRequest {
        project: args.project.as_deref().map(|text| project(app, text)).or(here),
        client: args.client.clone(),
        since: since.map(|at| at.to_string()),
        until: until.map(|at| at.to_string()),
        branch: args.branch.clone(),
        title: args.title.clone(),
        folded: !args.all,
        with_subagents: args.all,
        with_emptied: args.all,
        details: details.filter(|_| app.console.json),
        ..SessionsRequest::all()
    };
    let page = sessions(app, &request, rows(args.limit, app.console.json))?;
    if page.sessions.is_empty() && !app.console.json {
        nothing(app, &request);
        return Ok(Exit::Done);
    }
    let exit = app.answer(&page, || Ok(table(app, &page.sessions)))?;
    if !app.console.json {
        page.sessions.iter().for_each(|session| say_stopped(app, session));
    }
    say_rest(app, page.next.is_some());
    Ok(exit)
}

/// Reads sessions, at most so many.
pub(crate) fn sessions(app: &App, request: &SessionsRequest, wanted: usize) -> Result<SessionPage, CliError> {
    let service = app.service()?;
    let (sessions, next) = gather(wanted, None, |limit, after| {
        let page = PageRequest { limit: Some(limit), after };
        let page = service.sessions(&SessionsRequest { page, ..request.clone() })?;
        Ok((page.sessions, page.next))
    })?;
    Ok(SessionPage { sessions, next })
}

/// Says of a session of which only the beginning was read where that ends.
fn say_stopped(app: &App, session: &Session) {
    if let Some(stopped) = &session.stopped {
        app.console.warn(&format!("{} was {}", session::short(session), stopped.what));
    }
}

/// Says to a person that a listing goes on, where it does.
pub(crate) fn say_rest(app: &App, is_cut: bool) {
    if is_cut && !app.console.json {
        say_cut(app);
    }
}

/// Says that a listing goes on.
pub(crate) fn say_cut(app: &App) {
    app.console.say(&format!("{}: there are more; `-n 0` shows all", Style::Hint.paint("hint")));
}

/// Says that there is nothing to list, and what to do about it.
pub(crate) fn nothing(app: &App, request: &SessionsRequest) {
    let hint = Style::Hint.paint("hint");
    let is_filtered = [&request.client, &request.since, &request.until, &request.branch, &request.title]
        .iter()
        .any(|filter| filter.is_some());
    match &request.project {
        _ if is_filtered => {
            app.console.say("No sessions match.");
            app.console
                .say(&format!("{hint}: `stemma list` shows all, `stemma search WORDS` finds what was said"));
        }
        Some(project) => {
            app.console.say(&format!("No sessions that worked in {project}."));
            app.console.say(&format!("{hint}: `stemma list` shows those of every directory"));
        }
        None => {
            app.console.say("No sessions yet.");
            app.console.say(&format!("{hint}: `stemma import` reads the sessions of this machine"));
        }
    }
}

/// Returns sessions as a table.
pub(crate) fn table(app: &App, sessions: &[Session]) -> String {
    let mut table = Table::new(&[
        ("ID", Column::Left),
        ("CLIENT", Column::Left),
        ("LAST", Column::Left),
        ("PROJECT", Column::Left),
        ("BRANCH", Column::Left),
        // Not `TURNS`: people took the number for the last that `SESSION:N` takes, which counts prompts. To count those, every
        // session would have to be read.
        ("COMMITS", Column::Right),
        ("TITLE", Column::Flexible),
        ("", Column::Left),
    ]);
    let width = app.console.width;
    // Nothing is cut where a program reads.
    let name_columns = if app.console.is_cut() { NAME_COLUMNS } else { usize::MAX };
    for session in sessions {
        table.row(row(app, session, name_columns));
    }
    table.narrowed(LEFT_OUT, TITLE_COLUMNS_MIN, width).render(width)
}

fn row(app: &App, session: &Session, name_columns: usize) -> Vec<Cell> {
    let mark = match (&session.parent_session, &session.copy_of) {
        (Some(_), _) => "⚙ ",
        (None, Some(_)) => "⑂ ",
        (None, None) => "",
    };
    let foreign =
        session.foreign_machine.as_deref().map(|label| app.console.fit(&tame(label), FOREIGN_COLUMNS));
    let foreign = foreign.map(|label| format!("⇄ {label}: ")).unwrap_or_default();
    // A detached head is no branch that says anything.
    let branch = session.git_branch.as_deref().filter(|branch| *branch != "HEAD").unwrap_or_default();
    let forks = session
        .forks
        .map(|forks| format!("+{}", plural(usize::try_from(forks).unwrap_or(usize::MAX), "fork")));
    vec![
        cell(Style::Id, session::short(session)),
        cell(Style::Faint, tame(&session.client)),
        cell(Style::Faint, app.moment(session.last_at.as_deref())),
        cell(Style::Branch, fit(&session::project(session), name_columns)),
        cell(Style::Faint, fit(&tame(branch), name_columns)),
        cell(Style::Plain, session.commits.to_string()),
        cell(Style::Plain, format!("{mark}{foreign}{}", session::title(session))),
        cell(Style::Faint, forks.unwrap_or_default()),
    ]
}
