//! Flipped bits and cut files: every bit and every length of a small store's files.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use anyhow::Context as _;
use stemmata_engine::{BundleImportOptions, BundleSelection, CaptureOptions, Engine};
use stemmata_model::{CommitId, Timestamp};
use stemmata_store::PackOptions;
use stemmata_store::maintain::repair::RepairSource;
use stemmata_testkit::claude::ClaudeSession;
use stemmata_testkit::disk::Image;
use stemmata_testkit::memory::MemoryStore;
use stemmata_testkit::rng::Rng;

use super::Effort;
use crate::check::{Verdict, damage};
use crate::dump::{Dump, differences, dump, refused};
use crate::ledger::Ledger;
use crate::report::Row;
use crate::script::{Act, STEPS};
use crate::stage::{Stage, scratch};

/// States of the short form, for each of flips and cuts.
const SHORT_STATES: u64 = 120;

/// Threads that look at states.
const THREADS: u64 = 2;

/// A change of one file.
#[derive(Debug, Clone, Copy)]
enum Change {
    Flip { byte: usize, bit: u8 },
    Cut { length: usize },
}

/// What a small store is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Its log is empty.
    Emptied,
    /// All is in its log.
    Logged,
    /// Its log is empty, and its contents are in packs.
    Packed,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Emptied => "log empty",
            Self::Logged => "log full",
            Self::Packed => "packed",
        }
    }
}

/// Changes every file of three small stores, and a bundle of one.
///
/// # Errors
/// Where the stores cannot be made.
pub fn run(effort: Effort) -> anyhow::Result<Row> {
    let started = Instant::now();
    let mut row = Row::new("bits");
    for kind in [Kind::Emptied, Kind::Logged, Kind::Packed] {
        let small = Small::new(effort.seed, kind)?;
        for (path, bytes) in small.image.files() {
            // Rebuilt whenever a store is opened by a first process.
            if path.ends_with("-shm") || bytes.is_empty() {
                continue;
            }
            row.operations += bytes.len() as u64;
            let put = |changed: Vec<u8>, disk: &Path| {
                let mut image = small.image.clone();
                image.put(path, changed);
                image.write(disk)?;
                Ok(small.look(disk))
            };
            small.damage_file((path, bytes), effort, &mut row, &put)?;
        }
        if kind == Kind::Packed {
            let bytes = small.bundle()?;
            row.operations += bytes.len() as u64;
            let put = |changed: Vec<u8>, disk: &Path| small.take_in(&changed, disk);
            small.damage_file(("bundle", &bytes), effort, &mut row, &put)?;
        }
    }
    row.took = started.elapsed();
    Ok(row)
}

/// A small store with what it answers.
struct Small {
    image: Image,
    commits: Vec<CommitId>,
    sound: Dump,
    /// The store as it was, from which damage is mended.
    duplicate: Engine,
    duplicate_folder: PathBuf,
    outside: PathBuf,
    seed: u64,
    kind: Kind,
    scratch: tempfile::TempDir,
}

impl Small {
    fn new(seed: u64, kind: Kind) -> anyhow::Result<Self> {
        let scratch = scratch()?;
        let outside = scratch.path().join("outside");
        fs::create_dir_all(&outside)?;
        let stage = Stage::new(&scratch.path().join("disk"), &outside, seed);
        fs::create_dir_all(&stage.disk)?;
        let commits = {
            let engine = stage.engine(0)?;
            let session = ClaudeSession::new(seed).turns(2).tool_calls(1).build();
            let path = stage.transcript("small", &session.lines)?;
            let captured = engine.capture(&path, &CaptureOptions::import())?;
            let tip = captured.session.tip.context("a tip")?;
            let mut ledger = Ledger::default();
            for name in ["checkpoint", "annotate"] {
                let step = STEPS.iter().find(|step| step.name == name).context("a step of the script")?;
                let done = (step.act)(&Act { stage: &stage, engine: &engine, ledger: &ledger, day: 0 })?;
                ledger.names.extend(done.names.into_iter().map(|(name, id)| (name.to_owned(), id)));
            }
            let mut commits: Vec<CommitId> = ledger.names.values().flatten().copied().collect();
            commits.extend(engine.store().ancestors(tip, 100)?.iter().map(|commit| commit.id));
            commits
        };
        if kind == Kind::Packed {
            stage.engine(0)?.pack(&PackOptions::new(Timestamp::EPOCH))?;
        }
        if kind != Kind::Logged {
            let database = rusqlite::Connection::open(stage.disk.join("store").join("stemmata.db"))?;
            database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        }
        let image = Image::read(&stage.disk)?;
        let duplicate = stage.engine(0)?;
        let sound = dump(&duplicate, &commits);
        let duplicate_folder = stage.disk.join("store");
        Ok(Self { image, commits, sound, duplicate, duplicate_folder, outside, seed, kind, scratch })
    }

    /// Returns a bundle of all that the store has.
    fn bundle(&self) -> anyhow::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.duplicate.export_bundle(&BundleSelection::All, &[], &mut bytes)?;
        Ok(bytes)
    }

    /// Takes a changed bundle into a new store: what it takes must be what was sent.
    fn take_in(&self, bundle: &[u8], disk: &Path) -> anyhow::Result<Seen> {
        fs::create_dir_all(disk)?;
        let path = disk.join("bundle");
        File::create(&path)?.write_all(bundle)?;
        let stage = Stage::new(disk, &self.outside, self.seed);
        let taken = catch_unwind(AssertUnwindSafe(|| {
            let engine = stage.engine(0)?;
            let file = File::open(&path)?;
            if engine.import_bundle(&file, &BundleImportOptions::default()).is_err() {
                return Ok(Seen::Refused { mended: false });
            }
            let mut found = Verdict::default();
            damage(&engine, &mut found);
            let now = dump(&engine, &self.commits);
            let told = ["native", "commit", "annotations", "audit", "links", "sightings"];
            let differs = differences(&self.sound, &now)
                .into_iter()
                .find(|question| told.iter().any(|kind| question.starts_with(kind)));
            Ok(match differs {
                _ if !found.is_sound() => Seen::Wrong("verify".to_owned()),
                Some(question) => Seen::Wrong(question),
                None => Seen::Harmless,
            })
        }));
        taken.unwrap_or_else(|_| Ok(Seen::Wrong("panic".to_owned())))
    }

    fn damage_file(
        &self,
        (path, bytes): (&str, &[u8]),
        effort: Effort,
        row: &mut Row,
        put: Put<'_>,
    ) -> anyhow::Result<()> {
        let changes = changes(bytes.len(), effort);
        let next = AtomicU64::new(0);
        let shared = Mutex::new((std::mem::take(row), BTreeMap::<String, u64>::new()));
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..THREADS)
                .map(|worker| {
                    let (next, shared, changes) = (&next, &shared, &changes);
                    let disk = self.scratch.path().join(format!("state-{worker}"));
                    scope.spawn(move || -> anyhow::Result<()> {
                        while let Some(change) =
                            changes.get(usize::try_from(next.fetch_add(1, Ordering::Relaxed))?)
                        {
                            let _gone = fs::remove_dir_all(&disk);
                            let seen = put(changed(bytes, *change), &disk)?;
                            let mut shared = shared.lock().expect("no worker panics with it");
                            judge(path, *change, seen, &mut shared);
                        }
                        Ok(())
                    })
                })
                .collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("panics are caught before"))
        })?;
        let (mut judged, kinds) = shared.into_inner().expect("no worker panics with it");
        for (kind, count) in kinds {
            judged.note(format!("{path} ({}): {count} × {kind}", self.kind.name()));
        }
        *row = judged;
        Ok(())
    }

    /// Mends a store from its duplicate, as `verify --repair --from` does, and says whether nothing is wrong after it.
    fn mends(&self, engine: &Engine) -> bool {
        let source = RepairSource {
            name: "the duplicate".to_owned(),
            store: self.duplicate.store(),
            packs: Some(self.duplicate_folder.join("packs")),
        };
        engine
            .repair(&[source], &|| Ok(Arc::new(MemoryStore::default())))
            .is_ok_and(|outcome| outcome.remaining.is_empty())
    }

    /// Opens a changed store and asks it everything.
    fn look(&self, disk: &Path) -> Seen {
        let stage = Stage::new(disk, &self.outside, self.seed);
        let looked = catch_unwind(AssertUnwindSafe(|| {
            let Ok(engine) = stage.engine(0) else { return Seen::Refused { mended: false } };
            let now = dump(&engine, &self.commits);
            let mut found = Verdict::default();
            damage(&engine, &mut found);
            let others = differences(&self.sound, &now);
            if !found.is_sound() || refused(&self.sound, &now) {
                let mended = !found.is_sound() && self.mends(&engine);
                // What has the wrong bytes must not be handed out even where the damage is known.
                let wrong = others.into_iter().find(|question| wrong_bytes(question, &now));
                return wrong.map_or(Seen::Refused { mended }, Seen::Wrong);
            }
            // A log that ends early shows a store of an earlier moment: all that is said is true of that one.
            let is_earlier = self.commits.iter().any(|id| answered(&now, "native", *id) == Some("nothing"));
            if is_earlier && !others.iter().any(|question| wrong_bytes(question, &now)) {
                return Seen::Earlier;
            }
            let hashed = others.iter().find(|question| is_hashed(question)).cloned();
            match (hashed, others.into_iter().next()) {
                (Some(question), _) => Seen::Wrong(question),
                (None, Some(question)) => Seen::Unguarded(question),
                (None, None) => Seen::Harmless,
            }
        }));
        looked.unwrap_or_else(|_| Seen::Wrong("panic".to_owned()))
    }
}

fn judge(path: &str, change: Change, seen: Seen, (row, kinds): &mut (Row, BTreeMap<String, u64>)) {
    row.faults += 1;
    row.states += 1;
    let (count, question) = match seen {
        Seen::Refused { mended } => {
            row.repaired += u64::from(mended);
            return;
        }
        Seen::Harmless => return,
        Seen::Wrong(question) => (&mut row.undetected, question),
        Seen::Earlier => match change {
            // What is left is what a crash leaves before more is promised.
            Change::Cut { .. } => (&mut row.unguarded, "log-cut-off".to_owned()),
            Change::Flip { .. } => (&mut row.unguarded, "log-ended-by-a-flip".to_owned()),
        },
        Seen::Unguarded(_) if path.ends_with("-wal") && matches!(change, Change::Cut { .. }) => {
            (&mut row.unguarded, "log-cut-off".to_owned())
        }
        Seen::Unguarded(question) => (&mut row.unguarded, question),
    };
    *count += 1;
    {
        let kind = question.split(' ').next().unwrap_or_default().to_owned();
        let count = kinds.entry(kind).or_default();
        *count += 1;
        if *count == 1 {
            row.note(format!("{path}: {change:?}: {question}"));
        }
    }
}

/// Puts changed bytes in place, and looks.
type Put<'a> = &'a (dyn Fn(Vec<u8>, &Path) -> anyhow::Result<Seen> + Sync);

enum Seen {
    /// It is not opened, or `verify` names it, or a read does.
    Refused {
        /// Whether a repair from a duplicate made it sound.
        mended: bool,
    },
    /// All that is handed out is as it was.
    Harmless,
    /// Other bytes, commits or chains are handed out, and nothing is said.
    Wrong(String),
    /// The store of an earlier moment: its log ends sooner, and nothing says so.
    Earlier,
    /// Something that no hash covers is other than it was: a note, a listing, a place.
    Unguarded(String),
}

/// Returns the answer to a question about a commit.
fn answered<'a>(dump: &'a Dump, what: &str, id: CommitId) -> Option<&'a str> {
    dump.get(&format!("{what} {id}"))?.as_deref().ok()
}

/// Says whether a question is about what ids and hashes name.
fn is_hashed(question: &str) -> bool {
    ["native", "commit", "ancestors", "children"].iter().any(|kind| question.starts_with(kind))
}

/// Says whether a question was answered by other bytes than the right ones; that there are none is another matter.
fn wrong_bytes(question: &str, now: &Dump) -> bool {
    question.starts_with("native")
        && now.get(question).is_some_and(|answer| answer.as_deref() != Ok("nothing"))
}

fn changes(length: usize, effort: Effort) -> Vec<Change> {
    if effort.short {
        let mut rng = Rng::new(effort.seed ^ length as u64);
        let flips = (0..SHORT_STATES).map(|_| (rng.index(length), rng.index(8)));
        let mut changes: Vec<Change> =
            flips.map(|(byte, bit)| Change::Flip { byte, bit: u8::try_from(bit).unwrap_or(0) }).collect();
        changes.extend((0..SHORT_STATES / 5).map(|_| Change::Cut { length: rng.index(length) }));
        return changes;
    }
    if effort.percent < 100 {
        let mut rng = Rng::new(effort.seed ^ length as u64);
        let each = length.saturating_mul(usize::try_from(effort.percent).unwrap_or(1)) / 100;
        let flips = (0..each * 8).map(|_| (rng.index(length), rng.index(8)));
        let mut changes: Vec<Change> =
            flips.map(|(byte, bit)| Change::Flip { byte, bit: u8::try_from(bit).unwrap_or(0) }).collect();
        changes.extend((0..each).map(|_| Change::Cut { length: rng.index(length) }));
        return changes;
    }
    let flips = (0..length).flat_map(|byte| (0..8).map(move |bit| Change::Flip { byte, bit }));
    flips.chain((0..length).map(|length| Change::Cut { length })).collect()
}

fn changed(bytes: &[u8], change: Change) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    match change {
        Change::Flip { byte, bit } => bytes[byte] ^= 1 << bit,
        Change::Cut { length } => bytes.truncate(length),
    }
    bytes
}
