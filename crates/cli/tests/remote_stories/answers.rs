//! What HTTP adds to an answer: validators, ranges, packing, keys of requests, figures. The answers themselves are the stories'.

use std::io::Read as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stemmata_api::v1::ForgetRequest;
use stemmata_server::Limits;

use crate::bounds::{Door, Said};

/// Sends a request with headers.
fn ask(door: &Door, request: &str, headers: &str, body: &str) -> Said {
    let length = if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
    door.ask(&format!("{request} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{length}{headers}\r\n{body}"))
}

fn get(door: &Door, path: &str, headers: &str) -> Said {
    ask(door, &format!("GET {path}"), headers, "")
}

fn header<'a>(said: &'a Said, name: &str) -> &'a str {
    let mut lines = said.head.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(own, _)| *own == name).map_or("", |(_, value)| value)
}

fn json_of(said: &Said) -> Value {
    serde_json::from_slice(&said.body).expect("JSON")
}

fn tip(door: &Door) -> String {
    json_of(&door.get("/v1/sessions"))["sessions"][0]["tip"].as_str().expect("a tip").to_owned()
}

#[test]
fn an_answer_is_asked_for_again_and_sent_once() {
    let door = Door::new(Limits::default());
    let path = format!("/v1/commits/{}", tip(&door));
    let first = door.get(&path);
    let tag = header(&first, "etag").to_owned();
    assert!(tag.starts_with('"') && tag.len() == 34, "{tag}");
    assert_eq!(header(&first, "cache-control"), "private, no-cache");
    let again = get(&door, &path, &format!("If-None-Match: {tag}\r\n"));
    assert_eq!((again.status, again.body.len(), header(&again, "etag")), (304, 0, tag.as_str()));
    assert!(again.head.contains("x-request-id: ") && header(&again, "vary") == "accept-encoding");
    // What changes beside a commit changes the answer.
    let tagged = ask(&door, &format!("PATCH {path}"), "", r#"{"add_tags":["seen"]}"#);
    assert_eq!(
        (tagged.status, header(&tagged, "etag"), header(&tagged, "cache-control")),
        (200, "", "no-store")
    );
    let changed = get(&door, &path, &format!("If-None-Match: {tag}\r\n"));
    assert_eq!(changed.status, 200);
    assert_ne!(header(&changed, "etag"), tag);
    // A problem is nobody's to keep.
    let missing = get(&door, "/v1/commits/nothing", "If-None-Match: *\r\n");
    assert_eq!((missing.status, header(&missing, "cache-control")), (404, "no-store"));
}

#[test]
fn what_was_forgotten_is_not_confirmed() {
    let door = Door::new(Limits::default());
    let (tip, path) = (tip(&door), format!("/v1/commits/{}/native", tip(&door)));
    let tag = header(&door.get(&path), "etag").to_owned();
    let known = format!("If-None-Match: {tag}\r\n");
    assert_eq!(get(&door, &path, &known).status, 304);
    let request = ForgetRequest {
        reference: Some(tip),
        path: None,
        project: None,
        everywhere: false,
        even_pinned: false,
    };
    let plan = door.stage.service.plan_forget(&request).expect("a plan").digest.expect("a digest");
    let apply = json!({ "request": request, "plan": plan }).to_string();
    assert_eq!(ask(&door, "POST /v1/forget", "", &apply).status, 200);
    let gone = get(&door, &path, &known);
    assert_eq!((gone.status, gone.code().as_str()), (422, "commit_forgotten"));
    let part = get(&door, &path, "Range: bytes=0-3\r\n");
    assert_eq!((part.status, part.code().as_str()), (422, "commit_forgotten"));
}

#[test]
fn a_part_of_a_transcript_is_sent_alone() {
    let door = Door::of(20, Limits::default());
    let (path, whole) = (format!("/v1/commits/{}/native", tip(&door)), &door.native);
    let length = whole.len();
    let all = door.get(&path);
    assert_eq!(
        (all.status, header(&all, "accept-ranges"), header(&all, "content-length")),
        (200, "bytes", &*length.to_string())
    );
    let tag = header(&all, "etag").to_owned();
    let of = |range: &str, more: &str| get(&door, &path, &format!("Range: bytes={range}\r\n{more}"));
    for (range, first, last) in [
        ("0-0", 0, 0),
        ("5-99", 5, 99),
        ("100-", 100, length - 1),
        ("-7", length - 7, length - 1),
        ("0-99999999999", 0, length - 1),
    ] {
        let said = of(range, "");
        assert_eq!(
            (said.status, header(&said, "content-range")),
            (206, &*format!("bytes {first}-{last}/{length}")),
            "{range}"
        );
        assert!(said.body == whole[first..=last], "{range}");
        assert_eq!((header(&said, "etag"), header(&said, "content-encoding")), (tag.as_str(), ""));
    }
    let half = length / 2;
    let continued = of(&format!("{half}-"), &format!("If-Range: {tag}\r\nAccept-Encoding: gzip\r\n"));
    assert_eq!((continued.status, &continued.body), (206, &whole[half..].to_vec()));
    // Of another transcript nothing is continued, and several ranges are one answer.
    for (range, more) in [("5-", "If-Range: \"other\"\r\n"), ("0-1,4-5", ""), ("9-3", ""), ("x", "")] {
        let said = of(range, more);
        assert_eq!((said.status, said.body.len()), (200, length), "{range}");
    }
    let beyond = of(&format!("{length}-"), "");
    assert_eq!((beyond.status, beyond.code().as_str()), (416, "out_of_bounds"));
    assert_eq!(header(&beyond, "content-range"), format!("bytes */{length}"));
    assert_eq!(of("0-3", &format!("If-None-Match: {tag}\r\n")).status, 304);
    // The fields of the operation name a part, too, which has a name of its own.
    let part = get(&door, &format!("{path}?from=10&to=20"), "");
    assert_eq!((part.status, part.body), (200, whole[10..20].to_vec()));
    let within = get(&door, &format!("{path}?from=10&to=20"), "Range: bytes=2-3\r\n");
    assert_eq!(
        (within.status, header(&within, "content-range"), within.body.clone()),
        (206, "bytes 2-3/10", whole[12..14].to_vec())
    );
    assert_ne!(header(&get(&door, &format!("{path}?from=10&to=20"), ""), "etag"), tag);
    assert_eq!(get(&door, &format!("{path}?from=9&to=3"), "").code(), "bad_request");
    assert_eq!(get(&door, &format!("{path}?from=99999999"), "").code(), "out_of_bounds");
}

#[test]
fn a_head_is_the_answer_without_its_body() {
    let door = Door::of(20, Limits::default());
    let tip = tip(&door);
    for path in [
        "/v1/sessions".to_owned(),
        format!("/v1/commits/{tip}"),
        format!("/v1/commits/{tip}/native"),
        "/v1/commits/nothing".to_owned(),
        "/healthz".to_owned(),
        "/metrics".to_owned(),
    ] {
        for headers in ["", "Accept-Encoding: zstd\r\n"] {
            let (full, head) = (get(&door, &path, headers), ask(&door, &format!("HEAD {path}"), headers, ""));
            assert_eq!((head.status, head.body.len()), (full.status, 0), "{path}");
            for name in ["content-type", "etag", "content-encoding", "vary", "cache-control", "accept-ranges"]
            {
                assert_eq!(header(&head, name), header(&full, name), "{path}: {name}");
            }
            if path != "/metrics" {
                assert_eq!(header(&head, "content-length"), header(&full, "content-length"), "{path}");
            }
        }
    }
    assert_eq!(ask(&door, "HEAD /v1/search", "", "").status, 400);
}

#[test]
fn an_answer_is_packed_as_the_client_prefers() {
    let door = Door::of(20, Limits::default());
    let tip = tip(&door);
    let unpacked = |said: &Said| {
        let (mut bytes, packed) = (Vec::new(), said.body.as_slice());
        match header(said, "content-encoding") {
            "gzip" => flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes).expect("gzip"),
            "zstd" => {
                zstd::stream::read::Decoder::new(packed).expect("zstd").read_to_end(&mut bytes).expect("zstd")
            }
            _ => return said.body.clone(),
        };
        bytes
    };
    let native = format!("/v1/commits/{tip}/native");
    for path in [
        format!("/v1/commits/{tip}?entries=true"),
        native.clone(),
        format!("/v1/commits/{tip}/export?stop=root&form=markdown"),
    ] {
        let plain = door.get(&path);
        assert_eq!((plain.status, header(&plain, "vary")), (200, "accept-encoding"), "{path}");
        for (accepted, coding) in
            [("gzip", "gzip"), ("gzip, zstd", "zstd"), ("zstd;q=0.1, gzip;q=0.2", "gzip"), ("br", "")]
        {
            let said = get(&door, &path, &format!("Accept-Encoding: {accepted}\r\n"));
            assert_eq!((said.status, header(&said, "content-encoding")), (200, coding), "{path}");
            assert!(unpacked(&said) == unpacked(&plain), "{path} {accepted}");
            if !coding.is_empty() {
                assert!(said.body.len() * 2 < plain.body.len(), "{path} {accepted}");
                let tag = header(&said, "etag");
                assert!(tag.is_empty() || tag != header(&plain, "etag"), "{path}: {tag}");
            }
        }
    }
    let tag = header(&get(&door, &native, "Accept-Encoding: gzip\r\n"), "etag").to_owned();
    let again = get(&door, &native, &format!("Accept-Encoding: gzip\r\nIf-None-Match: {tag}\r\n"));
    assert_eq!((again.status, header(&again, "etag")), (304, tag.as_str()));
    // What is small, and what is packed already.
    for path in ["/v1/strategies/nobody", "/v1/tags"] {
        assert_eq!(header(&get(&door, path, "Accept-Encoding: gzip\r\n"), "content-encoding"), "", "{path}");
    }
    let bundle = ask(
        &door,
        "POST /v1/bundles/export",
        "Accept-Encoding: gzip\r\n",
        &json!({ "commits": [tip] }).to_string(),
    );
    assert!(header(&bundle, "content-encoding").is_empty(), "{}", bundle.head);
}

#[test]
fn a_turn_with_a_key_is_stored_once() {
    let door = Door::new(Limits::default());
    let turn = json!({ "ledger": "l", "session": "s1", "agent": "worker", "template": "fixer" });
    let said = json!({ "role": "user", "text": "Why is it slow?" });
    let begin = json!({ "turn": turn, "said": said }).to_string();
    let ask = |path: &str, headers: &str, body: &str| ask(&door, &format!("POST {path}"), headers, body);
    let key = "Idempotency-Key: \"k-1\"\r\n";
    let (first, again) = (ask("/v1/turns/begin", key, &begin), ask("/v1/turns/begin", key, &begin));
    assert_eq!((first.status, json_of(&first)["said"].clone()), (200, json_of(&again)["said"].clone()));
    let other = ask("/v1/turns/begin", "Idempotency-Key: k-2\r\n", &begin);
    assert_ne!(json_of(&other)["said"], json_of(&first)["said"]);
    // The header is the field.
    let field = json!({ "turn": turn, "said": said, "request": "k-1" }).to_string();
    for headers in ["", key] {
        assert_eq!(json_of(&ask("/v1/turns/begin", headers, &field))["said"], json_of(&first)["said"]);
    }
    let differs = ask("/v1/turns/begin", "Idempotency-Key: k-3\r\n", &field);
    assert_eq!((differs.status, differs.code().as_str()), (400, "bad_request"));
    let taken = json!({ "turn": turn, "said": { "role": "user", "text": "Something else" } }).to_string();
    assert_eq!(ask("/v1/turns/begin", key, &taken).code(), "request_taken");
    // Elsewhere it is refused where it would promise too much.
    let append = json!({ "ledger": "l", "events": [], "durability": "full" }).to_string();
    let refused = ask("/v1/events", key, &append);
    assert_eq!((refused.status, refused.code().as_str()), (400, "bad_request"));
    assert!(json_of(&refused)["detail"].as_str().is_some_and(|text| text.contains("`Idempotency-Key`")));
    assert_eq!(get(&door, "/v1/sessions", key).status, 200);
    // A commit has a key of its own.
    let query = "/v1/commits?format=my-agent-v1&commit_type=delta&template=a&session=s&trigger=explicit&restated_entries=0";
    let (one, two) = (ask(query, key, "one"), ask(query, key, "one"));
    assert_eq!((one.status, json_of(&one)["existed"].clone()), (200, json!(false)));
    assert_eq!(
        (json_of(&two)["id"].clone(), json_of(&two)["existed"].clone()),
        (json_of(&one)["id"].clone(), json!(true))
    );
    assert_eq!(ask(&format!("{query}&idempotency_key=other"), key, "one").code(), "bad_request");
}

#[test]
fn figures_name_operations_and_nothing_that_was_asked() {
    let door = Door::new(Limits::default());
    let tip = tip(&door);
    for path in
        [&*format!("/v1/commits/{tip}"), "/v1/commits/nothing", "/v1/search?text=marmalade", "/v2/marmalade"]
    {
        door.get(path);
    }
    // A connection that was answered may still be closing.
    let end = Instant::now() + Duration::from_secs(30);
    let mut told = std::iter::repeat_with(|| door.get("/metrics"));
    let alone = b"stemma_connections_open{listener=\"unix\"} 1\n";
    let is_alone = |said: &Said| said.body.windows(alone.len()).any(|part| part == alone);
    let said = told.find(|said| is_alone(said) || end < Instant::now()).expect("figures");
    let text = String::from_utf8_lossy(&said.body).into_owned();
    assert!(header(&said, "content-type").starts_with("application/openmetrics-text"), "{}", said.head);
    for line in [
        "stemma_requests_total{operation=\"chains.show\",status=\"2xx\"} 1",
        "stemma_requests_total{operation=\"chains.show\",status=\"4xx\"} 1",
        "stemma_connections_open{listener=\"unix\"} 1",
        "stemma_operations_running 0",
    ] {
        assert!(text.lines().any(|one| one == line), "{line} is not in\n{text}");
    }
    assert!(!text.contains("marmalade") && !text.contains(&tip) && text.ends_with("# EOF\n"), "{text}");
}
