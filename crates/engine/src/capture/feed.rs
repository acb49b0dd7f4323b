//! Feeds the lines of a transcript to an ingest, their secrets replaced; what lines say together is looked at together.
//!
//! A line is fed once no later one can change what is replaced in it. So what follows a closed boundary is read from there
//! with what was open before it, and gives the same bytes as a reading from the beginning.

use stemmata_model::{Note, NoteCode, Trigger, to_u64};
use stemmata_redact::{KEY_LINES_BYTES_MAX, LineScrubber, ScrubbedLine};
use stemmata_runtimes::adapter::Shape;
use stemmata_runtimes::captured::is_said_in_parts;

use crate::capture::lines::{Lines, split_lines};
use crate::capture::options::CaptureOptions;
use crate::capture::transcript::Run;
use crate::engine::Engine;
use crate::error::Result;
use crate::scrubbing::line_scrubber;

/// Bytes before the place where reading goes on that are looked at for a text that is open there: more than the lines of
/// any private key take.
const OPEN_BYTES_MAX: u64 = 256 * 1024;
const _: () = assert!(KEY_LINES_BYTES_MAX <= 128 * 1024, "a key that is open is found by looking back");

/// Lines on their way, and how many of them were fed in an earlier reading.
struct Feed {
    lines: LineScrubber,
    fed: usize,
    /// Where in the file the next line begins.
    at: u64,
    /// The scrubber of today's rules, and the byte up to which lines stay as the shipped rules before these left them.
    later: Option<(LineScrubber, u64)>,
}

impl Feed {
    /// Starts where reading goes on, knowing what was open there.
    fn at(run: &Run<'_>) -> Result<Self> {
        let format = run.prepared.adapter.format();
        let start = run.ingest.closed().raw_bytes;
        let mut feed =
            Self { lines: line_scrubber(&run.prepared.scrubber, &format), fed: 0, at: start, later: None };
        let earlier_bytes = run.prepared.earlier_bytes;
        if let Some(earlier) = run.prepared.scrubber.earlier().filter(|_| earlier_bytes > start) {
            let later = std::mem::replace(&mut feed.lines, line_scrubber(earlier, &format));
            feed.later = Some((later, earlier_bytes));
        }
        if start == 0 || !is_said_in_parts(&format) {
            return Ok(feed);
        }
        let from = start.saturating_sub(OPEN_BYTES_MAX);
        let before = run.prepared.transcript.range(from, start - from)?;
        let cut =
            if from == 0 { 0 } else { memchr::memchr(b'\n', &before).map_or(before.len(), |at| at + 1) };
        for line in split_lines(before.get(cut..).unwrap_or_default()) {
            feed.fed += 1;
            feed.fed -= feed.lines.push(line)?.len();
        }
        Ok(feed)
    }

    /// Scrubs the next line of the file. Lines that end within `earlier_bytes` are scrubbed by the shipped rules before these, so
    /// that they stay as they were stored; the rules of today scrub every later line.
    fn push<'l>(&mut self, line: &'l [u8]) -> Result<Vec<ScrubbedLine<'l>>> {
        self.at += to_u64(line.len());
        let mut given = Vec::new();
        if let Some((later, _)) = self.later.take_if(|(_, earlier_bytes)| self.at > *earlier_bytes) {
            given = self.lines.finish()?;
            let state = self.lines.take_state();
            self.lines = later.going_on_from(state);
        }
        given.extend(self.lines.push(line)?);
        Ok(given)
    }

    /// Returns which lines are new among those that are final.
    fn new_of<'l>(
        &mut self,
        given: Vec<ScrubbedLine<'l>>,
    ) -> impl Iterator<Item = ScrubbedLine<'l>> + use<'l> {
        let fed = self.fed.min(given.len());
        self.fed -= fed;
        given.into_iter().skip(fed)
    }
}

impl Run<'_> {
    /// Reads what follows. Lines that later ones may still change stay for the next time, unless nothing follows.
    pub(super) fn read_lines(
        &mut self,
        engine: &Engine,
        options: &CaptureOptions,
        mut lines: Lines,
    ) -> Result<()> {
        if self.prepared.adapter.shape() == Shape::Document {
            return self.read_document();
        }
        let mut feed = Feed::at(self)?;
        let suspended = self.prepared.scrubber.suspensions();
        // An import kept the unfinished last line of a file of this length: a live look must not drop it again.
        let takes_rest = options.torn_tail || self.prepared.was_seen_whole();
        let (mut batches, mut is_torn) = (0_u32, false);
        while let Some(line) = lines.next()? {
            if !line.complete && !takes_rest {
                break;
            }
            is_torn = !line.complete;
            let mut given = feed.push(line.bytes)?;
            if is_torn {
                given.extend(feed.lines.finish()?);
            }
            self.feed(feed.new_of(given), is_torn)?;
            if self.ingest.is_batch_full() && self.ingest.first_closed().is_some() {
                batches += 1;
                self.flush_closed(engine)?;
            }
        }
        if !is_torn && (options.torn_tail || options.trigger == Trigger::SessionEnd) {
            let given = feed.lines.finish()?;
            self.feed(feed.new_of(given), false)?;
        }
        let suspended = self.prepared.scrubber.suspensions() - suspended;
        if suspended > 0 {
            let what = "would have replaced more than a quarter of a long line, and were not used there";
            let note = format!("the project's rules for secrets {what}: {suspended} times");
            self.ingest.note(Note::new(NoteCode::Degraded, note));
        }
        let path = self.prepared.transcript.path().display();
        tracing::debug!(%path, batches, lines = lines.next_number() - 1, "read");
        Ok(())
    }

    /// Feeds lines, the last of which may have no end.
    fn feed<'l>(&mut self, lines: impl Iterator<Item = ScrubbedLine<'l>>, is_torn: bool) -> Result<()> {
        let mut lines = lines.peekable();
        while let Some(line) = lines.next() {
            if is_torn && lines.peek().is_none() {
                self.ingest.torn_tail(&line)?;
            } else {
                self.ingest.line(&line)?;
            }
            self.windows.push(&line.raw);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
