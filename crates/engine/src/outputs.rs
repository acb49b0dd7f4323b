//! Files of whole outputs of tools, for agents whose tools read files, and the record of which artifact each is of.
//!
//! The artifacts are in the ledger; a file is a copy that may be deleted at any time. Which outputs are too large is decided by
//! `stemmata_prompt::tool_output`.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use stemmata_model::ArtifactId;
use stemmata_prompt::tool_output::OutputLimits;
use stemmata_store::{Files as _, SystemFiles, read_bounded, write_file};

use crate::error::{EngineError, Result};
use crate::temporary::{TempFiles, private_folder, sweep_folder};

/// The folder in the system's temporary folder, with the user's number behind it: users share the temporary folder.
const FOLDER: &str = "ai_tool_outputs";

/// Bytes of a record at most: an id and a path.
const RECORD_BYTES_MAX: usize = 8 * 1024;

/// What becomes of large outputs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutputRules {
    /// The limits of one output.
    pub limits: OutputLimits,
    /// Where files are written and their records are; without it there are none.
    pub files: Option<OutputFiles>,
}

/// The folder of the files, and the folder of the records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputFiles {
    temp: Option<PathBuf>,
    records: PathBuf,
}

impl OutputFiles {
    /// Writes files below a temporary folder, and records below a folder of the data directory. Makes neither. Without a
    /// temporary folder no file is written, and those that were are still removed.
    pub fn new(temp: Option<&Path>, records: PathBuf) -> Self {
        Self { temp: temp.map(Path::to_owned), records }
    }

    /// Writes an output for its owner alone, in the place of whatever has its name, and returns the path; `None` where no files
    /// are written. The record comes first: a file without one would stay when its output is forgotten.
    ///
    /// # Errors
    /// The system's own; `PermissionDenied` where the folder is another user's, or others may write into it; `InvalidInput`
    /// for a path that is too long or no UTF-8.
    pub(crate) fn write(
        &self,
        sha256: &str,
        artifact: ArtifactId,
        output: &str,
    ) -> io::Result<Option<PathBuf>> {
        let Some(temp) = &self.temp else { return Ok(None) };
        SystemFiles.make_directory(&self.records)?;
        let folder = private_folder(&std::path::absolute(temp)?, FOLDER)?;
        let path = folder.join(format!("{sha256}.txt"));
        let name = path.to_str().ok_or_else(|| refused("the path of the temporary folder is not UTF-8"))?;
        let record = format!("{artifact}\n{name}");
        if record.len() > RECORD_BYTES_MAX {
            return Err(refused("the path of the temporary folder is too long"));
        }
        // Named by the path: the same output may be in two temporary folders.
        let place = self.records.join(digest(name));
        write_file(&place, record.as_bytes())?;
        TempFiles::default().write_whole(&path, |error| error, |out| out.write_all(output.as_bytes()))?;
        // A sweep of another process may have taken the record in between, and would not find the file again.
        if let Err(error) = fs::metadata(&place) {
            removed(&path)?;
            return Err(error);
        }
        Ok(Some(path))
    }

    /// Removes the files of outputs that are stored no longer, and what dead processes left beside them.
    ///
    /// # Errors
    /// Those of `is_stored`; `Io` where a file stays. The first one, after all others were tried.
    pub(crate) fn sweep(&self, is_stored: impl Fn(ArtifactId) -> Result<bool>) -> Result<()> {
        let names = match SystemFiles.list(&self.records) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            names => names.map_err(EngineError::io("list", &self.records))?,
        };
        let (mut failed, mut folders) = (None, BTreeSet::new());
        // Anything else in the folder, such as a record that was being written, is not a digest and stays.
        for sha256 in names.iter().filter(|name| is_digest(name)) {
            let record = self.records.join(sha256);
            let bound = u64::try_from(RECORD_BYTES_MAX).unwrap_or(u64::MAX);
            // What cannot be read says nothing of a file that may hold what was forgotten: a person has to see it.
            let bad = || io::Error::new(ErrorKind::InvalidData, "it names no output; remove it");
            let read = match read_bounded(&record, bound) {
                // Another sweep removed it.
                Ok(None) => continue,
                Ok(Some(bytes)) => String::from_utf8(bytes).ok().as_deref().and_then(parsed).ok_or_else(bad),
                Err(error) => Err(error),
            };
            let (artifact, path) = match read.map_err(EngineError::io("read", &record)) {
                Ok(read) => read,
                Err(error) => {
                    failed.get_or_insert(error);
                    continue;
                }
            };
            folders.extend(path.parent().map(Path::to_owned));
            match is_stored(artifact) {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => {
                    failed.get_or_insert(error);
                    continue;
                }
            }
            // The record goes last: as long as the file is there, the next sweep finds it. It has the path, since the file may
            // be in a temporary folder other than that of this process.
            // Once more after the record: it may have been written anew between the two, by a process that saw the record.
            let done = removed(&path).and_then(|()| removed(&record)).and_then(|()| removed(&path));
            failed = failed.or(done.map_err(EngineError::io("remove", path)).err());
        }
        for folder in folders {
            sweep_folder(&folder, &|_| None, &mut failed);
        }
        failed.map_or(Ok(()), Err)
    }
}

fn parsed(record: &str) -> Option<(ArtifactId, PathBuf)> {
    let (artifact, path) = record.split_once('\n')?;
    let path = Path::new(path);
    path.is_absolute().then_some((artifact.parse().ok()?, path.to_owned()))
}

fn digest(text: &str) -> String {
    format!("{:x}", Sha256::digest(text.as_bytes()))
}

fn refused(reason: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, reason)
}

fn is_digest(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn removed(path: &Path) -> io::Result<()> {
    match SystemFiles.remove(path) {
        // What has the name is no file that was written here.
        Err(_) if path.symlink_metadata().is_ok_and(|there| there.is_dir()) => Ok(()),
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_may_use_and_a_link_are_refused_and_a_link_at_the_name_is_replaced() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let temp = tempfile::tempdir().expect("a folder");
        let files = OutputFiles::new(Some(temp.path()), temp.path().join("records"));
        let (sha256, artifact) = ("0".repeat(64), stemmata_model::artifact_id(b"x"));
        let folder = private_folder(temp.path(), FOLDER).expect("a folder");
        fs::remove_dir(&folder).expect("removed");
        let other = temp.path().join("other");
        fs::create_dir(&other).expect("made");
        symlink(&other, &folder).expect("linked");
        files.write(&sha256, artifact, "x").expect_err("a link");
        fs::remove_file(&folder).expect("removed");
        fs::create_dir(&folder).expect("made");
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).expect("opened");
        let refused = files.write(&sha256, artifact, "x").expect_err("others may write there");
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("closed");
        let target = other.join("precious");
        let mut file = fs::File::create(&target).expect("made");
        io::Write::write_all(&mut file, b"precious").expect("written");
        symlink(&target, folder.join(format!("{sha256}.txt"))).expect("linked");
        let path = files.write(&sha256, artifact, "x").expect("written").expect("a path");
        assert_eq!(fs::read_to_string(&target).expect("there"), "precious", "the link was not followed");
        let metadata = fs::symlink_metadata(&path).expect("there");
        assert!(metadata.is_file());
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
        // What is stored stays.
        files.sweep(|_| Ok(true)).expect("swept");
        assert!(path.exists());
        // A record that says nothing keeps no other one from being done, and is said.
        let bad = temp.path().join("records").join("f".repeat(64));
        write_file(&bad, b"no output").expect("written");
        let said = files.sweep(|_| Ok(true)).expect_err("a record without a file").to_string();
        assert!(said.contains(bad.to_str().expect("text")), "{said}");
        fs::remove_file(&bad).expect("removed");
        // The file goes with its record, in whatever process: its temporary folder may be another, or none.
        let elsewhere = OutputFiles::new(None, temp.path().join("records"));
        assert_eq!(elsewhere.write(&sha256, artifact, "x").expect("nothing to write"), None);
        elsewhere.sweep(|_| Ok(false)).expect("swept");
        assert!(!path.exists());
        assert!(SystemFiles.list(&temp.path().join("records")).expect("listed").is_empty());
    }
}
