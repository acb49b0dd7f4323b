//! Hits are what was asked for, however much else there is, and each names a session that passes the filter.

use std::io::Write as _;
use std::ops::ControlFlow;

use stemmata_engine::{SearchFilter, SearchForm, SearchQuery, SettleBudget};
use stemmata_model::{LedgerId, NewEvent, NewPayload, Party, SessionId, Timestamp, topics};
use stemmata_store::{Append, Durability};
use tempfile::TempDir;

use crate::search::{conversation, hits, indexed, query, search};
use crate::support::{Folder, answer, import, new_store, placing, user};

#[test]
fn a_hit_names_a_session_that_passes_and_the_newest_of_all() {
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
    for (asked, named, other) in [(Some(old), old, fork), (Some(fork), fork, old), (None, fork, old)] {
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
    let append = Append {
        ledger: LedgerId::new("kiln").expect("a name"),
        events: vec![NewEvent::new(session, topic, Party::new("ada").expect("a name"), payload)],
        expected: None,
        now: Timestamp::from_micros(1_700_000_000_000_000),
        durability: Durability::default(),
    };
    engine.log().append(append).expect("appended");
    for (form, text) in [(SearchForm::Literal, "--no-verify"), (SearchForm::Regex, "--no-\\w+ out$")] {
        let asked = SearchQuery { form, budget: SettleBudget::All, ..query(text) };
        let found = engine.search(&asked, &mut |_, _, _| ControlFlow::Continue(())).expect("an answer");
        assert_eq!(found.hits.len(), 1, "{text}");
    }
}
