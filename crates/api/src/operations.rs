//! What commands print with `--json`, and what they read: for the pages and documents that are made of schemas.
//!
//! The operations of the service declare themselves ([`TABLE`](crate::operation::TABLE)). An operation is named after its
//! facet, after `host` where only this machine can do it, or after `program`.

pub mod http;
mod http_own;
mod machine;

use std::sync::LazyLock;

use crate::operation::rows;
use crate::problem::{Candidate, Problem};
use crate::schema::TypeOf;
use crate::v1;

/// An operation as a page shows it.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    /// Its stable name: `chains.history`.
    pub name: &'static str,
    /// The commands that print its answer, as typed.
    pub commands: &'static [&'static str],
    /// What it asks with; absent for what only this machine can do.
    pub request: Option<TypeOf>,
    /// What its commands print with `--json`: its answer, or one that a command makes of it. Its answer where there is no command.
    pub response: TypeOf,
}

const fn row<T: schemars::JsonSchema + serde::de::DeserializeOwned>(
    name: &'static str,
    commands: &'static [&'static str],
) -> Operation {
    Operation { name, commands, request: None, response: TypeOf::of::<T>() }
}

/// Every operation, in the order of the page: what [`FIRST`] names, then the others as they are declared.
pub static OPERATIONS: LazyLock<Vec<Operation>> = LazyLock::new(|| {
    let of_service = rows().map(|row| {
        let head = row.head();
        let printed = PRINTED.iter().find(|(name, _)| *name == head.name);
        let response = printed.map_or_else(|| row.answer(), |(_, printed)| *printed);
        Operation { name: head.name, commands: head.commands, request: Some(row.request()), response }
    });
    let mut all: Vec<Operation> = of_service.chain(machine::MACHINE.iter().copied()).collect();
    let last = FIRST.split(' ').count();
    all.sort_by_key(|one| FIRST.split(' ').position(|name| name == one.name).unwrap_or(last));
    all
});

/// Operations whose commands print another type than they answer with.
const PRINTED: &[(&str, TypeOf)] = &[
    ("ledgers.adopt", TypeOf::of::<v1::LedgerPage>()),
    ("ledgers.disown", TypeOf::of::<v1::LedgerPage>()),
    ("ledgers.follow", TypeOf::of::<v1::Event>()),
];

/// What the page begins with: what people use first comes first. A new operation need not be named here.
const FIRST: &str = "host.import chains.sessions chains.stats host.inventory chains.history chains.tree chains.show \
    chains.turns search.search search.entries chains.children chains.tips chains.blame chains.diff \
    chains.compare chains.resolve give_back.native give_back.sidecars give_back.materialize \
    give_back.export host.place give_back.handoff chains.compact give_back.summarize \
    give_back.read_artifact chains.before_compaction chains.checkpoint host.save_checkpoint \
    host.load_checkpoint chains.snapshot host.current chains.update maintain.apply_forget \
    maintain.unforget maintain.scan host.scan_clients maintain.apply_scrub host.trusted_rules \
    host.remove_vault maintain.apply_collect give_back.export_bundle give_back.import_bundle \
    give_back.show_bundle give_back.bundle_have maintain.verify host.diagnose host.mend host.recover \
    host.remove_copies maintain.usage maintain.chain_costs maintain.pack ledgers.state prompts.assemble \
    prompts.context prompts.guard prompts.recall prompts.begin_turn prompts.step prompts.end_turn \
    prompts.turn_window prompts.recover_turn prompts.mark_turn_entries prompts.check_strategy \
    prompts.strategies prompts.strategy ledgers.decide ledgers.finish_task ledgers.close_thread \
    ledgers.decisions ledgers.tasks ledgers.replay ledgers.append ledgers.events ledgers.follow \
    ledgers.apply_forget_events ledgers.ledgers ledgers.adopt ledgers.disown host.export_ledger \
    host.import_ledger host.backup ledgers.restore_state host.restore host.migrate host.start host.watch \
    search.index_status search.rebuild_index host.install host.setup host.git_hook host.policy \
    host.status program.configuration program.config_entry program.window_limits program.config_path \
    program.config_set";

/// The types that stand within others.
pub const INNER: &[TypeOf] = &[
    TypeOf::of::<Problem>(),
    TypeOf::of::<v1::DecisionKind>(),
    TypeOf::of::<v1::ShownTurn>(),
    TypeOf::of::<v1::StatsBy>(),
    TypeOf::of::<v1::StatsRow>(),
    TypeOf::of::<v1::ModelPrice>(),
    TypeOf::of::<v1::FoundPrompt>(),
    TypeOf::of::<v1::FoundRange>(),
    TypeOf::of::<v1::CutTranscript>(),
    TypeOf::of::<v1::ClientHooks>(),
    TypeOf::of::<v1::ClientSessions>(),
    TypeOf::of::<v1::SessionTotals>(),
    TypeOf::of::<Candidate>(),
    TypeOf::of::<v1::Found>(),
    TypeOf::of::<v1::DuChain>(),
    TypeOf::of::<v1::DuSidecars>(),
    TypeOf::of::<v1::StoppedReading>(),
    TypeOf::of::<v1::Sidecar>(),
    TypeOf::of::<v1::LostCounts>(),
    TypeOf::of::<v1::RecallScope>(),
    TypeOf::of::<v1::DuTotal>(),
    TypeOf::of::<v1::Summary>(),
    TypeOf::of::<v1::Sighting>(),
    TypeOf::of::<v1::Source>(),
    TypeOf::of::<v1::Link>(),
    TypeOf::of::<v1::Audit>(),
    TypeOf::of::<v1::Entry>(),
    TypeOf::of::<v1::SearchHit>(),
    TypeOf::of::<v1::SearchReason>(),
    TypeOf::of::<v1::SearchSpan>(),
    TypeOf::of::<v1::EntryText>(),
    TypeOf::of::<v1::Session>(),
    TypeOf::of::<v1::SharedTag>(),
    TypeOf::of::<v1::SummarySection>(),
    TypeOf::of::<v1::CheckpointTask>(),
    TypeOf::of::<v1::CheckpointDrift>(),
    TypeOf::of::<v1::TurnPiece>(),
    TypeOf::of::<v1::ShownCall>(),
    TypeOf::of::<v1::TurnOutline>(),
    TypeOf::of::<v1::ChangedFile>(),
    TypeOf::of::<v1::ChainSide>(),
    TypeOf::of::<v1::GitCommitMade>(),
    TypeOf::of::<v1::StartedSubagent>(),
    TypeOf::of::<v1::SessionOverview>(),
    TypeOf::of::<v1::OverviewTurn>(),
    TypeOf::of::<v1::ReportedTokens>(),
    TypeOf::of::<v1::SessionError>(),
    TypeOf::of::<v1::TreeRun>(),
    TypeOf::of::<v1::TreeSubagent>(),
    TypeOf::of::<v1::Imported>(),
    TypeOf::of::<v1::LeftOut>(),
    TypeOf::of::<v1::Failure>(),
    TypeOf::of::<v1::HeldBack>(),
    TypeOf::of::<v1::Totals>(),
    TypeOf::of::<v1::Note>(),
    TypeOf::of::<v1::Reparented>(),
    TypeOf::of::<v1::Losses>(),
    TypeOf::of::<v1::Diagnosis>(),
    TypeOf::of::<v1::Finding>(),
    TypeOf::of::<v1::BlamedLine>(),
    TypeOf::of::<v1::Loss>(),
    TypeOf::of::<v1::MendedLine>(),
    TypeOf::of::<v1::IdleCopy>(),
    TypeOf::of::<v1::RecoveredFile>(),
    TypeOf::of::<v1::InstalledAll>(),
    TypeOf::of::<v1::SetupStep>(),
    TypeOf::of::<v1::LostEntry>(),
    TypeOf::of::<v1::Kept>(),
    TypeOf::of::<v1::ForgetBranch>(),
    TypeOf::of::<v1::ForgetCopy>(),
    TypeOf::of::<v1::RedactedKind>(),
    TypeOf::of::<v1::ScanFinding>(),
    TypeOf::of::<v1::ClientFinding>(),
    TypeOf::of::<v1::UnreadFile>(),
    TypeOf::of::<v1::UnreadLedger>(),
    TypeOf::of::<v1::ScrubKind>(),
    TypeOf::of::<v1::ScrubRedirect>(),
    TypeOf::of::<v1::RetiredSession>(),
    TypeOf::of::<v1::CollectedAmount>(),
    TypeOf::of::<v1::Damage>(),
    TypeOf::of::<v1::MigrationStep>(),
    TypeOf::of::<v1::Repaired>(),
    TypeOf::of::<v1::Pause>(),
    TypeOf::of::<v1::Home>(),
    TypeOf::of::<v1::Hooks>(),
    TypeOf::of::<v1::Pending>(),
    TypeOf::of::<v1::UntrustedRules>(),
    TypeOf::of::<v1::TrustedFile>(),
    TypeOf::of::<v1::ConfigValue>(),
    TypeOf::of::<v1::ConfiguredTemplate>(),
    TypeOf::of::<v1::Ledger>(),
    TypeOf::of::<v1::LedgerForgotten>(),
    TypeOf::of::<v1::RecalledItem>(),
    TypeOf::of::<v1::RecallReason>(),
    TypeOf::of::<v1::RecallSkipped>(),
    TypeOf::of::<v1::PromptTrace>(),
    TypeOf::of::<v1::PromptTraceSummary>(),
    TypeOf::of::<v1::PromptSectionTotal>(),
    TypeOf::of::<v1::PromptReasonTotal>(),
    TypeOf::of::<v1::ProviderMessages>(),
    TypeOf::of::<v1::PromptTurn>(),
    TypeOf::of::<v1::PromptBudget>(),
    TypeOf::of::<v1::PromptSection>(),
    TypeOf::of::<v1::PromptCandidate>(),
    TypeOf::of::<v1::PromptItem>(),
    TypeOf::of::<v1::PromptImage>(),
    TypeOf::of::<v1::CountedBy>(),
    TypeOf::of::<v1::ModelWindow>(),
    TypeOf::of::<v1::ClientWindow>(),
    TypeOf::of::<v1::ContextImages>(),
    TypeOf::of::<v1::WindowLimit>(),
    TypeOf::of::<v1::GuardItem>(),
    TypeOf::of::<v1::GuardGiven>(),
    TypeOf::of::<v1::GuardCut>(),
    TypeOf::of::<v1::GuardArchived>(),
    TypeOf::of::<v1::GuardCompaction>(),
    TypeOf::of::<v1::GuardOverflow>(),
    TypeOf::of::<v1::TurnImage>(),
    TypeOf::of::<v1::TurnWindowReport>(),
    TypeOf::of::<v1::WindowEntry>(),
    TypeOf::of::<v1::WindowCall>(),
    TypeOf::of::<v1::WindowResult>(),
    TypeOf::of::<v1::TurnPrune>(),
    TypeOf::of::<v1::TurnPruned>(),
    TypeOf::of::<v1::TurnCompaction>(),
    TypeOf::of::<v1::TurnOverflow>(),
    TypeOf::of::<v1::TurnWindowSample>(),
    TypeOf::of::<v1::PromptTruncation>(),
    TypeOf::of::<v1::CachedPrefix>(),
    TypeOf::of::<v1::ContextChange>(),
    TypeOf::of::<v1::StrategyFinding>(),
    TypeOf::of::<v1::ShippedStrategy>(),
    TypeOf::of::<v1::KnownDecision>(),
    TypeOf::of::<v1::OpenTask>(),
    TypeOf::of::<v1::ReplayedReducer>(),
    TypeOf::of::<v1::ReplayedTranscripts>(),
    TypeOf::of::<v1::RestoredReducer>(),
    TypeOf::of::<v1::Job>(),
    TypeOf::of::<v1::JobState>(),
    TypeOf::of::<v1::JobCost>(),
    TypeOf::of::<v1::AuditEntry>(),
    TypeOf::of::<v1::AuditOutcome>(),
];

/// The requests that commands read as JSON from standard input, and the types within them that no answer has.
pub const READ: &[TypeOf] = &[
    TypeOf::of::<v1::GuardRequest>(),
    TypeOf::of::<v1::BeginTurnRequest>(),
    TypeOf::of::<v1::TurnMadeRequest>(),
    TypeOf::of::<v1::TurnWindowRequest>(),
    TypeOf::of::<v1::RecoverTurnRequest>(),
    TypeOf::of::<v1::MarkTurnEntriesRequest>(),
    TypeOf::of::<v1::TurnOf>(),
    TypeOf::of::<v1::TurnContext>(),
    TypeOf::of::<v1::TurnFork>(),
    TypeOf::of::<v1::TurnEntry>(),
    TypeOf::of::<v1::TurnHint>(),
    TypeOf::of::<v1::TurnCall>(),
    TypeOf::of::<v1::TurnResult>(),
    TypeOf::of::<v1::TurnUsage>(),
    TypeOf::of::<v1::TurnTask>(),
    TypeOf::of::<v1::TurnPrompt>(),
    TypeOf::of::<v1::StrategySource>(),
    TypeOf::of::<v1::TurnWindow>(),
    TypeOf::of::<v1::NewEvent>(),
];

#[cfg(test)]
mod tests;
