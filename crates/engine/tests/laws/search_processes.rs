//! Processes import, settle, search and forget at once, and are killed: the index is one that is made anew.
//!
//! The test runs itself again as the children.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use stemmata_engine::{Engine, ForgetOptions, ForgetTarget, SettleBudget};
use stemmata_model::Principal;
use stemmata_store::{SqliteOptions, SqliteStore, Store};
use stemmata_testkit::children::{self, kill_after};
use stemmata_testkit::claude::ClaudeSession;
use stemmata_testkit::rng::Rng;
use tempfile::TempDir;

use crate::search::{assert_alike, assert_rebuilt, conversation, indexed, query, search, settle};
use crate::search_forget::holding;
use crate::support::{bytes_of, import};

const ROLE: &str = "STEMMATA_SEARCH_CHILD";
const HOME: &str = "STEMMATA_SEARCH_HOME";

/// What the children do, one each.
const ROLES: [&str; 8] =
    ["grow-1", "grow-2", "grow-3", "grow-4", "grow-5", "forget-6", "rebuild-7", "search-8"];

/// Lines of a transcript that are captured at once.
const LINES: usize = 7;

/// Rounds of those that import nothing.
const ROUNDS: usize = 12;

/// Kills in one run of the tests.
const KILLS: u32 = 6;

/// A word of the session that is forgotten.
const SECRET: &str = "kilnwright";

/// What one commit is settled in: a page that was begun is ended.
const SHORT: SettleBudget = SettleBudget::Within(Duration::ZERO);

fn store(home: &Path) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(&home.join("store"), SqliteOptions::default()).expect("a store"))
}

fn engine(home: &Path) -> Engine {
    indexed(&store(home), &home.join("index"))
}

/// Nothing here is about what a disk does: in memory a sync costs nothing.
fn new_home() -> TempDir {
    let shared = Path::new("/dev/shm");
    if shared.is_dir() { TempDir::new_in(shared) } else { TempDir::new() }.expect("a folder")
}

fn settle_shortly(engine: &Engine) {
    let _others_may_settle = engine
        .settle_index(SHORT, &mut |_, _, _| std::ops::ControlFlow::Continue(()))
        .expect("the store can be read");
}

/// Writes a transcript piece by piece, and captures and settles each.
fn grow(engine: &Engine, path: &Path, bytes: &[u8]) {
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    for some in lines.chunks(LINES) {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).expect("a file");
        file.write_all(&some.concat()).expect("written");
        import(engine, path);
        settle_shortly(engine);
    }
}

fn work(role: &str, home: &Path) {
    let engine = engine(home);
    let (deed, number) = role.split_once('-').expect("a role");
    let path = home.join(format!("{number}.jsonl"));
    match deed {
        "grow" => {
            let seed = number.parse().expect("a number");
            grow(&engine, &path, &bytes_of(&ClaudeSession::new(seed).turns(6).build()));
        }
        "forget" => {
            grow(&engine, &path, &conversation(6, SECRET));
            let key = engine.find_session(&path.to_string_lossy()).expect("read").expect("there").key;
            let by = Principal::new("ada").expect("a name");
            let options = ForgetOptions { everywhere: false, even_pinned: false, by };
            // Where the index is another one's just now it is due, and somebody's next settling cleans it.
            let _may_be_unclean = engine.forget(&ForgetTarget::Session(key), &options);
        }
        "rebuild" => (0..ROUNDS).for_each(|_| {
            let _may_be_locked = engine.rebuild_index(&mut |_, _, _| std::ops::ControlFlow::Continue(()));
        }),
        "search" => (0..ROUNDS).for_each(|_| drop(search(&engine, &query("the queue")))),
        "settle" => loop {
            let mut said = std::io::stdout().lock();
            writeln!(said, "\nbegun").and_then(|()| said.flush()).expect("the parent listens");
            while !engine
                .settle_index(SHORT, &mut |_, _, _| std::ops::ControlFlow::Continue(()))
                .expect("settled")
                .is_whole
            {}
            let _may_be_locked = engine.rebuild_index(&mut |_, _, _| std::ops::ControlFlow::Continue(()));
        },
        _ => panic!("no role: {role}"),
    }
}

/// What a child does.
#[test]
fn child() {
    #[expect(clippy::disallowed_methods, reason = "a child is told by its environment what it is")]
    let own = (std::env::var(ROLE), std::env::var_os(HOME).map(PathBuf::from));
    if let (Ok(role), Some(home)) = own {
        work(&role, &home);
    }
}

fn command(role: &str, home: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command.args(["--exact", "search_processes::child", "--nocapture", "--test-threads=1"]);
    command.env(ROLE, role).env(HOME, home);
    command
}

/// The law, with real processes: whoever settles, in whatever order.
#[test]
fn an_index_that_eight_processes_settle_is_one_that_is_made_anew() {
    let home = new_home();
    drop(engine(home.path()));
    let start = |role| command(role, home.path()).stdout(Stdio::null()).spawn().expect("started");
    let children: Vec<Child> = ROLES.into_iter().map(start).collect();
    for mut child in children {
        assert!(child.wait().expect("waited for").success());
    }
    let engine = engine(home.path());
    settle(&engine);
    assert_rebuilt(&engine, &store(home.path()));
    assert_eq!(search(&engine, &query(SECRET)).hits, []);
    assert_eq!(holding(&home.path().join("index"), SECRET), [""; 0]);
    assert_eq!(engine.index_report().expect("a report").behind_commits, 0);
}

/// The law after a crash: a process that settles, or makes the index anew, is killed at any moment.
#[test]
fn an_index_whose_settling_was_killed_is_one_that_is_made_anew() {
    let home = new_home();
    let own = engine(home.path());
    for seed in 1..3 {
        let path = home.path().join(format!("{seed}.jsonl"));
        std::fs::File::create(&path)
            .and_then(|mut file| file.write_all(&bytes_of(&ClaudeSession::new(seed).turns(3).build())))
            .expect("written");
        import(&own, &path);
    }
    let begun = Instant::now();
    settle(&own);
    let took = u64::try_from(begun.elapsed().as_micros()).expect("a moment");
    std::fs::remove_dir_all(home.path().join("index")).expect("removed");
    drop(own);
    let anew = new_home();
    let rebuilt = indexed(&store(home.path()), anew.path());
    let mut rng = Rng::new(1);
    for kill in 0..KILLS {
        let pause = Duration::from_micros(rng.range(0, took * 2));
        let child = children::start(&mut command("settle-0", home.path())).expect("started");
        let begun = |line: &str| (line.trim() == "begun").then_some(());
        let said = kill_after(child, 1, begun, || {
            let start = Instant::now();
            while start.elapsed() < pause {
                std::hint::spin_loop();
            }
        });
        assert!(!said.expect("killed").is_empty(), "the child worked");
        let engine = engine(home.path());
        settle(&engine);
        assert_alike(&engine, &rebuilt);
        let names = std::fs::read_dir(home.path().join("index")).expect("a folder").flatten();
        let names: Vec<String> = names.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
        assert!(!names.iter().any(|name| name.starts_with("damaged")), "kill {kill}: {names:?}");
        if kill % 3 == 0 {
            // The next one begins from nothing.
            drop(engine);
            std::fs::remove_dir_all(home.path().join("index")).expect("removed");
        }
    }
}
