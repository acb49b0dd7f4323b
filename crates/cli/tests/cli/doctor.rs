//! `doctor`: what a client would make of a transcript, in words and as JSON.

use serde_json::json;
use stemmata_testkit::claude::ClaudeSession;

use crate::stage::Stage;
use crate::widths::WITH_ERRORS;

#[test]
fn a_transcript_that_a_client_would_lose_half_of_is_told_with_lines() {
    let stage = Stage::new();
    let lines = ClaudeSession::new(7).turns(2).build().lines;
    let sound = stage.home.write("sound.jsonl", (lines.join("\n") + "\n").as_bytes());
    let said = stage.run(&["doctor", sound.to_str().unwrap(), "--client-version", "2.1.330"]).ok();
    assert!(said.text().contains("the client would send all"), "{}", said.text());
    // Without its parent the last answer hangs in the air, and what is before it is lost without a word.
    let mut broken = lines.clone();
    let last = broken.last_mut().unwrap();
    let mut record: serde_json::Value = serde_json::from_str(last).unwrap();
    record.as_object_mut().unwrap().remove("parentUuid");
    *last = record.to_string();
    let broken = stage.home.write("broken.jsonl", (broken.join("\n") + "\n").as_bytes());
    let told = stage.run(&["doctor", broken.to_str().unwrap(), "--client-version", "2.1.39"]).code(6);
    assert!(told.text().contains("fatal: line") && told.text().contains("silently drop"), "{}", told.text());
    let found = stage
        .run(&[
            "doctor",
            broken.to_str().unwrap(),
            sound.to_str().unwrap(),
            "--client-version",
            "2.1.39",
            "--json",
        ])
        .code(6)
        .json();
    assert_eq!((&found["ok"], found["transcripts"].as_array().unwrap().len()), (&json!(false), 2));
    assert_eq!(found["transcripts"][0]["findings"][0]["severity"], "fatal");
    // A rollout without its header is refused by the client.
    let item = json!({ "timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": { "type": "message",
        "role": "user", "content": [{ "type": "input_text", "text": "hi" }] } });
    let rollout = stage.home.write("rollout.jsonl", format!("{item}\n").as_bytes());
    let told = stage.run(&["doctor", rollout.to_str().unwrap()]).code(6);
    assert!(told.text().contains("not a session header"), "{}", told.text());
    stage.run(&["doctor", "nobody-knows-this"]).code(3).complains(&["matches `nobody-knows-this`", "hint:"]);
    // One of many that cannot be read does not silence the others.
    let empty = stage.home.write("empty.jsonl", b"");
    let all = [&empty, &sound, &broken].map(|path| path.to_str().unwrap());
    let told = stage.run(&["doctor", all[0], all[1]]).code(1).complains(&["empty.jsonl", "it is empty"]);
    assert!(told.text().contains("sound.jsonl"), "{}", told.text());
    stage.run(&["doctor", all[0], all[2], "--client-version", "2.1.39"]).code(6);
    // A newer client finds the parent again: what only the old one loses is a note.
    let told = stage.run(&["doctor", all[2]]).ok();
    assert!(told.text().contains("note: version 2.1.39, which wrote it, would load"), "{}", told.text());
    assert!(told.stderr.contains("1 transcript checked: OK"), "{}", told.stderr);
    stage.run(&["doctor", all[0]]).code(1);
}

/// Found in use: `doctor` judged by the newest loader, `resume` by the version that wrote the session.
#[test]
fn doctor_and_resume_count_the_same_messages() {
    let stage = crate::shown::examples();
    let told = stage.json(&["doctor", WITH_ERRORS]);
    let sent = &told["transcripts"][0]["messages_sent"];
    for args in [
        &["resume", WITH_ERRORS, "--dry-run", "--here"][..],
        &["resume", WITH_ERRORS, "--dry-run", "--here", "--copy"],
        &["fork", WITH_ERRORS, "--dry-run"],
    ] {
        assert_eq!(&stage.json(args)["messages"], sent, "{args:?}");
    }
    // What an old version would lose is nothing to act on, and the note says so.
    let text = stage.run(&["doctor", WITH_ERRORS]).ok().text();
    assert!(text.contains("which wrote it, would load") && text.contains("nothing to do unless"), "{text}");
}

#[test]
fn a_session_with_two_copies_means_the_best_one() {
    let stage = Stage::new();
    let lines = ClaudeSession::new(7).turns(2).build().lines;
    let one = lines.join("\n") + "\n";
    let two = one.replace("2.1.39", "2.1.40");
    assert_ne!(one, two);
    stage.import(&stage.home.write("one.jsonl", one.as_bytes()));
    let session = stage.import(&stage.home.write("two.jsonl", two.as_bytes()));
    let id = session["session_id"].as_str().unwrap();
    for command in ["doctor", "repair"] {
        let told = stage.run(&[command, id]).ok().text();
        assert!(told.contains("one.jsonl") || told.contains("two.jsonl"), "{told}");
    }
}

#[test]
fn a_transcript_that_only_the_store_still_has_is_told_with_the_way_back() {
    let stage = Stage::new();
    let text = ClaudeSession::new(7).turns(2).build().lines.join("\n") + "\n";
    let path = stage.home.write("gone.jsonl", text.as_bytes());
    let session = stage.import(&path);
    let (id, tip) = (session["session_id"].as_str().unwrap(), session["tip"].as_str().unwrap());
    std::fs::remove_file(&path).unwrap();
    for command in ["doctor", "repair"] {
        for given in [id, tip, path.to_str().unwrap()] {
            let said = stage.run(&[command, given]).code(3);
            said.complains(&["gone.jsonl is gone", "the store has all", &format!("`stemma recover {tip}`")]);
        }
    }
    assert_eq!(stage.native(tip), text.as_bytes());
}
