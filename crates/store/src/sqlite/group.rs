//! Group commit: threads that write at the same time share one transaction and one sync.
//!
//! The first to come leads: it applies what all have queued, then hands the lead to one that came meanwhile.
//! No thread is needed for that, so that a lone writer waits for nobody. What a batch means is `write`'s.

mod writer;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;

pub(super) use self::writer::Writer;

use super::write::Answer;
use crate::error::StoreError;
use crate::ledger::Durability;
use crate::rules::prepare::Prepared;

/// Batches of one transaction at most, so that none waits for more than that.
const GROUP_BATCHES_MAX: usize = 64;

/// How long a leader waits for those it shared its last sync with: less than the sync that they then share.
const GATHER: Duration = Duration::from_micros(150);

/// The writer and those who wait for it.
pub(super) struct Group {
    queue: Mutex<Queue>,
    arrived: Condvar,
    writer: Mutex<Writer>,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Ticket>,
    led: bool,
    /// Batches that shared the last transaction.
    last: usize,
}

struct Ticket {
    batch: Vec<Prepared>,
    durability: Durability,
    seat: Arc<Seat>,
}

#[derive(Default)]
struct Seat {
    call: Mutex<Call>,
    called: Condvar,
}

#[derive(Default)]
enum Call {
    #[default]
    Wait,
    Lead,
    Answer(Answer),
}

impl Group {
    pub(super) fn new(writer: Writer) -> Self {
        Self { queue: Mutex::new(Queue::default()), arrived: Condvar::new(), writer: Mutex::new(writer) }
    }

    /// Applies a batch and returns when it is as durable as is asked: with a transaction of its own, together with those
    /// of other threads, or without a sync where all of these want none.
    pub(super) fn commit(&self, batch: Vec<Prepared>, durability: Durability) -> Answer {
        let seat = Arc::new(Seat::default());
        let mut queue = self.lock();
        queue.waiting.push(Ticket { batch, durability, seat: Arc::clone(&seat) });
        if queue.led {
            let complete = queue.waiting.len() >= queue.last;
            drop(queue);
            if complete {
                self.arrived.notify_one();
            }
            if let Some(answer) = seat.wait() {
                return answer;
            }
            queue = self.lock();
        }
        queue.led = true;
        self.lead(queue);
        seat.wait().unwrap_or_else(|| Err(lost()))
    }

    /// Does something with the writer while no batch is being applied.
    pub(super) fn with_writer<T>(&self, act: impl FnOnce(&mut Writer) -> T) -> T {
        act(&mut self.writer.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Does something to rows while no batch is being applied, as one transaction.
    pub(super) fn maintain<T>(
        &self,
        act: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.with_writer(|writer| writer.maintain(act))
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lead(&self, queue: MutexGuard<'_, Queue>) {
        let mut queue = self.gather(queue);
        let count = together(&queue.waiting);
        let group: Vec<Ticket> = queue.waiting.drain(..count).collect();
        queue.last = count;
        drop(queue);
        let is_durable = group.iter().any(|ticket| ticket.durability != Durability::None);
        let (batches, seats): (Vec<Vec<Prepared>>, Vec<Arc<Seat>>) =
            group.into_iter().map(|ticket| (ticket.batch, ticket.seat)).unzip();
        let lead = Lead { group: self, seats };
        let answers = self.with_writer(|writer| writer.apply(&batches, is_durable));
        for (seat, answer) in lead.seats.iter().zip(answers) {
            seat.call(Call::Answer(answer));
        }
    }

    /// Waits a moment for those who took part last time: they are about to come again, and one sync less is
    /// worth more than the wait.
    fn gather<'a>(&self, mut queue: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
        let expected = queue.last.min(GROUP_BATCHES_MAX);
        let started = Instant::now();
        while queue.waiting.len() < expected {
            let left = GATHER.saturating_sub(started.elapsed());
            if left.is_zero() {
                break;
            }
            queue = match self.arrived.wait_timeout(queue, left) {
                Ok((queue, _)) => queue,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
        queue
    }
}

/// Says how many of those that wait go together: one that wants a transaction of its own goes alone.
fn together(waiting: &[Ticket]) -> usize {
    let is_alone = |ticket: &Ticket| ticket.durability == Durability::Full;
    if waiting.first().is_some_and(is_alone) {
        return 1;
    }
    waiting.iter().take(GROUP_BATCHES_MAX).take_while(|ticket| !is_alone(ticket)).count()
}

/// Ends the lead however it ends: nobody is left waiting, and the next in the queue leads.
struct Lead<'a> {
    group: &'a Group,
    seats: Vec<Arc<Seat>>,
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut queue = self.group.lock();
        match queue.waiting.first() {
            Some(next) => next.seat.call(Call::Lead),
            None => queue.led = false,
        }
        drop(queue);
        if thread::panicking() {
            for seat in &self.seats {
                seat.call(Call::Answer(Err(lost())));
            }
        }
    }
}

impl Seat {
    fn call(&self, call: Call) {
        *self.call.lock().unwrap_or_else(PoisonError::into_inner) = call;
        self.called.notify_one();
    }

    /// Waits for an answer; none when this thread has to lead.
    fn wait(&self) -> Option<Answer> {
        let mut call = self.call.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match std::mem::take(&mut *call) {
                Call::Wait => call = self.called.wait(call).unwrap_or_else(PoisonError::into_inner),
                Call::Lead => return None,
                Call::Answer(answer) => return Some(answer),
            }
        }
    }
}

fn lost() -> StoreError {
    StoreError::Backend {
        operation: "writing a group of batches",
        source: "the thread that wrote it panicked".into(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rusqlite::hooks::{AuthAction, AuthContext, Authorization, TransactionOperation};
    use tempfile::TempDir;

    use super::*;
    use crate::rules::prepare::prepare;
    use crate::sqlite::open::{Opened, SqliteOptions, open_store};
    use crate::write::{NewContent, Write};

    fn tickets(wanted: &[Durability]) -> Vec<Ticket> {
        let ticket = |durability: &Durability| Ticket {
            batch: Vec::new(),
            durability: *durability,
            seat: Arc::new(Seat::default()),
        };
        wanted.iter().map(ticket).collect()
    }

    #[test]
    fn who_wants_a_sync_of_its_own_goes_alone() {
        use Durability::{Batch, Full, None};
        for (waiting, count) in [
            (&[Batch, None, Batch] as &[_], 3),
            (&[Batch, Full, Batch], 1),
            (&[Full, Batch], 1),
            (&[None, None, Full], 2),
            (&[Batch; 100], GROUP_BATCHES_MAX),
            (&[], 0),
        ] {
            assert_eq!(together(&tickets(waiting)), count, "{waiting:?}");
        }
    }

    /// Has lone batches be written, and returns what the database was told: its levels of care, begins, and touches.
    fn told(wanted: &[Durability]) -> Vec<String> {
        let home = TempDir::new().expect("a directory");
        let Opened { mut connection, .. } =
            open_store(home.path(), &SqliteOptions::default()).expect("a store");
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let ears = Arc::clone(&heard);
        let listen = move |context: AuthContext<'_>| {
            let word = match context.action {
                AuthAction::Pragma { pragma_name: "synchronous", pragma_value: Some(level) } => Some(level),
                AuthAction::Pragma { pragma_name: "user_version", pragma_value: Some("0") } => Some("synced"),
                AuthAction::Pragma { pragma_name: "user_version", pragma_value: Some("1") } => {
                    Some("unsynced")
                }
                AuthAction::Transaction { operation: TransactionOperation::Begin } => Some("begin"),
                _ => Option::None,
            };
            ears.lock().expect("no panic").extend(word.map(str::to_owned));
            Authorization::Allow
        };
        connection.authorizer(Some(listen)).expect("an authorizer");
        // A statement that is prepared already is not asked about again.
        connection.set_prepared_statement_cache_capacity(0);
        let group = Group::new(Writer::new(connection));
        for (number, durability) in (0_u8..).zip(wanted) {
            let content = Write::Content(NewContent::literal(vec![number; 9]));
            group.commit(prepare(vec![content]), *durability).expect("written");
            let is_synced = group.with_writer(|writer| writer.syncs());
            assert!(is_synced || *durability == Durability::None, "{wanted:?}: {number}");
        }
        let heard = heard.lock().expect("no panic");
        heard.clone()
    }

    #[test]
    fn only_who_wants_no_sync_goes_without() {
        use Durability::{Batch, Full, None};
        assert_eq!(told(&[Batch, Batch]), ["begin", "begin"]);
        assert_eq!(told(&[Full, Full]), ["begin", "begin"]);
        assert_eq!(told(&[None]), ["NORMAL", "begin", "unsynced"]);
        // Whoever comes next and wants a sync has the database sync again before anything of it is written.
        for next in [Batch, Full] {
            let heard = told(&[None, None, None, next, next]);
            assert_eq!(
                heard,
                ["NORMAL", "begin", "unsynced", "begin", "begin", "FULL", "begin", "synced", "begin"]
            );
        }
        assert_eq!(
            told(&[None, Batch, None]),
            ["NORMAL", "begin", "unsynced", "FULL", "begin", "synced", "NORMAL", "begin", "unsynced"]
        );
    }

    #[test]
    fn what_was_written_without_a_sync_is_synced_by_one_that_finds_all_of_it_there() {
        let home = TempDir::new().expect("a directory");
        let Opened { path, connection, .. } =
            open_store(home.path(), &SqliteOptions::default()).expect("a store");
        let log = crate::sqlite::open::log_of(&path);
        let group = Group::new(Writer::new(connection));
        let put = |durability| {
            let content = Write::Content(NewContent::literal(b"bytes".to_vec()));
            group.commit(prepare(vec![content]), durability).expect("written");
            std::fs::metadata(&log).expect("a log").len()
        };
        let unsynced = put(Durability::None);
        // A transaction that adds nothing to the log is not synced either.
        let synced = put(Durability::Batch);
        assert!(synced > unsynced, "{synced} and {unsynced} bytes");
        assert_eq!(put(Durability::Batch), synced, "what is durable is not written again");
    }

    #[test]
    fn what_another_process_wrote_without_a_sync_is_synced_by_one_that_finds_all_of_it_there() {
        let home = TempDir::new().expect("a directory");
        let opened = || open_store(home.path(), &SqliteOptions::default()).expect("a store");
        let Opened { path, connection, .. } = opened();
        let log = crate::sqlite::open::log_of(&path);
        // A process has a connection of its own; what it remembers is nobody else's.
        let [one, other] =
            [Group::new(Writer::new(connection)), Group::new(Writer::new(opened().connection))];
        let put = |group: &Group, byte: u8, durability| {
            let content = Write::Content(NewContent::literal(vec![byte; 9]));
            group.commit(prepare(vec![content]), durability).expect("written");
            std::fs::metadata(&log).expect("a log").len()
        };
        let unsynced = put(&one, 1, Durability::None);
        let synced = put(&other, 1, Durability::Full);
        assert!(synced > unsynced, "{synced} and {unsynced} bytes");
        for group in [&one, &other, &Group::new(Writer::new(opened().connection))] {
            assert_eq!(put(group, 1, Durability::Batch), synced, "what is durable is not written again");
        }
        // Also where it has synced before, and whatever it knew by then.
        put(&other, 2, Durability::Batch);
        let unsynced = put(&one, 3, Durability::None);
        let synced = put(&other, 3, Durability::Batch);
        assert!(synced > unsynced, "{synced} and {unsynced} bytes");
        assert_eq!(put(&one, 3, Durability::Full), synced, "somebody has synced it");
    }

    #[test]
    fn one_that_waits_for_a_sync_has_all_of_its_group_synced() {
        let home = TempDir::new().expect("a directory");
        let Opened { connection, .. } = open_store(home.path(), &SqliteOptions::default()).expect("a store");
        let group = Group::new(Writer::new(connection));
        let answered = AtomicUsize::new(0);
        thread::scope(|scope| {
            for number in 0..24_u8 {
                let (group, answered) = (&group, &answered);
                let durability =
                    [Durability::Full, Durability::Batch, Durability::None][usize::from(number % 3)];
                scope.spawn(move || {
                    let content = Write::Content(NewContent::literal(vec![number; 9]));
                    let outcome = group.commit(prepare(vec![content]), durability).expect("written");
                    answered
                        .fetch_add(usize::try_from(outcome.new_contents).expect("one"), Ordering::Relaxed);
                });
            }
        });
        assert_eq!(answered.into_inner(), 24);
    }
}
