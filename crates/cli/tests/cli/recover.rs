//! `recover`: a transcript back where its client looks, whatever became of the file.

use std::path::{Path, PathBuf};

use stemmata_testkit::claude::ClaudeSession;

use crate::stage::Stage;
use crate::story;

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

/// Found by a review: what `run` recorded of a command was written back, and removed by the next command.
#[test]
fn what_run_recorded_is_no_clients_to_recover() {
    let stage = Stage::new();
    stage.run(&["run", "--", "sh", "-c", "echo kiln"]).ok();
    let listed = stage.json(&["list"]);
    let id = listed["sessions"][0]["session_id"].as_str().unwrap();
    assert_eq!(stage.json(&["status"])["only_here_sessions"], 0);
    stage.run(&["recover", id]).code(5).complains(&["`stemma run` recorded it", "`stemma native`"]);
    assert!(!stage.home.stemmata_home().join("run/streams").join(format!("{id}.jsonl")).exists());
}

#[test]
fn a_line_that_is_torn_costs_no_message_whatever_was_read_since() {
    let stage = Stage::new();
    let (path, bytes, id) = imported(&stage);
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let is_prompt = |line: &Vec<u8>| {
        let text = String::from_utf8_lossy(line);
        text.contains("\"type\":\"user\"") && text.contains("\"role\":\"user\",\"content\":\"")
    };
    let torn = lines.iter().rposition(is_prompt).expect("a prompt");
    let kept = lines[torn].len() / 2;
    lines[torn].truncate(kept);
    lines[torn].push(b'\n');
    let whole = stage.json(&["fork", &id, "--here", "--dry-run"])["messages"].clone();
    std::fs::write(&path, lines.concat()).unwrap();
    for is_read in [false, true] {
        if is_read {
            stage.run(&["import"]).ok();
        }
        for command in [&["fork", &id, "--here", "--dry-run"][..], &["resume", &id, "--here", "--dry-run"]] {
            let placed = stage.json(command);
            assert_eq!(placed["messages"], whole, "{command:?}, {is_read}: {placed}");
            assert!(placed["copied_because"].to_string().contains("damaged"), "{placed}");
        }
    }
}

/// Found by a newcomer: no turn is missing, so the damaged state was shown without a word.
#[test]
fn lines_that_cannot_be_read_any_more_make_a_session_no_smaller() {
    let stage = Stage::new();
    let (path, bytes, id) = imported(&stage);
    let shown = stage.run(&["show", &id]).ok().text();
    let calls = bytes.windows(11).position(|part| part == b"tool_result").expect("a result of a tool");
    let mut torn = bytes.clone();
    let end = calls + 11;
    let start = torn[..end].iter().rposition(|byte| *byte == b'\n').expect("not the first line") + 1;
    torn[start..end].fill(0);
    std::fs::write(&path, &torn).unwrap();
    stage.run(&["import"]).ok();
    for args in [&["show", &id][..], &["export", &id], &["log", &id]] {
        stage.run(args).ok().complains(&["was cut or damaged", "stemma recover"]);
    }
    assert_eq!(stage.run(&["show", &id]).ok().text(), shown);
    stage.run(&["recover", &id, "--replace"]).ok();
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
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
    // Once more it is the same file, and another one keeps its name.
    let again = stage.json(&["recover", &id]);
    assert_eq!((&again["files"][0]["what"], names(&path).len()), (&"beside".into(), 2), "{again}");
    std::fs::write(&beside, "somebody's own\n").unwrap();
    for _ in 0..2 {
        let second = stage.json(&["recover", &id])["files"][0]["path"].as_str().unwrap().to_owned();
        assert!(second.ends_with(".recovered-2.jsonl"), "{second}");
        assert_eq!(std::fs::read(second).unwrap(), bytes);
    }
    assert_eq!(std::fs::read(&beside).unwrap(), b"somebody's own\n");
    stage.run(&["import"]).ok();
    for name in names(&path).iter().filter(|name| name.contains(".recovered")) {
        std::fs::remove_file(path.with_file_name(name)).unwrap();
    }
    let told = stage.json(&["recover", name, "--replace"]);
    assert_eq!(told["files"][0]["what"], "replaced");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    assert_eq!(std::fs::read(told["files"][0]["kept"].as_str().unwrap()).unwrap(), damaged(&bytes));
    stage.run(&["doctor", name]).ok();
    assert_eq!(names(&path).len(), 2, "{:?}", names(&path));
}

/// Found in review: the copy that was recovered beside a transcript went before the one in its place was read.
#[test]
fn the_copy_beside_stays_until_the_one_in_its_place_is_read() {
    let stage = Stage::new();
    let (path, bytes, id) = imported(&stage);
    std::fs::write(&path, damaged(&bytes)).unwrap();
    stage.run(&["import"]).ok();
    stage.run(&["recover", &id]).ok();
    let beside = path.with_file_name(format!("{id}.recovered.jsonl"));
    stage.run(&["config", "set", "store.wait_ms", "20"]).ok();
    let store = rusqlite::Connection::open(stage.database()).unwrap();
    store.execute_batch("BEGIN IMMEDIATE").unwrap();
    // The file is in its place, and cannot be captured.
    let done = stage.run(&["recover", &id, "--replace"]);
    assert_ne!(done.code, 0, "{}", done.stderr);
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    assert!(beside.exists(), "{}", done.stderr);
}

/// A session of which the home screen says that it is only here is one that `recover` lists: also where something else took its place.
#[test]
fn the_home_screen_counts_what_recover_lists() {
    let stage = Stage::new();
    let (path, _, id) = imported(&stage);
    assert_eq!(stage.json(&["recover"])["sessions"].as_array().unwrap().len(), 0);
    assert!(!stage.told::<&str>(&[]).contains("only here"));
    std::fs::write(&path, "").unwrap();
    assert_eq!(stage.json(&["recover"])["sessions"][0]["session_id"], id.as_str());
    let told = stage.told::<&str>(&[]);
    assert!(told.contains("only here"), "{told}");
}

/// A transcript that was cut at a line's end loads without a word; lines that were there are missing all the same.
#[test]
fn a_transcript_that_lost_its_end_is_damaged_too() {
    let stage = Stage::new();
    let (path, bytes, id) = imported(&stage);
    let messages = stage.json(&["resume", &id, "--dry-run"])["messages"].clone();
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    // Read again or not, in lines or in the middle of one.
    for (is_read, cut) in [(false, 2), (true, 2), (true, 5)] {
        let whole = lines[..lines.len() - cut].concat();
        let left = if cut == 5 { &whole[..whole.len() - 20] } else { &whole };
        std::fs::write(&path, left).unwrap();
        if is_read {
            stage.run(&["import"]).ok();
        }
        stage.run(&["doctor", &id]).code(6).complains(&[&format!("`stemma recover {id}`")]);
        let placed = stage.json(&["resume", &id, "--dry-run"]);
        assert_eq!((&placed["own_session"], &placed["messages"]), (&false.into(), &messages), "{placed}");
        assert!(placed["copied_because"].as_str().unwrap().contains("is damaged"), "{placed}");
    }
    // The copy beside it is no session of its own, and what is replaced is the client's own file.
    assert_eq!(stage.json(&["recover", &id])["files"][0]["what"], "beside");
    stage.run(&["import"]).ok();
    assert_eq!(stage.json(&["list"])["sessions"].as_array().unwrap().len(), 1);
    let told = stage.json(&["recover", &id, "--replace"]);
    assert_eq!(told["files"][0]["what"], "replaced");
    assert!(told["files"][0]["damage"].as_str().unwrap().contains("lines"), "{told}");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    // Its client would list the session twice.
    assert!(names(&path).iter().all(|name| !name.contains(".recovered")), "{:?}", names(&path));
}

#[test]
fn secrets_stay_redacted() {
    let stage = Stage::new();
    let transcript = ClaudeSession::new(7).turns(2).build();
    let secret = "ghp_0123456789abcdefABCDEF0123456789abcd";
    let text = transcript.text();
    let word = text.split('"').find(|word| word.split(' ').count() > 3).unwrap().to_owned();
    let text = text.replacen(&word, &format!("{word} {secret}"), 1);
    let path = stage.home.write_session(&transcript);
    std::fs::write(&path, &text).unwrap();
    let session = stage.import(&path);
    let id = session["session_id"].as_str().unwrap();
    std::fs::remove_file(&path).unwrap();
    stage.run(&["recover", id]).ok().complains(&["1 secret stays redacted"]);
    let given = std::fs::read_to_string(&path).unwrap();
    assert_eq!(given, text.replace(secret, "[REDACTED:github-token]"));
}

/// A transcript that is one document: each state of it is a snapshot, and only the last one is the file.
#[test]
fn a_document_comes_back_as_it_was_last() {
    let stage = Stage::new();
    let say =
        |role: &str, content: serde_json::Value| serde_json::json!({ "role": role, "content": content });
    let call = serde_json::json!([{ "type": "tool_use", "id": "toolu_x", "name": "look", "input": {} }]);
    let seen = serde_json::json!([{ "type": "tool_result", "tool_use_id": "toolu_x", "content": "seen" }]);
    let mut messages = vec![say("user", "begin".into()), say("assistant", call), say("user", seen)];
    let mut path = std::path::PathBuf::new();
    let mut text = String::new();
    for answer in ["So it goes.", "And so it ends."] {
        messages.push(say("assistant", answer.into()));
        text = serde_json::to_string_pretty(&messages).unwrap();
        path = stage.home.write("home/project/talk.json", text.as_bytes());
        stage.import(&path);
        messages.push(say("user", "go on".into()));
    }
    std::fs::remove_file(&path).unwrap();
    let name = path.to_str().unwrap();
    stage.run(&["recover", name]).ok();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn the_transcripts_of_every_client_come_back_byte_for_byte() {
    for client in ["codex", "pi", "gemini"] {
        // Written by one store's client, and read by another store that knows nothing of it.
        let (from, stage) = (Stage::new(), Stage::new());
        let text = story::retry(from.home.project().to_str().unwrap()).text();
        let tip =
            from.import(&from.home.write("a.jsonl", text.as_bytes()))["tip"].as_str().unwrap().to_owned();
        let placed = from.json(&["fork", &tip, "--in", client, "--stop", "root"]);
        let place = Path::new(placed["path"].as_str().unwrap());
        let bytes = std::fs::read(place).unwrap();
        let below = place.strip_prefix(from.home.path()).unwrap();
        let path = stage.home.write(below.to_str().unwrap(), &bytes);
        stage.run(&["import"]).ok();
        let session = stage.json(&["list"])["sessions"][0].clone();
        assert_eq!(session["client"], client, "{session}");
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
        let id = session["session_id"].as_str().unwrap();
        let told = stage.json(&["recover", id]);
        assert_eq!(told["files"][0]["what"], "written", "{client}");
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "{client}");
        stage.run(&["doctor", path.to_str().unwrap()]).ok();
    }
}

/// What `doctor` calls lossy is what `recover` mends: a longer state that its client would load only in part is not given back.
#[test]
fn a_longer_state_that_loses_messages_is_not_given_back() {
    let stage = Stage::new();
    let (path, bytes, id) = imported(&stage);
    // Longer by lines that are no messages, and without most of the messages.
    let padding = "{\"type\":\"summary\",\"summary\":\"x\",\"leafUuid\":\"y\"}\n".repeat(200);
    let lossy = [damaged(&bytes).as_slice(), padding.as_bytes()].concat();
    std::fs::write(&path, &lossy).unwrap();
    stage.run(&["import"]).ok();
    let name = path.to_str().unwrap();
    let found = stage.run(&["doctor", name, "--json"]).code(6).json();
    assert_eq!((&found["ok"], &found["transcripts"][0]["recoverable"]), (&false.into(), &id.as_str().into()));
    stage.run(&["recover", &id, "--replace"]).ok();
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[test]
fn the_newest_session_of_the_directory_is_checked_repaired_and_recovered() {
    let stage = Stage::new();
    let text = story::retry(stage.home.project().to_str().unwrap()).text();
    let path = stage.home.write("home/.claude/projects/-p/a.jsonl", text.as_bytes());
    stage.import(&path);
    assert_eq!(stage.json(&["doctor", "@"])["transcripts"][0]["path"], path.to_str().unwrap());
    stage.run(&["repair", "@", "--out", "-"]).ok();
    std::fs::remove_file(&path).unwrap();
    stage.run(&["recover", "@"]).ok();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

/// A client that wrote another conversation under the same id leaves a transcript that loads without a word.
#[test]
fn an_overwritten_conversation_is_missed_listed_and_given_back() {
    let stage = Stage::new();
    let id = "5e1f0000-0000-4000-8000-0000000000a1";
    let made = |seed, turns| ClaudeSession::new(seed).turns(turns).session_id(id).build();
    let (first, second) = (made(11, 2), made(12, 6));
    let path = stage.home.write_session(&first);
    let bytes = std::fs::read(&path).unwrap();
    stage.import(&path);
    std::fs::write(&path, second.text()).unwrap();
    let name = path.to_str().unwrap();
    for is_read in [false, true] {
        if is_read {
            stage.run(&["import"]).ok();
        }
        let told = stage.run(&["doctor", name]).code(6);
        let text = told.text();
        assert!(text.contains("lines that were read before are missing"), "{text}");
        told.complains(&[&format!("`stemma recover {id}`")]);
    }
    assert_eq!(stage.json(&["list", "--all"])["sessions"].as_array().unwrap().len(), 2);
    let checked = stage.json(&["recover", id, "--dry-run"]);
    assert_eq!(checked["files"][0]["what"], "beside");
    let told = stage.json(&["recover", id, "--replace"]);
    assert_eq!(told["files"][0]["what"], "replaced");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    assert_eq!(
        std::fs::read(told["files"][0]["kept"].as_str().unwrap()).unwrap(),
        second.text().into_bytes()
    );
    // What was put back was read again: the other one is not put back in its place.
    stage.run(&["doctor", name]).ok();
    let again = stage.json(&["recover", id, "--replace"]);
    assert_eq!(again["files"][0]["what"], "intact", "{again}");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    assert!(stage.run(&["status"]).ok().text().contains("Everything is imported"));
    stage.run(&["import"]).ok();
    stage.run(&["doctor", name]).ok();
}

#[test]
fn a_transcript_that_was_emptied_or_is_something_else_now_is_missed() {
    for now in [&b""[..], b"hello\n", &[0; 4_096]] {
        let stage = Stage::new();
        let (path, bytes, id) = imported(&stage);
        std::fs::write(&path, now).unwrap();
        let name = path.to_str().unwrap();
        for is_read in [false, true] {
            if is_read {
                stage.run(&["import"]);
            }
            let told = stage.run(&["doctor", name]).code(6);
            told.complains(&[&format!("`stemma recover {id}`")]);
            stage.run(&["doctor", "--all"]).code(6);
            assert_eq!(stage.json(&["recover"])["sessions"][0]["session_id"], id.as_str(), "{now:?}");
            assert!(!stage.run(&["status"]).text().contains("not yet imported"), "{now:?}");
            let placed = stage.json(&["resume", &id, "--dry-run"]);
            assert_eq!(placed["own_session"], false, "{placed}");
        }
        assert_eq!(stage.json(&["recover", &id, "--replace"])["files"][0]["what"], "replaced");
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
        stage.run(&["doctor", name]).ok();
    }
}

/// What was written over shares its first turn with what is there now.
#[test]
fn a_conversation_that_was_overwritten_behind_its_beginning_is_listed_and_missed() {
    let stage = Stage::new();
    let id = "5e1f0000-0000-4000-8000-0000000000a1";
    let made = |seed, turns| ClaudeSession::new(seed).turns(turns).session_id(id).build();
    let first = made(11, 4);
    let path = stage.home.write_session(&first);
    stage.import(&path);
    let prompts = |text: &str| -> Vec<usize> {
        let is_prompt = |line: &str| line.contains("\"type\":\"user\"") && line.contains("\"content\":\"");
        text.lines().enumerate().filter(|(_, line)| is_prompt(line)).map(|(at, _)| at).collect()
    };
    let (old, other) = (first.text(), made(12, 6).text());
    let begun: String = old.lines().take(prompts(&old)[1]).map(|line| format!("{line}\n")).collect();
    std::fs::write(&path, begun + &other).unwrap();
    stage.run(&["import"]).ok();
    assert_eq!(stage.json(&["list", "--all"])["sessions"].as_array().unwrap().len(), 2);
    let missed = stage.json(&["recover"]);
    assert_eq!(missed["sessions"].as_array().unwrap().len(), 1, "{missed}");
    let status = stage.run(&["status"]).ok();
    assert!(status.text().contains("stemma recover"), "{}", status.text());
}

#[test]
fn a_transcript_that_was_moved_is_not_gone() {
    let stage = Stage::new();
    let (path, bytes, id) = imported(&stage);
    let folder = path.parent().unwrap();
    let moved = folder.with_file_name("-renamed");
    std::fs::rename(folder, &moved).unwrap();
    let now = moved.join(path.file_name().unwrap());
    // Also before it is imported again.
    assert_eq!(stage.json(&["status"])["only_here_sessions"], 0);
    assert_eq!(stage.json(&["recover", &id])["files"][0]["what"], "intact");
    assert_eq!(stage.json(&["recover"])["sessions"].as_array().unwrap().len(), 0);
    stage.run(&["import"]).ok();
    let listed = stage.json(&["list", "--all"]);
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(listed["sessions"][0]["path"], now.to_str().unwrap());
    assert!(!path.exists());
    assert_eq!(stage.native(&id), bytes);
}

#[test]
fn of_two_sessions_of_one_id_each_is_recovered_by_its_commit() {
    let stage = Stage::new();
    let id = "5e1f0000-0000-4000-8000-0000000000a1";
    let made = |seed, turns| ClaudeSession::new(seed).turns(turns).session_id(id).build().text();
    let mut all = Vec::new();
    for (project, text) in [("-p", made(11, 2)), ("-q", made(12, 6))] {
        let path = stage.home.write(&format!("home/.claude/projects/{project}/{id}.jsonl"), text.as_bytes());
        let tip = stage.import(&path)["tip"].as_str().unwrap().to_owned();
        all.push((path, text, tip));
    }
    for (path, ..) in &all {
        std::fs::remove_file(path).unwrap();
    }
    for name in [id, &id[..8]] {
        let told = stage.run(&["recover", name]).code(4);
        for (path, _, tip) in &all {
            assert!(
                told.stderr.contains(tip) && told.stderr.contains(path.to_str().unwrap()),
                "{}",
                told.stderr
            );
        }
    }
    for (path, text, tip) in &all {
        assert!(!path.exists());
        stage.run(&["recover", tip]).ok();
        assert_eq!(&std::fs::read_to_string(path).unwrap(), text);
    }
}

/// A transcript that was cut and read again: its id means all that the store has, in each command, and a note says so.
#[test]
fn a_session_whose_transcript_was_cut_means_all_that_was_read() {
    let stage = Stage::new();
    let session = stemmata_testkit::claude::ClaudeSession::new(5).turns(6).build();
    let text = session.text();
    let path = stage.home.write("home/.claude/projects/-p/s.jsonl", text.as_bytes());
    let id = stage.import(&path)["session_id"].as_str().unwrap().to_owned();
    let whole: Vec<String> = [&["show", &id][..], &["log", &id], &["export", &id], &["handoff", &id]]
        .iter()
        .map(|args| String::from_utf8(stage.run(args).ok().stdout).unwrap())
        .collect();
    let list = |stage: &Stage| stage.json(&["list", "--all"])["sessions"].as_array().unwrap().len();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    std::fs::write(&path, lines[..lines.len() / 2].concat()).unwrap();
    stage.run(&["import"]).ok();
    for (args, before) in
        [&["show", &id][..], &["log", &id], &["export", &id], &["handoff", &id]].iter().zip(&whole)
    {
        let told = stage.run(args).ok().complains(&["s.jsonl was cut", "stemma recover"]);
        assert_eq!(String::from_utf8(told.stdout).unwrap(), *before, "{args:?}");
    }
    assert_eq!(stage.json(&["list"])["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(list(&stage), 2);
    // Also where a point or a part of it is named.
    for args in [
        &["fork", &format!("{id}:5"), "--dry-run", "--here"][..],
        &["show", &format!("{id}:5")],
        &["show", &format!("{id}:2..4")],
        &["show", &format!("{id}:2-4")],
        &["export", &format!("{id}:2..4")],
        &["log", &format!("{id}~2")],
    ] {
        let told = stage.run(args).ok();
        assert_eq!(told.stderr.matches("s.jsonl was cut").count(), 1, "{args:?}: {}", told.stderr);
    }
    let doctor = stage.run(&["doctor", &id]);
    assert_eq!(doctor.code, 6, "{}", doctor.stderr);
    stage.run(&["recover", &id, "--replace"]).ok();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    let told = stage.run(&["show", &id]).ok();
    assert!(!told.stderr.contains("was cut"), "{}", told.stderr);
}

/// Found by a check: a session that went on behind a cut said nothing of what it lacks.
#[test]
fn a_session_that_went_on_behind_a_cut_names_what_has_the_rest() {
    let stage = Stage::new();
    let session = stemmata_testkit::claude::ClaudeSession::new(5).turns(6).build();
    let (text, longer) = (session.text(), stemmata_testkit::claude::ClaudeSession::new(5).turns(7).build());
    let path = stage.home.write("home/.claude/projects/-p/s.jsonl", text.as_bytes());
    let id = stage.import(&path)["session_id"].as_str().unwrap().to_owned();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let more: String = longer.text().split_inclusive('\n').skip(lines.len()).collect();
    std::fs::write(&path, lines[..lines.len() / 2].concat() + &more).unwrap();
    stage.run(&["import"]).ok();
    let listed = stage.json(&["list", "--all"]);
    let whole = listed["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["short_id"].as_str().is_some_and(|id| id.starts_with("ctx-")));
    let whole = whole.unwrap_or_else(|| panic!("{listed}"))["short_id"].as_str().unwrap();
    for args in [&["show", &id][..], &["fork", &format!("{id}:2"), "--here", "--dry-run"], &["export", &id]] {
        stage.run(args).ok().complains(&["was cut and went on", whole, "stemma recover"]);
    }
    // What was read before says nothing of it: it has everything.
    let told = stage.run(&["show", whole]).ok();
    assert!(!told.stderr.contains("was cut"), "{}", told.stderr);
}

/// Found by a check: of what is left of a first record no commit can be made, and the id of the session meant nothing then.
#[test]
fn a_session_whose_transcript_was_cut_within_its_first_record_means_all_that_was_read() {
    for reader in ["handoff", "import", "resume"] {
        let stage = Stage::new();
        let text = stemmata_testkit::claude::ClaudeSession::new(5).turns(6).build().text();
        let path = stage.home.write("home/.claude/projects/-p/s.jsonl", text.as_bytes());
        let id = stage.import(&path)["session_id"].as_str().unwrap().to_owned();
        let before = String::from_utf8(stage.run(&["show", &id]).ok().stdout).unwrap();
        std::fs::write(&path, &text.as_bytes()[..60]).unwrap();
        match reader {
            "import" => drop(stage.run(&["import"])),
            "resume" => drop(stage.run(&["resume", &id, "--print", "--here"]).ok()),
            _ => drop(stage.run(&["handoff", &id]).ok()),
        }
        for args in [
            &["export", &id][..],
            &["tree", &id],
            &["materialize", &id, "--out", "-"],
            &["handoff", &id],
            &["guard", &id],
            &["current", &id],
            &["resume", &id, "--print", "--here"],
            &["fork", &id, "--print", "--here"],
        ] {
            stage.run(args).ok();
        }
        let shown = stage.run(&["show", &id]).ok().complains(&["s.jsonl was cut", "stemma recover"]);
        assert_eq!(String::from_utf8(shown.stdout).unwrap(), before, "{reader}");
        stage.run(&["recover", &id, "--replace"]).ok();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "{reader}");
    }
}
