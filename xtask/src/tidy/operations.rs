//! One operation layer: a command asks the service or the host, and renders what it answers.
//!
//! What an answer holds is the wire types' affair.

use super::Finding;
use super::source::words;
use super::tree::Tree;

/// Where commands are.
const FOLDER: &str = "crates/cli/src/";

/// Crates that only the service knows.
const BELOW: &[&str] =
    &["stemmata_engine", "stemmata_store", "stemmata_prompt", "stemmata_runtimes", "stemmata_redact"];

/// Files that put the program together: the configuration and the data directory are the engine's.
const WIRING: &[&str] = &["config.rs", "config/keys.rs", "wiring.rs"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in tree.sources() {
        let Some(file) = source.path.strip_prefix(FOLDER) else { continue };
        let places =
            BELOW.iter().flat_map(|name| words(&source.production, name).into_iter().map(|at| (at, *name)));
        let places: Vec<(usize, &str)> = places.collect();
        let is_listed = WIRING.contains(&file);
        if is_listed && places.is_empty() {
            findings.push(Finding::file(
                source.path,
                "is on the list of operations.rs and does not need it: take it off",
            ));
        }
        if !is_listed {
            findings.extend(places.into_iter().map(|(at, name)| {
                let message = format!(
                    "`{name}`: a command asks `Service` or `Host`; the engine's types end in `crates/service`"
                );
                Finding::at(source.path, source.line(at), message)
            }));
        }
    }
    findings
}
