//! How a prompt came to be: one that was kept, or one that is made for the question.

use stemmata_api::v1::{
    AssembleRequest, ContextOf, ContextReport, ContextRequest, KeptPromptOf, ModelWindow, Note,
};
use stemmata_api::{Code, Problem};
use stemmata_engine::{Engine, KeptPrompt, PromptMade};
use stemmata_model::{EventSeq, LedgerId, SessionId};
use stemmata_store::StoreError;

use super::has_event;
use super::window::{images, window};
use crate::fault::Fault;
use crate::local::bad_request;
use crate::wire;

pub(super) fn report(engine: &Engine, request: &ContextRequest) -> Result<ContextReport, Fault> {
    match &request.of {
        ContextOf::Kept(of) => kept(engine, of, request.compares),
        ContextOf::Made(prompt) => {
            let earlier = match (request.compares, request.before) {
                (false, _) => None,
                (true, Some(place)) => Some(place),
                (true, None) => {
                    let reason = "name the earlier event to compare a new prompt with";
                    return Err(bad_request("before", reason));
                }
            };
            if let Some(earlier) = earlier {
                has_event(engine, &prompt.ledger, earlier)?;
            }
            made(engine, prompt, earlier)
        }
    }
}

fn made(engine: &Engine, asked: &AssembleRequest, before: Option<EventSeq>) -> Result<ContextReport, Fault> {
    let asked = AssembleRequest { records_metrics: false, ..asked.clone() };
    let (later, counter) = super::made(engine, &asked)?;
    let PromptMade { text, trace, notes, .. } = later;
    let mut report = ContextReport {
        session: None,
        said: None,
        counter: Some(counter.spec.to_string()),
        window: model_window(engine, asked.model.as_deref(), (&asked.ledger, asked.session.as_ref()))?,
        images: images(&trace, asked.model.as_deref()),
        notes: wire::prompt::notes(&trace, &notes, &counter),
        trace,
        before: None,
        changes: Vec::new(),
    };
    if before.is_some() {
        // What began the later turn is no part of the earlier prompt.
        let (earlier, _) = super::made(engine, &AssembleRequest { through: before, trigger: None, ..asked })?;
        report.changes =
            wire::prompt::changes((Some(&earlier.text), &earlier.trace), (Some(&text), &report.trace));
        report.before = Some(earlier.trace);
    }
    Ok(report)
}

/// Returns what is known of the window of a model in which a session goes on.
fn model_window(
    engine: &Engine,
    name: Option<&str>,
    (ledger, session): (&LedgerId, Option<&SessionId>),
) -> Result<Option<ModelWindow>, Fault> {
    let Some(name) = name else { return Ok(None) };
    let reported = match session {
        Some(session) => engine.reported_session_window(ledger, session)?,
        None => None,
    };
    Ok(Some(window(name, reported)))
}

fn kept(engine: &Engine, of: &KeptPromptOf, compares: bool) -> Result<ContextReport, Fault> {
    let ledger = &of.ledger;
    if engine.log().ledger(ledger)?.is_none() {
        return Err(StoreError::LedgerMissing(ledger.clone()).into());
    }
    let session = match &of.session {
        Some(session) => Some(session.clone()),
        None => engine.kept_sessions(ledger)?.pop(),
    };
    let mut prompts = match &session {
        Some(session) => engine.kept_prompts(ledger, session)?,
        None => Vec::new(),
    };
    let (Some(session), Some(last)) = (session, prompts.pop()) else {
        let whose = of.session.as_ref().map_or_else(
            || format!("no turn of ledger `{ledger}` kept its prompt"),
            |session| format!("no turn of session `{session}` kept its prompt in ledger `{ledger}`"),
        );
        return Err(Problem::new(Code::ContextNotKept, whose).into());
    };
    let KeptPrompt { said, text, trace } = last;
    let mut report = ContextReport {
        session: Some(session.clone()),
        said: Some(said),
        counter: trace.counter.clone(),
        window: model_window(engine, of.model.as_deref(), (ledger, Some(&session)))?,
        images: images(&trace, of.model.as_deref()),
        trace,
        before: None,
        changes: Vec::new(),
        notes: Vec::new(),
    };
    match (compares, prompts.pop()) {
        (false, _) => {}
        (true, Some(before)) => compare(&mut report, before, text.as_deref()),
        (true, None) => report.notes.push(Note::new(
            "one_turn_kept",
            "only one turn of the session is kept: there is nothing to compare it with".to_owned(),
        )),
    }
    Ok(report)
}

fn compare(report: &mut ContextReport, before: KeptPrompt, text: Option<&str>) {
    let earlier = before.trace;
    report.changes = wire::prompt::changes((before.text.as_deref(), &earlier), (text, &report.trace));
    report.before = Some(earlier);
}
