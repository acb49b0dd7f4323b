//! Bundles as wire types.

use stemmata_api::v1;
use stemmata_engine::{BundleExported, BundleImported, BundleSummary};

use crate::wire;

/// Returns the wire form of a bundle that was written.
pub(crate) fn exported(done: &BundleExported) -> v1::BundleExported {
    v1::BundleExported {
        path: None,
        tips: names(&done.tips),
        commits: done.commits,
        known_commits: done.known_commits,
        prerequisites: names(&done.prerequisites),
        sessions: done.sessions,
        sidecars: done.sidecars,
        sidecar_commits: done.sidecar_commits,
        content_bytes: done.content_bytes,
        bytes: done.bytes,
        notes: wire::notes(&done.notes),
    }
}

/// Returns the wire form of a bundle that was taken in.
pub(crate) fn imported(done: &BundleImported, dry_run: bool) -> v1::BundleImported {
    v1::BundleImported {
        tips: names(&done.summary.tips),
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
        notes: wire::notes(&done.notes),
    }
}

/// Returns the wire form of what is in a bundle.
pub(crate) fn shown(summary: &BundleSummary) -> v1::BundleShown {
    v1::BundleShown {
        tips: names(&summary.tips),
        prerequisites: names(&summary.prerequisites),
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
        formats: names(&summary.formats),
        machines: names(&summary.machines),
        rules: names(&summary.rules),
    }
}

/// Returns names as text.
pub(crate) fn names<'a, T: ToString + 'a>(names: impl IntoIterator<Item = &'a T>) -> Vec<String> {
    names.into_iter().map(ToString::to_string).collect()
}
