//! What is learned: pairs out of entries, and the median of many pairs.

use proptest::prelude::*;
use stemmata_model::{EntryId, Tokens};

use super::*;

const MODEL: &str = "claude-opus-4-5";

fn entry(role: Role, text: &str) -> Entry {
    Entry::said(EntryId::new("e").unwrap(), role, vec![Part::Text(text.to_owned())])
}

fn answer(model: &str, message: &str, sent: u64, text: &str) -> Entry {
    let mut entry = entry(Role::Assistant, text);
    entry.meta.model = Some(model.to_owned());
    entry.meta.message_id = Some(message.to_owned());
    let usage = Usage { input_tokens: 3, cache_read_tokens: sent - 3, ..Usage::default() };
    entry.meta.usage = Some(usage);
    entry
}

fn usage_pairs(entries: &[Entry]) -> Vec<UsagePair> {
    super::usage_pairs(entries, &|_| true)
}

fn words(count: usize) -> String {
    " word".repeat(count)
}

#[test]
fn a_pair_is_the_difference_of_two_answers_and_what_lies_between() {
    let entries = [
        entry(Role::User, "ignored: before the first answer"),
        answer(MODEL, "1", 5_000, &words(100)),
        answer(MODEL, "1", 5_000, &words(100)),
        entry(Role::Tool, &words(800)),
        answer(MODEL, "2", 6_400, &words(10)),
        entry(Role::Tool, &words(50)),
        answer(MODEL, "3", 6_470, "done"),
    ];
    let pairs = usage_pairs(&entries);
    let wanted = [(1_000, 1_400), (60, 70)].map(|(counted, reported)| UsagePair {
        model: MODEL.to_owned(),
        counted,
        reported,
    });
    assert_eq!(pairs, wanted);
    let mut ratios = Ratios::default();
    assert_eq!(
        pairs.iter().map(|pair| ratios.add(pair)).collect::<Vec<_>>(),
        [true, false],
        "the second is too small"
    );
}

#[test]
fn what_cannot_be_compared_makes_no_pair() {
    let first = || answer(MODEL, "1", 5_000, &words(500));
    let second = || answer(MODEL, "2", 5_700, "done");
    let between = |middle: Entry| usage_pairs(&[first(), middle, second()]).len();
    assert_eq!(between(entry(Role::Tool, "nothing in the way")), 1);
    let mut compaction = entry(Role::User, "a summary");
    compaction.kind = EntryKind::CompactionSummary;
    assert_eq!(between(compaction), 0, "the window begins anew");
    let mut image = entry(Role::Tool, "");
    image.parts = vec![Part::Opaque { runtime: "r".into(), kind: "k".into(), json: "{}".into() }];
    assert_eq!(between(image), 0, "what is not text cannot be counted");
    let others = usage_pairs(&[first(), answer("claude-haiku-4-5", "2", 5_700, "done")]);
    assert_eq!(others, [], "another model counts otherwise");
    assert_eq!(usage_pairs(&[first(), answer(MODEL, "2", 4_000, "done")]), [], "the window shrank");
    let mut side = second();
    side.meta.sidechain = Some("agent".to_owned());
    assert_eq!(usage_pairs(&[first(), side]), [], "a subagent has a window of its own");
    let known = super::usage_pairs(
        &[answer("gpt-5", "1", 5_000, &words(500)), answer("gpt-5", "2", 5_700, "done")],
        &|_| false,
    );
    assert_eq!(known, [], "nobody wants them");
}

fn pair(counted: u64, reported: u64) -> UsagePair {
    UsagePair { model: MODEL.to_owned(), counted, reported }
}

#[test]
fn a_factor_needs_enough_pairs_that_agree() {
    let learn = |pairs: &[(usize, u64, u64)]| {
        let mut ratios = Ratios::default();
        for (times, counted, reported) in pairs {
            for _ in 0..*times {
                ratios.add(&pair(*counted, *reported));
            }
        }
        ratios.factor_permille()
    };
    assert_eq!(learn(&[]), None);
    assert_eq!(learn(&[(11, 10_000, 14_000)]), None, "eleven pairs");
    assert_eq!(learn(&[(12, 1_000, 1_400)]), None, "12,000 tokens");
    let factor = learn(&[(12, 2_000, 2_800)]).unwrap();
    assert!((1_390..=1_410).contains(&factor), "{factor}: bins are one percent wide");
    let outliers = learn(&[(20, 2_000, 2_800), (4, 2_000, 5_900)]).unwrap();
    assert_eq!(outliers, factor, "a few turns with more added do not move the median");
    assert_eq!(learn(&[(20, 2_000, 1_600), (20, 2_000, 4_000)]), None, "two kinds of text do not agree");
    assert_eq!(
        learn(&[(50, 2_000, 20_000), (50, 2_000, 100), (50, 0, 0)]),
        None,
        "absurd figures are dropped"
    );
}

#[test]
fn a_published_encoding_is_used_as_it_is_and_others_by_what_was_learned() {
    let ratios = Ratios::from_bins([(103, 50_000)], 20);
    let learned = counter_of(MODEL, Some(&ratios)).unwrap();
    assert_eq!(
        (learned.to_string().as_str(), learned.from),
        ("o200k*1.400", FactorFrom::Learned { pairs: 20 })
    );
    assert_eq!(counter_of(MODEL, None).unwrap().to_string(), "o200k*1.180");
    assert_eq!(counter_of(MODEL, Some(&Ratios::default())).unwrap().from, FactorFrom::Shipped);
    assert_eq!(counter_of("gpt-5", Some(&ratios)).unwrap().to_string(), "o200k");
    assert_eq!(counter_of("somebody/new", Some(&ratios)), Some(learned), "an unknown model can be learned");
    assert_eq!(counter_of("somebody/new", None), None);
    assert_eq!(learned.scale(1_000), Tokens(1_400));
}

proptest! {
    #[test]
    fn learned_factors_do_not_depend_on_order(
        figures in proptest::collection::vec((0..5_000_u64, 0..15_000_u64), 0..60),
    ) {
        let learn = |figures: &mut dyn Iterator<Item = &(u64, u64)>| {
            let mut ratios = Ratios::default();
            for (counted, reported) in figures {
                ratios.add(&pair(*counted, *reported));
            }
            ratios
        };
        let (forward, backward) = (learn(&mut figures.iter()), learn(&mut figures.iter().rev()));
        prop_assert_eq!(&forward, &backward);
        let kept = Ratios::from_bins(forward.bins(), forward.pairs());
        prop_assert_eq!(kept.factor_permille(), forward.factor_permille());
    }

    #[test]
    fn a_file_of_any_figures_is_taken(
        bins in proptest::collection::vec((any::<u16>(), any::<u64>()), 0..20), pairs: u64,
    ) {
        let ratios = Ratios::from_bins(bins, pairs);
        prop_assert!(ratios.factor_permille().is_none_or(|factor| (490..3_100).contains(&factor)));
    }
}
