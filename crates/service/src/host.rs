//! `Host`: what only this machine can do. The folders that projects are in, and the store's own files.

mod ledger_files;
mod ledger_of;
mod store_files;

use std::sync::Arc;

use stemmata_api::Answer;
use stemmata_engine::Home;

use crate::fault::Fault;

pub use ledger_of::{LedgerOf, LedgerOfRequest, MakeLedger};

/// What only this machine can do.
pub struct Host {
    home: Arc<Home>,
}

impl Host {
    /// Returns the host of a data directory. Opens nothing.
    pub const fn new(home: Arc<Home>) -> Self {
        Self { home }
    }

    /// Runs a use case; what fails in it becomes a problem.
    fn with<T>(&self, act: impl FnOnce(&Home) -> Result<T, Fault>) -> Answer<T> {
        act(&self.home).map_err(|fault| fault.0)
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Host").field("dir", &self.home.dir()).finish_non_exhaustive()
    }
}
