//! What a service keeps beside its store: pointers that programs move, jobs, and the audit log of what was destroyed.

use stemmata_api::v1::{
    AuditEntry, AuditOutcome, AuditRequest, CollectRequest, DeletePointerRequest, FindRequest, ForgetRequest,
    JobsRequest, PointerRequest, PointersRequest, SetPointerRequest, UnforgetRequest,
};
use stemmata_api::{Control, PageRequest, PlanDigest, Service};
use stemmata_model::{CommitId, PointerKey};
use stemmata_testkit::claude::Transcript;

use crate::code;

fn key(name: &str) -> PointerKey {
    PointerKey::new(name).expect("a pointer's name")
}

fn set(name: &str, ctx: &str) -> SetPointerRequest {
    SetPointerRequest { key: key(name), ctx: ctx.to_owned(), expected: None, new: false }
}

/// Pointers are set, compared, listed and deleted.
pub(crate) fn pointers(service: &dyn Service, session: &Transcript, import: &dyn Fn(&Transcript)) {
    import(session);
    let tip = service.find(&FindRequest::of(session.session_id.clone())).expect("found").ctx;
    let before = service.find(&FindRequest::of(format!("{tip}~1"))).expect("found").ctx;
    let show = |name: &str| service.pointer(&PointerRequest { key: key(name) });
    assert_eq!(code(show("main")), "pointer_not_found");

    // As any commit is named, and with a name that a path has to escape.
    let name = "agents/ada@workshop/claude-code";
    let first = service.set_pointer(&SetPointerRequest { new: true, ..set(name, &session.session_id) });
    let first = first.expect("set");
    assert_eq!((first.pointer.ctx, first.previous), (tip, None));
    assert_eq!(show(name).expect("it is there"), first.pointer);
    assert_eq!(
        code(service.set_pointer(&SetPointerRequest { new: true, ..set(name, "~") })),
        "reference_not_found"
    );
    let taken = service.set_pointer(&SetPointerRequest { new: true, ..set(name, &before.to_string()) });
    let taken = taken.expect_err("it is there");
    assert_eq!(taken.code, "pointer_moved");
    assert_eq!(taken.about.get("ctx"), Some(&tip.to_string()), "{taken:?}");

    let moved =
        |expected: CommitId| SetPointerRequest { expected: Some(expected), ..set(name, &before.to_string()) };
    assert_eq!(code(service.set_pointer(&moved(before))), "pointer_moved");
    let second = service.set_pointer(&moved(tip)).expect("as expected");
    assert_eq!((second.pointer.ctx, second.previous), (before, Some(tip)));
    assert_eq!(code(service.set_pointer(&moved(tip))), "pointer_moved", "it was done");
    let both = SetPointerRequest { new: true, ..moved(before) };
    assert_eq!(code(service.set_pointer(&both)), "bad_request");

    for name in ["agents/bob", "main", "z"] {
        service.set_pointer(&set(name, &tip.to_string())).expect("set");
    }
    let list = |prefix: Option<&str>, limit, after| {
        let page = PageRequest { limit, after };
        service.pointers(&PointersRequest { prefix: prefix.map(str::to_owned), page }).expect("a page")
    };
    let names = |prefix| -> Vec<String> {
        list(prefix, None, None).pointers.iter().map(|pointer| pointer.key.to_string()).collect()
    };
    assert_eq!(names(None), [name, "agents/bob", "main", "z"]);
    assert_eq!(names(Some("agents/")), [name, "agents/bob"]);
    let page = list(None, Some(2), None);
    assert_eq!(page.pointers.len(), 2);
    let rest = list(None, Some(2), page.next);
    assert_eq!((rest.pointers.len(), rest.next), (2, None));
    let foreign = PageRequest { limit: None, after: Some("audit-1".to_owned()) };
    assert_eq!(code(service.pointers(&PointersRequest { prefix: None, page: foreign })), "bad_request");

    let delete = |expected| service.delete_pointer(&DeletePointerRequest { key: key(name), expected });
    assert_eq!(code(delete(Some(tip))), "pointer_moved");
    assert_eq!(delete(Some(before)).expect("deleted").pointer.map(|gone| gone.ctx), Some(before));
    assert_eq!(delete(None).expect("it is no problem").pointer, None);
    assert_eq!(code(show(name)), "pointer_not_found");
}

/// What destroys is in the audit log, and a pointer to what is gone says so.
pub(crate) fn audited(service: &dyn Service, [kept, gone]: [&Transcript; 2], import: &dyn Fn(&Transcript)) {
    import(kept);
    import(gone);
    assert_eq!(service.jobs(&JobsRequest { limit: None }).expect("jobs").jobs, []);
    assert_eq!(log(service), []);
    let tip = service.find(&FindRequest::of(gone.session_id.clone())).expect("found").ctx;
    service.set_pointer(&set("gone", &tip.to_string())).expect("set");

    let control = Control { request: Some("story-1"), ..Control::none() };
    let request = ForgetRequest {
        reference: Some(gone.session_id.clone()),
        path: None,
        project: None,
        everywhere: false,
        even_pinned: false,
    };
    let other = PlanDigest::new(format!("plan-{}", "0".repeat(32)));
    assert_eq!(code(service.apply_forget(&request, &other, &control)), "plan_stale");
    assert_eq!(log(service), [], "nothing began");
    let plan = service.plan_forget(&request).expect("a plan");
    let done = service.apply_forget(&request, &plan.digest.expect("a digest"), &control).expect("forgotten");
    let [after, before] = &log(service)[..] else { panic!("two rows") };
    assert_eq!((before.outcome, after.outcome), (AuditOutcome::Begun, AuditOutcome::Done));
    assert_eq!((before.number, after.number, before.detail.as_ref()), (1, 2, None));
    assert!(before.request.is_some() && after.request == before.request, "{after:?}");
    for row in [before, after] {
        assert_eq!(row.operation, "maintain.apply_forget");
        assert!(
            row.target.starts_with("session with ctx-") && row.target.ends_with(&tip.to_string()),
            "{row:?}"
        );
        assert!(!row.principal.as_str().is_empty() && row.whose.is_none(), "{row:?}");
    }
    let commits = done.removed.len() + done.cut.len();
    let said = stemmata_model::plural(stemmata_model::to_u64(commits), "commit");
    assert!(after.detail.as_ref().is_some_and(|detail| detail.starts_with(&said)), "{after:?}");

    let pointer = service.pointer(&PointerRequest { key: key("gone") }).expect("the pointer stays");
    let notes: Vec<String> = pointer.notes.iter().map(|note| note.code.as_str().to_owned()).collect();
    assert_eq!((pointer.ctx, notes), (tip, vec!["commit_gone".to_owned()]));

    let lift = |reference: &str| {
        service.unforget(&UnforgetRequest { reference: reference.to_owned() }, &Control::none())
    };
    assert!(lift(&gone.session_id).expect("lifted").lifted > 0);
    assert_eq!(code(lift("nobody")), "nothing_forgotten");
    let failed = log(service).remove(0);
    assert_eq!((failed.outcome, failed.detail.as_deref()), (AuditOutcome::Failed, Some("nothing_forgotten")));

    let request = CollectRequest { grace_days: Some(0) };
    let plan = service.plan_collect(&request).expect("a plan").digest.expect("a digest");
    service.apply_collect(&request, &plan, &Control::none()).expect("collected");
    let all = log(service);
    assert_eq!(all.iter().map(|row| row.number).collect::<Vec<_>>(), (1..=8).rev().collect::<Vec<_>>());

    let read = |operation: Option<&str>, limit, after| {
        let page = PageRequest { limit, after };
        let operation = operation.map(str::to_owned);
        service.audit(&AuditRequest { principal: None, operation, page }).expect("a page")
    };
    let first = read(None, Some(5), None);
    let rest = read(None, Some(5), first.next);
    assert_eq!((first.entries.len(), rest.entries.len(), rest.next), (5, 3, None));
    assert_eq!(read(Some("maintain.unforget"), None, None).entries.len(), 4);
    assert_eq!(all[0].operation, "maintain.apply_collect");
}

fn log(service: &dyn Service) -> Vec<AuditEntry> {
    let page = PageRequest::first();
    service.audit(&AuditRequest { principal: None, operation: None, page }).expect("the log").entries
}
