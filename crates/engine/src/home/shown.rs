//! `run/left-out`: files that no import reads and that were shown to the user, so that the next import shows only what is new.
//!
//! Only hashes are kept. Whoever deletes the file is shown everything once more.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use stemmata_store::{read_bounded, write_file};

use super::create_private;
use crate::error::EngineError;
use crate::system;

/// Files that are remembered at most; what is beyond is shown again.
const FILES_MAX: usize = 200_000;

/// Bytes of a hash that are kept. A collision only leaves a file out of a list that names the first ones anyway.
const HASH_BYTES: usize = 8;

/// Files that were shown as left out.
#[derive(Debug)]
pub struct ShownFiles {
    file: PathBuf,
    known: HashSet<[u8; HASH_BYTES]>,
}

impl ShownFiles {
    pub(super) fn in_run(run: &Path) -> Self {
        let file = run.join("left-out");
        let read = read_bounded(&file, u64::try_from(FILES_MAX * HASH_BYTES).unwrap_or(u64::MAX));
        // One that cannot be read is like one that is not there.
        let bytes = read.ok().flatten().unwrap_or_default();
        let known = bytes.as_chunks::<HASH_BYTES>().0.iter().copied().collect();
        Self { file, known }
    }

    /// Adds a file that is left out for a reason. Returns whether that is new.
    pub fn add(&mut self, reason: &str, path: &Path) -> bool {
        let hash = blake3::Hasher::new()
            .update(reason.as_bytes())
            .update(&[0])
            .update(system::path_bytes(path))
            .finalize();
        let hash = hash.as_bytes().first_chunk().copied().unwrap_or_default();
        if self.known.len() >= FILES_MAX { !self.known.contains(&hash) } else { self.known.insert(hash) }
    }

    /// Keeps what was added for the next import. Where that fails, it is shown again.
    pub fn keep(&self) {
        let mut all: Vec<_> = self.known.iter().copied().collect();
        all.sort_unstable();
        let folder = self.file.parent().map_or(Ok(()), create_private);
        let written = folder.and_then(|()| {
            write_file(&self.file, &all.concat()).map_err(EngineError::io("write", &self.file))
        });
        if let Err(error) = written {
            tracing::debug!(%error, "what was left out is shown again");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_new_once_for_each_reason() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut shown = ShownFiles::in_run(folder.path());
        let one = Path::new("/a.txt");
        assert_eq!([shown.add("x", one), shown.add("x", one), shown.add("y", one)], [true, false, true]);
        shown.keep();
        let mut again = ShownFiles::in_run(folder.path());
        assert_eq!([again.add("x", one), again.add("x", Path::new("/b.txt"))], [false, true]);
    }
}
