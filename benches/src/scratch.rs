//! Folders for a run's files, on the disk that the build itself is on.
//! Not the system's folder for temporary files: that may lie in memory, where a sync costs nothing.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::Context as _;
use tempfile::TempDir;

/// Makes an empty folder that is gone when the value is dropped.
///
/// # Errors
/// When the disk refuses.
pub(crate) fn folder() -> anyhow::Result<TempDir> {
    let program = std::env::current_exe().context("finding this program's own file")?;
    let beside = program.parent().unwrap_or(Path::new("."));
    tempfile::Builder::new().prefix("bench-").tempdir_in(beside).context("making a folder for the run")
}

/// Returns the bytes of all files below a folder.
///
/// # Errors
/// When it cannot be listed.
pub(crate) fn bytes_below(folder: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in folder.read_dir().with_context(|| format!("listing {}", folder.display()))? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            bytes += bytes_below(&entry.path())?;
        } else if kind.is_file() {
            bytes += entry.metadata()?.len();
        }
    }
    Ok(bytes)
}

/// Writes a file through `fill` and returns its length; the folder must be there.
///
/// # Errors
/// When the disk refuses.
pub(crate) fn write(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> anyhow::Result<u64> {
    let output_file = File::create(path).with_context(|| format!("creating {}", path.display()))?;
    let mut output = BufWriter::with_capacity(1 << 20, output_file);
    fill(&mut output).and_then(|()| output.flush()).with_context(|| format!("writing {}", path.display()))?;
    Ok(std::fs::metadata(path)?.len())
}
