//! The process environment, read once when the command starts.
//!
//! Nothing else in this crate asks the system for variables, the current directory or the size of the terminal.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{IsTerminal, Read as _};
use std::path::{Path, PathBuf};

use stemmata_service::clients::{self, Variable};

/// What a child's environment calls its session.
pub(crate) const SESSION_VARIABLE: &str = "STEMMATA_SESSION";

/// The name that this program is installed by.
const PROGRAM: &str = "stemma";

/// Bytes of a machine's mark that are read at most; a real one has 33.
const MARK_BYTES_MAX: u64 = 4096;

/// Columns where the terminal does not say how many it has.
const COLUMNS_DEFAULT: usize = 80;

/// Where our own things are.
const PLACES: &[Variable] = &[
    Variable {
        name: "STEMMATA_HOME",
        about: "The data directory: store, logs, and who this machine is. Default: `$XDG_DATA_HOME/stemmata`, \
                else `~/.local/share/stemmata`.",
    },
    Variable {
        name: "STEMMATA_CONFIG",
        about: "The configuration file. Default: `$XDG_CONFIG_HOME/stemmata/config.toml`, else \
                `~/.config/stemmata/config.toml`.",
    },
    Variable {
        name: "STEMMATA_LOG",
        about: "What goes into the log, such as `debug` or `stemmata_engine=trace`. Default: `info`.",
    },
];

/// What programs say of themselves and of what they run.
const REST: &[Variable] = &[
    Variable {
        name: "STEMMATA_TEMPLATE",
        about: "The kind of agent, as `start` sets it: hooks record it with what they capture.",
    },
    Variable {
        name: "STEMMATA_TICKET",
        about: "The ticket being worked on, where no flag names one: `run`, `checkpoint`, `recall`, `turn` and hooks record \
                it. `start --ticket` sets it.",
    },
    Variable {
        name: "STEMMATA_THREAD",
        about: "The discussion thread, as `STEMMATA_TICKET` for the ticket.",
    },
    Variable {
        name: "STEMMATA_CONTEXT_METRICS",
        about: "`1` or `true`: `assemble` says on standard error what a prompt cost. After it \
                `ZEROSHOT_CONTEXT_METRICS`.",
    },
    Variable {
        name: "STEMMATA_CONTEXT_METRICS_LEDGER",
        about: "`1` or `true`: `assemble` appends what a prompt cost to the ledger, as `CONTEXT_METRICS`. After it \
                `ZEROSHOT_CONTEXT_METRICS_LEDGER`.",
    },
    Variable { name: "NO_COLOR", about: "Set to anything: no colour, as `--color never`." },
    Variable { name: "SHELL", about: "The shell that `setup` writes completions for." },
    Variable { name: "PATH", about: "Where `resume` looks for the client's program." },
    Variable {
        name: "COLUMNS",
        about: "How wide tables may be where the terminal does not say. Default: 80; lists of sessions are not cut for a \
                program that reads them, unless this says how wide they may be.",
    },
    Variable { name: "TZ", about: "The time zone of times in lists. Default: the machine's." },
    Variable { name: "HOME", about: "The user's home directory, where the defaults above begin." },
    Variable { name: "USER", about: "The user's name in principals, unless `identity.user` gives another." },
];

/// Returns the variables beside those of configuration keys, each with what it does, for the generated page.
pub(crate) fn variables() -> Vec<(&'static str, Cow<'static, str>)> {
    let fixed = |variable: &Variable| (variable.name, Cow::Borrowed(variable.about));
    let of_clients = clients::at_home().filter_map(|client| client.home).flat_map(|home| home.variables);
    let sessions = clients::ALL.iter().flat_map(|client| client.session_variables);
    let sessions = clients::listed(sessions.map(|name| format!("`{name}`")), "and");
    let session = format!(
        "The session that a process belongs to: `run` and `start` set it for what they start, and `current` takes it \
         where no session is named; after it {sessions}, which clients or their hooks set."
    );
    let session = (SESSION_VARIABLE, Cow::Owned(session));
    PLACES.iter().chain(of_clients).map(fixed).chain([session]).chain(REST.iter().map(fixed)).collect()
}

/// What the environment said when the command started.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    variables: BTreeMap<OsString, OsString>,
    /// The directory that the command was called in.
    pub(crate) current_dir: PathBuf,
    /// Where this program is.
    pub(crate) program: Option<PathBuf>,
    /// Whether standard input is a terminal.
    pub(crate) stdin_is_terminal: bool,
    /// Whether standard output is a terminal.
    pub(crate) stdout_is_terminal: bool,
    /// Whether standard error is a terminal.
    pub(crate) stderr_is_terminal: bool,
    /// Columns of the terminal.
    pub(crate) columns: usize,
    /// Columns that lines are cut to: those of a terminal, or those that `COLUMNS` gives. Nothing is cut for a program that reads.
    pub(crate) cut_columns: Option<usize>,
}

impl Environment {
    /// Reads the environment of this process.
    pub(crate) fn read() -> Self {
        #[expect(clippy::disallowed_methods, reason = "this is the edge where it is read once")]
        let current_dir = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        let mut environment = Self {
            variables: std::env::vars_os().collect(),
            current_dir,
            program: std::env::current_exe().ok(),
            stdin_is_terminal: std::io::stdin().is_terminal(),
            stdout_is_terminal: std::io::stdout().is_terminal(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
            columns: COLUMNS_DEFAULT,
            cut_columns: None,
        };
        let asked = environment.text("COLUMNS").and_then(|text| text.parse().ok());
        let known = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        environment.columns = known.or(asked).unwrap_or(COLUMNS_DEFAULT);
        environment.cut_columns =
            if environment.stdout_is_terminal { Some(environment.columns) } else { asked };
        environment
    }

    /// Returns where this program is, for what calls it later: the entry of `PATH` that leads here, with its links as they
    /// are, since an upgrade may move what they lead to; else where it is now. Never a bare name: another program of that
    /// name may come before it, and a client that was started from a desktop has another `PATH`.
    pub(crate) fn lasting_program(&self) -> Option<PathBuf> {
        let program = self.program.as_deref()?;
        let real = program.canonicalize().ok();
        let own_name = Path::new(program.file_name()?);
        let leads_here = |entry: &PathBuf| {
            is_program(entry) && entry.canonicalize().is_ok_and(|entry| Some(entry) == real)
        };
        let folders = self.path("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&folders).filter(|folder| folder.is_absolute());
        let mut entries = folders.flat_map(|folder| [folder.join(PROGRAM), folder.join(own_name)]);
        entries.find(leads_here).or_else(|| Some(program.to_owned()))
    }

    /// Returns a variable that is set and not empty.
    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        let value = self.variables.get(Path::new(name).as_os_str())?;
        (!value.is_empty()).then(|| PathBuf::from(value))
    }

    /// Returns a variable that is set, not empty, and text.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.path(name).and_then(|path| path.into_os_string().into_string().ok())
    }

    /// Returns a path as the user means it: relative to the directory that the command was called in.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        let joined = self.current_dir.join(path);
        // Only tidies `.` and double separators; links and `..` stay as the user gave them.
        joined.components().collect()
    }

    /// Returns the user's home directory.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.path("HOME")
    }

    /// Returns where the data directory is.
    pub(crate) fn data_dir(&self) -> Option<PathBuf> {
        let own = self.path("STEMMATA_HOME").map(|path| self.absolute(&path));
        own.or_else(|| self.base("XDG_DATA_HOME", ".local/share").map(|base| base.join("stemmata")))
    }

    /// Returns where the configuration file is, whether it exists or not.
    pub(crate) fn config_file(&self) -> Option<PathBuf> {
        let own = self.path("STEMMATA_CONFIG").map(|path| self.absolute(&path));
        own.or_else(|| self.base("XDG_CONFIG_HOME", ".config").map(|base| base.join("stemmata/config.toml")))
    }

    /// Returns a base directory of the XDG specification, which ignores relative paths.
    pub(crate) fn base(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        let own = self.path(variable).filter(|path| path.is_absolute());
        own.or_else(|| self.home().map(|home| home.join(below_home)))
    }

    /// Returns a path with the home directory as `~`, for people.
    pub(crate) fn shown(&self, path: &Path) -> String {
        let below = self.home().and_then(|home| path.strip_prefix(home).ok().map(Path::to_owned));
        match below {
            Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
            Some(below) => format!("~/{}", below.display()),
            None => path.display().to_string(),
        }
    }

    /// Makes an environment of given variables, for tests.
    #[cfg(test)]
    pub(crate) fn of(variables: &[(&str, &str)]) -> Self {
        Self {
            variables: variables.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            current_dir: PathBuf::from("/work/app"),
            columns: COLUMNS_DEFAULT,
            ..Self::default()
        }
    }
}

/// Returns a mark that this machine keeps and another one does not have. A host's name is none: containers get a new
/// one each time.
pub(crate) fn host_mark() -> Option<String> {
    ["/etc/machine-id", "/var/lib/dbus/machine-id"].iter().find_map(|path| {
        let mut text = String::new();
        std::fs::File::open(path).ok()?.take(MARK_BYTES_MAX).read_to_string(&mut text).ok()?;
        let mark = text.trim();
        let is_mark = mark.len() == 32 && mark.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_mark.then(|| mark.to_owned())
    })
}

/// Returns the host's name.
pub(crate) fn host_name() -> String {
    #[cfg(unix)]
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    let name = String::new();
    name
}

/// Returns the user whose projects' rules may be trusted.
pub(crate) fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns the time zone of this machine, which `TZ` may change.
pub(crate) fn time_zone() -> jiff::tz::TimeZone {
    jiff::tz::TimeZone::system()
}

/// Returns the system's temporary folder.
pub(crate) fn temp_dir() -> PathBuf {
    std::env::temp_dir()
}

pub(crate) use stemmata_service::is_program;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_and_configuration_have_their_places() {
        let at = |variables: &[(&str, &str)]| {
            let environment = Environment::of(variables);
            let text =
                |path: Option<PathBuf>| path.map(|path| path.display().to_string()).unwrap_or_default();
            (text(environment.data_dir()), text(environment.config_file()))
        };
        let pair = |data: &str, config: &str| (data.to_owned(), config.to_owned());
        assert_eq!(at(&[]), pair("", ""));
        let home = ("HOME", "/home/ann");
        assert_eq!(
            at(&[home]),
            pair("/home/ann/.local/share/stemmata", "/home/ann/.config/stemmata/config.toml")
        );
        assert_eq!(
            at(&[home, ("XDG_DATA_HOME", "/d"), ("XDG_CONFIG_HOME", "relative")]),
            pair("/d/stemmata", "/home/ann/.config/stemmata/config.toml")
        );
        assert_eq!(
            at(&[home, ("STEMMATA_HOME", "here"), ("STEMMATA_CONFIG", "/c.toml"), ("XDG_DATA_HOME", "/d")]),
            pair("/work/app/here", "/c.toml")
        );
        assert_eq!(at(&[home, ("STEMMATA_HOME", "")]).0, "/home/ann/.local/share/stemmata");
    }

    /// Found in review: the place that links led to was recorded, and after an upgrade nothing called us any more.
    #[test]
    #[cfg(unix)]
    fn what_calls_this_program_later_goes_by_the_path_s_own_entry() {
        use std::os::unix::fs::{OpenOptionsExt as _, symlink};
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().canonicalize().unwrap().join(name);
        for folder in ["other", "plain", "bin", "opt/1.2", "opt/1.3"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        for (name, mode) in [("other/stemma", 0o755), ("opt/1.2/stemma", 0o755), ("plain/stemma", 0o644)] {
            std::fs::OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(mode)
                .open(at(name))
                .unwrap();
        }
        symlink(at("opt/1.2"), at("opt/current")).unwrap();
        symlink(at("opt/current/stemma"), at("bin/stemma")).unwrap();
        for (path, wanted) in [
            ("", "opt/1.2/stemma"),
            ("other:plain", "opt/1.2/stemma"),
            ("other:bin", "bin/stemma"),
            ("opt/current:bin", "opt/current/stemma"),
        ] {
            let folders = path.split(':').filter(|name| !name.is_empty()).map(at);
            let folders =
                std::env::join_paths([PathBuf::from("relative")].into_iter().chain(folders)).unwrap();
            let mut environment = Environment::of(&[("PATH", folders.to_str().unwrap())]);
            environment.program = Some(at("opt/1.2/stemma"));
            assert_eq!(environment.lasting_program(), Some(at(wanted)), "{path}");
        }
        assert_eq!(Environment::of(&[]).lasting_program(), None);
    }

    #[test]
    fn the_home_directory_is_shown_short() {
        let environment = Environment::of(&[("HOME", "/home/ann")]);
        for (path, shown) in
            [("/home/ann", "~"), ("/home/ann/a/b", "~/a/b"), ("/home/annabel", "/home/annabel")]
        {
            assert_eq!(environment.shown(Path::new(path)), shown);
        }
    }
}
