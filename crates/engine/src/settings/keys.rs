//! What a key of the configuration is, and which values it takes.
//!
//! Which keys there are is the table's; what the values become is the parent's.

use super::SettingError;
use super::prices::price;
use super::table::SETTINGS;
use crate::home::label_of;

/// Threads of an import at most, unless somebody asks for more.
const THREADS_DEFAULT_MAX: usize = 8;

/// Days that a rule of retention may name at most: a hundred years.
const DAYS_MAX: u32 = 36_500;

/// A key of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Its dotted name: section and key of the file.
    pub key: &'static str,
    /// The environment variable that sets it.
    pub variable: &'static str,
    /// The flag of `stemma` that sets it, where there is one.
    pub flag: Option<&'static str>,
    /// What it does.
    pub about: &'static str,
    /// What is in force where nothing is configured.
    pub default: SettingDefault,
    /// What values it takes.
    pub shape: SettingShape,
}

/// What is in force where a key is not configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingDefault {
    /// This value.
    Value(&'static str),
    /// Something that depends on where the program runs, or nothing, in words.
    Words(&'static str),
}

impl std::fmt::Display for SettingDefault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Value(text) => write!(formatter, "`{text}`"),
            Self::Words(words) => formatter.write_str(words),
        }
    }
}

/// What values a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingShape {
    /// Any text.
    Text,
    /// A whole number within bounds.
    Number {
        /// The least.
        min: u64,
        /// The greatest.
        max: u64,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// `on` or `off`.
    Switch,
    /// What [`stemmata_model::Granularity`] reads.
    Granularity,
    /// A list of `PATH=DAYS`.
    ProjectDays,
    /// Three rising numbers of per cent.
    Zones,
    /// A list of `MODEL=IN/OUT`, with prices of what a cache has behind them.
    Prices,
    /// The name of an environment variable, in capitals.
    Variable,
}

impl Setting {
    /// Returns a key that has no flag and takes any text.
    pub const fn of(key: &'static str, variable: &'static str, default: SettingDefault) -> Self {
        Self { key, variable, flag: None, about: "", default, shape: SettingShape::Text }
    }

    /// Has it take these values only.
    #[must_use]
    pub const fn takes(self, shape: SettingShape) -> Self {
        Self { shape, ..self }
    }

    /// Names the flag of `stemma` that sets it.
    #[must_use]
    pub const fn flag(self, flag: &'static str) -> Self {
        Self { flag: Some(flag), ..self }
    }

    /// Says what it does.
    #[must_use]
    pub const fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }

    /// Finds a key of [`SETTINGS`] by its name.
    pub fn named(key: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.key == key)
    }

    /// Returns what is in force where nothing is configured, as text; none where that is nothing, or not the engine's to know.
    /// The user is named by the variables `USER` or `LOGNAME`, as far as these may stand in a principal.
    pub fn default_text(&self, variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
        match (self.default, self.key) {
            (SettingDefault::Value(text), _) => Some(text.to_owned()),
            (SettingDefault::Words(_), "identity.user") => {
                let user = variable("USER").or_else(|| variable("LOGNAME"));
                Some(label_of(user.as_deref().unwrap_or("user")))
            }
            (SettingDefault::Words(_), "import.threads") => {
                let processors = std::thread::available_parallelism().map_or(1, usize::from);
                Some(processors.min(THREADS_DEFAULT_MAX).to_string())
            }
            (SettingDefault::Words(_), _) => None,
        }
    }

    /// Checks a value.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self, value: &str) -> Result<(), SettingError> {
        let key = self.key;
        let reason = match self.shape {
            SettingShape::Text if value.trim().is_empty() => Some(format!("`{key}` must not be empty")),
            SettingShape::Number { min, max } => match value.parse::<u64>() {
                Ok(number) if (min..=max).contains(&number) => None,
                _ => Some(format!("`{key}` is a number from {min} to {max}, not `{value}`")),
            },
            SettingShape::Choice(words) => (!words.contains(&value))
                .then(|| format!("`{key}` is one of {}, not `{value}`", words.join(", "))),
            SettingShape::Switch => {
                (super::switch(value).is_none()).then(|| format!("`{key}` is `on` or `off`, not `{value}`"))
            }
            SettingShape::ProjectDays => {
                return parts(value).try_for_each(|part| project_days(part).map(drop));
            }
            SettingShape::Prices => {
                let bad = parts(value).find(|part| price(part).is_none());
                bad.map(|part| {
                    format!(
                        "`{key}` is a list of `MODEL=IN/OUT` or `MODEL=IN/OUT/CACHE_READ/CACHE_WRITE`, such as `some-model=1.5/7.5`, and `{part}` is none"
                    )
                })
            }
            SettingShape::Zones => zones(value).is_none().then(|| {
                format!("`{key}` is three rising numbers from 1 to 100, such as 70,85,95, not `{value}`")
            }),
            // The value may be a key that was put here by mistake: no message repeats it.
            SettingShape::Variable if !is_variable(value) => {
                let reason = format!(
                    "`{key}` is the name of an environment variable, such as `OPENAI_API_KEY`; a key itself must not be in a configuration"
                );
                return Err(SettingError { key: key.to_owned(), value: String::new(), reason });
            }
            SettingShape::Text | SettingShape::Variable => None,
            SettingShape::Granularity => {
                value.parse::<stemmata_model::Granularity>().err().map(|error| error.to_string())
            }
        };
        match reason {
            Some(reason) => Err(SettingError { key: key.to_owned(), value: value.to_owned(), reason }),
            None => Ok(()),
        }
    }
}

/// Says whether a text is the name of a variable as people write it. Keys of providers are none: they have small letters.
fn is_variable(text: &str) -> bool {
    text.starts_with(|char: char| char.is_ascii_uppercase() || char == '_')
        && text.chars().all(|char| char.is_ascii_uppercase() || char.is_ascii_digit() || char == '_')
}

/// Returns the parts of a list that say something.
pub(super) fn parts(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|part| !part.is_empty())
}

/// Reads where the three zones of a window begin, in per cent.
pub(super) fn zones(text: &str) -> Option<[u32; 3]> {
    let numbers: Option<Vec<u32>> = text.split(',').map(|part| part.trim().parse().ok()).collect();
    let zones: [u32; 3] = numbers?.try_into().ok()?;
    let [warning, danger, critical] = zones;
    (0 < warning && warning < danger && danger < critical && critical <= 100).then_some(zones)
}

/// Reads `PATH=DAYS`.
pub(super) fn project_days(text: &str) -> Result<(&str, u32), SettingError> {
    text.rsplit_once('=')
        .filter(|(path, _)| !path.is_empty())
        .and_then(|(path, days)| Some((path, days.trim().parse().ok().filter(|days| *days <= DAYS_MAX)?)))
        .ok_or_else(|| SettingError {
            key: "retention.projects".to_owned(),
            value: text.to_owned(),
            reason: format!("`retention.projects` is a list of `PATH=DAYS`, and `{text}` is none"),
        })
}
