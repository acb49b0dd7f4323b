//! What is written where a client looks: rewritten, checked and hashed on its way, line by line or as a whole.

use std::io::{self, Write as _};

use stemmata_model::{Note, to_u64};
use stemmata_runtimes::adapter::{Adapter, PlaceRequest, Placing, Shape};

use super::mark::Mark;
use crate::capture::lines::split_lines;
use crate::temporary::TempFile;

/// Bytes hashed and written at once: line by line the hash would take six times as long.
const OUTPUT_BYTES: usize = 256 * 1024;

/// Rewrites, checks, hashes and writes, line by line.
pub(super) struct Output {
    pub(super) file: TempFile,
    shape: Shape,
    /// What the first line says of how all of it was made, until it is written.
    mark: Option<Mark>,
    pub(super) placing: Box<dyn Placing>,
    pub(super) hasher: blake3::Hasher,
    line: Vec<u8>,
    /// Lines that are not written yet, and behind them what the placer just added.
    out: Vec<u8>,
    /// Bytes of `out` that were counted.
    counted: usize,
    /// Bytes of the file, those in `out` included.
    pub(super) written: u64,
    /// Newlines among them.
    newlines: u64,
    /// Whether they end within a line.
    is_inside: bool,
}

impl Output {
    /// Begins. A document takes no mark.
    pub(super) fn new(
        file: TempFile,
        adapter: &dyn Adapter,
        (request, mark): (&PlaceRequest, Option<Mark>),
    ) -> Self {
        let shape = adapter.shape();
        Self {
            file,
            shape,
            mark: mark.filter(|_| shape != Shape::Document),
            placing: adapter.placing(request),
            hasher: blake3::Hasher::new(),
            line: Vec::new(),
            out: Vec::new(),
            counted: 0,
            written: 0,
            newlines: 0,
            is_inside: false,
        }
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.shape == Shape::Document {
            self.line.extend_from_slice(bytes);
            return Ok(());
        }
        for part in split_lines(bytes) {
            if self.line.is_empty() && part.ends_with(b"\n") {
                self.placing.line(part, &mut self.out);
                self.emit()?;
            } else {
                self.line.extend_from_slice(part);
                if part.ends_with(b"\n") {
                    self.end_line()?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn end_line(&mut self) -> io::Result<()> {
        if !self.line.is_empty() {
            let line = std::mem::take(&mut self.line);
            self.placing.line(&line, &mut self.out);
            self.emit()?;
        }
        Ok(())
    }

    pub(super) fn finish(&mut self) -> io::Result<Vec<Note>> {
        let notes = self.placing.finish(&mut self.out);
        self.emit()?;
        self.flush()?;
        Ok(notes)
    }

    /// Returns the lines of the file so far; one without its newline is one.
    pub(super) fn lines(&self) -> u64 {
        self.newlines + u64::from(self.is_inside)
    }

    fn emit(&mut self) -> io::Result<()> {
        if !self.out.is_empty()
            && let Some(mark) = self.mark.take()
        {
            let end = memchr::memchr(b'\n', &self.out).map_or(self.out.len(), |at| at + 1);
            let rest = self.out.split_off(end);
            mark.put(&mut self.out);
            self.out.extend(rest);
        }
        let added = self.out.get(self.counted..).unwrap_or_default();
        self.written += to_u64(added.len());
        let newlines = memchr::memchr_iter(b'\n', added).count();
        self.newlines += to_u64(newlines);
        self.is_inside = added.last().map_or(self.is_inside, |last| *last != b'\n');
        self.counted = self.out.len();
        if self.counted >= OUTPUT_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.hasher.update(&self.out);
        self.file.write_all(&self.out)?;
        self.out.clear();
        self.counted = 0;
        Ok(())
    }
}
