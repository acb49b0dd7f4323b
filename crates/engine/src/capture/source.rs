//! Where a transcript's bytes are: in a file as they are, or compressed in one (`….jsonl.zst`).
//!
//! Codex packs sessions that nobody works in, and unpacks them when somebody does. Either file is the same session, so
//! the name without `.zst` is the one that a session is known by. What is unpacked never touches the disk: secrets are
//! not replaced in it yet.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use stemmata_model::to_u64;

use crate::capture::cursor::FileStamp;
use crate::error::{EngineError, Refusal, Result};
use crate::system;

/// Bytes that a compressed transcript may hold: it is unpacked in memory, and a few bytes can say that they are
/// terabytes.
pub(crate) const UNPACKED_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// The bytes of a transcript; cheap to clone.
#[derive(Debug)]
pub(crate) enum RawBytes {
    /// A file that holds them.
    File(File),
    /// What a compressed file holds.
    Unpacked(Arc<[u8]>),
}

impl RawBytes {
    /// Returns no bytes.
    pub(crate) fn none() -> Self {
        Self::Unpacked(Arc::from([]))
    }

    /// Returns a range, less where the bytes end before; leaves the place where others read alone.
    pub(crate) fn range(&self, path: &Path, offset: u64, length: u64) -> Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(length).expect("a window fits the memory")];
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            let at = offset + to_u64(filled);
            match self.read_at(rest, at) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(EngineError::io("read", path)(error)),
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    /// Reads at a place, as much as is there at once.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        match self {
            Self::File(file) => system::read_at(file, buffer, offset),
            Self::Unpacked(bytes) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                let mut rest = bytes.get(start..).unwrap_or_default();
                rest.read(buffer)
            }
        }
    }

    /// Returns another handle to the same bytes.
    pub(crate) fn try_clone(&self) -> std::io::Result<Self> {
        Ok(match self {
            Self::File(file) => Self::File(file.try_clone()?),
            Self::Unpacked(bytes) => Self::Unpacked(Arc::clone(bytes)),
        })
    }

    /// Returns what reads on from a place.
    pub(crate) fn reader(self, offset: u64) -> std::io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::File(mut file) => {
                file.seek(SeekFrom::Start(offset))?;
                Box::new(file)
            }
            Self::Unpacked(bytes) => {
                let mut cursor = std::io::Cursor::new(bytes);
                cursor.set_position(offset);
                Box::new(cursor)
            }
        })
    }
}

/// Returns whether a file's name is one that transcripts have.
pub fn is_transcript_name(path: &Path) -> bool {
    plain_name(path).extension() == Some(OsStr::new("jsonl"))
}

/// Returns the name that a transcript has when it is not compressed.
pub(crate) fn plain_name(path: &Path) -> &Path {
    let is_packed = path.extension() == Some(OsStr::new("zst"));
    let whole = path.as_os_str().to_str().filter(|_| is_packed);
    match whole.and_then(|name| name.strip_suffix(".zst")).map(Path::new) {
        Some(plain) if plain.extension() == Some(OsStr::new("jsonl")) => plain,
        _ => path,
    }
}

/// Returns whether a file's name says that a transcript is compressed in it.
pub(crate) fn is_packed(path: &Path) -> bool {
    plain_name(path) != path
}

/// Looks at the file that a transcript is in by now: of its own name, else the compressed one.
pub(crate) fn look(path: &Path) -> Option<(PathBuf, Metadata)> {
    let mut packed = path.as_os_str().to_owned();
    packed.push(".zst");
    let found = |path: PathBuf| std::fs::metadata(&path).ok().map(|metadata| (path, metadata));
    found(path.to_owned()).or_else(|| found(PathBuf::from(packed)))
}

/// Returns the file that a transcript is in by now; its own name where neither is there.
pub(crate) fn file_of(path: &Path) -> PathBuf {
    look(path).map_or_else(|| path.to_owned(), |(found, _)| found)
}

/// Unpacks a compressed transcript. `known` is what the file was when it was last read: if it is that still, its bytes
/// are not needed and none are given.
pub(crate) fn unpack(
    file: File,
    path: &Path,
    metadata: &Metadata,
    known: Option<&FileStamp>,
) -> Result<(RawBytes, FileStamp)> {
    if let Some(known) = known.filter(|known| known.still_is(path, metadata)) {
        return Ok((RawBytes::none(), *known));
    }
    let bytes = unpack_within(file, path, UNPACKED_BYTES_MAX)?;
    let length = to_u64(bytes.len());
    Ok((RawBytes::Unpacked(bytes.into()), FileStamp { length, ..FileStamp::of(metadata) }))
}

/// Unpacks no more of a compressed transcript than its first bytes.
pub(crate) fn unpack_head(file: File, path: &Path, bytes_max: usize) -> Result<Vec<u8>> {
    let bytes_max = u64::try_from(bytes_max).expect("a bound fits 64 bits");
    match unpacked(file, path, bytes_max)? {
        // What it begins with says whose it is.
        (bytes, Some(_)) if !bytes.is_empty() => Ok(bytes),
        (bytes, broken) => broken.map_or(Ok(bytes), |source| Err(damaged(path, &[], source))),
    }
}

/// Unpacks up to so many bytes. Returns what could be unpacked, and what ended it before its end.
fn unpacked(file: impl Read, path: &Path, bytes_max: u64) -> Result<(Vec<u8>, Option<std::io::Error>)> {
    let mut bytes = Vec::new();
    let decoder = zstd::Decoder::new(file).map_err(EngineError::io("unpack", path))?;
    let ended = decoder.take(bytes_max).read_to_end(&mut bytes);
    Ok((bytes, ended.err()))
}

fn damaged(path: &Path, bytes: &[u8], source: std::io::Error) -> EngineError {
    let count = |count: usize| to_u64(count);
    let lines = memchr::memchr_iter(b'\n', bytes).count();
    EngineError::Damaged { path: path.to_owned(), bytes: count(bytes.len()), lines: count(lines), source }
}

fn unpack_within(file: impl Read, path: &Path, bytes_max: u64) -> Result<Vec<u8>> {
    let (bytes, broken) = unpacked(file, path, bytes_max + 1)?;
    match broken {
        // The disk's own errors may pass.
        Some(source) if source.raw_os_error().is_some() => {
            return Err(EngineError::io("unpack", path)(source));
        }
        Some(source) => return Err(damaged(path, &bytes, source)),
        None => {}
    }
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= bytes_max) {
        return Ok(bytes);
    }
    let reason = format!(
        "{} holds more than {bytes_max} bytes; unpacked with `zstd -d` it can be imported",
        path.display()
    );
    Err(EngineError::Refused { what: Refusal::Unpack, reasons: vec![reason] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compressed_transcript_goes_by_its_plain_name() {
        for (name, plain, is_one) in [
            ("/a/x.jsonl", "/a/x.jsonl", true),
            ("/a/x.jsonl.zst", "/a/x.jsonl", true),
            ("/a/x.tar.zst", "/a/x.tar.zst", false),
            ("/a/x.zst", "/a/x.zst", false),
            ("/a/.jsonl.zst", "/a/.jsonl.zst", false),
            ("x.jsonl.zst.zst", "x.jsonl.zst.zst", false),
        ] {
            let path = Path::new(name);
            assert_eq!((plain_name(path), is_transcript_name(path)), (Path::new(plain), is_one), "{name}");
        }
    }

    #[test]
    fn what_unpacks_beyond_the_bound_is_refused() {
        let packed = zstd::encode_all(&[b'x'; 1_000][..], 1).expect("packed");
        let unpack = |bytes_max| unpack_within(packed.as_slice(), Path::new("x.jsonl.zst"), bytes_max);
        assert_eq!(unpack(1_000).expect("within").len(), 1_000);
        let refused = unpack(999).expect_err("beyond").to_string();
        assert!(refused.contains("more than 999 bytes"), "{refused}");
        let cut = unpack_within(&packed[..packed.len() - 2], Path::new("x.jsonl.zst"), 1_000);
        assert!(matches!(cut, Err(EngineError::Damaged { .. })), "{cut:?}");
    }

    #[test]
    fn unpacked_bytes_are_read_as_a_file_is() {
        let raw = RawBytes::Unpacked(Arc::from(*b"0123456789"));
        let mut buffer = [0; 4];
        assert_eq!((raw.read_at(&mut buffer, 3).expect("read"), &buffer), (4, b"3456"));
        assert_eq!(raw.read_at(&mut buffer, 8).expect("read"), 2);
        assert_eq!(raw.read_at(&mut buffer, 99).expect("read"), 0);
        let mut rest = String::new();
        raw.try_clone()
            .expect("a handle")
            .reader(7)
            .expect("a reader")
            .read_to_string(&mut rest)
            .expect("text");
        assert_eq!(rest, "789");
    }
}
