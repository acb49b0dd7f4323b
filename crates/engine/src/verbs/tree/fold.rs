//! Folds a tree for a drawing: what only continues what came before is summed up.

use std::collections::{HashMap, HashSet};

use stemmata_model::{Closure, CommitId, CommitType};

use super::{Tree, TreeNode, TreeRun};

impl Tree {
    /// Returns the tree with runs of commits in place of those that need no line of their own, and without leaves that later
    /// commits cover: these are only earlier looks at an open turn. The root, `here`, ends, places where it branches, compactions
    /// and snapshots stay, and so does a single commit: it says more than the line that would stand for it.
    #[must_use]
    pub fn folded(self, here: CommitId) -> Self {
        let Some(root) = self.nodes.first().map(|node| node.commit.id) else { return self };
        let children = shown_children(&self, here);
        let mut nodes: HashMap<CommitId, TreeNode> =
            self.nodes.into_iter().map(|node| (node.commit.id, node)).collect();
        let is_plain = |id: &CommitId, nodes: &HashMap<CommitId, TreeNode>| {
            let is_delta =
                nodes.get(id).is_some_and(|node| node.commit.core.commit_type == CommitType::Delta);
            *id != root && *id != here && is_delta && children.get(id).is_some_and(|below| below.len() == 1)
        };
        let mut folded = Vec::new();
        let mut open = vec![root];
        while let Some(start) = open.pop() {
            let (run, end) = run_from(start, &children, |id| is_plain(id, &nodes));
            let run = (!run.is_empty()).then(|| summed(&run, &nodes));
            let Some(mut node) = nodes.remove(&end) else { continue };
            node.run = run;
            let below = children.get(&end).map_or(&[][..], Vec::as_slice);
            node.children =
                below.iter().map(|child| run_from(*child, &children, |id| is_plain(id, &nodes)).1).collect();
            open.extend(below.iter().rev());
            folded.push(node);
        }
        Self { nodes: folded, is_cut: self.is_cut }
    }
}

/// Returns the children of each commit that are part of the drawing.
fn shown_children(tree: &Tree, here: CommitId) -> HashMap<CommitId, Vec<CommitId>> {
    let is_hidden = |node: &TreeNode| {
        node.commit.closure == Closure::Covered && node.children.is_empty() && node.commit.id != here
    };
    let shown: HashSet<CommitId> =
        tree.nodes.iter().filter(|node| !is_hidden(node)).map(|node| node.commit.id).collect();
    let below = |node: &TreeNode| node.children.iter().copied().filter(|id| shown.contains(id)).collect();
    tree.nodes.iter().map(|node| (node.commit.id, below(node))).collect()
}

/// Returns the commits from `start` on that need no line of their own, and the next one that does.
fn run_from(
    start: CommitId,
    children: &HashMap<CommitId, Vec<CommitId>>,
    is_plain: impl Fn(&CommitId) -> bool,
) -> (Vec<CommitId>, CommitId) {
    let mut run = Vec::new();
    let mut end = start;
    while is_plain(&end)
        && let Some(next) = children.get(&end).and_then(|below| below.first())
    {
        run.push(end);
        end = *next;
    }
    match run.as_slice() {
        [only] => (Vec::new(), *only),
        _ => (run, end),
    }
}

fn summed(run: &[CommitId], nodes: &HashMap<CommitId, TreeNode>) -> TreeRun {
    let mut sum = TreeRun::default();
    for node in run.iter().filter_map(|id| nodes.get(id)) {
        sum.commits += 1;
        sum.messages += node.commit.counts.messages;
        sum.bytes += node.commit.native_bytes;
        sum.started.extend(node.started());
    }
    sum
}
