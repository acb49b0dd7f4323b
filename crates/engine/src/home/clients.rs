//! Which processes this one descends from, and in which session a client works that is one of them.
//!
//! Hooks record their client's process; a shell that the client's agent started finds it among its ancestors. Only where
//! the system lists processes as Linux does (`/proc`): elsewhere nothing is recorded and nothing found. A process is known
//! by its number and the time it began at, so that another one of the same number is not taken for it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stemmata_store::{FileLock, Files as _, Patience, SystemFiles, read_bounded, write_file};

use super::create_private;
use crate::error::{EngineError, Result};

/// Ancestors that are looked at, at most.
const ANCESTORS_MAX: usize = 64;

/// Sessions of one client that are kept in mind; a client works in one at a time, a server in a handful.
const SESSIONS_MAX: usize = 16;

/// Clients that are kept in mind; more are forgotten once their processes are gone.
const CLIENTS_MAX: usize = 256;

/// Bytes of a record, or of what the system says of a process, at most.
const RECORD_BYTES_MAX: u64 = 64 * 1024;

/// Programs that take over processes whose parents are gone: they are nobody's client.
const REAPERS: &[&str] = &["systemd", "init", "launchd", "tini", "dumb-init", "docker-init"];

/// A process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it began, in ticks since the system did.
    pub started: u64,
    parent: u32,
    name: String,
}

/// What is known of a client's process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Client {
    started: u64,
    /// Transcripts of the sessions that it works in, the latest last.
    sessions: Vec<PathBuf>,
}

/// The clients whose processes hooks recorded.
#[derive(Debug, Clone)]
pub struct Clients {
    folder: PathBuf,
    /// Where the system lists processes.
    processes: PathBuf,
    patience: Patience,
}

impl Clients {
    pub(super) fn in_run(run: &Path, processes: &Path, patience: Patience) -> Self {
        Self { folder: run.join("clients"), processes: processes.to_owned(), patience }
    }

    /// Reads what the system says of a process.
    pub fn process(&self, pid: u32) -> Option<Process> {
        process(&self.processes, pid)
    }

    /// Returns the client that called the hook which a process is: its parent, but for shells that were started to call
    /// `hook RUNTIME`.
    pub fn client_of_hook(&self, pid: u32, runtime: &str) -> Option<Process> {
        let call = format!(" hook {runtime}");
        ancestors(&self.processes, pid).into_iter().find(|process| {
            let line = read(&self.processes.join(process.pid.to_string()).join("cmdline"));
            !line.unwrap_or_default().replace('\0', " ").contains(&call)
        })
    }

    /// Records that a client works in a session, or that it does so no longer.
    ///
    /// # Errors
    /// `Io` where the record cannot be written.
    pub fn remember(&self, client: &Process, session: &Path, is_over: bool) -> Result<()> {
        // Of two hooks at once of one client neither may write over what the other adds: the session that is left would be
        // taken for the only one.
        let _lock = self.locked()?;
        self.record(client, session, is_over)
    }

    /// Writes down what [`remember`](Self::remember) is told; the caller holds the records.
    pub(super) fn record(&self, client: &Process, session: &Path, is_over: bool) -> Result<()> {
        let path = self.file(client.pid);
        let known = known(&path).filter(|known| known.started == client.started);
        let mut sessions = known.as_ref().map(|known| known.sessions.clone()).unwrap_or_default();
        sessions.retain(|known| known != session);
        if !is_over {
            sessions.push(session.to_owned());
        }
        let surplus = sessions.len().saturating_sub(SESSIONS_MAX);
        sessions.drain(..surplus);
        if known.as_ref().is_some_and(|known| known.sessions == sessions) {
            return Ok(());
        }
        self.forget_gone();
        let text = serde_json::to_string(&Client { started: client.started, sessions }).unwrap_or_default();
        write_file(&path, text.as_bytes()).map_err(EngineError::io("write", &path))
    }

    /// Returns whether hooks of a process said that it works in a session, and not that this is over.
    pub(super) fn works_in(&self, pid: u32, session: &Path) -> bool {
        let is_it = |path: &PathBuf| path == session || path.canonicalize().is_ok_and(|path| path == session);
        let known = known(&self.file(pid)).filter(|known| known.sessions.iter().any(is_it));
        known.is_some_and(|known| self.process(pid).is_some_and(|process| process.started == known.started))
    }

    /// Returns where the system lists processes.
    pub(super) fn processes(&self) -> &Path {
        &self.processes
    }

    /// Holds the records for a change. Where another process keeps them for longer than a hook waits, the change is made all
    /// the same: that session is worth more than the one which may be lost.
    pub(super) fn locked(&self) -> Result<Option<Box<dyn FileLock>>> {
        create_private(&self.folder)?;
        let path = self.folder.join(".lock");
        let lock = self.patience.until(|| SystemFiles.lock(&path)).ok().flatten();
        if lock.is_none() {
            tracing::debug!("the records of clients are held by another process");
        }
        Ok(lock)
    }

    /// Returns the sessions of the nearest ancestor of a process that is a known client; none where there is none.
    pub fn sessions_of(&self, pid: u32) -> Vec<PathBuf> {
        let clients = ancestors(&self.processes, pid).into_iter().filter_map(|process| {
            let client = known(&self.file(process.pid))?;
            (client.started == process.started && !client.sessions.is_empty()).then_some(client.sessions)
        });
        clients.into_iter().next().unwrap_or_default()
    }

    /// Deletes records whose processes are gone, and what processes that are gone did not finish writing.
    fn forget_gone(&self) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return };
        for path in entries.flatten().map(|entry| entry.path()).take(CLIENTS_MAX) {
            if is_of_the_gone(&path, &self.processes)
                && let Err(error) = std::fs::remove_file(&path)
            {
                tracing::debug!(%error, "the record of a client that is gone stays");
            }
        }
    }

    fn file(&self, pid: u32) -> PathBuf {
        self.folder.join(format!("{pid}.json"))
    }
}

pub(super) fn process(processes: &Path, pid: u32) -> Option<Process> {
    let text = read(&processes.join(pid.to_string()).join("stat"))?;
    // The name is in parentheses and may hold any character, these and blanks among them.
    let (name, rest) = (text.split_once('(')?.1, text.rsplit_once(')')?.1);
    let name = name.rsplit_once(')')?.0.to_owned();
    let mut fields = rest.split_ascii_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let started = fields.nth(17)?.parse().ok()?;
    Some(Process { pid, started, parent, name })
}

/// Returns the processes that one descends from, its parent first.
fn ancestors(processes: &Path, pid: u32) -> Vec<Process> {
    let mut found: Vec<Process> = Vec::new();
    let mut next = process(processes, pid).map(|process| process.parent);
    while let Some(process) = next.filter(|pid| *pid > 1).and_then(|pid| process(processes, pid)) {
        if found.len() >= ANCESTORS_MAX || REAPERS.contains(&process.name.as_str()) {
            break;
        }
        next = Some(process.parent);
        found.push(process);
    }
    found
}

/// Returns whether a file here is a record of a process that is gone. What another hook is writing at this moment is none.
fn is_of_the_gone(path: &Path, processes: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let alive = |pid: &str| pid.parse().ok().map(|pid| process(processes, pid));
    let Some(client) = name.strip_suffix(".json").and_then(alive) else { return false };
    let is_its_own = |process: Process| known(path).is_some_and(|known| known.started == process.started);
    client.is_none_or(|process| !is_its_own(process))
}

fn known(path: &Path) -> Option<Client> {
    serde_json::from_str(&read(path)?).ok()
}

fn read(path: &Path) -> Option<String> {
    let bytes = read_bounded(path, RECORD_BYTES_MAX).ok()??;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn clients(folder: &Path, processes: &Path, wait: std::time::Duration) -> Clients {
        Clients::in_run(folder, processes, Patience::each(wait))
    }

    fn put(folder: &Path, (pid, parent, started): (u32, u32, u64), name: &str, line: &str) {
        let own = folder.join(pid.to_string());
        std::fs::create_dir_all(&own).unwrap();
        let zeros = "0 ".repeat(16);
        let stat = format!("{pid} ({name}) S {parent} 1 {zeros}{started} 0 0\n");
        for (file, text) in [("stat", stat), ("cmdline", line.replace(' ', "\0"))] {
            std::fs::File::create(own.join(file)).unwrap().write_all(text.as_bytes()).unwrap();
        }
    }

    #[test]
    fn a_shell_of_a_client_finds_its_session_and_others_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let proc = folder.path().join("proc");
        let clients = clients(folder.path(), &proc, std::time::Duration::ZERO);
        put(&proc, (1, 0, 1), "init", "init");
        put(&proc, (10, 1, 5), "systemd", "systemd --user");
        put(&proc, (20, 10, 6), "bash", "bash");
        put(&proc, (30, 20, 7), "node (a) b", "client --serve");
        put(&proc, (40, 30, 8), "sh", "sh -c [ -x '/s' ] && '/s' hook pi || true");
        put(&proc, (41, 40, 9), "stemma", "/s hook pi");
        put(&proc, (50, 30, 9), "sh", "sh -c stemma current");
        put(&proc, (51, 50, 9), "stemma", "stemma current");
        put(&proc, (60, 20, 9), "stemma", "stemma current");
        let pids = |pid| ancestors(&proc, pid).iter().map(|process| process.pid).collect::<Vec<_>>();
        assert_eq!(pids(41), [40, 30, 20]);
        let client = clients.client_of_hook(41, "pi").unwrap();
        assert_eq!((client.pid, client.started), (30, 7));
        let session = Path::new("/t.jsonl");
        clients.remember(&client, session, false).unwrap();
        assert_eq!(clients.sessions_of(51), [session]);
        assert_eq!(clients.sessions_of(60), Vec::<PathBuf>::new(), "it runs beside the client");
        // Another process of the same number.
        put(&proc, (30, 20, 8), "node", "another");
        assert_eq!(clients.sessions_of(51), Vec::<PathBuf>::new());
        put(&proc, (30, 20, 7), "node", "client");
        clients.remember(&client, Path::new("/u.jsonl"), false).unwrap();
        assert_eq!(clients.sessions_of(51).len(), 2, "which one it is cannot be told");
        clients.remember(&client, session, true).unwrap();
        assert_eq!(clients.sessions_of(51), [Path::new("/u.jsonl")]);
    }

    /// Found with a real client: of two hooks at once one took away what the other was about to put in place.
    #[test]
    fn only_what_belongs_to_the_gone_is_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        let proc = folder.path().join("proc");
        let clients = clients(folder.path(), &proc, std::time::Duration::ZERO);
        create_private(&clients.folder).unwrap();
        put(&proc, (7, 1, 5), "client", "client");
        let record = |started: u64| format!(r#"{{"started":{started},"sessions":[]}}"#);
        for (name, text, stays) in
            [("7.json", record(5), true), ("8.json", record(5), false), ("notes", String::new(), true)]
        {
            let path = clients.folder.join(name);
            std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
            clients.forget_gone();
            assert_eq!(path.exists(), stays, "{name}");
        }
        std::fs::File::create(clients.folder.join("7.json"))
            .unwrap()
            .write_all(record(4).as_bytes())
            .unwrap();
        clients.forget_gone();
        assert!(!clients.folder.join("7.json").exists(), "another process of the same number");
    }

    /// Hooks of two sessions of one client call at once: a session that is written over makes the other one the only one,
    /// and `current` name it.
    #[test]
    fn sessions_that_are_recorded_at_once_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let proc = folder.path().join("proc");
        let clients = clients(folder.path(), &proc, std::time::Duration::from_mins(1));
        // Records of the gone are removed by the way, so this one is of a process that lives.
        let pid = std::process::id();
        put(&proc, (pid, 1, 5), "client", "client");
        let client = clients.process(pid).unwrap();
        std::thread::scope(|scope| {
            for number in 0..SESSIONS_MAX {
                let session = PathBuf::from(format!("/{number}.jsonl"));
                let (clients, client) = (&clients, &client);
                scope.spawn(move || clients.remember(client, &session, false).unwrap());
            }
        });
        assert_eq!(known(&clients.file(client.pid)).unwrap().sessions.len(), SESSIONS_MAX);
    }

    #[test]
    fn what_the_system_says_of_no_process_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(process(folder.path(), 7), None);
        put(folder.path(), (7, 7, 1), "loop", "loop");
        assert_eq!(ancestors(folder.path(), 7).len(), ANCESTORS_MAX);
        std::fs::File::create(folder.path().join("7/stat")).unwrap().write_all(b"7 (x S 1").unwrap();
        assert_eq!(process(folder.path(), 7), None);
    }
}
