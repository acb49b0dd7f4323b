//! What seed 000's own program answered, asked of our ledgers: each vector holds, or is a deviation that is listed here with
//! its reason. One that is listed and holds fails too.
//!
//! The vectors are `golden/zeroshot_ledger.json` beside the corpus. Nothing of them is kept here but their names.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use stemmata_engine::{Engine, EngineError, FollowFrom, TokenTotals};
use stemmata_model::{
    Event, EventSeq, Json, NewEvent, NewPayload, Party, Payload, SessionId, Timestamp, Topic,
};
use stemmata_store::conformance::ledger::builders;
use stemmata_store::{
    Append, Durability, EventLog, EventQuery, FileLog, FileLogOptions, LedgerChange, OUTPUT_EVENTS_MAX,
    Order, SqliteOptions, SqliteStore, StoreError,
};
use stemmata_testkit::memory::MemoryStore;

use crate::bus::{ledger, party, seq, topic};
use crate::support::{corpus, engine};

/// Vectors that come out otherwise, and why.
const DEVIATIONS: &[(&str, &str)] = &[
    ("append/same clock: ts bumped +1", MICROS),
    ("append/clock went back: still monotonic", MICROS),
    ("append/after a future one, next is +1 of it", MICROS),
    ("append/duplicate id", NO_IDS),
    ("append/target_agent_id becomes receiver", MICROS),
    ("append/receiver wins", MICROS),
    (
        "append/empty text and falsy data dropped",
        "what was given is kept: an empty text and a 0 are something; and microseconds",
    ),
    ("append/metadata kept", MICROS),
    ("query/{\"limit\":0}", "0 is none, not everything"),
    ("query/{\"limit\":2,\"offset\":1}", NO_OFFSET),
    ("query/{\"offset\":1}", NO_OFFSET),
    (
        "query/{\"order\":\"weird\"}",
        "an order is one of two values of a type; there is none that is taken for the other",
    ),
    ("query/{\"after\":1001}", AFTER_IS_A_PLACE),
    ("query/{\"after\":-1}", AFTER_IS_A_PLACE),
    ("query/{\"after\":1.5}", AFTER_IS_A_PLACE),
    ("queryNoCluster", TYPED),
    ("busErrors/{}", TYPED),
    ("busErrors/{\"cluster_id\":\"c\"}", TYPED),
    ("busErrors/{\"cluster_id\":\"c\",\"topic\":\"T\"}", TYPED),
    ("batchDup", NO_IDS),
    ("batch", MICROS),
    (
        "outputCompaction/rowsNow",
        "no row is added or deleted: the oldest lose their payload, and a receipt stands beside the ledger",
    ),
    ("outputCompaction/receipt", "bytes are of the payload and not of an export, and the chain is of BLAKE3"),
    ("closedAppend", "an append after the end is an error, not silence"),
    ("sequence/\"0\"", "0 is the place of no event: where nothing was read yet there is no cursor"),
    ("sequence/5", "a number in JSON loses digits; a sequence is a string there"),
];

const MICROS: &str =
    "times rise by a microsecond, so that a busy ledger does not run ahead of the clock by much";
const NO_IDS: &str = "an event's id is its place, so no two have one";
const NO_OFFSET: &str = "one reads on from a cursor, which costs the same wherever it stands";
const AFTER_IS_A_PLACE: &str = "one reads after a place, never after a time";
const TYPED: &str = "an event without them cannot be made: they are types that are never empty";

/// What each vector came to.
pub(crate) type Vectors = BTreeMap<String, Result<(), String>>;

/// Returns the vectors of a file beside the corpus, or says that the test was skipped.
pub(crate) fn golden(name: &str) -> Option<Value> {
    #[expect(clippy::disallowed_methods, reason = "`cargo xtask vectors` names a file by the environment")]
    let given = std::env::var_os("STEMMATA_VECTORS").map(std::path::PathBuf::from);
    let path = match given {
        Some(path) => path,
        None => corpus(name)?.join("../golden").join(name),
    };
    let Ok(text) = std::fs::read_to_string(&path) else {
        #[expect(clippy::print_stdout, reason = "a skipped test says so")]
        let () = println!("skipped the golden vectors: {} is not there", path.display());
        return None;
    };
    Some(serde_json::from_str(&text).expect("JSON"))
}

/// Asserts that exactly the listed vectors came out otherwise.
pub(crate) fn compare(of: &str, vectors: &Vectors, deviations: &[(&str, &str)]) {
    let listed: BTreeMap<&str, &str> = deviations.iter().copied().collect();
    let mut wrong = Vec::new();
    for (name, held) in vectors {
        #[expect(clippy::print_stdout, reason = "`cargo xtask vectors` shows the verdicts")]
        let () = match (held, listed.get(name.as_str())) {
            (Ok(()), None) => println!("  {of}: ok {name}"),
            (Err(differs), Some(reason)) => println!("  {of}: deviation {name}: {reason}\n    {differs}"),
            (Ok(()), Some(_)) | (Err(_), None) => println!("  {of}: FAIL {name}"),
        };
        match (held, listed.get(name.as_str())) {
            (Ok(()), None) | (Err(_), Some(_)) => {}
            (Ok(()), Some(reason)) => {
                wrong.push(format!("{name} is listed as a deviation ({reason}), and holds"));
            }
            (Err(differs), None) => wrong.push(format!("{name}: {differs}")),
        }
    }
    wrong.extend(
        listed
            .keys()
            .filter(|name| !vectors.contains_key(**name))
            .map(|name| format!("{name} is not a vector")),
    );
    assert!(wrong.is_empty(), "{of}:\n{}", wrong.join("\n"));
}

/// Notes what a vector came to.
pub(crate) fn check(vectors: &mut Vectors, name: impl Into<String>, expected: &Value, found: &Value) {
    let held = if expected == found { Ok(()) } else { Err(format!("expected {expected}, found {found}")) };
    let before = vectors.insert(name.into(), held);
    assert!(before.is_none(), "two vectors of one name");
}

fn millis(value: &Value) -> Timestamp {
    Timestamp::from_micros(value.as_i64().expect("milliseconds") * 1_000)
}

fn new_event(about: &str, sender: &str) -> NewEvent {
    let session = SessionId::new("c").expect("a name");
    NewEvent::new(session, topic(about), party(sender), NewPayload::Plain { text: None, data: None })
}

/// Makes the event that an input describes.
fn event_of(input: &Value) -> NewEvent {
    let mut event = new_event("T", "s");
    let content = |key| input.get("content").and_then(|content| content.get(key));
    let text = content("text").and_then(Value::as_str).map(str::to_owned);
    event.payload = NewPayload::Plain { text, data: content("data").map(Json::of) };
    event.at = input.get("timestamp").map(millis);
    if let Some(receiver) = input.get("receiver").or(input.get("target_agent_id")).and_then(Value::as_str) {
        event = event.to(party(receiver));
    }
    match input.get("metadata") {
        Some(metadata) => event.with_metadata(Json::of(metadata)),
        None => event,
    }
}

/// Says an event as the vectors do.
fn told(event: &Event) -> Value {
    let micros = event.at.as_micros();
    let ts = if micros % 1_000 == 0 { json!(micros / 1_000) } else { json!(format!("{micros} us")) };
    let mut told = json!({
        "seq": event.seq.to_string(), "ts": ts, "topic": event.topic.as_str(), "sender": event.sender.as_str(),
        "receiver": event.receiver.as_str(),
    });
    let Payload::Plain { text, data } = &event.payload else { return told };
    if let Some(text) = text {
        told["content"]["text"] = json!(text);
    }
    if let Some(data) = data {
        told["content"]["data"] = data.to_value();
    }
    if let Some(metadata) = &event.metadata {
        told["metadata"] = metadata.to_value();
    }
    told
}

/// Appends one event, or a batch, to the cluster at a time.
fn append(log: &dyn EventLog, events: Vec<NewEvent>, now: Timestamp) -> EventSeq {
    log.append(Append { now, ..builders::append("c", events) }).expect("appended").last
}

fn appends(log: &dyn EventLog, golden: &Value, vectors: &mut Vectors) -> String {
    let mut ids = String::new();
    for vector in golden["append"].as_array().expect("vectors") {
        let name = format!("append/{}", vector["name"].as_str().expect("a name"));
        let (id, now) = (vector["in"]["id"].as_str().expect("an id"), millis(&vector["now"]));
        if ids.contains(id) {
            // Nothing of it is given to a log: it would be one event more.
            check(vectors, name, &vector["error"], &Value::Null);
            continue;
        }
        ids.push_str(id);
        let seq = append(log, vec![event_of(&vector["in"])], now);
        let there =
            log.events(&ledger("c"), &EventQuery::after(EventSeq::new(seq.get() - 1), 1)).expect("a read");
        check(vectors, name, &vector["out"], &there.first().map_or(Value::Null, told));
    }
    ids
}

/// Makes the query that a vector describes; none where there is no such query.
fn query_of(query: &Value) -> Result<Option<EventQuery>, String> {
    let mut made = EventQuery::after(None, 10_000);
    for (key, value) in query.as_object().expect("a query") {
        let place = || {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            text.parse::<EventSeq>().map(Some).map_err(|error| error.to_string())
        };
        let name = || value.as_str().expect("a name");
        match key.as_str() {
            "order" => match name() {
                "desc" | "DESC" => made.order = Order::NewestFirst,
                _ => return Ok(None),
            },
            "limit" => made.limit = value.as_u64().and_then(|limit| limit.try_into().ok()).expect("a limit"),
            "since" => made.since = Some(millis(value)),
            "until" => made.until = Some(millis(value)),
            "afterId" => made.after = place()?,
            "throughId" => made.through = place()?,
            "topic" => made.topics = vec![Topic::new(name()).expect("a name")],
            "sender" => made.sender = Some(party(name())),
            "receiver" => made.receiver = Some(party(name())),
            "offset" | "after" => return Ok(None),
            other => panic!("a query of another kind: {other}"),
        }
    }
    Ok(Some(made))
}

/// The seed's times are a millisecond apart, ours a microsecond: queries by time are asked of events at the seed's times.
fn log_at_times_of_the_seed(log: &dyn EventLog, golden: &Value) {
    for vector in golden["append"].as_array().expect("vectors") {
        if let Some(out) = vector.get("out") {
            append(log, vec![event_of(&vector["in"])], millis(&out["ts"]));
        }
    }
}

fn queries(log: &dyn EventLog, golden: &Value, vectors: &mut Vectors, ids: &str) {
    for vector in golden["query"].as_array().expect("vectors") {
        let expected = vector["ids"].as_str().expect("ids");
        // Which words say that a place is none is everybody's own.
        let expected = if expected.starts_with("ERROR afterId") { "ERROR afterId" } else { expected };
        let found = match query_of(&vector["q"]) {
            Err(_) => "ERROR afterId".to_owned(),
            Ok(None) => "no such query".to_owned(),
            Ok(Some(query)) => id_text(&log.events(&ledger("c"), &query).expect("a read"), ids),
        };
        check(vectors, format!("query/{}", vector["q"]), &json!(expected), &json!(found));
    }
}

/// Returns the letters that the vectors call events by.
fn id_text(events: &[Event], ids: &str) -> String {
    let letter = |event: &Event| ids.chars().nth(usize::try_from(event.seq.get()).ok()? - 1);
    events.iter().filter_map(letter).collect()
}

fn latest(log: &dyn EventLog, golden: &Value, vectors: &mut Vectors, ids: &str) {
    let any = EventQuery { order: Order::NewestFirst, ..EventQuery::after(None, 1) };
    let cases = [
        ("topicT", EventQuery::latest(topic("T"), 1)),
        ("until", EventQuery { until: Some(Timestamp::from_micros(1_001_000)), ..any.clone() }),
        ("through", EventQuery { through: Some(seq(3)), ..any }),
        ("none", EventQuery::latest(topic("NOPE"), 1)),
    ];
    for (name, query) in cases {
        let found = id_text(&log.events(&ledger("c"), &query).expect("a read"), ids);
        let found = if found.is_empty() { Value::Null } else { json!(found) };
        check(vectors, format!("findLast/{name}"), &golden["findLast"][name], &found);
    }
    // Then the batch is appended.
    let last = append(
        log,
        vec![new_event("B", "s"), new_event("B", "s"), new_event("B", "s")],
        millis(&json!(2_000)),
    );
    let there =
        log.events(&ledger("c"), &EventQuery::after(EventSeq::new(last.get() - 3), 9)).expect("a read");
    let found: Vec<Value> = there
        .iter()
        .enumerate()
        .map(|(number, event)| {
            let told = told(event);
            json!({ "id": format!("b{}", number + 1), "ts": told["ts"], "seq": told["seq"] })
        })
        .collect();
    check(vectors, "batch", &golden["batch"], &Value::Array(found));
    let newest =
        log.events(&ledger("c"), &EventQuery { order: Order::NewestFirst, ..EventQuery::after(None, 1) });
    let is_batch = newest.expect("a read").first().is_some_and(|event| event.seq == last);
    check(vectors, "findLast/any", &golden["findLast"]["any"], &json!(if is_batch { "b3" } else { "" }));
}

fn guidance(engine: &Engine, golden: &Value, vectors: &mut Vectors) {
    let cluster = ledger("guided");
    let word = |about, receiver: Option<&str>| {
        let event =
            NewEvent { session: SessionId::new("guided").expect("a name"), ..new_event(about, "you") };
        receiver.map_or(event.clone(), |receiver| event.to(party(receiver)))
    };
    let events = vec![
        word("USER_GUIDANCE_CLUSTER", None),
        word("USER_GUIDANCE_AGENT", Some("w1")),
        word("USER_GUIDANCE_AGENT", Some("w2")),
    ];
    engine.publish(&cluster, events).expect("published");
    let found = |agent: Option<Party>| {
        let guidance = engine.guidance(&cluster, agent.as_ref(), None, None).expect("a read");
        guidance.events.iter().map(|event| format!("g{}", event.seq)).collect::<Vec<_>>()
    };
    check(vectors, "guidance/w1", &golden["guidance"]["w1"], &json!(found(Some(party("w1")))));
    check(vectors, "guidance/noAgent", &golden["guidance"]["noAgent"], &json!(found(None)));
}

fn tokens(engine: &Engine, golden: &Value, vectors: &mut Vectors) {
    let cluster = ledger("billed");
    let used = |role: Option<&str>, input: u64, output: u64, cost: f64| {
        let mut data = json!({ "inputTokens": input, "outputTokens": output, "totalCostUsd": cost });
        if let Some(role) = role {
            data["role"] = json!(role);
        }
        let payload = NewPayload::Plain { text: None, data: Some(Json::of(&data)) };
        NewEvent {
            payload,
            session: SessionId::new("billed").expect("a name"),
            ..new_event("TOKEN_USAGE", "w")
        }
    };
    let events = vec![
        used(Some("worker"), 10, 5, 0.5),
        used(Some("worker"), 1, 1, 0.5),
        used(Some("validator"), 7, 3, 0.5),
        used(None, 2, 2, 0.5),
    ];
    engine.publish(&cluster, events).expect("published");
    let sums = engine.tokens_by_role(&cluster).expect("summed up");
    let told = |sum: &TokenTotals| {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the vectors write whole numbers without a point"
        )]
        let cost = if sum.cost_usd.fract() == 0.0 { json!(sum.cost_usd as i64) } else { json!(sum.cost_usd) };
        json!({
            "inputTokens": sum.input_tokens, "outputTokens": sum.output_tokens, "cacheReadInputTokens": sum.cache_read_tokens,
            "cacheCreationInputTokens": sum.cache_creation_tokens, "totalCostUsd": cost, "count": sum.count,
        })
    };
    for (role, expected) in golden["tokensByRole"].as_object().expect("roles") {
        let found = if role == "_total" { Some(&sums.total) } else { sums.roles.get(role) };
        check(vectors, format!("tokensByRole/{role}"), expected, &found.map_or(Value::Null, told));
    }
}

fn output(log: &dyn EventLog, golden: &Value, vectors: &mut Vectors) {
    let golden = &golden["outputCompaction"];
    let appended = golden["appended"].as_u64().expect("a number");
    let z = ledger("z");
    for _ in 0..appended.div_ceil(1_639) {
        let events = (0..1_639).map(|_| new_event("AGENT_OUTPUT", "w")).collect();
        let now = millis(&json!(2_000));
        log.append(Append { durability: Durability::None, ..Append::new(z.clone(), events, now) })
            .expect("appended");
    }
    let rows = log.ledger(&z).expect("a look").expect("there").last;
    check(vectors, "outputCompaction/appended", &golden["appended"], &json!(rows));
    check(vectors, "outputCompaction/rowsNow", &golden["rowsNow"], &json!(rows));
    let receipt = log.receipt(&z, &topic("AGENT_OUTPUT")).expect("a look").expect("there");
    let data = &golden["receipt"]["content"]["data"];
    check(vectors, "outputCompaction/omittedMessages", &data["omittedMessages"], &json!(receipt.events));
    let told = json!({ "bytes": receipt.bytes });
    check(vectors, "outputCompaction/receipt", &json!({ "bytes": data["omittedExportBytes"] }), &told);
    let there = log.events(&z, &EventQuery::after(None, 10_000)).expect("a read");
    let oldest = there.iter().find(|event| !matches!(event.payload, Payload::Gone(_)));
    let oldest = oldest.map(|event| format!("o{}", event.seq.get() - 1));
    check(vectors, "outputCompaction/oldestKept", &golden["oldestKept"], &json!(oldest));
    let limits = json!({ "maxBytes": stemmata_store::OUTPUT_BYTES_MAX, "maxMessages": OUTPUT_EVENTS_MAX });
    check(vectors, "outputCompaction/limits", &golden["limits"], &limits);
}

/// What is no question to a log, or ends it.
fn others(log: &dyn EventLog, golden: &Value, vectors: &mut Vectors) {
    check(vectors, "queryNoCluster", &golden["queryNoCluster"], &Value::Null);
    check(vectors, "batchDup", &golden["batchDup"]["error"], &Value::Null);
    for vector in golden["busErrors"].as_array().expect("vectors") {
        check(vectors, format!("busErrors/{}", vector["m"]), &vector["error"], &Value::Null);
    }
    for vector in golden["sequence"].as_array().expect("vectors") {
        let is_there = |parsed: Option<String>| parsed.map_or(Value::Null, Value::String);
        let found =
            vector["v"].as_str().and_then(|text| text.parse::<EventSeq>().ok()).map(|seq| seq.to_string());
        let expected = vector["out"].as_str().map(str::to_owned);
        check(vectors, format!("sequence/{}", vector["v"]), &is_there(expected), &is_there(found));
    }
    log.close().expect("closed");
    let events = vec![new_event("T", "s")];
    let late = log.append(Append::new(ledger("c"), events, millis(&json!(1))));
    assert!(matches!(late, Err(StoreError::Closed { .. })), "{late:?}");
    check(vectors, "closedAppend", &golden["closedAppend"], &json!("error"));
}

/// Makes a log without ledgers.
type Make<'m> = &'m dyn Fn() -> Arc<dyn EventLog>;

fn answers(make: Make<'_>, golden: &Value) -> Vectors {
    let mut vectors = Vectors::new();
    let ids = appends(make().as_ref(), golden, &mut vectors);
    let log = make();
    let change = |name| LedgerChange::new(ledger(name), millis(&json!(1)));
    log.change_ledger(change("c")).expect("made");
    log_at_times_of_the_seed(log.as_ref(), golden);
    queries(log.as_ref(), golden, &mut vectors, &ids);
    latest(log.as_ref(), golden, &mut vectors, &ids);
    let engine = engine().with_log(Arc::clone(&log));
    guidance(&engine, golden, &mut vectors);
    tokens(&engine, golden, &mut vectors);
    output(log.as_ref(), golden, &mut vectors);
    others(log.as_ref(), golden, &mut vectors);
    // A reader goes on after the end.
    let subscription =
        engine.subscribe(&ledger("c"), stemmata_engine::EventFilter::default(), FollowFrom::Beginning);
    assert!(!matches!(subscription, Err(EngineError::Store(_))));
    vectors
}

#[test]
fn every_vector_of_seed_000_holds_or_deviates_for_a_reason() {
    let Some(golden) = golden("zeroshot_ledger.json") else { return };
    let home = tempfile::tempdir().expect("a folder");
    let number = std::cell::Cell::new(0);
    let sqlite = || -> Arc<dyn EventLog> {
        number.set(number.get() + 1);
        let folder = home.path().join(number.get().to_string());
        Arc::new(SqliteStore::open(&folder, SqliteOptions::default()).expect("a store"))
    };
    let files = || -> Arc<dyn EventLog> {
        number.set(number.get() + 1);
        let folder = home.path().join(number.get().to_string());
        std::fs::create_dir(&folder).expect("made");
        Arc::new(FileLog::open(&folder, FileLogOptions::default()).expect("a log"))
    };
    let memory = || -> Arc<dyn EventLog> { Arc::new(MemoryStore::default()) };
    let backends: [(&str, Make<'_>); 3] = [("memory", &memory), ("sqlite", &sqlite), ("files", &files)];
    for (backend, make) in backends {
        let vectors = answers(make, &golden);
        assert!(vectors.len() > 60, "{}", vectors.len());
        compare(backend, &vectors, DEVIATIONS);
    }
}
