//! `generate-reference`: writes the pages that the program knows about itself.

use crate::args::maintain::GenerateReference;
use crate::errors::{CliError, Exit};
use crate::output::file::{Target, TempFiles};
use crate::reference;

/// Runs the command.
pub(crate) fn run(args: &GenerateReference) -> Result<Exit, CliError> {
    for (name, text) in reference::pages() {
        let path = args.folder.join(name);
        Target::File(path)
            .write(&TempFiles::default(), |out| out.write_all(text.as_bytes()).map_err(CliError::Output))?;
    }
    Ok(Exit::Done)
}
