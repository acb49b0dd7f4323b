//! Writing the events' file anew, without payloads that are let go of or forgotten.
//!
//! The new file takes the old one's name in one step; whoever has the old one open notices by the file itself, or by
//! the generation that rises before.

use std::collections::BTreeMap;

use stemmata_model::{Event, EventSeq, Json, Payload, SessionId, Topic, artifact_id, to_u64};

use super::FileLog;
use super::desk::{Alone, Desk, Loaded};
use super::folder::{EVENTS, INDEX, META, QUARANTINE, SNAPSHOT, failed};
use super::index;
use super::line::{IntegrityMode, Record};
use super::snapshot;
use super::states::Epoch;
use crate::error::StoreError;
use crate::files::write_whole;
use crate::ledger::{CURSOR_STATES, DerivedEvents, EventQuery, Order, Places};
use crate::rules::events::{gone, is_there};
use crate::rules::output::receipt_after;

/// Lines that change, by their places.
type Changes = BTreeMap<usize, Record>;

impl FileLog {
    /// Lets go of the payloads of a topic up to a place.
    pub(super) fn trim_ledger(
        &self,
        desk: &Desk,
        topic: &Topic,
        through: EventSeq,
    ) -> Result<u64, StoreError> {
        if !desk.folder.is_there()? {
            return Ok(0);
        }
        let alone = desk.alone(&self.notes)?;
        let mut changes = Changes::new();
        {
            let mut view = desk.view();
            let Some(loaded) = &mut view.loaded else { return Ok(0) };
            let query = EventQuery {
                through: Some(through),
                topics: vec![topic.clone()],
                order: Order::OldestFirst,
                ..EventQuery::default()
            };
            let mut receipts = loaded.catalog.receipts.get(topic).copied();
            for at in loaded.catalog.candidates(&query) {
                if loaded.catalog.hidden.contains_key(&at) {
                    continue;
                }
                let mut record = loaded.record(at, &desk.folder)?;
                if !is_there(&record.event.payload) {
                    continue;
                }
                let left = gone(&record.event.payload, false);
                let receipt = receipt_after(receipts.as_ref(), record.event.seq, left);
                record.event.payload = Payload::Gone(left);
                (record.receipt, receipts) = (Some(receipt), Some(receipt));
                changes.insert(at, record);
            }
        }
        let trimmed = to_u64(changes.len());
        if trimmed > 0 {
            self.rewrite(&alone, changes)?;
        }
        Ok(trimmed)
    }

    /// Forgets what a session's events of one ledger say, and what was made of it.
    pub(super) fn forget_in(&self, desk: &Desk, session: &SessionId) -> Result<u64, StoreError> {
        self.forget_if(desk, &|event| event.session == *session)
    }

    /// Forgets what events of one ledger say, and what was made of them, even where they say nothing any more.
    pub(super) fn forget_at(&self, desk: &Desk, places: &Places) -> Result<u64, StoreError> {
        let count = self.forget_if(desk, &|event| places.hold(event.seq))?;
        if count == 0 {
            self.change_states(desk, Epoch::Ends, |kept| {
                let before = kept.len();
                kept.retain(|name, _| name.starts_with(CURSOR_STATES));
                kept.len() != before
            })?;
        }
        Ok(count)
    }

    fn forget_if(&self, desk: &Desk, is_meant: &dyn Fn(&Event) -> bool) -> Result<u64, StoreError> {
        let alone = desk.alone(&self.notes)?;
        let changes = {
            let view = desk.view();
            let Some(loaded) = &view.loaded else { return Ok(0) };
            forgotten(loaded, desk, is_meant)?
        };
        let count = to_u64(changes.len());
        if count == 0 {
            // A repair may have taken events of the session out of the ledger, and states may have been made of them.
            desk.folder.sweep()?;
            if desk.folder.open(QUARANTINE)?.is_some() {
                next_generation(desk)?;
                self.forget_states(desk)?;
            }
            desk.folder.remove_set_aside()?;
            // What an earlier try took away may not be gone for good yet.
            desk.folder.sync()?;
            return Ok(0);
        }
        // First what was made of the events: when this is interrupted, the events say what is left to do.
        self.forget_states(desk)?;
        desk.folder.remove_set_aside()?;
        desk.folder.sweep()?;
        desk.folder.sync()?;
        self.rewrite(&alone, changes)?;
        Ok(count)
    }

    /// Removes saved states, but for those that hold no words.
    fn forget_states(&self, desk: &Desk) -> Result<(), StoreError> {
        let mut states = self.states(&desk.folder)?;
        states.retain(|name, _| name.starts_with(CURSOR_STATES));
        if states.is_empty() {
            desk.folder.remove(SNAPSHOT)
        } else {
            desk.folder.write(SNAPSHOT, &snapshot::encode(&states))
        }
    }

    /// Writes the file without what the ledger let go of.
    pub(super) fn shed(&self, alone: &Alone<'_>) -> Result<(), StoreError> {
        self.rewrite(alone, Changes::new())
    }

    /// Writes the file anew, with changed lines, and without the payloads that do not count any more.
    fn rewrite(&self, alone: &Alone<'_>, mut changes: Changes) -> Result<(), StoreError> {
        let desk = alone.desk;
        let mut view = desk.view();
        let Some(loaded) = &view.loaded else { return Ok(()) };
        for (at, (left, receipt)) in &loaded.catalog.hidden {
            let record = if let Some(record) = changes.remove(at) {
                record
            } else {
                let mut record = loaded.record(*at, &desk.folder)?;
                record.event.payload = Payload::Gone(*left);
                record
            };
            let record = Record { receipt: Some(*receipt), ..record };
            changes.insert(*at, record);
        }
        let path = desk.folder.path(EVENTS);
        let during = failed("writing", &path);
        let mode = loaded.mode;
        let mut raised = loaded.generation;
        let written = write_whole(desk.folder.files.as_ref(), &path, &during, |out| {
            for at in 0..loaded.catalog.len() {
                let bytes = match changes.get(&at) {
                    Some(record) => record.encode(mode).into_bytes(),
                    None => loaded.bytes(at).map_err(&during)?,
                };
                out.write_all(&bytes).map_err(&during)?;
            }
            out.flush().map_err(&during)?;
            // The generation before the name: a file that is the same under a new one is only read once more.
            raised = next_generation(desk)?;
            Ok(())
        });
        if let Err(error) = written {
            match &mut view.loaded {
                // It is the old file still: what is known of it holds.
                Some(loaded) if matches!(loaded.file.is_at(&path), Ok(Some(true))) => {
                    loaded.generation = raised;
                }
                Some(_) | None => view.lose(),
            }
            return Err(error);
        }
        view.loaded = None;
        let read = desk.refresh(&mut view, &self.notes).map(drop);
        if read.is_err() {
            view.lose();
        }
        read
    }
}

/// Writes the index; where that fails, only time is lost.
pub(super) fn write_index(desk: &Desk) {
    let mut view = desk.view();
    let Some(loaded) = &mut view.loaded else { return };
    // An index is durable when it is written, and events may be not: once the log has grown past the place where a
    // power cut ended it, the index would name other events.
    if desk.folder.files.sync_file(&desk.folder.path(EVENTS)).is_err() {
        return;
    }
    let text = index::encode(&loaded.catalog, loaded.generation);
    let is_small = u64::try_from(text.len()).is_ok_and(|bytes| bytes <= index::INDEX_BYTES_MAX);
    if is_small && desk.folder.write(INDEX, &text).is_ok() {
        loaded.indexed = loaded.catalog.len();
    }
}

/// Has everybody read the file of a ledger anew, and returns its generation from now on.
pub(super) fn next_generation(desk: &Desk) -> Result<u64, StoreError> {
    let Some(mut meta) = desk.folder.meta()? else { return Err(StoreError::LedgerMissing(desk.id.clone())) };
    meta.generation = meta.generation.saturating_add(1);
    desk.folder.write(META, &meta.encode())?;
    Ok(meta.generation)
}

/// Returns the lines of events as they are when they were forgotten, with what was made of them after the first of them.
fn forgotten(loaded: &Loaded, desk: &Desk, is_meant: &dyn Fn(&Event) -> bool) -> Result<Changes, StoreError> {
    let (mut changes, mut derived) = (Changes::new(), DerivedEvents::default());
    for at in 0..loaded.catalog.len() {
        let mut record = loaded.record(at, &desk.folder)?;
        let event = &mut record.event;
        if matches!(event.payload, Payload::Gone(gone) if gone.forgotten) {
            continue;
        }
        if is_meant(event) {
            derived.goes(&event.session);
        } else if !derived.hold(&event.topic, &event.session) {
            continue;
        }
        event.payload = Payload::Gone(gone(&event.payload, true));
        record.keys.clear();
        let metadata = event.metadata.take();
        if loaded.mode == IntegrityMode::Chain {
            let hash = |json: Json| artifact_id(json.as_str().as_bytes());
            record.metadata_hash = metadata.map(hash).or(record.metadata_hash);
        }
        changes.insert(at, record);
    }
    Ok(changes)
}
