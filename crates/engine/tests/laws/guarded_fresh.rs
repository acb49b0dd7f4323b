//! What a tool has just returned goes to the model, however full the window is: hidden, the model would ask for it again.

use proptest::prelude::*;
use stemmata_engine::{EntryMark, TurnGuard, TurnMade};
use stemmata_model::{Entry, Part, Role, Tokens, Usage};

use crate::guarded::{begin, config, guard, id, pair, settings, turn};
use crate::support::engine;

/// One step: the calls that the model makes at once, and what each result takes.
fn steps() -> impl Strategy<Value = Vec<Vec<usize>>> {
    prop::collection::vec(prop::collection::vec(50..4_000_usize, 1..4), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn the_newest_results_go_to_the_model_or_it_is_not_called(
        steps in steps(), overhead in 0..31_000_u64, pins in 0..12_000_usize, archives: bool, off in -2_000..2_000_i64,
    ) {
        let engine = engine();
        let config = if archives { settings(32_000, |compact| compact.tool_call_cutoff = 1) } else { config(32_000) };
        begin(&engine, "prompt", pins, &config);
        engine.mark_entries(&turn(), (&[id("prompt")], EntryMark::Pin), None).expect("marked");
        let mut held = u64::try_from(pins).expect("small");
        for (number, results) in steps.iter().enumerate() {
            let names: Vec<String> = (0..results.len()).map(|at| format!("c{number}-{at}")).collect();
            let mut entries: Vec<Entry> = Vec::new();
            let pairs: Vec<[Entry; 2]> = names.iter().zip(results).map(|(name, tokens)| pair(name, *tokens)).collect();
            entries.extend(pairs.iter().map(|[call, _]| call.clone()));
            // What the provider reports is never quite what was counted.
            let said = overhead.saturating_add(held).saturating_add_signed(off);
            entries[0].meta.usage = Some(Usage { input_tokens: said, output_tokens: 1, ..Usage::default() });
            entries.extend(pairs.iter().map(|[_, result]| result.clone()));
            let guard = TurnGuard { overhead: Tokens(overhead), ..guard(&config) };
            let step = engine
                .guarded_step(&turn(), TurnMade { entries, ..TurnMade::default() }, Some(&guard))
                .expect("a step");
            let report = step.window.expect("a guard was given");
            let given = report.entries.expect("entries were asked for");
            let has = |name: &String| {
                given.iter().any(|entry| entry.id == id(&format!("{name}-result")))
                    && given.iter().any(|entry| entry.id == id(&format!("{name}-call")))
            };
            prop_assert!(names.iter().all(has), "{names:?} are hidden: {:?}", report.plan);
            if report.stop.is_some() {
                let overflow = report.overflow.expect("why");
                prop_assert!(overflow.least > overflow.limit);
                break;
            }
            held = given.iter().map(tokens).sum();
        }
    }
}

fn tokens(entry: &Entry) -> u64 {
    let of = |text: &str| u64::try_from(text.len() / 4).expect("small");
    let part = |part: &Part| match part {
        Part::Text(text) => of(text),
        Part::ToolResult { parts, .. } => {
            parts.iter().map(|part| if let Part::Text(text) = part { of(text) } else { 0 }).sum()
        }
        _ => 4,
    };
    entry.parts.iter().map(part).sum()
}

/// A result that no window can hold is what the overflow names, not the system prompt beside it.
#[test]
fn a_result_that_does_not_fit_is_named() {
    let engine = engine();
    let config = config(10_000);
    begin(&engine, "prompt", 10, &config);
    let made = TurnMade { entries: pair("c", 3_000).to_vec(), ..TurnMade::default() };
    let guard = TurnGuard { overhead: Tokens(8_000), ..guard(&config) };
    let step = engine.guarded_step(&turn(), made, Some(&guard)).expect("a step");
    let report = step.window.expect("a guard was given");
    assert!(report.stop.is_some());
    assert_eq!(report.overflow.expect("why").largest, id("c-result"));
    assert!(report.entries.expect("entries").iter().any(|entry| entry.role == Role::Tool));
}
