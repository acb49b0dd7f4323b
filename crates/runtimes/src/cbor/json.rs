//! CBOR items as JSON and back: how an entry carries what it does not understand.
//!
//! What JSON has no word for is marked: `{"$json": …}` is a byte string that holds JSON, `{"$cbor": "…"}` any other item
//! by its bytes in hex. So nothing is lost, and what can be read is.

use std::fmt::Write as _;

use super::{DEPTH_MAX, Item, write};
use crate::document::head::nesting;
use crate::json::{Field, members, quote};

const JSON: &str = "$json";
const HEX: &str = "$cbor";

/// Returns an item as JSON.
pub(crate) fn of_item(item: Item<'_>) -> String {
    let mut out = String::new();
    put(item, &mut out);
    out
}

fn put(item: Item<'_>, out: &mut String) {
    let start = out.len();
    if try_put(item, out).is_none() {
        out.truncate(start);
        put_hex(item, out);
    }
}

/// Appends an item; none, and something half done, where JSON has no word for it.
fn try_put(item: Item<'_>, out: &mut String) -> Option<()> {
    if let Some(number) = item.integer() {
        return write!(out, "{number}").ok();
    }
    if let Some(bytes) = item.text_bytes() {
        out.push_str(&quote(std::str::from_utf8(&bytes).ok()?));
        return Some(());
    }
    if let Some(bytes) = item.bytes() {
        return write!(out, "{{\"{JSON}\":{}}}", embedded(&bytes)?).ok();
    }
    if let Some(float) = item.float() {
        return if float.is_finite() { write!(out, "{float:?}").ok() } else { None };
    }
    if let Some(items) = item.elements() {
        out.push('[');
        for (index, element) in items.into_iter().enumerate() {
            out.push_str(if index == 0 { "" } else { "," });
            put(element, out);
        }
        out.push(']');
        return Some(());
    }
    if let Some(members) = item.members() {
        return put_map(&members, out);
    }
    out.push_str(match item.simple()? {
        20 => "false",
        21 => "true",
        22 => "null",
        _ => return None,
    });
    Some(())
}

fn put_map(members: &[super::Member<'_>], out: &mut String) -> Option<()> {
    out.push('{');
    for (index, (key, value)) in members.iter().enumerate() {
        let bytes = key.text_bytes()?;
        let name = std::str::from_utf8(&bytes).ok()?;
        if members.len() == 1 && (name == JSON || name == HEX) {
            return None;
        }
        out.push_str(if index == 0 { "" } else { "," });
        out.push_str(&quote(name));
        out.push(':');
        put(*value, out);
    }
    out.push('}');
    Some(())
}

fn put_hex(item: Item<'_>, out: &mut String) {
    out.push_str("{\"$cbor\":\"");
    for byte in item.raw() {
        write!(out, "{byte:02x}").expect("a String takes everything");
    }
    out.push_str("\"}");
}

/// Brackets inside each other in JSON that a byte string holds: with the items around it they stay below what the JSON
/// reader takes.
const EMBEDDED_DEPTH_MAX: usize = 48;

/// Returns the JSON that a byte string holds and nothing else: Go writes its raw JSON so.
pub(crate) fn embedded(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    let raw: &serde_json::value::RawValue = serde_json::from_str(text).ok()?;
    // White space around it would be lost.
    let is_alone = raw.get().len() == text.len() && text.starts_with(['{', '[', '"']);
    (is_alone && nesting(text.as_bytes()) <= EMBEDDED_DEPTH_MAX).then_some(text)
}

/// Returns JSON as an item; none where it is no JSON, or too deep.
pub(crate) fn to_item(json: &str) -> Option<Vec<u8>> {
    let raw: &serde_json::value::RawValue = serde_json::from_str(json).ok()?;
    value(Field::whole(raw.get()), DEPTH_MAX)
}

fn value(field: Field<'_>, depth: usize) -> Option<Vec<u8>> {
    let depth = depth.checked_sub(1)?;
    let raw = field.raw();
    Some(match raw.as_bytes().first()? {
        b'"' => write::text(&field.text()?),
        b't' | b'f' => write::flag(field.is_true()),
        b'n' => write::null(),
        b'[' => {
            let items = field.elements()?.into_iter().map(|element| value(element, depth));
            write::array(&items.collect::<Option<Vec<_>>>()?)
        }
        b'{' => return object(field, depth),
        _ => match raw.parse::<i128>() {
            Ok(number) => write::integer(number),
            Err(_) => write::float(raw.parse().ok()?),
        },
    })
}

fn object(field: Field<'_>, depth: usize) -> Option<Vec<u8>> {
    let members = members(field)?;
    if let [only] = members.as_slice() {
        let marked = match only.name.as_str() {
            JSON => embedded(only.value.raw().as_bytes()).map(|json| write::bytes(json.as_bytes())),
            HEX => only.value.text().and_then(|hex| unhex(&hex)),
            _ => None,
        };
        if marked.is_some() {
            return marked;
        }
    }
    let members = members.iter().map(|member| Some((write::text(&member.name), value(member.value, depth)?)));
    // In their own order: what comes back is told in the same words.
    Some(write::map(&members.collect::<Option<Vec<_>>>()?))
}

/// Returns the bytes of hex, where they are one item.
fn unhex(hex: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> =
        hex.chars().map(|digit| digit.to_digit(16)?.try_into().ok()).collect::<Option<_>>()?;
    let bytes =
        digits.chunks(2).map(|pair| Some(pair.first()? << 4 | pair.get(1)?)).collect::<Option<Vec<u8>>>()?;
    Item::whole(&bytes).is_ok().then_some(bytes)
}
