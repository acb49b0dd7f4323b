//! The data directory: its folders, owner-only, and the identity of the machine in it.
//!
//! What is in the store is the store's; where a user's other files are is `environment`.

use std::fs::DirBuilder;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stemmata_model::MachineId;

use crate::errors::CliError;

/// The version of `machine.json`.
const MACHINE_VERSION: u32 = 1;

/// Bytes of `machine.json` at most; ours has about 100.
const MACHINE_BYTES_MAX: u64 = 4096;

/// Characters of a machine's label at most: it is part of every principal.
const LABEL_CHARS_MAX: usize = 64;

/// A data directory that exists.
#[derive(Debug, Clone)]
pub(crate) struct DataHome {
    root: PathBuf,
}

/// Who this machine is. Written once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Machine {
    /// A random 128-bit number in hex.
    pub(crate) id: MachineId,
    /// A readable name: the host's when the directory was created.
    pub(crate) label: String,
}

#[derive(Serialize, Deserialize)]
struct MachineFile {
    version: u32,
    machine: String,
    label: String,
}

impl DataHome {
    /// Opens a data directory and creates what is missing of it.
    pub(crate) fn open(root: PathBuf) -> Result<Self, CliError> {
        let home = Self { root };
        for folder in [home.root.clone(), home.store(), home.logs(), home.run(), home.cache()] {
            create_private(&folder)?;
        }
        Ok(home)
    }

    /// Returns the directory itself.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folder of the store.
    pub(crate) fn store(&self) -> PathBuf {
        self.root.join("store")
    }

    /// Returns the folder of logs.
    pub(crate) fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    fn run(&self) -> PathBuf {
        self.root.join("run")
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.root.join("cache")
    }

    /// Returns who this machine is; makes it up the first time. Of several processes that do so at once, one wins.
    pub(crate) fn machine(&self) -> Result<Machine, CliError> {
        let path = self.root.join("machine.json");
        if let Some(machine) = read_machine(&path)? {
            return Ok(machine);
        }
        let file = MachineFile {
            version: MACHINE_VERSION,
            machine: uuid::Uuid::new_v4().simple().to_string(),
            label: host_label(),
        };
        let text = serde_json::to_string_pretty(&file).expect("strings and a number become JSON");
        let create = |source| CliError::io("create", &path, source);
        let mut temporary = tempfile::NamedTempFile::new_in(&self.root).map_err(create)?;
        writeln!(temporary, "{text}").map_err(create)?;
        temporary.as_file().sync_all().map_err(create)?;
        match temporary.persist_noclobber(&path) {
            Ok(_) => {}
            Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(create(error.error)),
        }
        read_machine(&path)?
            .ok_or_else(|| CliError::MachineFile { path, reason: "it is gone again".to_owned() })
    }
}

fn read_machine(path: &Path) -> Result<Option<Machine>, CliError> {
    let bad = |reason: String| CliError::MachineFile { path: path.to_owned(), reason };
    let length = match std::fs::metadata(path) {
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(CliError::io("read", path, error)),
    };
    if length > MACHINE_BYTES_MAX {
        return Err(bad(format!("it has {length} bytes, more than {MACHINE_BYTES_MAX}")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| CliError::io("read", path, error))?;
    let file: MachineFile = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
    if file.version != MACHINE_VERSION {
        return Err(bad(format!(
            "it has version {}, and this program knows {MACHINE_VERSION}",
            file.version
        )));
    }
    let id = MachineId::new(file.machine).map_err(|error| bad(error.to_string()))?;
    Ok(Some(Machine { id, label: label_of(&file.label) }))
}

/// Returns the host's name as a label.
fn host_label() -> String {
    #[cfg(unix)]
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    let name = String::new();
    label_of(name.split('.').next().unwrap_or_default())
}

/// Keeps what may stand in a principal: no spaces, no control characters, no separators of its own.
pub(crate) fn label_of(text: &str) -> String {
    let is_plain = |character: &char| character.is_alphanumeric() || matches!(character, '-' | '_' | '.');
    let label: String = text.chars().filter(is_plain).take(LABEL_CHARS_MAX).collect();
    if label.is_empty() { "machine".to_owned() } else { label }
}

/// Creates a folder and what is above it, readable by the owner only. A folder that exists stays as it is.
pub(crate) fn create_private(folder: &Path) -> Result<(), CliError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|error| CliError::io("create", folder, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_keeps_its_id_and_its_file_is_the_owners() {
        let folder = tempfile::tempdir().unwrap();
        let home = DataHome::open(folder.path().join("a/b")).unwrap();
        let first = home.machine().unwrap();
        assert_eq!(home.machine().unwrap(), first);
        assert_eq!(first.id.as_str().len(), 32);
        #[cfg(unix)]
        for (name, mode) in [("", 0o700), ("store", 0o700), ("logs", 0o700), ("machine.json", 0o600)] {
            let metadata = std::fs::metadata(home.root().join(name)).unwrap();
            let found = std::os::unix::fs::MetadataExt::mode(&metadata) & 0o777;
            assert_eq!(found, mode, "{name}");
        }
    }

    #[test]
    fn a_damaged_machine_file_is_an_error_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let home = DataHome::open(folder.path().to_owned()).unwrap();
        let path = folder.path().join("machine.json");
        for bad in ["", "{}", "{\"version\":2,\"machine\":\"a\",\"label\":\"b\"}"] {
            std::fs::File::create(&path).unwrap().write_all(bad.as_bytes()).unwrap();
            assert!(matches!(home.machine(), Err(CliError::MachineFile { .. })), "{bad}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), bad);
        }
    }

    #[test]
    fn labels_are_plain() {
        for (text, label) in
            [("anns mac", "annsmac"), ("", "machine"), ("a\nb@c/d", "abcd"), ("x-1.y_z", "x-1.y_z")]
        {
            assert_eq!(label_of(text), label);
        }
    }
}
