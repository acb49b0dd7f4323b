//! What every backend must do, as checks that panic where one does not: a suite for each part of the seam, which a backend runs for
//! what it claims.
//!
//! Each check makes its own empty store. Crashes, damage and full disks are each backend's own tests.

mod anchors;
pub mod builders;
mod chains;
mod collect;
mod concurrency;
mod contents;
mod costs;
mod forget;
pub mod ledger;
mod listed;
mod lookups;
mod metadata;
mod packs;
mod scrubbed;
mod sessions;
pub mod state;
mod stored;
mod transactions;

use std::sync::Arc;

pub use ledger::run as events;
pub use state::run as service_state;
pub use transactions::check_restart;

use crate::ledger::EventLog;
use crate::seam::{Commits, Follow, Store, Upkeep};

/// Makes an empty store, as a part of the seam.
pub type Make<'a, T> = &'a mut dyn FnMut() -> Arc<T>;

/// Closes a store and opens it again.
pub type Reopen<'a> = &'a mut dyn FnMut(Arc<dyn Store>) -> Arc<dyn Store>;

type Check<T> = fn(Make<'_, T>);

const COMMITS: &[Check<dyn Commits>] = &[
    transactions::check_transactions,
    transactions::check_repeats,
    transactions::check_missing,
    transactions::check_bounds,
    transactions::check_usage,
    contents::check_contents,
    contents::check_slices,
    contents::check_slices_of_slices,
    contents::check_ranges,
    contents::check_sinks,
    contents::check_parts,
    chains::check_depth_and_lengths,
    chains::check_ancestors,
    chains::check_children,
    chains::check_tips,
    listed::check_listed,
    chains::check_tips_of_a_thread,
    chains::check_closures,
    chains::check_counts,
    chains::check_covers,
    lookups::check_prefixes,
    lookups::check_walks,
    lookups::check_resolve,
    sessions::check_sightings,
    sessions::check_sessions,
    sessions::check_left_sessions,
    sessions::check_session_listings,
    sessions::check_session_names,
    sessions::check_sidecars,
    metadata::check_annotations,
    metadata::check_audit,
    metadata::check_merges,
    metadata::check_tags,
    metadata::check_links,
    metadata::check_descriptions,
    metadata::check_cursors,
    metadata::check_expected_cursors,
    metadata::check_expected_tips,
    metadata::check_placements,
    anchors::check_anchors,
    concurrency::check_writers_at_once,
    concurrency::check_readers_beside_a_writer,
];

const FOLLOW: &[Check<dyn Follow>] =
    &[stored::check_stored, stored::check_seen_by, stored::check_index_unseen];

const UPKEEP: &[Check<dyn Upkeep>] = &[
    packs::check_packs,
    costs::check_costs,
    forget::check_forget,
    forget::check_forget_keeps,
    forget::check_forget_ends,
    forget::check_holes,
    forget::check_new_holes,
    forget::check_tombstones,
    forget::check_copied_out,
    forget::check_session_tombstones,
    forget::check_refilled,
    forget::check_sealed_holes,
    forget::check_moved_plans,
    forget::check_cleared_sessions,
    collect::check_collect,
    collect::check_moved_collections,
    collect::check_revival,
    collect::check_orphans,
    collect::check_orphans_of_holes,
    scrubbed::check_redirects,
    scrubbed::check_lifted_redirects,
    scrubbed::check_reworded,
];

/// What one part promises of what another one does.
const WHOLE: &[Check<dyn Store>] = &[
    stored::check_index_due,
    stored::check_forgotten_sessions,
    forget::check_forgotten_beside,
    metadata::check_expected_epochs,
];

/// Checks a backend's [`Commits`], and the names among them.
///
/// # Panics
/// Where the backend breaks a promise, as every suite below.
pub fn commits(make: Make<'_, dyn Commits>) {
    for check in COMMITS {
        check(make);
    }
    contents::check_lies(make);
}

/// Checks what a backend leaves for an index: its [`Follow`], as far as nothing is forgotten.
pub fn follow(make: Make<'_, dyn Follow>) {
    for check in FOLLOW {
        check(make);
    }
}

/// Checks a backend's [`Upkeep`], and that it finds nothing wrong with any store that the checks of [`commits`] leave.
pub fn upkeep(make: Make<'_, dyn Upkeep>) {
    for check in UPKEEP {
        check(make);
    }
    for check in COMMITS {
        for store in made(make, *check) {
            transactions::verify_is_clean(&*store);
        }
    }
    for store in made(make, contents::check_lies) {
        assert_eq!(builders::damages(&*store).len(), 2, "contents that are not what they claim");
    }
}

/// Runs a check and returns the stores that it made.
fn made(make: Make<'_, dyn Upkeep>, check: Check<dyn Commits>) -> Vec<Arc<dyn Upkeep>> {
    let mut stores = Vec::new();
    check(&mut || {
        stores.extend([make()]);
        Arc::clone(stores.last().expect("just made")) as Arc<dyn Commits>
    });
    stores
}

/// Runs all suites, and what holds only where the parts are of one store. Not [`check_restart`], which needs a store that outlives
/// itself.
pub fn run(make: Make<'_, dyn Store>) {
    upkeep(&mut || make() as Arc<dyn Upkeep>);
    follow(&mut || make() as Arc<dyn Follow>);
    events(&mut || make() as Arc<dyn EventLog>);
    for check in WHOLE {
        check(make);
    }
}
