//! A client's own session, damaged and repaired: what `stemma repair` writes is put where the client looks, and judged by
//! what reaches the model. Not for clients that keep their sessions in a database.

use std::fs;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::bench::{Bench, holds, passed};
use super::client::Client;
use super::moves::{Told, spoken, until};
use super::talk::mentions;

/// What happens to a session.
#[derive(Debug, Clone, Copy)]
enum Damage {
    /// The line with the call's result is gone.
    Result,
    /// The client died while it wrote the last line.
    Tail,
    /// A line of the third turn names a parent that is not there.
    Parent,
    /// The second prompt and the record behind it share a line.
    Joined,
    /// A torn record stands before the second prompt, on its line.
    Torn,
    /// The second prompt stands last, behind a checkpoint that names the end: the client finds all of it, and nothing is repaired.
    Late,
}

/// Plays each damage that a client's format can have.
pub(crate) fn play(bench: &Bench, client: Client, told: &Told) -> anyhow::Result<()> {
    let damages: &[Damage] = match client {
        Client::Claude => {
            &[Damage::Result, Damage::Tail, Damage::Parent, Damage::Joined, Damage::Torn, Damage::Late]
        }
        Client::Pi => &[Damage::Result, Damage::Tail, Damage::Parent],
        Client::Codex => &[Damage::Result, Damage::Tail],
        // Its results stand in the lines of their calls.
        Client::Gemini => &[Damage::Tail],
        Client::Opencode => &[],
    };
    for damage in damages {
        repaired(bench, client, told, *damage).with_context(|| format!("{} {damage:?}", client.name()))?;
    }
    Ok(())
}

fn repaired(bench: &Bench, client: Client, told: &Told, damage: Damage) -> anyhow::Result<()> {
    let name = client.name();
    // A copy under a session id of its own: the client's session stays, and a repair keeps ids.
    let placed = bench.place(&["resume", &told.tip, "--print"])?;
    let bytes = fs::read_to_string(&placed.path).context("reading the copy")?;
    let broken = damaged(&bytes, damage).context("the session has nothing to damage")?;
    let file = bench.path(&format!("{name}-{damage:?}.jsonl"));
    fs::File::create(&file).and_then(|mut file| std::io::Write::write_all(&mut file, broken.as_bytes()))?;
    fs::remove_file(&placed.path)?;
    let out = placed.path.to_string_lossy();
    let said = bench.stemma(&["repair", &file.to_string_lossy(), "--out", &out])?;
    let is_changed = said["changes"].as_array().is_some_and(|all| !all.is_empty());
    anyhow::ensure!(
        is_changed != matches!(damage, Damage::Late),
        "repaired, or not, where it should: {said}"
    );
    if !is_changed {
        fs::copy(&file, &placed.path).context("writing the copy")?;
    }
    let talk = bench.go_on(client, &placed, "NEXT PROMPT after a repair")?;
    let what = format!("{name}, {damage:?} damaged and repaired");
    let expected = match damage {
        Damage::Result | Damage::Parent | Damage::Joined | Damage::Torn | Damage::Late => {
            spoken(&told.conversation)
        }
        Damage::Tail => spoken(&until(&told.conversation, "THIRD PROMPT")),
    };
    holds(&what, &talk, &expected)?;
    // In the middle of a session pi says itself that there is none.
    if matches!(damage, Damage::Result) && client != Client::Pi {
        anyhow::ensure!(
            mentions(&talk.first.said, "Closed by Stemmata"),
            "{what}: the call has no marked result"
        );
    }
    passed(&format!("{what}: the client resumes it and sends all that is left"));
    Ok(())
}

/// Damages a transcript; none where there is nothing to damage.
fn damaged(bytes: &str, damage: Damage) -> Option<String> {
    let mut lines: Vec<String> = bytes.lines().map(str::to_owned).collect();
    let parsed: Vec<Value> =
        lines.iter().map(|line| serde_json::from_str(line).unwrap_or_default()).collect();
    let second = || {
        let is_second = |line: &Value| line["type"] == "user" && line.to_string().contains("SECOND PROMPT");
        parsed.iter().position(is_second)
    };
    match damage {
        Damage::Joined => {
            let behind = lines.remove(second()? + 1);
            lines.get_mut(second()?)?.push_str(&behind);
        }
        Damage::Torn => {
            let line = lines.get_mut(second()?)?;
            let torn = line.get(..line.find("\"message\"")? + 12)?.to_owned();
            line.insert_str(0, &torn);
        }
        Damage::Late => {
            let end = parsed.iter().rev().find(|line| line["uuid"].is_string())?["uuid"].clone();
            let late = lines.remove(second()?);
            lines.push(json!({ "type": "last-prompt", "leafUuid": end, "lastPrompt": "x" }).to_string());
            lines.push(late);
        }
        Damage::Result => {
            let at = parsed.iter().position(is_result)?;
            lines.remove(at);
        }
        Damage::Tail => {
            let keep = bytes.trim_end().len().checked_sub(30)?;
            return bytes.get(..keep).map(str::to_owned);
        }
        Damage::Parent => {
            let parent =
                |line: &Value| ["parentUuid", "parentId"].into_iter().find(|key| line[key].is_string());
            let third = parsed
                .iter()
                .position(|line| parent(line).is_some() && line.to_string().contains("THIRD PROMPT"))?;
            let key = parent(&parsed[third])?;
            let mut line = parsed[third].clone();
            line[key] = json!("ffffffff-0000-4000-8000-00000000ffff");
            lines[third] = line.to_string();
        }
    }
    Some(lines.join("\n") + "\n")
}

/// Returns whether a line is a tool's result.
fn is_result(line: &Value) -> bool {
    line["message"]["content"][0]["type"] == "tool_result"
        || line["payload"]["type"] == "function_call_output"
        || line["message"]["role"] == "toolResult"
}
