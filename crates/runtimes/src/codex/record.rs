//! One line of a Codex rollout: its fields, borrowed.
//!
//! Rollouts of 2025 and before have no envelope: the line is the item itself.

use stemmata_model::Timestamp;

use crate::json::{Field, RecordError, borrowed_object, is_string, parse_line, text};

borrowed_object! {
    /// The envelope of a line; of a line without one, what tells it apart.
    pub(super) struct Envelope {
        /// When it was written.
        timestamp,
        /// `session_meta`, `response_item`, `event_msg`, `turn_context`, `compacted`, …; without an envelope the
        /// item's own type.
        record_type = "type",
        /// What the line is about.
        payload,
        /// The line's number, where the history is paginated.
        ordinal,
        /// `state`, in lines without an envelope.
        old_type = "record_type",
        /// Of a first line without an envelope: the session.
        id,
        /// Of a first line without an envelope.
        instructions,
        /// Of a first line without an envelope.
        git,
    }
}

borrowed_object! {
    /// The fields of a payload that somebody here looks at.
    pub(super) struct Payload {
        item_type = "type", id, session_id, thread_id, timestamp, role, content, name, namespace,
        arguments, input, call_id, output, summary, encrypted_content, action, result, message,
        replacement_history, num_turns, cwd, originator, cli_version, git, source, thread_source,
        history_mode, history_base, forked_from_id, parent_thread_id, model, info,
        author, recipient, status, execution, tools,
        metadata = "internal_chat_message_metadata_passthrough",
    }
}

borrowed_object! {
    /// The fields of a content item that somebody here looks at.
    pub(super) struct Content {
        kind = "type", text, image_url, file_id, audio_url, encrypted = "encrypted_content",
    }
}

borrowed_object! {
    /// Where a rollout's history begins, when that is in another file.
    pub(super) struct HistoryBase {
        thread_id, end_ordinal = "end_ordinal_exclusive", end_offset = "end_byte_offset",
    }
}

borrowed_object! {
    /// Who started a session: of a subagent an object.
    pub(super) struct Source {
        subagent,
    }
}

borrowed_object! {
    /// How a subagent came to be.
    pub(super) struct Subagent {
        spawn = "thread_spawn",
    }
}

borrowed_object! {
    /// Who started a subagent.
    pub(super) struct Spawn {
        parent = "parent_thread_id",
    }
}

borrowed_object! {
    /// A repository, as a session's header names it.
    pub(super) struct Git {
        branch, repository_url,
    }
}

/// Items that the client sends, 0.169.0. It drops an item of any other type without a word.
pub(super) const SENT_ITEMS: [&str; 16] = [
    "additional_tools",
    "agent_message",
    "compaction",
    "compaction_summary",
    "context_compaction",
    "custom_tool_call",
    "custom_tool_call_output",
    "function_call",
    "function_call_output",
    "image_generation_call",
    "local_shell_call",
    "message",
    "reasoning",
    "tool_search_call",
    "tool_search_output",
    "web_search_call",
];

/// Items that are known and that no client sends.
pub(super) const UNSENT_ITEMS: [&str; 2] = ["compaction_trigger", "ghost_snapshot"];

/// Events, down to 0.1 and up to 0.169.0: an event can take turns back, so one that is not known is said to be there.
const EVENTS: [&str; 93] = [
    "agent_message",
    "agent_message_content_delta",
    "agent_message_delta",
    "agent_reasoning",
    "agent_reasoning_delta",
    "agent_reasoning_raw_content",
    "agent_reasoning_raw_content_delta",
    "agent_reasoning_section_break",
    "apply_patch_approval_request",
    "auth_recovery_completed",
    "auth_recovery_started",
    "background_event",
    "collab_agent_interaction_begin",
    "collab_agent_interaction_end",
    "collab_agent_spawn_begin",
    "collab_agent_spawn_end",
    "collab_close_begin",
    "collab_close_end",
    "collab_resume_begin",
    "collab_resume_end",
    "collab_waiting_begin",
    "collab_waiting_end",
    "context_compacted",
    "deprecation_notice",
    "dynamic_tool_call_request",
    "dynamic_tool_call_response",
    "elicitation_abandoned",
    "elicitation_request",
    "entered_review_mode",
    "environment_connected",
    "environment_disconnected",
    "error",
    "exec_approval_request",
    "exec_command_begin",
    "exec_command_end",
    "exec_command_output_delta",
    "exited_review_mode",
    "guardian_assessment",
    "guardian_warning",
    "hook_completed",
    "hook_started",
    "image_generation_begin",
    "image_generation_end",
    "item_completed",
    "item_started",
    "mcp_startup_complete",
    "mcp_startup_update",
    "mcp_tool_call_begin",
    "mcp_tool_call_end",
    "model_reroute",
    "model_verification",
    "patch_apply_begin",
    "patch_apply_end",
    "patch_apply_updated",
    "plan_delta",
    "plan_update",
    "raw_response_completed",
    "raw_response_item",
    "realtime_conversation_closed",
    "realtime_conversation_realtime",
    "realtime_conversation_sdp",
    "realtime_conversation_started",
    "reasoning_content_delta",
    "reasoning_raw_content_delta",
    "request_permissions",
    "request_user_input",
    "safety_buffering",
    "session_configured",
    "shutdown_complete",
    "skills_update_available",
    "stream_error",
    "sub_agent_activity",
    "task_complete",
    "task_started",
    "terminal_interaction",
    "thread_goal_updated",
    "thread_name_updated",
    "thread_queue_changed",
    "thread_rolled_back",
    "thread_settings_applied",
    "token_count",
    "turn_aborted",
    "turn_complete",
    "turn_diff",
    "turn_moderation_metadata",
    "turn_started",
    "undo_completed",
    "undo_started",
    "user_message",
    "view_image_tool_call",
    "warning",
    "web_search_begin",
    "web_search_end",
];

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The session's header.
    SessionMeta,
    /// Something that the model sees or said.
    Item,
    /// A compaction.
    Compacted,
    /// A turn's settings.
    TurnContext,
    /// Something for the client's own eyes.
    Event,
    /// Known, and of no interest here.
    Other,
    /// Not known to this version.
    Unknown,
}

/// A line that was read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a> {
    pub(super) envelope: Envelope<'a>,
    pub(super) kind: Kind,
    pub(super) payload: Payload<'a>,
    /// The payload's JSON; without an envelope the whole line.
    pub(super) body: Field<'a>,
    pub(super) has_envelope: bool,
}

impl<'a> Record<'a> {
    /// Reads one line, with or without its newline.
    ///
    /// # Errors
    /// `RecordError` says what the line is instead.
    pub(super) fn parse(line: &'a [u8]) -> Result<Self, RecordError> {
        let (whole, envelope) = parse_line(line, Envelope::read)?;
        let payload = envelope.payload.and_then(|field| Some((field, Payload::read(field).ok()?)));
        let (body, payload, has_envelope) = match payload {
            Some((body, payload)) => (body, payload, true),
            None => (whole, Payload::read(whole).unwrap_or_default(), false),
        };
        let kind = if has_envelope { enveloped(&envelope) } else { bare(&envelope) };
        Ok(Self { envelope, kind, payload, body, has_envelope })
    }

    /// Reads an item of a list.
    pub(super) fn of_item(body: Field<'a>) -> Option<Self> {
        let payload = Payload::read(body).ok()?;
        let envelope = Envelope::default();
        Some(Self { envelope, kind: Kind::Item, payload, body, has_envelope: false })
    }

    /// Returns where the line's object begins.
    pub(super) fn whole_start(&self) -> Option<usize> {
        (!self.has_envelope).then(|| self.body.raw().find('{')).flatten()
    }

    /// Returns when the line was written.
    pub(super) fn time(&self) -> Option<Timestamp> {
        Timestamp::parse(&text(self.envelope.timestamp)?).ok()
    }

    /// Returns the mode of the history that a header names, where it is not known: the client refuses such a file.
    pub(super) fn unknown_mode(&self) -> Option<Field<'a>> {
        let mode = self.payload.history_mode.filter(|_| self.kind == Kind::SessionMeta)?;
        let is_known = mode.is_null() || ["legacy", "paginated"].iter().any(|known| is_string(mode, known));
        (!is_known).then_some(mode)
    }

    /// Returns whether the payload is of one of these types.
    pub(super) fn is_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.is_item(name))
    }

    /// Returns whether it is an item or an event of a type that is not known.
    pub(super) fn is_unknown(&self) -> bool {
        match self.kind {
            Kind::Item => !self.is_any(&SENT_ITEMS) && !self.is_any(&UNSENT_ITEMS),
            Kind::Event => !self.is_any(&EVENTS),
            Kind::Unknown => true,
            Kind::SessionMeta | Kind::Compacted | Kind::TurnContext | Kind::Other => false,
        }
    }

    /// Returns whether the payload is of this type.
    pub(super) fn is_item(&self, name: &str) -> bool {
        self.payload.item_type.is_some_and(|field| is_string(field, name))
    }
}

fn enveloped(envelope: &Envelope<'_>) -> Kind {
    let Some(name) = text(envelope.record_type) else { return Kind::Unknown };
    match name.as_ref() {
        "session_meta" => Kind::SessionMeta,
        "response_item" => Kind::Item,
        "compacted" => Kind::Compacted,
        "turn_context" => Kind::TurnContext,
        "event_msg" => Kind::Event,
        "world_state"
        | "token_usage_record"
        | "inter_agent_communication"
        | "inter_agent_communication_metadata" => Kind::Other,
        _ => Kind::Unknown,
    }
}

fn bare(envelope: &Envelope<'_>) -> Kind {
    let is_header = envelope.record_type.is_none() && envelope.id.is_some() && envelope.timestamp.is_some();
    match text(envelope.record_type).as_deref() {
        _ if envelope.old_type.is_some() => Kind::Other,
        None if is_header => Kind::SessionMeta,
        Some(
            "message"
            | "reasoning"
            | "function_call"
            | "function_call_output"
            | "local_shell_call"
            | "custom_tool_call"
            | "custom_tool_call_output"
            | "web_search_call",
        ) => Kind::Item,
        _ => Kind::Unknown,
    }
}

/// Returns whether bare lines begin a rollout: no other format starts like this.
pub(super) fn is_bare_header(envelope: &Envelope<'_>) -> bool {
    envelope.instructions.is_some() && bare(envelope) == Kind::SessionMeta
}
