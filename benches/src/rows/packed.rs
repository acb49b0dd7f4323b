//! What a conversation takes on disk once its checkpoints are packed, beside what others take for it.
//! Not the store as it is written to: that is in `bytes`.

use std::time::Instant;

use stemmata_engine::{Clock as _, Engine, SystemClock};
use stemmata_store::PackOptions;

use crate::input::Conversation;
use crate::peers::frame::Frame;
use crate::peers::langgraph;
use crate::report::{Figure, Line, Section, Target};
use crate::scratch;

use super::Bench;
use super::bytes::{CHECKPOINTS, Checkpointed, Imports, checkpointed, imports};

/// The most that content may take packed, as a part of what was captured.
const CONTENT: Target = Target::AtMost(Figure::Times(0.14));

pub(super) fn run(bench: &Bench) -> anyhow::Result<Section> {
    let mut lines = Vec::new();
    let mut notes = Vec::new();
    for scale in bench.scales() {
        let conversation = Conversation::load(bench.corpus(), CHECKPOINTS * usize::try_from(*scale)?)?;
        notes.push(format!("{scale}×: {}, a checkpoint a line, then packed.", conversation.about));
        lines.extend(checkpoints(*scale, &conversation)?);
    }
    let (note, imported) = imported(bench)?;
    notes.push(note);
    notes.push(
        "All files, after VACUUM and an empty log, as in `bytes`. Packing is timed by the wall.".to_owned(),
    );
    lines.extend(imported);
    Ok(Section {
        name: "packed",
        title: "bytes stored, packed, as a part of what was captured".to_owned(),
        notes,
        lines,
    })
}

fn checkpoints(scale: u32, conversation: &Conversation) -> anyhow::Result<Vec<Line>> {
    let whole = conversation.bytes();
    let Checkpointed { own, settled: speed, mut lines } =
        checkpointed(scale, conversation, CONTENT, |engine| pack(engine, whole))?;
    if scale == 1 {
        let text = conversation.text();
        for level in [3, 9, 19] {
            let frame = Figure::times(Frame::new(&text, level)?.compressed_bytes(), whole);
            lines.push(
                own.content(scale, "content", whole).beside(format!("the whole file, zstd -{level}"), frame),
            );
        }
        if let Some(saved) = langgraph::save(&conversation.lines, scratch::folder()?.path())? {
            let peer = format!("LangGraph SqliteSaver {}", saved.version);
            lines.push(own.all(scale, "all files", whole).beside(&peer, Figure::times(saved.bytes, whole)));
            let put = Figure::Seconds(saved.put_seconds);
            lines.push(Line::peer(scale, "a checkpoint, not synced, p50", peer, put));
        }
    }
    lines.push(Line::ours(scale, "packing", speed));
    Ok(lines)
}

/// Packs everything and returns how fast.
pub(super) fn pack(engine: &Engine, bytes: u64) -> anyhow::Result<Figure> {
    let began = Instant::now();
    engine.pack(&PackOptions::new(SystemClock.now()))?;
    Ok(Figure::speed(bytes, began.elapsed()))
}

fn imported(bench: &Bench) -> anyhow::Result<(String, Vec<Line>)> {
    let Imports { own, settled: speed, bytes_in, note, frames: [fast, good] } = imports(bench, pack)?;
    let lines = vec![
        own.content(1, "imported sessions, content", bytes_in).beside("zstd -3, file by file", fast),
        own.content(1, "imported sessions, content", bytes_in).beside("zstd -9, file by file", good),
        own.all(1, "imported sessions, all files", bytes_in),
        own.metadata(1, "imported, metadata a commit"),
        Line::ours(1, "imported sessions, packing", speed),
    ];
    Ok((format!("{note}, then packed."), lines))
}
