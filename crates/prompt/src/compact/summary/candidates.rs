//! What may stand in the last part of a summary: names below the file that they belong to, names by themselves, and lines.

use std::collections::HashMap;

use super::counted::Speaker;
use super::table::{ByHash, Known, Table, index};
use crate::compact::names::Class;

/// Files that a name is shown under at most: the same name belongs to several.
const FILES_OF_NAME: usize = 3;

/// Something that may be shown: what is asked again and again while items are chosen, so it is small.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub kind: Kind,
    /// The file that it is shown under.
    pub head: Option<u32>,
    pub chars: u32,
    /// Ranges of `Candidates::names` and `Candidates::pairs`.
    names: (u32, u32),
    pairs: (u32, u32),
}

/// What an item says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said<'c> {
    pub text: &'c str,
    /// The last entry that has it; for names, their place in the conversation.
    pub entry: usize,
}

/// How something is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A line below its file.
    Line,
    /// A name in the row of a file.
    Name(u32),
    /// A name by itself; a path in the braces of a folder where it has one.
    Lone { folder: Option<u32> },
}

/// Everything that may be shown.
#[derive(Debug, Default)]
pub(super) struct Candidates<'c> {
    pub items: Vec<Item>,
    /// What each of the items says.
    pub said: Vec<Said<'c>>,
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

    pub(super) fn names(&self, item: &Item) -> &[u32] {
        self.names.get(index(item.names.0)..index(item.names.1)).unwrap_or_default()
    }

    pub(super) fn pairs(&self, item: &Item) -> &[u32] {
        self.pairs.get(index(item.pairs.0)..index(item.pairs.1)).unwrap_or_default()
    }

    fn push(
        &mut self,
        (kind, head): (Kind, Option<u32>),
        (said, chars): (Said<'c>, u32),
        names: &[u32],
        pairs: &[u32],
    ) {
        let (names, pairs) = (extend(&mut self.names, names), extend(&mut self.pairs, pairs));
        self.items.push(Item { kind, head, chars, names, pairs });
        self.said.push(said);
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
                    if let Some(item) = known.get(&line.key) {
                        // Where it stood last is where it holds.
                        if let (Some(head), Some(said), Some(item)) =
                            (head, self.said.get_mut(*item), self.items.get_mut(*item))
                        {
                            (item.head, said.entry) = (Some(head), at);
                        }
                    } else if let Some(text) = line.text.map(|span| entry.text(span)) {
                        known.insert(line.key, self.items.len());
                        let chars = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
                        self.push((Kind::Line, head), (Said { text, entry: at }, chars), &names, &pairs);
                    }
                }
            }
        }
    }

    /// Takes each name below the files that it is bound to most.
    fn placed(&mut self, table: &Table<'c>) {
        let mut owners: Vec<(u32, f64, u32, u32)> = Vec::new();
        for (at, (pair, value)) in table.pairs.iter().zip(&table.values).enumerate() {
            for (is_head, [head, name]) in
                pair.is_head.into_iter().zip([pair.names, [pair.names[1], pair.names[0]]])
            {
                if is_head {
                    owners.push((name, *value, head, u32::try_from(at).unwrap_or(u32::MAX)));
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
            let own = [name];
            let own = own.get(..usize::from(known.weight > 0.0)).unwrap_or_default();
            let said = Said { text: known.text, entry: index(name) };
            self.push((Kind::Name(name), Some(head)), (said, known.chars), own, &[pair]);
        }
    }

    /// Takes each name by itself; paths with the deepest folder that holds several.
    fn lone(&mut self, table: &Table<'c>) {
        let wanted = |(_, weight): &(usize, &f64)| **weight > 0.0;
        let ids = table.unshown.iter().enumerate().filter(wanted).map(|(id, _)| id);
        let all: Vec<(usize, &Known<'c>)> = ids.filter_map(|id| Some((id, table.names.get(id)?))).collect();
        let paths = all.iter().map(|(_, name)| *name).filter(|name| name.class == Class::Path);
        let mut paths: Vec<&'c str> = paths.map(|name| name.text).collect();
        paths.sort_unstable();
        let mut numbers: HashMap<&'c str, u32> = HashMap::new();
        for (id, name) in all {
            let folder = if name.class == Class::Path { folder(&paths, name.text) } else { None };
            let folder = folder.map(|folder| {
                *numbers.entry(folder).or_insert_with(|| {
                    self.folders.push((folder, below(&paths, folder)));
                    u32::try_from(self.folders.len() - 1).unwrap_or(u32::MAX)
                })
            });
            let number = u32::try_from(id).unwrap_or(u32::MAX);
            let said = Said { text: name.text, entry: id };
            self.push((Kind::Lone { folder }, None), (said, name.chars), &[number], &[]);
        }
    }
}

/// Returns the deepest folder of a path that holds another of these sorted ones: the neighbours have most in common with it.
fn folder<'c>(paths: &[&'c str], path: &'c str) -> Option<&'c str> {
    let at = paths.binary_search(&path).ok()?;
    let shared = |other: Option<&&str>| {
        let both = other?.bytes().zip(path.bytes()).take_while(|(one, other)| one == other).count();
        path.as_bytes().get(..both)?.iter().rposition(|byte| *byte == b'/').filter(|slash| *slash > 0)
    };
    let before = at.checked_sub(1).and_then(|before| paths.get(before));
    path.get(..shared(before).max(shared(paths.get(at + 1)))?)
}

/// Returns how many of these sorted paths lie below a folder.
fn below(paths: &[&str], folder: &str) -> u32 {
    // What begins with the folder and a slash stands together, and before the next character.
    let before = |end: u8| paths.partition_point(|path| path.bytes().lt(folder.bytes().chain([end])));
    u32::try_from(before(b'/' + 1) - before(b'/')).unwrap_or(u32::MAX)
}

/// Adds ids to a list; returns where they are.
fn extend(list: &mut Vec<u32>, ids: &[u32]) -> (u32, u32) {
    let end = |list: &Vec<u32>| u32::try_from(list.len()).unwrap_or(u32::MAX);
    let start = end(list);
    list.extend(ids);
    (start, end(list))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stands_below_the_deepest_folder_that_holds_another_one() {
        let mut paths =
            vec!["src/a.rs", "src/a/b.rs", "src/a/c.rs", "src/a0/d.rs", "/etc/hosts", "/var", "docs/é/x"];
        paths.sort_unstable();
        let folders = paths.iter().map(|path| folder(&paths, path));
        let folders: Vec<_> = paths.iter().copied().zip(folders).collect();
        assert_eq!(
            folders,
            [
                ("/etc/hosts", None),
                ("/var", None),
                ("docs/é/x", None),
                ("src/a.rs", Some("src")),
                ("src/a/b.rs", Some("src/a")),
                ("src/a/c.rs", Some("src/a")),
                ("src/a0/d.rs", Some("src")),
            ]
        );
        assert_eq!((below(&paths, "src"), below(&paths, "src/a"), below(&paths, "/etc")), (4, 2, 1));
    }
}
