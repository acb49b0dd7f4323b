//! Reads a transcript line by line from an offset, in constant memory.
//!
//! Knows nothing of formats: a line is what ends with a newline, or what the file ends with. A capture takes a line that is
//! too long for one piece in parts ([`Lines::next_part`]); who has to see records whole reads it whole ([`Lines::next`]).

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::capture::source::RawBytes;
use crate::error::{EngineError, Result};

/// Bytes of a line that a capture reads in one piece at most, as much as of a document. The longest seen in the wild, a
/// compaction that kept images, had 70 MB. A longer one is kept in parts, and ends no turn.
pub const LINE_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Bytes of a line at most: a commit that holds it and the rest of its turn can still be read in one piece. Reading stops at a
/// longer one. Clients that are written in JavaScript read none of 512 MiB.
pub const LONG_LINE_BYTES_MAX: u64 = 768 * 1024 * 1024;

/// Bytes at the end of a part in which a string is looked for that ends there: more than a private key takes.
const STRING_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The same for a word.
const WORD_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of one character in UTF-8 at most.
const CHARACTER_BYTES_MAX: usize = 4;

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

/// One line of a file, or a part of one that is too long to be read in one piece.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    /// The bytes, newline included where there is one.
    pub bytes: &'a [u8],
    /// Whether the line ends with a newline.
    pub complete: bool,
    /// Which part it is; `None` for a whole line.
    pub part: Option<PartOf>,
}

/// Where a part stands in its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartOf {
    /// Bytes of the whole line.
    pub line_bytes: u64,
    /// Whether it is the first one.
    pub is_first: bool,
    /// Whether it is the last one.
    pub is_last: bool,
}

/// A line that is given out in parts.
#[derive(Debug, Clone, Copy)]
struct Long {
    bytes: u64,
    complete: bool,
    /// Bytes that were given out.
    given: u64,
    /// Of these, bytes that the buffer still begins with.
    behind: usize,
}

/// Lines of one file between an offset and the length that it had when reading began.
pub(crate) struct Lines {
    path: PathBuf,
    file: RawBytes,
    reader: BufReader<std::io::Take<Box<dyn Read + Send>>>,
    buffer: Vec<u8>,
    long: Option<Long>,
    offset: u64,
    end: u64,
    line: u64,
    /// Bytes of a part at most, and of a line.
    bounds: (usize, u64),
}

impl Lines {
    /// Starts at an offset, which is the start of a line (1 = first), and goes to `end`.
    pub(crate) fn of(file: RawBytes, path: &Path, (offset, line): (u64, u64), end: u64) -> Result<Self> {
        let reader = file.try_clone().and_then(|file| file.reader(offset));
        let reader = reader.map_err(EngineError::io("seek in", path))?;
        let reader = BufReader::with_capacity(BUFFER_BYTES, reader.take(end.saturating_sub(offset)));
        let bounds = (LINE_BYTES_MAX, LONG_LINE_BYTES_MAX);
        Ok(Self {
            path: path.to_owned(),
            file,
            reader,
            buffer: Vec::new(),
            long: None,
            offset,
            end,
            line,
            bounds,
        })
    }

    /// Returns the number (1 = first) of the line that comes next.
    pub(crate) const fn next_number(&self) -> u64 {
        self.line
    }

    /// Returns the next line whole, none at the end.
    ///
    /// # Errors
    /// `LineTooLong` for a line of more than [`LONG_LINE_BYTES_MAX`], `Shrank`, `Io`.
    pub(crate) fn next(&mut self) -> Result<Option<Line<'_>>> {
        let bound = usize::try_from(self.bounds.1).unwrap_or(usize::MAX);
        if !self.begin(bound)? {
            return Err(self.too_long());
        }
        self.whole()
    }

    /// Returns the next line, or the next part of one that has more than [`LINE_BYTES_MAX`]; none at the end.
    ///
    /// # Errors
    /// As [`Lines::next`], before the first part.
    pub(crate) fn next_part(&mut self) -> Result<Option<Line<'_>>> {
        let bound = self.bounds.0;
        let long = match self.long.take() {
            None if self.begin(bound)? => return self.whole(),
            None => {
                let (bytes, complete) = self.look_ahead()?;
                Long { bytes, complete, given: 0, behind: 0 }
            }
            Some(long) => long,
        };
        self.buffer.drain(..long.behind);
        let left = long.bytes - long.given;
        let missing = left.min(length(bound)).saturating_sub(length(self.buffer.len()));
        let read = (&mut self.reader).take(missing).read_to_end(&mut self.buffer);
        let read = read.map_err(EngineError::io("read", &self.path))?;
        if length(read) < missing {
            let found = self.offset + long.given + length(self.buffer.len());
            return Err(EngineError::Shrank { path: self.path.clone(), expected: self.end, found });
        }
        let is_last = left <= length(self.buffer.len());
        let cut = if is_last { self.buffer.len() } else { part_end(&self.buffer) };
        if is_last {
            self.offset += long.bytes;
            self.line += 1;
        } else {
            self.long = Some(Long { given: long.given + length(cut), behind: cut, ..long });
        }
        let part = PartOf { line_bytes: long.bytes, is_first: long.given == 0, is_last };
        let bytes = self.buffer.get(..cut).unwrap_or_default();
        Ok(Some(Line { bytes, complete: long.complete, part: Some(part) }))
    }

    /// Reads the next line into the buffer; returns whether it has no more bytes than that.
    fn begin(&mut self, bound: usize) -> Result<bool> {
        self.buffer.clear();
        let mut limited = (&mut self.reader).take(length(bound).saturating_add(1));
        let count = read_line(&mut limited, &mut self.buffer).map_err(EngineError::io("read", &self.path))?;
        Ok(count <= bound || self.buffer.last() == Some(&b'\n'))
    }

    /// Returns the line that the buffer holds.
    fn whole(&mut self) -> Result<Option<Line<'_>>> {
        if self.buffer.is_empty() {
            if self.offset < self.end {
                let (path, found) = (self.path.clone(), self.offset);
                return Err(EngineError::Shrank { path, expected: self.end, found });
            }
            return Ok(None);
        }
        let complete = self.buffer.last() == Some(&b'\n');
        self.offset += length(self.buffer.len());
        self.line += 1;
        Ok(Some(Line { bytes: &self.buffer, complete, part: None }))
    }

    /// Looks behind the buffer for the end of the line that begins in it. Returns its length, and whether it has a newline.
    fn look_ahead(&self) -> Result<(u64, bool)> {
        let mut bytes = length(self.buffer.len());
        loop {
            let left = self.end.saturating_sub(self.offset + bytes);
            let ahead = self.file.range(&self.path, self.offset + bytes, left.min(length(BUFFER_BYTES)))?;
            let newline = memchr::memchr(b'\n', &ahead);
            bytes += length(newline.map_or(ahead.len(), |newline| newline + 1));
            if bytes > self.bounds.1 {
                return Err(self.too_long());
            }
            if newline.is_some() || ahead.is_empty() {
                return Ok((bytes, newline.is_some()));
            }
        }
    }

    fn too_long(&self) -> EngineError {
        EngineError::LineTooLong {
            path: self.path.clone(),
            line: self.line,
            offset: self.offset,
            bound_bytes: self.bounds.1,
        }
    }
}

/// Returns where a part of a line should end, so that no secret goes on behind it: where a string of the record ends, else where a
/// word does. What goes on without either for longer than any secret is cut between two characters.
pub(crate) fn part_end(bytes: &[u8]) -> usize {
    let strings = bytes.get(bytes.len().saturating_sub(STRING_BYTES_MAX)..).unwrap_or_default();
    if let Some(at) = memchr::memmem::rfind(strings, b"\",") {
        return bytes.len() - strings.len() + at + 2;
    }
    let words = bytes.get(bytes.len().saturating_sub(WORD_BYTES_MAX)..).unwrap_or_default();
    if let Some(at) = words.iter().rposition(u8::is_ascii_whitespace) {
        return bytes.len() - words.len() + at + 1;
    }
    let is_whole = |at: &usize| bytes.get(*at).is_none_or(|byte| byte & 0xC0 != 0x80);
    (1..bytes.len()).rev().take(CHARACTER_BYTES_MAX).find(is_whole).unwrap_or(bytes.len())
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).expect("a length fits 64 bits")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;

    const PART: usize = 32;
    const LONG: u64 = 256;

    fn lines(bytes: &[u8]) -> Lines {
        let end = length(bytes.len());
        let mut lines = Lines::of(RawBytes::Unpacked(Arc::from(bytes)), Path::new("s.jsonl"), (0, 1), end)
            .expect("lines");
        lines.bounds = (PART, LONG);
        lines
    }

    /// Lines of one length each; which byte stands in them is drawn, too.
    fn some_lines() -> impl Strategy<Value = Vec<u8>> {
        let line = (0..300_usize, "[a-c é\",]");
        (proptest::collection::vec(line, 0..6), any::<bool>()).prop_map(|(lines, is_torn)| {
            let lines = lines.into_iter().map(|(count, text)| text.repeat(count / text.len()) + "\n");
            let mut bytes = lines.collect::<String>().into_bytes();
            bytes.truncate(bytes.len().saturating_sub(usize::from(is_torn)));
            bytes
        })
    }

    proptest! {
        #[test]
        fn parts_are_the_lines_and_stop_where_whole_lines_do(bytes in some_lines()) {
            let (mut whole, mut parts) = (lines(&bytes), lines(&bytes));
            loop {
                let line = match whole.next() {
                    Ok(Some(line)) => line,
                    Ok(None) => {
                        prop_assert!(parts.next_part().expect("read").is_none());
                        break;
                    }
                    Err(EngineError::LineTooLong { line, offset, .. }) => {
                        let error = parts.next_part().expect_err("too long");
                        let is_same = matches!(
                            error,
                            EngineError::LineTooLong { line: other, offset: at, .. } if (line, offset) == (other, at)
                        );
                        prop_assert!(is_same, "{error}");
                        break;
                    }
                    Err(error) => panic!("{error}"),
                };
                let mut joined: Vec<u8> = Vec::new();
                loop {
                    let number = parts.next_number();
                    let part = parts.next_part().expect("read").expect("a part");
                    prop_assert!(part.bytes.len() <= PART + 1 && !part.bytes.is_empty());
                    prop_assert_eq!(part.complete, line.complete);
                    prop_assert!(std::str::from_utf8(part.bytes).is_ok());
                    let is_first = joined.is_empty();
                    joined.extend_from_slice(part.bytes);
                    let Some(of) = part.part else { break };
                    prop_assert_eq!(of.is_first, is_first);
                    prop_assert_eq!(of.line_bytes, length(line.bytes.len()));
                    if of.is_last {
                        break;
                    }
                    prop_assert_eq!(parts.next_number(), number);
                }
                prop_assert_eq!(joined.as_slice(), line.bytes);
            }
            prop_assert_eq!(whole.next_number(), parts.next_number());
        }
    }

    #[test]
    fn a_part_ends_with_a_string_else_with_a_word() {
        for (bytes, end) in [
            (&b"{\"a\":\"x y\",\"b\":\"z z"[..], "{\"a\":\"x y\",".len()),
            (b"{\"a\":\"x y z", "{\"a\":\"x y ".len()),
            (b"xyz", 2),
            ("xyé".as_bytes(), 2),
        ] {
            assert_eq!(part_end(bytes), end, "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn a_file_that_shrank_in_a_long_line_is_said() {
        let bytes = [b'x'; 100];
        let mut lines = lines(&bytes);
        lines.next_part().expect("read").expect("a part");
        lines.reader = BufReader::new((Box::new(std::io::empty()) as Box<dyn Read + Send>).take(1));
        assert!(matches!(lines.next_part(), Err(EngineError::Shrank { .. })));
    }
}
