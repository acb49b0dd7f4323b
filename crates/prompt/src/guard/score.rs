//! How much an item is worth, from 0 to 100: recency, relevance to the task, what it contains, how often it is named.

use stemmata_model::Timestamp;

use super::item::{ContentType, Item};
use super::tasks::Relation;

/// Age in minutes below which an item has so many points; older ones have none.
const RECENCY: [(i64, u8); 3] = [(5, 30), (30, 20), (120, 10)];

/// Points of a reference, and of all references at most.
const REFERENCE_POINTS: (u32, u32) = (2, 10);

const MINUTE_US: i64 = 60_000_000;

/// An item's points by where they come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Score {
    /// How new it is: up to 30.
    pub recency: u8,
    /// How it stands to the current task: up to 40.
    pub relevance: u8,
    /// What it contains: up to 20.
    pub content: u8,
    /// How often later entries name it: up to 10.
    pub references: u8,
}

impl Score {
    /// Returns the sum, at most 100.
    pub const fn total(self) -> u8 {
        self.recency + self.relevance + self.content + self.references
    }
}

/// Scores an item. A time after `now` is new; an item without a time is old.
pub fn score(item: &Item, relation: Relation, now: Timestamp) -> Score {
    let age_us = item.at.map(|at| now.as_micros().saturating_sub(at.as_micros()));
    let recency = age_us.and_then(|age| {
        let points = RECENCY.into_iter().find(|(minutes, _)| age < minutes * MINUTE_US);
        points.map(|(_, points)| points)
    });
    let (each, most) = REFERENCE_POINTS;
    let references = item.reference_count.saturating_mul(each).min(most);
    Score {
        recency: recency.unwrap_or(0),
        relevance: match relation {
            Relation::Same => 40,
            Relation::Dependency => 25,
            Relation::Other => 0,
        },
        content: match item.content {
            ContentType::SystemPrompt | ContentType::CurrentTask => 20,
            ContentType::AcceptanceCriteria => 18,
            ContentType::ActiveCode => 15,
            ContentType::RecentFeedback => 12,
            ContentType::TaskHistory => 8,
            ContentType::Examples => 5,
            ContentType::Other => 0,
        },
        references: u8::try_from(references).unwrap_or(u8::MAX),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use stemmata_model::{EntryId, Tokens};

    use super::*;

    #[test]
    fn what_an_item_contains_gives_the_points_of_the_seed() {
        for (content, points) in [
            (ContentType::SystemPrompt, 20),
            (ContentType::CurrentTask, 20),
            (ContentType::AcceptanceCriteria, 18),
            (ContentType::ActiveCode, 15),
            (ContentType::RecentFeedback, 12),
            (ContentType::TaskHistory, 8),
            (ContentType::Examples, 5),
            (ContentType::Other, 0),
        ] {
            let mut item = Item::new(EntryId::new("e").expect("a name"), Tokens(1));
            item.content = content;
            let score = score(&item, Relation::Other, Timestamp::EPOCH);
            assert_eq!((score.content, score.total()), (points, points), "{content:?}");
        }
    }

    proptest! {
        #[test]
        fn a_score_is_at_most_100_and_never_falls_with_recency_or_references(
            age in any::<i64>(), later in 0..100_000_000_000_i64, count: u32, more: u32,
        ) {
            let mut item = Item::new(EntryId::new("e").expect("a name"), Tokens(1));
            let now = Timestamp::from_micros(0);
            item.content = ContentType::CurrentTask;
            item.at = Some(Timestamp::from_micros(age));
            item.reference_count = count;
            let old = score(&item, Relation::Same, now).total();
            prop_assert!(old <= 100);
            item.at = Some(Timestamp::from_micros(age.saturating_add(later)));
            item.reference_count = count.saturating_add(more);
            prop_assert!(score(&item, Relation::Same, now).total() >= old);
        }
    }
}
