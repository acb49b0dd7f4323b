//! A hook's call: a transcript has gained a turn, and the client waits.
//! Not the start of a process, which the operating system decides; all that `stemma hook` does after it.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use stemmata_engine::{CaptureOptions, Nudged, SettleBudget};
use stemmata_model::{Granularity, Trigger};

use crate::measure::{Contender, Spent, alternate, spent};
use crate::peers::append::AppendFile;
use crate::report::{Figure, Line, Section, Target};
use crate::{input, scratch, stores};

use super::Bench;

/// Bytes of the transcripts that grow.
const TRANSCRIPTS_BYTES: [u64; 3] = [1_000_000, 10_000_000, 70_000_000];

/// Turns that each gains.
const ROUNDS: usize = 40;

/// About how many bytes a turn has.
const TURN_BYTES: usize = 20_000;

/// The most time on a CPU that a call may take.
const CPU: Target = Target::AtMost(Figure::Seconds(0.015));

/// How much more time on a CPU a call may take where search has an index: it is nothing that a hook sees, and this is noise.
const INDEXED: Target = Target::RatioAtMost(1.1);

/// The most that a call may take besides one sync of the disk.
const WALL: Target = Target::AtMost(Figure::Seconds(0.010));

pub(super) fn run(_bench: &Bench) -> anyhow::Result<Section> {
    let mut lines = Vec::new();
    for bytes in TRANSCRIPTS_BYTES {
        lines.extend(transcript(bytes)?);
    }
    lines.extend(brief(TRANSCRIPTS_BYTES[2])?);
    let notes = vec![format!(
        "A transcript of that size is in the store and gains {ROUNDS} turns of about {TURN_BYTES} bytes; after each the \
         store is opened, what is new is captured, durably, and the store is closed. The peer appends the same bytes to \
         a file and syncs it. Without the sync: the slowest of a hundred calls less the slowest of a hundred syncs. A brief is \
         made in the background before; each call opens the store, captures the turn that the transcript has gained, and hands it over."
    )];
    Ok(Section { name: "hook", title: "a hook's call at the end of a turn".to_owned(), notes, lines })
}

fn transcript(bytes: u64) -> anyhow::Result<Vec<Line>> {
    let folder = scratch::folder()?;
    let extra = u64::try_from(ROUNDS * TURN_BYTES)?;
    let text = input::claude_session(8, bytes + 2 * extra)?;
    let start = cut(&text, usize::try_from(bytes)?);
    let (known, mut news) = text.split_at(start);
    let mut turns = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let (turn, rest) = news.split_at(cut(news, TURN_BYTES));
        turns.push(turn);
        news = rest;
    }
    let mut bare = Hooked::begin(&folder.path().join("bare"), known, false)?;
    let mut indexed = Hooked::begin(&folder.path().join("indexed"), known, true)?;
    let mut peer = AppendFile::create(&folder.path().join("peer"))?;
    let turn = |round: usize| turns.get(round).copied().unwrap_or_default();
    let contenders: [Contender<'_>; 3] = [
        Box::new(|round| bare.grow_and_call(turn(round))),
        Box::new(|round| spent(|| peer.append(turn(round)))),
        Box::new(|round| indexed.grow_and_call(turn(round))),
    ];
    let [ours, synced, beside_index] = alternate(ROUNDS, contenders)?;
    let size = format!("{} MB", bytes / 1_000_000);
    let rest = ours.wall.percentile(99).saturating_sub(synced.wall.percentile(99));
    let median = Figure::time(ours.cpu.median());
    Ok(vec![
        Line::ours(1, format!("{size}, on a CPU, in the middle"), median),
        Line::ours(1, format!("{size}, on a CPU, slowest of 100"), Figure::time(ours.cpu.percentile(99)))
            .target(CPU),
        Line::ours(
            1,
            format!("{size}, with an index, in the middle"),
            Figure::time(beside_index.cpu.median()),
        )
        .beside("without one", median)
        .target(INDEXED),
        Line::ours(1, format!("{size}, slowest of 100"), Figure::time(ours.wall.percentile(99)))
            .beside("append + fdatasync", Figure::time(synced.wall.percentile(99))),
        Line::ours(1, format!("{size}, without the sync"), Figure::time(rest)).target(WALL),
    ])
}

/// Measures what a hook takes that hands over a brief, behind a compaction of the client.
fn brief(bytes: u64) -> anyhow::Result<Vec<Line>> {
    let folder = scratch::folder()?;
    let extra = u64::try_from(ROUNDS * TURN_BYTES)?;
    let text = input::claude_session(9, bytes + 2 * extra)?;
    let (known, mut news) = text.split_at(cut(&text, usize::try_from(bytes)?));
    let mut hooked = Hooked::begin(folder.path(), known, false)?;
    let cache = folder.path().join("cache");
    let made = stores::engine(&hooked.store)?.with_briefs(&cache).prepare_brief(&hooked.file)?;
    anyhow::ensure!(made, "the transcript has nothing to brief about");
    let call: Contender<'_> = Box::new(|_| {
        let (turn, rest) = news.split_at(cut(news, TURN_BYTES));
        news = rest;
        hooked.growing.write_all(turn)?;
        spent(|| {
            let engine = stores::engine(&hooked.store)?.with_briefs(&cache);
            let nudged = engine.nudge(&hooked.file, &CaptureOptions::live(Trigger::Compaction))?;
            anyhow::ensure!(matches!(nudged, Nudged::Captured(_)), "the hook left it to an import");
            let handed = engine.handed_brief(&hooked.file, true)?;
            anyhow::ensure!(handed.text.is_some() && !handed.is_missing, "no brief was handed over");
            Ok(())
        })
    });
    let [spent] = alternate(ROUNDS, [call])?;
    let size = format!("{} MB, hand-over of a brief", bytes / 1_000_000);
    Ok(vec![
        Line::ours(1, format!("{size}, on a CPU, in the middle"), Figure::time(spent.cpu.median())),
        Line::ours(1, format!("{size}, on a CPU, slowest of 100"), Figure::time(spent.cpu.percentile(99)))
            .target(CPU),
        Line::ours(1, format!("{size}, slowest of 100"), Figure::time(spent.wall.percentile(99))),
    ])
}

/// A transcript that grows, and the store that has it.
struct Hooked {
    growing: File,
    file: PathBuf,
    store: PathBuf,
}

impl Hooked {
    fn begin(folder: &Path, known: &[u8], is_indexed: bool) -> anyhow::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let file = folder.join("be9c0000-0000-4000-8000-000000000008.jsonl");
        scratch::write(&file, |output| output.write_all(known))?;
        let store = folder.join("store");
        let engine = stores::indexed(&store, &folder.join("index"))?;
        stores::import(&engine, std::slice::from_ref(&file), Granularity::Turn)?;
        if is_indexed {
            stores::settle(&engine, SettleBudget::All)?;
        }
        let growing = OpenOptions::new().append(true).open(&file).context("opening the transcript")?;
        Ok(Self { growing, file, store })
    }

    /// Adds a turn, and calls as the hook does: a hook's engine knows of no index.
    fn grow_and_call(&mut self, turn: &[u8]) -> anyhow::Result<Spent> {
        self.growing.write_all(turn)?;
        spent(|| {
            let engine = stores::engine(&self.store)?;
            match engine.nudge(&self.file, &CaptureOptions::live(Trigger::TurnBoundary))? {
                Nudged::Captured(_) => Ok(()),
                Nudged::Later(later) => anyhow::bail!("the hook left it to an import: {later:?}"),
            }
        })
    }
}

/// Returns where the line ends in which a byte stands.
fn cut(text: &[u8], at: usize) -> usize {
    let behind = text.get(at..).unwrap_or_default();
    behind.iter().position(|byte| *byte == b'\n').map_or(text.len(), |newline| at + newline + 1)
}
