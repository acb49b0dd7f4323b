//! Attributes and calls that hide a failure: `allow`, `ignore`, `should_panic`, and sleeping in a test.
//! Not a lint level: those are in the workspace's `Cargo.toml`, and clippy holds them.

use super::Finding;
use super::source::{Source, words};
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.sources().flat_map(|source| in_file(&source)).collect()
}

fn in_file(source: &Source<'_>) -> Vec<Finding> {
    let mut hits: Vec<(usize, &str)> = Vec::new();
    let allowed =
        "`#[expect(lint, reason = \"…\")]` instead of `allow`: it says why, and when it is no longer needed";
    hits.extend(allows(&source.code).map(|at| (at, allowed)));
    let ignored = "no ignored test: it rots unseen; a test that needs something says that it was skipped";
    hits.extend(source.code.match_indices("#[ignore").map(|(at, _)| (at, ignored)));
    let panics = "no `should_panic`: it also passes when something else panics; assert the error";
    hits.extend(words(&source.code, "should_panic").into_iter().map(|at| (at, panics)));
    let sleeps = "no sleep in a test: wait for the event itself, with a deadline";
    let slept = ["sleep", "sleep_ms"].into_iter().flat_map(|name| words(&source.code, name));
    let in_tests = slept.filter(|at| source.in_tests(*at));
    hits.extend(in_tests.map(|at| (at, sleeps)));
    hits.into_iter().map(|(at, message)| Finding::at(source.path, source.line(at), message)).collect()
}

/// Returns where an attribute allows a lint, directly or under a condition.
fn allows(code: &str) -> impl Iterator<Item = usize> {
    let direct = code.match_indices("[allow(").map(|(at, _)| at);
    let conditional = code.match_indices("[cfg_attr(").filter_map(|(at, _)| {
        let attribute = code.get(at..)?.split(']').next()?;
        attribute.contains("allow(").then_some(at)
    });
    direct.chain(conditional)
}
