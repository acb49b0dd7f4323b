//! The engine: a store, the scrubber, and who we are. Use cases are methods, one file a verb.

#[cfg(feature = "testing")]
mod testing;

use std::sync::Arc;

use stemmata_model::{FormatId, MachineId, Principal, RulesHash};
use stemmata_prompt::retrieve::Embedder;
use stemmata_runtimes::adapter::Adapter;
use stemmata_runtimes::registry;
use stemmata_store::{EventLog, Store};

use crate::briefs::Briefs;
use crate::calibration::CalibrationSlot;
use crate::capture::policy::CapturePolicy;
use crate::capture::sidecars::KeptSidecars;
use crate::counters::Counts;
use crate::efforts::EffortSlot;
use crate::error::{EngineError, FormatUse, Result};
use crate::ledger::Bus;
use crate::outputs::OutputRules;
use crate::packing::Growth;
use crate::ports::{Clock, NewIds};
use crate::scrubbing::Scrubbing;
use crate::search::IndexSlot;
use crate::temporary::{Leftovers, TempFiles};

/// Former machines of a store that count at most; a directory is moved every few years.
pub const FORMER_MACHINES_MAX: usize = 64;

/// Who runs the engine, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The machine: created once in the data directory.
    pub machine: MachineId,
    /// A readable name of the machine.
    pub machine_label: String,
    /// The user's name.
    pub user: String,
    /// The machines that the store was on before it was copied to this one; the latest
    /// [`FORMER_MACHINES_MAX`] count.
    pub former: Vec<MachineId>,
}

impl Identity {
    /// Returns whether this store recorded what stands in it under a machine's id: on this machine, or before it was
    /// copied here. Every id that was ever the store's own is in the bundles that it gave away.
    pub fn is_ours(&self, machine: &MachineId) -> bool {
        *machine == self.machine || self.former.iter().rev().take(FORMER_MACHINES_MAX).any(|id| id == machine)
    }

    /// Returns the principal of what `runtime` wrote for this user on this machine.
    ///
    /// # Errors
    /// `Name` when the parts make no name together.
    pub fn principal(&self, runtime: &str) -> Result<Principal> {
        Ok(Principal::new(format!("{}@{}/{runtime}", self.user, self.machine_label))?)
    }
}

/// A context engine over one store, as [`crate::Home`] puts it together. Cheap to clone; every method may be called from any
/// thread.
#[derive(Clone)]
pub struct Engine {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) log: Arc<dyn EventLog>,
    /// Whether events go to the store, so that one transaction can hold events and commits.
    pub(crate) is_log_the_store: bool,
    /// Ledgers in files that are left from when events went there, where they go to the store now.
    pub(crate) files_beside: Option<Arc<dyn EventLog>>,
    pub(crate) bus: Arc<Bus>,
    pub(crate) save_events: u64,
    pub(crate) scrubbing: Arc<Scrubbing>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn NewIds>,
    pub(crate) identity: Arc<Identity>,
    pub(crate) policy: Arc<CapturePolicy>,
    pub(crate) growth: Arc<Growth>,
    /// The search index; hooks and recorders have none.
    pub(crate) index: Arc<IndexSlot>,
    /// What was learned of token counts; as the index.
    pub(crate) calibration: Arc<CalibrationSlot>,
    /// What statistics read of sessions; as the index.
    pub(crate) efforts: Arc<EffortSlot>,
    /// What hooks hand to agents.
    pub(crate) briefs: Arc<Briefs>,
    pub(crate) counts: Arc<Counts>,
    /// What turns texts into vectors, where somebody configured that.
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    /// What becomes of large outputs of tools.
    pub(crate) outputs: Arc<OutputRules>,
    /// Where temporary files may be.
    pub(crate) leftovers: Arc<Leftovers>,
    /// Which files beside transcripts are captured.
    pub(crate) sidecars: KeptSidecars,
}

impl Engine {
    /// Puts an engine together. Its events go to the store, unless [`Engine::use_log`] says where else.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn NewIds>,
        identity: Identity,
    ) -> Self {
        let log: Arc<dyn EventLog> = Arc::<dyn Store>::clone(&store);
        Self {
            store,
            log,
            is_log_the_store: true,
            files_beside: None,
            bus: Arc::default(),
            save_events: crate::ledger::SAVE_EVENTS,
            scrubbing: Arc::default(),
            clock,
            ids,
            identity: Arc::new(identity),
            policy: Arc::default(),
            growth: Arc::default(),
            index: Arc::default(),
            calibration: Arc::default(),
            efforts: Arc::default(),
            briefs: Arc::default(),
            counts: Arc::default(),
            embedder: None,
            outputs: Arc::default(),
            leftovers: Arc::default(),
            sidecars: KeptSidecars::default(),
        }
    }

    /// Returns what makes temporary files, and remembers where.
    pub fn temp_files(&self) -> &TempFiles {
        &self.leftovers.files
    }

    /// Returns what is held back from capture.
    pub fn policy(&self) -> &CapturePolicy {
        &self.policy
    }

    /// Returns the store, for reads that need no rule.
    pub fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }

    /// Has events go to this log.
    pub(crate) fn use_log(&mut self, log: Arc<dyn EventLog>) {
        self.log = log;
        self.is_log_the_store = false;
        self.bus = Arc::default();
    }

    /// Returns this engine with the ledgers of the store, which may hold events from when they went there.
    pub(crate) fn in_store(&self) -> Self {
        Self { log: Arc::<dyn Store>::clone(&self.store), is_log_the_store: true, ..self.clone() }
    }

    /// Returns this engine with the ledgers that are not in the store: those in use, or those that are left.
    pub(crate) fn beside_store(&self) -> Option<Self> {
        let with = |log: &Arc<dyn EventLog>| Self {
            log: Arc::clone(log),
            is_log_the_store: false,
            files_beside: None,
            ..self.clone()
        };
        if self.is_log_the_store { self.files_beside.as_ref().map(with) } else { Some(self.clone()) }
    }

    /// Returns this engine with the ledgers that are not in use.
    pub(crate) fn with_other_log(&self) -> Option<Self> {
        if self.is_log_the_store { self.beside_store() } else { Some(self.in_store()) }
    }

    /// Returns the event log, for reads that need no rule.
    pub fn log(&self) -> &dyn EventLog {
        self.log.as_ref()
    }

    /// Returns who runs the engine.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Returns the redaction rules in force, a project's aside: their hash and readable version.
    ///
    /// # Errors
    /// `Rules` where the store's own rules make no sense.
    pub fn rules(&self) -> Result<(RulesHash, &str)> {
        let scrubber = self.scrubber()?;
        Ok((RulesHash(scrubber.rules_hash()), scrubber.rules_version()))
    }

    /// Returns the adapter that reads and writes a format.
    pub(crate) fn adapter(format: &FormatId, operation: FormatUse) -> Result<&'static dyn Adapter> {
        registry::by_format(format).ok_or_else(|| EngineError::Format {
            format: format.clone(),
            operation,
            known: known_formats(),
        })
    }
}

/// Returns the formats that this version knows, for messages.
fn known_formats() -> String {
    let names: Vec<String> =
        registry::adapters().iter().map(|adapter| format!("`{}`", adapter.format())).collect();
    names.join(", ")
}
