//! The Unix socket: a file in a folder of its owner's alone. A dead server's is replaced, a live one's is left.

use std::fs::{self, File};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// Why a server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Another server answers there.
    #[error("{} is in use by a server that answers", .0.display())]
    Live(PathBuf),
    /// The socket's folder is open to others, or not a folder.
    #[error("{} is open to other users", .0.display())]
    Open(PathBuf),
    /// The socket cannot be made.
    #[error("cannot listen on {}: {_1}", .0.display())]
    Path(PathBuf, #[source] io::Error),
    /// The address cannot be had.
    #[error("cannot listen on {0}: {1}")]
    Bind(SocketAddr, #[source] io::Error),
    /// The system gives no threads.
    #[error("cannot start: {0}")]
    Start(#[source] io::Error),
}

/// A socket that is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Socket {
    path: PathBuf,
    /// Device and inode, so that only our own file is removed.
    own: (u64, u64),
    /// Who may connect.
    pub(crate) user: u32,
    _lock: File,
}

impl Socket {
    /// Listens on a path.
    pub(crate) fn bind(path: &Path) -> Result<(Self, UnixListener), SocketError> {
        let failed = |error: io::Error| SocketError::Path(path.to_owned(), error);
        let folder = path.parent().ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        // The folder is what keeps others out: a socket's own mode means nothing on some systems.
        let owned = fs::metadata(folder).map_err(failed)?;
        if owned.mode() & 0o077 != 0 {
            return Err(SocketError::Open(folder.to_owned()));
        }
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".lock");
        let lock = File::create(path.with_file_name(name)).map_err(failed)?;
        // Who has the lock may replace the socket; a server keeps it for as long as it answers.
        lock.try_lock().map_err(|_| SocketError::Live(path.to_owned()))?;
        match path.symlink_metadata() {
            Ok(file) if file.file_type().is_socket() => fs::remove_file(path).map_err(failed)?,
            Ok(_) => return Err(failed(io::ErrorKind::AlreadyExists.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        let listener = UnixListener::bind(path).map_err(failed)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let file = path.symlink_metadata().map_err(failed)?;
        if file.uid() != owned.uid() {
            return Err(SocketError::Open(folder.to_owned()));
        }
        let own = (file.dev(), file.ino());
        Ok((Self { path: path.to_owned(), own, user: file.uid(), _lock: lock }, listener))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let is_own = self.path.symlink_metadata().is_ok_and(|file| (file.dev(), file.ino()) == self.own);
        if is_own {
            let _gone = fs::remove_file(&self.path);
        }
    }
}
