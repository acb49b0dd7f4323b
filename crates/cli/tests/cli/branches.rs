//! Two clients that wrote one transcript: what the other one said is found, drawn and continued.

use serde_json::json;

use crate::stage::Stage;

const SESSION: &str = "b4a9c400-0000-4000-8000-000000000001";

/// Two turns that both share, and three turns of each, whose records come by turns.
fn two_writers(cwd: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut ends = vec![None::<String>; 2];
    let mut say = |writer: usize, kind: &str, text: &str, at: usize, ends: &mut Vec<Option<String>>| {
        let drawn = if kind == "user" { "a1c" } else { "d5e" };
        let uuid = format!("b{writer}{at:02}{drawn}0-7f1e-4c8e-9d1a-0b7e6f4a2c{at:02}");
        let content = match kind {
            "user" => json!(text),
            _ => json!([{ "type": "text", "text": format!("Answer to {text}") }]),
        };
        let record = json!({
            "parentUuid": ends[writer], "isSidechain": false, "type": kind, "uuid": uuid, "cwd": cwd, "sessionId": SESSION,
            "version": "2.1.330", "timestamp": format!("2026-03-09T09:{at:02}:0{writer}.000Z"),
            "message": { "role": kind, "content": content, "id": format!("msg_{uuid}"), "stop_reason": "end_turn" },
        });
        lines.push(record.to_string());
        ends[writer] = Some(uuid);
    };
    for (at, text) in ["base zero", "base one"].into_iter().enumerate() {
        say(0, "user", text, at, &mut ends);
        say(0, "assistant", text, at, &mut ends);
    }
    let first = ends[0].clone();
    ends[1].clone_from(&first);
    for number in 0..3 {
        for kind in ["user", "assistant"] {
            say(0, kind, &format!("left {number}"), 2 + number, &mut ends);
            say(1, kind, &format!("right {number}"), 2 + number, &mut ends);
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn what_another_branch_says_is_found_drawn_and_continued() {
    let stage = Stage::new();
    let cwd = stage.home.project().to_str().unwrap().to_owned();
    let folder = stemmata_testkit::home::slug(&cwd);
    let path = stage
        .home
        .write(&format!("home/.claude/projects/{folder}/{SESSION}.jsonl"), two_writers(&cwd).as_bytes());
    stage.import(&path);
    // A hit on the way to the end is resumed as ever.
    let right = stage.run(&["search", "right 2", "-n", "1"]).ok();
    assert!(right.stderr.contains("`stemma resume ctx-"), "{}", right.stderr);
    let left = stage.run(&["search", "Answer to left 1", "-n", "1"]).ok();
    let hint =
        left.stderr.split("`stemma fork ").nth(1).expect("a hint").split('`').next().unwrap().to_owned();
    let (session, entry) = hint.split_once(" --at ").expect("an entry");
    assert!(SESSION.starts_with(session), "{hint}");
    // Checked and written, it is two turns of both and two of that branch.
    let checked = stage.json(&["fork", session, "--at", entry, "--dry-run"]);
    let placed = stage.json(&["fork", session, "--at", entry]);
    assert_eq!((&checked["messages"], &placed["messages"]), (&json!(8), &json!(8)), "{checked}");
    let text = std::fs::read_to_string(placed["path"].as_str().unwrap()).unwrap();
    assert!(text.contains("left 1") && !text.contains("right") && !text.contains("left 2"), "{text}");
    // Both branches leave the trunk where they began.
    let tree = stage.run(&["tree", SESSION]).ok().text();
    let rows: Vec<String> = tree
        .lines()
        .filter_map(|line| {
            let words =
                ["base zero", "base one", "left 0", "left 1", "left 2", "right 0", "right 1", "right 2"];
            let word = words.iter().find(|word| line.contains(**word))?;
            let left: String = line.chars().take_while(|char| " │├─●○".contains(*char)).collect();
            Some(format!("{left}{word}"))
        })
        .collect();
    let wanted =
        ["● base zero", "● base one", "├─● left 0", "│ ● left 1", "│ ● left 2", "● right 0", "● right 1"];
    assert_eq!(rows.get(1..wanted.len() + 1), Some(&wanted.map(str::to_owned)[..]), "{tree}");
    // Nothing is wrong with it.
    let told = stage.run(&["doctor", path.to_str().unwrap()]).ok();
    assert!(told.text().contains("6 messages on another branch"), "{}", told.text());
}
