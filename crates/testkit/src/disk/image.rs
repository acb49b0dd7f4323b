//! The files and folders below one folder, by their paths: what is taken from a disk and put on another.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::path::Path;

use super::tree::{Item, Node, Tree};

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Entry {
    /// A file's bytes.
    File(Vec<u8>),
    /// A folder.
    Folder,
}

/// Files and folders by their paths with `/`, folders before what is in them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Image(BTreeMap<String, Entry>);

impl Image {
    pub(super) fn of(tree: &Tree, folder: Node) -> Self {
        let mut image = Self::default();
        image.walk(&|node| tree.names(node).cloned(), &|node| tree.item(node).cloned(), folder);
        image
    }

    /// Builds an image from what a node is and what names a folder has.
    pub(super) fn walk(
        &mut self,
        names: &dyn Fn(Node) -> Option<BTreeMap<String, Node>>,
        item: &dyn Fn(Node) -> Option<Item>,
        top: Node,
    ) {
        let mut left = vec![(String::new(), top)];
        while let Some((path, folder)) = left.pop() {
            for (name, node) in names(folder).unwrap_or_default() {
                let path = if path.is_empty() { name } else { format!("{path}/{name}") };
                match item(node) {
                    Some(Item::File(bytes)) => {
                        self.0.insert(path, Entry::File(bytes));
                    }
                    Some(Item::Folder(_)) => {
                        self.0.insert(path.clone(), Entry::Folder);
                        left.push((path, node));
                    }
                    None => {}
                }
            }
        }
    }

    /// Returns paths and what stands there.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.0.iter().map(|(path, entry)| (path.as_str(), entry))
    }

    /// Returns the files with their bytes.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().filter_map(|(path, entry)| match entry {
            Entry::File(bytes) => Some((path.as_str(), bytes.as_slice())),
            Entry::Folder => None,
        })
    }

    /// Puts a file at a path.
    pub fn put(&mut self, path: &str, bytes: Vec<u8>) {
        self.0.insert(path.to_owned(), Entry::File(bytes));
    }

    /// Takes what stands at a path away.
    pub fn take(&mut self, path: &str) {
        self.0.remove(path);
    }

    /// Returns a number that equal images share.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    /// Reads a folder of the real disk.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn read(top: &Path) -> io::Result<Self> {
        let mut image = Self::default();
        let mut left = vec![(String::new(), top.to_path_buf())];
        while let Some((path, folder)) = left.pop() {
            for entry in fs::read_dir(folder)? {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                let path = if path.is_empty() { name } else { format!("{path}/{name}") };
                if entry.file_type()?.is_dir() {
                    image.0.insert(path.clone(), Entry::Folder);
                    left.push((path, entry.path()));
                } else {
                    image.0.insert(path, Entry::File(fs::read(entry.path())?));
                }
            }
        }
        Ok(image)
    }

    /// Writes all of it below a folder of the real disk, which is made.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn write(&self, top: &Path) -> io::Result<()> {
        fs::create_dir_all(top)?;
        for (path, entry) in &self.0 {
            match entry {
                Entry::Folder => fs::create_dir_all(top.join(path))?,
                Entry::File(bytes) => {
                    let mut options = OpenOptions::new();
                    options.write(true).create(true).truncate(true).open(top.join(path))?.write_all(bytes)?;
                }
            }
        }
        Ok(())
    }
}
