//! Collection in memory: condemning what nobody needs, and deleting what was condemned long enough ago.
//!
//! There are no files to give back.

use std::collections::{BTreeMap, BTreeSet};

use stemmata_model::{ArtifactId, Closure, CommitId, to_u64};
use stemmata_store::StoreError;
use stemmata_store::maintain::collect::{Collect, Collected};
use stemmata_store::rules::condemn::fates;
use stemmata_store::rules::removal::{self, Unrooting};
use stemmata_store::rules::sweep::{Lines, give_up};

use super::State;
use super::content::{Content, literals_of};
use super::forget::{contents_of, remove};

pub(super) fn collect(state: &mut State, wish: &Collect) -> Result<Collected, StoreError> {
    let mut collected = Collected::default();
    let unneeded = removal::plan(state, Unrooting::retired(&wish.retired))?;
    let condemned = state.condemned.iter().map(|(id, at)| (*id, *at)).collect();
    let fates = fates(&unneeded.gone.into_iter().collect(), &condemned, wish.now, wish.grace_us);
    fates.revived.iter().for_each(|id| state.condemned.remove(id));
    fates.condemned.iter().for_each(|id| state.condemned.put(*id, wish.now));
    // What is ripe may yet have a child that is not.
    let deletable = removal::plan(state, Unrooting::retired(&fates.ripe))?.gone;
    let mut going: BTreeSet<ArtifactId> = collect_contents(state, wish, &mut collected).into_iter().collect();
    going.extend(contents_of(state, &deletable));
    if let Some(first) = state.first_stored(&deletable) {
        state.index_due_from(Some(first));
    }
    remove(state, &deletable)?;
    collected.commits(&fates, &deletable.iter().copied().collect());
    collected.kept = unneeded.kept;
    let swept = give_up(state, (going, &BTreeSet::new()), Lines::Keep)?;
    collected.deleted.add(deletable.len(), swept.contents, swept.bytes);
    collected.copied_out = swept.copied_out;
    Ok(collected)
}

/// Condemns contents that no commit needs, and returns those that were condemned long enough ago.
fn collect_contents(state: &mut State, wish: &Collect, collected: &mut Collected) -> Vec<ArtifactId> {
    let orphans = orphans(state);
    let condemned = state.orphans.iter().map(|(id, at)| (*id, *at)).collect();
    let fates = fates(&orphans.keys().copied().collect(), &condemned, wish.now, wish.grace_us);
    fates.revived.iter().for_each(|id| state.orphans.remove(id));
    fates.condemned.iter().for_each(|id| state.orphans.put(*id, wish.now));
    for id in orphans.keys() {
        collected.which.add("content", id.as_bytes());
    }
    collected.contents(&fates, &orphans);
    fates.ripe
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
