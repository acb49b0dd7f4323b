//! Draws a tree of turns as text: the trunk is the straight line, what branches off it is set in, and of many turns the first
//! and the last of each stretch are shown.
//!
//! Pure. What happened in a turn and what its number is is in the tree already.

use std::collections::HashMap;

use stemmata_api::v1::{Commit, CommitType, OverviewTurn, Tree, TreeSubagent};
use stemmata_model::{Closure, CommitId, LinkKind, Timestamp};

use crate::output::commit::{ShortIds, mark, names};
use crate::output::outline::{self, moment, painted};
use crate::output::put;
use crate::output::session;
use crate::output::size::{grouped, many};
use crate::output::style::{Style, tame};
use crate::output::table::{self, Cell, Column, Table, cell, fit, pieces};

/// Turns that are drawn before stretches of them are left out.
const TURNS_MAX: usize = 30;
/// Turns that a stretch keeps at least.
const STRETCH_MIN: usize = 4;
/// Subagents of one commit that are named; the rest is counted.
const SUBAGENTS_MAX: usize = 5;
/// Columns that a prompt keeps at least.
const PROMPT_MIN: usize = 28;
/// What a narrow terminal leaves out, in this order.
const LEFT_OUT: &[&str] = &["CALLS", "TOOK", "WHEN", "OUTCOME"];

/// How a tree is drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TurnDrawing {
    /// The commit that is marked.
    pub(crate) here: CommitId,
    /// How ids are cut.
    pub(crate) ids: ShortIds,
    /// The present.
    pub(crate) now: Timestamp,
    /// Columns; the largest number where nothing is cut.
    pub(crate) width: usize,
}

/// A line of the drawing with what hangs on it.
struct Line {
    row: Vec<Cell>,
    /// The subagents that it started, as lines.
    subagents: String,
    /// What stands left of it, for the line that stands for left out ones.
    before: String,
    /// Lines of one stretch follow each other without a branch between them.
    stretch: usize,
    is_turn: bool,
    is_here: bool,
}

/// Where a chain is to be drawn.
struct Start<'t> {
    node: &'t Commit,
    before: String,
    first: String,
    stretch: usize,
}

impl TurnDrawing {
    /// Returns the text.
    pub(crate) fn render(&self, tree: &Tree) -> String {
        let lines = self.lines(tree);
        let turns = lines.iter().filter(|line| line.is_turn).count();
        let mut kept = Vec::new();
        for stretch in lines.chunk_by(|one, other| one.stretch == other.stretch) {
            shown(&mut kept, stretch, turns);
        }
        let mut table = Table::new(&[
            ("", Column::Left),
            ("WHEN", Column::Left),
            ("TOOK", Column::Right),
            ("CALLS", Column::Right),
            ("OUTCOME", Column::Left),
            ("PROMPT", Column::Flexible),
            ("", Column::Left),
        ]);
        for (line, _) in &kept {
            table.row(line.row.clone());
        }
        let table = table.narrowed(LEFT_OUT, PROMPT_MIN, self.width).render(self.width);
        let mut rows = table.split_inclusive('\n');
        let mut text = rows.next().unwrap_or_default().to_owned();
        for ((line, left_out), row) in kept.iter().zip(rows) {
            gap(&mut text, line, *left_out);
            put!(text, "{row}{}", line.subagents);
        }
        text
    }

    fn lines(&self, tree: &Tree) -> Vec<Line> {
        let nodes: HashMap<CommitId, &Commit> = tree.nodes.iter().map(|node| (node.id, node)).collect();
        let below = below(tree, &nodes);
        let below_of = |node: &Commit| below.get(&node.id).into_iter().flatten().copied();
        let is_hidden = |node: &Commit| {
            node.closure == Closure::Covered && below_of(node).next().is_none() && node.id != self.here
        };
        let lengths = lengths(tree, &below);
        let mut lines = Vec::new();
        let mut stretches = 0;
        let mut open = Vec::new();
        open.extend(tree.nodes.first().map(|node| Start {
            node,
            before: String::new(),
            first: String::new(),
            stretch: 0,
        }));
        while let Some(Start { node, before, first, stretch }) = open.pop() {
            let is_shown = self.says_something(node);
            if is_shown {
                let is_stopped = is_stopped_later(node, &nodes);
                self.commit(&mut lines, (node, is_stopped), (&first, &before), stretch);
            }
            let below: Vec<&Commit> = below_of(node).filter(|child| !is_hidden(child)).collect();
            // A branch within the transcript may be as long as the way to its end.
            let worth = |child: &&&Commit| (!child.is_beside, lengths.get(&child.id));
            let trunk = below.iter().max_by_key(worth).map(|child| &child.id);
            let (trunk, branches): (Vec<&Commit>, Vec<&Commit>) =
                below.into_iter().partition(|child| Some(&child.id) == trunk);
            let is_split = !branches.is_empty();
            open.extend(trunk.into_iter().map(|node| {
                stretches += usize::from(is_split);
                let stretch = if is_split { stretches } else { stretch };
                // What is left out leaves its place to the next one.
                let first = if is_shown { before.clone() } else { first.clone() };
                Start { node, before: before.clone(), first, stretch }
            }));
            open.extend(branches.into_iter().rev().map(|node| {
                stretches += 1;
                Start {
                    node,
                    before: format!("{before}│ "),
                    first: format!("{before}├─"),
                    stretch: stretches,
                }
            }));
        }
        lines
    }

    /// Says whether a commit is drawn: records of the client alone, such as the output of its own commands, are not.
    fn says_something(&self, node: &Commit) -> bool {
        let Some(turns) = &node.turns else { return true };
        let does = |turn: &OverviewTurn| turn.number.is_some() || !turn.outline.tools.is_empty();
        let is_plain = node.commit_type == CommitType::Delta
            && !node.is_beside
            && node.tags.is_empty()
            && node.id != self.here;
        let ends = matches!(turns.as_slice(), [only] if only.outline.outcome == "answered");
        !is_plain || ends || turns.iter().any(does)
    }

    /// Adds the lines of a commit: one for each of its turns, else one for itself; what it started hangs on the last.
    fn commit(
        &self,
        lines: &mut Vec<Line>,
        (node, is_stopped): (&Commit, bool),
        (first, before): (&str, &str),
        stretch: usize,
    ) {
        let turns = node.turns.as_deref().unwrap_or_default();
        let numbered: Vec<&OverviewTurn> = turns.iter().filter(|turn| turn.number.is_some()).collect();
        let lead = turns.first().filter(|turn| turn.number.is_none());
        let is_here = node.id == self.here;
        let shown = if numbered.is_empty() { vec![lead] } else { numbered.into_iter().map(Some).collect() };
        let count = shown.len();
        for (at, turn) in shown.into_iter().enumerate() {
            let left = if at == 0 { first } else { before };
            let is_last = at + 1 == count;
            // As in the overview of the session, where the record that it was stopped belongs to the turn.
            let stopped = turn.filter(|turn| is_last && is_stopped && turn.outline.outcome == "open");
            let stopped = stopped.cloned().map(|mut turn| {
                "interrupted".clone_into(&mut turn.outline.outcome);
                turn
            });
            let row = self.row(left, node, stopped.as_ref().or(turn), is_last);
            let mut subagents = String::new();
            if is_last {
                self.subagents(&mut subagents, before, node.subagents.as_deref().unwrap_or_default());
            }
            let is_turn = turn.is_some_and(|turn| turn.number.is_some());
            lines.push(Line { row, subagents, before: before.to_owned(), stretch, is_turn, is_here });
        }
    }

    fn row(&self, left: &str, node: &Commit, turn: Option<&OverviewTurn>, is_last: bool) -> Vec<Cell> {
        let (mark, style) = mark(node);
        let number = turn.and_then(|turn| turn.number);
        let did = turn.map(|turn| &turn.outline);
        let began = did.and_then(|did| did.began_at).unwrap_or(node.created_at);
        let mut head = vec![(style, mark.to_owned()), (Style::Id, self.ids.cut(node.id))];
        head.extend(number.map(|number| (Style::Strong, format!("{number}."))));
        let plain: Vec<&str> = head.iter().map(|(_, text)| text.as_str()).collect();
        let head = table::painted(
            format!("{left}{}", plain.join(" ")),
            format!("{}{}", Style::Faint.paint(left), painted(&head, " ")),
        );
        let outcome = turn.map(|turn| outline::outcome(&turn.outline, turn.prompt.is_some()));
        let mut names = if is_last { names(node, usize::MAX) } else { Vec::new() };
        if is_last {
            let links = node.links.iter().flatten();
            let copies = links.filter(|link| link.kind == LinkKind::DerivedFrom && link.from == node.id);
            names.extend(copies.map(|link| (Style::Faint, format!("⑂ copy of {}", self.ids.cut(link.to)))));
            names.extend((node.id == self.here).then(|| (Style::Strong, "◀".to_owned())));
        }
        let about = turn.and_then(|turn| session::prompt(turn, self.width == usize::MAX));
        let about = about.unwrap_or_else(|| tame(without_tools(&node.summary.text, turn)));
        let calls = did.map_or(0, |did| did.tools.values().sum::<u64>());
        vec![
            head,
            cell(Style::Faint, moment(began, self.now)),
            cell(Style::Faint, did.and_then(outline::took).unwrap_or_default()),
            cell(Style::Faint, if calls > 0 { grouped(calls) } else { String::new() }),
            pieces(&outcome.unwrap_or_default()),
            cell(Style::Plain, about),
            pieces(&names),
        ]
    }

    fn subagents(&self, text: &mut String, before: &str, all: &[TreeSubagent]) {
        let left = format!(
            "{}{} {}",
            Style::Faint.paint(before),
            Style::Faint.paint("┊"),
            Style::Subagent.paint("⚙")
        );
        for subagent in all.iter().take(SUBAGENTS_MAX) {
            let id = self.ids.cut(subagent.tip);
            let title = match &subagent.session {
                Some(session) => {
                    format!("{} ({})", session::title(session), many(session.messages, "message"))
                }
                None => "(not imported)".to_owned(),
            };
            let used = before.chars().count() + 4 + id.len() + 2;
            let title = fit(&title, self.width.saturating_sub(used).max(PROMPT_MIN));
            put!(text, "{left} {}  {title}\n", Style::Id.paint(&id));
        }
        if all.len() > SUBAGENTS_MAX {
            put!(text, "{left} … and {} more\n", grouped((all.len() - SUBAGENTS_MAX) as u64));
        }
    }
}

/// Keeps the lines of a stretch that are shown, each with the number of turns before it that are not: all in a small tree, else
/// the first and the last turns, and what is no turn.
fn shown<'l>(kept: &mut Vec<(&'l Line, u64)>, stretch: &'l [Line], turns: usize) {
    let own = stretch.iter().filter(|line| line.is_turn).count();
    let share = (TURNS_MAX * own).div_ceil(turns.max(1)).max(STRETCH_MIN);
    let is_whole = turns <= TURNS_MAX || own <= share + 1;
    let tail_from = own.saturating_sub(share / 2);
    let (mut number, mut left_out) = (0, 0);
    for line in stretch {
        let is_end = number < share.div_ceil(2) || number >= tail_from;
        number += usize::from(line.is_turn);
        if is_whole || is_end || !line.is_turn || line.is_here {
            kept.push((line, left_out));
            left_out = 0;
        } else {
            left_out += 1;
        }
    }
}

fn gap(text: &mut String, line: &Line, left_out: u64) {
    if left_out > 0 {
        let left = Style::Faint.paint(&line.before);
        put!(text, "{left}{}\n", Style::Faint.paint(&format!("┊ … {} …", many(left_out, "turn"))));
    }
}

/// Returns a summary without the tools at its end, where the row names them anyway.
fn without_tools<'s>(summary: &'s str, turn: Option<&OverviewTurn>) -> &'s str {
    let is_named = turn.is_some_and(|turn| !turn.outline.tools.is_empty()) && summary.ends_with(']');
    summary.rsplit_once(" [").filter(|_| is_named).map_or(summary, |(said, _)| said)
}

/// Says whether the next commit begins with the record that a person stopped the last turn of this one.
fn is_stopped_later(node: &Commit, nodes: &HashMap<CommitId, &Commit>) -> bool {
    let lead = |id: &CommitId| nodes.get(id)?.turns.as_deref()?.first();
    let stops = |turn: &OverviewTurn| turn.number.is_none() && turn.outline.outcome == "interrupted";
    children(node).iter().filter_map(lead).any(stops)
}

fn children(node: &Commit) -> &[CommitId] {
    node.children.as_deref().unwrap_or_default()
}

/// Returns what is drawn below each commit: what continues it, where a transcript has branches by its records, else by its commits.
fn below<'t>(tree: &'t Tree, nodes: &HashMap<CommitId, &'t Commit>) -> HashMap<CommitId, Vec<&'t Commit>> {
    let mut below: HashMap<CommitId, Vec<&Commit>> = HashMap::new();
    for node in tree.nodes.iter().skip(1) {
        let mut above = [&node.continues, &node.parent].into_iter().flatten();
        if let Some(above) = above.find_map(|id| nodes.get(id)) {
            below.entry(above.id).or_default().push(node);
        }
    }
    below
}

/// Returns how far it goes on from each commit, and until when: the trunk goes on longest, of several the newest.
fn lengths(tree: &Tree, below: &HashMap<CommitId, Vec<&Commit>>) -> HashMap<CommitId, (u64, Timestamp)> {
    let mut lengths: HashMap<CommitId, (u64, Timestamp)> = HashMap::new();
    // Parents stand before children, so that backwards every child is known before its parent.
    for node in tree.nodes.iter().rev() {
        let below = below.get(&node.id).into_iter().flatten();
        let below = below.filter_map(|child| lengths.get(&child.id)).max();
        let own = below.map_or((1, node.created_at), |(long, at)| (long + 1, *at));
        lengths.insert(node.id, own);
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(count: usize, here: Option<usize>) -> Vec<Line> {
        let line = |at: usize| Line {
            row: Vec::new(),
            subagents: at.to_string(),
            before: "│ ".to_owned(),
            stretch: 0,
            is_turn: true,
            is_here: here == Some(at),
        };
        (1..=count).map(line).collect()
    }

    fn drawn(count: usize, here: Option<usize>) -> Vec<String> {
        let lines = stretch(count, here);
        let mut kept = Vec::new();
        shown(&mut kept, &lines, count);
        let mut text = String::new();
        for (line, left_out) in kept {
            gap(&mut text, line, left_out);
            put!(text, "{}\n", line.subagents);
        }
        let text = crate::output::screen::finish(&text, false);
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn of_many_turns_the_first_and_the_last_are_drawn() {
        assert_eq!(drawn(30, None).len(), 30);
        let many = drawn(71, None);
        assert_eq!((many.len(), many[0].as_str(), many[30].as_str()), (31, "1", "71"));
        assert_eq!(many[15], "│ ┊ … 41 turns …");
        let here = drawn(71, Some(40));
        assert!(here.contains(&"40".to_owned()));
        assert_eq!(here.iter().filter(|line| line.contains("turns …")).count(), 2);
    }
}
