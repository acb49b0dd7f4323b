//! The keys of the configuration: those of the engine, and those that only concern this program.
//!
//! Where values come from is the parent's.

use stemmata_engine::{SETTINGS, Setting, SettingDefault, SettingShape};

use crate::errors::CliError;

/// The keys that no store knows.
const OWN: &[Setting] = &[COLOR, PAGER, INJECT, SERVER];

/// Whether output is coloured.
pub(crate) const COLOR: Setting =
    Setting::of("output.color", "STEMMATA_COLOR", SettingDefault::Value("auto"))
        .takes(SettingShape::Choice(&["auto", "always", "never"]))
        .flag("--color")
        .about("Colour: `auto` (only on a terminal), `always` or `never`.");

/// What long output goes through.
pub(crate) const PAGER: Setting =
    Setting::of("output.pager", "STEMMATA_PAGER", SettingDefault::Words("`$PAGER`, else `less -FRX`")).about(
        "What long output of `log`, `list`, `history`, `tree`, `show` and `diff` goes through on a \
             terminal: a command, or `never`.",
    );

/// Whether hooks hand an agent the brief.
pub(crate) const INJECT: Setting =
    Setting::of("hooks.inject", "STEMMATA_HOOKS_INJECT", SettingDefault::Value("off"))
        .takes(SettingShape::Switch)
        .about("Whether hooks hand an agent the brief of what was lost, where its session is resumed or was compacted: `on` \
             for all clients whose hooks are installed; `stemma install --inject` for one.");

/// Which service commands ask.
pub(crate) const SERVER: Setting =
    Setting::of("server.url", "STEMMATA_SERVER", SettingDefault::Words("this machine's store"))
        .flag("--server")
        .about("The service that commands ask instead of this machine's store: `unix:/path` or `http://host:port`. Commands \
             about this machine ask none ([cli.md](cli.md#with-a-service)).");

/// Returns all keys, in the order in which they are shown: by their sections.
pub(crate) fn all() -> Vec<&'static Setting> {
    let mut all: Vec<&Setting> = SETTINGS.iter().chain(OWN).collect();
    all.sort_by_key(|setting| setting.key.split_once('.').map(|(section, _)| section));
    all
}

/// Finds a key by its name.
pub(crate) fn named(text: &str) -> Result<&'static Setting, CliError> {
    let all = all();
    let found = all.iter().copied().find(|setting| setting.key == text);
    found.ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|setting| setting.key).collect();
        CliError::Usage(format!("unknown setting `{text}`; the settings are {}", names.join(", ")))
    })
}
