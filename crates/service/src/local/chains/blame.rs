//! Where lines of a file came from, as far as the store knows.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use stemmata_api::v1::{Blame, BlameRequest, BlamedLine};
use stemmata_engine::{BlameQuery, Engine, EngineError, LineOrigin, Wanted};
use stemmata_model::CommitId;

use crate::fault::Fault;
use crate::local::size;

pub(super) fn blame(engine: &Engine, request: &BlameRequest) -> Result<Blame, Fault> {
    let wanted = wanted(request)?;
    let query = BlameQuery {
        file: Path::new(&request.file),
        project: Path::new(&request.project),
        lines: &request.lines,
        wanted: wanted.clone(),
        known: &known(engine, request)?,
    };
    let origins = engine.blame(&query)?;
    let mut origins: HashMap<usize, LineOrigin> =
        origins.into_iter().map(|origin| (origin.line, origin)).collect();
    let lines = wanted.zip(request.from_line..).map(|(at, line)| {
        let text = request.lines.get(at).cloned().unwrap_or_default();
        told(line, text, origins.remove(&at))
    });
    Ok(Blame { path: request.file.clone(), lines: lines.collect() })
}

/// Returns the lines that are asked for, counted from 0.
fn wanted(request: &BlameRequest) -> Result<Range<usize>, Fault> {
    let (from, to) = (size(request.from_line, "from_line")?, size(request.to_line, "to_line")?);
    if 1 <= from && from <= to && to <= request.lines.len() {
        return Ok(from - 1..to);
    }
    let text = format!("{}:{from}-{to}", request.file);
    Err(EngineError::NotFound { what: Wanted::Line, text }.into())
}

/// Finds the commits that trailers name. One of a store that is not here tells nothing.
fn known(engine: &Engine, request: &BlameRequest) -> Result<HashMap<usize, CommitId>, Fault> {
    let mut found: HashMap<&str, Option<CommitId>> = HashMap::new();
    let mut known = HashMap::new();
    for named in &request.known {
        let ctx = match found.get(named.ctx.as_str()) {
            Some(ctx) => *ctx,
            None => match engine.find(&named.ctx) {
                Ok(ctx) => Some(ctx),
                Err(EngineError::NotFound { .. } | EngineError::Ambiguous { .. }) => None,
                Err(error) => return Err(error.into()),
            },
        };
        found.insert(&named.ctx, ctx);
        if let (Some(ctx), Some(at)) = (ctx, size(named.line, "line")?.checked_sub(1)) {
            known.insert(at, ctx);
        }
    }
    Ok(known)
}

fn told(line: u64, text: String, origin: Option<LineOrigin>) -> BlamedLine {
    let unknown = BlamedLine {
        line,
        text,
        git_commit: None,
        git_summary: None,
        context_id: None,
        ctx: None,
        via: None,
        client: None,
        session_id: None,
        entry: None,
        call_id: None,
        tool: None,
        written_at: None,
        request: None,
        reasoning: None,
    };
    let Some(origin) = origin else { return unknown };
    let via = match (origin.is_blank, origin.is_noted) {
        (true, _) => "neighbour",
        (false, true) => "trailer",
        (false, false) => "search",
    };
    BlamedLine {
        ctx: Some(origin.ctx),
        via: Some(via.to_owned()),
        client: Some(origin.client),
        session_id: Some(origin.session).filter(|session| !session.is_empty()),
        entry: Some(origin.entry),
        call_id: Some(origin.call_id),
        tool: Some(origin.tool),
        written_at: origin.at,
        request: origin.request,
        reasoning: origin.reasoning,
        ..unknown
    }
}
