//! `stemma` alone: what is here, and what to do next.

use stemmata_api::v1::{Inventory, Session, SessionDetails, SessionPage, SessionsRequest};
use stemmata_model::Timestamp;
use stemmata_service::StatusRequest;

use crate::commands::{exclude, here, list};
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::size::many;
use crate::output::style::{Style, tame};
use crate::output::table::{Column, Table, cell};
use crate::output::{session, time};
use crate::wiring::App;

/// Sessions that are shown: enough to recognize one's own.
const SHOWN: usize = 8;

/// Sessions that are counted: a person waits for this page.
const COUNTED_MAX: usize = 1_000;

/// Sessions that are counted where nobody waits for the first line.
const ALL_MAX: usize = 100_000;

/// Runs the command.
pub(crate) fn run(app: &App) -> Result<Exit, CliError> {
    app.service()?;
    let found = inventory(app, COUNTED_MAX)?;
    app.printed(&found, || page(app, &found))
}

fn inventory(app: &App, sessions_max: usize) -> Result<Inventory, CliError> {
    let request = StatusRequest {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        config: None,
        program: app.environment.lasting_program(),
    };
    Ok(app.host()?.inventory(&request, sessions_max)?)
}

fn page(app: &App, found: &Inventory) -> Result<String, CliError> {
    let mut text = String::new();
    let (near, newest) = newest(app)?;
    put!(text, "{}  {}\n", Style::Strong.paint("Stemmata"), Style::Faint.paint(&counted(found)));
    if !newest.sessions.is_empty() {
        put!(text, "\n{}\n{}", Style::Strong.paint(&near), list::table(app, &newest.sessions));
    }
    text.push('\n');
    text.push_str(&facts(app, found)?);
    put!(text, "\n{}", next_steps(app, found, &newest.sessions));
    Ok(text)
}

/// Returns the newest sessions of this directory, else of all, and what they are.
fn newest(app: &App) -> Result<(String, SessionPage), CliError> {
    let here = here(app);
    let all =
        SessionsRequest { folded: true, details: Some(SessionDetails::Figures), ..SessionsRequest::all() };
    let near = list::sessions(app, &SessionsRequest { project: Some(here), ..all.clone() }, SHOWN)?;
    if near.sessions.is_empty() {
        return Ok(("Newest sessions".to_owned(), list::sessions(app, &all, SHOWN)?));
    }
    let shown = app.environment.shown(&app.environment.current_dir);
    Ok((format!("Newest sessions in {}", tame(&shown)), near))
}

/// Says how many sessions there are.
fn sessions(found: &Inventory) -> String {
    session::counted(found.sessions, found.subagents, found.copies)
}

/// Says how many sessions are in the store, as the page and the end of an import do.
pub(super) fn all_sessions(app: &App) -> Result<String, CliError> {
    Ok(sessions(&inventory(app, ALL_MAX)?))
}

/// Says how many sessions of how many projects there are.
fn counted(found: &Inventory) -> String {
    let more = if found.is_cut { "the newest " } else { "" };
    format!("{more}{} in {}", sessions(found), many(found.projects, "project"))
}

/// Says which hooks capture, and what only the store still has.
fn facts(app: &App, found: &Inventory) -> Result<String, CliError> {
    let mut table = Table::new(&[("", Column::Left), ("", Column::Flexible)]);
    let mut row = |name: &str, text: String| {
        table.row(vec![cell(Style::Faint, name), cell(Style::Plain, text)]);
    };
    let of = |state: &str| {
        let clients = found.hooks.iter().filter(|hooks| hooks.state == state);
        clients.map(|hooks| hooks.client.as_str()).collect::<Vec<_>>().join(", ")
    };
    let states = [("on for", of("on")), ("off for", of("off")), ("broken for", of("trouble"))];
    let hooks: Vec<String> = states
        .iter()
        .filter(|(_, clients)| !clients.is_empty())
        .map(|(state, clients)| format!("{state} {clients}"))
        .collect();
    row(
        "hooks",
        if hooks.is_empty() { "no client found on this machine".to_owned() } else { hooks.join("; ") },
    );
    for pause in exclude::pauses_now(app)? {
        row("paused", pause);
    }
    for (position, one) in found.only_here_newest.iter().enumerate() {
        let what = format!("{}  {}", session::short(one), session::title(one));
        row(if position == 0 { "only here" } else { "" }, what);
    }
    if let Some(rest) =
        found.only_here.checked_sub(found.only_here_newest.len() as u64).filter(|rest| *rest > 0)
    {
        row("", format!("and {} more", many(rest, "session")));
    }
    let mut text = table.render(app.console.width);
    if found.only_here > 0 {
        put!(text, "           {}\n", Style::Faint.paint("deleted by their clients; kept by Stemmata"));
    }
    Ok(text)
}

/// Returns three commands that can be run as they stand.
fn next_steps(app: &App, found: &Inventory, newest: &[Session]) -> String {
    let mut steps: Vec<(String, &str)> = Vec::new();
    let going_on = newest.iter().find(|session| App::is_continued(&session.client)).or(newest.first());
    match going_on {
        None => steps.push(("stemma import".to_owned(), "read the sessions of this machine")),
        Some(first) => {
            steps.push((
                App::resume_command(&session::short(first), &first.client),
                "continue the newest one",
            ));
            steps.push(("stemma search".to_owned(), "find what was said, as you type"));
        }
    }
    let off = found.hooks.iter().find(|hooks| hooks.state == "off");
    match off {
        Some(hooks) => {
            steps.push((format!("stemma install {}", hooks.client), "capture its sessions as they go"));
        }
        None => steps.push(("stemma status".to_owned(), "see what is stored, and where")),
    }
    if newest.is_empty() {
        steps.push(("stemma help".to_owned(), "see all commands"));
    }
    let mut table = Table::new(&[("", Column::Left), ("", Column::Flexible)]);
    for (command, about) in steps {
        table.row(vec![cell(Style::Id, command), cell(Style::Faint, about)]);
    }
    table.render(app.console.width)
}

/// Returns what one has now, after an import: projects, clients, period, and what only the store still has.
pub(crate) fn after_import(app: &App) -> Result<String, CliError> {
    let found = inventory(app, ALL_MAX)?;
    if found.sessions == 0 {
        return Ok(String::new());
    }
    let day = |at: Option<Timestamp>| at.map(time::day).unwrap_or_default();
    let mut text =
        format!("You now have {}, {} to {}\n", counted(&found), day(found.first_at), day(found.last_at));
    let clients = found.clients.iter().map(|of| format!("{} {}", of.client, of.sessions));
    put!(text, "  {}\n", clients.collect::<Vec<_>>().join(", "));
    let deleting =
        found.clients.iter().filter_map(|of| Some(format!("{} after {} days", of.client, of.days_kept?)));
    let deleting = deleting.collect::<Vec<_>>().join(", ");
    if !deleting.is_empty() {
        put!(text, "  Clients delete transcripts ({deleting}); what is imported stays\n");
    }
    if found.only_here > 0 {
        let verb = if found.only_here == 1 { "is" } else { "are" };
        put!(text, "  {} {verb} only here: the transcript was deleted\n", many(found.only_here, "session"));
    }
    Ok(text)
}
