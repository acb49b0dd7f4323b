//! A fork at any point of a long session: named in the store, and placed where a client looks.
//! Not the client's own fork, which is measured with the real clients.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use stemmata_engine::{Engine, PlaceOptions, Stop};
use stemmata_model::{CommitId, Granularity};
use stemmata_store::DEPTH_MAX;

use crate::measure::{Contender, Runs, Times, alternate, spent, timed};
use crate::report::{Figure, Line, Section, Target};
use crate::{input, scratch, stores};

use super::Bench;

/// Bytes of the session at size 1.
const SESSION_BYTES: u64 = 22_000_000;

/// Points of the session that are named, spread evenly.
const POINTS: usize = 100;

/// How often each point is named: the time in the middle counts, for one that a neighbour took part of says
/// nothing about the point.
const TRIES: usize = 5;

/// How often the session is placed and copied; gigabytes once.
const PLACED: usize = 5;

/// The most that naming a point may take, at worst.
const NAMED: Target = Target::AtMost(Figure::Seconds(0.001));

/// The most that naming a point may add to the store.
const ADDED: Target = Target::AtMost(Figure::Bytes(1_000.0));

/// The most that placing the whole session may take.
const READY: Target = Target::AtMost(Figure::Seconds(0.100));

/// The most of the time on a CPU that placing may take: each line is parsed for its place in the tree, and once more as it
/// is written.
const READ_ONCE: Target = Target::AtMost(Figure::Seconds(0.150));

pub(super) fn run(bench: &Bench) -> anyhow::Result<Section> {
    let mut lines = Vec::new();
    let mut notes = Vec::new();
    for scale in bench.scales() {
        let folder = scratch::folder()?;
        let file = input::session_file(folder.path(), 7, SESSION_BYTES * u64::from(*scale))?;
        let store = folder.path().join("store");
        let engine = stores::engine(&store)?;
        let imported = stores::import(&engine, std::slice::from_ref(&file), Granularity::Turn)?;
        let [tip] = imported.tips[..] else { anyhow::bail!("one session has one tip") };
        notes.push(format!("{scale}×: {} bytes, {} commits.", imported.bytes_in, imported.commits));
        lines.extend(named(*scale, &engine, &store, tip)?);
        lines.extend(placed(*scale, &engine, folder.path(), &file, tip)?);
    }
    notes.push(format!(
        "Named: found by the first characters of its id, {POINTS} points from the root to the tip, all that a fork \
         needs before its first turn. Placed: written as a new session of the client, synced, checked as the \
         client loads it, and recorded. The copy is synced too."
    ));
    Ok(Section { name: "fork", title: "a fork at any point of a 22 MB session".to_owned(), notes, lines })
}

fn named(scale: u32, engine: &Engine, store: &Path, tip: CommitId) -> anyhow::Result<Vec<Line>> {
    let chain = engine.store().ancestors(tip, usize::try_from(DEPTH_MAX)?)?;
    let step = chain.len().div_ceil(POINTS).max(1);
    let before = scratch::bytes_below(store)?;
    let mut times = Vec::new();
    for commit in chain.iter().step_by(step) {
        let id = commit.id.to_string();
        let prefix = id.get(..id.len() / 2).context("an id is not that short")?;
        let mut tries = Vec::with_capacity(TRIES);
        for _ in 0..TRIES {
            let (spent, found) = timed(|| {
                let found = engine.find(prefix)?;
                Ok(engine.store().commit(found)?.map(|commit| commit.id))
            })?;
            anyhow::ensure!(found == Some(commit.id), "another commit was found");
            tries.push(spent.wall);
        }
        times.push(Times::new(tries).median());
    }
    let added = scratch::bytes_below(store)?.saturating_sub(before);
    let times = Times::new(times);
    Ok(vec![
        Line::ours(scale, "named, point in the middle", Figure::time(times.median())),
        Line::ours(scale, "named, slowest point", Figure::time(times.max())).target(NAMED),
        Line::ours(scale, "named, bytes added", Figure::bytes(added)).target(ADDED),
    ])
}

fn placed(
    scale: u32,
    engine: &Engine,
    folder: &Path,
    file: &Path,
    tip: CommitId,
) -> anyhow::Result<Vec<Line>> {
    let chain = engine.store().ancestors(tip, usize::try_from(DEPTH_MAX)?)?;
    let middle = chain.get(chain.len() / 2).context("a chain without a commit")?.id;
    let options = PlaceOptions {
        runtime: None,
        config_dir: folder.join("client"),
        cwd: PathBuf::from("/srv/project"),
        stop: Stop::Compaction,
        at_entry: None,
        client_version: None,
    };
    let place = |ctx: CommitId| spent(|| Ok(engine.place(ctx, &options)?));
    let contenders: [Contender<'_>; 3] = [
        Box::new(|_| place(tip)),
        Box::new(|_| place(middle)),
        Box::new(|round| spent(|| copy(file, &folder.join(format!("copy-{round}"))))),
    ];
    let [at_tip, at_middle, copied] = alternate(if scale < 100 { PLACED } else { 1 }, contenders)?;
    let line = |case: &str, ours: &Runs| {
        Line::ours(scale, format!("placed {case}"), Figure::time(ours.wall.median()))
            .beside("a synced copy of the file", Figure::time(copied.wall.median()))
    };
    let cpu = |case: &str, ours: &Runs| {
        Line::ours(scale, format!("placed {case}, CPU"), Figure::time(ours.cpu.median()))
            .beside("a synced copy of the file", Figure::time(copied.cpu.median()))
    };
    Ok(vec![
        line("at the tip", &at_tip).target_at(1, READY),
        line("in the middle", &at_middle),
        cpu("at the tip", &at_tip).target_at(1, READ_ONCE),
    ])
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    std::fs::copy(from, to)?;
    Ok(std::fs::File::open(to)?.sync_all()?)
}
