//! What the JSON projections share: lists, arguments, images.
//!
//! Raw values keep their spelling; everything else is escaped where it is written.

use stemmata_model::Part;

use crate::json::{Field, Object, members, one_line, quote};

/// Returns an object that is not closed yet, to write more behind it.
pub(super) fn open(object: Object) -> String {
    let mut json = object.finish();
    json.pop();
    json
}

/// Returns a call's arguments as an object: what is none is put into one.
pub(super) fn arguments(text: &str) -> String {
    let json = one_line(text);
    match json {
        Some(json) if members(Field::whole(&json)).is_some() => json,
        Some(json) => Object::new().raw("input", &json).finish(),
        None => Object::new().text("input", text).finish(),
    }
}

/// Returns JSON as it is, and any other text as a string.
pub(super) fn value(text: &str) -> String {
    one_line(text).unwrap_or_else(|| quote(text))
}

/// Returns the texts of parts, one below the other; of results what is in them.
pub(super) fn texts<'p>(parts: impl IntoIterator<Item = &'p Part>) -> String {
    parts.into_iter().filter_map(super::told).collect::<Vec<_>>().join("\n")
}
