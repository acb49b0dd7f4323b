//! What a compaction's boundary says it keeps, by ids: read, and said again by the ids that the records have.

use std::ops::Range;

use super::record::Record;
use crate::json::{Field, Member, members, quote};

/// What a boundary says it keeps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Kept {
    /// The ids, oldest first; of a chain, its two ends.
    pub(super) ids: Vec<String>,
    /// Whether they are the ends of a chain.
    pub(super) is_chain: bool,
    /// The id of the record that they hang below.
    pub(super) anchor: Option<String>,
}

impl Kept {
    /// Reads what a boundary says; nothing where it says nothing of it. A list supersedes a chain, as in the client.
    pub(super) fn of(record: &Record<'_>) -> Option<Self> {
        let metadata = record.compact_metadata?;
        if let Some(list) = member(metadata, "preservedMessages") {
            let ids = member(list, "uuids").and_then(|ids| ids.elements()).unwrap_or_default();
            let ids = ids.iter().filter_map(|id| Some(id.text()?.into_owned())).collect();
            return Some(Self { ids, is_chain: false, anchor: text_of(list, "anchorUuid") });
        }
        let chain = member(metadata, "preservedSegment")?;
        // With one end it is none.
        let ends = ["headUuid", "tailUuid"].map(|end| text_of(chain, end));
        let ids = ends.into_iter().collect::<Option<Vec<_>>>().unwrap_or_default();
        Some(Self { ids, is_chain: true, anchor: text_of(chain, "anchorUuid") })
    }
}

/// Writes a boundary's `compactMetadata` with other ids. `new` returns the id that a record has in this copy, or `None` for a record
/// that is not there: its id is taken off the lists. Returns `None` if nothing changes.
pub(super) fn renamed(metadata: &str, new: impl Fn(&str) -> Option<String>) -> Option<String> {
    let whole = Field::whole(metadata);
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for kept in [member(whole, "preservedMessages"), member(whole, "preservedSegment")].into_iter().flatten()
    {
        for Member { value, .. } in members(kept).unwrap_or_default() {
            if let Some(list) = value.elements() {
                let ids = list.iter().filter_map(|id| match id.text() {
                    Some(id) => new(&id).map(|id| quote(&id)),
                    None => Some(id.raw().to_owned()),
                });
                edits.push((value.span(), crate::json::list(ids)));
            } else if let Some(id) = value.text().and_then(|id| new(&id)) {
                edits.push((value.span(), quote(&id)));
            }
        }
    }
    edits.sort_by_key(|(span, _)| span.start);
    let mut said = metadata.to_owned();
    for (span, with) in edits.into_iter().rev() {
        said.replace_range(span, &with);
    }
    let is_new = serde_json::from_str::<serde_json::Value>(&said).ok()?
        != serde_json::from_str::<serde_json::Value>(metadata).ok()?;
    is_new.then_some(said)
}

fn text_of(object: Field<'_>, name: &str) -> Option<String> {
    Some(member(object, name)?.text()?.into_owned())
}

/// Writes a boundary's `compactMetadata` with a list of what it keeps, which supersedes a chain.
pub(super) fn listed(metadata: &str, anchor: &str, ids: &[String]) -> Option<String> {
    let ids: Vec<String> = ids.iter().map(|id| quote(id)).collect();
    let list = format!(r#"{{"anchorUuid":{},"uuids":[{}]}}"#, quote(anchor), ids.join(","));
    Some(format!(r#"{},"preservedMessages":{list}}}"#, metadata.trim_end().strip_suffix('}')?))
}

pub(super) fn member<'a>(object: Field<'a>, name: &str) -> Option<Field<'a>> {
    let found = members(object)?.into_iter().rfind(|member| member.name == name)?;
    Some(found.value).filter(|value| !value.is_null())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_is_kept_is_named_by_the_ids_that_the_records_have() {
        let metadata = json!({ "trigger": "auto", "preTokens": 9,
            "preservedMessages": { "anchorUuid": "s", "uuids": ["a", "x", "b"], "allUuids": ["a", "b"], "tokens": [1] },
            "preservedSegment": { "headUuid": "a", "anchorUuid": "s", "tailUuid": "x" } });
        let new = |id: &str| (id != "x").then(|| format!("{id}2"));
        let said = renamed(&metadata.to_string(), new).expect("it changes");
        assert_eq!(
            serde_json::from_str::<Value>(&said).expect("JSON"),
            json!({ "trigger": "auto", "preTokens": 9,
                "preservedMessages": { "anchorUuid": "s2", "uuids": ["a2", "b2"], "allUuids": ["a2", "b2"], "tokens": [1] },
                "preservedSegment": { "headUuid": "a2", "anchorUuid": "s2", "tailUuid": "x" } })
        );
        assert_eq!(renamed(&metadata.to_string(), |id| Some(id.to_owned())), None);
        assert_eq!(renamed("{\"trigger\":\"auto\"}", |_| None), None);
    }
}
