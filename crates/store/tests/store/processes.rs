//! Processes that die and processes that write at once.
//!
//! A child is this test binary once more, running `child` with its orders in the environment.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use super::support::{checkpoint, damages, read};
use stemmata_model::CommitId;
use stemmata_store::{SqliteOptions, SqliteStore, Store};
use tempfile::TempDir;

/// Children that are killed.
const KILLS: u64 = 60;

/// Names the directory, the session and how many checkpoints to make, separated by `|`.
const ORDERS: &str = "STEMMATA_TEST_CHILD";

fn open(dir: &Path) -> SqliteStore {
    SqliteStore::open(dir, SqliteOptions::default()).expect("a store")
}

/// Not a test of its own: what a child does. Without orders it does nothing.
#[test]
fn child() {
    let Some((_, orders)) = std::env::vars().find(|(name, _)| name == ORDERS) else {
        return;
    };
    let orders: Vec<&str> = orders.split('|').collect();
    let store = open(Path::new(orders[0]));
    let count: u64 = orders[2].parse().expect("a number");
    // Two threads, so that groups die too.
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (store, name) = (&store, format!("{}-{thread}", orders[1]));
            scope.spawn(move || {
                let mut tip = None;
                for step in 0..count {
                    let (id, batch) = checkpoint(&name, tip, step, 1500);
                    store.commit_batch(batch).expect("a batch that can be applied");
                    println!("\nack {id}");
                    tip = Some(id);
                }
            });
        }
    });
}

fn spawn(dir: &Path, name: &str, count: u64) -> (Child, BufReader<ChildStdout>) {
    let mut child = Command::new(std::env::current_exe().expect("a path"))
        .args(["processes::child", "--exact", "--nocapture", "--test-threads=1"])
        .env(ORDERS, format!("{}|{name}|{count}", dir.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child");
    let out = BufReader::new(child.stdout.take().expect("a pipe"));
    (child, out)
}

fn acknowledged(line: &str) -> Option<CommitId> {
    line.strip_prefix("ack ")?.trim().parse().ok()
}

fn assert_there(store: &SqliteStore, ids: &[CommitId]) {
    for id in ids {
        let commit = store.commit(*id).expect("a read").expect("what was acknowledged is there");
        read(store, commit.core.artifact).expect("its content is readable");
        assert_eq!(store.sightings(*id, 9).expect("a read").len(), 1);
    }
}

#[test]
fn nothing_acknowledged_is_lost_when_processes_are_killed() {
    let home = TempDir::new().expect("a directory");
    let dir = home.path().join("store");
    let mut all: Vec<CommitId> = Vec::new();
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    for round in 0..KILLS {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let (mut child, mut out) = spawn(&dir, &format!("r{round}"), 100_000);
        // Now and then it is killed while it opens, else after so many acknowledgements.
        let mut left = random % 12;
        let mut seen = Vec::new();
        let mut line = String::new();
        while left > 0 && out.read_line(&mut line).expect("a pipe") > 0 {
            if let Some(id) = acknowledged(&line) {
                seen.push(id);
                left -= 1;
            }
            line.clear();
        }
        child.kill().expect("a child");
        child.wait().expect("a child");
        // What stood in the pipe was acknowledged too; a cut last line was not.
        while out.read_line(&mut line).expect("a pipe") > 0 {
            if line.ends_with('\n') {
                seen.extend(acknowledged(&line));
            }
            line.clear();
        }
        let store = open(&dir);
        assert_there(&store, &seen);
        if round % 10 == 0 {
            assert_eq!(damages(&store), []);
        }
        all.extend(seen);
    }
    let store = open(&dir);
    assert!(all.len() > usize::try_from(KILLS).expect("small"), "{} batches were acknowledged", all.len());
    assert_there(&store, &all);
    assert_eq!(damages(&store), []);
}

#[test]
fn processes_write_one_store_at_once() {
    let home = TempDir::new().expect("a directory");
    let dir = home.path().join("store");
    let children: Vec<_> = (0..4).map(|number| spawn(&dir, &format!("p{number}"), 25)).collect();
    let mut all = Vec::new();
    for (mut child, out) in children {
        let lines = out.lines().map(|line| line.expect("a line"));
        all.extend(lines.filter_map(|line| acknowledged(&line)));
        assert!(child.wait().expect("a child").success());
    }
    let store = open(&dir);
    assert_eq!(all.len(), 4 * 2 * 25);
    assert_there(&store, &all);
    assert_eq!(store.usage().expect("a read").commits, 200);
    assert_eq!(damages(&store), []);
}
