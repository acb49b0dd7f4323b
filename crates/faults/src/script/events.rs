//! Steps that append events: alone, with a commit that is made of their lines, and forgetting some of them.

use anyhow::Context as _;
use stemmata_model::{
    Closure, CommitCore, CommitType, Counts, EventSeq, FormatId, Json, LedgerId, NewEvent, NewPayload, Party,
    RulesHash, SessionId, Template, Topic, artifact_id,
};
use stemmata_store::{Append, ContentPart, Coverage, Durability, NewCommit, NewContent, SavedState, Write};

use super::Act;
use crate::ledger::Done;

/// The ledger of the workload.
pub(crate) fn log_id() -> LedgerId {
    LedgerId::new("workload").expect("a constant name is a name")
}

/// Returns what the event with a number says, as JSON where it is a line.
pub(crate) fn words(number: u64) -> String {
    format!("\"event {number} of the workload\"")
}

/// Says whether the event with a number is of the session that is forgotten.
pub(crate) const fn is_forgotten(number: u64) -> bool {
    number % 4 == 3
}

fn new_event(number: u64, is_line: bool) -> anyhow::Result<NewEvent> {
    let payload = if is_line {
        NewPayload::Line(Json::parse(&words(number))?)
    } else {
        NewPayload::Plain { text: Some(words(number)), data: None }
    };
    let session = SessionId::new(if is_forgotten(number) { "third" } else { "first" })?;
    Ok(NewEvent::new(session, Topic::new("user_turn")?, Party::new("ada")?, payload))
}

fn appending(act: &Act<'_>, from: u64, to: u64, is_line: bool) -> anyhow::Result<Append> {
    let events = (from + 1..=to).map(|number| new_event(number, is_line));
    let append = Append::new(log_id(), events.collect::<anyhow::Result<_>>()?, act.now());
    Ok(Append { expected: Some(from), durability: Durability::Full, ..append })
}

fn last(act: &Act<'_>) -> anyhow::Result<u64> {
    Ok(act.engine.log().ledger(&log_id())?.map_or(0, |known| known.last))
}

/// Appends plain events in batches; the last number says how far an interrupted run came.
pub(super) fn append(act: &Act<'_>, from: u64, to: u64) -> anyhow::Result<Done> {
    let mut at = last(act)?;
    anyhow::ensure!((from..=to).contains(&at), "the ledger is at {at}");
    while at < to {
        let next = (at + 7).min(to);
        let care = [Durability::Full, Durability::Batch][usize::from(at % 2 == 0)];
        let append = Append { durability: care, ..appending(act, at, next, false)? };
        at = act.engine.log().append(append)?.last.get();
    }
    Ok(Done { events: Some(to), ..Done::default() })
}

/// Appends lines without a sync from a second opening of the store, as another process would; then stores one of them once
/// more, which changes nothing and promises all of them.
pub(super) fn known_lines(act: &Act<'_>, from: u64, to: u64) -> anyhow::Result<Done> {
    let at = last(act)?;
    anyhow::ensure!(at == from || at == to, "the ledger is at {at}");
    if at == from {
        let other = act.stage.engine(act.day)?;
        let append = Append { durability: Durability::None, ..appending(act, from, to, true)? };
        other.log().append(append)?;
    }
    let line = NewContent::literal(format!("{}\n", words(to)).into_bytes());
    act.engine.store().commit_batch(vec![Write::Content(line)])?;
    Ok(Done { events: Some(to), ..Done::default() })
}

/// Appends lines, and stores a commit that is made of them, in one transaction.
pub(super) fn with_commit(act: &Act<'_>, from: u64, to: u64) -> anyhow::Result<Done> {
    let lines: Vec<Vec<u8>> =
        (from + 1..=to).map(|number| format!("{}\n", words(number)).into_bytes()).collect();
    let id = artifact_id(&lines.concat());
    let slice =
        |line: &Vec<u8>| ContentPart::Slice { of: artifact_id(line), offset: 0, length: line.len() as u64 };
    let core = CommitCore {
        parent: None,
        commit_type: CommitType::Delta,
        artifact: id,
        native: None,
        format: FormatId::new("own-v1")?,
        template: Template::new("own")?,
        created_at: super::stage::now(0),
    };
    let commit = core.id();
    if last(act)? == from {
        let state = Json::parse("{\"turns\":3}")?;
        let state = SavedState { name: "memory".to_owned(), version: 1, through: to, position: None, state };
        act.engine.store().commit_batch(vec![
            Write::Append(Box::new(appending(act, from, to, true)?)),
            Write::Content(NewContent::composed(id, lines.iter().map(slice).collect())),
            Write::Commit(NewCommit {
                core,
                rules: RulesHash::NONE,
                closure: Closure::Closed,
                counts: Counts::default(),
            }),
            Write::Covers(Coverage {
                commit,
                ledger: log_id(),
                through: EventSeq::new(to).context("a place")?,
            }),
            Write::SaveStates { ledger: log_id(), states: vec![state] },
        ])?;
    }
    let covered = act.engine.store().last_covered(&log_id())?.context("a commit that covers the ledger")?;
    anyhow::ensure!((covered.commit, covered.through.get()) == (commit, to), "{covered:?}");
    Ok(Done { tips: vec![commit], events: Some(to), ..Done::default() })
}
