//! The product itself: entries as transcripts, imported, settled into the index beside the store, and searched.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use serde_json::{Value, json};
use stemmata_engine::Engine;
use stemmata_model::Granularity;
use stemmata_prompt::search::marks;
use tempfile::TempDir;

use crate::{scratch, stores};

use super::probe::RESULT_CLASS;
use super::{Finder, HITS, Item, asked};

/// A store with its index.
#[derive(Default)]
pub(super) struct Product {
    engine: Option<Engine>,
    folder: Option<TempDir>,
}

impl Finder for Product {
    fn index(&mut self, items: &[Item]) -> anyhow::Result<()> {
        // Closed before its files go.
        self.engine = None;
        let folder = scratch::folder()?;
        let mut sessions: BTreeMap<u32, String> = BTreeMap::new();
        for (at, item) in items.iter().enumerate() {
            // A conversation is a file for each of its sessions; of an agent's session the groups are its turns.
            let session = if item.author.is_some() { item.group } else { 0 };
            writeln!(sessions.entry(session).or_default(), "{}", line(at, item))?;
        }
        let mut files: Vec<PathBuf> = Vec::new();
        for (session, text) in sessions {
            let file = folder.path().join(format!("be9c0000-0000-4000-8000-{session:012}.jsonl"));
            scratch::write(&file, |output| output.write_all(text.as_bytes()))?;
            files.push(file);
        }
        let engine = stores::indexed(&folder.path().join("store"), &folder.path().join("index"))?;
        stores::import(&engine, &files, Granularity::Turn)?;
        self.engine = Some(engine);
        self.folder = Some(folder);
        Ok(())
    }

    fn find(&mut self, question: &str) -> anyhow::Result<Vec<usize>> {
        let engine = self.engine.as_ref().context("entries before questions")?;
        let found = stores::search(engine, &stores::query(&asked(question), HITS))?;
        anyhow::ensure!(found.notes.is_empty(), "{:?}", found.notes);
        found.hits.iter().map(|hit| number(&hit.entry)).collect()
    }
}

/// Returns an entry as a line of `stemmata-v1`.
fn line(at: usize, item: &Item) -> Value {
    let is_call = item.marks & marks::CALL != 0;
    let (role, kind, part) = if is_call {
        let (name, rest) = item.text.split_once(' ').unwrap_or((&item.text, ""));
        let arguments = Value::from(rest).to_string();
        (
            "assistant",
            "message",
            json!({ "type": "tool_call", "call_id": "", "name": name, "arguments": arguments }),
        )
    } else if item.class == RESULT_CLASS {
        let parts = json!([{ "type": "text", "text": item.text }]);
        let is_error = item.marks & marks::ERROR != 0;
        (
            "tool",
            "tool_result",
            json!({ "type": "tool_result", "call_id": "", "parts": parts, "is_error": is_error }),
        )
    } else {
        let is_user = item.author.is_some() || item.marks & marks::PROMPT != 0;
        (if is_user { "user" } else { "assistant" }, "message", json!({ "type": "text", "text": item.text }))
    };
    json!({
        "v": "stemmata-v1",
        "id": format!("i{at}"),
        "timestamp": item.at.map(|at| at.to_string()),
        "role": role,
        "kind": kind,
        "parts": [part],
        "meta": { "author": item.author, "cwd": "/bench" },
    })
}

/// Returns the number of the entry that has this id.
fn number(id: &str) -> anyhow::Result<usize> {
    let number = id.strip_prefix('i').and_then(|number| number.parse().ok());
    number.with_context(|| format!("`{id}` is none of the entries"))
}
