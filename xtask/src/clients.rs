//! `cargo xtask clients <name>`: the optional tests against a real client.
//! Not in the default test run: a client is hundreds of megabytes and is installed on request.

use std::path::Path;

const USAGE: &str = "usage: cargo xtask clients <name>\n\nclients: none yet";

/// Runs the tests of one client.
pub(crate) fn run(_root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    match arguments.first() {
        None => anyhow::bail!("no client named\n\n{USAGE}"),
        Some(name) => anyhow::bail!("unknown client `{name}`\n\n{USAGE}"),
    }
}
