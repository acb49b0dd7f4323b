//! Whether a client has a session open at this moment, so that nobody else may write to it.
//!
//! By what hooks recorded, by what the client itself says (`open_signs`), by files that processes hold open, by command lines,
//! and by clients that run in the session's directory and began before it was last written. Where the system does not list processes as Linux does, the answer is that
//! it is unknown: two clients that write one transcript destroy it, and one that is wrongly believed to have it open costs a copy.

use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use stemmata_runtimes::clients::OpenSign;
use stemmata_store::read_bounded;

use super::clients::{Clients, Process, process};
use crate::error::Result;

/// Processes that are looked at, at most.
const PROCESSES_MAX: usize = 65_536;

/// Open files of one process that are looked at, at most.
const OPEN_FILES_MAX: usize = 4_096;

/// Bytes of a command line or of the system's own counters that are read at most.
const TEXT_BYTES_MAX: u64 = 256 * 1024;

/// Ticks in a second, as Linux counts for programs on every machine.
pub(super) const TICKS_PER_SECOND: u64 = 100;

/// Words of a command line in which the client's program is looked for: an interpreter and its flags may come before it.
const PROGRAM_WORDS_MAX: usize = 32;

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
    /// Where the client says which sessions it has open, and its configuration directory.
    pub open_sign: Option<(&'a OpenSign, &'a Path)>,
}

/// Whether a client has a session open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holding {
    /// A process has it open.
    Held(u32),
    /// None has.
    Free,
    /// The system does not list its processes, so nothing can be said.
    Unknown,
}

impl Clients {
    /// Returns whether a process has a session open, and which one.
    pub fn holding(&self, session: &HeldSession<'_>) -> Holding {
        let Some(pids) = self.pids() else { return Holding::Unknown };
        let told = pids.iter().copied().find(|pid| self.works_in(*pid, session.path));
        if let Some(pid) = told.or_else(|| self.signed(&pids, session)) {
            return Holding::Held(pid);
        }
        // The system names what a process works in and holds open by its real path, whichever link led there.
        let (path, cwd) = (real(session.path), session.cwd.map(real));
        let session = HeldSession { path: &path, cwd: cwd.as_deref(), ..session.clone() };
        let written = written_since_boot(self.processes(), session.path);
        let seen = |pid: &u32| self.is_holder(*pid, &session, written);
        pids.iter().copied().find(seen).map_or(Holding::Free, Holding::Held)
    }

    /// Records that a process is about to be the client of a session, unless one has it open already. Of several that ask at once
    /// one is told that it is free. `Unknown` also where another process keeps the records for longer than is waited.
    ///
    /// # Errors
    /// `Io` where the record cannot be written.
    pub fn claim(&self, process: &Process, session: &HeldSession<'_>) -> Result<Holding> {
        let Some(_lock) = self.locked()? else { return Ok(Holding::Unknown) };
        let holding = self.holding(session);
        if holding == Holding::Free {
            self.record(process, session.path, false)?;
        }
        Ok(holding)
    }

    /// Returns whether a process runs a program.
    pub(super) fn runs(&self, pid: u32, program: &str) -> bool {
        is_run_by(&words(&self.processes().join(pid.to_string())), program)
    }

    /// Returns the ids of all processes but this one, or `None` if the system does not list its processes. A list is never empty,
    /// because this process is on it.
    fn pids(&self) -> Option<Vec<u32>> {
        let entries = std::fs::read_dir(self.processes()).ok()?.flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut pids: Vec<u32> = pids.take(PROCESSES_MAX).collect();
        let is_listed = !pids.is_empty();
        pids.retain(|pid| *pid != std::process::id());
        is_listed.then_some(pids)
    }

    fn is_holder(&self, pid: u32, session: &HeldSession<'_>, written: Option<u64>) -> bool {
        let own = self.processes().join(pid.to_string());
        let words = words(&own);
        let is_client = is_run_by(&words, session.program);
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
        self.holds_open(&own, session.path)
    }

    /// Returns whether a process has a file open that it may write to. This program opens transcripts to read them, but writes some
    /// itself. Processes of other users cannot be looked at, and are no clients of ours.
    pub(super) fn holds_open(&self, process: &Path, path: &Path) -> bool {
        // A database of many sessions is open in every client; which session one works in does not show.
        if !path.is_file() {
            return false;
        }
        let mut entries =
            std::fs::read_dir(process.join("fd")).into_iter().flatten().flatten().take(OPEN_FILES_MAX);
        entries.any(|entry| {
            let is_it = std::fs::read_link(entry.path()).is_ok_and(|open| open == path);
            let about = process.join("fdinfo").join(entry.file_name());
            is_it && (!self.is_ours(process) || is_written(&about))
        })
    }

    /// Returns whether a process runs this program.
    fn is_ours(&self, process: &Path) -> bool {
        let program = |process: &Path| {
            let program = std::fs::read_link(process.join("exe")).ok()?.into_os_string();
            // The system says so of a program that a newer version has replaced.
            Some(program.to_string_lossy().trim_end_matches(" (deleted)").to_owned())
        };
        let own = program(&self.processes().join(std::process::id().to_string()));
        own.is_some() && own == program(process)
    }
}

/// Returns whether a command line runs a program: as its first word, or as what an interpreter runs. The interpreter's flags come
/// before that, and the word after a flag may be the flag's value.
fn is_run_by(words: &[String], program: &str) -> bool {
    let is_program = |word: &String| Path::new(word).file_name() == Some(program.as_ref());
    let mut is_value = false;
    for (at, word) in words.iter().take(PROGRAM_WORDS_MAX).enumerate() {
        if is_program(word) {
            return true;
        }
        let is_flag = word.starts_with('-');
        if at > 0 && !is_flag && !is_value {
            return false;
        }
        is_value = is_flag;
    }
    false
}

/// Returns a path without links, where it is there.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Returns how many seconds after the system began a file was last written.
fn written_since_boot(processes: &Path, path: &Path) -> Option<u64> {
    let began = began_at(processes)?;
    let written = std::fs::metadata(path).ok()?.modified().ok()?;
    let since = written.duration_since(UNIX_EPOCH + Duration::from_secs(began)).ok()?;
    Some(since.as_secs() + 1)
}

/// Returns the second since 1970 in which the system began.
pub(super) fn began_at(processes: &Path) -> Option<u64> {
    let text = text(&processes.join("stat"))?;
    text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

fn words(process: &Path) -> Vec<String> {
    let line = text(&process.join("cmdline")).unwrap_or_default();
    line.split('\0').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Returns whether a file is open for writing, from what the system says of it; also where it says nothing.
fn is_written(about: &Path) -> bool {
    const WRITES: u32 = 0o3;
    let text = text(about).unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok()).is_none_or(|flags| flags & WRITES != 0)
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
            ("node --no-warnings --enable-source-maps /opt/bin/claude", 5, "/app", false, true),
            ("node --require hook.js /opt/bin/claude --resume s-1", 5, "/elsewhere", false, true),
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
            let session =
                HeldSession { id: "s-1", path: &path, program: "claude", cwd: Some(app), open_sign: None };
            let wanted = if wanted { Holding::Held(7) } else { Holding::Free };
            assert_eq!(clients.holding(&session), wanted, "{line}");
        }
        let path = at("s-1.jsonl");
        let held = HeldSession { id: "s-1", path: &path, program: "claude", cwd: None, open_sign: None };
        // Another one of ours reads it, and then writes to it.
        let processes = at("proc-7");
        let about = processes.join("7/fdinfo/3");
        let say = |flags: &str| {
            std::fs::create_dir_all(about.parent().unwrap()).unwrap();
            std::fs::File::create(&about).unwrap().write_all(flags.as_bytes()).unwrap();
        };
        say("pos:\t0\nflags:\t02100000\n");
        put(&processes, std::process::id(), "stemma resume s-1", (5, Path::new("/app")));
        for (pid, program) in [(7, "/opt/bin/stemma (deleted)"), (std::process::id(), "/opt/bin/stemma")] {
            symlink(program, processes.join(format!("{pid}/exe"))).unwrap();
        }
        let clients = Clients::in_run(&at("run"), &processes, Patience::each(Duration::ZERO));
        assert_eq!(clients.holding(&held), Holding::Free);
        say("pos:\t0\nflags:\t02102001\n");
        assert_eq!(clients.holding(&held), Holding::Held(7));
        let processes = at("proc-1");
        let clients = Clients::in_run(&at("run"), &processes, Patience::each(Duration::ZERO));
        let client = clients.process(7).unwrap();
        clients.remember(&client, &path, false).unwrap();
        assert_eq!(clients.holding(&held), Holding::Held(7), "a hook said so");
        clients.remember(&client, &path, true).unwrap();
        assert_eq!(clients.holding(&held), Holding::Free, "it is over");
    }

    #[test]
    fn a_client_that_works_in_a_directory_is_found_by_a_link_to_it() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().canonicalize().unwrap().join(name);
        std::fs::create_dir_all(at("app")).unwrap();
        symlink(at("app"), at("link")).unwrap();
        std::fs::File::create(at("s-1.jsonl")).unwrap();
        put(&at("proc"), 7, "claude", (5, &at("app")));
        std::fs::File::create(at("proc/stat")).unwrap().write_all(b"btime 1000\n").unwrap();
        let clients = Clients::in_run(&at("run"), &at("proc"), Patience::each(Duration::ZERO));
        let (path, link) = (at("s-1.jsonl"), at("link"));
        let session =
            HeldSession { id: "s-1", path: &path, program: "claude", cwd: Some(&link), open_sign: None };
        assert_eq!(clients.holding(&session), Holding::Held(7));
    }

    #[test]
    fn nothing_is_said_where_the_system_lists_no_processes() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("s-1.jsonl");
        for processes in [root.path().join("none"), root.path().to_owned()] {
            let clients = Clients::in_run(root.path(), &processes, Patience::each(Duration::ZERO));
            let session =
                HeldSession { id: "s-1", path: &path, program: "claude", cwd: None, open_sign: None };
            assert_eq!(clients.holding(&session), Holding::Unknown, "{}", processes.display());
        }
    }
}
