//! What happened: a turn as a person reads it, a session at a glance.

use stemmata_api::v1::{
    Commit, CompareRequest, Comparison, FoundRange, OverviewRequest, SHOWN_TURNS_MAX, SessionMeant,
    ShowTurnRequest, ShowTurnsRequest, ShownTurn, ShownTurns,
};
use stemmata_engine::{self as engine, Engine, EngineError, Wanted};
use stemmata_model::CommitId;

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

pub(super) fn turns(engine: &Engine, request: &ShowTurnsRequest) -> Result<ShownTurns, Fault> {
    let id = ctx(engine, &request.ctx)?;
    let FoundRange { from, through } = request.prompts;
    let last = through.min(from.saturating_add(SHOWN_TURNS_MAX - 1));
    let told = |(number, id, turn): (u64, CommitId, engine::ShownTurn)| -> Result<Commit, Fault> {
        let turn = Some(Box::new(wire::story::turn(id, &turn, request.full)));
        Ok(Commit { turn, prompt: Some(number), ..wire::commit::shown(&engine.show(id)?) })
    };
    let turns = engine.turns_of_prompts(id, &(from..=last))?.into_iter().map(told);
    Ok(ShownTurns { turns: turns.collect::<Result<_, _>>()?, is_cut: last < through })
}

pub(super) fn overview(engine: &Engine, request: &OverviewRequest) -> Result<SessionMeant, Fault> {
    let text = &request.reference;
    let here = request.here.as_deref();
    let Some(session) = engine.session_meant(text, here)? else {
        return Ok(SessionMeant { cut: None, overview: None });
    };
    let missing = || EngineError::NotFound { what: Wanted::CommitOfSession, text: text.clone() };
    let overview = engine.overview(session.tip.ok_or_else(missing)?, session.cwd.as_deref())?;
    let overview = Some(wire::story::overview(&session, &overview));
    Ok(SessionMeant { cut: wire::session::cut(engine, &session)?, overview })
}

pub(super) fn compare(engine: &Engine, request: &CompareRequest) -> Result<Comparison, Fault> {
    let (first, second) = (ctx(engine, &request.first)?, ctx(engine, &request.second)?);
    Ok(engine.compare(first, second)?)
}
