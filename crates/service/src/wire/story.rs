//! What happened, as wire types: turns and sessions.

use std::collections::HashMap;

use stemmata_api::v1;
use stemmata_engine::prompt::story::{SessionTurn, Told, TurnCall, TurnOutline, TurnPiece, changed_files};
use stemmata_engine::prompt::title::title;
use stemmata_engine::{Overview, ShownTurn};
use stemmata_model::CommitId;
use stemmata_store::Session;

use crate::wire;

/// Microseconds of a second.
const SECOND: i64 = 1_000_000;

/// Returns the wire form of a turn; `full` has thoughts, arguments and results too.
pub(crate) fn turn(ctx: CommitId, turn: &ShownTurn, full: bool) -> v1::ShownTurn {
    // A link names the entry that makes the call or the one that answers it. Of several calls in one entry nobody knows which
    // started its subagent: they share them in their order.
    let mut started: HashMap<&str, Vec<&v1::StartedSubagent>> = HashMap::new();
    for subagent in turn.subagents.iter().rev() {
        let entry = subagent.entry.as_ref().map_or("", |entry| entry.as_str());
        started.entry(entry).or_default().push(subagent);
    }
    let id_of = |position: usize| turn.entries.get(position).map_or("", |entry| entry.id.as_str());
    let pieces = turn.pieces.iter().map(|told| {
        let subagent = match &told.what {
            Told::Called(call) if call.is_subagent => {
                let answer = call.answered_at.map(id_of);
                let mut names = [Some(id_of(told.position)), answer].into_iter().flatten();
                names.find_map(|name| started.get_mut(name)?.pop())
            }
            _ => None,
        };
        v1::TurnPiece {
            entry: id_of(told.position).to_owned(),
            ordinal: turn.entries.get(told.position).map_or(0, |entry| entry.ordinal),
            at: turn.entries.get(told.position).and_then(|entry| entry.at),
            ..piece(told, subagent, full)
        }
    });
    let pieces: Vec<v1::TurnPiece> = pieces.collect();
    v1::ShownTurn {
        ctx,
        pieces,
        outline: outline(&turn.outline),
        models: turn.models.clone(),
        subagents: turn.subagents.clone(),
    }
}

fn piece(told: &TurnPiece, subagent: Option<&v1::StartedSubagent>, full: bool) -> v1::TurnPiece {
    let (kind, text, tokens, call) = match &told.what {
        Told::Prompt(text) => ("prompt", Some(text), None, None),
        Told::Said(text) => ("answer", Some(text), None, None),
        Told::Thought { text, tokens } => ("thought", Some(text).filter(|_| full), Some(*tokens), None),
        Told::Called(call) => ("call", None, None, Some(called(call, subagent, full))),
        Told::Result { text, .. } => ("result", Some(text).filter(|_| full), None, None),
        Told::Summary(text) => ("summary", Some(text), None, None),
    };
    v1::TurnPiece {
        kind: kind.to_owned(),
        entry: String::new(),
        ordinal: 0,
        at: None,
        text: text.cloned(),
        tokens,
        call,
    }
}

fn called(call: &TurnCall, subagent: Option<&v1::StartedSubagent>, full: bool) -> v1::ShownCall {
    v1::ShownCall {
        call_id: call.call_id.clone(),
        tool: call.tool.clone(),
        about: call.line.about.clone(),
        added: call.line.added as u64,
        removed: call.line.removed as u64,
        tasks_done: call.line.tasks.map(|(done, _)| done as u64),
        tasks: call.line.tasks.map(|(_, all)| all as u64),
        outcome: call.outcome.as_str().to_owned(),
        exit_code: call.exit_code,
        error: call.error().map(str::to_owned),
        subagent: subagent.map(|started| started.subagent.tip),
        arguments: full.then(|| call.arguments.clone()),
        result: call.answer.clone().filter(|_| full),
    }
}

/// Returns the wire form of what a turn did.
fn outline(outline: &TurnOutline) -> v1::TurnOutline {
    v1::TurnOutline {
        began_at: outline.span.map(|(first, _)| first),
        ended_at: outline.span.map(|(_, last)| last),
        active_seconds: seconds(outline.active_micros),
        tools: outline.tools.clone(),
        files: changed_files(&outline.files),
        tests_passed: outline.tests_passed,
        tests_failed: outline.tests_failed,
        git_commits: outline.commits.clone(),
        failures: outline.failures,
        compactions: outline.compactions,
        outcome: outline.outcome().as_str().to_owned(),
    }
}

/// Returns the wire form of a session at a glance.
pub(crate) fn overview(session: &Session, overview: &Overview) -> v1::SessionOverview {
    let story = &overview.story;
    let mut models: Vec<(&String, &u64)> = story.models.iter().collect();
    models.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let sum = |of: fn(&TurnOutline) -> u64| story.turns.iter().map(|turn| of(&turn.outline)).sum::<u64>();
    let last = story.turns.iter().rev().find_map(|turn| turn.outline.is_last_test_passed);
    let turns = story.turns.iter().zip(&overview.ordinals);
    v1::SessionOverview {
        session: wire::session::session(session),
        began_at: story.span.map(|(first, _)| first),
        ended_at: story.span.map(|(_, last)| last),
        active_seconds: seconds(story.active_micros),
        models: models.into_iter().map(|(model, _)| model.clone()).collect(),
        tokens: story.tokens,
        counted_tokens: overview.counted_tokens,
        files: changed_files(&story.files),
        git_commits: story.turns.iter().flat_map(|turn| turn.outline.commits.clone()).collect(),
        tests_passed: sum(|outline| outline.tests_passed),
        tests_failed: sum(|outline| outline.tests_failed),
        is_last_test_passed: last,
        errors: story.errors.clone(),
        subagents: overview.subagents.clone(),
        redacted: overview
            .secrets
            .iter()
            .map(|(kind, count)| v1::RedactedKind { kind: kind.clone(), count: *count })
            .collect(),
        turns: turns.map(|(turn, ordinal)| session_turn(turn, *ordinal)).collect(),
    }
}

/// Returns the wire form of a turn of a session.
pub(crate) fn session_turn(turn: &SessionTurn<CommitId>, ordinal: Option<u64>) -> v1::OverviewTurn {
    let prompt = turn.outline.prompt.as_ref();
    v1::OverviewTurn {
        number: turn.number,
        ctx: turn.commit,
        entry: prompt.map(|prompt| prompt.entry.clone()),
        ordinal,
        prompt: prompt.map(|prompt| prompt.text.clone()),
        title: prompt.map(|prompt| title(Some(&prompt.text))),
        outline: outline(&turn.outline),
    }
}

fn seconds(micros: i64) -> u64 {
    u64::try_from(micros / SECOND).unwrap_or(0)
}
