//! Checks a transcript as Claude Code would load it, and counts what would reach the model.
//!
//! It repairs nothing. The failure it looks for is a loader that says nothing and sends half the history.
//!
//! What the loader needs is in `loader` and in docs/reference/claude-code-loader.md.

use std::collections::HashSet;
use std::ops::Range;

use stemmata_model::plural;

use super::loader::Loader;
use super::path::{Path, Reach, leaf, walk};
use super::record::ParentLink;
use super::row::{Kind, Names, Place, Row, RowRead};
use super::spanning::Spanning;
use super::tree::{Older, Tree};
use super::whole::Whole;
use crate::adapter::{Severity, Validation, Validator};
use crate::findings::Findings;
use crate::json::{Salvaged, lone_surrogates};

/// Checks a transcript line by line.
pub(super) struct LineValidator {
    loader: Loader,
    rows: Vec<Row>,
    names: Names,
    offset: u64,
    findings: Findings,
    has_newline: bool,
    /// Rows that stand on the line of the row before.
    joined: Vec<usize>,
    /// What goes on over lines, by the rows of these.
    spanning: Spanning,
    spans: Vec<Range<usize>>,
}

/// A line as the loader sees it.
pub(super) struct Seen {
    row: Row,
    odd: Vec<Odd>,
    has_newline: bool,
}

/// What is odd about a line alone: how bad it is, the check, and what is said of it.
type Odd = (Severity, &'static str, String);

impl LineValidator {
    /// Starts with an empty transcript.
    pub(super) fn new(client_version: Option<&str>) -> Self {
        Self {
            loader: Loader::of(client_version),
            rows: Vec::new(),
            names: Names::new(),
            offset: 0,
            findings: Findings::default(),
            has_newline: true,
            joined: Vec::new(),
            spanning: Spanning::default(),
            spans: Vec::new(),
        }
    }

    /// Returns the number of a row's line, 1 being the first.
    fn line_of(&self, position: usize) -> usize {
        position + 1 - self.joined.partition_point(|&joined| joined <= position)
    }

    fn find(&mut self, severity: Severity, check: &'static str, line: Option<usize>, message: String) {
        self.findings.add(severity, check, line.map(|line| line as u64), message);
    }

    /// Looks at a line as it is written, of which `whole` is what was read; none of it where it is no record.
    pub(super) fn see(&mut self, line: &[u8], whole: Option<&Whole<'_>>) -> Seen {
        let row = Row::of((line, whole), Place { segment: 0, offset: 0 }, &mut self.names);
        let odd = whole.map(|whole| self.odd_fields(whole, &row)).unwrap_or_default();
        Seen { row, odd, has_newline: line.ends_with(b"\n") }
    }

    /// Takes the next line.
    pub(super) fn take(&mut self, mut seen: Seen) {
        seen.row.offset = self.offset;
        self.offset += seen.row.length;
        self.rows.push(seen.row);
        self.has_newline = seen.has_newline;
        let line = self.line_of(self.rows.len() - 1);
        for (severity, check, message) in seen.odd {
            self.find(severity, check, Some(line), message);
        }
    }

    /// Checks the fields that a loader needs in every message.
    fn odd_fields(&self, Whole { record, inside }: &Whole<'_>, row: &Row) -> Vec<Odd> {
        if record.record_type.is_none() {
            let message = "record has no `type`, so that the loader reads over it".to_owned();
            return vec![(Severity::Warning, "missing_type", message)];
        }
        let kind = record.type_text();
        if !matches!(&*kind, "user" | "assistant") {
            return Vec::new();
        }
        let mut odd = Vec::new();
        if record.message.is_some_and(|message| !lone_surrogates(message.raw()).is_empty()) {
            let message = "half of a surrogate pair (`\\ud800` to `\\udfff`) is not a text: the API refuses every request \
                           with it, unless the client replaces it as 2.1.330 does";
            odd.push((Severity::Fatal, "lone_surrogate", message.to_owned()));
        }
        let mut missing = |field: &str, severity: Severity, check: &'static str, what: &str| {
            odd.push((severity, check, format!("{kind} record has no `{field}`: {what}")));
        };
        if inside.message.is_none() {
            missing("message", Severity::Fatal, "missing_message", "the loader drops it or fails");
        }
        if record.uuid_text().is_none() {
            missing("uuid", Severity::Fatal, "missing_uuid", "the loader drops it and what is before it");
        }
        if record.parent() == ParentLink::Absent {
            missing(
                "parentUuid",
                Severity::Fatal,
                "missing_parent_uuid",
                "the loader drops what is before it",
            );
        }
        if row.time.is_none() {
            let severity = match self.loader {
                Loader::Recovering => Severity::Info,
                Loader::Walking => Severity::Fatal,
            };
            missing("timestamp", severity, "missing_timestamp", "older loaders drop what is before it");
        }
        odd
    }

    fn check_tail(&mut self) {
        let last = self.rows.len();
        let line = self.line_of(last.saturating_sub(1));
        let is_torn = self.rows.last().is_some_and(|row| row.kind == Kind::Unreadable);
        if !self.has_newline && is_torn {
            let message = "last line is cut; the loader skips it".to_owned();
            self.find(Severity::Info, "torn_tail", Some(line), message);
        } else if !self.has_newline {
            let message = "last line has no newline".to_owned();
            self.find(Severity::Info, "missing_newline", Some(line), message);
        }
        let unreadable = |&(position, row): &(usize, &Row)| {
            row.kind == Kind::Unreadable && (self.has_newline || position + 1 < last)
        };
        let lines: Vec<usize> =
            self.rows.iter().enumerate().filter(unreadable).map(|(position, _)| position).collect();
        for position in lines {
            let message = "line is not a JSON object; the loader skips it".to_owned();
            self.find(Severity::Warning, "unparsable_line", Some(self.line_of(position)), message);
        }
    }

    /// Finds the records that stand in a list over several lines: the client reads none of them.
    fn check_spans(&mut self) {
        self.spans.extend(self.spanning.unended(self.rows.len()));
        for span in self.spans.clone() {
            let rows = self.rows.get_mut(span.clone()).unwrap_or_default();
            let is_lost = rows.iter().any(|row| row.kind.is_message());
            for row in rows {
                row.is_unread = true;
            }
            if is_lost {
                let last = self.line_of(span.end.saturating_sub(1));
                let message = format!(
                    "it begins what ends on line {last}: the client reads that as one value, and no record in it"
                );
                self.find(Severity::Fatal, "spanning_value", Some(self.line_of(span.start)), message);
            }
        }
    }

    /// Returns the number of a line of the tree, 1 being the first of the file.
    fn line_at(&self, tree: &Tree, position: usize) -> usize {
        self.line_of(tree.written(position))
    }

    fn check_compactions(&mut self, tree: &Tree, conversation: &Conversation) {
        for (position, row) in tree.rows.iter().enumerate().filter(|(_, row)| row.kind == Kind::Boundary) {
            let line = Some(self.line_at(tree, position));
            if !tree.is_complete(position) {
                let mut after = tree.rows.iter().skip(position + 1);
                let (severity, what) = if after.any(|row| row.kind.is_message()) {
                    (Severity::Warning, "what hangs on it loses what is before it")
                } else {
                    (Severity::Info, "nothing hangs on it yet")
                };
                let message = format!("compaction has no summary; {what}");
                self.find(severity, "boundary_without_summary", line, message);
            }
            if row.stated.is_some() {
                let message = "the compaction names what it keeps by ids of the session that this one was copied from; the \
                               loader keeps none of it";
                self.find(Severity::Warning, "preserved_renamed", line, message.to_owned());
            }
            if row.keeps_chain && row.preserved.is_empty() && conversation.path.start == Some(position) {
                let message = "the compaction keeps records between two that do not lead to each other; the loader keeps none";
                self.find(Severity::Warning, "preserved_missing", line, message.to_owned());
            }
            let missing = row.preserved.iter().filter(|&&key| tree.lacks(key)).count();
            if missing > 0 && conversation.path.start == Some(position) {
                let message =
                    format!("{missing} records that the compaction keeps are missing; the loader keeps none");
                self.find(Severity::Warning, "preserved_missing", line, message);
            }
        }
    }

    /// Checks that calls and results of the conversation pair up.
    fn check_pairs(&mut self, tree: &Tree, conversation: &Conversation) {
        let rows = || conversation.messages.iter().map(|&position| (position, tree.row(position)));
        let made: HashSet<u64> = rows().flat_map(|(_, row)| row.calls.iter().copied()).collect();
        let answered: HashSet<u64> = rows().flat_map(|(_, row)| row.answers.iter().copied()).collect();
        let mut seen = HashSet::new();
        for (position, row) in rows() {
            let line = Some(self.line_at(tree, position));
            if row.calls.iter().any(|call| !answered.contains(call)) {
                let message = "tool call has no result; the loader drops it".to_owned();
                self.find(Severity::Warning, "open_call", line, message);
            }
            if row.answers.iter().any(|answer| !made.contains(answer)) {
                let message = "tool result has no call; the loader drops it".to_owned();
                self.find(Severity::Warning, "orphan_result", line, message);
            }
            if row.answers.iter().any(|&answer| made.contains(&answer) && !seen.insert(answer)) {
                let message = "tool call has more than one result".to_owned();
                self.find(Severity::Warning, "duplicate_result", line, message);
            }
        }
    }

    /// Compares the conversation with what the loader would find of it.
    fn check_reach(&mut self, tree: &Tree, conversation: &Conversation, reached: &HashSet<usize>) {
        for &head in &conversation.path.recovered {
            let message = "parent missing, or below it; treated as following the previous record".to_owned();
            self.find(Severity::Warning, "dangling_parent", Some(self.line_at(tree, head)), message);
        }
        let units: HashSet<usize> = reached.iter().map(|&position| tree.unit(position)).collect();
        let lost = conversation.messages.iter().filter(|position| !reached.contains(position));
        let (beside, lost): (Vec<usize>, Vec<usize>) = lost
            .partition(|&&position| !tree.row(position).is_unread && units.contains(&tree.unit(position)));
        let is_spanned =
            |position: &usize| self.spans.iter().any(|span| span.contains(&tree.written(*position)));
        let unread = |position: &&usize| tree.row(**position).is_unread && !is_spanned(position);
        for position in lost.iter().filter(unread).copied().collect::<Vec<_>>() {
            let message = "the loader reads what a line begins with, and not this message".to_owned();
            self.find(Severity::Fatal, "unread_message", Some(self.line_at(tree, position)), message);
        }
        if let Some(&first) = beside.first() {
            let message =
                format!("{} parallel calls or results do not reach the model with this client", beside.len());
            self.find(Severity::Warning, "sibling_lost", Some(self.line_at(tree, first)), message);
        }
        let all = sendable(tree, &conversation.path.kept, &conversation.messages);
        let left: Vec<usize> = conversation
            .messages
            .iter()
            .copied()
            .filter(|position| lost.binary_search(position).is_err())
            .collect();
        let dropped = all.saturating_sub(sendable(tree, &conversation.path.kept, &left));
        if let Some(&last) = lost.last().filter(|_| dropped > 0) {
            let of_it: HashSet<usize> = conversation.messages.iter().copied().collect();
            let is_other =
                |position: &&usize| tree.row(**position).kind.is_message() && !of_it.contains(*position);
            let others = match reached.iter().filter(is_other).count() {
                0 => String::new(),
                others => format!(", and send {others} others"),
            };
            let message =
                format!("the loader would silently drop {dropped} of {all} messages, up to this one{others}");
            self.find(Severity::Fatal, "history_lost", Some(self.line_at(tree, last)), message);
        }
        if tree.is_only_sidechain() {
            let message = "all messages are a subagent's; the client finds no conversation".to_owned();
            self.find(Severity::Fatal, "only_sidechain", None, message);
        }
        if conversation.messages.is_empty() {
            let message = "transcript holds no message; the client would not find a conversation".to_owned();
            self.find(Severity::Fatal, "no_messages", None, message);
        }
    }
}

/// Counts the messages that are sent: of calls without results, unless they are the end, and of results without calls a client
/// sends nothing.
fn sendable(tree: &Tree, kept: &[usize], messages: &[usize]) -> u64 {
    let rows = || messages.iter().map(|&position| tree.row(position));
    let made: HashSet<u64> = rows().flat_map(|row| row.calls.iter().copied()).collect();
    let answered: HashSet<u64> = rows().flat_map(|row| row.answers.iter().copied()).collect();
    // Behind a summary comes what its compaction keeps.
    let ends_kept = messages.last().is_some_and(|&last| tree.row(last).kind == Kind::Summary);
    let kept = kept.iter().rfind(|&kept| ends_kept && messages.binary_search(kept).is_ok());
    let end = kept.or(messages.last()).map(|&last| tree.unit(last));
    let stays =
        |ids: &[u64], others: &HashSet<u64>| ids.is_empty() || ids.iter().any(|id| others.contains(id));
    let is_sent = |position: &&usize| {
        let row = tree.row(**position);
        let is_end = end == Some(tree.unit(**position));
        (is_end || stays(&row.calls, &answered)) && stays(&row.answers, &made)
    };
    messages.iter().filter(is_sent).count() as u64
}

/// What the conversation is, whatever a loader makes of it.
pub(super) struct Conversation {
    pub(super) path: Path,
    /// Its messages, since its last compaction, in the order of the file.
    pub(super) messages: Vec<usize>,
}

impl Conversation {
    pub(super) fn of(tree: &Tree) -> Self {
        let path = leaf(tree).map_or_else(Path::default, |leaf| walk(tree, leaf, Reach::Compaction));
        let kept: HashSet<usize> = path.kept.iter().copied().collect();
        let is_of = |&position: &usize| {
            // What hangs in the way is sent, a subagent's too.
            let row = tree.row(position);
            let is_message = row.kind.is_message() && !row.is_empty;
            is_message && (path.units.contains(&tree.unit(position)) || kept.contains(&position))
        };
        let messages = (0..tree.rows.len()).filter(is_of).collect();
        Self { path, messages }
    }
}

/// Says what is odd about a part of a line that is no single record.
fn odd_part(line: &[u8], part: &Salvaged<'_>, row: &Row) -> Option<Odd> {
    if row.is_unread && !row.kind.is_message() {
        let message = "the loader reads what a line begins with, and not this record";
        return Some((Severity::Warning, "unread_record", message.to_owned()));
    }
    let record = part.record.as_ref().filter(|_| part.is_first)?;
    if std::str::from_utf8(line).is_err() {
        let message = "bytes that are not UTF-8 reach the model as U+FFFD";
        return Some((Severity::Info, "not_utf8", message.to_owned()));
    }
    let is_beside = !row.is_joined && part.start + record.len() < line.trim_ascii_end().len();
    let message = "the loader skips what stands behind the record";
    is_beside.then(|| (Severity::Info, "beside_record", message.to_owned()))
}

/// Returns whether all messages are a subagent's.
pub(super) fn side_of(rows: &[Row]) -> bool {
    let mut messages = rows.iter().filter(|row| row.kind.is_message()).peekable();
    messages.peek().is_some() && messages.all(|row| row.sidechain)
}

impl Validator for LineValidator {
    fn line(&mut self, line: &[u8]) {
        let mut names = std::mem::take(&mut self.names);
        let place = Place { segment: 0, offset: self.offset };
        let (at, mut is_record) = (self.rows.len(), false);
        Row::each((line, self.rows.is_empty()), place, &mut names, &mut |RowRead { row, whole, part }| {
            let mut odd = whole.map(|whole| self.odd_fields(whole, &row)).unwrap_or_default();
            odd.extend(part.and_then(|part| odd_part(line, part, &row)));
            is_record |= whole.is_some() && part.is_none_or(|part| part.is_first);
            if part.is_some_and(|part| part.range.start > 0) {
                self.joined.push(self.rows.len());
            }
            self.take(Seen { row, odd, has_newline: line.ends_with(b"\n") });
        });
        self.names = names;
        if let Some(span) = self.spanning.line(at, (line, is_record)) {
            self.spans.push(span.start..self.rows.len());
        }
    }

    fn finish(&mut self) -> Validation {
        self.check_tail();
        self.check_spans();
        let rows = std::mem::take(&mut self.rows);
        let side = side_of(&rows);
        let tree = Tree::new(rows, std::mem::take(&mut self.names), side, Older::None);
        let conversation = Conversation::of(&tree);
        let reached = self.loader.reached(&tree);
        self.check_compactions(&tree, &conversation);
        self.check_pairs(&tree, &conversation);
        self.check_reach(&tree, &conversation, &reached);
        if let Some((count, first)) = branches::beside(&tree) {
            let message =
                format!("{} on another branch, which the client does not send", plural(count, "message"));
            self.find(Severity::Info, "other_branch", Some(self.line_at(&tree, first)), message);
        }
        let is_unsent = |position: &usize| {
            let row = tree.row(*position);
            row.kind.is_message() && !tree.is_own(*position) && !reached.contains(position)
        };
        let mut unsent = (0..tree.rows.len()).filter(is_unsent);
        if let Some(first) = unsent.next() {
            let count = 1 + unsent.count();
            let message =
                format!("{} of a subagent's, which the client does not send", plural(count, "message"));
            self.find(Severity::Info, "subagent_messages", Some(self.line_at(&tree, first)), message);
        }
        let mut findings = self.findings.take();
        findings.sort_by_key(|finding| finding.line);
        let present = &conversation.messages;
        let sent: Vec<usize> =
            present.iter().copied().filter(|position| reached.contains(position)).collect();
        Validation {
            findings,
            messages_sent: sendable(&tree, &conversation.path.kept, &sent),
            messages_present: sendable(&tree, &conversation.path.kept, present),
        }
    }
}

mod branches;
#[cfg(test)]
mod tests;
