//! The commands, one file a verb: arguments become a request, and the response of the service or the host becomes text.
//!
//! A command decides nothing that another interface would have to decide again.

pub(crate) mod artifact;
pub(crate) mod assemble;
pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod blame;
pub(crate) mod bundle;
pub(crate) mod checkpoint;
pub(crate) mod checkpoint_file;
pub(crate) mod children;
pub(crate) mod choose;
pub(crate) mod compact;
pub(crate) mod complete;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod confirm;
pub(crate) mod context;
pub(crate) mod current;
pub(crate) mod decide;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod du;
pub(crate) mod events;
pub(crate) mod exclude;
pub(crate) mod export;
pub(crate) mod forget;
pub(crate) mod fork;
pub(crate) mod gc;
pub(crate) mod generate_reference;
pub(crate) mod git;
pub(crate) mod guard;
pub(crate) mod handoff;
pub(crate) mod history;
pub(crate) mod home;
pub(crate) mod hook;
pub(crate) mod import;
pub(crate) mod index;
pub(crate) mod install;
pub(crate) mod jobs;
pub(crate) mod launch;
pub(crate) mod ledger;
pub(crate) mod list;
pub(crate) mod log;
pub(crate) mod materialize;
pub(crate) mod migrate;
pub(crate) mod native;
mod opening;
pub(crate) mod pack;
pub(crate) mod place;
pub(crate) mod pointer;
mod preview;
pub(crate) mod recall;
pub(crate) mod recover;
pub(crate) mod repair;
pub(crate) mod resolve;
pub(crate) mod restore;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod scan;
pub(crate) mod scrub;
pub(crate) mod search;
pub(crate) mod secrets;
pub(crate) mod serve;
pub(crate) mod setup;
pub(crate) mod show;
pub(crate) mod sidecars;
pub(crate) mod snapshot;
pub(crate) mod start;
pub(crate) mod state;
pub(crate) mod stats;
pub(crate) mod status;
pub(crate) mod strategy;
pub(crate) mod tips;
pub(crate) mod tree;
pub(crate) mod turn;
pub(crate) mod uncompact;
pub(crate) mod undo;
mod unread;
pub(crate) mod update;
pub(crate) mod verify;
pub(crate) mod watch;

use std::path::Path;

use stemmata_service::project_here;

use crate::errors::CliError;
use crate::wiring::App;

/// Rows that people see of a listing unless they ask for more: about a screen.
const ROWS_DEFAULT: usize = 30;

/// Rows of one listing at most.
const ROWS_MAX: usize = 100_000;

/// Returns how many rows of a listing to show: what was asked for (0: all), else a screen for people and all for
/// scripts.
fn rows(limit: Option<usize>, json: bool) -> usize {
    match limit {
        Some(0) => ROWS_MAX,
        Some(limit) => limit.min(ROWS_MAX),
        None if json => ROWS_MAX,
        None => ROWS_DEFAULT,
    }
}

/// Reads a listing page by page, at most so many rows, and says where it goes on. `page` is given how many rows are missing and
/// where the page before ended.
fn gather<T, N>(
    wanted: usize,
    first: Option<N>,
    mut page: impl FnMut(u64, Option<N>) -> Result<(Vec<T>, Option<N>), CliError>,
) -> Result<(Vec<T>, Option<N>), CliError> {
    let mut rows = Vec::new();
    let mut after = first;
    loop {
        let (more, next) = page((wanted - rows.len()) as u64, after)?;
        let is_last = more.is_empty() || next.is_none();
        rows.extend(more);
        if is_last || rows.len() >= wanted {
            return Ok((rows, next));
        }
        after = next;
    }
}

/// Returns the project of the current directory, as `--here` means it: the repository around it, else the directory.
fn here(app: &App) -> String {
    project_here(&app.environment.current_dir).to_string_lossy().into_owned()
}

/// Returns a project as the service takes it: whole where it is a directory, else a name or an id as it was given. `repo/2` is the
/// name of a worktree.
fn project(app: &App, text: &str) -> String {
    let dir = app.environment.absolute(Path::new(text));
    let is_path =
        text.starts_with(['/', '\\', '.', '~']) || text.ends_with('/') || Path::new(text).is_absolute();
    let is_dir = is_path || dir.is_dir();
    if is_dir { dir.to_string_lossy().into_owned() } else { text.to_owned() }
}

/// Reads a file that the user named, or standard input for `-`, up to a bound.
fn read_input(path: &Path, bytes_max: u64) -> Result<Vec<u8>, CliError> {
    use std::io::Read;
    let failed = |source| CliError::io("read", path, source);
    let mut bytes = Vec::new();
    let input: Box<dyn Read> = if path.as_os_str() == "-" {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(std::fs::File::open(path).map_err(failed)?)
    };
    input.take(bytes_max + 1).read_to_end(&mut bytes).map_err(failed)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > bytes_max {
        let what =
            if path.as_os_str() == "-" { "standard input".to_owned() } else { path.display().to_string() };
        return Err(CliError::Usage(format!(
            "{what} has more than {bytes_max} bytes, and no more is read: check that it is the right one, or shorten it"
        )));
    }
    Ok(bytes)
}
