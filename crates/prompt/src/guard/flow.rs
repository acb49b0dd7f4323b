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
    #[error(
        "the provider refused the context again after it was pruned: its window is smaller than the limit"
    )]
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
    let State { node, retries } = state;
    let taken = match node {
        Node::Measuring | Node::CreatingCheckpoint | Node::PlanningPruning => measuring(node, event),
        Node::EmergencyCheckpoint | Node::JudgingPrune | Node::Pruning => pruning(node, event),
        Node::Validating | Node::BuildingMinimal => validating(node, event),
        Node::JudgingRecovery | Node::LoadingCheckpoint | Node::PruningAggressively | Node::Resuming => {
            recovering(node, event)
        }
        Node::Executing => executing(event, retries),
        Node::Complete | Node::Stopped(_) => None,
    };
    let (next, effects, reason) = taken.ok_or(OutOfTurn { node, event })?;
    let is_retry = node == Node::Executing && next == Node::EmergencyCheckpoint;
    let state = State { node: next, retries: retries + u8::from(is_retry) };
    Ok(Step { state, effects: effects.to_vec(), reason })
}

/// Where an edge leads, what is done, and why.
type Edge = (Node, &'static [Effect], &'static str);

fn measuring(node: Node, event: Event) -> Option<Edge> {
    Some(match (node, event) {
        (Node::Measuring, Event::Measured(zone)) => measured(zone),
        (Node::CreatingCheckpoint, Event::CheckpointCreated) => {
            (Node::PlanningPruning, &[Effect::PlanPruning], "the checkpoint is stored")
        }
        // Nothing is pruned in this zone, so that nothing is lost without the checkpoint.
        (Node::CreatingCheckpoint, Event::CheckpointFailed) => (
            Node::PlanningPruning,
            &[Effect::NoteNoCheckpoint, Effect::PlanPruning],
            "no checkpoint, but nothing is pruned yet",
        ),
        (Node::PlanningPruning, Event::PruningPlanned) => {
            (Node::Executing, &[Effect::Execute], "the plan is ready for later")
        }
        _ => return None,
    })
}

fn pruning(node: Node, event: Event) -> Option<Edge> {
    Some(match (node, event) {
        (Node::EmergencyCheckpoint, Event::CheckpointCreated) => {
            (Node::JudgingPrune, &[Effect::JudgePrune], "the checkpoint is stored")
        }
        (Node::EmergencyCheckpoint, Event::CheckpointFailed) => stopped(FatalReason::CheckpointFailed),
        (Node::JudgingPrune, Event::PruneJudged { is_safe: true }) => {
            (Node::Pruning, &[Effect::Prune], "essentials, pins and open tool groups fit the target")
        }
        (Node::JudgingPrune, Event::PruneJudged { is_safe: false }) => (
            Node::JudgingRecovery,
            &[Effect::JudgeRecovery],
            "essentials, pins and open tool groups do not fit the target",
        ),
        (Node::Pruning, Event::Pruned) => (Node::Validating, &[Effect::Validate], "the window was pruned"),
        _ => return None,
    })
}

fn validating(node: Node, event: Event) -> Option<Edge> {
    Some(match (node, event) {
        (Node::Validating, Event::Validated { is_valid: true }) => {
            (Node::Executing, &[Effect::Execute], "essentials are there, pairs are whole, the target is met")
        }
        (Node::Validating, Event::Validated { is_valid: false }) => {
            (Node::BuildingMinimal, &[Effect::BuildMinimal], "the pruned window is not valid")
        }
        (Node::BuildingMinimal, Event::MinimalBuilt { fits: true }) => {
            (Node::Executing, &[Effect::Execute], "the smallest context fits the window")
        }
        (Node::BuildingMinimal, Event::MinimalBuilt { fits: false }) => {
            (Node::JudgingRecovery, &[Effect::JudgeRecovery], "the smallest context does not fit the window")
        }
        _ => return None,
    })
}

fn recovering(node: Node, event: Event) -> Option<Edge> {
    Some(match (node, event) {
        (Node::JudgingRecovery, Event::RecoveryJudged { is_possible: true }) => {
            (Node::LoadingCheckpoint, &[Effect::LoadCheckpoint], "there is a checkpoint to go back to")
        }
        (Node::JudgingRecovery, Event::RecoveryJudged { is_possible: false }) => {
            stopped(FatalReason::NoRecovery)
        }
        (Node::LoadingCheckpoint, Event::CheckpointLoaded) => {
            (Node::PruningAggressively, &[Effect::PruneAggressively], "the checkpoint is loaded")
        }
        (Node::LoadingCheckpoint, Event::LoadFailed) => stopped(FatalReason::LoadFailed),
        (Node::PruningAggressively, Event::PrunedAggressively { fits: true }) => {
            (Node::Resuming, &[Effect::Resume], "the smallest context of the checkpoint fits the window")
        }
        (Node::PruningAggressively, Event::PrunedAggressively { fits: false }) => {
            stopped(FatalReason::StillTooLarge)
        }
        (Node::Resuming, Event::Resumed) => (Node::Complete, &[], "work goes on from the checkpoint"),
        _ => return None,
    })
}

fn executing(event: Event, retries: u8) -> Option<Edge> {
    Some(match event {
        Event::CallCompleted => (Node::Complete, &[], "the model answered"),
        Event::OverflowReported if retries < RETRIES_MAX => (
            Node::EmergencyCheckpoint,
            &[Effect::CreateEmergencyCheckpoint],
            "the provider says that the context is too long",
        ),
        Event::OverflowReported => stopped(FatalReason::RefusedAgain),
        _ => return None,
    })
}

const fn measured(zone: Zone) -> Edge {
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

const fn stopped(reason: FatalReason) -> Edge {
    (Node::Stopped(reason), &[Effect::Stop], "there is no way on")
}

#[cfg(test)]
mod edges_tests;
