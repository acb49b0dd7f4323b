//! The records of a line that is no single one.

use super::record::Record;
use crate::json::{Field, Salvaged, salvage};

/// Takes a line apart that [`Record::parse`] refuses; `begins_file` says whether it is the first of a transcript.
pub(super) fn apart(line: &[u8], begins_file: bool) -> Vec<Salvaged<'_>> {
    salvage(line, begins_file, is_record)
}

/// Returns whether an object is a record, and not one inside of a record: blocks and results have a type and no such ids.
fn is_record(object: Field<'_>) -> bool {
    let Ok(record) = Record::read(object) else { return false };
    let ids = [record.uuid, record.session_id, record.leaf_uuid, record.message_id];
    let is_text = |field: Option<Field<'_>>| field.is_some_and(|field| field.raw().starts_with('"'));
    is_text(record.record_type) && ids.into_iter().any(is_text)
}

#[cfg(test)]
mod tests;
