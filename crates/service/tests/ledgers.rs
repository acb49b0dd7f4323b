//! The facet `Ledgers` as a caller meets it, over a store on a disk.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::ops::ControlFlow;
use std::sync::Arc;

use stemmata_api::v1::{
    AppendRequest, DecideRequest, DecisionKind, Durability, EventsRequest, FinishTaskRequest, FollowFrom,
    FollowRequest, ForgetEventsRequest, LedgerRequest, LedgersRequest, NewEvent, RestoreStateRequest,
    StateRequest,
};
use stemmata_api::{Code, Control, Ledgers as _, PageRequest, PlanDigest, Problem};
use stemmata_engine::{Home, HomeOptions, MachineFacts, RandomIds, Settings, SystemClock};
use stemmata_model::{LedgerId, Principal};
use stemmata_service::{Host, LedgerOfRequest, Local, Machine, MakeLedger};
use stemmata_store::OpenFor;
use tempfile::TempDir;

/// A store with its service and its host.
struct Stage {
    folder: TempDir,
    service: Local,
    host: Host,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = HomeOptions {
            settings: Settings::of_texts("[identity]\nuser = \"ada\"\n", &|_| None).unwrap(),
            machine: MachineFacts { mark: None, host_name: "workshop".to_owned(), user_id: 0 },
            open_for: OpenFor::Command,
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            temp: None,
        };
        let home = Arc::new(Home::open(&folder.path().join("data"), options).unwrap());
        let by = Principal::new("ada@workshop/stemma".to_owned()).unwrap();
        Self { folder, service: Local::new(Arc::clone(&home), by), host: Host::new(home, Machine::alone()) }
    }

    fn append(&self, ledger: &str, texts: &[&str]) {
        self.service.append(&append(ledger, texts.iter().map(|text| event("t", text)).collect())).unwrap();
    }

    /// Returns the texts of a ledger's events of topic `t`.
    fn texts(&self, ledger: &str) -> Vec<Option<String>> {
        let request = EventsRequest { topics: vec!["t".to_owned()], ..every(ledger) };
        self.service.events(&request).unwrap().events.into_iter().map(|event| event.text).collect()
    }
}

fn event(topic: &str, text: &str) -> NewEvent {
    NewEvent {
        topic: topic.to_owned(),
        text: Some(text.to_owned()),
        data: None,
        metadata: None,
        sender: None,
        receiver: None,
        session_id: None,
        thread: None,
        ticket: None,
    }
}

fn named(ledger: &str) -> LedgerId {
    LedgerId::new(ledger).unwrap()
}

fn append(ledger: &str, events: Vec<NewEvent>) -> AppendRequest {
    AppendRequest { ledger: named(ledger), events, expected: None, durability: Durability::Batch }
}

fn every(ledger: &str) -> EventsRequest {
    EventsRequest {
        ledger: named(ledger),
        topics: Vec::new(),
        sender: None,
        receiver: None,
        session: None,
        after: None,
        through: None,
        since: None,
        until: None,
        replayable: None,
        newest_first: false,
        limit: None,
    }
}

fn code<T: std::fmt::Debug>(answer: Result<T, Box<Problem>>) -> String {
    answer.unwrap_err().code
}

#[test]
fn a_plan_that_does_not_hold_any_more_forgets_nothing() {
    let stage = Stage::new();
    stage.append("c", &["one", "two"]);
    let session = Some("stemma".to_owned());
    let request = ForgetEventsRequest { ledger: Some(named("c")), session, events: Vec::new() };
    let plan = stage.service.plan_forget_events(&request).unwrap();
    assert_eq!((plan.events, plan.dry_run), (3, true), "the opening too");
    let digest = plan.digest.unwrap();
    assert_eq!(stage.service.plan_forget_events(&request).unwrap().digest.as_ref(), Some(&digest));
    stage.append("c", &["three"]);
    let refused = stage.service.apply_forget_events(&request, &digest, &Control::none()).unwrap_err();
    assert!(refused.is(Code::PlanStale), "{refused}");
    assert!(stage.texts("c").iter().all(Option::is_some));
    let digest = stage.service.plan_forget_events(&request).unwrap().digest.unwrap();
    let done = stage.service.apply_forget_events(&request, &digest, &Control::none()).unwrap();
    assert_eq!((done.events, done.dry_run, done.digest), (4, false, None));
    assert!(stage.texts("c").iter().all(Option::is_none));
    assert_eq!(
        code(stage.service.apply_forget_events(&request, &digest, &Control::none())),
        "no_event_with_text"
    );
}

#[test]
fn forgetting_everywhere_leaves_what_no_plan_says() {
    let stage = Stage::new();
    stage.append("a", &["one"]);
    stage.append("b", &["two"]);
    let other = NewEvent { session_id: Some("bot".to_owned()), ..event("t", "three") };
    stage.service.append(&append("b", vec![other])).unwrap();
    let session = Some("stemma".to_owned());
    let request = ForgetEventsRequest { ledger: None, session, events: Vec::new() };
    let plan = stage.service.plan_forget_events(&request).unwrap();
    assert_eq!(plan.ledgers.iter().map(|one| one.ledger.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    stage.service.apply_forget_events(&request, &plan.digest.unwrap(), &Control::none()).unwrap();
    assert_eq!((stage.texts("a"), stage.texts("b")), (vec![None], vec![None, Some("three".to_owned())]));
    // Neither a session nor events: nothing is meant.
    let nothing = ForgetEventsRequest { session: None, ..request };
    assert_eq!(
        code(stage.service.apply_forget_events(&nothing, &PlanDigest::new(""), &Control::none())),
        "bad_request"
    );
}

#[test]
fn pages_of_any_length_hold_all_events_from_either_end() {
    let stage = Stage::new();
    stage.append("c", &["one", "two", "three", "four"]);
    for newest_first in [false, true] {
        for limit in 1..=6 {
            let mut request = EventsRequest { newest_first, limit: Some(limit), ..every("c") };
            let mut pages = Vec::new();
            loop {
                let page = stage.service.events(&request).unwrap();
                assert!(page.events.len() as u64 <= limit && page.last == "5");
                pages.push(page.events.into_iter().map(|event| event.event_seq.get()).collect::<Vec<_>>());
                let from = if newest_first { &mut request.through } else { &mut request.after };
                from.clone_from(&page.next);
                if page.next.is_none() {
                    break;
                }
            }
            if newest_first {
                pages.reverse();
            }
            assert_eq!(pages.concat(), [1, 2, 3, 4, 5], "{limit} {newest_first}");
        }
    }
}

#[test]
fn a_listing_of_ledgers_goes_on_behind_its_last_one() {
    let stage = Stage::new();
    for ledger in ["b", "a", "c"] {
        stage.append(ledger, &["one"]);
    }
    let mut request = LedgersRequest { page: PageRequest { limit: Some(2), after: None } };
    let first = stage.service.ledgers(&request).unwrap();
    request.page.after = first.next.map(|next| next.to_string());
    let rest = stage.service.ledgers(&request).unwrap();
    let ids = first.ledgers.iter().chain(&rest.ledgers).map(|ledger| ledger.id.as_str());
    assert_eq!((ids.collect::<Vec<_>>(), rest.next), (vec!["a", "b", "c"], None));
}

#[test]
fn an_event_that_a_follower_broke_at_comes_again() {
    let stage = Stage::new();
    stage.append("c", &["one", "two", "three"]);
    let request = FollowRequest {
        ledger: named("c"),
        topics: vec!["t".to_owned()],
        sender: None,
        receiver: None,
        session: None,
        from: FollowFrom::Cursor("bot".to_owned()),
        count: None,
    };
    let mut seen = Vec::new();
    let followed = stage.service.follow(
        &request,
        &mut |event| {
            seen.push(event.text.clone().unwrap());
            if seen.len() == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        },
        &Control::none(),
    );
    assert_eq!(followed.unwrap().events, 1);
    let request = FollowRequest { count: Some(2), ..request };
    let mut rest = |event: &stemmata_api::v1::Event| {
        seen.push(event.text.clone().unwrap());
        ControlFlow::Continue(())
    };
    stage.service.follow(&request, &mut rest, &Control::none()).unwrap();
    assert_eq!(seen, ["one", "two", "two", "three"]);
}

#[test]
fn a_bad_event_is_named_and_nothing_is_appended() {
    let stage = Stage::new();
    let refused = stage.service.append(&append("c", vec![event("t", "one"), event("", "two")])).unwrap_err();
    assert!(refused.is(Code::BadRequest) && refused.detail.contains("event 2"), "{refused}");
    assert_eq!(code(stage.service.ledger(&LedgerRequest { ledger: named("c") })), "ledger_not_found");
    assert_eq!(code(stage.service.events(&every("c"))), "ledger_not_found");
}

#[test]
fn names_that_mean_nothing_or_several_things_have_codes_of_their_own() {
    let stage = Stage::new();
    let decide = |kind, text: &str, supersedes: Option<&str>| {
        stage.service.decide(&DecideRequest {
            ledger: named("c"),
            kind,
            text: text.to_owned(),
            reason: None,
            supersedes: supersedes.map(str::to_owned),
        })
    };
    for text in ["Use tabs in Go", "Use tabs in Make"] {
        decide(DecisionKind::Decision, text, None).unwrap();
        decide(DecisionKind::Task, text, None).unwrap();
    }
    assert_eq!(code(decide(DecisionKind::Fact, " ", None)), "bad_request");
    assert_eq!(code(decide(DecisionKind::Decision, "Use ink", Some("pens"))), "decision_not_found");
    let several = decide(DecisionKind::Decision, "Use ink", Some("use tabs")).unwrap_err();
    assert_eq!((several.code.as_str(), several.candidates.len()), ("decision_ambiguous", 2));
    let finish = |task: &str| {
        let (ledger, task) = (named("c"), task.to_owned());
        stage.service.finish_task(&FinishTaskRequest { ledger, task })
    };
    assert_eq!(code(finish("sweep")), "task_not_found");
    assert_eq!(code(finish("use tabs")), "task_ambiguous");
    assert_eq!(finish("in make").unwrap().finished.as_deref(), Some("Use tabs in Make"));
    let open = stage.service.tasks(&LedgerRequest { ledger: named("c") }).unwrap();
    assert_eq!(open.tasks.len(), 1);
}

#[test]
fn a_state_has_text_where_it_was_asked_for() {
    let stage = Stage::new();
    let event = NewEvent { sender: Some("planner".to_owned()), ..event("PLAN_READY", "Three steps") };
    stage.service.append(&append("c", vec![event])).unwrap();
    let asked = |text_chars_max| {
        stage.service.state(&StateRequest { ledger: named("c"), at: None, text_chars_max }).unwrap()
    };
    let (plain, told) = (asked(None), asked(Some(1_000)));
    assert_eq!((plain.text, plain.snapshot_text), (None, None));
    assert!(told.text.is_some() && told.snapshot_text.unwrap().contains("Plan"));
}

#[test]
fn a_folder_has_a_ledger_when_somebody_makes_one() {
    let stage = Stage::new();
    let dir = stage.folder.path().join("shop");
    std::fs::create_dir_all(&dir).unwrap();
    let ledger = |make| {
        stage.host.ledger_of(&LedgerOfRequest { dir: dir.clone(), name: None, make, even_damaged: false })
    };
    for make in [MakeLedger::Never, MakeLedger::Looked] {
        assert_eq!(code(ledger(make)), "no_ledger_here");
    }
    let made = ledger(MakeLedger::Always).unwrap();
    assert_eq!(ledger(MakeLedger::Never).unwrap().ledger, made.ledger);
    let request = RestoreStateRequest { ledger: made.ledger, repair: true };
    assert_eq!(code(stage.service.restore_state(&request)), "ledger_not_in_files");
}

#[test]
fn a_store_that_needs_no_step_has_a_plan_that_takes_nothing() {
    let stage = Stage::new();
    stage.append("c", &["one"]);
    let plan = stage.host.plan_migration().unwrap();
    assert_eq!((plan.found == plan.newest, plan.steps.len(), plan.digest), (true, 0, None));
    let done = stage.host.apply_migration(&PlanDigest::new("")).unwrap();
    assert_eq!((done.now, done.backup), (plan.now, None));
}
