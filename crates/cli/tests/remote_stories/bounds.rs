//! What a server does with requests that are too much, too slow or none: it says so, and answers the next one.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use stemmata_api::v1::AppendRequest;
use stemmata_api::{Control, Service};
use stemmata_server::{Limits, Listen, Server, SocketError};
use stemmata_service::Local;
use stemmata_testkit::claude::ClaudeSession;

use crate::door::serve;
use crate::stage::Stage;

/// Returns another service over the store of a stage, in this process.
fn again(stage: &Stage) -> Box<dyn Service> {
    let by = stage.home.identity().expect("an identity").principal("stemma").expect("a name");
    Box::new(Local::new(Arc::clone(&stage.home), by))
}

/// A store with a session, behind a server with tight bounds.
pub(crate) struct Door {
    pub(crate) stage: Stage,
    pub(crate) server: Server,
    pub(crate) native: Vec<u8>,
}

impl Door {
    pub(crate) fn new(limits: Limits) -> Self {
        Self::of(3, limits)
    }

    pub(crate) fn of(turns: u64, limits: Limits) -> Self {
        let stage = Stage::new();
        let session = ClaudeSession::new(5).turns(turns).build();
        stage.import(&session);
        let service: Arc<dyn Service> = Arc::from(again(&stage));
        let server = serve(&service, &stage.folder.path().join("tight"), limits);
        let native = (session.lines.join("\n") + "\n").into_bytes();
        Self { stage, server, native }
    }

    pub(crate) fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(self.server.socket().expect("a socket")).expect("connected");
        // A test that would hang fails.
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time");
        stream
    }

    /// Sends a request, and returns the status, the head and the body of what came back.
    pub(crate) fn ask(&self, request: &str) -> Said {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).expect("sent");
        Said::read(stream)
    }

    pub(crate) fn get(&self, path: &str) -> Said {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
    }
}

pub(crate) struct Said {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Said {
    pub(crate) fn read(mut stream: impl std::io::Read) -> Self {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).expect("an answer");
        let end = all.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(all.len());
        let head = String::from_utf8_lossy(&all[..end]).to_lowercase();
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        let mut body = all.split_off(all.len().min(end + 4));
        if head.contains("transfer-encoding: chunked") {
            body = joined(&body);
        }
        Self { status, head, body }
    }

    pub(crate) fn code(&self) -> String {
        let problem: Value = serde_json::from_slice(&self.body).expect("a problem");
        assert!(self.head.contains("application/problem+json"), "{}", self.head);
        assert_eq!(problem["status"], self.status);
        problem["code"].as_str().unwrap_or_default().to_owned()
    }
}

/// Joins the chunks of a body.
fn joined(mut chunks: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = chunks.windows(2).position(|two| two == b"\r\n") {
        let length =
            std::str::from_utf8(&chunks[..end]).ok().and_then(|text| usize::from_str_radix(text, 16).ok());
        let Some(length) = length.filter(|length| *length > 0) else { break };
        body.extend_from_slice(&chunks[end + 2..][..length]);
        chunks = &chunks[end + 2 + length + 2..];
    }
    body
}

pub(crate) fn tight() -> Limits {
    Limits {
        header_wait: Duration::from_millis(200),
        body_wait: Duration::from_millis(200),
        json_bytes_max: 2_000,
        ..Limits::default()
    }
}

#[test]
fn content_comes_as_it_is_and_problems_as_problems() {
    let door = Door::new(Limits::default());
    let sessions: Value = serde_json::from_slice(&door.get("/v1/sessions").body).expect("JSON");
    let tip = sessions["sessions"][0]["tip"].as_str().expect("a tip").to_owned();
    let native = door.get(&format!("/v1/commits/{tip}/native"));
    assert_eq!((native.status, native.body), (200, door.native.clone()));
    assert!(native.head.contains("cache-control: private, no-cache"), "{}", native.head);
    for (path, status, code) in [
        ("/v1/commits/nothing/native", 404, "reference_not_found"),
        ("/v1/commits/nothing", 404, "reference_not_found"),
        ("/v1/sessions?page.after=x", 400, "bad_request"),
        ("/v1/sessions?page.limit=-1", 400, "bad_request"),
        ("/v1/sessions?moon=full", 400, "bad_request"),
        ("/v1/sessions?page=1", 400, "bad_request"),
        (&format!("/v1/commits/{tip}?ctx={tip}"), 400, "bad_request"),
        ("/v1/search?text=", 400, "query_empty"),
        ("/v2/sessions", 404, "no_route"),
        ("/v1/commits/%FF", 400, "bad_request"),
    ] {
        let said = door.get(path);
        assert_eq!((said.status, said.code().as_str()), (status, code), "{path}");
    }
    let unknown: Value = serde_json::from_slice(&door.get("/v1/sessions?moon=full").body).expect("JSON");
    assert_eq!(unknown["hint"], "`GET /openapi.json` has the fields of each request");
    let wrong = door.ask("DELETE /v1/sessions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert_eq!((wrong.status, wrong.code().as_str()), (405, "no_route"));
    let named =
        door.ask("GET /v1/sessions HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine-1\r\nConnection: close\r\n\r\n");
    assert!(named.head.contains("x-request-id: mine-1"), "{}", named.head);
    assert!(native.head.contains("x-request-id: "), "{}", native.head);
    let document: Value = serde_json::from_slice(&door.get("/openapi.json").body).expect("JSON");
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!((door.get("/healthz").status, door.get("/readyz").status), (200, 200));
}

#[test]
fn a_slow_or_half_closed_client_is_cut_and_holds_nobody_up() {
    let door = Door::new(Limits { connections_max: 2, ..tight() });
    let mut head = door.connect();
    head.write_all(b"GET /v1/sessions HTTP/1.1\r\nHost").expect("sent");
    // It ends because the server ends it.
    let mut rest = Vec::new();
    let _closed = head.read_to_end(&mut rest);
    let body = "POST /v1/search HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 90\r\n\r\n{";
    let mut half = door.connect();
    half.write_all(body.replace("/v1/search", "/v1/short-ids").as_bytes()).expect("sent");
    half.shutdown(std::net::Shutdown::Write).expect("half closed");
    let cut = Said::read(half);
    assert!(cut.status == 0 || cut.status == 400, "{}", cut.head);
    let stalled = door.ask(&body.replace("/v1/search", "/v1/short-ids"));
    assert_eq!((stalled.status, stalled.code().as_str()), (400, "bad_request"));
    assert_eq!(door.get("/v1/sessions").status, 200);
}

#[test]
fn a_client_that_reads_nothing_is_cut_and_its_place_is_free_again() {
    let limits = Limits { write_wait: Duration::from_millis(200), streams_max: 1, ..Limits::default() };
    let door = Door::of(60, limits);
    assert!(door.native.len() > 1_000_000, "{} bytes fill no socket", door.native.len());
    let sessions: Value = serde_json::from_slice(&door.get("/v1/sessions").body).expect("JSON");
    let path = format!("/v1/commits/{}/native", sessions["sessions"][0]["tip"].as_str().expect("a tip"));
    let mut deaf = door.connect();
    deaf.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).expect("sent");
    let mut one = [0];
    deaf.read_exact(&mut one).expect("it has begun");
    let busy = door.get(&path);
    assert_eq!((busy.status, busy.code().as_str()), (429, "overloaded"));
    let until = std::time::Instant::now() + Duration::from_secs(30);
    let freed = std::iter::repeat_with(|| door.get(&path))
        .find(|said| said.status == 200 || until < std::time::Instant::now());
    assert_eq!(freed.map(|said| said.body), Some(door.native.clone()));
}

#[test]
fn a_client_that_reads_nothing_keeps_nothing_that_is_forgotten() {
    let door = Door::of(60, Limits::default());
    let sessions: Value = serde_json::from_slice(&door.get("/v1/sessions").body).expect("JSON");
    let tip = sessions["sessions"][0]["tip"].as_str().expect("a tip").to_owned();
    let secret = ClaudeSession::new(6).turns(2).build();
    door.stage.import(&secret);
    let mut deaf: Vec<UnixStream> = [("GET", "native", ""), ("POST", "materialize", "{\"stop\":\"root\"}")]
        .into_iter()
        .map(|(method, what, body)| {
            let mut stream = door.connect();
            let head =
                format!("{method} /v1/commits/{tip}/{what} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
            let head = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
            stream.write_all(head.as_bytes()).expect("sent");
            stream.read_exact(&mut [0; 16]).expect("it has begun");
            stream
        })
        .collect();
    // Another process does so, with connections of its own.
    let other = again(&door.stage);
    let request = serde_json::json!({ "reference": secret.session_id });
    let request = serde_json::from_value(request).expect("a request");
    let plan = other.plan_forget(&request).expect("a plan").digest.expect("a digest");
    let done = other.apply_forget(&request, &plan, &Control::none()).expect("forgotten");
    assert_eq!(done.unfinished, None, "the WAL was cleared");
    let mut rest = Vec::new();
    deaf[0].read_to_end(&mut rest).expect("the rest");
    assert!(rest.len() > 1_000_000, "{} bytes", rest.len());
}

#[test]
fn over_tcp_only_this_machine_is_asked_for() {
    let door = Door::new(Limits::default());
    let listen = Listen { socket: None, tcp: Some(([127, 0, 0, 1], 0).into()) };
    let server = Server::start(&Arc::from(again(&door.stage)), &listen, Limits::default()).expect("a server");
    let ask = |host: &str| {
        let mut stream = std::net::TcpStream::connect(server.tcp().expect("an address")).expect("connected");
        let request = format!("GET /v1/sessions HTTP/1.1\r\n{host}Connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        Said::read(stream)
    };
    assert_eq!(ask("Host: localhost:80\r\n").status, 200);
    for host in ["Host: evil.example\r\n", "Host: localhost\r\nOrigin: http://evil.example\r\n", ""] {
        let said = ask(host);
        assert!(said.status == 403 && said.code() == "foreign_host", "{host}: {}", said.head);
    }
}

#[test]
fn a_request_that_is_too_large_or_no_json_is_refused() {
    let door = Door::new(tight());
    let post = |body: &str| {
        let length = body.len();
        door.ask(&format!(
            "POST /v1/short-ids HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        ))
    };
    let large = post(&format!("{{\"ids\":[\"{}\"]}}", "x".repeat(4_000)));
    assert_eq!((large.status, large.code().as_str()), (413, "too_large"));
    let nested = "[".repeat(1_500);
    for body in ["{", "nul", "\u{0}", nested.as_str(), "{\"ids\":{}}", "{\"ids\":[],\"ids\":[]}"] {
        let said = post(body);
        assert_eq!((said.status, said.code().as_str()), (400, "bad_request"), "{body:.20}");
    }
    assert_eq!(post("{\"ids\":[]}").status, 200);
}

#[test]
fn a_full_service_says_when_to_come_back() {
    let none = Door::new(Limits { workers_max: 0, queue_max: 0, ..Limits::default() });
    assert_eq!(none.get("/v1/sessions").status, 429);
    let limits = Limits { streams_max: 1, body_wait: Duration::from_secs(20), ..tight() };
    let door = Door::new(limits);
    // Its content does not come: it holds the only place for what flows, and no worker.
    let mut held = door.connect();
    let query =
        "format=my-agent-v1&commit_type=delta&template=a&session=s&trigger=explicit&restated_entries=0";
    let request = format!(
        "POST /v1/commits?{query} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n"
    );
    held.write_all(request.as_bytes()).expect("sent");
    let mut first = [0; 12];
    // The service asks for the content, so the worker has begun.
    held.read_exact(&mut first).expect("an answer");
    assert_eq!(&first, b"HTTP/1.1 100", "{}", String::from_utf8_lossy(&first));
    assert_eq!(door.get("/v1/sessions").status, 200);
    let refused = door.get("/v1/commits/nothing/native");
    assert_eq!((refused.status, refused.code().as_str()), (429, "overloaded"));
    assert!(refused.head.contains("retry-after: 1"), "{}", refused.head);
    held.write_all(b"some text").expect("sent");
    let mut rest = Vec::new();
    held.read_to_end(&mut rest).expect("an answer");
    assert_eq!(door.get("/v1/commits/nothing/native").status, 404);
    let memory = Door::new(Limits { bodies_bytes_max: 2048, ..Limits::default() });
    let body = format!("{{\"ids\":[\"{}\"]}}", "x".repeat(4_000));
    let post = "POST /v1/short-ids HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ";
    let said = memory.ask(&format!("{post}{}\r\n\r\n{body}", body.len()));
    assert_eq!((said.status, said.code().as_str()), (429, "overloaded"));
}

#[test]
fn events_go_on_after_the_last_one_that_was_read() {
    let door = Door::new(Limits::default());
    let events = ["one", "two", "three"].map(|text| serde_json::json!({ "topic": "t", "text": text }));
    let request = serde_json::json!({ "ledger": "l", "events": events, "durability": "full" });
    let request: AppendRequest = serde_json::from_value(request).expect("a request");
    door.stage.service.append(&request).expect("appended");
    let follow = |more: &str, header: &str| {
        let said = door.ask(&format!(
            "GET /v1/events?ledger=l&count=2{more} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{header}\r\n"
        ));
        assert_eq!(said.status, 200, "{}", String::from_utf8_lossy(&said.body));
        String::from_utf8(said.body).expect("text")
    };
    let first = follow("&from=beginning", "");
    assert!(
        first.contains("id: 1\ndata: {") && first.contains("id: 2\n") && !first.contains("id: 3\n"),
        "{first}"
    );
    let rest = follow("&from=beginning&topics=t", "Last-Event-ID: 1\r\n");
    assert!(rest.contains("id: 2\n") && rest.contains("id: 3\n") && !rest.contains("id: 1\n"), "{rest}");
    assert!(rest.contains("event: end\ndata: {\"events\":2}"), "{rest}");
    let named = door.get("/v1/events?ledger=l&from.cursor=mine");
    assert_eq!((named.status, named.code().as_str()), (409, "not_supported"));
    assert_eq!(door.get("/v1/events?ledger=nobody&from=beginning").code(), "ledger_not_found");
}

#[test]
fn a_socket_of_a_dead_server_is_replaced_and_a_live_one_is_left() {
    let door = Door::new(Limits::default());
    let path = door.server.socket().expect("a socket").to_owned();
    let start = |listen: &Listen| Server::start(&Arc::from(again(&door.stage)), listen, Limits::default());
    let listen = Listen { socket: Some(path.clone()), tcp: None };
    assert!(matches!(start(&listen), Err(SocketError::Live(_))));
    assert_eq!(door.get("/v1/sessions").status, 200);

    let dead = door.stage.folder.path().join("dead");
    std::fs::DirBuilder::new().create(&dead).expect("a folder");
    std::fs::set_permissions(&dead, std::fs::Permissions::from_mode(0o700)).expect("a mode");
    drop(UnixListener::bind(dead.join("s")).expect("a socket"));
    let listen = Listen { socket: Some(dead.join("s")), tcp: None };
    let server = start(&listen).expect("a server");
    let mode = |path: &std::path::Path| std::fs::metadata(path).expect("a file").permissions().mode() & 0o777;
    assert_eq!((mode(&dead), mode(&dead.join("s"))), (0o700, 0o600));
    drop(server);
    assert!(!dead.join("s").exists());

    // What is no socket is somebody's file.
    std::fs::File::create(dead.join("s")).and_then(|mut file| file.write_all(b"mine")).expect("a file");
    assert!(matches!(start(&listen), Err(SocketError::Path(..))));
    assert_eq!(std::fs::read(dead.join("s")).expect("a file"), b"mine");
    std::fs::set_permissions(&dead, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    assert!(matches!(start(&listen), Err(SocketError::Open(_))));
}
