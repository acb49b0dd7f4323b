//! `recover`: a transcript back where its client looks, whatever became of the file.

use std::path::{Path, PathBuf};

use stemmata_testkit::claude::ClaudeSession;

use crate::stage::Stage;

/// A session of Claude Code, imported: where it is, what is in it, and its id.
fn imported(stage: &Stage) -> (PathBuf, Vec<u8>, String) {
    let path = stage.home.write_session(&ClaudeSession::new(7).turns(3).build());
    let bytes = std::fs::read(&path).unwrap();
    let session = stage.import(&path);
    (path, bytes, session["session_id"].as_str().unwrap().to_owned())
}

fn names(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(path.parent().unwrap()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The same without the records between the first and the last, as a tool that meant well left it.
fn damaged(bytes: &[u8]) -> Vec<u8> {
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    [lines[0], lines[lines.len() - 1]].concat()
}

#[test]
fn a_deleted_transcript_comes_back_byte_for_byte() {
    let stage = Stage::new();
    let (path, bytes, id) = imported(&stage);
    let commits = stage.json(&["status"])["usage"]["commits"].clone();
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    insta::assert_snapshot!("only_here", stage.told(&["recover"]));
    for command in ["doctor", "repair"] {
        stage.run(&[command, &id]).code(3).complains(&["is gone", "`stemma recover ctx-"]);
    }
    insta::assert_snapshot!("recover_dry_run", stage.told(&["recover", &id, "--dry-run"]));
    assert!(!path.exists());
    insta::assert_snapshot!("recovered", stage.told(&["recover", &id]));
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    // What was read before is known again.
    stage.run(&["import"]).ok();
    assert_eq!(stage.json(&["status"])["usage"]["commits"], commits);
    insta::assert_snapshot!("recover_intact", stage.told(&["recover", &id]));
}

#[test]
fn a_damaged_transcript_stays_and_the_recovered_one_goes_beside_or_in_its_place() {
    let stage = Stage::new();
    let (path, bytes, id) = imported(&stage);
    std::fs::write(&path, damaged(&bytes)).unwrap();
    // Captured as it is by now; the store has what it was all the same.
    stage.run(&["import"]).ok();
    let name = path.to_str().unwrap();
    stage.run(&["doctor", name]).code(6).complains(&[&format!("`stemma recover {id}`")]);
    insta::assert_snapshot!("recover_beside", stage.told(&["recover", &id]));
    let beside = path.with_file_name(format!("{id}.recovered.jsonl"));
    assert_eq!(std::fs::read(&beside).unwrap(), bytes);
    assert_eq!(std::fs::read(&path).unwrap(), damaged(&bytes));
    std::fs::remove_file(&beside).unwrap();
    let told = stage.json(&["recover", name, "--replace"]);
    assert_eq!(told["files"][0]["what"], "replaced");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    assert_eq!(std::fs::read(told["files"][0]["kept"].as_str().unwrap()).unwrap(), damaged(&bytes));
    stage.run(&["doctor", name]).ok();
    assert_eq!(names(&path).len(), 2, "{:?}", names(&path));
}

/// A transcript that was cut at a line's end loads without a word; lines that were there are missing all the same.
#[test]
fn a_transcript_that_lost_its_end_is_damaged_too() {
    let stage = Stage::new();
    let (path, bytes, id) = imported(&stage);
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    std::fs::write(&path, lines[..lines.len() - 2].concat()).unwrap();
    let told = stage.json(&["recover", &id, "--replace"]);
    assert_eq!(told["files"][0]["what"], "replaced");
    assert!(told["files"][0]["damage"].as_str().unwrap().contains("lines"), "{told}");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[test]
fn secrets_stay_redacted_unless_the_vault_has_them() {
    let stage = Stage::new();
    let transcript = ClaudeSession::new(7).turns(2).build();
    let secret = "ghp_0123456789abcdefABCDEF0123456789abcd";
    let text = transcript.text();
    let word = text.split('"').find(|word| word.split(' ').count() > 3).unwrap().to_owned();
    let text = text.replacen(&word, &format!("{word} {secret}"), 1);
    stage.run(&["config", "set", "secrets.vault", "true"]).ok();
    let path = stage.home.write_session(&transcript);
    std::fs::write(&path, &text).unwrap();
    let session = stage.import(&path);
    let id = session["session_id"].as_str().unwrap();
    std::fs::remove_file(&path).unwrap();
    stage.run(&["recover", id]).ok().complains(&["1 secret stays redacted", "--with-secrets"]);
    assert!(!std::fs::read_to_string(&path).unwrap().contains(secret));
    std::fs::remove_file(&path).unwrap();
    stage.run(&["recover", id, "--with-secrets"]).ok();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}
