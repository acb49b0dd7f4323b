//! Maintenance: what takes room, what is whole, what is secret, and what goes: shown first, and done only as it was shown.

use stemmata_api::v1::{
    ChainCostsRequest, CollectRequest, FindRequest, ForgetRequest, PackRequest, ScanRequest, ScrubRequest,
    ShowRequest, UnforgetRequest, UpdateRequest,
};
use stemmata_api::{Control, PlanDigest, Service};
use stemmata_testkit::claude::Transcript;

use crate::code;

/// What a rule that is written in the middle of the story takes for a secret.
pub(crate) const SECRET: &str = "ACME-771234";

/// Tells the story. `import` brings the sessions in; `rule` makes [`SECRET`] a secret from then on.
pub(crate) fn plans(
    service: &dyn Service,
    [kept, gone]: [&Transcript; 2],
    import: &dyn Fn(&Transcript),
    rule: &dyn Fn(),
) {
    import(kept);
    import(gone);
    sizes(service);
    let tip = find(service, &kept.session_id);
    scrubbed(service, &tip, rule);
    forgotten(service, gone);
    collected(service);
    let verified = service.verify(&Control::none()).expect("looked at");
    assert!(verified.ok && verified.damages.is_empty(), "{verified:?}");
    service.show(&ShowRequest { ctx: find(service, &kept.session_id), entries: true }).expect("it is there");
}

fn find(service: &dyn Service, text: &str) -> String {
    service.find(&FindRequest::of(text)).expect("found").ctx.to_string()
}

/// The digest of a plan that nobody was shown.
fn made_up() -> PlanDigest {
    PlanDigest::new(format!("plan-{}", "0".repeat(32)))
}

fn sizes(service: &dyn Service) {
    let before = service.usage().expect("a size");
    assert!(before.commits > 0 && before.logical_bytes > 0 && before.inbox_bytes > 0);
    let packed = service.pack(&PackRequest { level: None }, &Control::none()).expect("packed");
    assert!(packed.contents > 0 && !packed.busy);
    assert_eq!(packed.physical_bytes_before, before.physical_bytes);
    let costs = |limit| service.chain_costs(&ChainCostsRequest { project: None, limit }).expect("costs");
    let all = costs(None);
    assert_eq!(all.total.chains, all.chains.len() as u64);
    assert_eq!(costs(Some(1)).total, all.total, "the total is of all");
    assert!(service.verify(&Control::none()).expect("looked at").ok);
}

/// What a new rule finds in what is stored is replaced, and ids of before lead to what is there now.
fn scrubbed(service: &dyn Service, tip: &str, rule: &dyn Fn()) {
    let control = Control::none();
    let note = UpdateRequest {
        ctx: tip.to_owned(),
        summary: None,
        add_tags: Vec::new(),
        remove_tags: Vec::new(),
        notes: vec![format!("see {SECRET}")],
        pin: None,
        thread: None,
        ticket: None,
    };
    let noted = service.update(&note).expect("noted");
    assert_eq!(noted.notes, [format!("see {SECRET}")]);
    let all = ScanRequest { reference: None, path: None, after: None, limit: None };
    let scan = || service.scan(&all, &control).expect("looked at");
    assert!(scan().findings.is_empty());
    rule();
    let found = scan();
    assert!(found.complete && !found.findings.is_empty(), "a rule that is new counts at once");
    let page = service.scan(&ScanRequest { limit: Some(1), ..all.clone() }, &control).expect("a page");
    assert_eq!((page.findings.len(), page.complete), (1, false));
    let again = service.update(&note).expect("noted");
    assert!(again.notes.last().is_some_and(|note| !note.contains(SECRET)), "{again:?}");
    let request = ScrubRequest { reference: None, path: None, all: true };
    let plan = service.plan_scrub(&request, &control).expect("a plan");
    assert!(plan.dry_run && plan.dirty > 0, "{plan:?}");
    assert_eq!(code(service.apply_scrub(&request, &made_up(), &control)), "plan_stale");
    let digest = plan.digest.expect("a plan has one");
    let one = ScrubRequest { reference: Some(tip.to_owned()), path: None, all: false };
    assert_eq!(code(service.apply_scrub(&one, &digest, &control)), "plan_stale", "it is another request's");
    let done = service.apply_scrub(&request, &digest, &control).expect("scrubbed");
    assert_eq!((done.dry_run, done.dirty, done.digest), (false, plan.dirty, None));
    assert!(scan().findings.is_empty());
    if let Some(redirect) = done.redirects.iter().find(|redirect| redirect.from.to_string() == tip) {
        let found = service.find(&FindRequest::of(tip)).expect("found");
        assert_eq!((found.ctx, found.redirected_from), (redirect.to, Some(redirect.from)));
    }
    let both = ScrubRequest { reference: Some(tip.to_owned()), path: None, all: true };
    assert_eq!(code(service.plan_scrub(&both, &control)), "bad_request");
}

fn forgotten(service: &dyn Service, session: &Transcript) {
    let request = ForgetRequest {
        reference: Some(session.session_id.clone()),
        path: None,
        project: None,
        everywhere: false,
        even_pinned: false,
    };
    let tip = find(service, &session.session_id);
    let plan = service.plan_forget(&request).expect("a plan");
    assert!(plan.dry_run && plan.removed.iter().any(|id| id.to_string() == tip), "{plan:?}");
    assert_eq!(service.plan_forget(&request).expect("again").digest, plan.digest, "equal plans, equal names");
    assert_eq!(code(service.apply_forget(&request, &made_up(), &Control::none())), "plan_stale");
    service.show(&ShowRequest { ctx: tip.clone(), entries: false }).expect("nothing was changed");
    let done = service
        .apply_forget(&request, &plan.digest.expect("a plan has one"), &Control::none())
        .expect("forgotten");
    assert_eq!((done.dry_run, done.removed.len()), (false, plan.removed.len()));
    let gone = FindRequest::of(session.session_id.clone());
    service.find(&gone).expect_err("nothing of it is there");
    let lift = |reference: &str| {
        service.unforget(&UnforgetRequest { reference: reference.to_owned() }, &Control::none())
    };
    assert!(lift(&session.session_id).expect("lifted").lifted > 0);
    assert_eq!(code(lift("nobody")), "nothing_forgotten");
}

fn collected(service: &dyn Service) {
    let request = CollectRequest { grace_days: Some(0) };
    let plan = service.plan_collect(&request).expect("a plan");
    assert!(plan.dry_run && plan.grace_days == 0);
    let control = Control::none();
    assert_eq!(code(service.apply_collect(&request, &made_up(), &control)), "plan_stale");
    let digest = plan.digest.expect("a plan has one");
    let longer = CollectRequest { grace_days: Some(1) };
    assert_eq!(code(service.apply_collect(&longer, &digest, &control)), "plan_stale");
    let done = service.apply_collect(&request, &digest, &control).expect("collected");
    assert_eq!((done.dry_run, done.digest), (false, None));
}
