//! A simulated disk: files and folders in memory, a record of every operation, failures on demand, and what a
//! power cut may leave.
//!
//! Knows nothing of stores. [`Disk`] is what a program works on; [`Platter`] follows its record and says what could
//! be on the real thing at that moment.

mod fault;
mod image;
mod platter;
mod tree;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stemmata_model::to_u64;

pub use fault::{Failure, Fault};
pub use image::{Entry, Image};
pub use platter::{Keep, Platter, SECTOR_BYTES};
pub use tree::{Item, Name, Node, ROOT};

use tree::Tree;

/// One operation that a disk was asked for, in the order in which they came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// A file or a folder is made.
    Make {
        /// Where.
        name: Name,
        /// What stands there from now on.
        node: Node,
        /// Whether it is a folder.
        folder: bool,
    },
    /// Bytes are written; a gap before them is filled with zeros.
    Write {
        /// Into which file.
        node: Node,
        /// From which byte on.
        offset: u64,
        /// What.
        bytes: Vec<u8>,
    },
    /// A file is cut, or extended by zeros.
    SetLength {
        /// Which file.
        node: Node,
        /// Its bytes from now on.
        length: u64,
    },
    /// A name is given to what another one stands for, in one step.
    Rename {
        /// The name that ends.
        from: Name,
        /// The name that begins; what it stood for before is lost.
        to: Name,
    },
    /// Two names change places, in one step.
    Exchange {
        /// The one.
        left: Name,
        /// The other.
        right: Name,
    },
    /// A file has one more name.
    Link {
        /// The name that begins.
        name: Name,
        /// What it stands for.
        node: Node,
    },
    /// A name ends.
    Remove {
        /// Which.
        name: Name,
    },
    /// A file's bytes, or a folder's names, are made durable.
    Sync {
        /// Which.
        node: Node,
    },
    /// What somebody else did, all of it at once: nothing comes between.
    Elsewhere(Vec<Op>),
    /// Something that the script noted between two operations.
    Mark(u64),
}

/// Why an operation was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskError {
    /// There is nothing by that name.
    Missing,
    /// There is something by that name.
    Exists,
    /// A folder is not empty.
    NotEmpty,
    /// A file where a folder is needed, or the other way round.
    WrongKind,
    /// The device failed (`EIO`).
    Io,
    /// No space is left (`ENOSPC`).
    Full,
}

/// Whether an operation takes room.
#[derive(Debug, Clone, Copy)]
enum Room {
    /// It always does.
    Needs,
    /// On some file systems, which write what is new beside what is old.
    May,
    /// It gives room back.
    Never,
}

#[derive(Debug, Default)]
struct State {
    tree: Tree,
    record: Option<Vec<Op>>,
    elsewhere: Option<Vec<Op>>,
    fault: Option<Fault>,
    reached: bool,
    changes: u64,
    panic_at: Option<u64>,
    reads: u64,
    /// Files that never fail but for want of room: see [`VOLATILE`].
    volatile: BTreeSet<Node>,
}

/// How names of files end that hold nothing to be kept: the index of SQLite's log, which is memory that processes
/// share. It can want room; a device does not fail for it, because nobody waits for it to be written.
const VOLATILE: &str = "-shm";

/// A disk in memory. Clones are handles of the same one.
#[derive(Debug, Clone, Default)]
pub struct Disk(Arc<Mutex<State>>);

impl Disk {
    /// Makes an empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a record of the operations to come.
    pub fn start_record(&self) {
        self.lock().record = Some(Vec::new());
    }

    /// Ends the record and returns it.
    pub fn end_record(&self) -> Vec<Op> {
        self.lock().record.take().unwrap_or_default()
    }

    /// Notes something in the record.
    pub fn mark(&self, mark: u64) {
        let mut state = self.lock();
        if let Some(record) = &mut state.record {
            record.push(Op::Mark(mark));
        }
    }

    /// Has an operation fail; the counters start at 0.
    pub fn arm(&self, fault: Fault) {
        let mut state = self.lock();
        (state.changes, state.reads, state.reached) = (0, 0, false);
        state.fault = Some(fault);
    }

    /// Has the program panic at a change, counted from now on.
    pub fn panic_at(&self, change: u64) {
        let mut state = self.lock();
        (state.changes, state.panic_at) = (0, Some(change));
    }

    /// Lifts the fault, and says whether its operation was reached.
    pub fn disarm(&self) -> bool {
        let mut state = self.lock();
        (state.fault, state.panic_at) = (None, None);
        std::mem::take(&mut state.reached)
    }

    /// Returns how many changes (with syncs) and how many reads there were since the last fault was armed.
    pub fn counts(&self) -> (u64, u64) {
        let state = self.lock();
        (state.changes, state.reads)
    }

    /// Puts an image below a new folder of the root, and returns the folder. Not recorded, never fails.
    ///
    /// # Panics
    /// When the name is taken.
    pub fn plant(&self, name: &str, image: &Image) -> Node {
        let mut state = self.lock();
        let top = state.tree.make(&Name::new(ROOT, name), true).expect("the name is new");
        for (path, entry) in image.entries() {
            let mut folder = top;
            let mut parts = path.split('/').peekable();
            while let Some(part) = parts.next() {
                let place = Name::new(folder, part);
                if parts.peek().is_some() {
                    folder = state.tree.lookup(&place).expect("folders come before what is in them");
                    continue;
                }
                let node = state.tree.make(&place, matches!(entry, Entry::Folder)).expect("paths differ");
                if part.ends_with(VOLATILE) {
                    state.volatile.insert(node);
                }
                if let Entry::File(bytes) = entry {
                    state.tree.write(node, 0, bytes).expect("it is a file");
                }
            }
        }
        top
    }

    /// Forgets a folder of the root with all that is in it. Not recorded, never fails.
    pub fn uproot(&self, name: &str) {
        self.lock().tree.uproot(&Name::new(ROOT, name));
    }

    /// Returns what is below a folder now.
    pub fn image(&self, folder: Node) -> Image {
        Image::of(&self.lock().tree, folder)
    }

    /// Looks something up.
    pub fn lookup(&self, name: &Name) -> Option<Node> {
        self.lock().tree.lookup(name)
    }

    /// Does something with what a node is.
    pub fn look<T>(&self, node: Node, act: impl FnOnce(&Item) -> T) -> Option<T> {
        self.lock().tree.item(node).map(act)
    }

    /// Reads up to `length` bytes of a file.
    ///
    /// # Errors
    /// `Missing`, `WrongKind`; `Io` on demand.
    pub fn read(&self, node: Node, offset: u64, length: u64) -> Result<Vec<u8>, DiskError> {
        let mut state = self.lock();
        let number = state.reads;
        state.reads += 1;
        if state.fault.is_some_and(|fault| fault.failure == Failure::Read && fault.at == number) {
            state.reached = true;
            return Err(DiskError::Io);
        }
        state.tree.read(node, offset, length)
    }

    /// Makes an empty file or folder.
    ///
    /// # Errors
    /// `Exists`, `Missing`, `WrongKind`; `Io` and `Full` on demand.
    pub fn make(&self, name: &Name, folder: bool) -> Result<Node, DiskError> {
        let mut state = self.lock();
        let after = state.next(Room::Needs, None)?;
        let node = state.tree.make(name, folder)?;
        if name.text.ends_with(VOLATILE) {
            state.volatile.insert(node);
        }
        state.note(|| Op::Make { name: name.clone(), node, folder });
        after.map(|()| node)
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// `Missing`, `WrongKind`; `Io` and `Full` on demand.
    pub fn write(&self, node: Node, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        let mut state = self.lock();
        let grows = state.tree.length(node)? < offset.saturating_add(to_u64(bytes.len()));
        let after = state.next(if grows { Room::Needs } else { Room::May }, Some(node))?;
        let bytes = if after.is_err() { bytes.split_at(bytes.len() / 2).0 } else { bytes };
        state.tree.write(node, offset, bytes)?;
        state.note(|| Op::Write { node, offset, bytes: bytes.to_vec() });
        after
    }

    /// Writes bytes that count for nothing: they are not recorded, and never fail. For files whose bytes a crash may
    /// turn into anything.
    ///
    /// # Errors
    /// `Missing`, `WrongKind`.
    pub fn scribble(&self, node: Node, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.lock().tree.write(node, offset, bytes)
    }

    /// Cuts a file or extends it by zeros.
    ///
    /// # Errors
    /// `Missing`, `WrongKind`; `Io` and `Full` on demand.
    pub fn set_length(&self, node: Node, length: u64) -> Result<(), DiskError> {
        let mut state = self.lock();
        let grows = state.tree.length(node)? < length;
        let after = state.next(if grows { Room::Needs } else { Room::Never }, Some(node))?;
        state.tree.set_length(node, length)?;
        state.note(|| Op::SetLength { node, length });
        after
    }

    /// Renames; what has the new name is replaced.
    ///
    /// # Errors
    /// `Missing`, `NotEmpty`, `WrongKind`; `Io` and `Full` on demand.
    pub fn rename(&self, from: &Name, to: &Name) -> Result<(), DiskError> {
        let mut state = self.lock();
        let after = state.next(Room::May, None)?;
        state.tree.rename(from, to)?;
        state.note(|| Op::Rename { from: from.clone(), to: to.clone() });
        after
    }

    /// Has two names change places.
    ///
    /// # Errors
    /// `Missing`; `Io` and `Full` on demand.
    pub fn exchange(&self, left: &Name, right: &Name) -> Result<(), DiskError> {
        let mut state = self.lock();
        let after = state.next(Room::May, None)?;
        state.tree.exchange(left, right)?;
        state.note(|| Op::Exchange { left: left.clone(), right: right.clone() });
        after
    }

    /// Gives a file one more name.
    ///
    /// # Errors
    /// `Missing`, `Exists`, `WrongKind`; `Io` and `Full` on demand.
    pub fn link(&self, node: Node, name: &Name) -> Result<(), DiskError> {
        let mut state = self.lock();
        let after = state.next(Room::Needs, None)?;
        state.tree.link(node, name)?;
        state.note(|| Op::Link { name: name.clone(), node });
        after
    }

    /// Removes a name; an open file stays readable.
    ///
    /// # Errors
    /// `Missing`, `NotEmpty`; `Io` on demand.
    pub fn remove(&self, name: &Name) -> Result<(), DiskError> {
        let mut state = self.lock();
        let after = state.next(Room::Never, None)?;
        state.tree.remove(name)?;
        state.note(|| Op::Remove { name: name.clone() });
        after
    }

    /// Makes a file's bytes or a folder's names durable.
    ///
    /// # Errors
    /// `Io` and `Full` on demand: nothing was made durable then.
    pub fn sync(&self, node: Node) -> Result<(), DiskError> {
        let mut state = self.lock();
        match state.next(Room::May, Some(node))? {
            Ok(()) => state.note(|| Op::Sync { node }),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// What somebody else did, who does not ask this disk. Recorded; never fails, and is not counted.
impl Disk {
    /// Begins what is taken over at once.
    pub fn begin_elsewhere(&self) {
        self.lock().elsewhere = Some(Vec::new());
    }

    /// Ends what is taken over at once.
    pub fn end_elsewhere(&self) {
        let mut state = self.lock();
        if let Some(ops) = state.elsewhere.take().filter(|ops| !ops.is_empty()) {
            state.note(|| Op::Elsewhere(ops));
        }
    }

    /// Has a file hold what it holds elsewhere; none: its name ended. What is durable is so with its name.
    ///
    /// # Panics
    /// When the folder is not there.
    pub fn take_over(&self, name: &Name, bytes: Option<&[u8]>, is_durable: bool) {
        let mut state = self.lock();
        let known = state.tree.lookup(name);
        let Some(bytes) = bytes else {
            if known.is_some() && state.tree.remove(name).is_ok() {
                state.note(|| Op::Remove { name: name.clone() });
            }
            return;
        };
        let node = known.unwrap_or_else(|| {
            let node = state.tree.make(name, false).expect("the folder is there and the name is free");
            state.note(|| Op::Make { name: name.clone(), node, folder: false });
            node
        });
        let Some(Item::File(before)) = state.tree.item(node) else { return };
        let same = before.iter().zip(bytes).take_while(|(before, now)| before == now).count();
        let length = before.len();
        if same == bytes.len() && same == length {
            return;
        }
        if bytes.len() < length {
            let length = to_u64(bytes.len());
            state.tree.set_length(node, length).expect("it is a file");
            state.note(|| Op::SetLength { node, length });
        }
        if let Some(rest) = bytes.get(same..).filter(|rest| !rest.is_empty()) {
            let offset = u64::try_from(same).expect("an offset in memory");
            state.tree.write(node, offset, rest).expect("it is a file");
            state.note(|| Op::Write { node, offset, bytes: rest.to_vec() });
        }
        if is_durable {
            state.note(|| Op::Sync { node });
            if known.is_none() {
                state.note(|| Op::Sync { node: name.folder });
            }
        }
    }

    /// Has a folder be there that somebody else made, durably.
    ///
    /// # Panics
    /// When the folder above is not there, or the name is taken.
    pub fn take_over_folder(&self, name: &Name) {
        let mut state = self.lock();
        let node = state.tree.make(name, true).expect("the folder is there and the name is free");
        state.note(|| Op::Make { name: name.clone(), node, folder: true });
        state.note(|| Op::Sync { node: name.folder });
    }
}

impl State {
    /// Counts a change. An error outside: it is not to be done; an error inside: to be done in part, and reported.
    fn next(&mut self, room: Room, node: Option<Node>) -> Result<Result<(), DiskError>, DiskError> {
        let number = self.changes;
        self.changes += 1;
        let panics = self.panic_at.take_if(|at| *at == number).is_some();
        assert!(!panics, "the disk was told so");
        let Some(fault) = self.fault else { return Ok(Ok(())) };
        let hit = match fault.failure {
            Failure::Read => false,
            Failure::Full => match room {
                Room::Needs => fault.at <= number,
                Room::May => fault.at == number,
                Room::Never => false,
            },
            Failure::Io | Failure::Torn => fault.at == number,
        };
        let volatile = node.is_some_and(|node| self.volatile.contains(&node));
        let hit = hit && (!volatile || fault.failure == Failure::Full);
        self.reached |= number >= fault.at && fault.failure != Failure::Read;
        if !hit {
            return Ok(Ok(()));
        }
        match fault.failure {
            Failure::Full => Err(DiskError::Full),
            Failure::Torn => Ok(Err(DiskError::Io)),
            Failure::Io | Failure::Read => Err(DiskError::Io),
        }
    }

    fn note(&mut self, op: impl FnOnce() -> Op) {
        if let Some(record) = self.elsewhere.as_mut().or(self.record.as_mut()) {
            record.push(op());
        }
    }
}

#[cfg(test)]
mod tests;
