//! File names in a text: `mod.rs`, `Cargo.toml`, `.env.local`.

use std::ops::Range;

use super::words::NAME_BYTES_MAX;

/// The most characters after the last dot of a file name, the first of which is a letter.
const EXTENSION_CHARS_MAX: usize = 8;

/// Reports every file name of a text: the same as `[\w.-]*\w\.[A-Za-z]\w{0,7}\b`, but a name does not begin with a dash.
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
        let extension = after.split(|char| !is_word(char)).next().unwrap_or_default();
        let is_extension = extension.starts_with(|char: char| char.is_ascii_alphabetic())
            && extension.chars().nth(EXTENSION_CHARS_MAX).is_none();
        if is_extension && name.get(..dot).is_some_and(|stem| stem.ends_with(is_word)) {
            let end = dot + 1 + extension.len();
            if let Some(name) = name.get(..end).filter(|name| name.len() <= NAME_BYTES_MAX) {
                found(name, start..start + end);
            }
            return;
        }
    }
}

fn is_word(char: char) -> bool {
    char == '_' || char.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_found() {
        for (text, wanted) in [
            ("see crates/prompt/src/mod.rs.", vec!["mod.rs"]),
            ("--config=foo-bar.toml, .env.local", vec!["foo-bar.toml", ".env.local"]),
            ("1.5 and e.g. a.b.c-d", vec!["e.g", "a.b.c"]),
            ("x.verylongextension y.", vec![]),
            ("-.- ...", vec![]),
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
