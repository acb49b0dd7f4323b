//! Every edge of the first chart of seed 002, those that the specification adds, the list of recovery steps, and the laws.

use proptest::prelude::*;

use super::*;

/// Takes the edge from a node, on the first try.
fn edge(from: Node, event: Event, to: Node, effects: &[Effect]) {
    let step = step(State { node: from, retries: 0 }, event).expect("an edge");
    assert_eq!((step.state.node, step.effects.as_slice()), (to, effects), "{}", step.reason);
    assert!(!step.reason.is_empty());
}

macro_rules! edges {
    ($($name:ident: $from:expr, $event:expr => $to:expr, [$($effect:ident),*];)*) => {
        $(
            #[test]
            fn $name() {
                edge($from, $event, $to, &[$(Effect::$effect),*]);
            }
        )*

        /// Every edge of the tables: the machine has no others, which the laws check.
        const EDGES: &[(Node, Event)] = &[$(($from, $event)),*];
    };
}

#[test]
fn chart_1_start_check_size() {
    let step = begin();
    assert_eq!((step.state.node, step.effects), (Node::Measuring, vec![Effect::Measure]));
}

edges! {
    chart_1_check_size_below_70_safe_zone_execute: Node::Measuring, Event::Measured(Zone::Safe) => Node::Executing, [Execute];
    chart_1_check_size_70_to_85_warning_zone_log_warning_execute: Node::Measuring, Event::Measured(Zone::Warning) => Node::Executing, [LogWarning, Execute];
    chart_1_check_size_85_to_95_danger_zone_create_checkpoint: Node::Measuring, Event::Measured(Zone::Danger) => Node::CreatingCheckpoint, [CreateCheckpoint];
    chart_1_create_checkpoint_plan_pruning: Node::CreatingCheckpoint, Event::CheckpointCreated => Node::PlanningPruning, [PlanPruning];
    chart_1_plan_pruning_execute: Node::PlanningPruning, Event::PruningPlanned => Node::Executing, [Execute];
    chart_1_check_size_from_95_critical_zone_emergency_checkpoint: Node::Measuring, Event::Measured(Zone::Critical) => Node::EmergencyCheckpoint, [CreateEmergencyCheckpoint];
    chart_1_emergency_checkpoint_can_prune_safely: Node::EmergencyCheckpoint, Event::CheckpointCreated => Node::JudgingPrune, [JudgePrune];
    chart_1_can_prune_safely_yes_prune_now: Node::JudgingPrune, Event::PruneJudged { is_safe: true } => Node::Pruning, [Prune];
    chart_1_prune_now_pruning_successful: Node::Pruning, Event::Pruned => Node::Validating, [Validate];
    chart_1_pruning_successful_yes_execute: Node::Validating, Event::Validated { is_valid: true } => Node::Executing, [Execute];
    chart_1_pruning_successful_no_fallback_minimal: Node::Validating, Event::Validated { is_valid: false } => Node::BuildingMinimal, [BuildMinimal];
    chart_1_fallback_minimal_execute: Node::BuildingMinimal, Event::MinimalBuilt { fits: true } => Node::Executing, [Execute];
    chart_1_can_prune_safely_no_overflow_recovery_possible: Node::JudgingPrune, Event::PruneJudged { is_safe: false } => Node::JudgingRecovery, [JudgeRecovery];
    chart_1_recovery_possible_yes_load_checkpoint: Node::JudgingRecovery, Event::RecoveryJudged { is_possible: true } => Node::LoadingCheckpoint, [LoadCheckpoint];
    chart_1_load_checkpoint_aggressive_pruning: Node::LoadingCheckpoint, Event::CheckpointLoaded => Node::PruningAggressively, [PruneAggressively];
    chart_1_aggressive_pruning_resume: Node::PruningAggressively, Event::PrunedAggressively { fits: true } => Node::Resuming, [Resume];
    chart_1_recovery_possible_no_fatal: Node::JudgingRecovery, Event::RecoveryJudged { is_possible: false } => Node::Stopped(FatalReason::NoRecovery), [Stop];
    chart_1_execute_call_complete: Node::Executing, Event::CallCompleted => Node::Complete, [];
    chart_1_resume_call_complete: Node::Resuming, Event::Resumed => Node::Complete, [];
    a_checkpoint_that_fails_in_the_danger_zone_is_noted_and_nothing_is_pruned: Node::CreatingCheckpoint, Event::CheckpointFailed => Node::PlanningPruning, [NoteNoCheckpoint, PlanPruning];
    an_emergency_checkpoint_that_fails_is_fatal_and_nothing_is_pruned: Node::EmergencyCheckpoint, Event::CheckpointFailed => Node::Stopped(FatalReason::CheckpointFailed), [Stop];
    a_minimal_context_that_does_not_fit_is_an_overflow: Node::BuildingMinimal, Event::MinimalBuilt { fits: false } => Node::JudgingRecovery, [JudgeRecovery];
    a_checkpoint_that_can_not_be_loaded_is_fatal: Node::LoadingCheckpoint, Event::LoadFailed => Node::Stopped(FatalReason::LoadFailed), [Stop];
    a_checkpoint_that_does_not_fit_either_is_fatal: Node::PruningAggressively, Event::PrunedAggressively { fits: false } => Node::Stopped(FatalReason::StillTooLarge), [Stop];
    an_overflow_that_the_provider_reports_prunes_and_retries: Node::Executing, Event::OverflowReported => Node::EmergencyCheckpoint, [CreateEmergencyCheckpoint];
}

#[test]
fn chart_1_fatal_system_stopped() {
    let stopped = State { node: Node::Stopped(FatalReason::NoRecovery), retries: 0 };
    assert!(stopped.is_over() && stopped.fatal() == Some(FatalReason::NoRecovery));
    assert!(step(stopped, Event::CallCompleted).is_err(), "nothing follows");
}

#[test]
fn a_second_overflow_of_one_call_is_fatal() {
    let again = step(State { node: Node::Executing, retries: RETRIES_MAX }, Event::OverflowReported).expect("an edge");
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
    let mut events: Vec<Event> = EDGES.iter().map(|(_, event)| *event).collect();
    events.extend(Zone::ALL.map(Event::Measured));
    events
}

#[test]
fn the_machine_has_no_edge_without_a_test() {
    for (from, _) in EDGES {
        for event in every_event() {
            let is_edge = step(State { node: *from, retries: 0 }, event).is_ok();
            assert_eq!(is_edge, EDGES.contains(&(*from, event)), "{from:?} {event:?}");
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
