//! What may stand in the last part of a summary: names below the file that they belong to, names by themselves, and lines.

use std::collections::HashMap;

use super::counted::Speaker;
use super::table::{ByHash, Table};
use crate::compact::names::Class;

/// Files that a name is shown under at most: the same name belongs to several.
const FILES_OF_NAME: usize = 3;
/// Paths below a folder that make it worth naming once.
const FOLDED_MIN: u32 = 2;
/// Folders of a path that are looked at.
const DEPTH_MAX: usize = 32;

/// Something that may be shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item<'c> {
    pub kind: Kind,
    /// The file that it is shown under.
    pub head: Option<u32>,
    pub text: &'c str,
    pub chars: usize,
    /// The last entry that has it; for names, their place in the conversation.
    pub entry: usize,
    /// Ranges of `Candidates::names` and `Candidates::pairs`.
    names: (usize, usize),
    pairs: (usize, usize),
}

/// How something is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A line below its file.
    Line,
    /// A name in the row of a file.
    Name(u32),
    /// A name by itself; a path in the braces of a folder where it has one.
    Lone { id: u32, folder: Option<u32> },
}

/// Everything that may be shown.
#[derive(Debug, Default)]
pub(super) struct Candidates<'c> {
    pub items: Vec<Item<'c>>,
    names: Vec<u32>,
    pairs: Vec<u32>,
    /// Folders, and how many paths lie below each.
    pub folders: Vec<(&'c str, u32)>,
}

impl<'c> Candidates<'c> {
    pub(super) fn of(table: &mut Table<'c>) -> Self {
        let mut found = Self::default();
        found.lines(table);
        table.value_pairs();
        found.placed(table);
        found.lone(table);
        found
    }

    pub(super) fn names(&self, item: &Item<'_>) -> &[u32] {
        self.names.get(item.names.0..item.names.1).unwrap_or_default()
    }

    pub(super) fn pairs(&self, item: &Item<'_>) -> &[u32] {
        self.pairs.get(item.pairs.0..item.pairs.1).unwrap_or_default()
    }

    fn push(&mut self, item: Item<'c>, names: &[u32], pairs: &[u32]) {
        let (names_from, pairs_from) = (self.names.len(), self.pairs.len());
        self.names.extend(names);
        self.pairs.extend(pairs);
        let (names, pairs) = ((names_from, self.names.len()), (pairs_from, self.pairs.len()));
        self.items.push(Item { names, pairs, ..item });
    }

    /// Takes the lines of the compacted part, each once, and counts the pairs in them.
    fn lines(&mut self, table: &mut Table<'c>) {
        let mut known: ByHash<usize> = ByHash::default();
        let (mut names, mut pairs): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
        let entries = table.entries;
        for (at, entry) in entries.iter().enumerate().take(table.recent_from) {
            for piece in &entry.pieces {
                let head = table.head(at, piece);
                for line in entry.lines_of(piece) {
                    names.clear();
                    pairs.clear();
                    names.extend(entry.names_of(&line.names).iter().map(|local| table.global(at, *local)));
                    if names.len() < 2 && head.is_none() {
                        continue;
                    }
                    table.bind(&names, head, piece.speaker, &mut pairs);
                    names.retain(|id| table.weight(*id) > 0.0);
                    if piece.speaker == Speaker::User || pairs.is_empty() {
                        continue;
                    }
                    if let Some(item) = known.get(&line.key).and_then(|item| self.items.get_mut(*item)) {
                        // Where it stood last is where it holds.
                        (item.head, item.entry) =
                            (head.or(item.head), if head.is_some() { at } else { item.entry });
                    } else if let Some(text) = line.text.map(|span| entry.text(span)) {
                        known.insert(line.key, self.items.len());
                        let chars = text.chars().count();
                        let item = Item {
                            kind: Kind::Line,
                            head,
                            text,
                            chars,
                            entry: at,
                            names: (0, 0),
                            pairs: (0, 0),
                        };
                        self.push(item, &names, &pairs);
                    }
                }
            }
        }
    }

    /// Takes each name below the files that it is bound to most.
    fn placed(&mut self, table: &Table<'c>) {
        let mut owners: Vec<(u32, f64, u32, u32)> = Vec::new();
        for (at, pair) in table.pairs.iter().enumerate() {
            for (is_head, [head, name]) in
                pair.is_head.into_iter().zip([pair.names, [pair.names[1], pair.names[0]]])
            {
                if is_head {
                    owners.push((name, pair.value, head, u32::try_from(at).unwrap_or(u32::MAX)));
                }
            }
        }
        owners.sort_by(|one, other| {
            one.0.cmp(&other.0).then(other.1.total_cmp(&one.1)).then(one.2.cmp(&other.2))
        });
        let mut last = (u32::MAX, 0);
        for (name, _, head, pair) in owners {
            last = if last.0 == name { (name, last.1 + 1) } else { (name, 0) };
            let Some(known) = table.name(name).filter(|_| last.1 < FILES_OF_NAME) else { continue };
            let (text, chars) = (known.text, known.chars);
            let item = Item {
                kind: Kind::Name(name),
                head: Some(head),
                text,
                chars,
                entry: position(name),
                names: (0, 0),
                pairs: (0, 0),
            };
            let own = [name];
            self.push(item, own.get(..usize::from(known.weight > 0.0)).unwrap_or_default(), &[pair]);
        }
    }

    /// Takes each name by itself; paths with the deepest folder that holds several.
    fn lone(&mut self, table: &Table<'c>) {
        let wanted =
            |id: &usize| table.names.get(*id).is_some_and(|name| name.weight > 0.0 && !name.is_shown);
        let ids: Vec<usize> = (0..table.names.len()).filter(wanted).collect();
        let known = |id: usize| table.names.get(id);
        let mut counts: HashMap<&'c str, u32> = HashMap::new();
        for name in ids.iter().filter_map(|id| known(*id)).filter(|name| name.class == Class::Path) {
            for folder in folders(name.text) {
                *counts.entry(folder).or_default() += 1;
            }
        }
        let mut numbers: HashMap<&'c str, u32> = HashMap::new();
        for id in ids {
            let Some(name) = known(id) else { continue };
            let folder = (name.class == Class::Path).then(|| {
                let mut all = folders(name.text);
                all.find(|folder| counts.get(folder).is_some_and(|count| *count >= FOLDED_MIN))
            });
            let folder = folder.flatten().map(|folder| {
                *numbers.entry(folder).or_insert_with(|| {
                    self.folders.push((folder, counts.get(folder).copied().unwrap_or_default()));
                    u32::try_from(self.folders.len() - 1).unwrap_or(u32::MAX)
                })
            });
            let number = u32::try_from(id).unwrap_or(u32::MAX);
            let item = Item {
                kind: Kind::Lone { id: number, folder },
                head: None,
                text: name.text,
                chars: name.chars,
                entry: id,
                names: (0, 0),
                pairs: (0, 0),
            };
            self.push(item, &[number], &[]);
        }
    }
}

/// Returns the folders of a path, the deepest first.
fn folders(path: &str) -> impl Iterator<Item = &str> {
    let deeper = |path: &&'_ str| -> Option<usize> { path.rfind('/').filter(|at| *at > 0) };
    let first = deeper(&path).and_then(|at| path.get(..at));
    std::iter::successors(first, move |folder| deeper(folder).and_then(|at| folder.get(..at))).take(DEPTH_MAX)
}

fn position(id: u32) -> usize {
    usize::try_from(id).unwrap_or(usize::MAX)
}
