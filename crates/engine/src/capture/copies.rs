//! Links a chain that a client copied to the chain that it was copied from.
//!
//! Which ids are looked at is `anchors`'. What is decided of two chains is a function of the two, so that the order in
//! which they came makes no difference.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use stemmata_model::{Closure, Commit, CommitId, EntryId, Granularity, Timestamp};
use stemmata_runtimes::adapter::{IdKind, Shape};
use stemmata_runtimes::registry;
use stemmata_store::{ANCHORS_MAX, Link, LinkKind, StoreError, Write};

use crate::capture::anchors::{Anchored, Anchors, News, hash_of};
use crate::capture::document::DOCUMENT_BYTES_MAX;
use crate::chain::segments::read_whole;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{EngineError, FormatUse, Result};

/// Commits that hold one anchor and are looked at: an id that more of them share tells little.
const HOLDERS_MAX: usize = 64;

/// Chains that one capture is compared with; those that share most come first.
const CHAINS_MAX: usize = 64;

/// Anchors that two chains share at least to be a copy and its original: one may be an accident.
pub(crate) const SHARED_MIN: usize = 2;

/// Links and sightings of one commit that are looked at.
const LOOKED_AT_MAX: usize = 256;

/// Searches for the originals of one capture: each that begins again met something that had just been let go.
const SEARCHES_MAX: usize = 8;

/// Bytes of a root that are read for its first record and for what it says of its origin.
const ROOT_BYTES_MAX: u64 = 1024 * 1024;

/// What two chains share.
#[derive(Debug, Default)]
struct Shared {
    hashes: BTreeSet<u64>,
    /// The deepest commit of ours that holds one of them, and its depth.
    ours: Option<(u64, CommitId)>,
    /// The other chain's.
    theirs: Option<(u64, CommitId)>,
}

/// What decides which of two chains is the older one: a link goes from the greater to the smaller.
type Age = (Timestamp, bool, bool, CommitId);

/// What decides between two originals of a copy: the smaller one is linked.
type Rank = (bool, std::cmp::Reverse<u64>, Age);

/// What is known of a chain by its root.
struct Root {
    age: Age,
    is_covered: bool,
    /// Whether its first records could be read.
    is_read: bool,
    /// Hashes of its first records' own ids, and of those that they say they were copied from.
    ids: Ids,
    /// What is kept of it. What a capture brings may be the end of a chain only, whose beginning is shared too.
    anchors: BTreeSet<u64>,
    /// The transcripts that it was seen in.
    places: HashSet<(String, String)>,
}

impl Engine {
    /// Links what is new to what it was copied from, and what was copied from it to it; returns the links that are
    /// new. One look-up for each anchor, and nothing more where no other chain has it.
    ///
    /// What another process forgets or collects meanwhile may be gone in the middle of a search: then it begins
    /// again, without it.
    pub(crate) fn link_copies(&self, news: &News) -> Result<Vec<Link>> {
        for _ in 0..SEARCHES_MAX {
            match self.search_and_link(news) {
                Err(EngineError::Store(error)) if is_gone(&error) => {}
                done => return done,
            }
        }
        // A capture never fails for want of a link.
        Ok(Vec::new())
    }

    fn search_and_link(&self, news: &News) -> Result<Vec<Link>> {
        let mut search = Search { engine: self, roots: HashMap::new(), known: HashMap::new() };
        let mut writes = Vec::new();
        for covered in news.covered_roots() {
            let own = search.derived(*covered)?;
            writes.extend(own.into_iter().map(Write::Unlink));
        }
        for copy in news.told() {
            search.root(*copy)?;
            writes.extend(search.linked(*copy, Vec::new())?);
        }
        if let Some(newest) = news.anchored().last() {
            writes.extend(search.compare(newest.commit, news.anchored())?);
        }
        if writes.is_empty() {
            return Ok(Vec::new());
        }
        let made = |write: &Write| if let Write::Link(link) = write { Some(link.clone()) } else { None };
        let links = writes.iter().filter_map(made).collect();
        self.commit_batch(writes)?;
        Ok(links)
    }

    /// Returns the link from a chain that a client copied to its original, found by any commit of it.
    ///
    /// # Errors
    /// `CommitMissing`, store errors.
    pub fn copied_from(&self, ctx: CommitId) -> Result<Option<Link>> {
        let Some(root) = self.root_of(ctx)? else { return Ok(None) };
        let links = self.store.links(root, LOOKED_AT_MAX)?;
        Ok(links.into_iter().find(|link| {
            // Without an entry it is what stood in the same file before.
            link.from == root && link.kind == LinkKind::DerivedFrom && link.entry.is_some()
        }))
    }
}

/// Returns whether something that was there a moment ago is not there any more.
const fn is_gone(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::CommitMissing(_)
            | StoreError::ContentMissing(_)
            | StoreError::ContentForgotten(_)
            | StoreError::Forgotten(_)
    )
}

/// Hashes of ids of a root's first records.
#[derive(Default)]
struct Ids {
    own: HashSet<u64>,
    origins: HashSet<u64>,
}

impl Root {
    /// Returns whether this chain's records say that they were copied from that one's.
    fn names(&self, original: &Self) -> bool {
        !self.ids.origins.is_disjoint(&original.ids.own)
    }

    /// Returns whether this is the younger one of two chains that share ids. Of two that began at once, the one that
    /// names the other; none where neither does and both name origins: which came first cannot be said, and what
    /// they name will tell how they are related.
    fn is_younger(&self, other: &Self) -> Option<bool> {
        let began_at_once = self.age.0 == other.age.0;
        match (self.names(other), other.names(self)) {
            (true, false) if began_at_once => Some(true),
            (false, true) if began_at_once => Some(false),
            _ if began_at_once && self.age.1 && other.age.1 => None,
            _ => Some(other.age < self.age),
        }
    }
}

/// A comparison under way, with what was read for it.
struct Search<'e> {
    engine: &'e Engine,
    /// The root of each commit that was met.
    roots: HashMap<CommitId, CommitId>,
    known: HashMap<CommitId, Root>,
}

impl Search<'_> {
    /// Compares a chain, named by one of its commits, with those that share anchors with it.
    fn compare(&mut self, commit: CommitId, anchored: &[Anchored]) -> Result<Vec<Write>> {
        let chains = self.sharing(commit, anchored)?;
        let mut writes = Vec::new();
        let mut ours: Vec<Target> = Vec::new();
        let Some(own) = self.roots.get(&commit).copied() else { return Ok(writes) };
        let mut is_turned = false;
        for (root, shared) in chains {
            let (Some(mine), Some(theirs)) = (shared.ours, shared.theirs) else { continue };
            let Some(is_copy) = self.is_copy(own, root, &shared.hashes)? else { continue };
            let (depth, to) = if is_copy { theirs } else { mine };
            let (copy, original) = if is_copy { (own, root) } else { (root, own) };
            let rank = self.rank(copy, original, depth)?;
            let target = Target { rank, to, shared: shared.hashes };
            // What was an original while it was open may be a copy now.
            let was_turned = self.is_linked(original, copy)?;
            if is_copy {
                ours.push(target);
                if was_turned {
                    writes.extend(self.linked(root, Vec::new())?);
                }
            } else {
                writes.extend(self.linked(root, vec![target])?);
                is_turned |= was_turned;
            }
        }
        if is_turned || !ours.is_empty() {
            writes.extend(self.linked(own, ours)?);
        }
        Ok(writes)
    }

    /// Returns the other chains that share anchors with this one, those that share most first.
    fn sharing(&mut self, commit: CommitId, anchored: &[Anchored]) -> Result<Vec<(CommitId, Shared)>> {
        let mut mine: BTreeMap<u64, (u64, CommitId)> = BTreeMap::new();
        for known in anchored {
            for hash in &known.hashes {
                let place = mine.entry(*hash).or_insert((known.depth, known.commit));
                *place = (*place).max((known.depth, known.commit));
            }
        }
        let own: HashSet<CommitId> = anchored.iter().map(|known| known.commit).collect();
        let hashes: Vec<u64> = mine.keys().copied().collect();
        let mut holders = Vec::new();
        for chunk in hashes.chunks(ANCHORS_MAX) {
            holders.extend(self.engine.store.anchored(chunk, HOLDERS_MAX)?);
        }
        holders.retain(|(_, holder)| !own.contains(holder));
        if holders.is_empty() {
            return Ok(Vec::new());
        }
        let own = self.root_of(commit)?;
        let mut chains: BTreeMap<CommitId, Shared> = BTreeMap::new();
        for (hash, holder) in holders {
            let root = self.root_of(holder)?;
            if root == own {
                continue;
            }
            let Some(commit) = self.engine.store.commit(holder)? else { continue };
            let shared = chains.entry(root).or_default();
            shared.hashes.insert(hash);
            shared.ours = shared.ours.max(mine.get(&hash).copied());
            shared.theirs = shared.theirs.max(Some((commit.depth, holder)));
        }
        let mut chains: Vec<(CommitId, Shared)> = chains.into_iter().collect();
        chains.sort_by_key(|(root, shared)| (std::cmp::Reverse(shared.hashes.len()), *root));
        chains.truncate(CHAINS_MAX);
        Ok(chains)
    }

    /// Returns whether a chain is a copy of another, or the other of it; none where they are neither.
    fn is_copy(&mut self, own: CommitId, other: CommitId, shared: &BTreeSet<u64>) -> Result<Option<bool>> {
        self.root(own)?;
        self.root(other)?;
        let (Some(mine), Some(theirs)) = (self.known.get(&own), self.known.get(&other)) else {
            return Ok(None);
        };
        let Some(is_younger) = mine.is_younger(theirs) else { return Ok(None) };
        let (younger, older) = if is_younger { (mine, theirs) } else { (theirs, mine) };
        let (copy, original) = if is_younger { (own, other) } else { (other, own) };
        let is_one_transcript = !younger.places.is_disjoint(&older.places);
        if is_one_transcript || younger.is_covered || older.is_covered {
            return Ok(None);
        }
        let beginning = younger.anchors.intersection(&older.anchors).filter(|hash| !shared.contains(hash));
        let is_enough = shared.len() + beginning.count() >= SHARED_MIN
            || younger.names(older)
            || self.is_linked(copy, original)?;
        Ok(is_enough.then_some(copy == own))
    }

    fn is_linked(&mut self, copy: CommitId, original: CommitId) -> Result<bool> {
        for link in self.derived(copy)?.into_iter().filter(|link| link.from == copy) {
            if self.root_of(link.to)? == original {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns what has a copy linked to the best of these targets and of what it is linked to already, as far as that
    /// is still its original: an open root becomes an older one by closing, and where it keeps its id, its links stay.
    fn linked(&mut self, copy: CommitId, targets: Vec<Target>) -> Result<Vec<Write>> {
        let before = self.derived(copy)?.into_iter().filter(|link| link.from == copy);
        let mut candidates: Vec<(Target, Option<Link>)> =
            targets.into_iter().map(|target| (target, None)).collect();
        let mut writes = Vec::new();
        for link in before {
            let root = self.root_of(link.to)?;
            let Some(commit) = self.engine.store.commit(link.to)? else { continue };
            if self.root(root)?.is_covered || self.is_older(copy, root)? {
                writes.push(Write::Unlink(link));
            } else {
                let rank = self.rank(copy, root, commit.depth)?;
                candidates.push((Target { rank, to: link.to, shared: BTreeSet::new() }, Some(link)));
            }
        }
        // Of two that are the same, the one that is linked already.
        candidates.sort_by_key(|(target, link)| (target.rank, target.to, link.is_none()));
        let mut candidates = candidates.into_iter();
        if let Some((target, None)) = candidates.next() {
            let entry = self.last_entry(target.to, &target.shared)?;
            writes.push(Write::Link(Link { from: copy, kind: LinkKind::DerivedFrom, to: target.to, entry }));
        }
        writes.extend(candidates.filter_map(|(_, link)| link).map(Write::Unlink));
        Ok(writes)
    }

    /// Returns whether a chain is now the older one of two. What cannot be read cannot say so.
    fn is_older(&mut self, own: CommitId, other: CommitId) -> Result<bool> {
        self.root(own)?;
        self.root(other)?;
        let both = self.known.get(&own).zip(self.known.get(&other));
        let both = both.filter(|(own, other)| own.is_read && other.is_read);
        Ok(both.and_then(|(own, other)| own.is_younger(other)) == Some(false))
    }

    /// Returns what decides which of a copy's originals it is linked to: the one that it names, then the one that
    /// shares the deepest commit, then the oldest.
    fn rank(&mut self, copy: CommitId, original: CommitId, depth: u64) -> Result<Rank> {
        let age = self.root(original)?.age;
        let known = self.known.get(&copy).zip(self.known.get(&original));
        let is_named = known.is_some_and(|(copy, original)| copy.names(original));
        Ok((!is_named, std::cmp::Reverse(depth), age))
    }

    /// Returns the links from and to a commit that were found by ids: others name no entry.
    fn derived(&self, of: CommitId) -> Result<Vec<Link>> {
        let mut links = self.engine.store.links(of, LOOKED_AT_MAX)?;
        links.retain(|link| link.kind == LinkKind::DerivedFrom && link.entry.is_some());
        Ok(links)
    }

    /// Returns the last record of a commit that has one of these ids.
    fn last_entry(&self, commit: CommitId, shared: &BTreeSet<u64>) -> Result<Option<EntryId>> {
        let commit = self.engine.store.commit(commit)?.ok_or(StoreError::CommitMissing(commit))?;
        let adapter = Engine::adapter(&commit.core.format, FormatUse::Read)?;
        let bytes = read_whole(self.engine, commit.core.native_artifact())?;
        let mut last = None;
        for line in adapter.shape().units(&bytes) {
            let (mut own, mut met) = (None, None);
            adapter.ids(line, &mut |kind, id| {
                if kind == IdKind::Entry {
                    own.get_or_insert_with(|| id.to_owned());
                }
                if shared.contains(&hash_of(id)) {
                    met.get_or_insert_with(|| id.to_owned());
                }
            });
            if met.is_some() {
                last = own.or(met);
            }
        }
        Ok(last.and_then(|id| EntryId::new(id).ok()))
    }

    fn root_of(&mut self, commit: CommitId) -> Result<CommitId> {
        let mut walk = Walk::new(self.engine.store.as_ref(), Some(commit));
        let mut met = Vec::new();
        let mut root = commit;
        while let Some(step) = walk.next()? {
            met.push(step.id);
            root = self.roots.get(&step.id).copied().unwrap_or(step.id);
            if root != step.id {
                break;
            }
        }
        self.roots.extend(met.into_iter().map(|id| (id, root)));
        Ok(root)
    }

    fn root(&mut self, id: CommitId) -> Result<&Root> {
        if !self.known.contains_key(&id) {
            let root = self.read_root(id)?;
            self.known.insert(id, root);
        }
        self.known.get(&id).ok_or_else(|| StoreError::CommitMissing(id).into())
    }

    fn read_root(&self, id: CommitId) -> Result<Root> {
        let store = self.engine.store.as_ref();
        let commit = store.commit(id)?.ok_or(StoreError::CommitMissing(id))?;
        let seen = store.sightings(id, LOOKED_AT_MAX)?.into_iter();
        let places = seen.filter_map(|seen| Some((seen.machine.to_string(), seen.source?.path))).collect();
        let read = self.beginning(&commit)?;
        let is_read = read.is_some();
        let Beginning { earliest, ids, anchors } = read.unwrap_or_default();
        let first = earliest.unwrap_or(commit.core.created_at);
        let age = (first, !ids.origins.is_empty(), commit.closure != Closure::Closed, id);
        Ok(Root { age, is_covered: commit.closure == Closure::Covered, is_read, ids, anchors, places })
    }

    /// Looks at a root's first records; none where they cannot be read.
    fn beginning(&self, root: &Commit) -> Result<Option<Beginning>> {
        let Some(adapter) = registry::by_format(&root.core.format) else { return Ok(None) };
        let mut bytes = Vec::new();
        let is_document = adapter.shape() == Shape::Document;
        let read_max = if is_document { DOCUMENT_BYTES_MAX } else { ROOT_BYTES_MAX };
        let range = 0..root.native_bytes.min(read_max);
        let read = self.engine.store.read_content(root.core.native_artifact(), Some(range), &mut |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        });
        match read {
            // What is lost or damaged says nothing; it is no reason to refuse what is captured beside it.
            Err(StoreError::ContentMissing(_) | StoreError::Corrupt { .. }) => return Ok(None),
            other => other.map_err(EngineError::from)?,
        }
        let (mut ids, mut anchors) = (Ids::default(), Anchors::default());
        let mut splitter = adapter.splitter(Granularity::Turn, None);
        // A last line may be cut where reading ended.
        let whole = if is_document { Some(bytes.len()) } else { memchr::memrchr(b'\n', &bytes) };
        for line in adapter.shape().units(bytes.get(..whole.unwrap_or(0)).unwrap_or_default()) {
            splitter.line(line, &mut Vec::new());
            anchors.line(adapter, 0, line);
            adapter.ids(line, &mut |kind, id| {
                let _is_new = match kind {
                    IdKind::Entry => ids.own.insert(hash_of(id)),
                    IdKind::Origin => ids.origins.insert(hash_of(id)),
                    IdKind::Call => false,
                };
            });
        }
        let anchors = anchors.kept(0).into_iter().collect();
        Ok(Some(Beginning { earliest: splitter.facts().first_timestamp, ids, anchors }))
    }
}

/// What a root's first records say.
#[derive(Default)]
struct Beginning {
    earliest: Option<Timestamp>,
    ids: Ids,
    anchors: BTreeSet<u64>,
}

/// A commit that a copy may be linked to.
struct Target {
    rank: Rank,
    to: CommitId,
    /// Ids that the two chains share.
    shared: BTreeSet<u64>,
}
