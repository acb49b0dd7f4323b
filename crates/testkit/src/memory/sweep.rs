//! The contents in memory, as giving them up needs them.
//!
//! What goes, and what is copied out of it, is decided in `stemmata_store::rules::sweep`.

use std::collections::BTreeSet;

use stemmata_model::{ArtifactId, CommitId, artifact_id, to_u64};
use stemmata_store::StoreError;
use stemmata_store::rules::removal::Named;
use stemmata_store::rules::sweep::{Contents, Lists};

use super::content::{Content, Piece, index};
use super::{State, events, forget};

impl Contents for State {
    type Key = ArtifactId;
    type Commit = CommitId;

    fn pieces(&self, of: ArtifactId) -> Result<Vec<Piece>, StoreError> {
        let Some(Content::Composed { pieces, .. }) = self.contents.get(&of) else { return Ok(Vec::new()) };
        Ok(pieces.clone())
    }

    fn own_bytes(&self, of: ArtifactId) -> Result<Option<u64>, StoreError> {
        let Some(Content::Literal { bytes }) = self.contents.get(&of) else { return Ok(None) };
        Ok(Some(to_u64(bytes.len())))
    }

    fn is_line(&self, of: ArtifactId) -> Result<bool, StoreError> {
        Ok(self.logs.all_events().any(|event| events::line_of(event) == Some(of)))
    }

    fn each_commit(&self, act: &mut dyn FnMut(Named<CommitId, ArtifactId>)) -> Result<(), StoreError> {
        self.commits.iter().for_each(|(_, commit)| act(forget::named(commit)));
        Ok(())
    }

    fn lists_on(&self, going: &BTreeSet<ArtifactId>) -> Result<Lists<ArtifactId>, StoreError> {
        let lists = self.contents.iter().filter(|(id, _)| !going.contains(id)).filter_map(|(id, content)| {
            let Content::Composed { pieces, .. } = content else { return None };
            Some((*id, pieces.clone()))
        });
        Ok(lists.filter(|(_, pieces)| pieces.iter().any(|piece| going.contains(&piece.of))).collect())
    }

    fn copy_out(&mut self, _of: ArtifactId, range: Piece) -> Result<ArtifactId, StoreError> {
        let Some(Content::Literal { bytes }) = self.contents.get(&range.of) else {
            return Err(StoreError::ContentMissing(range.of));
        };
        let own = index(range.offset)..index(range.offset + range.length);
        let bytes = bytes.get(own).unwrap_or_default().to_vec();
        let id = artifact_id(&bytes);
        self.contents.put(id, Content::Literal { bytes: bytes.into() });
        Ok(id)
    }

    fn replace(&mut self, of: ArtifactId, pieces: Vec<Piece>) -> Result<(), StoreError> {
        if let Some(Content::Composed { length, .. }) = self.contents.get(&of) {
            let length = *length;
            self.contents.put(of, Content::Composed { pieces, length });
        }
        Ok(())
    }

    fn forget_lines(&mut self, of: &BTreeSet<ArtifactId>) -> Result<(u64, BTreeSet<ArtifactId>), StoreError> {
        Ok(events::forget(self, &|_, event| events::line_of(event).is_some_and(|line| of.contains(&line))))
    }

    fn remove(
        &mut self,
        all: &BTreeSet<ArtifactId>,
        emptied: &BTreeSet<ArtifactId>,
    ) -> Result<(), StoreError> {
        for id in all {
            let Some(length) = self.contents.get(id).map(Content::length) else { continue };
            self.orphans.remove(id);
            if emptied.contains(id) {
                self.contents.put(*id, Content::Forgotten { length });
            } else {
                self.contents.remove(id);
            }
        }
        Ok(())
    }
}
