//! The store's tests: both backends against the seam, and the SQLite store against a hard world.

mod backup;
mod backup_faults;
mod children;
mod conformance;
mod copies;
mod damage;
#[cfg(target_os = "linux")]
mod disk;
mod erase;
mod files;
mod index;
mod index_world;
mod ledger;
mod ledger_damage;
mod ledger_files;
mod ledger_files_faults;
mod ledger_files_laws;
#[cfg(unix)]
mod ledger_files_processes;
mod ledger_files_repair;
mod ledger_files_strays;
mod ledger_let_go;
mod ledger_places;
mod log;
mod model;
mod model_maintain;
mod packs;
#[cfg(unix)]
mod processes;
mod repair;
mod seals;
#[cfg(unix)]
mod service_state;
mod support;
mod versions;
