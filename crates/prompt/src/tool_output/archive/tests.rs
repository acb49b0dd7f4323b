//! What is archived, for any window and cutoff.

use proptest::prelude::*;
use stemmata_model::{EntryId, Part, Role};

use super::*;

fn call(ids: &[usize]) -> Entry {
    let part = |id: &usize| Part::ToolCall {
        call_id: format!("c{id}"),
        name: "bash".to_owned(),
        arguments: "{}".to_owned(),
    };
    Entry::said(EntryId::new("call").expect("a name"), Role::Assistant, ids.iter().map(part).collect())
}

fn result(id: usize) -> Entry {
    let parts = vec![Part::Text(format!("result {id}"))];
    let part = Part::ToolResult { call_id: format!("c{id}"), is_error: false, parts };
    Entry::said(EntryId::new("result").expect("a name"), Role::Tool, vec![part])
}

#[test]
fn the_oldest_groups_go_whole_and_neighbours_in_one_batch() {
    let entries = [
        call(&[1, 2]),
        result(1),
        result(2),
        call(&[3]),
        result(3),
        call(&[4]),
        result(4),
        call(&[5]),
        result(5),
    ];
    let plan = plan_archive(&entries, &|_| false, 3);
    let batches: Vec<Vec<Vec<usize>>> =
        plan.batches.iter().map(|batch| batch.iter().map(|group| group.entries.clone()).collect()).collect();
    assert_eq!(batches, [[vec![0, 1, 2]]]);
    assert_eq!((plan.visible_before, plan.visible_after), (5, 3));
    // A pin splits the neighbours.
    let plan = plan_archive(&entries, &|at| at == 4, 1);
    let batches: Vec<Vec<usize>> = plan.batches.iter().map(|batch| batch[0].entries.clone()).collect();
    assert_eq!(batches, [vec![0, 1, 2], vec![5, 6]]);
}

/// Pins are kept beside the cutoff, not in its place.
#[test]
fn more_pins_than_the_cutoff_leave_the_other_results_alone() {
    let entries =
        [call(&[1]), result(1), call(&[2]), result(2), call(&[3]), result(3), call(&[4]), result(4)];
    let is_pinned = |at: usize| at < 4;
    assert_eq!(plan_archive(&entries, &is_pinned, 2).entries().count(), 0);
    assert_eq!(plan_archive(&entries, &is_pinned, 1).entries().collect::<Vec<_>>(), [4, 5]);
}

#[test]
fn the_newest_result_is_never_archived_nor_a_group_that_waits() {
    let entries = [call(&[1, 2]), result(1), call(&[3, 4]), result(3), result(4)];
    let plan = plan_archive(&entries, &|_| false, 1);
    assert_eq!((plan.entries().count(), plan.visible_after), (0, 3));
    assert_eq!(plan.reason, "what is left is pinned, waits for a result or is the newest");
    assert_eq!(plan_archive(&entries, &|_| false, 0).reason, "archiving is off");
}

proptest! {
    #[test]
    fn archiving_keeps_pairs_whole_and_ends_at_the_cutoff_unless_something_must_stay(
        sizes in proptest::collection::vec(1..4_usize, 0..12), pins: u16, open: bool, cutoff in -1..20_i64,
    ) {
        let mut entries = Vec::new();
        let mut id = 0;
        for size in &sizes {
            let ids: Vec<usize> = (id..id + size).collect();
            id += size;
            entries.push(call(&ids));
            entries.extend(ids.iter().copied().map(result));
        }
        if open {
            entries.push(call(&[id]));
        }
        let is_pinned = |at: usize| at < 16 && pins & (1 << at) != 0 && pins % 3 == 0;
        let plan = plan_archive(&entries, &is_pinned, cutoff);
        let mut gone = vec![false; entries.len()];
        plan.entries().for_each(|at| gone[at] = true);
        let groups = Groups::of(&entries);
        for (one, two) in (0..entries.len()).zip(1..entries.len()) {
            if groups.of_entry[one] == groups.of_entry[two] {
                prop_assert_eq!(gone[one], gone[two]);
            }
        }
        prop_assert!((0..entries.len()).all(|at| !(gone[at] && is_pinned(at))));
        let newest = entries.iter().rposition(|entry| entry.answers().next().is_some());
        prop_assert!(newest.is_none_or(|newest| !gone[newest]));
        let visible = (0..entries.len()).filter(|at| !gone[*at] && entries[*at].answers().next().is_some()).count();
        prop_assert_eq!(visible, plan.visible_after);
        let counted = counted_results(&entries, &is_pinned) - (plan.visible_before - plan.visible_after);
        let is_at_cutoff = cutoff <= 0 || i64::try_from(counted).expect("small") <= cutoff;
        prop_assert!(is_at_cutoff || plan.reason.starts_with("what is left"), "{:?}", plan);
    }
}
