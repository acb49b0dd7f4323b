//! One line of a Claude Code transcript: its top-level fields, borrowed and with their places in the line.
//!
//! Not a typed model of every record: values stay raw JSON text until somebody asks, so that a line of
//! megabytes costs one scan and no allocation. The inside of `message` is in `message`.

use std::borrow::Cow;

use stemmata_model::Timestamp;

pub use crate::json::{Field, RecordError};
use crate::json::{borrowed_object, is_string, is_true, parse_line, text};

borrowed_object! {
    /// The top-level fields of a line that somebody here looks at; all others are checked and skipped.
    pub struct Record {
        /// `type`: `user`, `assistant`, `system`, `attachment`, `progress`, or a metadata type.
        record_type = "type",
        /// `subtype` of a `system` record.
        subtype,
        /// The record's own id; metadata records have none.
        uuid,
        /// The record before; absent on metadata, `null` on a first record and on a compaction's boundary.
        parent_uuid = "parentUuid",
        /// On a compaction's boundary: the record that would be its parent.
        logical_parent_uuid = "logicalParentUuid",
        /// The session, as a rule the file's name.
        session_id = "sessionId",
        /// A second spelling of `sessionId` that some versions write beside it.
        session_id_snake = "session_id",
        /// The session that a request was sent in.
        request_session_id = "requestSessionId",
        /// When it was written.
        timestamp,
        /// Whether it belongs to a subagent.
        is_sidechain = "isSidechain",
        /// Whether the runtime itself wrote this user message.
        is_meta = "isMeta",
        /// Whether it is the summary that a compaction left.
        is_compact_summary = "isCompactSummary",
        /// Whether it is shown in the transcript only.
        is_visible_in_transcript_only = "isVisibleInTranscriptOnly",
        /// Whether an assistant record is an error of the API in disguise.
        is_api_error_message = "isApiErrorMessage",
        /// The subagent's id.
        agent_id = "agentId",
        /// The working directory.
        cwd,
        /// Of a `relocated` record: the directory that the session moved to.
        relocated_cwd = "relocatedCwd",
        /// The version of the client.
        version,
        /// The git branch.
        git_branch = "gitBranch",
        /// The API message.
        message,
        /// The tool's structured output beside its `tool_result` block.
        tool_use_result = "toolUseResult",
        /// The assistant record whose call a result answers.
        source_tool_assistant_uuid = "sourceToolAssistantUUID",
        /// What a boundary says of its compaction.
        compact_metadata = "compactMetadata",
        /// The API request's id.
        request_id = "requestId",
        /// The id under which a prompt was sent that was stored anew.
        sent_as_uuid = "sentAsUuid",
        /// What an `attachment` record carries.
        attachment,
        /// An attachment's text as the model gets it.
        rendered,
        /// The role under which the model gets an attachment's text.
        rendered_role = "renderedRole",
        /// Text of a `system` or `queue-operation` record.
        content,
        /// A title of another session's leaf.
        summary,
        /// The record that a metadata record is about.
        leaf_uuid = "leafUuid",
        /// Whether a `last-prompt` record is the user's own choice of where the session goes on.
        explicit,
        /// Of a `last-prompt` record after a rewind: the record that was cut off.
        cut_uuid = "cutUuid",
        /// The record that a file history record is about.
        message_id = "messageId",
        /// A title that the user gave.
        custom_title = "customTitle",
        /// A title that the runtime made up.
        ai_title = "aiTitle",
        /// Where a fork of the SDK came from.
        forked_from = "forkedFrom",
    }
}

/// What a record's `parentUuid` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParentLink<'a> {
    /// There is no such field, or it is no text: not part of the tree.
    Absent,
    /// `null`: the start of a tree.
    Root,
    /// The id of the record before.
    Of(Cow<'a, str>),
}

impl<'a> Record<'a> {
    /// Reads one line, with or without its newline, and checks that all of it is one JSON object.
    ///
    /// Linear in the line's length, no copies; nesting is not limited, for nothing recurses.
    ///
    /// # Errors
    /// `RecordError` says what the line is instead.
    pub fn parse(line: &'a [u8]) -> Result<Self, RecordError> {
        Ok(parse_line(line, Self::read)?.1)
    }

    /// Returns `type`, empty where it is absent or no text.
    pub fn type_text(&self) -> Cow<'a, str> {
        text(self.record_type).unwrap_or_default()
    }

    /// Returns whether `type` is exactly this.
    pub fn is_type(&self, name: &str) -> bool {
        self.record_type.is_some_and(|field| is_string(field, name))
    }

    /// Returns whether the record is `system` of exactly this subtype.
    pub fn is_system(&self, subtype: &str) -> bool {
        self.is_type("system") && self.subtype.is_some_and(|field| is_string(field, subtype))
    }

    /// Returns whether the record opens a compaction.
    pub fn is_compact_boundary(&self) -> bool {
        self.is_system("compact_boundary")
    }

    /// Returns whether the record is the summary that a compaction left.
    pub fn is_compaction_summary(&self) -> bool {
        self.is_type("user") && is_true(self.is_compact_summary)
    }

    /// Returns whether the record belongs to a subagent.
    pub fn is_sidechain_record(&self) -> bool {
        is_true(self.is_sidechain)
    }

    /// Returns the record's own id.
    pub fn uuid_text(&self) -> Option<Cow<'a, str>> {
        text(self.uuid)
    }

    /// Returns whether this is a user's own prompt, provided that it holds no result of a tool: `type:user`, not the
    /// runtime's own (`isMeta`), not a compaction's summary, and not a subagent's unless the whole transcript is one.
    pub(super) fn is_user_besides_results(&self, in_subagent_file: bool) -> bool {
        self.is_type("user")
            && !is_true(self.is_meta)
            && !is_true(self.is_compact_summary)
            && (in_subagent_file || !self.is_sidechain_record())
    }

    /// Returns what `parentUuid` says.
    pub fn parent(&self) -> ParentLink<'a> {
        match self.parent_uuid {
            Some(field) if field.is_null() => ParentLink::Root,
            Some(field) => field.text().map_or(ParentLink::Absent, ParentLink::Of),
            None => ParentLink::Absent,
        }
    }

    /// Returns the timestamp, none where it is absent or no timestamp.
    pub fn time(&self) -> Option<Timestamp> {
        Timestamp::parse(&text(self.timestamp)?).ok()
    }
}

#[cfg(test)]
mod tests;
