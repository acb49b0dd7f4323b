//! What SQLite and the file system say, as errors of the seam.
//!
//! Damage of contents is found and named where they are read.

use std::io;
use std::path::Path;

use rusqlite::{ErrorCode, ffi};

use crate::error::StoreError;

pub(super) use crate::error::unreadable;

/// Names the operation that something is part of, for the errors of the database.
pub(super) trait During {
    type Out;

    fn during(self, operation: &'static str) -> Self::Out;
}

impl<T> During for rusqlite::Result<T> {
    type Out = Result<T, StoreError>;

    fn during(self, operation: &'static str) -> Result<T, StoreError> {
        self.map_err(|source| store_error(source, operation))
    }
}

/// `Locked` carries no time here: who waited knows it.
pub(crate) fn store_error(source: rusqlite::Error, operation: &'static str) -> StoreError {
    // The file that processes share grows by the page: it fails to for want of room only.
    if source.sqlite_error().is_some_and(|error| error.extended_code == ffi::SQLITE_IOERR_SHMSIZE) {
        return StoreError::Full { operation };
    }
    match source.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed) => {
            StoreError::Locked { waited_ms: 0 }
        }
        Some(ErrorCode::DiskFull) => StoreError::Full { operation },
        Some(ErrorCode::ReadOnly) => StoreError::ReadOnly { operation },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::DatabaseDamaged { operation, source: Box::new(source) }
        }
        _ => StoreError::Backend { operation, source: Box::new(source) },
    }
}

/// Names the path that something failed at.
pub(crate) fn io_error(operation: &'static str, path: &Path, source: io::Error) -> StoreError {
    match source.kind() {
        io::ErrorKind::StorageFull => StoreError::Full { operation },
        io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly { operation },
        _ => StoreError::Io { operation, path: path.display().to_string(), source },
    }
}
