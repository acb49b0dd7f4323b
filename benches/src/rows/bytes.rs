//! What a conversation takes on disk when every line of it was a checkpoint, and what an import takes.
//! Not packs: this is the store as it is written to.

use stemmata_engine::Engine;
use stemmata_model::{CommitId, Granularity};

use crate::input::{Conversation, length};
use crate::peers::frame::Frame;
use crate::peers::git::Repository;
use crate::peers::rows::{Rows, vacuum};
use crate::report::{Figure, Line, Section, Target};
use crate::stored::Stored;
use crate::stores::{Imported, Thread};
use crate::{input, scratch, stores};

use super::Bench;

/// Checkpoints at size 1.
pub(super) const CHECKPOINTS: usize = 1_000;

/// A format that this version does not read: its bytes are kept all the same.
pub(super) const FORMAT: &str = "conversation-v1";

/// Turns that are committed to git; all of them from size 10 on, where the run takes minutes anyway.
const GIT_TURNS: usize = 200;

/// Bytes of sessions that are imported where none are recorded.
pub(super) const MADE_UP_BYTES: u64 = 32_000_000;

/// The most that content may take hot, as a part of what was captured.
const CONTENT: Target = Target::AtMost(Figure::Times(0.40));

/// The most that a commit's metadata and its share of the indexes may take.
pub(super) const METADATA: Target = Target::AtMost(Figure::Bytes(200.0));

pub(super) fn run(bench: &Bench) -> anyhow::Result<Section> {
    let mut lines = Vec::new();
    let mut notes = Vec::new();
    for scale in bench.scales() {
        let conversation = Conversation::load(bench.corpus(), CHECKPOINTS * usize::try_from(*scale)?)?;
        notes.push(format!("{scale}×: {}, a checkpoint a line.", conversation.about));
        lines.extend(checkpoints(*scale, &conversation)?);
        if *scale == 1 {
            lines.extend(git(*scale, &conversation, bench.scales().len() > 2)?);
        }
    }
    let (note, imported) = imported(bench)?;
    notes.push(note);
    notes.push(
        "All files, after VACUUM and an empty log. Metadata is everything that is not content: rows, indexes, \
         pages half full, the schema itself."
            .to_owned(),
    );
    lines.extend(imported);
    Ok(Section {
        name: "bytes",
        title: "bytes stored, hot, as a part of what was captured".to_owned(),
        notes,
        lines,
    })
}

fn checkpoints(scale: u32, conversation: &Conversation) -> anyhow::Result<Vec<Line>> {
    let folder = scratch::folder()?;
    let store = folder.path().join("store");
    let engine = stores::engine(&store)?;
    let mut session = Thread::new(&engine, "conversation", FORMAT)?;
    for line in &conversation.lines {
        session.checkpoint(line)?;
    }
    let whole = conversation.bytes();
    check(&engine, session.tip(), whole)?;
    let own = Stored::measure(engine, &store)?;
    let table = folder.path().join("rows");
    let mut rows = Rows::create(&table)?;
    rows.put_all(&conversation.lines)?;
    rows.close()?;
    vacuum(&table)?;
    let table = Figure::times(scratch::bytes_below(&table)?, whole);
    let mut lines = vec![
        own.content(scale, "content", whole).beside("SQLite rows + zstd, all", table).target(CONTENT),
        own.all(scale, "all files", whole).beside("SQLite rows + zstd, all", table),
        own.metadata(scale, "metadata and indexes a commit").target(METADATA),
    ];
    // What comes again is made for stores that see a line at a time; a whole file would just refer to it.
    if scale == 1 {
        let text = conversation.text();
        for level in [3, 9] {
            let frame = Figure::times(Frame::new(&text, level)?.compressed_bytes(), whole);
            lines.push(Line::peer(
                scale,
                "the whole file, not a turn of it",
                format!("zstd -{level}"),
                frame,
            ));
        }
    }
    Ok(lines)
}

/// A figure about bytes that cannot be read back would be worth nothing.
pub(super) fn check(engine: &Engine, tip: Option<CommitId>, whole: u64) -> anyhow::Result<()> {
    let read = match tip {
        Some(tip) => engine.native(tip, &mut std::io::sink())?.0,
        None => 0,
    };
    anyhow::ensure!(read == whole, "{whole} bytes were stored and {read} came back");
    Ok(())
}

fn git(scale: u32, conversation: &Conversation, all: bool) -> anyhow::Result<Option<Line>> {
    let folder = scratch::folder()?;
    let Some(repository) = Repository::create(folder.path())? else { return Ok(None) };
    let turns = if all { conversation.lines.len() } else { GIT_TURNS };
    let lines: Vec<&Vec<u8>> = conversation.lines.iter().take(turns).collect();
    lines.iter().try_for_each(|line| repository.commit(line))?;
    repository.gc()?;
    let whole = lines.iter().map(|line| length(line)).sum();
    let stored = Figure::times(scratch::bytes_below(&repository.data())?, whole);
    Ok(Some(Line::peer(scale, format!("the first {turns} turns, then gc"), "git commit a turn", stored)))
}

fn imported(bench: &Bench) -> anyhow::Result<(String, Vec<Line>)> {
    let folder = scratch::folder()?;
    let store = folder.path().join("store");
    let engine = stores::engine(&store)?;
    let (origin, paths) = match input::recorded_sessions(bench.corpus()) {
        Some(recorded) => ("recorded", vec![recorded]),
        None => ("made-up", input::session_files(folder.path(), MADE_UP_BYTES)?),
    };
    let Imported { commits, bytes_in, files, .. } = stores::import(&engine, &paths, Granularity::Turn)?;
    let own = Stored::measure(engine, &store)?;
    let note = format!(
        "Imported: {} {origin} sessions, {bytes_in} bytes, {commits} commits, a commit a turn.",
        files.len()
    );
    let frames = frames(&files)?;
    let lines = vec![
        own.content(1, "imported sessions, content", bytes_in)
            .beside("zstd -3, file by file", Figure::times(frames, bytes_in)),
        own.all(1, "imported sessions, all files", bytes_in),
        own.metadata(1, "imported, metadata a commit"),
    ];
    Ok((note, lines))
}

fn frames(files: &[std::path::PathBuf]) -> anyhow::Result<u64> {
    files
        .iter()
        .try_fold(0, |total, file| Ok(total + Frame::new(&std::fs::read(file)?, 3)?.compressed_bytes()))
}
