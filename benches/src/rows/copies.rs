//! What a client's own fork or copy of a session takes, packed beside the session that it was copied from.
//! Not a fork of ours: that writes nothing, and is in `fork`.

use std::io::Write as _;
use std::path::Path;

use stemmata_model::Granularity;
use stemmata_testkit::claude::{CopyKind, copy_of};

use crate::input::length;
use crate::peers::frame::Frame;
use crate::report::{Figure, Line, Section, Target};
use crate::stored::Stored;
use crate::{input, scratch, stores};

use super::Bench;
use super::packed::pack;

/// Bytes of a made-up session, at size 1, as large as the one that was measured elsewhere.
const SESSION_BYTES: u64 = 3_900_000;

/// The session that copies are made into.
const COPY: &str = "c0c0c0c0-0000-4000-8000-000000000001";

/// The most that a copy may take, as a part of its own bytes.
const TAKES: Target = Target::AtMost(Figure::Times(0.01));

/// The ways in which clients copy.
const KINDS: [(&str, CopyKind); 2] =
    [("a fork by the CLI", CopyKind::KeepsIds), ("a fork by the SDK", CopyKind::NewIds)];

pub(super) fn run(bench: &Bench) -> anyhow::Result<Section> {
    let mut lines = Vec::new();
    let mut notes = Vec::new();
    for scale in bench.scales().iter().filter(|scale| **scale <= 10) {
        let text = String::from_utf8(input::claude_session(9, SESSION_BYTES * u64::from(*scale))?)?;
        notes.push(format!("{scale}×: a made-up session, {} bytes.", text.len()));
        for (name, kind) in KINDS {
            lines.extend(copied(*scale, name, &text, kind)?);
        }
    }
    if let Some(file) = bench.corpus().map(largest).transpose()?.flatten() {
        let text = String::from_utf8(std::fs::read(&file)?)?;
        notes.push(format!("Recorded: the longest recorded session, {} bytes.", text.len()));
        for (name, kind) in KINDS {
            lines.extend(copied(1, &format!("recorded, {}", name.trim_start_matches("a ")), &text, kind)?);
        }
    }
    notes.push(
        "Both sessions are imported, a commit a turn, and packed; what the store's content and pack files take with the copy and \
         without it is compared. The peer is the copy as a file of its own under zstd."
            .to_owned(),
    );
    Ok(Section {
        name: "copies",
        title: "a client's own copy of a session, packed, as a part of its bytes".to_owned(),
        notes,
        lines,
    })
}

/// Returns the longest recorded session.
fn largest(corpus: &Path) -> anyhow::Result<Option<std::path::PathBuf>> {
    let mut found: Option<(u64, std::path::PathBuf)> = None;
    let mut folders = vec![corpus.join("claude-code")];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = folder.read_dir() else { continue };
        for entry in entries.flatten() {
            let (path, kind) = (entry.path(), entry.file_type()?);
            if kind.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "jsonl") {
                let bytes = entry.metadata()?.len();
                if found.as_ref().is_none_or(|(most, known)| (bytes, &path) > (*most, known)) {
                    found = Some((bytes, path));
                }
            }
        }
    }
    Ok(found.map(|(_, path)| path))
}

fn copied(scale: u32, name: &str, text: &str, kind: CopyKind) -> anyhow::Result<Vec<Line>> {
    let folder = scratch::folder()?;
    let from = session_of(text)?;
    let copy = copy_of(text, &from, COPY, kind);
    let original = folder.path().join(format!("{from}.jsonl"));
    let fork = folder.path().join(format!("{COPY}.jsonl"));
    scratch::write(&original, |output| output.write_all(text.as_bytes()))?;
    scratch::write(&fork, |output| output.write_all(copy.as_bytes()))?;
    let mut stored = Vec::new();
    for (store, files) in [("one", vec![original.clone()]), ("both", vec![original, fork])] {
        let store = folder.path().join(store);
        let engine = stores::engine(&store)?;
        for file in files {
            stores::import(&engine, std::slice::from_ref(&file), Granularity::Turn)?;
        }
        pack(&engine, 1)?;
        stored.push(Stored::measure(engine, &store)?);
    }
    let [one, both] = stored[..] else { anyhow::bail!("two stores were measured") };
    let bytes = length(copy.as_bytes());
    let content = Figure::times(both.content_bytes.saturating_sub(one.content_bytes), bytes);
    let files = Figure::times(both.file_bytes.saturating_sub(one.file_bytes), bytes);
    let frame = Figure::times(Frame::new(copy.as_bytes(), 9)?.compressed_bytes(), bytes);
    Ok(vec![
        Line::ours(scale, format!("{name}, content"), content).beside("zstd -9", frame).target(TAKES),
        Line::ours(scale, format!("{name}, all files"), files).beside("zstd -9", frame),
    ])
}

fn session_of(text: &str) -> anyhow::Result<String> {
    let named = text.split_once("\"sessionId\":\"").and_then(|(_, rest)| rest.split_once('"'));
    named.map(|(id, _)| id.to_owned()).ok_or_else(|| anyhow::anyhow!("the session does not name itself"))
}
