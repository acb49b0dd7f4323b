//! The laws of ranking, tried with random entries: nothing that is skipped or cut in pieces changes an answer.

use proptest::prelude::*;

use super::first::{Candidate, candidates};
use super::plan::Plan;
use super::query::{Query, QueryInput, parse_query};
use super::*;

/// A prime above the count of entries, so that each has a key of its own.
const KEYS: u64 = 401;

/// Frequent words first: the lesser of two random numbers is drawn, so that postings differ in length.
const VOCABULARY: [&str; 12] =
    ["log", "file", "test", "index", "crash", "lock", "retry", "lease", "quota", "shard", "vacuum", "zebra"];

fn entries() -> impl Strategy<Value = Vec<MemoryEntry>> {
    let word = (0..12_usize, 0..12_usize).prop_map(|(one, two)| one.min(two));
    let words = proptest::collection::vec(word, 0..12);
    let entry = (words, 0..4_u8, 0..4_u8, 0..3_u16, 1..50_u32, proptest::bool::weighted(0.2));
    proptest::collection::vec(entry, 1..400).prop_map(|entries| {
        let mut group = 0;
        let entries =
            entries.into_iter().enumerate().map(|(at, (words, role, marked, author, minute, starts))| {
                group += u32::from(starts);
                let text: Vec<&str> = words.iter().map(|word| VOCABULARY[*word]).collect();
                let Terms { terms, length, .. } = entry_terms(&text.join(" "));
                let marks = ((marked & 1) * marks::ASKS) | ((marked >> 1) * marks::PROMPT);
                MemoryEntry {
                    // Unlike numbers, in another order: of two entries with one key, time and score, nothing says which comes first.
                    key: at as u64 * 7 % KEYS,
                    terms,
                    length,
                    class: role,
                    marks,
                    minute,
                    author,
                    group,
                }
            });
        entries.collect()
    })
}

fn queries() -> impl Strategy<Value = Query> {
    let word = proptest::sample::select(&VOCABULARY[..]);
    (proptest::collection::vec(word, 1..6), proptest::option::weighted(0.2, 0..12_usize)).prop_map(
        |(words, quoted)| {
            let quoted = quoted.map(|at| format!(" \"{}\"", VOCABULARY[at])).unwrap_or_default();
            let text = words.join(" ") + &quoted + " bob";
            parse_query(&QueryInput { text: &text, participants: &["Bob".to_owned()] }).expect("a query")
        },
    )
}

fn narrow(number: usize) -> u32 {
    u32::try_from(number).expect("few entries")
}

/// Cuts entries into segments.
fn segments(entries: &[MemoryEntry], size: usize) -> Vec<MemorySegment> {
    let chunks = entries.chunks(size.max(1)).enumerate();
    chunks.map(|(at, chunk)| MemorySegment::of(narrow(at * size.max(1)), chunk)).collect()
}

fn statistics(segments: &[MemorySegment]) -> Statistics {
    segments.iter().map(MemorySegment::statistics).fold(Statistics::default(), |sum, one| Statistics {
        entries: sum.entries + one.entries,
        length: sum.length + one.length,
    })
}

fn over<'a>(segments: &'a [MemorySegment], scope: Scope<'a>) -> Search<'a, MemorySegment> {
    Search { segments, statistics: statistics(segments), scope, weights: &Weights::MEASURED }
}

/// Scores every entry by itself, without blocks, bounds or segments.
fn brute(
    search: &Search<'_, MemorySegment>,
    plan: &Plan<MemoryPostings>,
    entries: &[MemoryEntry],
) -> Vec<f64> {
    let average = search.statistics.average_length();
    let score = |entry: &MemoryEntry| {
        let amounts = plan.terms.iter().map(|term| {
            let tf = entry.terms.iter().find(|(held, _)| *held == term.name).map_or(0, |held| held.1);
            term.idf * search.weights.saturation.of(f64::from(tf), f64::from(entry.length) / average)
        });
        amounts.sum::<f64>()
    };
    entries.iter().map(score).collect()
}

fn admits(scope: &Scope<'_>, query: &Query, number: u32, entry: &MemoryEntry) -> bool {
    scope.allowed.is_none_or(|allowed| allowed.contains(number))
        && (scope.classes.is_empty()
            || scope.classes.iter().any(|mask| mask.admits(entry.class, entry.marks)))
        && scope.admits_minute(entry.minute)
        && query.required().all(|needed| entry.terms.iter().any(|held| held.0 == needed.term))
}

fn search_all(
    search_in: &Search<'_, MemorySegment>,
    whole: &MemorySegment,
    query: &Query,
    wanted: Wanted,
) -> Vec<Scored> {
    search(search_in, whole, query, wanted).expect("memory does not fail")
}

proptest! {
    #[test]
    fn a_range_of_a_set_is_its_numbers(ranges in proptest::collection::vec((0..300_u32, 0..200_u32), 0..4)) {
        let (mut whole, mut single) = (NumberSet::default(), NumberSet::default());
        for (start, length) in ranges {
            whole.insert_range(start..start + length);
            single.extend(start..start + length);
        }
        prop_assert_eq!(whole, single);
    }

    #[test]
    fn the_first_stage_finds_what_scoring_everything_finds(
        entries in entries(), query in queries(), size in 1..300_usize, wanted in 1..20_usize,
        allowed in proptest::option::of(proptest::collection::vec(0..400_u32, 0..200)), since_minute in 0..30_u32,
        until_minute in prop_oneof![Just(u32::MAX), 0..60_u32],
    ) {
        let segments = segments(&entries, size);
        let allowed = allowed.map(|numbers| { let mut set = NumberSet::default(); set.extend(numbers); set });
        let classes = [
            ClassMask { roles: 0b1100, without: 1 << kinds::TOOL_RESULT, ..ClassMask::ALL },
            ClassMask { kinds: 0, marks: marks::ASKS, ..ClassMask::ALL },
        ];
        let scope = Scope { allowed: allowed.as_ref(), classes: &classes, since_minute, until_minute, ..Scope::ALL };
        let search = over(&segments, scope);
        let plan = Plan::of(&search, &query).expect("memory does not fail");
        let exact = brute(&search, &plan, &entries);
        let found = candidates(&search, &plan, &query, wanted).expect("memory does not fail");
        let number = |one: &Candidate| one.segment * size + one.number as usize;
        let scores_match = found.iter().all(|one| (f64::from(one.score) - exact[number(one)]).abs() < 1e-4);
        prop_assert!(scores_match);
        let passes = |at: &usize| exact[*at] > 0.0 && admits(&scope, &query, narrow(*at), &entries[*at]);
        let mut best: Vec<f64> = (0..entries.len()).filter(passes).map(|at| exact[at]).collect();
        best.sort_by(|one, two| two.total_cmp(one));
        best.truncate(wanted);
        let mut scores: Vec<f64> = found.iter().filter(|one| passes(&number(one))).map(|one| exact[number(one)]).collect();
        scores.sort_by(|one, two| two.total_cmp(one));
        prop_assert_eq!(scores.len(), best.len());
        prop_assert!(scores.iter().zip(&best).all(|(one, two)| (one - two).abs() < 1e-4));
    }

    #[test]
    fn segments_and_skipping_change_no_answer(entries in entries(), query in queries(), size in 1..200_usize) {
        let (whole, cut) = (segments(&entries, entries.len()), segments(&entries, size));
        let wanted = Wanted { hits: 20, candidates: 25 };
        let one = search_all(&over(&whole, Scope::ALL), &whole[0], &query, wanted);
        let mut reversed = cut.clone();
        reversed.reverse();
        prop_assert_eq!(&search_all(&over(&cut, Scope::ALL), &whole[0], &query, wanted), &one);
        prop_assert_eq!(&search_all(&over(&reversed, Scope::ALL), &whole[0], &query, wanted), &one);
    }

    #[test]
    fn two_stages_score_as_one_stage_does(entries in entries(), query in queries()) {
        let whole = segments(&entries, entries.len());
        let authors = [(1, "bob".to_owned()), (2, "ann".to_owned())];
        let scope = Scope { authors: &authors, ..Scope::ALL };
        let all = search_all(&over(&whole, scope), &whole[0], &query, Wanted { hits: 400, candidates: usize::MAX });
        let two = search_all(&over(&whole, scope), &whole[0], &query, Wanted { hits: 20, candidates: 40 });
        prop_assert!(two.iter().all(|found| all.contains(found)));
        let enough = search_all(&over(&whole, scope), &whole[0], &query, Wanted { hits: 20, candidates: 400 });
        prop_assert_eq!(&enough[..], &all[..all.len().min(20)]);
    }

    #[test]
    fn reasons_make_the_score_and_hits_are_in_scope(entries in entries(), query in queries(), since_minute in 0..50_u32) {
        let whole = segments(&entries, entries.len());
        let authors = [(1, "bob".to_owned())];
        let scope = Scope { authors: &authors, since_minute, ..Scope::ALL };
        let found = search_all(&over(&whole, scope), &whole[0], &query, Wanted::hits(50));
        for hit in &found {
            let amounts = hit.reasons.iter().filter(|reason| reason.name.is_amount()).map(|reason| reason.value);
            let factors = hit.reasons.iter().filter(|reason| !reason.name.is_amount()).map(|reason| reason.value);
            let product = amounts.sum::<f32>() * factors.product::<f32>();
            prop_assert!((product - hit.score).abs() <= hit.score * 1e-5);
            let at = hit.number as usize;
            prop_assert!(admits(&scope, &query, hit.number, &entries[at]));
            prop_assert_eq!((hit.minute, hit.key), (entries[at].minute, entries[at].key));
            let recipe = if entries[at].author == 0 { &Weights::MEASURED.agent } else { &Weights::MEASURED.conversation };
            // Every word of the vocabulary is one term, so that the share of terms is the share of words.
            let plan = Plan::of(&over(&whole, scope), &query).expect("memory does not fail");
            let holds = |term: &super::plan::Term| entries[at].terms.iter().any(|held| held.0 == term.name);
            let share = plan.terms.iter().filter(|term| holds(term)).map(|term| term.idf).sum::<f64>() / plan.terms.iter().map(|term| term.idf).sum::<f64>();
            let coverage = hit.reasons.iter().find(|reason| reason.name == ReasonName::Coverage).map_or(1.0, |reason| f64::from(reason.value));
            let has_several = plan.terms.len() > 1;
            let brevity = if has_several { (f64::from(query.length) / f64::from(entries[at].length.max(1))).min(1.0) } else { 0.0 };
            // Queries of these laws are short.
            let naive = if share == 0.0 { recipe.nearby } else { 1.0 + share.powi(4) * (recipe.coverage + recipe.brevity * brevity) };
            prop_assert!((naive - coverage).abs() < 1e-4, "{share} {brevity} {coverage}");
            let excused = if has_several { recipe.coverage * share.powi(4) } else { 0.0 };
            let naive = window_score(&entries, at, &query, &over(&whole, scope), (recipe, excused));
            let amount: f32 = hit.reasons.iter().filter(|reason| reason.name.is_amount()).map(|reason| reason.value).sum();
            prop_assert!((naive - f64::from(amount)).abs() < 1e-4, "{naive} {amount}");
        }
        let order = |hit: &Scored| (std::cmp::Reverse(hit.score.to_bits()), std::cmp::Reverse(hit.minute), hit.key);
        prop_assert!(found.is_sorted_by_key(order));
    }

    #[test]
    fn what_has_all_the_words_comes_before_what_stands_beside_them(entries in entries(), query in queries(), long in 0..400_usize) {
        let mut entries: Vec<MemoryEntry> = entries.into_iter().map(|entry| MemoryEntry { author: 0, ..entry }).collect();
        // As far as an entry is indexed, and the oldest of all.
        if let Some(entry) = entries.get_mut(long) {
            (entry.length, entry.minute) = (6_000, 1);
        }
        let whole = segments(&entries, entries.len());
        let over = over(&whole, Scope::ALL);
        let found = search_all(&over, &whole[0], &query, Wanted { hits: 400, candidates: usize::MAX });
        let plan = Plan::of(&over, &query).expect("memory does not fail");
        let held = |hit: &Scored| {
            let holds = |term: &&super::plan::Term| entries[hit.number as usize].terms.iter().any(|held| held.0 == term.name);
            plan.terms.iter().filter(holds).count()
        };
        let all = found.iter().rposition(|hit| held(hit) == plan.terms.len());
        let none = found.iter().position(|hit| held(hit) == 0);
        prop_assert!(all.is_none() || none.is_none() || all < none, "{all:?} {none:?}");
    }
}

/// The recipe's formula, read off the page.
fn window_score(
    entries: &[MemoryEntry],
    at: usize,
    query: &Query,
    search: &Search<'_, MemorySegment>,
    (recipe, excused): (&Recipe, f64),
) -> f64 {
    let plan = Plan::of(search, query).expect("memory does not fail");
    let mut window = vec![(at, 1.0)];
    for distance in 1..=WINDOW {
        let same = |other: usize| entries.get(other).is_some_and(|entry| entry.group == entries[at].group);
        let capped =
            |other: usize| (recipe.neighbour_tokens / f64::from(entries[other].length.max(1))).min(1.0);
        if let Some(other) = at.checked_sub(distance).filter(|other| same(*other)) {
            let asks = distance == 1 && entries[other].marks & marks::ASKS != 0;
            let asked = if asks { recipe.asked } else { 1.0 };
            window.push((other, recipe.before[distance - 1] * asked * capped(other)));
        }
        if same(at + distance) {
            window.push((at + distance, recipe.after[distance - 1] * capped(at + distance)));
        }
    }
    let length = |at: usize| f64::from(entries[at].length);
    let average = search.statistics.average_length();
    let whole = 1.0 + recipe.before.iter().chain(&recipe.after).sum::<f64>();
    let window_length: f64 = window.iter().map(|(other, weight)| length(*other) * weight).sum();
    let mut score = 0.0;
    for term in &plan.terms {
        let tf = |at: usize| {
            let held = entries[at].terms.iter().find(|(held, _)| *held == term.name);
            held.map_or(0.0, |held| f64::from(held.1))
        };
        let x: f64 = window.iter().map(|(other, weight)| tf(*other) * weight).sum();
        let saturation = |x: f64, ratio: f64| x * 2.2 / (x + 1.2 * (0.4 + 0.6 * ratio));
        score += term.idf * saturation(x, window_length / (average * whole));
        score += term.idf * recipe.own * saturation(tf(at), length(at) / average);
    }
    let is_prompt = entries[at].marks & marks::PROMPT != 0;
    let half = if is_prompt { recipe.prompt_length } else { recipe.length };
    score * length(at) / (length(at) + half * (1.0 - excused))
}

#[test]
fn a_name_is_found_in_other_letters() {
    let texts = ["push it to GitHub", "push it to github", "the JavaScript of it", "python", "全文検索する"];
    let entries: Vec<MemoryEntry> = texts
        .iter()
        .enumerate()
        .map(|(at, text)| {
            let Terms { terms, length, .. } = entry_terms(text);
            let (key, minute) = (at as u64, 1);
            MemoryEntry { key, terms, length, class: 0, marks: 0, minute, author: 0, group: narrow(at) }
        })
        .collect();
    let whole = segments(&entries, entries.len());
    for (text, wanted) in [
        ("github", vec![0, 1]),
        ("GitHub", vec![0, 1]),
        ("javascript", vec![2]),
        ("\"javascript\"", vec![2]),
        ("Python", vec![3]),
        ("\"検索\"", vec![4]),
    ] {
        let query = parse_query(&QueryInput { text, participants: &[] }).expect("a query");
        let found = search_all(&over(&whole, Scope::ALL), &whole[0], &query, Wanted::hits(9));
        let mut numbers: Vec<u32> = found.iter().map(|hit| hit.number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, wanted, "{text}");
        let matcher = Matcher::words(&query);
        assert!(numbers.iter().all(|at| matcher.is_match(texts[*at as usize])), "{text}");
    }
}
