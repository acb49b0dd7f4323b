//! Turns: requests read once, and what the engine stored as the wire has it.

pub(super) mod entry;
mod images;
pub(super) mod window;

use stemmata_api::v1::{
    BeginTurnRequest, MarkTurnEntriesRequest, NewEvent, PROVIDER_ERROR_BYTES_MAX, RecoverTurnRequest,
    TURN_ENTRIES_MAX, TurnBegun, TurnContext, TurnEntriesMarked, TurnEntry, TurnMadeRequest, TurnOf,
    TurnRecovered, TurnStored, TurnWindow, TurnWindowReport, TurnWindowRequest, TurnWindowSample,
    TurnWindowShown,
};
use stemmata_api::{Code, Problem};
use stemmata_engine::prompt::assemble::TaskFacts;
use stemmata_engine::prompt::guard::Ratio;
use stemmata_engine::prompt::window::{Report, overflow_of};
use stemmata_engine::{
    self as engine, BeginTurn, Engine, EngineError, EntryMark, NewIds, PromptWanted, REQUEST_BYTES_MAX,
    SameCall, StepTaken, TurnGuard, TurnMade,
};
use stemmata_model::{EntryId, Note, NoteCode, Role};

use self::entry::{entry, hint, of_wire};
pub(super) use self::window::Rules;
use self::window::{Named, OfSession};
use super::counters::counter;
use super::prompts::{Read, budget, mode};
use super::{bad_request, ctx, ledgers, messages};
use crate::fault::Fault;
use crate::wire;

pub(super) fn begin(
    engine: &Engine,
    request: &BeginTurnRequest,
    (ids, rules): (&dyn NewIds, &Rules<'_>),
) -> Result<TurnBegun, Fault> {
    let begun = begin_once(engine, request, (ids, rules));
    match begun {
        // Another call has begun a session for the same request at the same time.
        Err(fault)
            if fault.0.is(Code::EntryTaken)
                && request.turn.session.is_none()
                && request.request.is_some() =>
        {
            begin_once(engine, request, (ids, rules))
        }
        begun => begun,
    }
}

fn begin_once(
    engine: &Engine,
    request: &BeginTurnRequest,
    (ids, rules): (&dyn NewIds, &Rules<'_>),
) -> Result<TurnBegun, Fault> {
    let names_session = request.turn.session.is_none();
    let mut turn = turn(&request.turn, ids)?;
    // An entry's id is of a session, and this call may begin one that nobody can name when it is repeated.
    let names_entries = request.said.id.is_some() && (request.request.is_some() || !names_session);
    let identity = identity(request.request.as_deref(), names_entries)?;
    if let (Some(id), true) = (&request.request, names_session) {
        turn.session = engine.session_of_request(&turn.ledger, &turn.agent, id)?.unwrap_or(turn.session);
    }
    let context = context(engine, request.context.as_ref())?;
    let from = match &context {
        engine::TurnContext::None => None,
        engine::TurnContext::Resume(ctx) | engine::TurnContext::Fork { ctx, .. } => Some(*ctx),
    };
    let (ledger, session) = (turn.ledger.clone(), turn.session.clone());
    let new_id = || ids.session().to_string();
    let said = entry(&request.said, &new_id).map_err(|reason| bad_request("said", reason))?;
    if said.role != Role::User {
        let reason = format!("its role is `{}`: a turn begins with what a `user` says", request.said.role);
        return Err(bad_request("said", reason));
    }
    let task = facts(request);
    let hints = hint(&request.said, &said).map_err(|reason| bad_request("said", reason))?;
    let (hints, pins) = (hints.into_iter().collect(), request.pin);
    let model = request.prompt.as_ref().and_then(|prompt| prompt.model.as_deref());
    let named = Named { model, ..Named::default() };
    let (of, unguarded) = OfSession::of(engine, &turn, (request.window.as_ref(), &named, from), rules)?;
    let guard = of.as_ref().map(OfSession::guard);
    let start = |prompt| {
        let begin = BeginTurn { context, task, hints, pins, prompt, ..BeginTurn::new(turn.clone(), said) };
        engine.begin_turn(&BeginTurn { guard, identity, names_session, ..begin })
    };
    if request.messages.is_some() {
        // A problem means that nothing was stored.
        engine.check_conversation(&turn)?;
    }
    let mut counted = None;
    let begun = match &request.prompt {
        None => start(None)?,
        Some(asked) => {
            let read = Read::of(&asked.strategy, asked.profile.as_deref(), Some(turn.agent.clone()))?;
            let named = counted.insert(counter(engine, asked.counter.as_deref(), asked.model.as_deref())?);
            start(Some(PromptWanted {
                max_tokens: asked.max_tokens.map(budget).transpose()?,
                mode: mode(asked.after),
                iteration: asked.iteration,
                logs_metrics: asked.records_metrics,
                ..PromptWanted::new(&read.profile, &read.strategy, &*named)
            }))?
        }
    };
    let mut notes: Vec<Note> = begun.notes.iter().cloned().chain(unguarded).collect();
    let of_turn = |api| messages::of_turn(engine, &turn, (begun.said, begun.prompt.as_ref()), api);
    let (messages, told) = request.messages.map(of_turn).transpose()?.unzip();
    notes.extend(told.into_iter().flatten());
    let trace = request.prompt.as_ref().and_then(|prompt| prompt.trace);
    let (head, cut_prompt) = begun.opened.map_or((None, None), |opened| (Some(opened.head), opened.prompt));
    Ok(TurnBegun {
        ledger,
        session,
        said: begun.said,
        head,
        cut_prompt,
        window: of.zip(begun.window).map(|(of, report)| of.report(report)),
        prompt: begun
            .prompt
            .zip(counted)
            .map(|(made, counter)| wire::prompt::assembled(made, &counter, trace)),
        messages,
        notes,
    })
}

pub(super) fn step(
    engine: &Engine,
    request: &TurnMadeRequest,
    with: (&dyn NewIds, &Rules<'_>),
) -> Result<TurnStored, Fault> {
    store(engine, request, with, |turn, made, guard| engine.guarded_step(turn, made, guard))
}

pub(super) fn end(
    engine: &Engine,
    request: &TurnMadeRequest,
    with: (&dyn NewIds, &Rules<'_>),
) -> Result<TurnStored, Fault> {
    store(engine, request, with, |turn, made, guard| {
        engine.end_guarded_turn(turn, made, guard).map(StepTaken::from)
    })
}

fn store(
    engine: &Engine,
    request: &TurnMadeRequest,
    (ids, rules): (&dyn NewIds, &Rules<'_>),
    take: impl FnOnce(&engine::TurnOf, TurnMade, Option<&TurnGuard<'_>>) -> Result<StepTaken, EngineError>,
) -> Result<TurnStored, Fault> {
    let (turn, made) = made(request, ids)?;
    let (of, unguarded) =
        OfSession::summarizing(engine, &turn, (request.window.as_ref(), &named_in(request)), rules)?;
    engine.check_begun(&turn)?;
    let taken = take(&turn, made, of.as_ref().map(OfSession::guard).as_ref())?;
    let appended = taken.appended.as_ref();
    let is_orphan = |note: &Note| note.code == NoteCode::OrphanResult;
    let mut window = taken.window;
    if let Some(report) = window.as_mut().filter(|_| taken.notes.iter().any(is_orphan)) {
        // What the call itself says of its results, its window need not say once more.
        report.notes.retain(|note| !is_orphan(note));
    }
    Ok(TurnStored {
        first: appended.map(|appended| appended.first),
        last: appended.map(|appended| appended.last),
        ctx: taken.checkpoint.map(|made| made.id),
        snapshot: taken.snapshot,
        window: of.zip(window).map(|(of, report)| of.report(report)),
        notes: taken.notes.iter().cloned().chain(unguarded).collect(),
        ledger: turn.ledger,
        session: turn.session,
    })
}

/// Returns the model that answered last in a request, and what it reported.
fn named_in(request: &TurnMadeRequest) -> Named<'_> {
    let answer = request.entries.iter().rev().find(|entry| entry.model.is_some());
    let reported = answer.and_then(|answer| answer.usage).map(|usage| Report::of(of_wire(usage)).tokens);
    Named { model: answer.and_then(|answer| answer.model.as_deref()), reported }
}

pub(super) fn show_window(
    engine: &Engine,
    request: &TurnWindowRequest,
    (ids, rules): (&dyn NewIds, &Rules<'_>),
) -> Result<TurnWindowShown, Fault> {
    let turn = of_session(&request.turn, ids)?;
    let asked = request.window.clone().unwrap_or_else(TurnWindow::unsaid);
    let (of, why) = OfSession::of(engine, &turn, (Some(&asked), &Named::default(), None), rules)?;
    let unknown = || Problem::new(Code::WindowBad, why.map(|why| why.message).unwrap_or_default());
    let of = of.ok_or_else(unknown)?;
    let report = engine.turn_window(&turn, &of.guard())?;
    let samples = engine.window_history(&turn, usize::try_from(request.samples_max).unwrap_or(usize::MAX))?;
    let sample = |sample: &engine::WindowSample| TurnWindowSample {
        at: sample.at,
        tokens: sample.size.0,
        ratio: window::ratio(Ratio::of(sample.size, sample.limit).0),
    };
    Ok(TurnWindowShown {
        ledger: turn.ledger,
        session: turn.session,
        window: of.report(report),
        history: samples.iter().map(sample).collect(),
    })
}

pub(super) fn recover(
    engine: &Engine,
    request: &RecoverTurnRequest,
    (ids, rules): (&dyn NewIds, &Rules<'_>),
) -> Result<TurnRecovered, Fault> {
    let turn = of_session(&request.turn, ids)?;
    let end = request.error.floor_char_boundary(PROVIDER_ERROR_BYTES_MAX);
    let error = request.error.get(..end).unwrap_or_default();
    if overflow_of(error, request.code.as_deref()).is_none() {
        return Ok(not_an_overflow(turn));
    }
    let asked = request.window.clone().unwrap_or_else(TurnWindow::unsaid);
    let of = OfSession::recovering(engine, &turn, (&asked, error), rules)?;
    let recovered = engine.recover(&turn, (error, request.code.as_deref()), &of.guard())?;
    let Some(recovered) = recovered else { return Ok(not_an_overflow(turn)) };
    Ok(TurnRecovered {
        ledger: turn.ledger,
        session: turn.session,
        retry: true,
        provider: Some(recovered.phrase.provider.to_owned()),
        ctx: recovered.checkpoint,
        window: Some(of.recovered(recovered.window, recovered.maximum)),
    })
}

/// The answer to an error that says nothing of the window: nothing was done.
fn not_an_overflow(turn: engine::TurnOf) -> TurnRecovered {
    let (ledger, session) = (turn.ledger, turn.session);
    TurnRecovered { ledger, session, retry: false, provider: None, ctx: None, window: None }
}

pub(super) fn mark(
    engine: &Engine,
    request: &MarkTurnEntriesRequest,
    (ids, rules): (&dyn NewIds, &Rules<'_>),
) -> Result<TurnEntriesMarked, Fault> {
    let turn = of_session(&request.turn, ids)?;
    let mark = match request.mark.as_deref() {
        Some("rehydrate") => EntryMark::Rehydrate,
        Some("pin") => EntryMark::Pin,
        Some("unpin") => EntryMark::Unpin,
        _ => return Err(bad_request("mark", "it is one of rehydrate, pin, unpin")),
    };
    let entries = request.entries.iter().map(|id| EntryId::new(id.as_str())).collect::<Result<Vec<_>, _>>();
    let entries = entries.map_err(|error| bad_request("entries", error))?;
    if entries.is_empty() {
        return Err(bad_request("entries", "it names none"));
    }
    let (of, _) = OfSession::of(engine, &turn, (request.window.as_ref(), &Named::default(), None), rules)?;
    let marked = engine.mark_entries(&turn, (&entries, mark), of.as_ref().map(OfSession::guard).as_ref())?;
    let window: Option<TurnWindowReport> = of.zip(marked.window).map(|(of, report)| of.report(report));
    Ok(TurnEntriesMarked {
        ledger: turn.ledger,
        session: turn.session,
        entries: marked.entries,
        ctx: marked.ctx,
        window,
    })
}

/// Reads whose turns a request is about, of a session that has begun.
fn of_session(of: &TurnOf, ids: &dyn NewIds) -> Result<engine::TurnOf, Fault> {
    if of.session.is_none() {
        return Err(bad_request("turn", "it names no `session`; `turn begin` said which it is"));
    }
    turn(of, ids)
}

fn turn(of: &TurnOf, ids: &dyn NewIds) -> Result<engine::TurnOf, Fault> {
    let Some(ledger) = of.ledger.clone() else {
        return Err(bad_request("turn", "it names no `ledger`"));
    };
    Ok(engine::TurnOf {
        ledger,
        session: of.session.clone().unwrap_or_else(|| ids.session()),
        agent: of.agent.clone(),
        template: of.template.clone(),
        thread: of.thread.clone(),
        ticket: of.ticket.clone(),
        granularity: of.granularity.unwrap_or_default(),
    })
}

fn context(engine: &Engine, context: Option<&TurnContext>) -> Result<engine::TurnContext, Fault> {
    Ok(match context {
        None => engine::TurnContext::None,
        Some(TurnContext::Resume(of)) => engine::TurnContext::Resume(ctx(engine, of)?),
        Some(TurnContext::Fork(fork)) => {
            engine::TurnContext::Fork { ctx: ctx(engine, &fork.ctx)?, at: fork.at.clone() }
        }
    })
}

fn facts(request: &BeginTurnRequest) -> TaskFacts {
    TaskFacts {
        phase: request.phase.clone(),
        current: request.task.clone(),
        completed: request.completed.clone(),
    }
}

fn made(request: &TurnMadeRequest, ids: &dyn NewIds) -> Result<(engine::TurnOf, TurnMade), Fault> {
    if request.entries.len() > TURN_ENTRIES_MAX {
        return Err(bad_request(
            "entries",
            format!("more than {TURN_ENTRIES_MAX}; store them in several steps"),
        ));
    }
    let turn = of_session(&request.turn, ids)?;
    let (mut entries, mut hints) = (Vec::with_capacity(request.entries.len()), Vec::new());
    for (at, one) in request.entries.iter().enumerate() {
        let bad = |reason| bad_request("entries", format!("entry {}: {reason}", at + 1));
        let named = TurnEntry { id: one.id.clone().or_else(|| near_id(&request.entries, at)), ..one.clone() };
        let read = entry(&named, &|| ids.session().to_string()).map_err(bad)?;
        hints.extend(hint(one, &read).map_err(bad)?);
        entries.push(read);
    }
    let of_turn = |event: &NewEvent| NewEvent {
        session_id: event.session_id.clone().or_else(|| Some(turn.session.to_string())),
        sender: event.sender.clone().or_else(|| Some(turn.agent.to_string())),
        ..event.clone()
    };
    let events: Vec<NewEvent> = request.events.iter().map(of_turn).collect();
    let events = ledgers::read::events(&events)?;
    let says_nothing = request.entries.is_empty() && request.events.is_empty();
    let names_entries = says_nothing || request.entries.iter().any(|entry| entry.id.is_some());
    let identity = identity(request.request.as_deref(), names_entries)?;
    Ok((turn, TurnMade { entries, events, hints, ends: request.ends, identity }))
}

/// Returns by what a repeated call is known.
fn identity(request: Option<&str>, names_entries: bool) -> Result<SameCall, Fault> {
    match request {
        Some(id) if id.is_empty() || id.len() > REQUEST_BYTES_MAX => {
            let reason = format!("it has {} bytes, and an id has 1 to {REQUEST_BYTES_MAX}", id.len());
            Err(bad_request("request", reason))
        }
        Some(id) => Ok(SameCall::Request { id: id.to_owned(), names_entries }),
        None if names_entries => Ok(SameCall::Entries),
        None => Ok(SameCall::None),
    }
}

/// Returns an id for an entry without one: of the nearest entry before it that has one, or else behind it. A call that is
/// repeated makes the same ones then.
fn near_id(entries: &[TurnEntry], at: usize) -> Option<String> {
    let (before, behind) = entries.split_at(at);
    let before =
        before.iter().rev().zip(1..).find_map(|(entry, far)| Some(format!("{}+{far}", entry.id.as_ref()?)));
    let behind =
        || behind.iter().zip(0..).find_map(|(entry, far)| Some(format!("{}-{far}", entry.id.as_ref()?)));
    before.or_else(behind)
}
