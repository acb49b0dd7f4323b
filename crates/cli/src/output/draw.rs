//! Draws a tree of commits as text: the main line stays in its column, branches are set in, runs become one line.
//!
//! Pure: what commits are called comes in as labels.

use std::collections::{HashMap, HashSet};

use stemmata_engine::Tree;
use stemmata_model::{Closure, Commit, CommitId, CommitType};

use crate::output::commit::{ShortIds, mark};
use crate::output::put;
use crate::output::size::{self, many};
use crate::output::style::Style;
use crate::output::table::fit;

/// Subagents of one line that are named; the rest is counted.
const SUBAGENTS_MAX: usize = 5;

/// Columns that a summary keeps at least.
const SUMMARY_MIN: usize = 16;

/// What a drawn commit is called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Label {
    /// Its id in short.
    pub(crate) id: String,
    /// When.
    pub(crate) when: String,
    /// What it is about.
    pub(crate) summary: String,
    /// Tags and the like.
    pub(crate) tail: Vec<(Style, String)>,
}

/// A subagent that a commit started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subagent {
    /// Its newest commit.
    pub(crate) tip: CommitId,
    /// What it did.
    pub(crate) title: String,
}

/// One line of a drawing.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Line {
    /// A commit with its mark.
    Commit(CommitId),
    /// Commits that are not drawn one by one.
    Run { commits: u64, bytes: u64, messages: u64 },
    /// What commits of the line before started.
    Subagents(Vec<CommitId>),
}

/// A drawing: lines, each behind what stands left of it.
#[derive(Debug)]
pub(crate) struct Drawing<'t> {
    lines: Vec<(String, Line)>,
    commits: HashMap<CommitId, &'t Commit>,
    here: CommitId,
}

impl<'t> Drawing<'t> {
    /// Lays a tree out. `here` is always drawn, and marked.
    pub(crate) fn of(tree: &'t Tree, here: CommitId) -> Self {
        let commits = tree.nodes.iter().map(|node| (node.commit.id, &node.commit)).collect();
        let mut drawing = Self { lines: Vec::new(), commits, here };
        let layout = Layout::of(tree, here);
        let mut open: Vec<Start> = tree
            .nodes
            .first()
            .map(|root| Start { id: root.commit.id, before: String::new(), first: String::new() })
            .into_iter()
            .collect();
        while let Some(start) = open.pop() {
            open.extend(drawing.chain(&layout, start));
        }
        drawing
    }

    /// Returns the commits that are drawn one by one.
    pub(crate) fn commits(&self) -> Vec<CommitId> {
        let drawn = self.lines.iter().filter_map(|(_, line)| match line {
            Line::Commit(id) => Some(*id),
            Line::Run { .. } | Line::Subagents(_) => None,
        });
        drawn.collect()
    }

    /// Draws one chain down to its end or to where it branches, and returns what is to be drawn next, last first.
    fn chain(&mut self, layout: &Layout, start: Start) -> Vec<Start> {
        let mut before = start.first;
        let mut next = Some(start.id);
        while let Some(id) = next {
            let (run, end) = layout.run(id, &self.commits);
            if !run.is_empty() {
                let line = self.summed(&run);
                self.lines.push((std::mem::replace(&mut before, start.before.clone()), line));
                self.subagents(layout, &start.before, run);
            }
            let Some(end) = end else { break };
            self.lines.push((std::mem::replace(&mut before, start.before.clone()), Line::Commit(end)));
            self.subagents(layout, &start.before, vec![end]);
            let (main, sides) = layout.children(end);
            if !sides.is_empty() {
                let mut open: Vec<Start> = main
                    .map(|id| Start { id, before: start.before.clone(), first: start.before.clone() })
                    .into_iter()
                    .collect();
                open.extend(sides.iter().rev().map(|id| Start {
                    id: *id,
                    before: format!("{}│ ", start.before),
                    first: format!("{}├─", start.before),
                }));
                return open;
            }
            next = main;
        }
        Vec::new()
    }

    fn summed(&self, run: &[CommitId]) -> Line {
        let own = run.iter().filter_map(|id| self.commits.get(id));
        let (bytes, messages) = own.fold((0, 0), |(bytes, messages), commit| {
            (bytes + commit.native_bytes, messages + commit.counts.messages)
        });
        Line::Run { commits: u64::try_from(run.len()).unwrap_or(u64::MAX), bytes, messages }
    }

    fn subagents(&mut self, layout: &Layout, before: &str, of: Vec<CommitId>) {
        let own: Vec<CommitId> = of.into_iter().filter(|id| layout.starters.contains(id)).collect();
        if !own.is_empty() {
            self.lines.push((before.to_owned(), Line::Subagents(own)));
        }
    }

    /// Returns the text.
    pub(crate) fn render(
        &self,
        labels: &HashMap<CommitId, Label>,
        subagents: &HashMap<CommitId, Vec<Subagent>>,
        ids: ShortIds,
        width: usize,
    ) -> String {
        let mut text = String::new();
        for (before, line) in &self.lines {
            match line {
                Line::Commit(id) => text.push_str(&self.commit_line(before, *id, labels.get(id), width)),
                Line::Run { commits, bytes, messages } => {
                    let told = format!(
                        "{}, {}, {}",
                        many(*commits, "commit"),
                        many(*messages, "message"),
                        size::bytes(*bytes)
                    );
                    put!(text, "{}{} {}\n", faint(before), faint("┊"), faint(&told));
                }
                Line::Subagents(of) => {
                    let all: Vec<&Subagent> =
                        of.iter().filter_map(|id| subagents.get(id)).flatten().collect();
                    text.push_str(&subagent_lines(before, &all, ids, width));
                }
            }
        }
        text
    }

    fn commit_line(&self, before: &str, id: CommitId, label: Option<&Label>, width: usize) -> String {
        let Some((commit, label)) = self.commits.get(&id).zip(label) else { return String::new() };
        let (mark, style) = mark(commit);
        let mut tail = label.tail.clone();
        if id == self.here {
            tail.push((Style::Strong, "◀".to_owned()));
        }
        let tail_width: usize = tail.iter().map(|(_, text)| text.chars().count() + 1).sum();
        let used = before.chars().count() + 2 + label.id.len() + 2 + label.when.len() + 2 + tail_width;
        let summary = fit(&label.summary, width.saturating_sub(used).max(SUMMARY_MIN));
        let tail: Vec<String> = tail.iter().map(|(style, text)| format!(" {}", style.paint(text))).collect();
        format!(
            "{}{} {}  {}  {summary}{}\n",
            faint(before),
            style.paint(mark),
            Style::Id.paint(&label.id),
            faint(&label.when),
            tail.concat()
        )
    }
}

fn faint(text: &str) -> String {
    Style::Faint.paint(text)
}

fn subagent_lines(before: &str, all: &[&Subagent], ids: ShortIds, width: usize) -> String {
    let mut text = String::new();
    for subagent in all.iter().take(SUBAGENTS_MAX) {
        let id = ids.text(subagent.tip);
        let used = before.chars().count() + 4 + id.len() + 2;
        let title = fit(&subagent.title, width.saturating_sub(used).max(SUMMARY_MIN));
        put!(
            text,
            "{}{} {} {}  {}\n",
            faint(before),
            faint("┊"),
            Style::Subagent.paint("⚙"),
            Style::Id.paint(&id),
            title
        );
    }
    if all.len() > SUBAGENTS_MAX {
        put!(
            text,
            "{}{} {} … and {} more\n",
            faint(before),
            faint("┊"),
            Style::Subagent.paint("⚙"),
            all.len() - SUBAGENTS_MAX
        );
    }
    text
}

/// Where a chain is to be drawn.
struct Start {
    id: CommitId,
    /// What stands left of its lines.
    before: String,
    /// What stands left of its first line.
    first: String,
}

/// What decides the drawing.
struct Layout {
    children: HashMap<CommitId, Vec<CommitId>>,
    /// Commits in the tree below a commit, itself included.
    sizes: HashMap<CommitId, u64>,
    starters: HashSet<CommitId>,
    here: CommitId,
    root: Option<CommitId>,
}

impl Layout {
    fn of(tree: &Tree, here: CommitId) -> Self {
        // A leaf that later commits cover is only an earlier look at an open turn.
        let hidden: HashSet<CommitId> = tree
            .nodes
            .iter()
            .filter(|node| {
                node.commit.closure == Closure::Covered && node.children.is_empty() && node.commit.id != here
            })
            .map(|node| node.commit.id)
            .collect();
        let known: HashSet<CommitId> = tree.nodes.iter().map(|node| node.commit.id).collect();
        let is_drawn = |id: &CommitId| known.contains(id) && !hidden.contains(id);
        let mut layout = Self {
            children: HashMap::new(),
            sizes: HashMap::new(),
            starters: HashSet::new(),
            here,
            root: tree.nodes.first().map(|node| node.commit.id),
        };
        // Parents stand before children, so that backwards every child is known before its parent.
        for node in tree.nodes.iter().rev() {
            let children: Vec<CommitId> = node.children.iter().copied().filter(is_drawn).collect();
            let below: u64 = children.iter().filter_map(|id| layout.sizes.get(id)).sum();
            layout.sizes.insert(node.commit.id, below + 1);
            layout.children.insert(node.commit.id, children);
            if node
                .links
                .iter()
                .any(|link| link.kind == stemmata_store::LinkKind::Subagent && link.to == node.commit.id)
            {
                layout.starters.insert(node.commit.id);
            }
        }
        layout
    }

    /// Returns the commits from `id` on that need no line of their own, and the next one that does.
    fn run(&self, id: CommitId, commits: &HashMap<CommitId, &Commit>) -> (Vec<CommitId>, Option<CommitId>) {
        let mut run = Vec::new();
        let mut next = Some(id);
        while let Some(id) = next {
            let children = self.children.get(&id).map_or(&[][..], Vec::as_slice);
            let is_plain =
                commits.get(&id).is_some_and(|commit| commit.core.commit_type == CommitType::Delta);
            let after_next = children.first().copied();
            let is_end = Some(id) == self.root || id == self.here || !is_plain || children.len() != 1;
            if is_end {
                break;
            }
            run.push(id);
            next = after_next;
        }
        // A single commit says more than the line that would stand for it.
        if let [only] = run.as_slice() {
            return (Vec::new(), Some(*only));
        }
        (run, next)
    }

    /// Returns the child that goes on in the same column, the one with most below it, and the others.
    fn children(&self, id: CommitId) -> (Option<CommitId>, Vec<CommitId>) {
        let children = self.children.get(&id).map_or(&[][..], Vec::as_slice);
        // Of several that are as large, the one that was stored last.
        let main = children.iter().copied().max_by_key(|child| self.sizes.get(child).copied().unwrap_or(0));
        let sides = children.iter().copied().filter(|child| Some(*child) != main).collect();
        (main, sides)
    }
}
