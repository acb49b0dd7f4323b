//! Names in a text: the paths, files, identifiers and literals that an agent must spell exactly to use them again.
//!
//! Not the terms of search, which are stemmed and lower case. Which names matter is decided elsewhere.

/// What kind of name it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// A file with its folders.
    Path,
    /// A file without its folders.
    File,
    /// An identifier of several parts: `parse_query`, `parseQuery`, `MAX_SIZE`.
    Identifier,
    /// An address, a hash, a version, a number, `#12`, `--long-flag`.
    Literal,
}

/// A name, as a piece of the text that it stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name<'t> {
    /// What kind of name it is.
    pub class: Class,
    /// The name: paths without the folder that the session works in.
    pub text: &'t str,
    /// Where it begins in the text, in bytes.
    pub at: usize,
}

/// Longer names are data.
const NAME_BYTES_MAX: usize = 512;

/// Extensions by which a file is known without its folder.
const EXTENSIONS: &[&str] = &[
    "rs",
    "go",
    "py",
    "ts",
    "tsx",
    "js",
    "jsx",
    "mjs",
    "cjs",
    "json",
    "jsonl",
    "toml",
    "yaml",
    "yml",
    "md",
    "mdx",
    "sh",
    "bash",
    "zsh",
    "fish",
    "c",
    "h",
    "cc",
    "cpp",
    "hpp",
    "java",
    "kt",
    "rb",
    "php",
    "cs",
    "swift",
    "ex",
    "exs",
    "erl",
    "zig",
    "lua",
    "sql",
    "html",
    "css",
    "scss",
    "vue",
    "svelte",
    "proto",
    "lock",
    "txt",
    "cfg",
    "ini",
    "env",
    "xml",
    "pkl",
    "nix",
    "dart",
    "gradle",
    "bats",
    "tmpl",
    "Dockerfile",
    "golden",
    "snap",
    "diff",
    "patch",
    "log",
    "db",
];

/// Returns the names of a text in their order, each as often as it stands there. `root` is the folder that the session
/// works in: paths below it are named without it.
pub fn names<'t>(text: &'t str, root: &str) -> Vec<Name<'t>> {
    let mut found = Vec::new();
    each_name(text, root, &mut |name| found.push(name));
    found
}

/// Reports the names of a text in their order.
pub(crate) fn each_name<'t>(text: &'t str, root: &str, found: &mut dyn FnMut(Name<'t>)) {
    let mut scanner = Scanner { text, root, found };
    let mut from = 0;
    let mut searched = 0;
    while let Some(at) = text.get(searched..).and_then(|rest| rest.find("http")).map(|at| at + searched) {
        match url_end(text, at) {
            Some(end) => {
                scanner.plain(from, at);
                let url = text.get(at..end).unwrap_or_default().trim_end_matches(['.', ',', ':', ';', '*']);
                scanner.report(Class::Literal, at, at + url.len());
                (from, searched) = (end, end);
            }
            None => searched = at + "http".len(),
        }
    }
    scanner.plain(from, text.len());
}

/// Returns where the address ends that begins here.
fn url_end(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let after = rest.strip_prefix("https://").or_else(|| rest.strip_prefix("http://"))?;
    let ends = |char: char| char.is_whitespace() || "'\"<>)]}`,\\".contains(char);
    let length = after.find(ends).unwrap_or(after.len());
    (length > 0).then(|| at + rest.len() - after.len() + length)
}

fn is_word(char: char) -> bool {
    char == '_' || char.is_alphanumeric()
}

/// Whether a run may have the character that is read as a path, a file or words.
fn is_run(char: char) -> bool {
    matches!(char, '@' | '.' | '+' | '/' | '~' | '-') || is_word(char)
}

struct Scanner<'t, 'r, 'f> {
    text: &'t str,
    root: &'r str,
    found: &'f mut dyn FnMut(Name<'t>),
}

impl<'t> Scanner<'t, '_, '_> {
    fn report(&mut self, class: Class, start: usize, end: usize) {
        if let Some(text) = self.text.get(start..end).filter(|text| text.len() <= NAME_BYTES_MAX) {
            (self.found)(Name { class, text, at: start });
        }
    }

    /// Scans text between addresses.
    fn plain(&mut self, from: usize, to: usize) {
        let Some(text) = self.text.get(from..to) else { return };
        let mut start = None;
        for (at, char) in text.char_indices() {
            match start {
                None if is_run(char) => start = Some(at),
                Some(begin) if !is_run(char) => {
                    self.run(from + begin, from + at);
                    start = None;
                }
                _ => {}
            }
        }
        if let Some(begin) = start {
            self.run(from + begin, to);
        }
    }

    /// Scans a run: a path at its beginning, files in it, and words in what is left.
    fn run(&mut self, start: usize, end: usize) {
        let Some(run) = self.text.get(start..end) else { return };
        if run.len() < 2 || run.len() > 8 * NAME_BYTES_MAX {
            return;
        }
        let mut from = start;
        if let Some(length) = path_length(run) {
            match self.path(start, start + length) {
                Some(true) => from = start + length,
                // A path without an extension names a folder, or is prose such as `and/or`: its words still count.
                Some(false) => return self.words(start, end),
                None => {}
            }
        }
        let mut words_from = from;
        let mut part_start = from;
        let rest = self.text.get(from..end).unwrap_or_default();
        for (at, char) in rest.char_indices().chain([(rest.len(), '/')]) {
            if !matches!(char, '/' | '@' | '~') {
                continue;
            }
            let part_end = from + at;
            if let Some((file_start, file_end)) = self.file(part_start, part_end) {
                self.words(words_from, file_start);
                self.report(Class::File, file_start, file_end);
                words_from = file_end;
            }
            part_start = part_end + char.len_utf8();
        }
        self.words(words_from, end);
    }

    /// Reports a path; `Some(false)` where it has no extension, `None` where nothing is left of it.
    fn path(&mut self, start: usize, end: usize) -> Option<bool> {
        let whole = self.text.get(start..end)?;
        let below = whole.strip_prefix(self.root).and_then(|rest| rest.strip_prefix('/'));
        let mut path = below.filter(|_| !self.root.is_empty()).unwrap_or(whole);
        if path.len() > 4
            && let Some(rest) = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/"))
        {
            path = rest;
        }
        while let Some(rest) = path.strip_prefix("./") {
            path = rest;
        }
        if path.len() < 4 {
            return Some(false);
        }
        let class = if path.contains('/') { Class::Path } else { Class::File };
        let is_number = path.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'/'));
        if class == Class::Path && (is_number || !has_extension(path)) {
            return Some(false);
        }
        self.report(class, end - path.len(), end);
        Some(true)
    }

    /// Returns where a file name lies in a part of a run.
    fn file(&self, start: usize, end: usize) -> Option<(usize, usize)> {
        let part = self.text.get(start..end)?;
        let name = part.trim_start_matches(|char| !is_word(char));
        let name_start = start + part.len() - name.len();
        for (dot, _) in name.rmatch_indices('.') {
            let after = name.get(dot + 1..)?;
            let extension = after.split(|char| !is_word(char)).next().unwrap_or_default();
            let name_end = name_start + dot + 1 + extension.len();
            let is_call = self.text.get(name_end..).is_some_and(|rest| rest.starts_with('('));
            if dot > 0 && !is_call && EXTENSIONS.contains(&extension) {
                return Some((name_start, name_end));
            }
        }
        None
    }

    /// Reports identifiers and literals.
    fn words(&mut self, start: usize, end: usize) {
        let Some(text) = self.text.get(start..end) else { return };
        // What a name took away is a blank; what no name took is read with the characters around it.
        let before = if start == 0 { ' ' } else { self.text.get(..start).and_then(last).unwrap_or(' ') };
        let mut word = None;
        let mut skip = 0;
        for (at, char) in text.char_indices().chain([(text.len(), ' ')]) {
            match word {
                None if is_word(char) => word = Some(at),
                Some(begin) if !is_word(char) => {
                    if begin >= skip {
                        skip = self.word(Words { text, offset: start, before }, begin, at);
                    }
                    word = None;
                }
                _ => {}
            }
        }
    }

    /// Reports what one word is, or begins; returns where to go on.
    fn word(&mut self, of: Words<'t>, begin: usize, end: usize) -> usize {
        let Some(word) = of.text.get(begin..end) else { return end };
        if is_identifier(word) {
            self.report(Class::Identifier, of.offset + begin, of.offset + end);
        }
        let literal = literal(of, begin, word);
        if let Some((from, to)) = literal {
            // The sign before it stands outside of the words where another run begins.
            let (from, to) = (of.offset.saturating_add_signed(from), of.offset + to);
            self.report(Class::Literal, from, to);
        }
        literal.map_or(end, |(_, to)| to)
    }
}

/// Text between names.
#[derive(Clone, Copy)]
struct Words<'t> {
    text: &'t str,
    /// Where it begins in the whole text.
    offset: usize,
    /// The character before it.
    before: char,
}

fn last(text: &str) -> Option<char> {
    text.chars().next_back()
}

/// Returns how much of a run is a path: folders and a last part that ends in a word.
fn path_length(run: &str) -> Option<usize> {
    if !run.contains('/') || run.starts_with("//") {
        return None;
    }
    let body = run.strip_prefix('~').unwrap_or(run);
    let end = [body.find("//"), body.find('~')].into_iter().flatten().min().unwrap_or(body.len());
    let body = body.get(..end)?.trim_end_matches(|char| !is_word(char));
    // `~/notes.md` is a file at home: one folder at least makes a path.
    let has_folder = body.trim_start_matches('/').contains('/');
    has_folder.then(|| run.len() - run.strip_prefix('~').unwrap_or(run).len() + body.len())
}

fn has_extension(path: &str) -> bool {
    let Some((_, extension)) = path.rsplit_once('.') else { return false };
    extension.starts_with(|char: char| char.is_ascii_alphabetic())
        && extension.len() <= 10
        && extension.chars().all(is_word)
}

fn is_identifier(word: &str) -> bool {
    let bytes = word.as_bytes();
    let Some(first) = bytes.first() else { return false };
    if bytes.len() < 5 || bytes.len() > 61 || !word.is_ascii() || first.is_ascii_digit() {
        return false;
    }
    let has_lower = bytes.iter().any(u8::is_ascii_lowercase);
    let is_joint = |pair: &[u8]| match *pair {
        [one, two] => one.is_ascii_lowercase() && two.is_ascii_uppercase(),
        _ => false,
    };
    let is_snake = |three: &[u8]| match *three {
        [one, b'_', two] => one.is_ascii_alphabetic() && two.is_ascii_alphanumeric(),
        _ => false,
    };
    if bytes.len() >= 6 && has_lower && (bytes.windows(2).any(is_joint) || bytes.windows(3).any(is_snake)) {
        return true;
    }
    if !has_lower && first.is_ascii_uppercase() {
        let underscore = bytes.iter().position(|byte| *byte == b'_');
        return underscore.is_some_and(|at| bytes.len() - at > 2);
    }
    // `AbCde`: short, but nobody writes so in prose.
    let humps = bytes.iter().skip(1).take_while(|byte| byte.is_ascii_lowercase()).count();
    first.is_ascii_uppercase()
        && humps > 0
        && bytes.get(1 + humps).is_some_and(u8::is_ascii_uppercase)
        && bytes.len() >= humps + 4
}

/// Returns where the literal lies that a word is or begins, within the text of the words.
fn literal(of: Words<'_>, begin: usize, word: &str) -> Option<(isize, usize)> {
    let here = isize::try_from(begin).ok()?;
    let end = begin + word.len();
    let head = of.text.get(..begin)?;
    let before = last(head).unwrap_or(of.before);
    if head.ends_with("--")
        && head.get(..head.len() - 2).is_some_and(|head| !last(head).unwrap_or(of.before).eq(&'-'))
        && !head.get(..head.len() - 2).and_then(last).is_some_and(is_word)
        && let Some(length) = flag_length(of.text.get(begin..)?)
    {
        return Some((here - 2, begin + length));
    }
    let is_hex = (7..=40).contains(&word.len())
        && word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && word.bytes().any(|byte| byte.is_ascii_digit())
        && word.bytes().any(|byte| byte.is_ascii_lowercase());
    if is_hex {
        return Some((here, end));
    }
    if let Some(length) = version_length(of.text.get(begin..)?) {
        return Some((here, begin + length));
    }
    if !word.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if before == '#' && (2..=6).contains(&word.len()) {
        return Some((here - 1, end));
    }
    let after = of.text.get(end..).and_then(|rest| rest.chars().next());
    let is_round = word.ends_with("00") || word.bytes().all(|byte| matches!(byte, b'0' | b'1'));
    let is_year = word.len() == 4 && (word.starts_with("19") || word.starts_with("20"));
    let is_number = (4..=12).contains(&word.len()) && before != '.' && after != Some('.');
    (is_number && !is_round && !is_year).then_some((here, end))
}

/// `long-flag`, without the dashes before it.
fn flag_length(text: &str) -> Option<usize> {
    let is_inside = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let mut length = 0;
    let mut parts = 0;
    let bytes = text.as_bytes();
    loop {
        let part = bytes.get(length..)?.iter().take_while(|byte| is_inside(byte)).count();
        let is_first = parts == 0;
        if part == 0 || is_first && (part < 2 || !bytes.first()?.is_ascii_lowercase()) {
            // A dash at the end belongs to nothing.
            length -= usize::from(!is_first);
            break;
        }
        (length, parts) = (length + part, parts + 1);
        if bytes.get(length) != Some(&b'-') {
            break;
        }
        length += 1;
    }
    (parts > 1).then_some(length)
}

/// `1.2.3`, `v1.2.3-beta.1`.
fn version_length(text: &str) -> Option<usize> {
    let mut at = usize::from(text.starts_with('v'));
    for part in 0..3 {
        let digits = text.get(at..)?.bytes().take_while(u8::is_ascii_digit).count();
        at += digits;
        if digits == 0 || part < 2 && !text.get(at..)?.starts_with('.') {
            return None;
        }
        at += usize::from(part < 2);
    }
    let rest = text.get(at..)?;
    if let Some(suffix) = rest.strip_prefix('-') {
        let length = suffix.find(|char| char != '.' && !is_word(char)).unwrap_or(suffix.len());
        let suffix = suffix.get(..length)?.trim_end_matches('.');
        return Some(at + if suffix.is_empty() { 0 } else { 1 + suffix.len() });
    }
    (!rest.starts_with(is_word)).then_some(at)
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
