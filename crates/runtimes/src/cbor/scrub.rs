//! CBOR as a scrubber reads it, and what it becomes where the scrubber replaced something.
//!
//! Text strings are read, and byte strings that hold JSON (Go writes its raw JSON so) or other text. All other byte strings,
//! numbers and tags stay. A text that changed gets a head of its own new length; every other byte stays as it is.

use super::json::{embedded, to_item};
use super::{Item, Member, write};
use crate::json::{Field, members, quote};
use crate::readable::{Place, Readable};

/// What stands for a text whose signature would not fit any more.
const HIDDEN: &str = "[REDACTED:thinking]";

/// The field that holds reasoning, and the one that proves it.
const THINKING: &str = "thinking";
const SIGNATURE: &str = "signature";

/// Returns the texts of a document; none where it is not one item, or too large to look at all of it.
pub(crate) fn readable(bytes: &[u8]) -> Option<Readable> {
    let item = Item::whole(bytes).ok()?;
    let mut readable = Readable { json: String::new(), places: Vec::new() };
    put(item, &mut readable)?;
    Some(readable)
}

fn put(item: Item<'_>, out: &mut Readable) -> Option<()> {
    let item = item.untagged();
    if item.is_array() {
        out.json.push('[');
        for (index, element) in item.elements()?.into_iter().enumerate() {
            out.json.push_str(if index == 0 { "" } else { "," });
            put(element, out)?;
        }
        out.json.push(']');
        return Some(());
    }
    if item.is_map() {
        out.json.push('{');
        for (index, (key, value)) in item.members()?.into_iter().enumerate() {
            out.json.push_str(if index == 0 { "" } else { "," });
            let name = key.text().map(|name| field_name(&name)).unwrap_or_default();
            put_string(&quote(&name), key, true, out);
            out.json.push(':');
            put(value, out)?;
        }
        out.json.push('}');
        return Some(());
    }
    match text_of(item) {
        Some(Text::Plain(text)) => put_string(&quote(&text), item, true, out),
        Some(Text::Json(json)) => put_string(&json, item, false, out),
        None => out.json.push_str("null"),
    }
    Some(())
}

fn put_string(json: &str, of: Item<'_>, is_quoted: bool, out: &mut Readable) {
    let start = out.json.len();
    out.json.push_str(json);
    out.places.push(Place { json: start..out.json.len(), own: own(of), is_quoted });
}

/// Returns where the content of a string stands.
fn own(item: Item<'_>) -> std::ops::Range<usize> {
    let span = item.span();
    item.string_start().unwrap_or(span.start)..span.end
}

/// What a string says.
enum Text {
    Plain(String),
    /// JSON in a byte string, as it stands there.
    Json(String),
}

fn text_of(item: Item<'_>) -> Option<Text> {
    if let Some(text) = item.text() {
        return Some(Text::Plain(text.into_owned()));
    }
    let bytes = item.bytes()?;
    if let Some(json) = embedded(&bytes) {
        return Some(Text::Json(json.to_owned()));
    }
    std::str::from_utf8(&bytes).ok().map(|text| Text::Plain(text.to_owned()))
}

/// Returns a field's name as the scrubber's rules know it: Go's `ToolUseID` is `tool_use_id`.
fn field_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    let mut was_lower = false;
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && was_lower {
            out.push('_');
        }
        was_lower = letter.is_ascii_lowercase() || letter.is_ascii_digit();
        out.push(letter.to_ascii_lowercase());
    }
    out
}

/// Returns the document that says what a scrubber made of its [`readable`] form; none where that is no JSON.
pub(crate) fn rewritten(bytes: &[u8], json: &str) -> Option<Vec<u8>> {
    let item = Item::whole(bytes).ok()?;
    let raw: &serde_json::value::RawValue = serde_json::from_str(json).ok()?;
    let mut out = Vec::with_capacity(bytes.len());
    write_item(item, Field::whole(raw.get()), false, &mut out)?;
    Some(out)
}

/// Appends an item as a value of the scrubbed JSON has it. `is_reasoning` says that the map holds what a model thought.
fn write_item(item: Item<'_>, value: Field<'_>, is_reasoning: bool, out: &mut Vec<u8>) -> Option<()> {
    let inside = item.untagged();
    // Tags stay in front.
    let tags = item.raw().len() - inside.raw().len();
    out.extend_from_slice(item.raw().get(..tags)?);
    if let Some(elements) = inside.elements() {
        let Some(values) = value.elements().filter(|values| values.len() == elements.len()) else {
            return made_anew(value, out);
        };
        let pairs = elements.iter().zip(values);
        return framed(
            inside,
            out,
            |out| pairs.into_iter().try_for_each(|(element, value)| write_item(*element, value, false, out)),
            elements.first().copied(),
        );
    }
    if let Some(own) = inside.members() {
        let Some(values) = members(value).filter(|values| values.len() == own.len()) else {
            return made_anew(value, out);
        };
        let hides = is_reasoning_changed(&own, &values, is_reasoning);
        return framed(
            inside,
            out,
            |out| {
                own.iter()
                    .zip(&values)
                    .try_for_each(|(member, value)| write_member(member, value, hides, out))
            },
            own.first().map(|(key, _)| *key),
        );
    }
    match (text_of(inside), value.text()) {
        (Some(Text::Plain(before)), Some(after)) if before != after => {
            let is_text = inside.text_bytes().is_some();
            out.extend(if is_text { write::text(&after) } else { write::bytes(after.as_bytes()) });
        }
        (Some(Text::Json(before)), _) if before != value.raw() => {
            out.extend(write::bytes(value.raw().as_bytes()));
        }
        _ => out.extend_from_slice(inside.raw()),
    }
    Some(())
}

/// Appends a value that the scrubber made of something else.
fn made_anew(value: Field<'_>, out: &mut Vec<u8>) -> Option<()> {
    out.extend(to_item(value.raw())?);
    Some(())
}

/// Appends an array or a map with its own head, and the break that ends it where it has one.
fn framed(
    item: Item<'_>,
    out: &mut Vec<u8>,
    inside: impl FnOnce(&mut Vec<u8>) -> Option<()>,
    first: Option<Item<'_>>,
) -> Option<()> {
    let span = item.span();
    // Of an empty one the head and the break are all.
    let Some(first) = first else {
        out.extend_from_slice(item.raw());
        return Some(());
    };
    out.extend_from_slice(item.raw().get(..first.span().start - span.start)?);
    inside(out)?;
    if item.is_indefinite() {
        out.extend_from_slice(item.raw().get(item.raw().len() - 1..)?);
    }
    Some(())
}

fn write_member(
    (key, item): &Member<'_>,
    value: &crate::json::Member<'_>,
    hides: bool,
    out: &mut Vec<u8>,
) -> Option<()> {
    let name = key.text().map(|name| field_name(&name));
    match &name {
        Some(name) if *name != value.name => out.extend(write::text(&value.name)),
        _ => out.extend_from_slice(key.raw()),
    }
    let name = name.unwrap_or_default();
    if hides && name == SIGNATURE {
        out.extend(write::text(""));
        return Some(());
    }
    let text = item.text();
    if hides && text.is_some_and(|before| value.value.text().is_some_and(|after| before != after)) {
        out.extend(write::text(HIDDEN));
        return Some(());
    }
    write_item(*item, value.value, name == THINKING, out)
}

/// Returns whether something in signed reasoning was replaced: its signature would not fit what is left.
fn is_reasoning_changed(own: &[Member<'_>], values: &[crate::json::Member<'_>], is_reasoning: bool) -> bool {
    let named = |key: &Item<'_>, name: &str| key.text().is_some_and(|key| field_name(&key) == name);
    let is_typed = own
        .iter()
        .any(|(key, value)| named(key, "type") && value.text().is_some_and(|value| value == THINKING));
    let is_signed = own
        .iter()
        .any(|(key, value)| named(key, SIGNATURE) && value.text().is_some_and(|value| !value.is_empty()));
    let is_changed = own.iter().zip(values).any(|((_, value), after)| {
        value.text().is_some_and(|before| after.value.text().is_some_and(|after| before != after))
    });
    (is_reasoning || is_typed) && is_signed && is_changed
}
