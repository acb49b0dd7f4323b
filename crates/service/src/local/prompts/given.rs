//! The guard over entries that a request has: read, judged, and stored nowhere.

use std::collections::HashSet;

use stemmata_api::v1::{GuardGiven, GuardReport, GuardRequest, TURN_ENTRIES_MAX, TurnEntry, TurnWindow};
use stemmata_engine::{Engine, EntryHint, GivenEntries, GivenWanted, WindowRules, window_within_model};
use stemmata_model::{Entry, Timestamp, TokenCounter as _, Tokens};

use super::guard::{judged, window_bad};
use crate::fault::Fault;
use crate::local::bad_request;
use crate::local::counters::counter_or_estimate;
use crate::local::turns::entry::{entry, hint};
use crate::local::turns::window;

/// Refuses what says nothing of a commit: its session has settings, tasks and hints of its own.
pub(super) fn refuse_beside_commit(request: &GuardRequest) -> Result<(), Fault> {
    let fields = [
        ("limits", request.limits.is_some()),
        ("task", request.task.is_some()),
        ("completed", !request.completed.is_empty()),
        ("compacts", request.compacts),
    ];
    match fields.iter().find(|(_, is_said)| *is_said) {
        Some((field, _)) => Err(bad_request(field, "it is about `entries`, and the request names a commit")),
        None => Ok(()),
    }
}

pub(super) fn report(
    engine: &Engine,
    (request, given): (&GuardRequest, &[TurnEntry]),
    (rules, now): (&WindowRules, Timestamp),
) -> Result<GuardReport, Fault> {
    let (entries, hints) = read(given)?;
    let asked = request.limits.clone().unwrap_or_else(TurnWindow::unsaid);
    let newest = || entries.iter().rev().find_map(|entry| entry.meta.model.clone());
    let model = asked.model.clone().or_else(newest);
    let Limit { tokens, from, is_assumed } = limit(request, (&asked, model.as_deref()), rules)?;
    let config = window::config(&asked, tokens, rules)?;
    let named = asked.counter.as_deref().or(request.counter.as_deref());
    let (counter, note) = counter_or_estimate(engine, named, model.as_deref())?;
    let next_operation = asked.next_operation.as_deref().or(request.next_operation.as_deref());
    let wanted = GivenWanted {
        config: &config,
        counter: &counter,
        overhead: Tokens(asked.overhead_tokens.max(request.overhead_tokens)),
        tasks_completed: asked.tasks_completed.unwrap_or(request.tasks_completed),
        next_operation,
        compacts: request.compacts,
        now,
    };
    let given = GivenEntries { entries, hints, task: request.task.as_ref(), completed: &request.completed };
    let shrunk = engine.shrink(given, &wanted)?;
    let report = judged(shrunk.guarded, config.window());
    let mut notes = report.notes.clone();
    notes.extend(note);
    Ok(GuardReport {
        limit_from: from,
        limit_assumed: is_assumed,
        hidden: shrunk.hidden_entries,
        counter: counter.name(),
        model,
        notes,
        given: Some(GuardGiven {
            cut: shrunk.cut,
            archived: shrunk.archived,
            compaction_due: shrunk.due.is_due,
            compaction_reason: shrunk.due.reason,
            compaction: shrunk.compaction,
            pruned: shrunk.pruned,
            may_call: report.overflow.is_none(),
            entries: shrunk.entries.iter().map(window::entry).collect(),
        }),
        ..report
    })
}

/// Reads the entries of a request. One without an id has its place for one.
fn read(given: &[TurnEntry]) -> Result<(Vec<Entry>, Vec<EntryHint>), Fault> {
    if given.len() > TURN_ENTRIES_MAX {
        return Err(bad_request(
            "entries",
            format!("more than {TURN_ENTRIES_MAX}; judge the newest of them"),
        ));
    }
    let (mut entries, mut hints) = (Vec::with_capacity(given.len()), Vec::new());
    let mut taken = HashSet::new();
    for (number, one) in (1_usize..).zip(given) {
        let bad = |reason: String| bad_request("entries", format!("entry {number}: {reason}"));
        let read = entry(one, &|| format!("entry-{number}")).map_err(bad)?;
        if !taken.insert(read.id.clone()) {
            return Err(bad(format!("another entry has its id, `{}`", read.id)));
        }
        hints.extend(hint(one, &read).map_err(bad)?);
        entries.push(read);
    }
    Ok((entries, hints))
}

/// The window that is meant, and where it comes from.
struct Limit {
    tokens: Tokens,
    from: String,
    is_assumed: bool,
}

fn limit(
    request: &GuardRequest,
    (asked, model): (&TurnWindow, Option<&str>),
    rules: &WindowRules,
) -> Result<Limit, Fault> {
    let said =
        |tokens: u64, from: &str| Limit { tokens: Tokens(tokens), from: from.to_owned(), is_assumed: false };
    if let Some(tokens) = asked.tokens.or(request.window) {
        return Ok(said(tokens, "the request"));
    }
    if let Some(tokens) = rules.tokens {
        return Ok(said(tokens, "`window.tokens`"));
    }
    let unknown = || {
        window_bad(
            "the window of the entries is not known: name `window`, or a `model` in `limits`, or set `window.tokens`",
        )
    };
    let (name, known) = window_within_model(None, model).ok_or_else(unknown)?;
    Ok(Limit { is_assumed: known.is_assumed, ..said(known.tokens, &known.told(name)) })
}
