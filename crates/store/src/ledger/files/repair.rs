//! Repairing a ledger: lines that are no events go to `quarantine.ndjson`, and an event that says so takes each number
//! that is missing.
//!
//! Only on request. An end that was not written to the end is not damage, and is cut off without it.

use std::io;

use stemmata_model::{
    Event, EventSeq, Gone, Json, LedgerId, Party, Payload, SessionId, Timestamp, artifact_id, to_u64, topics,
};

use super::FileLog;
use super::desk::{Desk, Loaded};
use super::finding::Finding;
use super::folder::{EVENTS, QUARANTINE, SNAPSHOT, failed};
use super::line::{Batch, IntegrityMode, Link, Record, decode, root_link};
use super::meta::Meta;
use super::rewrite::next_generation;
use super::scan::Rest;
use super::snapshot::{self, States};
use super::survey::{Kept, SetAside, Was, survey};
use super::v2::QuarantinedV2;
use crate::error::StoreError;
use crate::files::{OpenFile, write_whole};
use crate::ledger::{CURSOR_STATES, SavedState};

/// Its sender.
pub(super) const LOST_SENDER: &str = "stemmata";

/// What a repair did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Repaired {
    /// Lines that are in the quarantine now.
    pub quarantined: u64,
    /// Events that are lost, each with an event of the topic `EVENT_LOST` in its place.
    pub lost: Vec<EventSeq>,
    /// What was found, in the order of the file.
    pub findings: Vec<Finding>,
}

impl FileLog {
    /// Sets damaged lines of a ledger aside, so that it can be read and written again: they go to `quarantine.ndjson`
    /// with their place, numbers that were theirs are events that say `EVENT_LOST`, and links of a chain are made anew
    /// from there on. Lines that stand in another order come into theirs; a line whose link did not fit, and a batch at
    /// the end that was not written to its end, are set aside too. A ledger without damage is left as it is.
    ///
    /// # Errors
    /// `LedgerMissing`, `Damaged` where `meta.json` has to be restored first, `Bound` where more than 65,536 events are
    /// missing, and where the storage fails. Nothing was changed then, or the quarantine says more than it needs to.
    pub fn repair(&self, id: &LedgerId) -> Result<Repaired, StoreError> {
        self.writing("repairing a ledger")?;
        let desk = self.desk(id);
        if !desk.folder.is_there()? {
            return Err(StoreError::LedgerMissing(id.clone()));
        }
        let alone = desk.alone_unseen()?;
        let Some(meta) = desk.folder.meta()? else { return Err(StoreError::LedgerMissing(id.clone())) };
        let path = desk.folder.path(EVENTS);
        let Some(file) = desk.folder.open(EVENTS)? else { return Err(StoreError::LedgerMissing(id.clone())) };
        let proven = desk.folder.proven()?;
        let mut loaded = Loaded { proven, ..Loaded::new(id, file, &meta) };
        loaded.read_on().map_err(failed("reading", &path))?;
        if !matches!(loaded.rest, Some(Rest::Damaged(_))) {
            return Ok(Repaired::default());
        }
        let mut survey = survey(&loaded, &meta, &desk)?;
        unify(&mut survey.kept, &meta);
        quarantine(&desk, loaded.file.as_ref(), &survey.quarantined)?;
        let states = self.states(&desk.folder)?;
        let kept = still_right(&states, &survey.kept, meta.base);
        if kept != states {
            desk.folder.write(SNAPSHOT, &snapshot::encode(&kept))?;
        }
        next_generation(&desk)?;
        write(&desk, loaded.file.as_ref(), &meta, &survey.kept)?;
        drop(alone);
        let lost = survey.kept.iter().filter(|kept| matches!(kept, Kept::Lost { .. }));
        Ok(Repaired {
            quarantined: to_u64(survey.quarantined.len()),
            lost: lost.filter_map(|kept| EventSeq::new(kept.seq())).collect(),
            findings: survey.findings,
        })
    }
}

/// Returns the states that a repair leaves right: those that end before the first event that is none any more, and cursors,
/// which are not made of what events say. Once the log has grown past the others, nobody could tell.
fn still_right(states: &States, kept: &[Kept], base: u64) -> States {
    let end = kept.last().map_or(base, Kept::seq);
    let lost = kept.iter().find(|kept| matches!(kept, Kept::Lost { .. })).map(Kept::seq);
    let is_right = |state: &SavedState| {
        let knows_lost = lost.is_some_and(|lost| state.through >= lost);
        state.through <= end && (!knows_lost || state.name.starts_with(CURSOR_STATES))
    };
    states
        .iter()
        .filter(|(_, state)| is_right(state))
        .map(|(name, state)| (name.clone(), state.clone()))
        .collect()
}

/// Adds lines to the quarantine, durably, before they leave the ledger: each is read once more, so that only one of them
/// is in memory.
fn quarantine(desk: &Desk, events: &dyn OpenFile, lines: &[SetAside]) -> Result<(), StoreError> {
    let path = desk.folder.path(QUARANTINE);
    let during = failed("writing", &path);
    let files = &desk.folder.files;
    let mut file = match files.extend(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => files.create(&path),
        opened => opened,
    }
    .map_err(&during)?;
    for SetAside { line, byte, length, reason } in lines {
        let mut bytes = vec![0; *length];
        events.read_at(*byte, &mut bytes).map_err(&during)?;
        let text = std::str::from_utf8(&bytes).ok().map(str::to_owned);
        let hex = text.is_none().then(|| bytes.iter().map(|byte| format!("{byte:02x}")).collect());
        let line = QuarantinedV2 { line: *line, byte: *byte, reason: reason.clone(), text, hex };
        let text = serde_json::to_string(&line).expect("texts and numbers are JSON");
        file.append(format!("{text}\n").as_bytes()).map_err(&during)?;
    }
    file.sync().map_err(during)?;
    desk.folder.sync()
}

/// The batch that each line is of: its own where that is whole, else a batch for itself.
fn unify(kept: &mut [Kept], meta: &Meta) {
    // A number of a batch may be any that a line says.
    let place = |seq: u64| usize::try_from(seq.checked_sub(meta.base)?.checked_sub(1)?).ok();
    let mut at = 0;
    while at < kept.len() {
        let own = match kept.get(at) {
            Some(Kept::Line { batch, .. }) => *batch,
            Some(Kept::Lost { .. }) | None => {
                at += 1;
                continue;
            }
        };
        let is_whole = place(own.first) == Some(at)
            && kept.get(at..at + own.size).is_some_and(|lines| {
                lines.iter().all(|line| matches!(line, Kept::Line { batch, .. } if *batch == own))
            });
        if is_whole {
            at += own.size;
            continue;
        }
        if let Some(Kept::Line { batch, seq, .. }) = kept.get_mut(at) {
            // What a line says of others may be any number where lines have no checksum.
            let durable = batch.durable.min(seq.saturating_sub(1));
            *batch = Batch { first: *seq, size: 1, durable };
        }
        at += 1;
    }
}

/// Writes the ledger anew.
fn write(desk: &Desk, file: &dyn OpenFile, meta: &Meta, kept: &[Kept]) -> Result<(), StoreError> {
    let path = desk.folder.path(EVENTS);
    let during = failed("writing", &path);
    write_whole(desk.folder.files.as_ref(), &path, &during, |out| {
        let mut link: Link = root_link(&desk.id);
        let mut last_at: Option<Timestamp> = None;
        for line in kept {
            let mut record = match line {
                Kept::Line { byte, length, batch, at, .. } => {
                    let mut bytes = vec![0; *length];
                    file.read_at(*byte, &mut bytes).map_err(&during)?;
                    let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
                    let read = decode(text, meta.mode).map_err(io::Error::other).map_err(&during)?;
                    last_at = Some(*at);
                    Record { batch: *batch, ..read }
                }
                Kept::Lost { seq, was } => {
                    let at = last_at.map_or(meta.created_at, |at| {
                        Timestamp::from_micros(at.as_micros().saturating_add(1))
                    });
                    last_at = Some(at);
                    let Some(seq) = EventSeq::new(*seq) else { continue };
                    lost(seq, at, *was)
                }
            };
            if meta.mode == IntegrityMode::Chain {
                link = record.link_after(&link);
                record.link = Some(link);
            }
            out.write_all(record.encode(meta.mode).as_bytes()).map_err(&during)?;
        }
        Ok(())
    })
}

/// Makes what stands in for an event that is missing.
fn lost(seq: EventSeq, at: Timestamp, was: Option<Was>) -> Record {
    let (hash, bytes) = was.map_or_else(|| (artifact_id(b""), 0), |was| (was.hash, was.bytes));
    let metadata = was.map(|Was { line, .. }| {
        Json::parse(&format!("{{\"quarantined_line\":{line}}}")).expect("a number in an object is JSON")
    });
    let party = |name| Party::new(name).expect("a constant name is a name");
    let event = Event {
        seq,
        session: SessionId::new(LOST_SENDER).expect("a constant name is a name"),
        at,
        topic: topics::topic(topics::EVENT_LOST),
        sender: party(LOST_SENDER),
        receiver: party(stemmata_model::NewEvent::BROADCAST),
        payload: Payload::Gone(Gone { hash, bytes, forgotten: false }),
        metadata,
        replayable: false,
    };
    let batch = Batch { first: seq.get(), size: 1, durable: seq.get() - 1 };
    Record { event, batch, receipt: None, metadata_hash: None, keys: Vec::new(), link: None }
}
