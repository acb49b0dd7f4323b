//! What people type means one thing: every id that a list prints leads back to its row, and never to another session later.

use proptest::prelude::*;
use stemmata_engine::{BadRange, Engine, EngineError, SessionOnly, SessionQuery, SessionRow};
use stemmata_model::CommitId;
use stemmata_store::conformance::builders::{put, session, session_id, write};
use stemmata_store::{Session, SessionFilter, SessionOrigin, Write};
use stemmata_testkit::claude::ClaudeSession;

use crate::support::{Folder, answer, bytes_of, chain, engine, import, placing, user};

/// Puts a session with a chain of its own into the store.
fn add(engine: &Engine, id: &str, change: impl FnOnce(&mut Session)) -> CommitId {
    let tip = put(engine.store(), None, &format!("{id} says\n"), 1);
    let mut made = Session { tip: Some(tip), ..session(id, "/srv", Some(1)) };
    change(&mut made);
    write(engine.store(), vec![Write::Session(Box::new(made))]);
    tip
}

fn listed(engine: &Engine, folded: bool) -> Vec<SessionRow> {
    let query = SessionQuery {
        filter: SessionFilter::default(),
        only: SessionOnly::default(),
        with_emptied: false,
        folded,
        counts: false,
        tips: false,
        skip: 0,
        rows_max: 1_000,
    };
    engine.sessions(&query).expect("a list").rows
}

/// Ids as clients make them: random ones, and ones that begin with the time.
fn id() -> impl Strategy<Value = String> {
    prop_oneof![
        "[0-3]{4}[0-1]{4}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}",
        "01a1ffc[bc]-[0-1]{4}-7[0-1]{3}-8000-00000000[0-9a-f]{4}",
        "ses_7f00[0-1]{2}ffe[A-Za-z0-9]{6}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases * 3).div_ceil(4)))]

    #[test]
    fn every_listed_id_means_its_row_and_never_another_session_later(
        first in prop::collection::btree_set(id(), 1..12),
        later in prop::collection::btree_set(id(), 0..12),
    ) {
        let engine = engine();
        for id in &first {
            add(&engine, id, |_| ());
        }
        let rows = listed(&engine, true);
        prop_assert_eq!(rows.len(), first.len());
        for row in &rows {
            prop_assert!(row.reference.chars().count() >= 4);
            prop_assert_eq!(Some(engine.find(&row.reference).expect("it is there")), row.session.tip);
        }
        for id in later.iter().filter(|id| !first.contains(*id)) {
            add(&engine, id, |_| ());
        }
        for row in &rows {
            match engine.find(&row.reference) {
                Ok(found) => prop_assert_eq!(Some(found), row.session.tip, "{}", row.reference),
                Err(EngineError::Ambiguous { candidates, .. }) => prop_assert!(candidates.len() > 1),
                Err(error) => prop_assert!(false, "{}: {}", row.reference, error),
            }
        }
    }
}

#[test]
fn ids_that_begin_with_a_time_are_told_apart_by_their_ends() {
    let engine = engine();
    for id in
        ["01a1ffcb-463a-71a1-85f3-af77f3186b8b", "01a1ffcb-5a2f-7313-bf5c-f048660887da", "4a364c97-9dde"]
    {
        add(&engine, id, |_| ());
    }
    let short = |id: &str| engine.short_id(&session_id(id)).expect("a read").text;
    assert_eq!(short("01a1ffcb-463a-71a1-85f3-af77f3186b8b"), "6b8b");
    assert_eq!(short("01a1ffcb-5a2f-7313-bf5c-f048660887da"), "87da");
    assert_eq!(short("4a364c97-9dde"), "4a36");
    assert_eq!(engine.find("4A36").expect("hex in capitals"), engine.find("4a36").expect("found"));
    let ambiguous = engine.find("01a1ffcb").expect_err("two begin so");
    assert_eq!(ambiguous.to_string(), "`01a1ffcb` is ambiguous (2 matches)");
    let EngineError::Ambiguous { candidates, .. } = ambiguous else { panic!("not ambiguous") };
    assert_eq!(candidates.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["6b8b", "87da"]);
    assert_eq!(candidates[0].summary, "claude-code  1970-01-01  fix the törtchen");
}

/// Found in real sessions of pi: what a list printed was a flag for the command that it was given to.
#[test]
fn a_short_id_is_nothing_else_where_it_is_typed() {
    let engine = engine();
    let ids = [
        ("pi-session-456", "n-456"),
        ("pi-session-789", "n-789"),
        ("made-up-01-last", "1-last"),
        ("made-up-02-head", "2-head"),
        ("made-up-03:12", "made-up-03:12"),
    ];
    for (id, _) in ids {
        add(&engine, id, |_| ());
    }
    for (id, short) in ids {
        assert_eq!(engine.short_id(&session_id(id)).expect("a read").text, short);
        let found = engine.session_meant(short, Some("/")).expect(id).expect(id);
        assert_eq!(found.session.as_str(), id);
    }
}

/// Tags a commit as versions did that took any name, and as bundles of theirs bring it.
fn tag_as_before(engine: &Engine, tip: CommitId, tags: &[&str]) {
    let by = stemmata_model::Principal::new("ada@m1/stemma").expect("a name");
    let tagged = |tag: &&str| Write::Annotate {
        commit: tip,
        change: stemmata_store::Annotation::AddTag((*tag).to_owned()),
        at: stemmata_model::Timestamp::from_micros(1),
        by: by.clone(),
    };
    write(engine.store(), tags.iter().map(tagged).collect());
}

#[test]
fn a_tag_that_could_be_anything_else_is_refused() {
    let engine = engine();
    let tip = add(&engine, "4a364c97-9dde", |_| ());
    let by = stemmata_model::Principal::new("ada@m1/stemma").expect("a name");
    for tag in ["4a36", "@", "@-", "a b", "a:1", "a~1", "none", "ctx-1", ""] {
        let update = stemmata_engine::Update { add_tags: vec![tag.to_owned()], ..Default::default() };
        let refused = engine.update(tip, update, &by);
        assert!(matches!(refused, Err(EngineError::Name(_))), "{tag}: {refused:?}");
    }
}

#[test]
fn a_tag_takes_a_short_id_away_from_a_session_before_it_is_printed() {
    let engine = engine();
    let tip = add(&engine, "4a364c97-9dde", |_| ());
    tag_as_before(&engine, tip, &["4a36"]);
    assert_eq!(engine.short_id(&session_id("4a364c97-9dde")).expect("a read").text, "4a364");
}

#[test]
fn a_reference_means_the_longest_of_a_sessions_copies() {
    let engine = engine();
    let folder = Folder::new();
    let whole = ClaudeSession::new(4).turns(4).build();
    let cut: Vec<u8> = bytes_of(&ClaudeSession::new(4).turns(2).build());
    let broken = import(&engine, &folder.write("a.jsonl", &cut)).session;
    let intact = import(&engine, &folder.write("b.jsonl", &bytes_of(&whole))).session;
    assert_eq!((&broken.session, broken.tip == intact.tip), (&intact.session, false));
    assert_eq!(Some(engine.find(intact.session.as_str()).expect("found")), intact.tip);
    let rows = listed(&engine, true);
    assert_eq!((rows.len(), rows[0].session.key.clone(), rows[0].folded), (1, intact.key.clone(), 1));
    // Each of the copies has a row where all are listed, and its own reference.
    for row in listed(&engine, false) {
        assert_eq!(Some(engine.find(&row.reference).expect("found")), row.session.tip);
    }
    // What cannot be taken back needs to be told which.
    let ambiguous = engine.target_of(intact.session.as_str(), None);
    assert!(matches!(ambiguous, Err(EngineError::Ambiguous { .. })), "{ambiguous:?}");
}

#[test]
fn steps_lead_back_along_the_chain_and_before_prompts() {
    let engine = engine();
    let folder = Folder::new();
    let text: String = (0..4)
        .map(|turn: u32| {
            let parent = (turn > 0).then(|| turn * 2 - 1);
            user(turn * 2, parent, &format!("Ask {turn}")) + &answer(turn * 2 + 1, turn * 2, "Yes.")
        })
        .collect();
    let session = import(&engine, &folder.write("4a364c97.jsonl", text.as_bytes())).session;
    let tip = session.tip.expect("a tip");
    let ids: Vec<CommitId> = chain(&engine, tip).iter().map(|commit| commit.id).collect();
    assert_eq!(ids.len(), 4);
    let short = engine.short_id(&session.session).expect("a read").text;
    let found = |text: &str| engine.find(&text.replace('S', &short));
    for (text, at) in
        [("S", 3), ("S~", 2), ("S~0", 3), ("S~2", 1), ("S~1~2", 0), ("S:2", 0), ("S:4", 2), ("S~1:2", 0)]
    {
        assert_eq!(found(text).expect(text), ids[at], "{text}");
    }
    let missing = |text: &str| found(text).expect_err(text).to_string();
    assert_eq!(missing("S~4"), format!("no earlier commit matches `{short}~4`"));
    assert_eq!(missing("S:5"), format!("`{short}` has 4 prompts; there is no prompt 5"));
    assert!(found("S:1").is_err(), "nothing comes before the first prompt");
    let meant = engine.meant(&format!("{short}:3"), None).expect("found");
    assert_eq!(meant.prompt.expect("a prompt").of, ids[2]);
    assert_eq!(missing("nobody~2"), "no commit, session or tag matches `nobody`");
}

#[test]
fn the_sessions_of_a_directory_are_counted_from_the_newest() {
    let engine = engine();
    let tips: Vec<CommitId> = (1..4)
        .map(|at| {
            add(&engine, &format!("{at}{at}{at}{at}aaaa"), |made| {
                made.last_at = Some(stemmata_model::Timestamp::from_micros(at));
                made.cwd = Some(if at == 2 { "/else" } else { "/srv/app" }.to_owned());
            })
        })
        .collect();
    add(&engine, "copy", |made| {
        made.origin = SessionOrigin::Placed(tips[0]);
        made.tip = Some(tips[0]);
        made.cwd = Some("/srv/app".to_owned());
        made.last_at = Some(stemmata_model::Timestamp::from_micros(9));
    });
    let found = |text: &str| engine.meant(text, Some("/srv")).map(|meant| meant.ctx);
    assert_eq!(found("@").expect("the newest"), tips[2]);
    assert_eq!(found("@-").expect("the one before"), tips[0]);
    for text in ["last", "latest", "HEAD", "newest"] {
        assert_eq!(found(text).expect("the newest"), tips[2], "{text}");
    }
    let said = found("@-2").expect_err("there are two").to_string();
    assert_eq!(said, "there is no session that far back: only 2 worked in or below /srv");
    assert!(engine.find("@").is_err(), "nobody said where");
}

#[test]
fn words_of_a_title_mean_the_one_session_that_has_them() {
    let engine = engine();
    let titled = |id: &str, title: &str| {
        add(&engine, id, |made| made.title = Some(title.to_owned()));
    };
    titled("1111aaaa", "<command-name>/fix</command-name> <command-args>the flaky timer</command-args>");
    titled("2222aaaa", "Fix the flaky cache");
    titled("3333aaaa", "Write **docs**");
    let found = |text: &str| {
        engine.meant(text, None).map(|meant| meant.session.expect("a session").session.to_string())
    };
    titled("4444aaaa", "Release v6.0.0 of 2024 after the last review");
    assert_eq!(found("flaky timer").expect("one"), "1111aaaa");
    assert_eq!(found("docs").expect("one"), "3333aaaa");
    // Numbers, short words and beginnings of words guess; what people call the newest session is never a title.
    for text in ["0", "6", "v", "2024", "v6.0.0", "the", "after the la", "revie", "last", "latest", "HEAD"] {
        assert!(found(text).is_err(), "{text}");
    }
    assert_eq!(found("FLAKY").expect_err("two").to_string(), "`FLAKY` is ambiguous (2 matches)");
    let near = |text: &str| match found(text) {
        Err(EngineError::NoReference { near, .. }) => near.into_iter().map(|one| one.id).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(near("cache eviction"), ["2222"]);
    assert_eq!(near("2223aaaa"), ["2222"]);
    assert_eq!(near("xyzzy"), Vec::<String>::new());
    // A title is no name for what cannot be taken back.
    assert!(matches!(engine.target_of("docs", None), Err(EngineError::NoReference { .. })));
}

#[test]
fn a_few_characters_of_an_id_mean_the_session_that_begins_so() {
    let engine = engine();
    let tips = ["4a364c97-9dde", "4b00aaaa", "0199aaaa", "0199bbbb"].map(|id| add(&engine, id, |_| ()));
    let found = |text: &str| engine.find(text);
    for (text, at) in [("4a", 0), ("4a3", 0), ("4b", 1), ("0199a", 2), ("4a36", 0)] {
        assert_eq!(found(text).expect(text), tips[at], "{text}");
    }
    for (text, ids) in [("4", vec!["4a36", "4b00"]), ("0", vec!["0199a", "0199b"])] {
        let Err(EngineError::Ambiguous { candidates, .. }) = found(text) else { panic!("{text}") };
        let listed: Vec<&str> = candidates.iter().map(|one| one.id.as_str()).collect();
        assert!(
            ids.iter().all(|id| listed.iter().any(|one| one.contains(id) || id.contains(one))),
            "{listed:?}"
        );
    }
    // A commit's id may be cut as short.
    let id = tips[0].to_string();
    let prefix =
        (5..id.len()).find(|end| tips[1..].iter().all(|tip| !tip.to_string().starts_with(&id[..*end])));
    assert_eq!(found(&id[..prefix.expect("a prefix")]).expect("one"), tips[0]);
    // What cannot be taken back needs more, and says what it would have been.
    for text in ["4a", "4a3", "ctx-4"] {
        let Err(EngineError::NoReference { near, .. }) = engine.target_of(text, None) else {
            panic!("{text}")
        };
        assert_eq!(near.is_empty(), text.starts_with("ctx-"), "{text}");
    }
    engine.target_of("4a36", None).expect("a session");
}

#[test]
fn a_range_of_prompts_is_no_point() {
    let engine = engine();
    let folder = Folder::new();
    let session =
        import(&engine, &folder.write("s.jsonl", &bytes_of(&ClaudeSession::new(2).turns(3).build()))).session;
    let short = engine.short_id(&session.session).expect("a read").text;
    let range = |text: &str| engine.meant_range(&text.replace('S', &short), None);
    for (text, numbers) in [("S:1..2", (1, 2)), ("S:2..", (2, 3)), ("S:..2", (1, 2)), ("S:3..3", (3, 3))] {
        let meant = range(text).expect("a range").expect("a range");
        assert_eq!((Some(meant.ctx), (meant.from, meant.through)), (session.tip, numbers), "{text}");
    }
    assert_eq!(range("S:2").expect("a point"), None);
    for text in ["S:0..2", "S:2..4", "S:4.."] {
        assert!(matches!(range(text), Err(EngineError::NoPrompt { .. })), "{text}");
    }
    let backwards = range("S:3..1").expect_err("backwards").to_string();
    assert!(backwards.ends_with("ends before it begins"), "{backwards}");
    let point = engine.find(&format!("{short}:1..2")).expect_err("no point");
    assert!(matches!(&point, EngineError::PromptRange { from: 1, why: BadRange::OnePoint, .. }), "{point}");
}

#[test]
fn odd_names_are_errors_or_what_they_name() {
    let engine = engine();
    let tip = add(&engine, "1111aaaa", |_| ());
    let tags = ["v1:2", "käse", "a~1"];
    tag_as_before(&engine, tip, &tags);
    for tag in tags {
        assert_eq!(engine.find(tag).expect("the tag"), tip, "{tag}");
    }
    for text in [
        "",
        " ",
        "@",
        "@x",
        "C:\\a\\b.jsonl",
        "käs",
        "~",
        ":",
        ":1",
        "~1",
        "a:b:c",
        "1111aaaa:x",
        "1111aaaa~x",
        "💥",
        "\u{1b}[1m",
    ] {
        assert!(engine.find(text).is_err(), "{text}");
    }
}

#[test]
fn copies_that_nobody_used_are_folded_into_their_originals_row() {
    let engine = engine();
    let folder = Folder::new();
    let session =
        import(&engine, &folder.write("s.jsonl", &bytes_of(&ClaudeSession::new(2).turns(3).build()))).session;
    let tip = session.tip.expect("a tip");
    for _ in 0..3 {
        engine.place(tip, &placing(&folder)).expect("placed");
    }
    let rows = listed(&engine, true);
    assert_eq!((rows.len(), rows[0].folded), (1, 3));
    assert_eq!(rows[0].session.key, session.key);
    assert_eq!(listed(&engine, false).len(), 4);
}
