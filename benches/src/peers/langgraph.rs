//! The peer that agent builders meet first: `SqliteSaver`, driven as the loop of `LangGraph` does it.
//! Not there unless `STEMMATA_BENCH_PYTHON` names a Python that has it; then its lines are missing.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use serde_json::Value;

use crate::{arguments, scratch};

/// The script, so that the benchmark needs no file beside its program.
const SCRIPT: &str = include_str!("../../peers/langgraph_saver.py");

/// What the saver did with a conversation.
#[derive(Debug, Clone)]
pub(crate) struct Saved {
    /// The release of `langgraph-checkpoint-sqlite`.
    pub version: String,
    /// Bytes of its files, its log emptied.
    pub bytes: u64,
    /// The median checkpoint, which does not sync.
    pub put_seconds: f64,
}

/// Stores a conversation, a checkpoint a line; none without a Python that was named.
///
/// # Errors
/// When the Python that was named fails.
pub(crate) fn save(lines: &[Vec<u8>], folder: &Path) -> anyhow::Result<Option<Saved>> {
    let Some(python) = arguments::python() else { return Ok(None) };
    let data = folder.join("data");
    std::fs::create_dir_all(&data)?;
    let conversation = folder.join("conversation.jsonl");
    scratch::write(&conversation, |output| output.write_all(&lines.concat()))?;
    let mut child = Command::new(&python)
        .arg("-")
        .args([&conversation, &data])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("starting {}", python.display()))?;
    child.stdin.take().context("the script's input")?.write_all(SCRIPT.as_bytes())?;
    let output = child.wait_with_output()?;
    anyhow::ensure!(output.status.success(), "LangGraph's saver failed ({})", output.status);
    let answer: Value = serde_json::from_slice(&output.stdout).context("reading what it measured")?;
    let number = |name: &str| answer.get(name).and_then(Value::as_f64).with_context(|| format!("no {name}"));
    Ok(Some(Saved {
        version: answer.get("version").and_then(Value::as_str).unwrap_or_default().to_owned(),
        bytes: answer.get("bytes").and_then(Value::as_u64).context("no bytes")?,
        put_seconds: number("put_seconds")?,
    }))
}
