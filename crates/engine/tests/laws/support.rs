//! An engine over an empty store, with a clock that stands still and ids that count.

use std::cell::RefCell;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stemmata_engine::{CaptureOptions, Captured, Clock, Engine, Identity, NewIds, PlaceOptions, Stop};
use stemmata_model::{Commit, CommitId, MachineId, SessionId, Timestamp};
use stemmata_store::{SqliteOptions, SqliteStore, Store, StoreIdentity, Usage};
use stemmata_testkit::claude::Transcript;
use stemmata_testkit::memory::MemoryStore;
use tempfile::TempDir;

/// A clock that stands still.
pub(crate) struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_800_000_000_000_000)
    }
}

/// Ids that count.
#[derive(Default)]
pub(crate) struct CountingIds(AtomicU64);

impl NewIds for CountingIds {
    fn session(&self) -> SessionId {
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        SessionId::new(format!("00000000-0000-4000-8000-{number:012x}")).expect("a name")
    }
}

/// Makes an engine of a machine over a store.
pub(crate) fn engine_on(machine: &str, store: Arc<dyn Store>) -> Engine {
    engine_moved(machine, &[], store)
}

/// Makes an engine of a machine over a store that was copied from others.
pub(crate) fn engine_moved(machine: &str, former: &[&str], store: Arc<dyn Store>) -> Engine {
    let identity = Identity {
        machine: MachineId::new(machine).expect("a name"),
        machine_label: machine.to_owned(),
        user: "ada".to_owned(),
        former: former.iter().map(|id| MachineId::new(*id).expect("a name")).collect(),
    };
    Engine::over(store, Arc::new(FixedClock), Arc::new(CountingIds::default()), identity)
}

/// Makes an empty store in memory.
pub(crate) fn memory() -> Arc<MemoryStore> {
    Arc::new(MemoryStore::new(StoreIdentity { store_id: [1; 16], secret: [2; 32] }))
}

thread_local! {
    /// The folders of a test's stores; they go with its thread, after the stores.
    static HOMES: RefCell<Vec<TempDir>> = const { RefCell::new(Vec::new()) };
}

/// Makes an empty store of the kind that people use, or where `STEMMATA_TEST_STORE` is `memory`, one in memory.
pub(crate) fn new_store() -> Arc<dyn Store> {
    #[expect(clippy::disallowed_methods, reason = "which store is tested is named by the environment")]
    let wanted = std::env::var_os("STEMMATA_TEST_STORE");
    if wanted.is_some_and(|name| name == "memory") {
        return memory();
    }
    // Nothing here is about what a disk does, and a sync in memory costs nothing.
    let shared = Path::new("/dev/shm");
    let home = if shared.is_dir() { TempDir::new_in(shared) } else { TempDir::new() }.expect("a folder");
    let store = SqliteStore::open(home.path(), SqliteOptions::default()).expect("a store");
    HOMES.with_borrow_mut(|homes| homes.push(home));
    Arc::new(store)
}

/// Makes an engine over an empty store.
pub(crate) fn engine() -> Engine {
    engine_on("m1", new_store())
}

/// Returns what a store holds; its files' own bytes, which differ by what was written before, left out.
pub(crate) fn usage(engine: &Engine) -> Usage {
    Usage { physical_bytes: 0, ..engine.store().usage().expect("usage") }
}

/// A folder with transcripts in it.
pub(crate) struct Folder {
    dir: TempDir,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a folder") }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Writes bytes as a file of that name.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.dir.path().join(name);
        let mut file = std::fs::File::create(&path).expect("a file");
        file.write_all(bytes).expect("written");
        path
    }

    /// Appends bytes to a file of that name.
    pub(crate) fn append(&self, name: &str, bytes: &[u8]) {
        let path = self.dir.path().join(name);
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).expect("a file");
        file.write_all(bytes).expect("written");
    }
}

/// Returns the bytes of a made-up transcript.
pub(crate) fn bytes_of(transcript: &Transcript) -> Vec<u8> {
    let mut bytes = transcript.lines.join("\n").into_bytes();
    bytes.push(b'\n');
    bytes
}

/// Imports one file.
pub(crate) fn import(engine: &Engine, path: &Path) -> Captured {
    engine.capture(path, &CaptureOptions::import()).expect("imported")
}

/// Returns the chain of a commit, root first.
pub(crate) fn chain(engine: &Engine, tip: CommitId) -> Vec<Commit> {
    let mut chain = engine.store().ancestors(tip, 100_000).expect("a chain");
    chain.reverse();
    chain
}

/// Returns the ids of a chain's closed commits, root first.
pub(crate) fn closed(engine: &Engine, tip: CommitId) -> Vec<CommitId> {
    chain(engine, tip)
        .into_iter()
        .filter(|commit| commit.closure == stemmata_model::Closure::Closed)
        .map(|commit| commit.id)
        .collect()
}

/// Returns the native bytes of a commit.
pub(crate) fn native(engine: &Engine, ctx: CommitId) -> Vec<u8> {
    let mut bytes = Vec::new();
    engine.native(ctx, &mut bytes).expect("native");
    bytes
}

/// Places below a folder, as a client of its own would have it.
pub(crate) fn placing(folder: &Folder) -> PlaceOptions {
    PlaceOptions {
        runtime: None,
        config_dir: folder.path().join("client"),
        cwd: PathBuf::from("/new/place"),
        stop: Stop::Compaction,
        at_entry: None,
        client_version: None,
    }
}

/// Returns the corpus, or says that the test was skipped.
pub(crate) fn corpus(test: &str) -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "the corpus is named by the environment")]
    let path = std::env::var_os("STEMMATA_CORPUS").map(PathBuf::from);
    if path.is_none() {
        #[expect(clippy::print_stdout, reason = "a skipped test says so")]
        let () = println!("skipped {test}: STEMMATA_CORPUS is not set");
    }
    path
}

/// Returns all `.jsonl` files below a folder.
pub(crate) fn jsonl_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(jsonl_below(&path));
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Returns the newest compaction of a chain, and the commit just before it.
pub(crate) fn compaction_at(engine: &Engine, tip: CommitId) -> (CommitId, CommitId) {
    let newest = engine.newest_compaction(tip, None).expect("a compaction");
    (newest.id, newest.before)
}

/// A line of Claude Code's in which the user says a text.
pub(crate) fn user(number: u32, parent: Option<u32>, text: &str) -> String {
    record("user", number, parent, &format!(r#"{{"role":"user","content":"{text}"}}"#))
}

/// A line of Claude Code's that is a whole answer.
pub(crate) fn answer(number: u32, parent: u32, text: &str) -> String {
    let message = format!(
        r#"{{"id":"msg_{number}","role":"assistant","content":[{{"type":"text","text":"{text}"}}],"stop_reason":"end_turn"}}"#
    );
    record("assistant", number, Some(parent), &message)
}

/// A line of Claude Code's.
pub(crate) fn record(kind: &str, number: u32, parent: Option<u32>, message: &str) -> String {
    let parent = parent.map_or("null".to_owned(), |parent| format!("\"{}\"", uuid(parent)));
    format!(
        "{{\"type\":\"{kind}\",\"uuid\":\"{}\",\"parentUuid\":{parent},\"timestamp\":\"2026-01-01T00:00:{number:02}.000Z\",\"cwd\":\"/old\",\"sessionId\":\"s\",\"message\":{message}}}\n",
        uuid(number)
    )
}

/// The id of one of these lines.
pub(crate) fn uuid(number: u32) -> String {
    format!("aaaaaaaa-0000-4000-8000-{number:012}")
}

/// Has somebody go on with a session of Claude Code that was placed, and captures that.
pub(crate) fn go_on(engine: &Engine, path: &Path) {
    let mut file = std::fs::OpenOptions::new().append(true).open(path).expect("a file");
    for line in [user(90, None, "and on"), answer(91, 90, "it goes on")] {
        std::io::Write::write_all(&mut file, line.as_bytes()).expect("written");
    }
    import(engine, path);
}
