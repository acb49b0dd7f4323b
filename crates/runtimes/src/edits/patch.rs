//! Patches as `apply_patch` takes them: files that are added, and lines that are added in others.

use super::Made;

/// How such a patch begins.
pub(super) const BEGIN: &str = "*** Begin Patch";

/// Returns the files that a patch writes to, with the lines that it adds. Text around the patch is read over.
pub(super) fn edits(text: &str) -> Vec<Made> {
    let mut made: Vec<Made> = Vec::new();
    let Some((_, patch)) = text.split_once(BEGIN) else { return made };
    for line in patch.lines() {
        if line.starts_with("*** End Patch") {
            break;
        }
        let file = |prefix: &str| line.strip_prefix(prefix).map(|path| path.trim().to_owned());
        if let Some(path) = file("*** Add File: ") {
            made.push((path, Vec::new(), true));
        } else if let Some(path) = file("*** Update File: ") {
            made.push((path, Vec::new(), false));
        } else if let Some(path) = file("*** Move to: ") {
            if let Some(last) = made.last_mut() {
                last.0 = path;
            }
        } else if line.starts_with("*** ") {
            // A file that is deleted gets no lines; what follows belongs to none.
            made.push((String::new(), Vec::new(), false));
        } else if let (Some(added), Some(last)) = (line.strip_prefix('+'), made.last_mut()) {
            last.1.push(added.to_owned());
        }
    }
    made.retain(|(path, lines, _)| !path.is_empty() && !lines.is_empty());
    made
}
