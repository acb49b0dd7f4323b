//! Tests of the boundary rules: each rule by example, and the laws that hold for all transcripts.

use proptest::prelude::*;
use stemmata_model::Counts;

use super::*;
use crate::adapter::{SegmentFacts, Splitter as _};
use crate::claude_code::samples_tests::{corpus_files, line, session};
use crate::lines::count::add;
use crate::lines::split::LineSplitter;

type Cuts = Vec<Cut>;

fn started(granularity: Granularity, state: Option<&[u8]>) -> LineSplitter<Turns> {
    LineSplitter::new(Turns, granularity, state)
}

fn cuts(splitter: &mut LineSplitter<Turns>, lines: &[Vec<u8>]) -> Cuts {
    let mut notes = Vec::new();
    lines.iter().map(|line| splitter.line(line, &mut notes)).collect()
}

fn all_cuts(granularity: Granularity, lines: &[Vec<u8>]) -> Cuts {
    cuts(&mut started(granularity, None), lines)
}

/// Lines before which, and after which, a commit closes.
fn places(cuts: &[Cut]) -> Vec<usize> {
    let before = cuts.iter().enumerate().filter(|(_, cut)| cut.before.is_some());
    let after = cuts.iter().enumerate().filter(|(_, cut)| cut.after.is_some());
    let mut places: Vec<usize> =
        before.map(|(line, _)| line).chain(after.map(|(line, _)| line + 1)).collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// Spells a transcript's cuts: `|` closes a delta, `!` a compaction, and a letter is a line.
fn spell(granularity: Granularity, letters: &str) -> String {
    let lines = session(letters);
    let cuts = all_cuts(granularity, &lines);
    let mut spelled = String::new();
    for (letter, cut) in letters.chars().zip(cuts) {
        spelled.extend(cut.before.map(
            |segment| {
                if segment.commit_type == CommitType::Delta { '|' } else { '?' }
            },
        ));
        spelled.push(letter);
        spelled.extend(cut.after.map(
            |segment| {
                if segment.commit_type == CommitType::Compaction { '!' } else { '?' }
            },
        ));
    }
    spelled
}

#[test]
fn turns_close_where_the_rule_says() {
    for (letters, expected) in [
        // Metadata ahead of the first prompt belongs to its turn; hooks and durations close nothing.
        ("mxUATRAdU", "mxUATRAd|U"),
        ("UU", "U|U"),
        // Tool results, the runtime's own user records and subagents open no turn.
        ("UARAIAsSAU", "UARAIAsSA|U"),
        // Trailing metadata is part of the turn before.
        ("UAmmU", "UAmm|U"),
        // A compaction: delta, compaction, rest.
        ("UABCmUA", "UA|BC!mUA"),
        ("UABCAU", "UA|BC!A|U"),
        // The boundary's summary may be some lines away.
        ("UABmmCU", "UA|BmmC!U"),
        // It never comes: a delta.
        ("UABmUA", "UA|Bm|UA"),
        ("UABAUA", "UA|BA|UA"),
        // A summary of an old version, without a boundary.
        ("UACUA", "UA|C!UA"),
        ("CUA", "C!UA"),
        // A boundary at the start, and two of them.
        ("BCU", "BC!U"),
        ("UABBCU", "UA|BBC!U"),
        // A subagent's compaction inside a main transcript is none.
        ("UAbcAU", "UAbcA|U"),
        // Garbage and blank lines are part of what they stand in.
        ("?U?A U", "?U?A |U"),
    ] {
        assert_eq!(spell(Granularity::Turn, letters), expected);
    }
}

#[test]
fn messages_and_every_n_close_where_the_rule_says() {
    for (letters, expected) in [
        ("mUAATRRZ", "mU|AAT|R|R|Z"),
        ("UAmRATU", "U|Am|RAT|U"),
        ("UABCA", "U|A|BC!A"),
        ("UABAZmCZ", "U|A|BAZmC!Z"),
    ] {
        assert_eq!(spell(Granularity::Message, letters), expected);
    }
    for (letters, expected) in
        [("UAUAUAUAUA", "UAUA|UAUA|UA"), ("UAUAUABCUAUAU", "UAUA|UA|BC!UAUA|U"), ("UAUBC", "UAU|BC!")]
    {
        assert_eq!(spell(Granularity::Every(2), letters), expected);
    }
}

#[test]
fn in_a_subagents_file_its_prompts_open_turns() {
    let lines = session("sSrSsSbcS");
    let cuts = all_cuts(Granularity::Turn, &lines);
    assert_eq!(places(&cuts), [4, 6, 8]);
    let mut splitter = started(Granularity::Turn, None);
    assert_eq!(splitter.template(), TEMPLATES.of(false));
    splitter.line(&lines[0], &mut Vec::new());
    assert_eq!(splitter.template(), TEMPLATES.of(true));
    assert_eq!(splitter.facts().agent.as_deref(), Some("a1b2"));
}

#[test]
fn a_segment_knows_its_time_and_counts() {
    let mut splitter = started(Granularity::Turn, None);
    let mut notes = Vec::new();
    let mut closed = Vec::new();
    for (index, letter) in "mUARBC?U".chars().enumerate() {
        let cut = splitter.line(&line(letter, index), &mut notes);
        closed.extend(cut.before);
        closed.extend(cut.after);
    }
    closed.push(splitter.open());
    let seconds = |segment: &SegmentFacts| segment.timestamp.map(|time| time.as_micros() / 1_000_000 % 60);
    assert_eq!(closed.iter().map(seconds).collect::<Vec<_>>(), [Some(3), Some(5), Some(7)]);
    let counts = closed.iter().map(|segment| (segment.counts.entries, segment.counts.messages));
    assert_eq!(counts.collect::<Vec<_>>(), [(4, 3), (2, 1), (2, 1)]);
}

#[test]
fn a_segments_time_is_its_greatest() {
    let mut splitter = started(Granularity::Turn, None);
    for (letter, second) in [('U', 5), ('A', 9), ('m', 0), ('R', 7)] {
        splitter.line(&line(letter, second), &mut Vec::new());
    }
    assert_eq!(splitter.open().timestamp.map(|time| time.as_micros() / 1_000_000 % 60), Some(9));
}

#[test]
fn counts_add_up_whatever_the_granularity() {
    let lines = session("mUATRBCxUAZ?U");
    let total = |granularity| {
        let mut splitter = started(granularity, None);
        let cuts = cuts(&mut splitter, &lines);
        let segments = cuts.iter().flat_map(|cut| [cut.before, cut.after]).flatten();
        segments.chain([splitter.open()]).fold(Counts::default(), |sum, segment| add(sum, segment.counts))
    };
    assert_eq!(total(Granularity::Turn), total(Granularity::Message));
    assert_eq!(total(Granularity::Turn), total(Granularity::Every(9)));
}

#[test]
fn an_unreadable_line_gives_a_note_with_its_number() {
    let mut splitter = started(Granularity::Turn, None);
    let mut notes = Vec::new();
    let garbage = b"{\"type\":\"user\0\0".to_vec();
    for line in [session("U").remove(0), Vec::new(), garbage] {
        splitter.line(&line, &mut notes);
    }
    assert_eq!(notes.len(), 1);
    assert_eq!(notes[0].line, Some(3));
    assert!(notes[0].message.contains("NUL"), "{}", notes[0].message);
    for _ in 0..1000 {
        splitter.line(b"garbage", &mut notes);
    }
    assert_eq!(notes.len(), 100);
}

/// Checks that cuts depend on nothing that comes later, and that every closed boundary's state gives the
/// same further cuts.
fn check_monotone(granularity: Granularity, lines: &[Vec<u8>], resumes_max: usize) {
    let whole = all_cuts(granularity, lines);
    let mut splitter = started(granularity, None);
    let boundaries = places(&whole);
    let every = boundaries.len() / resumes_max.max(1) + 1;
    let mut states = vec![(0, splitter.state())];
    for (index, line) in lines.iter().enumerate() {
        let cut = splitter.line(line, &mut Vec::new());
        assert_eq!(cut, whole[index]);
        if cut.before.is_some() && cut.after.is_none() {
            states.push((index, splitter.state()));
        }
        if cut.after.is_some() {
            states.push((index + 1, splitter.state()));
        }
    }
    for (from, state) in states.into_iter().step_by(every) {
        assert!(state.len() <= 4096, "{} bytes", state.len());
        let mut resumed = started(granularity, Some(&state));
        let mut expected = whole[from..].to_vec();
        if let Some(first) = expected.first_mut() {
            // That boundary is closed already.
            first.before = None;
        }
        assert_eq!(cuts(&mut resumed, &lines[from..]), expected, "resumed at line {from}");
        assert_eq!(resumed.facts().title, splitter.facts().title);
        assert_eq!(resumed.template(), splitter.template());
        assert_eq!(resumed.state(), splitter.state());
    }
}

#[test]
fn a_state_that_cannot_be_read_is_none() {
    let fresh = started(Granularity::Turn, None).state();
    for state in [&b""[..], b"\xff", b"[]", b"{\"v\":2}", b"{\"v\":1,\"lines\":1}"] {
        assert_eq!(started(Granularity::Turn, Some(state)).state(), fresh);
    }
}

proptest! {
    #[test]
    fn prefix_and_resume_give_the_same_cuts(letters in "[UARIBCmxdsSbcTZ? ]{0,36}", every in 1_u32..5) {
        let lines = session(&letters);
        for granularity in [Granularity::Turn, Granularity::Message, Granularity::Every(every)] {
            check_monotone(granularity, &lines, usize::MAX);
        }
    }

    #[test]
    fn coarser_boundaries_are_finer_ones_too(letters in "[UARIBCmxdsSbcTZ? ]{0,60}", every in 1_u32..5) {
        let lines = session(&letters);
        let turn = places(&all_cuts(Granularity::Turn, &lines));
        let message = places(&all_cuts(Granularity::Message, &lines));
        let coarse = places(&all_cuts(Granularity::Every(every), &lines));
        prop_assert_eq!(&places(&all_cuts(Granularity::Every(1), &lines)), &turn);
        prop_assert!(turn.iter().all(|place| message.contains(place)));
        prop_assert!(coarse.iter().all(|place| turn.contains(place)));
    }
}

#[test]
fn the_corpus_splits_monotonously() {
    for (name, bytes) in corpus_files() {
        let lines: Vec<Vec<u8>> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        check_monotone(Granularity::Turn, &lines, 2);
        let turn = all_cuts(Granularity::Turn, &lines);
        let compactions = turn.iter().filter(|cut| cut.after.is_some()).count();
        let boundaries = lines
            .iter()
            .filter(|line| Record::parse(line).is_ok_and(|record| record.is_compact_boundary()))
            .count();
        assert_eq!(compactions, boundaries, "{name}");
        println!(
            "{name}: {} lines, {} commits, {compactions} compactions",
            lines.len(),
            places(&turn).len() + 1
        );
    }
}
