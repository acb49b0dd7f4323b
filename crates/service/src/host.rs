//! `Host`: what only this machine can do: clients and their files, git, processes, the folders that projects are in, and the
//! store's own files.
//!
//! What a store answers is asked of the service that a method is given; that store may be on another machine.

mod blame;
mod caller;
mod checkpoint_file;
mod copies;
mod files;
mod git;
mod hook;
mod hooks;
mod import;
mod install;
mod installed;
mod inventory;
mod ledger_files;
mod ledger_of;
mod own;
mod place;
mod policy;
mod record;
mod recover;
mod rules;
mod scan;
mod sessions;
mod sidecars;
mod start;
mod status;
mod store_files;
mod vault;
mod watch;

use std::path::PathBuf;
use std::sync::Arc;

use stemmata_api::Answer;
use stemmata_engine::{Engine, Home, HomeHints};
use stemmata_model::Timestamp;

use crate::fault::Fault;

pub use blame::{BlamedCommit, BlamedFile};
pub use caller::{Current, Process, Whose};
pub use checkpoint_file::{LoadCheckpointRequest, SaveCheckpointRequest};
pub use copies::{CopiesWanted, RemoveCopiesRequest};
pub use files::{NamedFile, Repaired};
pub use git::{GitHookChange, GitHookRequest, TrailerRequest, TrailerStage};
pub use hook::{HookRequest, Hooked, drain, open_for_hook};
pub use hooks::is_program;
pub use import::{ImportRequest, Reader, Surveyed};
pub use install::{InstallChange, InstallRequest, read_settings};
pub use ledger_of::{LedgerOf, LedgerOfRequest, MakeLedger, project_here};
pub use place::PlaceRequest;
pub use policy::PolicyChange;
pub use record::{Record, RecordRequest, Recorded, Suspended, Tape};
pub use recover::RecoverRequest;
pub use sessions::{Latest, Newest};
pub use start::{AgentFound, StartFrom, StartRequest};
pub use status::StatusRequest;
pub use watch::{Due, LookedAt, WATCH_POLL_MS, WatchRequest, WatchedPlace, Watching};

/// What only this machine can do. Holds no cache: every answer is read anew.
pub struct Host {
    home: Arc<Home>,
    machine: Machine,
}

/// What the environment says of this machine.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Where clients keep their configuration.
    pub clients: HomeHints,
    /// Directories of clients' settings that are elsewhere than their sessions, by runtime.
    pub settings: Vec<(&'static str, PathBuf)>,
    /// This program, to be started beside this process.
    pub program: Option<PathBuf>,
    /// Where the system lists processes.
    pub processes: PathBuf,
    /// Folders that programs are looked for in, as `PATH` says.
    pub folders: Vec<PathBuf>,
}

impl Machine {
    /// Returns a machine without clients and without a program to start.
    pub fn alone() -> Self {
        Self {
            clients: HomeHints::default(),
            settings: Vec::new(),
            program: None,
            processes: PathBuf::from("/proc"),
            folders: Vec::new(),
        }
    }
}

impl Host {
    /// Returns the host of a data directory. Opens nothing.
    pub const fn new(home: Arc<Home>, machine: Machine) -> Self {
        Self { home, machine }
    }

    /// Runs something; what fails in it becomes a problem. The store is opened where [`Home::engine`] is asked for.
    fn with<T>(&self, act: impl FnOnce(&Home) -> Result<T, Fault>) -> Answer<T> {
        act(&self.home).map_err(|fault| fault.0)
    }

    /// Runs a use case over the store, with exclusions and rules as they are now.
    fn with_engine<T>(&self, act: impl FnOnce(&Engine) -> Result<T, Fault>) -> Answer<T> {
        self.with(|home| act(&home.renewed()?))
    }

    /// Returns the present.
    fn now(&self) -> Timestamp {
        self.home.options().clock.now()
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Host").field("machine", &self.machine).finish_non_exhaustive()
    }
}
