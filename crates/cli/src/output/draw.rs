//! Draws a tree of commits as text: the main line stays in its column, branches are set in, runs are one line.
//!
//! Pure. What is drawn and what is summed up in runs is in the tree already.

use std::collections::HashMap;

use stemmata_api::v1::{Commit, Tree, TreeRun, TreeSubagent};
use stemmata_model::{CommitId, LinkKind, Timestamp};

use crate::output::commit::{ShortIds, mark, names};
use crate::output::put;
use crate::output::session;
use crate::output::size::{self, many};
use crate::output::style::{Style, tame};
use crate::output::table::fit;
use crate::output::time;

/// Subagents of one line that are named; the rest is counted.
const SUBAGENTS_MAX: usize = 5;

/// Columns that a summary keeps at least.
const SUMMARY_MIN: usize = 16;

/// Links of a commit that its line looks at.
const LINKS_MAX: usize = 8;

/// How a tree is drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Drawing {
    /// The commit that is marked.
    pub(crate) here: CommitId,
    /// How ids are cut.
    pub(crate) ids: ShortIds,
    /// The present.
    pub(crate) now: Timestamp,
    /// Columns.
    pub(crate) width: usize,
}

/// Where a chain is to be drawn.
struct Start<'t> {
    node: &'t Commit,
    /// What stands left of its lines.
    before: String,
    /// What stands left of its first line.
    first: String,
}

impl Drawing {
    /// Returns the text.
    pub(crate) fn render(&self, tree: &Tree) -> String {
        let nodes: HashMap<CommitId, &Commit> = tree.nodes.iter().map(|node| (node.id, node)).collect();
        let sizes = sizes(tree);
        let mut text = String::new();
        let mut open = Vec::new();
        open.extend(tree.nodes.first().map(|node| Start {
            node,
            before: String::new(),
            first: String::new(),
        }));
        while let Some(Start { node, before, first }) = open.pop() {
            self.commit(&mut text, (&first, &before), node);
            let below: Vec<&Commit> = children(node).iter().filter_map(|id| nodes.get(id).copied()).collect();
            // What goes on in the same column has most below it; of several that are as large it was stored last.
            let main = below.iter().max_by_key(|child| sizes.get(&child.id)).map(|child| &child.id);
            let (main, branches): (Vec<&Commit>, Vec<&Commit>) =
                below.into_iter().partition(|child| Some(&child.id) == main);
            open.extend(main.into_iter().map(|node| Start {
                node,
                before: before.clone(),
                first: before.clone(),
            }));
            open.extend(branches.into_iter().rev().map(|node| Start {
                node,
                before: format!("{before}│ "),
                first: format!("{before}├─"),
            }));
        }
        text
    }

    /// Draws a commit with the run before it and the subagents that both started.
    fn commit(&self, text: &mut String, (first, before): (&str, &str), node: &Commit) {
        let mut first = first;
        if let Some(run) = &node.run {
            put!(text, "{}{} {}\n", faint(first), faint("┊"), faint(&summed(run)));
            self.subagents(text, before, &run.subagents);
            first = before;
        }
        self.line(text, first, node);
        self.subagents(text, before, node.subagents.as_deref().unwrap_or_default());
    }

    fn line(&self, text: &mut String, before: &str, node: &Commit) {
        let (mark, style) = mark(node);
        let (id, when) = (self.ids.cut(node.id), time::ago(node.created_at, self.now));
        let mut tail = names(node, usize::MAX);
        for link in node.links.iter().flatten().take(LINKS_MAX) {
            if link.kind == LinkKind::DerivedFrom && link.from == node.id {
                tail.push((Style::Faint, format!("⑂ copy of {}", self.ids.cut(link.to))));
            }
        }
        if node.id == self.here {
            tail.push((Style::Strong, "◀".to_owned()));
        }
        let tail_width: usize = tail.iter().map(|(_, text)| text.chars().count() + 1).sum();
        let used = before.chars().count() + 2 + id.len() + 2 + when.len() + 2 + tail_width;
        let summary = fit(&tame(&node.summary.text), self.width.saturating_sub(used).max(SUMMARY_MIN));
        let tail: String = tail.iter().map(|(style, text)| format!(" {}", style.paint(text))).collect();
        let (id, when) = (Style::Id.paint(&id), faint(&when));
        put!(text, "{}{} {id}  {when}  {summary}{tail}\n", faint(before), style.paint(mark));
    }

    fn subagents(&self, text: &mut String, before: &str, all: &[TreeSubagent]) {
        let left = format!("{}{} {}", faint(before), faint("┊"), Style::Subagent.paint("⚙"));
        for subagent in all.iter().take(SUBAGENTS_MAX) {
            let id = self.ids.cut(subagent.tip);
            let used = before.chars().count() + 4 + id.len() + 2;
            let title = match &subagent.session {
                Some(session) => {
                    format!("{} ({})", session::title(session), many(session.messages, "message"))
                }
                None => "(not imported)".to_owned(),
            };
            let title = fit(&title, self.width.saturating_sub(used).max(SUMMARY_MIN));
            put!(text, "{left} {}  {title}\n", Style::Id.paint(&id));
        }
        if all.len() > SUBAGENTS_MAX {
            put!(text, "{left} … and {} more\n", all.len() - SUBAGENTS_MAX);
        }
    }
}

fn summed(run: &TreeRun) -> String {
    let (commits, messages) = (many(run.commits, "commit"), many(run.messages, "message"));
    format!("{commits}, {messages}, {}", size::bytes(run.bytes))
}

fn faint(text: &str) -> String {
    Style::Faint.paint(text)
}

fn children(node: &Commit) -> &[CommitId] {
    node.children.as_deref().unwrap_or_default()
}

/// Counts the commits below each node, its own run and itself included.
fn sizes(tree: &Tree) -> HashMap<CommitId, u64> {
    let mut sizes: HashMap<CommitId, u64> = HashMap::new();
    // Parents stand before children, so that backwards every child is known before its parent.
    for node in tree.nodes.iter().rev() {
        let below: u64 = children(node).iter().filter_map(|id| sizes.get(id)).sum();
        let run = node.run.as_ref().map_or(0, |run| run.commits);
        sizes.insert(node.id, below + run + 1);
    }
    sizes
}
