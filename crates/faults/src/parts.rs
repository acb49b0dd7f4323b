//! The parts of a run, each a kind of fault.

pub mod bits;
mod cuts;
mod failing;
pub mod files;
pub mod kill;
pub mod ledger;
#[cfg(target_os = "linux")]
pub mod mounted;
#[cfg(target_os = "linux")]
pub mod power;

/// How much of a part is done.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// What everything random is drawn from.
    pub seed: u64,
    /// A sample of seconds in place of everything.
    pub short: bool,
    /// Operations that are tried, in a hundred; of kills and bits all.
    pub percent: u64,
    /// The only step that is tried, where one is named.
    pub step: Option<&'static str>,
}
