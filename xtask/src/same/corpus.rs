//! The transcripts that builds are compared on: where they are, and a digest by which other ones are told apart.
//! Not what is in them: `stemma import` finds that out.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::process::say;

/// Files below a corpus at most: a folder with more was named by mistake.
const FILES_MAX: usize = 200_000;

/// A folder of transcripts.
#[derive(Debug)]
pub(super) struct Corpus {
    pub(super) folder: PathBuf,
    /// Of the names and bytes of all files.
    pub(super) digest: String,
}

impl Corpus {
    /// Takes the folder that was named, else that of the environment, else the examples, and says which.
    ///
    /// # Errors
    /// Where it cannot be read.
    #[expect(clippy::disallowed_methods, reason = "this is the edge: the corpus is named by the environment")]
    pub(super) fn find(root: &Path, named: Option<&Path>) -> anyhow::Result<Self> {
        let folder = match (named, std::env::var_os("STEMMATA_CORPUS")) {
            (Some(folder), _) => folder.to_owned(),
            (None, Some(folder)) => PathBuf::from(folder),
            (None, None) => {
                say("STEMMATA_CORPUS is not set: only the few sessions of examples/ are compared");
                root.join("examples")
            }
        };
        Self::read(&folder).with_context(|| format!("reading the corpus {}", folder.display()))
    }

    fn read(folder: &Path) -> anyhow::Result<Self> {
        // `stemma` runs in another folder.
        let folder = folder.canonicalize()?;
        let mut files = Vec::new();
        list(&folder, &mut files)?;
        files.sort();
        let mut digest = blake3::Hasher::new();
        for path in &files {
            let name = path.strip_prefix(&folder).unwrap_or(path).to_string_lossy();
            let content = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
            digest.update(format!("{} {} {name}", name.len(), content.len()).as_bytes()).update(&content);
        }
        Ok(Self { folder, digest: digest.finalize().to_hex().to_string() })
    }
}

fn list(folder: &Path, found: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            list(&entry.path(), found)?;
        } else {
            found.push(entry.path());
            anyhow::ensure!(found.len() <= FILES_MAX, "more than {FILES_MAX} files");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "a file of a test")]
    fn digest(files: &[(&str, &str)]) -> String {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Corpus::read(folder.path()).unwrap().digest
    }

    #[test]
    fn a_corpus_is_told_apart_by_names_and_bytes_and_not_by_where_it_is() {
        let first = digest(&[("a.jsonl", "1"), ("b/c.jsonl", "2")]);
        assert_eq!(first, digest(&[("b/c.jsonl", "2"), ("a.jsonl", "1")]));
        assert_ne!(first, digest(&[("a.jsonl", "1"), ("b/d.jsonl", "2")]));
        assert_ne!(first, digest(&[("a.jsonl", "1"), ("b/c.jsonl", "3")]));
        assert_ne!(first, digest(&[("a.jsonl", "1")]));
    }
}
