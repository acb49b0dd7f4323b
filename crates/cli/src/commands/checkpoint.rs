//! `checkpoint`: a commit made by a program, with every field of its own choosing.

use std::path::Path;

use stemmata_api::v1;
use stemmata_engine::{CheckpointContent, CheckpointRequest};
use stemmata_model::{CommitType, Note, NoteCode, Trigger};

use crate::args::capture::{Checkpoint, TriggerArg, TypeArg};
use crate::commands::read_input;
use crate::errors::{CliError, Exit};
use crate::wiring::App;
use stemmata_service::wire;

/// Bytes of one checkpoint's content at most: a delta is kilobytes, a whole context of today's largest windows
/// some megabytes.
const CONTENT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Runs the command.
pub(crate) fn run(app: &App, args: Checkpoint) -> Result<Exit, CliError> {
    let parent = args.parent.as_deref().map(|reference| app.find(reference)).transpose()?;
    let content = match args.artifact {
        Some(artifact) => CheckpointContent::Stored(artifact),
        None => CheckpointContent::Bytes(read_input(&args.content, CONTENT_BYTES_MAX)?),
    };
    let mut made = app.engine()?.checkpoint(&CheckpointRequest {
        parent,
        commit_type: match args.commit_type {
            TypeArg::Delta => CommitType::Delta,
            TypeArg::Compaction => CommitType::Compaction,
            TypeArg::Snapshot => CommitType::Snapshot { restated_entries: args.restated_entries },
        },
        content,
        format: args.format,
        template: args.template,
        principal: args.principal,
        machine: args.machine,
        session: args.session,
        trigger: trigger(args.trigger),
        ticket: args.ticket,
        thread: args.thread,
        summary: args.summary,
        messages: args.messages,
        tokens: args.tokens,
        created_at: args.created_at,
        idempotency_key: args.idempotency_key,
    })?;
    if let Err(error) = save_state(app) {
        let message = format!("the commit is made, but the project's state was not saved: {error}");
        made.notes.push(Note::new(NoteCode::Degraded, message));
    }
    if app.console.json {
        app.console.json(&v1::Checkpointed {
            id: made.id.to_string(),
            existed: made.existed,
            notes: wire::notes(&made.notes),
        })?;
        return Ok(Exit::Done);
    }
    app.console.notes(&made.notes);
    // Whole, because programs read it.
    app.console.text(&format!("{}\n", made.id))?;
    Ok(Exit::Done)
}

/// Saves what was folded of the ledger whose project is here, where there is one.
fn save_state(app: &App) -> Result<(), CliError> {
    let engine = app.engine()?;
    let known = engine.known_project_at(&app.environment.absolute(Path::new(".")))?;
    Ok(known.map_or(Ok(()), |project| engine.save_state(&project.ledger))?)
}

const fn trigger(arg: TriggerArg) -> Trigger {
    match arg {
        TriggerArg::TurnBoundary => Trigger::TurnBoundary,
        TriggerArg::ToolCall => Trigger::ToolCall,
        TriggerArg::Compaction => Trigger::Compaction,
        TriggerArg::SessionEnd => Trigger::SessionEnd,
        TriggerArg::Explicit => Trigger::Explicit,
    }
}
