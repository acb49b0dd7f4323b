//! Reads a transcript line by line from an offset, in constant memory.
//!
//! Knows nothing of formats: a line is what ends with a newline, or what the file ends with.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use stemmata_model::to_u64;

use crate::capture::source::RawBytes;
use crate::error::{EngineError, Result};

/// Bytes of one line at most. The longest seen in the wild, a compaction that kept images, had 70 MB; clients that are written in
/// JavaScript read none of 512 MiB. A capture takes twice its memory, and a commit that holds it and the rest of its turn can
/// still be read in one piece, which may have 1 GiB.
pub const LINE_BYTES_MAX: usize = 768 * 1024 * 1024;

/// Bytes read at once: large enough that system calls do not count.
const BUFFER_BYTES: usize = 256 * 1024;

/// Splits bytes behind each newline. The standard library's way looks at one byte at a time, which shows.
pub(crate) fn split_lines(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |newline| newline + 1);
        let (line, after) = rest.split_at_checked(end).filter(|(line, _)| !line.is_empty())?;
        rest = after;
        Some(line)
    })
}

/// Appends what there is up to the next newline, and returns the length of all; `read_until` of the standard library
/// looks for it at a third of the speed.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    loop {
        let ready = match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            ready => ready?,
        };
        let newline = memchr::memchr(b'\n', ready);
        let taken = newline.map_or(ready.len(), |newline| newline + 1);
        line.extend_from_slice(ready.get(..taken).unwrap_or_default());
        reader.consume(taken);
        if newline.is_some() || taken == 0 {
            return Ok(line.len());
        }
    }
}

/// One line of a file.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    /// The bytes, newline included where there is one.
    pub bytes: &'a [u8],
    /// Whether it ends with a newline.
    pub complete: bool,
}

/// Lines of one file between an offset and the length that it had when reading began.
pub(crate) struct Lines {
    path: PathBuf,
    reader: BufReader<std::io::Take<Box<dyn Read + Send>>>,
    buffer: Vec<u8>,
    offset: u64,
    end: u64,
    line: u64,
}

impl Lines {
    /// Starts at an offset, which is the start of a line (1 = first), and goes to `end`.
    pub(crate) fn of(file: RawBytes, path: &Path, (offset, line): (u64, u64), end: u64) -> Result<Self> {
        let reader = file.reader(offset).map_err(EngineError::io("seek in", path))?;
        let reader = BufReader::with_capacity(BUFFER_BYTES, reader.take(end.saturating_sub(offset)));
        Ok(Self { path: path.to_owned(), reader, buffer: Vec::new(), offset, end, line })
    }

    /// Returns the number (1 = first) of the line that comes next.
    pub(crate) const fn next_number(&self) -> u64 {
        self.line
    }

    /// Returns the next line, none at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Line<'_>>> {
        self.buffer.clear();
        let bound = u64::try_from(LINE_BYTES_MAX).expect("the bound fits") + 1;
        let mut limited = (&mut self.reader).take(bound);
        let count = read_line(&mut limited, &mut self.buffer).map_err(EngineError::io("read", &self.path))?;
        if count > LINE_BYTES_MAX && self.buffer.last() != Some(&b'\n') {
            return Err(EngineError::LineTooLong {
                path: self.path.clone(),
                line: self.line,
                offset: self.offset,
                bound_bytes: LINE_BYTES_MAX,
            });
        }
        if count == 0 {
            if self.offset < self.end {
                return Err(EngineError::Shrank {
                    path: self.path.clone(),
                    expected: self.end,
                    found: self.offset,
                });
            }
            return Ok(None);
        }
        let complete = self.buffer.last() == Some(&b'\n');
        self.offset += to_u64(count);
        self.line += 1;
        Ok(Some(Line { bytes: &self.buffer, complete }))
    }
}
