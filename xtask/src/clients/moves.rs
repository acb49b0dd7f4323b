//! What holds of every client: it resumes a copy of its own session, one that was damaged and repaired, a fork of a part
//! of it, and a session that was translated from each other client, knows what was said, goes on, and is captured on the
//! same line.

use std::collections::BTreeMap;
use std::fs;

use anyhow::Context as _;

use super::bench::{Bench, Placed, Talk, holds, lacks, passed};
use super::client::Client;
use super::damaged;
use super::talk::{Item, mentions};

/// A session that a client made, as it stands in the store.
pub(super) struct Told {
    pub(super) tip: String,
    pub(super) conversation: Vec<Item>,
}

/// Plays the scenes of the clients that were asked for; the others that are there give sessions to translate.
pub(crate) fn play(bench: &Bench, asked: &[Client]) -> anyhow::Result<()> {
    let mut told = BTreeMap::new();
    for client in bench.clients() {
        told.insert(client.name(), tell(bench, client).with_context(|| format!("{} begins", client.name()))?);
    }
    for client in asked.iter().copied() {
        let own = told.get(client.name()).with_context(|| format!("{} is not installed", client.name()))?;
        own_session(bench, client, own)?;
        damaged::play(bench, client, own)?;
        for from in bench.clients().filter(|from| *from != client) {
            let told = told.get(from.name()).context("every client told its session")?;
            moved(bench, from, client, told)
                .with_context(|| format!("{} → {}", from.name(), client.name()))?;
        }
    }
    Ok(())
}

/// The prompts of a client's session: names say whose they are, so that no request is taken for another's.
fn prompts(client: Client) -> [String; 3] {
    let name = client.name();
    [
        format!("FIRST PROMPT to {name}"),
        format!("SECOND PROMPT to {name} {}", client.echo("one")),
        format!("THIRD PROMPT to {name}"),
    ]
}

/// The client makes a session of three turns, the second with a call; `stemma` imports it, byte for byte.
fn tell(bench: &Bench, client: Client) -> anyhow::Result<Told> {
    let [first, second, third] = prompts(client);
    bench.ask(client, "work", &[], &first)?;
    let mut file = bench.session_with(client, &first)?;
    let mut last = None;
    for prompt in [&second, &third] {
        // Its own command, as for any placed session; the id is the one that the import found.
        let imported = bench.stemma(&["import", &file.to_string_lossy()])?;
        let session = imported["sessions"][0]["session_id"].as_str().context("the session has no id")?;
        last = Some(bench.ask(client, "work", &client.resumes(session), prompt)?);
        file = bench.session_with(client, prompt)?;
    }
    let tip = bench.import(&file)?;
    let out = bench.path(&format!("{}.native", client.name()));
    bench.stemma(&["native", &tip, "--out", &out.to_string_lossy()])?;
    if client.database().is_none() {
        anyhow::ensure!(fs::read(&out)? == fs::read(&file)?, "native of the tip is not the file");
        passed(&format!("a session of {} is imported, byte for byte", client.name()));
    }
    let last: Talk = last.context("two prompts were asked")?;
    Ok(Told { tip, conversation: last.last.all() })
}

/// The whole session from a copy, and what was said before its last turn.
fn own_session(bench: &Bench, client: Client, told: &Told) -> anyhow::Result<()> {
    let name = client.name();
    let placed = bench.place(&["resume", &told.tip, "--print"])?;
    let talk = bench.go_on(client, &placed, "NEXT PROMPT in a copy")?;
    holds(&format!("{name}, resumed"), &talk, &own_words(client, &told.conversation))?;
    has_call(&format!("{name}, resumed"), &talk)?;
    captured(bench, client, &placed, &told.tip)?;
    passed(&format!("{name} resumes a copy of its session, and what it appends is a child"));

    let tip = bench.stemma(&["show", &told.tip])?;
    let parent = tip["commit"]["parent"].as_str().or_else(|| tip["parent"].as_str());
    let parent = parent.context("the tip has no parent")?;
    let placed = bench.place(&["fork", parent, "--print"])?;
    let talk = bench.go_on(client, &placed, "OTHER PROMPT in a fork")?;
    holds(&format!("{name}, forked"), &talk, &own_words(client, &until(&told.conversation, "THIRD PROMPT")))?;
    lacks(&format!("{name}, forked"), &talk, &["THIRD PROMPT"])?;
    captured(bench, client, &placed, parent)?;
    passed(&format!("{name} resumes a fork of the second turn, which knows nothing of the third"));
    Ok(())
}

/// A session of one client goes on in another.
fn moved(bench: &Bench, from: Client, to: Client, told: &Told) -> anyhow::Result<()> {
    let placed = bench.place(&["resume", &told.tip, "--in", to.runtime(), "--print"])?;
    let talk = bench.go_on(to, &placed, "NEXT PROMPT in another client")?;
    let what = format!("{} → {}", from.name(), to.name());
    holds(&what, &talk, &spoken(&told.conversation))?;
    has_call(&what, &talk)?;
    captured(bench, to, &placed, &told.tip)?;
    passed(&format!(
        "{what}: every prompt, answer, call and result arrives, and what is appended is captured"
    ));
    Ok(())
}

/// Judges that the call and its result reached the model.
fn has_call(what: &str, talk: &Talk) -> anyhow::Result<()> {
    let said = &talk.first.said;
    let is_call =
        |item: &&Item| matches!(item, Item::Call { .. }) && mentions(std::slice::from_ref(*item), "echo one");
    let is_result = |item: &&Item| matches!(item, Item::Result { text, .. } if text.contains("one"));
    let is_whole = said.iter().any(|item| is_call(&item)) && said.iter().any(|item| is_result(&item));
    anyhow::ensure!(is_whole, "{what} lost the call or its result: {said:#?}");
    Ok(())
}

/// Judges that what a client appended to a placed session stands on a commit.
fn captured(bench: &Bench, client: Client, placed: &Placed, on: &str) -> anyhow::Result<()> {
    let tip = bench.capture(client, placed)?;
    anyhow::ensure!(tip != on, "{} appended nothing to {}", client.name(), placed.path.display());
    bench.stands_on(&tip, on)
}

/// Returns what a client sends again of its own conversation: Gemini CLI names its directory anew and gives calls new ids.
fn own_words(client: Client, conversation: &[Item]) -> Vec<Item> {
    if client == Client::Gemini { spoken(conversation) } else { conversation.to_vec() }
}

/// Returns what was said before the first item with a text.
pub(super) fn until(conversation: &[Item], text: &str) -> Vec<Item> {
    let before = conversation.iter().take_while(|item| !mentions(std::slice::from_ref(*item), text));
    before.cloned().collect()
}

/// Returns the prompts and the model's texts: clients add contexts of their own, which do not move.
pub(super) fn spoken(conversation: &[Item]) -> Vec<Item> {
    let is_spoken = |item: &&Item| match item {
        Item::Text { role, text } => role == "assistant" || text.contains(" PROMPT to "),
        Item::Call { .. } | Item::Result { .. } => false,
    };
    conversation.iter().filter(is_spoken).cloned().collect()
}
