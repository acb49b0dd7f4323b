//! Where a workload runs: a folder on the disk that is tried, and one outside of it for transcripts.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use stemmata_engine::{Clock, Engine, Identity, NewIds};
use stemmata_model::{MachineId, SessionId, Timestamp};
use stemmata_store::{Files, SqliteOptions, SqliteStore, SystemFiles};
use stemmata_testkit::rng::Rng;
use tempfile::TempDir;

/// How long a store waits for a lock, in milliseconds: nobody else has one, so that waiting is a defect.
const BUSY_TIMEOUT_MS: u64 = 500;

/// When the script's first day begins, in microseconds: 2026-03-02T00:00:00Z.
const FIRST_DAY_MICROS: i64 = 1_772_409_600_000_000;

const DAY_MICROS: i64 = 86_400_000_000;

/// Two folders and a seed; everything that a step does is a function of them and of the ledger.
#[derive(Debug, Clone)]
pub struct Stage {
    /// Below it are the stores: the disk that fails.
    pub disk: PathBuf,
    /// Transcripts, on a disk that does not fail.
    pub outside: PathBuf,
    /// What the made-up sessions are made from.
    pub seed: u64,
    /// What keeps the files that are not SQLite's.
    pub files: Arc<dyn Files>,
}

#[derive(Debug)]
struct DayClock(Timestamp);

impl Clock for DayClock {
    fn now(&self) -> Timestamp {
        self.0
    }
}

#[derive(Debug)]
struct CountedIds(AtomicU64);

impl NewIds for CountedIds {
    fn session(&self) -> SessionId {
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        SessionId::new(Rng::new(number).uuid()).expect("a UUID is a name")
    }
}

impl Stage {
    /// Makes a stage of two folders, whose files are the system's.
    pub fn new(disk: &Path, outside: &Path, seed: u64) -> Self {
        let files = Arc::new(SystemFiles);
        Self { disk: disk.to_path_buf(), outside: outside.to_path_buf(), seed, files }
    }

    /// Opens the engine over the main store, on a day of the script.
    ///
    /// # Errors
    /// Where the store cannot be opened.
    pub fn engine(&self, day: u32) -> anyhow::Result<Engine> {
        self.engine_of("store", day)
    }

    /// Returns how stores are opened.
    pub fn options(&self) -> SqliteOptions {
        SqliteOptions {
            busy_timeout_ms: BUSY_TIMEOUT_MS,
            files: Arc::clone(&self.files),
            ..SqliteOptions::default()
        }
    }

    /// Opens the engine over a store of the disk.
    ///
    /// # Errors
    /// Where the store cannot be opened.
    pub fn engine_of(&self, name: &str, day: u32) -> anyhow::Result<Engine> {
        let store = SqliteStore::open(&self.disk.join(name), self.options()).context("opening the store")?;
        let identity = Identity {
            machine: MachineId::new("m1").context("a name")?,
            machine_label: "m1".to_owned(),
            user: "ada".to_owned(),
            former: Vec::new(),
        };
        let ids = CountedIds(AtomicU64::new(self.seed ^ u64::from(day) << 32));
        Ok(Engine::over(Arc::new(store), Arc::new(DayClock(now(day))), Arc::new(ids), identity))
    }

    /// Has a transcript outside hold these lines, and returns its path. Left alone where it holds them already, so
    /// that several checks may share it.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn transcript(&self, name: &str, lines: &[String]) -> anyhow::Result<PathBuf> {
        let path = self.outside.join(name).with_extension("jsonl");
        let mut text = lines.join("\n");
        text.push('\n');
        // One check at a time writes; another would read what is half written.
        let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        if fs::read(&path).is_ok_and(|there| there == text.as_bytes()) {
            return Ok(path);
        }
        fs::File::create(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .with_context(|| format!("writing {}", path.display()))?;
        Ok(path)
    }
}

/// Held while a transcript is written.
static WRITING: Mutex<()> = Mutex::new(());

/// Returns when a day of the script begins.
pub fn now(day: u32) -> Timestamp {
    Timestamp::from_micros(FIRST_DAY_MICROS + i64::from(day) * DAY_MICROS)
}

/// Makes a folder for states of disks: in memory where the system has such a place.
///
/// # Errors
/// Where no folder can be made.
pub fn scratch() -> anyhow::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("stemmata-faults-");
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { builder.tempdir_in(memory) } else { builder.tempdir() };
    made.context("making a folder for states")
}
