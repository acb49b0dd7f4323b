//! What stands in the window in place of an output that is stored apart: where all of it is, and how it begins and ends.

use stemmata_model::ArtifactId;

use super::cut::cut_to;
use super::limits::{Extent, OutputLimits, Room};

/// Lines and characters of the output that its notice shows.
const SHOWN: Room = Room { lines: 21, bytes: 8_000, chars: 2_000 };

/// How a notice begins.
const NOTICE: &str = "[tool output too large: ";

/// What stands before the artifact in a notice that has room for a line of its own.
const REFERENCE: &str = "Reference: ";

/// Lines of a notice among which the artifact is named.
const NAMING_LINES: usize = 3;

/// Where an output was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpillPlace<'a> {
    /// The file, for harnesses whose tools read files.
    pub path: Option<&'a str>,
    /// The artifact.
    pub artifact: &'a str,
    /// The SHA-256 of the output's bytes, in hex.
    pub sha256: &'a str,
}

/// Renders the notice, within the limits. Limits that are too small for all of it get the artifact first.
pub fn spill_notice(place: SpillPlace<'_>, output: &str, limits: &OutputLimits) -> String {
    let Extent { lines, bytes, chars } = Extent::of(output);
    let saved = place.path.map(|path| format!("Saved to: {path}\n")).unwrap_or_default();
    let head = format!(
        "{NOTICE}{chars} chars, {bytes} bytes, {lines} lines]\n{saved}{REFERENCE}{}\nSHA256: {}",
        place.artifact, place.sha256
    );
    let room = Room::of(limits);
    if let Some(left) = room.beside(&head) {
        let ends = cut_to(output, left.at_most(SHOWN), limits.keep);
        return format!("{head}\n{}", ends.text);
    }
    let forms = [head, format!("{NOTICE}{chars} chars] {}", place.artifact), place.artifact.to_owned()];
    let fitting = forms.iter().find(|form| Extent::of(form).fits(limits));
    fitting.cloned().unwrap_or_else(|| cut_to(place.artifact, room, super::Keep::Head).text)
}

/// Returns the artifact that a notice names, or `None` for a text that is no notice. Two notices of one artifact are of one output:
/// the path, and how much is shown beside it, depend on the temporary folder of the process that wrote it.
pub fn noticed_artifact(text: &str) -> Option<ArtifactId> {
    let named = text.lines().take(NAMING_LINES).find_map(|line| match line.strip_prefix(NOTICE) {
        Some(rest) => rest.split_once("] ").map(|(_, artifact)| artifact),
        None => line.strip_prefix(REFERENCE),
    });
    named.filter(|_| text.starts_with(NOTICE)).unwrap_or(text).parse().ok()
}
