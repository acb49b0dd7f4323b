//! Kill -9 at random moments: nothing that an import or a checkpoint acknowledged is lost, a scrub is ended by the next one,
//! and `verify` is clean.
//!
//! The test runs itself again as the child that works; the parent reads its acknowledgements and kills it.
//!
//! `crates/faults` kills a scripted workload, one short-lived process a step. Here one process goes on through many
//! acknowledgements, on a transcript that grows, with the real clock and real ids, into one store that outlives them all.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stemmata_engine::{
    CaptureOptions, CheckpointRequest, Engine, Identity, RandomIds, ScanTarget, ScrubReport, ScrubTarget,
    StoreRules, SystemClock,
};
use stemmata_model::{CommitId, FormatId, MachineId, Principal, SessionId, Template, Timestamp};
use stemmata_store::conformance::builders::damages;
use stemmata_store::{PackOptions, SqliteOptions, SqliteStore};
use stemmata_testkit::children::{self, Working, kill_after};
use stemmata_testkit::claude::ClaudeSession;
use stemmata_testkit::rng::Rng;
use stemmata_testkit::sample::part;

/// Kills in a full run of the tests; otherwise a sample, as of every law (`.cargo/config.toml`).
const KILLS: u32 = 240;

/// Kills after which the store is checked whole; the acknowledged commits are looked up after each.
const KILLS_PER_VERIFY: u32 = 20;

/// The longest that a child works before it is killed.
const WORK_MICROS_MAX: u64 = 25_000;

const CHILD: &str = "STEMMATA_CRASH_CHILD";

fn engine(home: &Path) -> Engine {
    let store = SqliteStore::open(&home.join("store"), SqliteOptions::default()).expect("the store opens");
    let identity = Identity {
        machine: MachineId::new("m1").expect("a name"),
        machine_label: "m1".to_owned(),
        user: "ada".to_owned(),
        former: Vec::new(),
    };
    Engine::over(Arc::new(store), Arc::new(SystemClock), Arc::new(RandomIds), identity)
}

/// What the child does: imports a file, grows it and imports again, checkpoints; says each commit that it has.
#[test]
fn child() {
    #[expect(clippy::disallowed_methods, reason = "the parent names the folder")]
    let Some(home) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let engine = engine(&home);
    let mut said = std::io::stdout().lock();
    let mut say = |id: CommitId| {
        writeln!(said, "\nack {id}").and_then(|()| said.flush()).expect("the parent listens");
    };
    let seed = u64::from(std::process::id());
    let lines = ClaudeSession::new(seed).turns(40).compactions(1).build().lines;
    let path = home.join(format!("{seed}.jsonl"));
    let mut parent = None;
    for (number, some) in lines.chunks(7).enumerate() {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&path).expect("a file");
        file.write_all((some.join("\n") + "\n").as_bytes()).expect("written");
        let captured = engine.capture(&path, &CaptureOptions::import()).expect("captured");
        say(captured.session.tip.expect("a tip"));
        let made = engine.checkpoint(&request(parent, seed, number)).expect("a checkpoint");
        parent = Some(made.id);
        say(made.id);
    }
}

fn request(parent: Option<CommitId>, seed: u64, number: usize) -> CheckpointRequest {
    CheckpointRequest {
        parent,
        ..CheckpointRequest::delta(
            format!("{{\"n\":{number},\"seed\":{seed}}}\n").into_bytes(),
            FormatId::new("own-v1").expect("a name"),
            Template::new("own").expect("a name"),
            SessionId::new(format!("own-{seed}")).expect("a name"),
        )
    }
}

fn spin(duration: Duration) {
    let start = Instant::now();
    while start.elapsed() < duration {
        std::hint::spin_loop();
    }
}

/// Starts this test again as the child of that name.
fn start(child: &str, variable: &str, home: &Path) -> Working {
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command.args(["--exact", child, "--nocapture", "--test-threads=1"]).env(variable, home);
    children::start(&mut command).expect("the child starts")
}

/// Runs one child, kills it at a random moment after its first acknowledgement, and returns what it had said.
fn run_and_kill(home: &Path, rng: &mut Rng) -> Vec<CommitId> {
    let id = |line: &str| Some(line.trim().strip_prefix("ack ")?.parse().expect("a whole id"));
    let pause = Duration::from_micros(rng.range(0, WORK_MICROS_MAX));
    kill_after(start("child", CHILD, home), 1, id, || spin(pause)).expect("killed")
}

#[test]
fn nothing_acknowledged_is_lost_by_kill_9() {
    let home = tempfile::tempdir().expect("a folder");
    let mut rng = Rng::new(1);
    let mut ledger = BTreeSet::new();
    let kills = part(KILLS);
    for kill in 1..=kills {
        let acknowledged = run_and_kill(home.path(), &mut rng);
        assert!(!acknowledged.is_empty(), "the child worked");
        let engine = engine(home.path());
        for id in &acknowledged {
            assert!(
                engine.store().commit(*id).expect("readable").is_some(),
                "kill {kill}: {id} was acknowledged"
            );
        }
        if let Some(last) = acknowledged.last() {
            engine.native(*last, &mut std::io::sink()).expect("readable to the root");
        }
        ledger.extend(acknowledged);
        if kill % KILLS_PER_VERIFY == 0 {
            assert_eq!(damages(engine.store()), [], "kill {kill}");
        }
    }
    let engine = engine(home.path());
    for id in &ledger {
        assert!(engine.store().commit(*id).expect("readable").is_some(), "{id} was acknowledged");
    }
    println!("{kills} kills, {} commits acknowledged, none lost", ledger.len());
}

const SCRUB_CHILD: &str = "STEMMATA_CRASH_SCRUB_CHILD";

/// Scrubs that are killed in a full run of the tests; otherwise a sample.
const SCRUB_KILLS: u32 = 40;

/// What leaked: the rules of then did not know it.
const LEAKED: &str = "ACME-771234";

fn knowing_engine(home: &Path) -> Engine {
    let text = "[[rules]]\nkind = 'ticket'\nkeywords = ['ACME-']\nregex = 'ACME-[0-9]{6}'\n".to_owned();
    engine(home).with_rules(StoreRules { name: "secrets.toml".to_owned(), text })
}

fn scrub(engine: &Engine) -> ScrubReport {
    let by = Principal::new("ada@m1").expect("a name");
    engine.scrub(&ScrubTarget::All, &by).expect("scrubbed")
}

/// What the child does: scrubs everything, between two words.
#[test]
fn scrub_child() {
    #[expect(clippy::disallowed_methods, reason = "the parent names the folder")]
    let Some(home) = std::env::var_os(SCRUB_CHILD).map(PathBuf::from) else { return };
    let engine = knowing_engine(&home);
    let mut said = std::io::stdout().lock();
    writeln!(said, "\nbegun").and_then(|()| said.flush()).expect("the parent listens");
    scrub(&engine);
    writeln!(said, "\ndone").and_then(|()| said.flush()).expect("the parent listens");
}

/// Makes a store with what leaked in several sessions, some of it packed; returns their transcripts.
fn leaked(home: &Path) -> Vec<PathBuf> {
    let engine = engine(home);
    let mut paths = Vec::new();
    for seed in 0..3 {
        let mut lines = ClaudeSession::new(seed).turns(6).compactions(seed % 2).rewinds(1).build().lines;
        for line in lines.iter_mut().skip(1).step_by(5) {
            *line = line.replacen(r#""text":""#, &format!(r#""text":"{LEAKED} "#), 1);
            *line = line.replacen(r#""content":""#, &format!(r#""content":"{LEAKED} "#), 1);
        }
        let path = home.join(format!("{seed}.jsonl"));
        let mut file = std::fs::File::create(&path).expect("a file");
        file.write_all((lines.join("\n") + "\n").as_bytes()).expect("written");
        engine.capture(&path, &CaptureOptions::import()).expect("captured");
        if seed == 0 {
            engine.pack(&PackOptions::new(Timestamp::EPOCH)).expect("packed");
        }
        paths.push(path);
    }
    paths
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder").flatten() {
        let (path, there) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy_folder(&path, &there);
        } else {
            std::fs::copy(&path, &there).expect("copied");
        }
    }
}

/// Returns the names of a store's files that hold what leaked.
fn holders(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holders(&path));
        } else if memchr::memmem::find(&std::fs::read(&path).expect("a file"), LEAKED.as_bytes()).is_some() {
            found.push(path);
        }
    }
    found
}

/// Scrubs a copy of a store in another process, and kills that after so long. Returns whether it had ended.
fn scrub_and_kill(home: &Path, after: Duration) -> bool {
    let word = |line: &str| ["begun", "done"].into_iter().find(|word| line.trim() == *word);
    let child = start("scrub_child", SCRUB_CHILD, home);
    let said = kill_after(child, 1, word, || spin(after)).expect("killed");
    assert_eq!(said.first(), Some(&"begun"), "the child began");
    said.contains(&"done")
}

/// Killed at any moment, a scrub leaves chains that can be read, old or new; the next one ends it, and then nothing of
/// what leaked is in any file.
#[test]
fn a_scrub_that_is_killed_is_ended_by_the_next_one() {
    let home = tempfile::tempdir().expect("a folder");
    let paths = leaked(home.path());
    let originals: Vec<String> =
        paths.iter().map(|path| std::fs::read_to_string(path).expect("a transcript")).collect();
    // How long one takes here: it is killed at moments all over that.
    let whole = tempfile::tempdir().expect("a folder");
    copy_folder(&home.path().join("store"), &whole.path().join("store"));
    let began = Instant::now();
    let rewritten = scrub(&knowing_engine(whole.path())).rewritten;
    let took = began.elapsed();
    let (mut rng, mut ended, mut moved) = (Rng::new(1), 0, 0);
    let kills = part(SCRUB_KILLS);
    for kill in 0..kills {
        let hurt = tempfile::tempdir().expect("a folder");
        copy_folder(&home.path().join("store"), &hurt.path().join("store"));
        let micros = u64::try_from(took.as_micros()).expect("a moment").max(1);
        let after = Duration::from_micros(rng.range(0, micros - 1));
        ended += u32::from(scrub_and_kill(hurt.path(), after));
        let engine = knowing_engine(hurt.path());
        let mut new = 0;
        for (path, original) in paths.iter().zip(&originals) {
            let session = engine.find_session(&path.to_string_lossy()).expect("read").expect("there");
            let mut bytes = Vec::new();
            engine.native(session.tip.expect("a tip"), &mut bytes).expect("readable to the root");
            let text = String::from_utf8(bytes).expect("text");
            let (is_old, is_new) = (text.contains(LEAKED), text.contains("[REDACTED:ticket]"));
            assert!(is_old != is_new, "kill {kill}: one chain or the other");
            assert_eq!(text.replace("[REDACTED:ticket]", LEAKED), *original, "kill {kill}");
            new += u32::from(is_new);
        }
        moved += u32::from(new > 0);
        scrub(&engine);
        let mut found = 0;
        engine
            .scan(&ScanTarget::All(None), &mut |_| {
                found += 1;
                true
            })
            .expect("scanned");
        assert_eq!(found, 0, "kill {kill}");
        assert_eq!(damages(engine.store()), [], "kill {kill}");
        for path in &paths {
            let session = engine.find_session(&path.to_string_lossy()).expect("read").expect("there");
            let fresh = knowing_engine(whole.path()).find_session(&path.to_string_lossy());
            assert_eq!(
                session.tip,
                fresh.expect("read").expect("there").tip,
                "kill {kill}: the same as without"
            );
        }
        drop(engine);
        assert_eq!(holders(&hurt.path().join("store")), Vec::<PathBuf>::new(), "kill {kill}");
    }
    println!("{kills} kills of scrubs of {rewritten} commits: {ended} had ended, {moved} had moved sessions");
}
