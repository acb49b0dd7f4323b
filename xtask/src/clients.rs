//! `cargo xtask clients <name…>`: the optional tests against real clients.
//! Not in the default test run: a client is hundreds of megabytes and is installed on request.

mod bench;
mod client;
mod compacted;
mod damaged;
mod hooks;
mod jail;
mod model;
mod moves;
mod talk;

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::process::{cargo, execute, say, target};
use bench::Bench;
use client::Client;

const USAGE: &str = "\
usage: cargo xtask clients NAME… [--keep] [--client-dir DIR]

  NAME is claude, codex, pi, gemini, opencode or all. Installs the clients into target/clients (or takes them from
  DIR), builds `stemma`, and has each real client make a session, resume a copy of it (whole, and damaged and repaired), a fork of it, and a session
  translated from each other client that is installed; then looks whether what was said reached the model and whether
  what was appended was captured; and has it work with our hooks, which must leave commits at each turn. They run in a network of their own that has only loopback, against a scripted
  model, with made-up keys and a home of their own. Needs Linux with `unshare` and `ip`; node and npm to install.

  --keep            leave the folder with sessions, requests and the store behind, and print where it is
  --client-dir DIR  a folder with installed clients, one folder each (DIR/claude/node_modules …)";

/// Tells the program that it is already in a network of its own.
const INSIDE: &str = "--inside";

/// Runs the tests of some clients in a network of their own.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    if let Some([folder, clients, stemma, names @ ..]) = arguments.strip_prefix(&[INSIDE.to_owned()]) {
        return inside(Path::new(folder), Path::new(clients), stemma.into(), names);
    }
    let options = Options::parse(arguments)?;
    let target = target(root)?;
    let clients = options.client_dir.unwrap_or_else(|| target.join("clients"));
    for client in &options.clients {
        client.install(&clients)?;
    }
    execute(&mut cargo(root, &["build", "--package", "stemmata", "--bin", "stemma"]))?;
    let stemma = target.join("debug").join("stemma");
    let folder = tempfile::Builder::new().prefix("stemma-clients-").tempdir().context("creating a folder")?;
    let program = std::env::current_exe().context("asking for this program's path")?;
    let paths = [folder.path(), &clients, &stemma].map(|path| path.to_string_lossy().into_owned());
    let mut all = vec!["clients", INSIDE];
    all.extend(paths.iter().map(String::as_str));
    all.extend(options.clients.iter().map(|client| client.name()));
    let outcome = execute(&mut jail::command(&program, &all)?);
    if options.keep {
        say(&format!("kept: {}", folder.keep().display()));
    }
    outcome
}

#[derive(Debug, Default)]
struct Options {
    clients: Vec<Client>,
    keep: bool,
    client_dir: Option<PathBuf>,
}

impl Options {
    fn parse(arguments: &[String]) -> anyhow::Result<Self> {
        let mut options = Self::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--keep" => options.keep = true,
                "--client-dir" => {
                    let folder = arguments.next();
                    let folder =
                        folder.with_context(|| format!("`--client-dir` without a folder\n\n{USAGE}"))?;
                    let folder =
                        std::fs::canonicalize(folder).with_context(|| format!("looking at `{folder}`"))?;
                    options.client_dir = Some(folder);
                }
                "all" => options.clients.extend(Client::ALL),
                name => options.clients.push(named(name)?),
            }
        }
        anyhow::ensure!(!options.clients.is_empty(), "no client named\n\n{USAGE}");
        Ok(options)
    }
}

fn named(name: &str) -> anyhow::Result<Client> {
    let found = Client::ALL.into_iter().find(|client| client.name() == name);
    found.with_context(|| format!("unknown client or option `{name}`\n\n{USAGE}"))
}

/// Plays the stories; the network is this process's own.
fn inside(folder: &Path, clients: &Path, stemma: PathBuf, names: &[String]) -> anyhow::Result<()> {
    let asked = names.iter().map(|name| named(name)).collect::<anyhow::Result<Vec<_>>>()?;
    let found = Client::ALL.into_iter().filter_map(|client| Some((client, client.find(clients)?)));
    let found: Vec<(Client, PathBuf)> = found.collect();
    for client in Client::ALL {
        if !found.iter().any(|(one, _)| *one == client) {
            say(&format!("note: {} is not installed; nothing is translated from it", client.name()));
        }
    }
    let hooked = Bench::new(&folder.join("hooks"), stemma.clone(), found.clone())?;
    hooks::play(&hooked, &asked)?;
    let bench = Bench::new(folder, stemma, found)?;
    moves::play(&bench, &asked)?;
    if asked.contains(&Client::Claude) {
        compacted::play(&bench)?;
    }
    say("all scenes passed");
    Ok(())
}
