//! A store that is written, packed, forgotten in, collected and reopened in any order holds exactly what a naive model
//! of it holds, byte for byte, and nothing of what was forgotten is in any file.
//!
//! `STEMMATA_TEST_CASES` says how many orders are tried; each is a seed, named where it fails.

use std::collections::{BTreeMap, BTreeSet};

use stemmata_model::{ArtifactId, Closure, CommitId, Principal, Timestamp, artifact_id};
use stemmata_store::maintain::collect::Collect;
use stemmata_store::maintain::forget::Forget;
use stemmata_store::{Annotation, Commits, ContentPart, NewContent, SqliteStore, StoreError, Upkeep, Write};
use stemmata_testkit::rng::Rng;
use tempfile::TempDir;

use crate::erase::{holding, noise, wish};
use crate::packs::pack;
use crate::support::{damages, new_commit, open, read};

/// Orders that are tried unless the environment says otherwise: a few seconds.
const CASES: u64 = 4;

/// Steps of one order.
const STEPS: usize = 60;

const GRACE_US: i64 = 1_000;

#[derive(Debug, Clone)]
struct Known {
    parent: Option<CommitId>,
    artifact: ArtifactId,
    bytes: Vec<u8>,
    /// Ranges of the bytes that are this commit's own noise: secrets, once it is forgotten.
    own: std::ops::Range<usize>,
    is_hole: bool,
    is_pinned: bool,
    is_tagged: bool,
}

/// What should be there.
#[derive(Default)]
struct Model {
    commits: BTreeMap<CommitId, Known>,
    /// In the order of storing.
    order: Vec<CommitId>,
    tombstones: BTreeSet<CommitId>,
    secrets: Vec<Vec<u8>>,
    condemned: BTreeMap<CommitId, i64>,
    now: i64,
    fresh: u64,
}

impl Model {
    fn children(&self, of: CommitId) -> impl Iterator<Item = CommitId> + '_ {
        self.commits.iter().filter(move |(_, known)| known.parent == Some(of)).map(|(id, _)| *id)
    }

    /// What of these goes, by the plainest reading of the rule: nothing that stays needs it.
    fn unneeded(&self, wanted: &BTreeSet<CommitId>, even_pinned: bool) -> BTreeSet<CommitId> {
        let mut going = BTreeSet::new();
        for id in self.order.iter().rev().filter(|id| wanted.contains(*id)) {
            let Some(known) = self.commits.get(id) else { continue };
            let held = !even_pinned && (known.is_pinned || known.is_tagged);
            if !held && self.children(*id).all(|child| going.contains(&child)) {
                going.insert(*id);
            }
        }
        going
    }

    /// Bytes that must be in no file any more: own noise that no commit which stays has in its content.
    fn give_up(&mut self, known: &Known) {
        let secret = known.bytes[known.own.clone()].to_vec();
        self.secrets.push(secret);
    }

    fn remove(&mut self, ids: &BTreeSet<CommitId>, is_forgotten: bool) {
        for id in ids {
            self.condemned.remove(id);
            if let Some(known) = self.commits.remove(id)
                && is_forgotten
            {
                if !known.is_hole {
                    self.give_up(&known);
                }
                self.tombstones.insert(*id);
            }
        }
        self.order.retain(|id| !ids.contains(id));
    }
}

struct Run {
    home: TempDir,
    store: Option<SqliteStore>,
    model: Model,
    rng: Rng,
    seed: u64,
}

impl Run {
    fn new(seed: u64) -> Self {
        let home = TempDir::new().expect("a directory");
        let store = Some(open(home.path()));
        Self { home, store, model: Model { now: 1, ..Model::default() }, rng: Rng::new(seed), seed }
    }

    fn store(&self) -> &SqliteStore {
        self.store.as_ref().expect("it is open")
    }

    fn below(&mut self, bound: usize) -> usize {
        self.rng.index(bound)
    }

    fn any(&mut self) -> Option<CommitId> {
        if self.model.order.is_empty() {
            return None;
        }
        let place = self.below(self.model.order.len());
        Some(self.model.order[place])
    }

    /// Stores a commit on an old one or none; now and then its content begins with ranges of other contents.
    fn checkpoint(&mut self) {
        self.model.fresh += 1;
        let parent = if self.below(5) == 0 { None } else { self.any() };
        let length = 20 + self.below(900);
        let own = noise(self.seed.wrapping_mul(1_000_003) + self.model.fresh, length);
        let mut parts = Vec::new();
        let mut bytes = Vec::new();
        while self.below(3) == 0
            && let Some(other) = self.any()
        {
            let other = self.model.commits[&other].clone();
            if other.is_hole {
                break;
            }
            let from = self.below(other.bytes.len());
            let to = from + 1 + self.below(other.bytes.len() - from);
            // Only what is nobody's secret can be shared: a range that goes on to live is no secret any more.
            if other.own.end > from && other.own.start < to {
                break;
            }
            parts.push(ContentPart::Slice {
                of: other.artifact,
                offset: u64::try_from(from).expect("small"),
                length: u64::try_from(to - from).expect("small"),
            });
            bytes.extend_from_slice(&other.bytes[from..to]);
        }
        // A head that everybody may share, before what is this commit's own.
        let head = noise(self.model.fresh % 7, 64);
        bytes.extend_from_slice(&head);
        parts.push(ContentPart::Bytes(head));
        let start = bytes.len();
        bytes.extend_from_slice(&own);
        parts.push(ContentPart::Bytes(own));
        let artifact = artifact_id(&bytes);
        let is_literal = self.below(2) == 0;
        let content = if is_literal {
            NewContent::literal(bytes.clone())
        } else {
            NewContent::composed(artifact, parts)
        };
        let mut commit = new_commit(parent, artifact, i64::try_from(self.model.fresh).expect("small"));
        if self.below(6) == 0 {
            commit.closure = Closure::Provisional;
        }
        let id = commit.core.id();
        self.store().commit_batch(vec![Write::Content(content), Write::Commit(commit)]).expect("stored");
        if let Some(parent) = parent {
            self.model.condemned.remove(&parent);
        }
        let known = Known {
            parent,
            artifact,
            own: start..bytes.len(),
            bytes,
            is_hole: false,
            is_pinned: false,
            is_tagged: false,
        };
        self.model.commits.insert(id, known);
        self.model.order.push(id);
    }

    fn annotate(&mut self) {
        let Some(commit) = self.any() else { return };
        let which = self.below(4);
        let change = match which {
            0 => Annotation::Pin,
            1 => Annotation::Unpin,
            2 => Annotation::AddTag("kept".to_owned()),
            _ => Annotation::RemoveTag("kept".to_owned()),
        };
        let by = Principal::new("ann").expect("a name");
        let at = Timestamp::from_micros(self.model.now);
        self.store().commit_batch(vec![Write::Annotate { commit, change, at, by }]).expect("annotated");
        self.model.condemned.remove(&commit);
        let known = self.model.commits.get_mut(&commit).expect("it is there");
        match which {
            0 => known.is_pinned = true,
            1 => known.is_pinned = false,
            2 => known.is_tagged = true,
            _ => known.is_tagged = false,
        }
    }

    /// Some commits: a chain down from one, or a few that have nothing to do with each other.
    fn some(&mut self) -> BTreeSet<CommitId> {
        let mut found = BTreeSet::new();
        if self.below(2) == 0 {
            let mut next = self.any();
            while let Some(id) = next {
                found.insert(id);
                next = self.model.commits.get(&id).and_then(|known| known.parent);
            }
        } else {
            for _ in 0..=self.below(4) {
                found.extend(self.any());
            }
        }
        found
    }

    fn forget(&mut self) {
        let wanted = self.some();
        let even_pinned = self.below(3) == 0;
        let everywhere = self.below(2) == 0;
        let ids: Vec<CommitId> = wanted.iter().copied().collect();
        let cut = if everywhere { ids.clone() } else { Vec::new() };
        let asked = Forget { even_pinned, at: Timestamp::from_micros(self.model.now), ..wish(&ids, &cut) };
        let planned = self.store().forget(&Forget { dry_run: true, ..asked.clone() }).expect("a plan");
        let done = self.store().forget(&asked).expect("forgotten");
        assert_eq!(planned, done, "seed {}: the plan is what happens", self.seed);
        let gone = self.model.unneeded(&wanted, even_pinned);
        assert_eq!(done.removed.iter().copied().collect::<BTreeSet<_>>(), gone, "seed {}", self.seed);
        self.model.remove(&gone, true);
        if everywhere {
            for id in ids {
                if let Some(known) = self.model.commits.get_mut(&id).filter(|known| !known.is_hole) {
                    known.is_hole = true;
                    let known = known.clone();
                    self.model.give_up(&known);
                    self.model.tombstones.insert(id);
                }
            }
        }
        let secrets: Vec<&[u8]> = self.model.secrets.iter().map(Vec::as_slice).collect();
        assert_eq!(holding(self.home.path(), &secrets), Vec::<String>::new(), "seed {}", self.seed);
    }

    fn collect(&mut self) {
        self.model.now += i64::try_from(self.below(1_500)).expect("small");
        let wanted = self.some();
        let done = self
            .store()
            .collect(&Collect {
                retired: wanted.iter().copied().collect(),
                now: Timestamp::from_micros(self.model.now),
                grace_us: GRACE_US,
                expect: None,
                dry_run: false,
            })
            .expect("collected");
        let unneeded = self.model.unneeded(&wanted, false);
        self.model.condemned.retain(|id, _| unneeded.contains(id));
        let ripe: BTreeSet<CommitId> = self
            .model
            .condemned
            .iter()
            .filter(|(_, at)| **at <= self.model.now - GRACE_US)
            .map(|(id, _)| *id)
            .collect();
        let gone = self.model.unneeded(&ripe, false);
        assert_eq!(done.deleted.commits, u64::try_from(gone.len()).expect("small"), "seed {}", self.seed);
        self.model.remove(&gone, false);
        for id in unneeded.difference(&gone) {
            self.model.condemned.entry(*id).or_insert(self.model.now);
        }
    }

    /// What was forgotten is refused.
    fn try_again(&mut self) {
        let forgotten: Vec<CommitId> = self.model.tombstones.iter().copied().collect();
        if !forgotten.is_empty() {
            let id = forgotten[self.below(forgotten.len())];
            let known = self.store().tombstones(&[stemmata_store::maintain::forget::Tombstone::Commit(id)]);
            assert_eq!(known.expect("a read").len(), 1, "seed {}", self.seed);
        }
    }

    fn step(&mut self) {
        match self.below(20) {
            0..=9 => self.checkpoint(),
            10 | 11 => self.annotate(),
            12 | 13 => drop(pack(self.store())),
            14 | 15 => self.forget(),
            16 | 17 => self.collect(),
            18 => {
                self.store = None;
                self.store = Some(open(self.home.path()));
            }
            _ => self.try_again(),
        }
    }

    fn check(&self) {
        let store = self.store();
        let there: BTreeSet<CommitId> =
            store.commits_after(None, 10_000).expect("a read").iter().map(|commit| commit.id).collect();
        assert_eq!(there, self.model.commits.keys().copied().collect(), "seed {}", self.seed);
        for (id, known) in &self.model.commits {
            let commit = store.commit(*id).expect("a read").expect("there");
            assert_eq!(commit.closure == Closure::Forgotten, known.is_hole, "seed {}: {id}", self.seed);
            let found = read(store, commit.core.artifact);
            if known.is_hole {
                assert!(matches!(found, Err(StoreError::ContentForgotten(_))), "seed {}", self.seed);
            } else {
                assert!(found.expect("a content") == known.bytes, "seed {}: {id}", self.seed);
            }
        }
        assert_eq!(damages(store), [], "seed {}", self.seed);
    }
}

#[test]
fn any_order_of_maintenance_keeps_what_is_kept_and_nothing_else() {
    #[expect(clippy::disallowed_methods, reason = "the long form is asked for by the environment")]
    let cases = std::env::var("STEMMATA_TEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(CASES);
    for seed in 1..=cases {
        let mut run = Run::new(seed);
        for _ in 0..STEPS {
            run.step();
            run.check();
        }
    }
}
