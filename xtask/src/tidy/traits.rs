//! Traits: how many methods somebody writes who implements one.
//! Not whether they belong together; that is for people.

use super::Finding;
use super::source::{Source, closing, head_end, is_test, words};
use super::tree::Tree;

/// Methods of a trait. The store's seam had one of 49, of which nobody could write a second backend in parts.
const METHODS_MAX: usize = 32;

/// A trait with the number of its methods.
pub(crate) struct Declared<'a> {
    pub(crate) name: &'a str,
    offset: usize,
    pub(crate) methods: usize,
    /// Of these, methods without a body.
    pub(crate) required: usize,
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let sources = tree.sources().filter(|source| !is_test(source.path));
    let wide = sources.flat_map(|source| {
        let wide = traits(&source).into_iter().filter(|of| of.methods > METHODS_MAX);
        let finding = |of: Declared<'_>| {
            let message = format!("`{}` has {} methods, at most {METHODS_MAX}", of.name, of.methods);
            Finding::at(source.path, source.line(of.offset), message + ": cut it into parts")
        };
        wide.map(finding).collect::<Vec<_>>()
    });
    wide.collect()
}

/// Returns the traits that a file declares.
pub(crate) fn traits<'s>(source: &'s Source<'_>) -> Vec<Declared<'s>> {
    let code = &source.production;
    let declared = words(code, "trait").into_iter().filter_map(|offset| {
        let open = head_end(code, offset).filter(|at| code.as_bytes().get(*at) == Some(&b'{'))?;
        let head = code.get(offset + "trait".len()..open)?.trim_start();
        let name = head.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()?;
        let ends = methods(code.get(open + 1..closing(code, open).saturating_sub(1))?);
        let required = ends.iter().filter(|end| **end == b';').count();
        Some(Declared { name, offset, methods: ends.len(), required })
    });
    declared.collect()
}

/// Returns how the head of each method ends: in `;`, or in the `{` of its body.
fn methods(body: &str) -> Vec<u8> {
    let mut ends = Vec::new();
    let mut behind = 0;
    for start in words(body, "fn") {
        // `fn(…)` is the type of a function, and what is within a body is no method.
        let is_type = body.get(start + "fn".len()..).is_some_and(|rest| rest.starts_with('('));
        let Some(end) = head_end(body, start).filter(|_| !is_type && start >= behind) else { continue };
        let Some(byte) = body.as_bytes().get(end).copied() else { continue };
        behind = if byte == b'{' { closing(body, end) } else { end };
        ends.push(byte);
    }
    ends
}
