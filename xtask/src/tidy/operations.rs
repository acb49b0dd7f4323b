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
const WIRING: &[&str] = &["config.rs", "config/keys.rs", "model.rs", "wiring.rs"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in tree.sources() {
        let file = source.path.strip_prefix(FOLDER).filter(|file| !WIRING.contains(file));
        for name in file.map(|_| BELOW).unwrap_or_default() {
            let message = format!(
                "`{name}`: a command asks `Service` or `Host`; the engine's types end in `crates/service`"
            );
            let places = words(&source.production, name).into_iter();
            findings.extend(places.map(|at| Finding::at(source.path, source.line(at), message.clone())));
        }
    }
    findings
}
