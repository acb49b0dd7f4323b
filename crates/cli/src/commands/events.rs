//! `events`: append to a ledger, and look at what is in it.
//!
//! Which ledger is a project's, what is scrubbed, and who is woken is the engine's.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::value::RawValue;
use stemmata_api::v1;
use stemmata_engine::{EventFilter, PublishOptions, Published, StartAt, Subscription, Told};
use stemmata_model::{Event, EventSeq, Json, LedgerId, NewEvent, NewPayload, Party, SessionId, Topic};
use stemmata_store::{
    Appended, BATCH_EVENTS_MAX, EVENT_BYTES_MAX, EventLog, EventQuery, Order, PAGE_ROWS_MAX,
};

use crate::args::ledger::{Append, Events, EventsCommand, EventsForget, Follow, Query, Tail, Wanted, Which};
use crate::errors::{CliError, Exit};
use crate::output::size::{self, many};
use crate::output::style::{Style, tame};
use crate::output::{event, put, time};
use crate::wiring::App;
use stemmata_service::wire;

/// Events that a person sees of a query unless they ask for more: about a screen.
const ROWS_DEFAULT: usize = 30;

/// How long `follow` waits before it looks whether it is to end.
const LOOK_MS: u64 = 250;

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

fn forget(app: &App, args: &EventsForget) -> Result<Exit, CliError> {
    let told = match &args.session {
        Some(session) if args.everywhere => Told::Session(session.clone(), None),
        Some(session) => Told::Session(session.clone(), Some(known_ledger(app, &args.which)?)),
        None => Told::Events(known_ledger(app, &args.which)?, args.events.iter().copied().collect()),
    };
    let ledgers = app.engine()?.forget_told(&told, !args.yes)?;
    if app.console.json {
        app.console.json(&v1::EventsForgotten {
            session_id: args.session.as_ref().map(ToString::to_string),
            events: ledgers.iter().map(|(_, events)| events).sum(),
            ledgers: ledgers
                .iter()
                .map(|(ledger, events)| v1::LedgerForgotten { ledger: ledger.to_string(), events: *events })
                .collect(),
            dry_run: !args.yes,
        })?;
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    for (ledger, events) in &ledgers {
        let (count, ledger) = (many(*events, "event"), tame(ledger.as_str()));
        if args.yes {
            put!(text, "Forgot what {count} of {ledger} said\n");
        } else {
            put!(text, "{count} of {ledger} would say nothing any more; `--yes` does it, for good\n");
        }
    }
    app.console.text(&text)?;
    Ok(Exit::Done)
}

/// Returns the ledger that is meant; a project's is made where it has none.
pub(crate) fn ledger(app: &App, which: &Which) -> Result<LedgerId, CliError> {
    if let Some(id) = &which.ledger {
        return Ok(id.clone());
    }
    let project = app.engine()?.project_at(&directory(app, which))?;
    app.console.notes(&project.notes);
    Ok(project.ledger)
}

/// Returns the ledger to read. A repository has one as soon as somebody asks; a folder without one gets none by looking.
pub(crate) fn ledger_to_read(app: &App, which: &Which) -> Result<LedgerId, CliError> {
    let is_repository = || directory(app, which).ancestors().any(|folder| folder.join(".git").exists());
    match known_ledger(app, which) {
        Err(CliError::NoLedger { .. }) if which.ledger.is_none() && is_repository() => ledger(app, which),
        found => found,
    }
}

/// Returns the ledger that is meant, without making one.
pub(crate) fn known_ledger(app: &App, which: &Which) -> Result<LedgerId, CliError> {
    if let Some(id) = &which.ledger {
        if app.engine()?.log().ledger(id)?.is_none() {
            return Err(stemmata_store::StoreError::LedgerMissing(id.clone()).into());
        }
        return Ok(id.clone());
    }
    let dir = directory(app, which);
    match app.engine()?.known_project_at(&dir)? {
        Some(project) => {
            app.console.notes(&project.notes);
            Ok(project.ledger)
        }
        None => Err(CliError::NoLedger { dir: app.environment.shown(&dir) }),
    }
}

/// Returns the directory whose project is meant.
pub(crate) fn directory(app: &App, which: &Which) -> std::path::PathBuf {
    app.environment.absolute(which.project.as_deref().unwrap_or_else(|| Path::new(".")))
}

fn append(app: &App, args: &Append) -> Result<Exit, CliError> {
    let events = if args.lines {
        lines(args, std::io::stdin().lock())?
    } else {
        let Some(topic) = args.topic.clone() else {
            return Err(CliError::Usage("`events append` needs a topic, or `--lines`".to_owned()));
        };
        let payload = NewPayload::Plain { text: args.text.clone(), data: args.data.clone() };
        vec![new_event(
            args.session.clone(),
            (topic, args.sender.clone(), args.receiver.clone()),
            payload,
            args.metadata.clone(),
        )]
    };
    let count = many(u64::try_from(events.len()).unwrap_or(u64::MAX), "event");
    let ledger = ledger(app, &args.which)?;
    let options = PublishOptions { expected: args.expect, durability: args.durability.into() };
    let done = app.engine()?.publish_with(&ledger, events, options)?;
    let (first, last) = numbers(&done);
    let shown = if first == last { number(last) } else { format!("{}–{}", number(first), number(last)) };
    let mut text = format!("Appended {count} to {ledger}: {shown}\n");
    if let Some(snapshot) = done.snapshot {
        put!(text, "The state changed; event {snapshot} says how\n");
    }
    published(app, &ledger, &done, &text)
}

/// Returns the first and the last number of what was given to publish: what opened its sessions stands before it.
fn numbers(done: &Published) -> (EventSeq, EventSeq) {
    let Appended { first, last, .. } = done.appended;
    let opened = u64::try_from(done.opened).unwrap_or(u64::MAX);
    (first.get().checked_add(opened).and_then(EventSeq::new).unwrap_or(last), last)
}

/// Says what was published, in JSON or in these words.
pub(crate) fn published(
    app: &App,
    ledger: &LedgerId,
    done: &Published,
    text: &str,
) -> Result<Exit, CliError> {
    if app.console.json {
        let (first, last) = numbers(done);
        app.console.json(&v1::Appended {
            ledger: ledger.to_string(),
            first: first.to_string(),
            last: last.to_string(),
            snapshot: done.snapshot.map(|seq| seq.to_string()),
            notes: wire::notes(&done.notes),
        })?;
        return Ok(Exit::Done);
    }
    app.console.notes(&done.notes);
    app.console.text(text)?;
    Ok(Exit::Done)
}

fn new_event(
    session: SessionId,
    (topic, sender, receiver): (Topic, Party, Party),
    payload: NewPayload,
    metadata: Option<Json>,
) -> NewEvent {
    let event = NewEvent::new(session, topic, sender, payload).to(receiver);
    match metadata {
        Some(metadata) => event.with_metadata(metadata),
        None => event,
    }
}

/// Reads events, one JSON object a line.
fn lines(args: &Append, input: impl BufRead) -> Result<Vec<NewEvent>, CliError> {
    let bytes_max = EVENT_BYTES_MAX.saturating_mul(16);
    let (mut events, mut bytes) = (Vec::new(), 0_usize);
    // One byte more than may be: what is beyond the bound is refused, and not read.
    let input = input.take(u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1));
    for (number, text) in (1..).zip(input.lines()) {
        let text = text.map_err(|source| CliError::io("read", Path::new("standard input"), source))?;
        bytes = bytes.saturating_add(text.len() + 1);
        if bytes > bytes_max {
            return Err(CliError::Usage(format!(
                "more than {}; append them in several calls",
                size::bytes(u64::try_from(bytes_max).unwrap_or(u64::MAX))
            )));
        }
        if text.trim().is_empty() {
            continue;
        }
        if events.len() == BATCH_EVENTS_MAX {
            return Err(CliError::Usage(format!(
                "more than {BATCH_EVENTS_MAX} events; append them in several calls"
            )));
        }
        events.push(
            event_of(args, &text).map_err(|reason| CliError::Usage(format!("line {number}: {reason}")))?,
        );
    }
    if events.is_empty() {
        return Err(CliError::Usage("standard input holds no events".to_owned()));
    }
    Ok(events)
}

fn event_of(args: &Append, text: &str) -> Result<NewEvent, String> {
    Json::parse(text).map_err(|error| error.to_string())?;
    // Not by way of values: they would round numbers that no float holds.
    let fields: BTreeMap<String, &RawValue> =
        serde_json::from_str(text).map_err(|_| "not a JSON object".to_owned())?;
    let known = ["topic", "text", "data", "metadata", "sender", "receiver", "session_id"];
    if let Some(other) = fields.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(format!("`{other}` is none of {}", known.join(", ")));
    }
    let given = |name: &str| fields.get(name).map(|value| value.get()).filter(|text| *text != "null");
    let word = |name: &str| {
        let text = given(name).map(serde_json::from_str::<String>).transpose();
        text.map_err(|_| format!("`{name}` is no string"))
    };
    let name = |name: &str, other: &str| word(name).map(|text| text.unwrap_or_else(|| other.to_owned()));
    let whole =
        |name: &str| given(name).map(Json::parse).transpose().map_err(|error| format!("`{name}`: {error}"));
    let invalid = |error: stemmata_model::NameError| error.to_string();
    let topic = word("topic")?.ok_or("no `topic`")?;
    let (data, metadata) = (whole("data")?, whole("metadata")?);
    let topic = Topic::new(topic).map_err(invalid)?;
    let sender = Party::new(name("sender", args.sender.as_str())?).map_err(invalid)?;
    let receiver = Party::new(name("receiver", args.receiver.as_str())?).map_err(invalid)?;
    let session = SessionId::new(name("session_id", args.session.as_str())?).map_err(invalid)?;
    let payload = NewPayload::Plain { text: word("text")?, data };
    Ok(new_event(session, (topic, sender, receiver), payload, metadata))
}

/// Returns what the flags ask for.
fn wanted(wanted: &Wanted) -> EventQuery {
    EventQuery {
        topics: wanted.topics.clone(),
        sender: wanted.sender.clone(),
        receiver: wanted.receiver.clone(),
        session: wanted.session.clone(),
        ..EventQuery::default()
    }
}

fn filter(wanted: &Wanted) -> EventFilter {
    EventFilter {
        topics: wanted.topics.clone(),
        sender: wanted.sender.clone(),
        receiver: wanted.receiver.clone(),
        session: wanted.session.clone(),
        replayable: None,
    }
}

fn query(app: &App, args: &Query) -> Result<Exit, CliError> {
    let ledger = known_ledger(app, &args.wanted.which)?;
    let time = |text: &Option<String>| text.as_deref().map(|text| time::parse(text, app.now())).transpose();
    let default = if app.console.json { PAGE_ROWS_MAX } else { ROWS_DEFAULT };
    let (order, limit) = match (args.latest, args.limit) {
        (Some(latest), _) => (Order::NewestFirst, latest),
        (None, limit) => (Order::OldestFirst, limit.unwrap_or(default)),
    };
    let query = EventQuery {
        after: args.after,
        through: args.through,
        since: time(&args.since)?,
        until: time(&args.until)?,
        replayable: args.replayable.then_some(true),
        order,
        limit,
        ..wanted(&args.wanted)
    };
    show(app, &ledger, &query, args.limit.is_none() && args.latest.is_none())
}

fn tail(app: &App, args: &Tail) -> Result<Exit, CliError> {
    let ledger = known_ledger(app, &args.wanted.which)?;
    let query = EventQuery { order: Order::NewestFirst, limit: args.limit, ..wanted(&args.wanted) };
    show(app, &ledger, &query, false)
}

/// Shows what a query finds, oldest first.
fn show(app: &App, ledger: &LedgerId, query: &EventQuery, may_be_cut: bool) -> Result<Exit, CliError> {
    let log = app.engine()?.log();
    let last = log.ledger(ledger)?.map_or(0, |known| known.last);
    if app.console.json {
        // Who gave no number takes what comes at once, and goes on by `next`.
        let (events, next) = found(log, ledger, query, may_be_cut, &wire::ledger::event)?;
        app.console.json(&v1::Events {
            ledger: ledger.to_string(),
            events,
            last: last.to_string(),
            next: next.map(|next| next.to_string()),
        })?;
        return Ok(Exit::Done);
    }
    let (lines, next) = found(log, ledger, query, false, &|shown| event::line(shown, app.console.width))?;
    app.console.long_text(&lines.concat())?;
    if lines.is_empty() {
        app.console.say(&format!("No event matches; {ledger} has {}", many(last, "event")));
    } else if let Some(next) = next.filter(|_| may_be_cut) {
        app.console.say(&format!(
            "{}: there may be more: `--after {next}` goes on, `-n` shows more at once",
            Style::Hint.paint("hint")
        ));
    }
    Ok(Exit::Done)
}

/// Returns what `shown` makes of each event that a query finds, oldest first, and after which one there may be more. Events
/// are read page by page; of one page only where it says so.
fn found<T>(
    log: &dyn EventLog,
    ledger: &LedgerId,
    query: &EventQuery,
    is_one_page: bool,
    shown: &dyn Fn(&Event) -> T,
) -> Result<(Vec<T>, Option<EventSeq>), CliError> {
    let (mut all, mut next, mut rest) = (Vec::new(), None, Some(query.clone()));
    while let Some(asked) = rest {
        let page = log.page(ledger, &asked)?;
        all.extend(page.events.iter().map(shown));
        next = page.next;
        rest = asked.rest(&page).filter(|_| !is_one_page);
    }
    if query.order == Order::NewestFirst {
        all.reverse();
        next = None;
    }
    Ok((all, next))
}

fn follow(app: &App, args: &Follow) -> Result<Exit, CliError> {
    let engine = app.engine()?;
    let ledger = ledger_to_read(app, &args.wanted.which)?;
    let from = match (&args.cursor, args.after, args.beginning) {
        (Some(name), _, _) => StartAt::Named(name.clone()),
        (None, Some(after), _) => StartAt::After(after),
        (None, None, true) => StartAt::Beginning,
        (None, None, false) => StartAt::Now,
    };
    let subscription = engine.subscribe(&ledger, filter(&args.wanted), from)?;
    let ended = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&ended);
    let _listening = crate::signals::listen(move || asked.store(true, Ordering::Relaxed))
        .map_err(|source| CliError::io("listen for signals in", Path::new("this process"), source))?;
    let told = each(app, subscription, args, &ended)?;
    if !app.console.json {
        app.console.say(&format!(
            "Stopped after {}",
            size::plural(usize::try_from(told).unwrap_or(usize::MAX), "event")
        ));
    }
    Ok(Exit::Done)
}

/// Shows events as they come, until somebody asks to end or enough have come.
fn each(
    app: &App,
    mut subscription: Subscription,
    args: &Follow,
    ended: &AtomicBool,
) -> Result<u64, CliError> {
    let mut told = 0;
    while !ended.load(Ordering::Relaxed) && args.count.is_none_or(|count| told < count) {
        let Some(event) = subscription.next(Duration::from_millis(LOOK_MS))? else { continue };
        let shown = print(app, &event);
        match shown {
            Err(error) if error.is_closed_pipe() => return Ok(told),
            done => done?,
        }
        told += 1;
        if args.cursor.is_some() {
            subscription.acknowledge()?;
        }
    }
    Ok(told)
}

fn print(app: &App, event: &Event) -> Result<(), CliError> {
    if app.console.json {
        return app.console.json_line(&wire::ledger::event(event));
    }
    app.console.text(&event::line(event, app.console.width))
}

/// Returns the number of an event as text, for messages.
pub(crate) fn number(seq: EventSeq) -> String {
    Style::Id.paint(&seq.to_string())
}
