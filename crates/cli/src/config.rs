//! Configuration: what keys there are, and each one's value with where it comes from.
//!
//! Layers, later ones win: default, file, environment, flag. Changing the file is in `edit`.

pub(crate) mod edit;

use std::fmt;
use std::path::{Path, PathBuf};

use stemmata_store::SqliteOptions;

use crate::environment::Environment;
use crate::errors::CliError;

/// Bytes of a configuration file at most: a larger one is a mistake.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// A key of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    /// `capture.granularity`
    Granularity,
    /// `gc.grace_days`
    GraceDays,
    /// `identity.user`
    User,
    /// `identity.machine_label`
    MachineLabel,
    /// `import.threads`
    Threads,
    /// `output.color`
    Color,
    /// `output.pager`
    Pager,
    /// `pack.after_import_mib`
    PackAfterImportMib,
    /// `retention.keep_last`
    KeepLast,
    /// `retention.projects`
    RetentionProjects,
    /// `retention.provisional_days`
    ProvisionalDays,
    /// `retention.sessions_days`
    SessionsDays,
    /// `retention.subagents_days`
    SubagentsDays,
    /// `store.allow_network`
    AllowNetwork,
    /// `store.quota_mib`
    QuotaMib,
    /// `store.wait_ms`
    WaitMs,
}

/// What values a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Any text.
    Text,
    /// A whole number within bounds.
    Number { min: u64, max: u64 },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// What `Granularity` reads.
    Granularity,
    /// A list of `PATH=DAYS`.
    ProjectDays,
}

impl Key {
    /// All keys, in the order they are shown.
    pub(crate) const ALL: [Self; 16] = [
        Self::Granularity,
        Self::GraceDays,
        Self::User,
        Self::MachineLabel,
        Self::Threads,
        Self::Color,
        Self::Pager,
        Self::PackAfterImportMib,
        Self::KeepLast,
        Self::RetentionProjects,
        Self::ProvisionalDays,
        Self::SessionsDays,
        Self::SubagentsDays,
        Self::AllowNetwork,
        Self::QuotaMib,
        Self::WaitMs,
    ];

    /// Returns its dotted name: section and key of the file.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Granularity => "capture.granularity",
            Self::GraceDays => "gc.grace_days",
            Self::User => "identity.user",
            Self::MachineLabel => "identity.machine_label",
            Self::Threads => "import.threads",
            Self::Color => "output.color",
            Self::Pager => "output.pager",
            Self::PackAfterImportMib => "pack.after_import_mib",
            Self::KeepLast => "retention.keep_last",
            Self::RetentionProjects => "retention.projects",
            Self::ProvisionalDays => "retention.provisional_days",
            Self::SessionsDays => "retention.sessions_days",
            Self::SubagentsDays => "retention.subagents_days",
            Self::AllowNetwork => "store.allow_network",
            Self::QuotaMib => "store.quota_mib",
            Self::WaitMs => "store.wait_ms",
        }
    }

    /// Returns the environment variable that sets it.
    pub(crate) const fn variable(self) -> &'static str {
        match self {
            Self::Granularity => "STEMMATA_GRANULARITY",
            Self::User => "STEMMATA_USER",
            Self::MachineLabel => "STEMMATA_MACHINE_LABEL",
            Self::Threads => "STEMMATA_IMPORT_THREADS",
            Self::Color => "STEMMATA_COLOR",
            Self::Pager => "STEMMATA_PAGER",
            Self::PackAfterImportMib => "STEMMATA_PACK_AFTER_IMPORT_MIB",
            Self::GraceDays => "STEMMATA_GC_GRACE_DAYS",
            Self::KeepLast => "STEMMATA_RETENTION_KEEP_LAST",
            Self::RetentionProjects => "STEMMATA_RETENTION_PROJECTS",
            Self::ProvisionalDays => "STEMMATA_RETENTION_PROVISIONAL_DAYS",
            Self::SessionsDays => "STEMMATA_RETENTION_SESSIONS_DAYS",
            Self::SubagentsDays => "STEMMATA_RETENTION_SUBAGENTS_DAYS",
            Self::AllowNetwork => "STEMMATA_ALLOW_NETWORK_STORE",
            Self::QuotaMib => "STEMMATA_STORE_QUOTA_MIB",
            Self::WaitMs => "STEMMATA_STORE_WAIT_MS",
        }
    }

    /// Returns the flag that sets it, where there is one.
    pub(crate) const fn flag(self) -> Option<&'static str> {
        match self {
            Self::Granularity => Some("--granularity"),
            Self::Threads => Some("--threads"),
            Self::Color => Some("--color"),
            Self::GraceDays => Some("--grace-days"),
            Self::User
            | Self::MachineLabel
            | Self::Pager
            | Self::WaitMs
            | Self::PackAfterImportMib
            | Self::KeepLast
            | Self::RetentionProjects
            | Self::ProvisionalDays
            | Self::SessionsDays
            | Self::SubagentsDays
            | Self::AllowNetwork
            | Self::QuotaMib => None,
        }
    }

    /// Returns what it does.
    pub(crate) const fn about(self) -> &'static str {
        match self {
            Self::Granularity => {
                "How often imports close a commit: `turn`, `message` or `every:N` turns. A session keeps what it \
                 began with, unless it is imported with `--full`."
            }
            Self::User => "The user's name in principals (`<user>@<machine>/<runtime>`).",
            Self::MachineLabel => "A readable name of this machine in principals. Its id stays what it is.",
            Self::Threads => "How many transcripts are read at once.",
            Self::Color => "Colour: `auto` (only on a terminal), `always` or `never`.",
            Self::Pager => {
                "What long output of `log`, `list`, `history`, `tree`, `show` and `diff` goes through on a \
                 terminal: a command, or `never`."
            }
            Self::GraceDays => "How many days something stays condemned before `gc` deletes it.",
            Self::KeepLast => {
                "How many sessions of each project, the latest ones, are kept however old they are."
            }
            Self::RetentionProjects => {
                "Projects with days of their own, as a list `PATH=DAYS,PATH=DAYS`; the longest path that holds a session counts."
            }
            Self::ProvisionalDays => {
                "Days that an early look at an open turn is kept, where nothing goes on from it."
            }
            Self::SessionsDays => "Days after its last record that a session is kept.",
            Self::SubagentsDays => "Days after its last record that a subagent's session is kept.",
            Self::PackAfterImportMib => {
                "How many MiB have to wait to be packed for an import to end with packing them; 0: never."
            }
            Self::AllowNetwork => {
                "Whether a store on a network file system is opened: `1` only where nothing else ever opens it, on \
                 this machine or another one."
            }
            Self::QuotaMib => {
                "Mebibytes that the store may take: from 80 % on there is a warning, and at the limit `import` takes \
                 in nothing more. Nothing is ever deleted by it."
            }
            Self::WaitMs => {
                "How long a command waits for another process that holds the store, in milliseconds."
            }
        }
    }

    /// Returns what values it takes.
    pub(crate) const fn shape(self) -> Shape {
        match self {
            Self::Granularity => Shape::Granularity,
            Self::User | Self::MachineLabel | Self::Pager => Shape::Text,
            Self::Threads => Shape::Number { min: 1, max: 64 },
            Self::GraceDays => Shape::Number { min: 0, max: 3650 },
            Self::KeepLast => Shape::Number { min: 0, max: 1_000_000 },
            Self::RetentionProjects => Shape::ProjectDays,
            Self::ProvisionalDays => Shape::Number { min: 1, max: 36_500 },
            Self::SessionsDays => Shape::Number { min: 1, max: 36_500 },
            Self::SubagentsDays => Shape::Number { min: 1, max: 36_500 },
            Self::AllowNetwork => Shape::Choice(&["0", "1", "false", "true"]),
            Self::QuotaMib => Shape::Number { min: 1, max: 1 << 30 },
            Self::WaitMs => Shape::Number { min: 0, max: 3_600_000 },
            Self::PackAfterImportMib => Shape::Number { min: 0, max: 1_048_576 },
            Self::Color => Shape::Choice(&["auto", "always", "never"]),
        }
    }

    /// Returns what the default is, in words.
    pub(crate) const fn default_about(self) -> &'static str {
        match self {
            Self::Granularity => "`turn`",
            Self::User => "`$USER`, else `user`",
            Self::MachineLabel => "the host's name when the data directory was created",
            Self::Threads => "the number of processors, at most 8",
            Self::Color => "`auto`",
            Self::Pager => "`$PAGER`, else `less -FRX`",
            Self::GraceDays => "`14`",
            Self::KeepLast => "`0`",
            Self::RetentionProjects => "none",
            Self::ProvisionalDays => "for ever",
            Self::SessionsDays => "for ever",
            Self::SubagentsDays => "as long as the session it belongs to",
            Self::AllowNetwork => "`0`",
            Self::QuotaMib => "none",
            Self::WaitMs => "`10000`",
            Self::PackAfterImportMib => "`256`",
        }
    }

    /// Finds a key by its name.
    pub(crate) fn parse(text: &str) -> Result<Self, CliError> {
        let found = Self::ALL.into_iter().find(|key| key.name() == text);
        found.ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.into_iter().map(Self::name).collect();
            CliError::Usage(format!("there is no key `{text}`; there are {}", names.join(", ")))
        })
    }

    /// Says what is wrong with a value of it.
    pub(crate) fn check(self, value: &str) -> Result<(), String> {
        match self.shape() {
            Shape::Text if value.trim().is_empty() => Err(format!("`{}` must not be empty", self.name())),
            Shape::Text => Ok(()),
            Shape::Number { min, max } => match value.parse::<u64>() {
                Ok(number) if (min..=max).contains(&number) => Ok(()),
                _ => Err(format!("`{}` is a number from {min} to {max}, not `{value}`", self.name())),
            },
            Shape::Choice(words) if words.contains(&value) => Ok(()),
            Shape::Choice(words) => {
                Err(format!("`{}` is one of {}, not `{value}`", self.name(), words.join(", ")))
            }
            Shape::ProjectDays => value
                .split(',')
                .map(str::trim)
                .filter(|part| !part.is_empty())
                .try_for_each(|part| project_days(part).map(drop)),
            Shape::Granularity => {
                value.parse::<stemmata_model::Granularity>().map(drop).map_err(|error| error.to_string())
            }
        }
    }
}

/// Reads `PATH=DAYS`.
pub(crate) fn project_days(text: &str) -> Result<(&str, u32), String> {
    text.rsplit_once('=')
        .filter(|(path, _)| !path.is_empty())
        .and_then(|(path, days)| {
            Some((path, days.trim().parse::<u32>().ok().filter(|days| *days <= 36_500)?))
        })
        .ok_or_else(|| format!("`retention.projects` is a list of `PATH=DAYS`, and `{text}` is none"))
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Nothing was said.
    Default,
    /// A configuration file.
    File(PathBuf),
    /// An environment variable.
    Variable(&'static str),
    /// A flag of the command line.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => formatter.write_str("default"),
            Self::File(path) => write!(formatter, "{}", path.display()),
            Self::Variable(name) => write!(formatter, "${name}"),
            Self::Flag(name) => formatter.write_str(name),
        }
    }
}

/// One value and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Value {
    /// The value as text.
    pub(crate) text: String,
    /// Where it comes from.
    pub(crate) origin: Origin,
}

/// All values that a key was given, the one in force first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Explained {
    /// The key.
    pub(crate) key: Key,
    /// The value in force, then those that it overrules.
    pub(crate) values: Vec<Value>,
}

/// The configuration as it is in force.
#[derive(Debug, Clone, Default)]
pub(crate) struct Config {
    file: Option<PathBuf>,
    from_file: Vec<(Key, String)>,
    from_environment: Vec<(Key, String)>,
    from_flags: Vec<(Key, &'static str, String)>,
    defaults: Vec<(Key, String)>,
    /// Keys of the file that mean nothing, for a warning.
    pub(crate) unknown: Vec<String>,
}

impl Config {
    /// Reads all layers but the flags.
    pub(crate) fn load(environment: &Environment) -> Result<Self, CliError> {
        let mut config = Self { file: environment.config_file(), ..Self::default() };
        if let Some(path) = config.file.clone() {
            config.read_file(&path)?;
        }
        for key in Key::ALL {
            if let Some(value) = environment.text(key.variable()) {
                key.check(&value)
                    .map_err(|reason| CliError::Config { place: format!("${}", key.variable()), reason })?;
                config.from_environment.push((key, value));
            }
        }
        config.defaults = defaults(environment);
        Ok(config)
    }

    /// Takes the value of a flag, which wins over all other layers.
    pub(crate) fn flag(&mut self, key: Key, value: Option<String>) {
        if let (Some(name), Some(value)) = (key.flag(), value) {
            self.from_flags.push((key, name, value));
        }
    }

    /// Returns where the file is, whether it exists or not.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Returns the value in force.
    pub(crate) fn get(&self, key: Key) -> Option<String> {
        self.explain(key).values.into_iter().next().map(|value| value.text)
    }

    /// Returns every value that a key was given.
    pub(crate) fn explain(&self, key: Key) -> Explained {
        let flags = self.from_flags.iter().filter(|(own, ..)| *own == key);
        let flags = flags.map(|(_, name, text)| Value { text: text.clone(), origin: Origin::Flag(name) });
        let layer = |values: &[(Key, String)], origin: Origin| -> Vec<Value> {
            let own = values.iter().filter(|(own, _)| *own == key);
            own.map(|(_, text)| Value { text: text.clone(), origin: origin.clone() }).collect()
        };
        let file = Origin::File(self.file.clone().unwrap_or_default());
        let values = flags
            .chain(layer(&self.from_environment, Origin::Variable(key.variable())))
            .chain(layer(&self.from_file, file))
            .chain(layer(&self.defaults, Origin::Default));
        Explained { key, values: values.collect() }
    }

    fn read_file(&mut self, path: &Path) -> Result<(), CliError> {
        let Some(text) = read(path)? else { return Ok(()) };
        let bad = |reason: String| CliError::Config { place: path.display().to_string(), reason };
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| bad(error.to_string()))?;
        for (name, value) in flat(&table) {
            match Key::ALL.into_iter().find(|key| key.name() == name) {
                Some(key) => {
                    key.check(&value).map_err(bad)?;
                    self.from_file.push((key, value));
                }
                None => self.unknown.push(name),
            }
        }
        Ok(())
    }
}

/// Reads a configuration file; none where there is no such file.
pub(crate) fn read(path: &Path) -> Result<Option<String>, CliError> {
    let length = match std::fs::metadata(path) {
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(CliError::io("read", path, error)),
    };
    if length > FILE_BYTES_MAX {
        let reason = format!("it has {length} bytes, more than {FILE_BYTES_MAX}");
        return Err(CliError::Config { place: path.display().to_string(), reason });
    }
    std::fs::read_to_string(path).map(Some).map_err(|error| CliError::io("read", path, error))
}

/// Returns the values of a table by their dotted names.
fn flat(table: &toml::Table) -> Vec<(String, String)> {
    let text = |value: &toml::Value| match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut values = Vec::new();
    for (section, value) in table {
        match value {
            toml::Value::Table(keys) => {
                values.extend(keys.iter().map(|(name, value)| (format!("{section}.{name}"), text(value))));
            }
            other => values.push((section.clone(), text(other))),
        }
    }
    values
}

fn defaults(environment: &Environment) -> Vec<(Key, String)> {
    let user = environment.text("USER").or_else(|| environment.text("LOGNAME"));
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    vec![
        (Key::Granularity, "turn".to_owned()),
        (Key::GraceDays, "14".to_owned()),
        (Key::User, crate::home::label_of(user.as_deref().unwrap_or("user"))),
        (Key::Threads, threads.to_string()),
        (Key::WaitMs, SqliteOptions::default().busy_timeout_ms.to_string()),
        (Key::PackAfterImportMib, "256".to_owned()),
        (Key::Color, "auto".to_owned()),
        (Key::Pager, environment.text("PAGER").unwrap_or_else(|| "less -FRX".to_owned())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layered(file: &str, variables: &[(&str, &str)]) -> Result<Config, CliError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        std::io::Write::write_all(&mut std::fs::File::create(&path).unwrap(), file.as_bytes()).unwrap();
        let mut all = vec![("STEMMATA_CONFIG", path.to_str().unwrap())];
        all.extend(variables);
        Config::load(&Environment::of(&all))
    }

    #[test]
    fn later_layers_win_and_the_earlier_ones_are_told() {
        let file = "[capture]\ngranularity = \"every:5\"\n[import]\nthreads = 3\n";
        let mut config = layered(file, &[("STEMMATA_GRANULARITY", "message")]).unwrap();
        config.flag(Key::Threads, Some("1".to_owned()));
        let told = |key: Key| -> Vec<(String, String)> {
            let values = config.explain(key).values.into_iter();
            values
                .map(|value| match value.origin {
                    Origin::File(_) => (value.text, "file".to_owned()),
                    other => (value.text, other.to_string()),
                })
                .collect()
        };
        let rows = |rows: &[(&str, &str)]| -> Vec<(String, String)> {
            rows.iter().map(|(left, right)| ((*left).to_owned(), (*right).to_owned())).collect()
        };
        assert_eq!(
            told(Key::Granularity),
            rows(&[("message", "$STEMMATA_GRANULARITY"), ("every:5", "file"), ("turn", "default")])
        );
        assert_eq!(told(Key::Threads).first(), rows(&[("1", "--threads")]).first());
        assert_eq!(told(Key::Threads).get(1), rows(&[("3", "file")]).first());
    }

    #[test]
    fn bad_values_name_their_place_and_unknown_keys_are_kept_apart() {
        for (file, reason) in [
            ("[capture]\ngranularity = \"turns\"\n", "`turns` is no granularity"),
            ("[import]\nthreads = 0\n", "`import.threads` is a number from 1 to 64, not `0`"),
            ("[output]\ncolor = \"red\"\n", "`output.color` is one of auto, always, never, not `red`"),
            ("[identity]\nuser = \"\"\n", "`identity.user` must not be empty"),
            ("[capture\n", "TOML"),
        ] {
            let error = layered(file, &[]).unwrap_err().to_string();
            assert!(error.contains("config.toml") && error.contains(reason), "{error}");
        }
        let config = layered("colour = true\n[output]\ncolour = 1\n", &[]).unwrap();
        assert_eq!(config.unknown, ["colour", "output.colour"]);
        assert!(layered("", &[("STEMMATA_COLOR", "x")]).is_err());
    }
}
