//! Which commits can go, children before parents, why the others stay, and which commits become holes with others.
//!
//! Changes nothing: a backend gathers the facts and removes what the plan says.

use std::collections::HashSet;
use std::hash::Hash;

use stemmata_model::CommitId;

use crate::error::StoreError;
use crate::maintain::forget::{Forget, Keep, Kept};
use crate::write::SessionKey;

/// Commits that may go, and what does not count as a reason to keep them.
#[derive(Debug, Clone, Copy)]
pub struct Unrooting<'a> {
    /// The commits, in any order.
    pub commits: &'a [CommitId],
    /// Sessions that go too: what they saw and where they end keeps nothing.
    pub sessions: &'a [SessionKey],
    /// Whether a commit goes although other sessions saw it or end at it.
    pub even_sighted: bool,
    /// Whether a commit goes although it is pinned, tagged or referred to.
    pub even_pinned: bool,
}

impl<'a> Unrooting<'a> {
    /// Returns what a request to forget unroots.
    pub fn forgetting(request: &'a Forget) -> Self {
        let Forget { unroot, sessions, even_sighted, even_pinned, .. } = request;
        Self { commits: unroot, sessions, even_sighted: *even_sighted, even_pinned: *even_pinned }
    }

    /// Returns what retention unroots: whoever retires a commit has looked at all of its sessions.
    pub const fn retired(commits: &'a [CommitId]) -> Self {
        Self { commits, sessions: &[], even_sighted: true, even_pinned: false }
    }
}

/// A session that saw a commit.
#[derive(Debug, Clone, Copy)]
pub struct SeenBy<'a> {
    /// Its machine.
    pub machine: &'a str,
    /// Its path.
    pub path: &'a str,
    /// Whether it did so for a ticket or a thread.
    pub refers: bool,
}

/// Takes the machine and the path of a session, its newest commit and the one it was placed from.
pub type EachSession<'a> = dyn FnMut((&str, &str), [Option<CommitId>; 2]) + 'a;

/// Hands every commit to its argument.
pub type EachCommit<'a, C, K> = dyn Fn(&mut dyn FnMut(Named<C, K>)) -> Result<(), StoreError> + 'a;

/// What keeps commits in a store. A backend answers for one commit at a time, and only what it is asked; each answer fails
/// where the storage does.
pub trait Holders {
    /// A commit as the backend finds it.
    type Commit: Copy;
    /// What tells commits apart at the least cost.
    type Key: Eq + Hash;

    /// Looks commits up: children before their parents, each once. Ids that are not stored are left out.
    fn find(&self, ids: &[CommitId]) -> Result<Vec<Self::Commit>, StoreError>;

    /// Returns a commit's id.
    fn id(&self, commit: Self::Commit) -> CommitId;

    /// Returns a commit's key.
    fn key(&self, commit: Self::Commit) -> Self::Key;

    /// Returns whether it is pinned, and whether it has a tag.
    fn is_marked(&self, commit: Self::Commit) -> Result<[bool; 2], StoreError>;

    /// Hands every session that saw it to `act`.
    fn each_sighting(&self, commit: Self::Commit, act: &mut dyn FnMut(SeenBy<'_>)) -> Result<(), StoreError>;

    /// Hands every session to `act`.
    fn each_session(&self, act: &mut EachSession<'_>) -> Result<(), StoreError>;

    /// Returns the keys of the commits that continue it.
    fn children(&self, commit: Self::Commit) -> Result<Vec<Self::Key>, StoreError>;
}

/// What goes, children before parents, and what stays.
#[derive(Debug)]
pub struct Plan<C> {
    /// Commits that go.
    pub gone: Vec<C>,
    /// Commits that stay.
    pub kept: Vec<Kept>,
}

/// Finds out which commits can go.
///
/// # Errors
/// What the holders fail with.
pub fn plan<H: Holders>(holders: &H, unrooting: Unrooting<'_>) -> Result<Plan<H::Commit>, StoreError> {
    let sessions: HashSet<(&str, &str)> =
        unrooting.sessions.iter().map(|key| (key.machine.as_str(), key.path.as_str())).collect();
    let mut ends = HashSet::new();
    if !unrooting.even_sighted {
        holders.each_session(&mut |session, own| {
            if !sessions.contains(&session) {
                ends.extend(own.into_iter().flatten());
            }
        })?;
    }
    let others = Others { holders, unrooting, sessions, ends };
    let mut going = HashSet::new();
    let mut plan = Plan { gone: Vec::new(), kept: Vec::new() };
    // Children first: whether a parent can go depends on them.
    for commit in holders.find(unrooting.commits)? {
        if let Some(because) = others.reason(commit, &going)? {
            plan.kept.push(Kept { commit: holders.id(commit), because });
        } else {
            going.insert(holders.key(commit));
            plan.gone.push(commit);
        }
    }
    Ok(plan)
}

/// Everything that may need a commit, beside those that go.
struct Others<'a, H> {
    holders: &'a H,
    unrooting: Unrooting<'a>,
    /// Machines and paths of sessions that go.
    sessions: HashSet<(&'a str, &'a str)>,
    /// Where sessions that stay end, and what they were placed from.
    ends: HashSet<CommitId>,
}

impl<H: Holders> Others<'_, H> {
    /// Returns the first reason to keep a commit. They are tried in this order: pin, tag, ticket, session, child.
    fn reason(&self, commit: H::Commit, going: &HashSet<H::Key>) -> Result<Option<Keep>, StoreError> {
        if !self.unrooting.even_pinned {
            match self.holders.is_marked(commit)? {
                [true, _] => return Ok(Some(Keep::Pin)),
                [false, true] => return Ok(Some(Keep::Tag)),
                [false, false] => {}
            }
        }
        let (mut is_referred, mut is_seen) = (false, false);
        self.holders.each_sighting(commit, &mut |seen| {
            if !self.sessions.contains(&(seen.machine, seen.path)) {
                is_seen = true;
                is_referred |= seen.refers;
            }
        })?;
        if is_referred && !self.unrooting.even_pinned {
            return Ok(Some(Keep::Ticket));
        }
        if is_seen && !self.unrooting.even_sighted || self.ends.contains(&self.holders.id(commit)) {
            return Ok(Some(Keep::Session));
        }
        let children = self.holders.children(commit)?;
        Ok(children.iter().any(|child| !going.contains(child)).then_some(Keep::Child))
    }
}

/// A commit, as far as it names contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named<C, K> {
    /// The commit, as a backend finds it.
    pub commit: C,
    /// Whether its contents were forgotten: it needs none of them, and names them all the same.
    pub is_hole: bool,
    /// The content that it shows.
    pub artifact: K,
    /// Its native content, where that is another one.
    pub native: Option<K>,
}

impl<C, K: Copy> Named<C, K> {
    /// Returns the contents that it names.
    pub fn contents(&self) -> impl Iterator<Item = K> + use<C, K> {
        std::iter::once(self.artifact).chain(self.native)
    }
}

/// Returns the contents that commits name.
pub fn contents_of<'c, C: 'c, K: Copy + 'c, S: FromIterator<K>>(
    commits: impl IntoIterator<Item = &'c Named<C, K>>,
) -> S {
    commits.into_iter().flat_map(Named::contents).collect()
}

/// Returns every other commit that becomes a hole with some: those that name a content of one of them, and of those that
/// do. `each` hands all commits to its argument.
///
/// # Errors
/// What `each` fails with.
pub fn cut_too<C: Copy + Eq + Hash, K: Copy + Eq + Hash>(
    holes: &[Named<C, K>],
    each: &EachCommit<'_, C, K>,
) -> Result<Vec<Named<C, K>>, StoreError> {
    let mut known: HashSet<C> = holes.iter().map(|hole| hole.commit).collect();
    let mut contents: HashSet<K> = contents_of(holes);
    let mut found = Vec::new();
    loop {
        let before = found.len();
        // Contents of what is found in this round count in the next one, so that the order of commits does not matter.
        each(&mut |commit| {
            let is_cut = !commit.is_hole && commit.contents().any(|content| contents.contains(&content));
            if is_cut && known.insert(commit.commit) {
                found.push(commit);
            }
        })?;
        let Some(new) = found.get(before..).filter(|new| !new.is_empty()) else { return Ok(found) };
        contents.extend(new.iter().flat_map(Named::contents));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use stemmata_model::MachineId;

    use super::*;

    /// Commits by their numbers: each with its parent, whether it is pinned or tagged, and the sessions that saw it.
    #[derive(Debug, Clone)]
    struct World(Vec<Own>);

    #[derive(Debug, Clone)]
    struct Own {
        parent: Option<usize>,
        marks: [bool; 2],
        seen: Vec<(usize, bool)>,
        ends: Option<usize>,
    }

    fn id(number: usize) -> CommitId {
        CommitId::from_bytes([u8::try_from(number).expect("few"); 16])
    }

    impl Holders for World {
        type Commit = usize;
        type Key = usize;

        fn find(&self, ids: &[CommitId]) -> Result<Vec<usize>, StoreError> {
            Ok((0..self.0.len()).rev().filter(|number| ids.contains(&id(*number))).collect())
        }

        fn key(&self, commit: usize) -> usize {
            commit
        }

        fn id(&self, commit: usize) -> CommitId {
            id(commit)
        }

        fn is_marked(&self, commit: usize) -> Result<[bool; 2], StoreError> {
            Ok(self.0[commit].marks)
        }

        fn each_sighting(&self, commit: usize, act: &mut dyn FnMut(SeenBy<'_>)) -> Result<(), StoreError> {
            for (session, refers) in &self.0[commit].seen {
                act(SeenBy { machine: "m", path: &session.to_string(), refers: *refers });
            }
            Ok(())
        }

        fn each_session(&self, act: &mut EachSession<'_>) -> Result<(), StoreError> {
            for (number, own) in self.0.iter().enumerate() {
                if let Some(session) = own.ends {
                    act(("m", &session.to_string()), [Some(id(number)), None]);
                }
            }
            Ok(())
        }

        fn children(&self, commit: usize) -> Result<Vec<usize>, StoreError> {
            let all = self.0.iter().enumerate();
            Ok(all.filter(|(_, own)| own.parent == Some(commit)).map(|(number, _)| number).collect())
        }
    }

    fn world() -> impl Strategy<Value = World> {
        let rarely = || prop::bool::weighted(0.1);
        let own = (
            any::<prop::sample::Index>(),
            [rarely(), rarely()],
            proptest::collection::vec((0..3_usize, rarely()), 0..2),
            proptest::option::weighted(0.2, 0..3_usize),
        );
        proptest::collection::vec(own, 1..12).prop_map(|all| {
            let own = |(number, (parent, marks, seen, ends)): (usize, (prop::sample::Index, _, _, _))| Own {
                parent: (number > 0).then(|| parent.index(number)),
                marks,
                seen,
                ends,
            };
            World(all.into_iter().enumerate().map(own).collect())
        })
    }

    proptest! {
        #[test]
        fn what_stays_is_held_by_something_that_stays_and_what_goes_by_nothing(
            world in world(), gone in 0..3_usize, even_sighted: bool, even_pinned: bool,
        ) {
            let sessions = [SessionKey { machine: MachineId::new("m").expect("a name"), path: gone.to_string() }];
            let commits: Vec<CommitId> = (0..world.0.len()).map(id).collect();
            let unrooting = Unrooting { commits: &commits, sessions: &sessions, even_sighted, even_pinned };
            let plan = plan(&world, unrooting).expect("planned");
            let kept: BTreeSet<CommitId> = plan.kept.iter().map(|kept| kept.commit).collect();
            prop_assert_eq!(kept.len() + plan.gone.len(), world.0.len());
            for (number, own) in world.0.iter().enumerate() {
                let others = || own.seen.iter().filter(|(session, _)| *session != gone);
                let child = world.0.iter().enumerate().any(|(child, own)| own.parent == Some(number) && kept.contains(&id(child)));
                let is_held = child
                    || !even_pinned && (own.marks != [false; 2] || others().any(|(_, refers)| *refers))
                    || !even_sighted && (others().next().is_some() || own.ends.is_some_and(|session| session != gone));
                prop_assert_eq!(kept.contains(&id(number)), is_held, "{} of {:?}", number, world);
            }
            let places: Vec<usize> = plan.gone;
            prop_assert!(places.is_sorted_by(|one, two| one > two), "children before parents");
        }

        #[test]
        fn no_content_of_a_hole_is_left_to_a_commit_that_is_none(
            contents in proptest::collection::vec((0..9_u8, proptest::option::of(0..9_u8), prop::bool::weighted(0.1)), 1..12),
            asked in any::<prop::sample::Index>(),
        ) {
            let named = |(commit, (artifact, native, is_hole))| Named { commit, is_hole, artifact, native };
            let all: Vec<Named<usize, u8>> = contents.into_iter().enumerate().map(named).collect();
            let asked = Named { is_hole: false, ..all[asked.index(all.len())] };
            let cut_of = |all: Vec<Named<usize, u8>>| {
                let each = |act: &mut dyn FnMut(Named<usize, u8>)| {
                    for own in &all {
                        act(*own);
                    }
                    Ok(())
                };
                cut_too(&[asked], &each).expect("found")
            };
            let more = cut_of(all.clone());
            let reversed = cut_of(all.iter().rev().copied().collect());
            let ids = |found: &[Named<usize, u8>]| found.iter().map(|own| own.commit).collect::<BTreeSet<usize>>();
            prop_assert_eq!(ids(&more), ids(&reversed), "the order of commits does not matter");
            let cut: BTreeSet<u8> = contents_of(more.iter().chain([&asked]));
            for own in &all {
                let is_cut = own.commit == asked.commit || ids(&more).contains(&own.commit);
                prop_assert_eq!(is_cut, own.commit == asked.commit || !own.is_hole && own.contents().any(|content| cut.contains(&content)));
            }
        }
    }
}
