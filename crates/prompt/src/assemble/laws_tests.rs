//! The laws of assembly, for random packs, budgets and counters.

use proptest::prelude::*;
use stemmata_api::v1::{PromptBudget, PromptCandidate, PromptDecision};
use stemmata_model::{Chars, Estimate, Margin, Party, TokenCounter, Tokens, Topic};

use super::pack::{LengthUnit, Pack, PackLimits, SectionBudget};
use super::{Assembled, CHARS_MAX, PromptRequest, Selected, Trigger, build, select_packs};
use crate::profile::Profile;
use crate::select::tests::{MadeUp, anchors, hit};
use crate::strategy::{Priority, SectionKind, Selection, Share, Source, SourceTopic};

/// Counters that do what tokenizers do, and worse.
#[derive(Debug, Clone, Copy)]
enum Counter {
    Estimate,
    Bytes,
    /// Words: two texts count more apart than together.
    Words,
    /// Letters that follow another one: two texts count more together than apart.
    Pairs,
    /// The notice of the guard costs much.
    Brackets,
    Nothing,
}

impl TokenCounter for Counter {
    fn count(&self, text: &str) -> Tokens {
        let count = |number: usize| Tokens(u64::try_from(number).expect("a length"));
        match self {
            Self::Estimate => Estimate.count(text),
            Self::Bytes => count(text.len()),
            Self::Words => count(text.split_whitespace().count()),
            Self::Pairs => count(text.chars().count().saturating_sub(1)),
            Self::Brackets => count(1 + 40 * text.matches('[').count()),
            Self::Nothing => Tokens(0),
        }
    }

    fn margin(&self) -> Margin {
        Margin { permille: 0 }
    }

    fn name(&self) -> String {
        "made up".to_owned()
    }
}

fn counters() -> impl Strategy<Value = Counter> {
    prop::sample::select(vec![
        Counter::Estimate,
        Counter::Estimate,
        Counter::Bytes,
        Counter::Words,
        Counter::Pairs,
        Counter::Brackets,
        Counter::Nothing,
    ])
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        1 => Just(String::new()),
        4 => "[a-z \n\\[é日😀]{1,60}",
        1 => "[a-z ]{100,300}",
    ]
}

prop_compose! {
    fn a_pack()(
        priority in prop::sample::select(Priority::ALL.to_vec()),
        full in texts(),
        compact in texts(),
        (section, order) in (0..4_usize, 0..6_usize),
        preserve in any::<bool>(),
    ) -> Pack {
        Pack {
            priority,
            compact,
            order,
            preserve,
            section: format!("s{section}"),
            // Ids are not unique, on purpose.
            ..Pack::fixed(&format!("p{order}"), full)
        }
    }
}

#[derive(Debug, Clone)]
struct Case {
    packs: Vec<Pack>,
    max_tokens: Option<Tokens>,
    chars_max: Option<Chars>,
    unit: LengthUnit,
    counter: Counter,
    sections: Vec<SectionBudget>,
}

impl Case {
    fn selected(&self) -> Selected {
        select_packs(&self.packs, &self.limits())
    }

    fn limits(&self) -> PackLimits<'_> {
        PackLimits {
            max_tokens: self.max_tokens,
            chars_max: self.chars_max,
            unit: self.unit,
            counter: &self.counter,
            sections: &self.sections,
        }
    }
}

prop_compose! {
    fn cases()(
        packs in prop::collection::vec(a_pack(), 0..9),
        max_tokens in prop::option::weighted(0.9, 0..200_u64),
        chars_max in prop::option::weighted(0.5, 0..400_u64),
        is_utf16 in any::<bool>(),
        counter in counters(),
        bounds in prop::collection::vec((0..120_u64, 0..60_u64), 0..4),
    ) -> Case {
        let sections = bounds.into_iter().enumerate().map(|(index, (cap, floor))| SectionBudget {
            id: format!("s{index}"),
            kind: SectionKind::Topic,
            cap: Tokens(cap),
            floor: Tokens(floor.min(cap)),
        });
        Case {
            packs,
            max_tokens: max_tokens.map(Tokens),
            chars_max: chars_max.map(Chars),
            unit: if is_utf16 { LengthUnit::Utf16 } else { LengthUnit::Scalars },
            counter,
            sections: sections.collect(),
        }
    }
}

fn is_in(candidate: &PromptCandidate) -> bool {
    !matches!(candidate.decision, PromptDecision::Skipped | PromptDecision::Dropped)
}

/// Returns the packs in the order of the prompt: that of the candidates.
fn ordered(case: &Case) -> Vec<&Pack> {
    let mut packs: Vec<&Pack> = case.packs.iter().collect();
    packs.sort_by_key(|pack| pack.order);
    packs
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 9))]

    /// Invariant 2: a prompt stays within its budget, and only required packs overspend.
    #[test]
    fn invariant_02_a_prompt_stays_within_its_budget(case in cases()) {
        let selected = case.selected();
        let PromptBudget { over_budget_tokens, used_tokens, final_tokens, .. } = selected.budget;
        prop_assert_eq!(final_tokens, case.counter.count(&selected.text).0);
        prop_assert_eq!(used_tokens, selected.candidates.iter().map(|one| one.tokens).sum::<u64>());
        let Some(Tokens(max)) = case.max_tokens else {
            prop_assert_eq!(over_budget_tokens, 0);
            return Ok(());
        };
        let needed = used_tokens.max(final_tokens);
        prop_assert_eq!(over_budget_tokens, needed.saturating_sub(max));
        if over_budget_tokens > 0 {
            let spent = |one: &&PromptCandidate| is_in(one) && one.chars > 0;
            for one in selected.candidates.iter().filter(spent) {
                prop_assert_eq!(&one.priority, "required", "{:?} beyond the budget", one);
            }
        }
    }

    /// Required packs are never skipped, whatever the budget; only one that says nothing is.
    #[test]
    fn required_packs_are_never_skipped(case in cases()) {
        let selected = case.selected();
        for (pack, one) in ordered(&case).into_iter().zip(&selected.candidates) {
            let says_something = !pack.full.is_empty() || !pack.compact.is_empty();
            if pack.priority == Priority::Required && says_something {
                prop_assert!(is_in(one), "{:?}", one);
            }
        }
    }

    #[test]
    fn every_candidate_is_in_the_trace_once_and_says_what_is_in_the_prompt(case in cases()) {
        let selected = case.selected();
        let packs = ordered(&case);
        prop_assert_eq!(packs.len(), selected.candidates.len());
        let mut rest = selected.text.as_str();
        for (position, (pack, one)) in packs.into_iter().zip(&selected.candidates).enumerate() {
            prop_assert_eq!((&pack.id, &pack.section), (&one.id, &one.section));
            prop_assert_eq!(usize::try_from(one.position).ok(), Some(position));
            let own = case.unit.prefix(rest, Chars(one.chars));
            match one.decision {
                PromptDecision::Full => prop_assert_eq!(own, &pack.full),
                PromptDecision::Compact => prop_assert_eq!(own, &pack.compact),
                PromptDecision::Skipped | PromptDecision::Dropped => prop_assert_eq!(own, ""),
                // What is left of a text is its beginning, cut between characters, and the notice where there is room.
                PromptDecision::Truncated => {
                    let begun = own.strip_suffix(super::TRUNCATION_NOTICE).unwrap_or(own);
                    prop_assert!(pack.full.starts_with(begun) || pack.compact.starts_with(begun));
                }
            }
            let before = selected.text.len() - rest.len();
            prop_assert_eq!(case.unit.length(selected.text.get(..before).expect("a prefix")).0, one.offset_chars);
            rest = rest.strip_prefix(own).expect("its own beginning");
        }
        prop_assert_eq!(rest, "");
    }

    #[test]
    fn the_guard_holds_and_takes_optional_packs_first(case in cases()) {
        let selected = case.selected();
        if let Some(chars_max) = case.chars_max {
            prop_assert!(case.unit.length(&selected.text) <= chars_max);
        }
        let is_cut = selected.candidates.iter().any(|one| one.decision == PromptDecision::Truncated);
        let has_optional = selected.candidates.iter().any(|one| {
            one.priority != "required" && is_in(one) && one.chars > 0
        });
        prop_assert!(!(is_cut && has_optional), "{:?}", selected.candidates);
    }

    /// What a section took beyond its cap was lent, and all that was lent was there to be lent.
    #[test]
    fn sections_keep_within_their_caps_and_what_they_were_lent(case in cases()) {
        let selected = case.selected();
        let (mut within, mut lent) = (0, 0);
        for section in &selected.sections {
            prop_assert!(section.used_tokens <= section.cap_tokens.saturating_add(section.lent_tokens));
            within += section.used_tokens.min(section.cap_tokens);
            lent += section.lent_tokens;
        }
        if let Some(Tokens(max)) = case.max_tokens {
            let over = selected.budget.over_budget_tokens;
            prop_assert!(lent <= (max + over).saturating_sub(within), "lent {lent} of {max} after {within}");
        }
    }

    /// Unused budget is lent to whoever can use it: none is left that a pack would still fit into.
    #[test]
    fn no_budget_is_left_that_a_pack_needs(case in cases()) {
        let case = Case { chars_max: None, counter: Counter::Estimate, ..case };
        let selected = case.selected();
        let Some(left) = selected.budget.remaining_tokens else { return Ok(()) };
        for one in &selected.candidates {
            let free = left + one.tokens;
            match one.decision {
                PromptDecision::Compact if one.full_tokens > 0 => prop_assert!(one.full_tokens > free, "{:?}", one),
                PromptDecision::Skipped => {
                    prop_assert!(one.full_tokens == 0 || one.full_tokens > free, "{:?}", one);
                    prop_assert!(one.compact_tokens.is_none_or(|tokens| tokens > free), "{:?}", one);
                }
                _ => {}
            }
        }
    }

    /// Caps are what a section may take of another's: where all of them are within the budget, a section that keeps within
    /// its own is whole, whatever the others want and however important they are.
    #[test]
    fn a_section_within_its_cap_is_whole_where_the_caps_are_within_the_budget(
        wanted in prop::collection::vec((a_pack(), 1..60_u64), 1..6),
        spare in 0..20_u64,
    ) {
        let caps = wanted.iter().map(|(_, cap)| cap).sum::<u64>();
        let packs = wanted.iter().enumerate().map(|(index, (pack, _))| Pack {
            section: index.to_string(),
            priority: pack.priority.max(Priority::High),
            ..pack.clone()
        });
        let sections = wanted.iter().enumerate().map(|(index, (_, cap))| SectionBudget {
            id: index.to_string(),
            kind: SectionKind::Topic,
            cap: Tokens(*cap),
            floor: Tokens(0),
        });
        let case = Case {
            packs: packs.collect(),
            sections: sections.collect(),
            max_tokens: Some(Tokens(caps + spare)),
            chars_max: None,
            unit: LengthUnit::Scalars,
            counter: Counter::Estimate,
        };
        let selected = case.selected();
        for one in &selected.candidates {
            let section = selected.sections.iter().find(|section| section.id == one.section).expect("its section");
            if one.full_tokens > 0 && one.full_tokens <= section.cap_tokens {
                prop_assert_eq!(one.decision, PromptDecision::Full, "{:?} of {:?}", one, section);
            }
        }
    }

    /// What a floor keeps free is a section's own: its packs are whole whatever others want, unless required packs of
    /// others take the budget.
    #[test]
    fn a_section_gets_what_its_floor_keeps_free(case in cases(), text in "[a-z]{1,80}") {
        let needed = Estimate.count(&text);
        let own = Pack { priority: Priority::Low, section: "own".into(), order: 9, ..Pack::fixed("own", text) };
        let mut case = Case { chars_max: None, counter: Counter::Estimate, ..case };
        case.packs.retain(|pack| pack.priority != Priority::Required);
        case.packs.push(own);
        let floor = SectionBudget { id: "own".into(), kind: SectionKind::Topic, cap: needed, floor: needed };
        // Floors together are never more than the budget: a strategy in which they are is refused.
        case.sections.iter_mut().for_each(|section| section.floor = Tokens(0));
        case.sections.push(floor);
        let has_room = case.max_tokens.is_none_or(|max| max >= needed);
        let selected = case.selected();
        let last = selected.candidates.last().expect("the pack");
        prop_assert_eq!(last.decision == PromptDecision::Full, has_room, "{:?}", last);
    }

    /// Without caps and floors the choice is seed 000's: one walk by priority and place.
    #[test]
    fn without_caps_the_choice_is_that_of_the_seed(case in cases()) {
        let case = Case { sections: Vec::new(), chars_max: None, counter: Counter::Estimate, ..case };
        let selected = case.selected();
        let mut left = case.max_tokens.map_or(u64::MAX, |max| max.0);
        let mut packs: Vec<(&Pack, &PromptCandidate)> = ordered(&case).into_iter().zip(&selected.candidates).collect();
        packs.sort_by_key(|(pack, one)| (pack.priority, one.position));
        for (pack, one) in packs {
            let (full, compact) = (Estimate.count(&pack.full).0, Estimate.count(&pack.compact).0);
            let is_required = pack.priority == Priority::Required;
            let expected = if full == 0 && compact == 0 {
                PromptDecision::Skipped
            } else if full == 0 {
                if is_required || compact <= left { PromptDecision::Compact } else { PromptDecision::Skipped }
            } else if full <= left {
                PromptDecision::Full
            } else if compact > 0 && (compact <= left || (is_required && compact < full)) {
                PromptDecision::Compact
            } else if is_required {
                PromptDecision::Full
            } else {
                PromptDecision::Skipped
            };
            prop_assert_eq!(one.decision, expected, "{:?} of {:?}", one, pack);
            left = left.saturating_sub(one.tokens);
        }
    }

    /// Invariant 1, its last third: the same packs give the same bytes.
    #[test]
    fn the_same_packs_give_the_same_bytes(case in cases()) {
        let (one, two) = (case.selected(), case.selected());
        prop_assert_eq!(serde_json::to_string(&one.candidates).ok(), serde_json::to_string(&two.candidates).ok());
        prop_assert_eq!(one, two);
    }

    /// Invariant 4: what is shared with the previous prompt is shared, and nothing more would be.
    #[test]
    fn the_cached_prefix_is_a_prefix_of_both(
        shared in "[a-zé😀]{0,40}",
        // Letters that begin with the same bytes.
        (one, two) in ("[a-céè😀😁]{0,20}", "[a-céè😀😁]{0,20}"),
        counter in counters(),
    ) {
        let (previous, prompt) = (format!("{shared}{one}"), format!("{shared}{two}"));
        let prefix = super::cached_prefix(&previous, &prompt, &counter);
        let chars = usize::try_from(prefix.chars).expect("a length");
        let text: String = prompt.chars().take(chars).collect();
        prop_assert!(previous.starts_with(&text) && prompt.starts_with(&text));
        prop_assert!(prefix.chars >= Chars::of(&shared).0);
        prop_assert!(prefix.tokens <= counter.count(&text).0);
        let whole = super::cached_prefix(&prompt, &prompt, &counter);
        prop_assert_eq!(whole.tokens, counter.count(&prompt).0);
        if matches!(counter, Counter::Estimate) && text.len() < prompt.len() {
            prop_assert_eq!(prefix.tokens, prefix.chars / 4, "whole tokens only");
        }
    }
}

prop_compose! {
    fn sources()(
        topic in prop::sample::select(vec!["A", "B", "ISSUE_OPENED", "state", "retriever", "turns"]),
        selection in prop::option::of(prop::sample::select(Selection::ALL.to_vec())),
        (amount, compact_amount) in (prop::option::of(0..9_u32), prop::option::of(1..4_u32)),
        priority in prop::option::of(prop::sample::select(Priority::ALL.to_vec())),
        (cap, floor) in (prop::option::of(1..300_u64), prop::option::of(1..40_u64)),
    ) -> Source {
        let topic = match topic {
            "state" => SourceTopic::State,
            "retriever" => SourceTopic::Retriever,
            "turns" => SourceTopic::Turns,
            name => SourceTopic::Ledger(Topic::new(name).expect("a name")),
        };
        let share = |tokens: Option<u64>| tokens.map(|tokens| Share::Tokens(Tokens(tokens)));
        Source {
            strategy: selection,
            amount,
            priority,
            compact_amount,
            cap: share(cap),
            floor: share(floor),
            ..Source::of(topic)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 6))]

    /// A whole prompt: every source once in the trace, the trigger last and once, the budget held, the same bytes again;
    /// and what comes before the first section that changed is what the previous prompt had.
    #[test]
    fn whole_prompts_keep_the_laws(
        sources in prop::collection::vec(sources(), 0..7),
        max_tokens in 1..2_000_u64,
        events in 1..40_u64,
        counter in counters(),
    ) {
        let ledger = |events| MadeUp {
            state: Some("is known".to_owned()),
            hits: vec![hit("h1", "one"), hit("h2", "two")],
            ..MadeUp::of(events)
        };
        let agent = Profile::new(Party::new("agent").expect("a name"), "worker");
        let strategy = crate::strategy::Strategy { sources, max_tokens: Tokens(max_tokens) };
        let (topic, message) = (Topic::new("A").expect("a name"), ledger(events).message(events));
        let trigger = Some(Trigger { topic: &topic, message: &message });
        let request = PromptRequest { trigger, ..PromptRequest::new(&agent, &strategy, anchors(), &counter) };
        let Ok(first) = build(&request, &ledger(events));
        prop_assert_eq!(&first, &{ let Ok(again) = build(&request, &ledger(events)); again });
        let (budget, candidates) = (&first.trace.budget, &first.trace.candidates);
        prop_assert!(budget.final_tokens.max(budget.used_tokens) <= max_tokens + budget.over_budget_tokens);
        let found = candidates.iter().filter(|one| one.id.starts_with("source:")).count();
        prop_assert_eq!(found, strategy.sources.len());
        let said = format!("says {events}\n");
        prop_assert!(first.text.ends_with(&said));
        prop_assert_eq!(first.text.matches(&said).count(), 1);
        let request = PromptRequest { previous: Some(&first.text), ..request };
        let Ok(second) = build(&request, &ledger(events + 1));
        let texts = |prompt: &Assembled| -> Vec<String> {
            let all: Vec<char> = prompt.text.chars().collect();
            let place = |chars: u64| usize::try_from(chars).expect("small");
            let own = prompt.trace.candidates.iter().map(|one| (place(one.offset_chars), place(one.chars)));
            own.map(|(from, chars)| all.iter().skip(from).take(chars).collect()).collect()
        };
        let same = texts(&first).iter().zip(&texts(&second)).take_while(|(one, two)| one == two).count();
        for one in second.trace.candidates.iter().take(same).filter(|one| one.chars > 0) {
            prop_assert!(one.cached, "{:?}", one);
        }
    }
}

#[test]
fn the_guard_of_a_prompt_is_that_of_the_seed() {
    assert_eq!(CHARS_MAX, Chars(500_000));
}
