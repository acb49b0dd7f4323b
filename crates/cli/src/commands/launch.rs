//! What starts a client: the words of its command, where it runs, and what its environment has besides.
//!
//! Which words these are is the engine's; here they are shown for a shell, or run in the place of this process.

use std::path::{Path, PathBuf};
use std::process::Command;

use stemmata_api::v1::Placed;

use crate::environment::is_program;
use crate::errors::{CliError, Exit};
use crate::wiring::App;

/// A client that is about to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Launch {
    /// The program and its arguments.
    pub(crate) words: Vec<String>,
    /// The directory to run in.
    pub(crate) cwd: PathBuf,
    /// Variables that it gets besides ours.
    pub(crate) variables: Vec<(&'static str, String)>,
    /// The client's own command that takes what was placed in first, where it does not find that by itself.
    pub(crate) import: Option<Vec<String>>,
}

impl Launch {
    /// Returns what goes on with what was placed.
    pub(crate) fn of(placed: &Placed) -> Self {
        Self {
            words: placed.resume_command.clone(),
            cwd: PathBuf::from(&placed.cwd),
            variables: Vec::new(),
            import: placed.import_command.clone(),
        }
    }

    /// Returns it as a command for a shell: with `cd` where it must run elsewhere.
    pub(crate) fn shown(&self, app: &App) -> String {
        let variables = self.variables.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
        let words: Vec<String> = variables.chain(self.words.iter().map(|word| quoted(word))).collect();
        let import = self.import.iter().flatten().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        let first = if import.is_empty() { import } else { format!("{import} && ") };
        let command = format!("{first}{}", words.join(" "));
        if self.cwd.components().eq(app.environment.current_dir.components()) {
            command
        } else {
            format!("cd {} && {command}", quoted(&self.cwd.to_string_lossy()))
        }
    }

    /// Starts it in the place of this process, so that the terminal and its signals are the client's alone.
    pub(crate) fn start(&self, app: &App) -> Result<Exit, CliError> {
        let program = self.words.first().cloned().unwrap_or_default();
        let missing =
            |source| CliError::Client { program: program.clone(), command: self.shown(app), source };
        let path = in_path(app, &program).ok_or_else(|| {
            missing(std::io::Error::new(
                std::io::ErrorKind::NotFound,
                "no program of that name is on the `PATH`",
            ))
        })?;
        self.take_in(app, &path)?;
        tracing::info!("handing over to the client");
        let mut client = Command::new(path);
        client.args(self.words.iter().skip(1)).current_dir(&self.cwd).envs(self.variables.iter().cloned());
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
}

impl Launch {
    /// Has the client take in what was placed, and waits for it.
    fn take_in(&self, app: &App, program: &Path) -> Result<(), CliError> {
        let Some(import) = &self.import else { return Ok(()) };
        let failed = |source| CliError::Client {
            program: import.first().cloned().unwrap_or_default(),
            command: self.shown(app),
            source,
        };
        let mut client = Command::new(program);
        client.args(import.iter().skip(1)).current_dir(&self.cwd).stdout(std::process::Stdio::null());
        let status = client.status().map_err(failed)?;
        if status.success() {
            return Ok(());
        }
        Err(failed(std::io::Error::other(format!("it did not take the session in ({status})"))))
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

/// Quotes a word for a POSIX shell where it needs that.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_./=:,+@%".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
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
