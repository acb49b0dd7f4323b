//! From the first two versions of a session's format to the third, as the client does it when it loads one.

use std::collections::{HashMap, HashSet};

use super::encode::derive;
use super::record::{Kind, Record};
use crate::json::{Field, is_string, members, quote};
use crate::placing::{Edit, replace};

/// Turns a session into one of the third version; `is_linear` where its entries have no ids and follow each other.
pub(super) fn upgrade(bytes: &[u8], is_linear: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 16);
    let mut ids: HashSet<String> = HashSet::new();
    // The ids by the records' numbers, the header being 0.
    let mut numbered: HashMap<u64, String> = HashMap::new();
    let mut last: Option<String> = None;
    let mut number = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let Ok(record) = Record::parse(line) else {
            out.extend_from_slice(line);
            continue;
        };
        let mut edits: Vec<Edit> = Vec::new();
        if record.kind == Kind::Session {
            edits.extend(version(&record));
        } else if is_linear {
            let id = own_id(&record, number, &mut ids);
            edits.extend(named(&record, &id, last.as_deref()));
            edits.extend(kept(&record, line, &numbered, &id));
            numbered.insert(number, id.clone());
            last = Some(id);
        }
        let role = record.message.role.filter(|role| is_string(*role, "hookMessage"));
        edits.extend(role.map(|role| (role.span(), quote("custom"))));
        replace(line, edits, &mut out);
        number += 1;
    }
    out
}

fn version(record: &Record<'_>) -> Option<Edit> {
    if let Some(field) = record.envelope.version {
        return Some((field.span(), "3".to_owned()));
    }
    let end = record.envelope.record_type?.span().end;
    Some((end..end, ",\"version\":3".to_owned()))
}

/// Returns an entry's id: its own, or one that the same line at the same place gets everywhere.
fn own_id(record: &Record<'_>, number: u64, ids: &mut HashSet<String>) -> String {
    let own = record.entry_id().and_then(|id| id.text()).map(std::borrow::Cow::into_owned);
    let seed = format!("{number} {}", record.whole.raw().trim());
    let mut made = (0..).map(|attempt| derive(&seed, attempt));
    let id = own.or_else(|| made.by_ref().find(|id| !ids.contains(id))).unwrap_or_default();
    ids.insert(id.clone());
    id
}

fn named(record: &Record<'_>, id: &str, parent: Option<&str>) -> Vec<Edit> {
    let parent = parent.map_or_else(|| "null".to_owned(), quote);
    let start = || Some(record.whole.raw().find('{')? + 1);
    let place = record.envelope.record_type.map(|field| field.span().end);
    let mut edits = Vec::new();
    let mut added = String::new();
    if record.entry_id().is_none() {
        match record.envelope.id {
            Some(field) => edits.push((field.span(), quote(id))),
            None => added.push_str(&[",\"id\":", &quote(id)].concat()),
        }
    }
    match record.envelope.parent_id {
        Some(field) => edits.push((field.span(), parent)),
        None => added.push_str(&[",\"parentId\":", &parent].concat()),
    }
    match (place, start()) {
        (Some(place), _) => edits.push((place..place, added)),
        (None, Some(start)) if !added.is_empty() => {
            let rest = record.whole.raw().get(start..).unwrap_or_default();
            let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
            edits.push((start..start, format!("{}{comma}", added.trim_start_matches(','))));
        }
        (None, _) => {}
    }
    edits
}

/// Names the first entry that a compaction keeps by its id instead of its number.
fn kept(record: &Record<'_>, line: &[u8], numbered: &HashMap<u64, String>, own: &str) -> Vec<Edit> {
    let Some(index) = record.envelope.kept_index.filter(|_| record.kind == Kind::Compaction) else {
        return Vec::new();
    };
    let id = index.number().and_then(|index| numbered.get(&index)).map_or(own, String::as_str);
    if let Some(field) = record.envelope.kept_id {
        return vec![(field.span(), quote(id))];
    }
    let all = std::str::from_utf8(line).ok().and_then(|text| members(Field::whole(text))).unwrap_or_default();
    let Some(member) = all.into_iter().find(|member| member.name == "firstKeptEntryIndex") else {
        return Vec::new();
    };
    vec![(member.key, quote("firstKeptEntryId")), (index.span(), quote(id))]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Pi;
    use super::super::samples_tests::session;
    use super::*;
    use crate::adapter::{Adapter, Severity, Validation};
    use crate::chain_tests::checked;

    fn said(adapter: &dyn Adapter, bytes: &[u8]) -> Vec<String> {
        let entries = adapter.decode(bytes).entries.into_iter().skip(1);
        let is_told = |parts: &String| !parts.contains("Opaque") && !parts.contains("covers");
        entries.map(|entry| format!("{:?} {:?}", entry.role, entry.parts)).filter(is_told).collect()
    }

    proptest! {
        #[test]
        fn an_older_session_is_sent_the_same_in_the_third_version(letters in "H[mlUAKFRPSsEBCkNLx?]{0,20}", version in 1..3_u8) {
            let old = session(&letters, version);
            let source = if version == 1 { Pi::V1 } else { Pi::V2 };
            let new = upgrade(&old, version == 1);
            prop_assert_eq!(Pi::V3.detect(&new).map(|found| found.format), Some(Pi::V3.format()));
            prop_assert_eq!(said(&source, &old), said(&Pi::V3, &new));
            let (before, after) = (checked(&source, &old), checked(&Pi::V3, &new));
            // Results without calls are no better in another version.
            let fatal = |verdict: &Validation| -> Vec<&'static str> {
                let fatal = verdict.findings.iter().filter(|found| found.severity == Severity::Fatal);
                fatal.map(|found| found.check).collect()
            };
            prop_assert_eq!(fatal(&before), fatal(&after));
            prop_assert!(fatal(&after).iter().all(|check| *check == "result_without_call"), "{:?}", after);
            prop_assert_eq!(before.messages_sent, after.messages_sent);
            prop_assert_eq!(upgrade(&new, false), new.clone(), "what is of the third version stays as it is");
        }
    }
}
