//! Files that a client keeps beside a transcript, from the import to the client that gets them back.

use std::path::{Path, PathBuf};

use serde_json::json;
use stemmata_testkit::claude::ClaudeSession;

use crate::stage::Stage;
use crate::story::go_on;

/// A session with two long outputs, one of them with a secret, and backups of files.
struct Kept {
    stage: Stage,
    transcript: PathBuf,
    id: String,
    secret: String,
}

impl Kept {
    fn new() -> Self {
        let stage = Stage::new();
        let transcript = stage.home.write_session(&ClaudeSession::new(7).turns(2).build());
        let id = transcript.file_stem().unwrap().to_str().unwrap().to_owned();
        let secret = ["ghp_", "a8F3kLmQ92xZ", "vB7nTy5Rw1Cd", "E4gH6jK0pSuX"].concat();
        let kept = Self { stage, transcript, id, secret };
        let with_secret = format!("export GH={}\n", kept.secret);
        kept.put(&kept.result("plain.txt"), b"\xff a long output\n");
        kept.put(&kept.result("secret.txt"), with_secret.as_bytes());
        kept.put(&kept.backup(&kept.id, "0a1b@v1"), b"fn main() {}\n");
        kept.put(&kept.backup(&kept.id, "2c3d@v1"), with_secret.as_bytes());
        kept
    }

    fn put(&self, path: &Path, bytes: &[u8]) {
        let below = path.strip_prefix(self.stage.home.path()).unwrap();
        self.stage.home.write(below.to_str().unwrap(), bytes);
    }

    fn result(&self, name: &str) -> PathBuf {
        self.transcript.with_extension("").join("tool-results").join(name)
    }

    fn backup(&self, session: &str, name: &str) -> PathBuf {
        let home = self.transcript.ancestors().nth(3).unwrap();
        home.join("file-history").join(session).join(name)
    }

    fn told(&self, args: &[&str]) -> String {
        let mut command = self.stage.command(args);
        command.env("STEMMATA_SIDECARS", "all");
        let said = crate::stage::said(command.output().unwrap());
        self.stage.tame(&format!("exit {}\n{}---\n{}", said.code, said.text(), said.stderr))
    }
}

#[test]
fn files_beside_a_transcript_are_listed_placed_and_recovered() {
    let kept = Kept::new();
    let (stage, id) = (&kept.stage, kept.id.as_str());
    insta::assert_snapshot!("sidecars_imported", kept.told(&["import"]));
    insta::assert_snapshot!("sidecars_listed", stage.told(&["sidecars", id]));
    insta::assert_snapshot!("sidecars_cost", stage.told(&["du", "--chains"]));
    let listed = stage.json(&["sidecars", id]);
    let names: Vec<(&str, bool)> = listed["sidecars"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["name"].as_str().unwrap(), one["altered"].as_bool().unwrap()))
        .collect();
    assert_eq!(names, [("0a1b@v1", false), ("2c3d@v1", true), ("plain.txt", false), ("secret.txt", true)]);
    let du = stage.json(&["du"]);
    assert_eq!((&du["sidecars"], &du["sessions"]), (&json!(4), &json!(1)), "{du}");
    assert_eq!(stage.json(&["list"])["sessions"].as_array().unwrap().len(), 1);

    // A fork gets them, but for the backup that is not what the client wrote.
    let placed = stage.json(&["fork", id]);
    assert_eq!(placed["sidecars"], json!(3), "{placed}");
    let said: Vec<&str> =
        placed["notes"].as_array().unwrap().iter().map(|note| note["message"].as_str().unwrap()).collect();
    assert!(said.iter().any(|text| text.contains("backups of 1 file were not given back")), "{said:?}");
    let path = PathBuf::from(placed["path"].as_str().unwrap());
    let own = path.with_extension("").join("tool-results");
    assert_eq!(std::fs::read(own.join("plain.txt")).unwrap(), b"\xff a long output\n");
    assert!(!std::fs::read_to_string(own.join("secret.txt")).unwrap().contains(&kept.secret));
    let fork = placed["session_id"].as_str().unwrap();
    assert_eq!(std::fs::read(kept.backup(fork, "0a1b@v1")).unwrap(), b"fn main() {}\n");
    assert!(!kept.backup(fork, "2c3d@v1").exists());
    let mode = std::fs::metadata(own.join("plain.txt")).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode.permissions()) & 0o777, 0o600);

    // What the client deleted comes back where it was; what is there stays as it is.
    for path in [kept.result("plain.txt"), kept.backup(id, "0a1b@v1"), kept.backup(id, "2c3d@v1")] {
        std::fs::remove_file(path).unwrap();
    }
    kept.put(&kept.result("secret.txt"), b"somebody else's\n");
    let would = stage.json(&["recover", id, "--dry-run"]);
    assert_eq!(would["files"].as_array().unwrap().len(), 3, "{would}");
    assert!(!kept.result("plain.txt").exists());
    insta::assert_snapshot!("sidecars_recovered", stage.told(&["recover", id]));
    assert_eq!(std::fs::read(kept.result("plain.txt")).unwrap(), b"\xff a long output\n");
    assert_eq!(std::fs::read(kept.result("secret.txt")).unwrap(), b"somebody else's\n");
    assert_eq!(std::fs::read(kept.backup(id, "0a1b@v1")).unwrap(), b"fn main() {}\n");
    assert!(!kept.backup(id, "2c3d@v1").exists(), "placeholders would be written into the user's file");
    // A transcript that is placed again names the output by its own path.
    std::fs::remove_file(kept.result("plain.txt")).unwrap();
    stage.run(&["fork", id, "--print"]).ok();
    assert!(kept.result("plain.txt").exists());
}

#[test]
fn files_go_with_their_session_and_nothing_of_them_stays() {
    let kept = Kept::new();
    kept.told(&["import"]);
    let (stage, id) = (&kept.stage, kept.id.as_str());
    let files = kept.stage.json(&["sidecars", id]);
    insta::assert_snapshot!("sidecars_forgotten", stage.told(&["forget", id, "--yes"]));
    assert_eq!(stage.json(&["du"])["sidecars"], json!(0));
    for file in files["sidecars"].as_array().unwrap() {
        stage.run(&["native", file["ctx"].as_str().unwrap(), "--out", "-"]).code(3);
    }
    kept.told(&["import"]);
    assert_eq!(stage.json(&["du"])["sidecars"], json!(0), "the next import leaves them alone");
}

#[test]
fn what_is_beside_a_copy_stays_its_own_and_a_scan_of_clients_looks_into_files() {
    let kept = Kept::new();
    let (stage, id) = (&kept.stage, kept.id.as_str());
    let text = stage.run(&["scan", "--clients", "--json"]).text();
    assert!(
        text.contains("secret.txt") && text.contains("2c3d@v1") && !text.contains(&kept.secret),
        "{text}"
    );
    kept.told(&["import"]);
    let placed = stage.json(&["fork", id]);
    let fork = placed["session_id"].as_str().unwrap().to_owned();
    go_on(placed["path"].as_str().unwrap());
    kept.told(&["import"]);
    stage.run(&["forget", id, "--yes"]).ok();
    let own = stage.json(&["sidecars", &fork]);
    assert_eq!(own["sidecars"].as_array().unwrap().len(), 3, "{own}");
    assert!(own["sidecars"].as_array().unwrap().iter().all(|one| one["session_id"] == json!(fork)), "{own}");
}

#[test]
fn a_journal_beside_a_transcript_is_no_transcript_to_any_command() {
    let kept = Kept::new();
    let folder = kept.transcript.with_extension("");
    kept.put(&folder.join("subagents/workflows/wf_1/journal.jsonl"), b"{\"step\":1}\n");
    kept.put(&folder.join("workflows/wf_1.json"), b"{\"steps\":[]}\n");
    kept.put(&kept.result("printed.jsonl"), &std::fs::read(&kept.transcript).unwrap());
    for _ in 0..2 {
        let imported = kept.stage.json(&["import"]);
        assert_eq!(imported["skipped"], json!([]), "{imported}");
        assert_eq!(imported["sessions"].as_array().unwrap().len(), 1, "{imported}");
    }
    assert_eq!(kept.stage.json(&["sidecars", &kept.id])["sidecars"].as_array().unwrap().len(), 5);
    kept.stage.run(&["doctor", "--all"]).ok();
}

#[test]
fn none_are_captured_where_nobody_wants_them() {
    let kept = Kept::new();
    kept.stage.run(&["config", "set", "capture.sidecars", "none"]).ok();
    kept.stage.run(&["import"]).ok();
    let listed = kept.stage.run(&["sidecars", &kept.id]).ok();
    assert!(listed.stderr.contains("No files were captured"), "{}", listed.stderr);
    let bad = kept.stage.run(&["config", "set", "capture.sidecars", "some"]);
    assert!(bad.code != 0 && bad.stderr.contains("one of all, results, none"), "{}", bad.stderr);
}

/// Commits that are states of files are no turns of a session.
#[test]
fn files_are_counted_apart_from_commits() {
    let kept = Kept::new();
    let stage = &kept.stage;
    let imported: serde_json::Value = {
        let mut command = stage.command(&["import", "--json"]);
        command.env("STEMMATA_SIDECARS", "all");
        serde_json::from_slice(&command.output().unwrap().stdout).unwrap()
    };
    let commits = format!("{} commits", imported["totals"]["commits"]);
    let verified = stage.told(&["verify"]);
    // Two of the files are the same bytes, and so one commit.
    assert!(verified.contains(&format!("{commits}, 3 states of files beside transcripts")), "{verified}");
    let bundle = stage.home.path().join("all.bundle");
    let bundle = bundle.to_str().unwrap();
    for told in [
        stage.told(&["bundle", "export", "--all", "-o", bundle]),
        stage.told(&["bundle", "show", bundle]),
        stage.told(&["forget", &kept.id, "--dry-run"]),
        stage.told(&["forget", &kept.id, "--yes"]),
    ] {
        assert!(told.contains(&commits) && told.contains("4 files beside transcripts"), "{commits}: {told}");
    }
}
