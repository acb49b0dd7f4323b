//! Version 1 of the wire types: a contract. Fields may be added; none changes its meaning or goes away.
//!
//! Responses ignore fields that they do not know. What a field says is documented here, and from here in
//! `docs/reference/json.md`.

mod bundle;
mod client;
mod commit;
mod context;
mod git;
mod import;
mod keep;
mod ledger;
mod maintain;
mod note;
mod secrets;
mod session;
mod settings;

pub use bundle::{BundleExported, BundleHave, BundleImported, BundleShown};
pub use client::{Diagnoses, Diagnosis, Finding, Home, Hooks, Installed, Mended, MendedLine, Pending};
pub use commit::{Audit, Children, Commit, CommitPage, Entry, Link, Resolved, Sighting, Source, Summary};
pub use context::{
    Changed, Checkpointed, Compacted, Diff, Exported, Handoff, Loss, Losses, LostEntry, Materialized, Named,
    Native, Placed, Reparented, Started, Uncompacted,
};
pub use git::{Blame, BlamedLine, GitHook};
pub use import::{Failure, HeldBack, Import, Imported, Totals, Watched};
pub use keep::{CollectedAmount, Forget, ForgetBranch, ForgetCopy, Gc, Kept, RetiredSession, Unforgotten};
pub use ledger::{
    Appended, Event, Events, EventsForgotten, Ledger, LedgerExported, LedgerForgotten, LedgerPage, OpenTask,
    OpenTasks, Replayed, ReplayedReducer, ReplayedTranscripts, RestoredLedger, RestoredReducer, State,
};
pub use maintain::{
    BackedUp, Damage, Du, DuChain, DuChains, DuTotal, Migration, MigrationStep, Packing, Repaired, Restored,
    Verify,
};
pub use note::Note;
pub use secrets::{
    Scan, ScanFinding, Scrub, ScrubKind, ScrubRedirect, TrustedFile, TrustedRules, UnreadLedger, VaultPurged,
    VaultStatus,
};
pub use session::{Session, SessionPage, Tree};
pub use settings::{
    ConfigEntry, ConfigPath, ConfigValue, Configuration, ConfiguredTemplate, Exclusions, Pause, Status,
    UntrustedRules,
};
