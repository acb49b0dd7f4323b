//! What happens around one call of a model, as a state machine: the first chart of seed 002 and its list of recovery steps.
//!
//! [`step`] decides; the caller carries out the effect, and what came of it is the next event. So every edge of the chart can
//! be walked by a test, and every walk ends in a call that was made, or in a typed fatal error. Nothing is lost either way: the
//! machine prunes nothing before a checkpoint holds it.

use thiserror::Error;

use super::limits::Zone;

/// Overflows reported by the provider that are answered for one call. A second one says that the limit is wrong.
pub const RETRIES_MAX: u8 = 1;

/// Where a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Node {
    /// A call was requested; the window is to be measured.
    Measuring,
    /// A checkpoint is being made before the plan of a prune.
    CreatingCheckpoint,
    /// A prune is being planned.
    PlanningPruning,
    /// A checkpoint is being made before a prune.
    EmergencyCheckpoint,
    /// It is being judged whether the window can be pruned safely.
    JudgingPrune,
    /// The window is being pruned.
    Pruning,
    /// The pruned window is being checked.
    Validating,
    /// The smallest context is being made.
    BuildingMinimal,
    /// The window is too large; it is being judged whether there is a way back.
    JudgingRecovery,
    /// The last checkpoint is being loaded.
    LoadingCheckpoint,
    /// The checkpoint's context is being pruned to the smallest one.
    PruningAggressively,
    /// Work is being resumed from it.
    Resuming,
    /// The model is being called.
    Executing,
    /// The call was made.
    Complete,
    /// There is no way on.
    Stopped(FatalReason),
}

/// Why there is no way on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum FatalReason {
    /// Nothing may be pruned that is not stored.
    #[error("the checkpoint before the prune could not be made, and nothing is pruned that is not stored")]
    CheckpointFailed,
    /// There is no checkpoint to go back to.
    #[error("the context does not fit the window, and there is no checkpoint to go back to")]
    NoRecovery,
    /// The last checkpoint can't be loaded.
    #[error("the context does not fit the window, and the last checkpoint can't be loaded")]
    LoadFailed,
    /// Even the smallest context is too large.
    #[error("even the smallest context does not fit the window")]
    StillTooLarge,
    /// The provider takes less than the window is said to hold.
    #[error("the provider refused the context again after it was pruned: its window is smaller than the limit")]
    RefusedAgain,
}

/// What came of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// The window was measured.
    Measured(Zone),
    /// The checkpoint is stored.
    CheckpointCreated,
    /// It could not be made.
    CheckpointFailed,
    /// The plan is made.
    PruningPlanned,
    /// It was judged whether essentials, pins and open tool groups fit the target.
    PruneJudged {
        /// Whether they do.
        is_safe: bool,
    },
    /// The window was pruned.
    Pruned,
    /// The pruned window was checked.
    Validated {
        /// Whether essentials are there, pairs are whole and the target is met.
        is_valid: bool,
    },
    /// The smallest context was made.
    MinimalBuilt {
        /// Whether it is within the limit.
        fits: bool,
    },
    /// It was judged whether there is a checkpoint to go back to.
    RecoveryJudged {
        /// Whether there is.
        is_possible: bool,
    },
    /// The checkpoint was loaded.
    CheckpointLoaded,
    /// It could not be loaded.
    LoadFailed,
    /// The checkpoint's context was pruned.
    PrunedAggressively {
        /// Whether it is within the limit.
        fits: bool,
    },
    /// Work goes on from there.
    Resumed,
    /// The model answered.
    CallCompleted,
    /// The provider says that the context is too long.
    OverflowReported,
}

/// What the caller does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Measure the window.
    Measure,
    /// Write a line to the log.
    LogWarning,
    /// Make a checkpoint with its reasons.
    CreateCheckpoint,
    /// Make a checkpoint for `emergency`.
    CreateEmergencyCheckpoint,
    /// Tell the user that the checkpoint could not be made.
    NoteNoCheckpoint,
    /// Plan a prune without doing it.
    PlanPruning,
    /// Judge whether the window can be pruned safely.
    JudgePrune,
    /// Prune to the target.
    Prune,
    /// Check the result.
    Validate,
    /// Make the smallest context.
    BuildMinimal,
    /// Publish the overflow and look for a checkpoint.
    JudgeRecovery,
    /// Load the last checkpoint.
    LoadCheckpoint,
    /// Prune what was loaded to the smallest context.
    PruneAggressively,
    /// Go on from it.
    Resume,
    /// Call the model.
    Execute,
    /// Stop with the typed error.
    Stop,
}

/// A call that is being guarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct State {
    node: Node,
    retries: u8,
}

/// What a step came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Where the call stands now.
    pub state: State,
    /// What the caller does, in order. Only the last effect has an event.
    pub effects: Vec<Effect>,
    /// Why.
    pub reason: &'static str,
}

/// An event that can't be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{event:?} can't follow in {node:?}")]
pub struct OutOfTurn {
    /// Where the call stands; it stays there.
    pub node: Node,
    /// What was reported.
    pub event: Event,
}

impl State {
    /// Returns where the call stands.
    pub const fn node(self) -> Node {
        self.node
    }

    /// Returns the error with which it ended, if it did.
    pub const fn fatal(self) -> Option<FatalReason> {
        match self.node {
            Node::Stopped(reason) => Some(reason),
            _ => None,
        }
    }

    /// Says whether nothing follows.
    pub const fn is_over(self) -> bool {
        matches!(self.node, Node::Complete | Node::Stopped(_))
    }
}

/// Begins a call.
pub fn begin() -> Step {
    Step {
        state: State { node: Node::Measuring, retries: 0 },
        effects: vec![Effect::Measure],
        reason: "a call was requested",
    }
}

/// Decides what follows from an event.
///
/// # Errors
/// [`OutOfTurn`] where the event is not the answer to the last effect; the state stays.
pub fn step(state: State, event: Event) -> Result<Step, OutOfTurn> {
    use Node as N;
    let (node, effects, reason): (Node, &[Effect], &'static str) = match (state.node, event) {
        (N::Measuring, Event::Measured(zone)) => measured(zone),
        (N::CreatingCheckpoint, Event::CheckpointCreated) => {
            (N::PlanningPruning, &[Effect::PlanPruning], "the checkpoint is stored")
        }
        // Nothing is pruned in this zone, so that nothing is lost without the checkpoint.
        (N::CreatingCheckpoint, Event::CheckpointFailed) => (
            N::PlanningPruning,
            &[Effect::NoteNoCheckpoint, Effect::PlanPruning],
            "no checkpoint, but nothing is pruned yet",
        ),
        (N::PlanningPruning, Event::PruningPlanned) => (N::Executing, &[Effect::Execute], "the plan is ready for later"),
        (N::EmergencyCheckpoint, Event::CheckpointCreated) => {
            (N::JudgingPrune, &[Effect::JudgePrune], "the checkpoint is stored")
        }
        (N::EmergencyCheckpoint, Event::CheckpointFailed) => stopped(FatalReason::CheckpointFailed),
        (N::JudgingPrune, Event::PruneJudged { is_safe: true }) => {
            (N::Pruning, &[Effect::Prune], "essentials, pins and open tool groups fit the target")
        }
        (N::JudgingPrune, Event::PruneJudged { is_safe: false }) => (
            N::JudgingRecovery,
            &[Effect::JudgeRecovery],
            "essentials, pins and open tool groups do not fit the target",
        ),
        (N::Pruning, Event::Pruned) => (N::Validating, &[Effect::Validate], "the window was pruned"),
        (N::Validating, Event::Validated { is_valid: true }) => {
            (N::Executing, &[Effect::Execute], "essentials are there, pairs are whole, the target is met")
        }
        (N::Validating, Event::Validated { is_valid: false }) => {
            (N::BuildingMinimal, &[Effect::BuildMinimal], "the pruned window is not valid")
        }
        (N::BuildingMinimal, Event::MinimalBuilt { fits: true }) => {
            (N::Executing, &[Effect::Execute], "the smallest context fits the window")
        }
        (N::BuildingMinimal, Event::MinimalBuilt { fits: false }) => {
            (N::JudgingRecovery, &[Effect::JudgeRecovery], "the smallest context does not fit the window")
        }
        (N::JudgingRecovery, Event::RecoveryJudged { is_possible: true }) => {
            (N::LoadingCheckpoint, &[Effect::LoadCheckpoint], "there is a checkpoint to go back to")
        }
        (N::JudgingRecovery, Event::RecoveryJudged { is_possible: false }) => stopped(FatalReason::NoRecovery),
        (N::LoadingCheckpoint, Event::CheckpointLoaded) => {
            (N::PruningAggressively, &[Effect::PruneAggressively], "the checkpoint is loaded")
        }
        (N::LoadingCheckpoint, Event::LoadFailed) => stopped(FatalReason::LoadFailed),
        (N::PruningAggressively, Event::PrunedAggressively { fits: true }) => {
            (N::Resuming, &[Effect::Resume], "the smallest context of the checkpoint fits the window")
        }
        (N::PruningAggressively, Event::PrunedAggressively { fits: false }) => stopped(FatalReason::StillTooLarge),
        (N::Resuming, Event::Resumed) => (N::Complete, &[], "work goes on from the checkpoint"),
        (N::Executing, Event::CallCompleted) => (N::Complete, &[], "the model answered"),
        (N::Executing, Event::OverflowReported) if state.retries < RETRIES_MAX => {
            let retried = State { node: N::EmergencyCheckpoint, retries: state.retries + 1 };
            return Ok(Step {
                state: retried,
                effects: vec![Effect::CreateEmergencyCheckpoint],
                reason: "the provider says that the context is too long",
            });
        }
        (N::Executing, Event::OverflowReported) => stopped(FatalReason::RefusedAgain),
        (node, event) => return Err(OutOfTurn { node, event }),
    };
    Ok(Step { state: State { node, ..state }, effects: effects.to_vec(), reason })
}

const fn measured(zone: Zone) -> (Node, &'static [Effect], &'static str) {
    match zone {
        Zone::Safe => (Node::Executing, &[Effect::Execute], "the window is in the safe zone"),
        Zone::Warning => {
            (Node::Executing, &[Effect::LogWarning, Effect::Execute], "the window is in the warning zone")
        }
        Zone::Danger => {
            (Node::CreatingCheckpoint, &[Effect::CreateCheckpoint], "the window is in the danger zone")
        }
        Zone::Critical => (
            Node::EmergencyCheckpoint,
            &[Effect::CreateEmergencyCheckpoint],
            "the window is in the critical zone",
        ),
    }
}

const fn stopped(reason: FatalReason) -> (Node, &'static [Effect], &'static str) {
    (Node::Stopped(reason), &[Effect::Stop], "there is no way on")
}

#[cfg(test)]
mod edges_tests;
