//! The ids of a line by which a client's copy of it is known.
//!
//! A fork by the command line keeps `uuid`, one by the SDK says in `forkedFrom` which it was, and a session that
//! version 1.0 resumed keeps neither; ids that the API gave stay in all of them.

use super::apart::apart;
use super::message::{Content, Shape};
use super::record::Record;
use super::whole::Whole;
use crate::adapter::IdKind;
use crate::json::{Field, borrowed_object, is_blank, text};

borrowed_object! {
    /// The fields of `forkedFrom` that somebody here looks at.
    struct Fork {
        /// The record that this one is a copy of.
        message_uuid = "messageUuid",
    }
}

/// Returns the id of the record that a record says it is a copy of.
pub(super) fn fork_of<'a>(record: &Record<'a>) -> Option<Field<'a>> {
    record.forked_from.and_then(|field| Fork::read(field).ok())?.message_uuid
}

/// Hands out the ids of a line's records.
pub(super) fn ids(line: &[u8], found: &mut dyn FnMut(IdKind, &str)) {
    if let Ok(whole) = Whole::parse(line) {
        ids_of(whole, found);
    } else if !is_blank(line) {
        let records = apart(line, false).into_iter().filter_map(|part| part.record);
        for record in records {
            if let Ok(whole) = Whole::parse(record.as_bytes()) {
                ids_of(whole, found);
            }
        }
    }
}

fn ids_of(Whole { record, inside }: Whole<'_>, found: &mut dyn FnMut(IdKind, &str)) {
    let mut hand_out = |kind, field: Option<Field<'_>>| {
        if let Some(id) = text(field) {
            found(kind, &id);
        }
    };
    hand_out(IdKind::Entry, record.uuid);
    hand_out(IdKind::Origin, fork_of(&record));
    hand_out(IdKind::Call, inside.message.and_then(|message| message.id));
    if let Content::List(elements) = inside.content {
        for element in elements {
            match element.shape() {
                Shape::Call { id, .. } => hand_out(IdKind::Call, Some(id)),
                Shape::Result { call, .. } => hand_out(IdKind::Call, Some(call)),
                Shape::Text(_)
                | Shape::Thinking(..)
                | Shape::Redacted(_)
                | Shape::Image(..)
                | Shape::ImageUrl(_)
                | Shape::Document { .. }
                | Shape::Other => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_hands_out_its_own_ids_and_no_other_records() {
        let line = br#"{"uuid":"u-1","parentUuid":"u-0","forkedFrom":{"sessionId":"s","messageUuid":"o-1"},
            "type":"assistant","message":{"id":"msg_1","role":"assistant","content":[{"type":"text","text":"x"},
            {"type":"tool_use","id":"toolu_1","name":"Bash","input":{"id":"not this"}}]}}"#;
        let answer = br#"{"uuid":"u-2","type":"user","message":{"role":"user","content":[
            {"type":"tool_result","tool_use_id":"toolu_1","content":"ok"}]}}"#;
        for (line, wanted) in [
            (
                &line[..],
                vec![
                    (IdKind::Entry, "u-1"),
                    (IdKind::Origin, "o-1"),
                    (IdKind::Call, "msg_1"),
                    (IdKind::Call, "toolu_1"),
                ],
            ),
            (&answer[..], vec![(IdKind::Entry, "u-2"), (IdKind::Call, "toolu_1")]),
            (b"{\"type\":\"summary\",\"leafUuid\":\"u-1\"}", vec![]),
            (b"{\"uuid\":7,\"forkedFrom\":\"o\",\"message\":[]}", vec![]),
            (b"no record", vec![]),
        ] {
            let mut found = Vec::new();
            ids(line, &mut |kind, id| found.push((kind, id.to_owned())));
            let found: Vec<(IdKind, &str)> = found.iter().map(|(kind, id)| (*kind, id.as_str())).collect();
            assert_eq!(found, wanted);
        }
    }
}
