//! The table of keys: name, variable, flag, meaning, default and shape, one row each.
//!
//! What the values become is the parent's.

use super::SettingError;
use crate::home::label_of;

/// Threads of an import at most, unless somebody asks for more.
const THREADS_DEFAULT_MAX: usize = 8;

/// Days that a rule of retention may name at most: a hundred years.
const DAYS_MAX: u32 = 36_500;

/// The most that a limit of a tool's output may be: more than a line of a ledger holds is never left in one.
const OUTPUT_LIMIT_MAX: u64 = 1 << 20;

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
    /// What [`stemmata_model::Granularity`] reads.
    Granularity,
    /// A list of `PATH=DAYS`.
    ProjectDays,
    /// Three rising numbers of per cent.
    Zones,
    /// The name of an environment variable, in capitals.
    Variable,
}

/// The keys that concern a store, in the order in which they are shown.
pub const SETTINGS: &[Setting] = &[
    Setting {
        key: "capture.granularity",
        variable: "STEMMATA_GRANULARITY",
        flag: Some("--granularity"),
        about: "How often imports close a commit: `turn`, `message` or `every:N` turns. A session keeps what it \
                 began with, unless it is imported with `--full`.",
        default: SettingDefault::Value("turn"),
        shape: SettingShape::Granularity,
    },
    Setting {
        key: "capture.provisional",
        variable: "STEMMATA_PROVISIONAL",
        flag: None,
        about: "When hooks, `run` and `watch` keep what an open turn holds as a provisional commit: `end` (a session ends, or \
                 a command asks), `turn` (also where a turn ends, and at compactions), `significant` (also where a tool fails \
                 or something is decided), `tool` (after every tool). `stemma install` asks clients for what it needs.",
        default: SettingDefault::Value("turn"),
        shape: SettingShape::Choice(&["end", "turn", "significant", "tool"]),
    },
    Setting {
        key: "gc.grace_days",
        variable: "STEMMATA_GC_GRACE_DAYS",
        flag: Some("--grace-days"),
        about: "Days between marking expired data and deleting it, each by a run of `gc`.",
        default: SettingDefault::Value("14"),
        shape: SettingShape::Number { min: 0, max: 3650 },
    },
    Setting {
        key: "identity.user",
        variable: "STEMMATA_USER",
        flag: None,
        about: "The user's name in principals (`<user>@<machine>/<runtime>`).",
        default: SettingDefault::Words("`$USER`, else `user`"),
        shape: SettingShape::Text,
    },
    Setting {
        key: "identity.machine_label",
        variable: "STEMMATA_MACHINE_LABEL",
        flag: None,
        about: "A readable name of this machine in principals. Its id stays what it is.",
        default: SettingDefault::Words("the host's name when the data directory was created"),
        shape: SettingShape::Text,
    },
    Setting {
        key: "import.threads",
        variable: "STEMMATA_IMPORT_THREADS",
        flag: Some("--threads"),
        about: "How many transcripts are read at once.",
        default: SettingDefault::Words("the number of processors, at most 8"),
        shape: SettingShape::Number { min: 1, max: 64 },
    },
    Setting {
        key: "ledger.engine",
        variable: "STEMMATA_LEDGER_ENGINE",
        flag: None,
        about: "Where ledgers are kept: `store` (in the store, a turn's events and its commit in one transaction) or `files` \
                 (folders that people can read, search and copy, one writer at a time). Changing it moves nothing.",
        default: SettingDefault::Value("store"),
        shape: SettingShape::Choice(&["store", "files"]),
    },
    Setting {
        key: "ledger.integrity",
        variable: "STEMMATA_LEDGER_INTEGRITY",
        flag: None,
        about: "How lines of new ledgers in files are protected: `none`, `checksum`, or `chain`, where each line's checksum \
                 covers the line before it.",
        default: SettingDefault::Value("checksum"),
        shape: SettingShape::Choice(&["none", "checksum", "chain"]),
    },
    Setting {
        key: "ledger.save_events",
        variable: "STEMMATA_LEDGER_SAVE_EVENTS",
        flag: None,
        about: "Save the state of a ledger after this many new events; checkpoints and ends of sessions always save it.",
        default: SettingDefault::Value("256"),
        shape: SettingShape::Number { min: 1, max: 1_000_000 },
    },
    Setting {
        key: "llm.attempts",
        variable: "STEMMATA_LLM_ATTEMPTS",
        flag: None,
        about: "Attempts to ask a model in all, if its server fails or asks to wait.",
        default: SettingDefault::Value("3"),
        shape: SettingShape::Number { min: 1, max: 10 },
    },
    Setting {
        key: "llm.endpoint",
        variable: "STEMMATA_LLM_ENDPOINT",
        flag: None,
        about: "The address of the model's server before the API's own path, such as `http://127.0.0.1:11434/v1`. A key is sent \
                 over `https://` and to this machine only.",
        default: SettingDefault::Words("the provider's own"),
        shape: SettingShape::Text,
    },
    Setting {
        key: "llm.key_env",
        variable: "STEMMATA_LLM_KEY_ENV",
        flag: None,
        about: "The name of the environment variable that holds the API key. The key itself is never configured, stored or shown.",
        default: SettingDefault::Words(
            "`ANTHROPIC_API_KEY` or `OPENAI_API_KEY`, by the provider and to its own server only; no key where it is not set",
        ),
        shape: SettingShape::Variable,
    },
    Setting {
        key: "llm.max_output_tokens",
        variable: "STEMMATA_LLM_MAX_OUTPUT_TOKENS",
        flag: None,
        about: "Tokens of a model's answer, at most.",
        default: SettingDefault::Value("8192"),
        shape: SettingShape::Number { min: 64, max: 131_072 },
    },
    Setting {
        key: "llm.model",
        variable: "STEMMATA_LLM_MODEL",
        flag: None,
        about: "The model that writes summaries, as its server names it.",
        default: SettingDefault::Words("none"),
        shape: SettingShape::Text,
    },
    Setting {
        key: "llm.provider",
        variable: "STEMMATA_LLM_PROVIDER",
        flag: None,
        about: "Which API the model's server speaks: `anthropic`, or `openai`, as most servers do (also Ollama, vLLM and \
                 llama.cpp). Nothing is sent to a model unless a command asks for one.",
        default: SettingDefault::Words("none"),
        shape: SettingShape::Choice(&["anthropic", "openai"]),
    },
    Setting {
        key: "llm.timeout_s",
        variable: "STEMMATA_LLM_TIMEOUT_S",
        flag: None,
        about: "Seconds that one attempt may take.",
        default: SettingDefault::Value("120"),
        shape: SettingShape::Number { min: 1, max: 3_600 },
    },
    Setting {
        key: "llm.window_tokens",
        variable: "STEMMATA_LLM_WINDOW_TOKENS",
        flag: None,
        about: "Tokens of that model's window; a conversation may fill 40 % of it, the newest entries first.",
        default: SettingDefault::Words("not known: what the server refuses is shortened"),
        shape: SettingShape::Number { min: 1_000, max: 1 << 40 },
    },
    Setting {
        key: "pack.after_import_mib",
        variable: "STEMMATA_PACK_AFTER_IMPORT_MIB",
        flag: None,
        about: "An import ends with packing if at least this many MiB are not packed; 0: never.",
        default: SettingDefault::Value("256"),
        shape: SettingShape::Number { min: 0, max: 1_048_576 },
    },
    Setting {
        key: "retention.keep_last",
        variable: "STEMMATA_RETENTION_KEEP_LAST",
        flag: None,
        about: "How many of the latest sessions of each project are kept, whatever their age.",
        default: SettingDefault::Words("`0`"),
        shape: SettingShape::Number { min: 0, max: 1_000_000 },
    },
    Setting {
        key: "retention.projects",
        variable: "STEMMATA_RETENTION_PROJECTS",
        flag: None,
        about: "Days for single projects, as a list `PATH=DAYS,PATH=DAYS`; the longest path that holds a session counts.",
        default: SettingDefault::Words("none"),
        shape: SettingShape::ProjectDays,
    },
    Setting {
        key: "retention.provisional_days",
        variable: "STEMMATA_RETENTION_PROVISIONAL_DAYS",
        flag: None,
        about: "Days that a provisional commit of an open turn is kept, unless something continues from it.",
        default: SettingDefault::Words("unlimited"),
        shape: SettingShape::Number { min: 1, max: 36_500 },
    },
    Setting {
        key: "retention.sessions_days",
        variable: "STEMMATA_RETENTION_SESSIONS_DAYS",
        flag: None,
        about: "Days after its last record that a session is kept.",
        default: SettingDefault::Words("unlimited"),
        shape: SettingShape::Number { min: 1, max: 36_500 },
    },
    Setting {
        key: "retention.subagents_days",
        variable: "STEMMATA_RETENTION_SUBAGENTS_DAYS",
        flag: None,
        about: "Days after its last record that a subagent's session is kept.",
        default: SettingDefault::Words("as long as the session it belongs to"),
        shape: SettingShape::Number { min: 1, max: 36_500 },
    },
    Setting {
        key: "retriever.dense_key_env",
        variable: "STEMMATA_RETRIEVER_DENSE_KEY_ENV",
        flag: None,
        about: "The name of the environment variable that holds the key of `retriever.dense_url`. The key itself is never configured, stored or shown.",
        default: SettingDefault::Value("STEMMATA_EMBEDDINGS_KEY"),
        shape: SettingShape::Variable,
    },
    Setting {
        key: "retriever.dense_model",
        variable: "STEMMATA_RETRIEVER_DENSE_MODEL",
        flag: None,
        about: "The model that turns texts into vectors, as the server of `retriever.dense_url` knows it.",
        default: SettingDefault::Words("none"),
        shape: SettingShape::Text,
    },
    Setting {
        key: "retriever.dense_url",
        variable: "STEMMATA_RETRIEVER_DENSE_URL",
        flag: None,
        about: "A server that speaks OpenAI's embeddings, such as `http://127.0.0.1:11434/v1`: `stemma recall` then \
                 also finds what is similar in meaning. Memory and search results for the task are sent there, without secrets.",
        default: SettingDefault::Words("none (nothing is sent)"),
        shape: SettingShape::Text,
    },
    Setting {
        key: "secrets.vault",
        variable: "STEMMATA_SECRETS_VAULT",
        flag: None,
        about: "Whether capture keeps redacted secrets in an encrypted vault on this machine, so that \
                 `stemma resume --with-secrets` can put it back: `1` or `0`. What is stored is the same either way.",
        default: SettingDefault::Value("0"),
        shape: SettingShape::Choice(&["0", "1", "false", "true"]),
    },
    Setting {
        key: "store.allow_network",
        variable: "STEMMATA_ALLOW_NETWORK_STORE",
        flag: None,
        about: "Whether a store on a network file system is opened: `1` only if nothing else ever opens it, on \
                 any machine.",
        default: SettingDefault::Words("`0`"),
        shape: SettingShape::Choice(&["0", "1", "false", "true"]),
    },
    Setting {
        key: "store.quota_mib",
        variable: "STEMMATA_STORE_QUOTA_MIB",
        flag: None,
        about: "Mebibytes that the store may take: from 80 % on there is a warning, and at the limit `import` \
                 stops. It never deletes anything.",
        default: SettingDefault::Words("none"),
        shape: SettingShape::Number { min: 1, max: 1 << 30 },
    },
    Setting {
        key: "store.wait_ms",
        variable: "STEMMATA_STORE_WAIT_MS",
        flag: None,
        about: "How long a command waits for another process that holds the store, in milliseconds.",
        default: SettingDefault::Value("10000"),
        shape: SettingShape::Number { min: 0, max: 3_600_000 },
    },
    Setting {
        key: "tools.files",
        variable: "STEMMATA_TOOLS_FILES",
        flag: None,
        about: "Whether a tool output that is stored whole is also written to `ai_tool_outputs-<uid>` in the temporary folder, for \
                 agents whose tools read files: `1` or `0`.",
        default: SettingDefault::Value("1"),
        shape: SettingShape::Choice(&["0", "1", "false", "true"]),
    },
    Setting {
        key: "tools.keep",
        variable: "STEMMATA_TOOLS_KEEP",
        flag: None,
        about: "Which part of a tool output stays if it is cut: `head_tail` (its beginning and its end) or `head`.",
        default: SettingDefault::Value("head_tail"),
        shape: SettingShape::Choice(&["head_tail", "head"]),
    },
    Setting {
        key: "tools.max_bytes",
        variable: "STEMMATA_TOOLS_MAX_BYTES",
        flag: None,
        about: "Bytes of one tool output in a turn, and at most two for each token of `window.tokens`; 0: no limit.",
        default: SettingDefault::Value("51200"),
        shape: SettingShape::Number { min: 0, max: OUTPUT_LIMIT_MAX },
    },
    Setting {
        key: "tools.max_chars",
        variable: "STEMMATA_TOOLS_MAX_CHARS",
        flag: None,
        about: "Characters of one tool output in a turn; 0: no limit.",
        default: SettingDefault::Value("204800"),
        shape: SettingShape::Number { min: 0, max: OUTPUT_LIMIT_MAX },
    },
    Setting {
        key: "tools.max_lines",
        variable: "STEMMATA_TOOLS_MAX_LINES",
        flag: None,
        about: "Lines of one tool output in a turn; 0: no limit.",
        default: SettingDefault::Value("2000"),
        shape: SettingShape::Number { min: 0, max: OUTPUT_LIMIT_MAX },
    },
    Setting {
        key: "tools.spill_chars",
        variable: "STEMMATA_TOOLS_SPILL_CHARS",
        flag: None,
        about: "A tool output with more characters is stored whole beside the turn, which gets a notice; 0: never.",
        default: SettingDefault::Value("204800"),
        shape: SettingShape::Number { min: 0, max: OUTPUT_LIMIT_MAX },
    },
    Setting {
        key: "window.target",
        variable: "STEMMATA_WINDOW_TARGET",
        flag: None,
        about: "The size that pruning aims at, in per cent of the window; below the critical zone.",
        default: SettingDefault::Value("70"),
        shape: SettingShape::Number { min: 1, max: 99 },
    },
    Setting {
        key: "window.tokens",
        variable: "STEMMATA_WINDOW_TOKENS",
        flag: Some("--window"),
        about: "Size of the model's window in tokens.",
        default: SettingDefault::Words("by the session's client or model"),
        shape: SettingShape::Number { min: 1, max: 1 << 40 },
    },
    Setting {
        key: "window.zones",
        variable: "STEMMATA_WINDOW_ZONES",
        flag: None,
        about: "Where the warning, danger and critical zones of a window begin, in per cent of it.",
        default: SettingDefault::Value("70,85,95"),
        shape: SettingShape::Zones,
    },
];

impl Setting {
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
            SettingShape::ProjectDays => {
                return parts(value).try_for_each(|part| project_days(part).map(drop));
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
