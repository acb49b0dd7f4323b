//! Mends an array for an API whose results are elements of their own, behind their calls.

use std::collections::{BTreeMap, HashMap, HashSet};

use stemmata_model::{Part, Role};

use super::turns::LOST_CALL;
use super::validate::goes_on;
use crate::document::mend::{Mended, Told, name};
use crate::document::{Dialect, Record};
use crate::json::{Field, Object, quote};

/// How an API's elements are written.
pub(super) struct Writer {
    /// A marked result of a call, by the element that holds the call and the call's id.
    pub(super) result: fn(&str, &str) -> String,
    /// What a result without a call says, as a message of the user.
    pub(super) told: fn(&str) -> String,
}

/// Returns the blocks of a message that says what a result without its call held, as texts of a type.
pub(super) fn told_blocks(text_type: &str, held: Option<Field<'_>>) -> Vec<String> {
    let text = |text: &str| Object::new().text("type", text_type).raw("text", text).finish();
    let mut blocks = vec![text(&quote(LOST_CALL))];
    match held.and_then(|held| held.elements()) {
        Some(elements) => blocks.extend(elements.iter().map(|element| element.raw().to_owned())),
        None => blocks.extend(held.filter(|held| held.raw().starts_with('"')).map(|held| text(held.raw()))),
    }
    blocks
}

/// Mends the elements of an array.
pub(super) fn mend(dialect: &Dialect, elements: &[&str], writer: &Writer) -> Mended {
    let untouched = || (elements.iter().map(|element| (*element).to_owned()).collect(), Vec::new());
    let records = (dialect.read)(format!("[{}]", elements.join(",")).as_bytes()).unwrap_or_default();
    if records.len() != elements.len() {
        return untouched();
    }
    let Sorted { missing, mut loose } = sort(&records);
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, call) in &loose {
        places.entry(call.clone()).or_default().push(*at);
    }
    if missing.is_empty() && loose.is_empty() {
        return untouched();
    }
    let mut told: Vec<Told> = Vec::new();
    // What stands behind an element, and the elements that are taken from their places.
    let mut behind: HashMap<usize, Vec<String>> = HashMap::new();
    let mut moved: HashSet<usize> = HashSet::new();
    for (at, call) in missing {
        let own = places.get_mut(&call).and_then(|places| {
            let later = places.iter().position(|from| *from > at)?;
            Some(places.remove(later))
        });
        own.map(|own| loose.remove(&own));
        let element = own.and_then(|own| elements.get(own)).map(|own| (*own).to_owned());
        let what = match own {
            Some(own) => format!("{} stands behind its call `{call}` now: the API looks there", name(own)),
            None => format!("the call `{call}` in {} had no result: it got a marked one", name(at)),
        };
        told.push(("result", what));
        moved.extend(own);
        let made_up = || (writer.result)(elements.get(at).copied().unwrap_or_default(), &call);
        let results = records.iter().skip(at + 1).take_while(|record| record.line.role == Role::Tool).count();
        behind.entry(at + results).or_default().push(element.unwrap_or_else(made_up));
    }
    let mut out = Vec::new();
    for (at, element) in elements.iter().enumerate() {
        if loose.contains_key(&at) {
            out.push((writer.told)(element));
        } else if !moved.contains(&at) {
            out.push((*element).to_owned());
        }
        out.extend(behind.remove(&at).unwrap_or_default());
    }
    told.extend(loose.into_iter().map(|(at, call)| {
        (
            "orphan",
            format!("{} answers `{call}`, and no call of this id waits for it: it becomes text", name(at)),
        )
    }));
    (out, told)
}

/// What stands in the wrong place, as (element, call).
struct Sorted {
    /// Calls that something else follows than their results.
    missing: Vec<(usize, String)>,
    /// Results that no call waits for.
    loose: BTreeMap<usize, String>,
}

/// Follows which calls wait, as the checks do.
fn sort(records: &[Record]) -> Sorted {
    let mut sorted = Sorted { missing: Vec::new(), loose: BTreeMap::new() };
    let mut open: Vec<(usize, String)> = Vec::new();
    for (at, line) in records.iter().map(|record| &record.line).enumerate() {
        if !line.is_message() {
            continue;
        }
        let mut is_answer = false;
        for part in &line.parts {
            let Part::ToolResult { call_id, .. } = part else { continue };
            is_answer = true;
            match open.iter().position(|(_, call)| call == call_id) {
                Some(place) => drop(open.remove(place)),
                None => drop(sorted.loose.insert(at, call_id.clone())),
            }
        }
        if line.role == Role::User || goes_on(line, is_answer) {
            sorted.missing.append(&mut open);
        }
        open.extend(line.parts.iter().filter_map(|part| match part {
            Part::ToolCall { call_id, .. } => Some((at, call_id.clone())),
            _ => None,
        }));
    }
    sorted
}
