//! Files that no `mod` reaches: cargo never compiles them, so their tests never run.
//! Not about private or public: reached is enough.

use std::collections::BTreeSet;

use super::Finding;
use super::source::{Source, head_end, is_test, words};
use super::tree::{Tree, extension};

/// Folders of a crate whose files cargo takes as roots by itself.
const ROOT_FOLDERS: &[&str] = &["src/bin", "tests", "examples", "benches", "fuzz_targets"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (folder, manifest) in tree.crates() {
        let prefix = format!("{folder}/");
        let files: BTreeSet<&str> =
            tree.paths().filter(|path| path.starts_with(&prefix) && extension(path) == Some("rs")).collect();
        let roots: Vec<&str> = files.iter().copied().filter(|path| is_root(folder, path)).collect();
        let reached = reach(tree, &files, roots, &mut findings);
        let lost = files.iter().filter(|path| !reached.contains(*path));
        findings.extend(
            lost.map(|path| Finding::file(path, "no `mod` declares this file, so cargo never compiles it")),
        );
        findings.extend(switched_off(folder, manifest));
    }
    findings
}

/// Cargo finds test files by itself unless a manifest says otherwise; then a new one would be lost.
fn switched_off(folder: &str, manifest: &str) -> Option<Finding> {
    let table = manifest.parse::<toml::Table>().ok()?;
    let value = table.get("package")?.get("autotests")?.as_bool()?;
    let message = "`autotests = false`: a new file in `tests` would never run";
    (!value).then(|| Finding::file(&format!("{folder}/Cargo.toml"), message))
}

fn is_root(folder: &str, path: &str) -> bool {
    let Some(inside) = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')) else {
        return false;
    };
    let named = ["src/lib.rs", "src/main.rs", "build.rs"].contains(&inside);
    let in_folder = ROOT_FOLDERS.iter().any(|root| {
        let file = inside.strip_prefix(root).and_then(|rest| rest.strip_prefix('/'));
        file.is_some_and(|file| {
            !file.contains('/') || (file.ends_with("/main.rs") && file.matches('/').count() == 1)
        })
    });
    named || in_folder
}

fn reach<'a>(
    tree: &'a Tree,
    files: &BTreeSet<&'a str>,
    roots: Vec<&'a str>,
    findings: &mut Vec<Finding>,
) -> BTreeSet<&'a str> {
    let mut reached: BTreeSet<&str> = roots.iter().copied().collect();
    let mut queue: Vec<(&str, bool)> = roots.into_iter().map(|path| (path, true)).collect();
    while let Some((path, root)) = queue.pop() {
        let Some(source) = tree.source(path) else { continue };
        for declared in declarations(&source, root) {
            let Some(file) = declared.candidates.iter().find_map(|name| files.get(name.as_str())) else {
                continue;
            };
            if declared.only_in_tests && !is_test(file) {
                let message =
                    "only tests use this module: name it `tests`, `…_tests`, or put it below `tests`";
                findings.push(Finding::file(file, message));
            }
            if reached.insert(file) {
                queue.push((file, false));
            }
        }
    }
    reached
}

/// One `mod name;`.
struct Declaration {
    /// Where its file may be.
    candidates: Vec<String>,
    only_in_tests: bool,
}

/// Returns the out-of-line modules that a file declares.
fn declarations(source: &Source<'_>, root: bool) -> Vec<Declaration> {
    let (folder, file) = source.path.rsplit_once('/').unwrap_or(("", source.path));
    let stem = file.trim_end_matches(".rs");
    let base = if root || stem == "mod" { folder.to_owned() } else { format!("{folder}/{stem}") };
    let found = words(&source.code, "mod").into_iter().filter_map(|at| {
        let end = head_end(&source.code, at)?;
        let name = source.code.get(at + "mod".len()..end)?.trim();
        (source.code.as_bytes().get(end) == Some(&b';')).then_some(())?;
        let inside =
            inline_parents(&source.code, at).iter().fold(base.clone(), |path, name| format!("{path}/{name}"));
        let candidates = match path_attribute(source, at) {
            Some(path) => vec![format!("{folder}/{path}")],
            None => vec![format!("{inside}/{name}.rs"), format!("{inside}/{name}/mod.rs")],
        };
        let only_in_tests = !is_test(source.path) && source.in_tests(at);
        Some(Declaration { candidates, only_in_tests })
    });
    found.collect()
}

/// Returns the names of the `mod name { … }` around an offset, outermost first.
fn inline_parents(code: &str, at: usize) -> Vec<&str> {
    let mut open: Vec<Option<&str>> = Vec::new();
    let before = code.get(..at).unwrap_or_default();
    for (brace, character) in before.match_indices(['{', '}']) {
        if character == "}" {
            open.pop();
            continue;
        }
        let head = before.get(..brace).unwrap_or_default().trim_end();
        let mut words = head.split_whitespace().rev();
        let name = words.next();
        open.push(if words.next() == Some("mod") { name } else { None });
    }
    open.into_iter().flatten().collect()
}

/// Returns the value of a `#[path = "…"]` that stands before an item.
fn path_attribute<'a>(source: &Source<'a>, at: usize) -> Option<&'a str> {
    let start = source.code.get(..at)?.rfind([';', '}', '{']).map_or(0, |end| end + 1);
    let attributes = source.text.get(start..at)?;
    let value = attributes.split_once("#[path = \"")?.1;
    value.split('"').next()
}
