//! The memory of a project: what its sessions say together.
//!
//! The order in which sessions come does not matter; of several states of one session the one that has folded most counts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use stemmata_model::{EventSeq, SessionId};

use super::bounds::Bounds;
use super::session::SessionMemory;
use super::text;
use super::v1::{Evidence, Items, ThreadKind, TurnSaid};

/// Turns of a project's window at most.
pub(super) const PROJECT_TURNS_MAX: usize = 24;

/// The memory of a project.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProjectMemory {
    /// Sessions that it is made of, where they are still known one by one.
    pub sessions: usize,
    /// The tools that sessions were in, by session, where they are known.
    pub tools: BTreeMap<String, String>,
    /// The recent turns of all sessions, by time.
    pub window: Vec<TurnSaid>,
    /// What lasts.
    pub items: Items,
}

impl ProjectMemory {
    /// Merges sessions, and what lasts of others, by time, session and ordinal.
    pub fn merge<'a>(
        sessions: impl IntoIterator<Item = &'a SessionMemory>,
        settled: impl IntoIterator<Item = &'a Items>,
    ) -> Self {
        Self::merge_told(sessions, [], settled)
    }

    /// Merges what a ledger's events and what transcripts say of sessions. Of a session that both tell of both count: an
    /// event may say one thing of it, and the transcript all. What is said by both counts once: turns, decisions and tasks by
    /// their words. No act can be recognised in both, so touches of files and errors count per session as often as the
    /// telling says that has more of them, and not as often as both together. What lasts of others is not known by session
    /// any more, and is added.
    pub fn merge_told<'a>(
        events: impl IntoIterator<Item = &'a SessionMemory>,
        transcripts: impl IntoIterator<Item = &'a SessionMemory>,
        settled: impl IntoIterator<Item = &'a Items>,
    ) -> Self {
        Self::merge_blocks(events, transcripts, settled, [])
    }

    /// Merges as [`ProjectMemory::merge_told`] does, together with blocks: memories of other sessions that were merged before,
    /// no session in two of them. A block keeps what a project keeps, so what made room in it does not come back; and a
    /// copy of a session in another block counts its touches of files once more.
    pub fn merge_blocks<'a>(
        events: impl IntoIterator<Item = &'a SessionMemory>,
        transcripts: impl IntoIterator<Item = &'a SessionMemory>,
        settled: impl IntoIterator<Item = &'a Items>,
        blocks: impl IntoIterator<Item = &'a Self>,
    ) -> Self {
        let (events, transcripts) = (latest(events), latest(transcripts));
        let blocks: Vec<&Self> = blocks.into_iter().collect();
        let ids: BTreeSet<&str> = events.keys().chain(transcripts.keys()).copied().collect();
        let mut window = turns(&transcripts);
        let words = |turn: &TurnSaid| (turn.proof.session.clone(), turn.by, turn.text.clone());
        let in_transcripts: BTreeSet<_> = window.iter().map(words).collect();
        // The times of a log are its own: a turn that was published and captured is known by its words.
        window.extend(turns(&events).into_iter().filter(|turn| !in_transcripts.contains(&words(turn))));
        window.extend(blocks.iter().flat_map(|block| block.window.iter().cloned()));
        window.sort();
        // What a copy of a session says was said once.
        let mut said = BTreeSet::new();
        window.retain(|turn| {
            turn.proof.at.is_none() || said.insert((turn.proof.at, turn.proof.source.clone()))
        });
        let surplus = window.len().saturating_sub(PROJECT_TURNS_MAX);
        window.drain(..surplus);
        let tools = transcripts
            .values()
            .chain(events.values())
            .filter_map(|one| Some((one.session().to_owned(), one.tool()?.to_owned())))
            .chain(blocks.iter().flat_map(|block| block.tools.clone()))
            .collect();
        let sessions = ids.len() + blocks.iter().map(|block| block.sessions).sum::<usize>();
        let settled = settled.into_iter().chain(blocks.iter().map(|block| &block.items)).cloned();
        let of = |told: &Latest<'_>, id| told.get(id).map(|session| session.items().clone());
        let lasting = ids.iter().filter_map(|id| match (of(&events, *id), of(&transcripts, *id)) {
            (Some(events), Some(transcript)) => Some(Items::told_by_both(&events, &transcript)),
            (events, transcript) => transcript.or(events),
        });
        let items = settled.chain(lasting);
        Self { sessions, tools, window, items: Items::merged(items, &Bounds::PROJECT) }
    }

    /// Leaves out what an event of a session says by itself: as a turn, and as a prompt that nobody has answered.
    pub fn leave_out_event(&mut self, session: &SessionId, seq: EventSeq) {
        let is_event = |proof: &Evidence| proof.ordinal == seq.get() && proof.session == session.as_str();
        self.window.retain(|turn| !is_event(&turn.proof));
        self.items.threads.retain(|thread| thread.kind != ThreadKind::Prompt || !is_event(&thread.proof));
    }

    /// Returns the memory for people, in at most so many characters: decisions, open tasks, files, errors, turns.
    pub fn text(&self, chars_max: usize) -> String {
        text::render(self, chars_max)
    }

    /// Returns the memory for programs: `docs/format/state.md`.
    pub fn to_json(&self) -> Value {
        let mut items = serde_json::to_value(&self.items).expect("items have only text keys");
        if let Some(fields) = items.as_object_mut() {
            // They resolve errors and say nothing else.
            fields.remove("successes");
            fields.insert("sessions".to_owned(), self.sessions.into());
            fields.insert("tools".to_owned(), json!(self.tools));
            fields.insert("window".to_owned(), json!(self.window));
        }
        items
    }
}

/// Of several states of one session, the one that has folded most.
type Latest<'a> = BTreeMap<&'a str, &'a SessionMemory>;

fn latest<'a>(sessions: impl IntoIterator<Item = &'a SessionMemory>) -> Latest<'a> {
    let mut latest = Latest::new();
    for session in sessions {
        // To write a state costs more than to merge it: only two that have folded as much are compared by what they say.
        let is_later = latest.get(session.session()).is_none_or(|one| {
            let by_state = || one.save().as_str().cmp(session.save().as_str());
            one.folded().cmp(&session.folded()).then_with(by_state).is_lt()
        });
        if is_later {
            latest.insert(session.session(), session);
        }
    }
    latest
}

fn turns(sessions: &Latest<'_>) -> Vec<TurnSaid> {
    sessions.values().flat_map(|session| session.window()).cloned().collect()
}
