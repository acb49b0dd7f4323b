//! Reading a format, and turning it into another one.
//! Not placing, which is measured with a fork.

use anyhow::Context as _;
use serde_json::Value;
use stemmata_model::FormatId;
use stemmata_runtimes::adapter::Adapter;
use stemmata_runtimes::registry::by_format;
use stemmata_runtimes::translate::translate;

use crate::input;
use crate::measure::{Contender, alternate, spent};
use crate::report::{Figure, Line, Section};

use super::Bench;

/// Bytes of the conversation as Claude Code writes it.
const SESSION_BYTES: u64 = 8_000_000;

/// How often each is done.
const ROUNDS: usize = 5;

/// The formats that are read, each with the one that it is turned into.
const PAIRS: [(&str, &str); 5] = [
    ("claude-code-v1", "codex-legacy-v1"),
    ("codex-legacy-v1", "pi-v3"),
    ("pi-v3", "claude-code-v1"),
    ("gemini-v1", "claude-code-v1"),
    ("anthropic-messages-v1", "codex-legacy-v1"),
];

pub(super) fn run(_bench: &Bench) -> anyhow::Result<Section> {
    let first = input::claude_session(11, SESSION_BYTES)?;
    let (source, claude) = adapter("claude-code-v1")?;
    let mut lines = Vec::new();
    for (from, to) in PAIRS {
        let (format, adapter) = adapter(from)?;
        let bytes = if format == source {
            first.clone()
        } else {
            adapter.encode(&translate(claude.decode(&first).entries, &source, &format).entries)
        };
        lines.extend(pair(&bytes, (&format, adapter), to)?);
    }
    let notes = vec![format!(
        "A made-up conversation of {SESSION_BYTES} bytes as Claude Code writes it, put into each format first. To entries: \
         every line decoded. Into the other: decoded, translated, encoded. The peer reads the same lines as `serde_json` values, \
         and writes them again for the second. On a CPU, one thread."
    )];
    Ok(Section {
        name: "translate",
        title: "reading a format and turning it into another".to_owned(),
        notes,
        lines,
    })
}

fn adapter(name: &str) -> anyhow::Result<(FormatId, &'static dyn Adapter)> {
    let format = FormatId::new(name)?;
    let adapter = by_format(&format).with_context(|| format!("no adapter for `{name}`"))?;
    Ok((format, adapter))
}

fn pair(bytes: &[u8], (from, reader): (&FormatId, &dyn Adapter), to: &str) -> anyhow::Result<Vec<Line>> {
    let (to, writer) = adapter(to)?;
    let contenders: [Contender<'_>; 4] = [
        Box::new(|_| {
            spent(|| {
                anyhow::ensure!(!reader.decode(bytes).entries.is_empty(), "nothing was read");
                Ok(())
            })
        }),
        Box::new(|_| {
            spent(|| {
                let translated = translate(reader.decode(bytes).entries, from, &to);
                anyhow::ensure!(!writer.encode(&translated.entries).is_empty(), "nothing was written");
                Ok(())
            })
        }),
        Box::new(|_| spent(|| parse(bytes).map(drop))),
        Box::new(|_| {
            spent(|| {
                let written: usize = parse(bytes)?.iter().map(|value| value.to_string().len()).sum();
                anyhow::ensure!(written > 0, "nothing was written");
                Ok(())
            })
        }),
    ];
    let [read, turned, parsed, printed] = alternate(ROUNDS, contenders)?;
    let length = u64::try_from(bytes.len())?;
    let speed = |runs: &crate::measure::Runs| Figure::speed(length, runs.cpu.median());
    Ok(vec![
        Line::ours(1, format!("{from}, to entries"), speed(&read))
            .beside("serde_json, values", speed(&parsed)),
        Line::ours(1, format!("{from}, into {to}"), speed(&turned))
            .beside("serde_json, and back", speed(&printed)),
    ])
}

fn parse(bytes: &[u8]) -> anyhow::Result<Vec<Value>> {
    let values = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>();
    Ok(values.collect::<Result<_, _>>()?)
}
