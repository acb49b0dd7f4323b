//! One line of a Gemini CLI session: its fields, borrowed.

use stemmata_model::Timestamp;

use crate::json::{
    Field, Member, RecordError, Salvaged, borrowed_object, is_string, members, parse_line, salvage, text,
};
use crate::lines::unknown::type_name;

borrowed_object! {
    /// The fields of a line that somebody here looks at; of a checkpoint's messages too.
    pub(super) struct Fields {
        /// Of the header.
        session_id = "sessionId",
        /// Of the header: the SHA-256 of the directory that the session works in.
        project_hash = "projectHash",
        /// Of the header, in no version that is known.
        schema_version = "schemaVersion",
        start_time = "startTime", last_updated = "lastUpdated",
        /// Of the header: `main` or `subagent`.
        session_kind = "kind",
        /// Of a message; the same id again is the same message with more fields.
        id,
        timestamp,
        /// `user`, `gemini`, `info`, `error`, `warning`.
        record_type = "type",
        content, thoughts, tokens, model, tool_calls = "toolCalls",
        /// Metadata that is merged into the header's.
        set = "$set",
        rewind_to = "$rewindTo",
        /// Of `$set`: what replaces all messages. Of a first line: a session of the older format.
        messages,
        /// Of `$set`: a title that the model made up.
        summary,
    }
}

borrowed_object! {
    /// A part of a message's content.
    pub(super) struct Content {
        text, thought, inline_data = "inlineData", file_data = "fileData",
        function_response = "functionResponse", function_call = "functionCall",
    }
}

borrowed_object! {
    /// Bytes inside a part, or where they are.
    pub(super) struct Data {
        media_type = "mimeType", bytes = "data", uri = "fileUri",
    }
}

borrowed_object! {
    /// A tool's result.
    pub(super) struct Response {
        id, name, body = "response", parts, output, error,
    }
}

borrowed_object! {
    /// A tool call of an answer.
    pub(super) struct Call {
        id, name, args, result,
    }
}

borrowed_object! {
    /// A thought of an answer.
    pub(super) struct Thought {
        subject, description,
    }
}

borrowed_object! {
    /// What the provider counted.
    pub(super) struct Tokens {
        input, output, cached, thoughts,
    }
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The session's header.
    Header,
    /// What a user said, a tool returned, or the client itself put there.
    User,
    /// An answer.
    Gemini,
    /// Something for the eyes of a person only.
    Notice,
    /// Metadata, or a checkpoint.
    Set,
    /// The conversation goes back.
    Rewind,
    /// Not known to this version.
    Unknown,
}

/// A line that was read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a> {
    pub(super) whole: Field<'a>,
    pub(super) fields: Fields<'a>,
    /// The fields inside `$set`.
    pub(super) set: Option<Fields<'a>>,
    pub(super) kind: Kind,
}

impl<'a> Record<'a> {
    /// Reads one line, with or without its newline.
    ///
    /// # Errors
    /// `RecordError` says what the line is instead.
    pub(super) fn parse(line: &'a [u8]) -> Result<Self, RecordError> {
        let (whole, fields) = parse_line(line, Fields::read)?;
        let set = fields.set.and_then(|set| Fields::read(set).ok());
        Ok(Self { whole, fields, set, kind: kind(&fields, set.is_some()) })
    }

    /// Returns when the line was written.
    pub(super) fn time(&self) -> Option<Timestamp> {
        let set = self.set.unwrap_or_default();
        let written = [self.fields.timestamp, set.last_updated, self.fields.start_time];
        written.into_iter().find_map(|field| Timestamp::parse(&text(field)?).ok())
    }

    /// Returns the name of a record that is not known: its type, or the operation that it is.
    pub(super) fn unknown_name(&self) -> String {
        let of_type = || type_name(self.fields.record_type);
        let operation = |member: &Member<'_>| member.name.starts_with('$');
        let operation = members(self.whole).unwrap_or_default().into_iter().find(operation);
        operation.filter(|_| self.fields.record_type.is_none()).map_or_else(of_type, |member| member.name)
    }

    /// Returns what replaces all messages, for a checkpoint.
    pub(super) fn checkpoint(&self) -> Option<Field<'a>> {
        self.set?.messages.filter(|messages| messages.raw().starts_with('['))
    }
}

/// Takes a line apart that is no single record (see `Dialect::rescue`).
pub(super) fn apart(line: &[u8]) -> Vec<Salvaged<'_>> {
    salvage(line, false, recognizer(line))
}

/// Returns what tells the records of a line from the objects inside of them: those inside of a checkpoint are messages, too.
pub(super) fn recognizer(line: &[u8]) -> fn(Field<'_>) -> bool {
    let has_checkpoint = memchr::memmem::find(line, b"\"$set\"").is_some();
    if has_checkpoint { is_change } else { is_record }
}

fn is_change(object: Field<'_>) -> bool {
    let fields = Fields::read(object).unwrap_or_default();
    fields.set.is_some() || fields.rewind_to.is_some()
}

fn is_record(object: Field<'_>) -> bool {
    let fields = Fields::read(object).unwrap_or_default();
    let is_header = fields.session_id.is_some() && fields.project_hash.is_some();
    let is_message = fields.id.is_some() && fields.timestamp.is_some() && fields.record_type.is_some();
    is_change(object) || is_header || is_message
}

/// Says what a message is, in a line or in a checkpoint.
pub(super) fn message_kind(fields: &Fields<'_>) -> Kind {
    let is = |name: &str| fields.record_type.is_some_and(|field| is_string(field, name));
    if is("user") {
        Kind::User
    } else if is("gemini") {
        Kind::Gemini
    } else if is("info") || is("error") || is("warning") {
        Kind::Notice
    } else {
        Kind::Unknown
    }
}

fn kind(fields: &Fields<'_>, has_set: bool) -> Kind {
    if has_set {
        Kind::Set
    } else if fields.rewind_to.is_some_and(|target| target.text().is_some()) {
        // The client passes over one that names no message.
        Kind::Rewind
    } else if fields.record_type.is_none() && (fields.session_id.is_some() || fields.project_hash.is_some()) {
        Kind::Header
    } else {
        message_kind(fields)
    }
}

/// Returns the elements of a field that is there and a list.
pub(super) fn elements(field: Option<Field<'_>>) -> Vec<Field<'_>> {
    field.and_then(|field| field.elements()).unwrap_or_default()
}
