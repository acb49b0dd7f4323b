//! When a checkpoint is due: all reasons that hold, not only the first.

use stemmata_model::{Reason, Timestamp, Tokens};

use super::limits::Window;

/// What is known when a checkpoint may be due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TriggerFacts<'a> {
    /// The window's content.
    pub size: Tokens,
    /// Whether the phase is another one than at the last check.
    pub phase_changed: bool,
    /// Tasks completed so far.
    pub tasks_completed: u64,
    /// Milestones that a checkpoint was made for, as [`milestones`] counts them.
    pub milestones_kept: u64,
    /// What is about to be done.
    pub next_operation: Option<&'a str>,
    /// When the last checkpoint was made, else when the session began.
    pub last_checkpoint: Timestamp,
    /// The time.
    pub now: Timestamp,
    /// Whether the guard acts on a critical window.
    pub is_emergency: bool,
}

/// Returns how many milestones a number of completed tasks is: what to pass as `milestones_kept` from then on.
pub fn milestones(window: &Window, tasks_completed: u64) -> u64 {
    tasks_completed / window.settings().milestone_tasks
}

/// Returns all reasons to make a checkpoint now, in a fixed order; none where no checkpoint is due.
///
/// A milestone holds until a checkpoint was made for it, also where it was passed by between two checks; no completed task
/// is no milestone.
pub fn checkpoint_reasons(window: &Window, facts: &TriggerFacts<'_>) -> Vec<Reason> {
    let settings = window.settings();
    let interval_us =
        i64::try_from(settings.checkpoint_interval_s.saturating_mul(1_000_000)).unwrap_or(i64::MAX);
    let passed_us = facts.now.as_micros().saturating_sub(facts.last_checkpoint.as_micros());
    let is_risky = |operation: &str| settings.risky_operations.iter().any(|risky| risky == operation);
    let held = [
        (Reason::ContextSizeThreshold, window.is_above(facts.size, settings.checkpoint_permille)),
        (Reason::PhaseTransition, facts.phase_changed),
        (Reason::TaskMilestone, milestones(window, facts.tasks_completed) > facts.milestones_kept),
        (Reason::RiskyOperation, facts.next_operation.is_some_and(is_risky)),
        (Reason::TimeInterval, passed_us > interval_us),
        (Reason::Emergency, facts.is_emergency),
    ];
    held.into_iter().filter(|(_, holds)| *holds).map(|(reason, _)| reason).collect()
}

#[cfg(test)]
mod tests {
    use super::super::limits::WindowSettings;
    use super::*;

    fn facts() -> TriggerFacts<'static> {
        TriggerFacts {
            size: Tokens(0),
            phase_changed: false,
            tasks_completed: 0,
            milestones_kept: 0,
            next_operation: None,
            last_checkpoint: Timestamp::EPOCH,
            now: Timestamp::EPOCH,
            is_emergency: false,
        }
    }

    fn reasons(facts: &TriggerFacts<'_>) -> Vec<&'static str> {
        let window = Window::new(WindowSettings::of(Tokens(100))).expect("limits");
        checkpoint_reasons(&window, facts).into_iter().map(Reason::as_str).collect()
    }

    #[test]
    fn no_completed_task_is_no_milestone_and_a_milestone_counts_once() {
        assert_eq!(reasons(&facts()), [""; 0]);
        for (tasks_completed, milestones_kept, holds) in
            [(4, 0, false), (5, 0, true), (5, 1, false), (9, 1, false), (10, 1, true), (11, 1, true)]
        {
            let found = reasons(&TriggerFacts { tasks_completed, milestones_kept, ..facts() });
            assert_eq!(found == ["task_milestone"], holds, "{tasks_completed} {milestones_kept}");
        }
    }

    #[test]
    fn every_reason_that_holds_is_recorded() {
        let all = TriggerFacts {
            size: Tokens(81),
            phase_changed: true,
            tasks_completed: 5,
            next_operation: Some("large_merge"),
            now: Timestamp::from_micros(1_800_000_001),
            is_emergency: true,
            ..facts()
        };
        let every = [
            "context_size_threshold",
            "phase_transition",
            "task_milestone",
            "risky_operation",
            "time_interval",
            "emergency",
        ];
        assert_eq!(reasons(&all), every);
        let edge = TriggerFacts { size: Tokens(80), now: Timestamp::from_micros(1_800_000_000), ..facts() };
        assert_eq!(reasons(&edge), [""; 0], "at the threshold is not above it");
        assert_eq!(reasons(&TriggerFacts { next_operation: Some("rename"), ..facts() }), [""; 0]);
    }
}
