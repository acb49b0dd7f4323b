//! What `resume` and `fork` share: placing a commit where the client looks, and telling how to go on.
//!
//! How a context is placed, and whether the client will take it, is the engine's.

use std::path::Path;

use stemmata_engine::{PlaceOptions, Placed};
use stemmata_model::CommitId;
use stemmata_store::SessionFilter;

use crate::args::give::Placement;
use crate::commands::{list, stop};
use crate::errors::CliError;
use crate::output::v1;
use crate::wiring::App;

/// Sessions that are looked at to find the newest version of the client.
const VERSION_ROWS_MAX: usize = 50;

/// Places a commit as a new session.
pub(crate) fn place(app: &App, ctx: CommitId, args: &Placement) -> Result<Placed, CliError> {
    let config_dir = app
        .homes()
        .claude()
        .ok_or(CliError::NoHome { what: "the client's sessions", variable: "CLAUDE_CONFIG_DIR" })?;
    let cwd = match &args.cwd {
        Some(cwd) => app.environment.absolute(cwd),
        None => app.environment.current_dir.clone(),
    };
    if !cwd.is_dir() {
        return Err(CliError::Usage(format!("{} is no directory to work in", cwd.display())));
    }
    let client_version = match &args.client_version {
        Some(version) => Some(version.clone()),
        None => newest_version(app)?,
    };
    let options = PlaceOptions {
        config_dir,
        cwd,
        stop: stop(app, &args.stop)?,
        at_entry: args.at.clone(),
        client_version,
    };
    Ok(app.engine()?.place(ctx, &options)?)
}

/// Returns the version of the client that wrote the newest session of this machine: most likely the one that
/// will read what is placed.
fn newest_version(app: &App) -> Result<Option<String>, CliError> {
    let machine = &app.engine()?.identity().machine;
    let filter = SessionFilter { main_only: true, ..SessionFilter::default() };
    let newest = list::sessions(app, &filter, VERSION_ROWS_MAX, &|_| true)?;
    let mut versions = newest.into_iter().filter(|session| &session.key.machine == machine);
    Ok(versions.find_map(|session| session.version))
}

/// Returns the wire form.
pub(crate) fn wire(placed: &Placed) -> v1::Placed {
    v1::Placed {
        ctx: placed.ctx.to_string(),
        session_id: placed.session.to_string(),
        path: placed.path.to_string_lossy().into_owned(),
        format: placed.format.to_string(),
        bytes: placed.bytes,
        messages: placed.messages,
        resume_command: placed.resume_command.clone(),
        cwd: placed.cwd.to_string_lossy().into_owned(),
        prompt: placed.prompt.clone(),
        notes: v1::Note::all(&placed.notes),
    }
}

/// Returns the command line that goes on, for a shell: with `cd` where it must run elsewhere.
pub(crate) fn command_line(app: &App, placed: &Placed) -> String {
    let words: Vec<String> = placed.resume_command.iter().map(|word| quoted(word)).collect();
    let command = words.join(" ");
    if same_dir(&placed.cwd, &app.environment.current_dir) {
        command
    } else {
        format!("cd {} && {command}", quoted(&placed.cwd.to_string_lossy()))
    }
}

fn same_dir(left: &Path, right: &Path) -> bool {
    left.components().eq(right.components())
}

/// Quotes a word for a POSIX shell where it needs that.
fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_./=:,+@%".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Says which prompt was cut off, so that it can be edited and sent again.
pub(crate) fn say_prompt(app: &App, placed: &Placed) {
    if let Some(prompt) = &placed.prompt {
        app.console.say("The fork ends before this prompt; edit it and send it again:");
        app.console.say(&format!("  {}", prompt.replace('\n', "\n  ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        for (word, shown) in [
            ("claude", "claude"),
            ("--resume", "--resume"),
            ("/a b", "'/a b'"),
            ("it's", "'it'\\''s'"),
            ("", "''"),
            ("$(rm)", "'$(rm)'"),
        ] {
            assert_eq!(quoted(word), shown);
        }
    }
}
