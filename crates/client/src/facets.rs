//! The facets of the service, each operation sent by its row.

use std::io::{self, Read, Write};
use std::ops::ControlFlow;

use stemmata_api::operation::{Apply, EmptyRequest};
use stemmata_api::v1::{
    AdoptRequest, AppendRequest, Appended, ArtifactReadRequest, ArtifactText, AssembleRequest, Assembled,
    AuditPage, AuditRequest, BeginTurnRequest, Blame, BlameRequest, BundleExportRequest, BundleExported,
    BundleHave, BundleHaveRequest, BundleImportRequest, BundleImported, BundleShowRequest, BundleShown,
    ChainCostsRequest, Changed, CheckStrategyRequest, CheckpointContext, CheckpointFileMade,
    CheckpointFileRequest, CheckpointRequest, Checkpointed, Children, ChildrenRequest, CloseThreadRequest,
    CollectRequest, Commit, CommitPage, CommitsFound, CommitsRequest, CompactRequest, Compacted,
    CompareRequest, Comparison, ContextReport, ContextRequest, DecideRequest, Decisions,
    DeletePointerRequest, Diff, DisownRequest, Du, DuChains, EntriesRequest, EntryPage, Event, Events,
    EventsForgotten, EventsRequest, ExportRequest, Exported, FindRequest, FinishTaskRequest, FollowRequest,
    Followed, Forget, ForgetEventsRequest, ForgetRequest, Found, Gc, GuardReport, GuardRequest, Handoff,
    HandoffRequest, HistoryRequest, IndexBuilt, IndexStatus, JobList, JobsRequest, LastCompactionRequest,
    LatestSessionRequest, Ledger, LedgerPage, LedgerRequest, LedgersRequest, MarkTurnEntriesRequest,
    MaterializeRequest, Materialized, Named, Native, NativeRequest, NativeSize, NativeSizeRequest, OpenTasks,
    OverviewRequest, PackRequest, Packing, PlacementRecorded, Pointer, PointerDeleted, PointerPage,
    PointerRequest, PointerSet, PointersRequest, PreparePlacementRequest, PreparedPlacement, RecallRequest,
    Recalled, RecordPlacementRequest, RecoverTurnRequest, ReplayRequest, Replayed, ResolveRequest, Resolved,
    RestoreStateRequest, RestoredLedger, Scan, ScanRequest, Scrub, ScrubRequest, SearchHits, SearchRequest,
    Session, SessionMeant, SessionPage, SessionRequest, SessionsRequest, SetPointerRequest, ShortIds,
    ShortIdsRequest, ShowRequest, ShowTurnRequest, ShowTurnsRequest, ShownTurn, ShownTurns, Sidecars,
    SidecarsRequest, SnapshotRequest, State, StateRequest, Stats, StatsRequest, Strategies, StrategyReport,
    StrategyRequest, StrategyText, SummarizeRequest, Summarized, Tags, TagsRequest, TipsRequest, Tree,
    TreeRequest, TurnBegun, TurnEntriesMarked, TurnMadeRequest, TurnRecovered, TurnStored, TurnWindowRequest,
    TurnWindowShown, Uncompacted, UnforgetRequest, Unforgotten, UpdateRequest, Verify,
};
use stemmata_api::{
    Answer, ByteSource, Chains, Control, GiveBack, Ledgers, Maintain, PlanDigest, Prompts, Registry, Search,
    rows,
};

use crate::remote::{InOrder, Remote};

impl Chains for Remote {
    fn find(&self, request: &FindRequest) -> Answer<Found> {
        self.ask(&rows::chains::FIND, request)
    }

    fn short_ids(&self, request: &ShortIdsRequest) -> Answer<ShortIds> {
        self.ask(&rows::chains::SHORT_IDS, request)
    }

    fn sessions(&self, request: &SessionsRequest) -> Answer<SessionPage> {
        self.ask(&rows::chains::SESSIONS, request)
    }

    fn stats(&self, request: &StatsRequest, control: &Control<'_>) -> Answer<Stats> {
        self.ask_long(&rows::chains::STATS, request, control)
    }

    fn session(&self, request: &SessionRequest) -> Answer<Session> {
        self.ask(&rows::chains::SESSION, request)
    }

    fn latest_session(&self, request: &LatestSessionRequest) -> Answer<Session> {
        self.ask(&rows::chains::LATEST_SESSION, request)
    }

    fn show(&self, request: &ShowRequest) -> Answer<Commit> {
        self.ask(&rows::chains::SHOW, request)
    }

    fn turn(&self, request: &ShowTurnRequest) -> Answer<ShownTurn> {
        self.ask(&rows::chains::TURN, request)
    }

    fn turns(&self, request: &ShowTurnsRequest) -> Answer<ShownTurns> {
        self.ask(&rows::chains::TURNS, request)
    }

    fn overview(&self, request: &OverviewRequest) -> Answer<SessionMeant> {
        self.ask(&rows::chains::OVERVIEW, request)
    }

    fn history(&self, request: &HistoryRequest) -> Answer<CommitPage> {
        self.ask(&rows::chains::HISTORY, request)
    }

    fn children(&self, request: &ChildrenRequest) -> Answer<Children> {
        self.ask(&rows::chains::CHILDREN, request)
    }

    fn tips(&self, request: &TipsRequest) -> Answer<CommitPage> {
        self.ask(&rows::chains::TIPS, request)
    }

    fn commits(&self, request: &CommitsRequest) -> Answer<CommitsFound> {
        self.ask(&rows::chains::COMMITS, request)
    }

    fn tags(&self, request: &TagsRequest) -> Answer<Tags> {
        self.ask(&rows::chains::TAGS, request)
    }

    fn tree(&self, request: &TreeRequest) -> Answer<Tree> {
        self.ask(&rows::chains::TREE, request)
    }

    fn resolve(&self, request: &ResolveRequest) -> Answer<Resolved> {
        self.ask(&rows::chains::RESOLVE, request)
    }

    fn diff(&self, request: &LastCompactionRequest) -> Answer<Diff> {
        self.ask(&rows::chains::DIFF, request)
    }

    fn compare(&self, request: &CompareRequest) -> Answer<Comparison> {
        self.ask(&rows::chains::COMPARE, request)
    }

    fn blame(&self, request: &BlameRequest) -> Answer<Blame> {
        self.ask(&rows::chains::BLAME, request)
    }

    fn checkpoint(&self, request: &CheckpointRequest, content: &mut dyn Read) -> Answer<Checkpointed> {
        // A named artifact is the content: nothing is read then.
        let mut nothing = io::empty();
        let content = if request.artifact.is_some() { &mut nothing } else { content };
        self.ask_in(&rows::chains::CHECKPOINT, request, content)
    }

    fn snapshot(&self, request: &SnapshotRequest) -> Answer<Named> {
        self.ask(&rows::chains::SNAPSHOT, request)
    }

    fn compact(&self, request: &CompactRequest) -> Answer<Compacted> {
        self.ask(&rows::chains::COMPACT, request)
    }

    fn before_compaction(&self, request: &LastCompactionRequest) -> Answer<Uncompacted> {
        self.ask(&rows::chains::BEFORE_COMPACTION, request)
    }

    fn update(&self, request: &UpdateRequest) -> Answer<Changed> {
        self.ask(&rows::chains::UPDATE, request)
    }
}

impl GiveBack for Remote {
    fn native(&self, request: &NativeRequest, out: &mut dyn Write, control: &Control<'_>) -> Answer<Native> {
        self.ask_out(&rows::give_back::NATIVE, request, out, control)
    }

    fn native_size(&self, request: &NativeSizeRequest) -> Answer<NativeSize> {
        self.ask(&rows::give_back::NATIVE_SIZE, request)
    }

    fn sidecars(&self, request: &SidecarsRequest) -> Answer<Sidecars> {
        self.ask(&rows::give_back::SIDECARS, request)
    }

    fn materialize(
        &self,
        request: &MaterializeRequest,
        out: &mut dyn Write,
        control: &Control<'_>,
    ) -> Answer<Materialized> {
        self.ask_out(&rows::give_back::MATERIALIZE, request, out, control)
    }

    fn export(
        &self,
        request: &ExportRequest,
        out: &mut dyn Write,
        control: &Control<'_>,
    ) -> Answer<Exported> {
        self.ask_out(&rows::give_back::EXPORT, request, out, control)
    }

    fn handoff(
        &self,
        request: &HandoffRequest,
        out: &mut dyn Write,
        control: &Control<'_>,
    ) -> Answer<Handoff> {
        self.ask_out(&rows::give_back::HANDOFF, request, out, control)
    }

    fn summarize(&self, request: &SummarizeRequest) -> Answer<Summarized> {
        self.ask(&rows::give_back::SUMMARIZE, request)
    }

    fn read_artifact(&self, request: &ArtifactReadRequest) -> Answer<ArtifactText> {
        self.ask(&rows::give_back::READ_ARTIFACT, request)
    }

    fn checkpoint_file(
        &self,
        request: &CheckpointFileRequest,
        out: &mut dyn Write,
        control: &Control<'_>,
    ) -> Answer<CheckpointFileMade> {
        self.ask_out(&rows::give_back::CHECKPOINT_FILE, request, out, control)
    }

    fn load_checkpoint_file(&self, content: &mut dyn Read) -> Answer<CheckpointContext> {
        self.ask_in(&rows::give_back::LOAD_CHECKPOINT_FILE, &EmptyRequest {}, content)
    }

    fn prepare_placement(&self, request: &PreparePlacementRequest) -> Answer<PreparedPlacement> {
        self.ask(&rows::give_back::PREPARE_PLACEMENT, request)
    }

    fn record_placement(&self, request: &RecordPlacementRequest) -> Answer<PlacementRecorded> {
        self.ask(&rows::give_back::RECORD_PLACEMENT, request)
    }

    fn export_bundle(
        &self,
        request: &BundleExportRequest,
        out: &mut dyn Write,
        control: &Control<'_>,
    ) -> Answer<BundleExported> {
        self.ask_out(&rows::give_back::EXPORT_BUNDLE, request, out, control)
    }

    fn import_bundle(
        &self,
        request: &BundleImportRequest,
        source: &dyn ByteSource,
        control: &Control<'_>,
    ) -> Answer<BundleImported> {
        self.while_wanted(control, |own| {
            own.ask_in(&rows::give_back::IMPORT_BUNDLE, request, &mut InOrder::of(source))
        })
    }

    fn show_bundle(
        &self,
        request: &BundleShowRequest,
        source: &dyn ByteSource,
        control: &Control<'_>,
    ) -> Answer<BundleShown> {
        self.while_wanted(control, |own| {
            own.ask_in(&rows::give_back::SHOW_BUNDLE, request, &mut InOrder::of(source))
        })
    }

    fn bundle_have(&self, request: &BundleHaveRequest) -> Answer<BundleHave> {
        self.ask(&rows::give_back::BUNDLE_HAVE, request)
    }
}

impl Ledgers for Remote {
    fn ledgers(&self, request: &LedgersRequest) -> Answer<LedgerPage> {
        self.ask(&rows::ledgers::LEDGERS, request)
    }

    fn ledger(&self, request: &LedgerRequest) -> Answer<Ledger> {
        self.ask(&rows::ledgers::LEDGER, request)
    }

    fn adopt(&self, request: &AdoptRequest) -> Answer<Ledger> {
        self.ask(&rows::ledgers::ADOPT, request)
    }

    fn disown(&self, request: &DisownRequest) -> Answer<Ledger> {
        self.ask(&rows::ledgers::DISOWN, request)
    }

    fn append(&self, request: &AppendRequest) -> Answer<Appended> {
        self.ask(&rows::ledgers::APPEND, request)
    }

    fn events(&self, request: &EventsRequest) -> Answer<Events> {
        self.ask(&rows::ledgers::EVENTS, request)
    }

    fn follow(
        &self,
        request: &FollowRequest,
        each: &mut dyn FnMut(&Event) -> ControlFlow<()>,
        control: &Control<'_>,
    ) -> Answer<Followed> {
        self.follow_events(request, each, control)
    }

    fn plan_forget_events(&self, request: &ForgetEventsRequest) -> Answer<EventsForgotten> {
        self.ask(&rows::ledgers::PLAN_FORGET_EVENTS, request)
    }

    fn apply_forget_events(
        &self,
        request: &ForgetEventsRequest,
        plan: &PlanDigest,
        control: &Control<'_>,
    ) -> Answer<EventsForgotten> {
        control.check()?;
        self.ask(&rows::ledgers::APPLY_FORGET_EVENTS, &Apply { request: request.clone(), plan: plan.clone() })
    }

    fn state(&self, request: &StateRequest) -> Answer<State> {
        self.ask(&rows::ledgers::STATE, request)
    }

    fn decisions(&self, request: &LedgerRequest) -> Answer<Decisions> {
        self.ask(&rows::ledgers::DECISIONS, request)
    }

    fn tasks(&self, request: &LedgerRequest) -> Answer<OpenTasks> {
        self.ask(&rows::ledgers::TASKS, request)
    }

    fn decide(&self, request: &DecideRequest) -> Answer<Appended> {
        self.ask(&rows::ledgers::DECIDE, request)
    }

    fn finish_task(&self, request: &FinishTaskRequest) -> Answer<Appended> {
        self.ask(&rows::ledgers::FINISH_TASK, request)
    }

    fn close_thread(&self, request: &CloseThreadRequest) -> Answer<Appended> {
        self.ask(&rows::ledgers::CLOSE_THREAD, request)
    }

    fn replay(&self, request: &ReplayRequest, control: &Control<'_>) -> Answer<Replayed> {
        self.ask_long(&rows::ledgers::REPLAY, request, control)
    }

    fn restore_state(&self, request: &RestoreStateRequest) -> Answer<RestoredLedger> {
        self.ask(&rows::ledgers::RESTORE_STATE, request)
    }
}

impl Maintain for Remote {
    fn usage(&self) -> Answer<Du> {
        self.ask(&rows::maintain::USAGE, &EmptyRequest {})
    }

    fn chain_costs(&self, request: &ChainCostsRequest) -> Answer<DuChains> {
        self.ask(&rows::maintain::CHAIN_COSTS, request)
    }

    fn pack(&self, request: &PackRequest, control: &Control<'_>) -> Answer<Packing> {
        self.ask_long(&rows::maintain::PACK, request, control)
    }

    fn verify(&self, control: &Control<'_>) -> Answer<Verify> {
        self.ask_long(&rows::maintain::VERIFY, &EmptyRequest {}, control)
    }

    fn scan(&self, request: &ScanRequest, control: &Control<'_>) -> Answer<Scan> {
        self.ask_long(&rows::maintain::SCAN, request, control)
    }

    fn plan_forget(&self, request: &ForgetRequest) -> Answer<Forget> {
        self.ask(&rows::maintain::PLAN_FORGET, request)
    }

    fn apply_forget(
        &self,
        request: &ForgetRequest,
        plan: &PlanDigest,
        control: &Control<'_>,
    ) -> Answer<Forget> {
        control.check()?;
        self.ask(&rows::maintain::APPLY_FORGET, &Apply { request: request.clone(), plan: plan.clone() })
    }

    fn unforget(&self, request: &UnforgetRequest, control: &Control<'_>) -> Answer<Unforgotten> {
        control.check()?;
        self.ask(&rows::maintain::UNFORGET, request)
    }

    fn plan_scrub(&self, request: &ScrubRequest, control: &Control<'_>) -> Answer<Scrub> {
        self.ask_long(&rows::maintain::PLAN_SCRUB, request, control)
    }

    fn apply_scrub(&self, request: &ScrubRequest, plan: &PlanDigest, control: &Control<'_>) -> Answer<Scrub> {
        self.ask_long(
            &rows::maintain::APPLY_SCRUB,
            &Apply { request: request.clone(), plan: plan.clone() },
            control,
        )
    }

    fn plan_collect(&self, request: &CollectRequest) -> Answer<Gc> {
        self.ask(&rows::maintain::PLAN_COLLECT, request)
    }

    fn apply_collect(
        &self,
        request: &CollectRequest,
        plan: &PlanDigest,
        control: &Control<'_>,
    ) -> Answer<Gc> {
        self.ask_long(
            &rows::maintain::APPLY_COLLECT,
            &Apply { request: request.clone(), plan: plan.clone() },
            control,
        )
    }
}

impl Prompts for Remote {
    fn assemble(&self, request: &AssembleRequest) -> Answer<Assembled> {
        self.ask(&rows::prompts::ASSEMBLE, request)
    }

    fn context(&self, request: &ContextRequest) -> Answer<ContextReport> {
        self.ask(&rows::prompts::CONTEXT, request)
    }

    fn guard(&self, request: &GuardRequest) -> Answer<GuardReport> {
        self.ask(&rows::prompts::GUARD, request)
    }

    fn recall(&self, request: &RecallRequest) -> Answer<Recalled> {
        self.ask(&rows::prompts::RECALL, request)
    }

    fn begin_turn(&self, request: &BeginTurnRequest) -> Answer<TurnBegun> {
        self.ask(&rows::prompts::BEGIN_TURN, request)
    }

    fn step(&self, request: &TurnMadeRequest) -> Answer<TurnStored> {
        self.ask(&rows::prompts::STEP, request)
    }

    fn end_turn(&self, request: &TurnMadeRequest) -> Answer<TurnStored> {
        self.ask(&rows::prompts::END_TURN, request)
    }

    fn turn_window(&self, request: &TurnWindowRequest) -> Answer<TurnWindowShown> {
        self.ask(&rows::prompts::TURN_WINDOW, request)
    }

    fn recover_turn(&self, request: &RecoverTurnRequest) -> Answer<TurnRecovered> {
        self.ask(&rows::prompts::RECOVER_TURN, request)
    }

    fn mark_turn_entries(&self, request: &MarkTurnEntriesRequest) -> Answer<TurnEntriesMarked> {
        self.ask(&rows::prompts::MARK_TURN_ENTRIES, request)
    }

    fn check_strategy(&self, request: &CheckStrategyRequest) -> Answer<StrategyReport> {
        self.ask(&rows::prompts::CHECK_STRATEGY, request)
    }

    fn strategies(&self) -> Answer<Strategies> {
        self.ask(&rows::prompts::STRATEGIES, &EmptyRequest {})
    }

    fn strategy(&self, request: &StrategyRequest) -> Answer<StrategyText> {
        self.ask(&rows::prompts::STRATEGY, request)
    }
}

impl Registry for Remote {
    fn pointer(&self, request: &PointerRequest) -> Answer<Pointer> {
        self.ask(&rows::registry::POINTER, request)
    }

    fn pointers(&self, request: &PointersRequest) -> Answer<PointerPage> {
        self.ask(&rows::registry::POINTERS, request)
    }

    fn set_pointer(&self, request: &SetPointerRequest) -> Answer<PointerSet> {
        self.ask(&rows::registry::SET_POINTER, request)
    }

    fn delete_pointer(&self, request: &DeletePointerRequest) -> Answer<PointerDeleted> {
        self.ask(&rows::registry::DELETE_POINTER, request)
    }

    fn jobs(&self, request: &JobsRequest) -> Answer<JobList> {
        self.ask(&rows::registry::JOBS, request)
    }

    fn audit(&self, request: &AuditRequest) -> Answer<AuditPage> {
        self.ask(&rows::registry::AUDIT, request)
    }
}

impl Search for Remote {
    fn search(&self, request: &SearchRequest, control: &Control<'_>) -> Answer<SearchHits> {
        self.ask_long(&rows::search::SEARCH, request, control)
    }

    fn entries(&self, request: &EntriesRequest) -> Answer<EntryPage> {
        self.ask(&rows::search::ENTRIES, request)
    }

    fn index_status(&self) -> Answer<IndexStatus> {
        self.ask(&rows::search::INDEX_STATUS, &EmptyRequest {})
    }

    fn settle_index(&self, control: &Control<'_>) -> Answer<IndexStatus> {
        self.ask_long(&rows::search::SETTLE_INDEX, &EmptyRequest {}, control)
    }

    fn rebuild_index(&self, control: &Control<'_>) -> Answer<IndexBuilt> {
        self.ask_long(&rows::search::REBUILD_INDEX, &EmptyRequest {}, control)
    }
}
