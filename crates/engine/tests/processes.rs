//! Eight processes use one store at once: they import, checkpoint, pack, forget, collect and read.
//!
//! The test runs itself again as the children; the parent reads what each acknowledges and looks it up at the end.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use stemmata_engine::{
    CaptureOptions, Captured, CheckpointRequest, Clock, CollectOptions, Engine, EngineError, ForgetOptions,
    ForgetTarget, Identity, RandomIds, RetentionRules, Update,
};
use stemmata_model::{CommitId, FormatId, MachineId, Principal, SessionId, Template, Timestamp};
use stemmata_store::conformance::builders::damages;
use stemmata_store::{
    PackOptions, Page, SessionFilter, SqliteOptions, SqliteStore, StoreError, StoreErrorKind,
};
use stemmata_testkit::claude::{ClaudeSession, CopyKind, copy_of};

const CHILD: &str = "STEMMATA_PROCESSES_CHILD";

/// What a child does.
type Work = fn(&mut Worker);

/// What the children do, one each.
const ROLES: [(&str, Work); 8] = [
    ("grow", grow),
    ("copy", copy),
    ("checkpoint", checkpoint),
    ("pack", pack),
    ("forget", forget),
    ("retire", retire),
    ("collect", collect),
    ("read", read),
];

/// Where sessions work that retention lets go; others are kept for ever.
const RETIRED_PROJECT: &str = "/retired";

/// After every record of the made-up sessions.
const START_US: i64 = 1_800_000_000_000_000;

const DAY_US: i64 = 24 * 3_600 * 1_000_000;

const SESSIONS: u64 = 5;

/// Rounds of packing, of collecting and of reading.
const ROUNDS: i64 = 16;

const CHECKPOINTS: usize = 40;

/// A clock that moves when it is told to.
#[derive(Clone)]
struct MovingClock(Arc<AtomicI64>);

impl Clock for MovingClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::Relaxed))
    }
}

/// A process at work.
struct Worker {
    home: PathBuf,
    engine: Engine,
    clock: MovingClock,
}

/// What may become of a commit that was acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    Retired,
    Forgotten,
}

impl Worker {
    fn new(home: &Path) -> Self {
        let store =
            SqliteStore::open(&home.join("store"), SqliteOptions::default()).expect("the store opens");
        let identity = Identity {
            machine: MachineId::new("m1").expect("a name"),
            machine_label: "m1".to_owned(),
            user: "ada".to_owned(),
            former: Vec::new(),
        };
        let clock = MovingClock(Arc::new(AtomicI64::new(START_US)));
        let engine = Engine::over(Arc::new(store), Arc::new(clock.clone()), Arc::new(RandomIds), identity);
        Self { home: home.to_owned(), engine, clock }
    }

    fn say_kept(&self, id: CommitId) {
        say(Fate::Kept, id, &hash(&self.native(id).expect("what was just made is there")));
    }

    fn native(&self, id: CommitId) -> Result<Vec<u8>, EngineError> {
        let mut bytes = Vec::new();
        self.engine.native(id, &mut bytes).map(|_| bytes)
    }

    fn append(&self, name: &str, text: &str) -> Captured {
        let path = self.home.join(name);
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&path).expect("a file");
        file.write_all(text.as_bytes()).expect("written");
        self.engine.capture(&path, &CaptureOptions::import()).expect("captured")
    }

    /// Writes a transcript piece by piece, and imports each.
    fn grow(&self, name: &str, text: &str) {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let mut tip = None;
        for some in lines.chunks(11) {
            tip = self.append(name, &some.concat()).session.tip;
            self.say_kept(tip.expect("a tip"));
        }
        assert_eq!(self.native(tip.expect("a tip")).expect("native"), text.as_bytes(), "{name}");
    }

    fn collect(&self, grace_days: u32) {
        let rules = RetentionRules {
            projects: vec![(RETIRED_PROJECT.to_owned(), 1)],
            provisional_days: None,
            ..RetentionRules::default()
        };
        let options = CollectOptions { rules, grace_days };
        self.engine.collect(&options).expect("collected");
    }

    fn verify(&self) {
        assert_eq!(damages(self.engine.store()), []);
    }
}

fn say(fate: Fate, id: CommitId, hash: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\nack {fate:?} {id} {hash}").and_then(|()| out.flush()).expect("the parent listens");
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

fn session(seed: u64) -> ClaudeSession {
    ClaudeSession::new(seed).turns(8).compactions(1)
}

fn principal() -> Principal {
    Principal::new("ada").expect("a name")
}

fn grow(worker: &mut Worker) {
    for seed in 0..SESSIONS {
        worker.grow(&format!("kept-{seed}.jsonl"), &session(seed).build().text());
    }
}

/// Copies of what another process imports at the same time.
fn copy(worker: &mut Worker) {
    for seed in 0..SESSIONS {
        let original = session(seed).build();
        let id = format!("c0c0c0c0-0000-4000-8000-{seed:012x}");
        let kind = if seed % 2 == 0 { CopyKind::NewIds } else { CopyKind::KeepsIds };
        let text = copy_of(&original.text(), &original.session_id, &id, kind);
        worker.grow(&format!("kept-copy-{seed}.jsonl"), &text);
    }
}

fn checkpoint(worker: &mut Worker) {
    let mut parent = None;
    for number in 0..CHECKPOINTS {
        let made = worker.engine.checkpoint(&request(parent, number)).expect("a checkpoint");
        worker.say_kept(made.id);
        parent = Some(made.id);
    }
}

fn request(parent: Option<CommitId>, number: usize) -> CheckpointRequest {
    CheckpointRequest {
        parent,
        ..CheckpointRequest::delta(
            format!("{{\"n\":{number}}}\n").into_bytes(),
            FormatId::new("own-v1").expect("a name"),
            Template::new("own").expect("a name"),
            SessionId::new("own").expect("a name"),
        )
    }
}

fn pack(worker: &mut Worker) {
    for _ in 0..ROUNDS {
        let packed = worker.engine.pack(&PackOptions::new(worker.clock.now())).expect("packed");
        assert_eq!(packed.damaged, 0);
    }
}

/// Imports and forgets, half of it what others hold too; nothing of it comes back.
fn forget(worker: &mut Worker) {
    for number in 0..SESSIONS {
        let is_shared = number % 2 == 0;
        let seed = if is_shared { number } else { 1_000 + number };
        let original = session(seed).build();
        let id = format!("f0f0f0f0-0000-4000-8000-{number:012x}");
        let text = copy_of(&original.text(), &original.session_id, &id, CopyKind::KeepsIds);
        let name = format!("forgotten-{number}.jsonl");
        let captured = worker.append(&name, &text);
        let tip = captured.session.tip.expect("a tip");
        assert_eq!(worker.native(tip).expect("native"), text.as_bytes());
        let options = ForgetOptions { everywhere: !is_shared, even_pinned: false, by: principal() };
        worker.engine.forget(&ForgetTarget::Session(captured.session.key), &options).expect("forgotten");
        say(Fate::Forgotten, tip, "-");
        assert_eq!(worker.append(&name, "").session.tip, None, "{name} stays away");
    }
}

/// Imports what retention lets go while it is written. What a pin comes in time for stays.
fn retire(worker: &mut Worker) {
    for number in 0..SESSIONS {
        let text = session(2_000 + number).cwd(RETIRED_PROJECT).build().text();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let name = format!("retired-{number}.jsonl");
        let (first, rest) = lines.split_at(lines.len() / 3);
        let (torn, after) = rest[0].split_at(rest[0].len() / 2);
        let tip = worker.append(&name, &(first.concat() + torn)).session.tip.expect("a tip");
        if number % 2 == 0 {
            let pin = Update { pin: Some(true), ..Update::default() };
            let pinned = worker.engine.update(tip, pin, &principal());
            if pinned.is_ok() {
                worker.say_kept(tip);
            }
            assert!(pinned.err().is_none_or(|error| is_gone(&error)), "retention may be faster");
        }
        let tail = after.to_owned() + &rest[1..].concat();
        for some in tail.split_inclusive('\n').collect::<Vec<_>>().chunks(9) {
            let captured = worker.append(&name, &some.concat());
            say(Fate::Retired, captured.session.tip.expect("a tip"), "-");
        }
    }
}

fn collect(worker: &mut Worker) {
    for round in 0..ROUNDS {
        worker.clock.0.store(START_US + round * DAY_US, Ordering::Relaxed);
        worker.collect(u32::from(round % 3 == 0));
    }
}

/// Whatever a session ends at is the beginning of its transcript.
fn read(worker: &mut Worker) {
    for round in 0..ROUNDS {
        let page = Page { skip: 0, rows_max: stemmata_store::PAGE_ROWS_MAX };
        for session in worker.engine.store().sessions(&SessionFilter::default(), page).expect("a listing") {
            let Some(tip) = session.tip else { continue };
            let path = session.key.path;
            match worker.native(tip) {
                Ok(native) if path.starts_with("api:") => assert!(!native.is_empty()),
                Ok(native) => assert!(std::fs::read(&path).expect("a file").starts_with(&native), "{path}"),
                Err(error) => assert!(!path.contains("kept") && is_gone(&error), "{path}: {error:?}"),
            }
        }
        if round % 8 == 0 {
            worker.verify();
        }
    }
}

fn is_gone(error: &EngineError) -> bool {
    match error {
        EngineError::Store(StoreError::Forgotten(_)) => true,
        EngineError::Store(error) => error.kind() == StoreErrorKind::NotFound,
        _ => false,
    }
}

/// Not a test of its own: what a child does. Without orders it does nothing.
#[test]
fn child() {
    #[expect(clippy::disallowed_methods, reason = "the parent names the role and the folder")]
    let Some(orders) = std::env::var_os(CHILD) else { return };
    let orders = orders.into_string().expect("text");
    let (role, home) = orders.split_once('|').expect("a role and a folder");
    let (_, work) = ROLES.iter().find(|(name, _)| *name == role).expect("a role");
    work(&mut Worker::new(Path::new(home)));
}

fn spawn(home: &Path, role: &str) -> Child {
    Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(CHILD, format!("{role}|{}", home.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("the child starts")
}

/// Reads all that a child acknowledges.
fn acknowledged(child: &mut Child) -> Vec<(Fate, CommitId, String)> {
    let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let mut all = Vec::new();
    for line in lines.map(|line| line.expect("a line")) {
        let fields: Vec<&str> = line.split(' ').collect();
        if let ["ack", fate, id, hash] = fields[..] {
            let fates = [Fate::Kept, Fate::Retired, Fate::Forgotten];
            let fate = fates.into_iter().find(|one| format!("{one:?}") == fate).expect("a fate");
            all.push((fate, id.parse().expect("an id"), hash.to_owned()));
        }
    }
    all
}

fn assert_all_there(worker: &Worker, ledger: &BTreeMap<CommitId, (Fate, String)>) {
    for (id, (fate, own)) in ledger {
        let is_there = worker.engine.store().commit(*id).expect("a read").is_some();
        match fate {
            Fate::Kept => {
                let native = worker.native(*id).expect("what was acknowledged and not let go is there");
                assert_eq!(hash(&native), *own, "{id}");
            }
            Fate::Retired => assert!(!is_there || worker.native(*id).is_ok(), "{id}"),
            Fate::Forgotten => assert!(!is_there, "{id} was forgotten"),
        }
    }
}

#[test]
fn eight_processes_use_one_store_at_once() {
    let home = tempfile::tempdir().expect("a folder");
    let children: Vec<_> = ROLES.iter().map(|(role, _)| (*role, spawn(home.path(), role))).collect();
    // Each pipe has a thread, so that no child waits for the parent.
    let readers: Vec<_> = children
        .into_iter()
        .map(|(role, mut child)| {
            std::thread::spawn(move || {
                let said = acknowledged(&mut child);
                (role, child.wait().expect("gone").success(), said)
            })
        })
        .collect();
    let mut ledger = BTreeMap::new();
    let mut failed = Vec::new();
    for reader in readers {
        let (role, is_well, said) = reader.join().expect("read");
        if !is_well {
            failed.push(role);
        }
        for (fate, id, hash) in said {
            // A pin outlives what the same commit was acknowledged as besides.
            let known = ledger.entry(id).or_insert_with(|| (fate, hash.clone()));
            if fate == Fate::Kept {
                *known = (fate, hash);
            }
        }
    }
    assert_eq!(failed, Vec::<&str>::new());
    let worker = Worker::new(home.path());
    worker.verify();
    assert_all_there(&worker, &ledger);
    let count = |fate| ledger.values().filter(|(own, _)| *own == fate).count();
    assert!(count(Fate::Kept) > 100 && count(Fate::Retired) > 5 && count(Fate::Forgotten) > 3, "{ledger:?}");

    // Once everybody is gone, two more collections and a packing leave what is kept, and nothing else.
    for days in 100..102 {
        worker.clock.0.store(START_US + days * DAY_US, Ordering::Relaxed);
        worker.collect(0);
    }
    worker.engine.pack(&PackOptions::new(worker.clock.now())).expect("packed");
    worker.verify();
    assert_all_there(&worker, &ledger);
    for (id, _) in ledger.iter().filter(|(_, (fate, _))| *fate == Fate::Retired) {
        assert!(worker.engine.store().commit(*id).expect("a read").is_none(), "{id} was retired");
    }
}
