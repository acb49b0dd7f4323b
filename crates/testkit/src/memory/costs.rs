//! What commits take in memory: the bytes of their contents, nothing being compressed.
//!
//! Each literal counts once.

use stemmata_model::{ArtifactId, CommitId, to_u64};
use stemmata_store::StoreError;
use stemmata_store::maintain::costs::{ContentCost, Counted};

use super::State;
use super::content::{self, Content};

pub(super) fn cost_of(state: &State, id: CommitId, counted: &mut Counted) -> Result<ContentCost, StoreError> {
    let commit = state.commits.get(&id).ok_or(StoreError::CommitMissing(id))?;
    let mut cost = ContentCost::nothing(id);
    for artifact in [Some(commit.core.artifact), commit.core.native].into_iter().flatten() {
        for part in content::parts_of(&state.contents, artifact).unwrap_or_default() {
            if counted.is_new(key_of(&part.of))
                && let Some(Content::Literal { bytes }) = state.contents.get(&part.of)
            {
                let bytes = to_u64(bytes.len());
                cost.add(bytes, bytes, 0);
            }
        }
    }
    Ok(cost)
}

fn key_of(id: &ArtifactId) -> [u8; 8] {
    let mut key = [0; 8];
    key.copy_from_slice(id.as_bytes().split_at(8).0);
    key
}
