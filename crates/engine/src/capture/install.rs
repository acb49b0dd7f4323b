//! What calls our hook in a client: put in, found again, taken out.
//!
//! Text in and text out; only [`calls_exports`] looks at a client's database. Some clients have lists of hooks in their settings
//! (`settings`), others load files of code (`extension`); of a client without hooks nothing is changed.

mod extension;
mod settings;

use std::path::Path;

use stemmata_runtimes::clients::{Client, HookKind};

use crate::capture::database;
use crate::capture::leaf::Provisional;

/// Bytes of a settings file at most.
pub const SETTINGS_BYTES_MAX: u64 = 8 << 20;

/// What is asked of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookWish<'a> {
    /// Where our program is.
    pub program: &'a str,
    /// When provisional commits are made, which says what we want to hear of.
    pub provisional: Provisional,
    /// Whether we may tell the agent what was lost.
    pub inject: bool,
    /// Whether the client calls whatever a file of code exports, as its older versions did.
    pub calls_exports: bool,
}

/// Returns whether a client calls whatever a file of code exports: of opencode before 1.17, by the version that made its latest
/// session. Such a version does not start with a file that exports what newer ones load, and these do not load a function. A client
/// that has no session yet is taken for a new one.
pub fn calls_exports(client: &Client, home: Option<&Path>) -> bool {
    let folder = home.filter(|_| client.home.is_some_and(|home| home.database.is_some()));
    folder.and_then(database::client_version).is_some_and(|version| {
        let mut parts = version.split('.').map(|part| part.parse::<u64>().ok());
        let (major, minor) = (parts.next().flatten(), parts.next().flatten());
        major.zip(minor).is_some_and(|version| version < LOADS_OBJECTS)
    })
}

/// The first version of opencode that is known to load an object with both forms of a plugin.
const LOADS_OBJECTS: (u64, u64) = (1, 17);

/// Why settings are left as they are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The file is no JSON; comments are the usual reason.
    #[error("line {line}, column {column}: {reason}")]
    NotJson {
        /// Line (1 = first).
        line: usize,
        /// Column.
        column: usize,
        /// What the parser says.
        reason: String,
    },
    /// A value has another shape than the client's own.
    #[error("`{what}` is not {wanted}")]
    Shape {
        /// Where it stands.
        what: String,
        /// What it should be.
        wanted: &'static str,
    },
    /// A file of our name that is not ours.
    #[error("it was not written by `stemma install`")]
    Foreign,
}

/// Returns the command that a client runs: harmless where the program is gone, whatever it says.
pub fn hook_command(wish: &HookWish<'_>, runtime: &str) -> String {
    let program = format!("'{}'", wish.program.replace('\'', "'\\''"));
    let inject = if wish.inject { " --inject" } else { "" };
    format!("[ -x {program} ] && {program} hook {runtime}{inject} || true")
}

/// Returns the file with our hooks in it; the same text where all of them are there already. `text` is none where there is
/// no file.
///
/// # Errors
/// Nothing of the file is touched then.
pub fn with_hooks(text: Option<&str>, client: &Client, wish: &HookWish<'_>) -> Result<String, SettingsError> {
    match client.hooks.map(|hooks| hooks.kind) {
        Some(HookKind::Settings(events)) => {
            let wanted = settings::wanted(events, client, wish);
            settings::with_hooks(text.unwrap_or_default(), client.id, &wanted)
        }
        Some(HookKind::Extension(template)) => extension::with_hooks(text, (template, client.id), wish),
        None => Ok(text.unwrap_or_default().to_owned()),
    }
}

/// What is found of ours in a runtime's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledHooks {
    /// Where the program is that is called.
    pub program: String,
    /// Whether it may tell the agent what was lost.
    pub inject: bool,
}

/// Returns what a file has of ours; none where it has no hook of ours.
///
/// # Errors
/// As [`with_hooks`].
pub fn installed_hooks(text: &str, client: &Client) -> Result<Option<InstalledHooks>, SettingsError> {
    match client.hooks.map(|hooks| hooks.kind) {
        Some(HookKind::Settings(_)) => settings::installed(text, client.id),
        Some(HookKind::Extension(_)) => extension::installed(text, client.id),
        None => Ok(None),
    }
}

/// Reads a command as [`hook_command`] writes it.
fn read_command(command: &str, runtime: &str) -> Option<InstalledHooks> {
    let quoted = command.strip_prefix("[ -x '")?.split_once("' ] && '")?.0;
    let program = quoted.replace("'\\''", "'");
    let found = |inject| InstalledHooks { program: program.clone(), inject };
    [found(false), found(true)].into_iter().find(|found| {
        let wish = HookWish {
            program: &found.program,
            provisional: Provisional::Turn,
            inject: found.inject,
            calls_exports: false,
        };
        hook_command(&wish, runtime) == command
    })
}

/// Returns the file without our hooks, the same text where there were none; none where nothing is left of it.
///
/// # Errors
/// As [`with_hooks`].
pub fn without_hooks(text: &str, client: &Client) -> Result<Option<String>, SettingsError> {
    match client.hooks.map(|hooks| hooks.kind) {
        Some(HookKind::Settings(_)) => settings::without_hooks(text, client.id).map(|(text, _)| Some(text)),
        Some(HookKind::Extension(_)) => extension::without_hooks(text, client.id).map(|()| None),
        None => Ok(Some(text.to_owned())),
    }
}

/// Returns whether settings are an earlier text with our hooks and nothing else: then that text is what they were, byte for byte, while
/// [`without_hooks`] also leaves out empty lists that were there.
pub fn differs_by_hooks_only(text: &str, earlier: &str, client: &Client) -> bool {
    match client.hooks.map(|hooks| hooks.kind) {
        Some(HookKind::Settings(events)) => {
            settings::differs_by_hooks_only(text, earlier, (events, client)).unwrap_or(false)
        }
        Some(HookKind::Extension(_)) | None => false,
    }
}
