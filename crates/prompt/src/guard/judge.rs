//! The decision tree of pruning and the priority matrix: whether an item stays, goes, or stays by its score.

use stemmata_model::Timestamp;

use super::item::{Class, ContentType, Item, Row};
use super::score::{Score, score};
use super::tasks::{Relation, TaskGraph};

/// Tasks before the current one whose history counts as recent.
const RECENT_TASKS: usize = 3;

/// A completed task that began more tasks ago than this is only details.
const DETAILS_TASKS: usize = 5;

/// Messages of users that always stay.
const LAST_PROMPTS: usize = 3;

/// Pieces of feedback that count as recent.
const LAST_FEEDBACK: usize = 5;

/// The category of content that an item is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Category {
    /// Of the current task.
    CurrentTask,
    /// Of one of the last three tasks.
    RecentHistory,
    /// Of an older task, or of none.
    OldHistory,
    /// Instructions.
    SystemPrompts,
    /// Examples and templates.
    Examples,
}

impl Category {
    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// What the tree and the matrix say of an item by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// It goes.
    Prune,
    /// It stays if its score is among the best that fit.
    ByScore,
    /// It stays.
    Essential,
}

/// Why a verdict was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// A person pinned it.
    Pinned,
    /// The caller marked it.
    MarkedEssential,
    /// It is an instruction that is in force.
    Instruction,
    /// A call of its tool group waits for its result, or the model has not seen the result yet.
    OpenToolGroup,
    /// The matrix keeps its class always.
    AlwaysKeep(Option<Row>),
    /// The matrix keeps its class if relevant, and it is.
    Relevant(Option<Row>),
    /// The matrix keeps its class if relevant, and it is not: the score decides.
    NotRelevant(Option<Row>),
    /// The matrix keeps its class if there is room: the score decides.
    IfRoom(Option<Row>),
    /// The matrix prunes its class always.
    AlwaysPrune(Option<Row>),
    /// It is of the current task: the score decides.
    CurrentTask,
    /// It is of a recent task: the score decides.
    RecentTask,
    /// It is old, and something in the last three turns names it: the score decides.
    ReferencedRecently,
    /// It is old, and nothing in the last three turns names it.
    NotReferenced,
    /// It is an example for the current task or for one that it depends on.
    RelevantExample,
    /// It is an example for something else.
    OtherExample,
}

impl Reason {
    /// Returns the row of the matrix that decided.
    pub const fn row(self) -> Option<Row> {
        match self {
            Self::AlwaysKeep(row)
            | Self::Relevant(row)
            | Self::NotRelevant(row)
            | Self::IfRoom(row)
            | Self::AlwaysPrune(row) => row,
            Self::Pinned
            | Self::MarkedEssential
            | Self::Instruction
            | Self::OpenToolGroup
            | Self::CurrentTask
            | Self::RecentTask
            | Self::ReferencedRecently
            | Self::NotReferenced
            | Self::RelevantExample
            | Self::OtherExample => None,
        }
    }

    /// Returns the reason in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pinned => "pinned",
            Self::MarkedEssential => "marked as essential",
            Self::Instruction => "an instruction in force",
            Self::OpenToolGroup => "a tool call waits for its result, or the result for an answer",
            Self::AlwaysKeep(_) => "always kept",
            Self::Relevant(_) => "relevant to the current task",
            Self::NotRelevant(_) => "not relevant to the current task: by score",
            Self::IfRoom(_) => "kept if there is room: by score",
            Self::AlwaysPrune(_) => "always pruned",
            Self::CurrentTask => "of the current task: by score",
            Self::RecentTask => "of a recent task: by score",
            Self::ReferencedRecently => "old, named in the last turns: by score",
            Self::NotReferenced => "old, not named in the last turns",
            Self::RelevantExample => "an example for the current task",
            Self::OtherExample => "an example for another task",
        }
    }

    /// Says whether no form of pruning may drop the item, not even the smallest.
    pub const fn is_held(self) -> bool {
        matches!(self, Self::Pinned | Self::MarkedEssential | Self::Instruction | Self::OpenToolGroup)
    }
}

/// An item's category, class, score and verdict, with the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judgement {
    /// Where it belongs.
    pub category: Category,
    /// Its class: the caller's, else the matrix's, else what the verdict comes to.
    pub class: Class,
    /// Its points.
    pub score: Score,
    /// What it comes to.
    pub verdict: Verdict,
    /// Why.
    pub reason: Reason,
}

/// Judges every item of a window, in order. Takes time in the number of items.
pub fn judge(items: &[Item], tasks: &TaskGraph, now: Timestamp) -> Vec<Judgement> {
    let mut places = Places::of(items);
    let judged = items.iter().enumerate().rev().map(|(at, item)| {
        let relation = tasks.relation(item.task.as_deref());
        let category = category(item, relation, tasks);
        // Asked of every item: it counts the last messages.
        let row = places.row(at, item, relation, tasks);
        let row = item.row.or(row);
        let class = item.class.or(row.map(Row::class));
        let (verdict, reason) =
            verdict(item, category, relation, (class, row.filter(|_| item.class.is_none())));
        let class = class.unwrap_or(match (verdict, category) {
            (Verdict::Essential, _) => Class::P1,
            (Verdict::ByScore, Category::OldHistory | Category::Examples) => Class::P3,
            (Verdict::ByScore, _) => Class::P2,
            (Verdict::Prune, _) => Class::P4,
        });
        Judgement { category, class, score: score(item, relation, now), verdict, reason }
    });
    let mut judged: Vec<Judgement> = judged.collect();
    judged.reverse();
    judged
}

fn category(item: &Item, relation: Relation, tasks: &TaskGraph) -> Category {
    match item.content {
        ContentType::SystemPrompt => Category::SystemPrompts,
        ContentType::Examples => Category::Examples,
        ContentType::CurrentTask | ContentType::AcceptanceCriteria | ContentType::ActiveCode => {
            Category::CurrentTask
        }
        ContentType::RecentFeedback | ContentType::TaskHistory | ContentType::Other => {
            let tasks_ago = tasks.tasks_ago(item.task.as_deref());
            match (relation, tasks_ago) {
                (Relation::Same, _) => Category::CurrentTask,
                (_, Some(tasks_ago)) if tasks_ago <= RECENT_TASKS => Category::RecentHistory,
                (Relation::Dependency | Relation::Other, _) => Category::OldHistory,
            }
        }
    }
}

/// What of the matrix follows from where an item stands among the others. Asked from the newest item to the oldest.
struct Places {
    prompts_left: usize,
    feedback_left: usize,
    active_file: Option<usize>,
}

impl Places {
    fn of(items: &[Item]) -> Self {
        let active_file = items.iter().rposition(|item| item.content == ContentType::ActiveCode);
        Self { prompts_left: LAST_PROMPTS, feedback_left: LAST_FEEDBACK, active_file }
    }

    fn row(&mut self, at: usize, item: &Item, relation: Relation, tasks: &TaskGraph) -> Option<Row> {
        let is_last_prompt = item.is_prompt && take(&mut self.prompts_left);
        let is_feedback = item.content == ContentType::RecentFeedback && take(&mut self.feedback_left);
        let task = item.task.as_deref();
        let tasks_ago = tasks.tasks_ago(task).unwrap_or(0);
        match item.content {
            ContentType::SystemPrompt => Some(Row::SystemRolePrompt),
            ContentType::CurrentTask => Some(Row::CurrentTaskDescription),
            ContentType::AcceptanceCriteria => Some(Row::CurrentTaskAcceptanceCriteria),
            ContentType::ActiveCode if self.active_file == Some(at) => Some(Row::ActiveFile),
            _ if is_last_prompt => Some(Row::LastUserMessages),
            _ if is_feedback => Some(Row::RecentFeedback),
            _ if relation == Relation::Dependency => Some(Row::DependencyInformation),
            _ if tasks_ago > DETAILS_TASKS && tasks.is_completed(task) => Some(Row::CompletedTaskDetails),
            _ => None,
        }
    }
}

fn take(left: &mut usize) -> bool {
    let had = *left > 0;
    *left = left.saturating_sub(1);
    had
}

/// What holds an item is asked first, then the matrix, then the tree: so the matrix overrides the tree, and nothing
/// overrides a pin.
fn verdict(
    item: &Item,
    category: Category,
    relation: Relation,
    (class, row): (Option<Class>, Option<Row>),
) -> (Verdict, Reason) {
    let is_relevant = relation != Relation::Other;
    let held = [
        (item.is_pinned, Reason::Pinned),
        (item.content == ContentType::SystemPrompt, Reason::Instruction),
        (item.is_essential, Reason::MarkedEssential),
        (item.is_open, Reason::OpenToolGroup),
    ];
    if let Some((_, reason)) = held.into_iter().find(|(is_held, _)| *is_held) {
        return (Verdict::Essential, reason);
    }
    match class {
        Some(Class::P1) => (Verdict::Essential, Reason::AlwaysKeep(row)),
        Some(Class::P2) if is_relevant => (Verdict::Essential, Reason::Relevant(row)),
        Some(Class::P2) => (Verdict::ByScore, Reason::NotRelevant(row)),
        Some(Class::P3) => (Verdict::ByScore, Reason::IfRoom(row)),
        Some(Class::P4) => (Verdict::Prune, Reason::AlwaysPrune(row)),
        None => match category {
            Category::SystemPrompts => (Verdict::Essential, Reason::Instruction),
            Category::CurrentTask => (Verdict::ByScore, Reason::CurrentTask),
            // What is relevant of it has the row of dependencies, and so class P2.
            Category::RecentHistory => (Verdict::ByScore, Reason::RecentTask),
            Category::OldHistory if item.is_referenced_recently => {
                (Verdict::ByScore, Reason::ReferencedRecently)
            }
            Category::OldHistory => (Verdict::Prune, Reason::NotReferenced),
            Category::Examples if is_relevant => (Verdict::Essential, Reason::RelevantExample),
            Category::Examples => (Verdict::Prune, Reason::OtherExample),
        },
    }
}

#[cfg(test)]
mod chart_tests;
