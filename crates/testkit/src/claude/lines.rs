//! Single lines of the conversation, in the shape of a version.
//! Not sessions: who calls these says which line hangs off which.

use crate::json::{self, Object};

use super::dialect::Dialect;

/// Where a line stands: its id, what it hangs off, and when it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At {
    /// The line's own id.
    pub uuid: String,
    /// The line it hangs off, none at a root.
    pub parent: Option<String>,
    /// When it was written, such as `2026-03-02T09:00:00.000Z`.
    pub timestamp: String,
}

impl At {
    /// Names a place.
    pub fn new(uuid: &str, parent: Option<&str>, timestamp: &str) -> Self {
        Self { uuid: uuid.to_owned(), parent: parent.map(str::to_owned), timestamp: timestamp.to_owned() }
    }
}

/// The API message that a line holds one block of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Api {
    /// `msg_…`, the same on every line of the message.
    pub message_id: String,
    /// `req_…`.
    pub request_id: String,
    /// The model's id.
    pub model: String,
    /// Why the model stopped; null on all lines but the last of a message in most versions.
    pub stop_reason: Option<String>,
    /// The block's place in the message.
    pub block_index: u64,
    /// Tokens sent that were not cached.
    pub input_tokens: u64,
    /// Tokens written to the provider's cache.
    pub cache_creation_tokens: u64,
    /// Tokens read from the provider's cache.
    pub cache_read_tokens: u64,
    /// Tokens the model wrote.
    pub output_tokens: u64,
}

impl Api {
    /// Names an API message; everything else is a plausible default.
    pub fn new(message_id: &str) -> Self {
        Self {
            message_id: message_id.to_owned(),
            request_id: message_id.replacen("msg_", "req_", 1),
            model: "claude-opus-4-5-20251101".to_owned(),
            stop_reason: None,
            block_index: 0,
            input_tokens: 4,
            cache_creation_tokens: 1180,
            cache_read_tokens: 24_511,
            output_tokens: 212,
        }
    }
}

/// The answer to a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// Which call it answers.
    pub tool_use_id: String,
    /// What the model sees.
    pub content: String,
    /// Whether the tool failed.
    pub is_error: bool,
    /// JSON of the structured output kept beside the message.
    pub structured: String,
    /// The line that made the call.
    pub assistant_uuid: String,
}

/// What a compaction keeps verbatim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// Nothing but the summary.
    Nothing,
    /// A run of lines from head to tail, to hang off the anchor.
    Segment {
        /// The first kept line.
        head: String,
        /// The summary line.
        anchor: String,
        /// The last kept line.
        tail: String,
    },
    /// Single lines, each to hang off the one before, the first off the anchor.
    Messages {
        /// The summary line.
        anchor: String,
        /// The kept lines in their order.
        uuids: Vec<String>,
    },
}

/// Makes lines of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    /// The session's id.
    pub session_id: String,
    /// The client's version.
    pub version: String,
    /// The working directory.
    pub cwd: String,
    /// The branch, empty outside a repository.
    pub branch: String,
    /// The session's made-up name, where its version has them.
    pub slug: Option<String>,
    /// The subagent's id, in a subagent's lines.
    pub agent_id: Option<String>,
    /// The prompt's id, where the version has them.
    pub prompt_id: Option<String>,
    /// Whether the lines are a side conversation.
    pub sidechain: bool,
}

impl Lines {
    /// Starts a session's lines in `/home/dev/orchard` on `main`.
    pub fn new(version: &str, session_id: &str) -> Self {
        Self {
            session_id: session_id.to_owned(),
            version: version.to_owned(),
            cwd: "/home/dev/orchard".to_owned(),
            branch: "main".to_owned(),
            slug: None,
            agent_id: None,
            prompt_id: None,
            sidechain: false,
        }
    }

    /// Returns the family of the version.
    pub fn dialect(&self) -> Dialect {
        Dialect::of(&self.version)
    }

    /// Returns a person's prompt.
    pub fn user(&self, at: &At, text: &str) -> String {
        let message = Object::new().text("role", "user").text("content", text);
        let line = Object::new().text("type", "user").object("message", message);
        let line = stamped(line, at);
        let line = match self.dialect() {
            Dialect::V1_0 => line,
            Dialect::V2_0 => {
                let thinking = Object::new().text("level", "high").flag("disabled", false);
                let thinking = thinking.raw("triggers", "[]");
                line.object("thinkingMetadata", thinking).raw("todos", "[]")
            }
            Dialect::V2_1 => {
                let thinking = Object::new().number("maxThinkingTokens", 31_999);
                line.object("thinkingMetadata", thinking).raw("todos", "[]").text("permissionMode", "default")
            }
            Dialect::V2_1_330 => line
                .text("permissionMode", "default")
                .text("promptSource", "typed")
                .text("turnOrigin", "human"),
        };
        self.wrap(at, None, &line)
    }

    /// Returns a block of text by the model.
    pub fn assistant_text(&self, at: &At, api: &Api, text: &str) -> String {
        let block = Object::new().text("type", "text").text("text", text);
        self.assistant(at, api, block)
    }

    /// Returns a block of thinking with its signature.
    pub fn thinking(&self, at: &At, api: &Api, thinking: &str, signature: &str) -> String {
        let block = Object::new().text("type", "thinking").text("thinking", thinking);
        self.assistant(at, api, block.text("signature", signature))
    }

    /// Returns a tool call; `input` is JSON.
    pub fn tool_use(&self, at: &At, api: &Api, call: (&str, &str), input: &str) -> String {
        let block = Object::new().text("type", "tool_use").text("id", call.0);
        let block = block.text("name", call.1).raw("input", input);
        // Said from about 2.1.30 on, and left out again by the newest.
        let block = if self.dialect() == Dialect::V2_1 {
            block.object("caller", Object::new().text("type", "direct"))
        } else {
            block
        };
        self.assistant(at, api, block)
    }

    /// Returns the answer to a tool call.
    pub fn tool_result(&self, at: &At, result: &ToolResult) -> String {
        let block = if result.is_error {
            let block = Object::new().text("type", "tool_result");
            block
                .text("content", &result.content)
                .flag("is_error", true)
                .text("tool_use_id", &result.tool_use_id)
        } else {
            let block = Object::new().text("tool_use_id", &result.tool_use_id);
            let block = block.text("type", "tool_result").text("content", &result.content);
            if result.structured.starts_with("{\"stdout\"") { block.flag("is_error", false) } else { block }
        };
        let message = Object::new().text("role", "user").list("content", &[block.finish()]);
        let line = stamped(Object::new().text("type", "user").object("message", message), at);
        let line = line.raw("toolUseResult", &result.structured);
        let line = match self.dialect() {
            Dialect::V1_0 | Dialect::V2_0 => line,
            Dialect::V2_1 => line.text("sourceToolAssistantUUID", &result.assistant_uuid),
            Dialect::V2_1_330 => {
                line.flag("sandboxed", false).text("sourceToolAssistantUUID", &result.assistant_uuid)
            }
        };
        self.wrap(at, None, &line)
    }

    /// Returns the boundary that a compaction leaves; `previous` is the last line before it.
    pub fn compact_boundary(&self, at: &At, previous: &str, kept: &Kept, pre_tokens: u64) -> String {
        let newest = self.dialect() == Dialect::V2_1_330;
        let metadata = Object::new().text("trigger", "auto").number("preTokens", pre_tokens);
        let metadata = if newest { metadata.number("durationMs", 21_480) } else { metadata };
        let metadata = match kept {
            Kept::Nothing => metadata,
            Kept::Segment { head, anchor, tail } => {
                metadata.object("preservedSegment", segment(head, anchor, tail))
            }
            Kept::Messages { anchor, uuids } => {
                let head = uuids.first().map_or("", String::as_str);
                let tail = uuids.last().map_or("", String::as_str);
                let messages = Object::new().text("anchorUuid", anchor);
                metadata
                    .object("preservedSegment", segment(head, anchor, tail))
                    .object("preservedMessages", messages.texts("uuids", uuids).texts("allUuids", uuids))
            }
        };
        let metadata = if newest {
            metadata
                .number("postTokens", pre_tokens / 40)
                .number("cumulativeDroppedTokens", pre_tokens - pre_tokens / 40)
        } else {
            metadata
        };
        let line = Object::new().text("type", "system").text("subtype", "compact_boundary");
        let line = line
            .text("content", "Conversation compacted")
            .flag("isMeta", false)
            .text("timestamp", &at.timestamp)
            .text("uuid", &at.uuid)
            .text("level", "info")
            .object("compactMetadata", metadata);
        self.wrap(at, Some(previous), &line)
    }

    /// Returns the summary that stands for everything before a compaction.
    pub fn compact_summary(&self, at: &At, text: &str) -> String {
        let message = Object::new().text("role", "user").text("content", text);
        let line = Object::new().text("type", "user").object("message", message);
        let line = line.flag("isVisibleInTranscriptOnly", true).flag("isCompactSummary", true);
        self.wrap(at, None, &stamped(line, at))
    }

    /// Returns a line about a running hook; `hook` is its event and its full name.
    pub fn hook_progress(&self, at: &At, hook: (&str, &str), command: &str, tool_use_id: &str) -> String {
        let data = Object::new().text("type", "hook_progress").text("hookEvent", hook.0);
        let data = data.text("hookName", hook.1).text("command", command);
        let line = Object::new().text("type", "progress").object("data", data);
        let line = line.text("parentToolUseID", tool_use_id).text("toolUseID", tool_use_id);
        let line = line.text("timestamp", &at.timestamp).text("uuid", &at.uuid);
        self.wrap(at, None, &line)
    }

    /// Returns a line about any other running tool; `data` starts with its `type`.
    pub fn progress(&self, at: &At, data: Object, ids: (&str, &str)) -> String {
        let line = Object::new().text("type", "progress").object("data", data);
        let line = line.text("toolUseID", ids.0).text("parentToolUseID", ids.1);
        self.wrap(at, None, &stamped(line, at))
    }

    /// Returns an attachment; `attachment` starts with its `type`, `rendered` is what the model sees.
    pub fn attachment(&self, at: &At, attachment: Object, rendered: Option<&str>) -> String {
        let line = Object::new().object("attachment", attachment).text("type", "attachment");
        let line = stamped(line, at);
        let line = match rendered {
            Some(text) => {
                let content = Object::new().text("content", text).finish();
                line.list("rendered", &[content]).text("renderedRole", "system")
            }
            None => line,
        };
        self.wrap(at, None, &line)
    }

    fn assistant(&self, at: &At, api: &Api, block: Object) -> String {
        let dialect = self.dialect();
        let content = json::list(&[block.finish()]);
        let message = if matches!(dialect, Dialect::V2_0 | Dialect::V2_1) {
            let message = Object::new().text("model", &api.model).text("id", &api.message_id);
            message.text("type", "message").text("role", "assistant")
        } else {
            let message = Object::new().text("id", &api.message_id).text("type", "message");
            message.text("role", "assistant").text("model", &api.model)
        };
        let message = message
            .raw("content", &content)
            .text_or_null("stop_reason", api.stop_reason.as_deref())
            .null("stop_sequence")
            .object("usage", usage(dialect, api));
        let line = if dialect == Dialect::V2_1_330 {
            let message = message.null("stop_details");
            Object::new()
                .object("message", message)
                .number("apiBlockIndex", api.block_index)
                .text("requestId", &api.request_id)
                .text("requestedModel", &api.model)
                .text("promptCacheRequested", "5m")
        } else {
            let line = Object::new().object("message", message);
            line.text("requestId", &api.request_id)
        };
        let line = stamped(line.text("type", "assistant"), at);
        let line = if dialect == Dialect::V2_1_330 {
            line.text("effort", "medium").text("madeBy", "model")
        } else {
            line
        };
        self.wrap(at, None, &line)
    }

    /// Puts the envelope around a line's own fields, where the version has it.
    pub(super) fn wrap(&self, at: &At, logical_parent: Option<&str>, body: &Object) -> String {
        let parent = if logical_parent.is_some() { None } else { at.parent.as_deref() };
        let head = Object::new()
            .text_or_null("parentUuid", parent)
            .some_text("logicalParentUuid", logical_parent)
            .flag("isSidechain", self.sidechain);
        let place = Object::new()
            .text("cwd", &self.cwd)
            .text("sessionId", &self.session_id)
            .text("version", &self.version)
            .text("gitBranch", &self.branch);
        if self.dialect() == Dialect::V2_1_330 {
            head.some_text("promptId", self.prompt_id.as_deref())
                .some_text("agentId", self.agent_id.as_deref())
                .fields(body)
                .text("userType", "external")
                .text("entrypoint", "cli")
                .fields(&place)
                .some_text("slug", self.slug.as_deref())
                .finish()
        } else {
            head.text("userType", "external")
                .fields(&place)
                .some_text("agentId", self.agent_id.as_deref())
                .some_text("slug", self.slug.as_deref())
                .fields(body)
                .finish()
        }
    }
}

pub(super) fn stamped(line: Object, at: &At) -> Object {
    line.text("uuid", &at.uuid).text("timestamp", &at.timestamp)
}

fn segment(head: &str, anchor: &str, tail: &str) -> Object {
    let segment = Object::new().text("headUuid", head).text("anchorUuid", anchor);
    segment.text("tailUuid", tail)
}

fn usage(dialect: Dialect, api: &Api) -> Object {
    let base = Object::new()
        .number("input_tokens", api.input_tokens)
        .number("cache_creation_input_tokens", api.cache_creation_tokens)
        .number("cache_read_input_tokens", api.cache_read_tokens);
    let tiers = Object::new()
        .number("ephemeral_5m_input_tokens", api.cache_creation_tokens)
        .number("ephemeral_1h_input_tokens", 0);
    match dialect {
        Dialect::V1_0 => base.number("output_tokens", api.output_tokens),
        Dialect::V2_0 => base
            .object("cache_creation", tiers)
            .number("output_tokens", api.output_tokens)
            .text("service_tier", "standard"),
        Dialect::V2_1 => base
            .object("cache_creation", tiers)
            .number("output_tokens", api.output_tokens)
            .text("service_tier", "standard")
            .text("inference_geo", "not_available"),
        Dialect::V2_1_330 => {
            let searches = Object::new().number("web_search_requests", 0).number("web_fetch_requests", 0);
            let tiers = Object::new()
                .number("ephemeral_1h_input_tokens", 0)
                .number("ephemeral_5m_input_tokens", api.cache_creation_tokens);
            base.number("output_tokens", api.output_tokens)
                .object("output_tokens_details", Object::new().number("thinking_tokens", 0))
                .object("server_tool_use", searches)
                .text("service_tier", "standard")
                .object("cache_creation", tiers)
                .text("inference_geo", "")
                .raw("iterations", "[]")
                .text("speed", "standard")
                .null("fallback_credit")
        }
    }
}
