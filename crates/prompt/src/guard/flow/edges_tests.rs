//! Every edge of the first chart of seed 002, those that the specification adds, the list of recovery steps, and the laws.

use proptest::prelude::*;

use super::*;

use Effect as F;
use Event as E;
use Node as N;

/// An edge: its name, where it begins, what happened, where it leads, and what is done.
type Listed = (&'static str, Node, Event, Node, &'static [Effect]);

/// Every edge. The machine has no others, which a test checks.
#[rustfmt::skip]
const EDGES: &[Listed] = &[
    ("chart_1_check_size_below_70_safe_zone_execute", N::Measuring, E::Measured(Zone::Safe), N::Executing, &[F::Execute]),
    ("chart_1_check_size_70_to_85_warning_zone_log_warning_execute", N::Measuring, E::Measured(Zone::Warning), N::Executing, &[F::LogWarning, F::Execute]),
    ("chart_1_check_size_85_to_95_danger_zone_create_checkpoint", N::Measuring, E::Measured(Zone::Danger), N::CreatingCheckpoint, &[F::CreateCheckpoint]),
    ("chart_1_create_checkpoint_plan_pruning", N::CreatingCheckpoint, E::CheckpointCreated, N::PlanningPruning, &[F::PlanPruning]),
    ("chart_1_plan_pruning_execute", N::PlanningPruning, E::PruningPlanned, N::Executing, &[F::Execute]),
    ("chart_1_check_size_from_95_critical_zone_emergency_checkpoint", N::Measuring, E::Measured(Zone::Critical), N::EmergencyCheckpoint, &[F::CreateEmergencyCheckpoint]),
    ("chart_1_emergency_checkpoint_can_prune_safely", N::EmergencyCheckpoint, E::CheckpointCreated, N::JudgingPrune, &[F::JudgePrune]),
    ("chart_1_can_prune_safely_yes_prune_now", N::JudgingPrune, E::PruneJudged { is_safe: true }, N::Pruning, &[F::Prune]),
    ("chart_1_prune_now_pruning_successful", N::Pruning, E::Pruned, N::Validating, &[F::Validate]),
    ("chart_1_pruning_successful_yes_execute", N::Validating, E::Validated { is_valid: true }, N::Executing, &[F::Execute]),
    ("chart_1_pruning_successful_no_fallback_minimal", N::Validating, E::Validated { is_valid: false }, N::BuildingMinimal, &[F::BuildMinimal]),
    ("chart_1_fallback_minimal_execute", N::BuildingMinimal, E::MinimalBuilt { fits: true }, N::Executing, &[F::Execute]),
    ("chart_1_can_prune_safely_no_overflow_recovery_possible", N::JudgingPrune, E::PruneJudged { is_safe: false }, N::JudgingRecovery, &[F::JudgeRecovery]),
    ("chart_1_recovery_possible_yes_load_checkpoint", N::JudgingRecovery, E::RecoveryJudged { is_possible: true }, N::LoadingCheckpoint, &[F::LoadCheckpoint]),
    ("chart_1_load_checkpoint_aggressive_pruning", N::LoadingCheckpoint, E::CheckpointLoaded, N::PruningAggressively, &[F::PruneAggressively]),
    ("chart_1_aggressive_pruning_resume", N::PruningAggressively, E::PrunedAggressively { fits: true }, N::Resuming, &[F::Resume]),
    ("chart_1_recovery_possible_no_fatal", N::JudgingRecovery, E::RecoveryJudged { is_possible: false }, N::Stopped(FatalReason::NoRecovery), &[F::Stop]),
    ("chart_1_execute_call_complete", N::Executing, E::CallCompleted, N::Complete, &[]),
    ("chart_1_resume_call_complete", N::Resuming, E::Resumed, N::Complete, &[]),
    ("a_checkpoint_that_fails_in_the_danger_zone_is_noted_and_nothing_is_pruned", N::CreatingCheckpoint, E::CheckpointFailed, N::PlanningPruning, &[F::NoteNoCheckpoint, F::PlanPruning]),
    ("an_emergency_checkpoint_that_fails_is_fatal_and_nothing_is_pruned", N::EmergencyCheckpoint, E::CheckpointFailed, N::Stopped(FatalReason::CheckpointFailed), &[F::Stop]),
    ("a_minimal_context_that_does_not_fit_is_an_overflow", N::BuildingMinimal, E::MinimalBuilt { fits: false }, N::JudgingRecovery, &[F::JudgeRecovery]),
    ("a_checkpoint_that_can_not_be_loaded_is_fatal", N::LoadingCheckpoint, E::LoadFailed, N::Stopped(FatalReason::LoadFailed), &[F::Stop]),
    ("a_checkpoint_that_does_not_fit_either_is_fatal", N::PruningAggressively, E::PrunedAggressively { fits: false }, N::Stopped(FatalReason::StillTooLarge), &[F::Stop]),
    ("an_overflow_that_the_provider_reports_prunes_and_retries", N::Executing, E::OverflowReported, N::EmergencyCheckpoint, &[F::CreateEmergencyCheckpoint]),
];

/// Takes an edge on the first try.
fn walked(name: &str) {
    let (_, from, event, to, effects) = EDGES.iter().find(|(edge, ..)| *edge == name).expect("an edge");
    let step = step(State { node: *from, retries: 0 }, *event).expect("an edge");
    assert_eq!((step.state.node, step.effects.as_slice()), (*to, *effects), "{}", step.reason);
    assert!(!step.reason.is_empty());
}

#[test]
fn chart_1_start_check_size() {
    let step = begin();
    assert_eq!((step.state.node, step.effects), (Node::Measuring, vec![Effect::Measure]));
}

#[test]
fn chart_1_check_size_below_70_safe_zone_execute() {
    walked("chart_1_check_size_below_70_safe_zone_execute");
}

#[test]
fn chart_1_check_size_70_to_85_warning_zone_log_warning_execute() {
    walked("chart_1_check_size_70_to_85_warning_zone_log_warning_execute");
}

#[test]
fn chart_1_check_size_85_to_95_danger_zone_create_checkpoint() {
    walked("chart_1_check_size_85_to_95_danger_zone_create_checkpoint");
}

#[test]
fn chart_1_create_checkpoint_plan_pruning() {
    walked("chart_1_create_checkpoint_plan_pruning");
}

#[test]
fn chart_1_plan_pruning_execute() {
    walked("chart_1_plan_pruning_execute");
}

#[test]
fn chart_1_check_size_from_95_critical_zone_emergency_checkpoint() {
    walked("chart_1_check_size_from_95_critical_zone_emergency_checkpoint");
}

#[test]
fn chart_1_emergency_checkpoint_can_prune_safely() {
    walked("chart_1_emergency_checkpoint_can_prune_safely");
}

#[test]
fn chart_1_can_prune_safely_yes_prune_now() {
    walked("chart_1_can_prune_safely_yes_prune_now");
}

#[test]
fn chart_1_prune_now_pruning_successful() {
    walked("chart_1_prune_now_pruning_successful");
}

#[test]
fn chart_1_pruning_successful_yes_execute() {
    walked("chart_1_pruning_successful_yes_execute");
}

#[test]
fn chart_1_pruning_successful_no_fallback_minimal() {
    walked("chart_1_pruning_successful_no_fallback_minimal");
}

#[test]
fn chart_1_fallback_minimal_execute() {
    walked("chart_1_fallback_minimal_execute");
}

#[test]
fn chart_1_can_prune_safely_no_overflow_recovery_possible() {
    walked("chart_1_can_prune_safely_no_overflow_recovery_possible");
}

#[test]
fn chart_1_recovery_possible_yes_load_checkpoint() {
    walked("chart_1_recovery_possible_yes_load_checkpoint");
}

#[test]
fn chart_1_load_checkpoint_aggressive_pruning() {
    walked("chart_1_load_checkpoint_aggressive_pruning");
}

#[test]
fn chart_1_aggressive_pruning_resume() {
    walked("chart_1_aggressive_pruning_resume");
}

#[test]
fn chart_1_recovery_possible_no_fatal() {
    walked("chart_1_recovery_possible_no_fatal");
}

#[test]
fn chart_1_execute_call_complete() {
    walked("chart_1_execute_call_complete");
}

#[test]
fn chart_1_resume_call_complete() {
    walked("chart_1_resume_call_complete");
}

#[test]
fn a_checkpoint_that_fails_in_the_danger_zone_is_noted_and_nothing_is_pruned() {
    walked("a_checkpoint_that_fails_in_the_danger_zone_is_noted_and_nothing_is_pruned");
}

#[test]
fn an_emergency_checkpoint_that_fails_is_fatal_and_nothing_is_pruned() {
    walked("an_emergency_checkpoint_that_fails_is_fatal_and_nothing_is_pruned");
}

#[test]
fn a_minimal_context_that_does_not_fit_is_an_overflow() {
    walked("a_minimal_context_that_does_not_fit_is_an_overflow");
}

#[test]
fn a_checkpoint_that_can_not_be_loaded_is_fatal() {
    walked("a_checkpoint_that_can_not_be_loaded_is_fatal");
}

#[test]
fn a_checkpoint_that_does_not_fit_either_is_fatal() {
    walked("a_checkpoint_that_does_not_fit_either_is_fatal");
}

#[test]
fn an_overflow_that_the_provider_reports_prunes_and_retries() {
    walked("an_overflow_that_the_provider_reports_prunes_and_retries");
}

#[test]
fn chart_1_fatal_system_stopped() {
    let stopped = State { node: Node::Stopped(FatalReason::NoRecovery), retries: 0 };
    assert!(stopped.is_over() && stopped.fatal() == Some(FatalReason::NoRecovery));
    assert!(step(stopped, Event::CallCompleted).is_err(), "nothing follows");
}

#[test]
fn a_second_overflow_of_one_call_is_fatal() {
    let again = step(State { node: Node::Executing, retries: RETRIES_MAX }, Event::OverflowReported)
        .expect("an edge");
    assert_eq!(again.state.fatal(), Some(FatalReason::RefusedAgain));
}

/// Walks from the beginning and returns the effects, and the end.
fn walk(events: &[Event]) -> (Vec<Effect>, State) {
    let Step { mut state, mut effects, .. } = begin();
    for event in events {
        let next = step(state, *event).expect("an edge");
        effects.extend(next.effects);
        state = next.state;
    }
    (effects, state)
}

#[test]
fn recovery_steps_detect_checkpoint_analyze_prune_validate_resume() {
    let events = [
        Event::Measured(Zone::Critical),
        Event::CheckpointCreated,
        Event::PruneJudged { is_safe: true },
        Event::Pruned,
        Event::Validated { is_valid: true },
        Event::CallCompleted,
    ];
    let (effects, state) = walk(&events);
    let wanted = [
        Effect::Measure,
        Effect::CreateEmergencyCheckpoint,
        Effect::JudgePrune,
        Effect::Prune,
        Effect::Validate,
        Effect::Execute,
    ];
    assert_eq!((effects.as_slice(), state.node), (wanted.as_slice(), Node::Complete));
}

#[test]
fn recovery_step_7_if_failed_load_the_last_checkpoint_and_prune_aggressively() {
    let events = [
        Event::Measured(Zone::Critical),
        Event::CheckpointCreated,
        Event::PruneJudged { is_safe: true },
        Event::Pruned,
        Event::Validated { is_valid: false },
        Event::MinimalBuilt { fits: false },
        Event::RecoveryJudged { is_possible: true },
        Event::CheckpointLoaded,
        Event::PrunedAggressively { fits: true },
        Event::Resumed,
    ];
    let (effects, state) = walk(&events);
    assert!(effects.ends_with(&[Effect::LoadCheckpoint, Effect::PruneAggressively, Effect::Resume]));
    assert_eq!(state.node, Node::Complete);
}

/// Every event there is.
fn every_event() -> Vec<Event> {
    let mut events: Vec<Event> = EDGES.iter().map(|(_, _, event, ..)| *event).collect();
    events.extend(Zone::ALL.map(Event::Measured));
    events
}

#[test]
fn the_machine_has_no_edge_without_a_test() {
    for (_, from, ..) in EDGES {
        for event in every_event() {
            let is_edge = step(State { node: *from, retries: 0 }, event).is_ok();
            let is_listed = EDGES.iter().any(|(_, node, of, ..)| (node, *of) == (from, event));
            assert_eq!(is_edge, is_listed, "{from:?} {event:?}");
        }
    }
}

proptest! {
    #[test]
    fn recovery_ends_in_resume_or_a_typed_fatal_error_and_prunes_nothing_that_is_not_stored(choices in proptest::collection::vec(any::<usize>(), 64)) {
        let mut state = begin().state;
        let mut is_stored = false;
        let mut steps = 0;
        for choice in choices {
            if state.is_over() {
                break;
            }
            let possible: Vec<Event> = every_event().into_iter().filter(|event| step(state, *event).is_ok()).collect();
            prop_assert!(!possible.is_empty(), "stuck in {:?}", state);
            let event = possible[choice % possible.len()];
            is_stored |= event == Event::CheckpointCreated;
            let next = step(state, event).expect("an edge");
            let prunes = [Effect::Prune, Effect::BuildMinimal, Effect::PruneAggressively];
            prop_assert!(is_stored || !next.effects.iter().any(|effect| prunes.contains(effect)));
            state = next.state;
            steps += 1;
        }
        // The longest way: through the minimal context, an overflow of the provider, and back again.
        prop_assert!(state.is_over() && steps <= 20, "{steps} {state:?}");
    }
}
