//! What calls our hook in a runtime: put in, found again, taken out.
//!
//! Pure: text in, text out. Some runtimes have lists of hooks in their settings (`settings`), others load files of code
//! (`extension`).

mod extension;
mod settings;

use std::path::PathBuf;

use crate::capture::leaf::Provisional;

/// Bytes of a settings file at most.
pub const SETTINGS_BYTES_MAX: u64 = 8 << 20;

/// Where a runtime is told to call us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookPlace {
    /// The runtime.
    pub runtime: &'static str,
    /// The file below its configuration directory.
    pub file: &'static str,
    /// Its configuration directory, where that is another one than the sessions' home.
    pub config: Option<&'static ConfigPlace>,
    /// What the file is.
    pub kind: HookKind,
    /// What the user has to do besides, if anything.
    pub trust: Option<&'static str>,
    /// How its agent gets the brief, where the user wants that.
    pub brief: &'static str,
}

/// Where a runtime's configuration is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigPlace {
    /// Variables that name it, or with a second word a folder that it is below; the first that is set counts.
    pub variables: &'static [(&'static str, &'static str)],
    /// Where it is below the user's home.
    pub below_home: &'static str,
}

impl ConfigPlace {
    /// Returns the directory, from what the environment says.
    pub fn directory(
        &self,
        home: Option<PathBuf>,
        variable: impl Fn(&str) -> Option<PathBuf>,
    ) -> Option<PathBuf> {
        let given = self.variables.iter().find_map(|(name, below)| Some((variable(name)?, *below)));
        match given {
            Some((path, "")) => Some(path),
            Some((path, below)) => Some(path.join(below)),
            None => Some(home?.join(self.below_home)),
        }
    }
}

/// What the file is that calls us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookKind {
    /// Settings of the user's, with lists of hooks in them.
    Settings(&'static HookEvents),
    /// A file of our own that the runtime loads: its text, with places to fill in.
    Extension(&'static str),
}

/// Which tools an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskedFor {
    /// All of them.
    AllTools,
    /// Those by which something is decided.
    DecidingTools,
}

/// The events of a runtime's settings that nudge us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookEvents {
    /// Sessions, turns and compactions.
    pub turns: &'static [&'static str],
    /// What failed or was decided within a turn, and of which tools.
    pub significant: &'static [(&'static str, AskedFor)],
    /// After every tool.
    pub tools: &'static [&'static str],
    /// What comes after a compaction, and is heard only where the agent may be told what was lost.
    pub briefed: &'static [&'static str],
    /// How long the client waits for our hook at most, in its own unit; it takes milliseconds.
    pub timeout: u64,
}

/// What is asked of a runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookWish<'a> {
    /// Where our program is.
    pub program: &'a str,
    /// When provisional commits are made, which says what we want to hear of.
    pub provisional: Provisional,
    /// Whether we may tell the agent what was lost.
    pub inject: bool,
}

/// The runtimes that can be told to call us.
pub const HOOK_PLACES: &[HookPlace] = &[
    HookPlace {
        runtime: "claude-code",
        file: "settings.json",
        config: None,
        kind: HookKind::Settings(&HookEvents {
            turns: &["SessionStart", "Stop", "SubagentStop", "PreCompact", "SessionEnd"],
            significant: &[
                ("PostToolUse", AskedFor::DecidingTools),
                ("PostToolUseFailure", AskedFor::AllTools),
            ],
            tools: &["PostToolUse", "PostToolUseFailure"],
            briefed: &[],
            timeout: 10,
        }),
        trust: None,
        brief: "right after a compaction, and where a session is resumed",
    },
    HookPlace {
        runtime: "codex",
        file: "hooks.json",
        config: None,
        kind: HookKind::Settings(&HookEvents {
            turns: &["SessionStart", "Stop", "PreCompact", "SessionEnd"],
            significant: &[("PostToolUse", AskedFor::DecidingTools)],
            tools: &["PostToolUse"],
            // Older versions start no session behind a compaction.
            briefed: &["UserPromptSubmit"],
            // The most that it grants at the end of a session; it warns of more.
            timeout: 3,
        }),
        trust: Some("Codex asks once whether it may run new hooks: start `codex` and say yes"),
        brief: "right after a compaction or with the next prompt, by its version, and where a session is resumed",
    },
    HookPlace {
        runtime: "gemini",
        file: "settings.json",
        config: None,
        kind: HookKind::Settings(&HookEvents {
            turns: &["SessionStart", "AfterAgent", "PreCompress", "SessionEnd"],
            // Which tool failed stands in the input alone.
            significant: &[("AfterTool", AskedFor::AllTools)],
            tools: &["AfterTool"],
            // Nothing else is heard behind a compression that takes what is said.
            briefed: &["BeforeAgent"],
            timeout: 10_000,
        }),
        trust: None,
        brief: "with the next prompt after a compression, and where a session is resumed",
    },
    HookPlace {
        runtime: "pi",
        file: "extensions/stemma.ts",
        config: None,
        kind: HookKind::Extension(include_str!("install/pi.ts")),
        trust: None,
        brief: "as a message with the next prompt after a compaction, and where a session is resumed",
    },
    HookPlace {
        runtime: "opencode",
        // All versions look here; `plugins`, which its documents name now, came later.
        file: "plugin/stemma.ts",
        config: Some(&ConfigPlace {
            variables: &[("OPENCODE_CONFIG_DIR", ""), ("XDG_CONFIG_HOME", "opencode")],
            below_home: ".config/opencode",
        }),
        kind: HookKind::Extension(include_str!("install/opencode.ts")),
        trust: None,
        brief: "as a part of the system prompt, after a compaction and where a session is resumed",
    },
];

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
pub fn with_hooks(
    text: Option<&str>,
    place: &HookPlace,
    wish: &HookWish<'_>,
) -> Result<String, SettingsError> {
    match place.kind {
        HookKind::Settings(events) => {
            let wanted = settings::wanted(events, place.runtime, wish);
            settings::with_hooks(text.unwrap_or_default(), place.runtime, &wanted)
        }
        HookKind::Extension(template) => extension::with_hooks(text, (template, place.runtime), wish),
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
pub fn installed_hooks(text: &str, place: &HookPlace) -> Result<Option<InstalledHooks>, SettingsError> {
    match place.kind {
        HookKind::Settings(_) => settings::installed(text, place.runtime),
        HookKind::Extension(_) => extension::installed(text, place.runtime),
    }
}

/// Reads a command as [`hook_command`] writes it.
fn read_command(command: &str, runtime: &str) -> Option<InstalledHooks> {
    let quoted = command.strip_prefix("[ -x '")?.split_once("' ] && '")?.0;
    let program = quoted.replace("'\\''", "'");
    let found = |inject| InstalledHooks { program: program.clone(), inject };
    [found(false), found(true)].into_iter().find(|found| {
        let wish = HookWish { program: &found.program, provisional: Provisional::Turn, inject: found.inject };
        hook_command(&wish, runtime) == command
    })
}

/// Returns the file without our hooks, the same text where there were none; none where nothing is left of it.
///
/// # Errors
/// As [`with_hooks`].
pub fn without_hooks(text: &str, place: &HookPlace) -> Result<Option<String>, SettingsError> {
    match place.kind {
        HookKind::Settings(_) => settings::without_hooks(text, place.runtime).map(|(text, _)| Some(text)),
        HookKind::Extension(_) => extension::without_hooks(text, place.runtime).map(|()| None),
    }
}

/// Returns whether settings are an earlier text with our hooks and nothing else: then that text is what they were, byte for byte, while
/// [`without_hooks`] also leaves out empty lists that were there.
pub fn differs_by_hooks_only(text: &str, earlier: &str, place: &HookPlace) -> bool {
    match place.kind {
        HookKind::Settings(events) => {
            settings::differs_by_hooks_only(text, earlier, (events, place.runtime)).unwrap_or(false)
        }
        HookKind::Extension(_) => false,
    }
}
