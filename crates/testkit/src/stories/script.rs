//! Tells a session step by step: who says what, which tools run, where it is compacted or rewound.
//! Not drawn from a seed but for ids and pauses; for made-up sessions by the hundred see `claude`.

use stemmata_model::Timestamp;

use crate::claude::{self, Api, At, Dialect, Kept, Lines, SideFile, ToolResult, Transcript};
use crate::clock::Clock;
use crate::json::Object;
use crate::rng::Rng;

/// A tool call as it is told, with its answer.
#[derive(Debug, Clone)]
pub struct Call {
    name: &'static str,
    input: String,
    content: String,
    structured: String,
    is_error: bool,
}

impl Call {
    /// Tells a shell command with what it printed.
    pub fn bash(command: &str, purpose: &str, output: &str) -> Self {
        let input = Object::new().text("command", command).text("description", purpose);
        let structured = Object::new().text("stdout", output).text("stderr", "");
        let structured = structured.flag("interrupted", false).flag("isImage", false);
        Self {
            name: "Bash",
            input: input.finish(),
            content: output.to_owned(),
            structured: structured.flag("noOutputExpected", false).finish(),
            is_error: false,
        }
    }

    /// Tells a shell command that failed.
    pub fn bash_failed(command: &str, purpose: &str, output: &str) -> Self {
        let content = format!("Exit code 101\n{output}");
        Self {
            structured: crate::json::string(&format!("Error: {content}")),
            content,
            is_error: true,
            ..Self::bash(command, purpose, output)
        }
    }

    /// Tells that a file was read from its first line on.
    pub fn read(path: &str, text: &str) -> Self {
        let lines: Vec<&str> = text.lines().collect();
        let file = Object::new().text("filePath", path).text("content", text);
        let file = file
            .number("numLines", count(lines.len()))
            .number("startLine", 1)
            .number("totalLines", count(lines.len()));
        Self {
            name: "Read",
            input: Object::new().text("file_path", path).finish(),
            content: numbered(&lines, 1),
            structured: Object::new().text("type", "text").object("file", file).finish(),
            is_error: false,
        }
    }

    /// Tells that a passage of a file was replaced.
    ///
    /// # Panics
    /// When the passage does not stand in the file: the story would not be true.
    pub fn edit(path: &str, before: &str, old: &str, new: &str) -> Self {
        let offset = before.find(old).expect("the passage stands in the file");
        let start = before[..offset].lines().count() + 1;
        let new_lines: Vec<&str> = new.lines().collect();
        let removed = old.lines().map(|line| format!("-{line}"));
        let added = new.lines().map(|line| format!("+{line}"));
        let changed: Vec<String> = removed.chain(added).collect();
        let hunk = Object::new()
            .number("oldStart", count(start))
            .number("oldLines", count(old.lines().count()))
            .number("newStart", count(start))
            .number("newLines", count(new_lines.len()))
            .texts("lines", &changed);
        let input = Object::new()
            .flag("replace_all", false)
            .text("file_path", path)
            .text("old_string", old)
            .text("new_string", new);
        let structured = Object::new()
            .text("filePath", path)
            .text("oldString", old)
            .text("newString", new)
            .text("originalFile", before)
            .list("structuredPatch", &[hunk.finish()])
            .flag("userModified", false)
            .flag("replaceAll", false);
        Self {
            name: "Edit",
            input: input.finish(),
            content: format!("Edited {path}. The passage is now:\n{}", numbered(&new_lines, start)),
            structured: structured.finish(),
            is_error: false,
        }
    }

    /// Tells that a file was created.
    pub fn write(path: &str, text: &str) -> Self {
        let structured = Object::new().text("type", "create").text("filePath", path);
        let structured = structured.text("content", text).raw("structuredPatch", "[]");
        Self {
            name: "Write",
            input: Object::new().text("file_path", path).text("content", text).finish(),
            content: format!("Created {path}."),
            structured: structured.null("originalFile").finish(),
            is_error: false,
        }
    }

    /// Tells a search with the lines it found.
    pub fn grep(pattern: &str, path: &str, found: &str) -> Self {
        let input = Object::new().text("pattern", pattern).text("path", path);
        let input = input.text("output_mode", "content").flag("-n", true);
        let structured = Object::new().text("mode", "content").number("numFiles", 0);
        let structured = structured.raw("filenames", "[]").text("content", found);
        Self {
            name: "Grep",
            input: input.finish(),
            content: found.to_owned(),
            structured: structured.number("numLines", count(found.lines().count())).finish(),
            is_error: false,
        }
    }
}

/// A session as it is told so far.
#[derive(Debug, Clone)]
pub struct Script {
    rng: Rng,
    clock: Clock,
    lines: Lines,
    leaf: Option<String>,
    before_prompts: Vec<Option<String>>,
    turn_lines: Vec<String>,
    began: i64,
    out: Vec<String>,
    side_files: Vec<SideFile>,
    open: Option<Api>,
}

impl Script {
    /// Begins a session of a version in a folder, at a moment.
    ///
    /// # Panics
    /// When the moment is no timestamp.
    pub fn new(version: &str, cwd: &str, branch: &str, start: &str) -> Self {
        let moment = Timestamp::parse(start).expect("a story starts at a timestamp");
        let mut rng = Rng::new(moment.as_micros().unsigned_abs());
        let session_id = rng.uuid();
        let mut lines = Lines::new(version, &session_id);
        cwd.clone_into(&mut lines.cwd);
        branch.clone_into(&mut lines.branch);
        Self {
            rng,
            clock: Clock::at(moment),
            lines,
            leaf: None,
            before_prompts: Vec::new(),
            turn_lines: Vec::new(),
            began: 0,
            out: Vec::new(),
            side_files: Vec::new(),
            open: None,
        }
    }

    /// Gives the session the made-up name that the client shows.
    #[must_use]
    pub fn slug(mut self, slug: &str) -> Self {
        self.lines.slug = Some(slug.to_owned());
        self
    }

    /// The person asks for something.
    #[must_use]
    pub fn prompt(mut self, text: &str) -> Self {
        self.open = None;
        self.clock.advance_ms(2_000 + u64::try_from(text.len()).unwrap_or(0) * 120);
        self.began = self.clock.millis();
        self.before_prompts.push(self.leaf.clone());
        self.turn_lines.clear();
        if self.lines.dialect() == Dialect::V2_1_330 {
            self.lines.prompt_id = Some(self.rng.uuid());
        }
        let at = self.at();
        self.out.push(claude::file_history_snapshot(&at.uuid, false, &[], &at.timestamp));
        self.out.push(self.lines.user(&at, text));
        self
    }

    /// The model thinks.
    #[must_use]
    pub fn think(mut self, text: &str) -> Self {
        let signature = format!("Ek{}==", self.rng.base64(180));
        let (api, at) = self.block();
        self.out.push(self.lines.thinking(&at, &api, text, &signature));
        self
    }

    /// The model says something before it goes on.
    #[must_use]
    pub fn say(mut self, text: &str) -> Self {
        let (api, at) = self.block();
        self.out.push(self.lines.assistant_text(&at, &api, text));
        self
    }

    /// The model runs tools at once, and their answers come back.
    #[must_use]
    pub fn calls(mut self, calls: &[Call]) -> Self {
        let mut asked = Vec::new();
        for call in calls {
            let id = format!("toolu_01{}", self.rng.id(22));
            let (api, at) = self.block();
            let line = self.lines.tool_use(&at, &api, (&id, call.name), &call.input);
            self.out.push(line);
            asked.push((id, at.uuid, call));
        }
        self.open = None;
        for (id, assistant, call) in asked {
            let at = At { parent: Some(assistant.clone()), ..self.at() };
            let result = ToolResult {
                tool_use_id: id,
                content: call.content.clone(),
                is_error: call.is_error,
                structured: call.structured.clone(),
                assistant_uuid: assistant,
            };
            self.out.push(self.lines.tool_result(&at, &result));
        }
        self
    }

    /// The model ends its turn.
    #[must_use]
    pub fn answer(mut self, text: &str) -> Self {
        let (mut api, at) = self.block();
        if self.lines.dialect() == Dialect::V2_1_330 {
            api.stop_reason = Some("end_turn".to_owned());
        }
        self.out.push(self.lines.assistant_text(&at, &api, text));
        self.open = None;
        if self.lines.dialect() == Dialect::V2_1 {
            let at = self.at();
            let took = u64::try_from(self.clock.millis() - self.began).unwrap_or(0);
            self.out.push(self.lines.turn_duration(&at, took));
        }
        self
    }

    /// The person goes back so many prompts (1 for the last) and asks something else from there.
    ///
    /// # Panics
    /// When there were fewer prompts.
    #[must_use]
    pub fn rewind(mut self, prompts: usize) -> Self {
        let index = self.before_prompts.len().checked_sub(prompts).expect("a prompt to go back to");
        self.leaf.clone_from(&self.before_prompts[index]);
        self
    }

    /// The context is compacted; the lines of the last turn may be kept verbatim.
    ///
    /// # Panics
    /// When nothing was said yet.
    #[must_use]
    pub fn compact(mut self, summary: &str, keep: bool) -> Self {
        let previous = self.leaf.clone().expect("something to compact");
        let uuids = std::mem::take(&mut self.turn_lines);
        self.clock.advance_ms(24_000);
        let boundary = At { parent: None, ..self.at() };
        let summary_at = self.at();
        let kept =
            if keep { Kept::Messages { anchor: summary_at.uuid.clone(), uuids } } else { Kept::Nothing };
        let line = self.lines.compact_boundary(&boundary, &previous, &kept, 151_240);
        self.out.push(line);
        self.out.push(self.lines.compact_summary(&summary_at, summary));
        self
    }

    /// The model sends a subagent, whose own session is told by the steps.
    #[must_use]
    pub fn subagent(mut self, task: (&str, &str), steps: impl FnOnce(Self) -> Self, answer: &str) -> Self {
        let (purpose, prompt) = task;
        let agent_id = format!("a{}", self.rng.hex(6));
        let id = format!("toolu_01{}", self.rng.id(22));
        let input = Object::new()
            .text("description", purpose)
            .text("prompt", prompt)
            .text("subagent_type", "Explore");
        let (api, at) = self.block();
        let line = self.lines.tool_use(&at, &api, (&id, "Task"), &input.finish());
        self.out.push(line);
        self.open = None;
        let assistant = at.uuid;

        let mut side = Self {
            lines: Lines { sidechain: true, agent_id: Some(agent_id.clone()), ..self.lines.clone() },
            rng: self.rng.fork(7),
            leaf: None,
            out: Vec::new(),
            ..self.clone()
        };
        let at = side.at();
        side.out.push(side.lines.user(&at, prompt));
        let mut side = steps(side);
        let (api, at) = side.block();
        side.out.push(side.lines.assistant_text(&at, &api, answer));
        let tools = side.out.iter().filter(|line| line.contains("\"tool_use\"")).count();
        self.side_files.push(SideFile {
            path: format!("{}/subagents/agent-{agent_id}.jsonl", self.lines.session_id),
            lines: side.out,
        });
        let took = side.clock.millis() - self.clock.millis();
        self.clock = side.clock;

        let block = Object::new().text("type", "text").text("text", answer).finish();
        let structured = Object::new()
            .text("status", "completed")
            .text("prompt", prompt)
            .text("agentId", &agent_id)
            .list("content", &[block])
            .number("totalDurationMs", u64::try_from(took).unwrap_or(0))
            .number("totalTokens", 21_480)
            .number("totalToolUseCount", count(tools));
        let at = At { parent: Some(assistant.clone()), ..self.at() };
        let result = ToolResult {
            tool_use_id: id,
            content: answer.to_owned(),
            is_error: false,
            structured: structured.finish(),
            assistant_uuid: assistant,
        };
        self.out.push(self.lines.tool_result(&at, &result));
        self
    }

    /// The person names the session.
    #[must_use]
    pub fn titled(mut self, title: &str) -> Self {
        self.out.push(claude::custom_title(title, &self.lines.session_id));
        self
    }

    /// Ends the session.
    pub fn finish(self) -> Transcript {
        Transcript {
            session_id: self.lines.session_id,
            cwd: self.lines.cwd,
            lines: self.out,
            subagents: self.side_files,
        }
    }

    /// Reserves the next place in the chain.
    fn at(&mut self) -> At {
        let pause = self.rng.range(350, 4_200);
        self.clock.advance_ms(pause);
        let uuid = self.rng.uuid();
        self.turn_lines.push(uuid.clone());
        At { parent: self.leaf.replace(uuid.clone()), uuid, timestamp: self.clock.iso() }
    }

    /// Goes on with the open API message, or begins one.
    fn block(&mut self) -> (Api, At) {
        let mut api = if let Some(api) = self.open.take() {
            Api { block_index: api.block_index + 1, ..api }
        } else {
            let id = self.rng.id(22);
            Api::new(&format!("msg_01{id}"))
        };
        if self.lines.dialect() == Dialect::V2_1_330 {
            "claude-opus-5-5".clone_into(&mut api.model);
            api.stop_reason = Some("tool_use".to_owned());
        }
        self.open = Some(api.clone());
        (api, self.at())
    }
}

/// Numbers lines as the client's Read tool prints them.
fn numbered(lines: &[&str], first: usize) -> String {
    lines
        .iter()
        .enumerate()
        .map(|(index, line)| format!("{:>6}→{line}", first + index))
        .collect::<Vec<_>>()
        .join("\n")
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
