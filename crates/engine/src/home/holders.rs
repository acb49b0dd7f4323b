//! Whether a client has a session open at this moment, so that nobody else may write to it.
//!
//! By what hooks recorded, by files that processes hold open, by command lines, and by clients that run in the session's
//! directory and began before it was last written. Only where the system lists processes as Linux does; elsewhere only what
//! this program cannot know is left out. A client that is wrongly believed to have it open costs a copy, and nothing else.

use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use stemmata_store::read_bounded;

use super::clients::{Clients, process};

/// Processes that are looked at, at most.
const PROCESSES_MAX: usize = 65_536;

/// Open files of one process that are looked at, at most.
const OPEN_FILES_MAX: usize = 4_096;

/// Bytes of a command line or of the system's own counters that are read at most.
const TEXT_BYTES_MAX: u64 = 256 * 1024;

/// Ticks in a second, as Linux counts for programs on every machine.
const TICKS_PER_SECOND: u64 = 100;

/// Words of a command line that may name the client: an interpreter may come before it.
const PROGRAM_WORDS: usize = 2;

/// A session that somebody may have open.
#[derive(Debug, Clone)]
pub struct HeldSession<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its transcript.
    pub path: &'a Path,
    /// The client's program.
    pub program: &'a str,
    /// The directory that it works in.
    pub cwd: Option<&'a Path>,
}

impl Clients {
    /// Returns the process that has a session open; none where none is known to.
    pub fn holder(&self, session: &HeldSession<'_>) -> Option<u32> {
        let pids = self.pids();
        let hooked = || pids.iter().copied().find(|pid| self.works_in(*pid, session.path));
        let written = written_since_boot(self.processes(), session.path);
        let seen = |pid: &u32| self.is_holder(*pid, session, written);
        hooked().or_else(|| pids.iter().copied().find(seen))
    }

    fn pids(&self) -> Vec<u32> {
        let entries = std::fs::read_dir(self.processes()).into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid| *pid != std::process::id()).take(PROCESSES_MAX).collect()
    }

    fn is_holder(&self, pid: u32, session: &HeldSession<'_>, written: Option<u64>) -> bool {
        let own = self.processes().join(pid.to_string());
        let words = words(&own);
        let is_client = words
            .iter()
            .take(PROGRAM_WORDS)
            .any(|word| Path::new(word).file_name() == Some(session.program.as_ref()));
        if is_client && words.iter().any(|word| word == session.id) {
            return true;
        }
        let works_there =
            || session.cwd.is_some() && std::fs::read_link(own.join("cwd")).ok().as_deref() == session.cwd;
        let began_before = || match (process(self.processes(), pid), written) {
            (Some(process), Some(written)) => process.started / TICKS_PER_SECOND <= written,
            _ => false,
        };
        if is_client && works_there() && began_before() {
            return true;
        }
        holds_open(&own, session.path)
    }
}

/// Returns how many seconds after the system began a file was last written.
fn written_since_boot(processes: &Path, path: &Path) -> Option<u64> {
    let text = text(&processes.join("stat"))?;
    let began = text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    let written = std::fs::metadata(path).ok()?.modified().ok()?;
    let since = written.duration_since(UNIX_EPOCH + Duration::from_secs(began)).ok()?;
    Some(since.as_secs() + 1)
}

fn words(process: &Path) -> Vec<String> {
    let line = text(&process.join("cmdline")).unwrap_or_default();
    line.split('\0').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Returns whether a process has a file open. Those of other users cannot be looked at, and are no clients of ours.
fn holds_open(process: &Path, path: &Path) -> bool {
    // A database of many sessions is open in every client; which session one works in does not show.
    if !path.is_file() {
        return false;
    }
    let entries = std::fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    let mut links = entries.take(OPEN_FILES_MAX).filter_map(|entry| std::fs::read_link(entry.path()).ok());
    links.any(|open: PathBuf| open == path)
}

fn text(path: &Path) -> Option<String> {
    let bytes = read_bounded(path, TEXT_BYTES_MAX).ok()??;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::symlink;

    use stemmata_store::Patience;

    use super::*;

    /// A process with a command line, begun so many ticks after the system, in a directory.
    fn put(processes: &Path, pid: u32, line: &str, (started, cwd): (u64, &Path)) {
        let own = processes.join(pid.to_string());
        std::fs::create_dir_all(own.join("fd")).unwrap();
        let zeros = "0 ".repeat(16);
        let stat = format!("{pid} (x) S 1 1 {zeros}{started} 0 0\n");
        for (file, text) in [("stat", stat), ("cmdline", line.replace(' ', "\0"))] {
            std::fs::File::create(own.join(file)).unwrap().write_all(text.as_bytes()).unwrap();
        }
        symlink(cwd, own.join("cwd")).unwrap();
    }

    #[test]
    fn a_session_is_open_by_record_by_name_by_file_or_by_directory() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for (number, (line, started, cwd, opens, wanted)) in [
            ("claude --resume s-1", 5, "/elsewhere", false, true),
            ("claude --resume s-2", 5, "/elsewhere", false, false),
            ("node /opt/bin/claude", 5, "/app", false, true),
            ("vim /app/claude.md x claude", 5, "/app", false, false),
            // Begun long after the session was last written.
            ("claude", u64::MAX / 2, "/app", false, false),
            ("tail -f s-1.jsonl", 5, "/elsewhere", true, true),
        ]
        .into_iter()
        .enumerate()
        {
            let processes = at(&format!("proc-{number}"));
            std::fs::create_dir_all(&processes).unwrap();
            std::fs::File::create(processes.join("stat")).unwrap().write_all(b"cpu 1\nbtime 1000\n").unwrap();
            let path = at("s-1.jsonl");
            std::fs::File::create(&path).unwrap();
            put(&processes, 7, line, (started, Path::new(cwd)));
            if opens {
                symlink(&path, processes.join("7/fd/3")).unwrap();
            }
            let clients = Clients::in_run(&at("run"), &processes, Patience::each(Duration::ZERO));
            let app = Path::new("/app");
            let session = HeldSession { id: "s-1", path: &path, program: "claude", cwd: Some(app) };
            assert_eq!(clients.holder(&session), wanted.then_some(7), "{line}");
        }
        let processes = at("proc-1");
        let clients = Clients::in_run(&at("run"), &processes, Patience::each(Duration::ZERO));
        let path = at("s-1.jsonl");
        let client = clients.process(7).unwrap();
        let session = HeldSession { id: "s-1", path: &path, program: "claude", cwd: None };
        clients.remember(&client, &path, false).unwrap();
        assert_eq!(clients.holder(&session), Some(7), "a hook said so");
        clients.remember(&client, &path, true).unwrap();
        assert_eq!(clients.holder(&session), None, "it is over");
    }
}
