//! What a server does with clients that are wrong, slow or many, beyond what `bounds` has: each is told, or cut, and the next one is
//! answered.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::Shutdown;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stemmata_api::v1::AppendRequest;
use stemmata_server::Limits;

use crate::bounds::{Door, Said, tight};

/// Where an own-format commit is sent.
const COMMIT: &str = "/v1/commits?format=my-agent-v1&commit_type=delta&template=a&session=s&trigger=explicit&restated_entries=0";

fn post(door: &Door, path: &str, body: &str) -> Said {
    let length = body.len();
    door.ask(&format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    ))
}

/// Asks until the answer is the one that is expected: what was taken is given back some time after its client was cut.
fn until(door: &Door, path: &str, is_expected: impl Fn(&Said) -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !is_expected(&door.get(path)) {
        assert!(Instant::now() < end, "{path} never gave the expected answer");
    }
}

fn append(door: &Door, count: usize, bytes: usize) {
    let events: Vec<Value> = (0..count)
        .map(|number| json!({ "topic": "t", "text": format!("{number} {}", "x".repeat(bytes)) }))
        .collect();
    let request = json!({ "ledger": "l", "events": events, "durability": "full" });
    let request: AppendRequest = serde_json::from_value(request).expect("a request");
    door.stage.service.append(&request).expect("appended");
}

#[test]
fn a_request_that_is_no_http_is_refused_and_the_next_one_answered() {
    let door = Door::new(tight());
    let many = "a: b\r\n".repeat(5_000);
    let long = "x".repeat(100_000);
    for (name, request) in [
        ("no method", "\u{0}\u{1}\u{2} / HTTP/1.1\r\n\r\n".to_owned()),
        ("another protocol", "SSH-2.0-OpenSSH_9.6\r\n\r\n".to_owned()),
        ("TLS", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}".to_owned()),
        ("a length that is none", "POST /v1/short-ids HTTP/1.1\r\nHost: x\r\nContent-Length: ten\r\n\r\n".to_owned()),
        ("two lengths", "POST /v1/short-ids HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}".to_owned()),
        (
            "a chunk that is none",
            "POST /v1/short-ids HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n".to_owned(),
        ),
        ("a header without a name", "GET /v1/sessions HTTP/1.1\r\nHost: x\r\n: b\r\n\r\n".to_owned()),
        ("many small headers", format!("GET /v1/sessions HTTP/1.1\r\nHost: x\r\n{many}\r\n")),
        ("a long header", format!("GET /v1/sessions HTTP/1.1\r\nHost: x\r\nX-Long: {long}\r\n\r\n")),
        ("a long path", format!("GET /v1/commits/{long} HTTP/1.1\r\nHost: x\r\n\r\n")),
    ] {
        let mut stream = door.connect();
        // The server may end it before all of it was sent.
        let _sent = stream.write_all(request.as_bytes());
        let mut all = Vec::new();
        let _cut = stream.read_to_end(&mut all);
        let head = String::from_utf8_lossy(&all);
        let status = head.split(' ').nth(1).unwrap_or_default();
        assert!(["", "400", "414", "431"].contains(&status), "{name}: {head}");
        assert_eq!(door.get("/v1/sessions").status, 200, "after {name}");
    }
}

#[test]
fn a_body_that_is_too_large_is_refused_before_it_is_sent() {
    let door = Door::new(tight());
    let declared = door.ask(
        "POST /v1/short-ids HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 9999999999\r\n\r\n",
    );
    assert_eq!((declared.status, declared.code().as_str()), (413, "too_large"));
    let chunk = format!("{:x}\r\n{}\r\n", 1_500, "[".repeat(1_500));
    let chunked = door.ask(&format!(
        "POST /v1/short-ids HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}{chunk}0\r\n\r\n"
    ));
    assert_eq!((chunked.status, chunked.code().as_str()), (413, "too_large"));
}

#[test]
fn a_body_that_drips_is_cut_though_it_never_stands_still() {
    let door = Door::new(Limits { body_wait: Duration::from_millis(300), ..Limits::default() });
    for path in ["/v1/short-ids", COMMIT] {
        let mut stream = door.connect();
        let head =
            format!("POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 100000\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("sent");
        stream.set_read_timeout(Some(Duration::from_millis(50))).expect("a time");
        let (mut answer, mut piece, began) = (Vec::new(), [0; 1024], Instant::now());
        loop {
            // The answer is waited for between two bytes.
            match stream.read(&mut piece) {
                Ok(0) => break,
                Ok(length) => answer.extend_from_slice(&piece[..length]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    let _cut = stream.write_all(b"[");
                }
                Err(_) => break,
            }
            assert!(began.elapsed() < Duration::from_secs(30), "{path} is read for ever");
        }
        let said = Said::read(answer.as_slice());
        assert_eq!((said.status, said.code().as_str()), (400, "bad_request"), "{path}");
    }
}

#[test]
fn content_whose_sender_stops_in_the_middle_is_not_stored() {
    let door = Door::new(tight());
    let mut stream = door.connect();
    let head = format!(
        "POST {COMMIT} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 1000\r\n\r\nhalf of it"
    );
    stream.write_all(head.as_bytes()).expect("sent");
    stream.shutdown(Shutdown::Write).expect("half closed");
    let cut = Said::read(stream);
    assert!(cut.status == 0 || cut.status == 400, "{}", cut.head);
    let sessions: Value = serde_json::from_slice(&door.get("/v1/sessions").body).expect("JSON");
    assert_eq!(sessions["sessions"].as_array().map(Vec::len), Some(1), "{sessions}");
    assert_eq!(post(&door, COMMIT, "all of it").status, 200);
}

#[test]
fn json_within_json_is_refused_however_deep_it_is() {
    let door = Door::new(Limits::default());
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    for depth in [200, 100_000] {
        for (path, body) in [
            ("/v1/short-ids", deep(depth)),
            ("/v1/short-ids", format!("{{\"ids\":{}}}", deep(depth))),
            (
                "/v1/events",
                format!(
                    r#"{{"ledger":"l","durability":"full","events":[{{"topic":"t","data":{}}}]}}"#,
                    deep(depth)
                ),
            ),
            (
                "/v1/turns/step",
                format!(
                    r#"{{"turn":{{"ledger":"l","session":"s","agent":"a","template":"t"}},"entries":[{{"role":"assistant","calls":[{{"id":"c","name":"n","input":{}}}]}}]}}"#,
                    deep(depth)
                ),
            ),
        ] {
            let said = post(&door, path, &body);
            let is_refused = (400..500).contains(&said.status) || (said.status == 200 && depth < 1_000);
            assert!(is_refused, "{path} {depth}: {} {}", said.head, String::from_utf8_lossy(&said.body));
        }
    }
    let dots = format!("/v1/sessions?{}=1", vec!["page"; 500].join("."));
    assert_eq!(door.get(&dots).code(), "bad_request");
    let nested = format!("/v1/search?text=x&filter={}", "%7B%22a%22:".repeat(2_000));
    assert_eq!(door.get(&nested).code(), "bad_request");
}

#[test]
fn a_place_of_another_listing_is_refused_and_a_cut_one_too() {
    let door = Door::new(Limits::default());
    append(&door, 3, 10);
    let sessions: Value = serde_json::from_slice(&door.get("/v1/sessions?page.limit=1").body).expect("JSON");
    let tip = sessions["sessions"][0]["tip"].as_str().expect("a tip");
    let children = format!("/v1/commits/{tip}/children");
    // What is a place elsewhere, and pieces of places.
    for place in [
        "",
        "x",
        "sessions",
        "sessions-",
        "sessions-x",
        "sessions--1",
        "sessions-99999999999999999999",
        "%00",
        "%F0%9F%98%80",
    ] {
        for path in ["/v1/sessions", "/v1/commits", "/v1/contexts", "/v1/audit", &*children] {
            let said = door.get(&format!("{path}?page.after={place}"));
            assert_eq!((said.status, said.code().as_str()), (400, "bad_request"), "{path} {place}");
        }
        let said = post(&door, "/v1/scan", &json!({ "after": place }).to_string());
        assert_eq!((said.status, said.code().as_str()), (400, "bad_request"), "scan {place}");
        let said = door.get(&format!("/v1/ledgers/l/events?after={place}"));
        assert_eq!(said.status, 400, "events {place}");
    }
    let foreign = door.get(&format!("{children}?page.after=sessions-1"));
    assert_eq!(foreign.code(), "bad_request");
    assert_eq!(door.get("/v1/sessions?page.after=children-1").code(), "bad_request");
    for cut in ["", &tip[..20], &tip[4..], &format!("{tip}0")] {
        let said = post(&door, "/v1/scan", &json!({ "after": cut }).to_string());
        assert_eq!((said.status, said.code().as_str()), (400, "bad_request"), "scan {cut}");
    }
    // A ledger's place is its name, of which every one is a place.
    assert_eq!(door.get("/v1/ledgers?page.after=%00").status, 400);
    let after: Value = serde_json::from_slice(&door.get("/v1/ledgers?page.after=k").body).expect("JSON");
    assert_eq!(after["ledgers"].as_array().map(Vec::len), Some(1), "{after}");
}

#[test]
fn a_subscriber_that_never_reads_holds_nobody_up() {
    let limits = Limits { write_wait: Duration::from_millis(200), streams_max: 2, ..Limits::default() };
    let door = Door::new(limits);
    append(&door, 1, 10);
    let mut deaf = door.connect();
    deaf.write_all(b"GET /v1/events?ledger=l&from=beginning HTTP/1.1\r\nHost: x\r\n\r\n").expect("sent");
    let mut one = [0];
    deaf.read_exact(&mut one).expect("it has begun");
    for _ in 0..8 {
        append(&door, 500, 1_000);
    }
    // Another one gets all of them meanwhile.
    let said = door.get("/v1/events?ledger=l&from=beginning&count=4001");
    let text = String::from_utf8(said.body).expect("text");
    assert_eq!((said.status, text.matches("\nid: ").count()), (200, 4_000));
    assert!(text.contains("event: end\ndata: {\"events\":4001}"));
    until(&door, "/metrics", |said| String::from_utf8_lossy(&said.body).contains("stemma_streams_open 0\n"));
    drop(deaf);
}

#[test]
fn memory_for_requests_is_given_back_and_those_that_were_refused_are_answered() {
    let limits =
        Limits { bodies_bytes_max: 8 * 1024, body_wait: Duration::from_secs(20), ..Limits::default() };
    let door = Door::new(limits);
    let body = format!("{{\"ids\":[]}}{}", " ".repeat(6 * 1024));
    let (begun, rest) = body.split_at(5 * 1024);
    let mut slow = door.connect();
    let head = format!(
        "POST /v1/short-ids HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{begun}",
        body.len()
    );
    slow.write_all(head.as_bytes()).expect("sent");
    let is_held = |said: &Said| {
        let text = String::from_utf8_lossy(&said.body).into_owned();
        let figure = text.lines().find_map(|line| line.strip_prefix("stemma_requests_held_bytes "));
        figure.and_then(|bytes| bytes.parse::<usize>().ok()).is_some_and(|bytes| bytes >= 5 * 1024)
    };
    until(&door, "/metrics", is_held);
    let refused = post(&door, "/v1/short-ids", &body);
    assert_eq!((refused.status, refused.code().as_str()), (429, "overloaded"));
    assert!(refused.head.contains("retry-after: 1"), "{}", refused.head);
    // Who needs none is answered, and so is who waited.
    assert_eq!(door.get("/v1/sessions").status, 200);
    slow.write_all(rest.as_bytes()).expect("sent");
    assert_eq!(Said::read(slow).status, 200);
    assert_eq!(post(&door, "/v1/short-ids", &body).status, 200);
    let figures = String::from_utf8(door.get("/metrics").body).expect("text");
    assert!(
        figures.contains("stemma_requests_refused_total{operation=\"chains.short_ids\"} 1\n"),
        "{figures}"
    );
}
