//! What a service does in the background for as long as it lives, as jobs that `Registry::jobs` lists.
//!
//! When something is due, and that it is done once, is the engine's.

use stemmata_api::{Answer, Problem};
use stemmata_engine::{KeepPacked, PackKeeper};

use crate::Local;
use crate::fault::{Fault, problem_of};

/// Work in the background. Dropping it waits for what runs, and ends it.
#[must_use = "the work ends when it is dropped"]
#[derive(Debug)]
pub struct Background {
    _packing: PackKeeper,
}

impl Local {
    /// Begins to work in the background: packs when the store has grown. `failed` is told in another thread what could not be done or
    /// be recorded; a job that failed is tried again.
    ///
    /// # Errors
    /// Those of the store and of the service's state; where there can be no thread.
    pub fn background(&self, failed: impl Fn(Problem) + Send + 'static) -> Answer<Background> {
        let holder = format!("process {}", std::process::id());
        let packing = self.home.keep_packed(holder, KeepPacked::default(), move |packed| {
            if let Err(error) = packed {
                failed(problem_of(&error));
            }
        });
        Ok(Background { _packing: packing.map_err(|error| Fault::from(error).0)? })
    }
}
