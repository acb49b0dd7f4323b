//! Kill -9 at random moments during import and checkpoint: nothing acknowledged is lost, and `verify` is clean.
//!
//! The test runs itself again as the child that works; the parent reads its acknowledgements and kills it.
//!
//! `crates/faults` kills a scripted workload, one short-lived process a step. Here one process goes on through many
//! acknowledgements, on a transcript that grows, with the real clock and real ids, into one store that outlives them all.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use stemmata_engine::{CaptureOptions, CheckpointRequest, Engine, Identity, RandomIds, SystemClock};
use stemmata_model::{CommitId, FormatId, MachineId, SessionId, Template};
use stemmata_store::{SqliteOptions, SqliteStore};
use stemmata_testkit::claude::ClaudeSession;

/// Kills in one run of the tests.
const KILLS: u32 = 220;

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
    };
    Engine::new(Arc::new(store), Arc::new(SystemClock), Arc::new(RandomIds), identity)
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

/// A small generator, so that a failing run can be repeated by its seed.
fn next_random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn spin(duration: Duration) {
    let start = Instant::now();
    while start.elapsed() < duration {
        std::hint::spin_loop();
    }
}

/// Runs one child, kills it at a random moment after its first acknowledgement, and returns what it had said.
fn run_and_kill(home: &Path, random: &mut u64) -> Vec<CommitId> {
    let mut child = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(CHILD, home)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the child starts");
    let mut output = BufReader::new(child.stdout.take().expect("its output"));
    let mut acknowledged = Vec::new();
    let mut line = String::new();
    while output.read_line(&mut line).expect("its output") > 0 {
        if let Some(id) = line.trim().strip_prefix("ack ") {
            acknowledged.push(id.parse().expect("a whole id"));
            break;
        }
        line.clear();
    }
    spin(Duration::from_micros(next_random(random) % WORK_MICROS_MAX));
    child.kill().expect("killed");
    child.wait().expect("gone");
    for line in output.lines() {
        let Ok(line) = line else { break };
        // The last line may be cut; a whole id has thirty characters.
        if let Some(id) = line.trim().strip_prefix("ack ").filter(|id| id.len() == 30) {
            acknowledged.push(id.parse().expect("an id"));
        }
    }
    acknowledged
}

#[test]
fn nothing_acknowledged_is_lost_by_kill_9() {
    let home = tempfile::tempdir().expect("a folder");
    let mut random = 0x9e37_79b9_7f4a_7c15;
    let mut ledger = BTreeSet::new();
    for kill in 1..=KILLS {
        let acknowledged = run_and_kill(home.path(), &mut random);
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
            let mut damage = Vec::new();
            engine.store().verify(&mut |found| damage.push(found)).expect("verified");
            assert!(damage.is_empty(), "kill {kill}: {damage:?}");
        }
    }
    let engine = engine(home.path());
    for id in &ledger {
        assert!(engine.store().commit(*id).expect("readable").is_some(), "{id} was acknowledged");
    }
    println!("{KILLS} kills, {} commits acknowledged, none lost", ledger.len());
}
