//! `cargo xtask tidy`: the rules of this repository that the compiler and clippy do not know.
//! Not a formatter: it changes nothing. A rule is a pure function of the list of files, so that its
//! tests show it failing on a made-up tree; only `tree` reads the disk.

mod attributes;
pub(crate) mod clients;
mod doctests;
mod documents;
mod layers;
mod modules;
mod names;
mod operations;
mod purity;
mod seeds;
mod sizes;
pub(crate) mod source;
mod text;
pub(crate) mod traits;
pub(crate) mod tree;
mod wire;
mod wording;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;

use crate::process::{no_arguments, say};
use tree::Tree;

/// One place that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    /// Counted from 1; 0 when the finding is about the whole file.
    line: usize,
    message: String,
}

impl Finding {
    fn file(path: &str, message: impl Into<String>) -> Self {
        Self::at(path, 0, message)
    }

    fn at(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// Decides about a whole tree, because some rules compare files.
type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: &[Rule] = &[
    attributes::check,
    clients::check,
    doctests::check,
    documents::check,
    layers::check,
    modules::check,
    names::check,
    operations::check,
    purity::check,
    seeds::check,
    sizes::check,
    text::check,
    traits::check,
    wire::check,
    wording::check,
];

/// Prints every finding and fails when there is one.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    no_arguments("tidy", arguments)?;
    verify(root)
}

/// Fails with every place that breaks a rule.
pub(crate) fn verify(root: &Path) -> anyhow::Result<()> {
    say("==> tidy");
    let findings = findings(&Tree::load(root)?);
    for finding in &findings {
        say(&finding.to_string());
    }
    anyhow::ensure!(findings.is_empty(), "tidy found {} places to correct", findings.len());
    Ok(())
}

fn findings(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    findings.sort();
    findings
}
