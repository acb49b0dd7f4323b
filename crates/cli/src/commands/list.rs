//! `list`: sessions in a table.

use stemmata_api::v1;
use stemmata_model::CommitId;
use stemmata_store::{Page, Session, SessionFilter};

use crate::args::browse::List;
use crate::commands::rows;
use crate::errors::{CliError, Exit};
use crate::output::session;
use crate::output::size;
use crate::output::style::Style;
use crate::output::table::{Column, Table, cell, fit};
use crate::output::time;
use crate::wiring::App;
use stemmata_service::wire;

/// Sessions that one page of the store holds.
const PAGE_ROWS: usize = 1_000;

/// Columns of a project's name: enough to tell projects apart, and the title needs the rest.
const PROJECT_COLUMNS: usize = 14;

/// Runs the command.
pub(crate) fn run(app: &App, args: &List) -> Result<Exit, CliError> {
    let project = match (&args.project, args.here) {
        (Some(project), _) => Some(app.environment.absolute(project)),
        (None, true) => Some(app.environment.current_dir.clone()),
        (None, false) => None,
    };
    let filter = SessionFilter {
        project: project.map(|path| path.to_string_lossy().into_owned()),
        session_prefix: None,
        main_only: !args.all,
    };
    let wanted = rows(args.limit, app.console.json);
    // What retention has emptied is known still, so that it is not read again, but there is nothing in it.
    let is_listed = |session: &Session| args.all || session.tip.is_some();
    let mut sessions = sessions(app, &filter, wanted.saturating_add(1), &is_listed)?;
    let is_cut = sessions.len() > wanted;
    sessions.truncate(wanted);
    let copies = copies(app, &sessions)?;
    if app.console.json {
        let listed = sessions.iter().zip(&copies).map(|(session, copy_of)| v1::Session {
            copy_of: copy_of.map(|original| original.to_string()),
            ..wire::session::session(session)
        });
        app.console.json(&v1::SessionPage { sessions: listed.collect(), next: None })?;
        return Ok(Exit::Done);
    }
    if sessions.is_empty() {
        nothing(app, filter.project.as_deref());
        return Ok(Exit::Done);
    }
    app.console.long_text(&table(app, &sessions, &copies)?)?;
    if is_cut {
        say_cut(app);
    }
    Ok(Exit::Done)
}

/// Reads sessions page by page, at most so many of those that are wanted.
pub(crate) fn sessions(
    app: &App,
    filter: &SessionFilter,
    rows_max: usize,
    is_wanted: &dyn Fn(&Session) -> bool,
) -> Result<Vec<Session>, CliError> {
    let store = app.engine()?.store();
    let mut sessions: Vec<Session> = Vec::new();
    let mut skip = 0;
    while sessions.len() < rows_max {
        let page = Page { skip, rows_max: PAGE_ROWS.min(rows_max - sessions.len()) };
        let rows = store.sessions(filter, page)?;
        let is_last = rows.len() < page.rows_max;
        skip += u64::try_from(rows.len()).unwrap_or(u64::MAX);
        sessions.extend(rows.into_iter().filter(is_wanted));
        if is_last {
            break;
        }
    }
    Ok(sessions)
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

/// Returns of each session the commit that a client copied it from, if it did.
fn copies(app: &App, sessions: &[Session]) -> Result<Vec<Option<CommitId>>, CliError> {
    let engine = app.engine()?;
    let original = |session: &Session| {
        let link = session.tip.map(|tip| engine.copied_from(tip)).transpose()?.flatten();
        Ok(link.map(|link| link.to))
    };
    sessions.iter().map(original).collect()
}

fn table(app: &App, sessions: &[Session], copies: &[Option<CommitId>]) -> Result<String, CliError> {
    let mut table = Table::new(&[
        ("SESSION", Column::Left),
        ("ACTIVE", Column::Left),
        ("COMMITS", Column::Right),
        ("SIZE", Column::Right),
        ("PROJECT", Column::Left),
        ("TITLE", Column::Flexible),
    ]);
    let own = &app.engine()?.identity().machine;
    for (session, copy_of) in sessions.iter().zip(copies) {
        let active = session.last_at.map(|point| time::ago(point, app.now())).unwrap_or_default();
        let mark = match (&session.parent_session, copy_of) {
            (Some(_), _) => "⚙ ",
            (None, Some(_)) => "⑂ ",
            (None, None) => "",
        };
        let foreign = session::foreign(session, own).map(|label| format!("⇄ {label}: ")).unwrap_or_default();
        table.row(vec![
            cell(Style::Id, session::short(session)),
            cell(Style::Faint, active),
            cell(Style::Plain, session.commits.to_string()),
            cell(Style::Plain, size::bytes(session.bytes)),
            cell(Style::Branch, fit(&session::project(session), PROJECT_COLUMNS)),
            cell(Style::Plain, format!("{mark}{foreign}{}", session::title(session))),
        ]);
    }
    Ok(table.render(app.console.width))
}
