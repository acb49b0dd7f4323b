//! An engine of parts that a test chooses. Behind the feature `testing`: a program goes through [`crate::Home`], which leaves
//! nothing out.

use std::path::Path;
use std::sync::Arc;

use stemmata_store::{EventLog, Patience, Store};

use super::{Engine, Identity};
use crate::briefs::Briefs;
use crate::calibration::CalibrationSlot;
use crate::capture::policy::CapturePolicy;
use crate::capture::sidecars::KeptSidecars;
use crate::efforts::EffortSlot;
use crate::ports::{Clock, NewIds};
use crate::scrubbing::{Scrubbing, StoreRules};
use crate::search::IndexSlot;

impl Engine {
    /// Puts an engine together that obeys no exclusions and has no rules of its own.
    pub fn over(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn NewIds>,
        identity: Identity,
    ) -> Self {
        Self::new(store, clock, ids, identity)
    }

    /// Has every capture obey what somebody does not want captured.
    #[must_use]
    pub fn with_policy(mut self, policy: CapturePolicy) -> Self {
        self.policy = Arc::new(policy);
        self
    }

    /// Has search keep an index in a folder.
    #[must_use]
    pub fn with_index(mut self, dir: &Path, patience: Patience) -> Self {
        self.index = Arc::new(IndexSlot::at(dir, patience));
        self
    }

    /// Has what search reads of usage be kept in a folder.
    #[must_use]
    pub fn with_calibration(mut self, cache: &Path) -> Self {
        self.calibration = Arc::new(CalibrationSlot::at(cache));
        self
    }

    /// Has what statistics read be kept in a folder.
    #[must_use]
    pub fn with_efforts(mut self, cache: &Path) -> Self {
        self.efforts = Arc::new(EffortSlot::at(cache));
        self
    }

    /// Has briefs be kept in a folder.
    #[must_use]
    pub fn with_briefs(mut self, cache: &Path) -> Self {
        self.briefs = Arc::new(Briefs::at(cache));
        self
    }

    /// Has events go to this log.
    #[must_use]
    pub fn with_log(mut self, log: Arc<dyn EventLog>) -> Self {
        self.use_log(log);
        self
    }

    /// Has large outputs of tools be cut and stored by these rules.
    #[must_use]
    pub fn with_outputs(mut self, rules: crate::OutputRules) -> Self {
        self.outputs = Arc::new(rules);
        self
    }

    /// Has these files beside transcripts be captured.
    #[must_use]
    pub const fn with_sidecars(mut self, kept: KeptSidecars) -> Self {
        self.sidecars = kept;
        self
    }

    /// Has folded states of ledgers be saved after so many new events, beside the ends of turns and sessions.
    #[must_use]
    pub fn with_save_events(mut self, events: u64) -> Self {
        self.save_events = events;
        self
    }

    /// Has secrets be replaced by the store's own rules beside the shipped ones. Rules that make no sense block all
    /// content: [`Engine::scrubber`] says why.
    #[must_use]
    pub fn with_rules(mut self, rules: StoreRules) -> Self {
        let (trust, untrusted) = (self.scrubbing.trust.clone(), self.scrubbing.untrusted.clone());
        self.scrubbing = Arc::new(Scrubbing::new(Some(rules), trust, untrusted));
        self
    }
}
