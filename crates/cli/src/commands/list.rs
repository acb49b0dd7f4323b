//! `list`, and `log` without a REF: sessions, one line each.

use stemmata_api::PageRequest;
use stemmata_api::v1::{Session, SessionDetails, SessionPage, SessionsRequest};

use crate::args::browse::List;
use crate::commands::launch::quoted;
use crate::commands::{gather, here, project, rows};
use crate::errors::{CliError, Exit};
use crate::output::size::many;
use crate::output::style::{Style, tame};
use crate::output::table::{Cell, Column, Table, cell};
use crate::output::{outline, session, time};
use crate::wiring::App;

/// Columns of a project's name: enough to tell them apart, and the title needs the rest.
const NAME_COLUMNS: usize = 16;

/// The part of a line that a branch's name may take: in a wide terminal there is room for it beside the title.
const BRANCH_PART: usize = 6;

/// What stands for a figure that the next listing reads.
const UNREAD: &str = "…";

/// Columns of another machine's name before a title.
const FOREIGN_COLUMNS: usize = 16;

/// Columns that a title keeps where others are left out for it.
const TITLE_COLUMNS_MIN: usize = 24;

/// What a narrow terminal leaves out, in this order.
const LEFT_OUT: &[&str] = &["BRANCH", "OUTCOME", "ACTIVE", "PROMPTS", "PROJECT", "CLIENT"];

/// Runs the command. `details` are what JSON holds of each session beside what the list shows.
pub(crate) fn run(app: &App, args: &List, details: Option<SessionDetails>) -> Result<Exit, CliError> {
    let here = args.here.then(|| here(app));
    let since = args.since.as_deref().map(|text| time::parse(text, app.now())).transpose()?;
    let until = args.until.as_deref().map(|text| time::parse_end(text, app.now())).transpose()?;
    let request = SessionsRequest {
        project: args.project.as_deref().map(|text| project(app, text)).or(here),
        client: args.client.clone(),
        since,
        until,
        branch: args.branch.clone(),
        title: Some([&args.words[..], args.title.as_slice()].concat().join(" "))
            .filter(|text| !text.is_empty()),
        folded: !args.all,
        with_subagents: args.all,
        with_emptied: args.all,
        details: details.filter(|_| app.console.json).or(Some(SessionDetails::Figures)),
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
    app.console.hint("there are more; `-n 0` shows all");
}

/// Says that there is nothing to list, and what to do about it.
pub(crate) fn nothing(app: &App, request: &SessionsRequest) {
    let is_of_time = request.since.or(request.until).is_some();
    let is_filtered = is_of_time
        || [&request.client, &request.branch, &request.title].iter().any(|filter| filter.is_some());
    match &request.project {
        _ if is_filtered => {
            app.console.say("No sessions match.");
            let words = request.title.as_deref().map_or_else(|| "WORDS".to_owned(), quoted);
            app.console
                .hint(&format!("`stemma search {words}` finds what was said, `stemma list` shows all"));
        }
        Some(project) => {
            app.console.say(&format!("No sessions that worked in {project}."));
            app.console.hint("`stemma list` shows those of every directory; where the project was moved, `stemma ledger adopt OLD-FOLDER` \
                 here makes its sessions count");
        }
        None => {
            app.console.say("No sessions yet.");
            app.console.hint("`stemma import` reads the sessions of this machine");
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
        // What `SESSION:N` counts; commits are ours alone.
        ("PROMPTS", Column::Right),
        ("ACTIVE", Column::Right),
        ("OUTCOME", Column::Left),
        ("TITLE", Column::Flexible),
        ("", Column::Left),
    ]);
    let width = app.console.width;
    for session in sessions {
        table.row(row(app, session));
    }
    table.narrowed(LEFT_OUT, TITLE_COLUMNS_MIN, width).render(width)
}

fn row(app: &App, session: &Session) -> Vec<Cell> {
    let foreign =
        session.foreign_machine.as_deref().map(|label| app.console.fit(&tame(label), FOREIGN_COLUMNS));
    let foreign = foreign.map(|label| format!("⇄ {label}: ")).unwrap_or_default();
    // A detached head is no branch that says anything.
    let branch = session.git_branch.as_deref().filter(|branch| *branch != "HEAD").unwrap_or_default();
    let forks = session.forks.map(|forks| format!("+{}", many(forks, "fork")));
    let only_here = session.only_here.map(|_| "only here".to_owned());
    let count = |figure: Option<String>| figure.unwrap_or_else(|| UNREAD.to_owned());
    let branch_columns = (app.console.width / BRANCH_PART).max(NAME_COLUMNS);
    vec![
        cell(Style::Id, session::short(session)),
        cell(Style::Faint, tame(&session.client)),
        cell(Style::Faint, app.moment(session.last_at)),
        cell(Style::Branch, app.console.fit(&session::project(session), NAME_COLUMNS)),
        cell(Style::Faint, app.console.fit(&tame(branch), branch_columns)),
        cell(Style::Plain, count(session.prompts.map(|prompts| prompts.to_string()))),
        cell(Style::Faint, count(session.active_seconds.map(outline::span))),
        ended(session),
        cell(Style::Plain, format!("{}{foreign}{}", session::mark(session), session::title(session))),
        cell(Style::Faint, [forks, only_here].into_iter().flatten().collect::<Vec<_>>().join(", ")),
    ]
}

/// Says how a session ended, where that is news, as the outline of its last turn does.
fn ended(session: &Session) -> Cell {
    let news = session.outcome.as_deref().and_then(|outcome| outline::ended(outcome, true));
    news.map_or_else(|| cell(Style::Plain, ""), |(style, text)| cell(style, text))
}
