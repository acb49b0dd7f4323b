//! `machine.json`: who this machine is, and which machines the data directory was on before.
//!
//! What tells this machine from others is the program's to find.

use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};
use stemmata_model::MachineId;
use stemmata_store::{FileLock, read_bounded};

use crate::engine::FORMER_MACHINES_MAX;
use crate::error::{EngineError, Result};
use crate::temporary::TempFiles;

/// The file.
const FILE: &str = "machine.json";

/// The version of `machine.json`.
const MACHINE_VERSION: u32 = 1;

/// Bytes of `machine.json` at most: about 200 for each machine.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// Characters of a label at most: it is part of every principal.
const LABEL_CHARS_MAX: usize = 64;

/// What tells this machine, and who works on it, from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineFacts {
    /// A mark that this machine keeps and no other has (`/etc/machine-id`); none where the system has none. Not the host's
    /// name: containers get a new one each time.
    pub mark: Option<String>,
    /// The host's name, for the label of a new machine.
    pub host_name: String,
    /// The system's number of the user: only this user's files may hold a project's rules that are trusted.
    pub user_id: u32,
}

/// Who this machine is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Machine {
    /// A random 128-bit number in hex.
    pub id: MachineId,
    /// A readable name: the host's when the directory was created.
    pub label: String,
    /// The machines that the directory was on before.
    pub former: Vec<MachineId>,
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
    fn new(facts: &MachineFacts) -> Self {
        let machine = uuid::Uuid::new_v4().simple().to_string();
        let label = label_of(facts.host_name.split('.').next().unwrap_or_default());
        Self { host: facts.mark.as_deref().map(|mark| host_hash(&machine, mark)), machine, label }
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

/// Waits until nobody else changes the file.
type Alone<'a> = &'a dyn Fn() -> Result<Box<dyn FileLock>>;

/// Returns who this machine is, and what is new about that; makes it up the first time. A directory that was copied from
/// another machine gets an id of its own, and keeps the other in its history. `alone` holds the file while it is changed: of
/// several processes that do so at once, one does it and the others read it.
pub(super) fn machine(
    home: &Path,
    facts: &MachineFacts,
    alone: Alone<'_>,
) -> Result<(Machine, Option<String>)> {
    let path = home.join(FILE);
    let host = facts.mark.as_deref();
    let Some(file) = read(&path)? else {
        let file =
            MachineFile { version: MACHINE_VERSION, own: MachineEntry::new(facts), before: Vec::new() };
        keep(&path, &file, false)?;
        let reason = "it is gone again".to_owned();
        let kept = read(&path)?.ok_or_else(|| EngineError::MachineFile { path: path.clone(), reason })?;
        return Ok((machine_of(&kept, &path)?, None));
    };
    if !file.own.is_other(host) {
        if file.own.host.is_none() && host.is_some() {
            mark(&path, &file, host);
        }
        return Ok((machine_of(&file, &path)?, None));
    }
    let _alone = alone()?;
    match read(&path)? {
        Some(now) if now.own.is_other(host) => moved(&path, now, facts),
        now => Ok((machine_of(&now.unwrap_or(file), &path)?, None)),
    }
}

/// Puts a copy of who this machine is into a backup.
pub(super) fn leave_in(home: &Path, backup: &Path) -> Result<()> {
    match read(&home.join(FILE))? {
        Some(file) => keep(&backup.join(FILE), &file, true),
        None => Ok(()),
    }
}

/// Takes up who a backup is of, where it was restored: what it holds was recorded by this directory's machines. The machine keeps
/// the id that it had in the backup where it is the same one; else that one counts as one that the directory was on before.
pub(super) fn take_up_from(home: &Path, backup: &Path, facts: &MachineFacts, alone: Alone<'_>) -> Result<()> {
    let Some(MachineFile { own: theirs, before: mut all, .. }) = read(&backup.join(FILE))? else {
        return Ok(());
    };
    let _alone = alone()?;
    let (path, host) = (home.join(FILE), facts.mark.as_deref());
    let mine = read(&path)?;
    let is_mine = mine.as_ref().is_none_or(|mine| mine.own.is_same(host)) && theirs.is_same(host);
    let (before, now) = mine.map_or((Vec::new(), None), |mine| (mine.before, Some(mine.own)));
    all.extend(before);
    let own = if is_mine {
        all.extend(now);
        theirs
    } else {
        all.push(theirs);
        now.unwrap_or_else(|| MachineEntry::new(facts))
    };
    let mut known = vec![own.machine.clone()];
    all.retain(|entry| {
        let is_new = !known.contains(&entry.machine);
        known.push(entry.machine.clone());
        is_new
    });
    all.drain(..all.len().saturating_sub(FORMER_MACHINES_MAX));
    keep(&path, &MachineFile { version: MACHINE_VERSION, own, before: all }, true)
}

/// Adds the machine's mark to a file that was written without one. Where the directory cannot be written it stays
/// without: nothing depends on it yet.
fn mark(path: &Path, file: &MachineFile, host: Option<&str>) {
    let mut marked = file.clone();
    marked.own.host = host.map(|mark| host_hash(&marked.own.machine, mark));
    if let Err(error) = keep(path, &marked, true) {
        tracing::debug!(%error, "the machine's mark was not kept");
    }
}

/// Gives a machine that the directory was copied to an id of its own, or the one that it had before.
fn moved(path: &Path, file: MachineFile, facts: &MachineFacts) -> Result<(Machine, Option<String>)> {
    let (host, root) = (facts.mark.as_deref(), path.parent().unwrap_or(path));
    let mut before = file.before;
    let known = before.iter().position(|entry| entry.is_same(host)).map(|at| before.remove(at));
    let news = if known.is_some() {
        format!(
            "{} was last used on another machine ({}) and is back on this one: where two machines write one \
             directory, by a sync or a network, the store breaks; give each its own `STEMMATA_HOME`",
            root.display(),
            label_of(&file.own.label)
        )
    } else {
        format!(
            "{} was copied from another machine ({}); this one has an id of its own now, and what was captured \
             there stays as it is",
            root.display(),
            label_of(&file.own.label)
        )
    };
    before.push(file.own);
    let excess = before.len().saturating_sub(FORMER_MACHINES_MAX);
    before.drain(..excess);
    let own = known.unwrap_or_else(|| MachineEntry::new(facts));
    let file = MachineFile { version: MACHINE_VERSION, own, before };
    let machine = machine_of(&file, path)?;
    keep(path, &file, true)?;
    Ok((machine, Some(news)))
}

/// Writes the file, whole or not at all. One that is there stays, unless it is to be replaced.
fn keep(path: &Path, file: &MachineFile, replace: bool) -> Result<()> {
    let text = serde_json::to_string_pretty(file).expect("strings and numbers become JSON");
    let files = TempFiles::default();
    let failed = |source| EngineError::io("create", path)(source);
    let write = |out: &mut dyn Write| writeln!(out, "{text}").map_err(failed);
    if replace {
        files.write_whole(path, failed, write)
    } else {
        files.write_new(path, failed, write).map(drop)
    }
}

fn read(path: &Path) -> Result<Option<MachineFile>> {
    let bad = |reason: String| EngineError::MachineFile { path: path.to_owned(), reason };
    let read = read_bounded(path, FILE_BYTES_MAX + 1).map_err(EngineError::io("read", path))?;
    let Some(bytes) = read else { return Ok(None) };
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > FILE_BYTES_MAX {
        return Err(bad(format!("it has more than {FILE_BYTES_MAX} bytes")));
    }
    let file: MachineFile = serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))?;
    if file.version != MACHINE_VERSION {
        return Err(bad(format!(
            "it has version {}, and this program knows {MACHINE_VERSION}",
            file.version
        )));
    }
    Ok(Some(file))
}

fn machine_of(file: &MachineFile, path: &Path) -> Result<Machine> {
    let id = MachineId::new(file.own.machine.clone())
        .map_err(|error| EngineError::MachineFile { path: path.to_owned(), reason: error.to_string() })?;
    // What cannot have been a machine has recorded nothing.
    let former = file.before.iter().filter_map(|entry| MachineId::new(entry.machine.clone()).ok()).collect();
    Ok(Machine { id, label: label_of(&file.own.label), former })
}

/// Keeps what may stand in a principal: no spaces, no control characters, no separators of its own.
pub(crate) fn label_of(text: &str) -> String {
    let is_plain = |character: &char| character.is_alphanumeric() || matches!(character, '-' | '_' | '.');
    let label: String = text.chars().filter(is_plain).take(LABEL_CHARS_MAX).collect();
    if label.is_empty() { "machine".to_owned() } else { label }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stemmata_store::{Files as _, Patience, SystemFiles};

    use super::*;

    fn at(home: &Path, mark: Option<&str>) -> Result<(Machine, Option<String>)> {
        let mark = mark.map(str::to_owned);
        let alone = || {
            let path = home.join("lock");
            let lock = Patience::each(Duration::from_mins(1)).until(|| SystemFiles.lock(&path));
            lock.map_err(EngineError::io("lock", &path)).map(|lock| lock.expect("within a minute"))
        };
        machine(home, &MachineFacts { mark, host_name: "box.example".to_owned(), user_id: 0 }, &alone)
    }

    #[test]
    fn processes_that_meet_a_copied_directory_at_once_agree_on_its_id() {
        let folder = tempfile::tempdir().unwrap();
        let (first, _) = at(folder.path(), Some("a")).unwrap();
        let ids: Vec<MachineId> = std::thread::scope(|scope| {
            let all: Vec<_> =
                (0..8).map(|_| scope.spawn(|| at(folder.path(), Some("b")).unwrap().0.id)).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        let (now, _) = at(folder.path(), Some("b")).unwrap();
        assert!(ids.iter().all(|id| *id == now.id), "{ids:?}");
        assert_eq!(now.former, [first.id]);
    }

    #[test]
    fn a_former_machine_that_cannot_be_read_stops_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let own = "0123456789abcdef0123456789abcdef";
        let text = format!(
            "{{\"version\":1,\"machine\":\"{own}\",\"label\":\"box\",\"before\":[{{\"machine\":\"\",\"label\":\"x\"}}]}}"
        );
        std::fs::File::create(folder.path().join("machine.json"))
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
        let (machine, _) = at(folder.path(), None).unwrap();
        assert_eq!((machine.id.as_str(), machine.former.len()), (own, 0));
    }

    #[test]
    fn a_machine_keeps_its_id_and_its_file_is_the_owners() {
        let folder = tempfile::tempdir().unwrap();
        let first = at(folder.path(), None).unwrap();
        assert_eq!(at(folder.path(), None).unwrap(), first);
        assert_eq!((first.0.id.as_str().len(), first.0.label.as_str()), (32, "box"));
        #[cfg(unix)]
        {
            let metadata = std::fs::metadata(folder.path().join("machine.json")).unwrap();
            assert_eq!(std::os::unix::fs::MetadataExt::mode(&metadata) & 0o777, 0o600);
        }
    }

    #[test]
    fn a_damaged_machine_file_is_an_error_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("machine.json");
        for bad in ["", "{}", "{\"version\":2,\"machine\":\"a\",\"label\":\"b\"}"] {
            std::fs::File::create(&path).unwrap().write_all(bad.as_bytes()).unwrap();
            assert!(matches!(at(folder.path(), None), Err(EngineError::MachineFile { .. })), "{bad}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), bad);
        }
    }

    #[test]
    fn a_copied_directory_gets_an_id_of_its_own_and_each_machine_keeps_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let of = |host: Option<&str>| {
            let (machine, news) = at(folder.path(), host).unwrap();
            assert!(!machine.former.contains(&machine.id), "{machine:?}");
            (machine.id, news)
        };
        let (first, _) = of(None);
        assert_eq!(of(Some("a")), (first.clone(), None), "the first mark is taken over");
        assert_eq!(of(None), (first.clone(), None), "where no mark is known nothing changes");
        let (second, news) = of(Some("b"));
        assert_ne!(second, first);
        assert!(news.unwrap().contains("was copied from another machine"));
        assert_eq!(of(Some("b")), (second.clone(), None));
        let (back, news) = of(Some("a"));
        assert_eq!(back, first);
        assert!(news.unwrap().contains("where two machines write one directory"));
        assert_eq!(of(Some("b")).0, second);
        assert_eq!(at(folder.path(), Some("b")).unwrap().0.former, std::slice::from_ref(&first));
        let text = std::fs::read_to_string(folder.path().join("machine.json")).unwrap();
        assert!(text.contains(first.as_str()) && text.contains(second.as_str()), "{text}");
    }

    #[test]
    fn a_machine_file_of_before_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("machine.json");
        let text = "{\"version\":1,\"machine\":\"0123456789abcdef0123456789abcdef\",\"label\":\"box\"}";
        std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        let (machine, news) = at(folder.path(), Some("a")).unwrap();
        assert_eq!((machine.id.as_str(), news), ("0123456789abcdef0123456789abcdef", None));
    }
}
