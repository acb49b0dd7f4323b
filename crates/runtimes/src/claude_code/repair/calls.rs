//! Calls of the conversation that have no result get a marked one, behind what their message already has.

use std::collections::{BTreeMap, HashSet};

use super::super::place::calls_of;
use super::super::row::short;
use super::super::whole::Whole;
use super::View;
use crate::json::quote;
use crate::repair::{Document, REPAIRED_TEXT, made_up_uuid};

/// Answers the calls that wait.
pub(super) fn mend(document: &mut Document, view: &View) {
    let tree = &view.tree;
    let messages = &view.conversation.messages;
    let answered: HashSet<u64> =
        messages.iter().flat_map(|&position| tree.row(position).answers.iter().copied()).collect();
    let mut open: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for &position in messages {
        if tree.row(position).calls.iter().any(|call| !answered.contains(call)) {
            open.entry(tree.unit(position)).or_default().push(position);
        }
    }
    // From the end, so that the places of earlier lines stay as they are.
    let place = |unit: usize| messages.iter().rev().copied().find(|&position| tree.unit(position) == unit);
    let mut units: Vec<(usize, Vec<usize>)> =
        open.into_iter().filter_map(|(unit, lines)| Some((place(unit)?, lines))).collect();
    units.sort_unstable_by(|left, right| right.cmp(left));
    for (last, lines) in units {
        let Some(mut parent) = view.id(last) else { continue };
        let mut at = last + 1;
        for position in lines {
            let line = document.line(position).to_vec();
            let Ok(whole) = Whole::parse(&line) else { continue };
            let record = &whole.record;
            let session = record.session_id.map_or_else(|| quote(""), |field| field.raw().to_owned());
            let cwd = record.cwd.map_or_else(|| quote(""), |field| field.raw().to_owned());
            for call in calls_of(&whole) {
                if answered.contains(&short(&call.id)) {
                    continue;
                }
                let uuid = made_up_uuid(&[b"result", call.id.as_bytes(), parent.as_bytes()]);
                let made = call.answer((&parent, &uuid), (&session, &cwd), REPAIRED_TEXT);
                let what = format!("the call `{}` had no result: it got a marked one", call.id);
                document.insert(at, made.trim_end(), ("result", what));
                (parent, at) = (uuid, at + 1);
            }
        }
    }
}
