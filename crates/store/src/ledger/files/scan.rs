//! Reads lines in order and says where they stop being a ledger: torn at the end, or damaged.
//!
//! Only reads. What is done about it is decided by who scans.

use std::io;
use stemmata_model::to_u64;

use super::line::{Batch, IntegrityMode, LINE_BYTES_MAX, Link, Record, decode};
use crate::files::OpenFile;

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 256 * 1024;

/// Where a scan begins: after whole batches only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Start {
    /// The first byte.
    pub(super) byte: u64,
    /// Lines before it.
    pub(super) lines: u64,
    /// The number of the event before it.
    pub(super) last: u64,
    /// The link of the event before it.
    pub(super) link: Link,
}

/// Where a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Its first byte.
    pub(super) byte: u64,
    /// Bytes with the newline.
    pub(super) length: u32,
}

/// What follows the last whole batch where that is not the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Rest {
    /// What a write left that did not finish: nothing that anybody was told of.
    Torn(Torn),
    /// Something that was whole once.
    Damaged(Damaged),
}

/// An end that was not written to the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Torn {
    /// The line that is not whole, or that is missing, counted from 1.
    pub(super) line: u64,
    /// Where the bytes that do not count begin.
    pub(super) byte: u64,
    /// How many there are.
    pub(super) bytes: u64,
    /// Whole events among them, whose batch is not whole.
    pub(super) events: u64,
}

/// A line that is not what it was, or not what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Damaged {
    /// The line, counted from 1.
    pub(super) line: u64,
    /// Its first byte.
    pub(super) byte: u64,
    /// The number that its event should have.
    pub(super) expected: u64,
    /// What is wrong.
    pub(super) fault: Fault,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is no event, or its bytes are not those that were written.
    Bad(String),
    /// Events before it are missing.
    Gap(u64),
    /// Its number was there before.
    Again(u64),
    /// The file ends before it, and an event of this number was durable.
    Cut(u64),
}

/// Takes batches as they are found.
pub(super) type Take<'a> = dyn FnMut(&[(Place, Record)]) + 'a;

/// Reads lines from a place to the end of a file and hands out whole batches.
pub(super) fn scan(
    file: &dyn OpenFile,
    start: &Start,
    mode: IntegrityMode,
    take: &mut Take<'_>,
) -> io::Result<Option<Rest>> {
    let mut lines = Lines::new(file, start.byte)?;
    let mut scan = Scan { mode, last: start.last, link: start.link, open: Vec::new() };
    let (mut number, mut whole) = (start.lines, start.byte);
    let stopped = loop {
        let Some(line) = lines.next()? else { break None };
        number += 1;
        match scan.line(&line) {
            Ok(false) => {}
            Ok(true) => {
                take(&scan.open);
                scan.open.clear();
                whole = line.byte + u64::from(line.length());
            }
            Err(fault) => break Some((fault, line.byte, line.looks_torn(mode))),
        }
    };
    let torn = |line, events: usize| {
        let events = to_u64(events);
        Torn { line, byte: whole, bytes: lines.length - whole, events }
    };
    match stopped {
        None if scan.open.is_empty() => Ok(None),
        None => Ok(Some(Rest::Torn(torn(number + 1, scan.open.len())))),
        Some((fault, byte, looks_torn)) => {
            let torn = torn(number, scan.open.len());
            let open = to_u64(scan.open.len());
            let damaged = Damaged { line: number, byte, expected: scan.last + 1, fault };
            // What a later line proves durable was whole once, however it looks.
            let is_torn = looks_torn && !is_proven(&mut lines, scan.last - open, mode)?;
            Ok(Some(if is_torn { Rest::Torn(torn) } else { Rest::Damaged(damaged) }))
        }
    }
}

/// Says whether a line from here on was written when a number after `last` was durable.
fn is_proven(lines: &mut Lines<'_>, last: u64, mode: IntegrityMode) -> io::Result<bool> {
    while let Some(line) = lines.next()? {
        if line.is_ended && decode(line.bytes, mode).is_ok_and(|record| record.batch.durable > last) {
            return Ok(true);
        }
    }
    Ok(false)
}

struct Scan {
    mode: IntegrityMode,
    last: u64,
    link: Link,
    open: Vec<(Place, Record)>,
}

impl Scan {
    /// Takes a line, and says whether a batch is whole with it.
    fn line(&mut self, line: &Line<'_>) -> Result<bool, Fault> {
        if !line.is_ended {
            return Err(Fault::Bad("it does not end with a newline".to_owned()));
        }
        let record = decode(line.bytes, self.mode).map_err(Fault::Bad)?;
        let (seq, expected) = (record.event.seq.get(), self.last + 1);
        if seq != expected {
            return Err(if seq > expected { Fault::Gap(seq) } else { Fault::Again(seq) });
        }
        let opened = self.open.first().map(|(_, first)| first.batch);
        let wanted = opened.unwrap_or(Batch { first: expected, ..record.batch });
        if wanted != record.batch {
            return Err(Fault::Bad("it is of another batch than the lines before it".to_owned()));
        }
        if let Some(link) = &record.link {
            // Without a chain links are only kept: they were right when the mode was another one.
            if self.mode == IntegrityMode::Chain && *link != record.link_after(&self.link) {
                return Err(Fault::Bad("its link does not fit the line before it".to_owned()));
            }
            self.link = *link;
        }
        self.last = seq;
        self.open.push((Place { byte: line.byte, length: line.length() }, record));
        Ok(self.open.len() == wanted.size)
    }
}

/// A line as it stands in a file.
pub(super) struct Line<'a> {
    pub(super) byte: u64,
    /// Without the newline; cut where it is longer than any line.
    pub(super) bytes: &'a [u8],
    /// Whether a newline ends it.
    pub(super) is_ended: bool,
}

impl Line<'_> {
    fn length(&self) -> u32 {
        u32::try_from(self.bytes.len() + usize::from(self.is_ended)).unwrap_or(u32::MAX)
    }

    /// Says whether it can be what an interrupted write left: no end, or zeros, which no event has.
    pub(super) fn looks_torn(&self, mode: IntegrityMode) -> bool {
        if self.is_ended {
            return self.bytes.contains(&0);
        }
        // A whole event and one byte more: its newline is damaged.
        let but_one = self.bytes.split_last().map(|(_, rest)| rest);
        !but_one.is_some_and(|line| mode != IntegrityMode::None && decode(line, mode).is_ok())
    }
}

/// The lines of a file, with a bounded part of it in memory.
pub(super) struct Lines<'a> {
    file: &'a dyn OpenFile,
    /// Bytes of the file when the reading began.
    pub(super) length: u64,
    buffer: Vec<u8>,
    /// Where the buffer stands in the file.
    from: u64,
    /// What of the buffer was handed out.
    used: usize,
}

impl<'a> Lines<'a> {
    pub(super) fn new(file: &'a dyn OpenFile, from: u64) -> io::Result<Self> {
        let length = file.length()?;
        Ok(Self { file, length: length.max(from), buffer: Vec::new(), from, used: 0 })
    }

    pub(super) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        let mut searched = self.used;
        let newline = loop {
            let found =
                self.buffer.get(searched..).and_then(|new| new.iter().position(|byte| *byte == b'\n'));
            if let Some(at) = found {
                break Some(searched + at);
            }
            let open = self.buffer.len() - self.used;
            if open > LINE_BYTES_MAX || !self.fill()? {
                break None;
            }
            searched = open;
        };
        let begin = self.used;
        if begin == self.buffer.len() {
            return Ok(None);
        }
        let end = newline.unwrap_or(self.buffer.len());
        self.used = newline.map_or(end, |at| at + 1);
        let bytes = self.buffer.get(begin..end).unwrap_or_default();
        Ok(Some(Line { byte: self.from + to_u64(begin), bytes, is_ended: newline.is_some() }))
    }

    /// Lets go of what was handed out, and reads on; false at the end.
    fn fill(&mut self) -> io::Result<bool> {
        self.buffer.drain(..self.used);
        self.from += to_u64(self.used);
        self.used = 0;
        let old = self.buffer.len();
        let at = self.from + to_u64(old);
        let more = usize::try_from(self.length - at).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
        if more == 0 {
            return Ok(false);
        }
        self.buffer.resize(old + more, 0);
        self.file.read_at(at, self.buffer.get_mut(old..).unwrap_or_default())?;
        Ok(true)
    }
}
