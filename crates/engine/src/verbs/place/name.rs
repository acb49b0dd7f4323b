//! The id of a session that is about to be placed: new, and told apart by the client from every other one.

use std::path::Path;

use stemmata_model::{SessionId, Timestamp};
use stemmata_runtimes::adapter::Adapter;

use crate::error::{EngineError, Refusal, Result};
use crate::ports::NewIds;

/// Ids that are drawn until one is free: two that share eight random hex digits are rare.
const DRAWS_MAX: usize = 16;

/// Folders below a client's home that are entered when its files' names are looked at.
const DEPTH_MAX: usize = 4;

/// Entries of a client's home that are looked at, at most.
const ENTRIES_MAX: usize = 1_000_000;

/// Draws an id for a new session of an adapter's client.
pub(super) fn new_session(
    adapter: &dyn Adapter,
    config_dir: &Path,
    ids: &dyn NewIds,
    at: Timestamp,
) -> Result<SessionId> {
    for _ in 0..DRAWS_MAX {
        let session = adapter.new_session(&ids.session(), at);
        let is_taken = adapter.short_name(session.as_str()).is_some_and(|name| is_named(config_dir, name));
        if !is_taken {
            return Ok(session);
        }
    }
    Err(EngineError::Refused {
        what: Refusal::PlaceUnnamed,
        reasons: vec![format!(
            "{DRAWS_MAX} ids in a row begin as a session of the client does, which would delete one of the two"
        )],
    })
}

/// Returns whether a file below a folder is named by the beginning of a session's id, as in `session-…-1a2b3c4d.jsonl`.
fn is_named(folder: &Path, name: &str) -> bool {
    let mut folders = vec![(folder.to_owned(), 0)];
    let mut looked = 0;
    while let Some((folder, depth)) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            looked += 1;
            if looked > ENTRIES_MAX {
                return false;
            }
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.extend((depth < DEPTH_MAX).then(|| (path, depth + 1)));
                continue;
            }
            let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            if stem.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('-')) {
                return true;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_a_session_of_the_home_has_is_taken() {
        let home = tempfile::tempdir().expect("a folder");
        let chats = home.path().join("tmp/work/chats");
        std::fs::create_dir_all(&chats).expect("folders");
        for name in ["session-2026-11-21T20-28-7e6b9c24.jsonl", "session-2025-01-01T00-00-0badcafe.json"] {
            std::fs::File::create(chats.join(name)).expect("a file");
        }
        for (name, taken) in [("7e6b9c24", true), ("0badcafe", true), ("e6b9c24", false), ("12345678", false)]
        {
            assert_eq!(is_named(home.path(), name), taken, "{name}");
        }
    }
}
