//! Whether there is room for what is about to be written.
//!
//! Asked before anything is begun; a disk that fills up later is an error of its own.

use std::path::Path;

use crate::error::StoreError;

/// Bytes that are left free beside what is written: for folders, logs and what others write meanwhile.
const SPARE_BYTES: u64 = 1024 * 1024;

/// Fails where a folder's disk has less room than this.
pub(super) fn check(folder: &Path, needed_bytes: u64) -> Result<(), StoreError> {
    let needed_bytes = needed_bytes.saturating_add(SPARE_BYTES);
    match free_bytes(folder) {
        Some(free_bytes) if free_bytes < needed_bytes => {
            Err(StoreError::NoRoom { path: folder.display().to_string(), needed_bytes, free_bytes })
        }
        _ => Ok(()),
    }
}

/// Returns the bytes that the disk of a folder has free for us; none where the system does not say.
#[cfg(unix)]
fn free_bytes(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
fn free_bytes(_folder: &Path) -> Option<u64> {
    None
}

/// Says whether two paths are on one disk, so that files can be linked.
#[cfg(unix)]
pub(super) fn is_same_device(left: &Path, right: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (std::fs::metadata(left), std::fs::metadata(right)) {
        (Ok(left), Ok(right)) => left.dev() == right.dev(),
        _ => false,
    }
}

#[cfg(not(unix))]
pub(super) fn is_same_device(_left: &Path, _right: &Path) -> bool {
    false
}
