//! One call of a model over one window: walks the machine of `flow` and carries out its effects as far as they are decisions.
//!
//! Storing is the caller's: it stores the checkpoint and the prune in one act, so that the machine may take the checkpoint as
//! made. If that act fails, neither is there.

use super::flow::{Effect, Event, FatalReason, State, begin, step};
use super::limits::Zone;
use super::prune::{
    ContextOverflow, Finding, PrunePlan, PruneRequest, judge_safety, plan_above_target, plan_prune,
    plan_to_target, validate,
};

/// What begins a course.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// A call was requested, and the window is in this zone.
    Call(Zone),
    /// The provider refused the context of a call.
    Refused,
}

/// What is to be done before the model is called.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Course {
    /// Whether a checkpoint is made first.
    pub makes_checkpoint: bool,
    /// The plan of a prune, where one was made.
    pub plan: Option<PrunePlan>,
    /// Whether the plan is carried out now. Else it is for later.
    pub prunes: bool,
    /// Why the model can't be called.
    pub stop: Option<FatalReason>,
    /// The smallest context, where it does not fit.
    pub overflow: Option<ContextOverflow>,
    /// Why, step by step.
    pub reasons: Vec<&'static str>,
}

/// Decides what is to be done before the model is called.
pub fn course(start: Start, request: PruneRequest<'_>) -> Course {
    let mut course = Course::default();
    let mut state = begin().state;
    let (zone, refused) = match start {
        Start::Call(zone) => (zone, None),
        // The call that was refused was made: it went through the safe zone as far as anybody knew.
        Start::Refused => (Zone::Safe, Some(Event::OverflowReported)),
    };
    for event in std::iter::once(Event::Measured(zone)).chain(refused) {
        state = course.walk(state, event, request);
    }
    course
}

impl Course {
    /// Walks on until the model is called, or nothing follows.
    fn walk(&mut self, mut state: State, first: Event, request: PruneRequest<'_>) -> State {
        let mut next = Some(first);
        while let Some(event) = next {
            let taken = step(state, event).expect("each event answers the last effect");
            state = taken.state;
            self.reasons.push(taken.reason);
            next = taken.effects.last().and_then(|effect| self.carry_out(*effect, request));
        }
        self.stop = state.fatal();
        state
    }

    /// Carries out an effect and returns what came of it; none where the caller acts next.
    fn carry_out(&mut self, effect: Effect, request: PruneRequest<'_>) -> Option<Event> {
        Some(match effect {
            Effect::CreateCheckpoint | Effect::CreateEmergencyCheckpoint => {
                self.makes_checkpoint = true;
                Event::CheckpointCreated
            }
            Effect::PlanPruning => {
                match plan_prune(request) {
                    Ok(plan) => self.plan = Some(plan),
                    Err(overflow) => self.overflow = Some(overflow),
                }
                Event::PruningPlanned
            }
            Effect::JudgePrune => Event::PruneJudged { is_safe: judge_safety(request).is_safe },
            Effect::Prune => {
                (self.plan, self.prunes) = (Some(plan_to_target(request)), true);
                Event::Pruned
            }
            Effect::Validate => {
                let findings = self.plan.as_ref().map(|plan| validate(request, plan)).unwrap_or_default();
                let is_valid = findings.is_empty();
                if let Some(plan) = &mut self.plan {
                    plan.findings = findings;
                }
                Event::Validated { is_valid }
            }
            Effect::BuildMinimal => Event::MinimalBuilt { fits: self.shrink(request) },
            // The emergency checkpoint that was just made holds this context: it is the last one, and there is a way back.
            Effect::JudgeRecovery => Event::RecoveryJudged { is_possible: true },
            Effect::LoadCheckpoint => Event::CheckpointLoaded,
            Effect::PruneAggressively => Event::PrunedAggressively { fits: self.shrink(request) },
            Effect::Resume => Event::Resumed,
            Effect::Measure
            | Effect::LogWarning
            | Effect::NoteNoCheckpoint
            | Effect::Execute
            | Effect::Stop => return None,
        })
    }

    /// Plans what is possible above the target. Returns whether it fits the window.
    fn shrink(&mut self, request: PruneRequest<'_>) -> bool {
        let findings: Vec<Finding> = self.plan.take().map(|plan| plan.findings).unwrap_or_default();
        match plan_above_target(request) {
            Ok(plan) => {
                (self.plan, self.prunes, self.overflow) = (Some(PrunePlan { findings, ..plan }), true, None);
                true
            }
            Err(overflow) => {
                (self.prunes, self.overflow) = (false, Some(overflow));
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use stemmata_model::{EntryId, Timestamp, Tokens};

    use super::super::item::{ContentType, Item};
    use super::super::limits::{Window, WindowSettings};
    use super::super::prune::{Form, kept_size};
    use super::super::tasks::TaskGraph;
    use super::*;

    fn item(at: usize, size: u64, is_pinned: bool) -> Item {
        let id = EntryId::new(format!("e{at}")).expect("a name");
        Item { is_pinned, content: ContentType::TaskHistory, ..Item::new(id, Tokens(size)) }
    }

    fn of(start: Option<Start>, limit: u64, items: &[Item]) -> Course {
        let window = Window::new(WindowSettings::of(Tokens(limit))).expect("limits");
        let size = items.iter().map(|item| item.size).sum();
        let tasks = TaskGraph::default();
        let request = PruneRequest { window: &window, items, tasks: &tasks, now: Timestamp::EPOCH };
        course(start.unwrap_or(Start::Call(window.zone(size))), request)
    }

    #[test]
    fn a_window_is_planned_in_danger_and_pruned_when_critical() {
        let items = |each| (0..10).map(|at| item(at, each, at == 0)).collect::<Vec<Item>>();
        let safe = of(None, 1_000, &items(60));
        assert_eq!((safe.makes_checkpoint, safe.plan, safe.stop), (false, None, None));
        let danger = of(None, 1_000, &items(90));
        assert!(danger.makes_checkpoint && danger.plan.is_some() && !danger.prunes);
        let critical = of(None, 1_000, &items(100));
        assert!(critical.makes_checkpoint && critical.prunes);
        assert_eq!(critical.plan.map(|plan| (plan.form, plan.after)), Some((Form::Pruned, Tokens(100))));
        let refused = of(Some(Start::Refused), 1_000, &items(100));
        assert!(refused.makes_checkpoint && refused.prunes && refused.stop.is_none());
    }

    #[test]
    fn pins_above_the_target_stay_with_what_fits_and_above_the_limit_stop() {
        let pinned = |each| [item(0, each, true), item(1, 200, false)];
        let tight = of(None, 1_000, &pinned(800));
        assert_eq!(
            tight.plan.as_ref().map(|plan| (plan.form, plan.after)),
            Some((Form::Pruned, Tokens(800)))
        );
        assert!(tight.prunes && tight.stop.is_none());
        let tighter = of(None, 1_000, &pinned(970));
        assert_eq!(tighter.plan.map(|plan| (plan.form, plan.after)), Some((Form::Minimal, Tokens(970))));
        let over = of(None, 1_000, &pinned(1_001));
        assert_eq!(over.stop, Some(FatalReason::StillTooLarge));
        assert!(over.plan.is_none() && !over.prunes);
        assert_eq!(over.overflow.map(|overflow| overflow.largest.to_string()), Some("e0".to_owned()));
    }

    proptest! {
        #[test]
        fn after_a_course_the_window_fits_or_a_typed_overflow_says_why_not(
            sizes in proptest::collection::vec((0..400_u64, proptest::bool::weighted(0.2)), 1..30), limit in 1..4_000_u64, refused: bool,
        ) {
            let items: Vec<Item> = sizes.iter().enumerate().map(|(at, (size, pinned))| item(at, *size, *pinned)).collect();
            let course = of(refused.then_some(Start::Refused), limit, &items);
            prop_assert_eq!(course.stop.is_some(), course.stop.is_some() && course.overflow.is_some());
            if course.prunes {
                let plan = course.plan.expect("a plan");
                prop_assert!(course.makes_checkpoint);
                prop_assert!(plan.after <= Tokens(limit));
                prop_assert_eq!(kept_size(&plan.decisions), plan.after);
                for (item, decision) in items.iter().zip(&plan.decisions) {
                    prop_assert!(decision.is_kept || !item.is_pinned);
                }
            }
        }
    }
}
