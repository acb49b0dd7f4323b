//! Giving up contents that no commit needs: which go, which keep their hash and length, and which ranges of them other
//! contents have, copied out first.
//!
//! Which commits and events go is decided before.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;

use stemmata_model::to_u64;

use super::pieces::{Piece, push};
use super::removal::Named;
use crate::error::StoreError;
use crate::maintain::forget::Forget;

/// What becomes of a content that no commit needs and that is an event's line.
#[derive(Debug, Clone, Copy)]
pub enum Lines<'a, K> {
    /// It stays.
    Keep,
    /// It goes, and the event is forgotten.
    Forget,
    /// It goes where a commit was cut that has it, and stays otherwise.
    ForgetCut,
    /// It goes where it is one of these, and stays otherwise, without what else it was made of.
    ForgetThese(&'a BTreeSet<K>),
}

impl<'a, K> Lines<'a, K> {
    /// Returns which lines go with a request; `these` are those that it names. Forgetting a session keeps lines that events of
    /// other sessions have too.
    pub const fn forgetting(request: &Forget, these: &'a BTreeSet<K>) -> Self {
        match &request.lines {
            Some(_) => Self::ForgetThese(these),
            None if request.sessions.is_empty() => Self::Forget,
            None => Self::ForgetCut,
        }
    }
}

/// What was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// Contents that had bytes of their own.
    pub contents: u64,
    /// These bytes.
    pub bytes: u64,
    /// Ranges that were copied out.
    pub copied_out: u64,
    /// Events that lost the line that they were.
    pub events: u64,
    /// Whether anything went.
    pub any: bool,
}

/// The contents of a store, within one transaction. Each method fails where the storage does.
pub trait Contents {
    /// What a content is found by.
    type Key: Copy + Ord + Hash;
    /// What a commit is found by.
    type Commit;

    /// Returns the ranges of a composed content; none for any other.
    fn pieces(&self, of: Self::Key) -> Result<Vec<Piece<Self::Key>>, StoreError>;

    /// Returns how many bytes of its own a content has; `None` for a list, and where they are gone.
    fn own_bytes(&self, of: Self::Key) -> Result<Option<u64>, StoreError>;

    /// Returns whether a content is some event's line.
    fn is_line(&self, of: Self::Key) -> Result<bool, StoreError>;

    /// Hands every commit to `act`.
    fn each_commit(&self, act: &mut dyn FnMut(Named<Self::Commit, Self::Key>)) -> Result<(), StoreError>;

    /// Returns the composed contents with ranges of some contents, but for those that are among these.
    fn lists_on(&self, going: &BTreeSet<Self::Key>) -> Result<Lists<Self::Key>, StoreError>;

    /// Stores a range of a content as a literal content, and returns it; `of` is the list with the range. Where the bytes are there
    /// already, as a list or as a hole, that content becomes literal; it may be one of those that go.
    fn copy_out(&mut self, of: Self::Key, range: Piece<Self::Key>) -> Result<Self::Key, StoreError>;

    /// Replaces the ranges of a composed content; the bytes stay the same. Does nothing for any other.
    fn replace(&mut self, of: Self::Key, pieces: Vec<Piece<Self::Key>>) -> Result<(), StoreError>;

    /// Forgets events whose line is one of some contents, and returns how many these are, with the contents that were lines
    /// of what went with them.
    fn forget_lines(&mut self, of: &BTreeSet<Self::Key>) -> Result<(u64, BTreeSet<Self::Key>), StoreError>;

    /// Removes contents and their bytes; those in `emptied` keep their hash and length.
    fn remove(&mut self, all: &BTreeSet<Self::Key>, emptied: &BTreeSet<Self::Key>) -> Result<(), StoreError>;
}

/// Composed contents by what they are found by, and their ranges.
pub type Lists<K> = Vec<(K, Vec<Piece<K>>)>;

/// Gives up contents and what they were made of, unless a commit names them. Those that only holes name keep their hash
/// and length.
///
/// # Errors
/// What the contents fail with.
pub fn give_up<C: Contents>(
    contents: &mut C,
    (mut going, emptied): (BTreeSet<C::Key>, &BTreeSet<C::Key>),
    lines: Lines<'_, C::Key>,
) -> Result<Swept, StoreError> {
    going.extend(emptied);
    if going.is_empty() {
        return Ok(Swept::default());
    }
    going.extend(made_of(contents, &going)?);
    keep_lines(contents, &mut going, emptied, lines)?;
    let mut emptied = emptied.clone();
    contents.each_commit(&mut |commit| {
        for content in commit.contents() {
            if !commit.is_hole {
                going.remove(&content);
            } else if going.contains(&content) {
                emptied.insert(content);
            }
        }
    })?;
    let copied_out = copy_out(contents, &mut going)?;
    let mut swept = Swept { copied_out, any: !going.is_empty(), ..Swept::default() };
    let mut said_again = BTreeSet::new();
    if !matches!(lines, Lines::Keep) {
        let (events, went) = contents.forget_lines(&going)?;
        swept.events = events;
        said_again.extend(went.difference(&going));
    }
    for content in &going {
        if let Some(bytes) = contents.own_bytes(*content)? {
            swept.contents += 1;
            swept.bytes = swept.bytes.saturating_add(bytes);
        }
    }
    contents.remove(&going, &emptied)?;
    // Snapshots that were forgotten with their lines were lines, too.
    let more = give_up(contents, (said_again, &BTreeSet::new()), Lines::Keep)?;
    swept.contents += more.contents;
    swept.bytes = swept.bytes.saturating_add(more.bytes);
    swept.copied_out += more.copied_out;
    swept.any |= more.any;
    Ok(swept)
}

/// Returns the literal contents that lists among some contents have ranges of.
fn made_of<C: Contents>(contents: &C, of: &BTreeSet<C::Key>) -> Result<BTreeSet<C::Key>, StoreError> {
    let mut found = BTreeSet::new();
    for content in of {
        found.extend(contents.pieces(*content)?.into_iter().map(|piece| piece.of));
    }
    Ok(found)
}

/// Takes out what events need and do not lose.
fn keep_lines<C: Contents>(
    contents: &C,
    going: &mut BTreeSet<C::Key>,
    emptied: &BTreeSet<C::Key>,
    lines: Lines<'_, C::Key>,
) -> Result<(), StoreError> {
    let lost = match lines {
        Lines::Forget => return Ok(()),
        Lines::Keep => BTreeSet::new(),
        Lines::ForgetThese(these) => these.clone(),
        Lines::ForgetCut => {
            let mut cut = made_of(contents, emptied)?;
            cut.extend(emptied);
            cut
        }
    };
    let mut kept = BTreeSet::new();
    for content in going.difference(&lost) {
        if contents.is_line(*content)? {
            kept.insert(*content);
        }
    }
    // What a line is made of may hold more than the line. Where the line is the one that is meant that goes, and the lines
    // that stay are copied out of it.
    if !matches!(lines, Lines::ForgetThese(_)) {
        kept.extend(made_of(contents, &kept)?);
    }
    going.retain(|content| lost.contains(content) || !kept.contains(content));
    Ok(())
}

/// Copies ranges of contents that go into contents of their own, for composed contents that stay, and returns how many. What
/// turns out to be needed stays.
fn copy_out<C: Contents>(contents: &mut C, going: &mut BTreeSet<C::Key>) -> Result<u64, StoreError> {
    if going.is_empty() {
        return Ok(0);
    }
    let lists = contents.lists_on(going)?;
    // A content that a list has all of is that list's own.
    for piece in lists.iter().flat_map(|(_, pieces)| pieces) {
        let is_whole = piece.offset == 0 && going.contains(&piece.of);
        if is_whole && contents.own_bytes(piece.of)? == Some(piece.length) {
            going.remove(&piece.of);
        }
    }
    let mut copied: BTreeMap<Piece<C::Key>, C::Key> = BTreeMap::new();
    for (list, pieces) in lists {
        if pieces.iter().all(|piece| !going.contains(&piece.of)) {
            continue;
        }
        let mut made = Vec::with_capacity(pieces.len());
        for piece in pieces {
            if !going.contains(&piece.of) {
                push(&mut made, piece);
                continue;
            }
            let of = match copied.get(&piece) {
                Some(known) => *known,
                None => contents.copy_out(list, piece)?,
            };
            copied.insert(piece, of);
            // The same bytes may have been among those that go: somebody needs them after all.
            going.remove(&of);
            push(&mut made, Piece { of, offset: 0, length: piece.length });
        }
        contents.replace(list, made)?;
    }
    Ok(to_u64(copied.len()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Contents by their numbers, commits that name them, and events whose line one is.
    #[derive(Debug, Clone, Default)]
    struct World {
        literals: BTreeMap<usize, Vec<u8>>,
        lists: BTreeMap<usize, Vec<Piece<usize>>>,
        emptied: BTreeSet<usize>,
        commits: Vec<(usize, bool)>,
        lines: BTreeSet<usize>,
    }

    impl World {
        fn bytes(&self, of: usize) -> Option<Vec<u8>> {
            let Some(pieces) = self.lists.get(&of) else { return self.literals.get(&of).cloned() };
            let range = |piece: &Piece<usize>| {
                let start = usize::try_from(piece.offset).expect("small");
                let bytes = self.literals.get(&piece.of)?;
                Some(bytes[start..start + usize::try_from(piece.length).expect("small")].to_vec())
            };
            Some(pieces.iter().map(range).collect::<Option<Vec<Vec<u8>>>>()?.concat())
        }
    }

    impl Contents for World {
        type Key = usize;
        type Commit = usize;

        fn pieces(&self, of: usize) -> Result<Vec<Piece<usize>>, StoreError> {
            Ok(self.lists.get(&of).cloned().unwrap_or_default())
        }

        fn own_bytes(&self, of: usize) -> Result<Option<u64>, StoreError> {
            Ok(self.literals.get(&of).map(|bytes| to_u64(bytes.len())))
        }

        fn is_line(&self, of: usize) -> Result<bool, StoreError> {
            Ok(self.lines.contains(&of))
        }

        fn each_commit(&self, act: &mut dyn FnMut(Named<usize, usize>)) -> Result<(), StoreError> {
            for (commit, (artifact, is_hole)) in self.commits.iter().enumerate() {
                act(Named { commit, is_hole: *is_hole, artifact: *artifact, native: None });
            }
            Ok(())
        }

        fn lists_on(&self, going: &BTreeSet<usize>) -> Result<Lists<usize>, StoreError> {
            let own = self.lists.iter().filter(|(list, _)| !going.contains(list));
            Ok(own.map(|(list, pieces)| (*list, pieces.clone())).collect())
        }

        fn copy_out(&mut self, _of: usize, range: Piece<usize>) -> Result<usize, StoreError> {
            self.lists.insert(usize::MAX, vec![range]);
            let bytes = self.bytes(usize::MAX).expect("a literal");
            self.lists.remove(&usize::MAX);
            if let Some((known, _)) = self.literals.iter().find(|(_, own)| **own == bytes) {
                return Ok(*known);
            }
            let new = self.literals.keys().chain(self.lists.keys()).max().map_or(0, |last| last + 1);
            self.literals.insert(new, bytes);
            Ok(new)
        }

        fn replace(&mut self, of: usize, pieces: Vec<Piece<usize>>) -> Result<(), StoreError> {
            self.lists.insert(of, pieces);
            Ok(())
        }

        fn forget_lines(&mut self, of: &BTreeSet<usize>) -> Result<(u64, BTreeSet<usize>), StoreError> {
            let before = self.lines.len();
            self.lines.retain(|line| !of.contains(line));
            Ok((to_u64(before - self.lines.len()), BTreeSet::new()))
        }

        fn remove(&mut self, all: &BTreeSet<usize>, emptied: &BTreeSet<usize>) -> Result<(), StoreError> {
            for content in all {
                self.literals.remove(content);
                self.lists.remove(content);
            }
            self.emptied.extend(all.intersection(emptied));
            Ok(())
        }
    }

    fn world() -> impl Strategy<Value = World> {
        let literals = proptest::collection::vec(proptest::collection::vec(0..3_u8, 1..6), 1..6);
        let index = any::<prop::sample::Index>;
        let ranges = proptest::collection::vec((index(), index(), index()), 1..4);
        let lists = proptest::collection::vec(ranges, 0..4);
        let commits = proptest::collection::vec((index(), prop::bool::weighted(0.3)), 0..5);
        let lines = proptest::collection::vec(index(), 0..3);
        (literals, lists, commits, lines).prop_map(|(literals, lists, commits, lines)| {
            let mut world =
                World { literals: literals.into_iter().enumerate().collect(), ..World::default() };
            let count = world.literals.len();
            for (number, ranges) in lists.into_iter().enumerate() {
                let piece = |(of, start, length): (prop::sample::Index, _, prop::sample::Index)| {
                    let of = of.index(count);
                    let whole = world.literals[&of].len();
                    let offset = prop::sample::Index::index(&start, whole);
                    Piece { of, offset: to_u64(offset), length: to_u64(1 + length.index(whole - offset)) }
                };
                let pieces = ranges.into_iter().map(piece).collect();
                world.lists.insert(count + number, pieces);
            }
            let all = count + world.lists.len();
            world.commits = commits.into_iter().map(|(of, is_hole)| (of.index(all), is_hole)).collect();
            world.lines = lines.into_iter().map(|of| of.index(all)).collect();
            world
        })
    }

    proptest! {
        #[test]
        fn what_stays_keeps_its_bytes_and_what_goes_is_needed_by_nothing(
            before in world(), going in proptest::collection::vec(any::<prop::sample::Index>(), 1..5), even_lines: bool,
        ) {
            let all: Vec<usize> = before.literals.keys().chain(before.lists.keys()).copied().collect();
            let going: BTreeSet<usize> = going.iter().map(|going| *going.get(&all)).collect();
            let mut world = before.clone();
            let lines = if even_lines { Lines::Forget } else { Lines::Keep };
            let swept = give_up(&mut world, (going.clone(), &BTreeSet::new()), lines).expect("swept");
            for content in world.literals.keys().chain(world.lists.keys()).filter(|content| all.contains(content)) {
                prop_assert_eq!(world.bytes(*content), before.bytes(*content), "{}", content);
            }
            for (content, _) in before.commits.iter().filter(|(_, is_hole)| !is_hole) {
                prop_assert!(world.bytes(*content).is_some(), "a commit needs {}", content);
            }
            for line in &before.lines {
                prop_assert!(world.bytes(*line).is_some() || even_lines && !world.lines.contains(line), "{}", line);
            }
            let is_gone = |content: &usize| !world.literals.contains_key(content) && !world.lists.contains_key(content);
            for (content, _) in before.commits.iter().filter(|(content, is_hole)| *is_hole && is_gone(content)) {
                prop_assert!(world.emptied.contains(content), "a hole names {}", content);
            }
            prop_assert_eq!(swept.any, all.iter().any(is_gone));
            // Nothing is left to give up, and only bytes that nothing else needs are gone.
            let again = give_up(&mut world, (going, &BTreeSet::new()), lines).expect("swept");
            prop_assert_eq!((again.contents, again.copied_out, again.events), (0, 0, 0));
        }
    }
}
