//! Checks a rollout as Codex would load it, and counts what would reach the model.
//!
//! It repairs nothing. What it looks for was tried with the real loader (0.169.0): some of it is refused, some is
//! dropped without a word.

use std::collections::HashSet;

use super::header;
use super::loader::{self, Dropped, is_empty_list};
use super::read::{is_prompt, is_told, name};
use super::record::{Kind, Record, SENT_ITEMS};
use crate::adapter::{Base, Severity, Validation, Validator};
use crate::findings::Findings;
use crate::json::{is_blank, is_string, text};
use crate::lines::unknown::shown;

/// What costs the line that it is about, and nothing else.
const LOSES_A_LINE: [&str; 2] = ["missing_timestamp", "dropped_line"];

/// Which file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Reads {
    /// The rollout.
    #[default]
    Own,
    /// The one that its history begins in.
    Base,
}

/// Whether a turn began whose prompt has not come.
#[derive(Debug, Clone, Copy, Default)]
enum Begun {
    #[default]
    No,
    Yes,
    /// A compaction came since, which goes with the turn: where it stands, and what was present and sent before it.
    Compacted((u64, u64, u64)),
}

/// Checks a rollout line by line.
#[derive(Default)]
pub(super) struct LineValidator {
    lines: u64,
    has_header: bool,
    headers: u64,
    is_paginated: bool,
    last_has_ordinal: bool,
    /// Calls since the last compaction, and the lines they stand in.
    calls: Vec<(String, u64)>,
    /// Results since then. The loader pairs both wherever they stand.
    results: Vec<(String, u64)>,
    sent: u64,
    present: u64,
    /// Where each prompt stands, and what was sent and present before it: a rollback goes back there.
    prompts: Vec<(u64, u64, u64)>,
    begun: Begun,
    /// Where the messages begin that the client itself put at the end, and what was present and sent before them.
    ahead: Option<(u64, u64, u64)>,
    /// The file that the history begins in, where it was looked for.
    base: Option<Base>,
    /// What is read.
    reads: Reads,
    findings: Findings,
}

impl LineValidator {
    fn header(&mut self, record: &Record<'_>) {
        let at = self.at();
        self.has_header = true;
        if record.kind != Kind::SessionMeta || !record.has_envelope {
            let message = "the first record is not a session header: the client refuses the file";
            return self.findings.add(Severity::Fatal, "missing_header", at, message);
        }
        let payload = &record.payload;
        if record.time().is_none() {
            let message = "the session header's line has no `timestamp`: the loader refuses the file";
            self.findings.add(Severity::Fatal, "incomplete_header", at, message);
        }
        for (name, field) in header::faults(record.body) {
            let what = if field.is_some() { "a bad" } else { "no" };
            let message = format!("the session header has {what} `{name}`: the loader refuses the file");
            self.findings.add(Severity::Fatal, "incomplete_header", at, &message);
        }
        self.is_paginated = payload.history_mode.is_some_and(|mode| is_string(mode, "paginated"));
        if let Some(mode) = record.unknown_mode() {
            let mode = mode.text().unwrap_or_else(|| mode.raw().into());
            let message = format!("the history mode `{mode}` is unknown: the loader refuses the file");
            self.findings.add(Severity::Fatal, "unknown_history_mode", at, &message);
        }
        if payload.history_base.is_some_and(|base| !base.is_null()) {
            let message = match self.base.take() {
                Some(Base::There) => return,
                Some(Base::Unusable(why)) => why,
                None => "the history begins in another file, at a byte that only that very file has: \
                     without it the loader refuses, with another it loses history in silence"
                    .to_owned(),
            };
            self.findings.add(Severity::Fatal, "history_in_another_file", at, message);
        }
    }

    const fn is_in_base(&self) -> bool {
        matches!(self.reads, Reads::Base)
    }

    /// Returns the number of the line; none in the file that the history begins in.
    const fn at(&self) -> Option<u64> {
        if self.is_in_base() { None } else { Some(self.lines) }
    }

    /// Takes a line that the loader drops.
    fn dropped(&mut self, line: &[u8], why: Dropped) {
        let at = self.at();
        let read = loader::readable(line);
        if !self.is_in_base() && !self.has_header {
            self.has_header = true;
            let message =
                format!("the first record is not read ({}): the client refuses the file", why.why());
            self.findings.add(Severity::Fatal, "missing_header", at, message);
        }
        if why == Dropped::NotUtf8 && !self.is_paginated && !self.is_in_base() {
            let message = "the line is not UTF-8: of a history without numbers the loader then reads nothing";
            self.findings.add(Severity::Fatal, "not_utf8", at, message);
        }
        let records = read.records.iter().filter_map(|record| Record::parse(record.as_bytes()).ok());
        let lost =
            records.filter(|record| matches!(record.kind, Kind::Item | Kind::Compacted)).count() as u64;
        self.present += lost;
        if lost > 0 {
            let what = stemmata_model::plural(lost, "message");
            let message = format!("{}: the loader drops it, and {what} with it", why.why());
            self.findings.add(Severity::Fatal, "dropped_line", at, message);
        } else if line.ends_with(b"\n") || !read.records.is_empty() {
            self.findings.add(
                Severity::Warning,
                "unreadable_line",
                at,
                format!("{}: the loader skips it", why.why()),
            );
        } else {
            self.findings.add(Severity::Info, "torn_tail", at, "the last line is cut: the loader ignores it");
        }
    }

    /// Goes back to before the last prompts.
    fn roll_back(&mut self, record: &Record<'_>) {
        self.begun = Begun::No;
        self.ahead = None;
        let turns = loader::turns_back(&record.payload).unwrap_or(0);
        let turns = usize::try_from(turns).unwrap_or(usize::MAX);
        let first = self.prompts.len().saturating_sub(turns);
        let Some((line, present, sent)) = self.prompts.get(first).copied() else { return };
        self.prompts.truncate(first);
        (self.present, self.sent) = (present, sent);
        self.calls.retain(|(_, at)| *at < line);
        self.results.retain(|(_, at)| *at < line);
    }

    /// Takes an item, and where what the client told ahead of it begins: that goes with a prompt.
    fn prompt(&mut self, record: &Record<'_>, here: (u64, u64, u64)) {
        if is_prompt(record) {
            self.prompts.push(match std::mem::take(&mut self.begun) {
                Begun::Compacted(before) => before,
                Begun::No | Begun::Yes => here,
            });
        }
    }

    fn record(&mut self, record: &Record<'_>) {
        let at = self.at();
        self.headers += u64::from(record.kind == Kind::SessionMeta && !self.is_in_base());
        let has_time = text(record.envelope.timestamp).is_some();
        let misread = loader::misread(record);
        // A line that is dropped is not the last one that is read.
        if has_time && misread.is_none() {
            self.last_has_ordinal = record.envelope.ordinal.is_some();
        }
        match record.kind {
            Kind::Item if !record.has_envelope => {
                self.present += 1;
                let message = "the item has no envelope, as in files of 2025: the loader drops it";
                self.findings.add(Severity::Fatal, "bare_item", at, message);
            }
            // The loader drops it: a newer client may know more.
            Kind::Item if !record.is_any(&SENT_ITEMS) => self.unknown(record, Severity::Warning),
            Kind::Item => {
                // The loader sends no message that says nothing.
                if record.is_item("message") && record.payload.content.is_some_and(is_empty_list) {
                    return;
                }
                let here = (self.lines, self.present, self.sent);
                if is_told(record) {
                    self.ahead.get_or_insert(here);
                } else {
                    let ahead = self.ahead.take().filter(|_| !self.prompts.is_empty());
                    self.prompt(record, ahead.unwrap_or(here));
                }
                self.present += 1;
                if let Some(field) = misread.filter(|_| has_time) {
                    let message =
                        format!("the item's `{field}` is not as the loader needs it: it drops the line");
                    self.findings.add(Severity::Warning, "misread_item", at, message);
                    return;
                }
                if has_time {
                    self.sent += 1;
                } else {
                    let message = "the line has no `timestamp`: the loader drops it in silence";
                    self.findings.add(Severity::Fatal, "missing_timestamp", at, message);
                }
                self.item(record);
            }
            Kind::Compacted | Kind::Event if misread.is_some() => {
                let field = misread.unwrap_or_default();
                let message =
                    format!("the record's `{field}` is not as the loader needs it: it drops the line");
                self.findings.add(Severity::Warning, "misread_record", at, message);
            }
            Kind::Compacted => self.compacted(record, has_time),
            Kind::SessionMeta if self.is_paginated && self.headers > 1 => {
                let message = "a second header in a paginated history: the loader begins there, and loses all \
                     before it in silence";
                self.findings.add(Severity::Fatal, "second_header", at, message);
            }
            Kind::Event if record.is_item("thread_rolled_back") => self.roll_back(record),
            Kind::Event if record.is_item("task_started") || record.is_item("turn_started") => {
                self.begun = Begun::Yes;
            }
            Kind::Event | Kind::Unknown => self.unknown(record, Severity::Info),
            Kind::SessionMeta | Kind::TurnContext | Kind::Other => {}
        }
    }

    fn compacted(&mut self, record: &Record<'_>, has_time: bool) {
        if matches!(self.begun, Begun::Yes) {
            self.begun = Begun::Compacted((self.lines, self.present, self.sent));
        }
        let is_empty = record.payload.replacement_history.is_some_and(is_empty_list);
        let left = u64::from(!is_empty);
        (self.present, self.sent) = (left, if has_time { left } else { 0 });
        if !has_time {
            let message = "the compaction has no `timestamp`: the loader drops it in silence";
            self.findings.add(Severity::Fatal, "missing_timestamp", self.at(), message);
        }
        self.calls.clear();
        self.results.clear();
        self.ahead = None;
    }

    /// Names a record whose type is not known.
    fn unknown(&mut self, record: &Record<'_>, severity: Severity) {
        if record.is_unknown() {
            let name = shown(&name(record));
            let message =
                format!("the type `{name}` is unknown to us: the loader skips what it does not know");
            self.findings.add(severity, "unknown_type", self.at(), &message);
        }
    }

    fn item(&mut self, record: &Record<'_>) {
        // What the provider itself searched needs no call, and its call no result.
        let is_servers = record.payload.execution.is_some_and(|execution| is_string(execution, "server"));
        let Some(call) = text(record.payload.call_id).filter(|_| !is_servers) else { return };
        if record.is_any(&["function_call", "local_shell_call", "custom_tool_call", "tool_search_call"]) {
            self.calls.push((call.into_owned(), self.lines));
        } else if record.is_any(&["function_call_output", "custom_tool_call_output", "tool_search_output"]) {
            self.results.push((call.into_owned(), self.lines));
        }
    }
}

/// Returns those of the ones that the others do not name.
fn without<'a>(ones: &'a [(String, u64)], others: &[(String, u64)]) -> Vec<(&'a str, u64)> {
    let named: HashSet<&str> = others.iter().map(|(call, _)| call.as_str()).collect();
    let ones = ones.iter().map(|(call, line)| (call.as_str(), *line));
    ones.filter(|(call, _)| !named.contains(call)).collect()
}

impl Validator for LineValidator {
    fn line(&mut self, line: &[u8]) {
        self.lines += 1;
        if is_blank(line) {
            return;
        }
        if let Some(why) = loader::dropped(line) {
            return self.dropped(line, why);
        }
        match Record::parse(line) {
            Ok(record) => {
                if !self.has_header && !self.is_in_base() {
                    self.header(&record);
                }
                self.record(&record);
            }
            Err(error) => self.findings.unreadable(self.lines, line, &error),
        }
    }

    fn base_line(&mut self, line: &[u8]) {
        self.reads = Reads::Base;
        self.line(line);
        self.reads = Reads::Own;
    }

    fn base(&mut self, base: Base) {
        self.base = Some(base);
        // The numbers of lines begin with its own.
        self.lines = 0;
        self.calls.iter_mut().chain(&mut self.results).for_each(|(_, at)| *at = 0);
        self.prompts.iter_mut().for_each(|(at, ..)| *at = 0);
    }

    fn finish(&mut self) -> Validation {
        let (calls, results) = (std::mem::take(&mut self.calls), std::mem::take(&mut self.results));
        for (call, line) in without(&calls, &results) {
            let message =
                format!("the call `{call}` has no result: the loader makes one up that says `aborted`");
            self.findings.add(Severity::Warning, "call_without_result", Some(line), &message);
        }
        for (call, line) in without(&results, &calls) {
            let message = format!("the result of `{call}` has no call: the loader drops it");
            self.findings.add(Severity::Warning, "result_without_call", Some(line), &message);
            self.sent = self.sent.saturating_sub(1);
        }
        if !self.has_header {
            self.findings.add(
                Severity::Fatal,
                "missing_header",
                None,
                "there is no record: the loader refuses the file",
            );
        }
        if self.is_paginated && !self.last_has_ordinal {
            let message = "the last record has no number although the history is paginated: the loader refuses the file";
            self.findings.add(Severity::Fatal, "missing_ordinal", Some(self.lines), message);
        }
        if self
            .findings
            .iter()
            .any(|finding| finding.severity == Severity::Fatal && !LOSES_A_LINE.contains(&finding.check))
        {
            self.sent = 0;
        }
        Validation {
            findings: self.findings.take(),
            messages_sent: self.sent,
            messages_present: self.present,
        }
    }
}
