//! `cargo xtask house`: how large the product is, which of its files import each other in circles, where it names a
//! client, how wide the store's seam is and what its commands run, in figures that can be compared from change to change.
//! Not a rule: no figure fails. What must hold is a rule of `tidy`.

mod callgrind;
mod circles;
mod clients;
mod declared;
mod imports;
mod lines;
mod scenes;
mod seam;
mod table;
mod walks;

use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;

use crate::tidy::tree::Tree;
use lines::Counted;

const USAGE: &str = "\
usage: cargo xtask house [--clients | --circles]
       cargo xtask house walks [NAME…]

  Counts lines by crate, import circles within each crate, the files that name a client, methods of the store's seam,
  and the lines that a second backend of the store writes.

  --clients  list these files, client by client
  --circles  list the files of every circle
  walks      run the walks NAME…, or all, under valgrind, and count the files, functions and types they meet";

/// Prints the figures that were asked for.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let tree = Tree::load(root)?;
    let files = lines::count(&tree);
    let text = match words.as_slice() {
        [] => figures(&tree, &files),
        ["--clients"] => clients::list(&tree, &files),
        ["--circles"] => imports::list(&files),
        ["walks", names @ ..] => return walks::run(root, &files, names),
        _ => anyhow::bail!("{USAGE}"),
    };
    print(&text)
}

fn figures(tree: &Tree, files: &[Counted<'_>]) -> String {
    let parts = [
        ("Lines", lines::table(files)),
        ("Import circles", imports::table(files)),
        ("Files that name a client, outside its folder", clients::table(tree, files)),
        ("Parts of the store's seam", seam::table(files)),
        ("The backend in SQLite", seam::backend(files)),
    ];
    parts.iter().map(|(title, table)| format!("{title}\n\n{table}")).collect::<Vec<_>>().join("\n")
}

/// Prints figures to stdout, so that a file can hold them while messages stay on the terminal.
///
/// # Errors
/// When stdout is closed.
fn print(text: &str) -> anyhow::Result<()> {
    std::io::stdout().lock().write_all(text.as_bytes()).context("writing the figures")
}
