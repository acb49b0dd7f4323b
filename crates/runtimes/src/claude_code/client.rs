//! What is known of Claude Code.

use stemmata_acts::tools::table;
use stemmata_model::Maker;

use super::{ClaudeCode, RUNTIME, STREAM};
use crate::clients::{
    AgeAs, AskedFor, Client, Compaction, CompactsAt, Expiry, Home, HookEvents, HookKind, Hooks, Launch,
    Meaning, OpenSign, Register, Resume, SidecarFolder, SidecarKind, SidecarPlace, Sidecars, Subagents,
    SystemPrompt, Variable, Worktrees,
};
use crate::registry::{Mark, Registered};
use crate::translate::Intake;

const FORMATS: &[Registered] = &[
    // Lines behind the first one are claimed too.
    Registered::new(&ClaudeCode, &[Mark::Anything]),
    Registered::new(
        &STREAM,
        &[
            Mark::Keys(&["session_id", "subtype"]),
            Mark::Keys(&["session_id", "parent_tool_use_id", "message"]),
            Mark::Keys(&["session_id", "event"]),
        ],
    ),
];

/// Claude Code.
pub static CLIENT: Client = Client {
    shown: "Claude Code",
    aliases: &["claude"],
    program: "claude",
    printed: Some(super::FORMAT_STREAM),
    home: Some(&Home {
        variable: "CLAUDE_CONFIG_DIR",
        below_variable: "",
        below_home: ".claude",
        transcripts: &["projects"],
        database: None,
        variables: &[Variable {
            name: "CLAUDE_CONFIG_DIR",
            about: "Where Claude Code keeps its sessions; `import` reads there, `resume` and `fork` write there. \
                    Default: `~/.claude`.",
        }],
    }),
    intake: &[(RUNTIME, &Intake::MESSAGES)],
    session_variables: &["CLAUDE_CODE_SESSION_ID"],
    worktrees: Some(&Worktrees { folder: ".claude/worktrees", is_in_repository: true }),
    resume: Some(&RESUME),
    open_sign: Some(&OpenSign::Register(Register {
        folder: "sessions",
        pid: "pid",
        session: "sessionId",
        began_ticks: "procStart",
        written_ms: "startedAt",
    })),
    hooks: Some(&Hooks {
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
        meanings: &[
            ("SessionStart", Meaning::Begins),
            ("UserPromptSubmit", Meaning::Prompt),
            ("PreToolUse", Meaning::Tool),
            ("PostToolUse", Meaning::Tool),
            ("PostToolBatch", Meaning::Tool),
            ("PostToolUseFailure", Meaning::ToolFailed),
            ("PreCompact", Meaning::BeforeCompaction),
            ("PostCompact", Meaning::AfterCompaction),
            ("SessionEnd", Meaning::Ends),
            ("Notification", Meaning::Asks),
            ("PermissionRequest", Meaning::Asks),
            ("PermissionDenied", Meaning::Asks),
        ],
    }),
    launch: Some(&Launch {
        model_flag: "--model",
        system_prompt: Some(SystemPrompt::Flag("--append-system-prompt")),
        tools_flag: Some("--tools"),
    }),
    expiry: Some(&Expiry {
        settings: "settings.json",
        days_default: 30,
        age: &["cleanupPeriodDays"],
        age_as: AgeAs::Days,
        enabled: &[],
    }),
    compaction: Some(&Compaction {
        makers: &[Maker::Anthropic],
        at: CompactsAt::OnlyAsSet,
        source: "tried: nothing at 195,000 of 200,000 tokens without `--autocompact N`; with it, at N",
        window: None,
    }),
    subagents: Some(&Subagents { folder: "subagents", session_prefix: "agent-" }),
    sidecars: Some(&Sidecars {
        transcripts: "projects",
        folders: &[
            folder("tool-results", SidecarKind::Result),
            SidecarFolder { is_of_subagents: true, ..folder("subagents", SidecarKind::Result) },
            SidecarFolder { is_of_subagents: true, ..folder("workflows", SidecarKind::Result) },
            SidecarFolder { at: SidecarPlace::Home, ..folder("file-history", SidecarKind::Backup) },
        ],
        transcript_prefix: "agent-",
    }),
    ..Client::read_only(RUNTIME, FORMATS, Some(&table::CLAUDE_CODE))
};

const fn folder(name: &'static str, kind: SidecarKind) -> SidecarFolder {
    SidecarFolder { name, kind, is_of_subagents: false, at: SidecarPlace::BesideTranscript }
}

/// How it continues a session.
pub(super) const RESUME: Resume =
    Resume { command: &["claude", "--resume"], import: None, finds_by_name: true, may_delete: false };
