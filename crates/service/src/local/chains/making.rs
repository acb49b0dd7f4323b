//! Commits that are made, and what is changed beside them.

use std::io::Read;

use stemmata_api::Problem;
use stemmata_api::v1::{self, CONTENT_BYTES_MAX, Changed, Checkpointed, SharedTag, UpdateRequest};
use stemmata_engine::{CheckpointContent, CheckpointRequest, Engine, Update};
use stemmata_model::{CommitType, Links, Note, NoteCode, Principal, ThreadId, TicketId};

use crate::fault::{Fault, of_kind};
use crate::local::{bad_request, ctx};

/// Commits of one tag that are counted.
const TAGGED_MAX: usize = 1_000;

pub(super) fn checkpoint(
    engine: &Engine,
    request: &v1::CheckpointRequest,
    content: &mut dyn Read,
) -> Result<Checkpointed, Fault> {
    let mut made = engine.checkpoint(&wished(engine, request, content)?)?;
    if let Some(Err(error)) = request.ledger.as_ref().map(|ledger| engine.save_state(ledger)) {
        let message = format!("the commit is made, but the project's state was not saved: {error}");
        made.notes.push(Note::new(NoteCode::Degraded, message));
    }
    Ok(made)
}

/// Reads all of a request before anything is stored.
fn wished(
    engine: &Engine,
    request: &v1::CheckpointRequest,
    content: &mut dyn Read,
) -> Result<CheckpointRequest, Fault> {
    Ok(CheckpointRequest {
        parent: request.parent.as_ref().map(|parent| ctx(engine, parent)).transpose()?,
        commit_type: match request.commit_type {
            v1::CommitType::Delta => CommitType::Delta,
            v1::CommitType::Compaction => CommitType::Compaction,
            v1::CommitType::Snapshot => CommitType::Snapshot { restated_entries: request.restated_entries },
        },
        format: request.format.clone(),
        template: request.template.clone(),
        principal: request.principal.clone(),
        machine: request.machine.clone(),
        session: request.session.clone(),
        reasons: stemmata_model::Reasons::NONE,
        trigger: request.trigger,
        ticket: request.ticket.clone(),
        thread: request.thread.clone(),
        summary: request.summary.clone(),
        messages: request.messages,
        tokens: request.tokens,
        created_at: request.created_at,
        idempotency_key: request.idempotency_key.clone(),
        content: match request.artifact {
            Some(artifact) => CheckpointContent::Stored(artifact),
            None => CheckpointContent::Bytes(read(content)?),
        },
    })
}

fn read(content: &mut dyn Read) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    let failed =
        |error: std::io::Error| Problem::new(of_kind(&error), format!("reading the content failed: {error}"));
    content.take(CONTENT_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > CONTENT_BYTES_MAX {
        return Err(bad_request("content", format!("it has more than {CONTENT_BYTES_MAX} bytes")));
    }
    Ok(bytes)
}

pub(super) fn update(engine: &Engine, request: &UpdateRequest, by: &Principal) -> Result<Changed, Fault> {
    let id = ctx(engine, &request.ctx)?;
    let changes = Update {
        summary: request.summary.clone(),
        add_tags: request.add_tags.clone(),
        remove_tags: request.remove_tags.clone(),
        notes: request.notes.clone(),
        pin: request.pin,
        links: Links {
            thread: request.thread.as_deref().map(ThreadId::new).transpose()?,
            ticket: request.ticket.as_deref().map(TicketId::new).transpose()?,
        },
    };
    engine.update(id, changes, by)?;
    let annotations = engine.store().annotations(id)?;
    let mut shared = Vec::new();
    for tag in &request.add_tags {
        let commits = engine.store().tagged(tag, TAGGED_MAX)?.len() as u64;
        if commits > 1 {
            shared.push(SharedTag { tag: tag.clone(), commits });
        }
    }
    Ok(Changed {
        id,
        summary: engine.summary_of(id)?.text,
        tags: annotations.tags,
        notes: annotations.notes,
        pinned: annotations.pinned,
        tags_shared: (!shared.is_empty()).then_some(shared),
    })
}
