//! Collection in memory: condemning what nobody needs, and deleting what was condemned long enough ago.
//!
//! There are no files to give back.

use std::collections::{BTreeMap, BTreeSet};

use stemmata_model::{ArtifactId, Closure, CommitId, Timestamp, to_u64};

use super::State;
use super::content::{Content, literals_of};
use super::forget::{Wish, contents_of, plan, remove};
use super::sweep::{Lines, give_up};
use crate::maintain::collect::{Collect, Collected};
use crate::maintain::forget::Kept;

pub(super) fn collect(state: &mut State, wish: &Collect) -> Collected {
    let mut collected = Collected::default();
    let ripe = Timestamp::from_micros(wish.now.as_micros().saturating_sub(wish.grace_us));
    let (unneeded, kept) = unneeded(state, &wish.retired);
    let condemned: BTreeMap<CommitId, Timestamp> =
        state.condemned.iter().map(|(id, at)| (*id, *at)).collect();
    for id in condemned.keys().filter(|id| !unneeded.contains(id)) {
        state.condemned.remove(id);
        collected.revived += 1;
        collected.which.add("revived", &id.to_bytes());
    }
    let is_ripe = |id: &CommitId| condemned.get(id).is_some_and(|at| *at <= ripe);
    let ripe_ids: Vec<CommitId> = unneeded.iter().copied().filter(is_ripe).collect();
    let (deletable, _) = self::unneeded(state, &ripe_ids);
    let candidates = contents_of(state, &deletable);
    if let Some(first) = state.first_stored(&deletable) {
        state.index_due_from(Some(first));
    }
    remove(state, &deletable);
    let swept = give_up(state, candidates, &BTreeSet::new(), Lines::Keep);
    collected.deleted.add(deletable.len(), swept.contents, swept.bytes);
    collected.copied_out = swept.copied_out;
    for id in &deletable {
        collected.which.add("deleted", &id.to_bytes());
    }
    for id in unneeded.iter().filter(|id| !deletable.contains(id)) {
        collected.which.add("condemned", &id.to_bytes());
        if condemned.contains_key(id) {
            collected.waiting.commits += 1;
        } else {
            state.condemned.put(*id, wish.now);
            collected.condemned.commits += 1;
        }
    }
    collected.kept = kept;
    collect_contents(state, wish.now, ripe, &mut collected);
    collected
}

fn unneeded(state: &State, retired: &[CommitId]) -> (Vec<CommitId>, Vec<Kept>) {
    plan(state, Wish { unroot: retired, sessions: &[], even_sighted: true, even_pinned: false })
}

fn collect_contents(state: &mut State, now: Timestamp, ripe: Timestamp, collected: &mut Collected) {
    let orphans = orphans(state);
    let condemned: BTreeMap<ArtifactId, Timestamp> =
        state.orphans.iter().map(|(id, at)| (*id, *at)).collect();
    for id in condemned.keys().filter(|id| !orphans.contains_key(id)) {
        state.orphans.remove(id);
        collected.revived += 1;
    }
    let mut going = BTreeSet::new();
    for (id, bytes) in orphans {
        collected.which.add("content", id.as_bytes());
        match condemned.get(&id) {
            Some(at) if *at <= ripe => {
                going.insert(id);
            }
            Some(_) => collected.waiting.add(0, 1, bytes),
            None => {
                state.orphans.put(id, now);
                collected.condemned.add(0, 1, bytes);
            }
        }
    }
    let swept = give_up(state, going, &BTreeSet::new(), Lines::Keep);
    collected.deleted.add(0, swept.contents, swept.bytes);
    collected.copied_out += swept.copied_out;
}

fn orphans(state: &State) -> BTreeMap<ArtifactId, u64> {
    let named_by = |is_hole: bool| {
        let commits = state.commits.iter().filter(|(_, own)| (own.closure == Closure::Forgotten) == is_hole);
        contents_of(state, &commits.map(|(id, _)| *id).collect::<Vec<CommitId>>())
    };
    let mut needed = named_by(false);
    needed.extend(literals_of(&state.contents, &needed));
    needed.extend(super::events::needed(state));
    // A hole needs no bytes, but the hash and the length that are left of them.
    let is_left = |content: &Content| matches!(content, Content::Forgotten { .. });
    needed.extend(named_by(true).into_iter().filter(|id| state.contents.get(id).is_some_and(is_left)));
    let bytes_of = |content: &Content| match content {
        Content::Literal { bytes } => to_u64(bytes.len()),
        Content::Composed { .. } | Content::Forgotten { .. } => 0,
    };
    let rest = state.contents.iter().filter(|(id, _)| !needed.contains(id));
    rest.map(|(id, content)| (*id, bytes_of(content))).collect()
}
