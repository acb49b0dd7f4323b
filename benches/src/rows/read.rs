//! `native` and `materialize` at the tip and in the middle of a long chain, verified.
//! Not placed in a client: that is in `fork`.

use stemmata_engine::{Clock as _, Engine, Stop, SystemClock};
use stemmata_model::{CommitId, Granularity};
use stemmata_store::{DEPTH_MAX, PackOptions};

use crate::input::length;
use crate::measure::{Contender, Runs, alternate, spent};
use crate::peers::frame::{Frame, Frames, LEVEL};
use crate::peers::rows::Rows;
use crate::report::{Figure, Line, Section, Target};
use crate::{input, scratch, stores};

use super::Bench;

/// Bytes of the chain at size 1.
const CHAIN_BYTES: u64 = 2_317_000;

/// Bytes of the session that clients take 345 to 465 ms to load.
const SESSION_BYTES: u64 = 22_000_000;

/// How often its person goes back to an earlier prompt, where one does.
const REWINDS: u64 = 20;

/// How often each read is timed.
const ROUNDS: usize = 15;

/// The most that a verified read may take, as a multiple of decoding and hashing the same bytes in one piece.
const VERIFIED: Target = Target::RatioAtMost(2.0);

/// The same of a context: each line is read for its links, once. It is judged packed, as old sessions are; before that the
/// lookups of single deltas outweigh everything.
const PLANNED: Target = Target::RatioAtMost(2.5);

/// The most that a session of 22 MB may take.
const SESSION: Target = Target::AtMost(Figure::Seconds(0.050));

const FRAME: &str = "zstd decode + BLAKE3";
const FRAMES: &str = "the same, delta by delta";
const TABLE: &str = "SQLite rows, unverified";

pub(super) fn run(bench: &Bench) -> anyhow::Result<Section> {
    let mut lines = Vec::new();
    let mut notes = Vec::new();
    for scale in bench.scales() {
        let chain = Chain::import(CHAIN_BYTES * u64::from(*scale), Granularity::Message, 0)?;
        notes.push(format!("{scale}×: {} commits, {} bytes.", chain.commits.len(), chain.text.len()));
        let all = chain.commits.len();
        for (name, at) in [("tip", all), ("middle", all / 2)] {
            lines.extend(chain.read(*scale, name, at, None)?);
        }
        chain.pack()?;
        for (name, at) in [("packed, tip", all), ("packed, middle", all / 2)] {
            lines.extend(chain.read(*scale, name, at, None)?);
        }
    }
    for (rewinds, names) in [
        (0, ["a 22 MB session", "22 MB, packed"]),
        (REWINDS, ["a 22 MB session with rewinds", "22 MB with rewinds, packed"]),
    ] {
        let chain = Chain::import(SESSION_BYTES, Granularity::Turn, rewinds)?;
        notes.push(format!("{}: {} commits, {} bytes.", names[0], chain.commits.len(), chain.text.len()));
        lines.extend(chain.read(1, names[0], chain.commits.len(), Some(SESSION))?);
        chain.pack()?;
        lines.extend(chain.read(1, names[1], chain.commits.len(), Some(SESSION))?);
    }
    notes.push(
        "Made-up sessions without compactions, so that a context is all of it. The peer decodes one frame of the \
         very bytes that we return and hashes them: no chain, no lookup. Delta by delta it does so with a frame and \
         a hash each, which is what a row a commit can reach at best. Time on a CPU unless a line says wall: \
         nothing here waits for anything. Each output is compared once."
            .to_owned(),
    );
    Ok(Section {
        name: "read",
        title: "native and materialize of a chain, every byte verified".to_owned(),
        notes,
        lines,
    })
}

/// A made-up session in a store of its own.
struct Chain {
    // Declared before the folder, so that it is closed while that is still there.
    engine: Engine,
    folder: tempfile::TempDir,
    text: Vec<u8>,
    /// From the root on.
    commits: Vec<CommitId>,
    deltas: Vec<Vec<u8>>,
}

impl Chain {
    fn import(bytes: u64, granularity: Granularity, rewinds: u64) -> anyhow::Result<Self> {
        let folder = scratch::folder()?;
        let file = input::session_file_with_rewinds(folder.path(), 7, bytes, rewinds)?;
        let engine = stores::engine(&folder.path().join("store"))?;
        let imported = stores::import(&engine, std::slice::from_ref(&file), granularity)?;
        let [tip] = imported.tips[..] else { anyhow::bail!("one session has one tip") };
        let mut newest_first = engine.store().ancestors(tip, usize::try_from(DEPTH_MAX)?)?;
        newest_first.reverse();
        let mut deltas = Vec::with_capacity(newest_first.len());
        for commit in &newest_first {
            let mut delta = Vec::new();
            engine.store().read_content(commit.core.native_artifact(), None, &mut |piece| {
                delta.extend_from_slice(piece);
                Ok(())
            })?;
            deltas.push(delta);
        }
        let commits = newest_first.iter().map(|commit| commit.id).collect();
        Ok(Self { engine, text: std::fs::read(&file)?, folder, commits, deltas })
    }

    fn pack(&self) -> anyhow::Result<()> {
        self.engine.pack(&PackOptions::new(SystemClock.now()))?;
        Ok(())
    }

    /// Reads the first `count` commits in every way.
    fn read(
        &self,
        scale: u32,
        name: &str,
        count: usize,
        absolute: Option<Target>,
    ) -> anyhow::Result<Vec<Line>> {
        let Some(ctx) = count.checked_sub(1).and_then(|at| self.commits.get(at)).copied() else {
            anyhow::bail!("a chain without a commit");
        };
        let whole: u64 = self.deltas.iter().take(count).map(|delta| length(delta)).sum();
        let expected = self.text.get(..usize::try_from(whole)?).unwrap_or_default();
        let mut frame = Frame::new(expected, LEVEL)?;
        let mut rows = Rows::create(&self.folder.path().join(format!("rows-{}", name.replace(' ', "-"))))?;
        rows.put_all(&self.deltas)?;
        let mut frames = Frames::new(self.deltas.get(..count).unwrap_or_default())?;
        let mut outputs = [const { Vec::new() }; 5];
        let [native, materialized, decoded, apart, selected] = &mut outputs;
        let contenders: [Contender<'_>; 5] = [
            Box::new(|_| {
                native.clear();
                spent(|| Ok(self.engine.native(ctx, native)?))
            }),
            Box::new(|_| {
                materialized.clear();
                spent(|| Ok(self.engine.materialize(Some(ctx), None, Stop::Compaction, materialized)?))
            }),
            Box::new(|_| spent(|| frame.verified(decoded))),
            Box::new(|_| spent(|| frames.verified(apart))),
            Box::new(|_| spent(|| rows.get(count, selected))),
        ];
        let runs = alternate(ROUNDS, contenders)?;
        let [native, materialized, decoded, apart, selected] = &outputs;
        for output in [native, decoded, apart, selected] {
            anyhow::ensure!(output == expected, "the chain came back with other bytes");
        }
        // A context leaves lines out that no model sees, so it is judged by its own length.
        anyhow::ensure!(!materialized.is_empty(), "the context is empty");
        Ok(lines(scale, name, &runs, absolute))
    }
}

/// CPU time is compared, because nothing here waits; the wall's time stands where a target names it.
fn lines(scale: u32, name: &str, runs: &[Runs; 5], wall: Option<Target>) -> Vec<Line> {
    let [native, materialized, decoded, apart, selected] = runs;
    let cpu = |verb: &str, ours: &Runs, peer: &str, theirs: &Runs| {
        Line::ours(scale, format!("{verb}, {name}"), Figure::time(ours.cpu.median()))
            .beside(peer, Figure::time(theirs.cpu.median()))
    };
    let context = cpu("materialize", materialized, FRAME, decoded);
    let mut lines = vec![
        cpu("native", native, FRAME, decoded).target(VERIFIED),
        cpu("native", native, FRAMES, apart),
        cpu("native", native, TABLE, selected),
        if name.contains("packed") { context.target(PLANNED) } else { context },
    ];
    for (verb, ours) in [("native", native), ("materialize", materialized)] {
        let line = Line::ours(scale, format!("{verb}, {name}, wall"), Figure::time(ours.wall.median()))
            .beside(FRAME, Figure::time(decoded.wall.median()));
        lines.extend(wall.map(|target| line.target(target)));
    }
    lines
}
