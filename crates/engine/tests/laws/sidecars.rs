//! Files that a client keeps beside a transcript: captured as they are, apart from the session's commits, and gone with it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use stemmata_engine::{
    BundleSelection, CaptureOptions, Captured, CollectOptions, Engine, FileState, ForgetOptions,
    ForgetTarget, KeptSidecars, RetentionRules, SIDECAR_BYTES_MAX, ScrubTarget, Sidecar, StoreRules,
};
use stemmata_model::{CommitId, Principal};
use stemmata_store::conformance::builders::damages;
use stemmata_store::{SessionFilter, Store, StoreIdentity};
use stemmata_testkit::claude::ClaudeSession;
use stemmata_testkit::faulty::{Fault, FaultyStore};
use stemmata_testkit::memory::MemoryStore;

use crate::bundles::{export, other, take};
use crate::support::{Folder, bytes_of, closed, engine_on, import, native, new_store, usage};

const ID: &str = "5e1f0000-0000-4000-8000-0000000000b1";

fn secret() -> String {
    ["ghp_", "a8F3kLmQ92xZ", "vB7nTy5Rw1Cd", "E4gH6jK0pSuX"].concat()
}

/// The home of a client with one session and files beside it.
struct Home {
    folder: Folder,
    transcript: PathBuf,
}

impl Home {
    fn new() -> Self {
        let folder = Folder::new();
        let transcript = folder.path().join(format!("projects/-w/{ID}.jsonl"));
        put(&transcript, &bytes_of(&ClaudeSession::new(3).turns(2).session_id(ID).build()));
        Self { folder, transcript }
    }

    fn result(&self, name: &str) -> PathBuf {
        self.transcript.with_extension("").join("tool-results").join(name)
    }

    fn backup(&self, name: &str) -> PathBuf {
        self.folder.path().join("file-history").join(ID).join(name)
    }

    fn import(&self, engine: &Engine) -> Captured {
        import(engine, &self.transcript)
    }
}

fn put(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    let mut file = std::fs::File::create(path).expect("a file");
    std::io::Write::write_all(&mut file, bytes).expect("written");
}

fn all() -> Engine {
    engine_on("m1", new_store()).with_sidecars(KeptSidecars::All)
}

/// Names, bytes, and whether secrets were replaced.
fn held(engine: &Engine, tip: CommitId) -> Vec<(String, Vec<u8>, bool)> {
    let told = |own: Sidecar| {
        (format!("{}/{}", own.folder.name, own.name.join("/")), native(engine, own.ctx), own.is_altered)
    };
    engine.sidecars(tip).expect("a list").into_iter().map(told).collect()
}

fn sessions(engine: &Engine) -> usize {
    let filter = SessionFilter { with_sidecars: true, ..SessionFilter::default() };
    let page = stemmata_store::Page { skip: 0, rows_max: 100 };
    engine.store().sessions(&filter, page).expect("a read").len()
}

fn forget(engine: &Engine, session: &Captured) {
    let options =
        ForgetOptions { everywhere: false, even_pinned: false, by: Principal::new("ada").expect("a name") };
    engine.forget(&ForgetTarget::Session(session.session.key.clone()), &options).expect("forgotten");
}

fn contents() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..400),
        "[ -~\n]{0,200}".prop_map(String::into_bytes),
        Just(br#"{"a": [1, "x"]}"#.to_vec()),
        Just(b"{\"a\":1}\n{\"b\":2}\n".to_vec()),
        Just(Vec::new()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(8)))]

    /// Whatever the files hold, they come back byte for byte, once, and the session's commits know nothing of them.
    #[test]
    fn files_beside_a_transcript_are_kept_as_they_are_and_apart_from_its_commits(
        files in proptest::collection::btree_map("[a-z]{1,8}(\\.txt|\\.json|)", contents(), 1..6),
        changed in contents(),
    ) {
        let (engine, home) = (all(), Home::new());
        let bare = engine_on("m2", new_store()).with_sidecars(KeptSidecars::None);
        let alone = home.import(&bare).session.tip.expect("a tip");
        prop_assert_eq!(sessions(&bare), 1);
        for (name, bytes) in &files {
            put(&home.result(name), bytes);
            put(&home.backup(&format!("{name}@v1")), bytes);
        }
        let captured = home.import(&engine);
        let tip = captured.session.tip.expect("a tip");
        prop_assert_eq!(closed(&engine, tip), closed(&bare, alone));
        prop_assert_eq!(captured.sidecars.files, files.len() as u64 * 2);
        let wanted: Vec<(String, Vec<u8>, bool)> = files
            .iter()
            .map(|(name, bytes)| (format!("file-history/{name}@v1"), bytes.clone(), false))
            .chain(files.iter().map(|(name, bytes)| (format!("tool-results/{name}"), bytes.clone(), false)))
            .collect();
        let sorted = |mut all: Vec<(String, Vec<u8>, bool)>| { all.sort(); all };
        prop_assert_eq!(sorted(held(&engine, tip)), sorted(wanted));
        let before = usage(&engine);
        prop_assert_eq!(home.import(&engine).sidecars.files, 0, "nothing is new");
        prop_assert_eq!(usage(&engine), before);
        // Of a file that changed, what it was stays behind what it is.
        let (name, old) = files.iter().next().expect("one");
        let longer = [old.as_slice(), b"+", &changed].concat();
        put(&home.result(name), &longer);
        prop_assert_eq!(home.import(&engine).sidecars.files, 1);
        let now = held(&engine, tip).into_iter().find(|(own, ..)| *own == format!("tool-results/{name}"));
        prop_assert_eq!(now.map(|(_, bytes, _)| bytes), Some(longer));
        prop_assert_eq!(damages(engine.store()), []);
    }
}

#[test]
fn secrets_in_files_are_replaced_before_they_are_stored_and_said() {
    let (engine, home, secret) = (all(), Home::new(), secret());
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeLezV6ffAt0gun\n-----END RSA PRIVATE KEY-----\n";
    put(&home.result("a.txt"), format!("export GH={secret}\n").as_bytes());
    put(&home.result("b.json"), format!(r#"{{"token": "{secret}"}}"#).as_bytes());
    put(&home.result("c.jsonl"), format!("{{\"a\":1}}\n{{\"token\":\"{secret}\"}}\n").as_bytes());
    put(&home.result("d.bin"), &[b"\xff\xfe\n GH=", secret.as_bytes(), b"\n\x00\xff"].concat());
    put(&home.result("e.pem"), format!("one\n{key}two\n").as_bytes());
    put(&home.result("f.txt"), b"nothing");
    put(&home.backup("0a@v1"), format!("GH={secret}\n").as_bytes());
    let captured = home.import(&engine);
    assert_eq!((captured.sidecars.files, captured.sidecars.altered), (7, 6));
    assert!(captured.notes.iter().any(|note| note.message.contains("secrets were replaced in 6 files")));
    let tip = captured.session.tip.expect("a tip");
    for (name, bytes, is_altered) in held(&engine, tip) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(!text.contains(&secret) && !text.contains("MIIEow"), "{name}: {text}");
        assert_eq!(is_altered, name != "tool-results/f.txt", "{name}: {text}");
    }
    // Placed by us, the bytes come back without a secret: they are still not what the client wrote.
    let placed = held(&engine, tip).into_iter().find(|(name, ..)| name.ends_with("a.txt")).expect("it").1;
    put(&home.result("again.txt"), &placed);
    home.import(&engine);
    let again = held(&engine, tip).into_iter().find(|(name, ..)| name.ends_with("again.txt")).expect("it");
    assert!(again.2, "{again:?}");
}

#[test]
fn scrubbing_finds_what_a_new_rule_says_in_files_too() {
    let (store, home) = (new_store(), Home::new());
    put(&home.backup("0a@v1"), b"see ACME-771234\n");
    put(&home.result("a.txt"), b"see nothing\n");
    let before = engine_on("m1", Arc::clone(&store)).with_sidecars(KeptSidecars::All);
    let tip = home.import(&before).session.tip.expect("a tip");
    let rules = "[[rules]]\nkind = 'ticket'\nkeywords = ['ACME-']\nregex = 'ACME-[0-9]{6}'\n";
    let rules = StoreRules { name: "secrets.toml".to_owned(), text: rules.to_owned() };
    let engine = engine_on("m1", store).with_sidecars(KeptSidecars::All).with_rules(rules);
    let session = engine.session_of(tip).expect("a read").expect("a session");
    let report = engine.scrub(&ScrubTarget::Session(session.key), &Principal::new("ada").expect("a name"));
    assert_eq!(report.expect("scrubbed").rewritten, 1);
    let now = held(&engine, tip);
    assert_eq!(now[0], ("file-history/0a@v1".to_owned(), b"see [REDACTED:ticket]\n".to_vec(), true));
    assert_eq!(now[1], ("tool-results/a.txt".to_owned(), b"see nothing\n".to_vec(), false));
    assert_eq!(home.import(&engine).sidecars.files, 0, "capture goes on from there");
    assert_eq!(damages(engine.store()), []);
}

#[test]
fn only_what_is_wanted_and_within_bounds_is_read() {
    let home = Home::new();
    put(&home.result("a.txt"), b"a");
    put(&home.result("deep/er/b.txt"), b"b");
    put(&home.backup("0a@v1"), b"c");
    put(&home.transcript.with_extension("").join("subagents/agent-1.meta.json"), b"{}");
    put(&home.transcript.with_extension("").join("memory/notes.md"), b"not ours");
    let count = |kept| {
        let engine = engine_on("m1", new_store()).with_sidecars(kept);
        home.import(&engine).sidecars.files
    };
    assert_eq!(
        [KeptSidecars::None, KeptSidecars::Results, KeptSidecars::All].map(count),
        [0, 3, 4],
        "each level has more"
    );
    // One that is too long, and a link that leads elsewhere.
    let long = std::fs::File::create(home.result("long.bin")).expect("a file");
    long.set_len(SIDECAR_BYTES_MAX + 1).expect("a length");
    std::os::unix::fs::symlink("/etc/passwd", home.result("link")).expect("a link");
    let captured = home.import(&all());
    assert_eq!((captured.sidecars.files, captured.sidecars.left_out), (4, 1));
    let said = captured.notes.iter().find(|note| note.message.contains("long.bin")).expect("it is said");
    assert!(said.message.contains("1 file") && said.message.contains("64 MiB"), "{}", said.message);
}

#[test]
fn a_journal_of_subagents_is_captured_and_not_called_skipped() {
    let (engine, home) = (engine_on("m1", new_store()), Home::new());
    let own = home.transcript.with_extension("");
    put(&own.join("subagents/workflows/wf_1/journal.jsonl"), b"{\"step\":1}\n");
    put(&own.join("subagents/strange.jsonl"), b"not a record\n");
    let folder = home.folder.path().to_owned();
    let read = || {
        engine.import(std::slice::from_ref(&folder), &CaptureOptions::import(), 1, &|_| ()).expect("imported")
    };
    let report = read();
    for report in [&report, &read()] {
        assert_eq!(report.skipped, Vec::<PathBuf>::new());
        assert_eq!(report.sessions.len(), 1, "a file is no session");
    }
    let tip = report.sessions[0].captured.session.tip.expect("a tip");
    assert_eq!(held(&engine, tip).len(), 2);
}

#[test]
fn files_are_forgotten_with_their_session_and_stay_so() {
    let (engine, home) = (all(), Home::new());
    put(&home.result("a.txt"), b"what was read");
    put(&home.backup("0a@v1"), b"fn main() {}");
    let captured = home.import(&engine);
    let tip = captured.session.tip.expect("a tip");
    let files = engine.sidecars(tip).expect("a list");
    assert_eq!(files.len(), 2);
    forget(&engine, &captured);
    for file in &files {
        assert_eq!(engine.store().commit(file.ctx).expect("a read"), None);
    }
    assert_eq!(sessions(&engine), 0);
    home.import(&engine);
    assert_eq!(sessions(&engine), 0, "nothing brings them back");
    engine.unforget(ID).expect("lifted");
    let tip = home.import(&engine).session.tip.expect("a tip");
    assert_eq!(held(&engine, tip).len(), 2);
    assert_eq!(damages(engine.store()), []);
}

#[test]
fn of_two_sessions_with_one_id_each_has_its_own_files_and_the_last_one_their_backups() {
    let (engine, home) = (all(), Home::new());
    put(&home.result("a.txt"), b"of the first");
    put(&home.backup("0a@v1"), b"of either");
    let second = home.folder.path().join(format!("projects/-v/{ID}.jsonl"));
    put(&second, &bytes_of(&ClaudeSession::new(4).turns(2).session_id(ID).build()));
    put(&second.with_extension("").join("tool-results/b.txt"), b"of the second");
    let one = home.import(&engine);
    let two = import(&engine, &second);
    let names = |captured: &Captured| {
        let all = held(&engine, captured.session.tip.expect("a tip")).into_iter();
        all.map(|(name, ..)| name).collect::<Vec<_>>()
    };
    assert_eq!(names(&one), ["file-history/0a@v1", "tool-results/a.txt"]);
    assert_eq!(names(&two), ["file-history/0a@v1", "tool-results/b.txt"]);
    forget(&engine, &two);
    assert_eq!(names(&one), ["file-history/0a@v1", "tool-results/a.txt"]);
    forget(&engine, &one);
    assert_eq!(sessions(&engine), 0);
}

#[test]
fn files_are_retired_with_their_session() {
    let (engine, home) = (all(), Home::new());
    put(&home.result("a.txt"), b"what was read");
    let tip = home.import(&engine).session.tip.expect("a tip");
    let file = engine.sidecars(tip).expect("a list")[0].ctx;
    let collect = |days, subagents_days| {
        let rules = RetentionRules { sessions_days: Some(days), subagents_days, ..RetentionRules::default() };
        engine.collect(&CollectOptions { rules, grace_days: 0 }).expect("collected")
    };
    assert_eq!(collect(3_000, Some(0)).retired.len(), 0, "it is no subagent");
    assert!(engine.store().commit(file).expect("a read").is_some());
    let report = collect(1, None);
    assert_eq!(report.retired.len(), 1, "a person hears of the session");
    collect(1, None);
    for ctx in [tip, file] {
        assert_eq!(engine.store().commit(ctx).expect("a read"), None);
    }
    assert_eq!(home.import(&engine).sidecars.files, 0, "what expired does not come back");
}

#[test]
fn bundles_bring_the_files_of_their_sessions() {
    let (engine, home, there) = (all(), Home::new(), other());
    put(&home.result("a.txt"), b"what was read");
    put(&home.result("b.txt"), format!("GH={}", secret()).as_bytes());
    let tip = home.import(&engine).session.tip.expect("a tip");
    let second = home.folder.path().join("projects/-w/5e1f0000-0000-4000-8000-0000000000c1.jsonl");
    put(&second, &bytes_of(&ClaudeSession::new(9).turns(1).build()));
    put(&second.with_extension("").join("tool-results/c.txt"), b"of another");
    import(&engine, &second);
    let (bundle, done) = export(&engine, &BundleSelection::Commits(vec![tip]), &[]);
    assert_eq!((done.sessions, done.sidecars), (1, 2));
    let taken = take(&there, &bundle);
    assert_eq!((taken.sessions, taken.sidecars), (1, 2));
    assert_eq!(held(&there, tip), held(&engine, tip));
    let ids =
        |engine: &Engine| engine.sidecars(tip).expect("a list").into_iter().map(|own| own.ctx).collect();
    let (here, at_there): (Vec<CommitId>, Vec<CommitId>) = (ids(&engine), ids(&there));
    assert_eq!(here, at_there);
    // Everything is everything.
    let (bundle, done) = export(&engine, &BundleSelection::All, &[]);
    assert_eq!((done.sessions, done.sidecars), (2, 3));
    take(&there, &bundle);
    assert_eq!(sessions(&there), sessions(&engine));
}

#[test]
fn a_session_that_was_moved_takes_its_files_along() {
    let (engine, home) = (all(), Home::new());
    put(&home.result("a.txt"), b"what was read");
    let tip = home.import(&engine).session.tip.expect("a tip");
    let before = engine.sidecars(tip).expect("a list");
    let new = home.folder.path().join(format!("projects/-elsewhere/{ID}.jsonl"));
    std::fs::create_dir_all(new.parent().expect("a folder")).expect("made");
    std::fs::rename(&home.transcript, &new).expect("moved");
    std::fs::rename(home.transcript.with_extension(""), new.with_extension("")).expect("moved");
    import(&engine, &new);
    let after = engine.sidecars(tip).expect("a list");
    assert_eq!(after.iter().map(|own| own.ctx).collect::<Vec<_>>(), [before[0].ctx]);
    assert!(after[0].session.key.path.contains("-elsewhere"), "{after:?}");
    assert_eq!(sessions(&engine), 2, "one session and one file");
}

#[test]
fn a_crash_at_any_write_leaves_what_the_next_import_completes() {
    for fault in [Fault::Before, Fault::After] {
        let mut number = 1;
        loop {
            let memory = MemoryStore::new(StoreIdentity { store_id: [1; 16], secret: [2; 32] });
            let store = Arc::new(FaultyStore::new(memory));
            let engine = engine_on("m1", Arc::clone(&store) as Arc<dyn Store>);
            let home = Home::new();
            put(&home.result("a.txt"), b"first");
            put(&home.result("b.txt"), b"second");
            home.import(&engine);
            put(&home.result("a.txt"), b"first, and more");
            put(&home.result("c.txt"), &vec![b'x'; 5 << 20]);
            store.fail(number, fault);
            let is_whole = engine.capture(&home.transcript, &CaptureOptions::import()).is_ok();
            assert_eq!(damages(store.inner()), [], "after fault {number}");
            let tip = home.import(&engine).session.tip.expect("a tip");
            let found: Vec<(String, usize)> =
                held(&engine, tip).into_iter().map(|(name, bytes, _)| (name, bytes.len())).collect();
            let wanted = [("a.txt", 15), ("b.txt", 6), ("c.txt", 5 << 20)]
                .map(|(name, bytes)| (format!("tool-results/{name}"), bytes));
            assert_eq!(found, wanted, "after fault {number}");
            if is_whole {
                break;
            }
            number += 1;
        }
        assert!(number > 1, "the workload makes writes");
    }
}

#[test]
fn a_state_that_differs_by_a_secret_alone_is_another_one() {
    let (engine, home) = (all(), Home::new());
    put(&home.backup("0a@v1"), b"tok=[REDACTED:github-token]\n");
    let tip = home.import(&engine).session.tip.expect("a tip");
    assert!(!held(&engine, tip)[0].2);
    put(&home.backup("0a@v1"), format!("tok={}\n", secret()).as_bytes());
    home.import(&engine);
    let now = held(&engine, tip);
    assert_eq!(now[0], ("file-history/0a@v1".to_owned(), b"tok=[REDACTED:github-token]\n".to_vec(), true));
}

#[test]
fn a_text_in_utf_16_is_scrubbed_as_one() {
    let (engine, home) = (all(), Home::new());
    let units = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let text = format!("\u{feff}naïve GH={}\r\n", secret());
    put(&home.result("a.txt"), &units(&text));
    put(&home.result("b.txt"), &units("\u{feff}nothing here\r\n"));
    let tip = home.import(&engine).session.tip.expect("a tip");
    let now = held(&engine, tip);
    assert_eq!((&now[0].1, now[0].2), (&units("\u{feff}naïve GH=[REDACTED:github-token]\r\n"), true));
    assert_eq!((&now[1].1, now[1].2), (&units("\u{feff}nothing here\r\n"), false));
}

#[test]
fn nothing_is_stored_beside_a_session_that_is_forgotten_meanwhile() {
    let memory = MemoryStore::new(StoreIdentity { store_id: [1; 16], secret: [2; 32] });
    let store = Arc::new(FaultyStore::new(memory));
    let engine = engine_on("m1", Arc::clone(&store) as Arc<dyn Store>);
    let home = Home::new();
    let captured = home.import(&engine);
    put(&home.result("a.txt"), b"what was read");
    let other = engine.clone();
    store.meddle(1, move || forget(&other, &captured));
    let again = home.import(&engine);
    assert_eq!((again.sidecars.files, sessions(&engine)), (0, 0), "{again:?}");
    assert_eq!(damages(store.inner()), []);
}

#[test]
fn a_log_that_grows_is_stored_once() {
    let (engine, home) = (all(), Home::new());
    let line = |number: u32| format!("{number} {}\n", blake3::hash(&number.to_le_bytes()).to_hex());
    let mut log: String = (0..2_000).map(line).collect();
    put(&home.result("a.log"), log.as_bytes());
    let tip = home.import(&engine).session.tip.expect("a tip");
    log.push_str(&line(2_000));
    put(&home.result("a.log"), log.as_bytes());
    let grown = home.import(&engine).sidecars;
    assert!(grown.bytes > 100_000 && grown.bytes_stored < 1_000, "{grown:?}");
    assert_eq!(held(&engine, tip)[0].1, log.as_bytes());
    assert_eq!(damages(engine.store()), []);
}

#[test]
fn links_are_not_followed() {
    let (engine, home) = (all(), Home::new());
    let elsewhere = home.folder.path().join("elsewhere");
    put(&elsewhere.join("tool-results/a.txt"), b"not ours");
    std::os::unix::fs::symlink(&elsewhere, home.transcript.with_extension("")).expect("a link");
    assert_eq!(home.import(&engine).sidecars.files, 0);
}

#[test]
fn what_retention_deleted_of_a_session_that_continues_is_read_again() {
    let (engine, home) = (all(), Home::new());
    put(&home.result("a.txt"), b"what was read");
    home.import(&engine);
    let rules = RetentionRules { sessions_days: Some(1), ..RetentionRules::default() };
    for _ in 0..2 {
        engine.collect(&CollectOptions { rules: rules.clone(), grace_days: 0 }).expect("collected");
    }
    let more = crate::support::user(90, None, "and more") + &crate::support::answer(91, 90, "done");
    let mut file = std::fs::OpenOptions::new().append(true).open(&home.transcript).expect("a file");
    std::io::Write::write_all(&mut file, more.as_bytes()).expect("written");
    let tip = home.import(&engine).session.tip.expect("a tip");
    assert_eq!(held(&engine, tip).len(), 1);
}

#[test]
fn namesakes_do_not_take_each_others_files() {
    let (engine, home) = (all(), Home::new());
    put(&home.result("a.txt"), b"of the first");
    let second = home.folder.path().join(format!("projects/-v/{ID}.jsonl"));
    put(&second, &bytes_of(&ClaudeSession::new(4).turns(2).session_id(ID).build()));
    let one = home.import(&engine);
    import(&engine, &second);
    // The client deletes one, and writes the other one's.
    std::fs::remove_file(home.result("a.txt")).expect("removed");
    put(&second.with_extension("").join("tool-results/a.txt"), b"of the second");
    let two = import(&engine, &second);
    let files = |captured: &Captured| {
        let all = held(&engine, captured.session.tip.expect("a tip")).into_iter();
        all.map(|(_, bytes, _)| String::from_utf8(bytes).expect("text")).collect::<Vec<_>>()
    };
    assert_eq!(
        (files(&one), files(&two)),
        (vec!["of the first".to_owned()], vec!["of the second".to_owned()])
    );
    let (_, done) = export(&engine, &BundleSelection::Commits(vec![two.session.tip.expect("a tip")]), &[]);
    assert_eq!((done.sessions, done.sidecars), (1, 1), "a bundle has the files of its session alone");
    forget(&engine, &one);
    put(&second.with_extension("").join("tool-results/a.txt"), b"of the second, anew");
    import(&engine, &second);
    assert_eq!(files(&two), ["of the second, anew"]);
}

/// Whether an import would find something to read.
fn is_news(engine: &Engine, home: &Home) -> bool {
    let surveyed = engine.survey(std::slice::from_ref(&home.transcript)).expect("a survey");
    let [file] = &surveyed[..] else { panic!("{surveyed:?}") };
    file.state != FileState::Unchanged
}

#[test]
fn a_file_that_changed_beside_a_transcript_that_did_not_is_news() {
    let (engine, home) = (all(), Home::new());
    let agent = home.transcript.with_extension("").join("subagents/agent-a1.meta.json");
    home.import(&engine);
    assert!(!is_news(&engine, &home));
    for (path, bytes) in [
        (home.result("a.txt"), &b"one"[..]),
        (home.result("a.txt"), b"one and two"),
        (agent, b"{\"type\":\"explore\"}"),
        (home.backup("0a@v1"), b"fn main() {}"),
    ] {
        put(&path, bytes);
        assert!(is_news(&engine, &home), "{}", path.display());
        home.import(&engine);
        assert!(!is_news(&engine, &home), "{}", path.display());
    }
    // What no capture takes is no news: a file that is gone, written anew as it was, too long, or not wanted.
    put(&home.result("a.txt"), b"one and two");
    assert!(!is_news(&engine, &home));
    std::fs::remove_file(home.result("a.txt")).expect("removed");
    assert!(!is_news(&engine, &home));
    let long = std::fs::File::create(home.result("long.txt")).expect("a file");
    long.set_len(SIDECAR_BYTES_MAX + 1).expect("sized");
    assert!(!is_news(&engine, &home));
    let results = engine_on("m1", new_store()).with_sidecars(KeptSidecars::Results);
    home.import(&results);
    put(&home.backup("0a@v2"), b"fn other() {}");
    assert!(!is_news(&results, &home));
    assert!(is_news(&engine, &home));
}
