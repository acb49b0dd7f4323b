//! What is known of opencode.

use stemmata_acts::tools::table;

use super::{Opencode, RUNTIME, as_told};
use crate::clients::{Client, ConfigPlace, Database, Home, HookKind, Hooks, Meaning, Resume, Variable};
use crate::registry::{Mark, Registered};
use crate::translate::{Files, Intake};

/// opencode.
pub static CLIENT: Client = Client {
    home: Some(&Home {
        // It names where all programs keep their data.
        variable: "XDG_DATA_HOME",
        below_variable: "opencode",
        below_home: ".local/share/opencode",
        transcripts: &[DATABASE.file, DATABASE.records],
        database: Some(&DATABASE),
        variables: &[
            Variable {
                name: "OPENCODE_CONFIG_DIR",
                about: "Where `install opencode` puts its plugin. Default: `$XDG_CONFIG_HOME/opencode`, else \
                        `~/.config/opencode`.",
            },
            Variable {
                name: DATABASE.variable,
                about: "The database that opencode uses: a path, or a name in its data directory.",
            },
        ],
    }),
    intake: &[(RUNTIME, &Intake { files: Files::All, has_files_in_failures: false, as_told, ..Intake::ANY })],
    session_variables: &["OPENCODE_SESSION_ID"],
    resume: Some(&RESUME),
    hooks: Some(&Hooks {
        // All versions look here; `plugins`, which its documents name now, came later.
        file: "plugin/stemma.ts",
        config: Some(&ConfigPlace {
            variables: &[("OPENCODE_CONFIG_DIR", ""), ("XDG_CONFIG_HOME", "opencode")],
            below_home: ".config/opencode",
        }),
        kind: HookKind::Extension(include_str!("hook.ts")),
        trust: None,
        brief: "as a part of the system prompt, after a compaction and where a session is resumed",
        // What our extension calls them.
        meanings: &[
            ("SessionStart", Meaning::Begins),
            ("PostToolUse", Meaning::Tool),
            ("PostToolUseFailure", Meaning::ToolFailed),
            ("PreCompact", Meaning::BeforeCompaction),
            ("PostCompact", Meaning::AfterCompaction),
            ("SessionEnd", Meaning::Ends),
        ],
    }),
    ..Client::read_only(
        RUNTIME,
        &[Registered::new(&Opencode, &[Mark::Keys(&["info"])])],
        Some(&table::OPENCODE),
    )
};

/// Its database, and the folders of its older versions.
pub const DATABASE: Database = Database {
    file: "opencode.db",
    variable: "OPENCODE_DB",
    records: "storage",
    session_prefix: "ses_",
    shown: "opencode's database",
    session_shown: "session in opencode's database",
    versions: "1.2 to 1.18 and 2.0",
    export: "opencode export SESSION",
};

/// What takes a session in, in versions 2.x.
pub(super) const SECOND_IMPORT: &[&str] = &["opencode", "session", "import"];

/// How it continues a session. It takes files only through its own import.
pub(super) const RESUME: Resume = Resume {
    command: &["opencode", "--session"],
    import: Some(&["opencode", "import"]),
    finds_by_name: false,
    may_delete: false,
};
