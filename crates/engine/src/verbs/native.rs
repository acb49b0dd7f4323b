//! `native`: the transcript as it was, byte for byte, up to a commit.

use std::io::{self, Write};

use stemmata_model::{Bytes, Closure, CommitId, CommitType};
use stemmata_store::StoreError;

use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::Result;

/// Contents that are read as of one state of the store: a slow output holds a state back no longer than that.
const CONTENTS_AT_ONCE: usize = 512;

impl Engine {
    /// Writes the native bytes of a chain up to and with `ctx`: nothing added, dropped or reordered. Starts at
    /// the nearest snapshot, which holds a whole context of its own. Pure and streaming.
    ///
    /// # Errors
    /// `CommitMissing`, `Forgotten` for a chain with a hole, `Corrupt` (verified before bytes are handed out), or the output's own error.
    pub fn native(&self, ctx: CommitId, out: &mut dyn Write) -> Result<Bytes> {
        let mut walk = Walk::new(self.store.as_ref(), Some(ctx));
        let mut contents = Vec::new();
        while let Some(commit) = walk.next()? {
            if commit.closure == Closure::Forgotten {
                return Err(StoreError::Forgotten(commit.id).into());
            }
            contents.push(commit.core.native_artifact());
            if matches!(commit.core.commit_type, CommitType::Snapshot { .. }) {
                break;
            }
        }
        let mut written = Bytes(0);
        contents.reverse();
        for page in contents.chunks(CONTENTS_AT_ONCE) {
            self.store.read_contents(page, &mut |_, piece: &[u8]| -> io::Result<()> {
                written += Bytes::of(piece);
                out.write_all(piece)
            })?;
        }
        Ok(written)
    }
}
