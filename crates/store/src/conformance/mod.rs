//! What every store must do, as checks that panic where one does not.
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
mod lookups;
mod metadata;
mod packs;
mod scrubbed;
mod sessions;
mod stored;
mod transactions;

pub use anchors::check_anchors;
pub use chains::{
    check_ancestors, check_children, check_closures, check_counts, check_covers, check_depth_and_lengths,
    check_tips, check_tips_of_a_thread,
};
pub use collect::{
    check_collect, check_moved_collections, check_orphans, check_orphans_of_holes, check_revival,
};
pub use concurrency::{check_readers_beside_a_writer, check_writers_at_once};
pub use contents::{
    check_contents, check_parts, check_ranges, check_sinks, check_slices, check_slices_of_slices,
};
pub use costs::check_costs;
pub use forget::{
    check_cleared_sessions, check_copied_out, check_forget, check_forget_ends, check_forget_keeps,
    check_forgotten_beside, check_holes, check_moved_plans, check_new_holes, check_refilled,
    check_sealed_holes, check_session_tombstones, check_tombstones,
};
pub use lookups::{check_prefixes, check_resolve, check_walks};
pub use metadata::{
    check_annotations, check_audit, check_cursors, check_descriptions, check_expected_cursors,
    check_expected_tips_and_epochs, check_links, check_merges, check_placements, check_tags,
};
pub use packs::check_packs;
pub use scrubbed::{check_lifted_redirects, check_redirects, check_reworded};
pub use sessions::{
    check_left_sessions, check_session_listings, check_session_names, check_sessions, check_sidecars,
    check_sightings,
};
pub use stored::{check_index_due, check_index_unseen, check_seen_by, check_stored};
pub use transactions::{
    check_bounds, check_missing, check_repeats, check_restart, check_transactions, check_usage,
};

use crate::seam::Store;

/// Makes an empty store.
pub type Make<'a> = &'a mut dyn FnMut() -> Box<dyn Store>;

/// Closes a store and opens it again.
pub type Reopen<'a> = &'a mut dyn FnMut(Box<dyn Store>) -> Box<dyn Store>;

/// Runs all checks but [`check_restart`], which needs a store that outlives itself.
///
/// # Panics
/// Where the store breaks a promise of [`Store`].
pub fn run(make: Make<'_>) {
    let checks: [fn(Make<'_>); 32] = [
        check_transactions,
        check_repeats,
        check_missing,
        check_bounds,
        check_usage,
        check_contents,
        check_slices,
        check_slices_of_slices,
        check_ranges,
        check_sinks,
        check_depth_and_lengths,
        check_ancestors,
        check_children,
        check_tips,
        check_tips_of_a_thread,
        check_closures,
        check_counts,
        check_covers,
        check_prefixes,
        check_walks,
        check_resolve,
        check_sightings,
        check_sessions,
        check_left_sessions,
        check_session_listings,
        check_session_names,
        check_sidecars,
        check_annotations,
        check_audit,
        check_anchors,
        check_writers_at_once,
        check_readers_beside_a_writer,
    ];
    for check in checks {
        check(make);
    }
    for check in [
        check_packs,
        check_costs,
        check_parts,
        check_merges,
        check_tags,
        check_links,
        check_descriptions,
        check_cursors,
        check_expected_cursors,
        check_expected_tips_and_epochs,
        check_placements,
        check_stored,
        check_seen_by,
    ] {
        check(make);
    }
    run_maintenance(make);
}

/// Runs the checks of forgetting and collecting.
fn run_maintenance(make: Make<'_>) {
    for check in [
        check_forget,
        check_forget_keeps,
        check_forget_ends,
        check_forgotten_beside,
        check_holes,
        check_new_holes,
        check_tombstones,
        check_copied_out,
        check_session_tombstones,
        check_refilled,
        check_sealed_holes,
        check_moved_plans,
        check_cleared_sessions,
        check_collect,
        check_moved_collections,
        check_revival,
        check_orphans,
        check_orphans_of_holes,
        check_redirects,
        check_lifted_redirects,
        check_reworded,
        check_index_due,
        check_index_unseen,
    ] {
        check(make);
    }
}
