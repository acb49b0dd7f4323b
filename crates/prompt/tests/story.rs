//! Laws of the folds, and what a turn says of itself.

use proptest::prelude::*;
use stemmata_model::{Entry, EntryId, EntryKind, Part, Role, SessionId, Timestamp, Usage};
use stemmata_prompt::story::{
    FileLines, Frame, SessionFold, SessionStory, Told, TurnCall, TurnOutcome, outlines, pieces,
};

fn entry(number: usize, role: Role, parts: Vec<Part>) -> Entry {
    let mut entry = Entry::said(EntryId::new(format!("e{number}")).expect("a name"), role, parts);
    let minutes = i64::try_from(number).expect("small");
    entry.timestamp = Some(Timestamp::from_micros(minutes * 60_000_000));
    entry
}

fn call(number: usize, name: &str, arguments: &str) -> Part {
    Part::ToolCall { call_id: format!("c{number}"), name: name.to_owned(), arguments: arguments.to_owned() }
}

fn result(number: usize, is_error: bool, text: &str) -> Part {
    Part::ToolResult { call_id: format!("c{number}"), is_error, parts: vec![Part::Text(text.to_owned())] }
}

/// Makes turns: of each, what it calls.
fn conversation(turns: &[Vec<u8>]) -> Vec<Vec<Entry>> {
    let mut number = 0;
    let mut all = Vec::new();
    for turn in turns {
        let mut next = |role, parts| {
            number += 1;
            entry(number, role, parts)
        };
        let mut entries = vec![next(Role::User, vec![Part::Text("Do it".to_owned())])];
        for (at, kind) in turn.iter().enumerate() {
            let id = all.len() * 100 + at;
            let (name, arguments, is_error, text) = match kind {
                0 => {
                    ("Edit", r#"{"file_path":"src/a.rs","old_string":"a","new_string":"b\nc"}"#, false, "ok")
                }
                1 => ("Bash", r#"{"command":"cargo test"}"#, true, "Exit code 101\nerror[E0308]: no"),
                2 => ("Bash", r#"{"command":"cargo test"}"#, false, "test result: ok"),
                3 => ("Bash", r#"{"command":"git commit -m x"}"#, false, "[main 1a2b3c4] x"),
                _ => ("Write", r#"{"file_path":"src/b.rs","content":"1\n2\n"}"#, false, "ok"),
            };
            let mut said = next(Role::Assistant, vec![call(id, name, arguments)]);
            said.meta.usage = Some(Usage { output_tokens: 7, ..Usage::default() });
            said.meta.message_id = Some(format!("m{id}"));
            entries.push(said);
            entries.push(next(Role::Tool, vec![result(id, is_error, text)]));
        }
        entries.push(next(Role::Assistant, vec![Part::Text("Done".to_owned())]));
        all.push(entries);
    }
    all
}

fn folded(commits: &[Vec<Entry>]) -> SessionStory<()> {
    let mut fold = SessionFold::new(&SessionId::new("s").expect("a name"), None);
    for entries in commits {
        fold.add((), entries, &[]);
    }
    fold.finish()
}

/// Returns a story without the positions within commits, which depend on how it was cut.
fn without_positions(mut story: SessionStory<()>) -> SessionStory<()> {
    for prompt in story.turns.iter_mut().filter_map(|turn| turn.outline.prompt.as_mut()) {
        prompt.position = 0;
    }
    story
}

proptest! {
    #[test]
    fn law_a_session_is_the_same_however_its_turns_are_cut_into_commits(
        turns in proptest::collection::vec(proptest::collection::vec(0_u8..5, 0..5), 1..6),
        cuts in proptest::collection::vec(any::<bool>(), 6),
    ) {
        let whole = conversation(&turns);
        let mut commits: Vec<Vec<Entry>> = Vec::new();
        for (turn, is_cut) in whole.iter().zip(cuts) {
            match commits.last_mut() {
                Some(last) if !is_cut => last.extend(turn.iter().cloned()),
                _ => commits.push(turn.clone()),
            }
        }
        let story = folded(&whole);
        prop_assert_eq!(without_positions(folded(&commits)), without_positions(story.clone()));
        // Every call is counted once, and its tokens.
        let calls: usize = turns.iter().map(Vec::len).sum();
        let counted: u64 = story.turns.iter().map(|turn| turn.outline.calls()).sum();
        prop_assert_eq!(counted, calls as u64);
        prop_assert_eq!(story.tokens.map_or(0, |tokens| tokens.output), 7 * calls as u64);
        let numbers: Vec<Option<u64>> = story.turns.iter().map(|turn| turn.number).collect();
        prop_assert_eq!(numbers, (1..=turns.len() as u64).map(Some).collect::<Vec<_>>());
    }

    #[test]
    fn law_a_turn_told_whole_has_every_call_once_with_its_answer(turn in proptest::collection::vec(0_u8..5, 0..8)) {
        let entries = conversation(std::slice::from_ref(&turn)).concat();
        let told = pieces(&entries, Frame::default());
        let calls: Vec<&TurnCall> = told.iter().filter_map(|piece| match &piece.what {
            Told::Called(call) => Some(call.as_ref()),
            _ => None,
        }).collect();
        prop_assert_eq!(calls.len(), turn.len());
        for call in calls {
            let answer = call.answered_at.and_then(|at| entries.get(at)).expect("an answer");
            prop_assert_eq!(answer.answers().next(), Some(call.call_id.as_str()));
        }
    }
}

#[test]
fn an_error_names_what_fixed_it() {
    // Tests fail, a file is changed, tests pass.
    let story = folded(&conversation(&[vec![1, 0, 2]]));
    let [error] = story.errors.as_slice() else { panic!("one error: {:?}", story.errors) };
    assert_eq!((error.what.as_str(), error.resolved, error.prompt), ("cargo test", true, Some(1)));
    assert_eq!(error.fixed_by, ["src/a.rs"]);
    let outline = &story.turns[0].outline;
    assert_eq!((outline.tests_passed, outline.tests_failed), (1, 1));
    assert_eq!(outline.outcome(), TurnOutcome::TestsPassed);
    assert_eq!(story.files["src/a.rs"], FileLines { added: 2, removed: 1 });
}

#[test]
fn pauses_are_no_work() {
    let mut entries = conversation(&[vec![], vec![]]).concat();
    // Two turns of a minute each, an hour apart.
    for entry in entries.iter_mut().skip(2) {
        entry.timestamp = entry.timestamp.map(|at| Timestamp::from_micros(at.as_micros() + 3_600_000_000));
    }
    let story = folded(&[entries]);
    assert_eq!(story.active_micros, 2 * 60_000_000);
    let of_turns: i64 = story.turns.iter().map(|turn| turn.outline.active_micros).sum();
    assert_eq!(of_turns, story.active_micros);
}

#[test]
fn a_turn_that_was_stopped_is_interrupted_until_somebody_answers() {
    let said = |number, role, text: &str| entry(number, role, vec![Part::Text(text.to_owned())]);
    let stopped = [
        said(1, Role::User, "Go"),
        said(2, Role::Assistant, "I begin"),
        said(3, Role::User, "[Request interrupted by user]"),
    ];
    let turns = outlines(&stopped, &[], Frame::default());
    assert_eq!(turns.len(), 1, "what the client says is no prompt");
    assert_eq!(turns[0].outcome(), TurnOutcome::Interrupted);
}

/// What the conversation went back from is of no turn, wherever its commits end, and what it changed stays changed.
#[test]
fn a_turn_that_was_taken_back_is_not_told_with_the_one_before() {
    let whole = conversation(&[vec![0], vec![1, 2], vec![3]]);
    let kept = [true, false, true];
    let told = |size: usize| {
        let mut fold = SessionFold::new(&SessionId::new("s").expect("a name"), None);
        let of = |(entries, is_active): (&Vec<Entry>, bool)| {
            let note = |entry: &Entry| {
                let mut note = entry.clone();
                (note.role, note.kind, note.meta.visibility.agent) =
                    (Role::System, EntryKind::Metadata, false);
                note
            };
            // The client notes something behind each turn.
            let entries: Vec<Entry> = entries.iter().cloned().chain(entries.last().map(note)).collect();
            entries.into_iter().map(move |entry| (entry, is_active)).collect::<Vec<_>>()
        };
        let all: Vec<(Entry, bool)> = whole.iter().zip(kept).flat_map(of).collect();
        for commit in all.chunks(size) {
            let (entries, is_active): (Vec<Entry>, Vec<bool>) = commit.iter().cloned().unzip();
            fold.add((), &entries, &is_active);
        }
        fold.finish()
    };
    let alone = folded(&[whole[0].clone(), whole[2].clone()]);
    for size in [1, 2, 3, 100] {
        let story = told(size);
        let calls = |story: &SessionStory<()>| -> Vec<(u64, i64)> {
            story.turns.iter().map(|turn| (turn.outline.calls(), turn.outline.active_micros)).collect()
        };
        assert_eq!(calls(&story), calls(&alone), "{size}");
        assert_eq!(story.files, folded(&whole).files, "{size}");
    }
}

/// Some clients write an answer's usage down before it is finished: such numbers are no sum.
#[test]
fn an_output_that_was_reported_in_part_is_no_sum() {
    let answers = |reported: u64| {
        let said = |number: usize| {
            let mut said = entry(number, Role::Assistant, vec![Part::Text("word ".repeat(200))]);
            said.meta.usage = Some(Usage { output_tokens: reported, input_tokens: 10, ..Usage::default() });
            said.meta.message_id = Some(format!("m{number}"));
            said
        };
        folded(&[(0..4).map(said).collect()]).tokens.expect("reported")
    };
    assert!(answers(3).output_partial);
    let whole = answers(240);
    assert_eq!((whole.output, whole.input, whole.output_partial), (960, 40, false));
}
