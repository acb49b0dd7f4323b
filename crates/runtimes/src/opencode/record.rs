//! The fields of a session of opencode, borrowed.

use stemmata_model::Timestamp;

use crate::json::{Field, borrowed_object};

borrowed_object! {
    /// A whole session.
    pub(super) struct Session {
        info, messages,
    }
}

borrowed_object! {
    /// What stands beside messages and parts, and what a session says of itself.
    pub(super) struct Info {
        kind = "type", id, slug, session_id = "sessionID", parent_id = "parentID", directory, title, version, role,
        model, model_id = "modelID", provider_id = "providerID", path, cwd, root, time, created,
        updated, tokens, finish, error, summary,
        /// Where it works, as versions 2.x say it.
        location,
        /// What the user took back, and where it begins.
        revert,
        message_id = "messageID", part_id = "partID",
    }
}

borrowed_object! {
    /// What the provider counted.
    pub(super) struct Tokens {
        input, output, reasoning, cache, read, write,
    }
}

borrowed_object! {
    /// A message.
    pub(super) struct Message {
        info, parts,
    }
}

borrowed_object! {
    /// A part of a message.
    pub(super) struct Piece {
        kind = "type", id, session_id = "sessionID", message_id = "messageID", text,
        /// Of text that only a person sees.
        ignored,
        metadata, tool, call_id = "callID", state, media_type = "mime", filename, url,
        /// Of a compaction: the message from which on it kept everything.
        tail_start = "tail_start_id",
    }
}

borrowed_object! {
    /// How far a call got.
    pub(super) struct State {
        status, input, output, error, attachments,
        /// As versions 2.x keep it; one that the provider made has a result instead.
        content, result, message,
    }
}

borrowed_object! {
    /// A message of versions 2.x: what its type holds stands in itself.
    pub(super) struct Flat {
        kind = "type", id, text, files, skills, model, content, tokens, finish, status, summary, recent,
        command, output,
        /// Of a compaction: what only its provider can read. No text stands for what was before it then.
        sealed = "providerContext",
    }
}

borrowed_object! {
    /// A piece of a message of versions 2.x.
    pub(super) struct Item {
        kind = "type", id, call_id = "callID", text, name, state, native, provider_state = "providerState",
        media_type = "mime", uri, data,
    }
}

borrowed_object! {
    /// What a provider says of its reasoning.
    pub(super) struct Proof {
        signature, redacted = "redactedData", encrypted = "reasoningEncryptedContent",
    }
}

/// Looks into a field that is there and an object.
pub(super) fn info(field: Option<Field<'_>>) -> Info<'_> {
    field.and_then(|field| Info::read(field).ok()).unwrap_or_default()
}

/// Reads milliseconds.
pub(super) fn time(field: Option<Field<'_>>) -> Option<Timestamp> {
    let millis = i64::try_from(field?.number()?).ok()?;
    Some(Timestamp::from_micros(millis.checked_mul(1_000)?))
}
