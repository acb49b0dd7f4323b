//! Turns: requests read once, and what the engine stored as the wire has it.

use stemmata_api::RawJson;
use stemmata_api::v1::{
    BeginTurnRequest, NewEvent, Note, TURN_ENTRIES_MAX, TurnBegun, TurnContext, TurnEntry, TurnMadeRequest,
    TurnOf, TurnStored, TurnTask,
};
use stemmata_engine::prompt::assemble::{CurrentTask, TaskFacts};
use stemmata_engine::{self as engine, BeginTurn, Engine, NewIds, PromptWanted, TurnMade};
use stemmata_model::{
    CommitId, Entry, EntryId, EventSeq, LedgerId, Part, Party, Role, SessionId, Template, ThreadId, TicketId,
};
use stemmata_store::Appended;

use super::counters::counter;
use super::prompts::{Read, budget, mode};
use super::{bad_request, ctx, ledgers};
use crate::fault::Fault;
use crate::wire;

/// The names of roles, as requests write them.
const ROLES: [(&str, Role); 3] = [("user", Role::User), ("assistant", Role::Assistant), ("tool", Role::Tool)];

pub(super) fn begin(
    engine: &Engine,
    request: &BeginTurnRequest,
    ids: &dyn NewIds,
) -> Result<TurnBegun, Fault> {
    let turn = turn(&request.turn, ids)?;
    let context = match &request.context {
        None => engine::TurnContext::None,
        Some(TurnContext::Resume(of)) => engine::TurnContext::Resume(ctx(engine, of)?),
        Some(TurnContext::Fork(fork)) => {
            engine::TurnContext::Fork { ctx: ctx(engine, &fork.ctx)?, at: fork.at.clone() }
        }
    };
    let (ledger, session) = (turn.ledger.to_string(), turn.session.to_string());
    let said = entry(&request.said, ids).map_err(|reason| bad_request("said", reason))?;
    let task = facts(request);
    let start = |prompt| engine.begin_turn(&BeginTurn { turn: turn.clone(), context, said, task, prompt });
    let mut counted = None;
    let begun = match &request.prompt {
        None => start(None)?,
        Some(asked) => {
            let read = Read::of(&asked.strategy, asked.profile.as_deref(), Some(turn.agent.clone()))?;
            let named = counted.insert(counter(engine, asked.counter.as_deref(), asked.model.as_deref())?);
            start(Some(PromptWanted {
                max_tokens: asked.max_tokens.map(budget).transpose()?,
                mode: mode(asked.after.as_deref())?,
                iteration: asked.iteration,
                logs_metrics: asked.records_metrics,
                ..PromptWanted::new(&read.profile, &read.strategy, &*named)
            }))?
        }
    };
    let (head, cut_prompt) =
        begun.opened.map_or((None, None), |opened| (Some(opened.head.to_string()), opened.prompt));
    Ok(TurnBegun {
        ledger,
        session,
        said: begun.said.to_string(),
        head,
        cut_prompt,
        prompt: begun.prompt.zip(counted).map(|(made, counter)| wire::prompt::assembled(made, &counter)),
        notes: wire::notes(&begun.notes),
    })
}

pub(super) fn step(
    engine: &Engine,
    request: &TurnMadeRequest,
    ids: &dyn NewIds,
) -> Result<TurnStored, Fault> {
    let (turn, made) = made(request, ids)?;
    let taken = engine.step(&turn, made)?;
    let made = taken.checkpoint.map(|made| made.id);
    Ok(stored(&turn, taken.appended.as_ref(), (made, taken.snapshot), wire::notes(&taken.notes)))
}

pub(super) fn end(engine: &Engine, request: &TurnMadeRequest, ids: &dyn NewIds) -> Result<TurnStored, Fault> {
    let (turn, made) = made(request, ids)?;
    let ended = engine.end_turn(&turn, made)?;
    let made = ended.checkpoint.map(|made| made.id);
    Ok(stored(&turn, ended.appended.as_ref(), (made, ended.snapshot), wire::notes(&ended.notes)))
}

fn stored(
    turn: &engine::TurnOf,
    appended: Option<&Appended>,
    (made, snapshot): (Option<CommitId>, Option<EventSeq>),
    notes: Vec<Note>,
) -> TurnStored {
    TurnStored {
        ledger: turn.ledger.to_string(),
        session: turn.session.to_string(),
        first: appended.map(|appended| appended.first.to_string()),
        last: appended.map(|appended| appended.last.to_string()),
        ctx: made.map(|made| made.to_string()),
        snapshot: snapshot.map(|snapshot| snapshot.to_string()),
        notes,
    }
}

fn turn(of: &TurnOf, ids: &dyn NewIds) -> Result<engine::TurnOf, Fault> {
    let Some(ledger) = &of.ledger else {
        return Err(bad_request("turn", "it names no `ledger`"));
    };
    let session = of.session.as_deref().map(SessionId::new).transpose()?;
    let turn = engine::TurnOf::new(
        LedgerId::new(ledger.as_str())?,
        session.unwrap_or_else(|| ids.session()),
        Party::new(of.agent.as_str())?,
        Template::new(of.template.as_str())?,
    );
    let granularity = of.granularity.as_deref().map(str::parse).transpose();
    Ok(engine::TurnOf {
        thread: of.thread.as_deref().map(ThreadId::new).transpose()?,
        ticket: of.ticket.as_deref().map(TicketId::new).transpose()?,
        granularity: granularity
            .map_err(|error| bad_request("granularity", error))?
            .unwrap_or(turn.granularity),
        ..turn
    })
}

fn facts(request: &BeginTurnRequest) -> TaskFacts {
    let current = |task: &TurnTask| CurrentTask {
        id: task.id.clone(),
        text: task.text.clone(),
        depends_on: task.depends_on.clone(),
    };
    TaskFacts {
        phase: request.phase.clone(),
        current: request.task.as_ref().map(current),
        completed: request.completed.clone(),
    }
}

fn made(request: &TurnMadeRequest, ids: &dyn NewIds) -> Result<(engine::TurnOf, TurnMade), Fault> {
    if request.turn.session.is_none() {
        return Err(bad_request("turn", "it names no `session`; `turn begin` said which it is"));
    }
    if request.entries.len() > TURN_ENTRIES_MAX {
        return Err(bad_request(
            "entries",
            format!("more than {TURN_ENTRIES_MAX}; store them in several steps"),
        ));
    }
    let turn = turn(&request.turn, ids)?;
    let read = |(at, one): (usize, &TurnEntry)| {
        entry(one, ids).map_err(|reason| bad_request("entries", format!("entry {}: {reason}", at + 1)))
    };
    let entries = request.entries.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
    let of_turn = |event: &NewEvent| NewEvent {
        session_id: event.session_id.clone().or_else(|| Some(turn.session.to_string())),
        sender: event.sender.clone().or_else(|| Some(turn.agent.to_string())),
        ..event.clone()
    };
    let events: Vec<NewEvent> = request.events.iter().map(of_turn).collect();
    let events = ledgers::read::events(&events)?;
    Ok((turn, TurnMade { entries, events, ends: request.ends }))
}

/// Reads an entry, or says what is wrong with it.
fn entry(entry: &TurnEntry, ids: &dyn NewIds) -> Result<Entry, String> {
    let role = ROLES.iter().find(|(name, _)| *name == entry.role).map(|(_, role)| *role);
    let role =
        role.ok_or_else(|| format!("`role` is `{}`, and is one of user, assistant, tool", entry.role))?;
    let fits = match role {
        Role::Assistant => entry.results.is_empty(),
        Role::Tool => entry.calls.is_empty() && entry.thinking.is_none(),
        _ => entry.calls.is_empty() && entry.results.is_empty() && entry.thinking.is_none(),
    };
    if !fits {
        return Err(
            "an assistant thinks and calls, a tool returns results, and a user does neither".to_owned()
        );
    }
    let mut parts = Vec::new();
    parts.extend(entry.thinking.clone().map(|text| Part::Thinking {
        text,
        signature: None,
        encrypted: None,
    }));
    parts.extend(entry.text.clone().filter(|text| !text.is_empty()).map(Part::Text));
    parts.extend(entry.calls.iter().map(|call| Part::ToolCall {
        call_id: call.id.clone(),
        name: call.name.clone(),
        arguments: RawJson::as_str(&call.input).to_owned(),
    }));
    parts.extend(entry.results.iter().map(|result| Part::ToolResult {
        call_id: result.id.clone(),
        is_error: result.is_error,
        parts: vec![Part::Text(result.text.clone())],
    }));
    if parts.is_empty() {
        return Err("it says nothing".to_owned());
    }
    // A random id: a caller that may repeat a request gives one of its own.
    let id = entry.id.clone().unwrap_or_else(|| ids.session().to_string());
    let id = EntryId::new(id).map_err(|error| format!("`id`: {error}"))?;
    Ok(Entry::said(id, role, parts))
}
