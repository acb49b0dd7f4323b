//! What is on a disk at one moment: folders, files and their bytes.

use std::collections::BTreeMap;
use stemmata_model::to_u64;

use super::DiskError;

/// Names a file or folder for as long as the disk lives; never used again.
pub type Node = u64;

/// The topmost folder.
pub const ROOT: Node = 1;

/// A name in a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// The folder.
    pub folder: Node,
    /// The name in it.
    pub text: String,
}

impl Name {
    /// Names something in a folder.
    pub fn new(folder: Node, text: &str) -> Self {
        Self { folder, text: text.to_owned() }
    }
}

/// A file or a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// Its bytes.
    File(Vec<u8>),
    /// What is in it.
    Folder(BTreeMap<String, Node>),
}

#[derive(Debug, Clone)]
pub(super) struct Tree {
    items: BTreeMap<Node, Item>,
    last: Node,
}

impl Default for Tree {
    fn default() -> Self {
        Self { items: BTreeMap::from([(ROOT, Item::Folder(BTreeMap::new()))]), last: ROOT }
    }
}

impl Tree {
    pub(super) fn item(&self, node: Node) -> Option<&Item> {
        self.items.get(&node)
    }

    pub(super) fn names(&self, folder: Node) -> Option<&BTreeMap<String, Node>> {
        match self.items.get(&folder) {
            Some(Item::Folder(names)) => Some(names),
            Some(Item::File(_)) | None => None,
        }
    }

    fn folder(&mut self, node: Node) -> Result<&mut BTreeMap<String, Node>, DiskError> {
        match self.items.get_mut(&node) {
            Some(Item::Folder(names)) => Ok(names),
            Some(Item::File(_)) => Err(DiskError::WrongKind),
            None => Err(DiskError::Missing),
        }
    }

    fn file(&mut self, node: Node) -> Result<&mut Vec<u8>, DiskError> {
        match self.items.get_mut(&node) {
            Some(Item::File(bytes)) => Ok(bytes),
            Some(Item::Folder(_)) => Err(DiskError::WrongKind),
            None => Err(DiskError::Missing),
        }
    }

    pub(super) fn lookup(&self, name: &Name) -> Option<Node> {
        self.names(name.folder)?.get(&name.text).copied()
    }

    pub(super) fn length(&self, node: Node) -> Result<u64, DiskError> {
        match self.items.get(&node) {
            Some(Item::File(bytes)) => Ok(to_u64(bytes.len())),
            Some(Item::Folder(_)) => Err(DiskError::WrongKind),
            None => Err(DiskError::Missing),
        }
    }

    pub(super) fn make(&mut self, name: &Name, folder: bool) -> Result<Node, DiskError> {
        let node = self.last + 1;
        let names = self.folder(name.folder)?;
        if names.contains_key(&name.text) {
            return Err(DiskError::Exists);
        }
        names.insert(name.text.clone(), node);
        self.last = node;
        self.items.insert(node, if folder { Item::Folder(BTreeMap::new()) } else { Item::File(Vec::new()) });
        Ok(node)
    }

    pub(super) fn read(&self, node: Node, offset: u64, length: u64) -> Result<Vec<u8>, DiskError> {
        match self.items.get(&node) {
            Some(Item::File(bytes)) => {
                let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
                Ok(bytes[place(offset)..place(offset.saturating_add(length))].to_vec())
            }
            Some(Item::Folder(_)) => Err(DiskError::WrongKind),
            None => Err(DiskError::Missing),
        }
    }

    pub(super) fn write(&mut self, node: Node, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        put(self.file(node)?, offset, bytes);
        Ok(())
    }

    pub(super) fn set_length(&mut self, node: Node, length: u64) -> Result<(), DiskError> {
        let length = usize::try_from(length).map_err(|_| DiskError::Full)?;
        self.file(node)?.resize(length, 0);
        Ok(())
    }

    pub(super) fn rename(&mut self, from: &Name, to: &Name) -> Result<(), DiskError> {
        let node = self.lookup(from).ok_or(DiskError::Missing)?;
        if let Some(other) = self.lookup(to)
            && self.names(other).is_some_and(|names| !names.is_empty())
        {
            return Err(DiskError::NotEmpty);
        }
        self.folder(to.folder)?;
        self.folder(from.folder)?.remove(&from.text);
        self.folder(to.folder)?.insert(to.text.clone(), node);
        Ok(())
    }

    /// Has two names change places.
    pub(super) fn exchange(&mut self, left: &Name, right: &Name) -> Result<(), DiskError> {
        let (first, second) = (self.lookup(left), self.lookup(right));
        let (first, second) = first.zip(second).ok_or(DiskError::Missing)?;
        self.folder(left.folder)?.insert(left.text.clone(), second);
        self.folder(right.folder)?.insert(right.text.clone(), first);
        Ok(())
    }

    /// Gives a file one more name.
    pub(super) fn link(&mut self, node: Node, name: &Name) -> Result<(), DiskError> {
        self.file(node)?;
        if self.lookup(name).is_some() {
            return Err(DiskError::Exists);
        }
        self.folder(name.folder)?.insert(name.text.clone(), node);
        Ok(())
    }

    pub(super) fn remove(&mut self, name: &Name) -> Result<(), DiskError> {
        let node = self.lookup(name).ok_or(DiskError::Missing)?;
        if self.names(node).is_some_and(|names| !names.is_empty()) {
            return Err(DiskError::NotEmpty);
        }
        self.folder(name.folder)?.remove(&name.text);
        Ok(())
    }

    /// Forgets a name and everything below it.
    pub(super) fn uproot(&mut self, name: &Name) {
        let Some(top) = self.lookup(name) else { return };
        if let Ok(names) = self.folder(name.folder) {
            names.remove(&name.text);
        }
        let mut left = vec![top];
        while let Some(node) = left.pop() {
            if let Some(Item::Folder(names)) = self.items.remove(&node) {
                left.extend(names.into_values());
            }
        }
    }
}

/// Writes into bytes, filling a gap with zeros.
pub(super) fn put(file: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let start = usize::try_from(offset).expect("a simulated file fits into memory");
    let end = start + bytes.len();
    if file.len() < end {
        file.resize(end, 0);
    }
    file[start..end].copy_from_slice(bytes);
}
