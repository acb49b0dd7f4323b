//! What happens beside the conversation: hooks, overload, cleared results, waiting, the newest client's notes.
//! Not needed to follow a session, but in the chain of every real one.

use crate::claude::{Dialect, metadata};
use crate::json::Object;
use crate::text;

use super::SessionLines;

impl SessionLines {
    /// Writes, now and then, one of the lines that versions with progress lines have in between.
    pub(super) fn write_interruption(&mut self) {
        if self.lines.dialect() != Dialect::V2_1 || !self.settings.progress {
            return;
        }
        match self.rng.range(0, 39) {
            0 => {
                let at = self.at();
                let request = format!("req_011C{}", self.rng.id(20));
                let line = self.lines.api_error(&at, &request, 1 + self.turn % 9);
                self.push(line);
            }
            1 => {
                let ids: Vec<String> =
                    (0..self.rng.range(2, 6)).map(|_| format!("toolu_01{}", self.rng.id(22))).collect();
                let at = self.at();
                let line = self.lines.microcompact_boundary(&at, &ids);
                self.push(line);
            }
            2 => {
                let command = text::expand(&mut self.rng, "/‹verb›");
                let at = self.at();
                let line = self.lines.local_command(&at, &command);
                self.push(line);
            }
            _ => {}
        }
    }

    /// Writes what a running tool reports.
    pub(super) fn write_tool_progress(&mut self, tool: &str, tool_use_id: &str) {
        self.write_hook("PreToolUse", tool, tool_use_id);
        let number = self.rng.range(0, 60);
        let data = match tool {
            "Bash" if self.rng.chance(35) => {
                let output = if self.rng.chance(60) {
                    String::new()
                } else {
                    text::expand(&mut self.rng, "ok  \t‹project›/‹noun›\n")
                };
                let data = Object::new().text("type", "bash_progress").text("output", &output);
                let data = data.text("fullOutput", &output);
                data.number("elapsedTimeSeconds", self.rng.range(2, 40))
                    .number("totalLines", self.rng.range(0, 9))
                    .number("timeoutMs", 1000 * self.rng.range(6, 60) * 10)
            }
            "WebFetch" if self.rng.chance(50) => {
                let query = text::expand(&mut self.rng, "‹crate› ‹verb› ‹noun› 2026");
                Object::new().text("type", "query_update").text("query", &query)
            }
            "TaskOutput" => {
                let purpose = text::expand(&mut self.rng, "‹check|cap›");
                let data = Object::new().text("type", "waiting_for_task");
                data.text("taskDescription", &purpose).text("taskType", "local_bash")
            }
            _ => return,
        };
        let at = self.at();
        let id = match tool {
            "Bash" => format!("bash-progress-{number}"),
            "TaskOutput" => format!("task-output-waiting-{}", self.clock.millis()),
            _ => format!("search-progress-{number}"),
        };
        let line = self.lines.progress(&at, data, (&id, tool_use_id));
        self.push(line);
    }

    /// Writes that a hook runs.
    pub(super) fn write_hook(&mut self, event: &str, tool: &str, tool_use_id: &str) {
        let name = format!("{event}:{tool}");
        let command = if self.rng.chance(30) {
            "callback".to_owned()
        } else {
            text::expand(&mut self.rng, "‹hook›")
        };
        let at = self.at();
        let line = self.lines.hook_progress(&at, (event, &name), &command, tool_use_id);
        self.push(line);
    }

    /// Writes what the subagent says as seen from the session that started it.
    pub(super) fn write_agent_progress(&mut self, agent_id: &str, prompt: &str, tool_use_id: &str) {
        if self.lines.dialect() != Dialect::V2_1 || !self.settings.progress {
            return;
        }
        for _ in 0..self.rng.range(1, 4) {
            let call = self.tools.call();
            let result = Object::new()
                .text("tool_use_id", &format!("toolu_01{}", self.rng.id(22)))
                .text("type", "tool_result")
                .text("content", &call.content);
            let inner = Object::new().text("role", "user").list("content", &[result.finish()]);
            let message = Object::new().text("type", "user").object("message", inner);
            let message = message.text("uuid", &self.rng.uuid());
            let at = self.at();
            let data = Object::new()
                .object("message", message.text("timestamp", &at.timestamp))
                .raw("normalizedMessages", "[]")
                .text("type", "agent_progress")
                .text("prompt", prompt)
                .text("agentId", agent_id);
            let id = format!("agent_msg_01{}", self.rng.id(22));
            let line = self.lines.progress(&at, data, (&id, tool_use_id));
            self.push(line);
        }
    }

    /// Writes the notes that the newest client adds to a prompt.
    pub(super) fn write_attachments(&mut self) {
        let mut notes = Vec::new();
        if self.turn == 0 {
            notes.push(self.environment());
            let date = &self.clock.iso()[..10];
            let attachment = Object::new().text("type", "date").text("date", date);
            notes.push((attachment, format!("The date of this session is {date}.")));
            let identity = Object::new().text("modelId", &self.model);
            let attachment = Object::new().text("type", "model").object("identity", identity);
            notes.push((attachment, format!("The model of this session is {}.", self.model)));
        } else if self.rng.chance(40) {
            let note = text::expand(&mut self.rng, "‹path› was changed outside: ‹fact›");
            let attachment = Object::new().text("type", "edited_text_file").text("snippet", &note);
            notes.push((attachment, note));
        }
        for (attachment, note) in notes {
            let rendered = format!("<system-reminder>\n{note}\n</system-reminder>");
            let at = self.at();
            let line = self.lines.attachment(&at, attachment, Some(&rendered));
            self.push(line);
        }
    }

    fn environment(&self) -> (Object, String) {
        let snapshot = Object::new()
            .text("workingDirectory", &self.lines.cwd)
            .flag("isWorktree", false)
            .flag("isGitRepo", true)
            .raw("additionalWorkingDirectories", "[]")
            .text("platform", "linux")
            .text("shell", "bash");
        let attachment = Object::new().text("type", "environment").object("snapshot", snapshot);
        let note = format!("Working directory: {}\nGit repository: yes", self.lines.cwd);
        (attachment, note)
    }

    /// Writes the newest client's record of a request to the model.
    pub(super) fn write_request(&mut self) {
        if self.lines.dialect() != Dialect::V2_1_330 || !self.settings.attachments {
            return;
        }
        let hashes: Vec<String> = (0..2).map(|_| self.rng.hex(64)).collect();
        let request = Object::new()
            .text("id", &self.rng.uuid())
            .text("timestamp", &self.clock.iso())
            .text("version", &self.lines.version)
            .text("querySource", "repl")
            .text("shapeHash", &self.rng.hex(64))
            .object("params", parameters(&self.model))
            .text("base", &self.rng.uuid())
            .number("keep", self.rng.range(3, 90))
            .texts("tail", &hashes)
            .text("requestDigest", &self.rng.hex(64));
        self.push(metadata::api_request(&self.lines.session_id.clone(), &request));
    }
}

fn parameters(model: &str) -> Object {
    let thinking = Object::new().text("type", "adaptive").text("display", "omitted");
    let effort = Object::new().text("effort", "medium");
    Object::new()
        .text("model", model)
        .raw("betas", "[]")
        .number("max_tokens", 128_000)
        .object("thinking", thinking)
        .object("output_config", effort)
}
