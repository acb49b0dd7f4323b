//! Filters: with words and without, over time, over what forks inherit, and over events.

use std::ops::ControlFlow;

use stemmata_engine::{SearchFilter, SearchForm, SearchHit, SearchNote, SearchQuery};
use stemmata_model::{LedgerId, NewEvent, NewPayload, Party, SessionId, Timestamp, topics};
use stemmata_store::Append;
use tempfile::TempDir;

use crate::search::{conversation, indexed, query, search, settle};
use crate::support::{Folder, answer, import, new_store, placing, record, user};

fn at(second: u32) -> Timestamp {
    Timestamp::parse(&format!("2026-01-01T00:00:{second:02}.000Z")).expect("a time")
}

fn seconds(hits: &[SearchHit]) -> Vec<Option<Timestamp>> {
    hits.iter().map(|hit| hit.timestamp).collect()
}

#[test]
fn a_filter_without_words_lists_the_newest_that_pass_with_an_index_and_without() {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    import(&engine, &folder.write("a.jsonl", &conversation(3, "kiln")));
    let unindexed = crate::support::engine_on("m1", std::sync::Arc::clone(&store));
    let kinds = vec!["prompt".to_owned()];
    for engine in [&engine, &unindexed] {
        for form in [SearchForm::Words, SearchForm::Literal] {
            let listed = |filter: SearchFilter, hits_max: usize| {
                let hits = search(engine, &SearchQuery { form, filter, hits_max, ..query(" ") }).hits;
                assert!(hits.iter().all(|hit| !hit.is_nearby()), "no words are near: {hits:?}");
                seconds(&hits)
            };
            let prompts = SearchFilter { kinds: kinds.clone(), ..SearchFilter::default() };
            assert_eq!(listed(prompts.clone(), 50), [Some(at(5)), Some(at(3)), Some(at(1))]);
            assert_eq!(listed(prompts, 2), [Some(at(5)), Some(at(3))]);
            let until = SearchFilter { until: Some(at(3)), ..SearchFilter::default() };
            assert_eq!(listed(until, 50), [Some(at(3)), Some(at(2)), Some(at(1))]);
            let within = SearchFilter { since: Some(at(2)), until: Some(at(3)), ..SearchFilter::default() };
            assert_eq!(listed(within, 50), [Some(at(3)), Some(at(2))]);
            let asked = SearchQuery { form, ..query(" ") };
            assert!(engine.search(&asked, &mut |_, _, _| ControlFlow::Continue(())).is_err(), "no filter");
        }
    }
}

#[test]
fn a_time_until_holds_for_words_too() {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    import(&engine, &folder.write("a.jsonl", &conversation(3, "kiln")));
    for form in [SearchForm::Words, SearchForm::Literal] {
        let filter = SearchFilter { until: Some(at(2)), ..SearchFilter::default() };
        let mut found = seconds(&search(&engine, &SearchQuery { form, filter, ..query("kiln") }).hits);
        found.sort();
        assert_eq!(found, [Some(at(1)), Some(at(2))], "{form:?}");
    }
}

#[test]
fn a_search_that_finds_nothing_ends_where_its_caller_breaks_it_off_and_gives_no_reason() {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    import(&engine, &folder.write("a.jsonl", &conversation(3, "kiln")));
    settle(&engine);
    let filter =
        SearchFilter { role: Some("tool".to_owned()), until: Some(at(0)), ..SearchFilter::default() };
    let asked = SearchQuery { filter, ..query("kiln") };
    let excluded =
        |notes: &[SearchNote]| notes.iter().any(|note| matches!(note, SearchNote::Excluded { .. }));
    let mut steps = 0;
    let whole = engine.search(&asked, &mut |_, _, _| {
        steps += 1;
        ControlFlow::Continue(())
    });
    assert!(excluded(&whole.expect("an answer").notes), "the reason is looked for");
    // Once before the reason is looked for, once for the words alone, and once without each of the two filters.
    assert!(steps > 3, "asked {steps} times whether to go on");
    for last in 0..steps {
        let mut calls = 0;
        let broken = engine.search(&asked, &mut |_, _, _| {
            calls += 1;
            if calls > last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(!excluded(&broken.expect("an answer").notes), "broken off at call {last}");
        assert_eq!(calls, last + 1, "nobody is asked once it is broken off");
    }
}

#[test]
fn answers_are_what_a_model_said_and_no_calls() {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    let call = record(
        "assistant",
        2,
        Some(1),
        r#"{"id":"msg_2","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"heat the kiln"}}]}"#,
    );
    let lines = [user(1, None, "heat the kiln"), call, answer(3, 2, "the kiln is hot")];
    import(&engine, &folder.write("a.jsonl", lines.concat().as_bytes()));
    for text in ["kiln", ""] {
        let filter = SearchFilter { kinds: vec!["answer".to_owned()], ..SearchFilter::default() };
        let found = search(&engine, &SearchQuery { filter, ..query(text) }).hits;
        assert_eq!(seconds(&found), [Some(at(3))], "{text}: {found:?}");
    }
}

/// A fork that nobody has gone on with works in another directory, and inherits what was said in the first one.
#[test]
fn a_directory_has_what_its_forks_inherit() {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    let first = import(&engine, &folder.write("a.jsonl", &conversation(3, "kiln")));
    settle(&engine);
    engine.place(first.session.tip.expect("a tip"), &placing(&folder)).expect("placed");
    for (project, wanted) in [("/old", 6), ("/new/place", 6), ("/new", 6), ("/newer", 0)] {
        for form in [SearchForm::Words, SearchForm::Literal] {
            let projects = Some(engine.project_scope(project).expect("a scope"));
            let filter = SearchFilter { projects, ..SearchFilter::default() };
            let found = search(&engine, &SearchQuery { form, filter, ..query("kiln") }).hits;
            assert_eq!(found.len(), wanted, "{project} {form:?}");
            assert!(
                found.iter().all(|hit| hit.place.cwd.as_deref().is_some_and(|cwd| cwd.starts_with(project)))
            );
        }
    }
}

#[test]
fn a_file_is_asked_of_events_too_where_texts_are_scanned() {
    let (store, dir) = (new_store(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    let said = |text: &str| {
        let payload = NewPayload::Plain { text: Some(text.to_owned()), data: None };
        let (topic, session) = (topics::topic(topics::DECISION_EVENT), SessionId::new("s1").expect("a name"));
        NewEvent::new(session, topic, Party::new("ada").expect("a name"), payload)
    };
    let events = vec![said("heat the kiln"), said("heat the kiln in src/kiln.rs")];
    let append = Append::new(LedgerId::new("kiln").expect("a name"), events, at(1));
    engine.log().append(append).expect("appended");
    for (file, wanted) in [(None, 2), (Some("src/kiln.rs"), 1), (Some("src/nosuch.rs"), 0)] {
        for form in [SearchForm::Literal, SearchForm::Regex, SearchForm::Words] {
            let filter = SearchFilter { file: file.map(str::to_owned), ..SearchFilter::default() };
            let found = search(&engine, &SearchQuery { form, filter, ..query("kiln") }).hits;
            assert_eq!(found.len(), wanted, "{file:?} {form:?}");
        }
    }
    let elsewhere = SearchFilter { client: Some("codex".to_owned()), ..SearchFilter::default() };
    let asked = SearchQuery { form: SearchForm::Literal, filter: elsewhere, ..query("kiln") };
    assert_eq!(search(&engine, &asked).hits.len(), 0);
}
