//! What stands in the window in place of an output that is stored apart: where all of it is, and how it begins and ends.

use super::cut::cut_to;
use super::limits::{Extent, OutputLimits, Room};

/// Lines and characters of the output that its notice shows.
const SHOWN: Room = Room { lines: 21, bytes: 8_000, chars: 2_000 };

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
        "[tool output too large: {chars} chars, {bytes} bytes, {lines} lines]\n{saved}Reference: {}\nSHA256: {}",
        place.artifact, place.sha256
    );
    let room = Room::of(limits);
    if let Some(left) = room.beside(&head) {
        let ends = cut_to(output, left.at_most(SHOWN), limits.keep);
        return format!("{head}\n{}", ends.text);
    }
    let forms = [
        head,
        format!("[tool output too large: {chars} chars] {}", place.artifact),
        place.artifact.to_owned(),
    ];
    let fitting = forms.iter().find(|form| Extent::of(form).fits(limits));
    fitting.cloned().unwrap_or_else(|| cut_to(place.artifact, room, super::Keep::Head).text)
}
