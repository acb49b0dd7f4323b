//! Configuration: what keys there are, and each one's value with where it comes from.
//!
//! Layers, later ones win: default, file, environment, flag. Changing the file is in `edit`.

pub(crate) mod edit;
mod keys;
pub(crate) mod templates;

use std::fmt;
use std::path::{Path, PathBuf};

use stemmata_store::SqliteOptions;

pub(crate) use keys::{Key, Shape, project_days};

use crate::environment::Environment;
use crate::errors::CliError;

/// Bytes of a configuration file at most: a larger one is a mistake.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

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
    templates: toml::Table,
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

    /// Returns the templates of agents, as they stand in the file.
    pub(crate) const fn templates(&self) -> &toml::Table {
        &self.templates
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
        let mut table: toml::Table = text.parse().map_err(|error: toml::de::Error| bad(error.to_string()))?;
        match table.remove("templates") {
            Some(toml::Value::Table(templates)) => self.templates = templates,
            Some(_) => self.unknown.push("templates".to_owned()),
            None => {}
        }
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
        (Key::Provisional, "turn".to_owned()),
        (Key::Inject, "0".to_owned()),
        (Key::Vault, "0".to_owned()),
        (Key::GraceDays, "14".to_owned()),
        (Key::User, crate::home::label_of(user.as_deref().unwrap_or("user"))),
        (Key::Threads, threads.to_string()),
        (Key::WaitMs, SqliteOptions::default().busy_timeout_ms.to_string()),
        (Key::PackAfterImportMib, "256".to_owned()),
        (Key::LedgerEngine, "store".to_owned()),
        (Key::LedgerIntegrity, "checksum".to_owned()),
        (Key::LedgerSaveEvents, stemmata_engine::SAVE_EVENTS.to_string()),
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
