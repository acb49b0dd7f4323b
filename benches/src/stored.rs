//! What a store takes on disk, content and the rest apart.
//! Not how it came to hold that: the rows do.

use std::path::Path;

use stemmata_engine::Engine;

use crate::peers::rows::vacuum;
use crate::report::{Figure, Line};
use crate::scratch;

/// What a store takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stored {
    pub commits: u64,
    pub content_bytes: u64,
    pub file_bytes: u64,
}

impl Stored {
    /// Closes the store and looks at its files as they are when nothing is left to tidy.
    ///
    /// # Errors
    /// The store's, or the disk's.
    pub(crate) fn measure(engine: Engine, store: &Path) -> anyhow::Result<Self> {
        let usage = engine.store().usage()?;
        drop(engine);
        vacuum(store)?;
        Ok(Self {
            commits: usage.commits,
            content_bytes: usage.content_bytes,
            file_bytes: scratch::bytes_below(store)?,
        })
    }

    pub(crate) fn content(self, scale: u32, case: &str, whole: u64) -> Line {
        Line::ours(scale, case, Figure::times(self.content_bytes, whole))
    }

    pub(crate) fn all(self, scale: u32, case: &str, whole: u64) -> Line {
        Line::ours(scale, case, Figure::times(self.file_bytes, whole))
    }

    pub(crate) fn metadata(self, scale: u32, case: &str) -> Line {
        let beside_content = self.file_bytes.saturating_sub(self.content_bytes);
        Line::ours(scale, case, Figure::bytes(beside_content / self.commits.max(1)))
    }
}
