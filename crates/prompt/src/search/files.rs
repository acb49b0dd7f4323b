//! File names in a text: `mod.rs`, `Cargo.toml`, `.env.local`, and with the folder that they are in: `search/mod.rs`.

use std::ops::Range;

use super::scripts::{self, Script};
use super::words::NAME_BYTES_MAX;

/// The most characters after the last dot of a file name, the first of which is a letter.
const EXTENSION_CHARS_MAX: usize = 8;

/// Reports every file name of a text: the same as `[\w.-]*\w\.[A-Za-z]\w{0,7}\b`, but a name does not begin with a dash. Then
/// the same name with its folder, where the text has one.
pub(super) fn scan(text: &str, found: &mut dyn FnMut(&str, Range<usize>)) {
    let mut start = 0;
    let mut has_dot = false;
    for (at, char) in text.char_indices().chain([(text.len(), ' ')]) {
        if char == '.' {
            has_dot = true;
        } else if char != '-' && !is_word(char) {
            if has_dot {
                run(text, start..at, found);
            }
            start = at + char.len_utf8();
            has_dot = false;
        }
    }
}

/// Reports the file name that a run of word characters, dots and dashes begins with.
fn run(text: &str, range: Range<usize>, found: &mut dyn FnMut(&str, Range<usize>)) {
    let run = text.get(range.clone()).unwrap_or_default();
    let name = run.trim_start_matches('-');
    let start = range.start + run.len() - name.len();
    for (dot, _) in name.rmatch_indices('.') {
        let after = name.get(dot + 1..).unwrap_or_default();
        let extension =
            after.split(|char: char| !char.is_ascii() || !is_word(char)).next().unwrap_or_default();
        let is_extension = extension.starts_with(|char: char| char.is_ascii_alphabetic())
            && extension.chars().nth(EXTENSION_CHARS_MAX).is_none();
        if is_extension && name.get(..dot).is_some_and(|stem| stem.ends_with(is_word)) {
            let end = dot + 1 + extension.len();
            if let Some(name) = name.get(..end).filter(|name| name.len() <= NAME_BYTES_MAX) {
                found(name, start..start + end);
                with_folder(text, start..start + end, found);
            }
            return;
        }
    }
}

/// Reports a file name with the folder before it: many files are called `mod.rs`, and few of them are in `search`.
fn with_folder(text: &str, name: Range<usize>, found: &mut dyn FnMut(&str, Range<usize>)) {
    let before = text.get(..name.start).unwrap_or_default();
    let Some(before) = before.strip_suffix(['/', '\\']) else { return };
    let folder =
        before.len() - before.trim_end_matches(|char| char == '-' || char == '.' || is_word(char)).len();
    let start = before.len() - folder;
    let has_name = before.get(start..).is_some_and(|folder| folder.contains(is_word));
    let range = start..name.end;
    if let Some(path) = text.get(range.clone()).filter(|path| has_name && path.len() <= NAME_BYTES_MAX) {
        found(path, range);
    }
}

/// Returns whether a name may have a character: those of scripts without blanks stand beside names as blanks do.
fn is_word(char: char) -> bool {
    char == '_' || char.is_alphanumeric() && scripts::script(char) == Script::Words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_found() {
        for (text, wanted) in [
            ("see crates/prompt/src/mod.rs.", vec!["mod.rs", "src/mod.rs"]),
            ("../a.rs x\\lib-2\\b.rs /c.rs", vec!["a.rs", "b.rs", "lib-2\\b.rs", "c.rs"]),
            ("--config=foo-bar.toml, .env.local", vec!["foo-bar.toml", ".env.local"]),
            ("1.5 and e.g. a.b.c-d", vec!["e.g", "a.b.c"]),
            ("x.verylongextension y.", vec![]),
            ("-.- ...", vec![]),
            ("開くmain.rsを開く größe.rs", vec!["main.rs", "größe.rs"]),
        ] {
            let mut found = Vec::new();
            scan(text, &mut |name, range| {
                assert_eq!(&text[range], name);
                found.push(name.to_owned());
            });
            assert_eq!(found, wanted, "{text}");
        }
    }
}
