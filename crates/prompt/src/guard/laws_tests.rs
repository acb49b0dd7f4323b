//! The laws of pruning, for any window, items, groups and pins.

use std::collections::HashMap;

use proptest::prelude::*;
use stemmata_model::{EntryId, Timestamp, Tokens};

use super::*;

fn graph() -> TaskGraph {
    let node = |name: &str, depends_on: &[&str]| TaskNode {
        name: name.to_owned(),
        depends_on: depends_on.iter().map(|name| (*name).to_owned()).collect(),
        is_completed: name != "now",
    };
    let names = ["t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7"];
    let mut tasks: Vec<TaskNode> = names.iter().map(|name| node(name, &[])).collect();
    tasks.push(node("now", &["t7", "t1"]));
    TaskGraph::new(&tasks, Some("now")).expect("a graph")
}

prop_compose! {
    fn items()(
        values in proptest::collection::vec((0..400_u64, 0..10_usize, 0..8_usize, 0..22_usize, 0..24_u32, 0..40_u32, 0..12_u8), 0..60),
    ) -> Vec<Item> {
        values.into_iter().enumerate().map(|(at, (size, task, content, row, group, references, flags))| {
            let mut item = Item::new(EntryId::new(format!("e{at}")).expect("a name"), Tokens(size));
            let minutes = i64::try_from(at).expect("small") * 7;
            item.at = (flags != 3).then(|| Timestamp::from_micros(minutes * 60_000_000));
            item.task = (task < 9).then(|| if task == 8 { "now".to_owned() } else { format!("t{task}") });
            item.content = ContentType::ALL[content];
            item.row = (flags < 4).then(|| Row::ALL.get(row).copied()).flatten();
            item.class = (flags == 5).then(|| Class::ALL[row % 4]);
            item.reference_count = references;
            item.is_referenced_recently = references % 2 == 0;
            item.is_pinned = flags == 6;
            item.is_essential = flags == 7;
            item.is_prompt = flags == 8;
            item.group = (group < 12).then_some(group);
            item.is_open = flags == 9 && group < 12;
            item
        }).collect()
    }
}

fn pairs_are_whole(items: &[Item], plan: &PrunePlan) -> bool {
    let mut groups: HashMap<u32, bool> = HashMap::new();
    items.iter().zip(&plan.decisions).all(|(item, decision)| {
        item.group.is_none_or(|group| *groups.entry(group).or_insert(decision.is_kept) == decision.is_kept)
    })
}

proptest! {
    #[test]
    fn after_any_plan_pairs_are_whole_pins_are_there_and_the_size_fits_or_is_a_typed_overflow(
        items in items(), limit in 1..12_000_u64,
    ) {
        let window = Window::new(WindowSettings::of(Tokens(limit))).expect("limits");
        let tasks = graph();
        let request = PruneRequest { window: &window, items: &items, tasks: &tasks, now: Timestamp::from_micros(25_200_000_000) };
        let before: Tokens = items.iter().map(|item| item.size).sum();
        let held = |item: &Item| {
            item.is_pinned || item.is_essential || item.is_open || item.content == ContentType::SystemPrompt
        };
        match plan_prune(request) {
            Ok(plan) => {
                prop_assert_eq!(plan.decisions.len(), items.len());
                prop_assert!(pairs_are_whole(&items, &plan));
                let kept: Tokens = plan.decisions.iter().filter(|one| one.is_kept).map(|one| one.size).sum();
                prop_assert_eq!((plan.before, plan.after), (before, kept));
                for (item, decision) in items.iter().zip(&plan.decisions) {
                    prop_assert_eq!(&item.id, &decision.id);
                    prop_assert!(decision.is_kept || !held(item), "{:?}", item);
                    prop_assert!(!decision.why.text().is_empty());
                }
                match plan.form {
                    Form::Untouched => prop_assert!(before == kept && kept <= plan.target),
                    Form::Pruned if kept <= plan.target => {
                        prop_assert!(validate(request, &plan).is_empty());
                        prop_assert!(judge_safety(request).is_safe);
                    }
                    Form::Pruned => {
                        prop_assert!(window.zone(kept) < Zone::Critical);
                        prop_assert!(!plan.findings.is_empty() && !judge_safety(request).is_safe);
                    }
                    Form::Minimal => {
                        prop_assert!(kept <= window.limit());
                        prop_assert!(!plan.findings.is_empty() && !judge_safety(request).is_safe);
                    }
                }
            }
            Err(overflow) => {
                prop_assert!(overflow.least > window.limit() && overflow.least <= before);
                prop_assert!(overflow.largest_size <= overflow.least);
                prop_assert!(items.iter().any(|item| item.id == overflow.largest));
            }
        }
    }

    #[test]
    fn the_smallest_context_is_never_larger_than_the_pruned_one(items in items(), limit in 1..12_000_u64) {
        let window = Window::new(WindowSettings::of(Tokens(limit))).expect("limits");
        let tasks = graph();
        let request = PruneRequest { window: &window, items: &items, tasks: &tasks, now: Timestamp::EPOCH };
        if let Ok(minimal) = plan_minimal(request) {
            prop_assert!(pairs_are_whole(&items, &minimal));
            let essential = judge_safety(request).essential;
            prop_assert!(minimal.after <= essential, "{} is more than {essential}", minimal.after);
        }
    }
}

#[test]
fn an_item_larger_than_the_window_is_an_overflow_that_names_it() {
    let window = Window::new(WindowSettings::of(Tokens(100))).expect("limits");
    let mut pinned = Item::new(EntryId::new("huge").expect("a name"), Tokens(101));
    pinned.is_pinned = true;
    let items = [pinned, Item::new(EntryId::new("small").expect("a name"), Tokens(1))];
    let tasks = TaskGraph::default();
    let request = PruneRequest { window: &window, items: &items, tasks: &tasks, now: Timestamp::EPOCH };
    let overflow = plan_prune(request).expect_err("an overflow");
    let [huge, _] = &items;
    assert_eq!((&overflow.largest, overflow.least), (&huge.id, Tokens(101)));
    assert!(overflow.to_string().contains("`huge`"), "{overflow}");
    // One that may go is no overflow.
    let mut items = items.clone();
    items[0].is_pinned = false;
    let request = PruneRequest { items: &items, ..request };
    let plan = plan_prune(request).expect("a plan");
    assert_eq!((plan.form, plan.after), (Form::Pruned, Tokens(0)), "both are old history that nothing names");
}

#[test]
fn an_empty_window_needs_nothing() {
    let window = Window::new(WindowSettings::of(Tokens(100))).expect("limits");
    let tasks = TaskGraph::default();
    let request = PruneRequest { window: &window, items: &[], tasks: &tasks, now: Timestamp::EPOCH };
    assert_eq!(plan_prune(request).map(|plan| (plan.form, plan.after)), Ok((Form::Untouched, Tokens(0))));
    assert_eq!(plan_minimal(request).map(|plan| plan.after), Ok(Tokens(0)));
}
