//! What is known of pi.

use stemmata_acts::tools::table;
use stemmata_model::Maker;

use super::{Pi, RUNTIME, as_loaded};
use crate::clients::{
    Client, Compaction, CompactsAt, Home, HookKind, Hooks, Launch, Meaning, Resume, SystemPrompt, Variable,
};
use crate::translate::{Intake, Told};

const FORMATS: &[Registered] = &[
    Registered::new(&Pi::V3, HEADER),
    Registered::new(&Pi::V2, HEADER),
    Registered::new(&Pi::V1, HEADER),
    Registered::new(&Pi::V4, &[Mark::Keys(&["kind", "version", "id"])]),
];

const HEADER: &[Mark] = &[Mark::Types(&["session"])];

/// pi.
pub static CLIENT: Client = Client {
    aliases: &["picodingagent"],
    // The one that its loader does not write anew.
    placed_as: Some(&Pi::V3),
    home: Some(&Home {
        variable: "PI_CODING_AGENT_DIR",
        below_variable: "",
        below_home: ".pi/agent",
        transcripts: &["sessions"],
        database: None,
        variables: &[Variable {
            name: "PI_CODING_AGENT_DIR",
            about: "Where pi keeps its sessions; `import` reads there, `resume` and `fork` write there. Default: \
                    `~/.pi/agent`.",
        }],
    }),
    intake: &[(
        RUNTIME,
        &Intake {
            as_told: |entries, _| Told { entries: as_loaded(entries), skipped_compactions: 0 },
            ..Intake::ANY
        },
    )],
    resume: Some(&RESUME),
    hooks: Some(&Hooks {
        file: "extensions/stemma.ts",
        config: None,
        kind: HookKind::Extension(include_str!("hook.ts")),
        trust: None,
        brief: "as a message with the next prompt after a compaction, and where a session is resumed",
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
    launch: Some(&Launch {
        model_flag: "--model",
        system_prompt: Some(SystemPrompt::Flag("--append-system-prompt")),
        tools_flag: Some("--tools"),
    }),
    compaction: Some(&Compaction {
        makers: &[Maker::OpenAi, Maker::Anthropic, Maker::Google],
        at: CompactsAt::Free(16_384),
        source: "pi's default `reserveTokens`",
        window: None,
    }),
    ..Client::read_only(RUNTIME, FORMATS, Some(&table::PI))
};
use crate::registry::{Mark, Registered};

/// How it continues a session.
pub(super) const RESUME: Resume =
    Resume { command: &["pi", "--session"], import: None, finds_by_name: false, may_delete: false };
