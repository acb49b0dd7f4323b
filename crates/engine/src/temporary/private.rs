//! A folder for one user in a folder that users share, such as the system's temporary folder.
//!
//! What is put into it is the callers' to say.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use stemmata_store::{Files as _, SystemFiles};

use crate::system::{owner, user};

/// Makes a folder for this user alone in one that users share.
///
/// # Errors
/// `PermissionDenied` where another user made it, or others may use it: they could replace what is in it, or read it; the system's own.
pub(crate) fn private_folder(shared: &Path, name: &str) -> io::Result<PathBuf> {
    let folder = private_path(shared, name);
    let made = SystemFiles.make_directory(&folder);
    // Something else may have the name: what that is comes first.
    check_private(&folder, user()).and(made)?;
    Ok(folder)
}

pub(super) fn private_path(shared: &Path, name: &str) -> PathBuf {
    shared.join(if cfg!(unix) { format!("{name}-{}", user()) } else { name.to_owned() })
}

/// Returns whether a path is a folder of this user's own: nothing of theirs is in another one, nor behind a link.
pub(super) fn is_ours(folder: &Path) -> bool {
    folder.symlink_metadata().is_ok_and(|there| there.is_dir() && owner(&there) == user())
}

#[cfg(unix)]
pub(super) fn check_private(folder: &Path, user: u32) -> io::Result<()> {
    let there = folder.symlink_metadata()?;
    let mode = std::os::unix::fs::MetadataExt::mode(&there);
    let (is_what, next) = if owner(&there) != user {
        ("another user's", "ask them to remove it, or set `TMPDIR`")
    } else if !there.is_dir() {
        ("not a folder", "remove it")
    } else if mode & 0o077 != 0 {
        ("open to others", "remove it, or `chmod 700` it")
    } else {
        return Ok(());
    };
    Err(io::Error::new(ErrorKind::PermissionDenied, format!("{} is {is_what}; {next}", folder.display())))
}

/// Elsewhere each user has a temporary folder of their own.
#[cfg(not(unix))]
pub(super) fn check_private(folder: &Path, _: u32) -> io::Result<()> {
    folder.symlink_metadata().map(drop)
}
