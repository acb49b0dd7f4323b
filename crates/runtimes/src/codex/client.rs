//! What is known of Codex.

use stemmata_acts::tools::table;
use stemmata_model::Maker;

use super::{Codex, EXEC, RUNTIME, base};
use crate::clients::{
    AskedFor, Client, Compaction, CompactsAt, Forks, Home, HookEvents, HookKind, Hooks, Launch, Meaning,
    OpenSign, Resume, SessionLock, SystemPrompt, Variable, Worktrees,
};
use crate::registry::{Mark, Registered};
use crate::translate::{Intake, Reasoning};

const FORMATS: &[Registered] = &[
    Registered::new(&Codex::PAGINATED, ROLLOUT),
    Registered::new(&Codex::LEGACY, ROLLOUT),
    Registered::new(
        &EXEC,
        &[Mark::Types(&["thread.started", "turn.started", "item.started", "item.updated", "item.completed"])],
    ),
];

/// A header that is longer than what is looked at may have its payload behind that.
const ROLLOUT: &[Mark] = &[
    Mark::Keys(&["timestamp", "payload"]),
    Mark::Keys(&["timestamp", "instructions"]),
    Mark::Cut("timestamp"),
];

/// Codex.
pub static CLIENT: Client = Client {
    shown: "Codex",
    aliases: &["codexcli", "openaicodex"],
    // Without numbers: the simplest form that every version of the loader accepts.
    placed_as: Some(&Codex::LEGACY),
    printed: Some(super::FORMAT_EXEC),
    home: Some(&Home {
        variable: "CODEX_HOME",
        below_variable: "",
        below_home: ".codex",
        transcripts: &["sessions", "archived_sessions"],
        database: None,
        variables: &[Variable {
            name: "CODEX_HOME",
            about: "Where Codex keeps its sessions; `import` reads there, `resume` and `fork` write there. Default: \
                    `~/.codex`.",
        }],
    }),
    intake: &[
        (
            RUNTIME,
            &Intake {
                maker: Some(Maker::OpenAi),
                reasoning: Reasoning::Proven,
                gives_instructions: true,
                ..Intake::ANY
            },
        ),
        (super::exec::RUNTIME, &Intake { maker: Some(Maker::OpenAi), ..Intake::ANY }),
    ],
    worktrees: Some(&Worktrees { folder: ".codex/worktrees", is_in_repository: false }),
    session_variables: &["CODEX_THREAD_ID"],
    resume: Some(&RESUME),
    // Since 0.147, which lets one process write a thread at a time.
    open_sign: Some(&OpenSign::Lock(SessionLock { folder: "thread-writer-locks", ending: ".lock" })),
    hooks: Some(&Hooks {
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
        meanings: &[
            ("SessionStart", Meaning::Begins),
            ("UserPromptSubmit", Meaning::Prompt),
            ("PreToolUse", Meaning::Tool),
            ("PostToolUse", Meaning::Tool),
            ("PreCompact", Meaning::BeforeCompaction),
            ("PostCompact", Meaning::AfterCompaction),
            ("SessionEnd", Meaning::Ends),
            ("PermissionRequest", Meaning::Asks),
        ],
    }),
    launch: Some(&Launch {
        model_flag: "-m",
        system_prompt: Some(SystemPrompt::Setting { flag: "-c", key: "developer_instructions" }),
        tools_flag: None,
    }),
    compaction: Some(&Compaction {
        makers: &[Maker::OpenAi],
        at: CompactsAt::Permille(900),
        source: "about nine tenths, from a survey of clients; `model_auto_compact_token_limit` sets it",
        window: Some((258_400, "`model_context_window` in recorded rollouts of three models")),
    }),
    forks: Some(&Forks { base: base::base, base_span: base::base_span, before: base::before }),
    names_subagents_plainly: true,
    reported_window: Some(super::usage::reported_window),
    ..Client::read_only(RUNTIME, FORMATS, Some(&table::CODEX))
};

/// How it continues a session.
pub(super) const RESUME: Resume =
    Resume { command: &["codex", "resume"], import: None, finds_by_name: false, may_delete: false };
