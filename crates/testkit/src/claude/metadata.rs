//! Lines that are not part of the conversation: titles, snapshots of files, the queue of prompts.
//! Not in the chain: they have no `uuid` and no `parentUuid`.

use crate::json::Object;

/// Returns a `summary` line, which names a conversation by its last entry, often in another file.
pub fn summary(text: &str, leaf_uuid: &str) -> String {
    let line = Object::new().text("type", "summary").text("summary", text);
    line.text("leafUuid", leaf_uuid).finish()
}

/// Returns a `custom-title` line: the name a person gave.
pub fn custom_title(title: &str, session_id: &str) -> String {
    about("custom-title", "customTitle", title, session_id)
}

/// Returns an `ai-title` line: the name a model gave.
pub fn ai_title(title: &str, session_id: &str) -> String {
    about("ai-title", "aiTitle", title, session_id)
}

/// Returns a `tag` line.
pub fn tag(tag: &str, session_id: &str) -> String {
    about("tag", "tag", tag, session_id)
}

/// Returns a `mode` line.
pub fn mode(mode: &str, session_id: &str) -> String {
    about("mode", "mode", mode, session_id)
}

fn about(kind: &str, key: &str, value: &str, session_id: &str) -> String {
    let line = Object::new().text("type", kind).text(key, value);
    line.text("sessionId", session_id).finish()
}

/// Returns a `last-prompt` line.
pub fn last_prompt(prompt: &str, leaf_uuid: &str, session_id: &str) -> String {
    let line = Object::new().text("type", "last-prompt").text("lastPrompt", prompt);
    line.text("leafUuid", leaf_uuid).text("sessionId", session_id).finish()
}

/// Returns a `pr-link` line.
pub fn pr_link(number: u64, repository: &str, timestamp: &str, session_id: &str) -> String {
    let url = format!("https://github.com/{repository}/pull/{number}");
    let line = Object::new().text("type", "pr-link").text("sessionId", session_id);
    line.number("prNumber", number)
        .text("prUrl", &url)
        .text("prRepository", repository)
        .text("timestamp", timestamp)
        .finish()
}

/// Returns a `queue-operation` line: `enqueue`, `dequeue`, `remove` or `popAll`.
pub fn queue_operation(operation: &str, content: Option<&str>, timestamp: &str, session_id: &str) -> String {
    let line = Object::new().text("type", "queue-operation").text("operation", operation);
    line.text("timestamp", timestamp).text("sessionId", session_id).some_text("content", content).finish()
}

/// Returns a `file-history-snapshot` line with the backups of files: path, backup's name, version.
pub fn file_history_snapshot(
    message_id: &str,
    update: bool,
    files: &[(String, String, u64)],
    timestamp: &str,
) -> String {
    let mut tracked = Object::new();
    for (path, backup, version) in files {
        let file = Object::new()
            .text("backupFileName", &format!("{backup}@v{version}"))
            .number("version", *version)
            .text("backupTime", timestamp);
        tracked = tracked.object(path, file);
    }
    let snapshot = Object::new()
        .text("messageId", message_id)
        .object("trackedFileBackups", tracked)
        .text("timestamp", timestamp);
    let line = Object::new().text("type", "file-history-snapshot").text("messageId", message_id);
    line.object("snapshot", snapshot).flag("isSnapshotUpdate", update).finish()
}

/// Returns an `api-request` line: what was sent to the model, by hashes of what was sent before.
pub(super) fn api_request(session_id: &str, request: &Object) -> String {
    let line = Object::new().text("type", "api-request").text("sessionId", session_id);
    line.fields(request).finish()
}
