//! Where operations run: a bounded number of threads behind a bounded queue, since a service blocks.
//!
//! Who waits too long is the client's own decision: it goes away, and its operation is cancelled.

use std::future::Future;
use std::sync::Arc;

use stemmata_api::{Answer, CancelToken, Code, Problem};
use tokio::runtime::Handle;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::limits::Limits;

/// Threads for operations.
#[derive(Clone)]
pub(crate) struct Pool {
    /// One permit for each operation that runs or waits.
    admitted: Arc<Semaphore>,
    running: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    /// One permit for each kibibyte of requests that are read or asked.
    kibibytes: Arc<Semaphore>,
}

/// The memory that a request takes, given back when it is dropped.
#[derive(Default)]
pub(crate) struct Held {
    permits: Vec<OwnedSemaphorePermit>,
    /// Bytes that the permits allow and that are not used.
    spare: usize,
}

impl Held {
    /// Takes memory for more bytes.
    ///
    /// # Errors
    /// `overloaded`.
    pub(crate) fn more(&mut self, pool: &Pool, bytes: usize) -> Answer<()> {
        if let Some(spare) = self.spare.checked_sub(bytes) {
            self.spare = spare;
            return Ok(());
        }
        let kibibytes = u32::try_from((bytes - self.spare).div_ceil(1024)).map_err(|_| overloaded())?;
        let permit =
            Arc::clone(&pool.kibibytes).try_acquire_many_owned(kibibytes).map_err(|_| overloaded())?;
        self.spare = self.spare + kibibytes as usize * 1024 - bytes;
        match self.permits.first_mut() {
            Some(all) => all.merge(permit),
            None => self.permits.push(permit),
        }
        Ok(())
    }
}

/// How much of a pool is taken.
pub(crate) struct Taken {
    /// Operations that run.
    pub(crate) running: usize,
    /// Operations that wait for a thread.
    pub(crate) waiting: usize,
    /// What flows.
    pub(crate) streams: usize,
    /// Bytes of requests in memory.
    pub(crate) bytes: usize,
}

/// Cancels an operation when nobody waits for its answer any more.
pub(crate) struct CancelOnDrop(pub(crate) CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Pool {
    pub(crate) fn new(limits: &Limits) -> Self {
        let of = |permits| Arc::new(Semaphore::new(permits));
        Self {
            admitted: of(limits.workers_max + limits.queue_max),
            running: of(limits.workers_max),
            streams: of(limits.streams_max),
            kibibytes: of(limits.bodies_bytes_max / 1024),
        }
    }

    /// Runs an operation, and cancels it when the future is dropped.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&CancelToken) -> Answer<T> + Send + 'static,
    ) -> Answer<T> {
        let admitted = admit(&self.admitted)?;
        let running = Arc::clone(&self.running).acquire_owned().await.expect("it is never closed");
        on_thread((admitted, running), operation).await
    }

    /// Runs an operation that reads content from its client, however slowly: on a place of those that flow, so that it takes no
    /// worker from the others.
    pub(crate) async fn run_reading<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&CancelToken) -> Answer<T> + Send + 'static,
    ) -> Answer<T> {
        on_thread(self.stream()?, operation).await
    }

    /// Returns how much is taken at this moment.
    pub(crate) fn taken(&self, limits: &Limits) -> Taken {
        let of = |permits: &Semaphore, max: usize| max.saturating_sub(permits.available_permits());
        let running = of(&self.running, limits.workers_max);
        let admitted = of(&self.admitted, limits.workers_max + limits.queue_max);
        Taken {
            running,
            waiting: admitted.saturating_sub(running),
            streams: of(&self.streams, limits.streams_max),
            bytes: of(&self.kibibytes, limits.bodies_bytes_max / 1024) * 1024,
        }
    }

    /// Returns a place for something that flows.
    pub(crate) fn stream(&self) -> Answer<OwnedSemaphorePermit> {
        admit(&self.streams)
    }
}

/// Waits for something on a thread that may block; nothing where the operation is cancelled first.
pub(crate) fn wait_for<F: Future>(runtime: &Handle, cancel: &CancelToken, done: F) -> Option<F::Output> {
    let cancelled = Arc::new(Notify::new());
    let wake = Arc::clone(&cancelled);
    let _woken = cancel.on_cancel(move || wake.notify_one());
    runtime.block_on(async {
        tokio::select! {
            done = done => Some(done),
            () = cancelled.notified() => None,
        }
    })
}

/// Runs an operation on a thread that may block. The permits are given back when it ends, also if nobody waits for it any more.
async fn on_thread<P: Send + 'static, T: Send + 'static>(
    permits: P,
    operation: impl FnOnce(&CancelToken) -> Answer<T> + Send + 'static,
) -> Answer<T> {
    let cancel = CancelToken::default();
    let _guard = CancelOnDrop(cancel.clone());
    let ran = tokio::task::spawn_blocking(move || {
        let _permits = permits;
        operation(&cancel)
    });
    ran.await.unwrap_or_else(|_| Err(ended_early()))
}

/// Returns the problem of an operation that panicked.
pub(crate) fn ended_early() -> Box<Problem> {
    tracing::error!("an operation panicked");
    Box::new(Problem::new(Code::Internal, "the operation ended in a way that it should not"))
}

fn admit(places: &Arc<Semaphore>) -> Answer<OwnedSemaphorePermit> {
    Arc::clone(places).try_acquire_owned().map_err(|_| overloaded())
}

fn overloaded() -> Box<Problem> {
    Box::new(Problem::new(Code::Overloaded, "every place for requests is taken"))
}
