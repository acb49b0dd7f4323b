//! Conversions that were placed by a store that is not here, recognized where they are imported: a copy that nobody went on with is
//! no session on any machine.

use std::path::PathBuf;

use stemmata_model::CommitId;
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

/// What the mark of a new transcript says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recognized {
    /// Nothing, or something that is not so.
    Nothing,
    /// It was made from a commit that is not here.
    NotHere(CommitId),
    /// It is what a commit that is here gives, and is remembered as placed.
    Placed,
}

impl Engine {
    /// Makes a conversion again that a transcript says it is, and remembers it as placed where it is the same. What follows in the
    /// file is read by the next capture.
    ///
    /// # Errors
    /// `Io`, and those of a store that takes nothing.
    pub(crate) fn recognize_placed(&self, new: &Prepared<'_>) -> Result<Recognized> {
        let (key, transcript) = (&new.key, &*new.transcript);
        if new.previous.is_some() || new.adapter.shape() == Shape::Document || transcript.is_kept() {
            return Ok(Recognized::Nothing);
        }
        let head = transcript.range(0, transcript.stamp().length.min(LINE_BYTES_MAX))?;
        let Some(mark) = Mark::of_head(&head) else { return Ok(Recognized::Nothing) };
        let tombstones = [Tombstone::Transcript(key.clone()), Tombstone::Session(mark.session.clone())];
        if !self.store.tombstones(&tombstones)?.is_empty() {
            return Ok(Recognized::Nothing);
        }
        if self.store.commit(mark.of.ctx)?.is_none() {
            return Ok(Recognized::NotHere(mark.of.ctx));
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
        let Some(record) = record else { return Ok(Recognized::Nothing) };
        self.record_placement(&PlacementRecord { written: None, ..record.clone() })?;
        self.record_placement(&record)?;
        Ok(Recognized::Placed)
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
        self.write_context((prepared.continues, prepared.stop), None, &mut placing)?;
        placing.check()?.found_at(key, mark.placed_at)
    }
}
