//! What is known of clients, as data: one value a client, in its own folder, and one row of it here.
//!
//! Pure: what needs files, the environment or processes is done by the engine and its callers, which ask these values
//! and never a client's name.

mod compaction;
mod expiry;
mod forks;
mod home;
mod hooks;
mod launch;
mod names;
mod open_sign;
mod resume;
mod sidecars;
mod worktrees;

#[cfg(test)]
mod tests;

use stemmata_acts::tools::Runtime;
use stemmata_model::{Entry, FormatId};

use crate::adapter::Adapter;
use crate::registry::Registered;
use crate::translate::{IntakeRow, runtime_of};

pub use compaction::{Compaction, CompactsAt};
pub use expiry::{AgeAs, Expiry};
pub use forks::{Before, Forks, HistoryBase};
pub use home::{Database, EventFolder, Home, UNREADABLE, Variable};
pub use hooks::{AskedFor, ConfigPlace, HookEvents, HookKind, Hooks, Meaning};
pub use launch::{Launch, SystemPrompt};
pub use names::{UnknownClient, client_named, listed};
pub use open_sign::{OpenSign, Register, RegisteredProcess, SessionLock};
pub use resume::Resume;
pub use sidecars::{SIDECAR_DEPTH_MAX, SidecarFolder, SidecarKind, SidecarPlace, Sidecars, sidecar_folder};
pub use worktrees::{WorktreePath, Worktrees, worktree_of_path};

/// Every client, in the order in which they are shown and their formats are tried.
pub static ALL: &[&Client] = &[
    &crate::claude_code::CLIENT,
    &crate::codex::CLIENT,
    &crate::gemini::CLIENT,
    &crate::pi::CLIENT,
    &crate::opencode::CLIENT,
    &crate::aider::CLIENT,
    &crate::openhands::CLIENT,
    &crate::swe_agent::CLIENT,
];

/// The client that keeps its sessions in a database.
pub const DATABASE: &Database = &crate::opencode::DATABASE;

/// A program that runs agents, and all that is known of it.
pub struct Client {
    /// Its name in formats, requests and the store.
    pub id: &'static str,
    /// Its name as its makers write it.
    pub shown: &'static str,
    /// Other names that people type, in small letters and digits only.
    pub aliases: &'static [&'static str],
    /// The program that it is started by.
    pub program: &'static str,
    /// Its formats, in the order in which their adapters are asked.
    pub formats: &'static [Registered],
    /// Of several formats, the one that its loader takes most readily; `None` where it is the first that is loaded, if any.
    pub placed_as: Option<&'static dyn Adapter>,
    /// The format of what it prints without a terminal. A text may come in parts there.
    pub printed: Option<&'static str>,
    /// How a session is known that is a folder of files, one an event; `None` where each is one file, or in a database.
    pub events: Option<&'static EventFolder>,
    /// What it takes of another one's conversation, by each of its runtimes: sessions, and what it prints.
    pub intake: &'static [IntakeRow],
    /// Its tools.
    pub tools: Option<&'static Runtime>,
    /// Where it keeps its sessions; `None` where they are imported from where a person says.
    pub home: Option<&'static Home>,
    /// The variables in which it names its session to what it runs, or its hooks do.
    pub session_variables: &'static [&'static str],
    /// How one of its sessions is continued.
    pub resume: Option<&'static Resume>,
    /// Where it says that it has a session open; `None` where it does not say so.
    pub open_sign: Option<&'static OpenSign>,
    /// How it is told to call us; `None` where it has no hooks, so that its agents get no brief.
    pub hooks: Option<&'static Hooks>,
    /// How an agent of a template is started in it; `None` where that cannot be done.
    pub launch: Option<&'static Launch>,
    /// After how long it deletes transcripts; `None` where it keeps them.
    pub expiry: Option<&'static Expiry>,
    /// When it compacts by itself; `None` where no source says so.
    pub compaction: Option<&'static Compaction>,
    /// How its forks point into the sessions that they continue; `None` where they are copies.
    pub forks: Option<&'static Forks>,
    /// How the files of its subagents are told from other transcripts; `None` where nothing but a transcript says so.
    pub subagents: Option<&'static Subagents>,
    /// The files that it keeps beside a transcript; `None` where it keeps none.
    pub sidecars: Option<&'static Sidecars>,
    /// Where it makes worktrees of git; `None` where it makes none.
    pub worktrees: Option<&'static Worktrees>,
    /// Whether its subagents' sessions have ids like any other.
    pub names_subagents_plainly: bool,
    /// Reads the tokens of the model's window from an entry, where transcripts have them.
    pub reported_window: Option<fn(&Entry) -> Option<u64>>,
}

impl Client {
    /// Makes a client whose transcripts are read, and of which nothing else is known.
    pub(crate) const fn read_only(
        id: &'static str,
        formats: &'static [Registered],
        tools: Option<&'static Runtime>,
    ) -> Self {
        Self {
            id,
            shown: id,
            aliases: &[],
            program: id,
            formats,
            placed_as: None,
            printed: None,
            events: None,
            intake: &[],
            tools,
            home: None,
            session_variables: &[],
            resume: None,
            open_sign: None,
            hooks: None,
            launch: None,
            expiry: None,
            compaction: None,
            forks: None,
            subagents: None,
            sidecars: None,
            worktrees: None,
            names_subagents_plainly: false,
            reported_window: None,
        }
    }
}

/// Where a client keeps what its subagents wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subagents {
    /// The folder that their transcripts are in.
    pub folder: &'static str,
    /// What their sessions' ids begin with.
    pub session_prefix: &'static str,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Client({})", self.id)
    }
}

impl PartialEq for Client {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Client {}

/// Returns the client of an id, which is also the name of its runtime.
pub fn by_id(id: &str) -> Option<&'static Client> {
    ALL.iter().copied().find(|client| client.id == id)
}

/// Returns the clients whose sessions are looked for on this machine.
pub fn at_home() -> impl Iterator<Item = &'static Client> {
    ALL.iter().copied().filter(|client| client.home.is_some())
}

/// Returns the clients that can be told to call us.
pub fn hooked() -> impl Iterator<Item = &'static Client> {
    ALL.iter().copied().filter(|client| client.hooks.is_some())
}

/// Returns what is before the ids of subagents' sessions where a client says so: one does, and no other has it.
pub fn subagent_prefix() -> Option<&'static str> {
    ALL.iter().find_map(|client| client.subagents).map(|subagents| subagents.session_prefix)
}

/// Returns whether a folder of this name is where a client keeps what its subagents wrote.
pub fn is_subagents_folder(name: &str) -> bool {
    ALL.iter().filter_map(|client| client.subagents).any(|subagents| subagents.folder == name)
}

/// Returns what an event means, whichever client tells it: also one without hooks of its own may be made to call us.
pub fn meaning_of(event: &str) -> Meaning {
    let told = hooked().filter_map(|client| client.hooks).flat_map(|hooks| hooks.meanings);
    told.into_iter().find(|(name, _)| *name == event).map_or(Meaning::Turn, |(_, meaning)| *meaning)
}

/// Returns how sessions are known that are folders of events.
pub fn event_folders() -> impl Iterator<Item = &'static EventFolder> {
    ALL.iter().filter_map(|client| client.events)
}

/// Returns the clients in which an agent of a template can be started.
pub fn launched() -> impl Iterator<Item = &'static Client> {
    ALL.iter().copied().filter(|client| client.launch.is_some())
}

/// Returns the client that writes a format of sessions; none of what it prints.
pub fn of_format(format: &FormatId) -> Option<&'static Client> {
    by_id(runtime_of(format))
}

/// Returns the client of an id whose sessions are looked for on this machine.
pub fn local(id: &str) -> Option<&'static Client> {
    by_id(id).filter(|client| client.home.is_some())
}

/// Returns the clients that cannot be told to call us: nothing can be handed to their agents.
pub fn hookless() -> impl Iterator<Item = &'static Client> {
    ALL.iter().copied().filter(|client| client.hooks.is_none())
}

/// Returns whether an entry's summary, or the summary that it stands for, is encrypted for its provider, whatever the client.
pub fn is_unreadable_to_others(entry: &Entry) -> bool {
    crate::messages::holds_sealed(entry) || crate::codex::is_sealed(entry)
}
