//! Clusters: when agents began and ended, what people told them, what it cost, what their state is, and their file.

use std::sync::Arc;
use std::thread;

use proptest::prelude::*;
use rusqlite::Connection;
use stemmata_engine::{Engine, EngineError, ErrorKind, GUIDANCE_MAX, Told};
use stemmata_model::{
    Event, EventSeq, Json, NewEvent, NewPayload, NoteCode, Payload, SessionId, Timestamp, topics,
};
use stemmata_prompt::reduce::snapshot::StateSnapshotter;
use stemmata_store::{BATCH_EVENTS_MAX, EventQuery, StoreError};
use stemmata_testkit::faulty::FaultyStore;
use stemmata_testkit::memory::MemoryStore;

use crate::bus::{append_beside, in_session, ledger, party, said, seq, text_of, topic};
use crate::support::{Folder, engine};

fn data(sender: &str, about: &str, data: &serde_json::Value) -> NewEvent {
    let payload = NewPayload::Plain { text: None, data: Some(Json::of(data)) };
    NewEvent::new(SessionId::new("c").expect("a name"), topic(about), party(sender), payload)
}

fn publish(engine: &Engine, events: Vec<NewEvent>) {
    engine.publish(&ledger("c"), events).expect("published");
}

fn all(engine: &Engine, id: &str) -> Vec<Event> {
    engine.log().events(&ledger(id), &EventQuery::after(None, 10_000)).expect("a read")
}

#[test]
fn agents_have_beginnings_and_ends() {
    let engine = engine();
    assert_eq!(engine.cluster(&ledger("c")).expect_err("not there").kind(), ErrorKind::NotFound);
    let made = engine.create_cluster(&ledger("c")).expect("made");
    assert_eq!(engine.create_cluster(&ledger("c")).expect("there"), made);
    let (agent, c) = (party("w1"), ledger("c"));
    assert_eq!(engine.last_task_end(&c, &agent, None).expect("a time"), made.created_at);
    assert_eq!(engine.last_agent_start(&c, &agent, None).expect("a time"), made.created_at);
    let word = |sender, about| said(sender, about, "x");
    publish(
        &engine,
        vec![
            word("w1", topics::AGENT_STARTED),
            word("w2", topics::AGENT_STARTED),
            word("w1", topics::TASK_ENDED),
        ],
    );
    publish(
        &engine,
        vec![word("w1", topics::AGENT_STARTED), word("w2", topics::TASK_ENDED), word("w1", "x")],
    );
    let at = |number: usize| all(&engine, "c")[number - 1].at;
    let since = |time| {
        let query = EventQuery { since: Some(time), ..EventQuery::after(None, 100) };
        engine.log().events(&c, &query).expect("a read").first().map(|event| event.seq.get())
    };
    let end = engine.last_task_end(&c, &agent, None).expect("a time");
    assert_eq!((end, since(end)), (at(3), Some(3)), "what was said at that moment counts");
    let start = engine.last_agent_start(&c, &agent, None).expect("a time");
    assert!(start > at(4));
    assert_eq!(since(start), Some(5), "the beginning itself does not count");
    assert_eq!(
        engine.last_agent_start(&c, &agent, Some(seq(3))).expect("a time"),
        Timestamp::from_micros(at(1).as_micros() + 1)
    );
    assert_eq!(engine.last_task_end(&c, &party("w2"), Some(seq(4))).expect("a time"), made.created_at);
    let folder = Folder::new();
    let project = engine.project_at(folder.path()).expect("a project");
    assert!(matches!(engine.create_cluster(&project.ledger), Err(EngineError::Refused { .. })));
}

#[test]
fn guidance_reaches_whom_it_is_for_once() {
    let engine = engine();
    let (cluster, agent) = (topics::USER_GUIDANCE_CLUSTER, topics::USER_GUIDANCE_AGENT);
    let read = |name: &str, after| {
        let agent = (!name.is_empty()).then(|| party(name));
        let guidance = engine.guidance(&ledger("c"), agent.as_ref(), after, None).expect("a read");
        let texts: Vec<String> = guidance.events.iter().filter_map(text_of).map(str::to_owned).collect();
        (texts, guidance.cursor)
    };
    assert_eq!(read("w1", None), (vec![], None), "no ledger yet");
    publish(
        &engine,
        vec![
            said("you", cluster, "g1"),
            said("you", agent, "g2").to(party("w1")),
            said("you", agent, "g3").to(party("w2")),
        ],
    );
    assert_eq!(read("w1", None), (vec!["g1".to_owned(), "g2".to_owned()], Some(seq(3))));
    assert_eq!(read("", None), (vec!["g1".to_owned()], Some(seq(3))));
    publish(&engine, vec![said("you", agent, "g4").to(party("w1"))]);
    assert_eq!(read("w1", Some(seq(3))), (vec!["g4".to_owned()], Some(seq(4))));
    assert_eq!(read("w1", Some(seq(4))), (vec![], Some(seq(4))));
    let bounded = engine.guidance(&ledger("c"), Some(&party("w1")), None, Some(seq(1))).expect("a read");
    assert_eq!((bounded.events.len(), bounded.cursor), (1, Some(seq(1))));
    // More than one read returns: the cursor stands at the last word that was returned.
    publish(&engine, (0..GUIDANCE_MAX + 3).map(|_| said("you", cluster, "more")).collect());
    let (first, cursor) = read("w1", Some(seq(4)));
    assert_eq!((first.len(), cursor.map(EventSeq::get)), (GUIDANCE_MAX, Some(4 + 256)));
    assert_eq!(read("w1", cursor).0.len(), 3);
}

#[test]
fn a_state_is_published_when_it_changes_and_by_one() {
    let engine = engine();
    let issue = |text: &str| said("you", topics::ISSUE_OPENED, text);
    let published =
        engine.publish(&ledger("c"), vec![issue("Fix it"), said("w", "x", "y")]).expect("published");
    assert_eq!((published.appended.last, published.snapshot), (seq(2), Some(seq(3))));
    let snapshot = all(&engine, "c").pop().expect("there");
    assert_eq!(
        (snapshot.topic.as_str(), snapshot.sender.as_str()),
        (topics::STATE_SNAPSHOT, "state-snapshotter")
    );
    assert_eq!((text_of(&snapshot), snapshot.session.as_str()), (Some("Task: Fix it"), "c"));
    assert_eq!(
        engine.publish(&ledger("c"), vec![issue("Fix it")]).expect("published").snapshot,
        None,
        "said already"
    );
    assert_eq!(engine.publish(&ledger("c"), vec![said("w", "x", "y")]).expect("published").snapshot, None);
    // The same in a ledger where two come at the same time, from many sides.
    thread::scope(|scope| {
        for number in 0..4 {
            let engine = engine.clone();
            scope.spawn(move || {
                for turn in 0..8 {
                    let event = said("w", topics::PLAN_READY, &format!("Plan {number} {turn}"));
                    let notes = engine.publish(&ledger("c"), vec![event]).expect("published").notes;
                    assert_eq!(notes, []);
                }
            });
        }
    });
    let there = all(&engine, "c");
    let mut last = None;
    for event in there.iter().filter(|event| event.topic.as_str() == topics::STATE_SNAPSHOT) {
        let text = text_of(event).expect("text").to_owned();
        assert_ne!(last.as_ref(), Some(&text), "a snapshot that says nothing new");
        last = Some(text);
    }
    let plan = there.iter().rev().find(|event| event.topic.as_str() == topics::PLAN_READY).and_then(text_of);
    assert_eq!(last, plan.map(|plan| format!("Task: Fix it\nPlan: {plan}")));
}

#[test]
fn what_a_worker_said_before_silent_events_of_the_same_batch_is_in_the_state() {
    let engine = engine();
    let status = serde_json::json!({ "completionStatus": { "canValidate": true, "percentComplete": 80 } });
    let mut batch = vec![data("w", topics::WORKER_PROGRESS, &status)];
    batch.extend((0..40).map(|number| said("w", topics::WORKER_PROGRESS, &format!("still at it {number}"))));
    let published = engine.publish(&ledger("c"), batch).expect("published");
    assert_eq!(published.snapshot, Some(seq(42)));
    let snapshot = all(&engine, "c").pop().expect("there");
    assert_eq!(text_of(&snapshot), Some("Progress: 80% | canValidate=true"));
    // What was said before a snapshot is in it, and nothing silent asks for another.
    let silent = said("w", topics::WORKER_PROGRESS, "and on");
    assert_eq!(engine.publish(&ledger("c"), vec![silent]).expect("published").snapshot, None);
}

#[test]
fn a_snapshot_after_forgetting_says_what_the_ledger_still_does() {
    let engine = engine();
    let publish_in =
        |session: &str, event: NewEvent| engine.publish(&ledger("c"), vec![in_session(session, event)]);
    publish_in("a", said("you", topics::ISSUE_OPENED, "Fix it")).expect("published");
    publish_in("b", said("w", topics::PLAN_READY, "The secret plan")).expect("published");
    let told = Told::Session(SessionId::new("b").expect("a name"), Some(ledger("c")));
    let plan = engine.plan_forget_events(&told).expect("a plan");
    assert_eq!(plan.counts().collect::<Vec<_>>(), [(&ledger("c"), 2)], "the opening too");
    engine.apply_forget_events(&plan).expect("forgotten");
    // Nobody else's snapshot stands in for ours.
    publish_in("x", said("w", topics::STATE_SNAPSHOT, "hello")).expect("published");
    publish_in("a", said("w", topics::IMPLEMENTATION_READY, "done")).expect("published");
    let status = serde_json::json!({ "canValidate": true });
    let published = engine.publish(&ledger("c"), vec![data("w", topics::WORKER_PROGRESS, &status)]);
    let snapshot = published.expect("published").snapshot.expect("the state changed");
    let event = all(&engine, "c").into_iter().find(|event| event.seq == snapshot).expect("there");
    assert_eq!(text_of(&event), Some("Task: Fix it\nProgress: canValidate=true"));
    let folded = engine.fold::<StateSnapshotter>(&ledger("c"), None).expect("folded").reducer;
    assert_eq!(Some(folded.text().as_str()), text_of(&event));
}

#[test]
fn a_full_batch_of_sessions_that_nobody_opened_is_appended() {
    let engine = engine();
    let batch: Vec<NewEvent> =
        (0..BATCH_EVENTS_MAX).map(|at| in_session(&format!("s{}", at % 3), said("w", "x", "y"))).collect();
    let published = engine.publish(&ledger("c"), batch.clone()).expect("published");
    let last = u64::try_from(BATCH_EVENTS_MAX).expect("small") + 3;
    assert_eq!(
        (published.opened, published.appended.first, published.appended.last),
        (3, EventSeq::FIRST, seq(last))
    );
    let there = all(&engine, "c");
    let topics: Vec<&str> = there.iter().take(4).map(|event| event.topic.as_str()).collect();
    assert_eq!(topics, [topics::SESSION_STARTED, topics::SESSION_STARTED, topics::SESSION_STARTED, "x"]);
    let again = engine.publish(&ledger("c"), batch).expect("published");
    assert_eq!((again.opened, again.appended.first), (0, seq(last + 1)));
}

#[test]
fn a_snapshot_that_another_process_published_is_not_published_again() {
    let log = Arc::new(FaultyStore::new(MemoryStore::default()));
    let engine = engine().with_log(Arc::clone(&log) as _);
    let issue = said("you", topics::ISSUE_OPENED, "Fix it");
    publish(&engine, vec![issue.clone()]);
    let snapshot = all(&engine, "c").pop().expect("there");
    let Payload::Plain { text, data } = snapshot.payload else { panic!("{snapshot:?}") };
    let plan = said("w", topics::PLAN_READY, "A plan");
    let again = NewEvent {
        payload: NewPayload::Plain { text, data },
        ..said("state-snapshotter", topics::STATE_SNAPSHOT, "")
    };
    let (other, after) = (again, plan.clone());
    // While we look, another one publishes a plan and says so with a snapshot: ours is then of what it says.
    log.after_one_page(move |log| append_beside(log, vec![after, other]));
    let published = engine.publish(&ledger("c"), vec![issue.clone()]).expect("published");
    assert_eq!((published.snapshot, published.notes), (None, vec![]));
    // Others that never stop keep it from being published, and that is told.
    log.after_pages(|log| append_beside(log, vec![said("b", "x", "again")]));
    let published =
        engine.publish(&ledger("c"), vec![said("you", topics::ISSUE_OPENED, "Another")]).expect("published");
    assert_eq!(published.snapshot, None);
    assert_eq!(
        published.notes.iter().map(|note| note.code.clone()).collect::<Vec<_>>(),
        [NoteCode::Degraded]
    );
    log.after_pages(|_| {});
    let next =
        engine.publish(&ledger("c"), vec![said("you", topics::ISSUE_OPENED, "Another")]).expect("published");
    assert!(next.snapshot.is_some(), "the next one says it");
}

/// One event of any shape.
fn any_event() -> impl Strategy<Value = NewEvent> {
    let json = prop_oneof![
        Just("{}"),
        Just(r#"{"a":[1,"\u00e9"]}"#),
        Just("null"),
        Just(r#"{"contextSafe":false}"#),
        Just("9007199254740993"),
    ];
    let text = prop::option::of("[ -~é\u{1F600}]{0,20}");
    let names = ("[a-zA-Z_]{1,8}", "[a-z]{1,6}", prop::option::of("[a-z]{1,6}"), "(c|s1|s2)");
    (names, text, prop::option::of(json.clone()), prop::option::of(json), any::<(bool, bool)>()).prop_map(
        |((about, sender, receiver, session), text, data, metadata, (is_line, replayable))| {
            let json = |text: &str| Json::parse(text).expect("JSON");
            let payload = match (is_line, data) {
                (true, Some(data)) => NewPayload::Line(json(data)),
                (_, data) => NewPayload::Plain { text, data: data.map(json) },
            };
            let mut event = in_session(&session, said(&sender, &about, ""));
            event.payload = payload;
            event.metadata = metadata.map(json);
            event.replayable = replayable;
            receiver.map_or(event.clone(), |receiver| event.to(party(&receiver)))
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(2)))]

    #[test]
    fn an_exported_cluster_comes_back_as_it_was(batches in prop::collection::vec(prop::collection::vec(any_event(), 1..30), 0..4)) {
        let (folder, from, to) = (Folder::new(), engine(), engine());
        from.create_cluster(&ledger("c")).expect("made");
        for batch in batches {
            publish(&from, batch);
        }
        let path = folder.path().join("c.db");
        let exported = from.export_cluster(&ledger("c"), &path, false).expect("exported");
        let there = all(&from, "c");
        prop_assert_eq!(exported.events, u64::try_from(there.len()).expect("small"));
        let (cluster, notes) = to.import_cluster(&path, None).expect("imported");
        prop_assert_eq!(cluster, from.cluster(&ledger("c")).expect("there"));
        prop_assert_eq!(notes, vec![]);
        prop_assert_eq!(all(&to, "c"), there);
        let is_refused = matches!(to.import_cluster(&path, None), Err(EngineError::Refused { .. }));
        prop_assert_eq!(is_refused, exported.events > 0);
    }
}

#[test]
fn a_file_of_the_seed_s_program_is_read_and_what_cannot_be_said() {
    let (folder, engine) = (Folder::new(), engine());
    let path = folder.path().join("seed.db");
    let database = Connection::open(&path).expect("a database");
    let key = ["ghp_", "a8F3kLmQ92xZ", "vB7nTy5Rw1Cd", "E4gH6jK0pSuX"].concat();
    database
        .execute_batch(&format!(
            "CREATE TABLE messages (id TEXT PRIMARY KEY, timestamp INTEGER NOT NULL, topic TEXT NOT NULL, sender TEXT NOT NULL, \
             receiver TEXT NOT NULL, content_text TEXT, content_data TEXT, metadata TEXT, cluster_id TEXT NOT NULL);\
             INSERT INTO messages (rowid, id, timestamp, topic, sender, receiver, content_text, content_data, metadata, cluster_id) VALUES \
             (3, 'msg_b', 1700000000001, 'AGENT_OUTPUT', 'w1', 'broadcast', NULL, '{{\"line\":\"out\"}}', NULL, 'calm-otter-7'),\
             (1, 'msg_a', 1700000000000, 'ISSUE_OPENED', 'system', 'broadcast', 'with {key}', NULL, '{{\"a\":1}}', 'calm-otter-7'),\
             (9, 'msg_c', 1700000000002, 'X', 'w1', 'w2', 'broken', '{{\"cut', NULL, 'calm-otter-7');"
        ))
        .expect("written");
    let (cluster, notes) = engine.import_cluster(&path, None).expect("imported");
    assert_eq!((cluster.ledger.as_str(), cluster.last), ("calm-otter-7", 3));
    assert_eq!(
        notes.iter().map(|note| note.code.clone()).collect::<Vec<_>>(),
        [NoteCode::Redacted, NoteCode::Degraded]
    );
    let there = all(&engine, "calm-otter-7");
    let told: Vec<_> = there
        .iter()
        .map(|event| (event.at.as_micros() / 1_000, event.topic.as_str(), event.replayable))
        .collect();
    assert_eq!(
        told,
        [
            (1_700_000_000_000, "ISSUE_OPENED", true),
            (1_700_000_000_001, "AGENT_OUTPUT", false),
            (1_700_000_000_002, "X", true)
        ]
    );
    assert_eq!(text_of(&there[0]), Some("with [REDACTED:github-token]"));
    assert_eq!(there[2].payload, Payload::Plain { text: Some("broken".to_owned()), data: None });
    assert!(there.iter().all(|event| event.session.as_str() == "calm-otter-7"));
    let (renamed, _) = engine.import_cluster(&path, Some(&ledger("other"))).expect("imported");
    assert_eq!(renamed.ledger, ledger("other"));
    assert!(all(&engine, "other").iter().all(|event| event.session.as_str() == "other"));
}

#[test]
fn what_is_no_cluster_s_file_is_refused_with_the_reason() {
    let (folder, engine) = (Folder::new(), engine());
    for (name, sql, kind) in [
        ("view", "CREATE VIEW messages AS SELECT 1 AS cluster_id", ErrorKind::Incompatible),
        (
            "two",
            "CREATE TABLE messages (cluster_id); INSERT INTO messages VALUES ('a'), ('b')",
            ErrorKind::Incompatible,
        ),
        ("none", "CREATE TABLE messages (cluster_id)", ErrorKind::Incompatible),
        (
            "columns",
            "CREATE TABLE messages (cluster_id); INSERT INTO messages VALUES ('a')",
            ErrorKind::System,
        ),
        (
            "types",
            "CREATE TABLE messages (id, timestamp, topic, sender, receiver, content_text, content_data, metadata, cluster_id); \
             INSERT INTO messages VALUES (1, 'x', 2, 3, 4, x'00', 5, 6, 'a')",
            ErrorKind::Corrupt,
        ),
        (
            "name",
            "CREATE TABLE messages (id, timestamp, topic, sender, receiver, content_text, content_data, metadata, cluster_id); \
             INSERT INTO messages VALUES ('1', 1, '', 's', 'r', NULL, NULL, NULL, 'a')",
            ErrorKind::Corrupt,
        ),
        (
            "large",
            "CREATE TABLE messages (id, timestamp, topic, sender, receiver, content_text, content_data, metadata, cluster_id); \
             INSERT INTO messages VALUES ('1', 1, 't', 's', 'r', hex(zeroblob(3000000)), NULL, NULL, 'a')",
            ErrorKind::BadInput,
        ),
    ] {
        let path = folder.path().join(name);
        Connection::open(&path).and_then(|database| database.execute_batch(sql)).expect("written");
        let error = engine.import_cluster(&path, Some(&ledger(name))).expect_err(name);
        assert_eq!(error.kind(), kind, "{name}: {error}");
    }
    let text =
        folder.write("text", b"no database at all, but some text that is long enough to look like one");
    assert_eq!(engine.import_cluster(&text, None).expect_err("text").kind(), ErrorKind::Incompatible);
}

#[test]
fn what_is_gone_is_empty_in_the_file_and_comes_back_as_what_is_left() {
    let (folder, engine) = (Folder::new(), engine());
    publish(
        &engine,
        vec![
            said("a", "x", "one"),
            in_session("go", said("a", "x", "two")),
            said("a", "AGENT_OUTPUT", "three"),
        ],
    );
    publish(&engine, vec![said("a", "AGENT_OUTPUT", "four")]);
    engine.log().forget_events(&SessionId::new("go").expect("a name")).expect("forgotten");
    engine.log().trim(&ledger("c"), &topic("AGENT_OUTPUT"), seq(4)).expect("trimmed");
    let path = folder.path().join("c.db");
    let exported = engine.export_cluster(&ledger("c"), &path, false).expect("exported");
    assert_eq!((exported.events, exported.gone, exported.through), (5, 3, 5));
    let bytes = std::fs::read(&path).expect("there");
    for word in ["two", "three"] {
        assert!(!bytes.windows(word.len()).any(|part| part == word.as_bytes()), "{word}");
    }
    let (_, notes) = engine.import_cluster(&path, Some(&ledger("d"))).expect("imported");
    assert_eq!(notes.len(), 1);
    let metadata: Vec<_> = all(&engine, "d")
        .into_iter()
        .map(|event| event.metadata.map(|metadata| metadata.to_value()["gone"]["bytes"].as_u64()))
        .collect();
    let (opened, two, three) = (Some(Some(1)), Some(Some(4)), Some(Some(6)));
    assert_eq!(metadata, [opened, None, two, three, None]);
    let refused = engine.export_cluster(&ledger("c"), &path, false);
    assert!(matches!(refused, Err(EngineError::Store(StoreError::Refused { .. }))), "{refused:?}");
    assert_eq!(std::fs::read(&path).expect("there"), bytes);
    engine.export_cluster(&ledger("c"), &path, true).expect("replaced");
    assert!(matches!(
        engine.export_cluster(&ledger("nobody"), &path, true),
        Err(EngineError::NotFound { .. })
    ));
    let names: Vec<_> = std::fs::read_dir(folder.path())
        .expect("a folder")
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(names, ["c.db"], "nothing is left over");
}

#[test]
fn usage_is_summed_up_by_role() {
    let engine = engine();
    let used = |role: &str, input: u64| {
        data(
            "w",
            topics::TOKEN_USAGE,
            &serde_json::json!({ "role": role, "inputTokens": input, "totalCostUsd": 0.5 }),
        )
    };
    publish(&engine, (0..600).map(|_| used("worker", 2)).collect());
    publish(
        &engine,
        vec![
            used("validator", 1),
            data("w", topics::TOKEN_USAGE, &serde_json::json!({ "inputTokens": "x" })),
            said("w", topics::TOKEN_USAGE, "nothing"),
        ],
    );
    let sums = engine.tokens_by_role(&ledger("c")).expect("summed up");
    let told: Vec<_> =
        sums.roles.iter().map(|(role, sum)| (role.as_str(), sum.input_tokens, sum.count)).collect();
    assert_eq!(told, [("unknown", 0, 1), ("validator", 1, 1), ("worker", 1_200, 600)]);
    assert_eq!((sums.total.input_tokens, sums.total.count, sums.through), (1_201, 602, Some(seq(603))));
}
