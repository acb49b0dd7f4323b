//! Version 1 of the wire types: a contract. Fields may be added; none changes its meaning or goes away.
//!
//! Responses ignore fields that they do not know. What a field says is documented here, and from here in
//! `docs/reference/json.md`.

mod artifact;
mod bundle;
mod checkpoint;
mod client;
mod commit;
mod compact;
mod context;
mod find;
mod git;
mod guard;
mod import;
mod inventory;
mod keep;
mod ledger;
mod maintain;
mod messages;
mod place;
mod prompt;
mod recall;
mod registry;
mod search;
mod secrets;
mod session;
mod settings;
mod sidecar;
mod state;
mod stats;
mod story;
mod strategy;
mod summarize;
mod trace;
mod turn;
mod turn_window;

pub use stemmata_model::{Durability, ExportForm, Link, Loss, Losses, Note, Source, Trigger};

pub use artifact::{ARTIFACT_READ_BYTES_MAX, ArtifactRange, ArtifactReadRequest, ArtifactText, ArtifactUnit};
pub use bundle::{
    BUNDLE_COMMITS_MAX, BundleExportRequest, BundleExported, BundleHave, BundleHaveRequest,
    BundleImportRequest, BundleImported, BundleShowRequest, BundleShown,
};
pub use checkpoint::{
    CheckpointContext, CheckpointDrift, CheckpointFileMade, CheckpointFileRequest, CheckpointLoaded,
    CheckpointSaved, CheckpointTask,
};
pub use client::{
    CopiesRemoved, Diagnoses, Diagnosis, Finding, Home, Hooks, IdleCopy, Installed, InstalledAll, Mended,
    MendedLine, Pending, Recovered, RecoveredFile, Setup, SetupStep,
};
pub use commit::{
    Audit, CONTENT_BYTES_MAX, CheckpointRequest, Children, ChildrenRequest, Commit, CommitPage, CommitType,
    CommitsFound, CommitsRequest, Entry, HistoryRequest, ResolveRequest, ResolveScope, Resolved, ShortIds,
    ShortIdsRequest, ShowRequest, Sighting, Summary, TipsRequest,
};
pub use compact::{CompactRange, CompactRequest, Compacted, LostCounts, SUMMARY_BYTES_MAX, SummaryWith};
pub use context::{
    Changed, Checkpointed, Diff, ExportRequest, Exported, HANDOFF_TOKENS_DEFAULT, Handoff, HandoffReader,
    HandoffRequest, LastCompactionRequest, LostEntry, MaterializeRequest, Materialized, Named, Native,
    NativeRequest, NativeSize, NativeSizeRequest, Reparented, SharedTag, SnapshotRequest, Started,
    Uncompacted, UpdateRequest,
};
pub use find::{CutTranscript, FindRequest, Found, FoundPrompt, FoundRange, TaggedCommit, Tags, TagsRequest};
pub use git::{Blame, BlameRequest, BlamedLine, GitHook, KnownLine};
pub use guard::{
    GuardArchived, GuardCompaction, GuardCut, GuardGiven, GuardItem, GuardOverflow, GuardReport, GuardRequest,
};
pub use import::{Failure, HeldBack, Import, Imported, LeftOut, RedactedKind, Totals, Watched};
pub use inventory::{ClientHooks, ClientSessions, Inventory, SessionTotals};
pub use keep::{
    CollectRequest, CollectedAmount, Forget, ForgetBranch, ForgetCopy, ForgetRequest, Gc, Kept,
    RetiredSession, UnforgetRequest, Unforgotten,
};
pub use ledger::{
    APPEND_BYTES_MAX, APPEND_EVENTS_MAX, AdoptRequest, AppendRequest, Appended, DisownRequest, Event, Events,
    EventsForgotten, EventsRequest, FollowFrom, FollowRequest, Followed, ForgetEventsRequest, Ledger,
    LedgerExported, LedgerForgotten, LedgerPage, LedgerRequest, LedgersRequest, NewEvent,
};
pub use maintain::{
    BackedUp, ChainCostsRequest, Damage, Du, DuChain, DuChains, DuSidecars, DuTotal, Migration,
    MigrationStep, PackRequest, Packing, Repaired, Restored, Verify,
};
pub use messages::{ProviderApi, ProviderMessages};
pub use place::{
    ConversionOf, Placed, PlacementRecorded, PreparePlacementRequest, PreparedPlacement,
    RecordPlacementRequest, WrittenFile,
};
pub use prompt::{
    AssembleRequest, Assembled, ClientWindow, ContextChange, ContextImages, ContextOf, ContextReport,
    ContextRequest, CountedBy, KeptPromptOf, ModelWindow, PROMPT_FILE_BYTES_MAX, PromptTrigger,
    SAID_BYTES_MAX, StrategySource,
};
pub use recall::{
    RECALL_TOKENS_DEFAULT, RecallReason, RecallRequest, RecallScope, RecallSkipped, Recalled, RecalledItem,
};
pub use registry::{
    AuditEntry, AuditOutcome, AuditPage, AuditRequest, DeletePointerRequest, Job, JobCost, JobList, JobState,
    JobsRequest, Pointer, PointerDeleted, PointerPage, PointerRequest, PointerSet, PointersRequest,
    SetPointerRequest,
};
pub use search::{
    AROUND_MAX, AROUND_TOKENS_DEFAULT, AROUND_TOKENS_MAX, EntriesRequest, EntryPage, EntryText, HITS_DEFAULT,
    HITS_MAX, IndexBuilt, IndexState, IndexStatus, NOTHING_IMPORTED, QUERY_BYTES_MAX, SearchFilter,
    SearchForm, SearchHit, SearchHits, SearchReason, SearchRequest, SearchSpan,
};
pub use secrets::{
    ClientFinding, ClientScan, Scan, ScanFinding, ScanRequest, Scrub, ScrubKind, ScrubRedirect, ScrubRequest,
    TrustedFile, TrustedRules, UnreadFile, UnreadLedger, VaultRemoved,
};
pub use session::{
    LatestSessionRequest, Session, SessionDetails, SessionPage, SessionRequest, SessionsRequest,
    StoppedReading, Tree, TreeRequest, TreeRun, TreeSubagent,
};
pub use settings::{
    ConfigEntry, ConfigPath, ConfigValue, Configuration, ConfiguredTemplate, Exclusions, Pause, Status,
    UntrustedRules, WindowLimit, WindowLimits,
};
pub use sidecar::{SIDECAR_FORMAT, Sidecar, Sidecars, SidecarsRequest};
pub use state::{
    CloseThreadRequest, DecideRequest, DecisionKind, Decisions, FinishTaskRequest, KnownDecision, OpenTask,
    OpenTasks, ReplayRequest, Replayed, ReplayedReducer, ReplayedTranscripts, RestoreStateRequest,
    RestoredLedger, RestoredReducer, State, StateRequest,
};
pub use stats::{ModelPrice, Stats, StatsBy, StatsRequest, StatsRow};
pub use story::{
    ChainSide, ChangedFile, CompareRequest, Comparison, GitCommitMade, OverviewRequest, OverviewTurn,
    ReportedTokens, SHOWN_TURNS_MAX, SessionError, SessionMeant, SessionOverview, ShowTurnRequest,
    ShowTurnsRequest, ShownCall, ShownTurn, ShownTurns, StartedSubagent, TurnOutline, TurnPiece,
};
pub use strategy::{
    CheckStrategyRequest, ShippedStrategy, Strategies, StrategyFinding, StrategyFormat, StrategyReport,
    StrategyRequest, StrategyText,
};
pub use summarize::{SummarizeRequest, Summarized, SummarySection};
pub use trace::{
    CachedPrefix, PromptBudget, PromptCandidate, PromptDecision, PromptImage, PromptItem, PromptReason,
    PromptReasonTotal, PromptSection, PromptSectionTotal, PromptTrace, PromptTraceSummary, PromptTruncation,
    PromptTurn, PromptVariant, TraceDetail,
};
pub use turn::{
    BeginTurnRequest, TURN_BYTES_MAX, TURN_ENTRIES_MAX, TurnBegun, TurnCall, TurnContext, TurnEntry,
    TurnFork, TurnHint, TurnImage, TurnMadeRequest, TurnOf, TurnPrompt, TurnResult, TurnStored, TurnTask,
    TurnUsage,
};
pub use turn_window::{
    MarkTurnEntriesRequest, PROVIDER_ERROR_BYTES_MAX, RecoverTurnRequest, TurnCompaction, TurnEntriesMarked,
    TurnOverflow, TurnPrune, TurnPruned, TurnRecovered, TurnWindow, TurnWindowReport, TurnWindowRequest,
    TurnWindowSample, TurnWindowShown, WindowCall, WindowEntry, WindowResult,
};
