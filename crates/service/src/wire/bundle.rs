//! Bundles as wire types.

use stemmata_api::v1;
use stemmata_engine::BundleImported;

/// Returns the wire form of a bundle that was taken in.
pub(crate) fn imported(done: &BundleImported, dry_run: bool) -> v1::BundleImported {
    v1::BundleImported {
        tips: done.summary.tips.clone(),
        commits: done.summary.commits,
        new_commits: done.new_commits,
        known_commits: done.known_commits,
        skipped_commits: done.skipped_commits,
        sessions: done.sessions,
        sidecars: done.sidecars,
        links_left_out: done.links_left_out,
        new_bytes: done.new_bytes,
        stored_bytes: done.stored_bytes,
        other_rules_commits: done.other_rules_commits,
        dry_run,
        notes: done.notes.clone(),
    }
}
