//! Whether a call named a file, and how much of what it wrote stands around a line. Pure.

use std::path::{Component, Path, PathBuf};

/// Returns whether a path that a call names is a file: absolute, below the directory that the agent worked in, at the same place in
/// the worktree whose top is given, or, where the project stood elsewhere then, at the same place within it.
pub(super) fn is_of_file(
    named: &str,
    (cwd, top): (Option<&str>, Option<&str>),
    (file, project): (&Path, &Path),
) -> bool {
    let named = Path::new(named);
    let whole = match cwd {
        Some(cwd) if named.is_relative() => Path::new(cwd).join(named),
        _ => named.to_owned(),
    };
    if plain(&whole) == plain(file) {
        return true;
    }
    let Ok(within) = file.strip_prefix(project) else { return false };
    if top.is_some_and(|top| plain(&whole) == plain(&Path::new(top).join(within))) {
        return true;
    }
    // A whole name alone is no place: many folders have a `mod.rs`.
    within.components().count() > 1 && plain(&whole).ends_with(within)
}

/// Returns a path without `.` and `..`, by its text: the file may be gone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// Returns the most lines in a row around a line of a file that were written in a row, the line itself being one of them;
/// 0 where it was not written. White space at the ends does not count: formatters change it.
pub(super) fn run(lines: &[String], line: usize, written: &[String]) -> usize {
    let is_same = |file: usize, edit: usize| match (lines.get(file), written.get(edit)) {
        (Some(left), Some(right)) => left.trim() == right.trim(),
        _ => false,
    };
    let places = (0..written.len()).filter(|&place| is_same(line, place));
    let length = |place: usize| {
        let after = (1..written.len()).take_while(|&step| is_same(line + step, place + step)).count();
        let before = (1..=line.min(place)).take_while(|&step| is_same(line - step, place - step)).count();
        1 + before + after
    };
    places.map(length).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_place_in_the_project() {
        let at = (Path::new("/srv/app/src/a.rs"), Path::new("/srv/app"));
        for (named, cwd, is_it) in [
            ("/srv/app/src/a.rs", None, true),
            ("/srv/app/src/../src/./a.rs", None, true),
            ("src/a.rs", Some("/srv/app"), true),
            ("a.rs", Some("/srv/app/src"), true),
            ("a.rs", Some("/srv/app"), false),
            ("/home/bob/app/src/a.rs", None, true),
            ("/srv/app/other/a.rs", None, false),
        ] {
            assert_eq!(is_of_file(named, (cwd, None), at), is_it, "{named} in {cwd:?}");
        }
        let top = (Path::new("/srv/app/a.rs"), Path::new("/srv/app"));
        assert!(!is_of_file("/other/a.rs", (None, None), top), "a name alone is not a place");
        assert!(is_of_file("a.rs", (Some("/w/2"), Some("/w/2")), top), "at the top of a worktree");
        assert!(is_of_file("/w/2/a.rs", (Some("/w/2/src"), Some("/w/2")), top), "also from below");
        assert!(!is_of_file("/w/2/src/a.rs", (None, Some("/w/2")), top), "another file");
    }

    #[test]
    fn a_run_is_what_stands_around_in_both() {
        let file: Vec<String> =
            ["fn a() {", "  one();", "}", "", "fn b() {", "  two();", "}"].map(String::from).to_vec();
        let written: Vec<String> = ["fn b() {", "    two();", "}"].map(String::from).to_vec();
        assert_eq!(run(&file, 5, &written), 3);
        assert_eq!(run(&file, 2, &written), 1, "any brace");
        assert_eq!(run(&file, 1, &written), 0);
    }
}
