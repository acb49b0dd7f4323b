//! The facet `Registry` over the state beside a store of this machine, and the audit log around what destroys.

use stemmata_api::v1::{
    AuditPage, AuditRequest, DeletePointerRequest, JobList, JobsRequest, Pointer, PointerDeleted,
    PointerPage, PointerRequest, PointerSet, PointersRequest, SetPointerRequest,
};
use stemmata_api::{Answer, Code, Control, Problem, Registry};
use stemmata_engine::Deed;
use stemmata_model::PointerKey;
use stemmata_store::state::{
    AuditQuery, Expected, NewPointer, Pointer as StoredPointer, PointerQuery, ServiceState,
};

use super::{Local, bad_request, ctx, items_max, next_of, position};
use crate::fault::Fault;
use crate::wire::registry::{audit_entry, job, moved, pointer};

/// How a page of pointers names where the next one begins.
const POINTERS: &str = "pointers-";

/// The same of the audit log.
const AUDIT: &str = "audit";

impl Registry for Local {
    fn pointer(&self, request: &PointerRequest) -> Answer<Pointer> {
        self.with(|engine| {
            let found = self.state()?.pointer(&request.key)?.ok_or_else(|| not_found(&request.key))?;
            let mut shown = pointer(found);
            shown.notes.extend(moved(engine, shown.ctx)?);
            Ok(shown)
        })
    }

    fn pointers(&self, request: &PointersRequest) -> Answer<PointerPage> {
        self.with_state(|state| {
            let after = request.page.after.as_deref().map(after).transpose()?;
            let rows_max = items_max(request.page.limit);
            // One more says whether there are more.
            let query = PointerQuery {
                prefix: request.prefix.clone().unwrap_or_default(),
                after,
                rows_max: rows_max.saturating_add(1),
            };
            let mut pointers = state.pointers(&query)?;
            let is_cut = pointers.len() > rows_max;
            pointers.truncate(rows_max);
            let last = pointers.last().filter(|_| is_cut);
            let next = last.map(|last| format!("{POINTERS}{}", last.key));
            Ok(PointerPage { pointers: pointers.into_iter().map(pointer).collect(), next })
        })
    }

    fn set_pointer(&self, request: &SetPointerRequest) -> Answer<PointerSet> {
        self.with(|engine| {
            let expected = match (request.expected, request.new) {
                (None, false) => Expected::Anything,
                (None, true) => Expected::Nothing,
                (Some(commit), false) => Expected::Commit(commit),
                (Some(_), true) => {
                    return Err(bad_request("new", "a pointer that points somewhere is not new"));
                }
            };
            let set = StoredPointer {
                key: request.key.clone(),
                commit: ctx(engine, &request.ctx)?,
                set_at: self.now(),
                by: self.by().clone(),
            };
            let new = NewPointer { pointer: set, expected };
            let previous = self.state()?.set_pointer(&new)?;
            Ok(PointerSet { pointer: pointer(new.pointer), previous })
        })
    }

    fn delete_pointer(&self, request: &DeletePointerRequest) -> Answer<PointerDeleted> {
        self.with_state(|state| {
            let expected = request.expected.map_or(Expected::Anything, Expected::Commit);
            let deleted = state.delete_pointer(&request.key, expected)?;
            Ok(PointerDeleted { pointer: deleted.map(pointer) })
        })
    }

    fn jobs(&self, request: &JobsRequest) -> Answer<JobList> {
        self.with_state(|state| {
            let jobs = state.jobs(items_max(request.limit))?;
            Ok(JobList { jobs: jobs.into_iter().map(job).collect() })
        })
    }

    fn audit(&self, request: &AuditRequest) -> Answer<AuditPage> {
        self.with_state(|state| {
            let rows_max = items_max(request.page.limit);
            let query = AuditQuery {
                before: request.page.after.as_ref().map(|_| position(&request.page, AUDIT)).transpose()?,
                principal: request.principal.clone(),
                operation: request.operation.clone(),
                rows_max,
            };
            let entries = state.audit(&query)?;
            let is_full = !entries.is_empty() && entries.len() >= rows_max;
            let last = entries.last().filter(|last| is_full && last.number > 1);
            let next = last.map(|last| next_of(AUDIT, last.number));
            Ok(AuditPage { entries: entries.into_iter().map(audit_entry).collect(), next })
        })
    }
}

impl Local {
    fn state(&self) -> Result<std::sync::Arc<dyn ServiceState>, Fault> {
        Ok(self.home.state()?)
    }

    /// Runs what needs no store.
    fn with_state<T>(&self, act: impl FnOnce(&dyn ServiceState) -> Result<T, Fault>) -> Answer<T> {
        let act = || act(self.state()?.as_ref());
        act().map_err(|fault| fault.0)
    }

    /// Names something that destroys for the audit log.
    pub(super) fn deed(&self, operation: &'static str, target: String, control: &Control<'_>) -> Deed {
        Deed { by: self.by().clone(), operation, target, request: control.request.map(str::to_owned) }
    }

    /// Does something that destroys between two rows of the audit log. `told` says how much was done.
    pub(super) fn audited<T>(
        &self,
        deed: Deed,
        act: impl FnOnce() -> Result<T, Fault>,
        told: impl FnOnce(&T) -> String,
    ) -> Result<T, Fault> {
        let begun = self.home.begin_deed(deed)?;
        match act() {
            Ok(done) => {
                begun.done(&told(&done))?;
                Ok(done)
            }
            Err(fault) => {
                // What failed is what the caller has to know; that it began is in the log, whether this is or not.
                let _recorded = begun.failed(&fault.0.code);
                Err(fault)
            }
        }
    }
}

fn not_found(key: &PointerKey) -> Problem {
    Problem::new(Code::PointerNotFound, format!("there is no pointer `{key}`")).with("key", key)
}

fn after(text: &str) -> Result<PointerKey, Fault> {
    let key = text.strip_prefix(POINTERS).and_then(|key| key.parse().ok());
    key.ok_or_else(|| bad_request("after", format!("`{text}` is not a `next` of this listing")))
}
