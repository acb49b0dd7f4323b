//! Conversions that were placed by a store that is not here, recognized where they are imported: a copy that nobody went on with is
//! no session on any machine.

use std::path::PathBuf;

use stemmata_runtimes::adapter::Shape;
use stemmata_runtimes::translate::runtime_of;
use stemmata_store::maintain::forget::Tombstone;
use stemmata_store::{SessionKey, StoreError};

use super::mark::{LINE_BYTES_MAX, Mark};
use super::placing::{Placing, PlacingWish};
use super::record::PlacementRecord;
use crate::capture::reading::Prepared;
use crate::engine::Engine;
use crate::error::{EngineError, Result};

impl Engine {
    /// Makes a conversion again that a new transcript says it is, and remembers it as placed where it is the same. Returns whether it
    /// is: then the next capture reads what follows in the file.
    ///
    /// # Errors
    /// `CommitMissing` where it `waits` for a commit that is not here, `Io`, and those of a store that takes nothing.
    pub(crate) fn recognize_placed(&self, new: &Prepared<'_>, waits: bool) -> Result<bool> {
        let (key, transcript) = (&new.key, &*new.transcript);
        if new.previous.is_some() || new.adapter.shape() == Shape::Document || transcript.is_kept() {
            return Ok(false);
        }
        let head = transcript.range(0, transcript.stamp().length.min(LINE_BYTES_MAX))?;
        let Some(mark) = Mark::of_head(&head) else { return Ok(false) };
        let tombstones = [Tombstone::Transcript(key.clone()), Tombstone::Session(mark.session.clone())];
        if !self.store.tombstones(&tombstones)?.is_empty() {
            return Ok(false);
        }
        if self.store.commit(mark.of.ctx)?.is_none() {
            return if waits { Err(StoreError::CommitMissing(mark.of.ctx).into()) } else { Ok(false) };
        }
        let record = match self.placed_again(key, mark) {
            Ok(record) => record,
            Err(
                error @ EngineError::Store(
                    StoreError::Locked { .. } | StoreError::Full { .. } | StoreError::ReadOnly { .. },
                ),
            ) => return Err(error),
            // Whatever else keeps it from being made says that it is none, and the file is read as any other.
            Err(_) => None,
        };
        let Some(record) = record else { return Ok(false) };
        self.record_placement(&PlacementRecord { written: None, ..record.clone() })?;
        self.record_placement(&record)?;
        Ok(true)
    }

    fn placed_again(&self, key: &SessionKey, mark: Mark) -> Result<Option<PlacementRecord>> {
        let Some(data) = &self.leftovers.data else { return Ok(None) };
        let runtime = runtime_of(&mark.format).to_owned();
        let (stop, at) = (mark.of.stop, mark.of.at.as_deref());
        let prepared = self.prepare_placement(mark.of.ctx, Some(&runtime), stop, at)?;
        let wish = PlacingWish {
            format: prepared.format,
            continues: prepared.continues,
            config_dir: PathBuf::new(),
            cwd: PathBuf::from(&mark.cwd),
            origin_cwd: prepared.origin_cwd,
            client_version: mark.client_version,
            conversion_of: Some(mark.of),
        };
        let scratch = data.join("cache");
        let made = (mark.session, mark.placed_at);
        let mut placing = Placing::again(&wish, made, (&scratch, &self.leftovers.files))?;
        self.write_context((prepared.continues, prepared.stop), &mut placing)?;
        placing.check()?.found_at(key, mark.placed_at)
    }
}
