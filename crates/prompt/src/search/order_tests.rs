//! What has to come before what in sessions of agents.

use super::query::{QueryInput, parse_query};
use super::*;
use stemmata_model::Role;

const PROMPT: (u8, u8) = (ClassMask::of(Role::User, kinds::MESSAGE), marks::PROMPT);
const ANSWER: (u8, u8) = (ClassMask::of(Role::Assistant, kinds::MESSAGE), 0);
const CALL: (u8, u8) = (ClassMask::of(Role::Assistant, kinds::MESSAGE), marks::CALL);
const RESULT: (u8, u8) = (ClassMask::of(Role::Tool, kinds::TOOL_RESULT), 0);
const EVENT: (u8, u8) = (ClassMask::of(Role::Assistant, kinds::EVENT), 0);
const SUMMARY: (u8, u8) = (ClassMask::of(Role::User, kinds::COMPACTION_SUMMARY), 0);

/// A session of an agent: a prompt begins a group, an event is one, and each entry comes a minute after the one before.
#[derive(Default)]
struct Told(Vec<MemoryEntry>);

impl Told {
    fn say(&mut self, (class, marks): (u8, u8), text: &str) -> u32 {
        let Terms { terms, length, .. } = entry_terms(text);
        let number = u32::try_from(self.0.len()).expect("few entries");
        let last = self.0.last().map_or(0, |entry| entry.group);
        let group = last + u32::from(marks & marks::PROMPT != 0 || class == EVENT.0);
        let (key, minute) = (u64::from(number), number + 1);
        self.0.push(MemoryEntry { key, terms, length, class, marks, minute, author: 0, group });
        number
    }

    /// Adds what an agent does for an hour: long calls and results that have one of the words each, again and again.
    fn work(&mut self, words: &[&str], times: usize) {
        for time in 0..times {
            let word = words[time % words.len()];
            self.say(
                CALL,
                &format!(
                    "Bash cargo {word} --package part{time} --all-targets and then {word} the rest of it"
                ),
            );
            let lines = format!("{word} of part{time} is done, and the {word} of what it needs\n");
            self.say(RESULT, &lines.repeat(1 + time % 9));
        }
    }

    fn found(&self, text: &str) -> Vec<u32> {
        let segment = [MemorySegment::of(0, &self.0)];
        let query = parse_query(&QueryInput { text, participants: &[] }).expect("a query");
        let statistics = segment[0].statistics();
        let asked = Search { segments: &segment, statistics, scope: Scope::ALL, weights: &Weights::MEASURED };
        let found = search(&asked, &segment[0], &query, Wanted::hits(1_000)).expect("memory does not fail");
        found.into_iter().map(|hit| hit.number).collect()
    }

    fn has(&self, number: u32, word: &str) -> bool {
        let wanted = entry_terms(word).terms;
        self.0[number as usize].terms.iter().any(|held| held.0 == wanted[0].0)
    }

    fn place(&self, text: &str, number: u32) -> Option<usize> {
        self.found(text).iter().position(|found| *found == number)
    }
}

#[test]
fn a_prompt_with_all_the_words_is_not_buried_under_calls_and_results_with_one_each() {
    let mut told = Told::default();
    told.say(PROMPT, "set up the project");
    told.work(&["lint", "build", "failing"], 100);
    let prompt = told.say(PROMPT, "why is lint failing on the build");
    told.say(ANSWER, "I will look into it.");
    told.work(&["lint", "build", "failing"], 300);
    for query in ["why is lint failing on the build", "build lint failing", "the failing of a lint in build"]
    {
        let place = told.place(query, prompt);
        assert!(place.is_some_and(|place| place < 3), "{query}: {place:?}");
    }
    // Two of three words are enough for the first page.
    assert!(told.place("lint failing", prompt).is_some_and(|place| place < 20));
}

#[test]
fn a_prompt_asked_for_whole_comes_first() {
    let mut told = Told::default();
    for part in 0..100 {
        told.say(CALL, &format!("Bash make all of part{part}"));
        // Logs have all of the words, again and again.
        let line = format!("lint and build of part{part}: nothing is failing, all tests are passing\n");
        told.say(RESULT, &line.repeat(1 + part % 9));
    }
    let why = told.say(PROMPT, "why is lint failing on the build");
    told.say(ANSWER, "I will look into it.");
    let are = told.say(PROMPT, "are all tests passing");
    told.say(ANSWER, "They are.");
    told.work(&["lint", "build", "failing", "tests", "passing", "all"], 300);
    for (query, prompt, place) in [
        ("why is lint failing on the build", why, 0),
        ("why is lint failing", why, 2),
        ("are all tests passing", are, 0),
    ] {
        let found = told.place(query, prompt);
        assert!(found.is_some_and(|at| at <= place), "{query}: {found:?}");
    }
}

#[test]
fn a_figure_is_found_where_it_was_just_said() {
    let mut told = Told::default();
    told.say(PROMPT, "make it faster");
    for part in 0..300 {
        told.say(CALL, &format!("Bash cargo bench --package part{part} and print it in ms"));
        let line = format!("part{part} took 12 ms of {part} ms, and the next 12 took {part} ms\n");
        told.say(RESULT, &line.repeat(1 + part % 9));
    }
    let prompt = told.say(PROMPT, "the bench says bench: 12 ms");
    let event = told.say(EVENT, "bench: 12 ms");
    assert_eq!(told.place("12 ms", event), Some(0));
    assert!(told.place("12 ms", prompt).is_some_and(|place| place < 10));
}

#[test]
fn what_has_the_words_comes_before_what_stands_beside_them() {
    let mut told = Told::default();
    let long =
        "Nothing else was said of it for a while, and the other parts went on as they were. ".repeat(60);
    let old = told.say(RESULT, &format!("{long} the retry of a lease {long}"));
    told.work(&["quota", "shard"], 30);
    for _ in 0..5 {
        told.say(PROMPT, "is the lease for a retry, a retry of the lease?");
        told.say(CALL, "Read the part that comes next");
    }
    let found = told.found("lease retry");
    let place = found.iter().position(|number| *number == old).expect("found");
    let beside = |number: &u32| ["lease", "retry"].iter().all(|word| !told.has(*number, word));
    assert!(found.iter().take(place).all(|number| !beside(number)), "{found:?}");
    assert!(found.iter().any(beside), "{found:?}");
}

#[test]
fn the_summary_of_a_compaction_comes_after_what_it_repeats() {
    let said = "Retries are dropped because the broker redelivers every message by itself";
    let mut told = Told::default();
    let prompt = told.say(PROMPT, said);
    let answer = told.say(ANSWER, said);
    told.work(&["queue", "broker"], 40);
    let summary = told.say(SUMMARY, said);
    let long = told.say(
        SUMMARY,
        &format!("This session is continued. {}{said}.", "It went on with the other parts. ".repeat(60)),
    );
    let found = told.found("why were retries dropped, does the broker redeliver?");
    let place = |number: u32| found.iter().position(|found| *found == number).expect("found");
    assert!(place(prompt) < place(summary).min(place(long)), "{found:?}");
    assert!(place(answer) < place(summary), "{found:?}");
}

#[test]
fn a_file_comes_before_what_has_the_parts_of_its_name() {
    let mut told = Told::default();
    let read = told.say(CALL, "Read crates/prompt/src/search/words.rs");
    let edit = told.say(
        RESULT,
        &format!("words.rs was changed. {}", "Other lines of it stay as they were. ".repeat(40)),
    );
    told.say(PROMPT, "words");
    told.say(PROMPT, "the words, rs, words of rs: words");
    told.work(&["words", "rs"], 60);
    let found = told.found("words.rs");
    assert_eq!(
        found.iter().take(2).copied().collect::<std::collections::BTreeSet<u32>>(),
        [read, edit].into(),
        "{:?}",
        found.get(..9)
    );
}
