//! Chooses names and lines by what they are worth for each character: a name that is likely to be needed, and names that belong
//! together, in the fewest characters.

use std::collections::{BTreeMap, BinaryHeap};

use super::candidates::{Candidates, Item, Kind, Said};
use super::draft::{Draft, Section};
use super::table::{Table, index};

/// What all pairs are worth beside all names.
const PAIRS_VALUE: f64 = 0.8;
/// Items that share the characters of a file's name, and of a folder's, when the first of them is weighed.
const FILE_SHARED_BY: u32 = 2;
const FOLDER_SHARED_BY: u32 = 3;
/// Characters of a row of names that belong to no file.
const ROW_CHARS: usize = 200;
/// Characters that the section's title and the beginnings of rows take.
const OVERHEAD_CHARS: usize = 40;
/// Items that did not fit, one after the other, after which no more are tried: what would fit is worth less and less.
const MISFITS_MAX: u32 = 256;
/// Names in braces: longer rows are read as prose.
const FOLDED_CHARS_MAX: usize = 4_000;

/// Returns a value as a key of a heap: positive floats have the order of their bits.
#[expect(clippy::cast_possible_truncation, reason = "what differs by less is equal")]
pub(super) fn density(value: f64) -> u32 {
    (value.max(0.0) as f32).to_bits()
}

/// Returns characters to the power of 7/8: a long line tells more than its names. Square roots are the same on every machine.
fn stretched(chars: f64) -> f64 {
    chars / chars.sqrt().sqrt().sqrt()
}

struct Choice<'t, 'c> {
    table: &'t mut Table<'c>,
    found: Candidates<'c>,
    /// What a unit of a name's weight and of a pair's value is worth.
    units: (f64, f64),
    /// Whether a file's row is begun, by the name's position; how many items are below it.
    files: Vec<(bool, u32)>,
    folders: Vec<bool>,
    by_file: BTreeMap<u32, Vec<u32>>,
    by_folder: BTreeMap<u32, Vec<u32>>,
    is_done: Vec<bool>,
}

/// What an item would bring.
struct Gain {
    density: u32,
    /// What it costs now.
    chars: usize,
}

/// Shows names and lines in what is left of the summary.
pub(super) fn names(table: &mut Table<'_>, draft: &mut Draft<'_>) {
    let found = Candidates::of(table);
    let mut choice = Choice::new(table, found);
    let room = draft.left.saturating_sub(OVERHEAD_CHARS + draft.left / 100);
    let chosen = choice.choose(room, draft);
    render(&choice, draft, &chosen);
}

impl<'t, 'c> Choice<'t, 'c> {
    fn new(table: &'t mut Table<'c>, found: Candidates<'c>) -> Self {
        let names: f64 = table.names.iter().map(|name| name.weight).sum();
        let pairs: f64 = table.values.iter().sum();
        let unit = |all: f64| if all > 0.0 { 1_000.0 / all } else { 0.0 };
        let mut files = vec![(false, 0); table.names.len()];
        let (mut by_file, mut by_folder) = (BTreeMap::new(), BTreeMap::new());
        for (at, item) in (0_u32..).zip(&found.items) {
            if let Some(head) = item.head {
                by_file.entry(head).or_insert_with(Vec::new).push(at);
                if let Some((_, count)) = files.get_mut(index(head)) {
                    *count += 1;
                }
            }
            if let Kind::Lone { folder: Some(folder) } = item.kind {
                by_folder.entry(folder).or_insert_with(Vec::new).push(at);
            }
        }
        let (folders, is_done) = (vec![false; found.folders.len()], vec![false; found.items.len()]);
        let units = (unit(names), PAIRS_VALUE * unit(pairs));
        Self { table, found, units, files, folders, by_file, by_folder, is_done }
    }

    fn gain(&self, item: &Item) -> Gain {
        let of = |values: &[f64], ids: &[u32]| -> f64 {
            ids.iter().map(|id| values.get(index(*id)).copied().unwrap_or_default()).sum()
        };
        let mut names = of(&self.table.unshown, self.found.names(item));
        let pairs = of(&self.table.values, self.found.pairs(item));
        let mut chars = index(item.chars) + if item.kind == Kind::Line { 2 } else { 1 };
        let mut shared = 0.0;
        if let Some(head) = item.head
            && let Some((false, count)) = self.files.get(index(head))
        {
            let name = self.table.name(head).map_or(0, |name| index(name.chars)) + 3;
            shared = length(name) / f64::from((*count).clamp(1, FILE_SHARED_BY)) - length(name);
            chars += name;
            names += of(&self.table.unshown, &[head]);
        }
        if let Kind::Lone { folder: Some(folder) } = item.kind
            && let Some((text, count)) = self.found.folders.get(index(folder))
        {
            let name = text.chars().count();
            if self.folders.get(index(folder)) == Some(&true) {
                chars -= name;
            } else {
                chars += 3;
                shared = length(name + 3) / f64::from((*count).clamp(1, FOLDER_SHARED_BY)) - length(name + 3);
            }
        }
        let value = self.units.0 * names + self.units.1 * pairs;
        Gain { density: density(value / stretched((length(chars) + shared).max(1.0))), chars }
    }

    /// Returns the positions of the chosen items.
    fn choose(&mut self, room: usize, draft: &mut Draft<'_>) -> Vec<usize> {
        let keys = (0_u32..).zip(&self.found.items).map(|(at, item)| key(self.gain(item).density, at));
        let mut queue = Queue::of(keys.filter(|key| *key > u64::from(u32::MAX)).collect());
        let mut chosen = Vec::new();
        let mut left = room;
        let mut misfits = 0;
        while let Some((density, at)) = queue.pop() {
            let item = self.found.items.get(index(at));
            let Some(item) = item.filter(|_| self.is_done.get(index(at)) == Some(&false)) else { continue };
            let gain = self.gain(item);
            if gain.density == 0 {
                continue;
            }
            // What was shown since then makes it worth less.
            if gain.density < density && queue.peek() > gain.density {
                queue.again.push(key(gain.density, at));
                continue;
            }
            if gain.chars > left {
                draft.drop_one(Section::Names);
                misfits += 1;
                if misfits == MISFITS_MAX {
                    break;
                }
                continue;
            }
            misfits = 0;
            left -= gain.chars;
            chosen.push(index(at));
            self.take(at, &mut queue.again);
        }
        draft.drop_many(Section::Names, queue.sorted.len() + queue.again.len());
        chosen
    }

    fn take(&mut self, at: u32, again: &mut BinaryHeap<u64>) {
        let Some(item) = self.found.items.get(index(at)).copied() else { return };
        if let Some(is_done) = self.is_done.get_mut(index(at)) {
            *is_done = true;
        }
        self.found.names(&item).iter().for_each(|id| self.table.show(*id));
        for pair in self.found.pairs(&item) {
            if let Some(value) = self.table.values.get_mut(index(*pair)) {
                *value = 0.0;
            }
        }
        // What stands below a name that is there now costs less.
        let mut cheaper: Vec<u32> = Vec::new();
        if let Some(head) = item.head
            && let Some((is_open, _)) = self.files.get_mut(index(head))
            && !std::mem::replace(is_open, true)
        {
            self.table.show(head);
            cheaper.extend(self.by_file.remove(&head).unwrap_or_default());
        }
        if let Kind::Lone { folder: Some(folder) } = item.kind
            && let Some(is_open) = self.folders.get_mut(index(folder))
            && !std::mem::replace(is_open, true)
        {
            cheaper.extend(self.by_folder.remove(&folder).unwrap_or_default());
        }
        for other in cheaper {
            let item = self.found.items.get(index(other));
            if let Some(item) = item.filter(|_| self.is_done.get(index(other)) == Some(&false)) {
                again.push(key(self.gain(item).density, other));
            }
        }
    }
}

/// Items by what they are worth for each character, the best first: those of the beginning sorted once, those that are worth something
/// else since then in a heap beside them.
struct Queue {
    sorted: Vec<u64>,
    again: BinaryHeap<u64>,
}

impl Queue {
    fn of(mut keys: Vec<u64>) -> Self {
        keys.sort_unstable();
        Self { sorted: keys, again: BinaryHeap::new() }
    }

    fn pop(&mut self) -> Option<(u32, u32)> {
        let key = if self.again.peek() > self.sorted.last() { self.again.pop() } else { self.sorted.pop() };
        key.map(|key| (high(key), u32::MAX - low(key)))
    }

    /// Returns what the next one is worth.
    fn peek(&self) -> u32 {
        self.again.peek().max(self.sorted.last()).map_or(0, |key| high(*key))
    }
}

/// Returns what orders items: the densest first, then the earliest.
fn key(density: u32, at: u32) -> u64 {
    u64::from(density) << 32 | u64::from(u32::MAX - at)
}

#[expect(clippy::cast_possible_truncation, reason = "the half that is asked for")]
const fn low(key: u64) -> u32 {
    key as u32
}

const fn high(key: u64) -> u32 {
    low(key >> 32)
}

/// Writes the rows: each file with its names and lines, then folders with their paths, then names of no file.
fn render(choice: &Choice<'_, '_>, draft: &mut Draft<'_>, chosen: &[usize]) {
    let mut files: BTreeMap<&str, (Vec<&Said<'_>>, Vec<&Said<'_>>)> = BTreeMap::new();
    let mut braces: BTreeMap<&str, Vec<&Said<'_>>> = BTreeMap::new();
    let mut lone: Vec<&Said<'_>> = Vec::new();
    for (item, said) in
        chosen.iter().filter_map(|at| choice.found.items.get(*at).zip(choice.found.said.get(*at)))
    {
        let head = item.head.and_then(|head| choice.table.name(head)).map_or("-", |name| name.text);
        match item.kind {
            Kind::Line => files.entry(head).or_default().1.push(said),
            Kind::Name(_) => files.entry(head).or_default().0.push(said),
            Kind::Lone { folder: Some(folder) } => {
                let folder = choice.found.folders.get(index(folder)).map_or("", |(text, _)| *text);
                braces.entry(folder).or_default().push(said);
            }
            Kind::Lone { folder: None } => lone.push(said),
        }
    }
    let all = usize::MAX;
    let mut write = |text: String, entry: usize| draft.push((Section::Names, entry, text), all);
    for (file, (mut names, mut lines)) in files {
        names.sort_by_key(|item| item.entry);
        lines.sort_by_key(|item| item.entry);
        let entry = lines.last().map_or(0, |item| item.entry);
        let names = names.iter().map(|item| item.text).collect::<Vec<_>>().join(" ");
        write(format!("{file}: {names}").trim_end().to_owned(), entry);
        for line in lines {
            write(format!(" {}", line.text.replace('\t', " ")), line.entry);
        }
    }
    for (folder, paths) in braces {
        for row in
            rows(&paths, ",", FOLDED_CHARS_MAX, |item| item.text.get(folder.len() + 1..).unwrap_or(item.text))
        {
            let row = if row.contains(',') { format!("{{{row}}}") } else { row };
            write(format!("{folder}/{row}"), 0);
        }
    }
    lone.sort_by_key(|item| item.entry);
    for row in rows(&lone, " ", ROW_CHARS, |item| item.text) {
        write(format!("· {row}"), 0);
    }
}

/// Joins texts into rows of so many characters.
fn rows<'i>(
    items: &[&'i Said<'i>],
    between: &str,
    chars: usize,
    text: impl Fn(&'i Said<'i>) -> &'i str,
) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for item in items {
        match rows.last_mut().filter(|row| row.len() + item.text.len() <= chars) {
            Some(row) => {
                row.push_str(between);
                row.push_str(text(item));
            }
            None => rows.push(text(item).to_owned()),
        }
    }
    rows
}

fn length(chars: usize) -> f64 {
    f64::from(u32::try_from(chars).unwrap_or(u32::MAX))
}
