//! Files of whole outputs of tools, for agents whose tools read files, and the record of which artifact each is of.
//!
//! The artifacts are in the ledger; a file is a copy that may be deleted at any time. Which outputs are too large is decided by
//! `stemmata_prompt::tool_output`.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use stemmata_model::ArtifactId;
use stemmata_prompt::tool_output::OutputLimits;
use stemmata_store::{Files as _, SystemFiles, read_bounded, write_file};

use crate::error::{EngineError, Result};

/// The folder in the system's temporary folder.
const FOLDER: &str = "ai_tool_outputs";

/// Bytes of a record at most: an id.
const RECORD_BYTES_MAX: u64 = 128;

/// What becomes of large outputs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutputRules {
    /// The limits of one output.
    pub limits: OutputLimits,
    /// Where files are written; without it there are none.
    pub files: Option<OutputFiles>,
}

/// The folder of the files, and the folder of the records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputFiles {
    folder: PathBuf,
    records: PathBuf,
}

impl OutputFiles {
    /// Writes files below a temporary folder, and records below a folder of the data directory. Makes neither.
    pub fn new(temp: &Path, records: PathBuf) -> Self {
        Self { folder: temp.join(FOLDER), records }
    }

    /// Writes an output for its owner alone, in the place of whatever has its name, and returns the path. The record comes
    /// first: a file without one would stay when its output is forgotten.
    ///
    /// # Errors
    /// The system's own; `PermissionDenied` where others may write into the folder.
    pub(crate) fn write(&self, sha256: &str, artifact: ArtifactId, output: &str) -> io::Result<PathBuf> {
        SystemFiles.make_directory(&self.folder)?;
        check_private(&self.folder)?;
        SystemFiles.make_directory(&self.records)?;
        let path = self.path_of(sha256);
        write_file(&self.records.join(sha256), artifact.to_string().as_bytes())?;
        write_file(&path, output.as_bytes())?;
        Ok(path)
    }

    /// Removes the files of outputs that are stored no longer.
    ///
    /// # Errors
    /// Those of `is_stored`; `Io` where a file stays, after the others were tried.
    pub(crate) fn sweep(&self, is_stored: impl Fn(ArtifactId) -> Result<bool>) -> Result<()> {
        let names = match SystemFiles.list(&self.records) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            names => names.map_err(EngineError::io("list", &self.records))?,
        };
        let mut failed = None;
        // Anything else in the folder, such as a record that was being written, is not a digest and stays.
        for sha256 in names.iter().filter(|name| is_digest(name)) {
            let record = self.records.join(sha256);
            let read = read_bounded(&record, RECORD_BYTES_MAX).map_err(EngineError::io("read", &record))?;
            let text = read.and_then(|bytes| String::from_utf8(bytes).ok());
            let artifact: Option<ArtifactId> = text.and_then(|text| text.parse().ok());
            if let Some(artifact) = artifact
                && is_stored(artifact)?
            {
                continue;
            }
            // The record goes last: as long as the file is there, the next sweep finds it.
            let path = self.path_of(sha256);
            let done = removed(&path).and_then(|()| removed(&record));
            failed = failed.or(done.map_err(EngineError::io("remove", path)).err());
        }
        failed.map_or(Ok(()), Err)
    }

    fn path_of(&self, sha256: &str) -> PathBuf {
        self.folder.join(format!("{sha256}.txt"))
    }
}

fn is_digest(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn removed(path: &Path) -> io::Result<()> {
    match SystemFiles.remove(path) {
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Err(error),
        _ => Ok(()),
    }
}

/// Refuses a folder that somebody else made: they could replace what is in it, or read it.
#[cfg(unix)]
fn check_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let there = fs::symlink_metadata(folder)?;
    // A folder of another owner with mode 0700 could not be written to in any case.
    let of_others = there.mode() & 0o077;
    if there.is_dir() && of_others == 0 {
        return Ok(());
    }
    Err(io::Error::new(
        ErrorKind::PermissionDenied,
        "others may use this folder; remove it, or `chmod 700` it",
    ))
}

#[cfg(not(unix))]
fn check_private(folder: &Path) -> io::Result<()> {
    fs::symlink_metadata(folder).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_may_use_and_a_link_are_refused_and_a_link_at_the_name_is_replaced() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let temp = tempfile::tempdir().expect("a folder");
        let files = OutputFiles::new(temp.path(), temp.path().join("records"));
        let (sha256, artifact) = ("0".repeat(64), stemmata_model::artifact_id(b"x"));
        let other = temp.path().join("other");
        fs::create_dir(&other).expect("made");
        symlink(&other, temp.path().join(FOLDER)).expect("linked");
        files.write(&sha256, artifact, "x").expect_err("a link");
        fs::remove_file(temp.path().join(FOLDER)).expect("removed");
        fs::create_dir(temp.path().join(FOLDER)).expect("made");
        fs::set_permissions(temp.path().join(FOLDER), fs::Permissions::from_mode(0o777)).expect("opened");
        let refused = files.write(&sha256, artifact, "x").expect_err("others may write there");
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
        fs::set_permissions(temp.path().join(FOLDER), fs::Permissions::from_mode(0o700)).expect("closed");
        let target = other.join("precious");
        let mut file = fs::File::create(&target).expect("made");
        io::Write::write_all(&mut file, b"precious").expect("written");
        symlink(&target, temp.path().join(FOLDER).join(format!("{sha256}.txt"))).expect("linked");
        let path = files.write(&sha256, artifact, "x").expect("written");
        assert_eq!(fs::read_to_string(&target).expect("there"), "precious", "the link was not followed");
        let metadata = fs::symlink_metadata(&path).expect("there");
        assert!(metadata.is_file());
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
        // What is stored stays, and what is not goes with its record.
        files.sweep(|_| Ok(true)).expect("swept");
        assert!(path.exists());
        files.sweep(|_| Ok(false)).expect("swept");
        assert!(!path.exists() && SystemFiles.list(&temp.path().join("records")).expect("listed").is_empty());
    }
}
