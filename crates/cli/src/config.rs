//! Configuration: what keys there are, and each one's value with where it comes from.
//!
//! Layers, later ones win: default, file, environment, flag. Changing the file is in `edit`.

pub(crate) mod edit;
mod keys;

use std::fmt;
use std::path::{Path, PathBuf};

use stemmata_engine::{ConfigText, SettingError, Templates, create_private};
use stemmata_service::{change_alone, read_bounded};

pub(crate) use keys::{COLOR, INJECT, PAGER, SERVER, all, named};
pub(crate) use stemmata_engine::{Setting, SettingShape, Settings, is_on, template_fields};

use crate::environment::Environment;
use crate::errors::CliError;
use crate::output::file::{Target, TempFiles};

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
    pub(crate) key: &'static Setting,
    /// The value in force, then those that it overrules.
    pub(crate) values: Vec<Value>,
}

/// The configuration as it is in force.
#[derive(Debug, Clone, Default)]
pub(crate) struct Config {
    file: Option<PathBuf>,
    from_file: Layer,
    from_environment: Layer,
    from_flags: Layer,
    defaults: Layer,
    templates: Templates,
    /// Keys of the file that mean nothing, for a warning.
    pub(crate) unknown: Vec<String>,
}

/// Values by the names of their keys.
type Layer = Vec<(&'static str, String)>;

impl Config {
    /// Reads all layers but the flags.
    pub(crate) fn load(environment: &Environment) -> Result<Self, CliError> {
        let mut config = Self { file: environment.config_file(), ..Self::default() };
        if let Some(path) = config.file.clone() {
            config.read_file(&path)?;
        }
        for key in all() {
            if let Some(value) = environment.text(key.variable) {
                key.check(&value).map_err(|error| wrong(format!("${}", key.variable), error))?;
                config.from_environment.push((key.key, value));
            }
        }
        config.defaults = defaults(environment);
        Ok(config)
    }

    /// Takes the value of a flag, which wins over all other layers.
    pub(crate) fn flag(&mut self, key: &'static Setting, value: Option<String>) {
        self.from_flags.extend(value.map(|value| (key.key, value)));
    }

    /// Returns where the file is, whether it exists or not.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Returns the templates of agents, as they stand in the file.
    pub(crate) const fn templates(&self) -> &Templates {
        &self.templates
    }

    /// Returns the value in force.
    pub(crate) fn get(&self, key: &Setting) -> Option<String> {
        let layers = [&self.from_flags, &self.from_environment, &self.from_file, &self.defaults];
        layers.iter().find_map(|layer| of(layer, key).next()).cloned()
    }

    /// Returns the values that concern a store.
    pub(crate) fn settings(&self, environment: &Environment) -> Result<Settings, CliError> {
        let parsed = Settings::parse(&|setting| self.get(setting));
        let mut settings = parsed.map_err(|error| wrong(error.key.clone(), error))?;
        for (path, _) in &mut settings.retention.projects {
            *path = environment.absolute(Path::new(path)).to_string_lossy().into_owned();
        }
        Ok(settings)
    }

    /// Returns the values that concern a store as they would be with another value of a key, or without the file's.
    pub(crate) fn settings_with(&self, key: &Setting, value: Option<&str>) -> Result<Settings, CliError> {
        let without_file = [&self.from_flags, &self.from_environment, &self.defaults];
        let unset = || without_file.iter().find_map(|layer| of(layer, key).next()).cloned();
        let get = |setting: &Setting| {
            if setting.key == key.key { value.map(str::to_owned).or_else(unset) } else { self.get(setting) }
        };
        Settings::parse(&get).map_err(|error| wrong(error.key.clone(), error))
    }

    /// Returns the value that the file gives a key.
    pub(crate) fn in_file(&self, key: &Setting) -> Option<&str> {
        of(&self.from_file, key).next().map(String::as_str)
    }

    /// Returns every value that a key was given.
    pub(crate) fn explain(&self, key: &'static Setting) -> Explained {
        let layer = |values: &Layer, origin: Origin| -> Vec<Value> {
            of(values, key).map(|text| Value { text: text.clone(), origin: origin.clone() }).collect()
        };
        let flags = key.flag.map(|flag| layer(&self.from_flags, Origin::Flag(flag)));
        let file = Origin::File(self.file.clone().unwrap_or_default());
        let values = flags.unwrap_or_default().into_iter();
        let values = values
            .chain(layer(&self.from_environment, Origin::Variable(key.variable)))
            .chain(layer(&self.from_file, file))
            .chain(layer(&self.defaults, Origin::Default));
        Explained { key, values: values.collect() }
    }

    fn read_file(&mut self, path: &Path) -> Result<(), CliError> {
        let Some(text) = read(path)? else { return Ok(()) };
        let bad = |error| wrong(path.display().to_string(), error);
        let ConfigText { values, templates } = ConfigText::parse(&text).map_err(bad)?;
        self.templates = templates.in_folder(path.parent().unwrap_or(path));
        for (name, value) in values {
            match all().into_iter().find(|key| key.key == name) {
                Some(key) => {
                    key.check(&value).map_err(bad)?;
                    self.from_file.push((key.key, value));
                }
                None => self.unknown.push(name),
            }
        }
        Ok(())
    }
}

fn of<'a>(layer: &'a Layer, key: &Setting) -> impl Iterator<Item = &'a String> {
    let name = key.key;
    layer.iter().filter(move |(own, _)| *own == name).map(|(_, text)| text)
}

fn wrong(place: String, error: SettingError) -> CliError {
    CliError::Config { place, reason: error.reason }
}

/// Reads a configuration file; none where there is no such file.
pub(crate) fn read(path: &Path) -> Result<Option<String>, CliError> {
    let failed = |source| CliError::io("read", path, source);
    let Some(bytes) = read_bounded(path, FILE_BYTES_MAX + 1).map_err(failed)? else { return Ok(None) };
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > FILE_BYTES_MAX {
        let reason = format!("it has more than {FILE_BYTES_MAX} bytes");
        return Err(CliError::Config { place: path.display().to_string(), reason });
    }
    let text = String::from_utf8(bytes).map_err(|error| failed(std::io::Error::other(error)))?;
    Ok(Some(text))
}

/// Changes a configuration file, in folders that are its owner's alone, while no other process does. `change` gets what is in force now and
/// the file's text, and returns the new text. Returns what is in force afterwards, read anew.
pub(crate) fn change(
    environment: &Environment,
    path: &Path,
    change: impl FnOnce(&Config, &str) -> Result<String, CliError>,
) -> Result<Config, CliError> {
    if let Some(folder) = path.parent() {
        create_private(folder)?;
    }
    let locked = |source| CliError::io("change", path, source);
    change_alone(path, locked, || {
        let text = change(&Config::load(environment)?, &read(path)?.unwrap_or_default())?;
        Target::of(path)
            .write(&TempFiles::default(), |out| out.write_all(text.as_bytes()).map_err(CliError::Output))?;
        Config::load(environment)
    })
}

fn defaults(environment: &Environment) -> Layer {
    let of = |key: &Setting| match key.default_text(&|name| environment.text(name)) {
        None if *key == PAGER => Some(environment.text("PAGER").unwrap_or_else(|| "less -FRX".to_owned())),
        default => default,
    };
    all().into_iter().filter_map(|key| Some((key.key, of(key)?))).collect()
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
        let key = |name: &str| named(name).unwrap();
        config.flag(key("import.threads"), Some("1".to_owned()));
        let told = |name: &str| -> Vec<(String, String)> {
            let values = config.explain(key(name)).values.into_iter();
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
            told("capture.granularity"),
            rows(&[("message", "$STEMMATA_GRANULARITY"), ("every:5", "file"), ("turn", "default")])
        );
        assert_eq!(told("import.threads").first(), rows(&[("1", "--threads")]).first());
        assert_eq!(told("import.threads").get(1), rows(&[("3", "file")]).first());
    }

    #[test]
    fn bad_values_name_their_place_and_unknown_keys_are_kept_apart() {
        for (file, reason) in [
            ("[capture]\ngranularity = \"turns\"\n", "`turns` is not a granularity"),
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
