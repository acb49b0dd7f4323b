//! The tasks of a chain: what its tools of planning left open, also before a compaction.
//!
//! What a call does to tasks is `stemmata_acts`'s to know.

use memchr::memmem;
use stemmata_acts::TaskBook;
use stemmata_model::{Closure, Commit, CommitId, CommitType, Entry};

use crate::chain::segments::read_whole;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{FormatUse, Result};

/// Commits that are walked.
const WALK_COMMITS_MAX: usize = 1_000;

/// Bytes of commits that are read to find the tasks, where nobody waits.
pub(crate) const TASKS_BYTES_MAX: u64 = 4 << 20;

/// The tasks of a chain.
pub(crate) struct ChainTasks {
    pub(crate) book: TaskBook,
    /// Whether the chain was read far enough to know all of them.
    pub(crate) is_whole: bool,
}

impl Engine {
    /// Returns the tasks as the tools of a chain left them at a commit, as far as its newest commits of so many bytes say. Entries
    /// that cannot be read are passed over.
    ///
    /// # Errors
    /// Store errors.
    pub(crate) fn tasks_at(&self, ctx: CommitId, bytes_max: u64) -> Result<ChainTasks> {
        let mut walk = Walk::new(self.store.as_ref(), Some(ctx));
        let (mut newest_first, mut read_bytes, mut is_whole) = (Vec::new(), 0_u64, true);
        for _ in 0..WALK_COMMITS_MAX {
            let Some(commit) = walk.next()? else { break };
            read_bytes = read_bytes.saturating_add(commit.native_bytes);
            is_whole = read_bytes <= bytes_max;
            if !is_whole {
                break;
            }
            let entries = self.entries_on_tasks(&commit).unwrap_or_default();
            let is_settled = stemmata_acts::task_acts(&entries)
                .iter()
                .any(|(act, answer)| stemmata_acts::settles(act, answer.as_deref()));
            newest_first.push(entries);
            if is_settled {
                break;
            }
        }
        let entries: Vec<Entry> = newest_first.into_iter().rev().flatten().collect();
        Ok(ChainTasks { book: TaskBook::of(&entries), is_whole })
    }

    /// Returns what a commit says first, where it names a tool for tasks: most name none.
    fn entries_on_tasks(&self, commit: &Commit) -> Result<Vec<Entry>> {
        if commit.core.commit_type == CommitType::Compaction {
            return Ok(Vec::new());
        }
        if matches!(commit.closure, Closure::Covered | Closure::Forgotten) {
            return Ok(Vec::new());
        }
        let bytes = read_whole(self, commit.core.native_artifact())?;
        let is_named = |name: &str| memmem::find(&bytes, name.as_bytes()).is_some();
        if !stemmata_acts::task_tools().any(is_named) {
            return Ok(Vec::new());
        }
        let entries = Self::adapter(&commit.core.format, FormatUse::Read)?.decode(&bytes).entries;
        Ok(entries.into_iter().skip(self.said_before(commit)?).collect())
    }
}
