//! Recomputing what is in memory: only a caller's wrong claim about a composed content can be found.
//!
//! Ends of references are held by the writes themselves.

use super::content::Content;
use super::{State, content};
use stemmata_model::to_u64;
use stemmata_store::{Damage, Verified};

pub(super) fn verify(state: &State, found: &mut dyn FnMut(Damage)) -> Verified {
    let mut verified = Verified::default();
    for (id, content) in state.contents.iter() {
        verified.contents += 1;
        if matches!(content, Content::Forgotten { .. }) {
            continue;
        }
        if let Err(error) = content::read(&state.contents, *id, None, &mut |_| Ok(())) {
            found(Damage { check: "content_hash", object: id.to_string(), message: error.to_string() });
        }
    }
    for (id, commit) in state.commits.iter() {
        verified.commits += 1;
        if commit.core.id() != *id {
            found(Damage {
                check: "commit_id",
                object: id.to_string(),
                message: "its fields have another id".to_owned(),
            });
        }
    }
    let sessions = state.sessions.len()
        + state.sightings.iter().map(|(_, own)| own.len()).sum::<usize>()
        + state.links.len();
    verified.references = to_u64(sessions);
    verified
}
