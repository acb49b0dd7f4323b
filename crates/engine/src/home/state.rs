//! What a service keeps beside the store of a data directory, and the rows of the audit log around what destroys.
//!
//! What is in it, and what holds, is `stemmata_store::state`.

use std::sync::Arc;

use stemmata_model::Principal;
use stemmata_store::SqliteState;
use stemmata_store::state::{AUDIT_TEXT_BYTES_MAX, AuditOutcome, NewAuditEntry, ServiceState, StateError};

use super::{Home, held};
use crate::error::{EngineError, Result};

/// Something that destroys, as the audit log names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deed {
    /// Who asked.
    pub by: Principal,
    /// For which operation: `maintain.apply_forget`.
    pub operation: &'static str,
    /// What it is done to: ids and numbers; no content, and no name of what is to be forgotten. Longer texts are cut.
    pub target: String,
    /// The request's id.
    pub request: Option<String>,
}

/// A deed that the audit log has as begun.
pub struct Begun<'a> {
    home: &'a Home,
    state: Arc<dyn ServiceState>,
    deed: Deed,
}

impl Home {
    /// Returns the folder of what a service keeps beside the store.
    pub fn state_dir(&self) -> std::path::PathBuf {
        self.dir.join("state")
    }

    /// Returns what a service keeps beside the store. The first call opens it, or makes it.
    ///
    /// # Errors
    /// `OpenState`; the next call tries again.
    pub fn state(&self) -> Result<Arc<dyn ServiceState>> {
        let mut state = held(&self.state);
        if let Some(state) = &*state {
            return Ok(Arc::clone(state));
        }
        let folder = self.state_dir();
        let opened = SqliteState::open(&folder, self.store_options())
            .map_err(|source| EngineError::OpenState { folder, source })?;
        Ok(Arc::clone(state.insert(Arc::new(opened))))
    }

    /// Has the audit log say that something that destroys begins.
    ///
    /// # Errors
    /// As [`Home::state`]; `State`. Then it must not be done.
    pub fn begin_deed(&self, deed: Deed) -> Result<Begun<'_>> {
        let begun = Begun { home: self, state: self.state()?, deed };
        begun.record(AuditOutcome::Begun, None)?;
        Ok(begun)
    }
}

impl Begun<'_> {
    /// Has the audit log say that it was done, and how much.
    ///
    /// # Errors
    /// `State`, with `DoneUnrecorded`.
    pub fn done(self, detail: &str) -> Result<()> {
        self.record(AuditOutcome::Done, Some(detail)).map_err(|error| match error {
            EngineError::State(source) => {
                EngineError::State(StateError::DoneUnrecorded { source: Box::new(source) })
            }
            other => other,
        })
    }

    /// Has the audit log say that it failed, with a problem's code.
    ///
    /// # Errors
    /// `State`. The row that says that it began is there even so.
    pub fn failed(self, code: &str) -> Result<()> {
        self.record(AuditOutcome::Failed, Some(code))
    }

    fn record(&self, outcome: AuditOutcome, detail: Option<&str>) -> Result<()> {
        let Deed { by, operation, target, request } = &self.deed;
        let entry = NewAuditEntry {
            at: self.home.options().clock.now(),
            principal: by.clone(),
            operation: (*operation).to_owned(),
            whose: None,
            target: cut(target),
            outcome,
            detail: detail.map(cut),
            request: request.as_deref().map(cut),
        };
        self.state.record(&entry)?;
        Ok(())
    }
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(AUDIT_TEXT_BYTES_MAX.min(text.len()))].to_owned()
}
