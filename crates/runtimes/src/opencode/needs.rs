//! What the import demands of a session, message and part: the client's own schemas (1.18.33, and those of 2.0), as far as keys
//! go.

use crate::json::{Field, members};

/// A key that has to be there, and what its object needs.
pub(super) struct Need(&'static str, &'static [Need]);

const fn key(name: &'static str) -> Need {
    Need(name, &[])
}

const CREATED: Need = Need("time", &[key("created")]);
const SPAN: Need = Need("time", &[key("start"), key("end")]);
const CACHE: Need = Need("cache", &[key("read"), key("write")]);
const TOKENS: Need = Need("tokens", &[key("input"), key("output"), key("reasoning"), CACHE]);

/// What a session needs.
pub(super) const SESSION: &[Need] = &[
    key("id"),
    key("slug"),
    key("directory"),
    key("title"),
    key("version"),
    Need("time", &[key("created"), key("updated")]),
];

/// What any message needs.
pub(super) const MESSAGE: &[Need] = &[key("id"), key("sessionID"), key("role"), CREATED];

/// What a message of the user needs besides.
pub(super) const USER: &[Need] = &[key("agent"), Need("model", &[key("providerID"), key("modelID")])];

/// What an answer needs besides.
pub(super) const ANSWER: &[Need] = &[
    key("parentID"),
    key("modelID"),
    key("providerID"),
    key("mode"),
    key("agent"),
    Need("path", &[key("cwd"), key("root")]),
    key("cost"),
    TOKENS,
];

/// What any part needs.
pub(super) const PART: &[Need] = &[key("id"), key("sessionID"), key("messageID"), key("type")];

/// What parts need besides, by their types.
const PARTS: &[(&str, &[Need])] = &[
    ("step-start", &[]),
    ("text", &[key("text")]),
    ("reasoning", &[key("text"), Need("time", &[key("start")])]),
    ("file", &[key("mime"), key("url")]),
    ("tool", &[key("callID"), key("tool"), Need("state", &[key("status"), key("input")])]),
    ("step-finish", &[key("reason"), key("cost"), TOKENS]),
    ("compaction", &[key("auto")]),
    ("subtask", &[key("prompt"), key("description"), key("agent")]),
    ("snapshot", &[key("snapshot")]),
    ("patch", &[key("hash"), key("files")]),
    ("agent", &[key("name")]),
    ("retry", &[key("attempt"), key("error"), CREATED]),
];

/// What states of a call need besides, by their names.
const STATES: &[(&str, &[Need])] = &[
    ("pending", &[key("raw")]),
    ("running", &[Need("time", &[key("start")])]),
    ("completed", &[key("output"), key("title"), key("metadata"), SPAN]),
    ("error", &[key("error"), SPAN]),
];

/// What a session needs of versions 2.x.
pub(super) const FLAT_SESSION: &[Need] = &[
    key("id"),
    key("projectID"),
    key("cost"),
    TOKENS,
    Need("time", &[key("created"), key("updated")]),
    Need("location", &[key("directory")]),
];

/// What any message needs of versions 2.x.
pub(super) const FLAT_MESSAGE: &[Need] = &[key("id"), key("type"), CREATED];

const MODEL: Need = Need("model", &[key("id"), key("providerID")]);

/// What messages of versions 2.x need besides, by their types.
const FLAT: &[(&str, &[Need])] = &[
    ("user", &[key("text")]),
    ("assistant", &[key("agent"), MODEL, key("content")]),
    ("synthetic", &[key("text")]),
    ("system", &[key("text")]),
    ("skill", &[key("text")]),
    ("shell", &[key("command"), key("status")]),
    ("compaction", &[key("status"), key("reason")]),
    ("agent-switched", &[key("agent")]),
    ("model-switched", &[MODEL]),
    ("location-switched", &[key("location")]),
    ("idle", &[key("outcome")]),
];

/// What pieces of an answer of versions 2.x need besides, by their types.
const ITEMS: &[(&str, &[Need])] = &[
    ("text", &[key("text")]),
    ("reasoning", &[key("text")]),
    ("tool", &[key("id"), key("name"), Need("state", &[key("status"), key("input")]), CREATED]),
];

/// What states of a call of versions 2.x need besides, by their names.
const FLAT_STATES: &[(&str, &[Need])] =
    &[("completed", &[key("content")]), ("error", &[Need("error", &[key("type"), key("message")])])];

/// Returns what a message of versions 2.x needs besides; of a type that is not known, nothing.
pub(super) fn of_flat(kind: &str) -> &'static [Need] {
    named(FLAT, kind)
}

/// Returns whether a type of messages of versions 2.x is known.
pub(super) fn is_flat_type(kind: &str) -> bool {
    is_in(FLAT, kind)
}

/// Returns whether a type of pieces of an answer of versions 2.x is known.
pub(super) fn is_item_type(kind: &str) -> bool {
    is_in(ITEMS, kind)
}

/// Returns whether a type of parts is known.
pub(super) fn is_part_type(kind: &str) -> bool {
    is_in(PARTS, kind)
}

fn is_in(table: &[(&str, &[Need])], name: &str) -> bool {
    table.iter().any(|(known, _)| *known == name)
}

/// Returns what a piece of an answer of versions 2.x needs besides.
pub(super) fn of_item(kind: &str) -> &'static [Need] {
    named(ITEMS, kind)
}

/// Returns what a call's state needs besides, of versions 2.x.
pub(super) fn of_flat_state(status: &str) -> &'static [Need] {
    named(FLAT_STATES, status)
}

/// Returns what a part of a type needs besides; of a type that is not known, nothing.
pub(super) fn of_part(kind: &str) -> &'static [Need] {
    named(PARTS, kind)
}

/// Returns what a call's state needs besides.
pub(super) fn of_state(status: &str) -> &'static [Need] {
    named(STATES, status)
}

fn named(table: &'static [(&str, &[Need])], name: &str) -> &'static [Need] {
    table.iter().find(|(known, _)| *known == name).map_or(&[], |(_, needs)| needs)
}

/// Returns the keys that are not there, one below another with a dot.
pub(super) fn missing(field: Option<Field<'_>>, needs: &[Need]) -> Vec<String> {
    let there = field.and_then(members).unwrap_or_default();
    let mut missing = Vec::new();
    for Need(name, inner) in needs {
        // As in JavaScript, the last of two counts.
        let value = there.iter().rev().find(|member| member.name == *name).map(|member| member.value);
        match value.filter(|value| !value.is_null()) {
            None => missing.push((*name).to_owned()),
            Some(_) if inner.is_empty() => {}
            Some(value) => {
                let below = self::missing(Some(value), inner);
                missing.extend(below.into_iter().map(|key| format!("{name}.{key}")));
            }
        }
    }
    missing
}
