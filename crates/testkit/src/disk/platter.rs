//! What a power cut may leave: follows a disk's record, and builds what could be on the platter at that moment.
//!
//! The model: a file's bytes and length are durable after a sync of the file, a name after a sync of its folder.
//! What came later may be there or not, each operation by itself, and a write in any of its sectors. A rename is
//! there as a whole or not at all.

use std::collections::BTreeMap;
use stemmata_model::to_u64;

use super::Op;
use super::image::Image;
use super::tree::{Item, Name, Node, ROOT, put};
use crate::rng::Rng;

/// Bytes that a disk writes whole or not at all.
pub const SECTOR_BYTES: usize = 512;

/// Which of the operations that are not durable are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// All of them.
    All,
    /// None.
    Nothing,
    /// Names, not bytes: files keep their durable bytes, and are as long as they were, with zeros.
    Names,
    /// Bytes, not names.
    Data,
    /// All, but of the last write only the sectors before this one.
    Head(usize),
    /// All, but of the last write only the sectors from this one on.
    Tail(usize),
    /// Only the last one.
    Last,
    /// Each with a chance of a half, and of some writes only some of their sectors.
    Random(u64),
}

#[derive(Debug, Clone, Default)]
struct File {
    durable: Vec<u8>,
    /// Writes and lengths since, with their place in the order of all operations.
    pending: Vec<(u64, Change)>,
}

#[derive(Debug, Clone)]
enum Change {
    Write { offset: u64, bytes: Vec<u8> },
    Length(u64),
}

#[derive(Debug, Clone)]
enum Naming {
    Make { name: Name, node: Node },
    Rename { from: Name, to: Name, node: Option<Node> },
    Exchange { left: Name, right: Name },
    Remove { name: Name },
}

impl Naming {
    fn touches(&self, folder: Node) -> bool {
        match self {
            Self::Exchange { left, right } => left.folder == folder || right.folder == folder,
            Self::Make { name, .. } | Self::Remove { name } => name.folder == folder,
            Self::Rename { from, to, .. } => from.folder == folder || to.folder == folder,
        }
    }
}

impl Naming {
    fn is_about(&self, other: &Name) -> bool {
        match self {
            Self::Exchange { left, right } => left == other || right == other,
            Self::Make { name, .. } | Self::Remove { name } => name == other,
            Self::Rename { from, to, .. } => from == other || to == other,
        }
    }
}

type Folders = BTreeMap<Node, BTreeMap<String, Node>>;

/// What is durable, and what may be.
#[derive(Debug, Clone)]
pub struct Platter {
    files: BTreeMap<Node, File>,
    durable: Folders,
    /// Names as the program sees them.
    seen: Folders,
    pending: Vec<(u64, Naming)>,
    last: u64,
}

impl Platter {
    /// Starts with a disk whose folder `top` (a name of the root) holds an image, all of it durable. The nodes must
    /// be those of the disk, which is asked for them.
    pub fn new(disk: &super::Disk) -> Self {
        let state = disk.lock();
        let (mut files, mut folders) = (BTreeMap::new(), Folders::new());
        let mut left = vec![ROOT];
        while let Some(node) = left.pop() {
            match state.tree.item(node) {
                Some(Item::Folder(names)) => {
                    left.extend(names.values());
                    folders.insert(node, names.clone());
                }
                Some(Item::File(bytes)) => {
                    files.insert(node, File { durable: bytes.clone(), pending: Vec::new() });
                }
                None => {}
            }
        }
        Self { files, durable: folders.clone(), seen: folders, pending: Vec::new(), last: 0 }
    }

    /// Follows one operation.
    pub fn follow(&mut self, op: &Op) {
        self.last += 1;
        let number = self.last;
        match op {
            Op::Make { name, node, folder } => {
                if *folder {
                    self.durable.insert(*node, BTreeMap::new());
                    self.seen.insert(*node, BTreeMap::new());
                } else {
                    self.files.insert(*node, File::default());
                }
                self.name(number, Naming::Make { name: name.clone(), node: *node });
            }
            Op::Write { node, offset, bytes } => {
                let change = Change::Write { offset: *offset, bytes: bytes.clone() };
                self.files.entry(*node).or_default().pending.push((number, change));
            }
            Op::SetLength { node, length } => {
                self.files.entry(*node).or_default().pending.push((number, Change::Length(*length)));
            }
            Op::Rename { from, to } => {
                let node = self.seen.get(&from.folder).and_then(|names| names.get(&from.text)).copied();
                self.name(number, Naming::Rename { from: from.clone(), to: to.clone(), node });
            }
            Op::Exchange { left, right } => {
                self.name(number, Naming::Exchange { left: left.clone(), right: right.clone() });
            }
            Op::Link { name, node } => {
                self.name(number, Naming::Make { name: name.clone(), node: *node });
            }
            Op::Remove { name } => self.name(number, Naming::Remove { name: name.clone() }),
            Op::Sync { node } => self.sync(*node),
            Op::Elsewhere(ops) => ops.iter().for_each(|op| self.follow(op)),
            Op::Mark(_) => {}
        }
    }

    fn name(&mut self, number: u64, naming: Naming) {
        apply_name(&mut self.seen, &naming);
        self.pending.push((number, naming));
    }

    fn sync(&mut self, node: Node) {
        if let Some(file) = self.files.get_mut(&node) {
            for (_, change) in std::mem::take(&mut file.pending) {
                apply(&mut file.durable, &change);
            }
            return;
        }
        // A rename that becomes durable takes along what made the name that it ends.
        let mut names: Vec<Name> = Vec::new();
        let (mut now, mut later) = (Vec::new(), Vec::new());
        for (number, naming) in std::mem::take(&mut self.pending).into_iter().rev() {
            if !naming.touches(node) && !names.iter().any(|name| naming.is_about(name)) {
                later.push((number, naming));
                continue;
            }
            if let Naming::Rename { from, to, .. } | Naming::Exchange { left: from, right: to } = &naming {
                names.extend([from.clone(), to.clone()]);
            }
            now.push(naming);
        }
        for naming in now.iter().rev() {
            apply_name(&mut self.durable, naming);
        }
        later.reverse();
        self.pending = later;
    }

    /// Returns how many operations are not durable.
    pub fn pending(&self) -> usize {
        self.pending.len() + self.files.values().map(|file| file.pending.len()).sum::<usize>()
    }

    /// Returns how many sectors the last operation wrote, where it is a write that is not durable.
    pub fn last_sectors(&self) -> Option<usize> {
        let pending = self.files.values().filter_map(|file| file.pending.last());
        pending.into_iter().find_map(|(number, change)| match change {
            Change::Write { bytes, .. } if *number == self.last => Some(bytes.len().div_ceil(SECTOR_BYTES)),
            Change::Write { .. } | Change::Length(_) => None,
        })
    }

    /// Builds what is below a folder of the root after a power cut.
    pub fn cut(&self, top: &str, keep: Keep) -> Image {
        let mut rng = Rng::new(match keep {
            Keep::Random(seed) => seed,
            Keep::All
            | Keep::Nothing
            | Keep::Names
            | Keep::Data
            | Keep::Head(_)
            | Keep::Tail(_)
            | Keep::Last => 0,
        });
        let folders = self.folders(keep, &mut rng);
        let mut files = BTreeMap::new();
        for (node, file) in &self.files {
            files.insert(*node, self.file(file, keep, &mut rng));
        }
        let mut image = Image::default();
        let Some(top) = folders.get(&ROOT).and_then(|names| names.get(top)) else { return image };
        let item = |node| match files.get(&node) {
            Some(bytes) => Some(Item::File(bytes.clone())),
            None => folders.get(&node).map(|names| Item::Folder(names.clone())),
        };
        image.walk(&|node| folders.get(&node).cloned(), &item, *top);
        image
    }

    fn folders(&self, keep: Keep, rng: &mut Rng) -> Folders {
        let mut folders = self.durable.clone();
        for (number, naming) in &self.pending {
            let kept = match keep {
                Keep::All | Keep::Names | Keep::Head(_) | Keep::Tail(_) => true,
                Keep::Nothing | Keep::Data => false,
                Keep::Last => *number == self.last,
                Keep::Random(_) => rng.chance(50),
            };
            if kept {
                apply_name(&mut folders, naming);
            }
        }
        folders
    }

    fn file(&self, file: &File, keep: Keep, rng: &mut Rng) -> Vec<u8> {
        let mut bytes = file.durable.clone();
        for (number, change) in &file.pending {
            let is_last = *number == self.last;
            let sectors: &dyn Fn(usize) -> bool = match keep {
                Keep::Names => {
                    grow(&mut bytes, change);
                    continue;
                }
                Keep::All | Keep::Data => &|_| true,
                Keep::Nothing => &|_| false,
                Keep::Last => &move |_| is_last,
                Keep::Head(sectors) => &move |sector| !is_last || sector < sectors,
                Keep::Tail(sectors) => &move |sector| !is_last || sector >= sectors,
                Keep::Random(_) => {
                    let (chance, pattern) = (rng.range(0, 3), rng.next_u64());
                    &move |sector| chance > 1 || chance == 1 && pattern >> (sector % 64) & 1 == 1
                }
            };
            apply_sectors(&mut bytes, change, sectors);
        }
        bytes
    }
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write { offset, bytes: written } => put(bytes, *offset, written),
        Change::Length(length) => {
            bytes.resize(usize::try_from(*length).expect("a simulated file fits into memory"), 0);
        }
    }
}

/// Only the length: what is new are zeros.
fn grow(bytes: &mut Vec<u8>, change: &Change) {
    let length = match change {
        Change::Write { offset, bytes: written } => offset + to_u64(written.len()),
        Change::Length(length) => *length,
    };
    let length = usize::try_from(length).expect("a simulated file fits into memory");
    if bytes.len() < length {
        bytes.resize(length, 0);
    }
}

/// Writes only some sectors; a length is one.
fn apply_sectors(bytes: &mut Vec<u8>, change: &Change, kept: &dyn Fn(usize) -> bool) {
    let Change::Write { offset, bytes: written } = change else {
        if kept(0) {
            apply(bytes, change);
        }
        return;
    };
    for (sector, part) in written.chunks(SECTOR_BYTES).enumerate() {
        if kept(sector) {
            let within = u64::try_from(sector * SECTOR_BYTES).expect("an offset in memory");
            put(bytes, offset + within, part);
        }
    }
}

fn apply_name(folders: &mut Folders, naming: &Naming) {
    match naming {
        Naming::Make { name, node } => {
            folders.entry(name.folder).or_default().insert(name.text.clone(), *node);
        }
        Naming::Rename { from, to, node } => {
            folders.entry(from.folder).or_default().remove(&from.text);
            if let Some(node) = node {
                folders.entry(to.folder).or_default().insert(to.text.clone(), *node);
            }
        }
        Naming::Exchange { left, right } => {
            let mut node_of = |name: &Name| folders.entry(name.folder).or_default().get(&name.text).copied();
            // Where one of them is not durable yet, the other only moves.
            for (node, to) in [(node_of(left), right), (node_of(right), left)] {
                let names = folders.entry(to.folder).or_default();
                match node {
                    Some(node) => names.insert(to.text.clone(), node),
                    None => names.remove(&to.text),
                };
            }
        }
        Naming::Remove { name } => {
            folders.entry(name.folder).or_default().remove(&name.text);
        }
    }
}
