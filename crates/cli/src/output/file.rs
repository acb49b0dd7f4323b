//! Output into a file of the user's choice: it appears whole or not at all, and only its owner reads it.
//!
//! A transcript may hold what its owner would not show around.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

pub(crate) use stemmata_service::TempFiles;

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
    /// Returns the file as text; none for standard output.
    pub(crate) fn path(&self) -> Option<String> {
        match self {
            Self::Standard => None,
            Self::File(path) => Some(path.to_string_lossy().into_owned()),
        }
    }

    /// Reads `-` as standard output, anything else as a path.
    pub(crate) fn of(path: &Path) -> Self {
        if path.as_os_str() == "-" { Self::Standard } else { Self::File(path.to_owned()) }
    }

    /// Hands a writer to `write`; a file appears under its name when that succeeds, and replaces an older one.
    pub(crate) fn write<T>(
        &self,
        files: &TempFiles,
        write: impl FnOnce(&mut dyn Write) -> Result<T, CliError>,
    ) -> Result<T, CliError> {
        match self {
            Self::Standard => {
                let out = io::stdout().lock();
                let is_terminal = out.is_terminal();
                to_stream((out, is_terminal), CliError::Output, write)
            }
            Self::File(path) => match std::fs::metadata(path) {
                // A device or a pipe is written to; a rename would put a plain file in its place.
                Ok(metadata) if !metadata.is_file() => to_device(path, write),
                // The file that a link leads to is replaced, so that the link stays.
                Ok(_) => {
                    let path = path.canonicalize().map_err(|error| CliError::io("find", path, error))?;
                    to_file(files, &path, write)
                }
                Err(_) => to_file(files, path, write),
            },
        }
    }
}

fn to_device<T>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let failed = |source: io::Error| CliError::io("write", path, source);
    let out = std::fs::OpenOptions::new().write(true).open(path).map_err(failed)?;
    let is_terminal = out.is_terminal();
    to_stream((out, is_terminal), failed, write)
}

/// Writes the bytes as they are; where a terminal would read them, without what it would obey.
fn to_stream<T>(
    (out, is_terminal): (impl Write, bool),
    failed: impl Fn(io::Error) -> CliError,
    write: impl FnOnce(&mut dyn Write) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let mut out = BufWriter::new(Heard { out, has_left: false });
    let to_end = || {
        let value = if is_terminal {
            let mut screened = Screened::new(&mut out, Form::Text);
            let value = write(&mut screened)?;
            screened.finish().map_err(&failed)?;
            value
        } else {
            write(&mut out)?
        };
        out.flush().map_err(&failed)?;
        Ok(value)
    };
    let done = to_end();
    // Whoever wrote meanwhile says it in words of its own.
    if done.is_err() && out.get_ref().has_left {
        return Err(CliError::Output(io::ErrorKind::BrokenPipe.into()));
    }
    done
}

/// A stream that remembers that its reader went away.
struct Heard<W> {
    out: W,
    has_left: bool,
}

impl<W: Write> Heard<W> {
    fn hear<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        self.has_left |= done.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
        done
    }
}

impl<W: Write> Write for Heard<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.out.write(bytes);
        self.hear(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = self.out.flush();
        self.hear(done)
    }
}

fn to_file<T>(
    files: &TempFiles,
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<T, CliError>,
) -> Result<T, CliError> {
    files.write_whole(path, |source| CliError::io("write", path, source), write)
}

#[cfg(test)]
mod tests {
    use stemmata_api::{Code, Problem};

    use super::*;

    /// A stream whose reader takes some bytes and goes.
    struct Leaving(usize);

    impl Write for Leaving {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::BrokenPipe)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_went_away_is_known_whatever_the_writer_makes_of_it() {
        let problem = || Box::new(Problem::new(Code::IoFailed, "writing the output failed"));
        for (takes, length, has_left) in [(10, 5, false), (10, 11, true), (10, 100_000, true)] {
            let done = to_stream((Leaving(takes), false), CliError::Output, |out| {
                out.write_all(&vec![b'x'; length]).map_err(|_| problem())?;
                Ok(())
            });
            assert_eq!(done.is_err_and(|error| error.is_closed_pipe()), has_left, "{length}");
        }
        let other = to_stream((Leaving(10), false), CliError::Output, |_| Err::<(), _>(problem().into()));
        assert!(!other.unwrap_err().is_closed_pipe());
    }

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let target = Target::of(&path);
        let failed = target.write(&TempFiles::default(), |out| {
            out.write_all(b"half").map_err(CliError::Output)?;
            Err::<(), _>(CliError::Usage("stop".to_owned()))
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        for content in ["first", "second"] {
            target
                .write(&TempFiles::default(), |out| {
                    out.write_all(content.as_bytes()).map_err(CliError::Output)
                })
                .unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
        }
        #[cfg(unix)]
        {
            let link = folder.path().join("link");
            std::os::unix::fs::symlink(&path, &link).unwrap();
            Target::of(&link)
                .write(&TempFiles::default(), |out| out.write_all(b"third").map_err(CliError::Output))
                .unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), "third");
            assert!(link.is_symlink());
        }
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&path).unwrap()) & 0o777, 0o600);
    }
}
