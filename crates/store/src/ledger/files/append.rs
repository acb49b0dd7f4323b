//! Appending: threads that wait at the same time share one write and one sync.
//!
//! One thread writes for all; who that is changes with each group.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use stemmata_model::{EventSeq, LedgerId};

use super::desk::{Alone, Desk, Loaded};
use super::folder::{EVENTS, INDEX, META, failed};
use super::index::INDEX_EVENTS_MIN;
use super::line::{Batch, Record};
use super::meta::Meta;
use super::rewrite::write_index;
use super::scan::Place;
use super::{FileLog, names};
use crate::error::StoreError;
use crate::files::above;
use crate::ledger::{Append, Appended, Durability, EventKey, Keyed};
use crate::rules::checks::check_place;
use crate::rules::events::{event, new_bytes, next_time};

/// Bytes of events in one write after which no more appends join it.
const GROUP_BYTES: u64 = 8 * 1024 * 1024;

/// An append that waits.
#[derive(Debug)]
pub(super) struct Ticket {
    append: Append,
    bytes: u64,
    done: Mutex<Option<Result<Appended, StoreError>>>,
}

impl Ticket {
    fn new(append: Append) -> Self {
        let bytes = append.events.iter().map(|event| new_bytes(&event.payload)).sum();
        Self { append, bytes, done: Mutex::new(None) }
    }

    fn take(&self) -> Option<Result<Appended, StoreError>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn set(&self, result: Result<Appended, StoreError>) {
        *self.done.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    }
}

/// A thread that writes for others: they go on when it is dropped, however its work ended.
struct Leading<'a> {
    desk: &'a Desk,
    group: Vec<Arc<Ticket>>,
    is_done: bool,
}

impl Leading<'_> {
    fn end(mut self, results: Vec<Result<Appended, StoreError>>) {
        for (ticket, result) in self.group.iter().zip(results) {
            ticket.set(result);
        }
        self.is_done = true;
    }
}

impl Drop for Leading<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            // It panicked: what is in the file now is not known, and is read anew.
            self.desk.view().lose();
            for ticket in &self.group {
                ticket.set(Err(StoreError::Backend {
                    operation: "appending a group of events",
                    source: "the thread that wrote them panicked".into(),
                }));
            }
        }
        self.desk.queue().is_busy = false;
        self.desk.turn.notify_all();
    }
}

/// Lines that are to be written at once.
struct Plan {
    lines: String,
    batches: Vec<Vec<(Place, Record)>>,
    results: Vec<Result<Appended, StoreError>>,
}

impl FileLog {
    /// Waits for its turn, or for another thread to write it.
    pub(super) fn queue(&self, desk: &Desk, append: Append) -> Result<Appended, StoreError> {
        let own = Arc::new(Ticket::new(append));
        let mut queue = desk.queue();
        queue.waiting.push_back(Arc::clone(&own));
        loop {
            if let Some(result) = own.take() {
                return result;
            }
            if queue.is_busy {
                queue = desk.turn.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let group = next_group(&mut queue.waiting);
            queue.is_busy = true;
            drop(queue);
            let leading = Leading { desk, group, is_done: false };
            let appends: Vec<&Append> = leading.group.iter().map(|ticket| &ticket.append).collect();
            let results = self.write_group(desk, &appends).unwrap_or_else(|error| {
                let again = || error.again("appending a group of events");
                appends.iter().map(|_| Err(again())).collect()
            });
            leading.end(results);
            queue = desk.queue();
        }
    }

    fn write_group(
        &self,
        desk: &Desk,
        appends: &[&Append],
    ) -> Result<Vec<Result<Appended, StoreError>>, StoreError> {
        let Some(first) = appends.first() else { return Ok(Vec::new()) };
        // Nothing is made for appends that cannot be done.
        let is_possible = appends.iter().any(|append| append.expected.is_none_or(|expected| expected == 0));
        let none = || Ok(appends.iter().map(|append| moved(&desk.id, append, 0)).collect());
        if !is_possible && !desk.folder.is_there()? {
            return none();
        }
        self.make_folder(desk)?;
        let alone = desk.alone(&self.notes)?;
        let is_new = desk.view().loaded.is_none();
        if is_new {
            if !is_possible {
                return none();
            }
            let meta = Meta::new(desk.id.clone(), first.now, self.options.integrity);
            self.make_ledger(&alone, &meta)?;
        }
        let is_synced = first.durability != Durability::None;
        let results = write_plan(desk, appends, is_synced)?;
        self.tidy_up(&alone);
        Ok(results)
    }

    /// Writes anew what has become wasteful, and the index where it is far behind. Nothing that was appended depends on
    /// either.
    fn tidy_up(&self, alone: &Alone<'_>) {
        let (is_wasteful, is_behind) = {
            let view = alone.desk.view();
            let Some(loaded) = &view.loaded else { return };
            let beyond = loaded.catalog.len() - loaded.indexed;
            // In proportion, so that writing the index costs a constant share of each append.
            let is_wasteful = loaded.catalog.is_wasteful() && loaded.catalog.waste() >= view.waste_min;
            (is_wasteful, beyond >= INDEX_EVENTS_MIN.max(loaded.indexed))
        };
        if is_wasteful {
            let shed = self.shed(alone);
            let mut view = alone.desk.view();
            let waste = view.loaded.as_ref().map_or(0, |loaded| loaded.catalog.waste());
            // Each try may write all of the file: the next one is worth twice as much.
            view.waste_min = if shed.is_err() { waste.saturating_mul(2) } else { 0 };
            drop(view);
            if let Err(error) = shed {
                let path = alone.desk.folder.path(EVENTS);
                self.notes.note(super::Finding::NotRewritten { path, reason: error.to_string() });
            }
        }
        if is_behind {
            write_index(alone.desk);
        }
    }

    /// Makes the folder of a ledger.
    pub(super) fn make_folder(&self, desk: &Desk) -> Result<(), StoreError> {
        if desk.folder.is_there()? {
            return Ok(());
        }
        self.make_root()?;
        let dir = &desk.folder.dir;
        let made = self.options.files.make_directory(dir);
        made.and_then(|()| self.options.files.sync_directory(&self.root)).map_err(failed("making", dir))
    }

    /// Makes the folder that ledgers are in.
    pub(super) fn make_root(&self) -> Result<(), StoreError> {
        let files = &self.options.files;
        let Err(error) = files.list(&self.root) else { return Ok(()) };
        if error.kind() != std::io::ErrorKind::NotFound {
            return Err(failed("listing", &self.root)(error));
        }
        let parent = above(&self.root);
        let made = files.make_directory(&self.root);
        made.and_then(|()| files.sync_directory(parent)).map_err(failed("making", &self.root))
    }

    /// Makes the files of a new ledger: first those that events come into, so that a ledger that is known has one.
    pub(super) fn make_ledger(&self, alone: &Alone<'_>, meta: &Meta) -> Result<(), StoreError> {
        let desk = alone.desk;
        let path = desk.folder.path(EVENTS);
        match desk.folder.files.create(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            made => drop(made.map_err(failed("making", &path))?),
        }
        desk.folder.sync()?;
        // Whoever made the folders may have died before their names were durable.
        for dir in [self.root.as_path(), above(&self.root)] {
            self.options.files.sync_directory(dir).map_err(failed("syncing", dir))?;
        }
        desk.folder.write(META, &meta.encode())?;
        desk.refresh(&mut desk.view(), &self.notes).map(drop)
    }
}

/// Writes the lines of appends at once, or none of them.
fn write_plan(
    desk: &Desk,
    appends: &[&Append],
    is_synced: bool,
) -> Result<Vec<Result<Appended, StoreError>>, StoreError> {
    let path = desk.folder.path(EVENTS);
    let (mut pen, end, plan) = {
        let mut view = desk.view();
        let Some(loaded) = &mut view.loaded else {
            return Err(StoreError::LedgerMissing(desk.id.clone()));
        };
        if appends.iter().any(|append| !append.keys.is_empty()) {
            loaded.learn_keys(&desk.folder)?;
        }
        // The file may be as it was: saved states that are dropped raise the epoch too.
        let epoch = if appends.iter().any(|append| append.epoch.is_some()) {
            desk.folder.meta()?.map_or(0, |meta| meta.generation)
        } else {
            0
        };
        let pen = if let Some(pen) = loaded.pen.take() {
            pen
        } else {
            // What writers left that died.
            desk.folder.sweep()?;
            if loaded.is_index_wrong {
                desk.folder.remove(INDEX)?;
                desk.folder.sync()?;
                loaded.is_index_wrong = false;
            }
            let mut pen = desk.folder.files.extend(&path).map_err(failed("opening", &path))?;
            // What a writer that died had not synced is made durable before anything builds on it.
            pen.sync().map_err(failed("syncing", &path))?;
            loaded.catalog.durable = loaded.catalog.last();
            pen
        };
        (pen, loaded.catalog.end(), plan(loaded, (appends, epoch)))
    };
    if plan.batches.is_empty() {
        if let Some(loaded) = &mut desk.view().loaded {
            loaded.pen = Some(pen);
        }
        return Ok(plan.results);
    }
    // The view is free meanwhile: readers see what was there before.
    let written = pen.append(plan.lines.as_bytes());
    let written = if is_synced { written.and_then(|()| pen.sync()) } else { written };
    if let Err(error) = written {
        let cut = pen.cut(end).and_then(|()| pen.sync());
        if cut.is_err() {
            // What is there now is not known: it is read anew, and what is half there does not count.
            desk.view().lose();
        }
        return Err(failed("appending to", &path)(error));
    }
    let mut view = desk.view();
    if let Some(loaded) = &mut view.loaded {
        for batch in &plan.batches {
            loaded.catalog.absorb(batch);
        }
        if is_synced {
            loaded.catalog.durable = loaded.catalog.last();
        }
        loaded.length = loaded.catalog.end();
        loaded.pen = Some(pen);
    }
    Ok(plan.results)
}

/// Takes appends that may share a write: those in front, of one durability, as long as they are small.
fn next_group(waiting: &mut std::collections::VecDeque<Arc<Ticket>>) -> Vec<Arc<Ticket>> {
    let mut group: Vec<Arc<Ticket>> = Vec::new();
    let mut bytes = 0;
    while let Some(next) = waiting.front() {
        let durability = next.append.durability;
        if let Some(first) = group.first()
            && (first.append.durability != durability
                || durability == Durability::Full
                || bytes + next.bytes > GROUP_BYTES)
        {
            break;
        }
        bytes += next.bytes;
        group.extend(waiting.pop_front());
    }
    group
}

fn moved(ledger: &LedgerId, append: &Append, found: u64) -> Result<Appended, StoreError> {
    let expected = append.expected.unwrap_or_default();
    Err(StoreError::SequenceMoved { ledger: ledger.clone(), expected, found })
}

/// Gives numbers, times and links to the events of appends, one after the other.
fn plan(loaded: &Loaded, (appends, epoch): (&[&Append], u64)) -> Plan {
    let catalog = &loaded.catalog;
    let (mut last, mut last_at, mut link) = (catalog.last(), catalog.last_at, catalog.link);
    let mut byte = catalog.end();
    let mut plan = Plan { lines: String::new(), batches: Vec::new(), results: Vec::new() };
    let mut given: HashMap<EventKey, Keyed> = HashMap::new();
    for append in appends {
        let known =
            |key: EventKey| Ok(given.get(&key).copied().or_else(|| loaded.catalog.keys.get(&key).copied()));
        let size = append.events.len();
        let (first_seq, last_seq) = match check_place(append, (last, epoch), known) {
            Ok(ends) => ends,
            Err(error) => {
                plan.results.push(Err(error));
                continue;
            }
        };
        let placed: Vec<Keyed> = append.keys.iter().filter_map(|new| Keyed::placed(new, first_seq)).collect();
        given.extend(placed.iter().map(|keyed| (keyed.key, *keyed)));
        let batch = Batch { first: first_seq.get(), size, durable: catalog.durable };
        let mut written = Vec::with_capacity(size);
        for new in &append.events {
            let at = next_time(last_at, append.now, new.at);
            last += 1;
            last_at = Some(at);
            let Some(seq) = EventSeq::new(last) else { continue };
            let event = event(new.clone(), seq, at);
            let keys = placed.iter().filter(|keyed| keyed.first == seq).copied().collect();
            let mut record = Record { event, batch, receipt: None, metadata_hash: None, keys, link: None };
            if loaded.mode == super::IntegrityMode::Chain {
                link = record.link_after(&link);
                record.link = Some(link);
            }
            let start = plan.lines.len();
            record.encode_into(loaded.mode, &mut plan.lines);
            let length = u32::try_from(plan.lines.len() - start).expect("a line has a bound");
            written.push((Place { byte, length }, record));
            byte += u64::from(length);
        }
        plan.batches.push(written);
        let last_at = last_at.unwrap_or(append.now);
        plan.results.push(Ok(Appended { first: first_seq, last: last_seq, last_at }));
    }
    plan
}

/// Returns the folder of a ledger below the folder of all.
pub(super) fn folder(root: &std::path::Path, id: &LedgerId) -> std::path::PathBuf {
    root.join(names::folder_of(id))
}
