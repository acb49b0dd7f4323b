//! `native`: the transcript as it was, byte for byte, up to a commit.

use std::io::{self, Write};
use std::ops::Range;

use stemmata_model::{ArtifactId, Bytes, Closure, CommitId, CommitType};
use stemmata_runtimes::adapter::{Adapter, Shape};
use stemmata_runtimes::registry;
use stemmata_store::StoreError;

use crate::chain::segments::read_whole;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};

impl Engine {
    /// Writes the native bytes of a chain up to and with `ctx`: nothing added, dropped or reordered. Starts at
    /// the nearest snapshot, which holds a whole context of its own. Pure and streaming; lists of several commits
    /// become one list, in memory.
    ///
    /// # Errors
    /// `CommitMissing`, `Refused` where documents cannot be joined, `Forgotten` for a chain with a hole, `Corrupt` (verified before bytes are handed out), or the output's own error.
    pub fn native(&self, ctx: CommitId, out: &mut dyn Write) -> Result<Bytes> {
        let native = self.native_contents(ctx)?;
        if native.joins_with.is_some() {
            let joined = native.joined(&mut |content| read_whole(self, content))?;
            out.write_all(&joined).map_err(StoreError::Sink)?;
            return Ok(Bytes::of(&joined));
        }
        let mut written = Bytes(0);
        self.store.read_contents(&native.contents, &mut |_, piece: &[u8]| -> io::Result<()> {
            written += Bytes::of(piece);
            out.write_all(piece)
        })?;
        Ok(written)
    }

    /// Writes a range of the bytes that [`native`](Self::native) writes. Contents before and behind it are not read.
    ///
    /// # Errors
    /// As [`native`](Self::native); `Store` with `Bound` for a range that begins behind the end.
    pub fn native_range(&self, ctx: CommitId, range: Range<u64>, out: &mut dyn Write) -> Result<Bytes> {
        let native = self.native_contents(ctx)?;
        let mut written = Bytes(0);
        let mut sink = |piece: &[u8]| -> io::Result<()> {
            written += Bytes::of(piece);
            out.write_all(piece)
        };
        let end = if native.joins_with.is_some() {
            let joined = native.joined(&mut |content| read_whole(self, content))?;
            let within = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(joined.len());
            sink(joined.get(within(range.start)..within(range.end)).unwrap_or_default())
                .map_err(StoreError::Sink)?;
            Bytes::of(&joined).0
        } else {
            let mut begin = 0;
            for (content, length) in native.contents.into_iter().zip(native.lengths) {
                let (from, to) = (range.start.max(begin), range.end.min(begin + length));
                if from < to {
                    // A whole one is read as such: then its whole hash is checked, too.
                    let part = (to - from < length).then(|| from - begin..to - begin);
                    self.store.read_content(content, part, &mut sink)?;
                }
                begin += length;
                if begin >= range.end {
                    break;
                }
            }
            begin
        };
        if range.start > end {
            let what = "the first byte of a range";
            return Err(StoreError::Bound { what, value: range.start, bound: end }.into());
        }
        Ok(written)
    }

    /// Returns how many bytes [`native`](Self::native) writes, without reading them; nothing where documents have to be joined.
    ///
    /// # Errors
    /// `CommitMissing`, and `Forgotten` for a chain with a hole.
    pub fn native_size(&self, ctx: CommitId) -> Result<Option<Bytes>> {
        let native = self.native_contents(ctx)?;
        Ok(native.joins_with.is_none().then(|| Bytes(native.lengths.iter().sum())))
    }

    /// Returns the contents that make up a transcript up to and with a commit.
    pub(crate) fn native_contents(&self, ctx: CommitId) -> Result<NativeContents> {
        let mut walk = Walk::new(self.store.as_ref(), Some(ctx));
        let (mut contents, mut lengths) = (Vec::new(), Vec::new());
        let mut format = None;
        while let Some(commit) = walk.next()? {
            if commit.closure == Closure::Forgotten {
                return Err(StoreError::Forgotten(commit.id).into());
            }
            contents.push(commit.core.native_artifact());
            lengths.push(commit.native_bytes);
            let is_end = matches!(commit.core.commit_type, CommitType::Snapshot { .. });
            format.get_or_insert(commit.core.format);
            if is_end {
                break;
            }
        }
        contents.reverse();
        lengths.reverse();
        let adapter = format.as_ref().and_then(registry::by_format);
        let joins = |adapter: &&dyn Adapter| adapter.shape() == Shape::Document && contents.len() > 1;
        Ok(NativeContents { joins_with: adapter.filter(joins), contents, lengths })
    }
}

/// The contents that make up a transcript, oldest first.
pub(crate) struct NativeContents {
    /// The contents.
    pub(crate) contents: Vec<ArtifactId>,
    /// The length of each in bytes.
    lengths: Vec<u64>,
    /// What makes one document of them, where one after the other they are none.
    pub(crate) joins_with: Option<&'static dyn Adapter>,
}

impl NativeContents {
    /// Returns one transcript of the contents, each as `read` returns it: in memory.
    pub(crate) fn joined(&self, read: &mut dyn FnMut(ArtifactId) -> Result<Vec<u8>>) -> Result<Vec<u8>> {
        let read: Vec<Vec<u8>> = self.contents.iter().map(|id| read(*id)).collect::<Result<_>>()?;
        let Some(adapter) = self.joins_with else { return Ok(read.concat()) };
        let slices: Vec<&[u8]> = read.iter().map(Vec::as_slice).collect();
        adapter.join(&slices).ok_or_else(|| EngineError::Refused {
            what: Refusal::JoinDocuments,
            reasons: vec![format!(
                "not all of its {} commits hold what `{}` joins; `stemma show REF --entries` shows what each holds",
                self.contents.len(),
                adapter.format()
            )],
        })
    }
}
