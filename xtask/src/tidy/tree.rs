//! The files that the rules look at: path and text, nothing else.
//! Not a file system: the one function that reads the disk is `Tree::load`.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;

use anyhow::Context as _;

use super::source::{Parts, Source};

/// Bytes read of one file. Text that people write is far smaller, and a recorded session needs no rule.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// Every file of the repository by its path, with `/` between the parts.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, File>,
}

#[derive(Debug)]
struct File {
    /// None where it is too large or not text.
    text: Option<String>,
    /// What a Rust file is told apart into, once a rule asked.
    parts: OnceCell<Rc<Parts>>,
}

impl File {
    fn new(text: Option<String>) -> Self {
        Self { text, parts: OnceCell::new() }
    }
}

impl Tree {
    /// Reads what git tracks or would offer to add; build folders and a user's own ignored files stay out.
    ///
    /// # Errors
    /// When git cannot list the files, or a listed file cannot be read.
    pub(crate) fn load(root: &Path) -> anyhow::Result<Self> {
        let mut list = Command::new("git");
        list.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root);
        let output = list.output().context("starting `git ls-files`")?;
        let error = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(output.status.success(), "listing the files with `git ls-files`: {error}");
        let mut files = BTreeMap::new();
        for name in output.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            let path = String::from_utf8(name.to_vec()).context("a file name is not UTF-8")?;
            let on_disk = root.join(&path);
            // A file deleted but not yet committed is still listed.
            if on_disk.is_file() {
                files.insert(path, File::new(read(&on_disk)?));
            }
        }
        Ok(Self { files })
    }

    #[cfg(test)]
    pub(crate) fn made_up(files: &[(&str, &str)]) -> Self {
        let owned = |(path, text): &(&str, &str)| ((*path).to_owned(), File::new(Some((*text).to_owned())));
        Self { files: files.iter().map(owned).collect() }
    }

    /// Returns the text of a file, or none when it is absent, too large or not text.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.text.as_deref()
    }

    /// Returns whether the path is a file, or a folder with a file below it.
    pub(crate) fn contains(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        path.is_empty()
            || self.files.contains_key(path)
            || self.files.range(folder.clone()..).next().is_some_and(|(name, _)| name.starts_with(&folder))
    }

    /// Returns every path in order.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Returns every text file in order.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|(path, file)| Some((path.as_str(), file.text.as_deref()?)))
    }

    /// Returns every Rust file in order.
    pub(crate) fn sources(&self) -> impl Iterator<Item = Source<'_>> {
        self.files.keys().filter_map(|path| self.source(path))
    }

    /// Returns the Rust file at a path, or `None` if there is none.
    pub(crate) fn source(&self, path: &str) -> Option<Source<'_>> {
        let (path, file) = self.files.get_key_value(path)?;
        let text = file.text.as_deref().filter(|_| extension(path) == Some("rs"))?;
        let parts = file.parts.get_or_init(|| Rc::new(Parts::of(path, text)));
        Some(Source::told_apart(path, text, Rc::clone(parts)))
    }

    /// Returns the folders of the workspace's crates with their manifests.
    pub(crate) fn crates(&self) -> impl Iterator<Item = (&str, &str)> {
        let manifests =
            self.texts().filter_map(|(path, text)| Some((path.strip_suffix("/Cargo.toml")?, text)));
        manifests.filter(|(folder, _)| folder.starts_with("crates/") || !folder.contains('/'))
    }
}

/// Returns what stands behind the last dot of a file's name; none for a name like `run` or `.gitignore`.
pub(crate) fn extension(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension)
}

/// Reads a file as text; a large or binary one gives none.
fn read(path: &Path) -> anyhow::Result<Option<String>> {
    let bytes = fs::metadata(path).with_context(|| format!("reading `{}`", path.display()))?.len();
    if bytes > FILE_BYTES_MAX {
        return Ok(None);
    }
    let content = fs::read(path).with_context(|| format!("reading `{}`", path.display()))?;
    Ok(String::from_utf8(content).ok())
}
