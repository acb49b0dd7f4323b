//! The operations: each with its name, the commands that show its answer with `--json`, and that answer.
//!
//! The one list that pages and documents are made from. Rows keep the order of the pages. An operation is named after
//! its facet of the service, after `host` where only this machine can do it, or after `program`.

use crate::problem::{Candidate, Problem};
use crate::schema::TypeOf;
use crate::v1::{
    AdoptRequest, AppendRequest, Appended, ArtifactReadRequest, ArtifactText, AssembleRequest, Assembled,
    Audit, BackedUp, BeginTurnRequest, Blame, BlameRequest, BlamedLine, BundleExportRequest, BundleExported,
    BundleHave, BundleHaveRequest, BundleImportRequest, BundleImported, BundleShowRequest, BundleShown,
    CachedPrefix, ChainCostsRequest, ChainSide, Changed, ChangedFile, CheckStrategyRequest,
    CheckpointContext, CheckpointDrift, CheckpointFileMade, CheckpointFileRequest, CheckpointLoaded,
    CheckpointRequest, CheckpointSaved, CheckpointTask, Checkpointed, Children, ChildrenRequest,
    ClientFinding, ClientHooks, ClientScan, ClientSessions, ClientWindow, CloseThreadRequest, CollectRequest,
    CollectedAmount, Commit, CommitPage, CommitRequest, CompactRequest, Compacted, CompareRequest,
    Comparison, ConfigEntry, ConfigPath, ConfigValue, Configuration, ConfiguredTemplate, ContextChange,
    ContextImages, ContextReport, ContextRequest, CountedBy, CutTranscript, Damage, DecideRequest,
    DecisionKind, Decisions, Diagnoses, Diagnosis, Diff, DisownRequest, Du, DuChain, DuChains, DuSidecars,
    DuTotal, EntriesRequest, Entry, EntryPage, EntryText, Event, Events, EventsForgotten, EventsRequest,
    Exclusions, ExportRequest, Exported, Failure, FindRequest, Finding, FinishTaskRequest, FollowRequest,
    Forget, ForgetBranch, ForgetCopy, ForgetEventsRequest, ForgetRequest, Found, FoundPrompt, FoundRange, Gc,
    GitCommitMade, GitHook, GuardItem, GuardOverflow, GuardReport, GuardRequest, Handoff, HandoffRequest,
    HeldBack, HistoryRequest, Home, Hooks, Import, Imported, IndexBuilt, IndexStatus, Installed,
    InstalledAll, Inventory, Kept, KnownDecision, LastCompactionRequest, LatestSessionRequest, Ledger,
    LedgerExported, LedgerForgotten, LedgerPage, LedgerRequest, LedgersRequest, LeftOut, Link, Loss, Losses,
    LostCounts, LostEntry, MarkTurnEntriesRequest, MaterializeRequest, Materialized, Mended, MendedLine,
    Migration, MigrationStep, ModelWindow, Named, Native, NewEvent, Note, OpenTask, OpenTasks,
    OverviewRequest, OverviewTurn, PackRequest, Packing, Pause, Pending, Placed, PlacementRecorded,
    PreparePlacementRequest, PreparedPlacement, PromptBudget, PromptCandidate, PromptImage, PromptItem,
    PromptSection, PromptTrace, PromptTruncation, PromptTurn, RecallReason, RecallRequest, RecallScope,
    RecallSkipped, Recalled, RecalledItem, RecordPlacementRequest, RecoverTurnRequest, Recovered,
    RecoveredFile, RedactedKind, Repaired, Reparented, ReplayRequest, Replayed, ReplayedReducer,
    ReplayedTranscripts, ReportedTokens, ResolveRequest, Resolved, RestoreStateRequest, Restored,
    RestoredLedger, RestoredReducer, RetiredSession, Scan, ScanFinding, ScanRequest, Scrub, ScrubKind,
    ScrubRedirect, ScrubRequest, SearchHit, SearchHits, SearchReason, SearchRequest, SearchSpan, Session,
    SessionError, SessionMeant, SessionOverview, SessionPage, SessionRequest, SessionTotals, SessionsRequest,
    Setup, SetupStep, SharedTag, ShippedStrategy, ShortIds, ShortIdsRequest, ShowRequest, ShowTurnRequest,
    ShowTurnsRequest, ShownCall, ShownTurn, ShownTurns, Sidecar, Sidecars, SidecarsRequest, Sighting,
    SnapshotRequest, Source, Started, StartedSubagent, State, StateRequest, Status, StoppedReading,
    Strategies, StrategyFinding, StrategyReport, StrategyRequest, StrategySource, StrategyText,
    SummarizeRequest, Summarized, Summary, SummarySection, Tags, TagsRequest, TipsRequest, Totals, Tree,
    TreeRequest, TreeRun, TreeSubagent, TrustedFile, TrustedRules, TurnBegun, TurnCall, TurnCompaction,
    TurnContext, TurnEntriesMarked, TurnEntry, TurnFork, TurnHint, TurnImage, TurnMadeRequest, TurnOf,
    TurnOutline, TurnOverflow, TurnPiece, TurnPrompt, TurnPrune, TurnPruned, TurnRecovered, TurnResult,
    TurnStored, TurnTask, TurnUsage, TurnWindow, TurnWindowReport, TurnWindowRequest, TurnWindowSample,
    TurnWindowShown, Uncompacted, UnforgetRequest, Unforgotten, UnreadFile, UnreadLedger, UntrustedRules,
    UpdateRequest, VaultPurged, VaultStatus, Verify, Watched, WindowCall, WindowEntry, WindowLimit,
    WindowLimits, WindowResult,
};

/// An operation.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    /// Its stable name: `chains.history`.
    pub name: &'static str,
    /// The commands that print its answer, as typed.
    pub commands: &'static [&'static str],
    /// What it asks with; absent for what only this machine can do, and where nothing is asked.
    pub request: Option<TypeOf>,
    /// What its commands print with `--json`: its answer, or one that a command makes of it. Its answer where there is no command.
    pub response: TypeOf,
}

impl Operation {
    const fn asks<T: schemars::JsonSchema + serde::de::DeserializeOwned>(mut self) -> Self {
        self.request = Some(TypeOf::of::<T>());
        self
    }
}

const fn row<T: schemars::JsonSchema + serde::de::DeserializeOwned>(
    name: &'static str,
    commands: &'static [&'static str],
) -> Operation {
    Operation { name, commands, request: None, response: TypeOf::of::<T>() }
}

/// Every operation that answers with JSON. An operation that is planned and applied has one row.
pub const OPERATIONS: &[Operation] = &[
    row::<Import>("host.import", &["import"]),
    row::<SessionPage>("chains.sessions", &["list", "log"]).asks::<SessionsRequest>(),
    row::<Inventory>("host.inventory", &["home"]),
    row::<CommitPage>("chains.history", &["log REF", "history"]).asks::<HistoryRequest>(),
    row::<Tree>("chains.tree", &["tree"]).asks::<TreeRequest>(),
    row::<Commit>("chains.show", &["show"]).asks::<ShowRequest>(),
    row::<ShownTurns>("chains.turns", &["show REF:N..M"]).asks::<ShowTurnsRequest>(),
    row::<SearchHits>("search.search", &["search"]).asks::<SearchRequest>(),
    row::<EntryPage>("search.entries", &["show REF --entry"]).asks::<EntriesRequest>(),
    row::<Children>("chains.children", &["children"]).asks::<ChildrenRequest>(),
    row::<Tags>("chains.tags", &[]).asks::<TagsRequest>(),
    row::<CommitPage>("chains.tips", &["tips"]).asks::<TipsRequest>(),
    row::<Blame>("chains.blame", &["blame"]).asks::<BlameRequest>(),
    row::<Diff>("chains.diff", &["diff"]).asks::<LastCompactionRequest>(),
    row::<Comparison>("chains.compare", &["diff A B"]).asks::<CompareRequest>(),
    row::<Resolved>("chains.resolve", &["resolve"]).asks::<ResolveRequest>(),
    row::<Native>("give_back.native", &["native"]).asks::<CommitRequest>(),
    row::<Sidecars>("give_back.sidecars", &["sidecars"]).asks::<SidecarsRequest>(),
    row::<Materialized>("give_back.materialize", &["materialize"]).asks::<MaterializeRequest>(),
    row::<Exported>("give_back.export", &["export"]).asks::<ExportRequest>(),
    row::<Placed>("host.place", &["resume", "fork"]),
    row::<Handoff>("give_back.handoff", &["handoff"]).asks::<HandoffRequest>(),
    row::<Compacted>("chains.compact", &["compact"]).asks::<CompactRequest>(),
    row::<Summarized>("give_back.summarize", &["compact --print"]).asks::<SummarizeRequest>(),
    row::<ArtifactText>("give_back.read_artifact", &["artifact read"]).asks::<ArtifactReadRequest>(),
    row::<Uncompacted>("chains.before_compaction", &["uncompact"]).asks::<LastCompactionRequest>(),
    row::<Checkpointed>("chains.checkpoint", &["checkpoint"]).asks::<CheckpointRequest>(),
    row::<CheckpointSaved>("host.save_checkpoint", &["checkpoint --out"]),
    row::<CheckpointLoaded>("host.load_checkpoint", &["checkpoint --load"]),
    row::<Named>("chains.snapshot", &["snapshot"]).asks::<SnapshotRequest>(),
    row::<Named>("host.current", &["current"]),
    row::<Changed>("chains.update", &["update", "tag", "pin", "unpin"]).asks::<UpdateRequest>(),
    row::<Forget>("maintain.forget", &["forget"]).asks::<ForgetRequest>(),
    row::<Unforgotten>("maintain.unforget", &["forget --undo"]).asks::<UnforgetRequest>(),
    row::<Scan>("maintain.scan", &["scan"]).asks::<ScanRequest>(),
    row::<ClientScan>("host.scan_clients", &["scan --clients"]),
    row::<Scrub>("maintain.scrub", &["scrub"]).asks::<ScrubRequest>(),
    row::<VaultStatus>("host.vault_status", &["vault status"]),
    row::<TrustedRules>("host.trusted_rules", &["secrets trust", "secrets distrust", "secrets list"]),
    row::<VaultPurged>("host.vault_purge", &["vault purge"]),
    row::<Gc>("maintain.collect", &["gc"]).asks::<CollectRequest>(),
    row::<BundleExported>("give_back.export_bundle", &["bundle export"]).asks::<BundleExportRequest>(),
    row::<BundleImported>("give_back.import_bundle", &["bundle import"]).asks::<BundleImportRequest>(),
    row::<BundleShown>("give_back.show_bundle", &["bundle show"]).asks::<BundleShowRequest>(),
    row::<BundleHave>("give_back.bundle_have", &["bundle have"]).asks::<BundleHaveRequest>(),
    row::<Verify>("maintain.verify", &["verify"]),
    row::<Diagnoses>("host.diagnose", &["doctor"]),
    row::<Mended>("host.mend", &["repair"]),
    row::<Recovered>("host.recover", &["recover"]),
    row::<Du>("maintain.usage", &["du"]),
    row::<DuChains>("maintain.chain_costs", &["du --chains"]).asks::<ChainCostsRequest>(),
    row::<Packing>("maintain.pack", &["pack"]).asks::<PackRequest>(),
    row::<State>("ledgers.state", &["state"]).asks::<StateRequest>(),
    row::<Assembled>("prompts.assemble", &["assemble"]).asks::<AssembleRequest>(),
    row::<ContextReport>("prompts.context", &["context debug"]).asks::<ContextRequest>(),
    row::<GuardReport>("prompts.guard", &["guard"]).asks::<GuardRequest>(),
    row::<Recalled>("prompts.recall", &["recall"]).asks::<RecallRequest>(),
    row::<TurnBegun>("prompts.begin_turn", &["turn begin"]).asks::<BeginTurnRequest>(),
    row::<TurnStored>("prompts.step", &["turn step"]).asks::<TurnMadeRequest>(),
    row::<TurnStored>("prompts.end_turn", &["turn end"]).asks::<TurnMadeRequest>(),
    row::<TurnWindowShown>("prompts.turn_window", &["turn window"]).asks::<TurnWindowRequest>(),
    row::<TurnRecovered>("prompts.recover_turn", &["turn recover"]).asks::<RecoverTurnRequest>(),
    row::<TurnEntriesMarked>("prompts.mark_turn_entries", &["turn rehydrate", "turn pin", "turn unpin"])
        .asks::<MarkTurnEntriesRequest>(),
    row::<StrategyReport>("prompts.check_strategy", &["strategy check"]).asks::<CheckStrategyRequest>(),
    row::<Strategies>("prompts.strategies", &["strategy list"]),
    row::<StrategyText>("prompts.strategy", &["strategy show"]).asks::<StrategyRequest>(),
    row::<Appended>("ledgers.decide", &["decision add", "task add"]).asks::<DecideRequest>(),
    row::<Appended>("ledgers.finish_task", &["task done"]).asks::<FinishTaskRequest>(),
    row::<Appended>("ledgers.close_thread", &["decision close"]).asks::<CloseThreadRequest>(),
    row::<Decisions>("ledgers.decisions", &["decision list"]).asks::<LedgerRequest>(),
    row::<OpenTasks>("ledgers.tasks", &["task list"]).asks::<LedgerRequest>(),
    row::<Replayed>("ledgers.replay", &["replay"]).asks::<ReplayRequest>(),
    row::<Appended>("ledgers.append", &["events append"]).asks::<AppendRequest>(),
    row::<Events>("ledgers.events", &["events query", "events tail"]).asks::<EventsRequest>(),
    row::<Event>("ledgers.follow", &["events follow"]).asks::<FollowRequest>(),
    row::<EventsForgotten>("ledgers.forget_events", &["events forget"]).asks::<ForgetEventsRequest>(),
    row::<LedgerPage>("ledgers.ledgers", &["ledger list"]).asks::<LedgersRequest>(),
    row::<LedgerPage>("ledgers.adopt", &["ledger adopt"]).asks::<AdoptRequest>(),
    row::<LedgerPage>("ledgers.disown", &["ledger adopt --remove"]).asks::<DisownRequest>(),
    row::<LedgerExported>("host.export_ledger", &["ledger export"]),
    row::<LedgerPage>("host.import_ledger", &["ledger import"]),
    row::<BackedUp>("host.backup", &["backup"]),
    row::<RestoredLedger>("ledgers.restore_state", &["restore"]).asks::<RestoreStateRequest>(),
    row::<Restored>("host.restore", &["restore DIR"]),
    row::<Migration>("host.migrate", &["migrate"]),
    row::<Started>("host.start", &["start"]),
    row::<Watched>("host.watch", &["watch"]),
    row::<IndexStatus>("search.index_status", &["index"]),
    row::<IndexStatus>("search.settle_index", &[]),
    row::<IndexBuilt>("search.rebuild_index", &["index rebuild"]),
    row::<Installed>("host.install", &["install", "uninstall"]),
    row::<Setup>("host.setup", &["setup"]),
    row::<GitHook>("host.git_hook", &["git install", "git uninstall"]),
    row::<Exclusions>("host.policy", &["exclude", "pause", "unpause"]),
    row::<Status>("host.status", &["status"]),
    row::<Configuration>("program.configuration", &["config"]),
    row::<ConfigEntry>("program.config_entry", &["config explain"]),
    row::<WindowLimits>("program.window_limits", &["config explain window"]),
    row::<ConfigPath>("program.config_path", &["config path"]),
    row::<ConfigEntry>("program.config_set", &["config set"]),
    // What commands ask on their way, and print nothing of.
    row::<Found>("chains.find", &[]).asks::<FindRequest>(),
    row::<ShortIds>("chains.short_ids", &[]).asks::<ShortIdsRequest>(),
    row::<ShownTurn>("chains.turn", &[]).asks::<ShowTurnRequest>(),
    row::<SessionMeant>("chains.overview", &[]).asks::<OverviewRequest>(),
    row::<Session>("chains.session", &[]).asks::<SessionRequest>(),
    row::<Session>("chains.latest_session", &[]).asks::<LatestSessionRequest>(),
    row::<CheckpointFileMade>("give_back.checkpoint_file", &[]).asks::<CheckpointFileRequest>(),
    row::<CheckpointContext>("give_back.load_checkpoint_file", &[]),
    row::<PreparedPlacement>("give_back.prepare_placement", &[]).asks::<PreparePlacementRequest>(),
    row::<PlacementRecorded>("give_back.record_placement", &[]).asks::<RecordPlacementRequest>(),
    row::<Ledger>("ledgers.ledger", &[]).asks::<LedgerRequest>(),
];

/// The types that stand within others.
pub const INNER: &[TypeOf] = &[
    TypeOf::of::<Problem>(),
    TypeOf::of::<DecisionKind>(),
    TypeOf::of::<ShownTurn>(),
    TypeOf::of::<FoundPrompt>(),
    TypeOf::of::<FoundRange>(),
    TypeOf::of::<CutTranscript>(),
    TypeOf::of::<ClientHooks>(),
    TypeOf::of::<ClientSessions>(),
    TypeOf::of::<SessionTotals>(),
    TypeOf::of::<Candidate>(),
    TypeOf::of::<Found>(),
    TypeOf::of::<DuChain>(),
    TypeOf::of::<DuSidecars>(),
    TypeOf::of::<StoppedReading>(),
    TypeOf::of::<Sidecar>(),
    TypeOf::of::<LostCounts>(),
    TypeOf::of::<RecallScope>(),
    TypeOf::of::<DuTotal>(),
    TypeOf::of::<Summary>(),
    TypeOf::of::<Sighting>(),
    TypeOf::of::<Source>(),
    TypeOf::of::<Link>(),
    TypeOf::of::<Audit>(),
    TypeOf::of::<Entry>(),
    TypeOf::of::<SearchHit>(),
    TypeOf::of::<SearchReason>(),
    TypeOf::of::<SearchSpan>(),
    TypeOf::of::<EntryText>(),
    TypeOf::of::<Session>(),
    TypeOf::of::<SharedTag>(),
    TypeOf::of::<SummarySection>(),
    TypeOf::of::<CheckpointTask>(),
    TypeOf::of::<CheckpointDrift>(),
    TypeOf::of::<TurnPiece>(),
    TypeOf::of::<ShownCall>(),
    TypeOf::of::<TurnOutline>(),
    TypeOf::of::<ChangedFile>(),
    TypeOf::of::<ChainSide>(),
    TypeOf::of::<GitCommitMade>(),
    TypeOf::of::<StartedSubagent>(),
    TypeOf::of::<SessionOverview>(),
    TypeOf::of::<OverviewTurn>(),
    TypeOf::of::<ReportedTokens>(),
    TypeOf::of::<SessionError>(),
    TypeOf::of::<TreeRun>(),
    TypeOf::of::<TreeSubagent>(),
    TypeOf::of::<Imported>(),
    TypeOf::of::<LeftOut>(),
    TypeOf::of::<Failure>(),
    TypeOf::of::<HeldBack>(),
    TypeOf::of::<Totals>(),
    TypeOf::of::<Note>(),
    TypeOf::of::<Reparented>(),
    TypeOf::of::<Losses>(),
    TypeOf::of::<Diagnosis>(),
    TypeOf::of::<Finding>(),
    TypeOf::of::<BlamedLine>(),
    TypeOf::of::<Loss>(),
    TypeOf::of::<MendedLine>(),
    TypeOf::of::<RecoveredFile>(),
    TypeOf::of::<InstalledAll>(),
    TypeOf::of::<SetupStep>(),
    TypeOf::of::<LostEntry>(),
    TypeOf::of::<Kept>(),
    TypeOf::of::<ForgetBranch>(),
    TypeOf::of::<ForgetCopy>(),
    TypeOf::of::<RedactedKind>(),
    TypeOf::of::<ScanFinding>(),
    TypeOf::of::<ClientFinding>(),
    TypeOf::of::<UnreadFile>(),
    TypeOf::of::<UnreadLedger>(),
    TypeOf::of::<ScrubKind>(),
    TypeOf::of::<ScrubRedirect>(),
    TypeOf::of::<RetiredSession>(),
    TypeOf::of::<CollectedAmount>(),
    TypeOf::of::<Damage>(),
    TypeOf::of::<MigrationStep>(),
    TypeOf::of::<Repaired>(),
    TypeOf::of::<Pause>(),
    TypeOf::of::<Home>(),
    TypeOf::of::<Hooks>(),
    TypeOf::of::<Pending>(),
    TypeOf::of::<UntrustedRules>(),
    TypeOf::of::<TrustedFile>(),
    TypeOf::of::<ConfigValue>(),
    TypeOf::of::<ConfiguredTemplate>(),
    TypeOf::of::<Ledger>(),
    TypeOf::of::<LedgerForgotten>(),
    TypeOf::of::<RecalledItem>(),
    TypeOf::of::<RecallReason>(),
    TypeOf::of::<RecallSkipped>(),
    TypeOf::of::<PromptTrace>(),
    TypeOf::of::<PromptTurn>(),
    TypeOf::of::<PromptBudget>(),
    TypeOf::of::<PromptSection>(),
    TypeOf::of::<PromptCandidate>(),
    TypeOf::of::<PromptItem>(),
    TypeOf::of::<PromptImage>(),
    TypeOf::of::<CountedBy>(),
    TypeOf::of::<ModelWindow>(),
    TypeOf::of::<ClientWindow>(),
    TypeOf::of::<ContextImages>(),
    TypeOf::of::<WindowLimit>(),
    TypeOf::of::<GuardItem>(),
    TypeOf::of::<GuardOverflow>(),
    TypeOf::of::<TurnWindowReport>(),
    TypeOf::of::<WindowEntry>(),
    TypeOf::of::<WindowCall>(),
    TypeOf::of::<WindowResult>(),
    TypeOf::of::<TurnPrune>(),
    TypeOf::of::<TurnPruned>(),
    TypeOf::of::<TurnCompaction>(),
    TypeOf::of::<TurnOverflow>(),
    TypeOf::of::<TurnWindowSample>(),
    TypeOf::of::<PromptTruncation>(),
    TypeOf::of::<CachedPrefix>(),
    TypeOf::of::<ContextChange>(),
    TypeOf::of::<StrategyFinding>(),
    TypeOf::of::<ShippedStrategy>(),
    TypeOf::of::<KnownDecision>(),
    TypeOf::of::<OpenTask>(),
    TypeOf::of::<ReplayedReducer>(),
    TypeOf::of::<ReplayedTranscripts>(),
    TypeOf::of::<RestoredReducer>(),
];

/// The requests that commands read as JSON from standard input, and the types within them that no answer has.
pub const READ: &[TypeOf] = &[
    TypeOf::of::<BeginTurnRequest>(),
    TypeOf::of::<TurnMadeRequest>(),
    TypeOf::of::<TurnWindowRequest>(),
    TypeOf::of::<RecoverTurnRequest>(),
    TypeOf::of::<MarkTurnEntriesRequest>(),
    TypeOf::of::<TurnOf>(),
    TypeOf::of::<TurnContext>(),
    TypeOf::of::<TurnFork>(),
    TypeOf::of::<TurnEntry>(),
    TypeOf::of::<TurnHint>(),
    TypeOf::of::<TurnCall>(),
    TypeOf::of::<TurnImage>(),
    TypeOf::of::<TurnResult>(),
    TypeOf::of::<TurnUsage>(),
    TypeOf::of::<TurnTask>(),
    TypeOf::of::<TurnPrompt>(),
    TypeOf::of::<StrategySource>(),
    TypeOf::of::<TurnWindow>(),
    TypeOf::of::<NewEvent>(),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_of_the_service_has_a_row() {
        let facets = [
            ("chains", include_str!("service/chains.rs")),
            ("give_back", include_str!("service/give_back.rs")),
            ("ledgers", include_str!("service/ledgers.rs")),
            ("maintain", include_str!("service/maintain.rs")),
            ("prompts", include_str!("service/prompts.rs")),
            ("search", include_str!("service/search.rs")),
        ];
        for (facet, source) in facets {
            let names =
                source.lines().filter_map(|line| line.trim_start().strip_prefix("fn ")?.split('(').next());
            for name in names {
                let planned =
                    ["plan_", "apply_"].iter().find_map(|way| name.strip_prefix(way)).unwrap_or(name);
                let row = format!("{facet}.{planned}");
                assert!(OPERATIONS.iter().any(|operation| operation.name == row), "{row} has no row");
            }
        }
    }

    #[test]
    fn a_name_is_one_operation_and_a_command_shows_one_answer() {
        for (at, operation) in OPERATIONS.iter().enumerate() {
            for other in OPERATIONS.iter().skip(at + 1) {
                assert_ne!(operation.name, other.name);
                let doubled = operation.commands.iter().find(|command| other.commands.contains(command));
                assert_eq!(doubled, None, "{} and {}", operation.name, other.name);
            }
        }
    }
}
