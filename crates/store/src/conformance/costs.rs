//! Costs: every content counts once, for the first commit that names it.

use stemmata_model::{CommitId, Timestamp, artifact_id};

use super::Make;
use super::builders::{commit, put, write};
use crate::error::StoreError;
use crate::maintain::costs::{COSTED_COMMITS_MAX, ContentCost, Counted};
use crate::maintain::pack::PackOptions;
use crate::seam::Upkeep;
use crate::write::{ContentPart, NewContent, Write};

/// Costs of commits count each content once, whatever the pages and however it is kept.
pub(super) fn check_costs(make: Make<'_, dyn Upkeep>) {
    let store = make();
    let first = put(&*store, None, &"a word ".repeat(900), 10);
    let second = put(&*store, Some(first), &"another ".repeat(400), 20);
    let (whole, composed) = both(&*store, second);
    let again = put(&*store, Some(second), &"a word ".repeat(900), 30);
    let lengths = [(first, 6300), (second, 3200), (composed, 4), (again, 0)];
    let ids = lengths.map(|(id, _)| id);
    assert_eq!(store.content_length(whole).expect("a read"), Some(9504));
    for is_packed in [false, true] {
        let all = store.costs(&ids, &mut Counted::default()).expect("costs");
        let distinct: Vec<(CommitId, u64)> =
            all.iter().map(|cost| (cost.commit, cost.distinct_bytes)).collect();
        assert_eq!(distinct, lengths, "the first that names a content has it");
        let stored = sum(&all, |cost| cost.stored_bytes);
        let usage = store.usage().expect("usage");
        assert!(stored <= usage.content_bytes, "{stored} of {}", usage.content_bytes);
        let is_hot = !is_packed && usage.packed_bytes == 0;
        assert!(!is_hot || stored == usage.inbox_bytes, "the inbox is counted to the byte");
        assert_eq!(sum(&all, |cost| cost.packed_bytes) > 0, usage.packed_bytes > 0);
        assert!(all.iter().all(|cost| cost.packed_bytes <= cost.stored_bytes));

        let mut counted = Counted::default();
        let one_by_one = ids.map(|id| store.costs(&[id], &mut counted).expect("a cost"));
        assert_eq!(one_by_one.concat(), all, "pages make no difference");
        let repeated = store.costs(&ids, &mut counted).expect("costs");
        assert_eq!(sum(&repeated, |cost| cost.distinct_bytes + cost.stored_bytes), 0);
        let back = store.costs(&[again, first], &mut Counted::default()).expect("costs");
        assert_eq!(back.iter().map(|cost| cost.distinct_bytes).collect::<Vec<u64>>(), [6300, 0]);
        if let Some(files) = store.on_disk() {
            files.pack(&PackOptions::new(Timestamp::from_micros(1))).expect("packed");
        }
    }
    let missing = CommitId::from_bytes([7; 16]);
    let refused = store.costs(&[missing], &mut Counted::default());
    assert!(matches!(refused, Err(StoreError::CommitMissing(id)) if id == missing), "{refused:?}");
    let many = vec![first; COSTED_COMMITS_MAX + 1];
    let refused = store.costs(&many, &mut Counted::default());
    assert!(matches!(refused, Err(StoreError::Bound { .. })), "{refused:?}");
}

/// Stores a commit whose content is composed of what is there and four bytes.
fn both(store: &dyn Upkeep, parent: CommitId) -> (stemmata_model::ArtifactId, CommitId) {
    let (words, others) = ("a word ".repeat(900), "another ".repeat(400));
    let whole = artifact_id(format!("{words}{others}tail").as_bytes());
    let slice = |text: &str| ContentPart::Slice {
        of: artifact_id(text.as_bytes()),
        offset: 0,
        length: u64::try_from(text.len()).expect("short"),
    };
    let parts = vec![slice(&words), slice(&others), ContentPart::Bytes(b"tail".to_vec())];
    let composed = commit(Some(parent), whole, 25);
    let id = composed.core.id();
    write(store, vec![Write::Content(NewContent::composed(whole, parts)), Write::Commit(composed)]);
    (whole, id)
}

fn sum(costs: &[ContentCost], of: impl Fn(&ContentCost) -> u64) -> u64 {
    costs.iter().map(of).sum()
}
