//! What a client itself says of the sessions that it has open: a register of its processes, or a lock.
//!
//! A file that says so counts only as long as the process is there that it means: what a crash, another machine or another
//! process of the same number left behind does not. Which process that is, is asked of the system where this program runs: a
//! client in a container of its own, whose files lie here, cannot be told from one that is gone.

use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use stemmata_runtimes::clients::{OpenSign, Register, RegisteredProcess};
use stemmata_store::read_bounded;

use super::clients::{Clients, process};
use super::holders::{HeldSession, TICKS_PER_SECOND, began_at};

/// Files of a register that are read at most: one for each running client, and what crashes left.
const REGISTERED_MAX: usize = 4_096;

/// Bytes of one of them at most.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// How much later than it wrote itself down a process may seem to have begun: the system counts from a second that moves when
/// its clock is set.
const CLOCK_SLACK: Duration = Duration::from_mins(1);

impl Clients {
    /// Returns the process of these of which the client itself says that it has a session open.
    pub(super) fn signed(&self, pids: &[u32], session: &HeldSession<'_>) -> Option<u32> {
        let (sign, config_dir) = session.open_sign?;
        match sign {
            OpenSign::Register(register) => self.registered(pids, session, (register, config_dir)),
            OpenSign::Lock(lock) => {
                let file = config_dir.join(lock.folder).join(lock.file_of(session.id)?);
                let file = file.canonicalize().ok()?;
                let opens = |pid: &u32| self.holds_open(&self.processes().join(pid.to_string()), &file);
                pids.iter().copied().find(opens)
            }
        }
    }

    fn registered(
        &self,
        pids: &[u32],
        session: &HeldSession<'_>,
        (register, config_dir): (&Register, &Path),
    ) -> Option<u32> {
        let files = std::fs::read_dir(config_dir.join(register.folder)).ok()?.flatten();
        let said = files.take(REGISTERED_MAX).filter_map(|file| {
            let bytes = read_bounded(&file.path(), FILE_BYTES_MAX).ok()??;
            register.read(&bytes)
        });
        let mut said = said.filter(|said| said.session == session.id && pids.contains(&said.pid));
        said.find(|said| self.is_meant(said, session)).map(|said| said.pid)
    }

    /// Returns whether the process that has the number now is the one that wrote itself down.
    fn is_meant(&self, said: &RegisteredProcess, session: &HeldSession<'_>) -> bool {
        let Some(process) = process(self.processes(), said.pid) else { return false };
        if let Some(began) = said.began_ticks {
            return process.started == began;
        }
        // Older versions say only when they wrote. Another process of the same number began after that.
        let began = began_at(self.processes()).map(|began| began + process.started / TICKS_PER_SECOND);
        match began.zip(said.written_ms) {
            Some((began, written)) => {
                UNIX_EPOCH + Duration::from_secs(began)
                    <= UNIX_EPOCH + Duration::from_millis(written) + CLOCK_SLACK
            }
            None => self.runs(said.pid, session.program),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use stemmata_runtimes::clients::{Client, local};
    use stemmata_store::Patience;

    use super::*;
    use crate::home::holders::Holding;

    /// A made-up home of a client, and a list of processes.
    struct World {
        root: tempfile::TempDir,
    }

    impl World {
        fn new() -> Self {
            let world = Self { root: tempfile::tempdir().unwrap() };
            // The system began 1,000 seconds after 1970.
            world.write("proc/stat", "btime 1000\n");
            world.write("s-1.jsonl", "");
            world
        }

        fn at(&self, name: &str) -> PathBuf {
            self.root.path().canonicalize().unwrap().join(name)
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.at(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::io::Write::write_all(&mut std::fs::File::create(path).unwrap(), text.as_bytes()).unwrap();
        }

        /// A process that began so many ticks after the system, and the file that it has open.
        fn runs(&self, pid: u32, began: u64, line: &str, opens: Option<&str>) {
            let zeros = "0 ".repeat(16);
            self.write(&format!("proc/{pid}/stat"), &format!("{pid} (x) S 1 1 {zeros}{began} 0 0\n"));
            self.write(&format!("proc/{pid}/cmdline"), &line.replace(' ', "\0"));
            std::fs::create_dir_all(self.at(&format!("proc/{pid}/fd"))).unwrap();
            if let Some(file) = opens {
                symlink(self.at(file), self.at(&format!("proc/{pid}/fd/3"))).unwrap();
            }
        }

        fn clients(&self) -> Clients {
            Clients::in_run(&self.at("run"), &self.at("proc"), Patience::each(Duration::from_mins(1)))
        }

        fn holding(&self, client: &'static Client) -> Holding {
            let (path, home) = (self.at("s-1.jsonl"), self.at("home"));
            let open_sign = client.open_sign.map(|sign| (sign, home.as_path()));
            let program = client.program;
            self.clients().holding(&HeldSession { id: "s-1", path: &path, program, cwd: None, open_sign })
        }
    }

    /// The client that says it in this way.
    fn client(is_it: fn(&OpenSign) -> bool) -> &'static Client {
        let mut all = stemmata_runtimes::clients::ALL.iter().copied();
        let found = all.find(|client| client.open_sign.is_some_and(is_it)).expect("a client");
        local(found.id).expect("it has a home")
    }

    #[test]
    fn a_register_counts_while_the_process_is_there_that_wrote_it() {
        let client = client(|sign| matches!(sign, OpenSign::Register(_)));
        let said = |pid: u32, rest: &str| format!(r#"{{"pid":{pid},"sessionId":"s-1"{rest}}}"#);
        for (what, file, is_held) in [
            ("it is that process", said(7, r#","procStart":"500","startedAt":1"#), true),
            ("another process has the number", said(7, r#","procStart":"499","startedAt":99000000"#), false),
            ("the process is gone", said(8, r#","procStart":"500""#), false),
            ("another session", said(7, r#","procStart":"500""#).replace("s-1", "s-2"), false),
            // 500 ticks are five seconds.
            ("it wrote once it had begun", said(7, r#","startedAt":1005000"#), true),
            ("it began long after that was written", said(7, r#","startedAt":900000"#), false),
            ("nothing says when, and it runs the client", said(9, ""), false),
            ("nothing says when", said(7, ""), false),
            ("it is cut", said(7, r#","procStart":"500""#).replace('}', ""), false),
        ] {
            let world = World::new();
            world.runs(7, 500, "some-wrapper", None);
            world.write("home/sessions/7.json", &file);
            world.write("home/sessions/notes.txt", "no register");
            let wanted = if is_held { Holding::Held(7) } else { Holding::Free };
            assert_eq!(world.holding(client), wanted, "{what}");
        }
        // Without a second in which the system began.
        let world = World::new();
        std::fs::remove_file(world.at("proc/stat")).unwrap();
        world.runs(7, 500, client.program, None);
        world.write("home/sessions/7.json", &said(7, r#","startedAt":1"#));
        assert_eq!(world.holding(client), Holding::Held(7));
    }

    #[test]
    fn a_lock_counts_while_a_process_has_it_open() {
        let client = client(|sign| matches!(sign, OpenSign::Lock(_)));
        let Some(OpenSign::Lock(lock)) = client.open_sign else { panic!("a lock") };
        let file = |id: &str| format!("home/{}/{}", lock.folder, lock.file_of(id).unwrap());
        for (opens, is_held) in [(Some(file("s-1")), true), (Some(file("s-2")), false), (None, false)] {
            let world = World::new();
            world.write(&file("s-1"), "");
            world.write(&file("s-2"), "");
            world.runs(7, 500, "a server of many sessions", opens.as_deref());
            let wanted = if is_held { Holding::Held(7) } else { Holding::Free };
            assert_eq!(world.holding(client), wanted, "{opens:?}");
        }
    }

    /// Two that resume one session at the same moment both find it free, until one of them says that it takes it.
    #[test]
    fn of_all_that_claim_a_session_at_once_one_gets_it() {
        let world = World::new();
        let pids = 11..19;
        pids.clone().for_each(|pid| world.runs(pid, 500, "stemma resume s-1", None));
        let path = world.at("s-1.jsonl");
        let clients = world.clients();
        let session = HeldSession { id: "s-1", path: &path, program: "a-client", cwd: None, open_sign: None };
        assert_eq!(clients.holding(&session), Holding::Free);
        let claim = |pid: u32| clients.claim(&clients.process(pid).unwrap(), &session).unwrap();
        let claimed: Vec<Holding> = std::thread::scope(|scope| {
            let threads: Vec<_> = pids.map(|pid| scope.spawn(move || claim(pid))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(claimed.iter().filter(|holding| **holding == Holding::Free).count(), 1, "{claimed:?}");
        assert!(matches!(clients.holding(&session), Holding::Held(11..19)));
        // Once its process is gone, the session is free again.
        let Holding::Held(pid) = clients.holding(&session) else { panic!("it is held") };
        std::fs::remove_dir_all(world.at(&format!("proc/{pid}"))).unwrap();
        assert_eq!(clients.holding(&session), Holding::Free);
    }
}
