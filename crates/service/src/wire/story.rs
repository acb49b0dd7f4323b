//! What happened, as wire types: turns and sessions.

use std::collections::HashMap;

use stemmata_api::v1;
use stemmata_engine::prompt::story::{
    FileLines, ReportedTokens, SessionError, SessionTurn, Told, TurnCall, TurnOutline, TurnPiece,
};
use stemmata_engine::prompt::title::title;
use stemmata_engine::{ChainSide, Comparison, Overview, ShownTurn};
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
        files: outline.files.iter().map(file).collect(),
        tests_passed: outline.tests_passed,
        tests_failed: outline.tests_failed,
        git_commits: git_commits(outline).collect(),
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
        tokens: story.tokens.map(tokens),
        counted_tokens: overview.counted_tokens,
        files: story.files.iter().map(file).collect(),
        git_commits: story.turns.iter().flat_map(|turn| git_commits(&turn.outline)).collect(),
        tests_passed: sum(|outline| outline.tests_passed),
        tests_failed: sum(|outline| outline.tests_failed),
        is_last_test_passed: last,
        errors: story.errors.iter().map(error).collect(),
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

/// Returns the wire form of what two chains have alone.
pub(crate) fn comparison(found: &Comparison) -> v1::Comparison {
    v1::Comparison { ancestor: found.ancestor, first: side(&found.first), second: side(&found.second) }
}

fn side(side: &ChainSide) -> v1::ChainSide {
    let story = &side.story;
    let turns = || story.turns.iter().map(|turn| &turn.outline);
    v1::ChainSide {
        ctx: side.ctx,
        commits: side.commits,
        entries: side.entries,
        prompts: turns().filter_map(|turn| Some(title(Some(&turn.prompt.as_ref()?.text)))).collect(),
        files: story.files.iter().map(file).collect(),
        commands: story.commands.clone(),
        errors: story.errors.iter().map(error).collect(),
        decisions: story.decisions.clone(),
        git_commits: turns().flat_map(git_commits).collect(),
        tests_passed: turns().map(|turn| turn.tests_passed).sum(),
        tests_failed: turns().map(|turn| turn.tests_failed).sum(),
    }
}

pub(crate) const fn tokens(tokens: ReportedTokens) -> v1::ReportedTokens {
    v1::ReportedTokens {
        input: tokens.input,
        output: tokens.output,
        cache_read: tokens.cache_read,
        cache_write: tokens.cache_write,
        output_partial: tokens.is_output_partial,
    }
}

fn error(error: &SessionError) -> v1::SessionError {
    v1::SessionError {
        what: error.what.clone(),
        text: error.text.clone(),
        times: error.times,
        prompt: error.turn,
        resolved: error.is_resolved,
        fixed_by: error.fixed_by.clone(),
    }
}

fn file((path, lines): (&String, &FileLines)) -> v1::ChangedFile {
    v1::ChangedFile { path: path.clone(), added: lines.added, removed: lines.removed }
}

fn git_commits(outline: &TurnOutline) -> impl Iterator<Item = v1::GitCommitMade> {
    let of = |(hash, subject): (Option<&str>, &str)| v1::GitCommitMade {
        hash: hash.map(str::to_owned),
        subject: subject.to_owned(),
    };
    outline.commits.iter().map(move |made| of((made.hash.as_deref(), &made.subject)))
}

fn seconds(micros: i64) -> u64 {
    u64::try_from(micros / SECOND).unwrap_or(0)
}
