//! Made-up conversations with branches, parallel calls and compactions, and what should be left of them.
//!
//! Only for tests of this folder. Unlike `samples`, the links are free; the lines say little else.

use serde_json::{Value, json};

use super::samples_tests::uuid;

/// Lines of a transcript in the making.
#[derive(Debug, Clone, Default)]
pub(crate) struct Story {
    lines: Vec<Value>,
    seconds: u64,
}

impl Story {
    /// Returns the transcript.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect()
    }

    /// Returns how many lines there are: the number of the next one.
    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Lets time pass, so that nothing stands close enough together to be found by its time.
    pub(crate) fn wait(&mut self) {
        self.seconds += 60;
    }

    /// Appends any line and returns its number.
    pub(crate) fn push(&mut self, line: Value) -> usize {
        self.lines.push(line);
        self.lines.len() - 1
    }

    /// Appends a line of the tree, below a line, and returns its number.
    pub(crate) fn node(&mut self, parent: Option<usize>, mut line: Value) -> usize {
        let number = self.lines.len();
        self.seconds += 1;
        let (hours, minutes, seconds) = (self.seconds / 3600, self.seconds / 60 % 60, self.seconds % 60);
        let fields = json!({ "parentUuid": parent.map(uuid), "isSidechain": false, "cwd": "/work/project/sub",
            "sessionId": "11111111-2222-4333-8444-555555555555", "version": "2.1.330", "gitBranch": "main",
            "uuid": uuid(number), "timestamp": format!("2026-01-01T{hours:02}:{minutes:02}:{seconds:02}.000Z") });
        let (Value::Object(line_fields), Value::Object(fields)) = (&mut line, fields) else {
            panic!("lines are objects");
        };
        for (name, value) in fields {
            line_fields.entry(name).or_insert(value);
        }
        self.push(line)
    }

    pub(crate) fn prompt(&mut self, parent: Option<usize>) -> usize {
        let text = format!("prompt {}", self.len());
        self.node(parent, json!({ "type": "user", "message": { "role": "user", "content": text } }))
    }

    pub(crate) fn answer(&mut self, parent: usize) -> usize {
        let content = json!([{ "type": "text", "text": format!("answer {}", self.len()) }]);
        let message = format!("msg_{}", self.len());
        self.assistant(parent, &message, &content)
    }

    /// A line of the message `message` that makes a call named after the line.
    pub(crate) fn call(&mut self, parent: usize, message: &str) -> usize {
        let id = format!("toolu_{}", self.len());
        self.assistant(
            parent,
            message,
            &json!([{ "type": "tool_use", "id": id, "name": "Bash", "input": {} }]),
        )
    }

    fn assistant(&mut self, parent: usize, message: &str, content: &Value) -> usize {
        self.node(
            Some(parent),
            json!({ "type": "assistant", "message": { "id": message, "role": "assistant", "content": content } }),
        )
    }

    /// The result of a call, which stands below its line.
    pub(crate) fn result(&mut self, call: usize) -> usize {
        self.result_below(call, call)
    }

    pub(crate) fn result_below(&mut self, parent: usize, call: usize) -> usize {
        let content =
            json!([{ "type": "tool_result", "tool_use_id": format!("toolu_{call}"), "content": "ok" }]);
        self.node(Some(parent), json!({ "type": "user", "message": { "role": "user", "content": content } }))
    }

    pub(crate) fn progress(&mut self, parent: usize) -> usize {
        self.node(Some(parent), json!({ "type": "progress", "data": { "type": "bash_progress" } }))
    }

    pub(crate) fn system(&mut self, parent: usize) -> usize {
        self.node(Some(parent), json!({ "type": "system", "subtype": "turn_duration", "durationMs": 5 }))
    }

    pub(crate) fn meta(&mut self, parent: usize) -> usize {
        let message = json!({ "role": "user", "content": "a note of the runtime" });
        self.node(Some(parent), json!({ "type": "user", "isMeta": true, "message": message }))
    }

    /// Boundary and summary; returns the summary's number.
    pub(crate) fn compaction(&mut self, last: usize, kept: &[usize]) -> usize {
        let boundary = self.boundary(last, kept);
        self.summary(boundary)
    }

    pub(crate) fn boundary(&mut self, last: usize, kept: &[usize]) -> usize {
        let anchor = uuid(self.len() + 1);
        let uuids: Vec<String> = kept.iter().copied().map(uuid).collect();
        let mut metadata = json!({ "trigger": "manual", "preTokens": 100 });
        if !kept.is_empty() {
            metadata["preservedMessages"] =
                json!({ "anchorUuid": anchor, "uuids": uuids, "allUuids": uuids });
        }
        self.node(
            None,
            json!({ "type": "system", "subtype": "compact_boundary", "content": "Conversation compacted",
                "logicalParentUuid": uuid(last), "compactMetadata": metadata }),
        )
    }

    pub(crate) fn summary(&mut self, boundary: usize) -> usize {
        let message = json!({ "role": "user", "content": "what happened so far" });
        self.node(Some(boundary), json!({ "type": "user", "isCompactSummary": true, "message": message }))
    }

    pub(crate) fn checkpoint(&mut self, leaf: usize, explicit: bool) -> usize {
        let mut line = json!({ "type": "last-prompt", "leafUuid": uuid(leaf), "lastPrompt": "x" });
        if explicit {
            line["explicit"] = json!(true);
        }
        self.push(line)
    }

    /// File history about a line.
    pub(crate) fn about(&mut self, line: usize) -> usize {
        self.push(json!({ "type": "file-history-snapshot", "messageId": uuid(line), "snapshot": {} }))
    }

    /// Writes a line last that was said before.
    pub(crate) fn late(&mut self, line: usize) {
        let line = self.lines.remove(line);
        self.lines.push(line);
    }

    /// Writes a line once more.
    pub(crate) fn again(&mut self, line: usize) {
        self.lines.push(self.lines[line].clone());
    }

    /// Writes the last line first.
    pub(crate) fn reverse(&mut self) {
        self.lines.reverse();
    }

    /// Changes a field of a line.
    pub(crate) fn set(&mut self, line: usize, field: &str, value: Value) {
        self.lines[line][field] = value;
    }
}

/// Returns the numbers of the lines that some bytes hold, in order; metadata by what it speaks of.
pub(crate) fn numbers(bytes: &[u8]) -> Vec<usize> {
    let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines.filter_map(|line| number(&serde_json::from_slice(line).ok()?, "uuid")).collect()
}

/// Returns the parents that the lines of some bytes name.
pub(crate) fn parents(bytes: &[u8]) -> Vec<(usize, Option<usize>)> {
    let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    let values = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    values.filter_map(|line| Some((number(&line, "uuid")?, number(&line, "parentUuid")))).collect()
}

fn number(line: &Value, field: &str) -> Option<usize> {
    let text = line.get(field)?.as_str()?;
    usize::from_str_radix(text.get(24..)?, 16).ok()
}
