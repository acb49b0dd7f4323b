//! Wire types of bundles.
//!
//! How they are filled is in the commands.

use super::{Note, Session, wire};

wire! {
    /// A bundle that was written.
    struct BundleExported {
        /// The file.
        path: String,
        /// The commits that it was made for.
        tips: Vec<String>,
        /// Commits in it.
        commits: u64,
        /// Commits of the same chains that the receiver has.
        known_commits: u64,
        /// Commits that the receiver must have.
        prerequisites: Vec<String>,
        /// Sessions that it tells of.
        sessions: u64,
        /// Bytes of content, uncompressed.
        content_bytes: u64,
        /// Bytes of the file.
        bytes: u64,
        /// What the user should know.
        notes: Vec<Note>,
    }

    /// A bundle that was taken in.
    struct BundleImported {
        /// The commits that it was made for.
        tips: Vec<String>,
        /// Commits in it.
        commits: u64,
        /// Those that were not here.
        new_commits: u64,
        /// Those that were here.
        known_commits: u64,
        /// Those that were not taken: they were forgotten here, or continue such a one.
        skipped_commits: u64,
        /// Sessions that are new here, or were told of better than before.
        sessions: u64,
        /// Links of which only one end is here.
        links_left_out: u64,
        /// Bytes of content that were not here, uncompressed.
        new_bytes: u64,
        /// Bytes that they take in the store.
        stored_bytes: u64,
        /// New commits that were scrubbed of secrets by other rules than those in force here.
        other_rules_commits: u64,
        /// Whether nothing was stored because only checking was asked for.
        dry_run: bool,
        /// What the user should know.
        notes: Vec<Note>,
    }

    /// What is in a bundle that was checked.
    struct BundleShown {
        /// The commits that it was made for.
        tips: Vec<String>,
        /// Commits that it continues and does not hold.
        prerequisites: Vec<String>,
        /// Commits.
        commits: u64,
        /// Those whose contents were forgotten where it was made.
        forgotten: u64,
        /// Contents.
        contents: u64,
        /// Contents that the receiver needs to have.
        needed_contents: u64,
        /// Commits whose ids can only be checked where these are.
        unchecked: u64,
        /// Bytes of content, uncompressed.
        content_bytes: u64,
        /// Bytes of the file.
        bytes: u64,
        /// Where commits were seen.
        sightings: u64,
        /// Changes of summaries, tags, notes and pins.
        changes: u64,
        /// Links.
        links: u64,
        /// Placements.
        placements: u64,
        /// Sessions.
        session_count: u64,
        /// The first thousand of them.
        sessions: Vec<Session>,
        /// Formats of its commits.
        formats: Vec<String>,
        /// Machines that its commits were seen on.
        machines: Vec<String>,
        /// Hashes of the redaction rules that its commits went through.
        rules: Vec<String>,
    }

    /// What a store has, for `bundle export --have` on another machine.
    struct BundleHave {
        /// Ends of chains, and some of the commits before them.
        commits: Vec<String>,
    }
}
