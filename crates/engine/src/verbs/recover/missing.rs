//! Lines of one transcript that another one does not have, found by what they say and not by how many there are.

use std::path::Path;

use stemmata_runtimes::adapter::Shape;

use crate::capture::said::{Lost, Sought};
use crate::capture::transcript_file::Transcript;
use crate::error::Result;

/// Compares a transcript with what it was, line by line. Of documents nothing is said: their clients write them anew each time.
pub(super) fn missing(was: &Path, is: &Path) -> Result<Lost> {
    let mut sought = Sought::default();
    let mut now = Transcript::open_whole(is)?;
    let (adapter, _) = now.detected()?;
    if adapter.shape() != Shape::Lines {
        return Ok(Lost::default());
    }
    let mut before = Transcript::open_whole(was)?;
    let (adapter_before, _) = before.detected()?;
    let mut lines = before.lines(0, 1)?;
    while let Some(line) = lines.next()? {
        sought.add(adapter_before, line.bytes);
    }
    let mut lines = now.lines(0, 1)?;
    while let Some(line) = lines.next()? {
        sought.look_in(adapter, line.bytes);
    }
    Ok(sought.lost())
}
