//! The guard of a context window: how full it is, when a checkpoint is due, what may be pruned and what must stay.
//!
//! Every function returns what it decided and why. Nothing here changes a window, stores anything or knows the time: the
//! caller passes `now` and applies the plan. Not about summaries: those are the `compact` module's.

mod counters;
mod course;
pub mod derive;
pub mod flow;
mod groups;
mod item;
mod judge;
#[cfg(test)]
mod laws_tests;
mod limits;
mod minimal;
mod monitor;
mod prune;
mod references;
mod score;
mod select;
mod tasks;
mod triggers;

pub use counters::{ItemCounters, item_counters};
pub use course::{Course, Start, course};
pub(crate) use groups::Groups;
pub use item::{Class, ContentType, Item, Row};
pub use judge::{Category, Judgement, Reason, Verdict, judge};
pub use limits::{Ratio, Window, WindowError, WindowSettings, Zone};
pub use minimal::plan_minimal;
pub use monitor::{Alert, Monitor, Observation, Sample};
pub use prune::{
    ContextOverflow, Decision, Finding, Form, PrunePlan, PruneRequest, Safety, Why, judge_safety, plan_prune,
    plan_to_target, validate,
};
pub use score::{Score, score};
pub use select::{Candidate, fill};
pub use tasks::{Relation, TaskGraph, TaskGraphError, TaskNode};
pub use triggers::{TriggerFacts, checkpoint_reasons, milestones};
