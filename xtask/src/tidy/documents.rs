//! The documents: those that must exist, the length of ARCHITECTURE.md, and links that lead somewhere.
//! Not their content, and no link to another host: a check must not need the network.

use super::Finding;
use super::tree::{Tree, extension};

/// Files that a reader of a repository expects at its root.
const REQUIRED: &[&str] = &[
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "SECURITY.md",
];

/// Lines of ARCHITECTURE.md: a map that one reads at a sitting.
const ARCHITECTURE_LINES_MAX: usize = 250;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let missing = REQUIRED.iter().filter(|path| !tree.contains(path));
    let mut findings: Vec<Finding> = missing.map(|path| Finding::file(path, "does not exist")).collect();
    findings.extend(architecture(tree));
    findings.extend(changelog(tree));
    findings.extend(unlisted_decisions(tree));
    for (path, text) in tree.texts().filter(|(path, _)| extension(path) == Some("md")) {
        findings.extend(broken_links(tree, path, text));
    }
    findings
}

fn architecture(tree: &Tree) -> Vec<Finding> {
    let path = "ARCHITECTURE.md";
    let Some(text) = tree.text(path) else {
        return Vec::new();
    };
    let lines = text.lines().count();
    let unnamed = tree.crates().map(|(folder, _)| folder).filter(|folder| !text.contains(folder));
    let mut findings: Vec<Finding> =
        unnamed.map(|folder| Finding::file(path, format!("does not mention `{folder}`"))).collect();
    if lines > ARCHITECTURE_LINES_MAX {
        findings.push(Finding::file(path, format!("{lines} lines, at most {ARCHITECTURE_LINES_MAX}")));
    }
    findings
}

fn changelog(tree: &Tree) -> Option<Finding> {
    let path = "CHANGELOG.md";
    let text = tree.text(path)?;
    let headed = text.lines().any(|line| matches!(line.trim(), "## Unreleased" | "## [Unreleased]"));
    (!headed).then(|| Finding::file(path, "no section `## Unreleased`"))
}

/// A decision that the index does not list is never found.
fn unlisted_decisions(tree: &Tree) -> Vec<Finding> {
    let index = tree.text("docs/decisions/README.md").unwrap_or_default();
    let pages = tree.paths().filter_map(|path| Some((path, path.strip_prefix("docs/decisions/")?)));
    let unlisted = pages.filter(|(_, name)| *name != "README.md" && !index.contains(&format!("({name})")));
    unlisted.map(|(path, _)| Finding::file(path, "docs/decisions/README.md does not list it")).collect()
}

fn broken_links(tree: &Tree, path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, target) in links(text) {
        if target.contains("://") || target.starts_with("mailto:") {
            continue;
        }
        let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
        let resolved = if file.is_empty() { Some(path.to_owned()) } else { resolve(path, file) };
        let Some(file) = resolved.filter(|file| tree.contains(file)) else {
            findings.push(Finding::at(path, line, format!("the link to `{target}` leads nowhere")));
            continue;
        };
        let page = tree.text(&file).filter(|_| extension(&file) == Some("md") && !anchor.is_empty());
        if page.is_some_and(|page| !headings(page).iter().any(|heading| heading == anchor)) {
            findings.push(Finding::at(path, line, format!("`{file}` has no heading for `#{anchor}`")));
        }
    }
    findings
}

/// Returns the targets of inline links, `[text](target)`, and of definitions, `[name]: target`, with their
/// lines. Code is no link: neither a fenced block nor the inside of a code span.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut fenced = false;
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            let prose = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
            found.extend(targets(&prose).map(|target| (at + 1, target.to_owned())));
        }
    }
    found
}

fn targets(line: &str) -> impl Iterator<Item = &str> {
    let inline = line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    let defined =
        line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")).map(|(_, target)| target.trim());
    inline.chain(defined)
}

/// Returns the path that a relative link leads to, or none when it leaves the repository.
fn resolve(from: &str, link: &str) -> Option<String> {
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// Returns the anchors of a page's headings as hosts make them: lower case, words joined by `-`.
fn headings(page: &str) -> Vec<String> {
    let titles =
        page.lines().filter_map(|line| line.strip_prefix('#').map(|rest| rest.trim_start_matches('#')));
    let anchor = |title: &str| {
        let kept = title.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect::<String>()
    };
    titles.map(anchor).collect()
}
