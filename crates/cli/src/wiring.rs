//! Puts a command's surroundings together: configuration, data directory, store, engine.
//!
//! The store is opened on first use, so that commands without one work everywhere.

mod asked;
mod names;

use std::cell::{Cell, OnceCell};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use clap::ValueEnum as _;
use serde::Serialize;
use stemmata_client::Remote;
use stemmata_engine::clients::{self, Client};
use stemmata_engine::prompt::retrieve::Embedder;
pub(crate) use stemmata_engine::runtime_of;
use stemmata_engine::{
    Clock, EngineError, Home, HomeHints, HomeNote, HomeOptions, LedgerPlace, MachineFacts, NotTakenUp,
    OpenFor, RandomIds, Settings, SystemClock, TakeUpLimits, TempFiles, TempFolder,
};
use stemmata_llm::ModelEmbedder;
use stemmata_model::{ThreadId, TicketId, Timestamp};
use stemmata_service::{Host, Local, Machine, Process, alike, open_for_hook, problem_of};

use crate::args::asked::Asks;
use crate::args::git::{Git, GitCommand};
use crate::args::{Cli, Command, Global};
use crate::commands::run;
use crate::config::{self, Config};
use crate::environment::{self, Environment, SESSION_VARIABLE};
use crate::errors::{CliError, Exit};
use crate::logging::{self, LogTrouble};
use crate::output::size::plural;
use crate::output::style::Style;
use crate::output::time;
use crate::output::{Console, Stream};

/// What the environment calls the ticket being worked on.
pub(crate) const TICKET_VARIABLE: &str = "STEMMATA_TICKET";

/// What the environment calls the discussion thread.
pub(crate) const THREAD_VARIABLE: &str = "STEMMATA_THREAD";

/// Where the system lists processes.
pub(crate) const PROCESSES: &str = "/proc";

/// Everything that a command works with.
pub(crate) struct App {
    /// What the environment said.
    pub(crate) environment: Environment,
    /// The configuration in force.
    pub(crate) config: Config,
    /// What it says that concerns a store.
    pub(crate) settings: Settings,
    /// Where output goes.
    pub(crate) console: Console,
    clock: Arc<dyn Clock>,
    /// What the store is opened for.
    open_for: OpenFor,
    /// What to take for the mark of this machine, for tests.
    mark: Option<String>,
    home: OnceCell<Arc<Home>>,
    local: OnceCell<Arc<Local>>,
    /// Whom to ask instead of this machine's store.
    remote: Option<Remote>,
    /// Set once what was asked for lies in this machine's store.
    is_here: Cell<bool>,
    host: OnceCell<Host>,
    /// Set once what others left was taken up.
    opened: OnceCell<()>,
    /// The time zone of this machine; read where a time is shown.
    zone: OnceCell<jiff::tz::TimeZone>,
    /// Whether the user was told that a transcript was cut.
    has_said_cut: Cell<bool>,
    /// Why nothing is logged.
    pub(crate) log_trouble: OnceCell<String>,
}

/// A setting of earlier versions, which many a configuration has.
const VAULT_SETTING: &str = "secrets.vault";

/// A clock that stands still, for tests.
struct FixedClock(Timestamp);

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        self.0
    }
}

impl From<EngineError> for CliError {
    fn from(error: EngineError) -> Self {
        Self::Problem(Box::new(problem_of(&error)))
    }
}

/// Returns what a command opens the store for: a client waits for `hook`, and git for its own; `run` records beside a program
/// that waits for nothing.
fn open_for(command: &Command) -> OpenFor {
    match command {
        // Nobody waits for a store while a shell completes, or for a page that only reads.
        Command::Complete(_)
        | Command::Home(_)
        | Command::Hook(_)
        | Command::Git(Git { command: GitCommand::Trailer(_) }) => open_for_hook(),
        Command::Run(_) => OpenFor::Recorder,
        _ => OpenFor::Command,
    }
}

impl App {
    /// Reads the configuration and sets the console up.
    pub(crate) fn new(environment: Environment, cli: &Cli, asks: Asks) -> Result<Self, CliError> {
        let (global, open_for) = (&cli.global, open_for(&cli.command));
        let mut config = Config::load(&environment)?;
        let color = global.color.and_then(|when| when.to_possible_value());
        config.flag(&config::COLOR, color.map(|when| when.get_name().to_owned()));
        config.flag(&config::SERVER, global.server.clone());
        let mut settings = config.settings(&environment)?;
        if matches!(open_for, OpenFor::Recorder) {
            settings.wait_ms = run::WAIT_MS;
        }
        let console = console(&environment, &config, global);
        for name in &config.unknown {
            let place = config.file().map(|path| path.display().to_string()).unwrap_or_default();
            if name == VAULT_SETTING {
                let note = Style::Note.paint("note");
                console
                    .say(&format!("{note}: {place}: `{name}` has no effect: replaced secrets are not kept"));
            } else {
                console.warn(&format!("{place}: `{name}` is not a setting of this version"));
            }
        }
        let clock: Arc<dyn Clock> = match global.test_now {
            Some(now) => Arc::new(FixedClock(now)),
            None => Arc::new(SystemClock),
        };
        let remote = asked::remote(&config, &environment, asks)?;
        Ok(Self {
            environment,
            config,
            settings,
            console,
            clock,
            open_for,
            mark: global.test_host.clone(),
            home: OnceCell::new(),
            local: OnceCell::new(),
            remote,
            is_here: Cell::new(false),
            host: OnceCell::new(),
            opened: OnceCell::new(),
            has_said_cut: Cell::new(false),
            log_trouble: OnceCell::new(),
            zone: OnceCell::new(),
        })
    }

    /// Returns the present.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns a point in time of a response as lists show it.
    pub(crate) fn moment(&self, at: Option<Timestamp>) -> String {
        at.map(|at| time::moment(at, self.now(), self.zone())).unwrap_or_default()
    }

    /// Returns the time zone that times are shown in.
    pub(crate) fn zone(&self) -> &jiff::tz::TimeZone {
        self.zone.get_or_init(environment::time_zone)
    }

    /// Says whether there is a data directory: what only reads does not make one.
    pub(crate) fn has_store(&self) -> bool {
        self.environment.data_dir().is_some_and(|folder| folder.is_dir())
    }

    /// Works in an empty data directory, which is gone when the value that is returned is dropped, where this machine has no store yet:
    /// a dry run may ask a store what is known, but makes none. Comes before everything that needs a data directory.
    pub(crate) fn rehearse(&self) -> Result<Option<TempFolder>, CliError> {
        if self.environment.data_dir().is_none_or(|root| root.join("store").is_dir()) {
            return Ok(None);
        }
        let temp = environment::temp_dir();
        let folder = TempFolder::in_temp(&temp).map_err(|source| CliError::io("write in", &temp, source))?;
        let home = self.open_home(folder.path())?;
        self.home.get_or_init(|| Arc::new(home));
        Ok(Some(folder))
    }

    /// Says whether a person can be shown a screen that follows what is typed.
    pub(crate) fn takes_keys(&self) -> bool {
        let environment = &self.environment;
        let is_dumb = environment.text("TERM").is_none_or(|name| name == "dumb");
        environment.stdin_is_terminal && environment.stdout_is_terminal && !is_dumb && !self.console.json
    }

    /// Returns the data directory; makes it the first time, and starts the log in it.
    fn home(&self) -> Result<&Arc<Home>, CliError> {
        if let Some(home) = self.home.get() {
            return Ok(home);
        }
        let root = self
            .environment
            .data_dir()
            .ok_or(CliError::NoHome { what: "the data directory", variable: "STEMMATA_HOME" })?;
        let home = self.open_home(&root)?;
        let filter = self.environment.text("STEMMATA_LOG");
        let started = logging::start(&home.logs_dir(), filter.as_deref());
        match started {
            Ok(()) => {}
            // Whoever reads a store that cannot be written would be told with each command; `status` says it.
            Err(LogTrouble::Unwritable(reason)) if filter.is_none() => {
                self.log_trouble.get_or_init(|| reason);
            }
            Err(LogTrouble::Unwritable(reason) | LogTrouble::Filter(reason)) => {
                if matches!(self.open_for, OpenFor::Command) {
                    self.console.warn(&reason);
                }
            }
        }
        Ok(self.home.get_or_init(|| Arc::new(home)))
    }

    /// Returns what makes files that appear whole; where a data directory is used, one that finds again what a kill left.
    pub(crate) fn temp_files(&self) -> TempFiles {
        self.home.get().map(|home| home.temp_files()).unwrap_or_default()
    }

    /// Opens a data directory as this command uses one.
    pub(crate) fn open_home(&self, root: &Path) -> Result<Home, CliError> {
        Ok(self.home_maker(root)()?)
    }

    /// Returns what opens this data directory as this command uses one, again and again.
    fn make_home(&self) -> Result<impl Fn() -> Result<Home, EngineError> + Send + use<>, CliError> {
        Ok(self.home_maker(self.home()?.dir()))
    }

    fn home_maker(&self, root: &Path) -> impl Fn() -> Result<Home, EngineError> + Send + use<> {
        let machine = MachineFacts {
            mark: self.mark.clone().or_else(environment::host_mark),
            host_name: environment::host_name(),
            user_id: environment::user_id(),
        };
        let options = HomeOptions {
            settings: self.settings.clone(),
            machine,
            open_for: self.open_for.clone(),
            clock: Arc::clone(&self.clock),
            ids: Arc::new(RandomIds),
            temp: Some(environment::temp_dir()),
        };
        let (root, embedder) = (root.to_owned(), self.embedder());
        move || Ok(Home::open(&root, options.clone())?.with_embedder(embedder.clone()))
    }

    /// Returns what turns texts into vectors, where that is configured. A pack is good without, so what is wrong with it is a warning.
    fn embedder(&self) -> Option<Arc<dyn Embedder>> {
        let dense = self.settings.dense.as_ref().filter(|_| matches!(self.open_for, OpenFor::Command))?;
        let key = self.environment.text(&dense.key_variable);
        match ModelEmbedder::new(&dense.url, &dense.model, key.as_deref()) {
            Ok(embedder) => Some(Arc::new(embedder)),
            Err(error) => {
                self.console.warn(&format!("`retriever.dense_url`: {error}"));
                None
            }
        }
    }

    fn open(&self) -> Result<(), CliError> {
        let opened = self.home()?.engine().map(drop);
        self.say_notes()?;
        opened?;
        if self.opened.set(()).is_ok() && matches!(self.open_for, OpenFor::Command) {
            self.take_up(self.home()?)?;
        }
        Ok(())
    }

    /// Opens the store as a command does, with all that this brings, and closes it again.
    fn open_for_a_moment(&self) -> Result<(), CliError> {
        let home = self.make_home()?()?;
        let opened = home.engine().map(drop);
        self.say_notes_of(&home);
        opened?;
        self.take_up(&home)
    }

    /// Says what opening the store found.
    pub(crate) fn say_notes(&self) -> Result<(), CliError> {
        self.say_notes_of(self.home()?);
        Ok(())
    }

    fn say_notes_of(&self, home: &Home) {
        for note in home.notes() {
            match note {
                HomeNote::Moved(_) | HomeNote::Vault(_) => {
                    self.console.say(&format!("{}: {note}", Style::Note.paint("note")));
                }
                HomeNote::Place(_) if self.console.quiet => {}
                HomeNote::Place(_) | HomeNote::Index(_) => self.console.warn(&note.to_string()),
            }
        }
    }

    /// Returns what reading and writing ledgers in files met since the last call: a write that did not finish, files that were
    /// passed over.
    pub(crate) fn ledger_findings(&self) -> Vec<String> {
        let findings = self.home.get().map(|home| home.ledger_findings()).unwrap_or_default();
        findings.iter().map(ToString::to_string).collect()
    }

    /// Says whether ledgers are kept in files.
    pub(crate) const fn has_ledger_files(&self) -> bool {
        matches!(self.settings.ledgers, LedgerPlace::Files { .. })
    }

    /// Says once of each file that a project has rules for secrets which do not count; a hook only remembers it for `status`.
    pub(crate) fn tell_of_untrusted_rules(&self, may_tell: bool) {
        let told = self.home.get().map(|home| home.remember_untrusted(may_tell));
        for path in told.and_then(Result::ok).unwrap_or_default() {
            let folder = path.parent().and_then(Path::parent).unwrap_or(&path);
            self.console.warn(&format!(
                "{} has rules for secrets that are not trusted and do not apply; `stemma secrets trust {}` trusts them",
                path.display(),
                folder.display()
            ));
        }
    }

    /// Captures what hooks and `run` left, and says what could not be captured.
    fn take_up(&self, home: &Home) -> Result<(), CliError> {
        let all = home.take_up(TakeUpLimits::COMMAND)?;
        let said = |one: &NotTakenUp| (one.path().display().to_string(), one.to_string());
        for (trouble, others) in alike(&all, said) {
            let more =
                if others > 0 { format!(" ({} alike)", plural(others, "other file")) } else { String::new() };
            self.console.warn(&format!("{trouble}{more}"));
        }
        Ok(())
    }

    /// Returns where clients keep their configuration.
    pub(crate) fn homes(&self) -> HomeHints {
        HomeHints {
            home: self.environment.home(),
            overrides: clients::at_home()
                .filter_map(|client| {
                    let home = client.home?;
                    let path = self.environment.path(home.variable)?;
                    Some((client.id, home.moved_to(self.environment.absolute(&path))))
                })
                .collect(),
        }
    }

    /// Returns the clients whose sessions are read.
    pub(crate) fn clients() -> impl Iterator<Item = &'static str> {
        clients::at_home().map(|client| client.id)
    }

    /// Says whether sessions can be placed for a client, so that it continues them.
    pub(crate) fn is_continued(client: &str) -> bool {
        clients::local(client).is_some()
    }

    /// Returns the command that continues a commit of a client: in the client itself where sessions can be placed for it.
    pub(crate) fn resume_command(ctx: &str, client: &str) -> String {
        let other = clients::at_home()
            .next()
            .filter(|_| !Self::is_continued(client))
            .map(|other| format!(" --in {}", other.id));
        format!("stemma resume {ctx}{}", other.unwrap_or_default())
    }

    /// Returns what only this machine can do. Opens no store: a command that needs one asks for [`App::service`] first.
    pub(crate) fn host(&self) -> Result<&Host, CliError> {
        let home = self.home()?;
        Ok(self.host.get_or_init(|| self.host_of(Arc::clone(home))))
    }

    /// Returns the host of a data directory.
    pub(crate) fn host_of(&self, home: Arc<Home>) -> Host {
        let own = |name: &str| self.environment.path(name).map(|path| self.environment.absolute(&path));
        let folder = |client: &Client| {
            let config = client.hooks?.config?;
            Some((client.id, config.directory(self.environment.home(), own)?))
        };
        let machine = Machine {
            clients: self.homes(),
            settings: clients::hooked().filter_map(folder).collect(),
            program: self.environment.program.clone(),
            processes: PathBuf::from(PROCESSES),
            folders: std::env::split_paths(&self.environment.path("PATH").unwrap_or_default()).collect(),
        };
        Host::new(home, machine)
    }

    /// Returns this process, and what its environment names its session by.
    pub(crate) fn process(&self) -> Process {
        // Ours first: a client may run below another one, and pass on what that called its session.
        let of_clients = clients::ALL.iter().flat_map(|client| client.session_variables).copied();
        let mut names = [SESSION_VARIABLE].into_iter().chain(of_clients);
        let told = |name: &str| Some((name.to_owned(), self.environment.text(name)?));
        Process { pid: std::process::id(), told: names.find_map(told) }
    }

    /// Returns the same with the store; the first time as [`App::service`] does.
    pub(crate) fn opened_host(&self) -> Result<&Host, CliError> {
        self.open()?;
        self.host()
    }

    /// Returns the ticket being worked on: the flag's, else that of the environment.
    pub(crate) fn ticket(&self, flag: Option<&TicketId>) -> Option<TicketId> {
        flag.cloned().or_else(|| self.named(TICKET_VARIABLE))
    }

    /// Returns the discussion thread: the flag's, else that of the environment.
    pub(crate) fn thread(&self, flag: Option<&ThreadId>) -> Option<ThreadId> {
        flag.cloned().or_else(|| self.named(THREAD_VARIABLE))
    }

    /// Returns a name of the environment. What is none is passed over: nothing that a person did not type may stop a command.
    fn named<T: FromStr>(&self, variable: &str) -> Option<T> {
        let name = self.environment.text(variable)?.parse();
        name.inspect_err(|_| tracing::warn!(variable, "no name")).ok()
    }

    /// Prints a response: as JSON where that was asked for, else as the text that `told` makes of it.
    pub(crate) fn answer<T: Serialize>(
        &self,
        response: &T,
        told: impl FnOnce() -> Result<String, CliError>,
    ) -> Result<Exit, CliError> {
        self.json_or(response, || self.console.long_text(&told()?))
    }

    /// As [`App::answer`], for text that is neither paged nor wrapped.
    pub(crate) fn printed<T: Serialize>(
        &self,
        response: &T,
        told: impl FnOnce() -> Result<String, CliError>,
    ) -> Result<Exit, CliError> {
        self.json_or(response, || self.console.text(&told()?))
    }

    /// Prints a response as JSON where that was asked for; else says what was done, beside the output.
    pub(crate) fn said<T: Serialize>(&self, response: &T, told: &str) -> Result<Exit, CliError> {
        self.json_or(response, || {
            self.console.say(told);
            Ok(())
        })
    }

    fn json_or<T: Serialize>(
        &self,
        response: &T,
        show: impl FnOnce() -> Result<(), CliError>,
    ) -> Result<Exit, CliError> {
        if self.console.json { self.console.json(response) } else { show() }?;
        Ok(Exit::Done)
    }
}

/// Returns whether a stream takes colour, by what the configuration says of it and by what the stream is.
pub(crate) fn takes_color(environment: &Environment, config: &Config, is_terminal: bool) -> bool {
    let plain = environment.text("NO_COLOR").is_some() || environment.text("TERM").as_deref() == Some("dumb");
    match config.get(&config::COLOR).as_deref() {
        Some("always") => true,
        Some("never") => false,
        _ => is_terminal && !plain,
    }
}

fn console(environment: &Environment, config: &Config, global: &Global) -> Console {
    let stream = |is_terminal: bool| {
        let color = takes_color(environment, config, is_terminal);
        Stream::new(is_terminal.then_some(environment.columns), color)
    };
    Console {
        json: global.json,
        quiet: global.quiet,
        out: stream(environment.stdout_is_terminal),
        err: stream(environment.stderr_is_terminal),
        width: environment.cut_columns.map_or(usize::MAX, Console::width_in),
        held: (global.json || global.quiet).then(Default::default),
        pager: config.get(&config::PAGER).filter(|command| command != "never"),
    }
}
