//! Anchors: the few ids of a commit's records that are kept, hashed, so that copies of its chain are found by them.
//!
//! A function of the commit's lines and its depth; what is made of those that are found is `copies`'.

use stemmata_model::CommitId;
use stemmata_runtimes::adapter::{Adapter, IdKind};
use stemmata_store::Write;

/// Domain of the hashes.
const CONTEXT: &str = "stemmata anchor: id of an entry, a message or a tool call";

/// Ids of each kind that are kept of a root: a copy that changed one kind still has the others.
const ROOT_IDS_MAX: usize = 4;

/// Lines of one commit that are looked at: the first answer stands in one of the first few.
const LINES_MAX: usize = 64;

/// Commits of a chain that are all anchored; of each later one the hash decides.
const DENSE_COMMITS: u64 = 8;

/// Letters and digits in a row that an id has at least, where it was drawn at random.
const RUN_CHARS_MIN: usize = 8;

/// Digits in a row that are taken for no counter.
const DIGITS_MIN: usize = 16;

/// Different letters and digits that such a run has at least.
const DIFFERENT_MIN: usize = 4;

/// What is kept of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Anchored {
    /// The commit.
    pub commit: CommitId,
    /// Commits before it.
    pub depth: u64,
    /// The hashes, at most `3 * ROOT_IDS_MAX`.
    pub hashes: Vec<u64>,
}

/// What a capture brings by which copies are found.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// The commit that is being read.
    next: Anchors,
    anchored: Vec<Anchored>,
    covered_roots: Vec<CommitId>,
    told: Vec<CommitId>,
}

impl News {
    /// What came from another store: commits of one chain with what is kept of them, roots that are covered now, and
    /// roots that are said to be copies of something.
    pub(crate) fn of(anchored: Vec<Anchored>, covered_roots: Vec<CommitId>, told: Vec<CommitId>) -> Self {
        Self { next: Anchors::default(), anchored, covered_roots, told }
    }

    /// Returns the roots that another store linked to an original: of several only the best one stays.
    pub(crate) fn told(&self) -> &[CommitId] {
        &self.told
    }

    /// Takes the next line of the commit that is being read, which has so many before it.
    pub(crate) fn line(&mut self, adapter: &dyn Adapter, depth: u64, line: &[u8]) {
        self.next.line(adapter, depth, line);
    }

    /// Takes the commit that the lines became, and what it covers; returns what is to be stored with it.
    pub(crate) fn closed(&mut self, commit: CommitId, depth: u64, covered: Vec<CommitId>) -> Option<Write> {
        let hashes = std::mem::take(&mut self.next).kept(depth);
        self.keep(Anchored { commit, depth, hashes }, covered)
    }

    /// Takes the provisional commit of the lines so far, and what it covers. Only a root is found by its ids: what
    /// stands on another commit is found by those of that one.
    pub(crate) fn open(&mut self, commit: CommitId, depth: u64, covered: Vec<CommitId>) -> Option<Write> {
        let hashes = if depth == 0 { self.next.kept(depth) } else { Vec::new() };
        self.keep(Anchored { commit, depth, hashes }, covered)
    }

    fn keep(&mut self, known: Anchored, covered: Vec<CommitId>) -> Option<Write> {
        if known.depth == 0 {
            self.covered_roots.extend(covered);
        }
        if known.hashes.is_empty() {
            return None;
        }
        let write = Write::Anchors { commit: known.commit, hashes: known.hashes.clone() };
        self.anchored.push(known);
        Some(write)
    }

    /// Returns what is kept of the new commits, in the order of the chain.
    pub(crate) fn anchored(&self) -> &[Anchored] {
        &self.anchored
    }

    /// Returns the provisional roots that were covered: what was linked to them is linked to what covers them.
    pub(crate) fn covered_roots(&self) -> &[CommitId] {
        &self.covered_roots
    }
}

/// The ids of a commit's first lines.
#[derive(Debug, Default)]
pub(crate) struct Anchors {
    entries: Vec<u64>,
    calls: Vec<u64>,
    origins: Vec<u64>,
    lines: usize,
}

impl Anchors {
    /// Takes the next line of the commit, which has so many before it.
    pub(crate) fn line(&mut self, adapter: &dyn Adapter, depth: u64, line: &[u8]) {
        if self.is_complete(depth) {
            return;
        }
        self.lines += 1;
        adapter.ids(line, &mut |kind, id| {
            let kept = match kind {
                IdKind::Entry => &mut self.entries,
                IdKind::Call => &mut self.calls,
                IdKind::Origin => &mut self.origins,
            };
            if kept.len() < ROOT_IDS_MAX && is_unique(id) {
                let hash = hash_of(id);
                if !kept.contains(&hash) {
                    kept.push(hash);
                }
            }
        });
    }

    /// Returns whether no further line of the commit changes what is kept of it.
    pub(crate) fn is_complete(&self, depth: u64) -> bool {
        let has_all = if depth == 0 {
            self.entries.len() >= ROOT_IDS_MAX && self.calls.len() >= ROOT_IDS_MAX
        } else {
            !self.calls.is_empty()
        };
        has_all || self.lines >= LINES_MAX
    }

    /// Returns what is kept of the commit.
    pub(crate) fn kept(&self, depth: u64) -> Vec<u64> {
        if depth > 0 {
            let first = self.calls.first().or(self.entries.first());
            return first.copied().filter(|hash| is_kept(depth, *hash)).into_iter().collect();
        }
        let mut hashes: Vec<u64> = Vec::new();
        for hash in self.entries.iter().chain(&self.calls).chain(&self.origins) {
            if !hashes.contains(hash) {
                hashes.push(*hash);
            }
        }
        hashes
    }
}

/// Returns whether a commit so deep keeps an anchor: about as many for each doubling of the depth.
const fn is_kept(depth: u64, hash: u64) -> bool {
    depth < DENSE_COMMITS || hash.trailing_zeros() + DENSE_COMMITS.ilog2() > depth.ilog2()
}

/// Returns the hash of an id.
pub(crate) fn hash_of(id: &str) -> u64 {
    let hash = blake3::Hasher::new_derive_key(CONTEXT).update(id.as_bytes()).finalize();
    let (first, _) = hash.as_bytes().split_at(8);
    first.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Returns whether an id is one that no other record would have by chance: counters and placeholders are not.
fn is_unique(id: &str) -> bool {
    id.split(|letter: char| !letter.is_ascii_alphanumeric()).any(|run| {
        let mut seen = 0_u128;
        let mut digits = true;
        for byte in run.bytes() {
            seen |= 1 << (byte & 0x7f);
            digits &= byte.is_ascii_digit();
        }
        let chars_min = if digits { DIGITS_MIN } else { RUN_CHARS_MIN };
        run.len() >= chars_min && usize::try_from(seen.count_ones()).is_ok_and(|kinds| kinds >= DIFFERENT_MIN)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_repeat_by_nature_are_left_out() {
        for (id, unique) in [
            ("3f1a9c04-7d2e-4b11-9a5c-0e6f8d7b2a10", true),
            ("toolu_01582ea250abcd47328fbcd5", true),
            ("a1b2c3d4", true),
            ("call_1234567890123456789", true),
            ("", false),
            ("1", false),
            ("msg_1", false),
            ("call_00000001", false),
            ("call_12345678", false),
            ("11111111-1111-4111-8111-111111111111", false),
            ("aaaaaaaaaaaaaaaa", false),
        ] {
            assert_eq!(is_unique(id), unique, "{id}");
        }
    }

    #[test]
    fn a_hash_is_what_the_format_says() {
        let whole = blake3::derive_key(CONTEXT, b"a1b2c3d4");
        let mut first = [0; 8];
        first.copy_from_slice(&whole[..8]);
        assert_eq!(hash_of("a1b2c3d4"), u64::from_le_bytes(first));
    }

    #[test]
    fn anchors_thin_out_with_depth_and_never_end() {
        let kept = |range: std::ops::Range<u64>| {
            range.filter(|depth| is_kept(*depth, hash_of(&format!("id{depth}")))).count()
        };
        assert_eq!(kept(0..8), 8);
        for octave in 3..14 {
            let count = kept(1 << octave..1 << (octave + 1));
            assert!((1..=12).contains(&count), "{count} from {}", 1 << octave);
        }
        assert!(
            !is_kept(8, 1) && is_kept(15, 2) && !is_kept(16, 2) && is_kept(16, 4) && is_kept(u64::MAX, 0)
        );
    }
}
