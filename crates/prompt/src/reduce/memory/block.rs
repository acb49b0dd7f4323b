//! A block: what some sessions of a project say together, merged once and saved.
//!
//! Which sessions are in which block is the engine's to say.

use std::collections::BTreeSet;

use stemmata_model::{Json, to_u64};

use super::bounds::Bounds;
use super::project::PROJECT_TURNS_MAX;
use super::v1::BlockState;
use super::{MemoryReducer, ProjectMemory};
use crate::reduce::LoadError;

/// What some sessions say together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Block {
    /// What they say.
    pub memory: ProjectMemory,
    /// Those of them that say nothing by themselves, because events of the ledger tell all of it; by the caller's names.
    pub silent: BTreeSet<String>,
}

impl Block {
    /// Merges blocks, no session in two of them.
    pub fn merge<'a>(blocks: impl IntoIterator<Item = &'a Self>) -> Self {
        let blocks: Vec<&Self> = blocks.into_iter().collect();
        let memory = ProjectMemory::merge_blocks([], [], [], blocks.iter().map(|block| &block.memory));
        Self { memory, silent: blocks.iter().flat_map(|block| block.silent.clone()).collect() }
    }

    /// Returns the state: JSON with sorted keys and without floats.
    pub fn save(&self) -> Json {
        let ProjectMemory { sessions, tools, window, items } = self.memory.clone();
        let silent = self.silent.clone();
        let sessions = to_u64(sessions);
        let state = BlockState { sessions, tools, window, items, silent };
        Json::of(&serde_json::to_value(state).expect("a state has only text keys"))
    }

    /// Takes a state back that [`save`](Self::save) gave. It is not written again to compare: every recall reads one.
    ///
    /// # Errors
    /// [`LoadError`] where it is of another version or is no block's: merge its sessions anew.
    pub fn load(version: u32, state: &Json) -> Result<Self, LoadError> {
        LoadError::check_version::<MemoryReducer>(version)?;
        let nonsense = |reason: String| LoadError::nonsense::<MemoryReducer>(reason);
        let BlockState { sessions, tools, window, items, silent } =
            serde_json::from_str(state.as_str()).map_err(|error| nonsense(error.to_string()))?;
        let sessions = usize::try_from(sessions).map_err(|error| nonsense(error.to_string()))?;
        if window.len() > PROJECT_TURNS_MAX || !items.is_within(&Bounds::PROJECT) {
            return Err(nonsense("it is beyond its bounds".to_owned()));
        }
        Ok(Self { memory: ProjectMemory { sessions, tools, window, items }, silent })
    }
}
