//! The operations: each with its name, the commands that show its answer with `--json`, and that answer.
//!
//! The one list that pages and documents are made from. Rows keep the order of the pages. An operation is named after
//! its facet of the service, after `host` where only this machine can do it, or after `program`.

use crate::schema::TypeOf;
use crate::v1::{
    Appended, Audit, BackedUp, Blame, BlamedLine, BundleExported, BundleHave, BundleImported, BundleShown,
    Changed, Checkpointed, Children, CollectedAmount, Commit, CommitPage, Compacted, ConfigEntry, ConfigPath,
    ConfigValue, Configuration, ConfiguredTemplate, Damage, Diagnoses, Diagnosis, Diff, Du, DuChain,
    DuChains, DuTotal, Entry, Event, Events, EventsForgotten, Exclusions, Exported, Failure, Finding, Forget,
    ForgetBranch, ForgetCopy, Gc, GitHook, Handoff, HeldBack, Home, Hooks, Import, Imported, Installed, Kept,
    Ledger, LedgerExported, LedgerForgotten, LedgerPage, Link, Loss, Losses, LostEntry, Materialized, Mended,
    MendedLine, Migration, MigrationStep, Named, Native, Note, OpenTask, OpenTasks, Packing, Pause, Pending,
    Placed, Repaired, Reparented, Replayed, ReplayedReducer, ReplayedTranscripts, Resolved, Restored,
    RestoredLedger, RestoredReducer, RetiredSession, Scan, ScanFinding, Scrub, ScrubKind, ScrubRedirect,
    Session, SessionPage, Sighting, Source, Started, State, Status, Summary, Totals, Tree, TrustedFile,
    TrustedRules, Uncompacted, Unforgotten, UnreadLedger, UntrustedRules, VaultPurged, VaultStatus, Verify,
    Watched,
};

/// An operation.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    /// Its stable name: `chains.history`.
    pub name: &'static str,
    /// The commands that print its answer, as typed.
    pub commands: &'static [&'static str],
    /// The type of its answer.
    pub response: TypeOf,
}

const fn row<T: schemars::JsonSchema + serde::de::DeserializeOwned>(
    name: &'static str,
    commands: &'static [&'static str],
) -> Operation {
    Operation { name, commands, response: TypeOf::of::<T>() }
}

/// Every operation that answers with JSON.
pub const OPERATIONS: &[Operation] = &[
    row::<Import>("host.import", &["import"]),
    row::<SessionPage>("chains.sessions", &["list", "log"]),
    row::<CommitPage>("chains.history", &["log REF", "history"]),
    row::<Tree>("chains.tree", &["tree"]),
    row::<Commit>("chains.show", &["show"]),
    row::<Children>("chains.children", &["children"]),
    row::<CommitPage>("chains.tips", &["tips"]),
    row::<Blame>("chains.blame", &["blame"]),
    row::<Diff>("chains.diff", &["diff"]),
    row::<Resolved>("chains.resolve", &["resolve"]),
    row::<Native>("give_back.native", &["native"]),
    row::<Materialized>("give_back.materialize", &["materialize"]),
    row::<Exported>("give_back.export", &["export"]),
    row::<Placed>("host.place", &["resume", "fork"]),
    row::<Handoff>("give_back.handoff", &["handoff"]),
    row::<Compacted>("chains.compact", &["compact"]),
    row::<Uncompacted>("chains.before_compaction", &["uncompact"]),
    row::<Checkpointed>("chains.checkpoint", &["checkpoint"]),
    row::<Named>("chains.snapshot", &["snapshot"]),
    row::<Named>("host.current", &["current"]),
    row::<Changed>("chains.update", &["update", "tag", "pin", "unpin"]),
    row::<Forget>("maintain.forget", &["forget"]),
    row::<Unforgotten>("maintain.unforget", &["forget --undo"]),
    row::<Scan>("maintain.scan", &["scan"]),
    row::<Scrub>("maintain.scrub", &["scrub"]),
    row::<VaultStatus>("host.vault_status", &["vault status"]),
    row::<TrustedRules>("host.trusted_rules", &["secrets trust", "secrets distrust", "secrets list"]),
    row::<VaultPurged>("host.vault_purge", &["vault purge"]),
    row::<Gc>("maintain.collect", &["gc"]),
    row::<BundleExported>("give_back.export_bundle", &["bundle export"]),
    row::<BundleImported>("give_back.import_bundle", &["bundle import"]),
    row::<BundleShown>("give_back.show_bundle", &["bundle show"]),
    row::<BundleHave>("give_back.bundle_have", &["bundle have"]),
    row::<Verify>("maintain.verify", &["verify"]),
    row::<Diagnoses>("host.diagnose", &["doctor"]),
    row::<Mended>("host.mend", &["repair"]),
    row::<Du>("maintain.usage", &["du"]),
    row::<DuChains>("maintain.chain_costs", &["du --chains"]),
    row::<Packing>("maintain.pack", &["pack"]),
    row::<State>("ledgers.state", &["state"]),
    row::<Appended>("ledgers.decide", &["decide", "task TEXT"]),
    row::<OpenTasks>("ledgers.tasks", &["task"]),
    row::<Replayed>("ledgers.replay", &["replay"]),
    row::<Appended>("ledgers.append", &["events append"]),
    row::<Events>("ledgers.events", &["events query", "events tail"]),
    row::<Event>("ledgers.follow", &["events follow"]),
    row::<EventsForgotten>("ledgers.forget_events", &["events forget"]),
    row::<LedgerPage>("ledgers.ledgers", &["ledger list"]),
    row::<LedgerPage>("ledgers.adopt", &["ledger adopt"]),
    row::<LedgerExported>("host.export_ledger", &["ledger export"]),
    row::<LedgerPage>("host.import_ledger", &["ledger import"]),
    row::<BackedUp>("host.backup", &["backup"]),
    row::<RestoredLedger>("ledgers.restore_state", &["restore"]),
    row::<Restored>("host.restore", &["restore DIR"]),
    row::<Migration>("host.migrate", &["migrate"]),
    row::<Started>("host.start", &["start"]),
    row::<Watched>("host.watch", &["watch"]),
    row::<Installed>("host.install", &["install", "uninstall"]),
    row::<GitHook>("host.git_hook", &["git install", "git uninstall"]),
    row::<Exclusions>("host.policy", &["exclude", "pause", "unpause"]),
    row::<Status>("host.status", &["status"]),
    row::<Configuration>("program.configuration", &["config"]),
    row::<ConfigEntry>("program.config_entry", &["config explain"]),
    row::<ConfigPath>("program.config_path", &["config path"]),
    row::<ConfigEntry>("program.config_set", &["config set"]),
];

/// The types that stand within others.
pub const INNER: &[TypeOf] = &[
    TypeOf::of::<DuChain>(),
    TypeOf::of::<DuTotal>(),
    TypeOf::of::<Summary>(),
    TypeOf::of::<Sighting>(),
    TypeOf::of::<Source>(),
    TypeOf::of::<Link>(),
    TypeOf::of::<Audit>(),
    TypeOf::of::<Entry>(),
    TypeOf::of::<Session>(),
    TypeOf::of::<Imported>(),
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
    TypeOf::of::<LostEntry>(),
    TypeOf::of::<Kept>(),
    TypeOf::of::<ForgetBranch>(),
    TypeOf::of::<ForgetCopy>(),
    TypeOf::of::<ScanFinding>(),
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
    TypeOf::of::<OpenTask>(),
    TypeOf::of::<ReplayedReducer>(),
    TypeOf::of::<ReplayedTranscripts>(),
    TypeOf::of::<RestoredReducer>(),
];

#[cfg(test)]
mod tests {
    use super::*;

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
