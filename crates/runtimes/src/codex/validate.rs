//! Checks a rollout as Codex would load it, and counts what would reach the model.
//!
//! It repairs nothing. What it looks for was tried with the real loader (0.169.0): some of it is refused, some is
//! dropped without a word.

use std::collections::HashSet;

use super::answers::{answered_by, is_answer};
use super::header;
use super::loader::{self, Dropped, is_empty_list};
use super::read::{event_turn, name, read_record};
use super::record::{Kind, Record, SENT_ITEMS};
use crate::adapter::{Base, Severity, Validation, Validator};
use crate::findings::Findings;
use crate::json::{is_blank, is_string, owned, text};
use crate::lines::Turn;
use crate::lines::history::{History, Step};
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

/// What a line adds to the history.
struct Loaded {
    step: Step,
    /// Where it stands.
    line: u64,
    /// Its messages.
    present: u64,
    /// Those that the client sends.
    sent: u64,
    /// Calls that wait for an answer, and those that are answered.
    calls: Vec<String>,
    results: Vec<String>,
}

impl AsRef<Step> for Loaded {
    fn as_ref(&self) -> &Step {
        &self.step
    }
}

/// Checks a rollout line by line.
#[derive(Default)]
pub(super) struct LineValidator {
    lines: u64,
    has_header: bool,
    headers: u64,
    is_paginated: bool,
    last_has_ordinal: bool,
    /// What there is of the conversation. The loader pairs calls and results wherever they stand in it.
    history: History<Loaded>,
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
        if lost > 0 {
            self.lost(lost);
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

    /// Takes messages that the loader drops.
    fn lost(&mut self, present: u64) {
        self.push(Step::turn(Turn::Conversation), present, 0);
    }

    fn push(&mut self, step: Step, present: u64, sent: u64) {
        let (line, calls, results) = (self.lines, Vec::new(), Vec::new());
        self.history.push(Loaded { step, line, present, sent, calls, results });
    }

    /// Takes an item, or several of a list, that the loader reads.
    fn read<'a>(&mut self, step: Step, items: impl IntoIterator<Item = Record<'a>>) {
        self.push(step, 0, 0);
        let Some(loaded) = self.history.lines.last_mut() else { return };
        for item in items {
            (loaded.present, loaded.sent) = (loaded.present + 1, loaded.sent + 1);
            let Some(call) = owned(item.payload.call_id) else { continue };
            // What the provider itself found needs no call, and answers one that is there.
            let is_servers = item.payload.execution.is_some_and(|execution| is_string(execution, "server"));
            if answered_by(&item).is_some() || is_servers {
                loaded.calls.push(call.clone());
            }
            if is_answer(&item) {
                loaded.results.push(call);
            }
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
                self.lost(1);
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
                if let Some(field) = misread.filter(|_| has_time) {
                    self.lost(1);
                    let message =
                        format!("the item's `{field}` is not as the loader needs it: it drops the line");
                    self.findings.add(Severity::Warning, "misread_item", at, message);
                } else if has_time {
                    // Of the others the turn says all, and their texts are long.
                    let step = if record.is_any(&["message", "agent_message"]) {
                        Step::of(&read_record(record))
                    } else {
                        Step::turn(Turn::Conversation)
                    };
                    self.read(step, [*record]);
                } else {
                    self.lost(1);
                    let message = "the line has no `timestamp`: the loader drops it in silence";
                    self.findings.add(Severity::Fatal, "missing_timestamp", at, message);
                }
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
            Kind::Event => match event_turn(record) {
                Turn::Rewind(turns) => drop(self.history.go_back(turns, true)),
                Turn::Start => self.push(Step::turn(Turn::Start), 0, 0),
                _ => self.unknown(record, Severity::Info),
            },
            Kind::Unknown => self.unknown(record, Severity::Info),
            Kind::SessionMeta | Kind::TurnContext | Kind::Other => {}
        }
    }

    fn compacted(&mut self, record: &Record<'_>, has_time: bool) {
        if !has_time {
            self.lost(1);
            let message = "the compaction has no `timestamp`: the loader drops it in silence";
            return self.findings.add(Severity::Fatal, "missing_timestamp", self.at(), message);
        }
        let step = Step::of(&read_record(record));
        if step.leaves_prompts() {
            self.history.leave_prompts();
            return self.push(step, 1, 1);
        }
        let kept = record.payload.replacement_history.and_then(|kept| kept.elements()).unwrap_or_default();
        let items = kept.into_iter().filter_map(Record::of_item);
        self.read(step, items.filter(|item| item.is_any(&SENT_ITEMS)));
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
}

/// Returns the ids of calls or of results.
type Ids = fn(&Loaded) -> &[String];

/// Returns those of the ones that the others do not name, and the lines they stand in.
fn without(history: &[Loaded], ones: Ids, others: Ids) -> Vec<(&str, u64)> {
    let named: HashSet<&str> = history.iter().flat_map(others).map(String::as_str).collect();
    let ones = history.iter().flat_map(|loaded| ones(loaded).iter().map(|call| (call.as_str(), loaded.line)));
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
        self.history.lines.iter_mut().for_each(|loaded| loaded.line = 0);
    }

    fn finish(&mut self) -> Validation {
        let from = self.history.lines.iter().rposition(|loaded| loaded.step.stands_for_all());
        let history = self.history.lines.get(from.unwrap_or(0)..).unwrap_or_default();
        let count = |of: fn(&Loaded) -> u64| history.iter().map(of).sum::<u64>();
        let (present, mut sent) = (count(|loaded| loaded.present), count(|loaded| loaded.sent));
        let (calls, results): (Ids, Ids) = (|loaded| &loaded.calls, |loaded| &loaded.results);
        for (call, line) in without(history, calls, results) {
            let message =
                format!("the call `{call}` has no result: the loader makes one up that says `aborted`");
            self.findings.add(Severity::Warning, "call_without_result", Some(line), &message);
        }
        for (call, line) in without(history, results, calls) {
            let message = format!("the result of `{call}` has no call: the loader drops it");
            self.findings.add(Severity::Warning, "result_without_call", Some(line), &message);
            sent = sent.saturating_sub(1);
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
            sent = 0;
        }
        Validation { findings: self.findings.take(), messages_sent: sent, messages_present: present }
    }
}
