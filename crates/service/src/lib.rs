//! Stemmata's operations over a store of this machine.
//!
//! The only crate that knows both the engine's values and the wire types: `wire` turns the one into the other, `fault` does so
//! with errors. Use cases stay the engine's.

mod alike;
mod background;
mod digest;
mod fault;
mod file;
mod hearing;
mod host;
mod lending;
mod local;
mod size;
mod window;
mod wire;

pub use alike::alike;
pub use background::Background;
pub use fault::{causes, of_kind, problem_of, with_causes};
pub use file::{FileBytes, change_alone, parse_have};
pub use hearing::{Changed, Hear, HeardFolder, Hearing};
pub use host::{
    AgentFound, BlamedCommit, BlamedFile, CopiesWanted, Current, Due, GitHookChange, GitHookRequest,
    HookRequest, Hooked, Host, ImportRequest, InstallChange, InstallRequest, Latest, LedgerOf,
    LedgerOfRequest, LoadCheckpointRequest, LookedAt, Machine, MakeLedger, NamedFile, Newest, PlaceRequest,
    PolicyChange, Process, Reader, Record, RecordRequest, Recorded, RecoverRequest, RemoveCopiesRequest,
    Repaired, SaveCheckpointRequest, StartFrom, StartRequest, StatusRequest, Surveyed, Suspended, Tape,
    TrailerRequest, TrailerStage, WATCH_POLL_MS, WatchRequest, WatchedPlace, Watching, Whose, drain,
    is_program, open_for_hook, project_here, read_settings,
};
pub use lending::{Lending, MakeLocal};
pub use local::{Local, MakeSummarizer};
pub use size::{bytes, scaled};
pub use stemmata_engine::prompt::search::is_slip;
pub use stemmata_engine::prompt::strategy::nearest;
pub use stemmata_engine::{TempFiles, clients, is_bundle, render_have};
pub use stemmata_store::read_bounded;
pub use window::{check_window, window_limits};
