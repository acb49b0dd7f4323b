//! `run/heard` and `run/trouble`: when each client's hooks called last, and what went wrong since.
//!
//! A hook must never fail its client, so whatever goes wrong is kept here for `status` until the same goes well again.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use stemmata_model::Timestamp;

use crate::errors::CliError;
use crate::home::{DataHome, create_private, label_of};
use crate::pending::{self, Marker};

/// Troubles that are listed at most: there is one for each client.
const TROUBLES_MAX: usize = 64;

fn heard_file(home: &DataHome, runtime: &str) -> PathBuf {
    home.run().join("heard").join(label_of(runtime))
}

fn trouble_folder(home: &DataHome) -> PathBuf {
    home.run().join("trouble")
}

fn trouble_file(home: &DataHome, source: &str) -> PathBuf {
    trouble_folder(home).join(format!("{}.json", label_of(source)))
}

/// Keeps in mind that a client's hook called, as the time of an empty file: that costs a hook no sync and cannot be torn.
pub(crate) fn heard(home: &DataHome, runtime: &str, now: Timestamp) -> Result<(), CliError> {
    let path = heard_file(home, runtime);
    let failed = |source| CliError::io("write", &path, source);
    let open = || {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&path)
    };
    let file = match (open(), path.parent()) {
        (Err(error), Some(folder)) if error.kind() == ErrorKind::NotFound => {
            create_private(folder)?;
            open()
        }
        (opened, _) => opened,
    };
    let at = UNIX_EPOCH + Duration::from_micros(u64::try_from(now.as_micros()).unwrap_or_default());
    file.and_then(|file| file.set_modified(at)).map_err(failed)
}

/// Returns when a client's hooks called last.
pub(crate) fn last_heard(home: &DataHome, runtime: &str) -> Option<Timestamp> {
    modified(&heard_file(home, runtime))
}

/// Returns when a file was written last.
pub(crate) fn modified(path: &Path) -> Option<Timestamp> {
    timestamp(std::fs::metadata(path).ok()?.modified().ok()?)
}

fn timestamp(time: SystemTime) -> Option<Timestamp> {
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    Some(Timestamp::from_micros(i64::try_from(since.as_micros()).ok()?))
}

/// Takes back that a client's hooks ever called: they were taken out.
pub(crate) fn unhear(home: &DataHome, runtime: &str) {
    for path in [heard_file(home, runtime), trouble_file(home, runtime)] {
        remove(&path);
    }
}

/// Keeps what went wrong last, of a client's hooks or of `run`, and in which session where that is known.
pub(crate) fn trouble(
    home: &DataHome,
    source: &str,
    session: Option<&Path>,
    (reason, at): (&str, i64),
) -> Result<(), CliError> {
    create_private(&trouble_folder(home))?;
    let marker = Marker { path: session.map(Path::to_owned), reason: reason.to_owned(), at };
    pending::write(&trouble_file(home, source), &marker)
}

/// Takes trouble back that is over: the same went well, in the session that it was about if it was about one.
pub(crate) fn went_well(home: &DataHome, source: &str, session: Option<&Path>) {
    let path = trouble_file(home, source);
    let Some(trouble) = pending::read(&path) else { return };
    if trouble.path.is_none() || trouble.path.as_deref() == session {
        remove(&path);
    }
}

/// Returns what went wrong, of each client and of `run`.
pub(crate) fn troubles(home: &DataHome) -> Vec<(String, Marker)> {
    let entries = std::fs::read_dir(trouble_folder(home)).into_iter().flatten().flatten();
    let files = entries.take(TROUBLES_MAX).map(|entry| entry.path());
    let of = |path: PathBuf| {
        let source = path.file_name()?.to_str()?.strip_suffix(".json")?.to_owned();
        Some((source, pending::read(&path)?))
    };
    files.filter_map(of).collect()
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
        let home = DataHome::open(folder.path().join("data")).unwrap();
        let (a, b) = (Path::new("/a.jsonl"), Path::new("/b.jsonl"));
        for (about, well, is_over) in [
            (None, ("pi", None), true),
            (None, ("pi", Some(a)), true),
            (None, ("codex", Some(a)), false),
            (Some(a), ("pi", Some(a)), true),
            (Some(a), ("pi", Some(b)), false),
            (Some(a), ("pi", None), false),
        ] {
            trouble(&home, "pi", about, ("full", 7)).unwrap();
            let left = troubles(&home);
            assert_eq!((left.len(), left[0].0.as_str(), left[0].1.at), (1, "pi", 7));
            went_well(&home, well.0, well.1);
            assert_eq!(troubles(&home).is_empty(), is_over, "{about:?} {well:?}");
        }
    }

    #[test]
    fn a_call_is_kept_with_its_time_until_the_hooks_are_taken_out() {
        let folder = tempfile::tempdir().unwrap();
        let home = DataHome::open(folder.path().join("data")).unwrap();
        assert_eq!(last_heard(&home, "pi"), None);
        for at in [7_000_000, 1_800_000_000_000_001] {
            heard(&home, "pi", Timestamp::from_micros(at)).unwrap();
            assert_eq!(last_heard(&home, "pi"), Some(Timestamp::from_micros(at)));
        }
        unhear(&home, "pi");
        assert_eq!(last_heard(&home, "pi"), None);
    }
}
