//! What is derived from commits is made anew once for a store of an earlier version: counts, titles, times.

use std::path::PathBuf;

use proptest::prelude::*;
use stemmata_engine::{CaptureOptions, Engine};
use stemmata_model::{Commit, Counts, MachineId, Timestamp, Trigger};
use stemmata_store::{Session, SessionKey, Write};
use stemmata_testkit::claude::ClaudeSession;

use crate::support::{Folder, answer, bytes_of, chain, engine, import, user};

fn import_all(engine: &Engine, paths: &[PathBuf]) {
    let report = engine.import(paths, &CaptureOptions::import(), 1, &|_| {}).expect("imported");
    assert!(report.failures.is_empty(), "{:?}", report.failures);
}

fn write(engine: &Engine, batch: Vec<Write>) {
    engine.store().commit_batch(batch).expect("written");
}

/// Makes a store one of an earlier version: nothing says that what it derived is of this one.
pub(crate) fn make_older(engine: &Engine) {
    let key =
        SessionKey { machine: MachineId::new("m1").expect("a name"), path: "stemma:derived".to_owned() };
    write(engine, vec![Write::Cursor { key, value: vec![0] }]);
}

fn all(engine: &Engine) -> (Vec<Commit>, Vec<Session>) {
    let sessions = crate::namesakes::listed(engine, false).into_iter().map(|row| row.session).collect();
    (engine.store().commits_after(None, 10_000).expect("a read"), sessions)
}

#[test]
fn counts_and_titles_of_an_earlier_version_are_made_anew_once() {
    let (engine, folder) = (engine(), Folder::new());
    let path = folder.write("s.jsonl", &bytes_of(&ClaudeSession::new(3).turns(3).build()));
    import_all(&engine, std::slice::from_ref(&path));
    let before = all(&engine);
    let session = before.1.first().expect("a session").clone();
    let spoil = |is_older: bool| {
        let commit = chain(&engine, session.tip.expect("a tip")).first().expect("a root").id;
        let counts = Counts { messages: 99, entries: 98, tokens: 97 };
        let wrong = Session { title: Some("another line".to_owned()), messages: 77, ..session.clone() };
        write(&engine, vec![Write::Counts { commit, counts }, Write::Session(Box::new(wrong))]);
        if is_older {
            make_older(&engine);
        }
    };
    spoil(true);
    assert!(all(&engine) != before);
    import_all(&engine, std::slice::from_ref(&path));
    assert_eq!(all(&engine), before, "the next import makes it anew");
    // What comes next goes on from what was made anew, and not from the older title.
    folder.append("s.jsonl", (user(90, None, "and more") + &answer(91, 90, "done")).as_bytes());
    import_all(&engine, std::slice::from_ref(&path));
    let grown = all(&engine).1.first().expect("a session").clone();
    assert_eq!((&grown.title, grown.messages), (&session.title, session.messages + 2));
    spoil(false);
    let spoiled = all(&engine);
    import_all(&engine, &[folder.path().to_owned()]);
    assert_eq!(all(&engine), spoiled, "once");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(4)))]

    /// Where nothing was derived otherwise, nothing changes: however much of a transcript was read at once, and of an open turn too.
    #[test]
    fn what_this_version_derived_stays(seed in 0..10_000_u64, turns in 1..5_u64, cuts in proptest::collection::vec(0.0..1.0_f64, 0..3)) {
        let (engine, folder) = (engine(), Folder::new());
        let bytes = bytes_of(&ClaudeSession::new(seed).turns(turns).build());
        let mut cuts = cuts;
        cuts.sort_by(f64::total_cmp);
        for cut in cuts {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a share of a small length")]
            let at = (bytes.len() as f64 * cut) as usize;
            let path = folder.write("s.jsonl", &bytes[..at]);
            let _early = engine.capture(&path, &CaptureOptions::live(Trigger::ToolCall));
        }
        let path = folder.write("s.jsonl", &bytes[..bytes.len() - 40]);
        let _torn = engine.capture(&path, &CaptureOptions::live(Trigger::ToolCall));
        let before = all(&engine);
        make_older(&engine);
        import_all(&engine, &[]);
        prop_assert_eq!(all(&engine), before);
    }
}

#[test]
fn an_intruder_in_an_older_store_gets_times_of_its_own() {
    let (engine, folder) = (engine(), Folder::new());
    let made = |seed, turns| bytes_of(&ClaudeSession::new(seed).turns(turns).build());
    import(&engine, &folder.write("s.jsonl", &made(9, 2)));
    let path = folder.write("s.jsonl", &made(10, 6));
    let session = import(&engine, &path).session;
    let old = Timestamp::from_micros(1_500_000_000_000_000);
    write(&engine, vec![Write::Session(Box::new(Session { started_at: Some(old), ..session.clone() }))]);
    make_older(&engine);
    import_all(&engine, &[]);
    let now = engine.store().session(&session.key).expect("a read");
    assert_eq!(now.and_then(|now| now.started_at), session.started_at);
    assert_ne!(session.started_at, Some(old));
}
