//! Trees: the commits, the session of the root, the subagents that were started.

use stemmata_api::v1::{Commit, OverviewTurn, Tree, TreeRequest, TreeRun, TreeSubagent};
use stemmata_engine::prompt::story::SessionTurn;
use stemmata_engine::{Engine, TreeNode, TurnsOfCommits};
use stemmata_model::CommitId;

use crate::fault::Fault;
use crate::local::ctx;
use crate::wire;

/// Nodes that become wire types at once: what is known of all of them would be in memory twice.
const PAGE_NODES: usize = 512;

pub(super) fn tree(engine: &Engine, request: &TreeRequest) -> Result<Tree, Fault> {
    let here = ctx(engine, &request.ctx)?;
    let mut tree = engine.tree(here)?;
    if !request.copies {
        tree = engine.without_idle_copies(tree, here)?;
    }
    if request.folded {
        tree = tree.folded(here);
    }
    let mut turns = if request.turns { engine.tree_turns(&tree)? } else { TurnsOfCommits::default() };
    let mut nodes = Vec::with_capacity(tree.nodes.len());
    for page in tree.nodes.chunks(PAGE_NODES) {
        let ids: Vec<CommitId> = page.iter().map(|node| node.commit.id).collect();
        for (row, node) in engine.describe(&ids)?.iter().zip(page) {
            let plain = wire::commit::node(row, node);
            let id = &node.commit.id;
            let branch = turns.branches.get(id);
            let plain = Commit {
                turns: turns.turns.remove(id).map(|turns| told(&turns)),
                continues: branch.map(|branch| branch.continues),
                is_beside: branch.is_some_and(|branch| branch.is_beside),
                ..plain
            };
            nodes.push(if request.folded || request.turns { drawn(engine, plain, node)? } else { plain });
        }
    }
    let root = tree.nodes.first().map(|root| engine.first_session(root.commit.id)).transpose()?.flatten();
    Ok(Tree { nodes, is_cut: tree.is_cut, session: root.as_ref().map(wire::session::session) })
}

fn told(turns: &[SessionTurn<CommitId>]) -> Vec<OverviewTurn> {
    turns.iter().map(|turn| wire::story::session_turn(turn, None)).collect()
}

/// Adds what a drawing shows of a commit.
fn drawn(engine: &Engine, plain: Commit, node: &TreeNode) -> Result<Commit, Fault> {
    let run = match &node.run {
        Some(run) => Some(TreeRun {
            commits: run.commits,
            messages: run.messages,
            bytes: run.bytes,
            subagents: subagents(engine, run.started.iter().copied())?,
        }),
        None => None,
    };
    Ok(Commit { run, subagents: Some(subagents(engine, node.started())?), ..plain })
}

fn subagents(engine: &Engine, first: impl Iterator<Item = CommitId>) -> Result<Vec<TreeSubagent>, Fault> {
    first.map(|first| Ok(engine.subagent(first)?)).collect()
}
