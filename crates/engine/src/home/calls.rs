//! `run/heard` and `run/trouble`: when each client's hooks called last, and what went wrong since.
//!
//! A hook must never fail its client, so whatever goes wrong is kept here for `status` until the same goes well again.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use stemmata_model::Timestamp;

use super::{Marker, create_private, label_of};
use crate::error::{EngineError, Result};

/// Troubles that are listed at most: there is one for each client.
const TROUBLES_MAX: usize = 64;

/// The calls of clients' hooks, and what went wrong in them and in `run`.
#[derive(Debug, Clone)]
pub struct Calls {
    heard: PathBuf,
    trouble: PathBuf,
}

impl Calls {
    pub(super) fn in_run(run: &Path) -> Self {
        Self { heard: run.join("heard"), trouble: run.join("trouble") }
    }

    fn heard_file(&self, runtime: &str) -> PathBuf {
        self.heard.join(label_of(runtime))
    }

    fn trouble_file(&self, source: &str) -> PathBuf {
        self.trouble.join(format!("{}.json", label_of(source)))
    }

    /// Records that a client's hook called, as the time of an empty file: that costs a hook no sync and cannot be torn.
    ///
    /// # Errors
    /// `Io` where it cannot be recorded.
    pub fn record(&self, runtime: &str, now: Timestamp) -> Result<()> {
        let path = self.heard_file(runtime);
        let open = || {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            options.open(&path)
        };
        let file = match open() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                create_private(&self.heard)?;
                open()
            }
            opened => opened,
        };
        let at = UNIX_EPOCH + Duration::from_micros(u64::try_from(now.as_micros()).unwrap_or_default());
        file.and_then(|file| file.set_modified(at)).map_err(EngineError::io("write", &path))
    }

    /// Returns when a client's hooks called last.
    pub fn last(&self, runtime: &str) -> Option<Timestamp> {
        modified(&self.heard_file(runtime))
    }

    /// Returns what trouble with handing over a client's briefs is kept as: other calls of its hooks go well meanwhile.
    pub fn of_brief(runtime: &str) -> String {
        format!("{runtime}-brief")
    }

    /// Deletes what is recorded of a client's hooks: they were taken out.
    pub fn forget(&self, runtime: &str) {
        let of_brief = self.trouble_file(&Self::of_brief(runtime));
        for path in [self.heard_file(runtime), self.trouble_file(runtime), of_brief] {
            remove(&path);
        }
    }

    /// Keeps what went wrong last, of a client's hooks or of `run`: why, when, and in which session where that is known.
    ///
    /// # Errors
    /// `Io` where it cannot be written.
    pub fn keep_trouble(&self, source: &str, trouble: &Marker) -> Result<()> {
        create_private(&self.trouble)?;
        trouble.write(&self.trouble_file(source))
    }

    /// Deletes trouble that is over: the same went well, in the session that it was about if it was about one.
    pub fn went_well(&self, source: &str, session: Option<&Path>) {
        let path = self.trouble_file(source);
        let Some(trouble) = Marker::read(&path) else { return };
        if trouble.path.is_none() || trouble.path.as_deref() == session {
            remove(&path);
        }
    }

    /// Returns what went wrong, of each client and of `run`.
    pub fn troubles(&self) -> Vec<(String, Marker)> {
        let entries = std::fs::read_dir(&self.trouble).into_iter().flatten().flatten();
        let files = entries.take(TROUBLES_MAX).map(|entry| entry.path());
        let of = |path: PathBuf| {
            let source = path.file_name()?.to_str()?.strip_suffix(".json")?.to_owned();
            Some((source, Marker::read(&path)?))
        };
        files.filter_map(of).collect()
    }
}

/// Returns when a file was written last.
pub fn modified(path: &Path) -> Option<Timestamp> {
    let since = std::fs::metadata(path).ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(Timestamp::from_micros(i64::try_from(since.as_micros()).ok()?))
}

fn remove(path: &Path) {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            tracing::debug!(%error, "what is over stays in `status`");
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_is_over_when_the_same_goes_well() {
        let folder = tempfile::tempdir().unwrap();
        let calls = Calls::in_run(folder.path());
        let (a, b) = (Path::new("/a.jsonl"), Path::new("/b.jsonl"));
        for (about, well, is_over) in [
            (None, ("pi", None), true),
            (None, ("pi", Some(a)), true),
            (None, ("codex", Some(a)), false),
            (Some(a), ("pi", Some(a)), true),
            (Some(a), ("pi", Some(b)), false),
            (Some(a), ("pi", None), false),
        ] {
            let trouble = Marker { path: about.map(Path::to_owned), reason: "full".to_owned(), at: 7 };
            calls.keep_trouble("pi", &trouble).unwrap();
            let left = calls.troubles();
            assert_eq!((left.len(), left[0].0.as_str(), left[0].1.at), (1, "pi", 7));
            calls.went_well(well.0, well.1);
            assert_eq!(calls.troubles().is_empty(), is_over, "{about:?} {well:?}");
        }
    }

    #[test]
    fn a_call_is_kept_with_its_time_until_the_hooks_are_taken_out() {
        let folder = tempfile::tempdir().unwrap();
        let calls = Calls::in_run(folder.path());
        assert_eq!(calls.last("pi"), None);
        for at in [7_000_000, 1_800_000_000_000_001] {
            calls.record("pi", Timestamp::from_micros(at)).unwrap();
            assert_eq!(calls.last("pi"), Some(Timestamp::from_micros(at)));
        }
        calls.forget("pi");
        assert_eq!(calls.last("pi"), None);
    }
}
