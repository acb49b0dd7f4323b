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
const FORMAT: &str = "conversation-v1";

/// Turns that are committed to git; all of them from size 10 on, where the run takes minutes anyway.
const GIT_TURNS: usize = 200;

/// Bytes of sessions that are imported where none are recorded.
const MADE_UP_BYTES: u64 = 32_000_000;

/// The most that content may take hot, as a part of what was captured.
const CONTENT: Target = Target::AtMost(Figure::Times(0.40));

/// The most that a commit's metadata and its share of the indexes may take.
const METADATA: Target = Target::AtMost(Figure::Bytes(200.0));

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
    let whole = conversation.bytes();
    let Checkpointed { mut lines, .. } = checkpointed(scale, conversation, CONTENT, |_| Ok(()))?;
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

/// A conversation that was stored, a checkpoint a line.
pub(super) struct Checkpointed<T> {
    /// What the store takes.
    pub own: Stored,
    /// What was done with the store at last.
    pub settled: T,
    /// Content, all files and metadata, beside bare rows of the same lines.
    pub lines: Vec<Line>,
}

/// Stores a conversation, a checkpoint a line, settles the store, and measures it with nothing left to tidy.
pub(super) fn checkpointed<T>(
    scale: u32,
    conversation: &Conversation,
    content: Target,
    settle: impl FnOnce(&Engine) -> anyhow::Result<T>,
) -> anyhow::Result<Checkpointed<T>> {
    let folder = scratch::folder()?;
    let store = folder.path().join("store");
    let engine = stores::engine(&store)?;
    let mut session = Thread::new(&engine, "conversation", FORMAT)?;
    for line in &conversation.lines {
        session.checkpoint(line)?;
    }
    let tip = session.tip();
    let whole = conversation.bytes();
    let settled = settle(&engine)?;
    check(&engine, tip, whole)?;
    let own = Stored::measure(engine, &store)?;
    let table = folder.path().join("rows");
    let mut rows = Rows::create(&table)?;
    rows.put_all(&conversation.lines)?;
    rows.close()?;
    vacuum(&table)?;
    let table = Figure::times(scratch::bytes_below(&table)?, whole);
    let lines = vec![
        own.content(scale, "content", whole).beside("SQLite rows + zstd, all", table).target(content),
        own.all(scale, "all files", whole).beside("SQLite rows + zstd, all", table),
        own.metadata(scale, "metadata and indexes a commit").target(METADATA),
    ];
    Ok(Checkpointed { own, settled, lines })
}

/// A figure about bytes that cannot be read back would be worth nothing.
fn check(engine: &Engine, tip: Option<CommitId>, whole: u64) -> anyhow::Result<()> {
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
    let Imports { own, bytes_in, note, frames: [fast, _], .. } = imports(bench, |_, _| Ok(()))?;
    let lines = vec![
        own.content(1, "imported sessions, content", bytes_in).beside("zstd -3, file by file", fast),
        own.all(1, "imported sessions, all files", bytes_in),
        own.metadata(1, "imported, metadata a commit"),
    ];
    Ok((format!("{note}."), lines))
}

/// Sessions that were imported.
pub(super) struct Imports<T> {
    /// What the store takes.
    pub own: Stored,
    /// What was done with the store at last.
    pub settled: T,
    /// Bytes of the transcripts.
    pub bytes_in: u64,
    /// What was imported, without a final stop.
    pub note: String,
    /// What the transcripts take under zstd, file by file, at levels 3 and 9.
    pub frames: [Figure; 2],
}

/// Imports recorded sessions where there are some, else made-up ones, settles the store with the bytes in hand, and
/// measures it.
pub(super) fn imports<T>(
    bench: &Bench,
    settle: impl FnOnce(&Engine, u64) -> anyhow::Result<T>,
) -> anyhow::Result<Imports<T>> {
    let folder = scratch::folder()?;
    let store = folder.path().join("store");
    let engine = stores::engine(&store)?;
    let (origin, paths) = match input::recorded_sessions(bench.corpus()) {
        Some(recorded) => ("recorded", vec![recorded]),
        None => ("made-up", input::session_files(folder.path(), MADE_UP_BYTES)?),
    };
    let Imported { commits, bytes_in, files, .. } = stores::import(&engine, &paths, Granularity::Turn)?;
    let settled = settle(&engine, bytes_in)?;
    let own = Stored::measure(engine, &store)?;
    let note = format!(
        "Imported: {} {origin} sessions, {bytes_in} bytes, {commits} commits, a commit a turn",
        files.len()
    );
    let mut frames = [0_u64; 2];
    for file in &files {
        let text = std::fs::read(file)?;
        for (total, level) in frames.iter_mut().zip([3, 9]) {
            *total += Frame::new(&text, level)?.compressed_bytes();
        }
    }
    let frames = frames.map(|total| Figure::times(total, bytes_in));
    Ok(Imports { own, settled, bytes_in, note, frames })
}
