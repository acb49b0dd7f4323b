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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use stemmata_model::{ArtifactId, Commit, CommitCore, Counts, FormatId, RulesHash, Template, Timestamp};

    use super::*;

    /// Makes a tree: each commit stands below one before it, and its kind is one of five.
    fn tree(shape: &[(usize, u8)]) -> Tree {
        let mut nodes: Vec<TreeNode> = Vec::new();
        for (at, (parent, kind)) in shape.iter().enumerate() {
            let parent = nodes.get(*parent).map(|node| node.commit.id);
            let core = CommitCore {
                parent,
                commit_type: if *kind == 1 { CommitType::Compaction } else { CommitType::Delta },
                artifact: ArtifactId::from_bytes([3; 32]),
                native: None,
                format: FormatId::new("generic-v1").expect("a name"),
                template: Template::new("agent").expect("a name"),
                created_at: Timestamp::from_micros(i64::try_from(at).expect("small")),
            };
            let commit = Commit {
                id: core.id(),
                core,
                rules: RulesHash([7; 32]),
                closure: if *kind == 2 { Closure::Covered } else { Closure::Closed },
                counts: Counts { messages: 2, entries: 3, tokens: 5 },
                native_bytes: 7,
                depth: 0,
                cumulative_bytes: 0,
            };
            if let Some(parent) = nodes.iter_mut().find(|node| Some(node.commit.id) == parent) {
                parent.children.push(commit.id);
            }
            nodes.push(TreeNode { commit, children: Vec::new(), links: Vec::new(), run: None });
        }
        Tree { nodes, is_cut: false }
    }

    proptest! {
        #[test]
        fn law_a_folded_tree_stands_for_every_commit_that_is_not_covered_once(
            numbers in proptest::collection::vec((any::<usize>(), 0_u8..5, any::<bool>()), 1..60),
            here in any::<prop::sample::Index>(),
        ) {
            // Mostly chains, so that there are runs.
            let place = |(at, (number, kind, is_chain)): (usize, (usize, u8, bool))| {
                let before = if is_chain { at.saturating_sub(1) } else { number % at.max(1) };
                (if at == 0 { usize::MAX } else { before }, kind)
            };
            let whole = tree(&numbers.into_iter().enumerate().map(place).collect::<Vec<_>>());
            let here = here.get(&whole.nodes).commit.id;
            let root = whole.nodes[0].commit.id;
            let folded = whole.clone().folded(here);
            let parents: HashMap<CommitId, Option<CommitId>> =
                whole.nodes.iter().map(|node| (node.commit.id, node.commit.core.parent)).collect();
            let drawn: HashSet<CommitId> = folded.nodes.iter().map(|node| node.commit.id).collect();
            prop_assert!(drawn.contains(&here) && folded.nodes[0].commit.id == root);

            let mut told = 0;
            for node in &folded.nodes {
                let run = node.run.clone().unwrap_or_default();
                prop_assert!(run.commits != 1, "a single commit is told itself");
                prop_assert_eq!((run.messages, run.bytes), (run.commits * 2, run.commits * 7));
                told += run.commits + 1;
                // Its children are the next that are drawn: between them is nothing but the run.
                for child in &node.children {
                    let below = folded.nodes.iter().find(|other| other.commit.id == *child).expect("drawn");
                    let mut up = below.commit.core.parent;
                    let mut between = 0;
                    while let Some(id) = up.filter(|id| *id != node.commit.id) {
                        prop_assert!(!drawn.contains(&id));
                        between += 1;
                        up = parents[&id];
                    }
                    prop_assert_eq!(between, below.run.as_ref().map_or(0, |run| run.commits));
                }
            }
            let is_hidden = |node: &&TreeNode| {
                node.commit.closure == Closure::Covered
                    && node.children.is_empty()
                    && ![here, root].contains(&node.commit.id)
            };
            prop_assert_eq!(usize::try_from(told).expect("small"), whole.nodes.len() - whole.nodes.iter().filter(is_hidden).count());
            let linked: usize = folded.nodes.iter().map(|node| node.children.len()).sum();
            prop_assert_eq!(linked + 1, folded.nodes.len());
        }
    }
}
