//! What only this machine can do: the operations of the host, and of the program itself.
//!
//! No facet of the service: they have no path and no scope, because no server answers them.

use super::{Operation, row};
use crate::v1;

/// All of them.
pub(super) const MACHINE: &[Operation] = &[
    row::<v1::Import>("host.import", &["import"]),
    row::<v1::Inventory>("host.inventory", &["home"]),
    row::<v1::Placed>("host.place", &["resume", "fork"]),
    row::<v1::CheckpointSaved>("host.save_checkpoint", &["checkpoint --out"]),
    row::<v1::CheckpointLoaded>("host.load_checkpoint", &["checkpoint --load"]),
    row::<v1::Named>("host.current", &["current"]),
    row::<v1::ClientScan>("host.scan_clients", &["scan --clients"]),
    row::<v1::TrustedRules>("host.trusted_rules", &["secrets trust", "secrets distrust", "secrets list"]),
    row::<v1::VaultRemoved>("host.remove_vault", &["forget --vault"]),
    row::<v1::Diagnoses>("host.diagnose", &["doctor"]),
    row::<v1::Mended>("host.mend", &["repair"]),
    row::<v1::Recovered>("host.recover", &["recover"]),
    row::<v1::CopiesRemoved>("host.remove_copies", &["undo", "forget --copies"]),
    row::<v1::LedgerExported>("host.export_ledger", &["ledger export"]),
    row::<v1::LedgerPage>("host.import_ledger", &["ledger import"]),
    row::<v1::BackedUp>("host.backup", &["backup"]),
    row::<v1::Restored>("host.restore", &["restore DIR"]),
    row::<v1::Migration>("host.migrate", &["migrate"]),
    row::<v1::Started>("host.start", &["start"]),
    row::<v1::Watched>("host.watch", &["watch"]),
    row::<v1::Installed>("host.install", &["install", "uninstall"]),
    row::<v1::Setup>("host.setup", &["setup"]),
    row::<v1::GitHook>("host.git_hook", &["git install", "git uninstall"]),
    row::<v1::Exclusions>("host.policy", &["exclude", "pause", "unpause"]),
    row::<v1::Status>("host.status", &["status"]),
    row::<v1::Configuration>("program.configuration", &["config"]),
    row::<v1::ConfigEntry>("program.config_entry", &["config explain"]),
    row::<v1::WindowLimits>("program.window_limits", &["config explain window"]),
    row::<v1::ConfigPath>("program.config_path", &["config path"]),
    row::<v1::ConfigEntry>("program.config_set", &["config set"]),
];
