//! What a command reads and prints, as lines of a transcript with their secrets replaced.
//!
//! No files and no processes: chunks of bytes come in, bytes to keep come out.

use std::borrow::Cow;
use std::path::Path;

use serde::{Deserialize, Serialize};
use stemmata_model::{FormatId, Timestamp};
use stemmata_redact::{LineScrubber, LineState, ScrubbedLine};
use stemmata_runtimes::adapter::Confidence;
use stemmata_runtimes::captured::GENERIC;
use stemmata_runtimes::registry;

use crate::scrubbing::{ProjectTrust, StoreRules, scrubber_without_store};

/// Bytes of one line at most; a longer one becomes several. A structured line that is cut is carried as one that cannot
/// be read: 16 MiB is twice the longest that was seen.
const LINE_BYTES_MAX: usize = 16 << 20;

/// Bytes of text in one timed line at most: escaped, each may take six, and capture takes lines of 64 MiB.
const TIMED_BYTES_MAX: usize = 8 << 20;

/// Bytes that wait at most for the first line that a command prints.
const HELD_BYTES_MAX: usize = 1 << 20;

/// How what a command prints is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StreamForm {
    /// As it is: it is structured output of a runtime.
    Printed,
    /// As lines with their times, beside those that the command read (`generic-v1`).
    Timed,
}

/// Which of a command's streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamSide {
    /// What it reads.
    Input,
    /// What it prints.
    Output,
}

/// Which rules replace secrets in a stream. The store may not be at hand while its rules are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StreamRules<'a> {
    /// The store's own rules.
    pub store: Option<StoreRules>,
    /// Where the command works: the project's rules count.
    pub cwd: Option<&'a Path>,
    /// Whether they do.
    pub trust: ProjectTrust,
}

/// One timed line, as `docs/format/generic.md` has it.
#[derive(Serialize, Deserialize)]
struct TimedLine<'a> {
    t: String,
    fd: Cow<'a, str>,
    line: Cow<'a, str>,
}

impl TimedLine<'_> {
    fn to_line(&self) -> Vec<u8> {
        let mut text = serde_json::to_vec(self).expect("text is JSON");
        text.push(b'\n');
        text
    }
}

/// Lines of which nothing that was said is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnkeptLines {
    /// How many.
    pub lines: u64,
    /// Why it is so of the first.
    pub reason: String,
}

/// What a recorder has taken and not given out yet, so that another one can go on. Holds what may be secrets: it is for
/// memory and pipes, never for a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamRest {
    /// How it is kept. The format does not say so: a command may print timed lines itself.
    pub form: StreamForm,
    /// The format of the record.
    pub format: FormatId,
    /// The lines of the record that are held back, and what is open behind those that were kept.
    pub lines: LineState,
    /// The beginning of the next line that is printed.
    pub rest: Vec<u8>,
}

/// Turns what a command reads and prints into a transcript.
pub struct StreamRecorder {
    /// Why there is none, where rules make no sense: then nothing of what is said is kept.
    scrubber: Result<LineScrubber, String>,
    unkept: Option<UnkeptLines>,
    form: Option<StreamForm>,
    /// The format of structured output.
    printed: Option<FormatId>,
    input: Cutter,
    output: Cutter,
    /// Lines read before the first one was printed, and their bytes.
    waiting: Vec<Vec<u8>>,
    waiting_bytes: usize,
    /// What is kept with the next bytes that come in.
    early: Vec<u8>,
}

impl std::fmt::Debug for StreamRecorder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("StreamRecorder").field("form", &self.form).finish_non_exhaustive()
    }
}

impl StreamRecorder {
    /// Starts. Without a form the first line that is printed decides; without rules, because they cannot be read, nothing of
    /// what is said is kept.
    pub fn new(form: Option<StreamForm>, rules: Option<StreamRules<'_>>) -> Self {
        let scrubber = match rules {
            Some(rules) => {
                scrubber_without_store(rules.store, rules.trust, rules.cwd).map_err(|error| error.to_string())
            }
            None => Err("the rules for secrets cannot be read".to_owned()),
        };
        Self {
            scrubber: scrubber.map(LineScrubber::new),
            unkept: None,
            form,
            printed: None,
            input: Cutter::default(),
            output: Cutter::default(),
            waiting: Vec::new(),
            waiting_bytes: 0,
            early: Vec::new(),
        }
    }

    /// Goes on where another recorder stopped.
    pub fn resume(rest: StreamRest, rules: Option<StreamRules<'_>>) -> Self {
        let mut recorder = Self::new(Some(rest.form), rules);
        recorder.printed = (rest.form == StreamForm::Printed).then_some(rest.format);
        recorder.output.rest = rest.rest;
        if let Ok(lines) = &mut recorder.scrubber {
            *lines = LineScrubber::resume(lines.scrubber().clone(), rest.lines);
        } else {
            let mut early = Vec::new();
            for line in rest.lines.into_held() {
                recorder.scrub(&line, &mut early);
            }
            recorder.early = early;
        }
        recorder
    }

    /// Stops, for another one to go on: returns what to keep now, and what that one needs. What the command read last is
    /// kept now, since nothing more of that follows.
    pub fn suspend(mut self, at: Timestamp) -> (Vec<u8>, StreamRest) {
        let mut kept = self.end(StreamSide::Input, at);
        if self.form.is_none() {
            self.decide(StreamForm::Timed, &mut kept);
        }
        let lines = self.scrubber.as_mut().map(LineScrubber::take_state).unwrap_or_default();
        let (form, format) =
            (self.form.unwrap_or(StreamForm::Timed), self.format().unwrap_or_else(timed_format));
        (kept, StreamRest { form, format, lines, rest: self.output.rest })
    }

    /// Returns which lines were not kept, if any: secrets could not be told from the rest of them.
    pub const fn unkept(&self) -> Option<&UnkeptLines> {
        self.unkept.as_ref()
    }

    /// Returns how it is kept, once that is known.
    pub const fn form(&self) -> Option<StreamForm> {
        self.form
    }

    /// Returns the format of the record, once it is known.
    pub fn format(&self) -> Option<FormatId> {
        match self.form? {
            StreamForm::Timed => Some(timed_format()),
            StreamForm::Printed => self.printed.clone(),
        }
    }

    /// Takes bytes of a stream, and returns what to keep.
    pub fn take(&mut self, side: StreamSide, bytes: &[u8], at: Timestamp) -> Vec<u8> {
        let mut kept = std::mem::take(&mut self.early);
        for line in self.cutter(side).push(bytes) {
            self.line(side, &line, at, &mut kept);
        }
        kept
    }

    /// Ends a stream: what stands behind its last line break is a line too. The output ends last.
    pub fn end(&mut self, side: StreamSide, at: Timestamp) -> Vec<u8> {
        let mut kept = std::mem::take(&mut self.early);
        let rest = std::mem::take(&mut self.cutter(side).rest);
        if !rest.is_empty() {
            self.line(side, &rest, at, &mut kept);
        }
        if side == StreamSide::Output {
            if self.form.is_none() {
                self.decide(StreamForm::Timed, &mut kept);
            }
            let given = self.scrubber.as_mut().map(|lines| lines.finish().map_err(|error| error.to_string()));
            if let Ok(given) = given {
                self.keep(given, None, &mut kept);
            }
        }
        kept
    }

    const fn cutter(&mut self, side: StreamSide) -> &mut Cutter {
        match side {
            StreamSide::Input => &mut self.input,
            StreamSide::Output => &mut self.output,
        }
    }

    fn line(&mut self, side: StreamSide, line: &[u8], at: Timestamp, kept: &mut Vec<u8>) {
        let is_blank = line.iter().all(u8::is_ascii_whitespace);
        if self.form.is_none() && side == StreamSide::Output && !is_blank {
            self.printed = structured(line);
            let form = if self.printed.is_some() { StreamForm::Printed } else { StreamForm::Timed };
            self.decide(form, kept);
        }
        match (self.form, side) {
            (Some(StreamForm::Printed), StreamSide::Output) => self.scrub(line, kept),
            // A structured format says itself what was asked.
            (Some(StreamForm::Printed), StreamSide::Input) => {}
            (Some(StreamForm::Timed), _) => {
                for line in timed(side, line, at) {
                    self.scrub(&line, kept);
                }
            }
            (None, _) => {
                let lines = timed(side, line, at);
                self.waiting_bytes += lines.iter().map(Vec::len).sum::<usize>();
                self.waiting.extend(lines);
                if self.waiting_bytes > HELD_BYTES_MAX {
                    self.decide(StreamForm::Timed, kept);
                }
            }
        }
    }

    fn decide(&mut self, form: StreamForm, kept: &mut Vec<u8>) {
        self.form = Some(form);
        self.waiting_bytes = 0;
        for line in std::mem::take(&mut self.waiting) {
            if form == StreamForm::Timed {
                self.scrub(&line, kept);
            }
        }
    }

    /// Replaces the secrets of the next line of the record.
    fn scrub(&mut self, line: &[u8], kept: &mut Vec<u8>) {
        let given = match &mut self.scrubber {
            Ok(lines) => lines.push(line).map_err(|error| error.to_string()),
            Err(reason) => Err(reason.clone()),
        };
        self.keep(given, Some(line), kept);
    }

    /// Keeps lines whose secrets are replaced. Where they cannot be told from the rest, the lines are counted, and only when
    /// something was said is kept of them.
    fn keep(
        &mut self,
        given: Result<Vec<ScrubbedLine<'_>>, String>,
        line: Option<&[u8]>,
        kept: &mut Vec<u8>,
    ) {
        let reason = match given {
            Ok(given) => return given.iter().for_each(|line| kept.extend_from_slice(&line.bytes)),
            Err(reason) => reason,
        };
        let mut lines = self.scrubber.as_mut().map(LineScrubber::take_held).unwrap_or_default();
        if let Some(line) = line.filter(|line| lines.last().is_none_or(|last| last != line)) {
            lines.push(line.to_vec());
        }
        for line in lines {
            let unkept = self.unkept.get_or_insert(UnkeptLines { lines: 0, reason: reason.clone() });
            unkept.lines += 1;
            let timed = serde_json::from_slice::<TimedLine<'_>>(&line).ok();
            if let Some(timed) = timed.filter(|_| self.form == Some(StreamForm::Timed)) {
                kept.extend(TimedLine { line: "[REDACTED:unscrubbed]".into(), ..timed }.to_line());
            }
        }
    }
}

/// Returns a line as timed ones: several, where it is long.
fn timed(side: StreamSide, line: &[u8], at: Timestamp) -> Vec<Vec<u8>> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let fd = match side {
        StreamSide::Input => "stdin",
        StreamSide::Output => "stdout",
    };
    let of = |part: &[u8]| {
        TimedLine { t: at.to_string(), fd: fd.into(), line: String::from_utf8_lossy(part) }.to_line()
    };
    if line.is_empty() { vec![of(line)] } else { line.chunks(TIMED_BYTES_MAX).map(of).collect() }
}

/// Returns the format of timed lines.
pub fn timed_format() -> FormatId {
    FormatId::new(GENERIC).expect("our own name")
}

/// Returns the format of structured output by its first line: one that can be told from anything else, and that no client
/// loads.
fn structured(line: &[u8]) -> Option<FormatId> {
    let (adapter, found) = registry::detect(line)?;
    let is_structured = !adapter.is_placeable() && found.confidence == Confidence::Certain;
    is_structured.then(|| adapter.format())
}

/// Cuts chunks into lines.
#[derive(Debug, Default)]
struct Cutter {
    rest: Vec<u8>,
}

impl Cutter {
    fn push(&mut self, mut bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        while !bytes.is_empty() {
            let room = LINE_BYTES_MAX.saturating_sub(self.rest.len()).max(1);
            let end = memchr::memchr(b'\n', bytes).map(|at| at + 1);
            let (taken, later) = bytes.split_at(end.unwrap_or(bytes.len()).min(room));
            self.rest.extend_from_slice(taken);
            bytes = later;
            if self.rest.ends_with(b"\n") || self.rest.len() >= LINE_BYTES_MAX {
                lines.push(std::mem::take(&mut self.rest));
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s","cwd":"/w"}"#;

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_micros(micros)
    }

    proptest! {
        /// However the bytes come in, the lines are the same, and of structured output all bytes are kept.
        #[test]
        fn chunks_make_no_difference(
            lines in proptest::collection::vec("[a-z{}\":, ]{0,30}", 0..12),
            ends in any::<bool>(),
            sizes in proptest::collection::vec(1_usize..40, 1..20),
            is_structured in any::<bool>(),
        ) {
            let mut text = lines.join("\n");
            if is_structured {
                text = format!("{INIT}\n{text}");
            }
            if ends && !text.is_empty() {
                text.push('\n');
            }
            let mut whole = StreamRecorder::new(None, Some(StreamRules::default()));
            let mut wanted = whole.take(StreamSide::Output, text.as_bytes(), at(1));
            wanted.extend(whole.end(StreamSide::Output, at(1)));
            let mut chunked = StreamRecorder::new(None, Some(StreamRules::default()));
            let mut found = Vec::new();
            let mut rest = text.as_bytes();
            for size in sizes.iter().cycle() {
                let (chunk, later) = rest.split_at((*size).min(rest.len()));
                found.extend(chunked.take(StreamSide::Output, chunk, at(1)));
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
            found.extend(chunked.end(StreamSide::Output, at(1)));
            prop_assert_eq!(&found, &wanted);
            if is_structured {
                prop_assert_eq!(found, text.as_bytes());
            } else {
                prop_assert_eq!(found.iter().filter(|byte| **byte == b'\n').count(), text.lines().count());
            }
        }
    }

    #[test]
    fn what_was_read_stands_before_what_was_printed() {
        let mut recorder = StreamRecorder::new(None, Some(StreamRules::default()));
        assert!(
            recorder.take(StreamSide::Input, b"why?\n", at(0)).is_empty(),
            "held until the form is known"
        );
        let kept = recorder.take(StreamSide::Output, b"because\r\nof \"x\"", at(1_000_000));
        let text = String::from_utf8(kept).expect("text");
        assert_eq!(
            text,
            "{\"t\":\"1970-01-01T00:00:00.000000Z\",\"fd\":\"stdin\",\"line\":\"why?\"}\n\
             {\"t\":\"1970-01-01T00:00:01.000000Z\",\"fd\":\"stdout\",\"line\":\"because\"}\n"
        );
        let rest = recorder.end(StreamSide::Output, at(1_000_000));
        assert!(String::from_utf8(rest).expect("text").contains(r#""line":"of \"x\"""#));
        assert_eq!(recorder.form(), Some(StreamForm::Timed));
        let (detected, _) = registry::detect(text.as_bytes()).expect("a format");
        assert_eq!(detected.format().as_str(), "generic-v1");
    }

    #[test]
    fn structured_output_is_kept_as_it_is_and_secrets_are_not() {
        let secret = format!("ghp_{}", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8");
        let mut recorder = StreamRecorder::new(None, Some(StreamRules::default()));
        let printed = format!("\n{INIT}\n{{\"type\":\"user\",\"text\":\"{secret}\"}}\nplain {secret}\n");
        let kept = recorder.take(StreamSide::Output, printed.as_bytes(), at(0));
        assert_eq!(recorder.form(), Some(StreamForm::Printed));
        let kept = String::from_utf8(kept).expect("text");
        assert!(!kept.contains(&secret) && kept.contains("[REDACTED:"), "{kept}");
        let mut timed = StreamRecorder::new(Some(StreamForm::Timed), Some(StreamRules::default()));
        let kept = timed.take(StreamSide::Output, printed.as_bytes(), at(0));
        assert!(!String::from_utf8(kept).expect("text").contains(&secret));
    }

    /// Found in review: every line was dropped, and nobody was told.
    #[test]
    fn lines_that_no_rules_can_be_used_on_are_counted() {
        for (printed, kept) in [(format!("{INIT}\n{{}}\n"), 0), ("a\nb\n".to_owned(), 2)] {
            let mut recorder = StreamRecorder::new(None, None);
            assert_eq!(recorder.unkept(), None);
            recorder.scrubber = Err("`x` is not a rule".to_owned());
            let lines = recorder.take(StreamSide::Output, printed.as_bytes(), at(0));
            assert_eq!(lines.iter().filter(|byte| **byte == b'\n').count(), kept);
            let unkept = UnkeptLines { lines: 2, reason: "`x` is not a rule".to_owned() };
            assert_eq!(recorder.unkept(), Some(&unkept));
        }
    }

    #[test]
    fn a_client_with_hooks_tells_of_them_before_its_header() {
        let hook = r#"{"type":"system","subtype":"hook_started","hook_id":"h","uuid":"u","session_id":"s"}"#;
        let mut recorder = StreamRecorder::new(None, Some(StreamRules::default()));
        let kept = recorder.take(StreamSide::Output, format!("{hook}\n{INIT}\n").as_bytes(), at(0));
        assert_eq!(recorder.form(), Some(StreamForm::Printed));
        let (detected, _) = registry::detect(&kept).expect("a format");
        assert_eq!(detected.format().as_str(), "claude-stream-v1");
    }

    #[test]
    fn a_line_without_end_is_cut() {
        let mut recorder = StreamRecorder::new(Some(StreamForm::Timed), Some(StreamRules::default()));
        let kept = recorder.take(StreamSide::Output, &vec![b'x'; LINE_BYTES_MAX + 5], at(0));
        let lines: Vec<&[u8]> = kept.split_inclusive(|byte| *byte == b'\n').collect();
        assert!(lines.len() == 2 && lines.iter().all(|line| line.len() < TIMED_BYTES_MAX + 100));
        assert_eq!(recorder.output.rest.len(), 5);
    }

    #[test]
    fn a_command_that_never_prints_does_not_hold_all_it_reads() {
        let mut recorder = StreamRecorder::new(None, Some(StreamRules::default()));
        let kept = recorder.take(StreamSide::Input, &b"0123456789\n".repeat(40_000), at(0));
        assert!(kept.len() > HELD_BYTES_MAX && recorder.waiting.is_empty());
        let mut silent = StreamRecorder::new(None, Some(StreamRules::default()));
        assert!(silent.take(StreamSide::Input, b"q\n", at(0)).is_empty());
        assert!(!silent.end(StreamSide::Output, at(0)).is_empty(), "what was asked is kept");
    }
}
