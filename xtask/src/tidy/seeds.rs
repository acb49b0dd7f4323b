//! `docs/reference/seeds.md`: a row that names a test names one that exists.
//! Not a judgement whether the test shows what the row says; that is for people.

use std::collections::BTreeSet;

use super::Finding;
use super::source::words;
use super::tree::Tree;

const PAGE: &str = "docs/reference/seeds.md";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.text(PAGE) else {
        return Vec::new();
    };
    let functions: BTreeSet<String> = tree.sources().flat_map(|source| functions(&source.code)).collect();
    let mut ids = BTreeSet::new();
    let mut findings = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let Some((id, held_by)) = row(line) else { continue };
        if !ids.insert(id) {
            findings.push(Finding::at(PAGE, at + 1, format!("a second row {id}")));
        }
        if held_by.is_empty() {
            findings.push(Finding::at(PAGE, at + 1, format!("nothing holds {id}")));
        }
        for name in test_names(held_by).filter(|name| !functions.contains(*name)) {
            findings.push(Finding::at(
                PAGE,
                at + 1,
                format!("{id} is held by `{name}`, which does not exist"),
            ));
        }
    }
    findings
}

/// Returns the id and the last cell of a row such as `| 1.05 | … | … | … |`.
fn row(line: &str) -> Option<(&str, &str)> {
    let mut cells = line.strip_prefix('|')?.trim_end().strip_suffix('|')?.split('|').map(str::trim);
    let id = cells.next().filter(|id| id.starts_with(|first: char| first.is_ascii_digit()))?;
    Some((id, cells.next_back()?))
}

/// Returns the test names in a cell: what stands in backticks and is a path of identifiers with a `_` in
/// its last one. A command has spaces, so it is none.
fn test_names(cell: &str) -> impl Iterator<Item = &str> {
    let spans = cell.split('`').skip(1).step_by(2);
    let is_path = |span: &&str| span.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ':'));
    spans.filter(is_path).filter_map(|span| span.rsplit("::").next()).filter(|name| name.contains('_'))
}

fn functions(code: &str) -> Vec<String> {
    let names = words(code, "fn").into_iter().filter_map(|at| {
        let rest = code.get(at + "fn".len()..)?.trim_start();
        rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
    });
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}
