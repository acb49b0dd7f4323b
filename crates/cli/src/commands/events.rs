//! `events`: append to a ledger, and look at what is in it.
//!
//! Which ledger is a project's, what is scrubbed, and who is woken is the engine's.

use std::io::BufRead;
use std::ops::ControlFlow;
use std::path::Path;

use stemmata_api::v1::{
    self, APPEND_BYTES_MAX, APPEND_EVENTS_MAX, AppendRequest, EventsForgotten, EventsRequest, FollowFrom,
    FollowRequest, ForgetEventsRequest, NewEvent,
};
use stemmata_api::{CancelToken, Code, Control, PlanDigest, Problem, RawJson};
use stemmata_model::{Json, LedgerId};
use stemmata_service::{LedgerOfRequest, MakeLedger};

use crate::args::ledger::{Append, Events, EventsCommand, EventsForget, Follow, Query, Tail, Wanted, Which};
use crate::commands::confirm::{Final, confirmed, shown, told_stores_left, warn_unfinished};
use crate::errors::{CliError, Exit};
use crate::output::commit::ShortIds;
use crate::output::size::{self, many};
use crate::output::style::{Style, tame};
use crate::output::{event, put, time};
use crate::wiring::App;

/// Events that a person sees of a query unless they ask for more: about a screen.
const ROWS_DEFAULT: usize = 30;

/// Commits that are named at most of those that hold forgotten events.
const HELD_MAX: usize = 10;

/// Runs the command.
pub(crate) fn run(app: &App, args: Events) -> Result<Exit, CliError> {
    match args.command {
        EventsCommand::Append(args) => append(app, &args),
        EventsCommand::Query(args) => query(app, &args),
        EventsCommand::Tail(args) => tail(app, &args),
        EventsCommand::Follow(args) => follow(app, &args),
        EventsCommand::Forget(args) => forget(app, &args),
    }
}

/// Returns the ledger that is meant.
pub(crate) fn ledger(app: &App, which: &Which, make: MakeLedger) -> Result<LedgerId, CliError> {
    ledger_of(app, which, make, false)
}

/// Returns the ledger that is meant, even where it cannot be read.
pub(crate) fn damaged_ledger(app: &App, which: &Which) -> Result<LedgerId, CliError> {
    ledger_of(app, which, MakeLedger::Never, true)
}

fn ledger_of(app: &App, which: &Which, make: MakeLedger, even_damaged: bool) -> Result<LedgerId, CliError> {
    if let Some(id) = &which.ledger {
        return Ok(id.clone());
    }
    if app.is_remote() {
        let detail = "a service knows no folders of this machine";
        return Err(CliError::Problem(Box::new(Problem::new(Code::NoLedgerHere, detail))));
    }
    app.service()?;
    let dir = app.environment.absolute(which.project.as_deref().unwrap_or_else(|| Path::new(".")));
    let name = which.project.as_deref().and_then(Path::to_str).filter(|text| !text.contains(['/', '\\']));
    let name = name.map(str::to_owned);
    let found = app.host()?.ledger_of(&LedgerOfRequest { dir, name, make, even_damaged })?;
    app.console.notes(&found.notes);
    Ok(found.ledger)
}

fn append(app: &App, args: &Append) -> Result<Exit, CliError> {
    let events = if args.lines {
        lines(args, std::io::stdin().lock())?
    } else {
        let topic = args.topic.as_ref().map(ToString::to_string);
        let topic =
            topic.ok_or_else(|| CliError::Usage("`events append` needs a topic, or `--lines`".to_owned()))?;
        let raw = |json: &Option<Json>| {
            json.as_ref().map(|json| RawJson::parse(json.as_str()).expect("a `Json` is JSON"))
        };
        vec![NewEvent {
            topic,
            text: args.text.clone(),
            data: raw(&args.data),
            metadata: raw(&args.metadata),
            sender: Some(args.sender.to_string()),
            receiver: Some(args.receiver.to_string()),
            session_id: Some(args.session.to_string()),
            thread: app.thread(None).map(|thread| thread.to_string()),
            ticket: app.ticket(None).map(|ticket| ticket.to_string()),
        }]
    };
    let count = size::plural(events.len(), "event");
    let request = AppendRequest {
        ledger: ledger(app, &args.which, MakeLedger::Always)?,
        events,
        expected: args.expect.map(|expected| expected.to_string()),
        durability: args.durability.into(),
    };
    let done = app.service()?.append(&request)?;
    published(app, &done, || {
        let (first, last) = (&done.first, number(&done.last));
        let shown = if *first == done.last { last } else { format!("{}–{last}", number(first)) };
        let mut text = format!("Appended {count} to {}: {shown}\n", done.ledger);
        if let Some(snapshot) = &done.snapshot {
            put!(text, "The state changed; event {snapshot} says how\n");
        }
        text
    })
}

/// Says what was published, in JSON or in these words.
pub(crate) fn published(
    app: &App,
    done: &v1::Appended,
    told: impl FnOnce() -> String,
) -> Result<Exit, CliError> {
    app.answer(done, || {
        app.console.notes(&done.notes);
        Ok(told())
    })
}

/// Reads events, one JSON object a line.
fn lines(args: &Append, input: impl BufRead) -> Result<Vec<NewEvent>, CliError> {
    let (mut events, mut bytes) = (Vec::new(), 0_usize);
    // One byte more than may be: what is beyond the bound is refused, and not read.
    let input = input.take(APPEND_BYTES_MAX as u64 + 1);
    let too_much = |what: &str| CliError::Usage(format!("more than {what}; append them in several calls"));
    for (number, text) in (1..).zip(input.lines()) {
        let text = text.map_err(|source| CliError::io("read", Path::new("standard input"), source))?;
        bytes = bytes.saturating_add(text.len() + 1);
        if bytes > APPEND_BYTES_MAX {
            return Err(too_much(&size::bytes(APPEND_BYTES_MAX as u64)));
        }
        if text.trim().is_empty() {
            continue;
        }
        if events.len() == APPEND_EVENTS_MAX {
            return Err(too_much(&format!("{APPEND_EVENTS_MAX} events")));
        }
        let mut event: NewEvent = serde_json::from_str(&text)
            .map_err(|error| CliError::Usage(format!("line {number}: {error}")))?;
        event.sender.get_or_insert_with(|| args.sender.to_string());
        event.receiver.get_or_insert_with(|| args.receiver.to_string());
        event.session_id.get_or_insert_with(|| args.session.to_string());
        events.push(event);
    }
    if events.is_empty() {
        return Err(CliError::Usage("standard input holds no events".to_owned()));
    }
    Ok(events)
}

/// Returns what the flags ask for.
fn wanted(app: &App, wanted: &Wanted) -> Result<EventsRequest, CliError> {
    Ok(EventsRequest {
        ledger: ledger(app, &wanted.which, MakeLedger::Never)?,
        topics: wanted.topics.iter().map(ToString::to_string).collect(),
        sender: wanted.sender.as_ref().map(ToString::to_string),
        receiver: wanted.receiver.as_ref().map(ToString::to_string),
        session: wanted.session.as_ref().map(ToString::to_string),
        after: None,
        through: None,
        since: None,
        until: None,
        replayable: None,
        newest_first: false,
        limit: None,
    })
}

fn query(app: &App, args: &Query) -> Result<Exit, CliError> {
    let time = |text: &Option<String>| text.as_deref().map(|text| time::parse(text, app.now())).transpose();
    // Who gave no number takes what comes at once as JSON, and goes on by `next`.
    let default = (!app.console.json).then_some(ROWS_DEFAULT as u64);
    let limit = args.latest.or(args.limit).map(count);
    let request = EventsRequest {
        after: args.after,
        through: args.through,
        since: time(&args.since)?,
        until: time(&args.until)?,
        replayable: args.replayable.then_some(true),
        newest_first: args.latest.is_some(),
        limit: limit.or(default),
        ..wanted(app, &args.wanted)?
    };
    show(app, request, limit.is_none())
}

/// Returns how many events to show at most: 0 is all.
fn count(limit: usize) -> u64 {
    if limit == 0 { u64::MAX } else { limit as u64 }
}

fn tail(app: &App, args: &Tail) -> Result<Exit, CliError> {
    let limit = Some(count(args.limit));
    show(app, EventsRequest { newest_first: true, limit, ..wanted(app, &args.wanted)? }, false)
}

/// Shows what a query finds, oldest first.
fn show(app: &App, request: EventsRequest, may_be_cut: bool) -> Result<Exit, CliError> {
    if app.console.json {
        let (page, events) = found(app, request, |event| event)?;
        app.console.json(&v1::Events { events, ..page })?;
        return Ok(Exit::Done);
    }
    let (page, lines) = found(app, request, |shown| event::line(&shown, app.console.width))?;
    app.console.long_text(&lines.concat())?;
    if lines.is_empty() {
        let last = page.last.parse().unwrap_or(0);
        app.console.say(&format!("No event matches; {} has {}", page.ledger, many(last, "event")));
    } else if let Some(next) = page.next.filter(|_| may_be_cut) {
        app.console.hint(&format!("there may be more: `--after {next}` continues, `-n` shows more at once"));
    }
    Ok(Exit::Done)
}

/// Returns what `shown` makes of each event that a request finds, oldest first, and the answer to the first page but with
/// where the last one ends. Where the request has no limit the first page is all.
fn found<T>(
    app: &App,
    mut request: EventsRequest,
    shown: impl Fn(v1::Event) -> T,
) -> Result<(v1::Events, Vec<T>), CliError> {
    let service = app.service()?;
    let mut pages: Vec<Vec<T>> = Vec::new();
    loop {
        let mut page = service.events(&request)?;
        let events = std::mem::take(&mut page.events);
        request.limit = request.limit.map(|limit| limit.saturating_sub(events.len() as u64));
        pages.push(events.into_iter().map(&shown).collect());
        if page.next.is_none() || request.limit.is_none_or(|left| left == 0) {
            if request.newest_first {
                pages.reverse();
                page.next = None;
            }
            return Ok((page, pages.into_iter().flatten().collect()));
        }
        let from = if request.newest_first { &mut request.through } else { &mut request.after };
        from.clone_from(&page.next);
    }
}

fn follow(app: &App, args: &Follow) -> Result<Exit, CliError> {
    let request = FollowRequest {
        ledger: ledger(app, &args.wanted.which, MakeLedger::Looked)?,
        topics: args.wanted.topics.iter().map(ToString::to_string).collect(),
        sender: args.wanted.sender.as_ref().map(ToString::to_string),
        receiver: args.wanted.receiver.as_ref().map(ToString::to_string),
        session: args.wanted.session.as_ref().map(ToString::to_string),
        from: match (&args.cursor, args.after, args.beginning) {
            (Some(name), _, _) => FollowFrom::Cursor(name.clone()),
            (None, Some(after), _) => FollowFrom::After(after),
            (None, None, true) => FollowFrom::Beginning,
            (None, None, false) => FollowFrom::Now,
        },
        count: args.count,
    };
    let ended = CancelToken::default();
    let asked = ended.clone();
    let _listening = crate::signals::listen(move || asked.cancel())
        .map_err(|source| CliError::io("listen for signals in", Path::new("this process"), source))?;
    let control = Control { cancel: Some(&ended), ..Control::none() };
    let mut printed = Ok(());
    let mut each = |event: &v1::Event| {
        printed = print(app, event);
        if printed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let _hearing = app.hear_others()?;
    let told = app.service()?.follow(&request, &mut each, &control)?;
    printed.or_else(|error| if error.is_closed_pipe() { Ok(()) } else { Err(error) })?;
    if !app.console.json {
        app.console.say(&format!("Stopped after {}", many(told.events, "event")));
    }
    Ok(Exit::Done)
}

fn print(app: &App, shown: &v1::Event) -> Result<(), CliError> {
    if app.console.json {
        return app.console.json_line(shown);
    }
    app.console.text(&event::line(shown, app.console.width))
}

fn forget(app: &App, args: &EventsForget) -> Result<Exit, CliError> {
    let request = ForgetEventsRequest {
        ledger: if args.everywhere { None } else { Some(ledger(app, &args.which, MakeLedger::Never)?) },
        session: args.session.as_ref().map(ToString::to_string),
        events: args.events.clone(),
    };
    let service = app.service()?;
    let done = match service.plan_forget_events(&request) {
        // What an earlier try left in files is deleted all the same.
        Err(nothing) if args.yes && !args.dry_run && nothing.is(Code::NoEventWithText) => {
            service.apply_forget_events(&request, &PlanDigest::new(""), &Control::none())?
        }
        plan => {
            let plan = plan?;
            if !args.dry_run && !args.yes {
                let act = Final {
                    what: "forgetting events cannot be undone",
                    plan: &forgotten(&plan),
                    is_nothing: plan.ledgers.is_empty(),
                    question: "Empty these permanently? [y/N] ",
                    declined: "Nothing was forgotten.",
                };
                if !confirmed(app, &act)? {
                    return Ok(Exit::Done);
                }
            }
            if args.dry_run {
                plan
            } else {
                service.apply_forget_events(&request, &shown(plan.digest.as_ref()), &Control::none())?
            }
        }
    };
    let exit = app.answer(&done, || {
        let ids = app.short_ids(done.held_by.iter().take(HELD_MAX).copied())?;
        let stores = told_stores_left(app, &done.stores_left, done.dry_run);
        Ok(format!("{}{}{stores}", forgotten(&done), held(&done, ids)))
    })?;
    warn_unfinished(app, done.unfinished.as_deref());
    Ok(exit)
}

fn forgotten(done: &EventsForgotten) -> String {
    let mut text = String::new();
    let verb = if done.dry_run { "Would empty" } else { "Emptied" };
    for one in &done.ledgers {
        put!(text, "{verb} {} of {}\n", many(one.events, "event"), tame(&one.ledger));
    }
    text
}

/// Says which commits still hold what events said, and what deletes them.
fn held(done: &EventsForgotten, ids: ShortIds) -> String {
    let Some(first) = done.held_by.first() else { return String::new() };
    let named: Vec<String> = done.held_by.iter().take(HELD_MAX).map(|id| ids.cut(*id)).collect();
    let more = match done.held_by.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let whose = done.session_id.as_ref().map_or_else(|| ids.cut(*first), tame);
    format!(
        "What they say stays in {}: {}{more}\n{}: `stemma forget {whose}` deletes {}\n",
        many(done.held_by.len() as u64, "commit"),
        named.join(", "),
        Style::Hint.paint("hint"),
        if done.session_id.is_some() { "the session with its commits" } else { "a commit" },
    )
}

/// Returns the number of an event as text, for messages.
pub(crate) fn number(seq: &str) -> String {
    Style::Id.paint(seq)
}
