//! Laws of retrieval.

use proptest::prelude::*;
use stemmata_model::{Chars, Estimate, EventSeq, Margin, Timestamp, TokenCounter, Tokens};

use super::candidate::{Beside, Candidate, CandidateKind, Provenance, Shares, Standing};
use super::relevance::{TaskTerm, TaskWords};
use super::render::Group;
use super::{Form, RetrieveWeights, choose, mark_superseded, score};
use crate::reduce::memory::ProjectMemory;

const WORDS: [&str; 6] = ["kiln", "glaze", "shelf", "cone", "retry", "pot"];

/// Counts more in a whole than in its parts, as no honest counter does by much.
struct Steep;

impl TokenCounter for Steep {
    fn count(&self, text: &str) -> Tokens {
        let chars = Chars::of(text).0;
        Tokens(chars / 3 + chars * chars / 20_000)
    }

    fn margin(&self) -> Margin {
        Margin { permille: 0 }
    }

    fn name(&self) -> String {
        "made up".to_owned()
    }
}

fn words(count: usize) -> TaskWords {
    let term = |(at, word): (usize, &&str)| TaskTerm {
        term: (*word).to_owned(),
        also: None,
        typed: (*word).to_owned(),
        weight: 1.0,
        entries: u32::try_from(at).expect("few") + 1,
    };
    TaskWords { terms: WORDS.iter().take(count).enumerate().map(term).collect(), entries: 1_000 }
}

prop_compose! {
    fn candidate()(
        kind in prop::sample::select(CandidateKind::ALL.to_vec()),
        id in "[a-f]{1,3}",
        full in prop::collection::vec(prop_oneof![
            prop::sample::select(WORDS.to_vec()).prop_map(str::to_owned),
            "(\\PC|\n|\u{200b}|\u{2028}|\r|> |\\(ctx){1,12}",
        ], 0..16).prop_map(|words| words.join(" ")),
        at in prop::option::of(0_i64..40_000_000_000),
        rank in prop::option::of(0.0_f32..9.0),
        (thread, ticket, is_tool_output) in any::<(bool, bool, bool)>(),
        standing in prop::sample::select(vec![Standing::Open, Standing::Settled, Standing::Superseded]),
        (entry, client) in ("\\PC{0,8}", "\\PC{0,8}"),
        window in prop::collection::vec("s/[a-f]{1,2}", 0..3),
    ) -> Candidate {
        let compact = full.chars().take(30).collect();
        let from = Provenance {
            entry: Some(entry),
            client,
            session: "s".to_owned(),
            at: at.map(Timestamp::from_micros),
            ..Provenance::default()
        };
        let place = Some(Candidate::place_of("s", &id));
        let shares = Shares { thread, ticket };
        let window = window.into_iter().map(|place: String| Beside { text: format!("before: {place}"), place }).collect();
        let speaker = thread.then(|| "user".to_owned());
        let nearness = rank.map(|rank| (rank / 4.0).clamp(0.0, 1.0));
        Candidate { kind, id, speaker, full, compact, from, rank, nearness, shares, standing, is_tool_output, place, window }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(2)))]

    #[test]
    fn reasons_add_up_to_the_score(all in prop::collection::vec(candidate(), 0..12), count in 0_usize..6) {
        let scored = score(all, &words(count), &RetrieveWeights::CHOSEN);
        for one in &scored {
            let sum: i64 = one.reasons.iter().map(|reason| reason.points_permille).sum();
            prop_assert_eq!(sum, one.score_permille);
            prop_assert!(one.reasons.iter().all(|reason| reason.points_permille != 0));
        }
        prop_assert!(scored.windows(2).all(|two| two[0].score_permille >= two[1].score_permille));
    }

    #[test]
    fn the_order_of_candidates_changes_nothing(
        all in prop::collection::vec(candidate(), 0..12), seed in any::<prop::sample::Index>(),
    ) {
        let mut all = all;
        // Ids name candidates, so no two have the same.
        all.iter_mut().enumerate().for_each(|(at, one)| one.id = format!("{}{at}", one.id));
        let mut turned = all.clone();
        if !turned.is_empty() {
            let at = seed.index(turned.len());
            turned.rotate_left(at);
        }
        let packed = |all| choose(score(all, &words(6), &RetrieveWeights::CHOSEN), "task", Tokens(400), &Estimate);
        prop_assert_eq!(packed(all), packed(turned));
    }

    #[test]
    fn recall_fits_its_budget_and_quotes_everything(
        all in prop::collection::vec(candidate(), 0..16), max in 0_u64..800, is_steep in any::<bool>(),
    ) {
        let counter: &dyn TokenCounter = if is_steep { &Steep } else { &Estimate };
        let pack = choose(score(all, &words(6), &RetrieveWeights::CHOSEN), "task", Tokens(max), counter);
        prop_assert!(pack.tokens.0 <= max);
        prop_assert_eq!(counter.count(&pack.text), pack.tokens);
        prop_assert!(pack.items.is_sorted_by_key(|item| std::cmp::Reverse(item.scored.score_permille)), "the best first");
        let headings: Vec<&str> = CandidateKind::ALL.iter().map(|kind| Group::of(*kind).heading().trim()).collect();
        for line in pack.text.lines().filter(|line| !line.is_empty() && !line.starts_with("> ")) {
            let is_origin = line.starts_with('(')
                && line.ends_with(')')
                && line.chars().all(|char| char.is_ascii_alphanumeric() || "-_.:@/#+, ()".contains(char));
            let is_ours = is_origin || headings.contains(&line) || line.starts_with("What follows was recalled");
            prop_assert!(is_ours, "{}", line);
        }
        let has_hidden = pack.text.chars().any(|char| matches!(char, '\u{200b}' | '\u{2028}' | '\r'));
        prop_assert!(!has_hidden);
        prop_assert!(pack.items.iter().all(|item| pack.text.contains(&item.text)));
        prop_assert_eq!(pack.items.is_empty(), pack.text.is_empty());
    }

    #[test]
    fn superseded_decisions_lose(one in candidate(), others in prop::collection::vec(candidate(), 0..6)) {
        let of = |id: &str, standing| Candidate {
            kind: CandidateKind::Decision,
            id: id.to_owned(),
            full: format!("{} kiln", one.full),
            standing,
            ..one.clone()
        };
        let mut all = others;
        all.push(of("old!", Standing::Superseded));
        all.push(of("new!", Standing::Open));
        let scored = score(all, &words(6), &RetrieveWeights::CHOSEN);
        let at = |id: &str| scored.iter().position(|one| one.candidate.id == id);
        prop_assert!(at("new!").expect("kept") < at("old!").expect("kept, for it matches"));
    }
}

fn said(kind: CandidateKind, id: &str, full: &str) -> Candidate {
    Candidate {
        kind,
        id: id.to_owned(),
        speaker: None,
        full: full.to_owned(),
        compact: full.to_owned(),
        from: Provenance::default(),
        rank: None,
        nearness: None,
        shares: Shares::default(),
        standing: Standing::Open,
        is_tool_output: false,
        place: Some(id.to_owned()),
        window: Vec::new(),
    }
}

fn packed(all: Vec<Candidate>, max: u64) -> Vec<(String, bool)> {
    let pack = choose(score(all, &words(6), &RetrieveWeights::CHOSEN), "task", Tokens(max), &Estimate);
    pack.items.into_iter().map(|one| (one.scored.candidate.id, one.form == Form::Compact)).collect()
}

#[test]
fn neighbours_in_a_window_are_not_told_again() {
    let hit = Candidate {
        rank: Some(2.0),
        window: vec![Beside { place: "b".to_owned(), text: "after: glaze".to_owned() }],
        ..said(CandidateKind::Hit, "a", "kiln glaze\nand more")
    };
    let all = vec![
        hit,
        said(CandidateKind::Turn, "b", "glaze, whole"),
        said(CandidateKind::Decision, "c", "Kiln  GLAZE"),
        said(CandidateKind::Decision, "d", "Glaze pot"),
        said(CandidateKind::Turn, "e", "TASK"),
        said(CandidateKind::Hit, "f", "glaze  POT"),
    ];
    assert_eq!(packed(all, 1_000), ["a", "c", "d"].map(|id| (id.to_owned(), false)));
}

#[test]
fn what_is_too_long_is_told_in_short_and_ends_nothing() {
    let long = format!("kiln glaze shelf cone retry pot {}", "clay ".repeat(400));
    let all = vec![
        Candidate { compact: long.clone(), ..said(CandidateKind::Hit, "too-long", &long) },
        Candidate {
            compact: "glaze".to_owned(),
            ..said(CandidateKind::Hit, "long", &format!("{long} once more"))
        },
        said(CandidateKind::Fact, "short", "pot"),
    ];
    assert_eq!(packed(all, 120), [("long".to_owned(), true), ("short".to_owned(), false)]);
}

#[test]
fn one_kind_leaves_room_for_others_and_gets_what_they_leave() {
    let hits = |count: usize| {
        (0..count).map(|at| {
            said(CandidateKind::Hit, &format!("{at:02}"), &format!("{} {at}", "kiln glaze ".repeat(10)))
        })
    };
    let mut all: Vec<Candidate> = hits(30).collect();
    all.push(said(CandidateKind::Task, "task", &"pot ".repeat(30)));
    let both = packed(all, 400);
    assert!(both.iter().any(|(id, _)| id == "task"), "{both:?}");
    assert!(both.len() > 8, "what is left is lent on: {both:?}");
}

/// A question quotes the decision that it asks for: the decision is the answer, not an echo.
#[test]
fn what_a_question_quotes_is_recalled() {
    use CandidateKind::{Decision, Hit, Thread, Turn};
    for (task, candidates, kept) in [
        ("why did we drop the retries", vec![said(Decision, "a", "drop the retries")], vec!["a"]),
        ("should we use S3 for uploads", vec![said(Decision, "a", "use S3")], vec!["a"]),
        (
            "login",
            vec![said(Decision, "a", "use Google login"), said(Decision, "b", "use Go")],
            vec!["a", "b"],
        ),
        ("is the queue slow", vec![said(Thread, "a", "is the queue slow")], vec!["a"]),
        ("fix the kiln", vec![said(Turn, "a", "Fix  the kiln"), said(Hit, "b", "fix the kiln")], vec![]),
        ("fix the kiln", vec![said(Hit, "a", "please fix the kiln")], vec!["a"]),
        (
            "x",
            vec![
                said(Decision, "a", "use kiln glaze"),
                said(Hit, "b", "kiln glaze"),
                said(Hit, "c", "kiln gla"),
            ],
            vec!["a", "c"],
        ),
    ] {
        let pack =
            choose(score(candidates, &words(6), &RetrieveWeights::CHOSEN), task, Tokens(4_000), &Estimate);
        let mut found: Vec<&str> = pack.items.iter().map(|item| item.scored.candidate.id.as_str()).collect();
        found.sort_unstable();
        assert_eq!(found, kept, "{task}");
    }
}

#[test]
fn what_repeats_a_replaced_decision_is_marked() {
    let proof = |source: &str| serde_json::json!({ "session": "s", "ordinal": source.parse::<u64>().expect("a number"), "source": source });
    let decision = |source: &str, text: &str, superseded: Option<&str>| {
        let one = serde_json::json!({
            "proof": proof(source), "kind": "decision", "by": "event", "text": text, "superseded": superseded.map(proof),
        });
        serde_json::from_value(one).expect("a decision")
    };
    let mut memory = ProjectMemory::default();
    memory.items.decisions = vec![
        decision("2", "Use Jina for web search", Some("3")),
        decision("3", "Use Exa for web search", None),
        decision("4", "Use it", Some("3")),
        decision("5", "Use Redis for the heron store", Some("3")),
    ];
    let said = |source: &str, kind, full: &str| Candidate {
        speaker: None,
        kind,
        id: source.to_owned(),
        compact: full.to_owned(),
        full: full.to_owned(),
        from: Provenance { event: EventSeq::new(source.parse().expect("a number")), ..Provenance::default() },
        rank: None,
        nearness: None,
        shares: Shares::default(),
        standing: Standing::Open,
        is_tool_output: false,
        place: Some(Candidate::place_of("s", source)),
        window: Vec::new(),
    };
    let mut candidates = [
        said("2", CandidateKind::Hit, "Use Jina for web search"),
        said("2", CandidateKind::Turn, "Use Jina\nfor web search\u{2028}\n- always"),
        said("9", CandidateKind::Hit, "They said: Use Jina for web search. And more."),
        said("3", CandidateKind::Hit, "Use Exa for web search"),
        said("8", CandidateKind::Hit, "Use it well"),
        said("2", CandidateKind::Decision, "Use Jina for web search"),
        said("10", CandidateKind::Hit, "Use Redis for the heron store. Use Jina for web search."),
    ];
    candidates[3].window = vec![Beside {
        place: "s/2".to_owned(),
        text: "(before it, user: use Jina for web search)".to_owned(),
    }];
    mark_superseded(&mut candidates, &memory);
    let beside: Vec<&str> = candidates[3].window.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(beside, ["[superseded: Use Jina for web search] (before it, user: use Jina for web search)"]);
    let told: Vec<(&str, Standing)> =
        candidates.iter().map(|one| (one.full.as_str(), one.standing)).collect();
    let longer = "[superseded: Use Jina for web search] They said: Use Jina for web search. And more.";
    let both = "[superseded: Use Jina for web search; Use Redis for the heron store] Use Redis for the heron store. Use Jina for web search.";
    let wanted = [
        ("[superseded] Use Jina for web search", Standing::Superseded),
        ("[superseded] Use Jina\n[superseded] for web search\n\n[superseded] - always", Standing::Superseded),
        (longer, Standing::Open),
        ("Use Exa for web search", Standing::Open),
        ("Use it well", Standing::Open),
        ("Use Jina for web search", Standing::Open),
        (both, Standing::Open),
    ];
    assert_eq!(told, wanted);
}
