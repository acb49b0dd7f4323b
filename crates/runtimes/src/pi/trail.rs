//! A session as its loader walks it: what placing, mending and checking share.

use std::collections::{HashMap, HashSet};

use super::record::{Kind, Record};
use super::tree::{Kept, Parent, Row, Standing, Stands};
use super::ways::Ways;

/// An entry.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) row: Row,
    /// Line of the transcript, 1 being the first.
    pub(super) line: u64,
    /// Its number among the records of the file, the header being 0.
    number: u64,
    /// Whether the client passes over the line.
    pub(super) is_unread: bool,
    pub(super) said: Said,
    /// Of a compaction: the messages that it holds word for word.
    pub(super) retained: Vec<Said>,
}

/// What a message is to calls and results.
#[derive(Debug, Clone, Default)]
pub(super) struct Said {
    /// Calls that wait for results: ids and tools. Those of an answer that was broken off wait for none.
    calls: Vec<(String, String)>,
    /// The call that it answers.
    answers: Option<String>,
    /// Whether what comes before it waits for no result any more.
    closes: bool,
}

impl Said {
    pub(super) fn of(record: &Record<'_>) -> Self {
        let is_result = record.is_role("toolResult");
        Self {
            calls: record.waiting(),
            answers: record.answers().map(Into::into),
            // What a command, an extension or a branch says is sent as a user's message. A compaction stands behind what it
            // keeps, and is sent ahead of it.
            closes: record.is_seen() && !is_result && record.kind != Kind::Compaction,
        }
    }
}

/// The calls that wait for results while a conversation is sent. The client answers those that no result follows; a result
/// that no call waits for it sends as it is, and providers refuse the request.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// Ids, tools, and where they stand.
    pub(super) calls: Vec<(String, String, u64)>,
    /// Those that nothing answered, and where they stand.
    pub(super) unanswered: Vec<(String, u64)>,
    /// Those that results answer which a compaction holds without them, and where it stands.
    pub(super) held: Vec<(String, u64)>,
    /// Whether a result that no call waits for is written as what a user says: that closes the calls that wait.
    is_mended: bool,
}

impl Waiting {
    /// Follows the calls of what is written, in place of what was read.
    pub(super) fn mended() -> Self {
        Self { is_mended: true, ..Self::default() }
    }

    /// Takes a message in a line, and returns the call that it answers where none waits for it.
    pub(super) fn take<'s>(&mut self, said: &'s Said, line: u64) -> Option<&'s str> {
        if said.closes {
            self.unanswered.extend(self.calls.drain(..).map(|(call, _, line)| (call, line)));
        }
        self.calls.extend(said.calls.iter().map(|(call, name)| (call.clone(), name.clone(), line)));
        let call = said.answers.as_deref()?;
        let Some(at) = self.calls.iter().position(|(waiting, ..)| waiting == call) else {
            if self.is_mended {
                self.calls.clear();
            }
            return Some(call);
        };
        self.calls.remove(at);
        None
    }

    /// Takes an entry, and returns the call that it answers where none waits for it. `holds` says whether messages that a compaction
    /// holds are sent.
    pub(super) fn take_node<'n>(&mut self, node: &'n Node, holds: bool) -> Option<&'n str> {
        for said in node.retained.iter().filter(|_| holds) {
            let lost = self.take(said, node.line).map(|call| (call.to_owned(), node.line));
            self.held.extend(lost);
        }
        self.take(&node.said, node.line)
    }
}

/// The entries of a session so far.
#[derive(Debug, Default)]
pub(super) struct Trail {
    pub(super) nodes: Vec<Node>,
    by_id: HashMap<Box<str>, usize>,
    records: u64,
    /// Whether entries have no ids and follow each other; known with the first record.
    pub(super) is_linear: Option<bool>,
    /// Whether the file is of the fourth version; known with the first record.
    pub(super) is_fourth: bool,
    /// Where lines of the fourth version say that the conversation stands.
    stands: Standing<usize>,
}

/// What of a way is sent.
#[derive(Debug, Default)]
pub(super) struct Sent {
    pub(super) entries: Vec<usize>,
    /// Whether messages that the last compaction holds word for word are sent with them.
    pub(super) holds: bool,
    /// Whether the last compaction names an entry that it does not find.
    pub(super) lacks_kept: bool,
}

/// A way from the root to the last entry, as indices of nodes.
#[derive(Debug, Default)]
pub(super) struct Way {
    pub(super) nodes: Vec<usize>,
    /// Where it ended because a parent is not there.
    pub(super) broken: Option<usize>,
    /// The entry at which it came to one that it had passed: the loader never ends.
    pub(super) circle: Option<usize>,
}

impl Trail {
    /// Takes a record and returns the row that it is.
    pub(super) fn take(&mut self, record: &Record<'_>, number: u64) -> Row {
        let is_linear = *self.is_linear.get_or_insert_with(|| match record.kind {
            // The loader gives ids to all entries of a file that names no version.
            Kind::Session => record.envelope.version.and_then(|version| version.number()).unwrap_or(1) < 2,
            _ => record.entry_id().is_none(),
        });
        let row = Row::of(record, is_linear);
        let records = self.records;
        self.is_fourth |= records == 0 && record.envelope.fourth().is_some();
        self.records += 1;
        if row.is_node {
            if let Some(id) = row.id.clone().filter(|_| !is_linear) {
                self.by_id.insert(id, self.nodes.len());
            }
            self.nodes.push(Node {
                line: number,
                number: records,
                is_unread: false,
                said: Said::of(record),
                retained: record.retained().iter().map(Said::of).collect(),
                row: row.clone(),
            });
        }
        match &row.stands {
            None => {}
            Some(Stands::Here) => self.stands = Standing::At(self.nodes.len().saturating_sub(1)),
            Some(Stands::At(id)) => {
                self.stands = self.by_id.get(id).map_or(Standing::Nowhere, |index| Standing::At(*index));
            }
            Some(Stands::Elsewhere) if self.stands != Standing::Unsaid => {}
            Some(Stands::Nowhere | Stands::Elsewhere) => self.stands = Standing::Nowhere,
        }
        row
    }

    /// Says that the client passes over the line of the entry that came last.
    pub(super) fn pass_over_last(&mut self) {
        if let Some(last) = self.nodes.last_mut() {
            last.is_unread = true;
        }
    }

    /// Returns the way to the root as the loader goes it, from the last entry that it reads.
    pub(super) fn loaded(&self) -> Way {
        let mut at = match self.stands {
            Standing::Unsaid => self.nodes.iter().rposition(|node| !node.is_unread),
            Standing::Nowhere => None,
            Standing::At(index) => Some(index),
        };
        let mut way = Way::default();
        let mut seen = HashSet::new();
        let is_there = |at: &usize| self.nodes.get(*at).is_some_and(|node| !node.is_unread);
        while let Some((index, node)) = at.and_then(|index| Some((index, self.nodes.get(index)?))) {
            if !seen.insert(index) {
                way.circle = way.nodes.last().copied();
                break;
            }
            way.nodes.push(index);
            let before = || (0..index).rev().find(is_there);
            at = match &node.row.parent {
                _ if self.is_linear == Some(true) => before(),
                Parent::Root => None,
                Parent::Id(id) => {
                    let named = |index: &usize| {
                        is_there(index)
                            && self.nodes.get(*index).is_some_and(|node| node.row.id.as_ref() == Some(id))
                    };
                    let last = self.by_id.get(id).copied();
                    let parent = last.and_then(|last| (0..=last).rev().find(named));
                    way.broken = if parent.is_none() { Some(index) } else { way.broken };
                    parent
                }
                Parent::Before => {
                    way.broken = before().map(|_| index).or(way.broken);
                    None
                }
            };
        }
        way.nodes.reverse();
        way
    }

    /// Returns what hangs on what, mended.
    pub(super) fn ways(&self) -> Ways<'_> {
        Ways::of(self.nodes.iter().map(|node| &node.row).collect(), self.is_linear == Some(true), true)
    }

    /// Returns the way to the root that holds the conversation (see [`Ways`]).
    pub(super) fn whole(&self) -> Way {
        let ways = self.ways();
        let mut nodes = ways.way(self.leaf(&ways));
        nodes.reverse();
        Way { nodes, ..Way::default() }
    }

    /// Returns where the conversation stands (see `Tree::leaf`).
    pub(super) fn leaf(&self, ways: &Ways<'_>) -> Option<usize> {
        match self.stands {
            Standing::Unsaid => ways.leaf().or_else(|| self.nodes.len().checked_sub(1)),
            Standing::Nowhere => None,
            Standing::At(index) => Some(index),
        }
    }

    /// Returns what is sent of a way: what the last compaction keeps, itself, and what follows it. Messages that it holds word for
    /// word are what it keeps only where it names no entry that is there. `takes_held` says whether they are looked at: pi does
    /// not, programs on its library do, and so does a copy, which gives them lines of their own.
    pub(super) fn sent(&self, way: &Way, takes_held: bool) -> Sent {
        let of = |index: &usize| self.nodes.get(*index);
        let is_compaction = |index: &usize| of(index).is_some_and(|node| node.row.is_compaction);
        let Some(last) = way.nodes.iter().rposition(is_compaction) else {
            return Sent { entries: way.nodes.clone(), ..Sent::default() };
        };
        let (before, after) = way.nodes.split_at(last);
        let compaction = after.first().and_then(of);
        let kept = compaction.and_then(|node| node.row.kept.as_ref());
        let is_kept = |index: &usize| match (kept, of(index)) {
            (Some(Kept::Id(id)), Some(node)) => node.row.id.as_ref() == Some(id),
            (Some(Kept::Index(number)), Some(node)) => node.number == *number,
            _ => false,
        };
        let is_itself = after.first().is_some_and(is_kept);
        let first = before.iter().position(is_kept);
        let holds = takes_held && first.is_none() && compaction.is_some_and(|node| node.row.retained > 0);
        let mut entries: Vec<usize> =
            before.get(first.unwrap_or(before.len())..).unwrap_or_default().to_vec();
        entries.retain(|index| !is_compaction(index));
        entries.extend(after);
        Sent { entries, holds, lacks_kept: kept.is_some() && !holds && !is_itself && first.is_none() }
    }

    /// Returns the compaction of a way whose messages, held word for word, the client itself passes over: it keeps entries
    /// alone, and this one names none before it.
    pub(super) fn passed_over(&self, way: &Way) -> Option<&Node> {
        let mut nodes = way.nodes.iter().rev().filter_map(|index| self.nodes.get(*index));
        nodes.find(|node| node.row.is_compaction).filter(|_| self.sent(way, true).holds)
    }

    /// Counts the messages that are sent.
    pub(super) fn count(&self, sent: &Sent) -> u64 {
        let nodes = sent.entries.iter().filter_map(|index| self.nodes.get(*index));
        let held = |node: &Node| if sent.holds { node.row.retained } else { 0 };
        let messages = nodes.map(|node| usize::from(node.row.is_sent) + held(node)).sum::<usize>();
        u64::try_from(messages).unwrap_or(u64::MAX)
    }

    /// Returns the calls that still wait at the end of the way, oldest first: ids and tools.
    pub(super) fn open(&self, way: &Way) -> Vec<(String, String)> {
        let mut waiting = Waiting::mended();
        let sent = self.sent(way, true);
        for node in sent.entries.iter().filter_map(|index| self.nodes.get(*index)) {
            waiting.take_node(node, sent.holds);
        }
        waiting.calls.into_iter().map(|(call, name, _)| (call, name)).collect()
    }
}
