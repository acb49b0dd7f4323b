//! Collecting: what nothing needs is condemned, and what was condemned long enough ago goes, in every backend.
//!
//! Runs within one transaction of the backend; what goes was condemned by an earlier one.

use std::collections::{BTreeMap, BTreeSet};

use stemmata_model::{CommitId, Timestamp};

use super::condemn::fates;
use super::forget::{Removing, Row};
use super::removal::{self, Unrooting, contents_of};
use super::sweep::{Contents, Lines, give_up};
use crate::error::StoreError;
use crate::maintain::collect::{Collect, Collected};

/// What is condemned in a store.
pub trait Condemning: Removing {
    /// Returns the condemned commits, and since when they are.
    fn condemned_commits(&self) -> Result<BTreeMap<CommitId, Timestamp>, StoreError>;

    /// Condemns a commit; for no time, takes that back.
    fn condemn_commit(&mut self, id: CommitId, since: Option<Timestamp>) -> Result<(), StoreError>;

    /// Returns the contents that no commit and no event needs, with the bytes that each has of its own.
    fn orphans(&self) -> Result<BTreeMap<<Self as Contents>::Key, u64>, StoreError>;

    /// Returns the condemned contents, and since when they are.
    fn condemned_contents(&self) -> Result<BTreeMap<<Self as Contents>::Key, Timestamp>, StoreError>;

    /// Condemns a content; for no time, takes that back.
    fn condemn_content(
        &mut self,
        content: <Self as Contents>::Key,
        since: Option<Timestamp>,
    ) -> Result<(), StoreError>;

    /// Adds a content to what stands for all that is collected.
    fn tell(content: <Self as Contents>::Key, collected: &mut Collected);
}

/// Collects.
///
/// # Errors
/// What the store fails with.
pub fn collect<S: Condemning>(store: &mut S, request: &Collect) -> Result<Collected, StoreError> {
    let mut collected = Collected::default();
    let ids = |store: &S, rows: &[Row<S>]| rows.iter().map(|row| store.id(*row)).collect::<BTreeSet<_>>();
    let unneeded = removal::plan(store, Unrooting::retired(&request.retired))?;
    let condemned = store.condemned_commits()?;
    let commits = fates(&ids(store, &unneeded.gone), &condemned, request.now, request.grace_us);
    for id in &commits.revived {
        store.condemn_commit(*id, None)?;
    }
    for id in &commits.condemned {
        store.condemn_commit(*id, Some(request.now))?;
    }
    // What a crash between two batches left. Contents of the commits that go now go with these, below.
    let orphans = store.orphans()?;
    // What is ripe may yet have a child that is not.
    let deletable = removal::plan(store, Unrooting::retired(&commits.ripe))?.gone;
    collected.commits(&commits, &ids(store, &deletable));
    collected.kept = unneeded.kept;
    let first = store.first_stored(&deletable)?;
    store.remove_commits(&deletable)?;
    if first.is_some() {
        store.index_due(first, request.now)?;
    }
    let condemned = store.condemned_contents()?;
    let contents = fates(&orphans.keys().copied().collect(), &condemned, request.now, request.grace_us);
    for content in contents.revived.iter().chain(&contents.ripe) {
        store.condemn_content(*content, None)?;
    }
    for content in &contents.condemned {
        store.condemn_content(*content, Some(request.now))?;
    }
    for content in orphans.keys() {
        S::tell(*content, &mut collected);
    }
    collected.contents(&contents, &orphans);
    let mut going: BTreeSet<<S as Contents>::Key> = contents.ripe.into_iter().collect();
    going.extend(contents_of::<_, _, Vec<_>>(&deletable));
    let swept = give_up(store, (going, &BTreeSet::new()), Lines::Keep)?;
    collected.deleted.add(deletable.len(), swept.contents, swept.bytes);
    collected.copied_out = swept.copied_out;
    Ok(collected)
}
