//! Checkpoints as files: what the store says of one, and the context that one leads to.

use std::io::{Read, Write};

use stemmata_api::v1::{CheckpointContext, CheckpointFileMade, CheckpointFileRequest, GuardRequest};
use stemmata_api::{Answer, Code, Problem};
use stemmata_engine::{CHECKPOINT_FILE_BYTES_MAX, CheckpointFile, CheckpointFileError, Engine, WindowRules};
use stemmata_model::{Principal, Timestamp};

use super::ctx;
use super::prompts::guard_report;
use crate::fault::Fault;

pub(super) fn write(
    engine: &Engine,
    request: &CheckpointFileRequest,
    (rules, now): (&WindowRules, Timestamp),
    out: &mut dyn Write,
) -> Result<CheckpointFileMade, Fault> {
    let id = ctx(engine, &request.ctx)?;
    let request = GuardRequest {
        ctx: Some(id.to_string()),
        entries: None,
        limits: None,
        task: None,
        completed: Vec::new(),
        compacts: false,
        window: request.window,
        counter: None,
        overhead_tokens: 0,
        tasks_completed: 0,
        next_operation: None,
    };
    // A window that nobody knows is no reason to keep nothing.
    let report = guard_report(engine, &request, (rules, now))?;
    let size = (report.tokens, Some(report.limit).filter(|limit| *limit > 0));
    let text = engine.checkpoint_file(id, size)?.render();
    out.write_all(text.as_bytes()).map_err(stemmata_store::StoreError::Sink)?;
    Ok(CheckpointFileMade { ctx: id, bytes: text.len() as u64 })
}

pub(super) fn load(
    engine: &Engine,
    content: &mut dyn Read,
    by: &Principal,
) -> Result<CheckpointContext, Fault> {
    let mut bytes = Vec::new();
    content
        .take(CHECKPOINT_FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(stemmata_store::StoreError::Sink)?;
    let file = parsed(&bytes)?;
    let given = engine.give_checkpoint(&file, by)?;
    Ok(CheckpointContext { ctx: given.ctx, imported: given.is_imported, notes: given.notes.clone() })
}

/// Reads the bytes of a checkpoint file.
pub(crate) fn parsed(bytes: &[u8]) -> Answer<CheckpointFile> {
    let bad = |error: CheckpointFileError| {
        Box::new(Problem::new(Code::CheckpointFileBad, format!("the checkpoint cannot be loaded: {error}")))
    };
    CheckpointFile::parse(bytes).map_err(bad)
}
