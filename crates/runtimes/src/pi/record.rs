//! One line of a pi session: its fields, borrowed.

use stemmata_model::Timestamp;

use crate::json::{
    Field, RecordError, Salvaged, borrowed_object, is_string, is_true, parse_line, salvage, text,
};
use crate::lines::unknown::type_name;

borrowed_object! {
    /// The fields of a line that somebody here looks at.
    pub(super) struct Envelope {
        record_type = "type",
        /// Of a header: the session. Else the entry's own id, absent in the first version.
        id,
        parent_id = "parentId", timestamp,
        /// Of a header: the version of the format, absent in the first.
        version,
        cwd, message, summary,
        /// Of a compaction: the first entry that stays.
        kept_id = "firstKeptEntryId",
        /// The same in the first version: its number among the entries, the header being 0.
        kept_index = "firstKeptEntryIndex",
        /// Of a compaction that a program on pi's library made: the messages that stay, word for word.
        retained = "retainedTail",
        content, display, name,
        /// Of a line of the fourth version: what it is to the session. Its `type` says more.
        line_kind = "kind",
        /// Of a line of the fourth version: its number. Its time is a number, too.
        seq,
        /// Of a line of the fourth version: which of the conversations in the file it is of.
        lane,
        /// Of a `lane`: the entry where that conversation stands.
        leaf_id = "leafId",
        /// Of a header of the fourth version.
        created_at = "createdAt",
    }
}

impl<'a> Envelope<'a> {
    /// Returns what a line of the fourth version is: `header`, `entry`, `record`, `lane` or `fact`. None of an older version.
    pub(super) fn fourth(&self) -> Option<std::borrow::Cow<'a, str>> {
        let is_numbered = self.seq.is_some_and(|seq| seq.number().is_some());
        let is_header =
            self.record_type.is_none() && self.version.is_some_and(|version| version.raw() == "4");
        text(self.line_kind).filter(|kind| if kind == "header" { is_header } else { is_numbered })
    }
}

/// The conversation of a session that its client shows; other lanes stand beside it.
pub(super) const MAIN_LANE: &str = "main";

borrowed_object! {
    /// The fields of a message.
    pub(super) struct Message {
        role, content, provider, model, usage, stop_reason = "stopReason", call_id = "toolCallId",
        is_error = "isError", command, output, exit_code = "exitCode", cancelled, truncated,
        full_output = "fullOutputPath",
        /// Of a command that the user ran: whether the model does not get to see it.
        excluded = "excludeFromContext",
        display, summary, timestamp,
    }
}

borrowed_object! {
    /// The fields of a content block.
    pub(super) struct Block {
        kind = "type", text, thinking, signature = "thinkingSignature", redacted, id, name,
        arguments, data, mime_type = "mimeType",
    }
}

borrowed_object! {
    /// Tokens of a request.
    pub(super) struct Tokens {
        input, output, cache_read = "cacheRead", cache_write = "cacheWrite",
    }
}

borrowed_object! {
    /// A signature that is an item of the Responses API: encrypted reasoning.
    pub(super) struct ReasoningItem {
        encrypted = "encrypted_content",
    }
}

/// The newest version that is known.
pub(super) const NEWEST_VERSION: u64 = 3;

/// Who speaks in a message; the last but one as the second version has it.
const ROLES: [&str; 8] = [
    "user",
    "assistant",
    "toolResult",
    "bashExecution",
    "custom",
    "branchSummary",
    "hookMessage",
    "compactionSummary",
];

/// What a content consists of.
const BLOCKS: [&str; 4] = ["text", "thinking", "toolCall", "image"];

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The session's header.
    Session,
    /// A message.
    Message,
    /// A compaction.
    Compaction,
    /// What happened on a branch that the conversation came back from.
    BranchSummary,
    /// A message that an extension put there.
    CustomMessage,
    /// A title.
    SessionInfo,
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
    pub(super) message: Message<'a>,
    /// The whole line.
    pub(super) whole: Field<'a>,
}

impl<'a> Record<'a> {
    /// Reads one line, with or without its newline.
    ///
    /// # Errors
    /// `RecordError` says what the line is instead.
    pub(super) fn parse(line: &'a [u8]) -> Result<Self, RecordError> {
        let (whole, envelope) = parse_line(line, Envelope::read)?;
        let message = envelope.message.and_then(|field| Message::read(field).ok());
        let kind = kind(&envelope, message.is_some());
        Ok(Self { envelope, kind, message: message.unwrap_or_default(), whole })
    }

    /// Returns the version that a header names, where it is not known: the client reads it as the newest that it knows.
    pub(super) fn unknown_version(&self) -> Option<&'a str> {
        let is_header = self.kind == Kind::Session && self.envelope.fourth().is_none();
        let version = self.envelope.version.filter(|_| is_header)?;
        let is_known = version.number().is_some_and(|number| (1..=NEWEST_VERSION).contains(&number));
        (!is_known).then(|| version.raw())
    }

    /// Returns when the line was written.
    pub(super) fn time(&self) -> Option<Timestamp> {
        let written = self.envelope.timestamp.or(self.envelope.created_at)?;
        if let Some(text) = written.text() {
            return Timestamp::parse(&text).ok();
        }
        let millis = written.number().filter(|_| self.envelope.fourth().is_some())?;
        Some(Timestamp::from_micros(i64::try_from(millis.checked_mul(1000)?).ok()?))
    }

    /// Returns the id that makes the line part of the tree; a header's is the session's.
    pub(super) fn entry_id(&self) -> Option<Field<'a>> {
        let is_entry = self.envelope.fourth().is_none_or(|kind| kind == "entry");
        let id = self.envelope.id.filter(|_| self.kind != Kind::Session && is_entry)?;
        id.text().is_some_and(|id| !id.is_empty()).then_some(id)
    }

    /// Returns whether it is a message of this role.
    pub(super) fn is_role(&self, role: &str) -> bool {
        self.kind == Kind::Message && self.message.role.is_some_and(|field| is_string(field, role))
    }

    /// Returns the type of the line.
    pub(super) fn name(&self) -> String {
        type_name(self.envelope.record_type.or(self.envelope.line_kind))
    }

    /// Returns what this version does not know: the type of a line, the role of a message, or the type of a piece of what it says.
    pub(super) fn unknown(&self) -> Option<String> {
        match self.kind {
            Kind::Unknown => Some(self.name()),
            Kind::Message if !ROLES.contains(&text(self.message.role).unwrap_or_default().as_ref()) => {
                Some(format!("message/{}", type_name(self.message.role)))
            }
            Kind::Message | Kind::CustomMessage => {
                unknown_block(self.message.content.or(self.envelope.content))
            }
            Kind::Compaction => self.retained().iter().find_map(Self::unknown),
            Kind::Session | Kind::BranchSummary | Kind::SessionInfo | Kind::Other => None,
        }
    }

    /// Returns the call that it is the result of.
    pub(super) fn answers(&self) -> Option<std::borrow::Cow<'a, str>> {
        text(self.message.call_id).filter(|_| self.is_role("toolResult"))
    }

    /// Returns whether the loader makes a message for the model of it.
    pub(super) fn is_seen(&self) -> bool {
        match self.kind {
            Kind::Message => {
                let role = text(self.message.role).unwrap_or_default();
                let is_command = role == "bashExecution";
                ROLES.contains(&role.as_ref()) && !(is_command && is_true(self.message.excluded))
            }
            Kind::BranchSummary => text(self.envelope.summary).is_some_and(|summary| !summary.is_empty()),
            Kind::Compaction | Kind::CustomMessage => true,
            Kind::Session | Kind::SessionInfo | Kind::Other | Kind::Unknown => false,
        }
    }

    /// Returns whether the client sends it: an answer that was broken off, or says nothing, it leaves out.
    pub(super) fn is_sent(&self) -> bool {
        let says = |field: Option<Field<'_>>| text(field).is_some_and(|text| !text.trim().is_empty());
        let is_said = |block: Field<'_>| {
            let block = Block::read(block).unwrap_or_default();
            match text(block.kind).as_deref() {
                Some("text") => says(block.text),
                Some("thinking") => says(block.thinking) || says(block.signature),
                _ => true,
            }
        };
        let content = self.message.content.filter(|_| self.is_role("assistant"));
        let blocks = content.and_then(|content| content.elements());
        self.is_seen() && !self.is_broken_off() && blocks.is_none_or(|blocks| blocks.into_iter().any(is_said))
    }

    fn is_broken_off(&self) -> bool {
        let is_stop = |stop| is_string(stop, "aborted") || is_string(stop, "error");
        self.is_role("assistant") && self.message.stop_reason.is_some_and(is_stop)
    }

    /// Reads the messages that a compaction holds word for word.
    pub(super) fn retained(&self) -> Vec<Self> {
        let list = self.envelope.retained.filter(|_| self.kind == Kind::Compaction);
        let elements = list.and_then(|list| list.elements()).unwrap_or_default();
        elements.into_iter().filter_map(Self::of_message).collect()
    }

    /// Takes a message that has no line of its own; none for what is no message.
    pub(super) fn of_message(whole: Field<'a>) -> Option<Self> {
        let message = Message::read(whole).ok()?;
        Some(Self { envelope: Envelope::default(), kind: Kind::Message, message, whole })
    }

    /// Returns the calls in an answer that wait for results: not those of one that was broken off, which the client leaves
    /// out of what it sends.
    pub(super) fn waiting(&self) -> Vec<(String, String)> {
        if self.is_broken_off() { Vec::new() } else { self.calls() }
    }

    /// Returns the calls in an answer: their ids and their tools.
    pub(super) fn calls(&self) -> Vec<(String, String)> {
        if !self.is_role("assistant") {
            return Vec::new();
        }
        let blocks = self.message.content.and_then(|content| content.elements()).unwrap_or_default();
        let call = |block: Field<'_>| {
            let block = Block::read(block).ok()?;
            let is_call = block.kind.is_some_and(|kind| is_string(kind, "toolCall"));
            let id = text(block.id).filter(|_| is_call)?;
            Some((id.into_owned(), text(block.name).unwrap_or_default().into_owned()))
        };
        blocks.into_iter().filter_map(call).collect()
    }
}

/// Returns the type of the first piece of a content that is not known.
fn unknown_block(content: Option<Field<'_>>) -> Option<String> {
    let blocks = content.and_then(|content| content.elements()).unwrap_or_default();
    let kinds =
        blocks.into_iter().map(|block| type_name(Block::read(block).ok().and_then(|block| block.kind)));
    let unknown = kinds.into_iter().find(|kind| !BLOCKS.contains(&kind.as_str()));
    unknown.map(|kind| format!("content/{kind}"))
}

/// Takes a line apart that is no single record (see `Dialect::rescue`).
pub(super) fn apart(line: &[u8]) -> Vec<Salvaged<'_>> {
    salvage(line, false, is_record)
}

/// Returns whether an object is a record, and not one inside of a record: a block has a type, too, and another one.
pub(super) fn is_record(object: Field<'_>) -> bool {
    let Ok(envelope) = Envelope::read(object) else { return false };
    let has_message = envelope.message.is_some();
    let is_one = envelope.record_type.is_some() || envelope.fourth().is_some();
    is_one && kind(&envelope, has_message) != Kind::Unknown
}

fn kind(envelope: &Envelope<'_>, has_message: bool) -> Kind {
    match envelope.fourth().as_deref() {
        None | Some("entry") => {}
        Some("header") => return Kind::Session,
        Some("fact") if envelope.name.is_some() => return Kind::SessionInfo,
        Some("fact" | "lane" | "record") => return Kind::Other,
        Some(_) => return Kind::Unknown,
    }
    match text(envelope.record_type).as_deref() {
        Some("session") => Kind::Session,
        Some("message") if has_message => Kind::Message,
        Some("compaction") => Kind::Compaction,
        Some("branch_summary") => Kind::BranchSummary,
        Some("custom_message") => Kind::CustomMessage,
        Some("session_info") => Kind::SessionInfo,
        Some("model_change" | "thinking_level_change" | "active_tools_change" | "custom" | "label") => {
            Kind::Other
        }
        _ => Kind::Unknown,
    }
}
