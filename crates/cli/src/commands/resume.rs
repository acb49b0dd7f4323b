//! `resume`: places a commit and starts the client with it in this terminal.

use std::path::{Path, PathBuf};
use std::process::Command;

use stemmata_engine::Placed;
use stemmata_model::CommitId;
use stemmata_store::Session;

use crate::args::give::Resume;
use crate::commands::place;
use crate::errors::{CliError, Exit};
use crate::output::size::many;
use crate::output::table::fit;
use crate::output::{session, time};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Resume) -> Result<Exit, CliError> {
    let ctx = target(app, args)?;
    let placed = place::place(app, ctx, &args.placement)?;
    if app.console.json {
        app.console.json(&place::wire(&placed))?;
        return Ok(Exit::Done);
    }
    app.console.notes(&placed.notes);
    place::say_prompt(app, &placed);
    let command = place::command_line(app, &placed);
    if args.print {
        app.console.text(&format!("{command}\n"))?;
        return Ok(Exit::Done);
    }
    app.console.say(&format!("Placed {}; starting `{command}`", many(placed.messages, "message")));
    start(app, &placed, &command)
}

/// Finds what to resume. A session that goes on since the last import is brought up to date first.
fn target(app: &App, args: &Resume) -> Result<CommitId, CliError> {
    let engine = app.engine()?;
    let latest = match &args.reference {
        Some(reference) => match engine.find_session(reference) {
            Ok(Some(session)) => session,
            Ok(None) | Err(_) => return app.find(reference),
        },
        None if args.last => engine.latest_session(None)?,
        None => app.session_here()?,
    };
    if args.reference.is_none() {
        say_which(app, &latest);
    }
    Ok(engine.current(&latest)?)
}

fn say_which(app: &App, latest: &Session) {
    let when = latest.last_at.map(|point| time::ago(point, app.now())).unwrap_or_default();
    app.console.say(&format!(
        "Resuming «{}» ({}, {when}, {})",
        fit(&session::title(latest), 60),
        session::short(latest),
        session::project(latest)
    ));
}

/// Starts the client in the place of this process, so that the terminal and its signals are the client's alone.
fn start(app: &App, placed: &Placed, command: &str) -> Result<Exit, CliError> {
    let program = placed.resume_command.first().cloned().unwrap_or_default();
    let missing = |source| CliError::Client { program: program.clone(), command: command.to_owned(), source };
    let path = in_path(app, &program).ok_or_else(|| {
        missing(std::io::Error::new(std::io::ErrorKind::NotFound, "no program of that name is on the `PATH`"))
    })?;
    tracing::info!(command = "resume", "handing over to the client");
    let mut client = Command::new(path);
    client.args(placed.resume_command.iter().skip(1)).current_dir(&placed.cwd);
    #[cfg(unix)]
    {
        let failed = std::os::unix::process::CommandExt::exec(&mut client);
        Err(missing(failed))
    }
    #[cfg(not(unix))]
    {
        let status = client.status().map_err(missing)?;
        Ok(if status.success() { Exit::Done } else { Exit::Failure })
    }
}

/// Looks a program up, so that a missing one is told before anything is replaced.
fn in_path(app: &App, program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let folders = app.environment.path("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    {
        path.is_file()
    }
}
