//! What operating systems say of files in ways of their own.
//!
//! Windows is compiled and not tried: what it cannot say is in docs/guide/windows.md.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// What tells a file from every other one on this machine: the file system and the number in it.
#[cfg(unix)]
pub(crate) fn identity(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.dev(), metadata.ino())
}

/// What tells a file from most others: when it was made. The number of a file is not in its metadata.
#[cfg(not(unix))]
pub(crate) fn identity(metadata: &Metadata) -> (u64, u64) {
    (0, metadata.created().map_or(0, |at| u64::try_from(since_1970_ns(at)).unwrap_or(0)))
}

/// Returns when a file was last changed, in nanoseconds since 1970.
#[cfg(unix)]
pub(crate) fn modified_ns(metadata: &Metadata) -> i128 {
    use std::os::unix::fs::MetadataExt as _;
    i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec())
}

/// Returns when a file was last changed, in nanoseconds since 1970.
#[cfg(not(unix))]
pub(crate) fn modified_ns(metadata: &Metadata) -> i128 {
    metadata.modified().map_or(0, since_1970_ns)
}

#[cfg(not(unix))]
fn since_1970_ns(at: std::time::SystemTime) -> i128 {
    let nanos = |duration: std::time::Duration| i128::try_from(duration.as_nanos()).unwrap_or(i128::MAX);
    at.duration_since(std::time::UNIX_EPOCH).map_or_else(|before| -nanos(before.duration()), nanos)
}

/// Returns the number of the user that a file belongs to.
#[cfg(unix)]
pub(crate) fn owner(metadata: &Metadata) -> u32 {
    std::os::unix::fs::MetadataExt::uid(metadata)
}

/// Returns the number that stands for every user.
#[cfg(not(unix))]
pub(crate) fn owner(_: &Metadata) -> u32 {
    user()
}

/// Returns the number of the user that this process runs as.
#[cfg(unix)]
pub(crate) fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns the number that stands for every user.
#[cfg(not(unix))]
pub(crate) fn user() -> u32 {
    0
}

/// Reads at a place, as much as is there at once. Where others read from the file is left alone, on Unix.
///
/// # Errors
/// What the system says.
pub(crate) fn read_at(file: &File, into: &mut [u8], at: u64) -> io::Result<usize> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_at(file, into, at);
    #[cfg(windows)]
    return std::os::windows::fs::FileExt::seek_read(file, into, at);
}

/// Returns a path as bytes that are the same for the same path.
pub(crate) fn path_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}
