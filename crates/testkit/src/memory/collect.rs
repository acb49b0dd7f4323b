//! What is condemned in memory.
//!
//! What becomes of it is decided in `stemmata_store::rules::collect`.

use std::collections::{BTreeMap, BTreeSet};

use stemmata_model::{ArtifactId, CommitId, Timestamp, to_u64};
use stemmata_store::StoreError;
use stemmata_store::maintain::collect::Collected;
use stemmata_store::rules::collect::Condemning;
use stemmata_store::rules::sweep::Contents as _;

use super::State;
use super::content::{Content, literals_of};

impl Condemning for State {
    fn condemned_commits(&self) -> Result<BTreeMap<CommitId, Timestamp>, StoreError> {
        Ok(self.condemned.iter().map(|(id, at)| (*id, *at)).collect())
    }

    fn condemn_commit(&mut self, id: CommitId, since: Option<Timestamp>) -> Result<(), StoreError> {
        match since {
            Some(since) => self.condemned.put(id, since),
            None => self.condemned.remove(&id),
        }
        Ok(())
    }

    fn orphans(&self) -> Result<BTreeMap<ArtifactId, u64>, StoreError> {
        orphans(self)
    }

    fn condemned_contents(&self) -> Result<BTreeMap<ArtifactId, Timestamp>, StoreError> {
        Ok(self.orphans.iter().map(|(id, at)| (*id, *at)).collect())
    }

    fn condemn_content(&mut self, id: ArtifactId, since: Option<Timestamp>) -> Result<(), StoreError> {
        match since {
            Some(since) => self.orphans.put(id, since),
            None => self.orphans.remove(&id),
        }
        Ok(())
    }

    fn tell(id: ArtifactId, collected: &mut Collected) {
        collected.which.add("content", id.as_bytes());
    }
}

fn orphans(state: &State) -> Result<BTreeMap<ArtifactId, u64>, StoreError> {
    let (mut needed, mut named) = (BTreeSet::new(), BTreeSet::new());
    state.each_commit(&mut |commit| {
        if commit.is_hole { &mut named } else { &mut needed }.extend(commit.contents());
    })?;
    needed.extend(literals_of(&state.contents, &needed));
    needed.extend(super::events::needed(state));
    // A hole needs no bytes, but the hash and the length that are left of them.
    let is_left = |content: &Content| matches!(content, Content::Forgotten { .. });
    needed.extend(named.into_iter().filter(|id| state.contents.get(id).is_some_and(is_left)));
    let bytes_of = |content: &Content| match content {
        Content::Literal { bytes } => to_u64(bytes.len()),
        Content::Composed { .. } | Content::Forgotten { .. } => 0,
    };
    let rest = state.contents.iter().filter(|(id, _)| !needed.contains(id));
    Ok(rest.map(|(id, content)| (*id, bytes_of(content))).collect())
}
