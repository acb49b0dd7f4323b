//! Checks a session as `opencode import` would take it, and counts what would reach the model.
//!
//! It repairs nothing. The import takes message by message, and ends at the first that it refuses: what was before it is
//! in the client's database then, and nothing else.

use std::collections::HashSet;

use super::flat;
use super::needs::{self, Need, missing};
use super::record::{Flat, Info, Item, Message, Piece, Session, State, info};
use crate::adapter::{Severity, Validation, Validator};
use crate::document::whole;
use crate::findings::DocumentCheck;
use crate::json::{Field, is_blank, owned, text};

/// Checks a whole session.
#[derive(Default)]
pub(super) struct DocumentValidator {
    found: DocumentCheck,
}

impl DocumentValidator {
    fn need(&mut self, what: &str, field: Option<Field<'_>>, needs: &[Need]) {
        for key in missing(field, needs) {
            let message = format!("{what} has no `{key}`: the import refuses it");
            self.found.find(Severity::Fatal, "missing_key", message);
        }
    }

    fn session(&mut self, session: &Session<'_>) {
        let elements = session.messages.and_then(|messages| messages.elements()).unwrap_or_default();
        let flat: Vec<Option<Flat<'_>>> = elements.iter().map(|element| flat::of(*element)).collect();
        let is_second = info(session.info).location.is_some() && info(session.info).directory.is_none();
        match flat.iter().filter(|one| one.is_some()).count() {
            0 if !(elements.is_empty() && is_second) => {}
            all if all == elements.len() => {
                self.need("the session", session.info, needs::FLAT_SESSION);
                for (number, (element, flat)) in
                    elements.into_iter().zip(flat.into_iter().flatten()).enumerate()
                {
                    self.flat(&format!("message {}", number + 1), element, &flat);
                }
                return;
            }
            _ => {
                let text = "messages of versions 1.x and of 2.x stand in it: neither import takes both";
                self.found.find(Severity::Fatal, "mixed_versions", text);
                self.found.messages += u64::try_from(flat.len()).unwrap_or(u64::MAX);
                return;
            }
        }
        self.need("the session", session.info, needs::SESSION);
        let mut before = String::new();
        let mut known = HashSet::new();
        let messages = session.messages.and_then(|messages| messages.elements()).unwrap_or_default();
        for (number, element) in messages.into_iter().enumerate() {
            let what = format!("message {}", number + 1);
            let Ok(message) = Message::read(element) else {
                self.found.find(Severity::Fatal, "missing_key", format!("{what} is not an object"));
                continue;
            };
            let about = info(message.info);
            self.message(&what, &about, &message, &known);
            let id = owned(about.id).unwrap_or_default();
            if id <= before {
                let text =
                    format!("{what} is not sorted behind the one before it by its id, as the client sorts");
                self.found.find(Severity::Fatal, "out_of_order", text);
            }
            known.insert(id.clone());
            before = id;
        }
    }

    /// Checks a message of versions 2.x.
    fn flat(&mut self, what: &str, element: Field<'_>, flat: &Flat<'_>) {
        self.need(what, Some(element), needs::FLAT_MESSAGE);
        let kind = text(flat.kind).unwrap_or_default();
        self.need(&format!("the `{kind}` in {what}"), Some(element), needs::of_flat(&kind));
        self.known(&format!("`{kind}`, the type of {what},"), needs::is_flat_type(&kind));
        self.found.messages += 1;
        for item in flat::items(flat) {
            let read = Item::read(item).unwrap_or_default();
            let kind = text(read.kind).unwrap_or_default();
            let what = format!("a `{kind}` of {what}");
            self.known(&what, needs::is_item_type(&kind));
            self.need(&what, Some(item), needs::of_item(&kind));
            let Some(state) = read.state.filter(|_| kind == "tool") else { continue };
            let status = State::read(state).ok().and_then(|state| owned(state.status)).unwrap_or_default();
            self.need(&format!("the state of {what}"), Some(state), needs::of_flat_state(&status));
            if !matches!(status.as_str(), "completed" | "error") {
                let call = owned(read.id).unwrap_or_default();
                let text = format!("the call `{call}` has no result: the client calls it interrupted");
                self.found.find(Severity::Warning, "call_without_result", text);
            }
        }
    }

    /// Says what is of a type that is not known.
    fn known(&mut self, what: &str, is_known: bool) {
        if !is_known {
            let text = format!("{what} is unknown to us: it is kept as it is");
            self.found.find(Severity::Warning, "unknown_type", text);
        }
    }

    fn message(&mut self, what: &str, about: &Info<'_>, message: &Message<'_>, known: &HashSet<String>) {
        self.need(what, message.info, needs::MESSAGE);
        if message.parts.and_then(|parts| parts.elements()).is_none() {
            self.found.find(
                Severity::Fatal,
                "missing_key",
                format!("{what} has no `parts`: the import refuses it"),
            );
        }
        match text(about.role).as_deref() {
            Some("assistant") => {
                self.need(what, message.info, needs::ANSWER);
                if text(about.parent_id).is_some_and(|parent| !known.contains(parent.as_ref())) {
                    let text = format!("{what} answers a message that is not before it");
                    self.found.find(Severity::Warning, "unknown_parent", text);
                }
            }
            Some("user") => self.need(what, message.info, needs::USER),
            _ => {
                let text = format!("{what} has a role that is unknown to us");
                self.found.find(Severity::Fatal, "unknown_role", text);
            }
        }
        self.found.messages += 1;
        for part in message.parts.and_then(|parts| parts.elements()).unwrap_or_default() {
            self.part(what, part);
        }
    }

    fn part(&mut self, what: &str, part: Field<'_>) {
        let read = Piece::read(part).unwrap_or_default();
        let kind = text(read.kind).unwrap_or_default();
        let what = format!("a part `{kind}` of {what}");
        self.known(&what, needs::is_part_type(&kind));
        self.need(&what, Some(part), needs::PART);
        self.need(&what, Some(part), needs::of_part(&kind));
        let Some(state) = read.state.filter(|_| kind == "tool") else { return };
        let fields = State::read(state).unwrap_or_default();
        let status = text(fields.status).unwrap_or_default();
        self.need(&format!("the state of {what}"), Some(state), needs::of_state(&status));
        if matches!(status.as_ref(), "pending" | "running") {
            let call = owned(read.call_id).unwrap_or_default();
            let text = format!("the call `{call}` has no result: the client calls it aborted");
            self.found.find(Severity::Warning, "call_without_result", text);
        }
        for file in fields.attachments.and_then(|files| files.elements()).unwrap_or_default() {
            let attached = format!("an attachment of {what}");
            self.need(&attached, Some(file), needs::PART);
            self.need(&attached, Some(file), needs::of_part("file"));
            let kind = Piece::read(file).ok().and_then(|file| owned(file.kind)).unwrap_or_default();
            if kind != "file" {
                let message = format!("{attached} is of the type `{kind}`: the import takes files only");
                self.found.find(Severity::Fatal, "attachment_is_no_file", message);
            }
        }
    }
}

impl Validator for DocumentValidator {
    fn line(&mut self, document: &[u8]) {
        if is_blank(document) {
            return;
        }
        match whole(document).map(Session::read) {
            Ok(Ok(session)) => self.session(&session),
            Ok(Err(_)) => self.found.find(Severity::Fatal, "unreadable", "the document is not a session"),
            Err(error) => self.found.unreadable(document, &error),
        }
    }

    fn finish(&mut self) -> Validation {
        self.found.need_messages("it has no message");
        self.found.take()
    }
}
