//! The names of a conversation with what is counted of them, and the pairs that stand together.
//!
//! What of them is shown is decided in `choose`.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::counted::{Counted, Piece, Speaker, mixed};
use super::focus::Focus;
use super::weights::{Counters, is_common, weight};
use crate::compact::names::Class;

/// Names of a line that are bound to each other: a row of a table names more than belongs together.
const LINE_NAMES_MAX: usize = 10;
/// Pairs of names below this weight are not looked at: nearly all pairs are.
const PAIR_WEIGHT_MIN: f64 = 0.03;
/// What a name that is still in the window, or that everybody has, is worth within a pair.
const HIDDEN_SHARE: f64 = 0.5;
/// What a pair is worth beside its lighter name: seen once, and more for each line of the agent.
const PAIR_VALUE: f64 = 0.6;
const PAIR_VALUE_AGENT: f64 = 0.25;
/// Lines of the agent that raise the value of a pair.
const PAIR_AGENT_MAX: u8 = 4;

/// What a name in focus keeps of its chance not to be needed.
const FOCUS_REST: f64 = 0.1;

/// A table by hashes that are mixed already.
pub(super) type ByHash<T> = HashMap<u64, T, BuildHasherDefault<Mixed>>;

/// Takes a hash as it is.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = super::counted::hash(bytes.iter().copied());
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// A name of the conversation.
#[derive(Debug, Clone)]
pub(super) struct Known<'c> {
    pub text: &'c str,
    pub chars: u32,
    pub class: Class,
    pub is_shown: bool,
    /// How likely it is needed and not in the window.
    pub weight: f64,
    /// What it is worth within a pair.
    worth: f64,
}

/// What is counted of a name while the conversation is read. Small, since each place of each name comes here.
#[derive(Debug, Clone)]
struct Tally {
    /// The piece that was counted last: a piece counts once.
    seen_in: u32,
    edited_in: u32,
    pieces: u32,
    agent: u32,
    assistant: u32,
    user: u32,
    edits: u32,
    fewest: u32,
    /// Characters of the conversation up to where it was last, and up to where the agent last wrote it.
    last_chars: u32,
    agent_chars: u32,
    is_recent: bool,
}

/// Two names that stand together.
#[derive(Debug, Clone)]
pub(super) struct Pair {
    pub names: [u32; 2],
    agent_lines: u8,
    /// Whether the first, the second is a file that the other belongs to.
    pub is_head: [bool; 2],
}

/// All names, and the pairs that matter.
#[derive(Debug)]
pub(super) struct Table<'c> {
    pub entries: &'c [Counted],
    /// How many of the entries are compacted; the others are still in the window.
    pub recent_from: usize,
    pub names: Vec<Known<'c>>,
    tallies: Vec<Tally>,
    /// What each name still brings: its weight until it is shown.
    pub unshown: Vec<f64>,
    by_hash: ByHash<u32>,
    /// Positions in `names` for the names of all entries, one entry after the other.
    global: Vec<u32>,
    starts: Vec<usize>,
    /// The file of each call, by the call's id.
    pub heads: ByHash<u32>,
    pub pairs: Vec<Pair>,
    /// What it is worth to show that the two of each pair belong together; known once all lines were bound.
    pub values: Vec<f64>,
    pair_of: ByHash<u32>,
    pub compacted_chars: u64,
    /// What the summary should look at.
    pub focus: Focus,
}

impl<'c> Table<'c> {
    pub(super) fn of(entries: &'c [Counted], recent_from: usize, focus: &str) -> Self {
        let mut table = Self {
            entries,
            recent_from,
            names: Vec::new(),
            tallies: Vec::new(),
            unshown: Vec::new(),
            by_hash: ByHash::default(),
            global: Vec::with_capacity(entries.iter().map(|entry| entry.names.len()).sum()),
            starts: Vec::with_capacity(entries.len()),
            heads: ByHash::default(),
            pairs: Vec::new(),
            values: Vec::new(),
            pair_of: ByHash::default(),
            compacted_chars: pieces_chars(entries, recent_from),
            focus: Focus::of(focus),
        };
        let mut chars = 0;
        let mut piece_number = 0;
        for (at, entry) in entries.iter().enumerate() {
            table.enter(entry);
            for piece in &entry.pieces {
                piece_number += 1;
                chars += u64::from(piece.chars);
                if let (Some(call), Some(head)) = (&piece.call, piece.head) {
                    table.heads.insert(call.id, table.global(at, head));
                }
                table.count(at, piece, (piece_number, u32::try_from(chars).unwrap_or(u32::MAX)));
            }
        }
        table.weigh();
        table
    }

    fn enter(&mut self, entry: &'c Counted) {
        self.starts.push(self.global.len());
        for name in &entry.names {
            let next = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
            let id = *self.by_hash.entry(name.hash).or_insert(next);
            if id == next {
                self.names.push(Known::new(entry.text(name.span), name.class));
                self.tallies.push(Tally::default());
            }
            self.global.push(id);
        }
    }

    /// Returns the position of an entry's name among all.
    pub(super) fn global(&self, entry: usize, local: u32) -> u32 {
        let at =
            self.starts.get(entry).copied().unwrap_or_default() + usize::try_from(local).unwrap_or_default();
        self.global.get(at).copied().unwrap_or_default()
    }

    pub(super) fn name(&self, id: u32) -> Option<&Known<'c>> {
        self.names.get(index(id))
    }

    pub(super) fn weight(&self, id: u32) -> f64 {
        self.name(id).map_or(0.0, |name| name.weight)
    }

    pub(super) fn find(&self, hash: u64) -> Option<u32> {
        self.by_hash.get(&hash).copied()
    }

    /// Returns the file that a piece is about.
    pub(super) fn head(&self, entry: usize, piece: &Piece) -> Option<u32> {
        let own = piece.head.map(|head| self.global(entry, head));
        own.or_else(|| piece.result.as_ref().and_then(|result| self.heads.get(&result.id)).copied())
    }

    fn count(&mut self, at: usize, piece: &'c Piece, (number, chars): (u32, u32)) {
        let entry = self.entries.get(at);
        let Some(entry) = entry else { return };
        let is_recent = at >= self.recent_from;
        let locals = || {
            let of_lines = entry.lines_of(piece).iter().flat_map(|line| entry.names_of(&line.names));
            of_lines.copied().chain(piece.head)
        };
        let size = u32::try_from(locals().count()).unwrap_or(u32::MAX);
        for local in locals() {
            let id = self.global(at, local);
            let Some(tally) = self.tallies.get_mut(index(id)) else { continue };
            if std::mem::replace(&mut tally.seen_in, number) == number {
                continue;
            }
            if is_recent {
                tally.is_recent = true;
            } else {
                tally.count(piece.speaker, size, chars);
            }
        }
        let files = piece.call.iter().flat_map(|call| &call.files).filter(|_| !is_recent);
        // Names of a patch stand once for a call, however often its files have them.
        for local in files.flat_map(|file| file.added.iter().copied().chain([file.path])) {
            let id = self.global(at, local);
            if let Some(tally) = self.tallies.get_mut(index(id)).filter(|tally| tally.edited_in != number) {
                tally.edited_in = number;
                tally.edits += 1;
            }
        }
    }

    fn weigh(&mut self) {
        let all = self.compacted_chars.max(1);
        let age = |chars: u32| {
            u32::try_from(all.saturating_sub(u64::from(chars)) * 1_000 / all).unwrap_or(u32::MAX)
        };
        for (name, tally) in self.names.iter_mut().zip(&self.tallies) {
            if tally.pieces == 0 {
                continue;
            }
            let mut weight = weight(&tally.counters(name.class, age), name.text);
            if self.focus.is_in(name.text) {
                weight = 1.0 - (1.0 - weight) * FOCUS_REST;
            }
            let is_hidden = tally.is_recent || is_common(name.class, name.text);
            name.weight = if is_hidden { 0.0 } else { weight };
            name.worth = if is_hidden { HIDDEN_SHARE * weight } else { weight };
        }
        self.tallies = Vec::new();
        self.unshown = self.names.iter().map(|name| name.weight).collect();
    }

    /// Adds the pairs of a line; returns those that matter.
    pub(super) fn bind(&mut self, names: &[u32], head: Option<u32>, speaker: Speaker, into: &mut Vec<u32>) {
        let names = names.get(..LINE_NAMES_MAX.min(names.len())).unwrap_or(names);
        let is_file =
            |id: &u32| self.name(*id).is_some_and(|name| matches!(name.class, Class::Path | Class::File));
        let owner = head.or_else(|| names.iter().copied().find(is_file));
        for (at, one) in names.iter().enumerate() {
            let others = names.get(at + 1..).unwrap_or_default().iter().chain(head.as_ref());
            for other in others.filter(|other| *other != one) {
                into.extend(self.pair(*one, *other, (owner, speaker)));
            }
        }
    }

    fn pair(&mut self, one: u32, other: u32, (owner, speaker): (Option<u32>, Speaker)) -> Option<u32> {
        let worth = |id| self.name(id).map_or(0.0, |name| name.worth);
        if worth(one).min(worth(other)) < PAIR_WEIGHT_MIN {
            return None;
        }
        let names = [one.min(other), one.max(other)];
        let next = u32::try_from(self.pairs.len()).ok()?;
        let id = *self.pair_of.entry(pair_key(names)).or_insert(next);
        if id == next {
            self.pairs.push(Pair { names, agent_lines: 0, is_head: [false; 2] });
        }
        let pair = self.pairs.get_mut(index(id))?;
        pair.agent_lines = pair.agent_lines.saturating_add(u8::from(speaker.is_agent())).min(PAIR_AGENT_MAX);
        for (is_head, name) in pair.is_head.iter_mut().zip(names) {
            *is_head |= owner == Some(name);
        }
        Some(id)
    }

    /// Values the pairs, after all lines were bound.
    pub(super) fn value_pairs(&mut self) {
        let worth = |id: u32| self.name(id).map_or(0.0, |name| name.worth);
        let value = |pair: &Pair| {
            let least = worth(pair.names[0]).min(worth(pair.names[1]));
            least * (PAIR_VALUE + PAIR_VALUE_AGENT * f64::from(pair.agent_lines))
        };
        self.values = self.pairs.iter().map(value).collect();
    }

    /// Marks a name as shown, and with a path all its ends: whoever reads the path reads the file's name.
    pub(super) fn show(&mut self, id: u32) {
        if !self.show_alone(id) {
            return;
        }
        let text = self.name(id).filter(|name| name.class == Class::Path).map_or("", |name| name.text);
        for (slash, _) in text.match_indices('/').take(LINE_NAMES_MAX * 2) {
            let end = text.get(slash + 1..).unwrap_or_default();
            if let Some(id) = self.find(super::counted::hash(end.bytes())) {
                self.show_alone(id);
            }
        }
    }

    /// Marks one name as shown; false where it was so before.
    fn show_alone(&mut self, id: u32) -> bool {
        if let Some(weight) = self.unshown.get_mut(index(id)) {
            *weight = 0.0;
        }
        let name = self.names.get_mut(index(id));
        name.is_some_and(|name| !std::mem::replace(&mut name.is_shown, true))
    }
}

fn pieces_chars(entries: &[Counted], recent_from: usize) -> u64 {
    let pieces = entries.iter().take(recent_from).flat_map(|entry| &entry.pieces);
    pieces.map(|piece| u64::from(piece.chars)).sum()
}

fn pair_key(names: [u32; 2]) -> u64 {
    mixed(u64::from(names[0]) << 32 | u64::from(names[1]))
}

/// Returns an id as the position that it is.
pub(super) fn index(id: u32) -> usize {
    usize::try_from(id).unwrap_or(usize::MAX)
}

impl<'c> Known<'c> {
    fn new(text: &'c str, class: Class) -> Self {
        let chars = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
        Self { text, chars, class, is_shown: false, weight: 0.0, worth: 0.0 }
    }
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            seen_in: 0,
            edited_in: 0,
            pieces: 0,
            agent: 0,
            assistant: 0,
            user: 0,
            edits: 0,
            fewest: u32::MAX,
            last_chars: 0,
            agent_chars: 0,
            is_recent: false,
        }
    }
}

impl Tally {
    fn count(&mut self, speaker: Speaker, size: u32, chars: u32) {
        self.last_chars = chars;
        self.pieces += 1;
        self.fewest = self.fewest.min(size);
        self.assistant += u32::from(speaker == Speaker::Assistant);
        self.user += u32::from(speaker == Speaker::User);
        if speaker.is_agent() {
            self.agent += 1;
            self.agent_chars = chars;
        }
    }

    fn counters(&self, class: Class, age: impl Fn(u32) -> u32) -> Counters {
        Counters {
            class,
            pieces: self.pieces,
            agent: self.agent,
            assistant: self.assistant,
            user: self.user,
            edits: self.edits,
            fewest: self.fewest,
            age: age(self.last_chars),
            agent_age: (self.agent > 0).then(|| age(self.agent_chars)),
        }
    }
}
