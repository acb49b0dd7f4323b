//! A small session written out line by line, so that its ids never change unless its lines do.
//! Not for volume: the testkit makes up sessions of any size.

use serde_json::{Value, json};

pub(crate) const SESSION: &str = "5e55104e-0000-4000-8000-000000000001";

/// The lines of a transcript under way.
pub(crate) struct Story {
    session: String,
    cwd: String,
    lines: Vec<String>,
    last: Option<String>,
    number: u32,
}

impl Story {
    pub(crate) fn new(session: &str, cwd: &str) -> Self {
        Self { session: session.to_owned(), cwd: cwd.to_owned(), lines: Vec::new(), last: None, number: 0 }
    }

    fn push(&mut self, mut record: Value) -> String {
        self.number += 1;
        let uuid = format!(
            "e{:07}-0000-4000-8000-{}",
            self.number,
            self.session.get(24..36).unwrap_or("000000000000")
        );
        let fields = record.as_object_mut().expect("an object");
        fields.entry("parentUuid").or_insert(json!(self.last));
        fields.insert("isSidechain".into(), json!(false));
        fields.insert("userType".into(), json!("external"));
        fields.insert("cwd".into(), json!(self.cwd));
        fields.insert("sessionId".into(), json!(self.session));
        fields.insert("version".into(), json!("2.1.39"));
        fields.insert("gitBranch".into(), json!("retry"));
        fields.insert("uuid".into(), json!(uuid));
        fields.insert("timestamp".into(), json!(format!("2026-03-09T09:{:02}:00.000Z", self.number)));
        self.lines.push(record.to_string());
        self.last = Some(uuid.clone());
        uuid
    }

    pub(crate) fn user(&mut self, text: &str) -> &mut Self {
        self.push(json!({"type": "user", "message": {"role": "user", "content": text}}));
        self
    }

    pub(crate) fn assistant(&mut self, text: &str) -> &mut Self {
        let content = json!([{"type": "text", "text": text}]);
        self.answer(&content, "end_turn");
        self
    }

    fn answer(&mut self, content: &Value, stop_reason: &str) {
        let id = format!("msg_{:02}", self.number);
        self.push(json!({"type": "assistant", "requestId": format!("req_{:02}", self.number), "message": {
            "id": id, "type": "message", "role": "assistant", "model": "claude-test",
            "content": content, "stop_reason": stop_reason, "stop_sequence": null,
            "usage": {"input_tokens": 10, "output_tokens": 20},
        }}));
    }

    pub(crate) fn tool(&mut self, command: &str, output: &str) -> &mut Self {
        let id = format!("toolu_{:02}", self.number);
        self.answer(
            &json!([{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}]),
            "tool_use",
        );
        self.push(json!({"type": "user", "message": {"role": "user", "content": [
            {"tool_use_id": id, "type": "tool_result", "content": output, "is_error": false}
        ]}, "toolUseResult": {"stdout": output, "stderr": "", "interrupted": false, "isImage": false}}));
        self
    }

    pub(crate) fn writes(&mut self, path: &str, content: &str) -> &mut Self {
        let id = format!("toolu_{:02}", self.number);
        let input = json!({"file_path": path, "content": content});
        self.answer(&json!([{"type": "tool_use", "id": id, "name": "Write", "input": input}]), "tool_use");
        self.push(json!({"type": "user", "message": {"role": "user", "content": [
            {"tool_use_id": id, "type": "tool_result", "content": "written"}
        ]}, "toolUseResult": {"type": "create", "filePath": path, "content": content}}));
        self
    }

    pub(crate) fn compacted(&mut self, summary: &str) -> &mut Self {
        let before = self.last.clone();
        self.push(
            json!({"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted",
            "isMeta": false, "level": "info", "parentUuid": null, "logicalParentUuid": before,
            "compactMetadata": {"trigger": "manual", "preTokens": 1000}}),
        );
        self.push(json!({"type": "user", "isVisibleInTranscriptOnly": true, "isCompactSummary": true,
            "message": {"role": "user", "content": summary}}));
        self
    }

    pub(crate) fn text(&self) -> String {
        let mut text = self.lines.join("\n");
        text.push('\n');
        text
    }

    pub(crate) fn lines(&self) -> &[String] {
        &self.lines
    }
}

/// Returns a session of two turns, a compaction and a third turn.
pub(crate) fn retry(cwd: &str) -> Story {
    let mut story = Story::new(SESSION, cwd);
    story
        .user("Fix the retry loop: it never stops when the server is gone")
        .assistant("I look at the loop first.")
        .tool("grep -n retry src/client.rs", "41:    loop { // retry")
        .assistant("It retries for ever. I add a limit of five tries.")
        .user("Good, and wait between the tries")
        .tool("cargo test", "test result: ok. 7 passed")
        .assistant("Now it waits 100 ms, doubling each time.")
        .compacted("This session is being continued: the retry loop has a limit and waits.")
        .user("Write it into the changelog")
        .assistant("Done.");
    story
}

/// Has somebody say one more thing in a session of Claude Code.
pub(crate) fn go_on(path: impl AsRef<std::path::Path>) {
    let mut text = std::fs::read_to_string(&path).expect("a file");
    let with_id = |line: &&str| line.contains("\"uuid\"");
    let mut record: Value =
        serde_json::from_str(text.lines().rev().find(with_id).expect("a record")).expect("JSON");
    let fields = record.as_object_mut().expect("an object");
    let before = fields["uuid"].clone();
    for (field, value) in [
        ("parentUuid", before),
        ("uuid", json!("f0000001-0000-4000-8000-000000000001")),
        ("type", json!("user")),
        ("message", json!({"role": "user", "content": "And one thing more"})),
        ("timestamp", json!("2026-03-10T09:00:00.000Z")),
    ] {
        fields.insert(field.to_owned(), value);
    }
    text.extend([record.to_string().as_str(), "\n"]);
    std::fs::write(path, text).expect("written");
}
