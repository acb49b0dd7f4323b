//! Bundles as wire types.

use stemmata_api::v1;
use stemmata_engine::{BundleImported, BundleSummary};

use crate::wire;

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

/// Returns the wire form of what is in a bundle.
pub(crate) fn shown(summary: &BundleSummary) -> v1::BundleShown {
    v1::BundleShown {
        tips: summary.tips.clone(),
        prerequisites: summary.prerequisites.clone(),
        commits: summary.commits,
        forgotten: summary.forgotten,
        contents: summary.contents,
        needed_contents: summary.needed_contents,
        unchecked: summary.unchecked,
        content_bytes: summary.content_bytes,
        bytes: summary.bytes,
        sightings: summary.sightings,
        changes: summary.changes,
        links: summary.links,
        placements: summary.placements,
        session_count: summary.session_count,
        sidecars: summary.sidecars,
        sidecar_commits: summary.sidecar_commits,
        sessions: summary.sessions.iter().map(wire::session::session).collect(),
        formats: summary.formats.clone(),
        machines: summary.machines.clone(),
        rules: summary.rules.clone(),
    }
}
