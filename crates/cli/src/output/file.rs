//! Output into a file of the user's choice: it appears whole or not at all, and only its owner reads it.
//!
//! A transcript may hold what its owner would not show around.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use stemmata_store::{SystemFiles, write_whole};

use crate::errors::CliError;
use crate::output::screen::{Form, Screened};

/// Where a command's bytes go.
pub(crate) enum Target {
    /// Standard output.
    Standard,
    /// A file.
    File(PathBuf),
}

impl Target {
    /// Returns the file; none for standard output.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Standard => None,
            Self::File(path) => Some(path),
        }
    }

    /// Reads `-` as standard output, anything else as a path.
    pub(crate) fn of(path: &Path) -> Self {
        if path.as_os_str() == "-" { Self::Standard } else { Self::File(path.to_owned()) }
    }

    /// Hands a writer to `write`; a file appears under its name when that succeeds, and replaces an older one.
    pub(crate) fn write<T>(
        &self,
        write: impl FnOnce(&mut dyn Write) -> Result<T, CliError>,
    ) -> Result<T, CliError> {
        match self {
            Self::Standard => to_stream(io::stdout().lock(), CliError::Output, write),
            Self::File(path) => match std::fs::metadata(path) {
                // A device or a pipe is written to; a rename would put a plain file in its place.
                Ok(metadata) if !metadata.is_file() => to_device(path, write),
                // A link keeps pointing where it points.
                Ok(_) => {
                    to_file(&path.canonicalize().map_err(|error| CliError::io("find", path, error))?, write)
                }
                Err(_) => to_file(path, write),
            },
        }
    }
}

fn to_device<T>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let failed = |source: io::Error| CliError::io("write", path, source);
    to_stream(std::fs::OpenOptions::new().write(true).open(path).map_err(failed)?, failed, write)
}

/// Writes the bytes as they are; where a terminal would read them, without what it would obey.
fn to_stream<T>(
    out: impl Write + IsTerminal,
    failed: impl Fn(io::Error) -> CliError,
    write: impl FnOnce(&mut dyn Write) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let is_terminal = out.is_terminal();
    let mut out = BufWriter::new(out);
    let value = if is_terminal {
        let mut screened = Screened::new(&mut out, Form::Text);
        let value = write(&mut screened)?;
        screened.finish().map_err(&failed)?;
        value
    } else {
        write(&mut out)?
    };
    out.flush().map_err(failed)?;
    Ok(value)
}

fn to_file<T>(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<T, CliError>) -> Result<T, CliError> {
    write_whole(&SystemFiles, path, |source| CliError::io("write", path, source), write)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let target = Target::of(&path);
        let failed = target.write(|out| {
            out.write_all(b"half").map_err(CliError::Output)?;
            Err::<(), _>(CliError::Usage("stop".to_owned()))
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        for content in ["first", "second"] {
            target.write(|out| out.write_all(content.as_bytes()).map_err(CliError::Output)).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
        }
        #[cfg(unix)]
        {
            let link = folder.path().join("link");
            std::os::unix::fs::symlink(&path, &link).unwrap();
            Target::of(&link).write(|out| out.write_all(b"third").map_err(CliError::Output)).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), "third");
            assert!(link.is_symlink());
        }
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&path).unwrap()) & 0o777, 0o600);
    }
}
