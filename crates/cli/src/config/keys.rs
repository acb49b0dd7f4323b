//! The keys of the configuration: their names, what they mean, and which values they take.
//!
//! Where values come from is the parent's.

use crate::errors::CliError;

/// A key of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    /// `capture.granularity`
    Granularity,
    /// `capture.provisional`
    Provisional,
    /// `gc.grace_days`
    GraceDays,
    /// `hooks.inject`
    Inject,
    /// `identity.user`
    User,
    /// `identity.machine_label`
    MachineLabel,
    /// `import.threads`
    Threads,
    /// `ledger.engine`
    LedgerEngine,
    /// `ledger.integrity`
    LedgerIntegrity,
    /// `ledger.save_events`
    LedgerSaveEvents,
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
    /// `secrets.vault`
    Vault,
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
    pub(crate) const ALL: [Self; 22] = [
        Self::Granularity,
        Self::Provisional,
        Self::GraceDays,
        Self::Inject,
        Self::User,
        Self::MachineLabel,
        Self::Threads,
        Self::LedgerEngine,
        Self::LedgerIntegrity,
        Self::LedgerSaveEvents,
        Self::Color,
        Self::Pager,
        Self::PackAfterImportMib,
        Self::KeepLast,
        Self::RetentionProjects,
        Self::ProvisionalDays,
        Self::SessionsDays,
        Self::SubagentsDays,
        Self::Vault,
        Self::AllowNetwork,
        Self::QuotaMib,
        Self::WaitMs,
    ];

    /// Returns its dotted name: section and key of the file.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Granularity => "capture.granularity",
            Self::Provisional => "capture.provisional",
            Self::Inject => "hooks.inject",
            Self::GraceDays => "gc.grace_days",
            Self::User => "identity.user",
            Self::MachineLabel => "identity.machine_label",
            Self::Threads => "import.threads",
            Self::LedgerEngine => "ledger.engine",
            Self::LedgerIntegrity => "ledger.integrity",
            Self::LedgerSaveEvents => "ledger.save_events",
            Self::Color => "output.color",
            Self::Pager => "output.pager",
            Self::PackAfterImportMib => "pack.after_import_mib",
            Self::KeepLast => "retention.keep_last",
            Self::RetentionProjects => "retention.projects",
            Self::ProvisionalDays => "retention.provisional_days",
            Self::SessionsDays => "retention.sessions_days",
            Self::SubagentsDays => "retention.subagents_days",
            Self::Vault => "secrets.vault",
            Self::AllowNetwork => "store.allow_network",
            Self::QuotaMib => "store.quota_mib",
            Self::WaitMs => "store.wait_ms",
        }
    }

    /// Returns the environment variable that sets it.
    pub(crate) const fn variable(self) -> &'static str {
        match self {
            Self::Granularity => "STEMMATA_GRANULARITY",
            Self::Provisional => "STEMMATA_PROVISIONAL",
            Self::Inject => "STEMMATA_HOOKS_INJECT",
            Self::User => "STEMMATA_USER",
            Self::MachineLabel => "STEMMATA_MACHINE_LABEL",
            Self::Threads => "STEMMATA_IMPORT_THREADS",
            Self::LedgerEngine => "STEMMATA_LEDGER_ENGINE",
            Self::LedgerIntegrity => "STEMMATA_LEDGER_INTEGRITY",
            Self::LedgerSaveEvents => "STEMMATA_LEDGER_SAVE_EVENTS",
            Self::Color => "STEMMATA_COLOR",
            Self::Pager => "STEMMATA_PAGER",
            Self::PackAfterImportMib => "STEMMATA_PACK_AFTER_IMPORT_MIB",
            Self::GraceDays => "STEMMATA_GC_GRACE_DAYS",
            Self::KeepLast => "STEMMATA_RETENTION_KEEP_LAST",
            Self::RetentionProjects => "STEMMATA_RETENTION_PROJECTS",
            Self::ProvisionalDays => "STEMMATA_RETENTION_PROVISIONAL_DAYS",
            Self::SessionsDays => "STEMMATA_RETENTION_SESSIONS_DAYS",
            Self::SubagentsDays => "STEMMATA_RETENTION_SUBAGENTS_DAYS",
            Self::Vault => "STEMMATA_SECRETS_VAULT",
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
            | Self::Provisional
            | Self::Inject
            | Self::LedgerEngine
            | Self::LedgerIntegrity
            | Self::LedgerSaveEvents
            | Self::Pager
            | Self::WaitMs
            | Self::PackAfterImportMib
            | Self::KeepLast
            | Self::RetentionProjects
            | Self::ProvisionalDays
            | Self::SessionsDays
            | Self::SubagentsDays
            | Self::Vault
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
            Self::Provisional => {
                "When hooks, `run` and `watch` keep what an open turn holds as a provisional commit: `end` (a session ends, or \
                 somebody asks), `turn` (also where a turn ends, and at compactions), `significant` (also where a tool fails \
                 or something is decided), `tool` (after every tool). `stemma install` asks clients for what it needs."
            }
            Self::Inject => {
                "Whether hooks may tell an agent, where its session is resumed or was compacted, what of it was lost: `1` \
                 for all clients whose hooks are installed; `stemma install --inject` for one."
            }
            Self::User => "The user's name in principals (`<user>@<machine>/<runtime>`).",
            Self::MachineLabel => "A readable name of this machine in principals. Its id stays what it is.",
            Self::Threads => "How many transcripts are read at once.",
            Self::LedgerEngine => {
                "Where ledgers are kept: `store` (in the store, a turn's events and its commit in one transaction) or `files` \
                 (folders that people can read, search and copy, one writer at a time). What is in the one stays there when the \
                 other is chosen."
            }
            Self::LedgerIntegrity => {
                "How lines of new ledgers in files are protected: `none`, `checksum`, or `chain`, where each line's checksum \
                 covers the line before it."
            }
            Self::LedgerSaveEvents => {
                "After how many new events what was folded of a ledger is saved; at checkpoints and ends of sessions it is \
                 saved anyway."
            }
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
            Self::Vault => {
                "Whether capture keeps what it replaces in a vault of this machine, sealed and its owner's alone, so that \
                 `stemma resume --with-secrets` can put it back: `1` or `0`. What is stored is the same either way."
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
            Self::ProvisionalDays | Self::SessionsDays | Self::SubagentsDays => {
                Shape::Number { min: 1, max: 36_500 }
            }
            Self::AllowNetwork | Self::Inject | Self::Vault => Shape::Choice(&["0", "1", "false", "true"]),
            Self::QuotaMib => Shape::Number { min: 1, max: 1 << 30 },
            Self::WaitMs => Shape::Number { min: 0, max: 3_600_000 },
            Self::PackAfterImportMib => Shape::Number { min: 0, max: 1_048_576 },
            Self::LedgerEngine => Shape::Choice(&["store", "files"]),
            Self::LedgerIntegrity => Shape::Choice(&["none", "checksum", "chain"]),
            Self::LedgerSaveEvents => Shape::Number { min: 1, max: 1_000_000 },
            Self::Color => Shape::Choice(&["auto", "always", "never"]),
            Self::Provisional => Shape::Choice(&["end", "turn", "significant", "tool"]),
        }
    }

    /// Returns what the default is, in words.
    pub(crate) const fn default_about(self) -> &'static str {
        match self {
            Self::Granularity | Self::Provisional => "`turn`",
            Self::User => "`$USER`, else `user`",
            Self::MachineLabel => "the host's name when the data directory was created",
            Self::Threads => "the number of processors, at most 8",
            Self::LedgerEngine => "`store`",
            Self::LedgerIntegrity => "`checksum`",
            Self::Color => "`auto`",
            Self::Pager => "`$PAGER`, else `less -FRX`",
            Self::GraceDays => "`14`",
            Self::KeepLast | Self::AllowNetwork | Self::Inject | Self::Vault => "`0`",
            Self::RetentionProjects | Self::QuotaMib => "none",
            Self::ProvisionalDays | Self::SessionsDays => "for ever",
            Self::SubagentsDays => "as long as the session it belongs to",
            Self::WaitMs => "`10000`",
            Self::LedgerSaveEvents | Self::PackAfterImportMib => "`256`",
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
