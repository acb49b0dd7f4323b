//! What happened: a turn as a person reads it, a session at a glance.

use stemmata_api::v1::{
    CompareRequest, Comparison, OverviewRequest, SessionMeant, ShowTurnRequest, ShownTurn,
};
use stemmata_engine::{Engine, EngineError, Wanted};

use crate::fault::Fault;
use crate::local::ctx;
use crate::wire;

pub(super) fn turn(engine: &Engine, request: &ShowTurnRequest) -> Result<ShownTurn, Fault> {
    let mut id = ctx(engine, &request.ctx)?;
    if let Some(number) = request.prompt {
        id = engine.numbered_prompt(id, number)?.ctx;
    }
    Ok(wire::story::turn(id, &engine.turn(id)?, request.full))
}

pub(super) fn overview(engine: &Engine, request: &OverviewRequest) -> Result<SessionMeant, Fault> {
    let text = &request.reference;
    let here = request.here.as_deref();
    let Some(session) = engine.session_meant(text, here)? else { return Ok(SessionMeant { overview: None }) };
    let missing = || EngineError::NotFound { what: Wanted::CommitOfSession, text: text.clone() };
    let overview = engine.overview(session.tip.ok_or_else(missing)?, session.cwd.as_deref())?;
    Ok(SessionMeant { overview: Some(wire::story::overview(&session, &overview)) })
}

pub(super) fn compare(engine: &Engine, request: &CompareRequest) -> Result<Comparison, Fault> {
    let (first, second) = (ctx(engine, &request.first)?, ctx(engine, &request.second)?);
    Ok(wire::story::comparison(&engine.compare(first, second)?))
}
