//! How a client itself says that one of its processes has a session open.
//!
//! Pure: the bytes of a file come in. Whether a process is alive, and the one that is meant, is for the caller to find out.

use serde_json::Value;

/// Where a client says that it has a session open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenSign {
    /// In a register of its processes.
    Register(Register),
    /// By a lock: who has the session open has this file open, too. What is left of a process that ended is open nowhere.
    Lock(SessionLock),
}

/// A file for each session that a client locks for as long as it has the session open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLock {
    /// The folder below its configuration directory.
    pub folder: &'static str,
    /// What follows the session's id in the file's name.
    pub ending: &'static str,
}

impl SessionLock {
    /// Returns the name of a session's file; `None` for an id that is no name of a file.
    pub fn file_of(&self, session: &str) -> Option<String> {
        let is_name = !session.is_empty() && !session.contains(['/', '\\', '\0']);
        is_name.then(|| format!("{session}{}", self.ending))
    }
}

/// Where a client says which of its processes has which session open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Register {
    /// The folder below its configuration directory that has a file of JSON for each process, named after its number.
    pub folder: &'static str,
    /// The field with the number of the process.
    pub pid: &'static str,
    /// The field with the session's id.
    pub session: &'static str,
    /// The field with the ticks after the start of the system at which the process began. Older versions do not write it.
    pub began_ticks: &'static str,
    /// The field with the milliseconds since 1970 at which the process wrote itself down.
    pub written_ms: &'static str,
}

/// What a file of a register says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredProcess {
    /// The number of the process.
    pub pid: u32,
    /// The id of the session that it has open.
    pub session: String,
    /// When it began, in ticks after the start of the system.
    pub began_ticks: Option<u64>,
    /// When it wrote itself down, in milliseconds since 1970.
    pub written_ms: Option<u64>,
}

impl Register {
    /// Reads a file of the register; `None` where it says no process and session.
    pub fn read(&self, bytes: &[u8]) -> Option<RegisteredProcess> {
        let file: Value = serde_json::from_slice(bytes).ok()?;
        // Numbers are texts in some versions.
        let number = |field: &str| match file.get(field)? {
            Value::String(text) => text.trim().parse().ok(),
            value => value.as_u64(),
        };
        Some(RegisteredProcess {
            pid: u32::try_from(number(self.pid)?).ok()?,
            session: file.get(self.session)?.as_str()?.to_owned(),
            began_ticks: number(self.began_ticks),
            written_ms: number(self.written_ms),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{OpenSign, RegisteredProcess};
    use crate::clients::by_id;

    #[test]
    fn a_file_names_a_process_and_its_session_or_says_nothing() {
        let sign = by_id("claude-code").and_then(|client| client.open_sign);
        let Some(OpenSign::Register(register)) = sign else { panic!("it keeps a register") };
        let says = |pid, began_ticks, written_ms| {
            Some(RegisteredProcess { pid, session: "s-1".to_owned(), began_ticks, written_ms })
        };
        for (file, said) in [
            (
                r#"{"pid":7,"sessionId":"s-1","startedAt":9000,"procStart":"55","status":"idle"}"#,
                says(7, Some(55), Some(9000)),
            ),
            (r#"{"pid":"7","sessionId":"s-1","procStart":55}"#, says(7, Some(55), None)),
            (r#"{"pid":7,"sessionId":"s-1","procStart":"Mon Jul 6"}"#, says(7, None, None)),
            (r#"{"pid":7,"sessionId":null}"#, None),
            (r#"{"pid":-7,"sessionId":"s-1"}"#, None),
            (r#"{"pid":4294967296,"sessionId":"s-1"}"#, None),
            (r#"{"sessionId":"s-1"}"#, None),
            (r#"{"pid":7,"sessionId":"s-"#, None),
            ("[]", None),
            ("\u{fffd}", None),
            ("", None),
        ] {
            assert_eq!(register.read(file.as_bytes()), said, "{file}");
        }
    }

    #[test]
    fn a_lock_is_named_after_its_session() {
        let Some(OpenSign::Lock(lock)) = by_id("codex").and_then(|client| client.open_sign) else {
            panic!("it locks sessions")
        };
        assert_eq!(lock.file_of("01a2-b"), Some("01a2-b.lock".to_owned()));
        for id in ["", "a/b", "../x"] {
            assert_eq!(lock.file_of(id), None, "{id}");
        }
    }
}
