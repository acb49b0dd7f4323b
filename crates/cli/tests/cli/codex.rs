//! Codex rollouts as they are found: forks by pointer, packed files, compactions that nobody else can read, reports that cannot be.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::stage::Stage;

const PARENT: &str = "01a20000-0000-7000-8000-0000000000b1";
const CHILD: &str = "01a20000-0000-7000-8000-0000000000b2";
const GRANDCHILD: &str = "01a20000-0000-7000-8000-0000000000b3";

/// A numbered rollout that grows line by line.
struct Rollout {
    text: String,
    ordinal: u64,
}

impl Rollout {
    fn new(id: &str, base: Option<(&str, &Self)>) -> Self {
        let ordinal = base.map_or(0, |(_, base)| base.ordinal);
        let mut header = json!({
            "id": id, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/srv/mill", "originator": "codex",
            "cli_version": "0.169.0", "model_provider": "openai", "history_mode": "paginated",
        });
        if let Some((thread, base)) = base {
            header["history_base"] = json!({
                "thread_id": thread, "end_ordinal_exclusive": base.ordinal, "end_byte_offset": base.text.len(),
            });
        }
        Self { text: String::new(), ordinal }.line("session_meta", &header)
    }

    fn line(mut self, kind: &str, payload: &Value) -> Self {
        let (at, ordinal) = (format!("2026-01-01T00:00:{:02}.000Z", self.ordinal % 60), self.ordinal);
        let line = json!({"timestamp": at, "ordinal": ordinal, "type": kind, "payload": payload});
        self.text.push_str(&line.to_string());
        self.text.push('\n');
        self.ordinal += 1;
        self
    }

    fn said(self, role: &str, text: &str) -> Self {
        let kind = if role == "user" { "input_text" } else { "output_text" };
        self.line(
            "response_item",
            &json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}),
        )
    }

    fn turn(self, name: &str) -> Self {
        let begun = self.line("event_msg", &json!({"type": "task_started", "turn_id": name}));
        begun.said("user", &format!("look at {name}")).said("assistant", &format!("{name} is fine"))
    }

    /// What the provider reports with an answer.
    fn usage(self, input: u64, window: u64) -> Self {
        let last = json!({"input_tokens": input, "output_tokens": 10});
        let info = json!({"last_token_usage": last, "model_context_window": window});
        self.line("event_msg", &json!({"type": "token_count", "info": info}))
    }
}

fn place(stage: &Stage, id: &str, bytes: &[u8], end: &str) -> PathBuf {
    let name = format!("home/.codex/sessions/2026/01/01/rollout-2026-01-01T00-00-00-{id}.jsonl{end}");
    stage.home.write(&name, bytes)
}

/// Packs bytes without making them smaller: one frame of blocks that are what they hold.
fn packed(bytes: &[u8]) -> Vec<u8> {
    let size = u32::try_from(bytes.len()).unwrap();
    let mut out = [&[0x28, 0xb5, 0x2f, 0xfd, 0xa0][..], &size.to_le_bytes()].concat();
    let blocks: Vec<&[u8]> = bytes.chunks(100_000).collect();
    for (number, block) in blocks.iter().enumerate() {
        let is_last = u32::from(number + 1 == blocks.len());
        let header = (u32::try_from(block.len()).unwrap() << 3) | is_last;
        out.extend(header.to_le_bytes().iter().take(3));
        out.extend(*block);
    }
    out
}

fn checked(stage: &Stage, path: &Path) -> (i32, Value) {
    let said = stage.run(&["doctor", path.to_str().unwrap(), "--json"]);
    let answer: Value = serde_json::from_slice(&said.stdout).unwrap();
    (said.code, answer["transcripts"][0].clone())
}

#[test]
fn a_fork_by_pointer_is_healthy_as_long_as_its_parents_are() {
    let stage = Stage::new();
    let parent = Rollout::new(PARENT, None).turn("wheel").turn("race");
    let child = Rollout::new(CHILD, Some((PARENT, &parent))).turn("stone");
    let grandchild = Rollout::new(GRANDCHILD, Some((CHILD, &child))).turn("sack");
    let grown = parent.text.clone() + &Rollout { text: String::new(), ordinal: 8 }.turn("later").text;
    let parent_path = place(&stage, PARENT, grown.as_bytes(), "");
    let child_path = place(&stage, CHILD, child.text.as_bytes(), "");
    let path = place(&stage, GRANDCHILD, grandchild.text.as_bytes(), "");
    let said = stage.run(&["doctor", "--all"]).code(0);
    said.complains(&["3 transcripts checked: OK"]);
    let (code, found) = checked(&stage, &path);
    assert_eq!((code, &found["messages_sent"], &found["findings"]), (0, &8.into(), &json!([])), "{found}");
    stage.run(&["repair", path.to_str().unwrap(), "--dry-run"]).ok().complains(&["nothing to repair"]);
    // Packed it is the same file.
    std::fs::remove_file(&parent_path).unwrap();
    let zst = place(&stage, PARENT, &packed(grown.as_bytes()), ".zst");
    assert_eq!(checked(&stage, &child_path).0, 0);
    std::fs::remove_file(zst).unwrap();
    let short = &parent.text.as_bytes()[..parent.text.len() - 1];
    for (bytes, reason) in [
        (None, "whose transcript is not there"),
        (Some(short.to_vec()), "has only"),
        (Some(grown.replace("look at wheel", "look at the wheel").into_bytes()), "was rewritten"),
    ] {
        if let Some(bytes) = bytes {
            place(&stage, PARENT, &bytes, "");
        }
        for path in [&child_path, &path] {
            let (code, found) = checked(&stage, path);
            let finding = &found["findings"][0];
            assert_eq!((code, &finding["severity"]), (6, &"fatal".into()), "{found}");
            assert!(finding["message"].as_str().unwrap().contains(reason), "{reason}: {found}");
        }
    }
}

#[test]
fn a_session_that_codex_packed_is_there() {
    let stage = Stage::new();
    let rollout = Rollout::new(PARENT, None).turn("wheel");
    let path = place(&stage, PARENT, rollout.text.as_bytes(), "");
    stage.run(&["import"]).ok();
    std::fs::remove_file(&path).unwrap();
    let packed = place(&stage, PARENT, &packed(rollout.text.as_bytes()), ".zst");
    stage.run(&["import"]).ok();
    let status = stage.run(&["status"]).ok().text();
    assert!(!status.contains("only here"), "{status}");
    let told = stage.run(&["recover", PARENT]).ok();
    assert!(told.text().contains("is there"), "{}", told.text());
    assert_eq!(stage.run(&["doctor", PARENT]).ok().text().matches("all 2 messages").count(), 1);
    assert!(!path.exists() && packed.exists());
    std::fs::remove_file(packed).unwrap();
    let recovered = stage.run(&["recover", PARENT]).ok().text();
    assert!(recovered.contains("Recovered"), "{recovered}");
}

#[test]
fn what_an_encrypted_compaction_stands_for_leaves_with_the_context() {
    let kept = json!([
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "look at early"}]},
        {"type": "compaction", "encrypted_content": "gAAAAAbbbb"},
    ]);
    let compaction = |message: &str| json!({"message": message, "replacement_history": kept});
    for (message, is_sealed) in [("", true), ("The early one was fine.", false)] {
        let stage = Stage::new();
        let rollout =
            Rollout::new(PARENT, None).turn("early").line("compacted", &compaction(message)).turn("late");
        let path = place(&stage, PARENT, rollout.text.as_bytes(), "");
        let tip = stage.import(&path)["tip"].as_str().unwrap().to_owned();
        let told = stage.run(&["handoff", &tip]).ok();
        assert_eq!(told.text().contains("early is fine"), is_sealed, "{}", told.text());
        assert_eq!(told.stderr.contains("only the provider can read"), is_sealed, "{}", told.stderr);
        let moved = stage.run(&["materialize", &tip, "--format", "claude-code-v1", "--out", "-"]).ok();
        assert_eq!(moved.text().contains("early is fine"), is_sealed, "{}", moved.text());
        assert!(moved.text().contains("late is fine"));
        // The client that has the key goes on from its own compaction, and so does its window.
        let own = stage.run(&["materialize", &tip, "--out", "-"]).ok();
        assert!(!own.text().contains("early is fine") && own.text().contains("gAAAAAbbbb"), "{}", own.text());
        assert_eq!(stage.json(&["guard", &tip, "--window", "1000"])["items"].as_array().unwrap().len(), 3);
    }
}

#[test]
fn a_reported_size_that_no_window_can_have_is_left_aside() {
    let long = "the mill race is long ".repeat(400);
    let of = |reports: [u64; 2]| {
        let stage = Stage::new();
        let rollout = Rollout::new(PARENT, None).turn("wheel").usage(reports[0], 570_000);
        let rollout = rollout.said("user", &long).said("assistant", "ok").usage(reports[1], 570_000);
        let path = place(&stage, PARENT, rollout.text.as_bytes(), "");
        let tip = stage.import(&path)["tip"].as_str().unwrap().to_owned();
        let report = stage.json(&["guard", &tip]);
        let notes = report["notes"].to_string().contains("left aside");
        (
            report["zone"].as_str().unwrap().to_owned(),
            report["tokens_from"].clone(),
            report["tokens"].as_u64().unwrap(),
            notes,
        )
    };
    let (zone, from, tokens, is_noted) = of([6_000, 4_279_000]);
    assert_eq!((zone.as_str(), from, is_noted), ("safe", "usage".into(), true));
    assert!((8_000..10_000).contains(&tokens), "an earlier report and a count: {tokens}");
    let (zone, from, tokens, is_noted) = of([4_279_000, 4_279_000]);
    assert_eq!((zone.as_str(), from, is_noted), ("safe", "count".into(), true));
    assert!((2_000..3_000).contains(&tokens), "{tokens}");
    // The first is near enough to what was said until then; what follows is counted.
    let (_, from, tokens, is_noted) = of([3, 3]);
    assert_eq!((from, is_noted), ("usage".into(), true));
    assert!((2_000..3_000).contains(&tokens), "{tokens}");
    let (_, from, tokens, is_noted) = of([6_000, 9_000]);
    assert_eq!((from, tokens, is_noted), ("usage".into(), 9_010, false));
}

/// A compressed rollout may be cut, or nothing that can be unpacked: every command names it, with how far that can be read.
#[test]
fn a_damaged_compressed_rollout_is_named() {
    for (is_cut, said) in [(true, "is damaged"), (false, "ends after 0 bytes (0 lines)")] {
        let stage = Stage::new();
        let mut rollout = Rollout::new(PARENT, None);
        for number in 0..1_000 {
            rollout = rollout.said("user", &format!("turn the wheel {number} times"));
        }
        let whole = packed(rollout.text.as_bytes());
        let bytes = if is_cut { whole[..whole.len() / 2].to_vec() } else { b"no frame at all".to_vec() };
        let path = place(&stage, PARENT, &bytes, ".zst");
        let file = path.to_str().unwrap();
        for args in [
            &["status"] as &[&str],
            &["setup", "--dry-run"],
            &["doctor", "--all"],
            &["doctor", file],
            &["import"],
        ] {
            let told = stage.told(args);
            assert!(told.contains(said) && told.contains("lines)"), "{args:?}: {told}");
            assert!(!told.contains("Everything is imported"), "{args:?}: {told}");
        }
        stage.run(&["doctor", file]).code(6);
        // What was read of a whole one before stays, and is given back.
        std::fs::remove_file(&path).unwrap();
        place(&stage, PARENT, &whole, ".zst");
        stage.run(&["import"]).ok();
        place(&stage, PARENT, &bytes, ".zst");
        let told = stage.told(&["status"]);
        assert!(told.contains(said) && !told.contains("only here"), "{told}");
        assert_eq!(stage.json(&["list"])["sessions"].as_array().unwrap().len(), 1);
    }
}
