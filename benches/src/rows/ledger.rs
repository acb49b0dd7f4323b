//! A ledger of events: appending, the newest of a topic, folding, and a state that is taken up again.
//! Not a turn, which also makes a commit: that is `checkpoint`.

use std::path::Path;

use anyhow::Context as _;
use stemmata_engine::Engine;
use stemmata_model::{
    Event, EventSeq, Json, LedgerId, NewEvent, NewPayload, Party, SessionId, Timestamp, Topic, topics,
};
use stemmata_prompt::reduce::Reducer;
use stemmata_prompt::reduce::memory::MemoryReducer;
use stemmata_prompt::reduce::snapshot::StateSnapshotter;
use stemmata_store::{Append, Durability, EventLog, EventQuery, FileLog, FileLogOptions, PAGE_ROWS_MAX};

use crate::measure::{Contender, Runs, alternate, spent, timed};
use crate::peers::append::AppendFile;
use crate::peers::messages::{Message, Messages};
use crate::report::{Figure, Line, Section, Target};
use crate::{scratch, stores};

use super::Bench;

/// Events that are there before, at size 1.
pub(super) const STORED: usize = 10_000;

/// Single appends that are timed.
const SINGLES: usize = 1_000;

/// Batches that are timed, and the events of each.
const BATCHES: usize = 100;
const BATCH: usize = 100;

/// How often a look for the newest is timed.
const LOOKS: usize = 200;

/// Newest events that are asked for.
const LATEST: usize = 5;

/// Events after the saved state.
const TAIL: u64 = 100;

/// How often folds and restores are timed.
const ROUNDS: usize = 5;

/// Events that are filled in at once.
const FILL: usize = 2_000;

/// A durable append against the same bytes in a file.
const DURABLE: Target = Target::RatioAtMost(2.0);

/// Without a sync, against the seed's own figures for ten thousand events divided by five (2.9 s and 0.8 s).
const SINGLE: Target = Target::AtMost(Figure::Seconds(0.000_058));
const BATCHED: Target = Target::AtMost(Figure::Seconds(0.001_6));

/// The newest of a topic, whatever the ledger's length.
const FLAT: Target = Target::AtMost(Figure::Seconds(0.001));

/// Folding, and a state of any ledger with its tail.
const REPLAY: Target = Target::RatioAtLeast(1.0);
const RESTORE: Target = Target::AtMost(Figure::Seconds(0.050));

const FILE: &str = "append + fdatasync";
const LAZY: &str = "append, no sync";
const TABLE: &str = "the seed's table, NORMAL";

pub(super) fn run(bench: &Bench) -> anyhow::Result<Section> {
    let mut lines = Vec::new();
    for scale in bench.scales() {
        let folder = scratch::folder()?;
        let engine = stores::engine(&folder.path().join("store"))?;
        let files = FileLog::open(folder.path(), FileLogOptions::default())?;
        let mut table = Messages::create(&folder.path().join("messages.db"))?;
        let count = STORED * usize::try_from(*scale)?;
        fill(engine.log(), &mut table, count)?;
        if *scale == 1 {
            lines.extend(appends(folder.path(), (engine.log(), &files), &mut table)?);
        }
        lines.extend(newest(*scale, engine.log(), &table)?);
        lines.extend(folds(*scale, &engine, count)?);
    }
    Ok(Section {
        name: "ledger",
        title: "events of about 300 bytes".to_owned(),
        notes: vec![
            format!(
                "{SINGLES} appends of one event and {BATCHES} of {BATCH}, alternating; the same bytes as lines of a file, \
                 made before the clock runs, as are the events. \
                 Targets without a sync are a fifth of what the seed's implementation took on its own machine."
            ),
            format!(
                "The newest {LATEST} of a topic that is a tenth of the ledger, and of one that came twice at its start. \
                 A state is saved, {TAIL} events follow, and it is taken up again."
            ),
        ],
        lines,
    })
}

/// The mix of the seed's own measurement: one issue and one plan at the start, then four topics.
pub(super) fn message(number: usize) -> Message {
    let topic = match number {
        0 => topics::ISSUE_OPENED,
        1 => topics::PLAN_READY,
        _ => match number % 10 {
            0 => topics::STATE_SNAPSHOT,
            1 => topics::VALIDATION_RESULT,
            2..=4 => topics::WORKER_PROGRESS,
            _ => "TOKEN_USAGE",
        },
    };
    let text = format!("{number:08} of the events that a worker writes while it goes on ").repeat(3);
    let data = format!(
        "{{\"number\":{number},\"percentComplete\":{},\"files\":[\"src/a.rs\",\"src/b.rs\"],\"approved\":{}}}",
        number % 100,
        number.is_multiple_of(2)
    );
    Message { topic: topic.to_owned(), text, data }
}

fn event(message: &Message) -> anyhow::Result<NewEvent> {
    let payload =
        NewPayload::Plain { text: Some(message.text.clone()), data: Some(Json::parse(&message.data)?) };
    let topic = Topic::new(message.topic.clone())?;
    Ok(NewEvent::new(SessionId::new("bench")?, topic, Party::new("worker")?, payload))
}

pub(super) fn ledger() -> LedgerId {
    LedgerId::new("bench").expect("a short name")
}

pub(super) fn events(messages: &[Message]) -> anyhow::Result<Vec<NewEvent>> {
    messages.iter().map(event).collect()
}

pub(super) fn append(
    log: &dyn EventLog,
    events: Vec<NewEvent>,
    durability: Durability,
) -> anyhow::Result<()> {
    let now = Timestamp::from_micros(1_700_000_000_000_000);
    log.append(Append { durability, ..Append::new(ledger(), events, now) })?;
    Ok(())
}

fn fill(log: &dyn EventLog, table: &mut Messages, count: usize) -> anyhow::Result<()> {
    for start in (0..count).step_by(FILL) {
        let messages: Vec<Message> = (start..count.min(start + FILL)).map(message).collect();
        append(log, events(&messages)?, Durability::None)?;
        table.put(&messages)?;
    }
    Ok(())
}

/// Returns messages as the lines of a file.
fn bytes(messages: &[Message]) -> Vec<u8> {
    let line = |message: &Message| format!("{}\t{}\t{}\n", message.topic, message.text, message.data);
    messages.iter().flat_map(|message| line(message).into_bytes()).collect()
}

fn appends(
    folder: &Path,
    (log, files): (&dyn EventLog, &dyn EventLog),
    table: &mut Messages,
) -> anyhow::Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (name, rounds, batch, lazy) in
        [("one event", SINGLES, 1, SINGLE), ("100 at once", BATCHES, BATCH, BATCHED)]
    {
        let of = |round: usize| -> Vec<Message> {
            (0..batch).map(|number| message(10_000_000 + round * batch + number)).collect()
        };
        let mut synced = AppendFile::create(&folder.join(format!("synced-{batch}")))?;
        let mut unsynced = AppendFile::create(&folder.join(format!("unsynced-{batch}")))?;
        let durable: [Contender<'_>; 3] = [
            Box::new(|round| {
                let bytes = bytes(&of(round));
                spent(|| synced.append(&bytes))
            }),
            Box::new(|round| {
                let events = events(&of(round))?;
                spent(|| append(log, events, Durability::Batch))
            }),
            Box::new(|round| {
                let events = events(&of(round))?;
                spent(|| append(files, events, Durability::Batch))
            }),
        ];
        // In a run of their own: one after the other is how they come, and a sync in between is the next one's cost.
        let quick: [Contender<'_>; 3] = [
            Box::new(|round| {
                let bytes = bytes(&of(round));
                spent(|| unsynced.append_unsynced(&bytes))
            }),
            Box::new(|round| {
                let events = events(&of(round))?;
                spent(|| append(log, events, Durability::None))
            }),
            Box::new(|round| {
                let messages = of(round);
                spent(|| table.put(&messages))
            }),
        ];
        let [synced, durable, in_files] = alternate(rounds, durable)?;
        let [unsynced, quick, table] = alternate(rounds, quick)?;
        let line = |case: String, ours: &Runs, percent: usize, peer: &str, theirs: &Runs| {
            Line::ours(1, case, Figure::time(ours.wall.percentile(percent)))
                .beside(peer, Figure::time(theirs.wall.percentile(percent)))
        };
        lines.extend([
            line(format!("{name}, durable, p50"), &durable, 50, FILE, &synced).target(DURABLE),
            line(format!("{name}, durable, p99"), &durable, 99, FILE, &synced).target(DURABLE),
            line(format!("{name}, files, durable, p50"), &in_files, 50, FILE, &synced).target(DURABLE),
            line(format!("{name}, no sync, p50"), &quick, 50, LAZY, &unsynced).target(lazy),
            line(format!("{name}, no sync, p50"), &quick, 50, TABLE, &table),
        ]);
    }
    Ok(lines)
}

fn newest(scale: u32, log: &dyn EventLog, table: &Messages) -> anyhow::Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (name, topic, expected) in
        [("often", topics::VALIDATION_RESULT, LATEST), ("twice", topics::PLAN_READY, 1)]
    {
        let query = EventQuery::latest(Topic::new(topic)?, LATEST);
        let found = |count: usize| {
            anyhow::ensure!(count == expected, "{count} events of {topic}");
            Ok(())
        };
        let contenders: [Contender<'_>; 2] = [
            Box::new(|_| {
                let (spent, events) = timed(|| Ok(log.events(&ledger(), &query)?))?;
                found(events.len())?;
                Ok(spent)
            }),
            Box::new(|_| {
                let (spent, count) = timed(|| table.latest(topic, LATEST))?;
                found(count)?;
                Ok(spent)
            }),
        ];
        // The peer walks its whole table: a few looks say enough.
        let [ours, theirs] = alternate(if scale == 1 { LOOKS } else { LOOKS / 20 }, contenders)?;
        let line = Line::ours(
            scale,
            format!("latest {LATEST}, a topic that came {name}"),
            Figure::time(ours.wall.median()),
        );
        lines.push(line.beside(TABLE, Figure::time(theirs.wall.median())).target(FLAT));
    }
    Ok(lines)
}

fn folds(scale: u32, engine: &Engine, count: usize) -> anyhow::Result<Vec<Line>> {
    let id = ledger();
    let mut in_memory = Vec::new();
    let mut from_log = Vec::new();
    let mut both = [StateSnapshotter::NAME, MemoryReducer::NAME].map(|_| Vec::new());
    for _ in 0..ROUNDS.min(if scale >= 100 { 2 } else { ROUNDS }) {
        let (spent, _) = timed(|| Ok(engine.replay::<MemoryReducer>(&id)?))?;
        from_log.push(spent.wall);
    }
    let events = page(engine.log(), PAGE_ROWS_MAX)?;
    for _ in 0..ROUNDS * 4 {
        let (spent, _) = timed(|| Ok(folded::<MemoryReducer>(&id, &events)))?;
        both[1].push(spent.wall);
        in_memory.push(spent.wall);
        let (spent, _) = timed(|| Ok(folded::<StateSnapshotter>(&id, &events)))?;
        both[0].push(spent.wall);
    }
    let whole = engine.replay::<MemoryReducer>(&id)?;
    engine.save_folded(&id, &whole, true)?;
    for number in 0..TAIL {
        let event = event(&message(20_000_000 + usize::try_from(number)?))?;
        append(engine.log(), vec![event], Durability::None)?;
    }
    let mut restored = Vec::new();
    for _ in 0..ROUNDS * 4 {
        let (spent, folded) = timed(|| Ok(engine.fold::<MemoryReducer>(&id, None)?))?;
        anyhow::ensure!(
            folded.replayed == TAIL && folded.saved_through > 0,
            "{} events were folded",
            folded.replayed
        );
        restored.push(spent.wall);
    }
    let times = |times: Vec<_>| crate::measure::Times::new(times).median();
    let read = u64::try_from(events.len())?;
    let goal = Figure::PerSecond(1_000_000.0);
    let [snapshots, memories] = both;
    Ok(vec![
        Line::ours(scale, "fold, state snapshots", Figure::rate(read, times(snapshots)))
            .beside("1,000,000 a second", goal)
            .target(REPLAY),
        Line::ours(scale, "fold, memory", Figure::rate(read, times(memories)))
            .beside("1,000,000 a second", goal)
            .target(REPLAY),
        Line::ours(scale, "read and fold, memory", Figure::rate(u64::try_from(count)?, times(from_log))),
        Line::ours(scale, format!("saved state and {TAIL} events"), Figure::time(times(restored)))
            .target(RESTORE),
    ])
}

fn folded<R: Reducer>(id: &LedgerId, events: &[Event]) -> R {
    let mut reducer = R::new(id);
    for event in events {
        reducer.apply(event);
    }
    reducer
}

fn page(log: &dyn EventLog, limit: usize) -> anyhow::Result<Vec<Event>> {
    let events = log.events(&ledger(), &EventQuery::after(EventSeq::new(1), limit))?;
    events.first().context("an empty ledger")?;
    Ok(events)
}
