//! Circles of a graph: sets of nodes each of which reaches every other.
//! Not about what a node is: imports and calls are counted by the same function.

use std::collections::BTreeSet;

/// From each node, by its number, to the nodes that it names.
pub(super) type Edges = Vec<BTreeSet<usize>>;

/// Returns the circles of two nodes or more, the largest first and each in order of its nodes.
///
/// It asks of each node what that reaches, which is quadratic. A linear algorithm keeps a stack beside the recursion and
/// is hard to check by reading; the graphs here have some hundred nodes.
pub(super) fn circles(edges: &Edges) -> Vec<Vec<usize>> {
    let all: Vec<BTreeSet<usize>> = (0..edges.len()).map(|node| reach(edges, node)).collect();
    let reaches = |from: usize, to: usize| all.get(from).is_some_and(|nodes| nodes.contains(&to));
    let mut circles = Vec::new();
    let mut placed = BTreeSet::new();
    for node in 0..edges.len() {
        if placed.contains(&node) {
            continue;
        }
        let circle: Vec<usize> =
            (node..edges.len()).filter(|other| reaches(node, *other) && reaches(*other, node)).collect();
        placed.extend(circle.iter().copied());
        circles.extend((circle.len() > 1).then_some(circle));
    }
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    circles
}

/// Returns every node that is reached from one by at least one edge.
fn reach(edges: &Edges, from: usize) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(node) = open.pop() {
        let next = edges.get(node).into_iter().flatten();
        open.extend(next.copied().filter(|next| reached.insert(*next)));
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(edges: &[&[usize]]) -> Vec<Vec<usize>> {
        circles(&edges.iter().map(|next| next.iter().copied().collect()).collect())
    }

    #[test]
    fn a_circle_is_all_that_reaches_itself_and_no_more() {
        // 0 leads into the circle 1, 2, 3, which leads to 4; 5 and 6 are a pair; 7 names itself.
        let rows = [&[1_usize][..], &[2], &[3], &[1, 4], &[], &[6], &[5], &[7]];
        assert_eq!(found(&rows), [vec![1, 2, 3], vec![5, 6]]);
        assert_eq!(found(&[&[1], &[2], &[]]), Vec::<Vec<usize>>::new(), "a chain is no circle");
        assert_eq!(
            found(&[&[1, 2], &[0], &[3], &[0]]),
            [vec![0, 1, 2, 3]],
            "two circles with one node are one"
        );
    }
}
