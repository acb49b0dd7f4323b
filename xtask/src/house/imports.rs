//! Import edges between the files of a crate, and their circles.
//! Not about crates: `tidy` holds the edges between those, and cargo allows no circle.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::circles::{Edges, circles};
use super::lines::{Counted, product};
use super::table::render;
use crate::tidy::source::words;

/// Circles whose sizes the table names; the smaller ones are pairs mostly.
const SIZES_MAX: usize = 8;

/// The product files of one crate, and from each the files that it imports from.
struct Package<'a, 'b> {
    name: &'a str,
    files: Vec<&'b Counted<'a>>,
    edges: Edges,
    /// The largest first, by files and among equals by lines.
    circles: Vec<Vec<usize>>,
}

impl<'a, 'b> Package<'a, 'b> {
    fn new(name: &'a str, files: Vec<&'b Counted<'a>>) -> Self {
        let edges = edges(&files);
        let mut package = Self { name, files, circles: circles(&edges), edges };
        let mut circles = std::mem::take(&mut package.circles);
        circles.sort_by_key(|circle| std::cmp::Reverse((circle.len(), package.lines(circle))));
        Self { circles, ..package }
    }

    /// Returns the product's lines of a circle's files.
    fn lines(&self, circle: &[usize]) -> usize {
        circle.iter().filter_map(|at| self.files.get(*at)).map(|file| file.lines.product).sum()
    }
}

/// Returns the figures of each crate.
pub(super) fn table(files: &[Counted<'_>]) -> String {
    let heading = ["crate", "files", "edges", "circles", "lines of the largest", "of", "sizes"];
    let rows = packages(files).into_iter().map(|package| {
        let sizes: Vec<String> =
            package.circles.iter().take(SIZES_MAX).map(|circle| circle.len().to_string()).collect();
        let largest = package.circles.first().map_or(0, |circle| package.lines(circle));
        let all: usize = package.files.iter().map(|file| file.lines.product).sum();
        let edges: usize = package.edges.iter().map(BTreeSet::len).sum();
        let numbers = [package.files.len(), edges, package.circles.len(), largest, all];
        let mut row = super::table::row(package.name, &numbers);
        row.push(sizes.join(" "));
        row
    });
    render(&heading, &rows.collect::<Vec<_>>())
}

/// Returns the files of every circle.
pub(super) fn list(files: &[Counted<'_>]) -> String {
    let mut text = String::new();
    for package in packages(files) {
        for circle in &package.circles {
            let lines = package.lines(circle);
            text.extend([format!("{}: {} files, {lines} lines\n", package.name, circle.len())]);
            let members = circle.iter().filter_map(|at| package.files.get(*at));
            text.extend(members.map(|file| format!("  {}\n", file.source.path)));
        }
    }
    text
}

/// Returns the crates that ship, the one with the most files first.
fn packages<'a, 'b>(files: &'b [Counted<'a>]) -> Vec<Package<'a, 'b>> {
    let mut by_crate: BTreeMap<&str, Vec<&Counted<'_>>> = BTreeMap::new();
    for file in product(files).filter(|file| file.source.path.contains("/src/")) {
        by_crate.entry(file.package()).or_default().push(file);
    }
    let packages = by_crate.into_iter().map(|(name, files)| Package::new(name, files));
    let mut packages: Vec<Package<'_, '_>> = packages.collect();
    packages.sort_by_key(|package| std::cmp::Reverse(package.files.len()));
    packages
}

/// Where a file's module is in its crate: nothing for the root.
fn module(path: &str) -> Vec<&str> {
    let inside = path.split_once("/src/").map_or(path, |(_, inside)| inside);
    let mut parts: Vec<&str> = inside.trim_end_matches(".rs").split('/').collect();
    match parts.as_slice() {
        ["lib" | "main"] => Vec::new(),
        [.., "mod"] => {
            parts.pop();
            parts
        }
        _ => parts,
    }
}

fn edges(files: &[&Counted<'_>]) -> Edges {
    let modules: BTreeMap<Vec<&str>, usize> =
        files.iter().enumerate().map(|(at, file)| (module(file.source.path), at)).collect();
    // The innermost module with a file: what is below is an item of that file, or a module written inline there.
    let file = |path: &[&str]| {
        (1..=path.len()).rev().find_map(|length| modules.get(path.get(..length).unwrap_or_default())).copied()
    };
    let of_each = files.iter().enumerate().map(|(at, from)| {
        let named = named(&from.source.production, &module(from.source.path));
        let named = named.iter().map(|path| path.iter().map(String::as_str).collect::<Vec<_>>());
        named.filter_map(|path| file(&path)).filter(|to| *to != at).collect()
    });
    of_each.collect()
}

/// Returns the paths from the crate's root that code names: in `use`, and by `crate::` anywhere else.
fn named(code: &str, module: &[&str]) -> Vec<Vec<String>> {
    let declarations = declarations(code);
    let mut paths = Vec::new();
    for declaration in &declarations {
        paths.extend(
            declaration.paths.iter().filter_map(|path| from_root(path, module, declaration.is_export)),
        );
    }
    let inline = words(code, "crate").into_iter().filter(|at| {
        let before = code.get(..*at).unwrap_or_default();
        // `pub(in crate::a)` says who may name an item, and imports nothing.
        let is_path = !before.ends_with(':') && !before.ends_with("(in ");
        is_path && !declarations.iter().any(|declaration| declaration.place.contains(at))
    });
    paths.extend(inline.filter_map(|at| code.get(at..)?.strip_prefix("crate::")).map(plain_path));
    paths
}

/// One `use`, with all that its braces name.
struct Declaration {
    place: Range<usize>,
    paths: Vec<Vec<String>>,
    /// Whether it is a `pub use`, of any visibility.
    is_export: bool,
}

fn declarations(code: &str) -> Vec<Declaration> {
    let found = words(code, "use").into_iter().filter_map(|at| {
        let tail = code.get(at + "use".len()..)?;
        // `impl Trait + use<'a>` names what a type captures.
        let tree = tail.strip_prefix(char::is_whitespace)?.split(';').next()?;
        let mut paths = Vec::new();
        flatten(&[], tree, &mut paths);
        let is_export = ends_with_visibility(code.get(..at)?.trim_end());
        Some(Declaration { place: at..at + "use ".len() + tree.len(), paths, is_export })
    });
    found.collect()
}

fn ends_with_visibility(before: &str) -> bool {
    let outside =
        before.strip_suffix(')').and_then(|inside| inside.rsplit_once('(')).map_or(before, |(head, _)| head);
    outside.ends_with("pub")
}

/// Adds every path of a tree such as `a::{b, c::{d, e as f}}`.
fn flatten(prefix: &[&str], tree: &str, paths: &mut Vec<Vec<String>>) {
    for branch in branches(tree) {
        let (path, inner) = match branch.split_once('{') {
            Some((path, inner)) => (path, inner.rsplit_once('}').map(|(inner, _)| inner)),
            None => (branch.split(" as ").next().unwrap_or(branch), None),
        };
        let own = path.split("::").map(str::trim).filter(|part| !part.is_empty());
        let whole: Vec<&str> = prefix.iter().copied().chain(own).collect();
        match inner {
            Some(inner) => flatten(&whole, inner, paths),
            None => paths.push(whole.into_iter().map(str::to_owned).collect()),
        }
    }
}

/// Returns the parts between commas outside of braces.
fn branches(tree: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let parts = tree.split(|character: char| {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    });
    parts.filter(|part| !part.trim().is_empty()).collect()
}

/// Returns the path from the crate's root. A path to another crate looks like one to a module below this one: as there
/// is no such file, it leads back to this module, which is no edge. None for a relative export: that says where an item of
/// this module, or one below it, is to be found, and needs nothing of it.
fn from_root(path: &[String], module: &[&str], is_export: bool) -> Option<Vec<String>> {
    let climbs = path.iter().take_while(|part| *part == "super").count();
    let (base, rest) = match path.first()?.as_str() {
        "crate" => (&[][..], path.get(1..)?),
        _ if is_export => return None,
        "self" => (module, path.get(1..)?),
        _ => (module.get(..module.len().checked_sub(climbs)?)?, path.get(climbs..)?),
    };
    Some(base.iter().map(|part| (*part).to_owned()).chain(rest.iter().cloned()).collect())
}

/// Returns the identifiers at the beginning of a text that `::` joins.
fn plain_path(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let end = rest.find(|character: char| !(character.is_alphanumeric() || character == '_'));
        let (part, behind) = rest.split_at(end.unwrap_or(rest.len()));
        parts.extend((!part.is_empty()).then(|| part.to_owned()));
        match behind.strip_prefix("::").filter(|_| !part.is_empty()) {
            Some(next) => rest = next,
            None => return parts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::Tree;

    fn paths(code: &str) -> Vec<String> {
        let mut paths: Vec<String> =
            named(code, &["capture", "lines"]).iter().map(|path| path.join("::")).collect();
        paths.sort();
        paths
    }

    #[test]
    fn a_path_is_found_however_it_is_written() {
        let rows: [(&str, &[&str]); 9] = [
            ("use crate::engine::Engine;", &["engine::Engine"]),
            ("use crate::{a::{b, c::D as E}, f};", &["a::b", "a::c::D", "f"]),
            ("use super::cursor::{self, Cursor};", &["capture::cursor::Cursor", "capture::cursor::self"]),
            (
                "use super::super::home::Home;\nuse self::inner::A;",
                &["capture::lines::inner::A", "home::Home"],
            ),
            ("pub use self::inner::A;\npub(crate) use super::B;", &[]),
            ("pub(in crate::capture) use crate::error::Result;", &["error::Result"]),
            ("fn f() -> impl Iterator + use<'_> { crate::error::fail() }", &["error::fail"]),
            ("fn f(x: other_crate::A, y: $crate::b::B) {}", &["b::B"]),
            ("use tree::Tree;\nlet user = used;\npub use tree::Leaf;", &["capture::lines::tree::Tree"]),
        ];
        for (code, expected) in rows {
            assert_eq!(paths(code), expected, "in {code:?}");
        }
    }

    #[test]
    fn circles_are_found_across_folders_and_not_through_tests() {
        let made_up = [
            ("crates/a/src/lib.rs", "pub use engine::Engine;\nmod engine;\n"),
            ("crates/a/src/engine.rs", "use crate::capture::lines::Lines;\nuse crate::error::Error;\n"),
            ("crates/a/src/capture/mod.rs", "use super::engine::Engine;\n"),
            ("crates/a/src/capture/lines.rs", "//! Lines.\nuse super::Capture;\n"),
            ("crates/a/src/error.rs", "#[cfg(test)]\nmod tests {\n    use crate::engine::Engine;\n}\n"),
            ("crates/a/src/error/tests.rs", "use crate::engine::Engine;\n"),
        ];
        let tree = Tree::made_up(&made_up);
        let files = super::super::lines::count(&tree);
        let expected = "crates/a: 3 files, 5 lines\n  crates/a/src/capture/lines.rs\n  crates/a/src/capture/mod.rs\n  \
                        crates/a/src/engine.rs\n";
        assert_eq!(list(&files), expected);
        let row: Vec<String> = table(&files).split_whitespace().map(str::to_owned).collect();
        assert_eq!(row[row.len() - 7..], ["crates/a", "5", "4", "1", "5", "7", "3"]);
    }
}
