//! Where a session ends whose newest commit goes.
//!
//! Which commits go is `removal`'s.

use stemmata_model::CommitId;

use crate::error::StoreError;

/// A commit on the way to the root.
#[derive(Debug, Clone, Copy)]
pub struct Step<C> {
    /// Its id.
    pub id: CommitId,
    /// What it continues.
    pub parent: Option<C>,
    /// Whether it stays.
    pub stays: bool,
    /// Commits before it.
    pub depth: u64,
    /// Native bytes of its chain up to it.
    pub cumulative_bytes: u64,
    /// Messages of its own.
    pub messages: u64,
}

/// Where a session ends, and what it has then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Its newest commit.
    pub tip: CommitId,
    /// Commits of the chain.
    pub commits: u64,
    /// Messages of them.
    pub messages: u64,
    /// Native bytes of them.
    pub bytes: u64,
}

/// Returns where a session ends after its tip was removed: at the nearest ancestor that stays. `None` if none stays; the session
/// loses its title then, because that was made of removed lines. `step` looks a commit up.
///
/// # Errors
/// What `step` fails with.
pub fn move_tip<C>(
    from: C,
    mut step: impl FnMut(C) -> Result<Option<Step<C>>, StoreError>,
) -> Result<Option<Standing>, StoreError> {
    let mut found: Option<Standing> = None;
    let mut next = Some(from);
    while let Some(commit) = next {
        let Some(step) = step(commit)? else { break };
        if let Some(found) = &mut found {
            found.messages = found.messages.saturating_add(step.messages);
        } else if step.stays {
            found = Some(Standing {
                tip: step.id,
                commits: step.depth.saturating_add(1),
                messages: step.messages,
                bytes: step.cumulative_bytes,
            });
        }
        next = step.parent;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use stemmata_model::to_u64;

    use super::*;

    proptest! {
        #[test]
        fn a_session_ends_at_the_last_commit_that_stays_with_what_its_chain_has(
            chain in proptest::collection::vec((0..9_u64, 0..9_u64), 1..9), left in 0..9_usize,
        ) {
            let left = left.min(chain.len());
            let sum = |of: fn(&(u64, u64)) -> u64, end: usize| chain.iter().take(end).map(of).sum::<u64>();
            let id = |number: usize| CommitId::from_bytes([u8::try_from(number).expect("few"); 16]);
            let found = move_tip(chain.len() - 1, |number| {
                Ok(chain.get(number).map(|own| Step {
                    id: id(number),
                    parent: number.checked_sub(1),
                    stays: number < left,
                    depth: to_u64(number),
                    cumulative_bytes: sum(|own| own.0, number + 1),
                    messages: own.1,
                }))
            });
            let wanted = left.checked_sub(1).map(|tip| Standing {
                tip: id(tip),
                commits: to_u64(left),
                messages: sum(|own| own.1, left),
                bytes: sum(|own| own.0, left),
            });
            prop_assert_eq!(found.expect("steps"), wanted);
        }
    }
}
