//! Every edge of the decision tree of seed 002, the rows of its matrix, and what overrides what.

use stemmata_model::{EntryId, Timestamp, Tokens};

use super::super::tasks::TaskNode;
use super::super::{Form, PruneRequest, Window, WindowSettings, plan_prune, plan_to_target, validate};
use super::*;

/// Tasks t0 to t8 and the current one, which depends on t8 and t1. All before it are done.
fn tasks() -> TaskGraph {
    let node = |name: String, is_completed| TaskNode { name, is_completed, depends_on: Vec::new() };
    let mut tasks: Vec<TaskNode> = (0..9).map(|number| node(format!("t{number}"), true)).collect();
    tasks.push(TaskNode {
        depends_on: ["t8", "t1"].map(str::to_owned).to_vec(),
        ..node("now".to_owned(), false)
    });
    TaskGraph::new(&tasks, Some("now")).expect("a graph")
}

fn item(task: &str, content: ContentType) -> Item {
    let mut item = Item::new(EntryId::new("e").expect("a name"), Tokens(10));
    item.task = Some(task.to_owned());
    item.content = content;
    item
}

fn judged(item: Item) -> (Category, Verdict, Reason) {
    let Judgement { category, verdict, reason, .. } = judge(&[item], &tasks(), Timestamp::EPOCH)[0];
    (category, verdict, reason)
}

#[test]
fn chart_2_current_task_must_keep_yes_essential() {
    let (category, verdict, reason) = judged(item("now", ContentType::CurrentTask));
    assert_eq!((category, verdict), (Category::CurrentTask, Verdict::Essential));
    assert_eq!(reason, Reason::AlwaysKeep(Some(Row::CurrentTaskDescription)));
}

#[test]
fn chart_2_current_task_must_keep_no_evaluate() {
    let found = judged(item("now", ContentType::Other));
    assert_eq!(found, (Category::CurrentTask, Verdict::ByScore, Reason::CurrentTask));
}

#[test]
fn chart_2_recent_history_relevant_yes_essential() {
    let found = judged(item("t8", ContentType::TaskHistory));
    assert_eq!(
        found,
        (Category::RecentHistory, Verdict::Essential, Reason::Relevant(Some(Row::DependencyInformation)))
    );
}

#[test]
fn chart_2_recent_history_relevant_no_evaluate() {
    let found = judged(item("t6", ContentType::TaskHistory));
    assert_eq!(found, (Category::RecentHistory, Verdict::ByScore, Reason::RecentTask));
}

#[test]
fn chart_2_old_history_referenced_recently_yes_evaluate() {
    let mut old = item("t5", ContentType::TaskHistory);
    old.is_referenced_recently = true;
    assert_eq!(judged(old), (Category::OldHistory, Verdict::ByScore, Reason::ReferencedRecently));
}

#[test]
fn chart_2_old_history_referenced_recently_no_prune_list() {
    let found = judged(item("t5", ContentType::TaskHistory));
    assert_eq!(found, (Category::OldHistory, Verdict::Prune, Reason::NotReferenced));
}

#[test]
fn chart_2_system_prompts_essential() {
    let found = judged(item("t0", ContentType::SystemPrompt));
    assert_eq!(found, (Category::SystemPrompts, Verdict::Essential, Reason::Instruction));
}

#[test]
fn chart_2_examples_still_relevant_yes_essential() {
    // A dependency's rows come first: it is relevant either way.
    let (category, verdict, _) = judged(item("now", ContentType::Examples));
    assert_eq!((category, verdict), (Category::Examples, Verdict::Essential));
}

#[test]
fn chart_2_examples_still_relevant_no_prune_list() {
    let found = judged(item("t6", ContentType::Examples));
    assert_eq!(found, (Category::Examples, Verdict::Prune, Reason::OtherExample));
}

/// Items of the current task, scored by their references: the last is worth most.
fn scored(count: u32) -> Vec<Item> {
    let item = |number| {
        let mut item = item("now", ContentType::Other);
        item.id = EntryId::new(format!("e{number}")).expect("a name");
        item.reference_count = number;
        item
    };
    (0..count).map(item).collect()
}

fn planned(items: &[Item], limit: u64) -> Result<super::super::PrunePlan, super::super::ContextOverflow> {
    let window = Window::new(WindowSettings::of(Tokens(limit))).expect("limits");
    plan_prune(PruneRequest { window: &window, items, tasks: &tasks(), now: Timestamp::EPOCH })
}

#[test]
fn chart_2_score_above_threshold_yes_stays() {
    let plan = planned(&scored(4), 45).expect("a plan");
    let kept: Vec<bool> = plan.decisions.iter().map(|decision| decision.is_kept).collect();
    assert_eq!((kept.as_slice(), plan.threshold), ([false, true, true, true].as_slice(), Some(42)));
}

#[test]
fn chart_2_score_above_threshold_no_prune_list() {
    let plan = planned(&scored(4), 45).expect("a plan");
    assert_eq!(plan.pruned().map(EntryId::as_str).collect::<Vec<&str>>(), ["e0"]);
    assert!(plan.decisions[0].why.text().ends_with("no room left for it"), "{:?}", plan.decisions[0]);
    // The two of a tool group go as one, and either alone would fit.
    let mut group = scored(4);
    (group[0].group, group[1].group) = (Some(1), Some(1));
    let plan = planned(&group, 45).expect("a plan");
    for gone in &plan.decisions[..2] {
        assert!(gone.why.text().ends_with("no room left for its tool group"), "{gone:?}");
    }
}

#[test]
fn chart_2_new_size_below_target_yes_complete() {
    let plan = planned(&scored(4), 45).expect("a plan");
    assert_eq!(
        (plan.form, plan.before, plan.after, plan.target),
        (Form::Pruned, Tokens(40), Tokens(30), Tokens(31))
    );
}

#[test]
fn chart_2_new_size_below_target_no_the_threshold_rises() {
    let thresholds = [60, 45, 30, 16].map(|limit| planned(&scored(4), limit).expect("a plan").threshold);
    assert_eq!(thresholds, [Some(40), Some(42), Some(44), Some(46)]);
}

#[test]
fn the_matrix_overrides_the_tree_and_a_pin_overrides_the_matrix() {
    let mut debug = item("now", ContentType::CurrentTask);
    debug.row = Some(Row::TemporaryDebug);
    let pruned = Reason::AlwaysPrune(Some(Row::TemporaryDebug));
    assert_eq!(judged(debug.clone()), (Category::CurrentTask, Verdict::Prune, pruned));
    debug.is_pinned = true;
    assert_eq!(judged(debug), (Category::CurrentTask, Verdict::Essential, Reason::Pinned));
    let mut metrics = item("t2", ContentType::TaskHistory);
    metrics.row = Some(Row::SuccessMetrics);
    let if_room = Reason::IfRoom(Some(Row::SuccessMetrics));
    assert_eq!(judged(metrics.clone()), (Category::OldHistory, Verdict::ByScore, if_room));
    metrics.class = Some(Class::P1);
    assert_eq!(judged(metrics).2, Reason::AlwaysKeep(None), "the caller's class is stronger than a row");
}

#[test]
fn every_row_of_the_matrix_does_what_its_class_says() {
    let classes = [
        (Row::CurrentTaskDescription, Class::P1),
        (Row::CurrentTaskAcceptanceCriteria, Class::P1),
        (Row::SystemRolePrompt, Class::P1),
        (Row::ActiveFile, Class::P1),
        (Row::LastUserMessages, Class::P1),
        (Row::CriticalError, Class::P1),
        (Row::RecentTaskHistory, Class::P2),
        (Row::ActivePr, Class::P2),
        (Row::DependencyInformation, Class::P2),
        (Row::FileStructure, Class::P2),
        (Row::RecentFeedback, Class::P2),
        (Row::OldTaskHistory, Class::P3),
        (Row::SuccessMetrics, Class::P3),
        (Row::ProjectGuidelines, Class::P3),
        (Row::ExampleSnippets, Class::P3),
        (Row::DocumentationLinks, Class::P3),
        (Row::CompletedTaskDetails, Class::P4),
        (Row::ResolvedError, Class::P4),
        (Row::Deprecated, Class::P4),
        (Row::TemporaryDebug, Class::P4),
        (Row::Redundant, Class::P4),
    ];
    assert_eq!(classes.map(|(row, _)| row), Row::ALL);
    for (row, class) in classes {
        assert_eq!(row.class(), class, "{}", row.as_str());
        let mut relevant = item("now", ContentType::Other);
        let mut other = item("t6", ContentType::TaskHistory);
        (relevant.row, other.row) = (Some(row), Some(row));
        let wanted = match class {
            Class::P1 => [Verdict::Essential, Verdict::Essential],
            Class::P2 => [Verdict::Essential, Verdict::ByScore],
            Class::P3 => [Verdict::ByScore, Verdict::ByScore],
            Class::P4 => [Verdict::Prune, Verdict::Prune],
        };
        assert_eq!([judged(relevant).1, judged(other).1], wanted, "{}", row.as_str());
        assert_eq!(Row::read(row.as_str()), Some(row));
    }
}

#[test]
fn details_of_a_completed_task_more_than_five_tasks_ago_go_even_if_they_are_named() {
    let mut old = item("t3", ContentType::TaskHistory);
    old.is_referenced_recently = true;
    assert_eq!(judged(old.clone()).2, Reason::AlwaysPrune(Some(Row::CompletedTaskDetails)), "six tasks ago");
    old.task = Some("t4".to_owned());
    assert_eq!(judged(old).2, Reason::ReferencedRecently, "five tasks ago");
}

#[test]
fn the_last_three_user_messages_and_the_last_five_pieces_of_feedback_have_a_row() {
    let prompts: Vec<Item> = (0..5)
        .map(|_| {
            let mut prompt = item("t2", ContentType::TaskHistory);
            prompt.is_prompt = true;
            prompt
        })
        .collect();
    let essential =
        |judged: &[Judgement]| judged.iter().filter(|one| one.verdict == Verdict::Essential).count();
    let found = judge(&prompts, &tasks(), Timestamp::EPOCH);
    assert_eq!((essential(&found), essential(&found[2..])), (3, 3));
    let feedback = vec![item("now", ContentType::RecentFeedback); 7];
    let found = judge(&feedback, &tasks(), Timestamp::EPOCH);
    assert_eq!((essential(&found), essential(&found[2..])), (5, 5));
    assert_eq!(found[1].reason, Reason::CurrentTask);
}

#[test]
fn a_plan_that_drops_an_essential_or_half_a_group_is_not_valid() {
    let mut items = scored(3);
    items[0].is_pinned = true;
    (items[1].group, items[2].group) = (Some(1), Some(1));
    let window = Window::new(WindowSettings::of(Tokens(50))).expect("limits");
    let request = PruneRequest { window: &window, items: &items, tasks: &tasks(), now: Timestamp::EPOCH };
    let mut plan = plan_to_target(request);
    assert_eq!(validate(request, &plan), []);
    plan.decisions[0].is_kept = false;
    plan.decisions[2].is_kept = false;
    plan.after = Tokens(99);
    assert_eq!(validate(request, &plan).len(), 3, "an essential, half a group, over the target");
}
