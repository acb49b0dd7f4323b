//! `list`: sessions in a table.

use stemmata_api::PageRequest;
use stemmata_api::v1::{Session, SessionPage, SessionsRequest};

use crate::args::browse::List;
use crate::commands::{gather, project, rows};
use crate::errors::{CliError, Exit};
use crate::output::session;
use crate::output::size;
use crate::output::style::{Style, tame};
use crate::output::table::{Column, Table, cell, fit};
use crate::output::time;
use crate::wiring::App;

/// Columns of a project's name: enough to tell projects apart, and the title needs the rest.
const PROJECT_COLUMNS: usize = 14;

/// Columns of another machine's name before a title.
const FOREIGN_COLUMNS: usize = 16;

/// Runs the command.
pub(crate) fn run(app: &App, args: &List) -> Result<Exit, CliError> {
    let here = args.here.then(|| app.environment.current_dir.to_string_lossy().into_owned());
    let request = SessionsRequest {
        project: args.project.as_deref().map(|text| project(app, text)).or(here),
        session_prefix: None,
        with_subagents: args.all,
        with_emptied: args.all,
        details: None,
        page: PageRequest::first(),
    };
    let page = sessions(app, &request, rows(args.limit, app.console.json))?;
    shown(app, &page, request.project.as_deref(), || Ok(table(app, &page.sessions)))
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

/// Shows a page of sessions.
pub(crate) fn shown(
    app: &App,
    page: &SessionPage,
    project: Option<&str>,
    told: impl FnOnce() -> Result<String, CliError>,
) -> Result<Exit, CliError> {
    if page.sessions.is_empty() && !app.console.json {
        nothing(app, project);
        return Ok(Exit::Done);
    }
    let exit = app.answer(page, told)?;
    say_rest(app, page.next.is_some());
    Ok(exit)
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
pub(crate) fn nothing(app: &App, project: Option<&str>) {
    let hint = Style::Hint.paint("hint");
    if let Some(project) = project {
        app.console.say(&format!("No sessions that worked in {project}."));
        app.console.say(&format!("{hint}: `stemma list` shows those of every directory"));
    } else {
        app.console.say("No sessions yet.");
        app.console.say(&format!("{hint}: `stemma import` reads the sessions of this machine"));
    }
}

fn table(app: &App, sessions: &[Session]) -> String {
    let mut table = Table::new(&[
        ("SESSION", Column::Left),
        ("ACTIVE", Column::Left),
        ("COMMITS", Column::Right),
        ("SIZE", Column::Right),
        ("PROJECT", Column::Left),
        ("TITLE", Column::Flexible),
    ]);
    for session in sessions {
        let mark = match (&session.parent_session, &session.copy_of) {
            (Some(_), _) => "⚙ ",
            (None, Some(_)) => "⑂ ",
            (None, None) => "",
        };
        let foreign = session.foreign_machine.as_deref().map(|label| fit(&tame(label), FOREIGN_COLUMNS));
        let foreign = foreign.map(|label| format!("⇄ {label}: ")).unwrap_or_default();
        table.row(vec![
            cell(Style::Id, session::short(session)),
            cell(Style::Faint, active(app, session)),
            cell(Style::Plain, session.commits.to_string()),
            cell(Style::Plain, size::bytes(session.bytes)),
            cell(Style::Branch, fit(&session::project(session), PROJECT_COLUMNS)),
            cell(Style::Plain, format!("{mark}{foreign}{}", session::title(session))),
        ]);
    }
    table.render(app.console.width)
}

/// Says when a session was active last.
pub(crate) fn active(app: &App, session: &Session) -> String {
    session.last_at.as_deref().map(|at| time::ago(time::of_text(at), app.now())).unwrap_or_default()
}
