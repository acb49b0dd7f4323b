//! What a service keeps beside its store: named pointers, background jobs, the audit log.

use crate::Answer;
use crate::v1::{
    AuditPage, AuditRequest, DeletePointerRequest, JobList, JobsRequest, Pointer, PointerDeleted,
    PointerPage, PointerRequest, PointerSet, PointersRequest, SetPointerRequest,
};

/// Pointers, jobs and the audit log.
///
/// They belong to no store: a backup does not hold them, and a restore leaves them as they are.
pub trait Registry: Send + Sync {
    /// Returns a pointer. Where its commit was scrubbed or forgotten since, a note says so.
    ///
    /// # Errors
    /// `pointer_not_found`.
    fn pointer(&self, request: &PointerRequest) -> Answer<Pointer>;

    /// Lists pointers by the beginning of their names.
    ///
    /// # Errors
    /// `bad_request`.
    fn pointers(&self, request: &PointersRequest) -> Answer<PointerPage>;

    /// Sets a pointer to a commit, and returns what it pointed to. With `expected` or `new` it is compared and set in one step: of two
    /// that expect the same one fails.
    ///
    /// # Errors
    /// `pointer_moved`, with the commit that it points to in `about`; `too_many`, `bad_request`, and those of
    /// [`find`](super::Chains::find).
    fn set_pointer(&self, request: &SetPointerRequest) -> Answer<PointerSet>;

    /// Deletes a pointer, and nothing of its commit. That there is none is no problem.
    ///
    /// # Errors
    /// `pointer_moved`.
    fn delete_pointer(&self, request: &DeletePointerRequest) -> Answer<PointerDeleted>;

    /// Lists background jobs: those that run, that wait and the last that ended.
    ///
    /// # Errors
    /// Only those of the service's state.
    fn jobs(&self, request: &JobsRequest) -> Answer<JobList>;

    /// Reads the audit log, the newest first: what was destroyed, and on whose request.
    ///
    /// # Errors
    /// `bad_request`.
    fn audit(&self, request: &AuditRequest) -> Answer<AuditPage>;
}

/// The operations of [`Registry`], each beside its method.
#[expect(missing_docs, reason = "a row is documented at the method of its name")]
pub mod rows {
    use crate::operation::Scope::{Manage, Publish, Read};
    use crate::operation::{Method, Op, Repeat, Row};
    use crate::v1;

    /// All of them.
    pub static ALL: &[&dyn Row] = &[&POINTER, &POINTERS, &SET_POINTER, &DELETE_POINTER, &JOBS, &AUDIT];

    pub static POINTER: Op<v1::PointerRequest, v1::Pointer> =
        Op::get("registry.pointer", "/v1/contexts/{key}", Read, |s, q, _| s.pointer(q))
            .shown_by(&["pointer show"]);
    pub static POINTERS: Op<v1::PointersRequest, v1::PointerPage> =
        Op::get("registry.pointers", "/v1/contexts", Read, |s, q, _| s.pointers(q))
            .shown_by(&["pointer list"]);
    pub static SET_POINTER: Op<v1::SetPointerRequest, v1::PointerSet> =
        Op::post("registry.set_pointer", "/v1/contexts/{key}", Publish, Repeat::Again, |s, q, _| {
            s.set_pointer(q)
        })
        .over(Method::Put)
        .shown_by(&["pointer set"]);
    // A pointer is metadata: its commit stays.
    pub static DELETE_POINTER: Op<v1::DeletePointerRequest, v1::PointerDeleted> =
        Op::post("registry.delete_pointer", "/v1/contexts/{key}", Publish, Repeat::Again, |s, q, _| {
            s.delete_pointer(q)
        })
        .over(Method::Delete)
        .shown_by(&["pointer delete"]);
    pub static JOBS: Op<v1::JobsRequest, v1::JobList> =
        Op::get("registry.jobs", "/v1/jobs", Read, |s, q, _| s.jobs(q)).shown_by(&["jobs"]);
    pub static AUDIT: Op<v1::AuditRequest, v1::AuditPage> =
        Op::get("registry.audit", "/v1/audit", Manage, |s, q, _| s.audit(q)).shown_by(&["audit"]);
}
