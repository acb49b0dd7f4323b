//! Measures durable checkpoints beside plain appends of the same bytes, and reads beside their floor.
//!
//! `cargo run --release -p stemmata-store --example durable [-- DIRECTORY [SECTION]]`; prints figures
//! and asserts nothing. The directory, by default a temporary one, decides which disk is measured.

use std::error::Error;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use stemmata_model::{
    Closure, CommitCore, CommitId, CommitType, Counts, FormatId, Granularity, MachineId, Principal,
    RulesHash, SessionId, Sighting, Source, Template, Timestamp, Trigger,
};
use stemmata_store::{
    NewCommit, NewContent, Page, Session, SessionFilter, SessionKey, SessionOrigin, SqliteOptions,
    SqliteStore, Store, Write,
};

type Measure = fn(&Path) -> Outcome<String>;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Checkpoints of one measured chain.
const CHECKPOINTS: u64 = 3000;

/// Threads of the parallel run.
const THREADS: u64 = 8;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, dir, name] = arguments.as_slice()
        && word == "child"
    {
        return child(Path::new(dir), name);
    }
    let temporary = tempfile::TempDir::new()?;
    let home = arguments.first().map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    let sections: [(&str, Measure); 6] = [
        ("checkpoint", checkpoints),
        ("threads", threads),
        ("processes", processes),
        ("reads", reads),
        ("listings", listings),
        ("opening", openings),
    ];
    let mut out = std::io::stdout().lock();
    for (name, measure) in sections {
        if arguments.get(1).is_none_or(|only| only == name) {
            writeln!(out, "{}", measure(&home.join(name))?)?;
        }
    }
    Ok(())
}

/// One session that grows, one checkpoint after the other.
struct Chain {
    session: Session,
    tip: Option<CommitId>,
    step: u64,
    random: u64,
}

impl Chain {
    fn new(name: &str) -> Outcome<Self> {
        let machine = MachineId::new("0123456789abcdef0123456789abcdef")?;
        Ok(Self {
            session: Session {
                key: SessionKey {
                    machine,
                    path: format!("/home/ann/.claude/projects/-work-app/{name}.jsonl"),
                },
                session: SessionId::new(name)?,
                parent_session: None,
                format: FormatId::new("claude-code-v1")?,
                template: Template::new("claude-code/main")?,
                principal: Principal::new("ann@box/claude-code")?,
                granularity: Granularity::Turn,
                origin: SessionOrigin::Imported,
                title: Some("find out why the build is slow on Tuesdays".to_owned()),
                cwd: Some("/srv/app".to_owned()),
                git_branch: Some("main".to_owned()),
                version: Some("2.1.330".to_owned()),
                started_at: Some(Timestamp::from_micros(1_790_000_000_000_000)),
                last_at: None,
                tip: None,
                commits: 0,
                messages: 0,
                bytes: 0,
            },
            tip: None,
            step: 0,
            random: name
                .bytes()
                .fold(88_172_645_463_325_252, |sum, byte| sum ^ (u64::from(byte) << (sum % 40))),
        })
    }

    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    /// About 2 KB of lines that look like a turn.
    fn delta(&mut self) -> Outcome<Vec<u8>> {
        const WORDS: [&str; 24] = [
            "the",
            "build",
            "cache",
            "src/main.rs",
            "error",
            "test",
            "fn",
            "let",
            "result",
            "because",
            "file",
            "session",
            "token",
            "update",
            "line",
            "returns",
            "check",
            "path",
            "value",
            "when",
            "never",
            "index",
            "commit",
            "status",
        ];
        let mut text = String::new();
        while text.len() < 1900 {
            let (first, second) = (self.random(), self.random());
            write!(
                text,
                "{{\"type\":\"assistant\",\"uuid\":\"{first:016x}-{second:016x}\",\"message\":{{\"role\":\"assistant\",\
                 \"content\":[{{\"type\":\"text\",\"text\":\""
            )?;
            for _ in 0..40 {
                let word = usize::try_from(self.random() % 24).unwrap_or(0);
                text.push_str(WORDS.get(word).unwrap_or(&""));
                text.push(' ');
            }
            text.push_str("\"}]}}\n");
        }
        Ok(text.into_bytes())
    }

    /// A commit with its content, its sighting, the session and the engine's cursor.
    fn checkpoint(&mut self, delta: &[u8]) -> Vec<Write> {
        let content = NewContent::literal(delta.to_vec());
        let micros = 1_790_000_000_000_000 + i64::try_from(self.step).unwrap_or(0) * 7_000_000;
        let commit = NewCommit {
            core: CommitCore {
                parent: self.tip,
                commit_type: CommitType::Delta,
                artifact: content.id(),
                native: None,
                format: self.session.format.clone(),
                template: self.session.template.clone(),
                created_at: Timestamp::from_micros(micros),
            },
            rules: RulesHash([7; 32]),
            closure: Closure::Closed,
            counts: Counts { messages: 2, entries: 5, tokens: 700 },
        };
        let id = commit.core.id();
        let length = u64::try_from(delta.len()).unwrap_or(0);
        let sighting = Sighting {
            principal: self.session.principal.clone(),
            machine: self.session.key.machine.clone(),
            session: self.session.session.clone(),
            trigger: Trigger::TurnBoundary,
            ticket: None,
            thread: None,
            template_alias: None,
            observed_at: Timestamp::from_micros(micros + 1234),
            source: Some(Source { path: self.session.key.path.clone(), offset: self.session.bytes, length }),
        };
        self.tip = Some(id);
        self.step += 1;
        self.session.tip = self.tip;
        self.session.last_at = Some(Timestamp::from_micros(micros));
        self.session.commits += 1;
        self.session.messages += 2;
        self.session.bytes += length;
        vec![
            Write::Content(content),
            Write::Commit(commit),
            Write::Sighting { commit: id, sighting: Box::new(sighting) },
            Write::Session(Box::new(self.session.clone())),
            Write::Cursor { key: self.session.key.clone(), value: vec![3; 200] },
        ]
    }
}

fn checkpoints(dir: &Path) -> Outcome<String> {
    let store = SqliteStore::open(dir, SqliteOptions::default())?;
    let mut file: File = OpenOptions::new().create(true).append(true).open(dir.join("beside"))?;
    let mut chain = Chain::new("aaaaaaaa-0000-4000-8000-000000000001")?;
    let (mut ours, mut plain) = (Vec::new(), Vec::new());
    for _ in 0..CHECKPOINTS {
        let delta = chain.delta()?;
        let batch = chain.checkpoint(&delta);
        let started = Instant::now();
        store.commit_batch(batch)?;
        ours.push(started.elapsed());
        let started = Instant::now();
        file.write_all(&delta)?;
        file.sync_data()?;
        plain.push(started.elapsed());
    }
    let usage = store.usage()?;
    let (ours, plain) = (Percentiles::of(ours), Percentiles::of(plain));
    Ok(format!(
        "checkpoint: p50 {:.0} µs, p99 {:.0} µs; append + fdatasync: p50 {:.0} µs, p99 {:.0} µs; \
             ratio p50 {:.2} (target 1.3), p99 {:.2} (target 2); stored {:.3} of {} bytes",
        ours.p50,
        ours.p99,
        plain.p50,
        plain.p99,
        ours.p50 / plain.p50,
        ours.p99 / plain.p99,
        as_float(usage.content_bytes) / as_float(usage.distinct_bytes),
        usage.distinct_bytes,
    ))
}

fn threads(dir: &Path) -> Outcome<String> {
    let store = SqliteStore::open(dir, SqliteOptions::default())?;
    let alone = run_threads(&store, 1)?;
    let together = run_threads(&store, THREADS)?;
    Ok(format!(
        "threads: 1 {alone:.0}/s, {THREADS} {together:.0}/s, ratio {:.2} (target 5)",
        together / alone
    ))
}

fn run_threads(store: &SqliteStore, threads: u64) -> Outcome<f64> {
    let mut chains = Vec::new();
    for thread in 0..threads {
        chains.push(Chain::new(&format!("run-of-{threads}-{thread}"))?);
    }
    let mut work: Vec<(Chain, Vec<Vec<u8>>)> = chains
        .into_iter()
        .map(|mut chain| {
            let deltas: Outcome<Vec<Vec<u8>>> = (0..1000).map(|_| chain.delta()).collect();
            deltas.map(|deltas| (chain, deltas))
        })
        .collect::<Outcome<_>>()?;
    let started = Instant::now();
    std::thread::scope(|scope| -> Outcome<()> {
        let running: Vec<_> = work
            .iter_mut()
            .map(|(chain, deltas)| {
                scope.spawn(move || -> Outcome<()> {
                    for delta in deltas {
                        store.commit_batch(chain.checkpoint(delta))?;
                    }
                    Ok(())
                })
            })
            .collect();
        running.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?)
    })?;
    Ok(as_float(threads * 1000) / started.elapsed().as_secs_f64())
}

/// Checkpoints of each process that writes beside others.
const CHILD_CHECKPOINTS: u64 = 200;

fn child(dir: &Path, name: &str) -> Outcome<()> {
    let store = SqliteStore::open(dir, SqliteOptions::default())?;
    let mut chain = Chain::new(name)?;
    for _ in 0..CHILD_CHECKPOINTS {
        let delta = chain.delta()?;
        store.commit_batch(chain.checkpoint(&delta))?;
    }
    Ok(())
}

fn processes(dir: &Path) -> Outcome<String> {
    SqliteStore::open(dir, SqliteOptions::default())?;
    let run = |count: u64| -> Outcome<f64> {
        let started = Instant::now();
        let mut children = Vec::new();
        for number in 0..count {
            let name = format!("process-{count}-{number}");
            let mut command = Command::new(std::env::current_exe()?);
            children.push(command.arg("child").arg(dir).arg(name).spawn()?);
        }
        for mut child in children {
            if !child.wait()?.success() {
                return Err("a process failed".into());
            }
        }
        Ok(as_float(count * CHILD_CHECKPOINTS) / started.elapsed().as_secs_f64())
    };
    let (alone, together) = (run(1)?, run(THREADS)?);
    Ok(format!("processes: 1 {alone:.0}/s, {THREADS} {together:.0}/s, none failed"))
}

fn reads(dir: &Path) -> Outcome<String> {
    let store = SqliteStore::open(dir, SqliteOptions::default())?;
    let mut growing = Chain::new("read-back")?;
    for _ in 0..1200 {
        let delta = growing.delta()?;
        store.commit_batch(growing.checkpoint(&delta))?;
    }
    let mut walk = Vec::new();
    let mut native = Vec::new();
    let mut floor = Vec::new();
    let tip = store.tips(&stemmata_store::TipFilter::default(), Page { skip: 0, rows_max: 1 })?;
    let tip = tip.first().ok_or("no tip")?.id;
    let chain = store.ancestors(tip, 1000)?;
    let mut frames = Vec::new();
    let mut compressor = zstd::bulk::Compressor::new(3)?;
    for commit in chain.iter().rev() {
        let mut bytes = Vec::new();
        store.read_content(commit.core.artifact, None, &mut |piece| bytes.write_all(piece))?;
        frames.push((compressor.compress(&bytes)?, bytes.len()));
    }
    let mut decompressor = zstd::bulk::Decompressor::new()?;
    for _ in 0..30 {
        let started = Instant::now();
        store.ancestors(tip, 1000)?;
        walk.push(started.elapsed());
        let started = Instant::now();
        let mut bytes = Vec::with_capacity(4_000_000);
        for commit in chain.iter().rev() {
            store.read_content(commit.core.artifact, None, &mut |piece| bytes.write_all(piece))?;
        }
        native.push(started.elapsed());
        let started = Instant::now();
        let mut bytes = Vec::with_capacity(4_000_000);
        for (frame, length) in &frames {
            let piece = decompressor.decompress(frame, *length)?;
            blake3::hash(&piece);
            bytes.write_all(&piece)?;
        }
        floor.push(started.elapsed());
    }
    let (walk, native, floor) = (Percentiles::of(walk), Percentiles::of(native), Percentiles::of(floor));
    Ok(format!(
        "reads: ancestors of 1,000 {:.0} µs; contents of 1,000 {:.0} µs, decode and hash alone {:.0} µs, ratio {:.2} \
         (target 2)",
        walk.p50,
        native.p50,
        floor.p50,
        native.p50 / floor.p50
    ))
}

fn listings(dir: &Path) -> Outcome<String> {
    let store = SqliteStore::open(dir, SqliteOptions::default())?;
    for part in 0..20 {
        let mut batch = Vec::new();
        for number in 0..500 {
            let mut chain = Chain::new(&format!("session-{part:02}-{number:03}"))?;
            chain.step = part * 500 + number;
            let delta = chain.delta()?;
            batch.extend(chain.checkpoint(&delta));
        }
        store.commit_batch(batch)?;
    }
    let page = Page { skip: 0, rows_max: 50 };
    let time = |act: &dyn Fn() -> Outcome<()>| -> Outcome<f64> {
        let mut times = Vec::new();
        for _ in 0..20 {
            let started = Instant::now();
            act()?;
            times.push(started.elapsed());
        }
        Ok(Percentiles::of(times).p50)
    };
    let all = time(&|| Ok(store.sessions(&SessionFilter::default(), page).map(drop)?))?;
    let none = SessionFilter { project: Some("/nowhere".to_owned()), ..SessionFilter::default() };
    let filtered = time(&|| Ok(store.sessions(&none, page).map(drop)?))?;
    let tips = time(&|| Ok(store.tips(&stemmata_store::TipFilter::default(), page).map(drop)?))?;
    let principal = stemmata_store::ResolveScope::Principal(Principal::new("ann@box/claude-code")?);
    let at = Timestamp::from_micros(1_790_000_000_000_000 + 35_000_000_000);
    let resolve = time(&|| Ok(store.resolve(&principal, at, 9).map(drop)?))?;
    Ok(format!(
        "10,000 sessions: first page {all:.0} µs, a project without any {filtered:.0} µs, tips {tips:.0} µs, \
         resolve by principal {resolve:.0} µs"
    ))
}

fn openings(dir: &Path) -> Outcome<String> {
    let mut opened = Vec::new();
    let mut whole = Vec::new();
    for round in 0..20 {
        let started = Instant::now();
        let store = SqliteStore::open(dir, SqliteOptions::default())?;
        opened.push(started.elapsed());
        let mut chain = Chain::new(&format!("opening-{round}"))?;
        let delta = chain.delta()?;
        store.commit_batch(chain.checkpoint(&delta))?;
        drop(store);
        whole.push(started.elapsed());
    }
    let (opened, whole) = (Percentiles::of(opened), Percentiles::of(whole));
    Ok(format!("opening: {:.0} µs; opening, one checkpoint and closing: {:.0} µs", opened.p50, whole.p50))
}

struct Percentiles {
    p50: f64,
    p99: f64,
}

impl Percentiles {
    /// Microseconds.
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort();
        let at = |part: usize| {
            let place = (times.len() * part / 100).min(times.len().saturating_sub(1));
            times.get(place).map_or(0.0, |time| time.as_secs_f64() * 1e6)
        };
        Self { p50: at(50), p99: at(99) }
    }
}

fn as_float(number: u64) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}
