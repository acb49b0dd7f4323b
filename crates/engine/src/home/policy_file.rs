//! `capture.json`: what somebody does not want captured, kept in the data directory.
//!
//! What it means for a transcript is `capture/policy`'s.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stemmata_model::Timestamp;
use stemmata_store::{read_bounded, write_file};

use crate::capture::policy::{CapturePolicy, Pause, RULE_BYTES_MAX, RULES_MAX};
use crate::error::{EngineError, Result};

/// The version of the file.
const VERSION: u32 = 1;

/// Bytes of the file at most: what the rules' own bounds allow.
const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    #[serde(default)]
    excluded: Vec<String>,
    #[serde(default)]
    pauses: Vec<PauseEntry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PauseEntry {
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<String>,
}

fn path_in(home: &Path) -> PathBuf {
    home.join("capture.json")
}

/// Reads the policy of a data directory. A file that cannot be read holds everything back, and says why.
pub(super) fn load(home: &Path) -> CapturePolicy {
    try_load(home).unwrap_or_else(|error| {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
        CapturePolicy { unknown: Some(format!("{error}{cause}")), ..CapturePolicy::default() }
    })
}

/// Reads the policy of a data directory, to change it.
pub(super) fn try_load(home: &Path) -> Result<CapturePolicy> {
    let path = path_in(home);
    let read = read_bounded(&path, FILE_BYTES_MAX + 1).map_err(EngineError::io("read", &path))?;
    let Some(bytes) = read else { return Ok(CapturePolicy::default()) };
    parse(&bytes).map_err(|reason| EngineError::CaptureFile { path, reason })
}

fn parse(bytes: &[u8]) -> Result<CapturePolicy, String> {
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > FILE_BYTES_MAX {
        return Err(format!("it has more than {FILE_BYTES_MAX} bytes"));
    }
    let file: File = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if file.version != VERSION {
        return Err(format!("it has version {}, and this program knows {VERSION}", file.version));
    }
    let pause = |entry: PauseEntry| -> Result<Pause, String> {
        let until = entry.until.map(|text| Timestamp::parse(&text).map_err(|error| error.to_string()));
        Ok(Pause { project: entry.project, until: until.transpose()? })
    };
    let pauses = file.pauses.into_iter().map(pause).collect::<Result<_, _>>()?;
    let policy = CapturePolicy { excluded: file.excluded, pauses, unknown: None };
    check(&policy)?;
    Ok(policy)
}

fn check(policy: &CapturePolicy) -> Result<(), String> {
    if policy.excluded.len() + policy.pauses.len() > RULES_MAX {
        return Err(format!("there are more than {RULES_MAX} exclusions and pauses"));
    }
    match policy.excluded.iter().find(|rule| rule.is_empty() || rule.len() > RULE_BYTES_MAX) {
        Some(rule) => Err(format!("an exclusion has {} bytes: 1 to {RULE_BYTES_MAX} make sense", rule.len())),
        None => Ok(()),
    }
}

/// Writes the policy of a data directory, whole or not at all, for its owner only.
pub(super) fn save(home: &Path, policy: &CapturePolicy) -> Result<()> {
    check(policy).map_err(|reason| EngineError::Policy { reason })?;
    let path = path_in(home);
    let pause = |pause: &Pause| PauseEntry {
        project: pause.project.clone(),
        until: pause.until.map(|until| until.to_string()),
    };
    let file = File {
        version: VERSION,
        excluded: policy.excluded.clone(),
        pauses: policy.pauses.iter().map(pause).collect(),
    };
    let text = serde_json::to_string_pretty(&file).map_err(|error| EngineError::Policy {
        reason: format!("a path that is not text cannot be kept: {error}"),
    })?;
    write_file(&path, format!("{text}\n").as_bytes()).map_err(EngineError::io("write", path))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_policy_comes_back_and_its_file_is_the_owners() {
        let home = tempfile::tempdir().unwrap();
        assert!(load(home.path()).is_empty());
        let policy = CapturePolicy {
            excluded: vec!["/a".to_owned(), "**/b".to_owned()],
            pauses: vec![Pause {
                project: Some("/p".into()),
                until: Some(Timestamp::from_micros(7_000_000)),
            }],
            unknown: None,
        };
        save(home.path(), &policy).unwrap();
        assert_eq!(load(home.path()), policy);
        #[cfg(unix)]
        {
            let metadata = std::fs::metadata(path_in(home.path())).unwrap();
            assert_eq!(std::os::unix::fs::MetadataExt::mode(&metadata) & 0o777, 0o600);
        }
    }

    #[test]
    fn what_cannot_be_read_holds_everything_back() {
        for text in [
            "",
            "{}",
            "{\"version\":2}",
            "{\"version\":1,\"excluded\":[\"\"]}",
            "{\"version\":1,\"excludes\":[]}",
            "{\"version\":1,\"pauses\":[{\"until\":\"soon\"}]}",
        ] {
            let home = tempfile::tempdir().unwrap();
            std::fs::File::create(path_in(home.path())).unwrap().write_all(text.as_bytes()).unwrap();
            assert!(try_load(home.path()).is_err(), "{text}");
            let policy = load(home.path());
            assert!(policy.decide(Path::new("/t"), &[], Timestamp::EPOCH).is_some(), "{text}");
        }
    }
}
