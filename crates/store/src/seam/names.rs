//! The part of the seam for names: what people type for sessions, commits and contents, by parts of it.
//!
//! What a name means is the engine's.

use stemmata_model::{ArtifactId, ArtifactPrefix, CommitId, CommitPrefix, SessionId};

use crate::error::StoreError;
use crate::write::{Link, Session};

/// Characters that the end of an id has at least: of less, an index would lead to too many sessions.
pub const END_CHARS_MIN: usize = 4;

/// A part of a session's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdPart<'t> {
    /// Its first characters.
    Beginning(&'t str),
    /// Its last characters, at least [`END_CHARS_MIN`] of them: no session is found by fewer.
    End(&'t str),
}

impl IdPart<'_> {
    /// Says whether this is a part of an id.
    pub fn is_of(self, id: &str) -> bool {
        match self {
            Self::Beginning(text) => id.starts_with(text),
            Self::End(text) => text.chars().count() >= END_CHARS_MIN && id.ends_with(text),
        }
    }
}

/// What a store knows by name. A method takes one look-up in an index, however many sessions there are, where it does not say
/// otherwise.
///
/// Concurrent as [`Commits`](super::Commits) are.
pub trait Names {
    /// Returns the ids of sessions that have this part, in their order and each once, with the number of sessions that have the
    /// id; at most `limit` ids.
    ///
    /// # Errors
    /// `Backend` where the storage fails, as for every read below.
    fn session_ids(&self, part: IdPart<'_>, limit: usize) -> Result<Vec<(SessionId, u64)>, StoreError>;

    /// Returns ids that start so, ascending.
    fn commits_in(&self, prefix: CommitPrefix, limit: usize) -> Result<Vec<CommitId>, StoreError>;

    /// Returns artifact ids that start so, ascending.
    fn artifacts_in(&self, prefix: ArtifactPrefix, limit: usize) -> Result<Vec<ArtifactId>, StoreError>;

    /// Returns the ids of forgotten commits that start so, ascending. Sessions cannot be found by a part of their id: only a hash of
    /// it is stored.
    fn tombstones_in(&self, prefix: CommitPrefix, limit: usize) -> Result<Vec<CommitId>, StoreError>;

    /// Returns the sessions that have an id, the one with the latest activity first; at most `limit`.
    fn sessions_of(&self, id: &SessionId, limit: usize) -> Result<Vec<Session>, StoreError>;

    /// Returns the sessions that were placed and hold nothing beyond what they were placed from, in the order of their keys; at most
    /// `limit`.
    fn unused_sessions(&self, limit: usize) -> Result<Vec<Session>, StoreError>;

    /// Returns the links from chains that clients copied to their originals, with the entry at which each was copied; at most
    /// `limit`. One pass over all links.
    fn copies(&self, limit: usize) -> Result<Vec<Link>, StoreError>;

    /// Returns the tags that begin so, in their order, with a commit that carries each; at most `limit`.
    fn tags(&self, beginning: &str, limit: usize) -> Result<Vec<(String, CommitId)>, StoreError>;
}
