//! What a client says again of a conversation, as entries of their own: where the lines that said it first are not there,
//! it is all there is.

use stemmata_model::{Entry, EntryId, Part};

use super::RUNTIME;
use super::read::{OPAQUE_RESTATED, messages};
use crate::json::Field;

/// Puts the messages that a line says again in its place.
pub(crate) fn as_loaded(entries: Vec<Entry>) -> Vec<Entry> {
    let mut loaded = Vec::with_capacity(entries.len());
    for entry in entries {
        match entry.parts.as_slice() {
            [Part::Opaque { runtime, kind, json }] if runtime == RUNTIME && kind == OPAQUE_RESTATED => {
                loaded.extend(expand(&entry, json));
            }
            _ => loaded.push(entry),
        }
    }
    loaded
}

fn expand(entry: &Entry, json: &str) -> Vec<Entry> {
    let lines = messages(Field::whole(json)).into_iter().enumerate();
    let named = lines.map(|(number, line)| {
        let made_up = || EntryId::new(format!("{}-{number}", entry.id)).unwrap_or_else(|_| entry.id.clone());
        let id = line.id.clone().unwrap_or_else(made_up);
        line.into_entry(id, entry.native)
    });
    named.collect()
}
