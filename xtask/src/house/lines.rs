//! Lines of Rust, by what they are for and by crate.
//! Not about their quality: the limits of files and functions are rules of `tidy`.

use std::collections::BTreeMap;

use super::table::{render, row};
use crate::tidy::source::{LineKind, Source, is_test};
use crate::tidy::tree::Tree;

/// Folders that ship nothing: what only tests, developers and readers use.
const SUPPORT: &[&str] = &["crates/testkit/", "crates/faults/", "xtask/", "benches/", "fuzz/", "examples/"];

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Product,
    Test,
    /// A suite that every backend or adapter of a seam runs. It is compiled into the product's crates.
    Conformance,
    Example,
    Support,
}

/// Lines of one file. `product` has all that tests do not own; `code`, `doc` and `remark` are parts of it, the rest is
/// blank.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineCounts {
    pub(super) product: usize,
    pub(super) code: usize,
    pub(super) doc: usize,
    pub(super) remark: usize,
    pub(super) test: usize,
}

/// One Rust file with its figures.
pub(super) struct Counted<'a> {
    pub(super) source: Source<'a>,
    pub(super) purpose: Purpose,
    pub(super) lines: LineCounts,
}

impl<'a> Counted<'a> {
    pub(super) fn new(source: Source<'a>) -> Self {
        let mut lines = LineCounts::default();
        for line in source.lines() {
            if line.is_test {
                lines.test += 1;
                continue;
            }
            lines.product += 1;
            match line.kind {
                LineKind::Code => lines.code += 1,
                LineKind::Doc => lines.doc += 1,
                LineKind::Remark => lines.remark += 1,
                LineKind::Blank => {}
            }
        }
        Self { purpose: purpose(source.path), source, lines }
    }

    /// Returns the folder of the crate: `crates/model`, or a folder at the root.
    pub(super) fn package(&self) -> &'a str {
        let path = self.source.path;
        let inside = path.strip_prefix("crates/").map_or(0, |_| "crates/".len());
        let name = path.get(inside..).and_then(|rest| rest.find('/'));
        path.get(..name.map_or(path.len(), |length| inside + length)).unwrap_or(path)
    }
}

/// Returns every Rust file of a tree with its figures.
pub(super) fn count(tree: &Tree) -> Vec<Counted<'_>> {
    tree.sources().map(Counted::new).collect()
}

/// Returns the files that ship.
pub(super) fn product<'a, 'b>(files: &'b [Counted<'a>]) -> impl Iterator<Item = &'b Counted<'a>> {
    files.iter().filter(|file| file.purpose == Purpose::Product)
}

/// Returns the figures by crate, the largest first, and their sum.
pub(super) fn table(files: &[Counted<'_>]) -> String {
    let mut by_crate: BTreeMap<&str, Totals> = BTreeMap::new();
    let mut sum = Totals::default();
    for file in files {
        by_crate.entry(file.package()).or_default().add(file);
        sum.add(file);
    }
    let mut crates: Vec<(&str, Totals)> = by_crate.into_iter().collect();
    crates.sort_by_key(|(_, totals)| std::cmp::Reverse(totals.lines));
    let mut rows: Vec<Vec<String>> =
        crates.iter().map(|(name, totals)| row(name, &totals.numbers())).collect();
    rows.push(row("sum", &sum.numbers()));
    render(&HEADING, &rows)
}

const HEADING: [&str; 13] = [
    "crate",
    "files",
    "product files",
    "lines",
    "product",
    "code",
    "doc",
    "comment",
    "tests inline",
    "tests in files",
    "conformance",
    "examples",
    "support",
];

/// Figures of many files. `counted` is of product files alone: an inline test of a suite is part of the suite.
#[derive(Debug, Default, Clone, Copy)]
struct Totals {
    files: usize,
    product_files: usize,
    lines: usize,
    counted: LineCounts,
    tests: usize,
    conformance: usize,
    examples: usize,
    support: usize,
}

impl Totals {
    fn add(&mut self, file: &Counted<'_>) {
        let all = file.lines.product + file.lines.test;
        self.files += 1;
        self.lines += all;
        match file.purpose {
            Purpose::Product => {
                self.product_files += 1;
                self.counted.product += file.lines.product;
                self.counted.code += file.lines.code;
                self.counted.doc += file.lines.doc;
                self.counted.remark += file.lines.remark;
                self.counted.test += file.lines.test;
            }
            Purpose::Test => self.tests += all,
            Purpose::Conformance => self.conformance += all,
            Purpose::Example => self.examples += all,
            Purpose::Support => self.support += all,
        }
    }

    /// Returns the figures in the order of `HEADING`.
    fn numbers(&self) -> [usize; HEADING.len() - 1] {
        let LineCounts { product, code, doc, remark, test } = self.counted;
        let ours = [self.files, self.product_files, self.lines];
        let rest = [self.tests, self.conformance, self.examples, self.support];
        let [files, product_files, lines] = ours;
        let [tests, conformance, examples, support] = rest;
        [files, product_files, lines, product, code, doc, remark, test, tests, conformance, examples, support]
    }
}

/// Suites, which are built for tests alone.
const BEHIND_FEATURES: &[&str] = &["/conformance/", "/conformance.rs"];

/// Returns what a file is for. A suite below `conformance` counts as one also where its files are named like tests.
fn purpose(path: &str) -> Purpose {
    match () {
        () if SUPPORT.iter().any(|folder| path.starts_with(folder)) => Purpose::Support,
        () if path.contains("/benches/") => Purpose::Support,
        () if BEHIND_FEATURES.iter().any(|part| path.contains(part)) => Purpose::Conformance,
        () if path.contains("/examples/") => Purpose::Example,
        () if is_test(path) => Purpose::Test,
        () => Purpose::Product,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(path: &'static str, text: &'static str) -> LineCounts {
        Counted::new(Source::new(path, text)).lines
    }

    #[test]
    fn a_line_is_counted_once_and_as_code_where_it_has_any() {
        let text = "//! Doc.\n// Why.\n\nfn f() {} // beside code\n/* one\n   two */\nlet s = \"a\n\n// no comment\";\n//// drawn\n/// Doc.\n";
        let expected = LineCounts { product: 11, code: 4, doc: 2, remark: 4, test: 0 };
        assert_eq!(counted("crates/a/src/b.rs", text), expected);
    }

    #[test]
    fn raw_strings_characters_and_lifetimes_hide_no_line_end() {
        let text =
            "let a = r#\"// \" \"#; // why\nlet q = '\"'; // why\nfn f<'a>(x: &'a str) {} // why\n// why\n";
        let expected = LineCounts { product: 4, code: 3, doc: 0, remark: 1, test: 0 };
        assert_eq!(counted("crates/a/src/b.rs", text), expected);
    }

    #[test]
    fn tests_are_items_fields_variants_arms_and_whole_files() {
        let rows = [
            ("fn a() {}\n#[cfg(test)]\nmod tests {\n    fn t() {}\n}\n", 4),
            ("#[cfg(test)]\nmod tests;\nmod other;\n", 2),
            ("#[cfg(test)]\n#[path = \"x.rs\"]\npub(crate) mod tests;\nfn a() {}\n", 3),
            ("#[cfg(test)]\nfn of(a: u8, b: u8) -> u8 {\n    a\n}\nfn a() {}\n", 4),
            ("struct A {\n    a: u8,\n    #[cfg(test)]\n    pub(super) b: Map<u8, u8>,\n    c: u8,\n}\n", 2),
            ("struct A {\n    #[cfg(test)]\n    b: u8\n    }\nfn a() { b(); }\n", 2),
            ("enum A {\n    #[cfg(test)]\n    B { b: u8, c: u8 },\n    C,\n}\n", 2),
            ("match a {\n    #[cfg(test)]\n    A::B => {\n        b();\n    }\n    A::C => c(),\n}\n", 4),
            ("match a {\n    #[cfg(test)]\n    A::B if b > c => b(x, y),\n    A::C => c(),\n}\n", 2),
            ("A {\n    #[cfg(test)]\n    b: if x { 1 } else { 2 },\n    c,\n}\n", 2),
            ("#[cfg(all(test, unix))]\n#[expect(a, reason = \"[\")]\nuse super::{a, b};\nfn a() {}\n", 3),
            ("#[cfg(not(test))]\nfn a() {}\n// #[cfg(test)]\nfn b() { \"#[cfg(test)]\" }\n", 0),
        ];
        for (text, tests) in rows {
            let found = counted("crates/a/src/b.rs", text);
            assert_eq!(
                (found.test, found.product + found.test),
                (tests, text.lines().count()),
                "in {text:?}"
            );
        }
        assert_eq!(counted("crates/a/src/b_tests.rs", "fn a() {}\n").test, 1);
    }

    #[test]
    fn the_path_says_what_a_file_is_for() {
        let rows = [
            ("crates/store/src/read.rs", Purpose::Product, "crates/store"),
            ("crates/store/src/read/tests.rs", Purpose::Test, "crates/store"),
            ("crates/store/tests/laws/main.rs", Purpose::Test, "crates/store"),
            ("crates/store/src/conformance/tests.rs", Purpose::Conformance, "crates/store"),
            ("crates/store/examples/one.rs", Purpose::Example, "crates/store"),
            ("crates/testkit/src/home.rs", Purpose::Support, "crates/testkit"),
            ("xtask/src/main.rs", Purpose::Support, "xtask"),
        ];
        for (path, purpose, package) in rows {
            let file = Counted::new(Source::new(path, ""));
            assert_eq!((file.purpose, file.package()), (purpose, package), "of {path}");
        }
    }

    #[test]
    fn the_sum_of_all_crates_is_the_last_row() {
        let made_up = [
            ("crates/a/src/lib.rs", "//! A.\nfn a() {}\n#[cfg(test)]\nmod tests {}\n"),
            ("crates/a/src/b_tests.rs", "fn b() {}\n"),
            ("xtask/src/main.rs", "fn main() {}\n"),
        ];
        let tree = Tree::made_up(&made_up);
        let text = table(&count(&tree));
        let cells: Vec<Vec<&str>> =
            text.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(cells[0], ["crates/a", "2", "1", "5", "2", "1", "1", "0", "2", "1", "0", "0", "0"]);
        assert_eq!(cells[2], ["sum", "3", "1", "6", "2", "1", "1", "0", "2", "1", "0", "0", "1"]);
    }
}
