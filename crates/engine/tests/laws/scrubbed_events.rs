//! Secrets that later rules find in ledgers: scanned, scrubbed and forgotten in every log, and gone from every file.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use stemmata_engine::{
    BeginTurn, Engine, ForgetOptions, ForgetReport, ForgetTarget, FoundIn, Holder, ScanPlace, ScanTarget,
    ScrubTarget, SecretFound, StoreRules, TurnMade, TurnOf,
};
use stemmata_model::{
    CommitId, Entry, EntryId, Event, EventSeq, Json, LedgerId, NewEvent, NewPayload, Part, Party, Payload,
    Principal, Role, Template, Topic,
};
use stemmata_store::conformance::builders::damages;
use stemmata_store::conformance::ledger::builders::{self, ledger, session};
use stemmata_store::{
    EventQuery, FileLog, FileLogOptions, OnDisk, PackOptions, SavedState, SessionFilter, SqliteOptions,
    SqliteStore,
};
use stemmata_testkit::faulty::{Fault, FaultyStore};
use stemmata_testkit::memory::MemoryStore;

use crate::support::{Folder, engine_on, native, new_store};

/// What was leaked: no shipped rule knows it, and the store's own does from now on.
const SECRET: &str = "ACME-771234";
const RULES: &str = "[[rules]]\nkind = 'ticket'\nkeywords = ['ACME-']\nregex = 'ACME-[0-9]{6}'\n";

fn turn(of: &str) -> TurnOf {
    let agent = Party::new("worker").expect("a name");
    TurnOf::new(ledger("p"), session(of), agent, Template::new("worker/main").expect("a name"))
}

fn take(engine: &Engine, of: &str, name: &str, words: &str) -> CommitId {
    let id = |kind: &str| EntryId::new(format!("{of}-{name}-{kind}")).expect("a name");
    let said = |kind, role, text: String| Entry::said(id(kind), role, vec![Part::Text(text)]);
    let prompt = said("prompt", Role::User, format!("do {name}"));
    engine.begin_turn(&BeginTurn::new(turn(of), prompt)).expect("begun");
    let entries = vec![
        said("answer", Role::Assistant, format!("{name}: {words}")),
        said("end", Role::Assistant, format!("{name} is done")),
    ];
    let ended = engine.end_turn(&turn(of), TurnMade { entries, ..TurnMade::default() }).expect("ended");
    ended.checkpoint.expect("a commit").id
}

fn event(of: &str, topic: &str, text: Option<&str>, data: Option<&str>, metadata: Option<&str>) -> NewEvent {
    let json = |text: &str| Json::of(&serde_json::json!({ "note": text }));
    let payload = NewPayload::Plain { text: text.map(str::to_owned), data: data.map(json) };
    let event = builders::event(of, topic, payload);
    metadata.map(json).into_iter().fold(event, NewEvent::with_metadata)
}

/// Turns with a secret in one line, and plain events with it in each of their parts.
fn leak(engine: &Engine) -> CommitId {
    take(engine, "s", "first", "all fine");
    take(engine, "s", "second", &format!("see {SECRET} there"));
    let plain = vec![
        event("bot", "NOTE", Some(&format!("look at {SECRET}")), None, None),
        event("bot", "NOTE", None, Some(&format!("in {SECRET}")), None),
        event("bot", "NOTE", Some("clean"), None, Some(&format!("of {SECRET}"))),
        event("bot", "NOTE", Some("clean, too"), None, None),
    ];
    engine.publish(&ledger("p"), plain.clone()).expect("published");
    engine.publish(&ledger("q"), plain).expect("published");
    engine.publish(&ledger("r"), vec![event("bot", "NOTE", Some("nothing"), None, None)]).expect("published");
    let tip = take(engine, "s", "third", "all fine again");
    for of in ["p", "r"] {
        let state = Json::of(&serde_json::json!({ "told": if of == "p" { SECRET } else { "nothing" } }));
        let state =
            SavedState { name: "tale/ledger".to_owned(), version: 1, through: 1, position: None, state };
        engine.log().save_states(&ledger(of), vec![state]).expect("saved");
    }
    tip
}

fn rules() -> StoreRules {
    StoreRules { name: "secrets.toml".to_owned(), text: RULES.to_owned() }
}

fn by() -> Principal {
    Principal::new("ada@m1").expect("a name")
}

fn scan_from(
    engine: &Engine,
    after: Option<ScanPlace>,
    limit: usize,
) -> (Vec<SecretFound>, Option<ScanPlace>) {
    let mut found = Vec::new();
    let scanned = engine
        .scan(&ScanTarget::All(after), &mut |secret| {
            found.push(secret);
            found.len() < limit
        })
        .expect("scanned");
    (found, scanned.last)
}

fn scan(engine: &Engine) -> Vec<SecretFound> {
    scan_from(engine, None, usize::MAX).0
}

fn events(engine: &Engine, of: &str) -> Vec<Event> {
    engine.log().events(&ledger(of), &EventQuery::after(None, 1_000)).expect("events")
}

fn gone(engine: &Engine, of: &str) -> Vec<u64> {
    let is_gone = |event: &Event| matches!(event.payload, Payload::Gone(gone) if gone.forgotten);
    events(engine, of).iter().filter(|event| is_gone(event)).map(|event| event.seq.get()).collect()
}

fn state_names(engine: &Engine, of: &str) -> Vec<String> {
    let states = engine.log().saved_states(&ledger(of), "").expect("a read");
    states.into_iter().map(|state| state.name).collect()
}

/// The events of a ledger that hold the secret now.
fn dirty(engine: &Engine, of: &str) -> Vec<u64> {
    let holds = |event: &Event| {
        let payload = match &event.payload {
            Payload::Plain { text, data } => format!("{text:?} {data:?}"),
            Payload::Line { line, .. } => line.to_string(),
            Payload::Gone(_) => String::new(),
        };
        payload.contains(SECRET) || event.metadata.as_ref().is_some_and(|own| own.as_str().contains(SECRET))
    };
    events(engine, of).iter().filter(|event| holds(event)).map(|event| event.seq.get()).collect()
}

fn holding(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(holding(&path));
        } else if memchr::memmem::find(&std::fs::read(&path).expect("read"), SECRET.as_bytes()).is_some() {
            found.push(path.display().to_string());
        }
    }
    found
}

/// Leaks, scrubs, and checks that exactly the events that held it say nothing any more.
fn scrubbed(before: &Engine) -> Engine {
    leak(before);
    let engine = before.clone().with_rules(rules());
    let (p, q) = (dirty(&engine, "p"), dirty(&engine, "q"));
    assert_eq!((p.len(), q.len()), (4, 3));
    let found = scan(&engine);
    let places: Vec<FoundIn> = found
        .iter()
        .filter(|found| matches!(&found.holder, Holder::Event { ledger: of, .. } if *of == ledger("q")))
        .map(|found| found.place)
        .collect();
    assert_eq!(places, [FoundIn::Event("text"), FoundIn::Event("data"), FoundIn::Event("metadata")]);
    let state = Holder::State { ledger: ledger("p"), name: "tale/ledger".to_owned() };
    assert!(found.iter().any(|found| found.holder == state && found.place == FoundIn::State), "{found:?}");
    assert!(!format!("{found:?}").contains(SECRET));
    let plan = engine.plan_scrub(&ScrubTarget::All).expect("planned").report;
    assert_eq!((plan.events, plan.events_forgotten), (7, 0));
    assert_eq!(gone(&engine, "p"), Vec::<u64>::new(), "a plan changes nothing");
    let done = engine.scrub(&ScrubTarget::All, &by()).expect("scrubbed");
    assert_eq!((done.events, done.events_forgotten), (7, 7), "{done:?}");
    assert_eq!((gone(&engine, "p"), gone(&engine, "q")), (p, q), "clean lines of the same delta stay");
    assert_eq!((state_names(&engine, "p"), state_names(&engine, "r").len()), (Vec::new(), 1));
    assert_eq!(scan(&engine), []);
    assert_eq!(engine.scrub(&ScrubTarget::All, &by()).expect("again").events_forgotten, 0, "twice is once");
    // The chain is what the turns said, and the next turn repeats nothing of it.
    let tip = take(&engine, "s", "fourth", "and on");
    let text = String::from_utf8(native(&engine, tip)).expect("text");
    for (words, count) in
        [("[REDACTED:ticket]", 1), ("first is done", 1), ("second is done", 1), ("do third", 1)]
    {
        assert_eq!(text.matches(words).count(), count, "{words} in {text}");
    }
    assert_eq!(damages(engine.store()), []);
    engine
}

#[test]
fn a_scrub_takes_the_events_that_hold_a_secret_and_leaves_the_others() {
    scrubbed(&engine_on("m1", new_store()));
    scrubbed(&engine_on("m1", new_store()).with_log(Arc::new(MemoryStore::default())));
}

#[test]
fn no_file_of_store_or_ledgers_holds_a_secret_of_an_event() {
    for (packed, in_files) in [(false, false), (true, false), (false, true)] {
        let home = tempfile::tempdir().expect("a folder");
        let store = Arc::new(SqliteStore::open(home.path(), SqliteOptions::default()).expect("a store"));
        let mut before = engine_on("m1", Arc::clone(&store) as _);
        if in_files {
            let log = FileLog::open(home.path(), FileLogOptions::default()).expect("a log");
            before = before.with_log(Arc::new(log));
        }
        if packed {
            take(&before, "early", "first", SECRET);
            let now = stemmata_model::Timestamp::from_micros(1_800_000_000_000_000);
            store.pack(&PackOptions::new(now)).expect("packed");
            let engine = before.clone().with_rules(rules());
            assert_eq!(engine.scrub(&ScrubTarget::All, &by()).expect("scrubbed").events_forgotten, 1);
            assert_eq!(holding(home.path()), Vec::<String>::new());
        } else {
            drop(scrubbed(&before));
        }
        before.log().close().expect("closed");
        drop(before);
        drop(Arc::into_inner(store).expect("nobody else has it"));
        assert_eq!(holding(home.path()), Vec::<String>::new(), "packed: {packed}, in files: {in_files}");
    }
}

/// A scrub of one session leaves what others said, but for the very lines that its commits had.
#[test]
fn a_scrub_of_a_session_takes_its_events_alone() {
    takes_its_events_alone(&engine_on("m1", new_store()));
    takes_its_events_alone(&engine_on("m1", new_store()).with_log(Arc::new(MemoryStore::default())));
}

fn takes_its_events_alone(before: &Engine) {
    leak(before);
    let state = Json::of(&serde_json::json!("words of a transcript"));
    let state = SavedState { name: "memory/s".to_owned(), version: 1, through: 0, position: None, state };
    before.log().save_states(&ledger("r"), vec![state]).expect("saved");
    let engine = before.clone().with_rules(rules());
    let key = engine.store().sessions(&SessionFilter::default(), page()).expect("sessions").remove(0).key;
    let all = dirty(&engine, "p");
    let done = engine.scrub(&ScrubTarget::Session(key), &by()).expect("scrubbed");
    assert_eq!((done.events, done.events_forgotten), (1, 1), "{done:?}");
    assert_eq!(dirty(&engine, "p"), all[1..], "another session's");
    assert_eq!(dirty(&engine, "q").len(), 3);
    assert_eq!(state_names(&engine, "p"), Vec::<String>::new(), "what was made of its events");
    let left = state_names(&engine, "r");
    assert!(!left.contains(&"memory/s".to_owned()), "what may hold words of what was rewritten: {left:?}");
}

fn page() -> stemmata_store::Page {
    stemmata_store::Page { skip: 0, rows_max: 9 }
}

/// What a ledger trimmed stands in the store until it is collected.
#[test]
fn a_line_that_was_trimmed_is_found_as_long_as_the_store_has_it() {
    let before = engine_on("m1", new_store());
    let line = Json::of(&serde_json::json!({ "text": format!("in {SECRET}") }));
    let topic = Topic::new("t").expect("a name");
    let sender = Party::new("ann").expect("a name");
    let event = NewEvent::new(session("bot"), topic.clone(), sender, NewPayload::Line(line));
    before.publish(&ledger("p"), vec![event]).expect("published");
    let last = before.log().ledger(&ledger("p")).expect("a read").expect("there").last;
    before.log().trim(&ledger("p"), &topic, EventSeq::new(last).expect("a place")).expect("trimmed");
    let engine = before.clone().with_rules(rules());
    assert_eq!(scan(&engine).len(), 1);
    assert_eq!(engine.scrub(&ScrubTarget::All, &by()).expect("scrubbed").events_forgotten, 1);
    assert_eq!(scan(&engine), []);
    assert_eq!(engine.store().usage().expect("a read").distinct_bytes, 0, "its line is gone");
}

/// A scan in parts tells each finding once and ends, wherever its parts end.
#[test]
fn a_scan_in_parts_tells_all_and_ends() {
    let before = engine_on("m1", new_store());
    leak(&before);
    let engine = before.clone().with_rules(rules());
    let whole = scan(&engine);
    for limit in 1..4 {
        let (mut told, mut after) = (Vec::new(), None);
        for part in 0.. {
            assert!(part < 100, "it goes on without end");
            let (found, last) = scan_from(&engine, after.clone(), limit);
            if found.is_empty() {
                break;
            }
            told.extend(found);
            after = last.map(|last| last.to_string().parse().expect("what is told can be read"));
        }
        assert_eq!(told, whole, "limit {limit}");
    }
    for wrong in ["p#x", "p#0", "nothing", "#"] {
        assert!(wrong.parse::<ScanPlace>().is_err(), "{wrong}");
    }
}

/// A scrub that fails at any write is ended by the next one, events and commits.
#[test]
fn a_scrub_of_events_and_commits_that_is_interrupted_goes_on() {
    for number in 1..60 {
        for fault in [Fault::Before, Fault::After] {
            let faulty = Arc::new(FaultyStore::new(MemoryStore::default()));
            let before = engine_on("m1", Arc::clone(&faulty) as _);
            leak(&before);
            let engine = before.clone().with_rules(rules());
            let clean: BTreeSet<u64> = events(&engine, "p").iter().map(|event| event.seq.get()).collect();
            let clean: BTreeSet<u64> = &clean - &dirty(&engine, "p").into_iter().collect();
            faulty.fail(number, fault);
            let interrupted = engine.scrub(&ScrubTarget::All, &by());
            engine.scrub(&ScrubTarget::All, &by()).expect("goes on");
            assert_eq!(scan(&engine), [], "write {number}");
            assert!(gone(&engine, "p").iter().all(|seq| !clean.contains(seq)), "write {number}");
            if interrupted.is_ok() {
                return;
            }
        }
    }
    panic!("every write failed: the test does not reach the end");
}

fn forget(engine: &Engine, project: &Path) -> ForgetReport {
    let options = ForgetOptions { everywhere: false, even_pinned: false, by: by() };
    let target = ForgetTarget::Project(project.to_str().expect("text").to_owned());
    let plan = engine.plan_forget(&target, &options).expect("a plan");
    let planned = plan.report.clone();
    let done = engine.apply_forget(plan).expect("forgotten");
    assert_eq!(planned, done, "the plan is what happens");
    done
}

/// Forgetting a project forgets all that its ledger says, whoever said it, in whichever log.
#[test]
fn a_project_is_forgotten_with_its_ledger() {
    let folder = Folder::new();
    let home = tempfile::tempdir().expect("a folder");
    let [own, other] = ["own", "other"].map(|name| folder.path().join(name));
    let store = || Arc::new(SqliteStore::open(home.path(), SqliteOptions::default()).expect("a store"));
    for log in [None, Some(FileLog::open(home.path(), FileLogOptions::default()).expect("a log"))] {
        let in_files = log.is_some();
        for dir in [&own, &other] {
            std::fs::create_dir_all(dir).expect("a folder");
        }
        let store = store();
        let mut engine = engine_on("m1", Arc::clone(&store) as _);
        if let Some(log) = log {
            engine = engine.with_log(Arc::new(log));
        }
        let [mine, theirs] = [&own, &other].map(|dir| engine.project_at(dir).expect("a project").ledger);
        for id in [&mine, &theirs] {
            let told = vec![
                event("bot", "NOTE", Some(SECRET), None, Some(SECRET)),
                event("bot", "STATE_SNAPSHOT", Some("nothing"), None, None),
            ];
            engine.publish(id, told).expect("published");
            let state = Json::of(&serde_json::json!(if *id == mine { SECRET } else { "" }));
            let state = SavedState { name: "tale".to_owned(), version: 1, through: 1, position: None, state };
            engine.log().save_states(id, vec![state]).expect("saved");
        }
        // The folder may be gone by then.
        std::fs::remove_dir_all(&own).expect("removed");
        let done = forget(&engine, &own);
        assert_eq!((done.ledgers.as_slice(), done.forgotten.events), (&[mine.clone()][..], 3));
        let said = |id: &LedgerId| {
            let events = engine.log().events(id, &EventQuery::after(None, 9)).expect("events");
            events.iter().filter(|event| matches!(event.payload, Payload::Plain { .. })).count()
        };
        assert_eq!((said(&mine), said(&theirs)), (0, 3));
        let states = |id: &LedgerId| engine.log().saved_states(id, "").expect("a read").len();
        assert_eq!((states(&mine), states(&theirs)), (0, 1));
        assert_eq!(forget(&engine, &own).forgotten.events, 0, "forgetting twice");
        assert_eq!(forget(&engine, &other).forgotten.events, 3);
        engine.log().close().expect("closed");
        drop(engine);
        drop(Arc::into_inner(store).expect("nobody else has it"));
        assert_eq!(holding(home.path()), Vec::<String>::new(), "in files: {in_files}");
    }
}
