//! The use cases of Stemmata: capture transcripts, walk chains, give conversations back.
//!
//! A program opens a [`Home`], which is a data directory and everything that using it demands, and calls the verbs of its
//! [`Engine`]. Blocking. Decides with the pure crates, acts through the store and the file system; knows no command line, no
//! environment and no wire format.
//!
//! `examples/embed` of the repository is a program that depends on this crate alone: a checkpoint, a fork, a materialize and a
//! turn, in about fifteen lines each.

mod briefs;
mod bundle;
mod calibration;
mod capture;
mod chain;
mod counters;
mod efforts;
mod engine;
mod error;
mod git;
mod guard;
mod home;
mod ledger;
mod outputs;
mod packing;
mod ports;
mod prompts;
mod recall;
mod reference;
mod retention;
mod scrubbing;
mod search;
mod settings;
mod system;
mod temporary;
mod verbs;
mod worktree;

pub use bundle::{
    BUNDLE_COMMITS_MAX, BUNDLE_CONTENT_BYTES_MAX, BundleError, BundleImportOptions, BundleLimits,
    BundleSelection, BundleSource, HAVE_COMMITS_MAX, is_bundle, parse_have, render_have,
};
pub use capture::captured::{Captured, UnreadRecords};
pub use capture::database::{database_of_log, is_database};
pub use capture::git_hook::{
    CONTEXT_TRAILER, CommentMarks, GIT_HOOK_BYTES_MAX, GIT_HOOKS, GitHook, with_git_hook, with_trailer,
    without_git_hook,
};
pub use capture::homes::{FILES_MAX, HomeHints, RECOVERED, REPAIRED, RuntimeHome, beside};
pub use capture::import::{ImportFailure, ImportProgress, ImportReport, ImportedSession};
pub use capture::install::{
    HookWish, InstalledHooks, SETTINGS_BYTES_MAX, SettingsError, calls_exports, differs_by_hooks_only,
    hook_command, installed_hooks, with_hooks, without_hooks,
};
pub use capture::kept::{Listen, is_session_kept, is_session_there, listen_at};
pub use capture::leaf::Provisional;
pub use capture::lines::LINE_BYTES_MAX;
pub use capture::look::Looked;
pub use capture::namesakes::transcript_of;
pub use capture::nudge::{Later, NUDGE_BYTES_MAX, Nudged};
pub use capture::options::CaptureOptions;
pub use capture::policy::{CapturePolicy, HeldBack, Pause, RULE_BYTES_MAX, RULES_MAX};
pub use capture::sidecars::{
    CapturedSidecars, KeptSidecars, SESSION_SIDECAR_BYTES_MAX, SESSION_SIDECARS_MAX, SIDECAR_BYTES_MAX,
};
pub use capture::source::is_transcript_name;
pub use capture::stopped::StoppedReading;
pub use capture::stream::{
    StreamForm, StreamRecorder, StreamRest, StreamRules, StreamSide, UnkeptLines, timed_format,
};
pub use capture::survey::{FileState, Survey, SurveyedFile};
pub use capture::watch::{Agenda, Look, WatchPace};
pub use counters::{ChosenCounter, CounterChoice};
pub use engine::{Engine, FORMER_MACHINES_MAX, Identity};
pub use error::{Absent, BadRange, Candidate, EngineError, ErrorKind, FormatUse, Refusal, Result, Wanted};
pub use git::{GitAnswer, GitQuestion};
pub use guard::{
    GivenEntries, GivenWanted, GuardWanted, Guarded, GuardedItem, LiveWindow, Shrunk, is_overhead,
    known_window, window_within_model,
};
pub use home::{
    Begun, Calls, Clients, Deed, HeldSession, Holding, Home, HomeNote, HomeOptions, Lease, MachineFacts,
    Marker, Markers, NotTakenUp, Process, Quota, QuotaPlan, RECALL_CHECK, Recall, ShownFiles, StreamProof,
    Streams, TakeUpLimits, TrustedRules, VaultFiles, create_private, modified,
};
pub use ledger::{
    Adopt, BeginTurn, CHECKSUM_BYTES_MAX, CHECKSUM_FILES_MAX, Cluster, EntryHint, EntryMark, EventFilter,
    EventsPlan, Folded, GUIDANCE_MAX, Guidance, LOOK_EVERY, LedgerState, Listening, MEMORY_SESSIONS_MAX,
    Marked, Opened, Project, ProjectDir, ProjectScope, PublishOptions, Published, PublishedState,
    REQUEST_BYTES_MAX, REQUEST_KEPT_US, Recovered, Remembered, RepositoryKey, SAVE_EVENTS, SameCall,
    StepTaken, Stopper, Subscription, TASK_IDS_MAX, TASK_TEXT_BYTES_MAX, TokenTotals, TokensByRole, Told,
    TurnBegun, TurnContext, TurnConversation, TurnEnded, TurnGuard, TurnMade, TurnOf, WindowReport,
    WindowSample, adopted_folders, repository_top,
};
pub use outputs::{OutputFiles, OutputRules};
pub use packing::{KeepPacked, PackKeeper};
pub use ports::{Clock, NewIds, RandomIds, SystemClock};
pub use prompts::{
    KEPT_BYTES_MAX, KEPT_SESSIONS_MAX, KEPT_TURNS_MAX, KeptPrompt, PromptMade, PromptOf, PromptTrigger,
    PromptWanted,
};
pub use recall::{RECALL_TOKENS_MIN, RecallNote, RecallWanted, Recalled};
pub use retention::{RetentionRules, SessionAge, retired};
pub use scrubbing::{PROJECT_RULES, ProjectTrust, StoreRules, UntrustedMet, rules_file_hash};
pub use search::{
    HitPlace, IndexKeeper, IndexTrouble, QueryError, SearchAnswer, SearchError, SearchFilter, SearchHit,
    SearchNote, SearchQuery, SearchReason, SearchStep, SettleBudget, Settled, StepUnit,
};
pub use settings::{
    AgentConfig, ConfigText, Configured, DenseModel, LedgerPlace, ModelApi, ModelRules, ReadFile, SETTINGS,
    Setting, SettingDefault, SettingError, SettingShape, Settings, Templates, ToolRules, WindowRules, is_on,
    template_fields,
};
pub use stemmata_acts::decides as is_deciding_tool;
pub use stemmata_api::v1::{DecisionKind, FollowFrom, IndexState, SearchForm, StatsBy};
pub use stemmata_model as model;
pub use stemmata_prompt as prompt;
pub use stemmata_prompt::compact::Summarizer;
pub use stemmata_prompt::reduce::memory::v1::Task;
pub use stemmata_prompt::retrieve::CandidateKind;
pub use stemmata_redact::{LineState, Scrubber};
pub use stemmata_runtimes::adapter::{Finding, Severity, Validation};
pub use stemmata_runtimes::clients;
pub use stemmata_runtimes::handoff::{HANDOFF_TOKENS_DEFAULT, HANDOFF_TOKENS_MIN};
pub use stemmata_runtimes::messages;
pub use stemmata_runtimes::repair::Change;
pub use stemmata_runtimes::translate::runtime_of;
pub use stemmata_store::{OpenFor, Patience};
pub use stemmata_tokens as tokens;
pub use temporary::{TempFile, TempFiles, TempFolder};
pub use verbs::annotate::Update;
pub use verbs::around::{Around, AroundEntry, AroundQuery};
pub use verbs::artifact::ARTIFACT_READ_BYTES_MAX;
pub use verbs::blame::BlameQuery;
pub use verbs::brief::HandedBrief;
pub use verbs::checkpoint::{CheckpointContent, CheckpointRequest};
pub use verbs::checkpoint_file::{
    CHECKPOINT_FILE_BYTES_MAX, CheckpointFile, CheckpointFileError, ContextSnapshot,
};
pub use verbs::checkpoint_load::{CheckpointGiven, FOREIGN_TAG};
pub use verbs::collect::{CollectOptions, CollectPlan, CollectReport, RetiredSession};
pub use verbs::compact::{
    CompactOf, CompactWanted, CompactWith, Compacted, KEEP_RECENT_TOKENS, NewestCompaction, pinned_before,
};
pub use verbs::copies::Copy;
pub use verbs::doctor::Diagnosis;
pub use verbs::find::{CANDIDATES_MAX, Meant, MeantRange};
pub use verbs::forget::{Branch, ForgetOptions, ForgetPlan, ForgetReport, ForgetTarget};
pub use verbs::handoff::{HandedOff, Narrative};
pub use verbs::history::HistoryRow;
pub use verbs::launch::{AgentTemplate, StartMode, TemplateError};
pub use verbs::materialize::{Materialized, Stop, Tier};
pub use verbs::mend::Mended;
pub use verbs::numbered::NumberedPrompt;
pub use verbs::overview::Overview;
pub use verbs::place::mark::ConversionOf;
pub use verbs::place::own::{NotResumed, OwnSession};
pub use verbs::place::placing::{PlacedFile, Placing, PlacingWish, ReadyFile};
pub use verbs::place::record::{PlacementRecord, WrittenFile};
pub use verbs::place::undo::{CopyFile, handed_over};
pub use verbs::place::{PlaceOptions, Placed, PreparedPlacement};
pub use verbs::recover::{BetterState, JudgedBy, RecoveredCopy, TranscriptState};
pub use verbs::scan::files::ScannedFiles;
pub use verbs::scan::{FoundIn, Holder, ScanPlace, ScanTarget, Scanned, SecretFound};
pub use verbs::scrub::{ScrubPlan, ScrubReport, ScrubTarget};
pub use verbs::sessions::figures::SessionFigures;
pub use verbs::sessions::shown::{session_shown, title_shown};
pub use verbs::sessions::stats::StatsQuery;
pub use verbs::sessions::totals::SessionTotals;
pub use verbs::sessions::{SessionCounts, SessionOnly, SessionQuery, SessionRow, SessionRows, turns_of};
pub use verbs::short_id::ShortId;
pub use verbs::show::{SHOWN_MAX, Shown};
pub use verbs::sidecars::Sidecar;
pub use verbs::summarize::NumberedEntries;
pub use verbs::tree::{BranchPlace, TREE_COMMITS_MAX, Tree, TreeNode, TreeRun, TurnsOfCommits};
pub use verbs::turn::{ShownTurn, TurnEntry};
pub use worktree::{git_head, tree_root};
