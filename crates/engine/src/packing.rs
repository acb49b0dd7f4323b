//! Packing in the background: a thread that keeps the inbox of a long-lived process small.
//!
//! Only who asks for it has it: a command or a hook that ends at once never waits for packing. What packing does is the
//! store's.
//!
//! All writes of the engine go through `Engine::commit_batch`, which tells the thread how many bytes they added.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use stemmata_store::{BatchOutcome, PackOptions, Packed, Store, StoreError, Write};

use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};
use crate::ports::Clock;

/// Stored bytes that the inbox grows by between two packings, unless told otherwise: some sixteen blocks, so that
/// neighbours of a chain come together.
const GROWTH_BYTES: u64 = 16 * 1024 * 1024;

/// When to pack, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepPacked {
    /// Stored bytes that commits of this engine have to add before there is packing; an inbox that is as large at the
    /// beginning is packed then.
    pub growth_bytes: u64,
    /// The zstd level; none for the one that was measured to be best.
    pub level: Option<i32>,
}

impl Default for KeepPacked {
    fn default() -> Self {
        Self { growth_bytes: GROWTH_BYTES, level: None }
    }
}

/// Packing in the background, for as long as this is kept. Dropping it waits for the packing that goes on, and ends the
/// thread; what was packed until then stays so.
#[derive(Debug)]
pub struct PackKeeper {
    growth: Arc<Growth>,
    thread: Option<JoinHandle<()>>,
}

impl PackKeeper {
    /// Has all that is in the inbox packed soon, however little that is. Does not wait for it.
    pub fn request(&self) {
        self.growth.tell(|state| state.is_requested = true);
    }
}

impl Drop for PackKeeper {
    fn drop(&mut self) {
        self.growth.tell(|state| state.is_over = true);
        if let Some(thread) = self.thread.take() {
            // A panic was printed by the thread, and the store is sound whatever happened to it.
            let _ended = thread.join();
        }
        *self.growth.lock() = State::default();
    }
}

/// What an engine and its clones have added to the inbox since it was packed.
#[derive(Debug, Default)]
pub(crate) struct Growth {
    state: Mutex<State>,
    told: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Whether anybody packs; else nothing is counted.
    is_kept: bool,
    bytes: u64,
    bytes_full: u64,
    is_requested: bool,
    is_over: bool,
}

/// Why the thread wakes.
enum Wake {
    Grown,
    Requested,
    Over,
}

impl Growth {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, what: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        what(&mut state);
        let wakes = state.is_over || state.is_requested || state.bytes >= state.bytes_full;
        drop(state);
        if wakes {
            self.told.notify_all();
        }
    }

    fn added(&self, bytes: u64) {
        self.tell(|state| {
            if state.is_kept {
                state.bytes = state.bytes.saturating_add(bytes);
            }
        });
    }

    fn wait(&self) -> Wake {
        let mut state = self.lock();
        loop {
            let wake = match () {
                () if state.is_over => Some(Wake::Over),
                () if std::mem::take(&mut state.is_requested) => Some(Wake::Requested),
                () if state.bytes >= state.bytes_full => Some(Wake::Grown),
                () => None,
            };
            if let Some(wake) = wake {
                state.bytes = 0;
                return wake;
            }
            state = self.told.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Engine {
    /// Packs in a thread of its own, whenever commits of this engine or its clones have made the inbox grow by so much,
    /// or on request. `packed` is told of each packing in that thread, failures too: nobody else hears of them, and the
    /// next packing tries again.
    ///
    /// # Errors
    /// `Refused` where this engine is kept packed already, or where there can be no thread.
    pub fn keep_packed(
        &self,
        options: KeepPacked,
        mut packed: impl FnMut(std::result::Result<Packed, StoreError>) + Send + 'static,
    ) -> Result<PackKeeper> {
        self.keep_packed_by(options, move |pack| packed(pack()))
    }

    /// The same, where `each` is given each packing that is due, and does it or not.
    pub(crate) fn keep_packed_by(
        &self,
        options: KeepPacked,
        each: impl FnMut(&dyn Fn() -> std::result::Result<Packed, StoreError>) + Send + 'static,
    ) -> Result<PackKeeper> {
        let growth = Arc::clone(&self.growth);
        {
            let mut state = growth.lock();
            if state.is_kept {
                return Err(refused("this engine is kept packed already".to_owned()));
            }
            // At the beginning nobody knows how large the inbox is: the store looks.
            // A growth by nothing would wake the thread for ever.
            let full = options.growth_bytes.max(1);
            *state = State { is_kept: true, bytes: full, bytes_full: full, ..State::default() };
        }
        let store = Arc::clone(&self.store);
        let clock = Arc::clone(&self.clock);
        let heard = Arc::clone(&growth);
        let run = move || keep((store.as_ref(), clock.as_ref()), &heard, options, each);
        match thread::Builder::new().name("stemma-pack".to_owned()).spawn(run) {
            Ok(thread) => Ok(PackKeeper { growth, thread: Some(thread) }),
            Err(error) => {
                *growth.lock() = State::default();
                Err(refused(format!("no thread could be started: {error}")))
            }
        }
    }

    /// Packs the store now; nothing is done to one without files on this machine.
    ///
    /// # Errors
    /// Store errors.
    pub fn pack(&self, options: &PackOptions) -> std::result::Result<Packed, StoreError> {
        pack(self.store.as_ref(), options)
    }

    /// Commits a batch, and lets whoever packs in the background know how much it was.
    pub(crate) fn commit_batch(&self, batch: Vec<Write>) -> std::result::Result<BatchOutcome, StoreError> {
        let outcome = self.store.commit_batch(batch)?;
        if outcome.stored_bytes > 0 {
            self.growth.added(outcome.stored_bytes);
        }
        Ok(outcome)
    }
}

/// Packs a store; one without files on this machine has nothing to pack.
fn pack(store: &dyn Store, options: &PackOptions) -> std::result::Result<Packed, StoreError> {
    store.on_disk().map_or_else(|| Ok(Packed::default()), |files| files.pack(options))
}

fn keep(
    (store, clock): (&dyn Store, &dyn Clock),
    growth: &Growth,
    options: KeepPacked,
    mut each: impl FnMut(&dyn Fn() -> std::result::Result<Packed, StoreError>),
) {
    loop {
        let inbox_bytes_min = match growth.wait() {
            Wake::Over => return,
            Wake::Grown => options.growth_bytes,
            Wake::Requested => 0,
        };
        each(&|| pack(store, &PackOptions { now: clock.now(), level: options.level, inbox_bytes_min }));
    }
}

fn refused(reason: String) -> EngineError {
    EngineError::Refused { what: Refusal::PackBehind, reasons: vec![reason] }
}
