//! Plans over a store: what was shown is what is done, or nothing is.

use std::path::Path;
use std::sync::Arc;

use stemmata_api::v1::{CollectRequest, ForgetRequest, ScrubRequest};
use stemmata_api::{Answer, Code, Control, Maintain, PlanDigest};
use stemmata_engine::{
    CheckpointRequest, Home, HomeOptions, MachineFacts, RandomIds, Settings, SystemClock, Update,
};
use stemmata_model::{CommitId, FormatId, Principal, SessionId, Template};
use stemmata_service::Local;
use stemmata_store::OpenFor;

const SESSION: &str = "shop-1";

fn home(folder: &Path) -> Arc<Home> {
    let options = HomeOptions {
        settings: Settings::of_texts("[identity]\nuser = \"ada\"\n", &|_| None).expect("settings"),
        machine: MachineFacts { mark: None, host_name: "workshop".to_owned(), user_id: 0 },
        open_for: OpenFor::Command,
        clock: Arc::new(SystemClock),
        ids: Arc::new(RandomIds),
        temp: None,
    };
    Arc::new(Home::open(&folder.join("data"), options).expect("a home"))
}

fn said(home: &Home, parent: Option<CommitId>, text: &str) -> CommitId {
    let line = format!("{{\"t\":\"2026-03-09T12:00:00Z\",\"fd\":\"stdin\",\"line\":\"{text}\"}}\n");
    let format = FormatId::new("generic-v1").expect("a format");
    let template = Template::new("reviewer").expect("a template");
    let session = SessionId::new(SESSION).expect("a session");
    let request = CheckpointRequest::delta(line.into_bytes(), format, template, session);
    home.engine().expect("a store").checkpoint(&CheckpointRequest { parent, ..request }).expect("stored").id
}

fn local(home: &Arc<Home>) -> Local {
    Local::new(Arc::clone(home), Principal::new("ada@workshop/stemma").expect("a name"))
}

fn stale<T: std::fmt::Debug>(answer: Answer<T>) {
    let problem = answer.expect_err("it was not shown");
    assert!(problem.is(Code::PlanStale), "{problem:?}");
}

#[test]
fn a_plan_that_the_store_outgrew_is_refused_and_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = home(folder.path());
    let first = said(&home, None, "hello");
    let service = local(&home);
    let request = ForgetRequest {
        reference: Some(SESSION.to_owned()),
        path: None,
        project: None,
        everywhere: false,
        even_pinned: true,
    };
    let old = service.plan_forget(&request).expect("a plan");
    assert!(old.dry_run);
    assert_eq!(old.digest, service.plan_forget(&request).expect("again").digest, "equal plans, equal names");
    let second = said(&home, Some(first), "more");
    let digest = old.digest.expect("a plan has one");
    stale(service.apply_forget(&request, &digest, &Control::none()));
    let store = home.engine().expect("a store").store();
    assert!(store.commit(first).expect("read").is_some() && store.commit(second).expect("read").is_some());
    let other = ForgetRequest { even_pinned: false, ..request.clone() };
    let digest = service.plan_forget(&request).expect("a plan").digest.expect("a plan has one");
    stale(service.apply_forget(&other, &digest, &Control::none()));
    let done = service.apply_forget(&request, &digest, &Control::none()).expect("forgotten");
    assert_eq!((done.dry_run, done.removed.len(), done.digest), (false, 2, None));
    service.apply_forget(&request, &digest, &Control::none()).expect_err("there is nothing of it any more");
}

#[test]
fn whatever_is_planned_is_done_only_by_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = home(folder.path());
    let tip = said(&home, None, "hello");
    let service = local(&home);
    let control = Control::none();
    let made_up = PlanDigest::new("plan-00000000000000000000000000000000");
    let scrub = ScrubRequest { reference: None, path: None, all: true };
    stale(service.apply_scrub(&scrub, &made_up, &control));
    let plan = service.plan_scrub(&scrub, &control).expect("a plan").digest.expect("a plan has one");
    // A summary without a secret changes nothing of what would be done.
    let by = Principal::new("ada@workshop/stemma").expect("a name");
    let note = Update { summary: Some("a greeting".to_owned()), ..Update::default() };
    home.engine().expect("a store").update(tip, note, &by).expect("updated");
    assert!(!service.apply_scrub(&scrub, &plan, &control).expect("nothing else would go").dry_run);
    let collect = CollectRequest { grace_days: None };
    stale(service.apply_collect(&collect, &made_up, &control));
    let shown = service.plan_collect(&collect).expect("a plan");
    assert!(shown.inbox_bytes > 0);
    said(&home, Some(tip), "what comes to be packed is not part of the plan");
    let done = service.apply_collect(&collect, &shown.digest.expect("a plan has one"), &control);
    assert!(done.expect("collected").packed_contents > 0);
}

#[test]
fn a_request_that_means_nothing_or_two_things_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = home(folder.path());
    let service = local(&home);
    let request = |reference: Option<&str>, project: Option<&str>| ForgetRequest {
        reference: reference.map(str::to_owned),
        path: None,
        project: project.map(str::to_owned),
        everywhere: false,
        even_pinned: false,
    };
    for request in [request(None, None), request(Some("a"), Some("/b"))] {
        let problem = service.plan_forget(&request).expect_err("it means nothing");
        assert!(problem.is(Code::BadRequest), "{problem:?}");
    }
    let days = CollectRequest { grace_days: Some(u64::MAX) };
    assert!(service.plan_collect(&days).expect_err("too long").is(Code::BadRequest));
}
