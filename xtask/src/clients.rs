//! `cargo xtask clients <name>`: the optional tests against a real client.
//! Not in the default test run: a client is hundreds of megabytes and is installed on request.

mod claude;
mod jail;
mod model;
mod talk;

use std::path::Path;

const USAGE: &str = "\
usage: cargo xtask clients claude [--keep] [--client-dir DIR]

  Installs Claude Code into target/clients (or takes it from DIR), builds `stemma`, and has the real client go on
  from what `stemma` places: the whole session, an earlier turn, before and after a compaction, and once more from
  what was captured. It runs in a network of its own that has only loopback, against a scripted model, with a made-up
  key and a home of its own. Needs Linux with `unshare` and `ip`; node and npm to install the client.

  --keep            leave the folder with sessions, requests and the store behind, and print where it is
  --client-dir DIR  a folder with an installed client (node_modules)";

/// Runs the tests of one client.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    match arguments.split_first() {
        Some((name, rest)) if name == "claude" => claude::run(root, rest, USAGE),
        Some((name, _)) => anyhow::bail!("unknown client `{name}`\n\n{USAGE}"),
        None => anyhow::bail!("no client named\n\n{USAGE}"),
    }
}
