//! What holds of hooks: once they are installed, each turn of a real client leaves its commits, and nobody imports.
//! Played in a home of their own: in the other scenes imports have to find everything.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::Value;

use super::bench::{Bench, passed};
use super::client::Client;

/// How long after a client's end its last hook may still be at work.
const WAIT: Duration = Duration::from_secs(20);

/// How often it is looked at meanwhile.
const PAUSE: Duration = Duration::from_millis(200);

/// Plays the scene of each client that was asked for.
pub(crate) fn play(bench: &Bench, asked: &[Client]) -> anyhow::Result<()> {
    for client in asked.iter().copied() {
        turns(bench, client).with_context(|| format!("hooks of {}", client.name()))?;
    }
    Ok(())
}

/// A session of three turns, the second with a call; what each leaves in the store.
fn turns(bench: &Bench, client: Client) -> anyhow::Result<()> {
    let name = client.name();
    let installed = bench.stemma(&["install", client.runtime()])?;
    anyhow::ensure!(installed["written"] == true, "nothing was installed: {installed}");
    let again = bench.stemma(&["install", client.runtime()])?;
    anyhow::ensure!(again["changed"] == false, "a second install changes something: {again}");
    bench.ask(client, "work", &client.hooked(&[]), &format!("FIRST PROMPT to hooks of {name}"))?;
    let first = captured(bench, client, 0)?;
    let session = first["session_id"].as_str().context("the session has no id")?;
    let resume = client.hooked(&client.resumes(session));
    let mut commits = first["commits"].as_u64().unwrap_or_default();
    for prompt in [format!("SECOND PROMPT {}", client.echo("one")), "THIRD PROMPT".to_owned()] {
        bench.ask(client, "work", &resume, &prompt)?;
        let grown = captured(bench, client, commits)?;
        commits = grown["commits"].as_u64().unwrap_or_default();
    }
    let trouble = &bench.stemma(&["status"])?["hook_trouble"];
    anyhow::ensure!(trouble.is_null(), "a hook had trouble: {trouble}");
    let removed = bench.stemma(&["uninstall", client.runtime()])?;
    anyhow::ensure!(removed["written"] == true, "nothing was taken out: {removed}");
    passed(&format!("{name} with hooks leaves commits at each turn, and nobody imports"));
    Ok(())
}

/// Waits until the client's session has more commits than that. Only hooks and what they start capture: a list takes up
/// what they left, and reads nothing else.
fn captured(bench: &Bench, client: Client, more_than: u64) -> anyhow::Result<Value> {
    let began = Instant::now();
    loop {
        let list = bench.stemma(&["list"])?;
        let sessions = list["sessions"].as_array().cloned().unwrap_or_default();
        let own = sessions.into_iter().find(|session| {
            session["format"].as_str().is_some_and(|format| format.starts_with(client.runtime()))
        });
        if let Some(own) = &own
            && own["commits"].as_u64().is_some_and(|commits| commits > more_than)
        {
            return Ok(own.clone());
        }
        anyhow::ensure!(
            began.elapsed() < WAIT,
            "no hook captured anything beyond {more_than} commits: {own:?}; {}",
            bench.stemma(&["status"])?["hook_trouble"]
        );
        std::thread::sleep(PAUSE);
    }
}
