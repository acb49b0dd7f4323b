//! What the records of a transcript say, by which a conversation that was overwritten is told from one that its client wrote anew.
//!
//! A record is known by its id, and one without an id by its words. White space, the order of keys, and fields around the words are
//! no words; nor are calls, results and thoughts, which clients complete and shorten. What is done about a loss is `namesakes`'.

use std::collections::{HashMap, HashSet};

use memchr::memmem::Finder;
use stemmata_model::{Entry, EntryId, EntryKind, Part};
use stemmata_runtimes::adapter::{Adapter, IdKind};

use crate::scrubbing::PLACEHOLDER;

/// Copies of one record that are told apart at most.
const COPIES_MAX: usize = 64;

/// What a record is known by: its id, or the hash of its words.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Name {
    Id(EntryId),
    Words([u8; 32]),
}

/// A record that is looked for.
#[derive(Debug, Default)]
struct Known {
    is_there: bool,
    is_prompt: bool,
    /// The words of each of its copies that were not found yet: their length, and their hash.
    words: Vec<(usize, [u8; 32])>,
}

/// Records that are looked for in what was read later.
#[derive(Debug, Default)]
pub(crate) struct Sought {
    records: HashMap<Name, Known>,
    /// The records of each group.
    groups: Vec<HashSet<Name>>,
}

/// What is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Lost {
    /// Groups of which no record is there, or not each prompt, or of which a record says something else.
    pub groups: u64,
    /// Whether a person's prompt is among them, or a record that says something else: a client takes a record of its own back now and
    /// then, and never that.
    pub has_prompt: bool,
}

impl Sought {
    /// Adds the records of some bytes as one group.
    pub(crate) fn add(&mut self, adapter: &dyn Adapter, bytes: &[u8]) {
        let mut group = HashSet::new();
        each(adapter, bytes, &mut |name, entry, words| {
            let known = self.records.entry(name.clone()).or_default();
            known.is_prompt |= entry.is_prompt();
            let has_room = known.words.len() < COPIES_MAX;
            known.words.extend(words.filter(|_| has_room).map(|words| (words.len(), hash(&words))));
            group.insert(name);
        });
        self.groups.push(group);
    }

    /// Looks for the records in some bytes.
    pub(crate) fn look_in(&mut self, adapter: &dyn Adapter, bytes: &[u8]) {
        each(adapter, bytes, &mut |name, entry, words| {
            // Some clients give ids to what had none.
            let by_words = words.as_deref().filter(|_| !self.records.contains_key(&name));
            let name = by_words.map_or(name, |words| Name::Words(hash(words)));
            let Some(known) = self.records.get_mut(&name) else { return };
            known.is_there = true;
            let words = words.unwrap_or_default();
            // An answer may have been read while it was being written.
            let whole = entry.is_prompt().then_some(words.len());
            known.words.retain(|(length, said)| {
                whole.is_some_and(|whole| whole != *length) || words.get(..*length).map(hash) != Some(*said)
            });
        });
    }

    /// Returns what was not found.
    pub(crate) fn lost(&self) -> Lost {
        let mut lost = Lost::default();
        for group in &self.groups {
            let known = || group.iter().filter_map(|name| self.records.get(name));
            let is_missed = |known: &Known| {
                if known.is_there { !known.words.is_empty() } else { known.is_prompt }
            };
            let has_prompt = known().any(is_missed);
            if has_prompt || (!group.is_empty() && !known().any(|known| known.is_there)) {
                lost.groups += 1;
                lost.has_prompt |= has_prompt;
            }
        }
        lost
    }
}

/// Gives the records of some bytes that can be known again, with their words.
fn each(adapter: &dyn Adapter, bytes: &[u8], take: &mut dyn FnMut(Name, &Entry, Option<String>)) {
    for unit in adapter.shape().units(bytes) {
        let mut ids = HashSet::new();
        adapter.ids(unit, &mut |kind, id| {
            if kind == IdKind::Entry {
                ids.extend(EntryId::new(id).ok());
            }
        });
        for entry in adapter.decode(unit).entries {
            let words = words_of(&entry);
            let name = match &words {
                _ if ids.contains(&entry.id) => Name::Id(entry.id.clone()),
                Some(words) => Name::Words(hash(words)),
                None => continue,
            };
            take(name, &entry, words);
        }
    }
}

/// Returns the words of a message. What was replaced in some of them cannot be compared.
fn words_of(entry: &Entry) -> Option<String> {
    let is_said = entry.kind == EntryKind::Message && entry.meta.visibility.agent;
    let texts = entry.parts.iter().filter(|_| is_said).filter_map(Part::as_text);
    let words: Vec<&str> = texts.flat_map(str::split_whitespace).collect();
    let words = words.join(" ");
    let is_known = !words.is_empty() && Finder::new(PLACEHOLDER).find(words.as_bytes()).is_none();
    is_known.then_some(words)
}

fn hash(words: impl AsRef<str>) -> [u8; 32] {
    blake3::hash(words.as_ref().as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use stemmata_runtimes::registry;

    use super::*;

    #[test]
    fn a_record_that_got_an_id_is_the_one_that_had_none() {
        let adapter = registry::adapters().iter().find(|adapter| adapter.format().as_str() == "pi-v3");
        let adapter = *adapter.expect("a format");
        let record = |id: &str, text: &str| {
            let message = format!(r#""message":{{"role":"user","content":"{text}"}}"#);
            format!(r#"{{"type":"message",{id}"timestamp":"2026-09-10T08:00:00.000Z",{message}}}"#) + "\n"
        };
        for (text, lost) in [("Begin the fence plan", 0), ("Begin another plan", 1)] {
            let mut sought = Sought::default();
            sought.add(adapter, record("", "Begin the fence plan").as_bytes());
            sought.look_in(adapter, record(r#""id":"0a1b2c3d","parentId":null,"#, text).as_bytes());
            assert_eq!(sought.lost().groups, lost, "{text}");
        }
    }
}
