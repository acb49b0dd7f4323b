//! Entries of a chain around one of them, as the wire has them.

use stemmata_api::v1::{
    AROUND_MAX, AROUND_TOKENS_DEFAULT, AROUND_TOKENS_MAX, EntriesRequest, EntryPage, EntryText, Note,
};
use stemmata_engine::{Around, AroundEntry, AroundQuery, Engine};

use super::ctx;
use crate::fault::Fault;

/// Reads a page of entries.
pub(super) fn entries(engine: &Engine, request: &EntriesRequest) -> Result<EntryPage, Fault> {
    let around = engine.around(&AroundQuery {
        ctx: ctx(engine, &request.ctx)?,
        entry: request.entry.clone(),
        around: request.around.min(AROUND_MAX),
        tokens_max: request.max_tokens.unwrap_or(AROUND_TOKENS_DEFAULT).clamp(1, AROUND_TOKENS_MAX),
    })?;
    Ok(page(&around))
}

fn page(around: &Around) -> EntryPage {
    let forgotten = (around.forgotten > 0).then(|| {
        Note::new(
            "entries_forgotten",
            format!("{} of the entries around it were forgotten", around.forgotten),
        )
    });
    let cut = around.is_cut.then(|| {
        Note::new(
            "chain_cut",
            "the chain continues; name one of its newer commits to read on from there".to_owned(),
        )
    });
    EntryPage {
        ctx: around.ctx,
        entries: around.entries.iter().map(text).collect(),
        total: around.total,
        before: around.before.map(|ordinal| format!("@{ordinal}")),
        next: around.next.map(|ordinal| format!("@{ordinal}")),
        is_beside: around.is_beside,
        notes: forgotten.into_iter().chain(cut).collect(),
    }
}

fn text(found: &AroundEntry) -> EntryText {
    let entry = &found.entry;
    EntryText {
        ordinal: found.ordinal,
        ctx: found.ctx,
        id: entry.id.to_string(),
        role: entry.role.as_str().to_owned(),
        kind: entry.kind.as_str().to_owned(),
        author: entry.meta.author.clone(),
        timestamp: entry.timestamp,
        text: found.text.clone(),
        tokens: found.tokens,
        is_cut: found.is_cut,
        is_match: found.is_match,
    }
}
