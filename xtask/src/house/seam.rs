//! The store's seam: its parts by the number of methods, and the lines that a second backend of databases writes anew.
//! Not about how hard the lines are: a backend that has the rules from `store/src/rules` writes statements.

use super::lines::{Counted, product};
use super::table::{render, row};
use crate::tidy::traits::traits;

/// Where the parts are declared.
const PARTS: &[&str] =
    &["crates/store/src/seam.rs", "crates/store/src/seam/", "crates/store/src/ledger/mod.rs"];

const SQLITE: &str = "crates/store/src/sqlite/";

/// What a second backend writes in its own statements: reads, writes, events, forgetting, collecting, and the rows that these share.
const ANEW: &[&str] = &[
    "read/",
    "write/",
    "ledger/",
    "forget/",
    "collect",
    "marks",
    "stored",
    "codes",
    "coding",
    "figures",
    "state",
    "kinds",
    "places",
    "prepare",
    "pieces",
    "annotations",
    "recent",
];

/// What another backend does not have, because it is about files, pages, locks and row checksums of this one.
const OWN: &[&str] = &["packs/", "open", "group", "repair/", "backup/", "frames/", "seals", "migrate"];

/// Returns the parts of the seam, the widest first, with the number of their methods and of those without a body.
pub(super) fn table(files: &[Counted<'_>]) -> String {
    let declared = product(files).filter(|file| PARTS.iter().any(|part| file.source.path.starts_with(part)));
    let mut parts: Vec<(String, usize, usize)> = Vec::new();
    for file in declared {
        let found = traits(&file.source).into_iter().filter(|part| part.methods > 0);
        parts.extend(found.map(|part| (part.name.to_owned(), part.methods, part.required)));
    }
    parts.sort_by_key(|(_, methods, _)| std::cmp::Reverse(*methods));
    let sum = parts.iter().fold((0, 0), |sum, (_, methods, required)| (sum.0 + methods, sum.1 + required));
    let rows = parts.iter().map(|(name, methods, required)| row(name, &[*methods, *required]));
    let rows: Vec<Vec<String>> = rows.chain([row("sum", &[sum.0, sum.1])]).collect();
    render(&["part of the seam", "methods", "required"], &rows)
}

/// Returns the product lines of the backend in SQLite: what a second backend writes in its own way, what is SQLite's alone, and the
/// frame of both, such as the store's value and its log, of which each backend has another one.
pub(super) fn backend(files: &[Counted<'_>]) -> String {
    let names = ["a second backend writes", "its frame", "SQLite's alone"];
    let mut rows = [[0; 2]; 3];
    for (file, path) in product(files).filter_map(|file| Some((file, file.source.path.strip_prefix(SQLITE)?)))
    {
        let is_of = |list: &[&str]| list.iter().any(|start| path.starts_with(start));
        let [anew, frame, own] = &mut rows;
        let row = if is_of(ANEW) {
            anew
        } else if is_of(OWN) {
            own
        } else {
            frame
        };
        *row = [row[0] + 1, row[1] + file.lines.product];
    }
    let rows: Vec<Vec<String>> = names.iter().zip(&rows).map(|(name, numbers)| row(name, numbers)).collect();
    render(&["lines below sqlite", "files", "product"], &rows)
}

#[cfg(test)]
mod tests {
    use super::super::lines::count;
    use super::*;
    use crate::tidy::tree::Tree;

    #[test]
    fn parts_and_lines_are_told_apart() {
        let tree = Tree::made_up(&[
            ("crates/store/src/seam/a.rs", "pub trait Few {\n    fn a(&self);\n}\n"),
            ("crates/store/src/seam/b.rs", "pub trait Many {\n    fn a(&self);\n    fn b(&self) {}\n}\n"),
            ("crates/store/src/files.rs", "pub trait Files {\n    fn a(&self);\n}\n"),
            ("crates/store/src/sqlite/read/a.rs", "fn a() {}\nfn b() {}\n"),
            ("crates/store/src/sqlite/packs/a.rs", "fn a() {}\n"),
            ("crates/store/src/sqlite/seals.rs", "fn a() {}\n"),
            ("crates/store/src/sqlite/read/tests.rs", "fn a() {}\n"),
            ("crates/store/src/sqlite/mod.rs", "fn a() {}\n"),
        ]);
        let files = count(&tree);
        let expected = "part of the seam  methods  required\nMany                    2         1\n\
                        Few                     1         1\nsum                     3         2\n";
        assert_eq!(table(&files), expected);
        let expected = "lines below sqlite       files  product\na second backend writes      1        2\n\
                        its frame                    1        1\nSQLite's alone               2        2\n";
        assert_eq!(backend(&files), expected);
    }
}
