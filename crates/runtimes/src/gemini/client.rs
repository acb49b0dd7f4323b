//! What is known of Gemini CLI.

use stemmata_acts::tools::table;
use stemmata_model::Maker;

use super::{Gemini, GeminiLegacy, RUNTIME, as_loaded};
use crate::clients::{
    AgeAs, AskedFor, Client, Expiry, Home, HookEvents, HookKind, Hooks, Launch, Meaning, Resume,
    SidecarFolder, SidecarKind, SidecarPlace, Sidecars, Variable,
};
use crate::registry::{Mark, Registered};
use crate::translate::{Files, Intake, Told};

const FORMATS: &[Registered] = &[
    Registered::new(
        &Gemini,
        &[
            Mark::Keys(&["sessionId", "projectHash"]),
            Mark::Keys(&["id", "timestamp", "content"]),
            Mark::Keys(&["$set"]),
            Mark::Keys(&["$rewindTo"]),
        ],
    ),
    Registered::new(&GeminiLegacy, &[Mark::Keys(&["sessionId", "projectHash", "messages"])]),
];

/// Gemini CLI.
pub static CLIENT: Client = Client {
    shown: "Gemini CLI",
    aliases: &["geminicli", "googlegemini"],
    home: Some(&Home {
        variable: "GEMINI_CLI_HOME",
        // The variable names a home directory, with the configuration below it.
        below_variable: ".gemini",
        below_home: ".gemini",
        transcripts: &["tmp"],
        database: None,
        variables: &[Variable {
            name: "GEMINI_CLI_HOME",
            about: "The home directory that Gemini CLI takes for its own: its sessions are in `.gemini` below it. \
                    Default: the user's.",
        }],
    }),
    intake: &[(
        RUNTIME,
        &Intake {
            maker: Some(Maker::Google),
            files: Files::All,
            takes_addresses: true,
            gives_instructions: true,
            as_told: |entries, _| Told { entries: as_loaded(entries), skipped_compactions: 0 },
            ..Intake::ANY
        },
    )],
    session_variables: &["GEMINI_CLI_SESSION_ID", "GEMINI_SESSION_ID"],
    resume: Some(&RESUME),
    // `saveTruncatedToolOutput` in the client's `packages/core/src/utils/fileUtils.ts`.
    sidecars: Some(&Sidecars {
        transcripts: "tmp",
        folders: &[SidecarFolder {
            name: "tool-outputs",
            kind: SidecarKind::Result,
            is_of_subagents: false,
            at: SidecarPlace::Project { prefix: "session-" },
        }],
        transcript_prefix: "session-",
    }),
    hooks: Some(&Hooks {
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
        meanings: &[
            ("SessionStart", Meaning::Begins),
            ("BeforeAgent", Meaning::Prompt),
            ("BeforeTool", Meaning::Tool),
            ("AfterTool", Meaning::Tool),
            ("PreCompress", Meaning::BeforeCompaction),
            ("SessionEnd", Meaning::Ends),
            ("Notification", Meaning::Asks),
        ],
    }),
    launch: Some(&Launch { model_flag: "-m", system_prompt: None, tools_flag: None }),
    expiry: Some(&Expiry {
        settings: "settings.json",
        days_default: 30,
        age: &["general", "sessionRetention", "maxAge"],
        age_as: AgeAs::Text,
        enabled: &["general", "sessionRetention", "enabled"],
    }),
    ..Client::read_only(RUNTIME, FORMATS, Some(&table::GEMINI))
};

/// How it continues a session. Resuming makes another file whose name begins as the session's does, and the next start
/// deletes both.
pub(super) const RESUME: Resume =
    Resume { command: &["gemini", "--resume"], import: None, finds_by_name: false, may_delete: true };
