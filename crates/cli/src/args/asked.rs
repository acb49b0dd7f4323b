//! Which commands ask the service that `--server` names, and which are about this machine whatever is named.

/// What a command does where a service is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asks {
    /// It asks the service.
    There,
    /// It brings the session from the service into this machine's store, and goes on here.
    ThenHere,
    /// It asks nobody, for this reason: it refuses the flag, and ignores variable and setting.
    Nobody(&'static str),
}

const CAPTURE: Asks = Asks::Nobody("it captures on this machine");
const CLIENTS: Asks = Asks::Nobody("it is about the clients of this machine");
const STORE: Asks = Asks::Nobody("it is about the store of this machine");
const PROGRAM: Asks = Asks::Nobody("it is about this program");

/// Commands that do not ask the service alone.
const OTHERS: &[(&str, Asks)] = &[
    ("resume", Asks::ThenHere),
    ("fork", Asks::ThenHere),
    ("recover", Asks::ThenHere),
    ("import", CAPTURE),
    ("watch", CAPTURE),
    ("run", CAPTURE),
    ("start", CAPTURE),
    ("current", CAPTURE),
    ("hook", CAPTURE),
    ("pause", CAPTURE),
    ("unpause", CAPTURE),
    ("exclude", CAPTURE),
    ("setup", CLIENTS),
    ("install", CLIENTS),
    ("uninstall", CLIENTS),
    ("undo", CLIENTS),
    ("git", CLIENTS),
    ("doctor", CLIENTS),
    ("repair", CLIENTS),
    ("ledger", Asks::Nobody("it is about the folders of this machine")),
    ("status", STORE),
    ("secrets", STORE),
    ("backup", STORE),
    ("restore", STORE),
    ("migrate", STORE),
    ("serve", STORE),
    ("home", STORE),
    ("config", PROGRAM),
    ("completions", PROGRAM),
    ("complete", PROGRAM),
    ("generate-reference", PROGRAM),
];

/// Returns what a command does where a service is named.
pub(crate) fn asks(command: &str) -> Asks {
    OTHERS.iter().find(|(name, _)| *name == command).map_or(Asks::There, |(_, asks)| *asks)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn every_name_is_a_command() {
        let root = Cli::command();
        for (name, _) in OTHERS {
            assert!(root.find_subcommand(name).is_some_and(|found| found.get_name() == *name), "{name}");
        }
    }
}
