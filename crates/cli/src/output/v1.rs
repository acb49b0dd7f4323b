//! Wire types of `--json`, version 1: a contract. Fields may be added; none changes its meaning or goes away.
//!
//! Only shapes and their words; each type documents itself into `docs/reference/json.md`.

mod bundle;
mod commit;
mod context;
mod git;
mod import;
mod keep;
mod ledger;
mod maintain;
mod secrets;
mod session;

pub(crate) use bundle::{BundleExported, BundleHave, BundleImported, BundleShown};
pub(crate) use commit::{
    Audit, Children, Commit, CommitPage, Entry, Link, Resolved, Show, Sighting, Source, Summary,
};
pub(crate) use context::{
    Changed, Checkpointed, Compacted, Diff, Exported, Handoff, Loss, Losses, LostEntry, Materialized, Named,
    Native, Placed, Reparented, Started, Uncompacted,
};
pub(crate) use git::{Blame, BlamedLine, GitHook};
pub(crate) use import::{Failure, HeldBack, Import, Imported, Note, Totals, Watched};
pub(crate) use keep::{
    CollectedAmount, Forget, ForgetBranch, ForgetCopy, Gc, Kept, RetiredSession, Unforgotten,
};
pub(crate) use ledger::{
    Appended, Event, Events, EventsForgotten, Ledger, LedgerExported, LedgerForgotten, Ledgers, OpenTask,
    OpenTasks, Replayed, ReplayedReducer, ReplayedTranscripts, RestoredLedger, RestoredReducer, State,
};
pub(crate) use maintain::{
    BackedUp, ConfigEntry, ConfigPath, ConfigValue, Configuration, ConfiguredTemplate, Damage, Diagnoses,
    Diagnosis, Du, DuChain, DuChains, DuTotal, Exclusions, Finding, Home, Hooks, Installed, Mended,
    MendedLine, Migration, MigrationStep, Packing, Pause, Pending, Repaired, Restored, Status,
    UntrustedRules, Verify,
};
pub(crate) use secrets::{
    Scan, ScanFinding, Scrub, ScrubKind, ScrubRedirect, TrustedFile, TrustedRules, UnreadLedger, VaultPurged,
    VaultStatus,
};
pub(crate) use session::{ListedSession, Session, SessionList, SessionLog, SessionRow, Tree, TreeNode};

use serde::ser::SerializeMap;
use stemmata_model::Json;

/// A field of a wire type, for the generated page.
#[derive(Debug)]
pub(crate) struct Field {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its Rust type, from which the page derives the JSON type.
    pub(crate) rust_type: &'static str,
    /// What it says.
    pub(crate) about: &'static str,
    /// Whether the fields of its type stand in its place.
    pub(crate) is_flat: bool,
}

/// A wire type, for the generated page.
#[derive(Debug)]
pub(crate) struct Shape {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it is.
    pub(crate) about: &'static str,
    /// Its fields, in the order in which they are written.
    pub(crate) fields: &'static [Field],
}

/// A type that `wire!` declared.
pub(crate) trait Wire {
    /// What the generated page says of it.
    const SHAPE: Shape;

    /// Writes its fields into an object.
    ///
    /// # Errors
    /// The output's own.
    fn members<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;
}

/// A value that can stand in a field. An absent one leaves the field out.
pub(crate) trait Member {
    /// Writes one field.
    ///
    /// # Errors
    /// The output's own.
    fn member<M: SerializeMap>(&self, name: &'static str, map: &mut M) -> Result<(), M::Error>;
}

impl<T: serde::Serialize> Member for Option<T> {
    fn member<M: SerializeMap>(&self, name: &'static str, map: &mut M) -> Result<(), M::Error> {
        match self {
            Some(value) => map.serialize_entry(name, value),
            None => Ok(()),
        }
    }
}

impl<T: serde::Serialize> Member for Vec<T> {
    fn member<M: SerializeMap>(&self, name: &'static str, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry(name, self)
    }
}

/// JSON as somebody gave it.
#[derive(Debug, Clone)]
pub(crate) struct Raw(Json);

impl Raw {
    /// Takes it as it is.
    pub(crate) fn of(json: &Json) -> Self {
        Self(json.clone())
    }
}

impl serde::Serialize for Raw {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: Result<&serde_json::value::RawValue, _> = serde_json::from_str(self.0.as_str());
        raw.map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

/// Lets plain types stand in a field.
macro_rules! plain_member {
    ($($name:ty),+) => {
        $(impl $crate::output::v1::Member for $name {
            fn member<M: serde::ser::SerializeMap>(
                &self,
                name: &'static str,
                map: &mut M,
            ) -> Result<(), M::Error> {
                map.serialize_entry(name, self)
            }
        })+
    };
}
use plain_member;

plain_member!(bool, u64, String, Raw);

/// Writes one field of a wire type, or with `flat` the fields of its type.
macro_rules! wire_member {
    ($value:expr, $name:expr, $map:expr) => {
        $crate::output::v1::Member::member($value, $name, $map)?
    };
    ($value:expr, $name:expr, $map:expr, flat) => {
        $crate::output::v1::Wire::members($value, $map)?
    };
}
use wire_member;

/// Declares wire types: the struct, how it is written, and what the generated page says of it.
macro_rules! wire {
    ($(
        $(#[doc = $about:literal])+
        struct $name:ident {
            $( $(#[doc = $doc:literal])+ $field:ident : $type:ty $(=> $flat:ident)? ),* $(,)?
        }
    )+) => {$(
        $(#[doc = $about])+
        #[derive(Debug, Clone)]
        pub(crate) struct $name {
            $( $(#[doc = $doc])+ pub(crate) $field: $type, )*
        }

        impl $crate::output::v1::Wire for $name {
            const SHAPE: $crate::output::v1::Shape = $crate::output::v1::Shape {
                name: stringify!($name),
                about: concat!($($about),+),
                fields: &[$( $crate::output::v1::Field {
                    name: stringify!($field),
                    rust_type: stringify!($type),
                    about: concat!($($doc),+),
                    is_flat: 0 $( + stringify!($flat).len() )? > 0,
                }, )*],
            };

            fn members<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                $( $crate::output::v1::wire_member!(&self.$field, stringify!($field), map $(, $flat)?); )*
                Ok(())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap as _;
                let mut map = serializer.serialize_map(None)?;
                $crate::output::v1::Wire::members(self, &mut map)?;
                map.end()
            }
        }

        $crate::output::v1::plain_member!($name);
    )+};
}
use wire;

/// A command and the type that it prints with `--json`, for the generated page.
#[derive(Debug)]
pub(crate) struct Printed {
    /// The command, as typed.
    pub(crate) command: &'static str,
    /// The type.
    pub(crate) shape: Shape,
}

/// Every command that prints JSON, and what.
pub(crate) const PRINTED: &[Printed] = &[
    Printed { command: "import", shape: Import::SHAPE },
    Printed { command: "list", shape: SessionList::SHAPE },
    Printed { command: "log", shape: SessionLog::SHAPE },
    Printed { command: "log REF", shape: CommitPage::SHAPE },
    Printed { command: "tree", shape: Tree::SHAPE },
    Printed { command: "show", shape: Show::SHAPE },
    Printed { command: "history", shape: CommitPage::SHAPE },
    Printed { command: "children", shape: Children::SHAPE },
    Printed { command: "tips", shape: CommitPage::SHAPE },
    Printed { command: "blame", shape: Blame::SHAPE },
    Printed { command: "diff", shape: Diff::SHAPE },
    Printed { command: "resolve", shape: Resolved::SHAPE },
    Printed { command: "native", shape: Native::SHAPE },
    Printed { command: "materialize", shape: Materialized::SHAPE },
    Printed { command: "export", shape: Exported::SHAPE },
    Printed { command: "resume", shape: Placed::SHAPE },
    Printed { command: "fork", shape: Placed::SHAPE },
    Printed { command: "handoff", shape: Handoff::SHAPE },
    Printed { command: "compact", shape: Compacted::SHAPE },
    Printed { command: "uncompact", shape: Uncompacted::SHAPE },
    Printed { command: "checkpoint", shape: Checkpointed::SHAPE },
    Printed { command: "snapshot", shape: Named::SHAPE },
    Printed { command: "current", shape: Named::SHAPE },
    Printed { command: "update", shape: Changed::SHAPE },
    Printed { command: "tag", shape: Changed::SHAPE },
    Printed { command: "pin", shape: Changed::SHAPE },
    Printed { command: "unpin", shape: Changed::SHAPE },
    Printed { command: "forget", shape: Forget::SHAPE },
    Printed { command: "forget --undo", shape: Unforgotten::SHAPE },
    Printed { command: "scan", shape: Scan::SHAPE },
    Printed { command: "scrub", shape: Scrub::SHAPE },
    Printed { command: "vault status", shape: VaultStatus::SHAPE },
    Printed { command: "secrets trust", shape: TrustedRules::SHAPE },
    Printed { command: "secrets distrust", shape: TrustedRules::SHAPE },
    Printed { command: "secrets list", shape: TrustedRules::SHAPE },
    Printed { command: "vault purge", shape: VaultPurged::SHAPE },
    Printed { command: "gc", shape: Gc::SHAPE },
    Printed { command: "bundle export", shape: BundleExported::SHAPE },
    Printed { command: "bundle import", shape: BundleImported::SHAPE },
    Printed { command: "bundle show", shape: BundleShown::SHAPE },
    Printed { command: "bundle have", shape: BundleHave::SHAPE },
    Printed { command: "verify", shape: Verify::SHAPE },
    Printed { command: "doctor", shape: Diagnoses::SHAPE },
    Printed { command: "repair", shape: Mended::SHAPE },
    Printed { command: "du", shape: Du::SHAPE },
    Printed { command: "du --chains", shape: DuChains::SHAPE },
    Printed { command: "pack", shape: Packing::SHAPE },
    Printed { command: "state", shape: State::SHAPE },
    Printed { command: "decide", shape: Appended::SHAPE },
    Printed { command: "task", shape: OpenTasks::SHAPE },
    Printed { command: "task TEXT", shape: Appended::SHAPE },
    Printed { command: "replay", shape: Replayed::SHAPE },
    Printed { command: "events append", shape: Appended::SHAPE },
    Printed { command: "events query", shape: Events::SHAPE },
    Printed { command: "events tail", shape: Events::SHAPE },
    Printed { command: "events follow", shape: Event::SHAPE },
    Printed { command: "events forget", shape: EventsForgotten::SHAPE },
    Printed { command: "ledger list", shape: Ledgers::SHAPE },
    Printed { command: "ledger adopt", shape: Ledgers::SHAPE },
    Printed { command: "ledger export", shape: LedgerExported::SHAPE },
    Printed { command: "ledger import", shape: Ledgers::SHAPE },
    Printed { command: "backup", shape: BackedUp::SHAPE },
    Printed { command: "restore", shape: RestoredLedger::SHAPE },
    Printed { command: "restore DIR", shape: Restored::SHAPE },
    Printed { command: "migrate", shape: Migration::SHAPE },
    Printed { command: "start", shape: Started::SHAPE },
    Printed { command: "watch", shape: Watched::SHAPE },
    Printed { command: "install", shape: Installed::SHAPE },
    Printed { command: "uninstall", shape: Installed::SHAPE },
    Printed { command: "git install", shape: GitHook::SHAPE },
    Printed { command: "git uninstall", shape: GitHook::SHAPE },
    Printed { command: "exclude", shape: Exclusions::SHAPE },
    Printed { command: "pause", shape: Exclusions::SHAPE },
    Printed { command: "unpause", shape: Exclusions::SHAPE },
    Printed { command: "status", shape: Status::SHAPE },
    Printed { command: "config", shape: Configuration::SHAPE },
    Printed { command: "config explain", shape: ConfigEntry::SHAPE },
    Printed { command: "config path", shape: ConfigPath::SHAPE },
    Printed { command: "config set", shape: ConfigEntry::SHAPE },
];

/// The types that stand within others.
pub(crate) const INNER: &[Shape] = &[
    DuChain::SHAPE,
    DuTotal::SHAPE,
    Commit::SHAPE,
    Summary::SHAPE,
    Sighting::SHAPE,
    Source::SHAPE,
    Link::SHAPE,
    Audit::SHAPE,
    Entry::SHAPE,
    Session::SHAPE,
    ListedSession::SHAPE,
    SessionRow::SHAPE,
    TreeNode::SHAPE,
    Imported::SHAPE,
    Failure::SHAPE,
    HeldBack::SHAPE,
    Totals::SHAPE,
    Note::SHAPE,
    Reparented::SHAPE,
    Losses::SHAPE,
    Diagnosis::SHAPE,
    Finding::SHAPE,
    BlamedLine::SHAPE,
    Loss::SHAPE,
    MendedLine::SHAPE,
    LostEntry::SHAPE,
    Kept::SHAPE,
    ForgetBranch::SHAPE,
    ForgetCopy::SHAPE,
    ScanFinding::SHAPE,
    UnreadLedger::SHAPE,
    ScrubKind::SHAPE,
    ScrubRedirect::SHAPE,
    RetiredSession::SHAPE,
    CollectedAmount::SHAPE,
    Damage::SHAPE,
    MigrationStep::SHAPE,
    Repaired::SHAPE,
    Pause::SHAPE,
    Home::SHAPE,
    Hooks::SHAPE,
    Pending::SHAPE,
    UntrustedRules::SHAPE,
    TrustedFile::SHAPE,
    ConfigValue::SHAPE,
    ConfiguredTemplate::SHAPE,
    Ledger::SHAPE,
    LedgerForgotten::SHAPE,
    OpenTask::SHAPE,
    ReplayedReducer::SHAPE,
    ReplayedTranscripts::SHAPE,
    RestoredReducer::SHAPE,
];
