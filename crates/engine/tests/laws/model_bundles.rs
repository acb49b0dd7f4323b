//! Two stores that are written, packed, forgotten in, collected and told of each other by bundles, in any order, hold
//! exactly what a naive model of them holds, byte for byte, and nothing of what one of them forgot is in its files.
//!
//! `STEMMATA_TEST_CASES` says how many orders are tried; each is a seed, named where it fails.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use stemmata_engine::{
    BundleSelection, Clock, Engine, ErrorKind, ForgetOptions, ForgetTarget, Identity, Update,
};
use stemmata_model::{Closure, CommitId, CommitType, MachineId, Principal, Timestamp, artifact_id};
use stemmata_store::conformance::builders::{self, damages, read};
use stemmata_store::maintain::collect::Collect;
use stemmata_store::{NewContent, PackOptions, SqliteOptions, SqliteStore, StoreError, Write};
use stemmata_testkit::rng::Rng;
use tempfile::TempDir;

use crate::bundles::{export, take};
use crate::support::CountingIds;

/// Orders that are tried unless the environment says otherwise: a few seconds.
const CASES: u64 = 2;

/// Steps of one order.
const STEPS: usize = 50;

/// A clock of both machines that moves when it is told to.
#[derive(Default)]
struct SharedClock(AtomicI64);

impl Clock for SharedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_800_000_000_000_000 + self.0.load(Ordering::Relaxed))
    }
}

#[derive(Debug, Clone)]
struct Known {
    parent: Option<CommitId>,
    depth: u64,
    bytes: Vec<u8>,
    is_hole: bool,
    /// When it was pinned or unpinned, and whether here.
    pins: BTreeMap<i64, (bool, bool)>,
}

impl Known {
    fn is_pinned(&self) -> bool {
        let own = self.pins.values().rev().find(|(_, is_own)| *is_own);
        own.or(self.pins.values().next_back()).is_some_and(|(pin, _)| *pin)
    }
}

/// One store, and what should be in it.
struct Side {
    home: TempDir,
    engine: Engine,
    commits: BTreeMap<CommitId, Known>,
    tombstones: BTreeSet<CommitId>,
    secrets: Vec<Vec<u8>>,
}

impl Side {
    fn new(machine: &str, clock: &Arc<SharedClock>) -> Self {
        let home = TempDir::new().expect("a directory");
        let store = SqliteStore::open(home.path(), SqliteOptions::default()).expect("a store");
        let identity = Identity {
            machine: MachineId::new(machine).expect("a name"),
            machine_label: machine.to_owned(),
            user: "ada".to_owned(),
            former: Vec::new(),
        };
        let clock: Arc<dyn Clock> = Arc::clone(clock) as Arc<dyn Clock>;
        let engine = Engine::over(Arc::new(store), clock, Arc::new(CountingIds::default()), identity);
        let (commits, tombstones, secrets) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
        Self { home, engine, commits, tombstones, secrets }
    }

    fn children(&self, of: CommitId) -> impl Iterator<Item = CommitId> + '_ {
        self.commits.iter().filter(move |(_, known)| known.parent == Some(of)).map(|(id, _)| *id)
    }

    /// Parents before children.
    fn in_order(&self, ids: impl Iterator<Item = CommitId>) -> Vec<CommitId> {
        let mut ids: Vec<CommitId> = ids.collect();
        ids.sort_by_key(|id| (self.commits[id].depth, *id));
        ids
    }

    fn with_ancestors(&self, id: CommitId) -> Vec<CommitId> {
        let above = |id: &CommitId| self.commits[id].parent;
        std::iter::successors(Some(id), above).collect()
    }

    /// Takes in what another one told of these commits, by the plainest reading of the rules.
    fn hear(&mut self, other: &Self, ids: &[CommitId]) {
        let mut skipped: HashSet<CommitId> = HashSet::new();
        for id in other.in_order(ids.iter().copied()) {
            let told = &other.commits[&id];
            let is_tombstoned = self.tombstones.contains(&id);
            match self.commits.get_mut(&id) {
                Some(own) if is_tombstoned => assert!(own.is_hole),
                Some(own) => {
                    own.is_hole &= told.is_hole;
                    for (at, (pin, _)) in &told.pins {
                        own.pins.entry(*at).or_insert((*pin, false));
                    }
                }
                None if told.parent.is_some_and(|parent| skipped.contains(&parent))
                    || is_tombstoned && !told.is_hole =>
                {
                    skipped.insert(id);
                }
                None => {
                    let heard = told.pins.iter().filter(|_| !is_tombstoned);
                    let pins = heard.map(|(at, (pin, _))| (*at, (*pin, false))).collect();
                    self.commits.insert(id, Known { pins, ..told.clone() });
                }
            }
        }
    }

    fn check(&self, seed: u64, step: &str) {
        let store = self.engine.store();
        let there: BTreeSet<CommitId> =
            store.commits_after(None, 10_000).expect("a read").iter().map(|commit| commit.id).collect();
        assert_eq!(there, self.commits.keys().copied().collect(), "seed {seed}: {step}");
        for (id, known) in &self.commits {
            let commit = store.commit(*id).expect("a read").expect("there");
            assert_eq!(commit.closure == Closure::Forgotten, known.is_hole, "seed {seed}: {step}: {id}");
            let found = read(store, commit.core.artifact);
            if known.is_hole {
                assert!(matches!(found, Err(StoreError::ContentForgotten(_))), "seed {seed}: {step}");
            } else {
                assert!(found.expect("a content") == known.bytes, "seed {seed}: {step}: {id}");
            }
            let pinned = store.annotations(*id).expect("a read").pinned;
            assert_eq!(pinned, known.is_pinned(), "seed {seed}: {step}: {id}");
        }
        assert_eq!(damages(store), [], "seed {seed}: {step}");
    }

    /// Returns files and contents that hold something of what was forgotten.
    fn held(&self) -> Vec<String> {
        let windows: Vec<&[u8]> =
            self.secrets.iter().flat_map(|secret| secret.windows(16).step_by(61)).collect();
        let holds = |bytes: &[u8]| {
            let held: HashSet<&[u8]> = bytes.windows(16).collect();
            windows.iter().any(|window| held.contains(window))
        };
        let mut found: Vec<String> = files(self.home.path())
            .into_iter()
            .filter(|(_, bytes)| holds(bytes))
            .map(|(name, _)| name)
            .collect();
        // What stands compressed in a file would be found by its name.
        let names = self.secrets.iter().map(|secret| artifact_id(secret));
        let readable = names.filter(|id| read(self.engine.store(), *id).is_ok());
        found.extend(readable.map(|id| id.to_string()));
        found
    }
}

fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push((path.display().to_string(), std::fs::read(&path).expect("a file")));
        }
    }
    found
}

struct Run {
    sides: [Side; 2],
    clock: Arc<SharedClock>,
    rng: Rng,
    seed: u64,
}

impl Run {
    fn new(seed: u64) -> Self {
        let clock = Arc::new(SharedClock::default());
        let sides = [Side::new("m1", &clock), Side::new("m2", &clock)];
        Self { sides, clock, rng: Rng::new(seed), seed }
    }

    fn any(&mut self, side: usize) -> Option<CommitId> {
        let all = &self.sides[side].commits;
        all.keys().nth(self.rng.index(all.len())).copied()
    }

    /// Stores a commit on none or on any, so that chains fork; some are compactions. Noise stands in files as it is.
    fn checkpoint(&mut self, side: usize) {
        let parent = if self.rng.chance(20) { None } else { self.any(side) };
        let length = 60 + self.rng.index(900);
        let bytes: Vec<u8> =
            std::iter::repeat_with(|| self.rng.next_u64().to_le_bytes()).flatten().take(length).collect();
        let own = &mut self.sides[side];
        let content = NewContent::literal(bytes.clone());
        let mut commit = builders::commit(parent, content.id(), self.clock.now().as_micros());
        if self.rng.chance(15) {
            commit.core.commit_type = CommitType::Compaction;
        }
        let id = commit.core.id();
        let batch = vec![Write::Content(content), Write::Commit(commit)];
        own.engine.store().commit_batch(batch).expect("stored");
        let depth = parent.map_or(0, |parent| own.commits[&parent].depth + 1);
        own.commits.insert(id, Known { parent, depth, bytes, is_hole: false, pins: BTreeMap::new() });
    }

    fn pin(&mut self, side: usize) {
        let Some(id) = self.any(side) else { return };
        let pin = self.rng.chance(60);
        let own = &mut self.sides[side];
        let by = Principal::new("ann").expect("a name");
        own.engine.update(id, Update { pin: Some(pin), ..Update::default() }, &by).expect("updated");
        let known = own.commits.get_mut(&id).expect("it is there");
        // Nothing is said where nothing changes.
        if known.is_pinned() != pin {
            known.pins.insert(self.clock.0.load(Ordering::Relaxed), (pin, true));
        }
    }

    fn forget(&mut self, side: usize) {
        let Some(id) = self.any(side) else { return };
        let (everywhere, even_pinned) = (self.rng.chance(60), self.rng.chance(40));
        let own = &mut self.sides[side];
        let by = Principal::new("ada").expect("a name");
        let options = ForgetOptions { everywhere, even_pinned, by };
        let done = own.engine.forget(&ForgetTarget::Commit(id), &options);
        if own.commits[&id].is_pinned() && !even_pinned {
            assert_eq!(done.expect_err("it is pinned").kind(), ErrorKind::Refused, "seed {}", self.seed);
            return;
        }
        done.expect("forgotten");
        if !everywhere && own.children(id).next().is_some() {
            return;
        }
        let known = own.commits.get_mut(&id).expect("it is there");
        // What is a hole already may be one that the other side still has: it was never here to be secret.
        if !known.is_hole {
            own.secrets.push(known.bytes.clone());
        }
        known.is_hole = true;
        own.tombstones.insert(id);
    }

    /// Lets go of a chain: what of it nothing needs.
    fn collect(&mut self, side: usize) {
        let Some(tip) = self.any(side) else { return };
        let own = &mut self.sides[side];
        let retired = own.with_ancestors(tip);
        let wish = Collect {
            retired: retired.clone(),
            now: self.clock.now(),
            grace_us: 0,
            expect: None,
            dry_run: false,
        };
        for _ in 0..2 {
            own.engine.store().collect(&wish).expect("collected");
        }
        for id in retired {
            if own.commits[&id].is_pinned() || own.children(id).next().is_some() {
                return;
            }
            own.commits.remove(&id);
        }
    }

    fn pack(&self, side: usize) {
        let options = PackOptions::new(self.clock.now());
        self.sides[side].engine.pack(&options).expect("packed");
    }

    /// Tells the other side of everything, or of one chain; now and then only of what it does not have.
    fn bundle(&mut self, from: usize) {
        let tip = self.any(from).filter(|_| self.rng.chance(40));
        let is_thin = self.rng.chance(50);
        let [first, second] = &mut self.sides;
        let (sender, receiver) = if from == 0 { (first, second) } else { (second, first) };
        let what = tip.map_or(BundleSelection::All, |tip| BundleSelection::Commits(vec![tip]));
        // Of what is here as a hole nothing would be sent.
        let is_thin = is_thin && receiver.commits.values().all(|known| !known.is_hole);
        let have = receiver.engine.bundle_have(&BundleSelection::All).expect("a list");
        let (bundle, _) = export(&sender.engine, &what, if is_thin { &have } else { &[] });
        take(&receiver.engine, &bundle);
        let ids: Vec<CommitId> =
            tip.map_or_else(|| sender.commits.keys().copied().collect(), |tip| sender.with_ancestors(tip));
        receiver.hear(sender, &ids);
    }

    fn step(&mut self) {
        self.clock.0.fetch_add(1, Ordering::Relaxed);
        let side = self.rng.index(2);
        let what = self.rng.index(20);
        let name = match what {
            0..=7 => "checkpoint",
            8 | 9 => "pin",
            10 | 11 => "pack",
            12 | 13 => "forget",
            14 | 15 => "collect",
            _ => "bundle",
        };
        match what {
            0..=7 => self.checkpoint(side),
            8 | 9 => self.pin(side),
            10 | 11 => self.pack(side),
            12 | 13 => self.forget(side),
            14 | 15 => self.collect(side),
            _ => self.bundle(side),
        }
        // A bundle changes who hears it.
        let changed = &self.sides[if name == "bundle" { 1 - side } else { side }];
        changed.check(self.seed, name);
        if matches!(name, "bundle" | "forget") {
            assert_eq!(changed.held(), Vec::<String>::new(), "seed {}: {name}", self.seed);
        }
    }
}

#[test]
fn any_order_of_work_on_two_stores_keeps_what_is_kept_and_brings_nothing_back() {
    #[expect(clippy::disallowed_methods, reason = "the long form is asked for by the environment")]
    let cases = std::env::var("STEMMATA_TEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(CASES);
    for seed in 1..=cases {
        let mut run = Run::new(seed);
        for _ in 0..STEPS {
            run.step();
        }
        for side in &run.sides {
            assert_eq!(side.held(), Vec::<String>::new(), "seed {seed}");
        }
    }
}
