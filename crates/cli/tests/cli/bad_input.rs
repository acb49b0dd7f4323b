//! Everything that can be wrong with what comes in and with what is stored: a clear message that names file and
//! position, everything good kept, nothing lost.

use std::io::Write;
use std::path::{Path, PathBuf};

use stemmata_testkit::claude::ClaudeSession;

use crate::stage::Stage;
use crate::story::{self, SESSION};

/// Bytes of the large file, unless `STEMMATA_TEST_BIG_BYTES` says otherwise (1073741824 for a gigabyte).
const BIG_BYTES: u64 = 48 * 1024 * 1024;

/// Memory that an import of any file may take. A debug build keeps some more than a release build.
const RESIDENT_KIB_MAX: u64 = 160 * 1024;

fn transcript() -> String {
    story::retry("/home/ann/shop").text()
}

/// Imports a file of these bytes and asserts that `native` gives them back. Returns what the import said.
#[track_caller]
fn comes_back(stage: &Stage, bytes: &[u8]) -> serde_json::Value {
    let path = stage.home.write("a.jsonl", bytes);
    let session = stage.import(&path);
    assert!(stage.native(session["tip"].as_str().unwrap()) == bytes, "native differs from the file");
    stage.run(&["verify"]).ok();
    session
}

/// Asserts that one note tells this about this line.
#[track_caller]
fn noted(session: &serde_json::Value, code: &str, line: u64) {
    let notes = session["notes"].as_array().unwrap();
    assert!(
        notes.iter().any(|note| note["code"] == code && note["line"] == line),
        "no note `{code}` about line {line} in {notes:?}"
    );
}

#[test]
fn a_file_that_is_no_transcript() {
    let stage = Stage::new();
    let path = stage.home.write("a.jsonl", b"Dear diary,\ntoday I wrote no JSON.\n");
    insta::assert_snapshot!("no_transcript", stage.told(&["import", path.to_str().unwrap()]));
    let other = stage.home.write("b.jsonl", b"{\"some\": \"json\"}\n");
    stage.run(&["import", other.to_str().unwrap()]).code(1);
    let binary: Vec<u8> = (0..=255).cycle().take(5000).collect();
    let other = stage.home.write("c.jsonl", &binary);
    stage.run(&["import", other.to_str().unwrap()]).code(1);
}

#[test]
fn an_empty_file() {
    let stage = Stage::new();
    let path = stage.home.write("in/a.jsonl", b"");
    insta::assert_snapshot!("empty_file", stage.told(&["import", path.to_str().unwrap()]));
    // Below a folder it is only left out.
    stage.home.write("in/b.jsonl", transcript().as_bytes());
    let folder = path.parent().unwrap().to_str().unwrap();
    let result = stage.json(&["import", folder]);
    assert_eq!(
        (result["sessions"].as_array().unwrap().len(), &result["skipped"][0]),
        (1, &path.to_str().unwrap().into())
    );
}

#[test]
fn a_torn_last_line() {
    let text = transcript();
    let whole = text.lines().count() as u64;
    for cut in [1, 30, 200] {
        let stage = Stage::new();
        let bytes = &text.as_bytes()[..text.len() - cut];
        let session = comes_back(&stage, bytes);
        noted(&session, "torn_tail", whole);
        // The rest arrives: nothing was lost, nothing is there twice.
        let session = comes_back(&stage, text.as_bytes());
        assert_eq!(session["notes"], serde_json::json!([]));
    }
    let stage = Stage::new();
    let path = stage.home.write("a.jsonl", &text.as_bytes()[..text.len() - 30]);
    insta::assert_snapshot!("torn_last_line", stage.told(&["import", path.to_str().unwrap()]));
}

#[test]
fn a_garbage_line_in_the_middle() {
    let stage = Stage::new();
    let mut lines: Vec<String> = story::retry("/home/ann/shop").lines().to_vec();
    let entries = comes_back(&stage, (lines.join("\n") + "\n").as_bytes())["entries"].as_u64().unwrap();
    lines.insert(3, "{\"type\":\"user\",\"message\":{\"role\"".to_owned());
    let stage = Stage::new();
    let session = comes_back(&stage, (lines.join("\n") + "\n").as_bytes());
    noted(&session, "unparsable_line", 4);
    assert!(session["entries"].as_u64().unwrap() >= entries);
    let path = stage.home.write("a.jsonl", (lines.join("\n") + "\n").as_bytes());
    insta::assert_snapshot!("garbage_line", stage.told(&["import", path.to_str().unwrap(), "--full"]));
}

#[test]
fn nul_bytes() {
    let text = transcript();
    let at = text.lines().take(4).map(|line| line.len() + 1).sum::<usize>();
    let mut bytes = text.as_bytes().to_vec();
    bytes.splice(at..at, std::iter::repeat_n(0, 512).chain([b'\n']));
    let session = comes_back(&Stage::new(), &bytes);
    noted(&session, "unparsable_line", 5);
}

#[test]
fn carriage_returns() {
    let text = transcript();
    let session = comes_back(&Stage::new(), text.replace('\n', "\r\n").as_bytes());
    assert_eq!(session["notes"], serde_json::json!([]));
    let plain = comes_back(&Stage::new(), text.as_bytes());
    assert_eq!((&session["commits"], &session["entries"]), (&plain["commits"], &plain["entries"]));
}

#[test]
fn a_line_of_seven_megabytes() {
    let mut story = story::Story::new(SESSION, "/home/ann/shop");
    story.user("Read it all").tool("cat big", &"all work and no play\n".repeat(350_000)).assistant("Done.");
    let text = story.text();
    assert!(text.lines().any(|line| line.len() > 7_000_000));
    comes_back(&Stage::new(), text.as_bytes());
}

#[test]
fn a_line_beyond_the_bound_keeps_what_came_before() {
    let stage = Stage::new();
    let text = transcript();
    let path = stage.home.write("a.jsonl", text.as_bytes());
    // A hole: the disk holds none of it.
    let bytes = text.len() as u64 + (769 << 20);
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(bytes).unwrap();
    let line = text.lines().count() + 1;
    stage.run(&["import", path.to_str().unwrap()]).code(1);
    let said = stage.told(&["import", path.to_str().unwrap()]);
    assert!(said.contains(&format!("line {line} of [ROOT]/a.jsonl (at byte {})", text.len())), "{said}");
    stage.run(&["verify"]).ok();
}

#[test]
fn a_large_file_takes_constant_memory() {
    let bytes =
        std::env::var("STEMMATA_TEST_BIG_BYTES").map_or(BIG_BYTES, |text| text.parse().expect("a number"));
    let stage = Stage::new();
    let path = stage.home.path().join("big.jsonl");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    let written = ClaudeSession::new(11).approx_bytes(bytes).write_to(&mut file).unwrap();
    file.flush().unwrap();
    assert!(written >= bytes);
    let mut command = stage.command(&["import", path.to_str().unwrap(), "--json", "--threads", "1"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut peak_kib = 0;
    while child.try_wait().unwrap().is_none() {
        peak_kib = peak_kib.max(resident_peak_kib(&status));
        std::thread::yield_now();
    }
    let output = child.wait_with_output().unwrap();
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["totals"]["bytes_in"].as_u64().unwrap(), written);
    if peak_kib == 0 {
        println!("skipped the bound on memory: this system has no /proc");
    }
    assert!(peak_kib < RESIDENT_KIB_MAX, "{peak_kib} KiB for {written} bytes");
    let out = stage.home.path().join("out.jsonl");
    let tip = result["sessions"][0]["tip"].as_str().unwrap();
    stage.run(&["native", tip, "--out", out.to_str().unwrap()]).ok();
    assert_eq!(difference(&path, &out), None, "native differs from the file");
}

/// The most memory that a process had so far.
fn resident_peak_kib(status: &Path) -> u64 {
    let text = std::fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Returns the first line that two files have in different words, from before the difference on; none where they are equal.
fn difference(left: &Path, right: &Path) -> Option<(String, String)> {
    use std::io::BufRead;
    let mut left = std::io::BufReader::new(std::fs::File::open(left).unwrap());
    let mut right = std::io::BufReader::new(std::fs::File::open(right).unwrap());
    loop {
        let (mut one, mut two) = (Vec::new(), Vec::new());
        let counts = (left.read_until(b'\n', &mut one).unwrap(), right.read_until(b'\n', &mut two).unwrap());
        if one != two {
            let at = one.iter().zip(&two).take_while(|(one, two)| one == two).count().saturating_sub(60);
            let shown =
                |line: &[u8]| String::from_utf8_lossy(&line[at..line.len().min(at + 200)]).into_owned();
            return Some((shown(&one), shown(&two)));
        }
        if counts == (0, 0) {
            return None;
        }
    }
}

#[test]
fn a_file_that_shrank_or_was_rewritten_since() {
    let stage = Stage::new();
    let text = transcript();
    let first = comes_back(&stage, text.as_bytes());
    let kept: usize = text.lines().take(4).map(|line| line.len() + 1).sum();
    let shrunk = comes_back(&stage, &text.as_bytes()[..kept]);
    assert!(shrunk["notes"].to_string().contains("rewritten"), "{shrunk}");
    let mut other = story::Story::new(SESSION, "/home/ann/shop");
    other.user("Something else altogether").assistant("Yes.");
    let rewritten = comes_back(&stage, other.text().as_bytes());
    assert!(rewritten["notes"].to_string().contains("rewritten"), "{rewritten}");
    for (session, bytes) in [(&first, text.as_bytes()), (&shrunk, &text.as_bytes()[..kept])] {
        assert_eq!(stage.native(session["tip"].as_str().unwrap()), bytes);
    }
    // Each of the three can still be found.
    let tips = stage.json(&["tips"]);
    let tips: Vec<&serde_json::Value> =
        tips["commits"].as_array().unwrap().iter().map(|tip| &tip["id"]).collect();
    for session in [&first, &shrunk, &rewritten] {
        assert!(tips.contains(&&session["tip"]), "{tips:?}");
    }
    stage.home.write("a.jsonl", text.as_bytes());
    let path = stage.home.path().join("a.jsonl");
    insta::assert_snapshot!("rewritten_file", stage.told(&["import", path.to_str().unwrap()]));
}

#[test]
fn a_file_that_cannot_be_read_does_not_stop_the_others() {
    let stage = Stage::new();
    stage.home.write("in/good.jsonl", transcript().as_bytes());
    let folder = stage.home.path().join("in");
    std::fs::create_dir(folder.join("folder.jsonl")).unwrap();
    std::os::unix::fs::symlink("/no/such/file", folder.join("link.jsonl")).unwrap();
    insta::assert_snapshot!("unreadable_files", stage.told(&["import", folder.to_str().unwrap()]));
    let missing = folder.join("missing.jsonl");
    insta::assert_snapshot!("missing_file", stage.told(&["import", missing.to_str().unwrap()]));
    let closed = stage.home.write("in/closed.jsonl", transcript().as_bytes());
    std::fs::set_permissions(&closed, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    if std::fs::File::open(&closed).is_ok() {
        println!("skipped the file without permissions: this user reads everything");
        return;
    }
    stage.run(&["import", closed.to_str().unwrap()]).code(1).complains(&[]);
    let said = stage.told(&["import", closed.to_str().unwrap()]);
    assert!(said.contains("closed.jsonl") && said.contains("check who may read"), "{said}");
}

/// A file system of a megabyte, unmounted at the end.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        let mut mount = std::process::Command::new("mount");
        let mounted = mount.args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(at).output();
        mounted.is_ok_and(|output| output.status.success()).then(|| Self(at.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _gone = std::process::Command::new("umount").arg(&self.0).output();
    }
}

#[test]
fn a_failure_is_one_object_where_json_was_asked_for() {
    let stage = Stage::new();
    for (args, code, exit) in [
        (&["--json", "show", "nothere"][..], "reference_not_found", 3),
        (&["--json", "resume", "--last"], "no_session", 3),
        (&["--json", "shwo"], "bad_request", 2),
    ] {
        let done = stage.command(args).output().unwrap();
        let problem: serde_json::Value = serde_json::from_slice(&done.stderr).unwrap();
        assert_eq!((done.status.code(), problem["code"].as_str()), (Some(exit), Some(code)), "{args:?}");
        assert_eq!(problem["exit_code"], exit, "{args:?}");
        assert!(done.stdout.is_empty(), "{args:?}");
    }
}

#[test]
fn a_full_disk() {
    let stage = Stage::new();
    let Some(disk) = SmallDisk::mount(&stage.home.path().join("disk")) else {
        println!("skipped a_full_disk: a small file system cannot be mounted here (needs root on Linux)");
        return;
    };
    let small = stage.home.write("small.jsonl", transcript().as_bytes());
    let bytes: Vec<u8> = {
        let mut bytes = Vec::new();
        ClaudeSession::new(5).approx_bytes(8_000_000).write_to(&mut bytes).unwrap();
        bytes
    };
    let large = stage.home.write("large.jsonl", &bytes);
    let on_disk = |args: &[&str]| {
        let mut command = stage.command(args);
        command.env("STEMMATA_HOME", disk.0.join("data")).output().unwrap()
    };
    let first = on_disk(&["import", small.to_str().unwrap(), "--json"]);
    let first: serde_json::Value = serde_json::from_slice(&first.stdout).unwrap();
    let tip = first["sessions"][0]["tip"].as_str().unwrap();
    let failed = on_disk(&["import", large.to_str().unwrap()]);
    let said =
        String::from_utf8_lossy(&failed.stdout).into_owned() + &String::from_utf8_lossy(&failed.stderr);
    assert_eq!(failed.status.code(), Some(8), "{said}");
    assert!(said.contains("no space is left") && said.contains("hint: free some space"), "{said}");
    assert!(said.contains("large.jsonl"), "{said}");
    // What was acknowledged is there, and whole.
    assert_eq!(on_disk(&["native", tip, "--out", "-"]).stdout, transcript().as_bytes());
    assert_eq!(on_disk(&["verify"]).status.code(), Some(0));
    // With room again the import goes on where it stopped.
    let grown =
        std::process::Command::new("mount").args(["-o", "remount,size=64m"]).arg(&disk.0).output().unwrap();
    assert!(grown.status.success());
    let last = on_disk(&["import", large.to_str().unwrap(), "--json"]);
    let last: serde_json::Value = serde_json::from_slice(&last.stdout).unwrap();
    let tip = last["sessions"][0]["tip"].as_str().unwrap();
    assert!(on_disk(&["native", tip, "--out", "-"]).stdout == bytes);
}

/// A user's record as Codex writes it.
const OF_CODEX: &str = r#"{"timestamp":"2026-01-01T00:00:00.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"hi from the other half"}]}}"#;

#[test]
fn a_file_that_is_half_one_runtime_s_and_half_another_s() {
    let own = transcript();
    let entries = comes_back(&Stage::new(), own.as_bytes())["entries"].as_u64().unwrap();
    // The first half says what it is; the rest is kept as it is, and told where somebody reads it.
    let stage = Stage::new();
    let both = format!("{own}{OF_CODEX}\n");
    let session = comes_back(&stage, both.as_bytes());
    assert_eq!(
        (&session["format"], session["entries"].as_u64()),
        (&"claude-code-v1".into(), Some(entries + 1))
    );
    let path = stage.home.path().join("a.jsonl");
    let name = path.to_str().unwrap();
    stage.run(&["doctor", name]).ok();
    let tip = session["tip"].as_str().unwrap();
    let told = stage.run(&["export", tip, "--format", "markdown", "--out", "-"]).ok();
    assert!(!told.text().contains("other half"), "what is another runtime's is nobody's words here");
    stage.run(&["resume", tip, "--here", "--print"]).ok();
    stage.run(&["resume", tip, "--here", "--in", "codex", "--print"]).ok();
    // In the middle too, and the other way round.
    let stage = Stage::new();
    let at = own.lines().take(3).map(|line| line.len() + 1).sum::<usize>();
    comes_back(&stage, format!("{}{OF_CODEX}\n{}", &own[..at], &own[at..]).as_bytes());
    let stage = Stage::new();
    let header = r#"{"timestamp":"2026-01-01T00:00:00.000Z","type":"session_meta","payload":{"id":"01a1ffc3-10c3-7793-a024-3ccf54e49278","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/srv","originator":"x","cli_version":"0.169.0"}}"#;
    let turned = comes_back(&stage, format!("{header}\n{OF_CODEX}\n{own}").as_bytes());
    assert_eq!(turned["format"], "codex-legacy-v1");
    stage.run(&["resume", turned["tip"].as_str().unwrap(), "--here", "--print"]).ok();
}

#[test]
fn a_locked_store() {
    let stage = Stage::new();
    let path = stage.home.write("a.jsonl", transcript().as_bytes());
    let tip = stage.import(&path)["tip"].as_str().unwrap().to_owned();
    let holder = rusqlite::Connection::open(stage.database()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut command = stage.command(&["tag", &tip, "mine"]);
    let output = command.env("STEMMATA_STORE_WAIT_MS", "50").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(7), "{said}");
    assert!(said.contains("locked by another process") && said.contains("hint: wait"), "{said}");
    // Reading goes on, and writing too once the other is done.
    assert_eq!(stage.native(&tip), transcript().as_bytes());
    holder.execute_batch("ROLLBACK").unwrap();
    stage.run(&["tag", &tip, "mine"]).ok();
}

#[test]
fn a_store_of_a_newer_format() {
    let stage = Stage::new();
    let path = stage.home.write("a.jsonl", transcript().as_bytes());
    stage.import(&path);
    let newer = rusqlite::Connection::open(stage.database()).unwrap();
    newer.execute_batch("UPDATE store SET read_version = 99").unwrap();
    drop(newer);
    let before = std::fs::read(stage.database()).unwrap();
    insta::assert_snapshot!("newer_store", stage.told(&["log"]));
    stage.run(&["import", path.to_str().unwrap()]).code(9);
    assert!(std::fs::read(stage.database()).unwrap() == before, "the store was touched");
}

#[test]
fn a_file_in_the_store_s_place_that_is_none() {
    let stage = Stage::new();
    stage
        .home
        .write("data/stemmata/store/stemmata.db", b"Dear diary, I am no database at all, only some text.\n");
    stage.run(&["log"]).code(9).complains(&["is not a Stemmata store", "stemmata.db", "hint:"]);
}

#[test]
fn a_flipped_bit_in_stored_content() {
    let stage = Stage::new();
    let path = stage.home.write("a.jsonl", transcript().as_bytes());
    let tip = stage.import(&path)["tip"].as_str().unwrap().to_owned();
    let good = stage.home.write("b.jsonl", ClaudeSession::new(2).build().text().as_bytes());
    let other = stage.import(&good)["tip"].as_str().unwrap().to_owned();
    let database = rusqlite::Connection::open(stage.database()).unwrap();
    let (row, mut bytes): (i64, Vec<u8>) = database
        .query_row("SELECT row, bytes FROM content ORDER BY row LIMIT 1", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    database.execute("UPDATE content SET bytes = ?1 WHERE row = ?2", rusqlite::params![bytes, row]).unwrap();
    drop(database);
    let out = stage.home.path().join("out.jsonl");
    stage.run(&["native", &tip, "--out", out.to_str().unwrap()]).code(6).complains(&[
        "art-",
        "is damaged",
        "hint: `stemma verify`",
    ]);
    assert!(!out.exists(), "half of it was written");
    let verified = stage.run(&["verify", "--json"]).code(6).json();
    assert_eq!(verified["ok"], false);
    let damages = verified["damages"].as_array().unwrap();
    assert!(
        damages.iter().any(|damage| damage["object"].as_str().unwrap().starts_with("art-")),
        "{damages:?}"
    );
    // Everything else is as it was.
    assert_eq!(stage.native(&other), std::fs::read(&good).unwrap());
}
