//! Writes the sessions that ship in `examples/claude-code`, after their text was changed.
//! Not needed to build anything: the files are in the repository, and a test compares them.

use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use stemmata_testkit::stories;

fn main() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/claude-code/projects");
    for (name, text) in stories::files() {
        let path = root.join(&name);
        let folder = path.parent().context("a file lies in a folder")?;
        std::fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.persist(&path)?;
        writeln!(std::io::stdout(), "{:>7} bytes  {name}", text.len())?;
    }
    Ok(())
}
