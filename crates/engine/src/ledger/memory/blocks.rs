//! How the memory of a project stays quick: what its older sessions say together is merged once, in blocks that are saved.
//!
//! Which sessions are in which block follows from the sessions alone, so a saved block and one that is made anew say the same.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::thread;

use stemmata_model::{LedgerId, Note, NoteCode, Timestamp};
use stemmata_prompt::reduce::Reducer as _;
use stemmata_prompt::reduce::memory::v1::Items;
use stemmata_prompt::reduce::memory::{Block, MemoryReducer, ProjectMemory, SessionMemory};
use stemmata_runtimes::translate::runtime_of;
use stemmata_store::{SavedState, Session, SessionOrigin};

use super::{OneSession, Read, SAVED_AT_ONCE, TranscriptPlace, Transcripts, name_of};
use crate::engine::Engine;
use crate::error::Result;

/// The newest sessions, which are in no block: those that go on are among them, so that their blocks need not be merged again.
const LOOSE_SESSIONS: usize = 16;

/// Blocks of this machine's sessions: a session that changed costs a sixteenth of them and a merge of sixteen.
const BLOCKS: u8 = 16;

/// Sessions that are folded before their memories are taken over; a second thread folds half of them.
const FOLDED_AT_ONCE: usize = 16;

/// What the names of blocks' states begin with. It begins as those of memories do, so that forgetting drops it with them, and
/// not as those of sessions do.
pub(super) const BLOCK_PREFIX: &str = "memory-merged/";

/// A session of a project.
pub(super) struct Member {
    pub(super) session: Session,
    /// The machine that it came from in a bundle.
    pub(super) foreign_machine: Option<String>,
}

/// The sessions of a project by where they are merged. All sessions with one id are in one place, since of these the one that
/// has folded most counts.
struct Groups<'m> {
    loose: Vec<&'m Member>,
    /// This machine's.
    blocks: BTreeMap<u8, Vec<&'m Member>>,
    /// Those of bundles.
    foreign: Vec<&'m Member>,
}

impl<'m> Groups<'m> {
    /// Groups sessions, the newest first. Loose are also those that the ledger's events tell of, and those of which a bundle has a copy:
    /// what two tellings of a session say is not their sum.
    fn of(members: &'m [Member], told_by_events: &BTreeSet<&str>) -> Self {
        let id = |member: &'m Member| member.session.session.as_str();
        let own = || members.iter().filter(|member| member.foreign_machine.is_none());
        let own_ids: BTreeSet<&str> = own().map(id).collect();
        let mut loose_ids: BTreeSet<&str> = own().take(LOOSE_SESSIONS).map(id).collect();
        let foreign = members.iter().filter(|member| member.foreign_machine.is_some());
        loose_ids.extend(foreign.map(id).filter(|id| own_ids.contains(id)));
        loose_ids.extend(told_by_events);
        let mut groups = Self { loose: Vec::new(), blocks: BTreeMap::new(), foreign: Vec::new() };
        for member in members {
            if loose_ids.contains(id(member)) {
                groups.loose.push(member);
            } else if member.foreign_machine.is_some() {
                groups.foreign.push(member);
            } else {
                let block = blake3::hash(id(member).as_bytes()).as_bytes()[0] % BLOCKS;
                groups.blocks.entry(block).or_default().push(member);
            }
        }
        groups
    }
}

/// Reads the memories of sessions, and what is saved of them.
pub(super) struct Reading<'e> {
    engine: &'e Engine,
    /// The ledgers of the project; states are saved in the first.
    ledgers: &'e [LedgerId],
    ledger: &'e LedgerId,
    /// Up to when sessions count; what is saved of a block counts where none of its sessions went on since.
    until: Option<Timestamp>,
    /// The states of a log that reads all of them anyway when it is asked for one.
    states: Option<BTreeMap<String, SavedState>>,
    new: Read,
    is_any_unread: bool,
    /// Events and entries that were read.
    pub(super) read: u64,
    /// Sessions that say something.
    pub(super) told: u64,
    /// Where these are.
    pub(super) places: Transcripts,
    pub(super) notes: Vec<Note>,
}

impl<'e> Reading<'e> {
    /// Begins to read what is saved of a ledger that is at an epoch.
    pub(super) fn new(
        engine: &'e Engine,
        ledgers: &'e [LedgerId],
        (epoch, until): (u64, Option<Timestamp>),
    ) -> Result<Self> {
        let ledger = ledgers.first().expect("a project has the ledger that was asked for");
        let states =
            (!engine.is_log_the_store).then(|| engine.log.saved_states(ledger, "memory")).transpose()?;
        let by_name =
            |states: Vec<SavedState>| states.into_iter().map(|one| (one.name.clone(), one)).collect();
        Ok(Self {
            engine,
            ledgers,
            ledger,
            until,
            states: states.map(by_name),
            new: Read { epoch, states: Vec::new(), compacted_at: None },
            is_any_unread: false,
            read: 0,
            told: 0,
            places: Transcripts::new(),
            notes: Vec::new(),
        })
    }

    /// Merges what the ledgers' events and the project's sessions say, and saves how far sessions were read.
    pub(super) fn merged(
        &mut self,
        told: &[MemoryReducer],
        members: &[Member],
        wants_foreign: bool,
    ) -> Result<ProjectMemory> {
        let events = || told.iter().flat_map(MemoryReducer::sessions);
        let told_by_events = events().map(SessionMemory::session).collect();
        let groups = Groups::of(members, &told_by_events);
        let mut blocks = vec![self.own(&groups.blocks)?];
        if wants_foreign {
            blocks.push(self.block("foreign", &groups.foreign)?);
        }
        let is_wanted = |member: &&Member| wants_foreign || member.foreign_machine.is_none();
        let loose = groups.loose.into_iter().filter(is_wanted).collect::<Vec<_>>();
        let (own, of_subagents, _) = self.sessions(&loose)?;
        self.save();
        Ok(ProjectMemory::merge_blocks(
            events(),
            &own,
            of_subagents.iter().chain(told.iter().map(MemoryReducer::settled)),
            blocks.iter().map(|block| &block.memory),
        ))
    }

    /// Returns the blocks of this machine's sessions as one.
    fn own(&mut self, blocks: &BTreeMap<u8, Vec<&Member>>) -> Result<Block> {
        let all: Vec<&Member> = blocks.values().flatten().copied().collect();
        self.saved_or("own", &all, &mut |reading| {
            let made = blocks.iter().map(|(number, members)| reading.block(&format!("{number:02}"), members));
            Ok(Block::merge(&made.collect::<Result<Vec<_>>>()?))
        })
    }

    /// Returns what the sessions of a block say.
    fn block(&mut self, name: &str, members: &[&Member]) -> Result<Block> {
        self.saved_or(name, members, &mut |reading| {
            let (own, of_subagents, silent) = reading.sessions(members)?;
            Ok(Block { memory: ProjectMemory::merge_told([], &own, &of_subagents), silent })
        })
    }

    /// Returns a block as it is saved, or makes and saves it where its sessions have changed since.
    fn saved_or(
        &mut self,
        name: &str,
        members: &[&Member],
        make: &mut dyn FnMut(&mut Self) -> Result<Block>,
    ) -> Result<Block> {
        if members.is_empty() {
            return Ok(Block::default());
        }
        let is_later = |until: Timestamp| {
            members.iter().any(|member| member.session.last_at.is_none_or(|last| last > until))
        };
        if self.until.is_some_and(is_later) {
            return make(self);
        }
        let (name, digest) = (format!("{BLOCK_PREFIX}{name}"), digest(members));
        let saved = self.saved(&name)?.filter(|saved| saved.position.as_deref() == Some(digest.as_str()));
        if let Some(block) = saved.and_then(|saved| Block::load(saved.version, &saved.state).ok()) {
            for member in members.iter().filter(|member| !block.silent.contains(&name_of(&member.session))) {
                self.tells(member, member.session.tip);
            }
            return Ok(block);
        }
        let was_unread = std::mem::take(&mut self.is_any_unread);
        let block = make(self)?;
        // What could not be read may be readable next time.
        if !self.is_any_unread {
            self.keep(SavedState {
                name,
                version: MemoryReducer::VERSION,
                through: 0,
                position: Some(digest),
                state: block.save(),
            });
        }
        self.is_any_unread |= was_unread;
        Ok(block)
    }

    /// Folds sessions. What a subagent was told and planned is its own affair; what it touched and what failed is the
    /// project's.
    fn sessions(
        &mut self,
        members: &[&Member],
    ) -> Result<(Vec<SessionMemory>, Vec<Items>, BTreeSet<String>)> {
        let (mut own, mut of_subagents, mut silent) = (Vec::new(), Vec::new(), BTreeSet::new());
        for members in members.chunks(FOLDED_AT_ONCE) {
            for (member, one) in members.iter().zip(self.folded(members)?) {
                let session = &member.session;
                let one = match one {
                    Ok(one) => one,
                    Err(error) => {
                        self.is_any_unread = true;
                        let message = format!("session {} is not in the memory: {error}", session.session);
                        self.notes.push(Note::new(NoteCode::Degraded, message));
                        continue;
                    }
                };
                self.read += one.read;
                self.new.compacted_at = self.new.compacted_at.max(one.compacted_at);
                one.saved.into_iter().for_each(|state| self.keep(state));
                // All of it may be turns, which the ledger's events tell.
                if session.origin == SessionOrigin::Api && one.memory.folded() == 0 {
                    silent.insert(name_of(session));
                    continue;
                }
                self.tells(member, one.tip);
                if session.parent_session.is_some() {
                    let items = one.memory.items().clone();
                    of_subagents.push(Items {
                        decisions: Vec::new(),
                        tasks: Vec::new(),
                        threads: Vec::new(),
                        ..items
                    });
                } else {
                    own.push(one.memory);
                }
            }
        }
        Ok((own, of_subagents, silent))
    }

    /// Folds some sessions, each from its saved state on.
    fn folded(&self, members: &[&Member]) -> Result<Vec<Result<OneSession>>> {
        let saved = members.iter().map(|member| Ok((*member, self.saved(&name_of(&member.session))?)));
        let saved = saved.collect::<Result<Vec<_>>>()?;
        let (engine, ledgers, until) = (self.engine, self.ledgers, self.until);
        let fold = |part: &[(&Member, Option<SavedState>)]| -> Vec<Result<OneSession>> {
            let fold = |(member, saved): &(&Member, Option<SavedState>)| {
                engine.session_memory_until(ledgers, &member.session, (saved.as_ref(), until))
            };
            part.iter().map(fold).collect()
        };
        let (here, there) = saved.split_at(saved.len().div_ceil(2));
        Ok(thread::scope(|scope| {
            let reader = || {
                thread::Builder::new().name("memory-folder".to_owned()).spawn_scoped(scope, || fold(there))
            };
            let other = (!there.is_empty()).then(reader);
            let mut folded = fold(here);
            match other {
                Some(Ok(other)) => folded.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic))),
                // The system gives no thread.
                Some(Err(_)) => folded.extend(fold(there)),
                None => {}
            }
            folded
        }))
    }

    fn tells(&mut self, member: &Member, tip: Option<stemmata_model::CommitId>) {
        self.told += 1;
        let (session, foreign_machine) = (&member.session, member.foreign_machine.clone());
        let client = runtime_of(&session.format).to_owned();
        let place = TranscriptPlace { tip, client, foreign_machine };
        self.places.entry(session.session.to_string()).or_insert(place);
    }

    fn saved(&self, name: &str) -> Result<Option<SavedState>> {
        if let Some(states) = &self.states {
            return Ok(states.get(name).cloned());
        }
        let found = self.engine.log.saved_states(self.ledger, name)?;
        Ok(found.into_iter().find(|saved| saved.name == name))
    }

    fn keep(&mut self, state: SavedState) {
        self.new.states.push(state);
        if self.new.states.len() >= SAVED_AT_ONCE {
            self.save();
        }
    }

    fn save(&mut self) {
        let Read { epoch, compacted_at, .. } = self.new;
        let states = std::mem::take(&mut self.new.states);
        self.engine.save_or_note(self.ledger, Read { epoch, states, compacted_at }, &mut self.notes);
    }
}

/// Returns a hash of all that the memories of sessions follow from: which they are and how far they go.
fn digest(members: &[&Member]) -> String {
    let mut lines: Vec<String> = members
        .iter()
        .map(|Member { session, .. }| {
            let about = (
                name_of(session),
                session.tip.map(|tip| tip.to_string()),
                (session.commits, session.bytes),
                (session.origin, session.cwd.as_deref(), session.template.as_str()),
                (session.format.as_str(), session.parent_session.is_some()),
            );
            format!("{about:?}")
        })
        .collect();
    lines.sort();
    blake3::hash(lines.join("\n").as_bytes()).to_hex().to_string()
}
