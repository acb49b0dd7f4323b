//! A session as its loader walks it: what placing and checking share.

use std::collections::{HashMap, HashSet};

use super::record::{Kind, Record};
use super::tree::{Kept, Parent, Row, row};
use crate::json::{is_string, text};
use crate::lines::emit::Place;

/// An entry.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) row: Row,
    /// Line of the transcript, 1 being the first.
    pub(super) line: u64,
    /// Its number among the records of the file, the header being 0.
    number: u64,
    /// Calls that wait for results: ids and tools. Those of an answer that was broken off wait for none.
    pub(super) calls: Vec<(String, String)>,
    /// The call that it answers.
    pub(super) answers: Option<String>,
    /// Whether what comes before it waits for no result any more.
    pub(super) closes: bool,
}

/// The entries of a session so far.
#[derive(Debug, Default)]
pub(super) struct Trail {
    pub(super) nodes: Vec<Node>,
    by_id: HashMap<Box<str>, usize>,
    records: u64,
    /// Whether entries have no ids and follow each other; known with the first record.
    pub(super) is_linear: Option<bool>,
}

/// A way from the root to the last entry, as indices of nodes.
#[derive(Debug, Default)]
pub(super) struct Way {
    pub(super) nodes: Vec<usize>,
    /// Where it ended because a parent is not there.
    pub(super) broken: Option<usize>,
}

impl Trail {
    /// Takes a record and returns the row that it is.
    pub(super) fn take(&mut self, line: &[u8], record: &Record<'_>, number: u64) -> Row {
        let is_linear = *self.is_linear.get_or_insert_with(|| match record.kind {
            // The loader gives ids to all entries of a file that names no version.
            Kind::Session => record.envelope.version.and_then(|version| version.number()).unwrap_or(1) < 2,
            _ => record.entry_id().is_none(),
        });
        let row = row(Place { segment: 0, offset: 0, length: 0 }, line, is_linear);
        let records = self.records;
        self.records += 1;
        if row.is_node {
            if let Some(id) = row.id.clone().filter(|_| !is_linear) {
                self.by_id.insert(id, self.nodes.len());
            }
            let is_said = record.is_role("user") || record.is_role("assistant");
            self.nodes.push(Node {
                line: number,
                number: records,
                calls: calls(record),
                answers: text(record.message.call_id)
                    .filter(|_| record.is_role("toolResult"))
                    .map(Into::into),
                closes: is_said,
                row: row.clone(),
            });
        }
        row
    }

    /// Returns the way to the root. With `mends`, an entry whose parent is not there hangs on the one before it.
    pub(super) fn way(&self, mends: bool) -> Way {
        let mut way = Way::default();
        let mut seen = HashSet::new();
        let mut at = self.nodes.len().checked_sub(1);
        while let Some((index, node)) = at.and_then(|index| Some((index, self.nodes.get(index)?))) {
            if !seen.insert(index) {
                break;
            }
            way.nodes.push(index);
            let before = index.checked_sub(1);
            at = match &node.row.parent {
                _ if self.is_linear == Some(true) => before,
                Parent::Root => None,
                Parent::Id(id) => {
                    let parent = self.by_id.get(id).copied();
                    if parent.is_none() {
                        way.broken = Some(index);
                    }
                    parent.or_else(|| before.filter(|_| mends))
                }
                Parent::Before => {
                    way.broken = Some(index).filter(|_| before.is_some()).or(way.broken);
                    before.filter(|_| mends)
                }
            };
        }
        way.nodes.reverse();
        way
    }

    /// Returns the entries of a way that are sent: what the last compaction keeps, itself, and what follows it. The second
    /// is false where the compaction names an entry that is not on the way.
    pub(super) fn sent(&self, way: &Way) -> (Vec<usize>, bool) {
        let of = |index: &usize| self.nodes.get(*index);
        let is_compaction = |index: &usize| of(index).is_some_and(|node| node.row.is_compaction);
        let Some(last) = way.nodes.iter().rposition(is_compaction) else { return (way.nodes.clone(), true) };
        let (before, after) = way.nodes.split_at(last);
        let kept = after.first().and_then(of).and_then(|node| node.row.kept.clone());
        let is_kept = |index: &usize| match (&kept, of(index)) {
            (Some(Kept::Id(id)), Some(node)) => node.row.id.as_ref() == Some(id),
            (Some(Kept::Index(number)), Some(node)) => node.number == *number,
            _ => false,
        };
        let is_itself = after.first().is_some_and(is_kept);
        let first = before.iter().position(is_kept);
        let mut sent: Vec<usize> = before.get(first.unwrap_or(before.len())..).unwrap_or_default().to_vec();
        sent.retain(|index| !is_compaction(index));
        sent.extend(after);
        (sent, kept.is_none() || is_itself || first.is_some())
    }

    /// Returns the calls that still wait at the end of the way, oldest first.
    pub(super) fn open(&self, way: &Way) -> Vec<(String, String)> {
        let mut open: Vec<(String, String)> = Vec::new();
        for node in way.nodes.iter().filter_map(|index| self.nodes.get(*index)) {
            if node.closes {
                open.clear();
            }
            if let Some(call) = &node.answers {
                open.retain(|(open, _)| open != call);
            }
            open.extend(node.calls.iter().cloned());
        }
        open
    }
}

fn calls(record: &Record<'_>) -> Vec<(String, String)> {
    let is_broken_off =
        record.message.stop_reason.is_some_and(|stop| is_string(stop, "aborted") || is_string(stop, "error"));
    if is_broken_off { Vec::new() } else { record.calls() }
}
