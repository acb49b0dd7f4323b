//! The recent turns of a memory for people: by session, the newest session first, each question above its answer.
//!
//! Which turns are recent is decided in `session` and `project`.

use std::collections::BTreeMap;

use super::project::ProjectMemory;
use super::prose;
use super::replaced::Replaced;
use super::v1::{Evidence, TurnSaid};
use super::words::line;

/// Characters of a turn's line at most.
const TURN_LINE_CHARS_MAX: usize = 200;
/// Characters of a session's id that tell it from others.
const SESSION_CHARS: usize = 8;

/// Returns the lines, of as many of the newest turns as have room in so many characters.
pub(super) fn lines(memory: &ProjectMemory, chars_max: usize) -> Vec<String> {
    let window = &memory.window;
    for left_out in 0..window.len() {
        let mut lines = grouped(memory, window.get(left_out..).unwrap_or_default());
        if left_out > 0 {
            lines.push(super::text::more(left_out, "earlier"));
        }
        let chars: usize = lines.iter().map(|line| line.chars().count() + 1).sum();
        if chars <= chars_max {
            return lines;
        }
    }
    Vec::new()
}

fn grouped(memory: &ProjectMemory, turns: &[TurnSaid]) -> Vec<String> {
    let mut sessions: BTreeMap<&str, Vec<&TurnSaid>> = BTreeMap::new();
    for turn in turns {
        sessions.entry(&turn.proof.session).or_default().push(turn);
    }
    let mut sessions: Vec<Vec<&TurnSaid>> = sessions.into_values().collect();
    sessions.sort_by(|one, other| other.last().cmp(&one.last()));
    let replaced = Replaced::of(memory);
    let mut lines = Vec::new();
    for turns in sessions {
        let Some(last) = turns.last() else { continue };
        lines.push(heading(memory, &last.proof));
        lines.extend(turns.into_iter().map(|turn| said(turn, &replaced)));
    }
    lines
}

/// When a session was last, which it is, and in what tool.
fn heading(memory: &ProjectMemory, last: &Evidence) -> String {
    let when = last.at.map(|at| at.0.to_string().replace('T', " ").chars().take(16).collect::<String>());
    let tool = memory.tools.get(&last.session).cloned();
    let session = last.session.chars().take(SESSION_CHARS).collect::<String>();
    let parts: Vec<String> = [when, tool, Some(format!("session {session}"))].into_iter().flatten().collect();
    format!("{}:", parts.join(", "))
}

fn said(turn: &TurnSaid, replaced: &Replaced<'_>) -> String {
    let who = turn.by.name();
    let mark = replaced.mark(&turn.text, |_| false).map(|(mark, _)| format!(" {mark}")).unwrap_or_default();
    format!("- {who}: {}{mark}", line(&sentences(&turn.text), TURN_LINE_CHARS_MAX))
}

/// What is said in sentences: a line has no room for code and tables.
fn sentences(text: &str) -> String {
    let lines = prose::lines(text).map(|line| match line {
        prose::Line::Heading(text)
        | prose::Line::Item(text)
        | prose::Line::Check(text, _)
        | prose::Line::Other(text) => prose::plain(text),
    });
    let said = lines.collect::<Vec<_>>().join(" ");
    if said.trim().is_empty() { text.to_owned() } else { said }
}
