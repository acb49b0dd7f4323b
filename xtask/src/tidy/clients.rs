//! A client is one folder and one row: no other file of the product names it in code or in a literal.
//!
//! Comments and tests may, since nobody has to change them for a new client.

use std::collections::BTreeSet;

use super::Finding;
use super::source::{Source, is_test};
use super::tree::Tree;

/// Where clients' folders are.
const FORMATS: &str = "crates/runtimes/src/";

/// The table of clients.
const TABLE: &str = "crates/runtimes/src/clients.rs";

/// The rows of a client: the table, the declaration of its folder, the names of its tools.
const ROWS: &[&str] = &[TABLE, "crates/runtimes/src/lib.rs", "crates/acts/src/tools/table.rs"];

/// Where help texts are. A line that shows a command may name a client as an example.
const HELP: &str = "crates/cli/src/args/";

/// Where such a word is the name of something else.
const OTHER_MEANINGS: &[(&str, &str)] = &[
    ("crates/cli/src/commands/assemble.rs", "a model"),
    ("crates/model/src/maker.rs", "models"),
    ("crates/prompt/src/compact/summary/weights.rs", "a file that many projects have"),
    ("crates/runtimes/src/bureau/", "a field of a format"),
    ("crates/tokens/src/models.rs", "models"),
    ("crates/tokens/src/windows.rs", "models"),
];

/// What only tests use.
const NO_PRODUCT: &[&str] = &["crates/testkit/", "crates/faults/", "crates/store/src/conformance"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let folders = folders(tree);
    let mut findings = Vec::new();
    for source in tree.sources().filter(|source| is_product(source.path)) {
        for folder in &folders {
            let message = format!(
                "names the client of `{folder}`: ask a field of `Client`, or add one (docs/decisions/0032-clients.md)"
            );
            let lines = lines(&source, folder).into_iter();
            findings.extend(lines.map(|line| Finding::at(source.path, line, message.clone())));
        }
    }
    findings
}

/// Returns the folders of the clients, as the rows of the table name them.
pub(crate) fn folders(tree: &Tree) -> Vec<&str> {
    let lines = tree.text(TABLE).unwrap_or_default().lines();
    lines.filter_map(|line| line.trim().strip_prefix("&crate::")?.strip_suffix("::CLIENT,")).collect()
}

/// Returns the lines of a file that name a client; none of the client's own files.
pub(crate) fn lines(source: &Source<'_>, folder: &str) -> BTreeSet<usize> {
    if is_its_own(source.path, folder) {
        return BTreeSet::new();
    }
    places(source, folder).into_iter().map(|at| source.line(at)).collect()
}

fn is_product(path: &str) -> bool {
    path.starts_with("crates/")
        && path.contains("/src/")
        && !is_test(path)
        && !ROWS.contains(&path)
        && !NO_PRODUCT.iter().any(|start| path.starts_with(start))
        && !OTHER_MEANINGS.iter().any(|(start, _)| path.starts_with(start))
}

fn is_its_own(path: &str, folder: &str) -> bool {
    let own = path.strip_prefix(FORMATS).and_then(|path| path.strip_prefix(folder));
    own.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

/// Returns where the product's code or literals name a client, once a literal.
fn places(source: &Source<'_>, folder: &str) -> Vec<usize> {
    let mut found = named(&source.production, folder);
    let literals = source.literals().into_iter().filter(|(at, _)| !source.in_tests(*at));
    let is_example = |line: &&str| source.path.starts_with(HELP) && line.contains("stemma ");
    // An address is where a figure comes from.
    let is_said = |text: &str| {
        let lines = text.lines().flat_map(|line| line.split("\\n")).filter(|line| !is_example(line));
        let mut words = lines.flat_map(str::split_whitespace).filter(|word| !word.contains("://"));
        words.any(|word| !named(word, folder).is_empty())
    };
    found.extend(literals.filter(|(_, text)| is_said(text)).map(|(at, _)| at));
    found
}

/// Returns where a text names a client: by its folder's name, or the word that it begins with where that says enough.
fn named(text: &str, folder: &str) -> Vec<usize> {
    const SHORT: usize = 4;
    let text = text.to_ascii_lowercase().replace('-', "_");
    let first = folder.split('_').next().unwrap_or(folder);
    let (needle, is_word) = if first.len() >= SHORT { (first, false) } else { (folder, true) };
    let is_letter =
        |at: Option<usize>| at.and_then(|at| text.as_bytes().get(at)).is_some_and(u8::is_ascii_alphanumeric);
    let hits = text.match_indices(needle).map(|(at, _)| at);
    hits.filter(|at| !is_word || !(is_letter(at.checked_sub(1)) || is_letter(Some(at + needle.len()))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENTS: &str =
        "const ALL: &[&Client] = &[\n    &crate::codex::CLIENT,\n    &crate::pi::CLIENT,\n];\n";

    fn found(path: &str, text: &str) -> Vec<usize> {
        let tree = Tree::made_up(&[(TABLE, CLIENTS), (path, text)]);
        check(&tree).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_client_is_named_by_words_of_code_and_of_literals() {
        let text = "use crate::codex;\n// codex\nlet a = \"~/.pi\";\nlet b = (API, \"pilot\", \"x://pi\");\n";
        assert_eq!(found("crates/engine/src/a.rs", text), [1, 3]);
        assert_eq!(found("crates/runtimes/src/pi/a.rs", text), [1]);
        assert_eq!(found("crates/engine/src/a_tests.rs", text), [0; 0]);
    }

    #[test]
    fn a_help_text_names_clients_in_examples_alone() {
        let text = "const A: &str = \"\\\n  stemma list --client codex\n\";\nconst B: &str = \"pi\";\n";
        assert_eq!(found("crates/cli/src/args/a.rs", text), [4]);
        assert_eq!(found("crates/cli/src/a.rs", text), [1, 4]);
    }
}
