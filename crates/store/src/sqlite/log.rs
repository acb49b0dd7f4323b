//! Keeping the write-ahead log short: a thread that copies it into the database, off the path of commits.
//!
//! What is in the log is durable already; nobody waits for this.

use std::path::PathBuf;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;

use super::group::Group;
use super::open::{self, SqliteOptions};

/// Pages in the log that start a copy: few enough that opening after a crash, which reads the log, stays
/// short; enough that a copy, which syncs the database, is rare beside commits.
const LOG_PAGES: i32 = 2000;

/// Pages in the log that make the last commit's process empty it when it closes the store: few enough that
/// the next one, which reads what is left, opens as fast as ever; enough that most closings cost no sync.
const LEFT_PAGES_MAX: i32 = 256;

/// Pages that a last look with commits held back may have to copy; more are left for the next time.
const REST_PAGES_MAX: i64 = 400;

/// How often emptying the log is tried, and the pause between: as long as a copy takes.
const EMPTY_TRIES_MAX: usize = 40;
const EMPTY_PAUSE: Duration = Duration::from_millis(10);

/// The thread that copies the log, started when there is something to copy.
pub(super) struct Log {
    path: PathBuf,
    options: SqliteOptions,
    pages: Arc<AtomicI32>,
    signal: Arc<Signal>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Signal {
    wish: Mutex<Wish>,
    wished: Condvar,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Wish {
    #[default]
    Nothing,
    Copy,
    Stop,
}

impl Log {
    pub(super) fn new(path: PathBuf, options: SqliteOptions) -> Self {
        Self {
            path,
            options,
            pages: Arc::new(AtomicI32::new(0)),
            signal: Arc::new(Signal::default()),
            thread: Mutex::new(None),
        }
    }

    /// Has the writer count the log's pages after each of its commits.
    pub(super) fn watch(&self, writer: &mut Connection) -> rusqlite::Result<()> {
        let pages = Arc::clone(&self.pages);
        writer.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, count: i32| {
            pages.store(count, Ordering::Relaxed);
            Ok(())
        }))
    }

    /// Starts a copy when the log is long enough.
    pub(super) fn look(&self, group: &Arc<Group>) {
        if self.pages.load(Ordering::Relaxed) < LOG_PAGES || !self.options.open_for.copies_log() {
            return;
        }
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            let copier = Copier {
                path: self.path.clone(),
                options: self.options.clone(),
                pages: Arc::clone(&self.pages),
                signal: Arc::clone(&self.signal),
                group: Arc::clone(group),
            };
            let builder = thread::Builder::new().name("stemmata-log".to_owned());
            // Without a thread the log grows until the last connection closes: slower, never wrong.
            *thread = builder.spawn(move || copier.run()).ok();
        }
        drop(thread);
        self.signal.send(Wish::Copy);
    }
}

impl Log {
    /// Ends the thread, and empties the log where much is in it and nobody else reads or writes. A hook leaves a long one
    /// to a command: while its client waits, it copies no more than a known number of pages.
    pub(super) fn close(&self, group: &Group) {
        self.stop();
        let pages = self.pages.load(Ordering::Relaxed);
        if pages < LEFT_PAGES_MAX || (pages >= LOG_PAGES && !self.options.open_for.copies_log()) {
            return;
        }
        group.with_writer(|writer| {
            let connection = writer.connection();
            // Another process is no reason to wait: it, or the next opening, does the same.
            let emptied = connection
                .busy_timeout(Duration::ZERO)
                .and_then(|()| connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())));
            // What was not copied is in the log, and durable.
            drop(emptied);
        });
    }

    /// Copies the log into the database and cuts it off, where nobody else reads or writes.
    pub(super) fn empty(&self, group: &Group) {
        if let Ok(connection) = open::connect(&self.path, &self.options) {
            // Most of it without holding commits back.
            copy(&connection);
        }
        // The thread of this very store may be copying at the same time; it does not take long.
        for _ in 0..EMPTY_TRIES_MAX {
            if group.with_writer(|writer| self.cut_off(writer.connection_mut())) {
                return;
            }
            thread::sleep(EMPTY_PAUSE);
        }
    }

    /// Says whether the log is empty now. Another process is no reason to wait: what is not copied now is copied
    /// later.
    fn cut_off(&self, connection: &mut Connection) -> bool {
        let left = connection.busy_timeout(Duration::ZERO).and_then(|()| {
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))
        });
        let emptied = left.is_ok_and(|busy| busy == 0);
        if emptied {
            self.pages.store(0, Ordering::Relaxed);
        }
        // A connection that would not wait again fails its next write as locked, which is tried again.
        drop(open::wait_for_locks(connection, self.options.patience()));
        emptied
    }

    fn stop(&self) {
        self.signal.send(Wish::Stop);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A copier that panicked has copied less; what it left is in the log.
            let _ended = thread.join();
        }
    }
}

impl Signal {
    fn send(&self, wish: Wish) {
        *self.wish.lock().unwrap_or_else(PoisonError::into_inner) = wish;
        self.wished.notify_one();
    }

    fn wait(&self) -> Wish {
        let mut wish = self.wish.lock().unwrap_or_else(PoisonError::into_inner);
        while *wish == Wish::Nothing {
            wish = self.wished.wait(wish).unwrap_or_else(PoisonError::into_inner);
        }
        match *wish {
            Wish::Stop => Wish::Stop,
            Wish::Nothing | Wish::Copy => std::mem::take(&mut *wish),
        }
    }
}

struct Copier {
    path: PathBuf,
    options: SqliteOptions,
    pages: Arc<AtomicI32>,
    signal: Arc<Signal>,
    group: Arc<Group>,
}

impl Copier {
    fn run(self) {
        let Ok(connection) = open::connect(&self.path, &self.options) else {
            return;
        };
        while self.signal.wait() == Wish::Copy {
            if self.pages.load(Ordering::Relaxed) < LOG_PAGES {
                continue;
            }
            let rest = copy(&connection);
            if rest.is_some_and(|rest| rest <= REST_PAGES_MAX) {
                // With all of it copied, and no commit in between, the next commit starts the log anew.
                self.group.with_writer(|_| copy(&connection));
                self.pages.store(0, Ordering::Relaxed);
            }
        }
    }
}

/// Copies what no reader holds back, and returns how many pages are left. A failure leaves them in the log.
fn copy(connection: &Connection) -> Option<i64> {
    connection
        .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
            Ok(row.get::<_, i64>(1)? - row.get::<_, i64>(2)?)
        })
        .ok()
}
