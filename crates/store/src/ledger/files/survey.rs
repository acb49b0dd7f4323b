//! What a repair makes of a file: which lines are events, which are set aside, and which numbers are missing.
//!
//! Only reads. Writing the file anew is `repair`'s.

use std::collections::BTreeMap;
use std::path::PathBuf;

use stemmata_model::{ArtifactId, Timestamp, artifact_id, to_u64};

use super::desk::{Desk, Loaded};
use super::finding::Finding;
use super::folder::{EVENTS, failed};
use super::line::{Batch, IntegrityMode, decode, root_link};
use super::meta::Meta;
use super::scan::{Lines, Rest, Torn};
use crate::error::StoreError;
use crate::files::OpenFile;

/// Missing events that a repair stands in for, at most: beyond that something else is wrong.
const MISSING_MAX: u64 = 65_536;

/// A line of the file as it will be.
pub(super) enum Kept {
    /// Bytes of the old file.
    Line { byte: u64, length: usize, batch: Batch, at: Timestamp, seq: u64 },
    /// What stands in for an event that is missing.
    Lost { seq: u64, was: Option<Was> },
}

impl Kept {
    pub(super) const fn seq(&self) -> u64 {
        match self {
            Self::Line { seq, .. } | Self::Lost { seq, .. } => *seq,
        }
    }
}

/// What stood where an event is missing.
#[derive(Clone, Copy)]
pub(super) struct Was {
    pub(super) line: u64,
    pub(super) hash: ArtifactId,
    pub(super) bytes: u64,
}

/// A line that leaves the ledger, without its newline. Its bytes stay in the file until they are written elsewhere.
pub(super) struct SetAside {
    pub(super) line: u64,
    pub(super) byte: u64,
    pub(super) length: usize,
    pub(super) reason: String,
}

/// What a repair makes of a file.
pub(super) struct Survey {
    /// Each number once, in their order.
    pub(super) kept: Vec<Kept>,
    pub(super) quarantined: Vec<SetAside>,
    /// In the order of the file.
    pub(super) findings: Vec<Finding>,
}

/// A line that is an event.
struct Found {
    line: u64,
    byte: u64,
    /// Without the newline.
    length: usize,
    batch: Batch,
    at: Timestamp,
}

/// A line that is none.
struct Bad {
    was: Was,
    looks_torn: bool,
}

/// A survey under way.
struct Surveyor<'a> {
    file: &'a dyn OpenFile,
    meta: &'a Meta,
    /// The greatest number that other files say was durable.
    proven: u64,
    path: PathBuf,
    /// Lines that are events, by their numbers, wherever they stand.
    found: BTreeMap<u64, Found>,
    /// Lines that are none, by the number of the last line before them that is one.
    bad: BTreeMap<u64, Vec<Bad>>,
    /// Lines that are events and whose link does not fit, by their numbers.
    unfit: BTreeMap<u64, Was>,
    quarantined: Vec<SetAside>,
    findings: Vec<(u64, Finding)>,
}

/// Looks at each line by itself, then at what they are to each other, and says what becomes of them.
pub(super) fn survey(loaded: &Loaded, meta: &Meta, desk: &Desk) -> Result<Survey, StoreError> {
    let mut surveyor = Surveyor {
        file: loaded.file.as_ref(),
        meta,
        proven: loaded.proven,
        path: desk.folder.path(EVENTS),
        found: BTreeMap::new(),
        bad: BTreeMap::new(),
        unfit: BTreeMap::new(),
        quarantined: Vec::new(),
        findings: Vec::new(),
    };
    let during = failed("reading", &surveyor.path);
    let last_read = surveyor.lines().map_err(&during)?;
    if meta.mode == IntegrityMode::Chain {
        surveyor.links(root_link(&desk.id)).map_err(during)?;
    }
    surveyor.cut_half_batch(last_read);
    let kept = surveyor.kept(last_read)?;
    // What stopped the reading is told even where a repair has nothing to set aside for it, as a line out of order.
    if let Some(Rest::Damaged(at)) = &loaded.rest
        && surveyor.findings.iter().all(|(line, _)| *line != at.line)
    {
        surveyor.findings.push((at.line, Finding::of_damaged(&surveyor.path, at)));
    }
    surveyor.findings.sort_by_key(|(line, _)| *line);
    surveyor.quarantined.sort_by_key(|quarantined| quarantined.line);
    let findings = surveyor.findings.into_iter().map(|(_, finding)| finding).collect();
    Ok(Survey { kept, quarantined: surveyor.quarantined, findings })
}

impl Surveyor<'_> {
    /// Sorts lines into events and others, and returns the number of the last event in the order of the file.
    fn lines(&mut self) -> std::io::Result<u64> {
        let mut lines = Lines::new(self.file, 0)?;
        let (mut last, mut number) = (self.meta.base, 0);
        while let Some(line) = lines.next()? {
            number += 1;
            let byte = line.byte;
            let read = if line.is_ended {
                decode(line.bytes, self.meta.mode)
            } else {
                Err("it does not end with a newline".to_owned())
            };
            // An editor's line ends and blanks around an event are not what it says.
            let own = line.bytes.trim_ascii();
            let is_edited = read.is_err() && line.is_ended && own.len() < line.bytes.len();
            let read = if is_edited { decode(own, self.meta.mode).or(read) } else { read };
            let reason = match read {
                Ok(record) => {
                    let seq = record.event.seq.get();
                    if seq > self.meta.base && !self.found.contains_key(&seq) {
                        let (batch, at) = (record.batch, record.event.at);
                        let before = line.bytes.len() - line.bytes.trim_ascii_start().len();
                        let (byte, length) = if is_edited {
                            (byte + to_u64(before), own.len())
                        } else {
                            (byte, line.bytes.len())
                        };
                        self.found.insert(seq, Found { line: number, byte, length, batch, at });
                        last = seq;
                        continue;
                    }
                    let (path, expected) = (self.path.clone(), last.saturating_add(1));
                    let finding = Finding::Duplicate { path, line: number, byte, expected, found: seq };
                    self.findings.push((number, finding));
                    format!("event {seq} was there before")
                }
                // A blank line stands for no event.
                Err(reason) if own.is_empty() && line.is_ended => {
                    self.note_bad(number, byte, reason.clone());
                    reason
                }
                Err(reason) => {
                    let looks_torn = line.looks_torn(self.meta.mode);
                    let bad = Bad { was: was(number, line.bytes), looks_torn };
                    self.bad.entry(last).or_default().push(bad);
                    self.note_bad(number, byte, reason.clone());
                    reason
                }
            };
            self.quarantined.push(SetAside { line: number, byte, length: line.bytes.len(), reason });
        }
        Ok(last)
    }

    fn note_bad(&mut self, line: u64, byte: u64, reason: String) {
        self.findings.push((line, Finding::BadLine { path: self.path.clone(), line, byte, reason }));
    }

    fn bytes(&self, found: &Found) -> std::io::Result<Vec<u8>> {
        let mut bytes = vec![0; found.length];
        self.file.read_at(found.byte, &mut bytes)?;
        Ok(bytes)
    }

    /// Takes out the events whose link does not fit the one before. After a number that is missing nobody can tell.
    fn links(&mut self, root: super::line::Link) -> std::io::Result<()> {
        let mut before = Some((self.meta.base, root));
        let mut unfit = Vec::new();
        for (seq, found) in &self.found {
            let bytes = self.bytes(found)?;
            let record = decode(&bytes, self.meta.mode).map_err(std::io::Error::other)?;
            let fits = match &before {
                Some((last, link)) if last.checked_add(1) == Some(*seq) => {
                    record.link == Some(record.link_after(link))
                }
                Some(_) | None => true,
            };
            // The link that it says, even so: the next line was written after that one.
            before = record.link.map(|link| (*seq, link));
            if !fits {
                unfit.push((*seq, was(found.line, &bytes)));
            }
        }
        for (seq, was) in unfit {
            let Some(Found { line, byte, length, .. }) = self.found.remove(&seq) else { continue };
            let reason = "its link does not fit the line before it".to_owned();
            self.note_bad(line, byte, reason.clone());
            self.quarantined.push(SetAside { line, byte, length, reason });
            self.unfit.insert(seq, was);
        }
        Ok(())
    }

    /// Takes out a batch at the end that was not written to its end: nobody was told that it happened.
    fn cut_half_batch(&mut self, last_read: u64) {
        let Some((last, batch)) = self.found.last_key_value().map(|(seq, found)| (*seq, found.batch)) else {
            return;
        };
        let size = to_u64(batch.size);
        let is_whole = batch.first.checked_add(size).is_none_or(|next| next <= last.saturating_add(1));
        let is_proven =
            self.proven >= batch.first || self.found.values().any(|found| found.batch.durable >= batch.first);
        // A whole line after it that is no event may be one of the batch.
        let may_be_whole = [last, last_read]
            .iter()
            .filter_map(|seq| self.bad.get(seq))
            .any(|bad| bad.iter().any(|bad| !bad.looks_torn));
        let reaches = self.unfit.last_key_value().is_some_and(|(seq, _)| *seq >= batch.first);
        if is_whole || is_proven || may_be_whole || reaches || batch.first > last {
            return;
        }
        let half = self.found.split_off(&batch.first);
        let Some(first) = half.values().next() else { return };
        let (line, byte) = (first.line, first.byte);
        let events = to_u64(half.len());
        let bytes = half.values().map(|found| u64::try_from(found.length + 1).expect("short")).sum();
        let torn = Torn { line: line.saturating_add(events), byte, bytes, events };
        self.findings.push((line, Finding::of_torn(&self.path, &torn)));
        for found in half.values() {
            let reason = "its batch was not written to its end".to_owned();
            let (line, byte, length) = (found.line, found.byte, found.length);
            self.quarantined.push(SetAside { line, byte, length, reason });
        }
    }

    /// Puts the events in order, and what stands in for missing ones between them.
    fn kept(&mut self, last_read: u64) -> Result<Vec<Kept>, StoreError> {
        let mut kept = Vec::new();
        let mut last = self.meta.base;
        for (seq, found) in std::mem::take(&mut self.found) {
            self.stand_in(&mut kept, last, seq, Some(&found))?;
            last = seq;
            let Found { byte, length, batch, at, .. } = found;
            kept.push(Kept::Line { byte, length, batch, at, seq });
        }
        // At the end nobody says how many there were: as many as lines, but for one that was not written to its end.
        let mut ends = self.bad.remove(&last_read).unwrap_or_default();
        if last != last_read {
            ends.splice(0..0, self.bad.remove(&last).unwrap_or_default());
        }
        ends.retain(|bad| !bad.looks_torn);
        let known = self.unfit.last_key_value().map_or(last, |(seq, _)| last.max(*seq));
        let next = known.saturating_add(1).saturating_add(u64::try_from(ends.len()).expect("short"));
        let next = next.max(self.proven.saturating_add(1));
        self.bad.insert(last, ends);
        self.stand_in(&mut kept, last, next, None)?;
        Ok(kept)
    }

    /// Stands in for the events between two numbers.
    fn stand_in(
        &mut self,
        kept: &mut Vec<Kept>,
        last: u64,
        next: u64,
        found: Option<&Found>,
    ) -> Result<(), StoreError> {
        let missing = next.saturating_sub(last).saturating_sub(1);
        if missing == 0 {
            return Ok(());
        }
        if missing > MISSING_MAX {
            let (value, bound) = (missing, MISSING_MAX);
            return Err(StoreError::Bound { what: "missing events of a repair", value, bound });
        }
        let bad = self.bad.remove(&last).unwrap_or_default();
        let has_unfit = self.unfit.range(last..next).next().is_some();
        if let Some(found) = found.filter(|_| bad.is_empty() && !has_unfit) {
            let (path, line, byte) = (self.path.clone(), found.line, found.byte);
            let finding = Finding::Gap { path, line, byte, expected: last + 1, found: next };
            self.findings.push((line, finding));
        }
        let mut bad = bad.into_iter();
        for seq in last + 1..next {
            let was = self.unfit.remove(&seq).or_else(|| bad.next().map(|bad| bad.was));
            kept.push(Kept::Lost { seq, was });
        }
        Ok(())
    }
}

fn was(line: u64, bytes: &[u8]) -> Was {
    Was { line, hash: artifact_id(bytes), bytes: to_u64(bytes.len()) }
}
