//! The stream of a session's lines: turns, rounds of tool calls, compactions, rewinds, subagents.
//! Not the shapes: those are in `lines`.

mod extras;
mod subagent;

use std::collections::VecDeque;

use crate::clock::Clock;
use crate::rng::Rng;
use crate::text;

use super::super::dialect::Dialect;
use super::super::lines::{Api, At, Kept, Lines, ToolResult};
use super::super::metadata;
use super::super::tools::{ToolCall, Toolbox};
use super::{ClaudeSession, SideFile};

/// How many files a snapshot lists: its line must not grow with the session.
const TRACKED_MAX: usize = 9;

/// The lines of a session, made as they are asked for.
#[derive(Debug, Clone)]
pub struct SessionLines {
    settings: ClaudeSession,
    rng: Rng,
    clock: Clock,
    lines: Lines,
    tools: Toolbox,
    model: String,
    /// The line that the next one hangs off.
    leaf: Option<String>,
    /// What the last prompt hung off: where a rewind goes back to.
    before_last_prompt: Option<String>,
    /// The lines of the last round and of what followed: what a compaction keeps.
    tail: Vec<String>,
    tracked: Vec<(String, String, u64)>,
    pending: VecDeque<String>,
    side_files: Vec<SideFile>,
    bytes: u64,
    turn: u64,
    compacted: u64,
    rewound: u64,
    delegated: u64,
    context_tokens: u64,
}

impl SessionLines {
    pub(super) fn new(settings: &ClaudeSession, mut rng: Rng, clock: Clock) -> Self {
        // The same seed in another version is another session, or one file would overwrite the other.
        let drawn_id = rng.fork(version_number(&settings.version)).uuid();
        let session_id = settings.session_id.clone().unwrap_or(drawn_id);
        let mut lines = Lines::new(&settings.version, &session_id);
        let drawn = text::expand(&mut rng, "‹home›");
        lines.cwd = settings.cwd.clone().unwrap_or(drawn);
        lines.branch = text::expand(&mut rng, "‹branch›");
        if lines.dialect() > Dialect::V1_0 {
            lines.slug = Some(text::expand(&mut rng, "‹adj|kebab›-‹doing|kebab›-‹noun›"));
        }
        let models: &[&str] = match lines.dialect() {
            Dialect::V1_0 => &["claude-sonnet-4-20250514", "claude-opus-4-20250514"],
            Dialect::V2_0 => &["claude-sonnet-4-5-20250929", "claude-opus-4-5-20251101"],
            Dialect::V2_1 => &["claude-opus-4-5-20251101", "claude-opus-4-6", "claude-haiku-4-5-20251001"],
            Dialect::V2_1_330 => &["claude-opus-5-5"],
        };
        let model = rng.pick(models).to_owned();
        let tools = Toolbox::new(rng.fork(1), &lines.cwd);
        Self {
            settings: settings.clone(),
            rng,
            clock,
            lines,
            tools,
            model,
            leaf: None,
            before_last_prompt: None,
            tail: Vec::new(),
            tracked: Vec::new(),
            pending: VecDeque::new(),
            side_files: Vec::new(),
            bytes: 0,
            turn: 0,
            compacted: 0,
            rewound: 0,
            delegated: 0,
            context_tokens: 14_000,
        }
    }

    /// Returns the session's id.
    pub fn session_id(&self) -> &str {
        &self.lines.session_id
    }

    /// Returns the working directory.
    pub fn cwd(&self) -> &str {
        &self.lines.cwd
    }

    /// Returns the subagents' files that were finished since the last call.
    pub fn take_side_files(&mut self) -> Vec<SideFile> {
        std::mem::take(&mut self.side_files)
    }

    fn finished(&self) -> bool {
        match self.settings.bytes {
            Some(bytes) => self.bytes >= bytes && self.turn > 0,
            None => self.turn >= self.settings.turns,
        }
    }

    /// Says whether the next of `count` evenly spread events is due when `done` have been.
    fn due(&self, count: u64, done: u64) -> bool {
        let (passed, total) = match self.settings.bytes {
            Some(bytes) => (self.bytes, bytes),
            None => (self.turn, self.settings.turns),
        };
        done < count && passed.saturating_mul(count + 1) >= (done + 1).saturating_mul(total)
    }

    fn push(&mut self, line: String) {
        self.bytes += u64::try_from(line.len()).unwrap_or(u64::MAX) + 1;
        self.pending.push_back(line);
    }

    /// Reserves the next place in the chain.
    fn at(&mut self) -> At {
        let step = self.rng.range(40, 2600);
        self.clock.advance_ms(step);
        let uuid = self.rng.uuid();
        let at = At { parent: self.leaf.replace(uuid.clone()), uuid, timestamp: self.clock.iso() };
        self.tail.push(at.uuid.clone());
        at
    }

    fn write_turn(&mut self) {
        if self.turn == 0 {
            self.write_start();
        }
        if self.turn > 0 && self.due(self.settings.compactions, self.compacted) {
            self.write_compaction();
        } else if self.turn > 0 && self.due(self.settings.rewinds, self.rewound) {
            // Never right behind a compaction, where there is no prompt yet to go back to.
            self.rewound += 1;
            self.leaf.clone_from(&self.before_last_prompt);
        }
        let began = self.clock.millis();
        self.write_prompt();
        let rounds = if self.settings.tool_calls == 0 {
            0
        } else {
            self.rng.range(1, self.settings.tool_calls * 2 - 1)
        };
        let delegates = self.due(self.settings.subagents + 1, self.delegated + 1)
            || (self.turn == 0 && self.settings.subagents > 0);
        if delegates && self.delegated < self.settings.subagents {
            self.delegated += 1;
            self.write_delegation();
        }
        for round in 0..rounds {
            self.write_round(round);
        }
        self.write_answer();
        self.write_end(began);
        self.turn += 1;
    }

    fn write_start(&mut self) {
        let dialect = self.lines.dialect();
        if dialect == Dialect::V1_0 && self.rng.chance(30) {
            let title = text::title(&mut self.rng);
            let elsewhere = self.rng.uuid();
            self.push(metadata::summary(&title, &elsewhere));
        }
        if dialect == Dialect::V2_1 && self.settings.progress {
            let id = self.rng.uuid();
            let at = self.at();
            let hook = ("SessionStart", "SessionStart:startup");
            let line = self.lines.hook_progress(&at, hook, "~/.claude/hooks/session-start.sh", &id);
            self.push(line);
        }
        if dialect == Dialect::V2_1_330 {
            self.push(metadata::mode("normal", &self.lines.session_id));
        }
    }

    fn write_prompt(&mut self) {
        self.before_last_prompt.clone_from(&self.leaf);
        let prompt = text::prompt(&mut self.rng);
        let pause = self.rng.range(4000, 240_000);
        self.clock.advance_ms(pause);
        if self.lines.dialect() == Dialect::V2_1_330 {
            self.lines.prompt_id = Some(self.rng.uuid());
        }
        if self.lines.dialect() >= Dialect::V2_0 && self.rng.chance(15) {
            let (time, session) = (self.clock.iso(), self.lines.session_id.clone());
            self.push(metadata::queue_operation("enqueue", Some(&prompt), &time, &session));
            self.push(metadata::queue_operation("dequeue", None, &time, &session));
        }
        self.tail.clear();
        let at = self.at();
        if self.lines.dialect() >= Dialect::V2_0 {
            let snapshot = metadata::file_history_snapshot(&at.uuid, false, &self.tracked, &at.timestamp);
            self.push(snapshot);
        }
        let line = self.lines.user(&at, &prompt);
        self.push(line);
        if self.lines.dialect() == Dialect::V2_1_330 && self.settings.attachments {
            self.write_attachments();
            let session = self.lines.session_id.clone();
            let leaf = self.leaf.clone().unwrap_or_default();
            self.push(metadata::last_prompt(&prompt, &leaf, &session));
        }
    }

    fn api(&mut self) -> Api {
        let output = self.rng.range(60, 1900);
        let written = self.rng.range(200, 6000);
        let cached = self.context_tokens;
        self.context_tokens += written + output;
        let message = self.rng.id(22);
        let request = self.rng.id(20);
        Api {
            message_id: format!("msg_01{message}"),
            request_id: format!("req_011C{request}"),
            model: self.model.clone(),
            stop_reason: None,
            block_index: 0,
            input_tokens: self.rng.range(1, 12),
            cache_creation_tokens: written,
            cache_read_tokens: cached,
            output_tokens: output,
        }
    }

    /// Writes the blocks before a message's calls: thinking and text.
    fn write_preamble(&mut self, api: &mut Api) {
        if self.settings.thinking && self.rng.chance(45) {
            let thought = text::thought(&mut self.rng);
            let length = usize::try_from(self.rng.range(80, 420)).unwrap_or(80);
            let signature = format!("Eq{}==", self.rng.base64(length));
            let at = self.at();
            let line = self.lines.thinking(&at, api, &thought, &signature);
            self.push(line);
            api.block_index += 1;
        }
        if self.rng.chance(55) {
            let narration = text::narration(&mut self.rng);
            let at = self.at();
            let line = self.lines.assistant_text(&at, api, &narration);
            self.push(line);
            api.block_index += 1;
        }
    }

    fn write_round(&mut self, round: u64) {
        self.tail.clear();
        let width = if round.is_multiple_of(3) { self.settings.parallel.max(1) } else { 1 };
        let calls: Vec<ToolCall> = (0..width).map(|_| self.tools.call()).collect();
        self.write_interruption();
        self.write_request();
        let mut api = self.api();
        self.write_preamble(&mut api);
        let mut open = Vec::new();
        for (index, call) in calls.into_iter().enumerate() {
            let last = u64::try_from(index + 1) == Ok(width);
            let named = self.lines.dialect() == Dialect::V2_1_330 || (last && self.rng.chance(10));
            api.stop_reason = named.then(|| "tool_use".to_owned());
            open.push(self.write_call(&api, call));
            api.block_index += 1;
        }
        for (id, assistant, call) in open {
            self.write_result(id, assistant, call);
        }
    }

    /// Writes a call and what its hooks say; returns the call's id and line.
    fn write_call(&mut self, api: &Api, call: ToolCall) -> (String, String, ToolCall) {
        let id = format!("toolu_01{}", self.rng.id(22));
        let at = self.at();
        let line = self.lines.tool_use(&at, api, (&id, call.name), &call.input);
        self.push(line);
        if self.lines.dialect() == Dialect::V2_1 && self.settings.progress {
            self.write_tool_progress(call.name, &id);
        }
        (id, at.uuid, call)
    }

    /// Writes a call's answer, which hangs off the call and not off the line before.
    fn write_result(&mut self, id: String, assistant: String, call: ToolCall) {
        if self.lines.dialect() == Dialect::V2_1 && self.settings.progress && self.rng.chance(50) {
            self.write_hook("PostToolUse", call.name, &id);
        }
        let at = At { parent: Some(assistant.clone()), ..self.at() };
        let line = self.lines.tool_result(
            &at,
            &ToolResult {
                tool_use_id: id,
                content: call.content,
                is_error: call.is_error,
                structured: call.structured,
                assistant_uuid: assistant,
            },
        );
        self.push(line);
        if matches!(call.name, "Edit" | "Write") && self.lines.dialect() >= Dialect::V2_0 {
            let path = text::expand(&mut self.rng, "‹path›");
            let backup = self.rng.hex(16);
            if self.tracked.len() == TRACKED_MAX {
                self.tracked.remove(0);
            }
            self.tracked.retain(|(known, ..)| *known != path);
            self.tracked.push((path, backup, 1));
            let time = self.clock.iso();
            let snapshot = metadata::file_history_snapshot(&at.uuid, true, &self.tracked, &time);
            self.push(snapshot);
        }
    }

    fn write_answer(&mut self) {
        let mut api = self.api();
        let ends = self.lines.dialect() == Dialect::V2_1_330;
        api.stop_reason = ends.then(|| "end_turn".to_owned());
        let answer = text::answer(&mut self.rng);
        let at = self.at();
        let line = self.lines.assistant_text(&at, &api, &answer);
        self.push(line);
    }

    fn write_end(&mut self, began: i64) {
        if self.lines.dialect() == Dialect::V2_1 {
            if self.settings.progress {
                let id = self.rng.uuid();
                let at = self.at();
                let line = self.lines.stop_hook_summary(&at, "~/.claude/hooks/stop.sh", &id);
                self.push(line);
            }
            let took = u64::try_from(self.clock.millis() - began).unwrap_or(0);
            let at = self.at();
            let line = self.lines.turn_duration(&at, took);
            self.push(line);
        }
        // Titles are stamped again at the end of every turn, as the client does: the last one counts.
        if self.lines.dialect() == Dialect::V2_1_330 {
            let title = text::title(&mut self.rng);
            self.push(metadata::ai_title(&title, &self.lines.session_id.clone()));
        }
    }

    fn write_compaction(&mut self) {
        self.compacted += 1;
        let previous = self.leaf.clone().unwrap_or_default();
        let keeps = self.settings.keep_messages && self.lines.dialect() == Dialect::V2_1_330;
        let uuids = std::mem::take(&mut self.tail);
        let at = self.at();
        let boundary = At { parent: None, ..at };
        let summary_at = self.at();
        let kept = if keeps && !uuids.is_empty() {
            Kept::Messages { anchor: summary_at.uuid.clone(), uuids }
        } else {
            Kept::Nothing
        };
        let line = self.lines.compact_boundary(&boundary, &previous, &kept, self.context_tokens);
        self.push(line);
        let summary = text::compaction_summary(&mut self.rng, 5);
        let line = self.lines.compact_summary(&summary_at, &summary);
        self.push(line);
        self.before_last_prompt.clone_from(&self.leaf);
        self.context_tokens = 16_000;
    }
}

impl Iterator for SessionLines {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        if self.pending.is_empty() && !self.finished() {
            self.write_turn();
        }
        self.pending.pop_front()
    }
}

/// Returns a number of its own for every version.
fn version_number(version: &str) -> u64 {
    version.bytes().fold(7, |number, byte| number * 31 % 1_000_003 + u64::from(byte))
}
