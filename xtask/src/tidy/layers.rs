//! The edges between crates: dependencies point down only, and every edge is listed here.
//! Not about crates from outside, which `deny.toml` judges.

use super::Finding;
use super::tree::Tree;

/// Every crate of the workspace by its folder, with the crates that it may depend on. A new edge is a
/// change of its own, made here and in ARCHITECTURE.md.
const EDGES: &[(&str, &[&str])] = &[
    ("crates/model", &[]),
    ("crates/api", &["model"]),
    ("crates/redact", &["model"]),
    ("crates/acts", &["model"]),
    ("crates/runtimes", &["model", "acts"]),
    ("crates/store", &["model"]),
    ("crates/prompt", &["model", "api", "acts"]),
    ("crates/tokens", &["model"]),
    ("crates/engine", &["model", "api", "acts", "redact", "runtimes", "store", "prompt", "tokens"]),
    ("crates/service", &["api", "model", "store", "prompt", "engine"]),
    ("crates/llm", &["redact", "prompt"]),
    ("crates/client", &["api"]),
    ("crates/server", &["api", "service"]),
    ("crates/cli", &["model", "engine", "api", "service", "client", "llm", "server"]),
    ("crates/testkit", &["model", "store"]),
    ("crates/faults", &["model", "store", "engine", "testkit"]),
    (
        "benches",
        &[
            "model", "api", "acts", "redact", "runtimes", "store", "prompt", "engine", "service", "client",
            "server", "testkit", "tokens",
        ],
    ),
    ("fuzz", &["model", "acts", "redact", "runtimes", "store", "prompt", "engine", "tokens"]),
    ("xtask", &[]),
];

/// The crate that only tests use.
const TESTKIT: &str = "testkit";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (folder, text) in tree.crates() {
        let path = format!("{folder}/Cargo.toml");
        match (text.parse::<toml::Table>(), EDGES.iter().find(|(name, _)| *name == folder)) {
            (Err(error), _) => findings.push(Finding::file(&path, format!("not TOML: {}", error.message()))),
            (Ok(_), None) => {
                findings.push(Finding::file(
                    &path,
                    "a crate that the table in xtask/src/tidy/layers.rs does not list",
                ));
            }
            (Ok(manifest), Some((_, allowed))) => {
                findings.extend(in_manifest(&path, &manifest, allowed));
            }
        }
    }
    findings
}

fn in_manifest(path: &str, manifest: &toml::Table, allowed: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, kind) in dependencies(manifest) {
        // A crate that names itself there has its tests built with a feature.
        let is_own = path.rsplit('/').nth(1) == Some(name.as_str());
        let test_only = kind == "dev-dependencies" && (name == TESTKIT || is_own);
        if !test_only && !allowed.contains(&name.as_str()) {
            let message = format!(
                "depends on `{name}` in {kind}: an edge that points sideways or up, or is not listed"
            );
            findings.push(Finding::file(path, message));
        }
    }
    for (table, key) in [("lints", "workspace"), ("package", "license")] {
        if manifest.get(table).and_then(|table| table.get(key)).is_none() {
            let message = format!("no `{key}` in [{table}]: the workspace's {table} do not hold here");
            findings.push(Finding::file(path, message));
        }
    }
    findings
}

/// Returns the workspace's crates that a manifest names, without the prefix, with the kind of dependency.
fn dependencies(manifest: &toml::Table) -> Vec<(String, &'static str)> {
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let per_target = targets.into_iter().flat_map(toml::Table::values).filter_map(toml::Value::as_table);
    let mut found = Vec::new();
    for table in std::iter::once(manifest).chain(per_target) {
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let names =
                table.get(kind).and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::keys);
            let ours = names.filter_map(|name| name.strip_prefix("stemmata-"));
            found.extend(ours.map(|name| (name.to_owned(), kind)));
        }
    }
    found
}
