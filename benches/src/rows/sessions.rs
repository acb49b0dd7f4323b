//! Many small sessions: what a store has of each beside its content, and what one more costs that was placed and not used yet.
//! Not what their content takes: `import` and `packed` say that.

use std::path::PathBuf;

use anyhow::Context as _;
use stemmata_engine::{PlaceOptions, Stop};
use stemmata_model::Granularity;
use stemmata_store::{PackOptions, Page, SessionFilter};
use stemmata_testkit::claude::ClaudeSession;

use crate::peers::rows::vacuum;
use crate::report::{Figure, Line, Section, Target};
use crate::{scratch, stores};

use super::Bench;

/// Sessions at every size: a year of somebody who works with subagents.
const SESSIONS: u64 = 10_000;

/// Turns of a session.
const TURNS: u64 = 6;

/// Forks that are placed.
const FORKS: u64 = 1_000;

/// The most that ten thousand sessions may take beside their content.
const METADATA: Target = Target::AtMost(Figure::Bytes(28_000_000.0));

/// The most that a cursor may take while no turn is open.
const CURSOR: Target = Target::AtMost(Figure::Bytes(300.0));

/// The most that a placed fork may add to the store.
const FORK: Target = Target::AtMost(Figure::Bytes(1_000.0));

pub(super) fn run(bench: &Bench) -> anyhow::Result<Section> {
    let folder = scratch::folder()?;
    let store = folder.path().join("store");
    let transcripts = folder.path().join("client/projects/-home-ann-shop");
    std::fs::create_dir_all(&transcripts)?;
    let mut files: Vec<PathBuf> = Vec::new();
    for seed in 0..SESSIONS {
        let path = transcripts.join(format!("be9c0000-0000-4000-8000-{seed:012}.jsonl"));
        let session = ClaudeSession::new(seed).turns(TURNS).compactions(0);
        scratch::write(&path, |output| session.write_to(output).map(drop))?;
        files.push(path);
    }
    let engine = stores::engine(&store)?;
    let imported = stores::import(&engine, &files, Granularity::Turn)?;
    let tip = *imported.tips.first().context("a session without a tip")?;
    let listed = engine.store().sessions(&SessionFilter::default(), Page { skip: 0, rows_max: 1 })?;
    let listed = listed.first().context("no session")?;
    let cursor = engine.store().cursor(&listed.key)?.context("a session without a cursor")?;
    engine.pack(&PackOptions::new(stemmata_model::Timestamp::EPOCH))?;
    let content = engine.store().usage()?.content_bytes;
    drop(engine);
    vacuum(&store)?;
    let before = scratch::bytes_below(&store)?;

    let engine = stores::engine(&store)?;
    let options = PlaceOptions {
        runtime: None,
        config_dir: folder.path().join("client"),
        cwd: PathBuf::from("/home/ann/shop"),
        stop: Stop::Compaction,
        at_entry: None,
        client_version: None,
    };
    for _ in 0..FORKS {
        engine.place(tip, &options)?;
    }
    drop(engine);
    vacuum(&store)?;
    let forked = scratch::bytes_below(&store)?.saturating_sub(before);
    let scale = bench.scales().first().copied().unwrap_or(1);
    let lines = vec![
        Line::ours(scale, "beside content", Figure::bytes(before.saturating_sub(content))).target(METADATA),
        Line::ours(scale, "a cursor at rest", Figure::bytes(u64::try_from(cursor.len())?)).target(CURSOR),
        Line::ours(scale, "a placed fork", Figure::bytes(forked / FORKS)).target(FORK),
    ];
    let notes = vec![
        format!(
            "{SESSIONS} sessions, {} commits, {} bytes; then {FORKS} forks.",
            imported.commits, imported.bytes_in
        ),
        "All files, packed, after VACUUM and an empty log. A fork is in the rows of its session and of the index of \
         sessions, with its path, and in a cursor and a placement.".to_owned(),
    ];
    Ok(Section { name: "sessions", title: format!("{SESSIONS} sessions of {TURNS} turns"), notes, lines })
}
