//! `artifact read`: a range of what is stored under an artifact's name.
//!
//! The whole output of a tool is stored as lines of a ledger; it is read as the text that the tool printed. Any other content
//! is read as it is.

use std::collections::BTreeSet;
use std::io;

use stemmata_api::v1::{ArtifactText, ArtifactUnit};
use stemmata_model::{ArtifactId, Closure, CommitId, Event, EventSeq, LedgerId, Payload, topics};
use stemmata_prompt::tool_output::{
    HEAD_BYTES_MAX, OutputPart, RangeRead, RangeReader, StoredOutput, TextPlace, TextRange, line_artifact,
    part_text,
};
use stemmata_store::maintain::forget::Forgotten;
use stemmata_store::{EventQuery, Order, Places, Session, StoreError};

use crate::chain::segments::read_whole;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};

/// Bytes of one answer at most.
pub const ARTIFACT_READ_BYTES_MAX: usize = 1024 * 1024;

/// Events of outputs that are looked at at once.
const PAGE_EVENTS: usize = 64;

/// Commits below one among which one that covers events is looked for.
const COVERING_MAX: usize = 64;

impl Engine {
    /// Reads a range of an artifact, at most `bytes_max` and [`ARTIFACT_READ_BYTES_MAX`] bytes of it. Ranges that follow each other
    /// hold each character once.
    ///
    /// # Errors
    /// `Store` with `ContentMissing` and `ContentForgotten`, with `Bound` for a range that begins behind the end, and with
    /// `Corrupt`; `Refused` for bytes that are no text.
    pub fn read_artifact(&self, id: ArtifactId, range: TextRange, bytes_max: usize) -> Result<ArtifactText> {
        let bytes_max = bytes_max.min(ARTIFACT_READ_BYTES_MAX);
        let (read, ended, bytes, sha256) = if let Some(output) = self.output_of(id)? {
            let (read, ended) = self.read_output(&output, range, bytes_max)?;
            let bytes = output.bytes();
            (read, ended, bytes, Some(output.sha256))
        } else {
            let (read, ended) = self.read_stored(id, range, bytes_max)?;
            (read, ended, self.store.content_length(id)?.unwrap_or(0), None)
        };
        let Some(RangeRead { bytes: kept, from, to, is_cut }) = read else {
            return Err(behind_end(range, ended));
        };
        let text = String::from_utf8(kept).map_err(|error| {
            let at = from.bytes + u64::try_from(error.utf8_error().valid_up_to()).unwrap_or(0);
            let reason = format!("the bytes of {id} are not UTF-8 text at byte {at}");
            EngineError::Refused { what: Refusal::ReadText, reasons: vec![reason] }
        })?;
        let (from_byte, to_byte) = (from.bytes, to.bytes);
        Ok(ArtifactText { artifact: id, text, from_byte, to_byte, bytes, is_cut, sha256 })
    }

    /// Returns the output that an artifact is the head of, or `None` for any other content.
    fn output_of(&self, id: ArtifactId) -> Result<Option<StoredOutput>> {
        let line = match self.store.content_length(id)? {
            Some(length) if length > HEAD_BYTES_MAX => return Ok(None),
            Some(_) => read_whole(self, id)?,
            None => self.output_line(id)?.into_bytes(),
        };
        Ok(StoredOutput::of_line(&line))
    }

    /// Returns the line of an output that the store does not have: the log is elsewhere, or it was forgotten.
    fn output_line(&self, id: ArtifactId) -> Result<String> {
        let mut found = None;
        self.ledgers_while(None, |ledger| {
            let mut query = Some(EventQuery {
                topics: vec![topics::topic(topics::TOOL_OUTPUT)],
                order: Order::NewestFirst,
                ..EventQuery::after(None, PAGE_EVENTS)
            });
            while let Some(asked) = query {
                let page = self.log.page(&ledger.id, &asked)?;
                found = page.events.iter().find_map(|event| match &event.payload {
                    Payload::Line { line, .. } if line_artifact(line) == id => Some(Ok(format!("{line}\n"))),
                    Payload::Gone(gone) if gone.hash == id => Some(Err(StoreError::ContentForgotten(id))),
                    _ => None,
                });
                if found.is_some() {
                    return Ok(false);
                }
                query = asked.following(&page);
            }
            Ok(true)
        })?;
        Ok(found.unwrap_or(Err(StoreError::ContentMissing(id)))?)
    }

    fn read_output(
        &self,
        output: &StoredOutput,
        range: TextRange,
        bytes_max: usize,
    ) -> Result<(Option<RangeRead>, TextPlace)> {
        let mut place = TextPlace::default();
        let mut parts = output.parts.iter().peekable();
        // What ends before the range begins is not read.
        while let Some(part) = parts.peek() {
            let after = behind(place, part);
            if after.number(range.unit) >= range.from {
                break;
            }
            place = after;
            parts.next();
        }
        let mut reader = RangeReader::new(range, place, bytes_max);
        for part in parts {
            let line = match self.store.content_length(part.artifact)? {
                Some(_) => read_whole(self, part.artifact)?,
                None => self.output_line(part.artifact)?.into_bytes(),
            };
            let text = std::str::from_utf8(&line).ok().and_then(part_text);
            let text = text.filter(|text| u64::try_from(text.len()).is_ok_and(|bytes| bytes == part.bytes));
            let text = text.ok_or_else(|| StoreError::Corrupt {
                artifact: part.artifact,
                reason: "it is not part of the output that names it".to_owned(),
            })?;
            if reader.push(text.as_bytes()).is_break() {
                break;
            }
        }
        let ended = reader.place();
        Ok((reader.finish(), ended))
    }

    fn read_stored(
        &self,
        id: ArtifactId,
        range: TextRange,
        bytes_max: usize,
    ) -> Result<(Option<RangeRead>, TextPlace)> {
        let length = self.store.content_length(id)?.ok_or(StoreError::ContentMissing(id))?;
        let start = if range.unit == ArtifactUnit::Bytes { range.from.min(length) } else { 0 };
        let mut reader =
            RangeReader::new(range, TextPlace { bytes: start, ..TextPlace::default() }, bytes_max);
        let mut is_done = false;
        let read = self.store.read_content(id, Some(start..length), &mut |piece: &[u8]| {
            is_done = reader.push(piece).is_break();
            if is_done { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
        });
        if !is_done {
            read?;
        }
        let ended = reader.place();
        Ok((reader.finish(), ended))
    }

    /// Returns the events of whole outputs that entries of commits name, by ledger. They stand beside the commits, in none.
    pub(crate) fn outputs_of(&self, commits: &[CommitId]) -> Result<Vec<(LedgerId, BTreeSet<EventSeq>)>> {
        let mut found = Vec::new();
        for id in commits {
            let Some(commit) = self.store.commit(*id)? else { continue };
            let (Some(coverage), false) = (self.store.coverage(*id)?, commit.closure == Closure::Forgotten)
            else {
                continue;
            };
            let bytes = match read_whole(self, commit.core.native_artifact()) {
                // A damaged commit can be forgotten too; nothing says which outputs it had.
                Err(EngineError::Store(
                    StoreError::ContentMissing(_)
                    | StoreError::ContentForgotten(_)
                    | StoreError::Corrupt { .. },
                )) => continue,
                bytes => bytes?,
            };
            let named = named_in(&bytes);
            let places = if named.is_empty() {
                BTreeSet::new()
            } else {
                // Its own outputs came after what it follows, in its own session; it may name those of others, which it read.
                let after = self.covered_before(commit.core.parent, &coverage.ledger)?;
                let sighting = self.store.sightings(*id, 1)?.into_iter().next();
                let query = EventQuery {
                    session: sighting.map(|sighting| sighting.session),
                    through: Some(coverage.through),
                    ..EventQuery::after(after, PAGE_EVENTS)
                };
                self.output_places(&coverage.ledger, query, &named)?
            };
            if !places.is_empty() {
                found.push((coverage.ledger, places));
            }
        }
        Ok(found)
    }

    /// Counts commits that stay though the session goes that has the whole outputs which they name.
    pub(crate) fn losing_outputs(&self, forgotten: &Forgotten, sessions: &[Session]) -> Result<usize> {
        let mut count = 0;
        for kept in forgotten.kept.iter().filter(|_| !sessions.is_empty()) {
            let sighting = self.store.sightings(kept.commit, 1)?.pop();
            let goes =
                sighting.is_some_and(|seen| sessions.iter().any(|session| session.session == seen.session));
            count += usize::from(goes && !self.outputs_of(&[kept.commit])?.is_empty());
        }
        Ok(count)
    }

    /// Returns how far the nearest commits of a chain cover a ledger: a snapshot and a commit of elsewhere cover none of it.
    fn covered_before(&self, parent: Option<CommitId>, ledger: &LedgerId) -> Result<Option<EventSeq>> {
        let mut walk = Walk::new(self.store.as_ref(), parent);
        for _ in 0..COVERING_MAX {
            let Some(commit) = walk.next()? else { break };
            let coverage = self.store.coverage(commit.id)?.filter(|coverage| coverage.ledger == *ledger);
            if let Some(coverage) = coverage {
                return Ok(Some(coverage.through));
            }
        }
        Ok(None)
    }

    /// Forgets events of a log that is not the store, which has forgotten them itself else.
    pub(crate) fn forget_outputs_elsewhere(&self, events: &[(LedgerId, BTreeSet<EventSeq>)]) -> Result<u64> {
        let mut gone = 0;
        for (ledger, places) in events.iter().filter(|_| !self.is_log_the_store) {
            gone += self.log.forget_places(ledger, &Places::These(places.clone()))?;
        }
        Ok(gone)
    }

    /// Returns the places of the events of outputs, and of their parts, among those that are asked for.
    fn output_places(
        &self,
        ledger: &LedgerId,
        query: EventQuery,
        named: &BTreeSet<ArtifactId>,
    ) -> Result<BTreeSet<EventSeq>> {
        let mut wanted = named.clone();
        let mut places = BTreeSet::new();
        // Newest first: a head stands behind its parts.
        let mut query = Some(EventQuery {
            topics: vec![topics::topic(topics::TOOL_OUTPUT)],
            order: Order::NewestFirst,
            ..query
        });
        while let Some(asked) = query {
            let page = self.log.page(ledger, &asked)?;
            for Event { seq, payload, .. } in &page.events {
                let Payload::Line { line, .. } = payload else { continue };
                if !wanted.contains(&line_artifact(line)) {
                    continue;
                }
                places.insert(*seq);
                let head = StoredOutput::of_line(line.as_str().as_bytes());
                wanted.extend(head.iter().flat_map(|head| &head.parts).map(|part| part.artifact));
            }
            query = asked.following(&page);
        }
        Ok(places)
    }

    /// Removes the files of whole outputs that are stored no longer.
    pub(crate) fn sweep_outputs(&self) -> Result<()> {
        let Some(files) = &self.outputs.files else { return Ok(()) };
        files.sweep(|artifact| {
            let Some(output) = still(self.output_of(artifact))?.flatten() else { return Ok(false) };
            for part in &output.parts {
                if self.store.content_length(part.artifact)?.is_none()
                    && still(self.output_line(part.artifact))?.is_none()
                {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }
}

/// Returns what was read, or `None` where it is stored no longer.
fn still<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Err(EngineError::Store(StoreError::ContentMissing(_) | StoreError::ContentForgotten(_))) => Ok(None),
        read => read.map(Some),
    }
}

const fn behind(place: TextPlace, part: &OutputPart) -> TextPlace {
    TextPlace {
        bytes: place.bytes.saturating_add(part.bytes),
        chars: place.chars.saturating_add(part.chars),
        newlines: place.newlines.saturating_add(part.newlines),
    }
}

fn behind_end(range: TextRange, ended: TextPlace) -> EngineError {
    let what = match range.unit {
        ArtifactUnit::Lines => "first line of a range of an artifact",
        ArtifactUnit::Bytes => "first byte of a range of an artifact",
        ArtifactUnit::Chars => "first character of a range of an artifact",
    };
    StoreError::Bound { what, value: range.from, bound: ended.number(range.unit) }.into()
}

/// Returns the ids of artifacts in stored bytes: what a notice names, and whatever else is named.
fn named_in(bytes: &[u8]) -> BTreeSet<ArtifactId> {
    const ID_BYTES: usize = 4 + 64;
    let found = memchr::memmem::find_iter(bytes, b"art-");
    let text = found.filter_map(|at| std::str::from_utf8(bytes.get(at..at + ID_BYTES)?).ok());
    text.filter_map(|text| text.parse().ok()).collect()
}
