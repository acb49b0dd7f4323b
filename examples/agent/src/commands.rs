//! What the user types: a command, or something to do.

use std::fmt::Write as _;

use stemmata_engine::EntryMark;
use stemmata_engine::model::{Entry, Part, Role};

use crate::Result;
use crate::agent::Agent;
use crate::messages::text_of;

const HELP: &str = "\
/context debug     every entry that the model sees: its tokens, and what a prune would do to it and why
/zones             how full the window is, and where its zones begin
/checkpoint        the commit that holds everything until now
/compact           put a summary in the place of all but the recent entries
/uncompact         go on from before the last compaction, in a session of its own
/fork [ENTRY]      go on in a session of its own, from here or from an entry: an id, or @N
/restore COMMIT    go on from a commit, in a session of its own
/pin ENTRY         never prune an entry, and keep it word for word in a summary
/rehydrate ENTRY   show an entry to the model again that was pruned
/help              this list
/quit              end the program; the session goes on when it is started again";

/// Characters of an entry that a list shows.
const SHOWN_CHARS: usize = 60;

pub enum Next {
    Said(String),
    Quit,
}

/// Does what a line says.
pub fn run(agent: &mut Agent<'_>, line: &str) -> Result<Next> {
    let (name, rest) = line.split_once(' ').map_or((line, ""), |(name, rest)| (name, rest.trim()));
    let text = match (name, rest) {
        ("", _) => String::new(),
        ("/quit", _) => return Ok(Next::Quit),
        ("/help", _) => HELP.to_owned(),
        ("/context", "debug") => debug(agent)?,
        ("/zones", _) => zones(agent)?,
        ("/checkpoint", _) => agent.memory.tip()?.to_string(),
        ("/compact", _) => agent.memory.compact()?,
        ("/uncompact", _) => {
            let before = agent.memory.uncompact()?;
            format!("going on from {before}")
        }
        ("/fork", entry) => {
            let ctx = agent.memory.tip()?;
            agent.memory.fork(ctx, (!entry.is_empty()).then(|| entry.to_owned()))?;
            format!("your next prompt begins a session that goes on from {ctx}")
        }
        ("/restore", commit) => {
            let ctx = agent.memory.find(commit)?;
            agent.memory.fork(ctx, None)?;
            format!("your next prompt begins a session that goes on from {ctx}")
        }
        ("/pin", entry) => format!("pinned {}", agent.memory.mark(entry, EntryMark::Pin)?),
        ("/rehydrate", entry) => format!("shown again: {}", agent.memory.mark(entry, EntryMark::Rehydrate)?),
        _ if name.starts_with('/') => return Err(format!("no command `{line}`: /help lists them").into()),
        _ => agent.turn(line)?,
    };
    Ok(Next::Said(text))
}

fn zones(agent: &Agent<'_>) -> Result<String> {
    let (_, guarded) = agent.memory.explain()?;
    let window = agent.memory.window.window();
    let mut text = format!(
        "{} of {} tokens ({}): {}\n",
        guarded.tokens.0,
        window.limit().0,
        guarded.ratio,
        guarded.zone.as_str()
    );
    for row in agent.memory.window.explain() {
        writeln!(text, "{:>9} {:<8} {:<17} {}", row.value, row.unit, row.name, row.acts)?;
    }
    Ok(text.trim_end().to_owned())
}

fn debug(agent: &Agent<'_>) -> Result<String> {
    let (context, guarded) = agent.memory.explain()?;
    let mut text = format!("{:>7}  {:>6}  system prompt and tools\n", "", guarded.overhead.0);
    for (entry, item) in context.iter().zip(&guarded.items) {
        let number = item.ordinal.map_or_else(String::new, |number| format!("@{number}"));
        let does = if item.decision.is_kept { "keep" } else { "prune" };
        let pin = if item.is_pinned { ", pinned" } else { "" };
        let (size, why) = (item.decision.size.0, item.decision.why.text());
        writeln!(text, "{number:>7}  {size:>6}  {does:<5} {why}{pin}  {}", shown(entry))?;
    }
    write!(text, "{} tokens, {}", guarded.tokens.0, guarded.zone.as_str())?;
    Ok(text)
}

/// Returns who speaks, and how it begins.
fn shown(entry: &Entry) -> String {
    let of_part = |part: &Part| match part {
        Part::ToolCall { name, arguments, .. } => format!("{name} {arguments}"),
        Part::ToolResult { parts, .. } => text_of(parts),
        other => text_of(std::slice::from_ref(other)),
    };
    let text: Vec<String> = entry.parts.iter().map(of_part).collect();
    let line: String =
        text.join(" ").chars().map(|c| if c.is_control() { ' ' } else { c }).take(SHOWN_CHARS).collect();
    let who = if entry.role == Role::User { entry.kind.as_str() } else { entry.role.as_str() };
    format!("{who}: {line}")
}
