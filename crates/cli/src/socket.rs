//! Where a service's socket is: one rule for the service and for those who ask it.
//!
//! What listens there, and who may connect, is the server's.

use std::fs;
use std::path::{Path, PathBuf};

use crate::environment::{self, Environment};

/// The socket's name in the folder of what processes leave for each other.
pub(crate) const NAME: &str = "serve.sock";

/// Bytes of a socket's path at most. Systems take 103 or 107.
const PATH_BYTES_MAX: usize = 100;

/// Characters of a hash in a socket's name: enough that two data directories of a user never share one.
const HASH_CHARS: usize = 24;

/// Returns where the socket of this path is: there, or, where the path is longer than the system takes, under its hash in the user's
/// runtime directory, else in a folder of the user's in the system's temporary one.
pub(crate) fn place(environment: &Environment, wanted: &Path) -> PathBuf {
    if wanted.as_os_str().len() <= PATH_BYTES_MAX {
        return wanted.to_owned();
    }
    let folder = match environment.path("XDG_RUNTIME_DIR").filter(|path| path.is_absolute()) {
        Some(runtime) => runtime.join("stemmata"),
        None => environment::temp_dir().join(format!("stemmata-{}", environment::user_id())),
    };
    let real = wanted.parent().and_then(|parent| fs::canonicalize(parent).ok());
    let real = real.zip(wanted.file_name()).map(|(parent, name)| parent.join(name));
    let text = real.as_deref().unwrap_or(wanted).as_os_str().as_encoded_bytes();
    let hash = stemmata_model::artifact_id(text).to_string();
    let hash: String = hash.chars().filter(char::is_ascii_alphanumeric).collect();
    folder.join(format!("{}.sock", &hash[hash.len().saturating_sub(HASH_CHARS)..]))
}

/// Says whether a folder that [`place`] chose is the user's alone: in a folder that everybody may write to, another user could have
/// made it first and answer there.
pub(crate) fn is_own(socket: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let folder = socket.parent().and_then(|folder| fs::symlink_metadata(folder).ok());
    folder.is_none_or(|folder| {
        let others = folder.mode() & 0o077;
        folder.is_dir() && folder.uid() == environment::user_id() && others == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_too_long_is_elsewhere_and_the_same_for_everybody() {
        let environment = Environment::of(&[("XDG_RUNTIME_DIR", "/run/user/7")]);
        let short = Path::new("/data/run/serve.sock");
        assert_eq!(place(&environment, short), short);
        let long = PathBuf::from(format!("/{}/run/serve.sock", "a".repeat(100)));
        let found = place(&environment, &long);
        assert!(
            found.starts_with("/run/user/7/stemmata") && found.as_os_str().len() <= PATH_BYTES_MAX,
            "{found:?}"
        );
        assert_eq!(place(&environment, &long), found);
        let other = PathBuf::from(format!("/{}/run/serve.sock", "b".repeat(100)));
        assert_ne!(place(&environment, &other), found);
        let bare = place(&Environment::of(&[]), &long);
        let own = format!("stemmata-{}", environment::user_id());
        assert_eq!(bare.parent().and_then(Path::file_name), Some(own.as_ref()));
        // A relative variable means nothing.
        assert_eq!(place(&Environment::of(&[("XDG_RUNTIME_DIR", "run")]), &long), bare);
    }

    #[test]
    fn a_folder_of_somebody_else_is_not_asked() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s");
        for (mode, is_ours) in [(0o700, true), (0o755, false)] {
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(is_own(&socket), is_ours, "{mode:o}");
        }
        assert!(is_own(&folder.path().join("none/s")), "where nothing is nobody answers");
    }
}
