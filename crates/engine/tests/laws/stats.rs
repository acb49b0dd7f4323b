//! Statistics count every commit once: what sessions share, what copies repeat, and what was read before.

use std::sync::Arc;

use proptest::prelude::*;
use stemmata_api::v1::{ReportedTokens, Stats};
use stemmata_engine::{
    CaptureOptions, Engine, ForgetOptions, ForgetTarget, SessionOnly, StatsBy, StatsQuery,
};
use stemmata_model::Principal;
use stemmata_store::Store;
use stemmata_testkit::claude::ClaudeSession;

use crate::support::{
    Folder, bytes_of, closed, corpus, engine, engine_on, import, jsonl_below, new_store, placing,
};

fn by(by: StatsBy) -> StatsQuery {
    StatsQuery { by, only: SessionOnly::default(), utc_offset_minutes: 0, prices: Vec::new() }
}

fn stats(engine: &Engine, query: &StatsQuery) -> Stats {
    engine.stats(query, &mut |_, _| true).expect("counted")
}

fn tokens_of(engine: &Engine, sessions: &[stemmata_model::CommitId]) -> ReportedTokens {
    let mut sum = ReportedTokens::NONE;
    for tip in sessions {
        sum.add(
            engine.overview(*tip, None).expect("an overview").story.tokens.unwrap_or(ReportedTokens::NONE),
        );
    }
    sum
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(10)))]

    #[test]
    fn rows_of_every_kind_add_up_to_what_show_says(seed in 0..10_000_u64) {
        let folder = Folder::new();
        let engine = engine();
        let (one, two) = (ClaudeSession::new(seed).turns(3).compactions(seed % 2).build(), ClaudeSession::new(seed + 20_000).turns(2).build());
        let tips = [("a.jsonl", &one), ("b.jsonl", &two)]
            .map(|(name, session)| import(&engine, &folder.write(name, &bytes_of(session))).session.tip.expect("a tip"));
        let wanted = tokens_of(&engine, &tips);
        let active: i64 = tips.iter().map(|tip| engine.overview(*tip, None).expect("an overview").story.active_micros).sum();
        for kind in [StatsBy::Day, StatsBy::Week, StatsBy::Month, StatsBy::Project, StatsBy::Client, StatsBy::Model] {
            let counted = stats(&engine, &by(kind));
            prop_assert_eq!(counted.total.tokens.unwrap_or(ReportedTokens::NONE), wanted);
            prop_assert_eq!((counted.total.sessions, counted.total.active_seconds), (2, (active / 1_000_000).cast_unsigned()));
            let mut sum = ReportedTokens::NONE;
            counted.rows.iter().for_each(|row| sum.add(row.tokens.unwrap_or(ReportedTokens::NONE)));
            prop_assert_eq!(sum, wanted);
        }
    }
}

#[test]
fn what_a_placed_copy_repeats_counts_nowhere_and_what_it_adds_once() {
    let folder = Folder::new();
    let engine = engine();
    let session = ClaudeSession::new(31).turns(4).build();
    let tip = import(&engine, &folder.write("s.jsonl", &bytes_of(&session))).session.tip.expect("a tip");
    let before = stats(&engine, &by(StatsBy::Day));
    let done = engine.place(closed(&engine, tip)[1], &placing(&folder)).expect("placed");
    import(&engine, &done.path);
    assert_eq!(stats(&engine, &by(StatsBy::Day)), before, "nobody continued it");

    let answer = r#"{"parentUuid":null,"isSidechain":false,"type":"assistant","message":{"id":"msg_new","role":"assistant","model":"claude-x","content":[{"type":"text","text":"done"}],"usage":{"input_tokens":5,"output_tokens":7}},"uuid":"cccccccc-0000-4000-8000-000000000001","timestamp":"2027-01-01T00:00:00.000Z","sessionId":"n","cwd":"/new/place","version":"2.1.39"}"#;
    let mut file = std::fs::OpenOptions::new().append(true).open(&done.path).expect("a file");
    std::io::Write::write_all(&mut file, format!("{answer}\n").as_bytes()).expect("appended");
    import(&engine, &done.path);
    let after = stats(&engine, &by(StatsBy::Day));
    assert_eq!(after.total.sessions, before.total.sessions + 1);
    let mut wanted = before.total.tokens.unwrap_or(ReportedTokens::NONE);
    wanted.add(ReportedTokens { input: 5, output: 7, ..ReportedTokens::NONE });
    assert_eq!(after.total.tokens, Some(wanted));
    assert_eq!(after.rows[0].key.as_deref(), Some("2027-01-01"));
    let since = SessionOnly { since: Some("2026-12-31T00:00:00Z".parse_time()), ..SessionOnly::default() };
    let late = stats(&engine, &StatsQuery { only: since, ..by(StatsBy::Client) });
    assert_eq!(late.total.tokens.map(|tokens| tokens.output), Some(7));
}

trait ParseTime {
    fn parse_time(&self) -> stemmata_model::Timestamp;
}

impl ParseTime for str {
    fn parse_time(&self) -> stemmata_model::Timestamp {
        stemmata_model::Timestamp::parse(self).expect("a time")
    }
}

#[test]
fn subagents_count_with_their_session() {
    let folder = Folder::new();
    let engine = engine();
    let session = ClaudeSession::new(17).turns(4).subagents(2).build();
    let mut files = vec![(format!("{}.jsonl", session.session_id), session.lines.clone())];
    files.extend(session.subagents.iter().map(|side| (side.path.clone(), side.lines.clone())));
    for (name, lines) in &files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        folder.write(name, (lines.join("\n") + "\n").as_bytes());
    }
    let report =
        engine.import(&[folder.path().to_owned()], &CaptureOptions::import(), 2, &|_| ()).expect("imported");
    let tips: Vec<_> = report.sessions.iter().filter_map(|known| known.captured.session.tip).collect();
    assert_eq!(tips.len(), 3);
    let counted = stats(&engine, &by(StatsBy::Project));
    assert_eq!((counted.total.sessions, counted.rows.len()), (1, 1));
    assert_eq!(counted.total.tokens.unwrap_or(ReportedTokens::NONE), tokens_of(&engine, &tips));
}

#[test]
fn what_was_read_once_is_kept_until_something_is_forgotten() {
    let (folder, cache) = (Folder::new(), Folder::new());
    let store = new_store();
    let engine = engine_on("m1", Arc::clone(&store) as Arc<dyn Store>).with_efforts(cache.path());
    let session = ClaudeSession::new(5).turns(3).build();
    let captured = import(&engine, &folder.write("s.jsonl", &bytes_of(&session))).session;
    let tip = captured.tip.expect("a tip");
    let file = cache.path().join("stats-v1.json");
    let cold = stats(&engine, &by(StatsBy::Model));
    let kept = std::fs::read_to_string(&file).expect("kept");
    assert!(!kept.contains(&session.session_id) && kept.contains(&tip.to_string()), "{kept}");
    // What is kept is taken: a name that no transcript says comes back.
    cache.write("stats-v1.json", kept.replacen("\"models\":[\"", "\"models\":[\"changed-", 1).as_bytes());
    let changed = stats(&engine, &by(StatsBy::Model));
    assert!(changed.rows.iter().any(|row| row.key.as_ref().is_some_and(|key| key.starts_with("changed-"))));
    cache.write("stats-v1.json", kept.as_bytes());
    assert_eq!(stats(&engine, &by(StatsBy::Model)), cold);
    let options =
        ForgetOptions { everywhere: false, even_pinned: false, by: Principal::new("ada").expect("a name") };
    let plan = engine.plan_forget(&ForgetTarget::Session(captured.key), &options).expect("planned");
    engine.apply_forget(plan).expect("forgotten");
    assert!(!file.exists());
    assert_eq!(stats(&engine, &by(StatsBy::Model)).total.sessions, 0);
}

#[test]
fn corpus_statistics_are_what_show_says_of_each_session() {
    let Some(corpus) = corpus("corpus_statistics_are_what_show_says_of_each_session") else { return };
    for client in ["claude-code", "codex", "pi"] {
        for path in jsonl_below(&corpus.join(client)).into_iter().take(12) {
            let engine = engine();
            let Some(tip) =
                engine.capture(&path, &CaptureOptions::import()).ok().and_then(|of| of.session.tip)
            else {
                continue;
            };
            let story = engine.overview(tip, None).expect("an overview").story;
            let total = stats(&engine, &by(StatsBy::Day)).total;
            assert_eq!(
                (total.tokens, total.active_seconds),
                (story.tokens, (story.active_micros / 1_000_000).cast_unsigned()),
                "{}",
                path.display()
            );
        }
    }
}
