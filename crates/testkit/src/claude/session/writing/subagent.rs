//! Subagents: inline side conversations in 1.x and 2.0.x, files of their own later.
//! Not nested: a subagent of a made-up session starts none itself.

use crate::json::Object;
use crate::text;

use super::super::super::dialect::Dialect;
use super::super::super::lines::{At, Lines, ToolResult};
use super::super::super::tools::ToolCall;
use super::super::SideFile;
use super::SessionLines;

impl SessionLines {
    /// Writes a call of the agent tool, the subagent's own lines, and its answer.
    pub(super) fn write_delegation(&mut self) {
        self.tail.clear();
        let prompt = text::prompt(&mut self.rng);
        let purpose = text::expand(&mut self.rng, "‹verb|cap› ‹noun› ‹noun›");
        let agent_id = format!("a{}", self.rng.hex(6));
        let answer = text::answer(&mut self.rng);
        let newest = self.lines.dialect() == Dialect::V2_1_330;
        let input = Object::new()
            .text("description", &purpose)
            .text("prompt", &prompt)
            .text("subagent_type", "Explore");
        let block = Object::new().text("type", "text").text("text", &answer).finish();
        let structured = Object::new()
            .text("status", "completed")
            .text("prompt", &prompt)
            .text("agentId", &agent_id)
            .list("content", &[block])
            .number("totalDurationMs", self.rng.range(9000, 400_000))
            .number("totalTokens", self.rng.range(9000, 90_000))
            .number("totalToolUseCount", 3);
        let call = ToolCall {
            name: if newest { "Agent" } else { "Task" },
            input: input.finish(),
            content: answer.clone(),
            structured: structured.finish(),
            is_error: false,
        };
        let mut api = self.api();
        self.write_preamble(&mut api);
        let (id, assistant, call) = self.write_call(&api, call);
        self.write_agent_progress(&agent_id, &prompt, &id);
        self.write_conversation(&agent_id, &prompt, &answer);
        self.write_result(id, assistant, call);
    }

    /// Writes the side conversation: a prompt, three calls, an answer.
    fn write_conversation(&mut self, agent_id: &str, prompt: &str, answer: &str) {
        let inline = self.lines.dialect() <= Dialect::V2_0;
        let side =
            Lines { sidechain: true, agent_id: (!inline).then(|| agent_id.to_owned()), ..self.lines.clone() };
        let main_lines = std::mem::replace(&mut self.lines, side);
        let main_leaf = self.leaf.take();
        let main_tail = std::mem::take(&mut self.tail);
        let main_pending = std::mem::take(&mut self.pending);
        let main_bytes = self.bytes;
        let at = self.at();
        let line = self.lines.user(&at, prompt);
        self.push(line);
        for _ in 0..3 {
            self.write_side_call();
        }
        let api = self.api();
        let at = self.at();
        let line = self.lines.assistant_text(&at, &api, answer);
        self.push(line);
        let own = std::mem::replace(&mut self.pending, main_pending);
        self.lines = main_lines;
        self.leaf = main_leaf;
        self.tail = main_tail;
        if inline {
            self.pending.extend(own);
        } else {
            self.bytes = main_bytes;
            self.side_files.push(SideFile {
                path: format!("{}/subagents/agent-{agent_id}.jsonl", self.lines.session_id),
                lines: own.into(),
            });
        }
    }

    fn write_side_call(&mut self) {
        let call = self.tools.call();
        let api = self.api();
        let (id, assistant, call) = self.write_call(&api, call);
        let at = At { parent: Some(assistant.clone()), ..self.at() };
        let result = ToolResult {
            tool_use_id: id,
            content: call.content,
            is_error: call.is_error,
            structured: call.structured,
            assistant_uuid: assistant,
        };
        let line = self.lines.tool_result(&at, &result);
        self.push(line);
    }
}
