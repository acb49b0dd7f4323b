//! Product files that name a client outside its folder, found as `tidy` finds them. Files that `tidy` exempts are counted too.

use std::collections::BTreeSet;

use super::lines::{Counted, product};
use super::table::{render, row};
use crate::tidy::clients::{folders, lines};
use crate::tidy::tree::Tree;

/// Returns the number of files for each client by crate, and of files that name any.
pub(super) fn table(tree: &Tree, files: &[Counted<'_>]) -> String {
    let clients = folders(tree);
    let places: Vec<Vec<(&str, usize)>> = clients.iter().map(|client| places(files, client)).collect();
    let numbers = |start: &str| {
        let within = |(path, _): &&(&str, usize)| path.starts_with(start);
        let mut numbers: Vec<usize> = places.iter().map(|of| of.iter().filter(within).count()).collect();
        let any: BTreeSet<&str> = places.iter().flatten().filter(within).map(|(path, _)| *path).collect();
        numbers.push(any.len());
        numbers
    };
    let crates: BTreeSet<&str> = product(files).map(Counted::package).collect();
    let rows = crates.iter().map(|name| (*name, numbers(&format!("{name}/"))));
    let rows = rows.chain([("sum", numbers(""))]).filter(|(_, numbers)| numbers.last() != Some(&0));
    let rows: Vec<Vec<String>> = rows.map(|(name, numbers)| row(name, &numbers)).collect();
    render(&[&["crate"], clients.as_slice(), &["any"]].concat(), &rows)
}

/// Returns the files of each client with the number of lines that name it.
pub(super) fn list(tree: &Tree, files: &[Counted<'_>]) -> String {
    let parts = folders(tree).into_iter().map(|client| {
        let places = places(files, client);
        let lines: String = places.iter().map(|(path, lines)| format!("  {path}  {lines}\n")).collect();
        format!("{client}: {} files\n{lines}", places.len())
    });
    parts.collect::<Vec<_>>().join("\n")
}

fn places<'a>(files: &[Counted<'a>], client: &str) -> Vec<(&'a str, usize)> {
    let counted = product(files).map(|file| (file.source.path, lines(&file.source, client).len()));
    counted.filter(|(_, lines)| *lines > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_listed_with_the_lines_that_name_the_client() {
        let tree = Tree::made_up(&[
            ("crates/runtimes/src/clients.rs", "    &crate::codex::CLIENT,\n    &crate::pi::CLIENT,\n"),
            ("crates/engine/src/a.rs", "use b::codex;\nlet a = \"codex \\\n codex\";\nlet b = Codex;\n"),
            ("crates/runtimes/src/codex/read.rs", "let a = \"codex\";\n"),
            ("crates/engine/src/a_tests.rs", "let a = \"codex\";\n"),
        ]);
        let files = super::super::lines::count(&tree);
        let listed = list(&tree, &files);
        assert!(listed.contains("  crates/engine/src/a.rs  3\n"), "{listed}");
        assert!(!listed.contains("read.rs") && !listed.contains("a_tests.rs"), "{listed}");
    }
}
