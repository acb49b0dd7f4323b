//! Lines by the client itself: durations, hooks, errors, cleared results.
//! Not the compaction's boundary, which stands with its summary in `lines`.

use crate::json::Object;

use super::lines::{At, Lines};

impl Lines {
    /// Returns a `microcompact_boundary`, which cleared the results of the calls.
    pub fn microcompact_boundary(&self, at: &At, cleared: &[String]) -> String {
        let metadata =
            Object::new().text("trigger", "auto").number("preTokens", 65_120).number("tokensSaved", 41_300);
        let metadata = metadata.texts("compactedToolIds", cleared).raw("clearedAttachmentUUIDs", "[]");
        let line = Object::new().text("type", "system").text("subtype", "microcompact_boundary");
        let line = line
            .text("content", "Context microcompacted")
            .flag("isMeta", false)
            .text("timestamp", &at.timestamp)
            .text("uuid", &at.uuid)
            .text("level", "info")
            .object("microcompactMetadata", metadata);
        self.wrap(at, None, &line)
    }

    /// Returns how long a turn took.
    pub fn turn_duration(&self, at: &At, duration_ms: u64) -> String {
        let line = Object::new().text("type", "system").text("subtype", "turn_duration");
        let line = line
            .number("durationMs", duration_ms)
            .text("timestamp", &at.timestamp)
            .text("uuid", &at.uuid)
            .flag("isMeta", false);
        self.wrap(at, None, &line)
    }

    /// Returns what the hooks at the end of a turn did.
    pub fn stop_hook_summary(&self, at: &At, command: &str, tool_use_id: &str) -> String {
        let info = Object::new().text("command", command).finish();
        let line = Object::new().text("type", "system").text("subtype", "stop_hook_summary");
        let line = line.number("hookCount", 1).list("hookInfos", &[info]).raw("hookErrors", "[]");
        let line = line
            .flag("preventedContinuation", false)
            .text("stopReason", "")
            .flag("hasOutput", false)
            .text("level", "suggestion")
            .text("timestamp", &at.timestamp)
            .text("uuid", &at.uuid)
            .text("toolUseID", tool_use_id);
        self.wrap(at, None, &line)
    }

    /// Returns that the model's service was too busy, and that the client tries again.
    pub fn api_error(&self, at: &At, request_id: &str, attempt: u64) -> String {
        let kind = Object::new().text("type", "overloaded_error").text("message", "Overloaded");
        let body = Object::new().text("type", "error").object("error", kind);
        let headers = Object::new()
            .text("content-type", "application/json")
            .text("x-should-retry", "true")
            .text("request-id", request_id);
        let error = Object::new()
            .number("status", 529)
            .object("headers", headers)
            .text("requestID", request_id)
            .object("error", body.text("request_id", request_id));
        let line = Object::new().text("type", "system").text("subtype", "api_error");
        let line = line
            .text("level", "error")
            .object("error", error)
            .number("retryInMs", 500 << attempt.min(6))
            .number("retryAttempt", attempt)
            .number("maxRetries", 10)
            .text("timestamp", &at.timestamp)
            .text("uuid", &at.uuid);
        self.wrap(at, None, &line)
    }

    /// Returns that a person gave the client a command of its own, such as `/status`.
    pub fn local_command(&self, at: &At, command: &str) -> String {
        let name = command.trim_start_matches('/');
        let content = format!(
            "<command-name>{command}</command-name>\n            <command-message>{name}</command-message>\n            <command-args></command-args>"
        );
        let line = Object::new().text("type", "system").text("subtype", "local_command");
        let line = line
            .text("content", &content)
            .text("level", "info")
            .text("timestamp", &at.timestamp)
            .text("uuid", &at.uuid)
            .flag("isMeta", false);
        self.wrap(at, None, &line)
    }
}
