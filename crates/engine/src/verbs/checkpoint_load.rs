//! Checkpoint files and the store: what a commit's file holds, and which context a file leads to.

use std::path::Path;

use stemmata_acts::TaskStatus;
use stemmata_api::v1::CheckpointDrift;
use stemmata_model::{
    Closure, Commit, CommitId, CommitPrefix, Entry, FormatId, MachineId, Note, NoteCode, Part, Principal,
    SessionId, Template, WORK_TASKS_MAX, WORK_TEXT_BYTES_MAX, WorkMetrics, WorkState, WorkTask,
};
use stemmata_store::StoreError;

use super::checkpoint_file::{CHECKPOINT_FILE_BYTES_MAX, CheckpointFile, ContextSnapshot, FORMAT};
use crate::chain::tasks::TASKS_BYTES_MAX;
use crate::engine::Engine;
use crate::error::{EngineError, FormatUse, Refusal, Result};
use crate::verbs::annotate::Update;
use crate::verbs::checkpoint::CheckpointRequest;
use crate::verbs::materialize::Stop;
use crate::worktree::{checksums, drift, git_head};

/// The tag of chains that came from a checkpoint file.
pub const FOREIGN_TAG: &str = "from-checkpoint-file";

/// The machine that the session of an imported file is of.
const ELSEWHERE: &str = "checkpoint-file";

/// Letters of a digest that name the session of an imported file.
const NAME_LETTERS: usize = 16;

/// The context that a file leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointGiven {
    /// The commit.
    pub ctx: CommitId,
    /// Whether it was made of the file: this store does not have the commit that the file names.
    pub is_imported: bool,
    /// What the user should know.
    pub notes: Vec<Note>,
}

impl CheckpointFile {
    /// Adds what only the machine with the working tree knows: the commit that it is at, and the checksums of the files that the
    /// conversation touched. Returns whether these are all.
    pub fn look_at(&mut self, root: &Path) -> bool {
        let format = FormatId::new(FORMAT).expect("a constant name is a name");
        let entries = Engine::adapter(&format, FormatUse::Read)
            .map(|adapter| adapter.decode(&self.conversation).entries)
            .unwrap_or_default();
        let (sums, is_all) = checksums(root, &entries);
        self.state.git_head = git_head(root);
        self.state.file_checksums = sums;
        is_all
    }

    /// Compares its checksums with a working tree.
    pub fn drift(&self, root: &Path) -> CheckpointDrift {
        drift(root, &self.state.file_checksums)
    }
}

impl Engine {
    /// Returns the checkpoint of a commit as a file holds it, without what only a working tree says.
    ///
    /// # Errors
    /// As [`materialize`](Self::materialize); `Refused` for a conversation that is larger than a file may be.
    pub fn checkpoint_file(&self, ctx: CommitId, size: (u64, Option<u64>)) -> Result<CheckpointFile> {
        let commit = self.store.commit(ctx)?.ok_or(StoreError::CommitMissing(ctx))?;
        let format = FormatId::new(FORMAT)?;
        let mut conversation = Vec::new();
        let made = self.materialize(Some(ctx), Some(&format), Stop::Compaction, &mut conversation)?;
        let value = u64::try_from(conversation.len()).unwrap_or(u64::MAX);
        // The rest of a file is small beside this.
        let bound = CHECKPOINT_FILE_BYTES_MAX / 2;
        if value > bound {
            let reasons =
                vec![format!("its context has {value} bytes, and a checkpoint file holds {bound} at most")];
            return Err(EngineError::Refused { what: Refusal::SaveCheckpoint, reasons });
        }
        let entries = Self::adapter(&format, FormatUse::Read)?.decode(&conversation).entries;
        let mut state = self.work_of(&commit)?;
        let (size_tokens, limit_tokens) = size;
        state.metrics = WorkMetrics { size_tokens, limit_tokens, errors: errors_in(&entries) };
        let session = self.store.sightings(ctx, 1)?.into_iter().next().map(|seen| seen.session.to_string());
        let snapshot = ContextSnapshot {
            ctx,
            format: commit.core.format.to_string(),
            template: commit.core.template.to_string(),
            session,
            messages: made.counts.messages,
        };
        Ok(CheckpointFile { timestamp: self.clock.now(), snapshot, state, conversation })
    }

    /// Returns the phase and the tasks of the work at a commit: what its turns said of them, and what its tools of planning left open.
    fn work_of(&self, commit: &Commit) -> Result<WorkState> {
        // Only turns of ledgers say something of their work.
        let of_turns = self.store.coverage(commit.id)?.zip(self.store.sightings(commit.id, 1)?.pop());
        let said = of_turns
            .map(|(covered, seen)| self.status_through(&covered.ledger, &seen.session, covered.through))
            .transpose()?
            .unwrap_or_default();
        let mut task_queue = Vec::new();
        let text = said.task["text"].as_str().filter(|text| !text.is_empty() && !said.is_task_completed());
        if let Some(text) = text {
            let id = said.task["id"].as_str().map(short);
            task_queue.push(WorkTask {
                id,
                text: short(text),
                status: TaskStatus::Active.as_str().to_owned(),
            });
        }
        let book = self.tasks_at(commit.id, TASKS_BYTES_MAX)?.book;
        let done = book.all().filter(|task| task.status == TaskStatus::Done).count();
        let done = u64::try_from(done).unwrap_or(u64::MAX);
        let open = book.open().map(|task| WorkTask {
            id: task.id.as_deref().map(short),
            text: short(&task.text),
            status: task.status.as_str().to_owned(),
        });
        task_queue.extend(open.take(WORK_TASKS_MAX - task_queue.len()));
        Ok(WorkState {
            phase: said.phase.as_deref().map(short),
            tasks_completed: said.tasks_completed.max(done),
            task_queue,
            ..WorkState::default()
        })
    }

    /// Gives the context that a checkpoint file is of: the commit that it names, where this store has it; else its conversation,
    /// stored as a chain of its own that a tag and a note mark as foreign. Idempotent.
    ///
    /// # Errors
    /// `Store` with `Forgotten` for a commit that was forgotten here: a file is no way around that; `Refused` for a file without
    /// a conversation; as [`checkpoint`](Self::checkpoint).
    pub fn give_checkpoint(&self, file: &CheckpointFile, by: &Principal) -> Result<CheckpointGiven> {
        let named = file.snapshot.ctx;
        let ctx = self.newest_of(named)?;
        if let Some(commit) = self.store.commit(ctx)? {
            if commit.closure == Closure::Forgotten {
                return Err(StoreError::Forgotten(ctx).into());
            }
            return Ok(CheckpointGiven { ctx, is_imported: false, notes: Vec::new() });
        }
        let prefix: Option<CommitPrefix> = named.to_string().parse().ok();
        if let Some(prefix) = prefix
            && !self.store.tombstones_in(prefix, 1)?.is_empty()
        {
            return Err(StoreError::Forgotten(named).into());
        }
        if file.conversation.is_empty() {
            let reasons = vec![format!("{named} is not in this store, and the file has no conversation")];
            return Err(EngineError::Refused { what: Refusal::LoadCheckpoint, reasons });
        }
        self.import_checkpoint(file, by)
    }

    fn import_checkpoint(&self, file: &CheckpointFile, by: &Principal) -> Result<CheckpointGiven> {
        let digest = file.digest().to_string();
        let name: String = digest.chars().skip(4).take(NAME_LETTERS).collect();
        let session = SessionId::new(format!("checkpoint-{name}"))?;
        let template = Template::new(file.snapshot.template.as_str())?;
        let request = CheckpointRequest {
            created_at: Some(file.timestamp),
            idempotency_key: Some(digest),
            // Whoever wrote the file wrote what it says: it counts as what a bundle of another machine brings.
            machine: Some(MachineId::new(ELSEWHERE)?),
            principal: Some(Principal::new(format!("unknown@{ELSEWHERE}/stemma"))?),
            ..CheckpointRequest::delta(file.conversation.clone(), FormatId::new(FORMAT)?, template, session)
        };
        let made = self.checkpoint(&request)?;
        // Looked at and not inferred: an earlier try may have ended between the commit and its marks.
        if !self.store.annotations(made.id)?.tags.iter().any(|tag| tag == FOREIGN_TAG) {
            let note = format!(
                "from a checkpoint file of {}, where it was {}; it may differ from what the agent saw",
                file.timestamp, file.snapshot.ctx
            );
            let update =
                Update { add_tags: vec![FOREIGN_TAG.to_owned()], notes: vec![note], ..Update::default() };
            self.update(made.id, update, by)?;
        }
        let mut notes = made.notes;
        let message = format!("{} is not in this store: its conversation was imported", file.snapshot.ctx);
        notes.push(Note::new(NoteCode::Degraded, message));
        Ok(CheckpointGiven { ctx: made.id, is_imported: true, notes })
    }
}

fn errors_in(entries: &[Entry]) -> u64 {
    let is_error = |part: &&Part| matches!(part, Part::ToolResult { is_error: true, .. });
    let errors = entries.iter().flat_map(|entry| &entry.parts).filter(is_error).count();
    u64::try_from(errors).unwrap_or(u64::MAX)
}

/// Cuts a text to what a state holds.
fn short(text: &str) -> String {
    let mut end = text.len().min(WORK_TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned()
}
