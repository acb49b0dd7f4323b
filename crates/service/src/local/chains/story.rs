//! What happened: a turn as a person reads it, a session at a glance.

use stemmata_api::v1::{
    CompareRequest, Comparison, OverviewRequest, SessionMeant, ShowTurnRequest, ShownTurn,
};
use stemmata_engine::{Engine, EngineError, Wanted};

use crate::fault::Fault;
use crate::local::ctx;
use crate::wire;

pub(super) fn turn(engine: &Engine, request: &ShowTurnRequest) -> Result<ShownTurn, Fault> {
    let id = ctx(engine, &request.ctx)?;
    let (id, turn) = match request.prompt {
        Some(number) => engine.turn_of_prompt(id, number)?,
        None => (id, engine.turn(id)?),
    };
    Ok(wire::story::turn(id, &turn, request.full))
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
