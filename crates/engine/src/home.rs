//! A data directory and what using it demands: a program gets all of it by opening one.
//!
//! Where the directory is, what the environment says and which flags were given is the program's to find.

mod background;
mod calls;
mod clients;
mod copies;
mod holders;
mod lease;
mod ledgers;
mod machine;
mod markers;
mod open_signs;
mod policy_file;
mod quota;
mod replace;
mod restore;
mod rules_file;
mod shown;
mod state;
mod streams;
mod take_up;
mod vault;

use std::fmt;
use std::fs::DirBuilder;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use stemmata_prompt::retrieve::Embedder;
use stemmata_store::maintain::surroundings;
use stemmata_store::state::ServiceState;
use stemmata_store::{
    FileLock, FileLog, Files as _, OpenFor, Patience, SqliteOptions, SqliteStore, Store, StoreError,
    SystemFiles,
};

use crate::briefs::Briefs;
use crate::calibration::CalibrationSlot;
use crate::capture::policy::CapturePolicy;
use crate::efforts::EffortSlot;
use crate::engine::{Engine, Identity};
use crate::error::{EngineError, Result};
use crate::outputs::{OutputFiles, OutputRules};
use crate::ports::{Clock, NewIds};
use crate::scrubbing::{Scrubbing, UntrustedMet};
use crate::search::IndexSlot;
use crate::settings::Settings;
use crate::temporary::{Leftovers, TempFiles};
use rules_file::Rules;
pub(crate) use rules_file::rules_of;

pub use calls::{Calls, modified};
pub use clients::{Clients, Process};
pub use holders::{HeldSession, Holding};
pub use lease::{Lease, RECALL_CHECK, Recall};
pub use machine::MachineFacts;
pub(crate) use machine::label_of;
pub use markers::{Marker, Markers};
pub use quota::{Quota, QuotaPlan};
pub use rules_file::TrustedRules;
pub use shown::ShownFiles;
pub use state::{Begun, Deed};
pub use streams::{StreamProof, Streams};
pub use take_up::{NotTakenUp, TakeUpLimits};
pub use vault::VaultFiles;

/// How a data directory is used. There is no `Default`: each field is a decision of the program.
#[derive(Clone)]
pub struct HomeOptions {
    /// What the owner configured.
    pub settings: Settings,
    /// What tells this machine from others.
    pub machine: MachineFacts,
    /// What the store is opened for, and so how long other processes are waited for.
    pub open_for: OpenFor,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Where new ids come from.
    pub ids: Arc<dyn NewIds>,
    /// The system's temporary folder, where files of large outputs of tools are written for agents that read files. Without it
    /// there are none.
    pub temp: Option<PathBuf>,
}

/// Something that opening found and a person should know; it stops nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HomeNote {
    /// The directory was used on another machine before.
    Moved(String),
    /// The place is one where a store may come to harm, such as a folder that is synced.
    Place(String),
    /// What was forgotten is still in the search index.
    Index(String),
    /// An earlier version left a vault. Told once.
    Vault(PathBuf),
}

impl fmt::Display for HomeNote {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Moved(text) | Self::Place(text) | Self::Index(text) => formatter.write_str(text),
            Self::Vault(folder) => write!(
                formatter,
                "{} holds secrets that an earlier version kept; nothing reads them now: `stemma forget --vault` overwrites and \
                 removes them",
                folder.display()
            ),
        }
    }
}

/// A data directory: who this machine is, what is not captured, the owner's rules for secrets, where ledgers are kept, what hooks left, how full it may become. Every program that uses a store goes through one.
///
/// Identity, exclusions, rules and ledgers hold for every engine that it gives. One thing only a program can time, so it is asked
/// for: [`Home::hold_quota`] before much is taken in.
///
/// Opening makes folders and nothing else. [`Home::engine`] opens the store, once. [`Home::take_up`] captures what hooks left.
/// Every method may be called from any thread.
///
/// ```
/// use std::sync::Arc;
///
/// use stemmata_engine::{
///     CheckpointRequest, Home, HomeOptions, MachineFacts, RandomIds, Settings, SystemClock, TakeUpLimits,
/// };
/// use stemmata_model::{FormatId, SessionId, Template};
/// use stemmata_store::OpenFor;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// let options = HomeOptions {
///     // The text of a configuration file, and the variables that win over it.
///     settings: Settings::of_texts("[identity]\nuser = \"ada\"\n", &|_| None)?,
///     machine: MachineFacts { mark: None, host_name: "workshop".to_owned(), user_id: 0 },
///     open_for: OpenFor::Command,
///     clock: Arc::new(SystemClock),
///     ids: Arc::new(RandomIds),
///     temp: None,
/// };
/// let home = Home::open(&folder.path().join("data"), options)?;
/// assert!(home.take_up(TakeUpLimits::COMMAND)?.is_empty());
///
/// let line = r#"{"t":"2026-03-09T12:00:00Z","fd":"stdin","line":"Why is the build slow?"}"#;
/// let made = home.engine()?.checkpoint(&CheckpointRequest::delta(
///     format!("{line}\n").into_bytes(),
///     FormatId::new("generic-v1")?,
///     Template::new("reviewer")?,
///     SessionId::new("a-session")?,
/// ))?;
/// let shown = home.engine()?.show(made.id)?;
/// assert_eq!(shown.sightings[0].principal.as_str(), "ada@workshop/generic");
/// # Ok(())
/// # }
/// ```
pub struct Home {
    dir: PathBuf,
    options: HomeOptions,
    /// A store that a test gave.
    store: Option<Arc<dyn Store>>,
    identity: OnceLock<Identity>,
    notes: Mutex<Vec<HomeNote>>,
    untrusted: UntrustedMet,
    ledgers: OnceLock<Arc<FileLog>>,
    embedder: Option<Arc<dyn Embedder>>,
    engine: OnceLock<Engine>,
    /// What a service keeps beside the store. Held while it is opened, so that it is opened once.
    state: Mutex<Option<Arc<dyn ServiceState>>>,
    /// The engine with the rules that were read last. Held while the store is opened, so that it is opened once.
    renewed: Mutex<Option<Renewed>>,
}

/// An engine, and the rules that it was given: scrubbers are made anew only where these change.
struct Renewed {
    rules: Rules,
    engine: Engine,
}

impl Home {
    /// Opens a data directory and creates the folders that are missing of it, for its owner alone. Opens no database, reads no
    /// file and captures nothing: a directory whose files are damaged can still be asked about, and takes what hooks leave.
    ///
    /// # Errors
    /// `Io` where a folder cannot be created.
    pub fn open(dir: &Path, options: HomeOptions) -> Result<Self> {
        let home = Self {
            dir: dir.to_owned(),
            options,
            store: None,
            identity: OnceLock::new(),
            notes: Mutex::default(),
            untrusted: UntrustedMet::default(),
            ledgers: OnceLock::new(),
            embedder: None,
            engine: OnceLock::new(),
            state: Mutex::default(),
            renewed: Mutex::default(),
        };
        for folder in [home.dir.clone(), home.store_dir(), home.logs_dir(), home.run_dir(), home.cache_dir()]
        {
            create_private(&folder)?;
        }
        Ok(home)
    }

    /// Opens a data directory over this store instead of its own.
    ///
    /// # Errors
    /// As [`Home::open`].
    #[cfg(feature = "testing")]
    pub fn over(dir: &Path, options: HomeOptions, store: Arc<dyn Store>) -> Result<Self> {
        Ok(Self { store: Some(store), ..Self::open(dir, options)? })
    }

    /// Has recall count nearness in meaning, by vectors that a model makes: see [`Engine::with_embedder`].
    #[must_use]
    pub fn with_embedder(mut self, embedder: Option<Arc<dyn Embedder>>) -> Self {
        self.embedder = embedder;
        self
    }

    /// Returns the directory itself.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the folder of the store.
    pub fn store_dir(&self) -> PathBuf {
        self.dir.join("store")
    }

    /// Returns the folder of logs.
    pub fn logs_dir(&self) -> PathBuf {
        self.dir.join("logs")
    }

    /// Returns the folder of what processes leave for each other.
    pub fn run_dir(&self) -> PathBuf {
        self.dir.join("run")
    }

    /// Returns the folder of what may be deleted at any time.
    pub fn cache_dir(&self) -> PathBuf {
        self.dir.join("cache")
    }

    /// Returns the folder of the search index.
    pub fn index_dir(&self) -> PathBuf {
        self.dir.join("index")
    }

    /// Returns what makes temporary files beside others, and remembers in which folders outside of the data directory.
    pub fn temp_files(&self) -> TempFiles {
        TempFiles::at(self.run_dir().join("temp"))
    }

    fn leftovers(&self) -> Leftovers {
        Leftovers { data: Some(self.dir.clone()), temp: self.options.temp.clone(), files: self.temp_files() }
    }

    /// Returns how the directory is used.
    pub const fn options(&self) -> &HomeOptions {
        &self.options
    }

    /// Returns how the store is opened, for what works on its files.
    pub fn store_options(&self) -> SqliteOptions {
        let settings = &self.options.settings;
        SqliteOptions {
            busy_timeout_ms: settings.wait_ms,
            allow_network: settings.allows_network,
            open_for: self.options.open_for.clone(),
            ..SqliteOptions::default()
        }
    }

    /// Returns how long other processes are waited for.
    pub fn patience(&self) -> Patience {
        self.store_options().patience()
    }

    /// Returns who runs the engine, and where. The first call reads `machine.json`, or makes it; a directory that was copied
    /// from another machine gets an id of its own, and a note.
    ///
    /// # Errors
    /// `MachineFile` where it makes no sense; `Io` where it cannot be read or made.
    pub fn identity(&self) -> Result<&Identity> {
        if let Some(identity) = self.identity.get() {
            return Ok(identity);
        }
        let (machine, news) = machine::machine(&self.dir, &self.options.machine, &|| self.alone())?;
        self.note(news.map(HomeNote::Moved));
        let settings = &self.options.settings;
        Ok(self.identity.get_or_init(|| Identity {
            machine: machine.id,
            machine_label: settings.machine_label.clone().unwrap_or(machine.label),
            user: settings.user.clone(),
            former: machine.former,
        }))
    }

    /// Returns the engine. The first call opens the store and the ledgers, and reads exclusions and the owner's
    /// rules; where it fails the next one tries again.
    ///
    /// # Errors
    /// `OpenStore` where the store cannot be opened; as [`Home::identity`] and [`Home::ledger_files`]; `Io` where rules cannot
    /// be read. Exclusions that cannot be read are no error: they hold everything back.
    pub fn engine(&self) -> Result<&Engine> {
        if let Some(engine) = self.engine.get() {
            return Ok(engine);
        }
        let mut renewed = held(&self.renewed);
        let engine = match &*renewed {
            Some(renewed) => renewed.engine.clone(),
            None => renewed.insert(self.opened()?).engine.clone(),
        };
        Ok(self.engine.get_or_init(|| engine))
    }

    /// Returns an engine with exclusions and rules as their files are now, for processes that live long.
    ///
    /// # Errors
    /// As [`Home::engine`].
    pub fn renewed(&self) -> Result<Engine> {
        let engine = self.engine()?;
        let rules = self.rules()?;
        let mut renewed = held(&self.renewed);
        let known = renewed.get_or_insert_with(|| Renewed { rules: rules.clone(), engine: engine.clone() });
        if known.rules != rules {
            known.engine.scrubbing = Arc::new(self.scrubbing(&rules));
            known.rules = rules;
        }
        let mut engine = known.engine.clone();
        engine.policy = Arc::new(self.policy_in_force());
        Ok(engine)
    }

    fn opened(&self) -> Result<Renewed> {
        let HomeOptions { settings, open_for, clock, ids, .. } = &self.options;
        let identity = self.identity()?.clone();
        let folder = self.store_dir();
        let store: Arc<dyn Store> = match &self.store {
            Some(store) => Arc::clone(store),
            None => Arc::new(
                SqliteStore::open(&folder, self.store_options())
                    .map_err(|source| EngineError::OpenStore { folder: folder.clone(), source })?,
            ),
        };
        let mut engine = Engine::new(store, Arc::clone(clock), Arc::clone(ids), identity);
        engine.policy = Arc::new(self.policy_in_force());
        engine.save_events = settings.save_events;
        engine.sidecars = settings.sidecars;
        // Files that were written are removed with their outputs, also where no more are written.
        let temp = self.options.temp.as_deref().filter(|_| settings.tools.writes_files);
        engine.leftovers = Arc::new(self.leftovers());
        engine.outputs = Arc::new(OutputRules {
            limits: settings.output_limits(),
            files: Some(OutputFiles::new(temp, self.dir.join("outputs"))),
        });
        match (self.ledger_files()?, self.ledger_files_beside()?) {
            (Some(files), _) => engine.use_log(Arc::clone(files) as _),
            (None, beside) => engine.files_beside = beside.map(|files| Arc::clone(files) as _),
        }
        let rules = self.rules()?;
        engine.scrubbing = Arc::new(self.scrubbing(&rules));
        engine.briefs = Arc::new(Briefs::at(&self.cache_dir()));
        if matches!(open_for, OpenFor::Command) {
            engine.index = Arc::new(IndexSlot::at(&self.index_dir(), self.patience()));
            engine.calibration = Arc::new(CalibrationSlot::at(&self.cache_dir()));
            engine.efforts = Arc::new(EffortSlot::at(&self.cache_dir()));
            engine.embedder.clone_from(&self.embedder);
            engine.leftovers.sweep_at_start();
            // A process that forgot something may have died before the index was rid of it.
            let left = engine.sweep_if_marked();
            self.note(left.unwrap_or_else(|error| Some(error.to_string())).map(HomeNote::Index));
            self.note(surroundings::look(&folder).warnings().into_iter().map(HomeNote::Place));
            self.note(
                self.vault().filter(|folder| self.is_told_first("a vault", folder)).map(HomeNote::Vault),
            );
        }
        Ok(Renewed { rules, engine })
    }

    fn scrubbing(&self, rules: &Rules) -> Scrubbing {
        let rest = (rules.trust.clone(), self.untrusted.clone());
        match &rules.store {
            Ok(store) => Scrubbing::new(store.clone(), rest.0, rest.1),
            Err(error) => Scrubbing::unusable(error.clone(), rest),
        }
    }

    /// Returns what opening found since the last call.
    pub fn notes(&self) -> Vec<HomeNote> {
        std::mem::take(&mut *held(&self.notes))
    }

    /// Returns whether the user is told `what` about this path for the first time, and records that it was told.
    fn is_told_first(&self, what: &str, path: &Path) -> bool {
        let mut shown = self.shown_files();
        let is_first = shown.add(what, path);
        if is_first {
            shown.keep();
        }
        is_first
    }

    fn note(&self, notes: impl IntoIterator<Item = HomeNote>) {
        held(&self.notes).extend(notes);
    }

    /// Returns what is not captured.
    ///
    /// # Errors
    /// `CaptureFile` where the file makes no sense; `Io` where it cannot be read.
    pub fn policy(&self) -> Result<CapturePolicy> {
        policy_file::try_load(&self.dir)
    }

    /// Returns what is not captured: everything, where the file cannot be read.
    pub fn policy_in_force(&self) -> CapturePolicy {
        policy_file::load(&self.dir)
    }

    /// Changes what is not captured, and returns it. Where `change` fails nothing is written.
    ///
    /// # Errors
    /// As [`Home::policy`]; those of `change`; `Policy` where the result makes no sense; `Io` where it cannot be written.
    pub fn change_policy<E: From<EngineError>>(
        &self,
        change: impl FnOnce(&mut CapturePolicy) -> Result<(), E>,
    ) -> Result<CapturePolicy, E> {
        let _alone = self.alone()?;
        let mut policy = self.policy()?;
        change(&mut policy)?;
        policy_file::save(&self.dir, &policy)?;
        Ok(policy)
    }

    /// Holds the directory's own files, and those of clients and repositories that are changed with them, so that what was read is
    /// still so when it is written.
    ///
    /// # Errors
    /// `Locked` where another process has them for longer than this one waits; `Io`.
    pub fn alone(&self) -> Result<Box<dyn FileLock>> {
        let path = self.run_dir().join("files.lock");
        let patience = self.patience();
        let lock = patience.until(|| SystemFiles.lock(&path)).map_err(EngineError::io("lock", &path))?;
        lock.ok_or(EngineError::Store(StoreError::Locked { waited_ms: patience.bound_ms() }))
    }

    /// Returns the transcripts that hooks left.
    pub fn markers(&self) -> Markers {
        Markers::in_run(&self.run_dir())
    }

    /// Returns the calls of clients' hooks.
    pub fn calls(&self) -> Calls {
        Calls::in_run(&self.run_dir())
    }

    /// Returns which files that no import reads were shown to the user.
    pub fn shown_files(&self) -> ShownFiles {
        ShownFiles::in_run(&self.run_dir())
    }

    /// Returns the streams of commands under `run`.
    pub fn streams(&self) -> Streams {
        Streams::in_run(&self.run_dir())
    }

    /// Returns the clients whose processes hooks recorded. `processes` is where the system lists processes as Linux does in
    /// `/proc`; where there is no such folder nothing is recorded and nothing found.
    pub fn clients(&self, processes: &Path) -> Clients {
        Clients::in_run(&self.run_dir(), processes, self.patience())
    }
}

/// Creates a folder and what is above it, readable by the owner only. A folder that exists stays as it is.
///
/// # Errors
/// `Io` where it cannot be created.
pub fn create_private(folder: &Path) -> Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(EngineError::io("create", folder))
}

/// What is in these locks is whole at every moment, also where a thread panicked with one.
fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
