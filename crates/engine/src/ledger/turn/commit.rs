//! The commit of a turn: which lines of its session it holds, what it follows, and whether it is the last word on them.
//!
//! What a turn's events are is decided where turns begin, go on and end.

use stemmata_api::v1::Checkpointed;
use stemmata_model::{
    ArtifactId, Closure, Commit, CommitId, CommitType, Entry, Event, EventSeq, FormatId, Granularity, Json,
    NewEvent, NewPayload, Note, NoteCode, Payload, Timestamp, Tokens, Topic, Trigger, artifact_id,
    group_tools, to_u64, topics,
};
use stemmata_store::{
    Append, Appended, ContentPart, Coverage, EventQuery, Ledger, LedgerChange, NewContent, PAGE_ROWS_MAX,
    SessionKey, Write,
};

use super::guard::{Acted, PlacedReasons, reasons_in};
use super::{FORMAT, TurnOf};
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{FormatUse, Result};
use crate::verbs::checkpoint::{CheckpointContent, CheckpointRequest, Held, Spot};
use crate::verbs::materialize::Stop;

/// What a commit of lines is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Boundary {
    /// A step in the middle of a turn.
    Step,
    /// Somebody asks what was said so far.
    Look,
    /// A turn has begun, and the guard acts before the model is called.
    Begin {
        /// The event of what the user said.
        said: EventSeq,
    },
    /// The provider refused the context, which took so many tokens.
    Overflow {
        /// What it took; at least 1.
        refused: Tokens,
        /// Whether the guard prunes without asking for the zone.
        prunes: bool,
    },
    /// The session is about to be compacted.
    Compaction,
    /// The end of a turn, which may be the session's.
    TurnEnd { ends_session: bool },
}

/// What was stored of a turn.
#[derive(Default)]
pub(super) struct Stored {
    pub(super) appended: Option<Appended>,
    pub(super) checkpoint: Option<Checkpointed>,
    /// What the guard did.
    pub(super) acted: Option<Acted>,
    /// The entries that were appended now.
    pub(super) said: Vec<Entry>,
    /// Whether it was stored by an earlier try.
    pub(super) is_repeated: bool,
    /// Whether the session has said more since that try.
    pub(super) is_late: bool,
    /// Why there is no commit, and what was lost of what it follows.
    pub(super) notes: Vec<Note>,
}

/// What the next commit of a session follows, and what it takes the place of.
pub(super) struct Base {
    pub(super) parent: Option<Commit>,
    /// The provisional commit that it replaces.
    pub(super) step: Option<Commit>,
    /// The last event whose line is in a closed commit of the session.
    pub(super) covered: Option<EventSeq>,
    notes: Vec<Note>,
}

/// What the next commit of a session is below, with nothing made for it yet.
pub(super) struct Below {
    /// Its last closed commit, or the head that it goes on from, in whatever format.
    pub(super) parent: Option<CommitId>,
    step: Option<Commit>,
    pub(super) covered: Option<EventSeq>,
}

impl Engine {
    /// Returns the key of a session of turns.
    pub(super) fn turns_key(&self, turn: &TurnOf) -> SessionKey {
        SessionKey { machine: self.identity.machine.clone(), path: format!("api:{}", turn.session) }
    }

    /// Makes a commit of the session's lines after the last one that a closed commit covers, up to the ledger's last one
    /// and with what is to be appended.
    pub(super) fn commit_lines(
        &self,
        turn: &TurnOf,
        append: Option<(Append, Option<Ledger>)>,
        boundary: Boundary,
    ) -> Result<Stored> {
        let key = self.turns_key(turn);
        let tip = self.store.session(&key)?.and_then(|session| session.tip);
        let (append, ledger) = match append {
            Some((append, ledger)) => (Some(append), ledger),
            // Behind the tip, which else might cover more than this says there is.
            None => (None, self.log.ledger(&turn.ledger)?),
        };
        // Read before the lines: forgetting one of them raises the epoch, and the batch below is refused then.
        let epoch = self.store.ledger(&turn.ledger)?.map_or(0, |known| known.epoch);
        let (last, cwd) = ledger.map_or((0, None), |known| (known.last, known.root));
        let Base { parent, step, covered, notes } = self.base(turn, tip, last)?;
        let (mut lines, mut reasons) = self.lines_after(turn, covered, last)?;
        let new = append.iter().flat_map(|append| &append.events);
        let numbered = (last + 1..).zip(new).filter(|(_, event)| event.session == turn.session);
        for (seq, event) in numbered {
            let now = append.as_ref().map_or(Timestamp::EPOCH, |append| append.now);
            lines.extend(new_line(event).and_then(|line| Line::of_event((seq, now), &event.topic, line)));
            reasons.extend(reasons_in(&event.topic, new_data(event)).into_iter().map(|reason| (seq, reason)));
        }
        let count = append.as_ref().map_or(0, |append| append.events.len());
        let mut through = last + to_u64(count);
        let (closure, waiting) = closing(&lines, turn.granularity, boundary)?;
        if let Some(first) = lines.get(waiting) {
            through = first.seq - 1;
        }
        lines.truncate(waiting);
        let is_said = match (&step, lines.last()) {
            (_, None) => true,
            // What the provisional commit holds already is not stored once more, unless it is closed now.
            (Some(step), Some(last)) if closure == Closure::Provisional => {
                self.store.coverage(step.id)?.is_some_and(|covered| covered.through.get() >= last.seq)
            }
            _ => false,
        };
        let (Some(through), false) = (EventSeq::new(through), is_said) else {
            let appended = append.map(|append| self.log.append(append)).transpose()?;
            let step = step.filter(|_| !lines.is_empty());
            let checkpoint = step.map(|step| Checkpointed { id: step.id, existed: true, notes: Vec::new() });
            return Ok(Stored { appended, checkpoint, notes, ..Stored::default() });
        };
        // The time of what it holds: of two that commit the same lines behind the same commit both make the same one.
        let said_at = lines.last().map_or_else(|| self.clock.now(), |line| line.at);
        let made_at = parent.as_ref().map_or(said_at, |parent| said_at.max(parent.core.created_at));
        let mut held =
            held(&lines, append.map(|append| Write::Append(Box::new(append))), self.is_log_the_store);
        // Of two that read the same, the other one may have closed the turn since: what is made then stands behind its commit.
        held.contents.insert(0, Write::ExpectTip { key: key.clone(), tip });
        let scrubber = self.scrubber_at(cwd.as_deref().map(std::path::Path::new))?;
        let mut request = request(turn, parent.as_ref(), (&held, boundary), made_at);
        // What came behind lines that wait is of the commit that will hold them.
        let covered = reasons.into_iter().filter(|(seq, _)| *seq <= through.get());
        request.reasons = covered.map(|(_, reason)| reason).collect();
        let ledger = turn.ledger.clone();
        let elsewhere = (!self.is_log_the_store).then(|| {
            let change = LedgerChange::new(ledger.clone(), self.clock.now());
            Write::ChangeLedger(Box::new(change))
        });
        let spot = Spot {
            parent: parent.as_ref(),
            key: &key,
            cwd,
            scrubber: &scrubber,
            closure,
            granularity: Some(turn.granularity),
        };
        let (made, done) = self.commit_held(&request, held, spot, |commit, batch| {
            // A ledger that is kept elsewhere is known to the store by name only.
            batch.extend(elsewhere);
            batch.push(Write::ExpectEpoch { ledger: ledger.clone(), epoch });
            batch.push(Write::Covers(Coverage { commit, ledger, through }));
            let replaced = step.filter(|step| step.id != commit);
            batch.extend(replaced.map(|step| Write::Cover { commit: step.id }));
        })?;
        Ok(Stored { appended: done.appended, checkpoint: Some(made), notes, ..Stored::default() })
    }

    /// Returns what the next commit of a session follows: its last closed one, or the head of what it goes on from.
    pub(super) fn base(&self, turn: &TurnOf, tip: Option<CommitId>, last: u64) -> Result<Base> {
        let Below { parent, step, covered } = self.below(turn, tip, last)?;
        let (parent, notes) = match (tip, parent) {
            (None, Some(head)) => self.first_parent(head)?,
            (_, parent) => {
                (parent.map(|parent| self.store.commit(parent)).transpose()?.flatten(), Vec::new())
            }
        };
        Ok(Base { parent, step, covered, notes })
    }

    /// Returns what the next commit of a session is below. Stores nothing.
    pub(super) fn below(&self, turn: &TurnOf, tip: Option<CommitId>, last: u64) -> Result<Below> {
        let step = self.open_step(tip)?;
        let Some(tip) = tip else {
            let opening = self.opening_of(&turn.ledger, &turn.session, EventSeq::new(last))?;
            let covered = opening.as_ref().map(|opening| opening.seq);
            return Ok(Below { parent: opening.and_then(|opening| opening.head), step, covered });
        };
        let parent = step.as_ref().map_or(Some(tip), |step| step.core.parent);
        let commit = parent.map(|parent| self.store.commit(parent)).transpose()?.flatten();
        let covered = match &commit {
            Some(commit) => self.covered_by(commit, turn, last)?,
            None => None,
        };
        Ok(Below { parent: commit.map(|commit| commit.id), step, covered })
    }

    /// Returns the commit that a session's first one follows: the head, or its snapshot in the format of turns. Made with the
    /// first commit, so that a turn that never ends leaves nothing.
    fn first_parent(&self, head: CommitId) -> Result<(Option<Commit>, Vec<Note>)> {
        let Some(commit) = self.store.commit(head)?.filter(|commit| commit.closure != Closure::Forgotten)
        else {
            let message = format!(
                "{head} was forgotten since the session began: its commits begin a chain of their own"
            );
            return Ok((None, vec![Note::new(NoteCode::Degraded, message)]));
        };
        let format = FormatId::new(FORMAT)?;
        if commit.core.format == format {
            return Ok((Some(commit), Vec::new()));
        }
        let adapter = Self::adapter(&format, FormatUse::Write)?;
        let (snapshot, made) = self.translated_snapshot(head, adapter, Stop::Compaction)?;
        Ok((self.store.commit(snapshot)?, made.notes))
    }

    /// Returns how far the chain of a commit covers a session's events: its newest commits may be of something else. Below
    /// the head that the session goes on from nothing is the session's.
    fn covered_by(&self, tip: &Commit, turn: &TurnOf, last: u64) -> Result<Option<EventSeq>> {
        let mut walk = Walk::new(self.store.as_ref(), tip.core.parent);
        let mut next = Some(tip.clone());
        let mut opening = None;
        while let Some(commit) = next {
            let coverage = self.store.coverage(commit.id)?;
            // Beyond the ledger's end it is of a log that was kept elsewhere.
            let own = coverage.filter(|known| known.ledger == turn.ledger && known.through.get() <= last);
            if let Some(own) = own {
                return Ok(Some(own.through));
            }
            // Read only where the newest commit is not a turn's.
            if opening.is_none() {
                opening = Some(self.opening_of(&turn.ledger, &turn.session, EventSeq::new(last))?);
            }
            if let Some(Some(opening)) = &opening
                && opening.head.is_some_and(|head| head == commit.id)
            {
                return Ok(Some(opening.seq));
            }
            next = walk.next()?;
        }
        Ok(None)
    }

    /// Returns the lines of a session's events after one and up to another, in order, and the reasons for checkpoints among the
    /// events, each with its place.
    pub(super) fn lines_after(
        &self,
        turn: &TurnOf,
        after: Option<EventSeq>,
        through: u64,
    ) -> Result<(Vec<Line>, PlacedReasons)> {
        let (mut lines, mut reasons) = (Vec::new(), Vec::new());
        let mut query = EventSeq::new(through).map(|through| EventQuery {
            session: Some(turn.session.clone()),
            through: Some(through),
            // They are in no commit, and some have megabytes: a turn would read its own outputs at each of its steps.
            without: BESIDE.map(topics::topic).to_vec(),
            ..EventQuery::after(after, PAGE_ROWS_MAX)
        });
        while let Some(asked) = query {
            let page = self.log.page(&turn.ledger, &asked)?;
            for event in &page.events {
                let place = (event.seq.get(), event.at);
                let line = line(event).and_then(|line| Line::of_event(place, &event.topic, line));
                lines.extend(line);
                let given = reasons_in(&event.topic, data(event)).into_iter();
                reasons.extend(given.map(|reason| (event.seq.get(), reason)));
            }
            query = asked.following(&page);
        }
        Ok((lines, reasons))
    }

    /// Returns the bytes of a session's lines after one event and up to another.
    pub(super) fn line_bytes_after(
        &self,
        turn: &TurnOf,
        after: Option<EventSeq>,
        through: u64,
    ) -> Result<Vec<u8>> {
        let (lines, _) = self.lines_after(turn, after, through)?;
        Ok(lines.into_iter().flat_map(|line| line.bytes).collect())
    }
}

/// Returns the bytes of the lines that events of a session will have.
pub(super) fn new_lines(turn: &TurnOf, events: &[NewEvent]) -> Vec<u8> {
    let own = events.iter().filter(|event| event.session == turn.session);
    let lines = own.filter_map(|event| Line::of_event((0, Timestamp::EPOCH), &event.topic, new_line(event)?));
    lines.flat_map(|line| line.bytes).collect()
}

/// A line that a commit is to hold.
pub(super) struct Line {
    seq: u64,
    at: Timestamp,
    id: ArtifactId,
    bytes: Vec<u8>,
}

impl Line {
    /// Returns what an event's line adds to a commit.
    fn of_event((seq, at): (u64, Timestamp), topic: &Topic, line: &Json) -> Option<Self> {
        (!is_beside(topic.as_str())).then(|| {
            let bytes = format!("{line}\n").into_bytes();
            Self { seq, at, id: artifact_id(&bytes), bytes }
        })
    }
}

/// Topics whose lines stand beside the conversation and are in no commit: raw output, and whole outputs of tools.
pub(super) const BESIDE: [&str; 2] = [topics::AGENT_OUTPUT, topics::TOOL_OUTPUT];

/// Says whether lines of a topic stand beside the conversation and are in no commit.
pub(super) fn is_beside(topic: &str) -> bool {
    BESIDE.contains(&topic)
}

/// Returns whether a commit of lines is closed, and how many of them it holds; the others wait.
fn closing(lines: &[Line], granularity: Granularity, boundary: Boundary) -> Result<(Closure, usize)> {
    let all = lines.len();
    Ok(match (boundary, granularity) {
        // What waits for its result comes behind the compaction.
        (Boundary::Step, Granularity::Message) | (Boundary::Compaction, _) => {
            (Closure::Closed, answered(&entries(lines)?, all))
        }
        (Boundary::Look | Boundary::Step | Boundary::Begin { .. } | Boundary::Overflow { .. }, _) => {
            (Closure::Provisional, all)
        }
        (Boundary::TurnEnd { ends_session: false }, Granularity::Every(turns)) => {
            let prompts = entries(lines)?.iter().filter(|(_, entry)| entry.is_prompt()).count();
            let is_early = u32::try_from(prompts).is_ok_and(|prompts| prompts < turns);
            (if is_early { Closure::Provisional } else { Closure::Closed }, all)
        }
        (Boundary::TurnEnd { .. }, _) => (Closure::Closed, all),
    })
}

/// Returns the entries of lines, each with the position of its line.
fn entries(lines: &[Line]) -> Result<Vec<(usize, Entry)>> {
    let adapter = Engine::adapter(&FormatId::new(FORMAT)?, FormatUse::Read)?;
    let decoded = lines.iter().enumerate().flat_map(|(position, line)| {
        adapter.decode(&line.bytes).entries.into_iter().map(move |entry| (position, entry))
    });
    Ok(decoded.collect())
}

/// Returns how many lines stand before the first call that waits for a result: what follows it may belong to its group.
fn answered(entries: &[(usize, Entry)], all: usize) -> usize {
    let only: Vec<Entry> = entries.iter().map(|(_, entry)| entry.clone()).collect();
    let open = group_tools(&only).into_iter().filter(|group| !group.open.is_empty());
    let first = open.filter_map(|group| group.calls.first().copied()).min();
    first.and_then(|first| entries.get(first)).map_or(all, |(position, _)| *position)
}

/// Returns the line that an event has.
const fn line(event: &Event) -> Option<&Json> {
    match &event.payload {
        Payload::Line { line, .. } => Some(line),
        Payload::Plain { .. } | Payload::Gone(_) => None,
    }
}

/// Returns the line that an event will have.
const fn new_line(event: &NewEvent) -> Option<&Json> {
    match &event.payload {
        NewPayload::Line(line) => Some(line),
        NewPayload::Plain { .. } => None,
    }
}

/// Returns the data that an event has.
const fn data(event: &Event) -> Option<&Json> {
    match &event.payload {
        Payload::Plain { data, .. } => data.as_ref(),
        Payload::Line { .. } | Payload::Gone(_) => None,
    }
}

/// Returns the data that an event will have.
const fn new_data(event: &NewEvent) -> Option<&Json> {
    match &event.payload {
        NewPayload::Plain { data, .. } => data.as_ref(),
        NewPayload::Line(_) => None,
    }
}

/// Returns what a commit of lines holds: ranges of the lines' own contents, so that nothing is stored twice. Where the
/// store has no such contents, because the log is elsewhere, they are stored first.
fn held(lines: &[Line], append: Option<Write>, are_stored: bool) -> Held {
    let bytes: Vec<u8> = lines.iter().flat_map(|line| line.bytes.iter().copied()).collect();
    let artifact = artifact_id(&bytes);
    let mut contents: Vec<Write> = append.into_iter().collect();
    if !are_stored {
        contents.extend(lines.iter().map(|line| Write::Content(NewContent::literal(line.bytes.clone()))));
    }
    if lines.len() > 1 {
        let slice =
            |line: &Line| ContentPart::Slice { of: line.id, offset: 0, length: to_u64(line.bytes.len()) };
        contents.push(Write::Content(NewContent::composed(artifact, lines.iter().map(slice).collect())));
    }
    Held { artifact, native: None, contents, bytes, ahead: None }
}

fn request(
    turn: &TurnOf,
    parent: Option<&Commit>,
    (held, boundary): (&Held, Boundary),
    now: Timestamp,
) -> CheckpointRequest {
    CheckpointRequest {
        parent: parent.map(|parent| parent.id),
        commit_type: CommitType::Delta,
        content: CheckpointContent::Stored(held.artifact),
        format: FormatId::new(FORMAT).expect("a constant name is a name"),
        template: turn.template.clone(),
        principal: None,
        machine: None,
        session: turn.session.clone(),
        trigger: match boundary {
            Boundary::Step => Trigger::ToolCall,
            Boundary::Look | Boundary::Begin { .. } | Boundary::Overflow { .. } => Trigger::Explicit,
            Boundary::Compaction => Trigger::Compaction,
            Boundary::TurnEnd { ends_session: true } => Trigger::SessionEnd,
            Boundary::TurnEnd { ends_session: false } => Trigger::TurnBoundary,
        },
        reasons: stemmata_model::Reasons::NONE,
        ticket: turn.ticket.clone(),
        thread: turn.thread.clone(),
        summary: None,
        messages: None,
        tokens: None,
        created_at: Some(now),
        idempotency_key: None,
    }
}
