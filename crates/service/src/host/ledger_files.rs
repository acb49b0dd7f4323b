//! Ledgers as files that travel, by paths of this machine.

use std::path::Path;

use stemmata_api::{Answer, v1};
use stemmata_model::LedgerId;

use super::Host;
use crate::wire;

impl Host {
    /// Writes a ledger as one file: `docs/format/cluster-export.md`.
    ///
    /// # Errors
    /// `ledger_not_found`, `store_refused` where a file is there and is not to be replaced.
    pub fn export_ledger(&self, ledger: &LedgerId, out: &Path, replace: bool) -> Answer<v1::LedgerExported> {
        self.with(|home| {
            let done = home.engine()?.export_cluster(ledger, out, replace)?;
            Ok(v1::LedgerExported {
                ledger: ledger.clone(),
                path: out.to_string_lossy().into_owned(),
                events: done.events,
                gone: done.gone,
                through: done.through.to_string(),
            })
        })
    }

    /// Reads such a file into a new ledger, or one without events; under the name that the file has for it unless one is given.
    /// Returns the ledger and what the user should know.
    ///
    /// # Errors
    /// `not_a_store`, `ledger_has_events`, `bad_name`. A failure leaves what was read until then.
    pub fn import_ledger(&self, file: &Path, into: Option<&LedgerId>) -> Answer<(v1::Ledger, Vec<v1::Note>)> {
        self.with(|home| {
            let engine = home.renewed()?;
            let (cluster, notes) = engine.import_cluster(file, into)?;
            let known = engine.log().ledger(&cluster.ledger)?;
            let known = known.ok_or(stemmata_store::StoreError::LedgerMissing(cluster.ledger))?;
            Ok((wire::ledger::ledger(&known), notes))
        })
    }
}
