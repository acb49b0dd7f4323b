//! Hits are what was asked for, however much else there is, and each names a session that passes the filter.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::ops::ControlFlow;

use stemmata_engine::{Engine, SearchFilter, SearchForm, SearchHit, SearchQuery, SettleBudget};
use stemmata_model::{LedgerId, NewEvent, NewPayload, Party, SessionId, Timestamp, topics};
use stemmata_store::Append;
use tempfile::TempDir;

use crate::search::{conversation, hits, indexed, query, search};
use crate::support::{Folder, answer, import, new_store, placing, user};

#[test]
fn a_hit_names_a_session_that_passes_and_of_all_the_one_that_said_it_first() {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    let first = import(&engine, &folder.write("a.jsonl", &conversation(3, "kiln")));
    let placed = engine.place(first.session.tip.expect("a tip"), &placing(&folder)).expect("placed");
    let mut file = std::fs::OpenOptions::new().append(true).open(&placed.path).expect("a file");
    for line in [user(7, Some(6), "and this fork?"), answer(8, 7, "it goes on")] {
        file.write_all(line.as_bytes()).expect("written");
    }
    import(&engine, &placed.path);
    let (old, fork) = (first.session.session.as_str(), placed.session.as_str());
    let of = |id: Option<&str>| {
        let filter = SearchFilter { session: id.map(str::to_owned), ..SearchFilter::default() };
        search(&engine, &SearchQuery { filter, ..query("kiln") }).hits
    };
    for (asked, named, other) in [(Some(old), old, fork), (Some(fork), fork, old), (None, old, fork)] {
        let found = of(asked);
        assert_eq!(found.len(), 6, "{asked:?}");
        for hit in found {
            assert_eq!(hit.place.session, named, "{asked:?}");
            if asked.is_none() {
                assert_eq!(hit.also_in, [other]);
            }
        }
    }
}

/// A phrase is found though more entries than are read at first have its words.
#[test]
fn a_phrase_is_found_among_many_entries_with_its_words() {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    let mut lines = vec![user(1, None, "run them")];
    for number in 2..=700 {
        let text = if number == 300 {
            "so much else was said here before a flaky test came"
        } else {
            "test flaky test"
        };
        lines.push(answer(number, number - 1, &format!("{text} {number}")));
    }
    import(&engine, &folder.write("a.jsonl", lines.concat().as_bytes()));
    let found = hits(&engine, "\"a flaky test\"");
    assert_eq!(found.len(), 1, "{found:?}");
}

/// Kinds are ranked for themselves: what none of them admits takes no place.
#[test]
fn what_no_kind_admits_takes_no_hits_place() {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    let mut lines = Vec::new();
    for turn in 0..60 {
        let number = turn * 2 + 1;
        lines.push(user(number, (turn > 0).then(|| number - 1), "kiln kiln kiln"));
        lines.push(answer(number + 1, number, "the kiln is warm, and much else is to be said of it"));
    }
    import(&engine, &folder.write("a.jsonl", lines.concat().as_bytes()));
    let filter = SearchFilter {
        kinds: vec!["answer".to_owned(), "decision".to_owned()],
        no_tool_output: true,
        ..SearchFilter::default()
    };
    let found = search(&engine, &SearchQuery { filter, hits_max: 20, ..query("kiln") });
    assert_eq!((found.hits.len(), found.notes), (20, Vec::new()));
    assert!(found.hits.iter().all(|hit| hit.role.as_str() == "assistant"));
}

#[test]
fn texts_are_looked_for_in_events_too() {
    let (store, dir) = (new_store(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    let payload = NewPayload::Plain { text: Some("keep --no-verify out".to_owned()), data: None };
    let topic = topics::topic(topics::DECISION_EVENT);
    let session = SessionId::new("s1").expect("a name");
    let events = vec![NewEvent::new(session, topic, Party::new("ada").expect("a name"), payload)];
    let now = Timestamp::from_micros(1_700_000_000_000_000);
    let append = Append::new(LedgerId::new("kiln").expect("a name"), events, now);
    engine.log().append(append).expect("appended");
    for (form, text) in [(SearchForm::Literal, "--no-verify"), (SearchForm::Regex, "--no-\\w+ out$")] {
        let asked = SearchQuery { form, budget: SettleBudget::All, ..query(text) };
        let found = engine.search(&asked, &mut |_, _, _| ControlFlow::Continue(())).expect("an answer");
        assert_eq!(found.hits.len(), 1, "{text}");
    }
}

/// What a page of hits shows: the session and the text, then how many more show the same and in how many further sessions.
fn page(engine: &Engine, asked: &SearchQuery) -> Vec<(String, String, u64, usize)> {
    let asked = SearchQuery { is_spread: true, ..asked.clone() };
    let shown = |hit: SearchHit| (hit.place.session, hit.snippet, hit.alike, hit.also_in.len());
    search(engine, &asked).hits.into_iter().map(shown).collect()
}

#[test]
fn neither_equal_texts_nor_one_session_fill_a_page() {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    for session in 0..3_u32 {
        let mut lines = vec![user(1, None, &format!("kiln kiln {session}"))];
        for number in 2..=59 {
            // Every other answer is the same in all sessions; the first session has more of the word in the rest.
            let text = if number % 2 == 0 {
                "the kiln is warm".to_owned()
            } else {
                format!(
                    "kiln {} {session} {number}",
                    if session == 0 { "kiln kiln kiln" } else { "and more" }
                )
            };
            lines.push(answer(number, number - 1, &text));
        }
        let name = format!("0000000{session}-0000-4000-8000-000000000000.jsonl");
        let text = lines
            .concat()
            .replace("aaaaaaaa", &format!("aaaaaaa{session}"))
            .replace("\"s\"", &format!("\"s{session}\""));
        import(&engine, &folder.write(&name, text.as_bytes()));
    }
    let found = page(&engine, &SearchQuery { hits_max: 10, ..query("kiln") });
    assert_eq!(found.len(), 10);
    for (session, ..) in &found {
        let first = found.iter().take(9).filter(|(other, ..)| other == session).count();
        assert!(first <= 3, "{found:?}");
    }
    let texts: BTreeSet<&String> = found.iter().map(|(_, text, ..)| text).collect();
    assert_eq!(texts.len(), found.len(), "{found:?}");
    // Fewer hits are the beginning of more, and the same question has the same answer.
    let all = page(&engine, &SearchQuery { hits_max: 200, ..query("kiln") });
    let names = |found: &[(String, String, u64, usize)]| -> Vec<(String, String)> {
        found.iter().map(|(session, text, ..)| (session.clone(), text.clone())).collect()
    };
    for hits_max in [1, 5, 10, 70] {
        let some = page(&engine, &SearchQuery { hits_max, ..query("kiln") });
        assert_eq!(names(&some), names(&all[..hits_max.min(all.len())]), "{hits_max}");
    }
    // Nothing is lost: what is not listed is counted where the same is shown, and both other sessions are named.
    let plain = hits_of(&engine, 500);
    assert_eq!(all.iter().map(|(_, _, alike, _)| alike + 1).sum::<u64>(), plain);
    assert_eq!(
        all.iter().filter(|(_, text, ..)| text.contains("warm")).map(|hit| hit.3).collect::<Vec<_>>(),
        [2]
    );
    // A session that is asked for may fill the page.
    let session = found[0].0.clone();
    let filter = SearchFilter { session: Some(session.clone()), ..SearchFilter::default() };
    let of_one = page(&engine, &SearchQuery { filter, hits_max: 10, ..query("kiln") });
    assert_eq!(of_one.iter().filter(|hit| hit.0 == session).count(), 10);
}

fn hits_of(engine: &Engine, hits_max: usize) -> u64 {
    search(engine, &SearchQuery { hits_max, ..query("kiln") }).hits.len() as u64
}

/// In a conversation of people every line is somebody's own, and the answers to a question may all be in one session.
#[test]
fn what_people_said_stays_where_it_is_ranked() {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    let line = |at: usize| {
        let author = if at.is_multiple_of(2) { "Ann" } else { "Bob" };
        format!(
            "{{\"v\":\"stemmata-v1\",\"id\":\"i{at}\",\"timestamp\":\"2026-01-01T00:00:{at:02}Z\",\"role\":\"user\",\"kind\":\"message\",\"parts\":[{{\"type\":\"text\",\"text\":\"the kiln is {}\"}}],\"meta\":{{\"author\":\"{author}\",\"cwd\":\"/home/ann\"}}}}\n",
            if at.is_multiple_of(3) { "warm" } else { "cold" }
        )
    };
    let text: String = (0..12).map(line).collect();
    import(&engine, &folder.write("talk.jsonl", text.as_bytes()));
    let plain = search(&engine, &query("kiln"));
    assert_eq!(plain.hits.len(), 12);
    assert_eq!(search(&engine, &SearchQuery { is_spread: true, ..query("kiln") }), plain);
}

#[test]
fn a_hit_with_none_of_the_words_says_so() {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    for (name, word) in [("a.jsonl", "EACCES"), ("b.jsonl", "漢字")] {
        let lines =
            [user(1, None, &format!("what is {word}?")), answer(2, 1, &format!("nobody may write {name}"))];
        import(&engine, &folder.write(name, lines.concat().as_bytes()));
        let found = hits(&engine, word);
        let nearby: Vec<(bool, bool)> =
            found.iter().map(|hit| (hit.is_nearby(), hit.matches.is_empty())).collect();
        assert_eq!(nearby, [(false, false), (true, true)], "{word}");
    }
}

/// Codes and hashes are found whole, and while they are typed.
#[test]
fn a_code_finds_itself_and_not_its_letters() {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    let mut lines = vec![user(1, None, "the error is E0308 in commit 9e1b2c3d4")];
    for number in 2..=12 {
        let text = format!("run it with -e, as e.g. in step 0308 of 9 and 1e5{number}f0a");
        lines.push(answer(number, number - 1, &text));
    }
    import(&engine, &folder.write("a.jsonl", lines.concat().as_bytes()));
    for (text, is_unfinished) in [("E0308", false), ("9e1b2c3d4", false), ("E03", true), ("9e1b2", true)] {
        let found = search(&engine, &SearchQuery { is_unfinished, ..query(text) }).hits;
        let itself: Vec<&str> =
            found.iter().filter(|hit| !hit.is_nearby()).map(|hit| hit.snippet.as_str()).collect();
        assert_eq!(itself, ["the error is E0308 in commit 9e1b2c3d4"], "{text}");
        assert!(found.iter().all(|hit| hit.is_nearby() == hit.matches.is_empty()), "{text}: {found:?}");
    }
}
