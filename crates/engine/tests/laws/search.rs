//! The index is what the store is, however it came to be: settled in any steps, or made anew, it gives the same answers.

use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use stemmata_engine::{
    Engine, ForgetOptions, SearchAnswer, SearchFilter, SearchForm, SearchHit, SearchQuery, SettleBudget,
    Settled, Told,
};
use stemmata_model::{
    Closure, LedgerId, NewEvent, NewPayload, Party, Principal, SessionId, Timestamp, topics,
};
use stemmata_store::{Append, Patience, Store};
use stemmata_testkit::claude::{ClaudeSession, CopyKind, copy_of};
use tempfile::TempDir;

use crate::support::{Folder, answer, bytes_of, engine_on, import, jsonl_below, new_store, placing, user};

/// Words of the made-up sessions, and of those that are written here.
const WORDS: &[&str] = &[
    "the build",
    "queue",
    "retries",
    "Bash",
    "file",
    "done",
    "fix the test",
    "src/main.rs",
    "\"the queue\"",
    "kiln",
];

pub(crate) fn query(text: &str) -> SearchQuery {
    SearchQuery {
        text: text.to_owned(),
        form: SearchForm::Words,
        filter: SearchFilter::default(),
        is_unfinished: false,
        is_spread: false,
        hits_max: 50,
        budget: SettleBudget::All,
    }
}

pub(crate) fn search(engine: &Engine, query: &SearchQuery) -> SearchAnswer {
    engine.search(query, &mut |_, _, _| ControlFlow::Continue(())).expect("an answer")
}

pub(crate) fn hits(engine: &Engine, text: &str) -> Vec<SearchHit> {
    let found = search(engine, &query(text));
    assert_eq!(found.notes, [], "{text}");
    found.hits
}

pub(crate) fn settle(engine: &Engine) -> Settled {
    let settled =
        engine.settle_index(SettleBudget::All, &mut |_, _, _| ControlFlow::Continue(())).expect("settled");
    assert_eq!((settled.is_whole, &settled.trouble), (true, &None));
    settled
}

/// An engine with an index over a store.
pub(crate) fn indexed(store: &Arc<dyn Store>, dir: &Path) -> Engine {
    engine_on("m1", Arc::clone(store)).with_index(dir, Patience::each(Duration::from_millis(100)))
}

/// Holds an engine's answers to those of an index that is made anew.
pub(crate) fn assert_rebuilt(engine: &Engine, store: &Arc<dyn Store>) {
    let anew = TempDir::new().expect("a folder");
    assert_alike(engine, &indexed(store, anew.path()));
}

/// Holds an engine's answers to those of another one.
pub(crate) fn assert_alike(engine: &Engine, rebuilt: &Engine) {
    for text in WORDS {
        assert_eq!(search(engine, &query(text)), search(rebuilt, &query(text)), "{text}");
    }
    let count = |engine: &Engine| engine.index_report().expect("a report").entries;
    assert_eq!(count(engine), count(rebuilt));
}

/// A session that says what is asked for.
pub(crate) fn conversation(turns: u32, word: &str) -> Vec<u8> {
    let mut lines = Vec::new();
    for turn in 0..turns {
        let number = turn * 2 + 1;
        let before = (turn > 0).then(|| number - 1);
        lines.push(user(number, before, &format!("why is {word} {turn} in the queue?")));
        lines.push(answer(number + 1, number, &format!("the {word} queue has retries {turn}")));
    }
    lines.concat().into_bytes()
}

#[test]
fn words_find_what_was_said_with_where_it_was_said() {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    let captured = import(&engine, &folder.write("a.jsonl", &conversation(3, "kiln")));
    let found = hits(&engine, "kiln retries");
    assert_eq!(found.len(), 6);
    let best = found.first().expect("a hit");
    assert_eq!(best.place.session, captured.session.session.to_string());
    assert_eq!(best.place.path, captured.session.key.path);
    assert!(best.snippet.contains("kiln") && best.ctx.is_some() && !best.matches.is_empty(), "{best:?}");
    let sum: f32 =
        best.reasons.iter().filter(|one| ["words", "near"].contains(&one.name)).map(|one| one.value).sum();
    let factors = best.reasons.iter().filter(|one| !["words", "near"].contains(&one.name));
    let product = factors.fold(sum, |product, one| product * one.value);
    assert!((product - best.score).abs() < 1e-3, "{best:?}");
    assert_eq!(search(&engine, &query("nothingofthis")).hits, []);
}

/// A copy of a session under another id says nothing new; what is said in both is found once, and names both.
/// Found in the field: words of these scripts were found only exactly as they had been written.
#[test]
fn words_of_all_scripts_are_found_however_they_are_written() {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    let pairs = [
        ("افتح الإعدادات الآن", "إعدادات"),
        ("افتح اعدادات الآن", "والإعدادات"),
        ("اقرأ الكِتَابَ", "كتاب"),
        ("דבר עם השומר", "שומר"),
        ("לך אל שומר", "השומר"),
        ("וכשהמפתח נפתח", "מפתח"),
        ("ושהמפתח כאן", "מפתח"),
        ("גש ולמפתח", "מפתח"),
        ("רק מפתח", "וכשהמפתח"),
        ("כשהבית ריק", "בית"),
        ("הוא בא", "הוא"),
        ("שלום לך", "שלום"),
        ("ａｄｄ　ＫＥＹ", "key"),
        ("send the token", "ＴＯＫＥＮ"),
        ("ﾃﾞｰﾀﾍﾞｰｽを移す", "データベース"),
        ("die Straße sperren", "strasse"),
        ("MASSE UND GROESSE", "maße"),
        ("το τέλος του λόγου", "ΤΕΛΟΣ"),
        ("bản đồ đường phố", "duong"),
    ];
    for (number, (said, _)) in pairs.iter().enumerate() {
        import(&engine, &folder.write(&format!("s{number}.jsonl"), user(1, None, said).as_bytes()));
    }
    for (said, asked) in pairs {
        let found = hits(&engine, asked);
        assert!(found.iter().any(|hit| hit.snippet.contains(said)), "{asked} in {said}: {found:?}");
        assert!(found.iter().all(|hit| !hit.matches.is_empty()), "{asked}: {found:?}");
    }
}

#[test]
fn forks_add_no_entry_but_the_new_ones() {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    let first = import(&engine, &folder.write("a.jsonl", &conversation(3, "kiln")));
    settle(&engine);
    let entries = engine.index_report().expect("a report").entries;
    let placed = engine.place(first.session.tip.expect("a tip"), &placing(&folder)).expect("placed");
    let mut file = std::fs::OpenOptions::new().append(true).open(&placed.path).expect("a file");
    for line in [user(7, Some(6), "and this fork?"), answer(8, 7, "it goes on")] {
        file.write_all(line.as_bytes()).expect("written");
    }
    import(&engine, &placed.path);
    settle(&engine);
    assert_eq!(engine.index_report().expect("a report").entries, entries + 2);
    assert_rebuilt(&engine, &store);
    let by_session = |id: &str| {
        let filter = SearchFilter { session: Some(id.to_owned()), ..SearchFilter::default() };
        search(&engine, &SearchQuery { filter, ..query("kiln") }).hits.len()
    };
    assert_eq!(by_session(first.session.session.as_str()), 6);
    assert_eq!(by_session(placed.session.as_str()), 6, "the shared past is the fork's, too");
    assert_eq!(by_session("elsewhere"), 0);
}

/// The vendor's SDK gives every entry of a fork a new id: what is said in both is found once, and names both.
#[test]
fn forks_of_the_sdk_add_no_entry() {
    const FORK: &str = "c0c0c0c0-0000-4000-8000-000000000001";
    for seed in 1..5 {
        let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
        let engine = indexed(&store, dir.path());
        let first = ClaudeSession::new(seed).turns(3).build();
        let text = String::from_utf8(bytes_of(&first)).expect("text");
        let copy = copy_of(&text, &first.session_id, FORK, CopyKind::NewIds);
        import(&engine, &folder.write("a.jsonl", text.as_bytes()));
        settle(&engine);
        let entries = engine.index_report().expect("a report").entries;
        let more = user(50, None, "and this fork?")
            .replace("\"sessionId\":\"s\"", &format!("\"sessionId\":\"{FORK}\""));
        import(&engine, &folder.write(&format!("{FORK}.jsonl"), format!("{copy}{more}").as_bytes()));
        settle(&engine);
        assert_eq!(engine.index_report().expect("a report").entries, entries + 1, "seed {seed}");
        let mut found = 0;
        for word in WORDS {
            let told = search(&engine, &query(word)).hits;
            let mut said: Vec<(&str, Option<Timestamp>, &str)> =
                told.iter().map(|hit| (hit.kind.as_str(), hit.timestamp, hit.snippet.as_str())).collect();
            said.sort_unstable();
            let count = said.len();
            said.dedup();
            assert_eq!(said.len(), count, "seed {seed} {word}: each once");
            for hit in told.iter().filter(|hit| !hit.snippet.contains("and this fork?")) {
                let mut both = vec![hit.place.session.as_str()];
                both.extend(hit.also_in.iter().map(String::as_str));
                both.sort_unstable();
                let mut wanted = [first.session_id.as_str(), FORK];
                wanted.sort_unstable();
                assert_eq!(both, wanted, "seed {seed} {word}");
                found += 1;
            }
        }
        assert!(found > 0, "seed {seed}");
        assert_rebuilt(&engine, &store);
    }
}

/// A fork that nobody has gone on with has no commit of its own, and holds what it was made from: up to there, and by its name.
/// So it does where the turn that it was made from was open then, and its first session went on, and then the fork.
#[test]
fn a_fork_is_searched_up_to_where_it_forks_whoever_goes_on() {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    let first = import(&engine, &folder.write("a.jsonl", &conversation(3, "kiln")));
    let open = first.session.tip.expect("a tip");
    let closed =
        engine.store().commit(open).expect("read").and_then(|open| open.core.parent).expect("a turn");
    let mut forks = [
        (engine.place(closed, &placing(&folder)).expect("placed").session, 4),
        (engine.place(open, &placing(&folder)).expect("placed").session, 6),
    ];
    settle(&engine);
    let unindexed = engine_on("m1", Arc::clone(&store));
    let both = [SearchForm::Words, SearchForm::Literal];
    let assert_found = |forks: &[(SessionId, usize)], is_named: bool| {
        for ((fork, wanted), form) in forks.iter().flat_map(|fork| both.iter().map(move |form| (fork, *form)))
        {
            let filter = SearchFilter { session: Some(fork.to_string()), ..SearchFilter::default() };
            for engine in [&engine, &unindexed] {
                let found = search(engine, &SearchQuery { form, filter: filter.clone(), ..query("kiln") });
                assert_eq!(found.hits.len(), *wanted, "{form:?} {found:?}");
                assert!(
                    !is_named || found.hits.iter().all(|hit| hit.place.session == fork.as_str()),
                    "{found:?}"
                );
            }
        }
        assert_rebuilt(&engine, &store);
    };
    assert_found(&forks, true);
    folder.append("a.jsonl", answer(7, 6, "the kiln goes on").as_bytes());
    import(&engine, &folder.path().join("a.jsonl"));
    assert_eq!(store.commit(open).expect("read").map(|open| open.closure), Some(Closure::Covered));
    // The turn that covers it is another session's.
    assert_found(&forks, false);
    let (fork, _) = forks.last().expect("two forks");
    let path =
        jsonl_below(folder.path()).into_iter().find(|path| path.to_string_lossy().contains(fork.as_str()));
    let path = path.expect("the fork's transcript");
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).expect("a file");
    file.write_all(user(9, Some(6), "and what of this kiln?").as_bytes()).expect("written");
    import(&engine, &path);
    forks.last_mut().expect("two forks").1 = 7;
    assert_found(&forks, false);
}

#[test]
fn filters_leave_out_what_does_not_pass() {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    import(&engine, &folder.write("a.jsonl", &conversation(2, "kiln")));
    let count = |filter: SearchFilter| search(&engine, &SearchQuery { filter, ..query("kiln") }).hits.len();
    let text = |text: &str| Some(text.to_owned());
    for (filter, wanted) in [
        (SearchFilter::default(), 4),
        (SearchFilter { role: text("user"), ..SearchFilter::default() }, 2),
        (SearchFilter { kinds: vec!["prompt".to_owned()], ..SearchFilter::default() }, 2),
        (SearchFilter { kinds: vec!["answer".to_owned()], ..SearchFilter::default() }, 2),
        (SearchFilter { kinds: vec!["error".to_owned()], ..SearchFilter::default() }, 0),
        (SearchFilter { client: text("claude-code"), ..SearchFilter::default() }, 4),
        (SearchFilter { client: text("codex"), ..SearchFilter::default() }, 0),
        (
            SearchFilter {
                projects: Some(engine.project_scope("/nowhere").expect("a scope")),
                ..SearchFilter::default()
            },
            0,
        ),
        (SearchFilter { branch: text("nowhere"), ..SearchFilter::default() }, 0),
        (SearchFilter { file: text("queue.rs"), ..SearchFilter::default() }, 0),
        (SearchFilter { no_tool_output: true, ..SearchFilter::default() }, 4),
    ] {
        assert_eq!(count(filter.clone()), wanted, "{filter:?}");
    }
    for filter in [
        SearchFilter { role: text("nobody"), ..SearchFilter::default() },
        SearchFilter { kinds: vec!["nothing".to_owned()], ..SearchFilter::default() },
    ] {
        let asked = SearchQuery { filter, ..query("kiln") };
        assert!(engine.search(&asked, &mut |_, _, _| ControlFlow::Continue(())).is_err());
    }
}

#[test]
fn texts_and_expressions_are_looked_for_as_they_are() {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    import(&engine, &folder.write("a.jsonl", &conversation(2, "foo::bar()")));
    for (form, text, wanted) in [
        (SearchForm::Literal, "foo::bar()", 4),
        (SearchForm::Literal, "Foo::bar()", 0),
        (SearchForm::Regex, r"foo::\w+\(\) queue has", 2),
        (SearchForm::Regex, "(a+)+$", 0),
        (SearchForm::Words, "::", 4),
    ] {
        let asked = SearchQuery { form, ..query(text) };
        assert_eq!(search(&engine, &asked).hits.len(), wanted, "{text}");
    }
    for (form, text) in
        [(SearchForm::Regex, "("), (SearchForm::Regex, "a{1000}{1000}"), (SearchForm::Words, " ")]
    {
        let asked = SearchQuery { form, ..query(text) };
        assert!(engine.search(&asked, &mut |_, _, _| ControlFlow::Continue(())).is_err(), "{text}");
    }
}

fn options() -> ForgetOptions {
    ForgetOptions { everywhere: false, even_pinned: false, by: Principal::new("ada").expect("a name") }
}

/// Several processes import and search at once: nobody fails, and the index is that of one.
#[test]
fn who_searches_at_once_makes_one_index() {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let paths: Vec<PathBuf> = (0..4)
        .map(|of| folder.write(&format!("s{of}.jsonl"), &conversation(4, WORDS.get(of + 1).expect("a word"))))
        .collect();
    std::thread::scope(|scope| {
        for path in &paths {
            let engine = indexed(&store, dir.path());
            scope.spawn(move || {
                for _ in 0..4 {
                    import(&engine, path);
                    let found = search(&engine, &query("queue"));
                    assert!(!found.hits.is_empty(), "{:?}", found.notes);
                }
            });
        }
    });
    assert_rebuilt(&indexed(&store, dir.path()), &store);
}

#[test]
fn what_a_ledger_says_is_found_until_it_is_forgotten() {
    let (store, dir) = (new_store(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    let ledger = LedgerId::new("kiln").expect("a name");
    let session = SessionId::new("s1").expect("a name");
    let payload = NewPayload::Plain { text: Some("we fire the kilnwright at dawn".to_owned()), data: None };
    let topic = topics::topic(topics::DECISION_EVENT);
    let event = NewEvent::new(session.clone(), topic, Party::new("ada").expect("a name"), payload);
    let now = Timestamp::from_micros(1_700_000_000_000_000);
    let append = Append::new(ledger.clone(), vec![event], now);
    engine.log().append(append).expect("appended");
    let found = hits(&engine, "kilnwright");
    let [hit] = &found[..] else { panic!("{found:?}") };
    assert_eq!((hit.ctx, hit.kind.as_str(), hit.place.client.as_str()), (None, "event", "ledger"));
    assert!(hit.entry.starts_with("event:") && hit.snippet.contains("kilnwright"), "{hit:?}");
    assert_rebuilt(&engine, &store);
    let told = Told::Session(session, Some(ledger));
    engine.apply_forget_events(&engine.plan_forget_events(&told).expect("a plan")).expect("forgotten");
    assert_eq!(crate::search_forget::holding(dir.path(), "kilnwright"), [""; 0]);
    assert_eq!(hits(&engine, "kilnwright"), []);
}

/// What happens to a store.
#[derive(Debug, Clone)]
enum Deed {
    /// So many lines more of a session are written and captured.
    Grow(usize, usize),
    /// What is new is settled.
    Settle,
    /// A session is forgotten.
    Forget(usize),
    /// The index is opened by another process.
    Reopen,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        4 => (0..3_usize, 1..9_usize).prop_map(|(of, lines)| Deed::Grow(of, lines)),
        2 => Just(Deed::Settle),
        1 => (0..3_usize).prop_map(Deed::Forget),
        1 => Just(Deed::Reopen),
    ];
    proptest::collection::vec(deed, 1..14)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases * 3).div_ceil(8)))]

    /// Sessions grow line by line, within their turns too, are settled now and then, and one is forgotten.
    #[test]
    fn an_index_that_follows_is_one_that_is_made_anew(deeds in deeds()) {
        let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
        let mut engine = indexed(&store, dir.path());
        let sessions: Vec<Vec<u8>> =
            (1..3).map(|seed| bytes_of(&ClaudeSession::new(seed).turns(3).build())).collect();
        let sessions = [vec![conversation(4, "kiln")], sessions].concat();
        let mut written = [0_usize; 3];
        for deed in deeds {
            match deed {
                Deed::Grow(of, lines) => {
                    let bytes = sessions.get(of).expect("one of three");
                    let rest: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
                    let from = written.get_mut(of).expect("one of three");
                    let more: Vec<u8> = rest.iter().skip(*from).take(lines).flat_map(|line| line.to_vec()).collect();
                    *from += lines;
                    let name = format!("s{of}.jsonl");
                    folder.append(&name, &more);
                    let _may_hold_nothing_yet = engine.capture(
                        &folder.path().join(name),
                        &stemmata_engine::CaptureOptions::import(),
                    );
                }
                Deed::Settle => drop(settle(&engine)),
                Deed::Forget(of) => {
                    let path = folder.path().join(format!("s{of}.jsonl"));
                    let found = engine.target_of("none", path.to_str());
                    let plan = found.and_then(|target| engine.plan_forget(&target, &options()));
                    if let Ok(plan) = plan {
                        engine.apply_forget(plan).expect("forgotten");
                    }
                }
                Deed::Reopen => engine = indexed(&store, dir.path()),
            }
        }
        assert_rebuilt(&engine, &store);
    }
}
