//! Filling a target: the essential first, then by score, the newer first. What does not fit is passed over and the next one
//! is tried.

use std::cmp::Reverse;

use stemmata_model::{Timestamp, Tokens};

/// What is kept or dropped as one: an item, or a tool group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// What it takes of the window.
    pub size: Tokens,
    /// Whether it stays whatever the target is.
    pub is_essential: bool,
    /// Whether it goes whatever room there is.
    pub is_pruned: bool,
    /// Its points.
    pub score: u8,
    /// When it was written, and its place: what decides between equal points.
    pub newness: (Option<Timestamp>, usize),
}

/// Returns for each candidate whether it stays. The essential may exceed the target: that is for the caller to see.
///
/// This is the loop of the decision tree in one pass. The tree lowers a threshold until the content fits, which would add
/// content; to fit, the threshold must rise, and it ends at the lowest score kept.
pub fn fill(candidates: &[Candidate], target: Tokens) -> Vec<bool> {
    let mut kept: Vec<bool> = candidates.iter().map(|candidate| candidate.is_essential).collect();
    let mut used: Tokens =
        candidates.iter().filter(|candidate| candidate.is_essential).map(|candidate| candidate.size).sum();
    let mut scored: Vec<(usize, &Candidate)> = candidates
        .iter()
        .enumerate()
        .filter(|(_, candidate)| !candidate.is_essential && !candidate.is_pruned)
        .collect();
    scored.sort_by_key(|(_, candidate)| Reverse((candidate.score, candidate.newness)));
    for (place, candidate) in scored {
        if used + candidate.size <= target {
            used += candidate.size;
            if let Some(kept) = kept.get_mut(place) {
                *kept = true;
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn candidate((size, score, kind, at): (u64, u8, u8, i64)) -> Candidate {
        Candidate {
            size: Tokens(size),
            is_essential: kind == 0,
            is_pruned: kind == 1,
            score,
            newness: (Some(Timestamp::from_micros(at)), 0),
        }
    }

    #[test]
    fn what_does_not_fit_is_passed_over_and_the_newer_wins_a_tie() {
        let candidates = [(50, 9, 2, 1), (60, 8, 2, 1), (5, 7, 2, 1), (5, 7, 2, 2)].map(candidate);
        assert_eq!(fill(&candidates, Tokens(57)), [true, false, false, true]);
    }

    proptest! {
        #[test]
        fn what_was_passed_over_would_not_have_fitted(
            values in proptest::collection::vec((0..50_u64, 0..20_u8, 0..6_u8, 0..5_i64), 0..40), target in 0..400_u64,
        ) {
            let candidates: Vec<Candidate> = values.into_iter().map(candidate).collect();
            let kept = fill(&candidates, Tokens(target));
            let used = |of: &dyn Fn(&Candidate) -> bool| -> Tokens {
                candidates.iter().zip(&kept).filter(|(one, kept)| **kept && of(one)).map(|(one, _)| one.size).sum()
            };
            let essential: Tokens = candidates.iter().filter(|one| one.is_essential).map(|one| one.size).sum();
            prop_assert!(used(&|_| true) <= Tokens(target).max(essential));
            for (one, kept) in candidates.iter().zip(&kept) {
                prop_assert!(*kept || !one.is_essential);
                prop_assert!(!*kept || !one.is_pruned || one.is_essential);
                let better = used(&|other| other.is_essential || other.score >= one.score);
                prop_assert!(*kept || one.is_pruned || better + one.size > Tokens(target));
            }
        }
    }
}
