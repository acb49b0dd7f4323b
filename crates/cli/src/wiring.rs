//! Puts a command's surroundings together: configuration, data directory, store, engine.
//!
//! The store is opened on first use, so that commands without one work everywhere.

use std::cell::OnceCell;
use std::path::Path;
use std::sync::Arc;

use stemmata_engine::{
    CaptureOptions, Clock, Engine, EngineError, HomeHints, Identity, RUNTIMES, RandomIds, SAVE_EVENTS,
    SystemClock, UntrustedMet, Vault,
};
use stemmata_model::{CommitId, Principal, Timestamp, Trigger};
use stemmata_store::maintain::surroundings;
use stemmata_store::{
    EventLog, FileLog, FileLogOptions, IntegrityMode, OpenFor, Patience, Session, SqliteOptions, SqliteStore,
};

use crate::args::Global;
use crate::capture_file;
use crate::config::{Config, Key};
use crate::environment::Environment;
use crate::errors::CliError;
use crate::home::{self, DataHome};
use crate::logging;
use crate::output::style::Style;
use crate::output::{Console, Stream};
use crate::pending;
use crate::secrets_file;
use crate::streams::{self, Proof};

/// Everything that a command works with.
pub(crate) struct App {
    /// What the environment said.
    pub(crate) environment: Environment,
    /// The configuration in force.
    pub(crate) config: Config,
    /// Where output goes.
    pub(crate) console: Console,
    clock: Arc<dyn Clock>,
    /// A mark that this machine keeps and another one does not have; none where the system has none.
    host: Option<String>,
    home: OnceCell<DataHome>,
    engine: OnceCell<Engine>,
    ledgers: OnceCell<Arc<FileLog>>,
    /// Projects' rules for secrets that do not count.
    pub(crate) untrusted: UntrustedMet,
}

/// A clock that stands still, for tests.
struct FixedClock(Timestamp);

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        self.0
    }
}

impl App {
    /// Reads the configuration and sets the console up.
    pub(crate) fn new(environment: Environment, global: &Global) -> Result<Self, CliError> {
        let mut config = Config::load(&environment)?;
        config.flag(Key::Color, global.color.map(|when| when.as_str().to_owned()));
        let console = console(&environment, &config, global);
        for name in &config.unknown {
            let place = config.file().map(|path| path.display().to_string()).unwrap_or_default();
            console.warn(&format!("{place}: `{name}` is no key that this version knows"));
        }
        let clock: Arc<dyn Clock> = match global.test_now {
            Some(now) => Arc::new(FixedClock(now)),
            None => Arc::new(SystemClock),
        };
        let host = global.test_host.clone().or_else(home::host_mark);
        Ok(Self {
            environment,
            config,
            console,
            clock,
            host,
            home: OnceCell::new(),
            engine: OnceCell::new(),
            ledgers: OnceCell::new(),
            untrusted: UntrustedMet::default(),
        })
    }

    /// Returns the present.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns the clock, for another thread.
    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    /// Returns the data directory; makes it the first time, and starts the log in it.
    pub(crate) fn home(&self) -> Result<&DataHome, CliError> {
        if let Some(home) = self.home.get() {
            return Ok(home);
        }
        let root = self
            .environment
            .data_dir()
            .ok_or(CliError::NoHome { what: "the data directory", variable: "STEMMATA_HOME" })?;
        let home = DataHome::open(root)?;
        if let Err(reason) = logging::start(&home.logs(), self.environment.text("STEMMATA_LOG").as_deref()) {
            self.console.warn(&reason);
        }
        Ok(self.home.get_or_init(|| home))
    }

    /// Returns the engine; opens the store the first time.
    pub(crate) fn engine(&self) -> Result<&Engine, CliError> {
        if let Some(engine) = self.engine.get() {
            return Ok(engine);
        }
        let engine = self.open_engine(self.store_options())?;
        let home = self.home()?;
        if !self.console.quiet {
            for warning in surroundings::look(&home.store()).warnings() {
                self.console.warn(&warning);
            }
        }
        self.take_up(&engine)?;
        Ok(self.engine.get_or_init(|| engine))
    }

    /// Opens the engine to record beside a program that waits for nothing: each lock is waited for no longer than that, and
    /// what others left is left.
    pub(crate) fn hook_engine(&self, wait_ms: u64) -> Result<Engine, CliError> {
        let mut options = self.store_options();
        options.busy_timeout_ms = wait_ms;
        options.open_for = OpenFor::Recorder;
        self.open_engine(options)
    }

    /// Opens the engine for a hook, whose client waits: all locks together are waited for no longer than this, and
    /// maintenance and what others left are for commands.
    pub(crate) fn engine_for_hook(&self, patience: &Patience) -> Result<Engine, CliError> {
        self.open_engine(SqliteOptions { open_for: OpenFor::Hook(patience.clone()), ..self.store_options() })
    }

    /// Opens what an engine needs. Whatever has a lock gets its patience from here.
    fn open_engine(&self, options: SqliteOptions) -> Result<Engine, CliError> {
        let home = self.home()?;
        let identity = self.identity(home)?;
        let patience = options.patience();
        let is_for_hook = matches!(options.open_for, OpenFor::Hook(_));
        let store = SqliteStore::open(&home.store(), options)
            .map_err(|source| CliError::OpenStore { folder: home.store(), source })?;
        let engine = Engine::new(Arc::new(store), Arc::clone(&self.clock), Arc::new(RandomIds), identity);
        let engine = engine.with_policy(capture_file::load(home.root()));
        let keeps = self.config.get(Key::Vault).is_some_and(|text| matches!(text.as_str(), "1" | "true"));
        let vault = Vault::at(home.vault(), keeps).with_patience(patience.clone());
        // To wipe what an interruption left takes as long as it is large; `run` can wait for that.
        let engine = engine.with_vault(if is_for_hook { vault.leaving_remains() } else { vault });
        let save_events = self.config.get(Key::LedgerSaveEvents).and_then(|text| text.parse().ok());
        let engine = engine.with_save_events(save_events.unwrap_or(SAVE_EVENTS));
        let engine = match self.ledger_files_with(patience)? {
            Some(files) => engine.with_log(Arc::clone(files) as Arc<dyn EventLog>),
            None => engine,
        };
        let engine = engine.with_trust(secrets_file::trust(home)?, self.untrusted.clone());
        Ok(match secrets_file::load(home.root())? {
            Some(rules) => engine.with_rules(rules),
            None => engine,
        })
    }

    /// Returns the ledgers in files, where they are kept so.
    pub(crate) fn ledger_files(&self) -> Result<Option<&Arc<FileLog>>, CliError> {
        self.ledger_files_with(self.store_options().patience())
    }

    fn ledger_files_with(&self, patience: Patience) -> Result<Option<&Arc<FileLog>>, CliError> {
        if self.config.get(Key::LedgerEngine).as_deref() != Some("files") {
            return Ok(None);
        }
        if self.ledgers.get().is_none() {
            let integrity = match self.config.get(Key::LedgerIntegrity).as_deref() {
                Some("none") => IntegrityMode::None,
                Some("chain") => IntegrityMode::Chain,
                _ => IntegrityMode::Checksum,
            };
            let SqliteOptions { allow_network, .. } = self.store_options();
            let options = FileLogOptions { integrity, patience, allow_network, ..FileLogOptions::default() };
            let files = FileLog::open(self.home()?.root(), options)?;
            let _raced = self.ledgers.set(Arc::new(files));
        }
        Ok(self.ledgers.get())
    }

    /// Says what reading and writing ledgers in files met: a write that did not finish, files that were passed over.
    pub(crate) fn tell_of_ledgers(&self) {
        for finding in self.ledgers.get().map(|files| files.findings()).unwrap_or_default() {
            self.console.warn(&finding.to_string());
        }
    }

    /// Says once of each file that a project has rules for secrets which do not count; a hook only remembers it for `status`.
    pub(crate) fn tell_of_untrusted_rules(&self, may_tell: bool) {
        let met = self.untrusted.list();
        if met.is_empty() {
            return;
        }
        let told = self.home().and_then(|home| secrets_file::met(home, &met, may_tell));
        for path in told.unwrap_or_default() {
            let folder = path.parent().and_then(Path::parent).unwrap_or(&path);
            self.console.warn(&format!(
                "{} has rules for secrets that do not count: nobody trusts them; `stemma secrets trust {}` does",
                path.display(),
                folder.display()
            ));
        }
    }

    /// Captures what hooks left. What fails now too stays for the next command.
    pub(crate) fn take_up(&self, engine: &Engine) -> Result<(), CliError> {
        for left in pending::claims(self.home()?) {
            match engine.capture(&left.transcript, &CaptureOptions::live(Trigger::TurnBoundary)) {
                Ok(_) | Err(EngineError::NotATranscript { .. } | EngineError::HeldBack { .. }) => left.done(),
                Err(error) if is_gone(&error) => left.done(),
                Err(error) => {
                    let path = left.transcript.display();
                    self.console.warn(&format!("{path}, which a hook left, was not read: {error}"));
                }
            }
        }
        self.take_up_streams(engine)
    }

    /// Captures what commands under `run` left. What never can be captured is set aside: it may be the only copy.
    fn take_up_streams(&self, engine: &Engine) -> Result<(), CliError> {
        let home = self.home()?;
        let left = streams::left(home);
        if let Some(path) = left.first()
            && let Err(error) = engine.check_vault()
        {
            self.console.warn(&format!("{}, which `run` left, was not read: {error}", path.display()));
            return Ok(());
        }
        let mut tried = 0;
        for path in left {
            if tried == streams::TAKEN_MAX {
                break;
            }
            if streams::remove(&path, Proof::Empty) {
                continue;
            }
            let format = streams::format(&path);
            let options = CaptureOptions { trigger: Trigger::SessionEnd, format, ..CaptureOptions::import() };
            let captured = engine.capture(&path, &options);
            // What is excluded costs nothing and stays: it must not stand in the way of the rest.
            tried += usize::from(!matches!(captured, Err(EngineError::HeldBack { .. })));
            let reason = match captured {
                Ok(captured) if streams::remove(&path, Proof::Captured(&captured)) => continue,
                // Another command stored it meanwhile.
                Ok(_) if !path.exists() => continue,
                Ok(_) => "not all of it could be stored".to_owned(),
                Err(error) if is_gone(&error) => continue,
                Err(error) if is_for_good(&error) => error.to_string(),
                Err(error) => {
                    self.console
                        .warn(&format!("{}, which `run` left, was not read: {error}", path.display()));
                    continue;
                }
            };
            let kept = match streams::set_aside(home, &path) {
                Ok(kept) => kept,
                Err(CliError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => continue,
                Err(_) => path,
            };
            self.console.warn(&format!("{reason}; what `run` recorded is kept in {}", kept.display()));
        }
        Ok(())
    }

    /// Returns how stores are opened.
    pub(crate) fn store_options(&self) -> SqliteOptions {
        let mut options = SqliteOptions::default();
        if let Some(waited) = self.config.get(Key::WaitMs).and_then(|text| text.parse().ok()) {
            options.busy_timeout_ms = waited;
        }
        let allowed = self.config.get(Key::AllowNetwork);
        options.allow_network = allowed.is_some_and(|text| matches!(text.as_str(), "1" | "true"));
        options
    }

    fn identity(&self, home: &DataHome) -> Result<Identity, CliError> {
        let (machine, news) = home.machine(self.host.as_deref())?;
        if let Some(news) = news {
            self.console.say(&format!("{}: {news}", Style::Note.paint("note")));
        }
        let label = self.config.get(Key::MachineLabel).unwrap_or(machine.label);
        let user = self.config.get(Key::User).unwrap_or_else(|| "user".to_owned());
        Ok(Identity { machine: machine.id, machine_label: label, user, former: machine.former })
    }

    /// Returns who asks for changes on the command line.
    pub(crate) fn principal(&self) -> Result<Principal, CliError> {
        Ok(self.engine()?.identity().principal("stemma")?)
    }

    /// Returns where clients keep their configuration.
    pub(crate) fn homes(&self) -> HomeHints {
        HomeHints {
            home: self.environment.home(),
            overrides: RUNTIMES
                .iter()
                .filter_map(|place| Some((place, self.environment.path(place.variable)?)))
                .map(|(place, path)| (place.runtime, place.moved_to(self.environment.absolute(&path))))
                .collect(),
        }
    }

    /// Returns the session of the current directory that was active last, after reading what its clients wrote
    /// there since.
    pub(crate) fn session_here(&self) -> Result<Session, CliError> {
        let engine = self.engine()?;
        let here = &self.environment.current_dir;
        for failure in engine.catch_up(&self.homes().existing(), here)? {
            self.console.warn(&format!("{} was not read: {}", failure.path.display(), failure.error));
        }
        Ok(engine.latest_session(Some(&here.to_string_lossy()))?)
    }

    /// Finds the commit that the user means.
    pub(crate) fn find(&self, reference: &str) -> Result<CommitId, CliError> {
        let engine = self.engine()?;
        // A path is the user's, relative to where the command was called; a tag may look like one.
        let path = Path::new(reference);
        let is_path = path.components().count() > 1 || stemmata_engine::is_transcript_name(path);
        if is_path
            && let Some(session) = engine.find_session(&self.environment.absolute(path).to_string_lossy())?
            && let Some(tip) = session.tip
        {
            return Ok(tip);
        }
        let found = engine.find(reference)?;
        let text = found.to_string();
        let is_it = text.starts_with(reference) || text.get(4..).is_some_and(|id| id.starts_with(reference));
        if !is_it && let Some((from, to)) = engine.redirected(reference)?.first() {
            let note = Style::Note.paint("note");
            self.console
                .say(&format!("{note}: {from} was scrubbed of secrets; this is {to}, which it became"));
        }
        Ok(found)
    }
}

/// Says whether a file is not there any more.
fn is_gone(error: &EngineError) -> bool {
    matches!(error, EngineError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
}

/// Says whether a file itself is the reason, so that another try gives the same.
fn is_for_good(error: &EngineError) -> bool {
    matches!(
        error,
        EngineError::NotATranscript { .. }
            | EngineError::LineTooLong { .. }
            | EngineError::DocumentTooLong { .. }
            | EngineError::Torn { .. }
            | EngineError::Refused { .. }
    )
}

/// Returns whether a stream takes colour, by what the configuration says of it and by what the stream is.
pub(crate) fn takes_color(environment: &Environment, config: &Config, is_terminal: bool) -> bool {
    let plain = environment.text("NO_COLOR").is_some() || environment.text("TERM").as_deref() == Some("dumb");
    match config.get(Key::Color).as_deref() {
        Some("always") => true,
        Some("never") => false,
        _ => is_terminal && !plain,
    }
}

fn console(environment: &Environment, config: &Config, global: &Global) -> Console {
    let stream =
        |is_terminal: bool| Stream { is_terminal, color: takes_color(environment, config, is_terminal) };
    Console {
        json: global.json,
        quiet: global.quiet,
        out: stream(environment.stdout_is_terminal),
        err: stream(environment.stderr_is_terminal),
        width: Console::width_in(environment.columns),
        pager: config.get(Key::Pager).filter(|command| command != "never"),
    }
}
