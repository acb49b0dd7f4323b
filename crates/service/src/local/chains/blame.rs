//! Where lines of a file came from, as far as the store knows.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use stemmata_api::v1::{Blame, BlameRequest};
use stemmata_engine::{BlameQuery, Engine, EngineError, Wanted};
use stemmata_model::CommitId;

use crate::fault::Fault;
use crate::local::size;

pub(super) fn blame(engine: &Engine, request: &BlameRequest) -> Result<Blame, Fault> {
    let query = BlameQuery {
        file: Path::new(&request.file),
        project: Path::new(&request.project),
        lines: &request.lines,
        wanted: wanted(request)?,
        known: &known(engine, request)?,
    };
    Ok(Blame { path: request.file.clone(), lines: engine.blame(&query)? })
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
