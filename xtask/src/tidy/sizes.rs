//! Sizes that keep the code liveable: lines of a file and of a function, tests aside.
//! Not the number of parameters, which clippy counts.

use super::Finding;
use super::source::{Source, closing, head_end, is_test, words};
use super::tree::Tree;

/// Lines of a file. Beyond this a file has more than one subject, and splits by subject.
const FILE_LINES_MAX: usize = 500;

/// Lines of code in a function's body, as clippy counts them: comments and blank lines aside.
const FUNCTION_LINES_MAX: usize = 70;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let tested = tree.sources().filter(|source| !is_test(source.path));
    tested
        .flat_map(|source| file(&source).into_iter().chain(functions(&source)).collect::<Vec<_>>())
        .collect()
}

fn file(source: &Source<'_>) -> Option<Finding> {
    let lines = source.text.lines().count();
    let message = format!("{lines} lines, at most {FILE_LINES_MAX}: split it by subject");
    (lines > FILE_LINES_MAX).then(|| Finding::file(source.path, message))
}

fn functions(source: &Source<'_>) -> Vec<Finding> {
    let code = &source.production;
    let long = words(code, "fn").into_iter().filter_map(|start| {
        // `fn(…)` is the type of a function.
        if code.get(start + "fn".len()..)?.starts_with('(') {
            return None;
        }
        let open = head_end(code, start).filter(|at| code.as_bytes().get(*at) == Some(&b'{'))?;
        let body = code.get(open + 1..closing(code, open).saturating_sub(1))?;
        let lines = body.lines().filter(|line| !line.trim().is_empty()).count();
        let message =
            format!("a function of {lines} lines, at most {FUNCTION_LINES_MAX}: move a decision out");
        (lines > FUNCTION_LINES_MAX).then(|| Finding::at(source.path, source.line(start), message))
    });
    long.collect()
}
