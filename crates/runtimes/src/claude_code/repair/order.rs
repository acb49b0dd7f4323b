//! Records that came late, and such as stand there twice.

use super::View;
use crate::repair::Document;

/// Puts the lines into the order in which they were said, each record once.
pub(super) fn mend(document: &mut Document, view: &View) {
    let tree = &view.tree;
    // Where each line of the file stands by now.
    let mut places: Vec<usize> = (0..document.len()).collect();
    for position in 0..tree.rows.len() {
        let written = tree.written(position);
        // What stands before is in its place.
        let mut behind = places.iter().skip(position);
        let Some(at) = behind.position(|&line| line == written) else { continue };
        let at = at + position;
        if at > position {
            let line = places.remove(at);
            places.insert(position, line);
            document.move_line(at, position, ("order", "it came late, behind what hangs on it"));
        }
    }
    let is_again = |position: &usize| tree.row(*position).again.is_some();
    for position in (0..tree.rows.len()).rev().filter(is_again) {
        document.remove(position, ("again", "the same record stands there again"));
    }
}
