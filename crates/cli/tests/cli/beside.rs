//! `serve` beside other processes: who needs the store alone gets it, nothing acknowledged is lost, and subscribers miss nothing.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stemmata_testkit::claude::ClaudeSession;

use crate::serve::Serve;
use crate::stage::Stage;

/// A test that would hang fails.
const LONG: Duration = Duration::from_mins(1);

/// Sooner than a service checks by itself what others did.
const SOON: Duration = Duration::from_secs(4);

/// An answer of a service.
struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&self.body)))
    }
}

/// Asks the service behind a socket; nothing where it is gone.
fn ask(socket: &Path, method: &str, path: &str, body: &[u8]) -> Option<Answer> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_read_timeout(Some(LONG)).unwrap();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)).ok()?;
    let mut all = Vec::new();
    stream.read_to_end(&mut all).ok()?;
    let end = all.windows(4).position(|four| four == b"\r\n\r\n")?;
    let body = all.split_off(end + 4);
    let head = String::from_utf8_lossy(&all).to_lowercase();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer { status, head, body })
}

fn get(socket: &Path, path: &str) -> Answer {
    ask(socket, "GET", path, b"").expect("an answer")
}

/// Subscribes to a ledger, and returns the numbers of its events as they come. Returns when the service has begun.
fn subscribe(socket: &Path, ledger: &str) -> Receiver<u64> {
    let mut stream = UnixStream::connect(socket).unwrap();
    let head = format!("GET /v1/events?ledger={ledger}&from=now HTTP/1.1\r\nHost: x\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut lines = BufReader::new(stream);
    let mut line = String::new();
    while !line.starts_with(": following") {
        line.clear();
        assert_ne!(lines.read_line(&mut line).unwrap(), 0, "it ended");
    }
    let (events, come) = channel();
    thread::spawn(move || {
        for line in lines.lines().map_while(Result::ok) {
            if let Some(number) = line.strip_prefix("id: ").and_then(|id| id.parse().ok())
                && events.send(number).is_err()
            {
                break;
            }
        }
    });
    come
}

fn append(stage: &Stage, text: &str) -> u64 {
    let done = stage.json(&["events", "append", "NOTE", text, "--ledger", "l"]);
    done["last"].as_str().unwrap().parse().unwrap()
}

fn write_session(stage: &Stage, seed: u64) -> (String, PathBuf, String) {
    let session = ClaudeSession::new(seed).turns(3).build();
    let text = session.lines.join("\n") + "\n";
    let path = stage.home.write(&format!("{}.jsonl", session.session_id), text.as_bytes());
    (session.session_id, path, text)
}

/// Waits for something that another process does.
fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + LONG;
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < until, "{what}");
        thread::yield_now();
    }
}

/// Adds commits until it is told to stop, and returns the ids of those that the service says it has.
fn commit(socket: &Path, name: &str, is_over: &AtomicBool) -> Vec<String> {
    let mut stored = Vec::new();
    let query = format!(
        "/v1/commits?format=my-agent-v1&commit_type=delta&template=agent&session={name}&trigger=explicit"
    );
    while !is_over.load(Ordering::Relaxed) {
        let text = format!("{{\"{name}\":{}}}\n", stored.len());
        let parent = stored.last().map(|last| format!("&parent={last}")).unwrap_or_default();
        let Some(answer) = ask(socket, "POST", &format!("{query}{parent}"), text.as_bytes()) else { break };
        match answer.status {
            200 => stored.push(answer.json()["id"].as_str().unwrap().to_owned()),
            503 => assert!(answer.head.contains("retry-after: "), "{}", answer.head),
            _ => panic!("{}", String::from_utf8_lossy(&answer.body)),
        }
    }
    stored
}

#[test]
fn who_needs_the_store_alone_gets_it_and_nothing_is_lost() {
    let stage = Stage::new();
    let (_, kept, kept_text) = write_session(&stage, 1);
    let (gone, secret, _) = write_session(&stage, 2);
    for path in [&kept, &secret] {
        stage.import(path);
    }
    let first = append(&stage, "before");
    let serve = Serve::start(&stage);
    let socket = serve.socket();
    let events = subscribe(&socket, "l");
    let (is_over, refused) = (AtomicBool::new(false), AtomicU64::new(0));
    let stored = thread::scope(|scope| {
        let over = &is_over;
        let writers = ["one", "two"].map(|name| {
            let socket = &socket;
            scope.spawn(move || commit(socket, name, over))
        });
        for path in ["/v1/sessions", "/v1/search?text=the"] {
            let (socket, refused) = (&socket, &refused);
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let answer = get(socket, path);
                    match answer.status {
                        200 => {}
                        503 => drop(refused.fetch_add(1, Ordering::Relaxed)),
                        _ => panic!("{path}: {}", String::from_utf8_lossy(&answer.body)),
                    }
                }
            });
        }
        let forgotten = stage.json(&["forget", &gone, "--yes"]);
        assert!(forgotten["unfinished"].is_null(), "the WAL was cleared: {forgotten}");
        assert_eq!(append(&stage, "after forgetting"), first + 1);
        let (_, third, _) = write_session(&stage, 3);
        stage.import(&third);
        assert_eq!(stage.json(&["migrate", "--rollback", "--yes"])["now"], 5);
        assert_eq!(append(&stage, "after going back"), first + 2);
        is_over.store(true, Ordering::Relaxed);
        writers.map(|writer| writer.join().unwrap()).concat()
    });
    assert!(stored.len() > 4, "{} commits", stored.len());
    let backup = stage.home.path().join("backup");
    stage.run(&["backup", backup.to_str().unwrap()]).ok();
    stage.run(&["restore", backup.to_str().unwrap(), "--yes"]).ok();
    assert_eq!(append(&stage, "after restoring"), first + 3);
    for ctx in &stored {
        let found = get(&socket, &format!("/v1/commits/{ctx}"));
        assert_eq!(found.status, 200, "{ctx}: {}", String::from_utf8_lossy(&found.body));
    }
    // What others do reaches the service long before it would have looked by itself.
    let heard: Vec<u64> = (0..3).map(|_| events.recv_timeout(SOON).unwrap()).collect();
    assert_eq!(heard, [first + 1, first + 2, first + 3]);
    stage.run(&["verify"]).ok();
    let sessions = stage.json(&["list"]);
    let session = sessions["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["tip"].as_str().is_some_and(|tip| stage.native(tip) == kept_text.as_bytes()));
    assert!(session.is_some(), "{sessions}");
    assert_eq!(serve.end().0, Some(0));
}

#[test]
fn a_service_closes_the_store_for_as_long_as_somebody_has_it_alone() {
    let stage = Stage::new();
    let (_, path, _) = write_session(&stage, 1);
    stage.import(&path);
    let first = append(&stage, "before");
    let serve = Serve::start(&stage);
    let socket = serve.socket();
    let events = subscribe(&socket, "l");
    let store = stage.home.stemmata_home().join("store");
    let open = || {
        let fds = std::fs::read_dir(format!("/proc/{}/fd", serve.pid())).unwrap().flatten();
        fds.filter_map(|fd| std::fs::read_link(fd.path()).ok())
            .filter(|file| file.starts_with(&store))
            .count()
    };
    assert_ne!(open(), 0);
    let began = Instant::now();
    let mut alone = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(stage.home.stemmata_home().join("run/recall.lock"))
        .unwrap();
    alone.lock().unwrap();
    alone.write_all(b"x").unwrap();
    wait_for("it closes the store", || (open() == 0).then_some(()));
    assert!(began.elapsed() < SOON, "it was told, and did not only look");
    let away = get(&socket, "/v1/sessions");
    assert_eq!((away.status, away.json()["code"].as_str()), (503, Some("store_away")), "{}", away.head);
    assert!(away.head.contains("retry-after: 1"), "{}", away.head);
    assert_eq!(get(&socket, "/healthz").status, 200);
    // Who had it is gone, as after a crash.
    drop(alone);
    wait_for("it opens the store again", || (get(&socket, "/v1/sessions").status == 200).then_some(()));
    assert_eq!(append(&stage, "after"), first + 1);
    assert_eq!(events.recv_timeout(SOON).unwrap(), first + 1, "a subscriber stayed");
    assert_eq!(serve.end().0, Some(0));
}

#[test]
fn commits_of_others_are_indexed_without_a_search() {
    let stage = Stage::new();
    let serve = Serve::start(&stage);
    let socket = serve.socket();
    let (_, path, _) = write_session(&stage, 1);
    // A hook settles nothing, and neither does this.
    let (delta, query) =
        (b"{\"a\":1}\n", "format=my-agent-v1&commit_type=delta&template=agent&session=s&trigger=explicit");
    assert_eq!(ask(&socket, "POST", &format!("/v1/commits?{query}"), delta).unwrap().status, 200);
    stage.import(&path);
    wait_for("the index has all", || {
        let status = get(&socket, "/v1/index").json();
        (status["behind_commits"] == 0 && status["entries"].as_u64() > Some(0)).then_some(())
    });
    assert_eq!(serve.end().0, Some(0));
}

#[test]
fn nothing_acknowledged_is_lost_or_stored_twice_by_a_kill() {
    let stage = Stage::new();
    let asked = Mutex::new(Vec::new());
    let mut commits = Vec::new();
    let begin = |name: &str, number: usize| {
        json!({
            "turn": { "ledger": "c", "session": name, "agent": "w", "template": "t" },
            "request": format!("{name}-{number}"),
            "said": { "role": "user", "text": format!("question {name}-{number}") },
        })
        .to_string()
    };
    for round in 0..3 {
        let mut serve = Serve::start(&stage);
        let socket = serve.socket();
        let is_over = AtomicBool::new(false);
        let acknowledged = AtomicU64::new(0);
        thread::scope(|scope| {
            let (socket, over, acknowledged, asked) = (&socket, &is_over, &acknowledged, &asked);
            let writer = scope.spawn(move || commit(socket, &format!("k{round}"), over));
            for name in ["a", "b"] {
                let name = format!("{name}{round}");
                scope.spawn(move || {
                    for number in 0.. {
                        let body = begin(&name, number);
                        asked.lock().unwrap().push(body.clone());
                        let Some(answer) = ask(socket, "POST", "/v1/turns/begin", body.as_bytes()) else {
                            break;
                        };
                        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
                        acknowledged.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            wait_for("some turns", || (acknowledged.load(Ordering::Relaxed) > 6).then_some(()));
            serve.kill();
            over.store(true, Ordering::Relaxed);
            commits.extend(writer.join().unwrap());
        });
    }
    // The socket of the dead one is there, and is replaced.
    let serve = Serve::start(&stage);
    let socket = serve.socket();
    let asked = asked.into_inner().unwrap();
    for body in &asked {
        assert_eq!(ask(&socket, "POST", "/v1/turns/begin", body.as_bytes()).unwrap().status, 200);
    }
    for ctx in &commits {
        assert_eq!(get(&socket, &format!("/v1/commits/{ctx}")).status, 200, "{ctx}");
    }
    assert!(!commits.is_empty());
    let events = stage.run(&["events", "query", "--ledger", "c", "--limit", "0"]).ok().text();
    for body in &asked {
        let body: Value = serde_json::from_str(body).unwrap();
        let text = body["said"]["text"].as_str().unwrap();
        let found = events.lines().filter(|line| line.trim_end().ends_with(text)).count();
        assert_eq!(found, 1, "{text}\n{events}");
    }
    stage.run(&["verify"]).ok();
    assert_eq!(serve.end().0, Some(0));
}

#[test]
fn a_socket_is_one_s_own_and_found_where_its_path_is_too_long() {
    let stage = Stage::new();
    let runtime = stage.home.path().join("r");
    let long = stage.home.path().join("d".repeat(100));
    let command = |args: &[&str]| {
        let mut command = stage.command(args);
        command.env("STEMMATA_HOME", &long).env("XDG_RUNTIME_DIR", &runtime);
        command
    };
    let mut serve = Serve::of(command(&["serve"]));
    assert!(serve.socket().starts_with(&runtime), "{}", serve.socket().display());
    let wanted = format!("unix:{}", long.join("run/serve.sock").display());
    for address in [wanted, format!("unix:{}", serve.socket().display())] {
        let said =
            crate::stage::said(command(&["--server", &address, "list", "--json"]).output().unwrap()).ok();
        assert!(said.json()["sessions"].is_array());
    }
    let second = crate::stage::said(command(&["serve"]).output().unwrap());
    second.code(7).complains(&["is in use by a server that answers"]);
    serve.kill();
    let again = Serve::of(command(&["serve"]));
    assert_eq!(again.socket(), serve.socket());
    assert_eq!(again.end().0, Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said_and_what_is_free_again_is_used() {
    let stage = Stage::new();
    let alone = ["--map-root-user", "--mount"];
    let is_allowed =
        Command::new("unshare").args(alone).args(["mount", "-t", "tmpfs", "tmpfs", "/mnt"]).output();
    if !is_allowed.is_ok_and(|done| done.status.success()) {
        eprintln!("this system lets nobody mount a small disk: nothing was tried");
        return;
    }
    let (data, socket) = (stage.home.path().join("small"), stage.home.path().join("s/s"));
    std::fs::create_dir(&data).unwrap();
    let script = r#"mount -t tmpfs -o size=12m tmpfs "$STEMMATA_HOME" && exec "$0" serve --socket "$1""#;
    let mut command = stage.command(&["unused"]);
    let mut mounted = Command::new("unshare");
    mounted.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    mounted.env("STEMMATA_HOME", &data).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    mounted.args(alone).args(["sh", "-c", script]).arg(command.get_program()).arg(&socket);
    command.env_clear();
    let serve = Serve::of(mounted);
    // What only the service sees, others see through it.
    let ballast = PathBuf::from(format!("/proc/{}/root{}/ballast", serve.pid(), data.display()));
    let path = "/v1/commits?format=my-agent-v1&commit_type=delta&template=agent&session=s&trigger=explicit";
    let add = |number: usize| {
        ask(&socket, "POST", path, format!("{{\"n\":{number}}}\n").repeat(2_000).as_bytes()).unwrap()
    };
    assert_eq!(add(0).status, 200);
    let mut filling = File::create(&ballast).unwrap();
    while filling.write_all(&[7; 4096]).is_ok() {}
    let full = (1..200).map(&add).find(|answer| answer.status != 200).expect("the disk is full");
    assert_eq!((full.status, full.json()["code"].as_str()), (507, Some("disk_full")));
    assert_eq!(get(&socket, "/v1/sessions").status, 200, "what is stored is read");
    drop(filling);
    std::fs::remove_file(&ballast).unwrap();
    let again = add(1_000);
    assert_eq!(again.status, 200, "{}", String::from_utf8_lossy(&again.body));
    let ctx = again.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(get(&socket, &format!("/v1/commits/{ctx}")).status, 200);
    assert_eq!(serve.end().0, Some(0));
}
