//! The data directory: its folders, owner-only, and the identity of the machine in it.
//!
//! What is in the store is the store's; where a user's other files are is `environment`.

use std::fs::DirBuilder;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stemmata_engine::FORMER_MACHINES_MAX;
use stemmata_model::MachineId;

use crate::errors::CliError;

/// The version of `machine.json`.
const MACHINE_VERSION: u32 = 1;

/// Bytes of `machine.json` at most: about 200 for each machine.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// Bytes of a machine's mark that are read at most; a real one has 33.
const MACHINE_BYTES_MAX: u64 = 4096;

/// Characters of a machine's label at most: it is part of every principal.
const LABEL_CHARS_MAX: usize = 64;

/// A data directory that exists.
#[derive(Debug, Clone)]
pub(crate) struct DataHome {
    root: PathBuf,
}

/// Who this machine is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Machine {
    /// A random 128-bit number in hex.
    pub(crate) id: MachineId,
    /// A readable name: the host's when the directory was created.
    pub(crate) label: String,
    /// The machines that the directory was on before.
    pub(crate) former: Vec<MachineId>,
}

/// `machine.json`. Written once, and once more by each other machine that the directory is copied to.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct MachineFile {
    version: u32,
    #[serde(flatten)]
    own: MachineEntry,
    /// Machines that the directory was on before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    before: Vec<MachineEntry>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct MachineEntry {
    machine: String,
    label: String,
    /// A hash of the machine's mark and its id; absent where the machine has no mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host: Option<String>,
}

impl MachineEntry {
    fn new(host: Option<&str>) -> Self {
        let machine = uuid::Uuid::new_v4().simple().to_string();
        Self { host: host.map(|mark| host_hash(&machine, mark)), machine, label: host_label() }
    }

    /// Says whether this is another machine than the one with a mark. Where there is no mark nobody knows.
    fn is_other(&self, host: Option<&str>) -> bool {
        match (&self.host, host) {
            (Some(known), Some(mark)) => *known != host_hash(&self.machine, mark),
            (None, _) | (_, None) => false,
        }
    }

    fn is_same(&self, host: Option<&str>) -> bool {
        self.host.is_some() && host.is_some() && !self.is_other(host)
    }
}

/// The mark itself stays on the machine: it is hashed with the random id, so that two files do not tell that they
/// were on one machine.
fn host_hash(machine: &str, mark: &str) -> String {
    let text = format!("stemmata machine.json host 1\n{machine}\n{mark}\n");
    stemmata_model::artifact_id(text.as_bytes()).to_string().trim_start_matches("art-").to_owned()
}

/// Returns a mark that this machine keeps and another one does not have. A host's name is none: containers get a new
/// one each time.
pub(crate) fn host_mark() -> Option<String> {
    ["/etc/machine-id", "/var/lib/dbus/machine-id"].iter().find_map(|path| {
        let mut text = String::new();
        std::fs::File::open(path).ok()?.take(MACHINE_BYTES_MAX).read_to_string(&mut text).ok()?;
        let mark = text.trim();
        let is_mark = mark.len() == 32 && mark.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_mark.then(|| mark.to_owned())
    })
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

    /// Returns the folder of the vault; the vault makes it when something is kept.
    pub(crate) fn vault(&self) -> PathBuf {
        self.root.join("vault")
    }

    /// Returns the folder of logs.
    pub(crate) fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// Returns the folder of what processes leave for each other.
    pub(crate) fn run(&self) -> PathBuf {
        self.root.join("run")
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.root.join("cache")
    }

    /// Returns who this machine is, and what is new about that; makes it up the first time. A directory that was copied
    /// from another machine gets an id of its own, and keeps the other in its history. Of several processes that do so
    /// at once, one wins.
    pub(crate) fn machine(&self, host: Option<&str>) -> Result<(Machine, Option<String>), CliError> {
        let path = self.root.join("machine.json");
        let Some(file) = read_machine(&path)? else {
            let file =
                MachineFile { version: MACHINE_VERSION, own: MachineEntry::new(host), before: Vec::new() };
            self.keep(&path, &file, false)?;
            let kept = read_machine(&path)?;
            let kept = kept.ok_or_else(|| CliError::MachineFile {
                path: path.clone(),
                reason: "it is gone again".to_owned(),
            })?;
            return Ok((machine_of(&kept, &path)?, None));
        };
        if !file.own.is_other(host) {
            if file.own.host.is_none() && host.is_some() {
                self.mark(&path, &file, host);
            }
            return Ok((machine_of(&file, &path)?, None));
        }
        self.moved(&path, file, host)
    }

    /// Adds the machine's mark to a file that was written without one. Where the directory cannot be written it stays
    /// without: nothing depends on it yet.
    fn mark(&self, path: &Path, file: &MachineFile, host: Option<&str>) {
        let mut marked = file.clone();
        marked.own.host = host.map(|mark| host_hash(&marked.own.machine, mark));
        if let Err(error) = self.keep(path, &marked, true) {
            tracing::debug!(%error, "the machine's mark was not kept");
        }
    }

    /// Gives a machine that the directory was copied to an id of its own, or the one that it had before.
    fn moved(
        &self,
        path: &Path,
        file: MachineFile,
        host: Option<&str>,
    ) -> Result<(Machine, Option<String>), CliError> {
        let mut before = file.before;
        let known = before.iter().position(|entry| entry.is_same(host)).map(|at| before.remove(at));
        let news = if known.is_some() {
            format!(
                "{} was last used on another machine ({}) and is back on this one: where two machines write one \
                 directory, by a sync or a network, the store breaks; give each its own `STEMMATA_HOME`",
                self.root.display(),
                label_of(&file.own.label)
            )
        } else {
            format!(
                "{} was copied from another machine ({}); this one has an id of its own now, and what was captured \
                 there stays as it is",
                self.root.display(),
                label_of(&file.own.label)
            )
        };
        before.push(file.own);
        let excess = before.len().saturating_sub(FORMER_MACHINES_MAX);
        before.drain(..excess);
        let own = known.unwrap_or_else(|| MachineEntry::new(host));
        let file = MachineFile { version: MACHINE_VERSION, own, before };
        let machine = machine_of(&file, path)?;
        self.keep(path, &file, true)?;
        Ok((machine, Some(news)))
    }

    /// Writes the file, whole or not at all. One that is there stays, unless it is to be replaced.
    fn keep(&self, path: &Path, file: &MachineFile, replace: bool) -> Result<(), CliError> {
        let create = |source| CliError::io("create", path, source);
        let text = serde_json::to_string_pretty(file).expect("strings and numbers become JSON");
        let mut temporary = tempfile::NamedTempFile::new_in(&self.root).map_err(create)?;
        writeln!(temporary, "{text}").map_err(create)?;
        temporary.as_file().sync_all().map_err(create)?;
        let kept = if replace { temporary.persist(path) } else { temporary.persist_noclobber(path) };
        match kept {
            Ok(_) => Ok(()),
            Err(error) if !replace && error.error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(create(error.error)),
        }
    }
}

fn read_machine(path: &Path) -> Result<Option<MachineFile>, CliError> {
    let bad = |reason: String| CliError::MachineFile { path: path.to_owned(), reason };
    let length = match std::fs::metadata(path) {
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(CliError::io("read", path, error)),
    };
    if length > FILE_BYTES_MAX {
        return Err(bad(format!("it has {length} bytes, more than {FILE_BYTES_MAX}")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| CliError::io("read", path, error))?;
    let file: MachineFile = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
    if file.version != MACHINE_VERSION {
        return Err(bad(format!(
            "it has version {}, and this program knows {MACHINE_VERSION}",
            file.version
        )));
    }
    Ok(Some(file))
}

fn machine_of(file: &MachineFile, path: &Path) -> Result<Machine, CliError> {
    let id = |entry: &MachineEntry| {
        MachineId::new(entry.machine.clone())
            .map_err(|error| CliError::MachineFile { path: path.to_owned(), reason: error.to_string() })
    };
    let former = file.before.iter().map(id).collect::<Result<_, _>>()?;
    Ok(Machine { id: id(&file.own)?, label: label_of(&file.own.label), former })
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
        let first = home.machine(None).unwrap();
        assert_eq!(home.machine(None).unwrap(), first);
        assert_eq!(first.0.id.as_str().len(), 32);
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
            assert!(matches!(home.machine(None), Err(CliError::MachineFile { .. })), "{bad}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), bad);
        }
    }

    #[test]
    fn a_copied_directory_gets_an_id_of_its_own_and_each_machine_keeps_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let home = DataHome::open(folder.path().to_owned()).unwrap();
        let at = |host: Option<&str>| {
            let (machine, news) = home.machine(host).unwrap();
            assert!(!machine.former.contains(&machine.id), "{machine:?}");
            (machine.id, news)
        };
        let (first, _) = at(None);
        assert_eq!(at(Some("a")), (first.clone(), None), "the first mark is taken over");
        assert_eq!(at(None), (first.clone(), None), "where no mark is known nothing changes");
        let (second, news) = at(Some("b"));
        assert_ne!(second, first);
        assert!(news.unwrap().contains("was copied from another machine"));
        assert_eq!(at(Some("b")), (second.clone(), None));
        let (back, news) = at(Some("a"));
        assert_eq!(back, first);
        assert!(news.unwrap().contains("where two machines write one directory"));
        assert_eq!(at(Some("b")).0, second);
        assert_eq!(home.machine(Some("b")).unwrap().0.former, std::slice::from_ref(&first));
        let text = std::fs::read_to_string(folder.path().join("machine.json")).unwrap();
        assert!(text.contains(first.as_str()) && text.contains(second.as_str()), "{text}");
    }

    #[test]
    fn a_machine_file_of_before_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let home = DataHome::open(folder.path().to_owned()).unwrap();
        let path = folder.path().join("machine.json");
        let text = "{\"version\":1,\"machine\":\"0123456789abcdef0123456789abcdef\",\"label\":\"box\"}";
        std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        let (machine, news) = home.machine(Some("a")).unwrap();
        assert_eq!((machine.id.as_str(), news), ("0123456789abcdef0123456789abcdef", None));
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
