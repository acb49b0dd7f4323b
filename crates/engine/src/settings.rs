//! Settings that concern a store: their keys, what each means and takes, and the values in force.
//!
//! Parses texts only. Files, the environment and flags are the program's to find.

mod keys;
mod prices;
mod table;
mod templates;

use stemmata_api::v1::ModelPrice;
use stemmata_model::{Granularity, Tokens};
use stemmata_prompt::guard::WindowSettings;
use stemmata_prompt::tool_output::OutputLimits;
use stemmata_prompt::window::{CompactSettings, WindowConfig, WindowConfigSettings};
use stemmata_store::IntegrityMode;

use crate::capture::leaf::Provisional;
use crate::capture::sidecars::KeptSidecars;
use crate::retention::RetentionRules;

pub use keys::{Setting, SettingDefault, SettingShape};
pub(crate) use prices::cost_micros;
pub use table::SETTINGS;
pub use templates::{AgentConfig, Configured, ReadFile, Templates, template_fields};

/// Bytes of a mebibyte.
const MIB: u64 = 1 << 20;

/// A value that a key does not take, or a text that is no configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct SettingError {
    /// The key; empty where the whole text is at fault.
    pub key: String,
    /// The value that was given.
    pub value: String,
    /// What is wrong, as a sentence that names the key.
    pub reason: String,
}

/// Where ledgers are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LedgerPlace {
    /// In the store: a turn's events and its commit are one transaction.
    Store,
    /// In folders that people can read, search and copy.
    Files {
        /// How lines of new ledgers are protected.
        integrity: IntegrityMode,
    },
}

/// Values of the keys that concern a store. There is no `Default`: [`Settings::parse`] takes the documented default of
/// each key that is not given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The user's name in principals.
    pub user: String,
    /// A readable name of this machine in principals; without it, the one in `machine.json`.
    pub machine_label: Option<String>,
    /// How often imports close a commit.
    pub granularity: Granularity,
    /// When an open turn is kept as a provisional commit.
    pub provisional: Provisional,
    /// Which files beside transcripts are captured.
    pub sidecars: KeptSidecars,
    /// Transcripts that are read at once.
    pub import_threads: usize,
    /// Where ledgers are kept.
    pub ledgers: LedgerPlace,
    /// New events of a ledger after which its folded state is saved.
    pub save_events: u64,
    /// Whether a store on a network file system is opened.
    pub allows_network: bool,
    /// Milliseconds that are waited for each lock of another process. A hook waits by its own patience.
    pub wait_ms: u64,
    /// What retention deletes.
    pub retention: RetentionRules,
    /// Days that something stays condemned before it is deleted.
    pub grace_days: u32,
    /// Bytes that the store may take; none: as many as there are.
    pub quota_bytes: Option<u64>,
    /// Bytes that have to wait to be packed for an import to end with packing them; none: never.
    pub pack_after_import_bytes: Option<u64>,
    /// Where vectors come from; without it nearness in meaning counts nothing.
    pub dense: Option<DenseModel>,
    /// Limits of a model's window.
    pub window: WindowRules,
    /// What becomes of the outputs of tools.
    pub tools: ToolRules,
    /// What tokens cost.
    pub prices: Vec<ModelPrice>,
    /// The model that writes summaries where a command asks for one.
    pub llm: ModelRules,
}

/// What is configured of the outputs of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolRules {
    /// The limits of one output.
    pub limits: OutputLimits,
    /// Whether an output that is stored whole is also written to a file, for agents whose tools read files.
    pub writes_files: bool,
}

/// A model that turns texts into vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DenseModel {
    /// The address before `/embeddings`.
    pub url: String,
    /// The model's name, as the server knows it.
    pub model: String,
    /// The environment variable that has the key; local servers want none.
    pub key_variable: String,
}

/// Which API a model's server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelApi {
    /// Anthropic's Messages API.
    Anthropic,
    /// OpenAI's chat completions.
    OpenAi,
}

/// What is configured of a model that is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRules {
    /// Which API its server speaks; none where no model is to be asked.
    pub api: Option<ModelApi>,
    /// The server's address, where it is not the provider's own.
    pub endpoint: Option<String>,
    /// The model's name.
    pub model: Option<String>,
    /// The environment variable that holds the key, where it is not the provider's usual one.
    pub key_variable: Option<String>,
    /// Seconds that one attempt may take.
    pub timeout_s: u64,
    /// Attempts in all.
    pub attempts_max: u32,
    /// Tokens of the model's window, where that is known.
    pub window_tokens: Option<u64>,
    /// Tokens that an answer may have.
    pub output_tokens_max: u32,
}

/// What is configured of a model's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowRules {
    /// Tokens that the model takes, where that is configured.
    pub tokens: Option<u64>,
    /// Where the warning, danger and critical zones begin, in per cent.
    pub zones: [u32; 3],
    /// What pruning aims at, in per cent.
    pub target: u32,
    /// When and how a session is compacted, and when results of tools are archived.
    pub compact: CompactSettings,
    /// Whether a model writes the summaries of the compactions that turns make, where one is configured.
    pub asks_model: bool,
}

impl WindowRules {
    /// Returns the limits of a window of so many tokens. They may contradict each other: that is said where they are used.
    pub fn limits(&self, tokens: Tokens) -> WindowSettings {
        let [warning, danger, critical] = self.zones.map(|percent| percent * 10);
        let defaults = WindowSettings::of(tokens);
        WindowSettings {
            warning_permille: warning,
            danger_permille: danger,
            critical_permille: critical,
            target_permille: self.target * 10,
            // An alert can be sent again at least where nothing is in use.
            rearm_permille: defaults.rearm_permille.min(warning - 1),
            ..defaults
        }
    }
}

impl Settings {
    /// Reads the values of [`SETTINGS`]. `value` returns what is configured for a key, as text; nothing is the default.
    ///
    /// ```
    /// # use stemmata_engine::Settings;
    /// let settings = Settings::parse(&|setting| match setting.key {
    ///     "identity.user" => Some("ada".to_owned()),
    ///     "store.quota_mib" => Some("512".to_owned()),
    ///     _ => None,
    /// })?;
    /// assert_eq!((settings.user.as_str(), settings.quota_bytes), ("ada", Some(512 << 20)));
    /// # Ok::<(), stemmata_engine::SettingError>(())
    /// ```
    ///
    /// # Errors
    /// The first value that its key does not take.
    pub fn parse(value: &dyn Fn(&Setting) -> Option<String>) -> Result<Self, SettingError> {
        let read = Reader { value };
        Ok(Self {
            user: read.text("identity.user")?.unwrap_or_default(),
            machine_label: read.text("identity.machine_label")?,
            granularity: read.parsed("capture.granularity")?.unwrap_or(Granularity::Turn),
            provisional: read.parsed("capture.provisional")?.unwrap_or(Provisional::Turn),
            sidecars: read.parsed("capture.sidecars")?.unwrap_or_default(),
            import_threads: read.parsed("import.threads")?.unwrap_or(1),
            ledgers: match read.text("ledger.engine")?.as_deref() {
                Some("files") => LedgerPlace::Files { integrity: integrity(&read)? },
                _ => LedgerPlace::Store,
            },
            save_events: read.parsed("ledger.save_events")?.unwrap_or(crate::ledger::SAVE_EVENTS),
            allows_network: read.is_on("store.allow_network")?,
            wait_ms: read.parsed("store.wait_ms")?.unwrap_or_default(),
            retention: retention(&read)?,
            grace_days: read.parsed("gc.grace_days")?.unwrap_or_default(),
            quota_bytes: read.parsed("store.quota_mib")?.map(|mib: u64| mib.saturating_mul(MIB)),
            pack_after_import_bytes: read
                .parsed("pack.after_import_mib")?
                .map(|mib: u64| mib.saturating_mul(MIB))
                .filter(|bytes| *bytes > 0),
            dense: dense(&read)?,
            window: window(&read)?,
            tools: tools(&read)?,
            prices: read
                .text("stats.prices")?
                .map_or_else(Vec::new, |list| keys::parts(&list).filter_map(prices::price).collect()),
            llm: llm(&read)?,
        })
    }

    /// Returns the limits of one output of a tool: the configured ones, and half of the window at most where that is configured.
    pub fn output_limits(&self) -> OutputLimits {
        let of_window = self.window.tokens.map(|tokens| self.window.limits(Tokens(tokens)));
        let config = of_window.and_then(|window| {
            let (compact, output) = (self.window.compact, self.tools.limits);
            // Limits that contradict each other are refused where the window is judged, and cut nothing here.
            WindowConfig::new(WindowConfigSettings { window, compact, output }).ok()
        });
        config.map_or(self.tools.limits, |config| *config.output())
    }

    /// Reads the text of a configuration file and variables as `stemma` does: a variable that is not empty wins over the file, and the user is
    /// named by `USER` or `LOGNAME` where nothing else does. Keys that are not in [`SETTINGS`] are let through.
    ///
    /// # Errors
    /// As [`Settings::parse`], and where the text is no TOML.
    pub fn of_texts(config: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, SettingError> {
        let file = ConfigText::parse(config)?;
        let in_file =
            |key: &str| file.values.iter().find(|(known, _)| known == key).map(|(_, text)| text.clone());
        Self::parse(&|setting| {
            variable(setting.variable)
                .filter(|text| !text.is_empty())
                .or_else(|| in_file(setting.key))
                .or_else(|| setting.default_text(variable))
        })
    }
}

/// What a configuration file says, before anybody asks what it means.
#[derive(Debug, Clone, Default)]
pub struct ConfigText {
    /// Values by their dotted names.
    pub values: Vec<(String, String)>,
    /// Kinds of agents, and who they are.
    pub templates: Templates,
}

impl ConfigText {
    /// Reads the text of a configuration file.
    ///
    /// # Errors
    /// Where it is no TOML.
    pub fn parse(text: &str) -> Result<Self, SettingError> {
        let bad = |error: toml::de::Error| SettingError {
            key: String::new(),
            value: String::new(),
            reason: error.to_string(),
        };
        let mut table: toml::Table = text.parse().map_err(bad)?;
        let [templates, profiles] = ["templates", "profiles"].map(|name| taken(&mut table, name));
        Ok(Self { values: flat(&table), templates: Templates::of(templates, profiles) })
    }
}

/// Takes a table out of another. A value of its name that is no table stays, as a key that means nothing.
fn taken(table: &mut toml::Table, name: &str) -> toml::Table {
    if !table.get(name).is_some_and(toml::Value::is_table) {
        return toml::Table::new();
    }
    match table.remove(name) {
        Some(toml::Value::Table(taken)) => taken,
        _ => toml::Table::new(),
    }
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

/// Reads checked values.
struct Reader<'a> {
    value: &'a dyn Fn(&Setting) -> Option<String>,
}

impl Reader<'_> {
    /// Returns what is configured, else the default that the table names.
    fn text(&self, key: &str) -> Result<Option<String>, SettingError> {
        let setting = Setting::named(key).expect("only keys of the table are asked for");
        match (self.value)(setting) {
            Some(text) => setting.check(&text).map(|()| Some(text)),
            None => Ok(setting.default_text(&|_| None)),
        }
    }

    fn parsed<T: std::str::FromStr>(&self, key: &str) -> Result<Option<T>, SettingError> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        let wrong = |_| SettingError {
            key: key.to_owned(),
            reason: format!("`{key}` cannot be `{text}`"),
            value: text.clone(),
        };
        text.parse().map(Some).map_err(wrong)
    }

    fn is_on(&self, key: &str) -> Result<bool, SettingError> {
        Ok(self.text(key)?.is_some_and(|text| is_on(&text)))
    }
}

/// Says whether a switch is on.
pub fn is_on(text: &str) -> bool {
    switch(text) == Some(true)
}

/// Reads a switch: `on` or `off`, as people and other programs write it.
fn switch(text: &str) -> Option<bool> {
    match text {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

fn integrity(read: &Reader<'_>) -> Result<IntegrityMode, SettingError> {
    Ok(match read.text("ledger.integrity")?.as_deref() {
        Some("none") => IntegrityMode::None,
        Some("chain") => IntegrityMode::Chain,
        _ => IntegrityMode::Checksum,
    })
}

fn tools(read: &Reader<'_>) -> Result<ToolRules, SettingError> {
    let number = |key| read.parsed(key).map(Option::unwrap_or_default);
    Ok(ToolRules {
        limits: OutputLimits {
            lines_max: number("tools.max_lines")?,
            bytes_max: number("tools.max_bytes")?,
            chars_max: number("tools.max_chars")?,
            spill_chars: number("tools.spill_chars")?,
            keep: read.parsed("tools.keep")?.unwrap_or_default(),
        },
        writes_files: read.is_on("tools.files")?,
    })
}

fn window(read: &Reader<'_>) -> Result<WindowRules, SettingError> {
    Ok(WindowRules {
        tokens: read.parsed("window.tokens")?,
        zones: read.text("window.zones")?.and_then(|text| keys::zones(&text)).expect("it has a default"),
        target: read.parsed("window.target")?.expect("it has a default"),
        compact: compact(read)?,
        asks_model: read.text("window.compact_with")?.is_some_and(|with| with == "llm"),
    })
}

fn compact(read: &Reader<'_>) -> Result<CompactSettings, SettingError> {
    let tokens = |key| Ok(Tokens(read.parsed(key)?.expect("it has a default")));
    let count = |key| Ok(read.parsed(key)?.expect("it has a default"));
    Ok(CompactSettings {
        messages_max: count("window.max_messages")?,
        tokens_max: tokens("window.max_tokens")?,
        keep_recent: count("window.keep_recent")?,
        keep_recent_tokens: tokens("window.keep_recent_tokens")?,
        reserve_tokens: tokens("window.reserve_tokens")?,
        tool_call_cutoff: read.parsed("window.tool_call_cutoff")?.expect("it has a default"),
        tool_summary: read.parsed("window.tool_summary")?.expect("it has a default"),
        is_automatic: read.is_on("window.auto_compact")?,
    })
}

fn dense(read: &Reader<'_>) -> Result<Option<DenseModel>, SettingError> {
    // It is read without a server too: a key in its place is refused as soon as it is there.
    let key_variable = read.text("retriever.dense_key_env")?.unwrap_or_default();
    let (url, model) = (read.text("retriever.dense_url")?, read.text("retriever.dense_model")?);
    Ok(url.zip(model).map(|(url, model)| DenseModel { url, model, key_variable }))
}

fn llm(read: &Reader<'_>) -> Result<ModelRules, SettingError> {
    Ok(ModelRules {
        api: read.text("llm.provider")?.map(|api| match api.as_str() {
            "anthropic" => ModelApi::Anthropic,
            _ => ModelApi::OpenAi,
        }),
        endpoint: read.text("llm.endpoint")?,
        model: read.text("llm.model")?,
        key_variable: read.text("llm.key_env")?,
        timeout_s: read.parsed("llm.timeout_s")?.expect("it has a default"),
        attempts_max: read.parsed("llm.attempts")?.expect("it has a default"),
        window_tokens: read.parsed("llm.window_tokens")?,
        output_tokens_max: read.parsed("llm.max_output_tokens")?.expect("it has a default"),
    })
}

fn retention(read: &Reader<'_>) -> Result<RetentionRules, SettingError> {
    let projects = read.text("retention.projects")?.unwrap_or_default();
    let days = keys::parts(&projects).map(keys::project_days);
    Ok(RetentionRules {
        sessions_days: read.parsed("retention.sessions_days")?,
        subagents_days: read.parsed("retention.subagents_days")?,
        provisional_days: read.parsed("retention.provisional_days")?,
        keep_last: read.parsed("retention.keep_last")?.unwrap_or_default(),
        projects: days
            .map(|days| days.map(|(path, days)| (path.to_owned(), days)))
            .collect::<Result<_, _>>()?,
    })
}

#[cfg(test)]
mod tests;
