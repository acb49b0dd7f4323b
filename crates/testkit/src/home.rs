//! A made-up home for one test: a data directory, a client's configuration, a project.
//! Not the machine's own home, which no test may see.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::claude::Transcript;

/// The moment that tests call now.
pub const NOW: &str = "2026-03-09T12:00:00.000000Z";

/// Folders that are gone when the value is dropped.
///
/// Every method panics when the disk refuses: a test cannot go on without its home.
#[derive(Debug)]
pub struct TestHome {
    root: TempDir,
}

impl TestHome {
    /// Makes an empty home.
    pub fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        let home = Self { root };
        for folder in [home.stemmata_home(), home.claude_config(), home.project(), home.temp()] {
            std::fs::create_dir_all(&folder).expect("a folder of the test's own");
        }
        home
    }

    /// Returns the folder that holds everything.
    pub fn path(&self) -> &Path {
        self.root.path()
    }

    /// Returns what `STEMMATA_HOME` names.
    pub fn stemmata_home(&self) -> PathBuf {
        self.path().join("data/stemmata")
    }

    /// Returns what `CLAUDE_CONFIG_DIR` names.
    pub fn claude_config(&self) -> PathBuf {
        self.path().join("home/.claude")
    }

    /// Returns a folder to work in.
    pub fn project(&self) -> PathBuf {
        self.path().join("home/project")
    }

    /// Returns the temporary folder.
    pub fn temp(&self) -> PathBuf {
        self.path().join("temp")
    }

    /// Returns the whole environment of a command: nothing else of the machine's own should be passed.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        let home = self.path().join("home");
        vec![
            ("HOME", home.clone().into()),
            ("XDG_CONFIG_HOME", home.join(".config").into()),
            ("XDG_DATA_HOME", home.join(".local/share").into()),
            ("XDG_CACHE_HOME", home.join(".cache").into()),
            ("STEMMATA_HOME", self.stemmata_home().into()),
            ("CLAUDE_CONFIG_DIR", self.claude_config().into()),
            ("TMPDIR", self.temp().into()),
            ("TZ", "UTC".into()),
            ("LC_ALL", "C.UTF-8".into()),
            ("NO_COLOR", "1".into()),
        ]
    }

    /// Writes a file below the home and returns its path.
    pub fn write(&self, relative: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path().join(relative);
        create(&path, bytes);
        path
    }

    /// Writes a session with its side files where the client would, and returns the session's path.
    pub fn write_session(&self, transcript: &Transcript) -> PathBuf {
        let folder = self.claude_config().join("projects").join(slug(&transcript.cwd));
        for file in &transcript.subagents {
            create(&folder.join(&file.path), file.text().as_bytes());
        }
        let path = folder.join(format!("{}.jsonl", transcript.session_id));
        create(&path, transcript.text().as_bytes());
        path
    }
}

impl Default for TestHome {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the name of the folder that holds a working directory's sessions.
pub fn slug(cwd: &str) -> String {
    cwd.chars().map(|character| if character.is_ascii_alphanumeric() { character } else { '-' }).collect()
}

fn create(path: &Path, bytes: &[u8]) {
    let folder = path.parent().expect("a file lies in a folder");
    std::fs::create_dir_all(folder).expect("a folder of the test's own");
    let mut file = File::create(path).expect("a file of the test's own");
    file.write_all(bytes).expect("room on the disk");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claude::ClaudeSession;

    #[test]
    fn sessions_lie_where_the_client_puts_them() {
        let home = TestHome::new();
        let session = ClaudeSession::new(1).cwd("/home/dev/my.app").subagents(1);
        let transcript = session.build();
        let path = home.write_session(&transcript);
        assert!(
            path.ends_with(format!("home/.claude/projects/-home-dev-my-app/{}.jsonl", transcript.session_id))
        );
        assert_eq!(std::fs::read_to_string(&path).expect("written"), transcript.text());
        let side = path.parent().expect("a folder").join(&transcript.subagents[0].path);
        assert!(side.exists(), "{}", side.display());
    }

    #[test]
    fn every_path_of_the_environment_is_below_the_home() {
        let home = TestHome::new();
        for (name, value) in home.environment() {
            if !matches!(name, "TZ" | "LC_ALL" | "NO_COLOR") {
                assert!(Path::new(&value).starts_with(home.path()), "{name}");
            }
        }
    }
}
