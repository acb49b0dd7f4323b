//! Texts of people and models, taken apart: the sentences that are theirs, without code, quotes, tables and what clients
//! put in between.
//!
//! What a sentence means is decided elsewhere.

/// Bytes of a text that are looked at.
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// How texts of users begin that clients wrote in their place.
const NOT_THEIRS: &[&str] = &[
    "Caveat: The messages below",
    "[Request interrupted",
    "This session is being continued",
    "Base directory for this skill:",
    "# AGENTS.md instructions",
    "Your task is to create a detailed summary",
    "Stop hook feedback",
    "[SUGGESTION MODE",
    "Unknown skill:",
    "Read the output file to retrieve",
];

/// Returns what a user said themselves: without the elements that clients put around it. Empty where nothing is left.
pub(crate) fn theirs(text: &str) -> &str {
    let mut rest = text.trim();
    while let Some(after) = without_element(rest) {
        rest = after.trim_start();
    }
    while let Some(before) = without_last_element(rest) {
        rest = before.trim_end();
    }
    if is_of_client(rest) { "" } else { rest }
}

/// Says whether a client wrote a text in a user's place.
pub(crate) fn is_of_client(text: &str) -> bool {
    NOT_THEIRS.iter().any(|begin| text.starts_with(begin))
}

/// `<name …>…</name>` at the beginning.
fn without_element(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('<')?;
    let end = inner
        .find(|character: char| !character.is_ascii_alphanumeric() && !matches!(character, '-' | '_'))?;
    let name = inner.get(..end).filter(|name| !name.is_empty())?;
    let close = format!("</{name}>");
    let at = text.find(&close)?;
    text.get(at + close.len()..)
}

/// A reminder at the end.
fn without_last_element(text: &str) -> Option<&str> {
    let inner = text.strip_suffix('>')?;
    let at = inner.rfind("</")?;
    let name = inner.get(at + 2..)?;
    let is_name =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    if !is_name {
        return None;
    }
    let open = text.rfind(&format!("<{name}>"))?;
    text.get(..open)
}

/// A line of a text, as far as it is its author's.
pub(super) enum Line<'a> {
    /// A heading.
    Heading(&'a str),
    /// An item of a list, without its mark.
    Item(&'a str),
    /// An item of a checklist: what, and whether it is done.
    Check(&'a str, bool),
    /// Any other.
    Other(&'a str),
}

/// Returns the lines of a text that are no code, no quote and no table.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let end = (0..=TEXT_BYTES_MAX.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let mut is_code = false;
    text.get(..end).unwrap_or_default().lines().filter_map(move |line| {
        let trimmed = line.trim();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            is_code = !is_code;
            return None;
        }
        let is_indented = line.starts_with("    ") || line.starts_with('\t');
        let item = list_item(trimmed);
        if is_code
            || trimmed.is_empty()
            || trimmed.starts_with(['>', '|', '<'])
            || (is_indented && item.is_none())
        {
            return None;
        }
        if let Some(heading) = heading(trimmed) {
            return Some(Line::Heading(heading));
        }
        let Some(item) = item else { return Some(Line::Other(trimmed)) };
        for (mark, done) in [("[ ] ", false), ("[x] ", true), ("[X] ", true)] {
            if let Some(text) = item.strip_prefix(mark) {
                return Some(Line::Check(text.trim(), done));
            }
        }
        Some(Line::Item(item))
    })
}

fn heading(line: &str) -> Option<&str> {
    let hashed = line.trim_start_matches('#');
    if hashed.len() < line.len() {
        return Some(hashed.trim());
    }
    // A line that is bold as a whole, or ends so in a colon, is one too.
    let inner = line.strip_prefix("**")?;
    let inner = inner.strip_suffix("**").or_else(|| inner.strip_suffix("**:"))?;
    (!inner.contains("**")).then_some(inner)
}

fn list_item(line: &str) -> Option<&str> {
    let marked = ["- ", "* ", "+ ", "• "].into_iter().find_map(|mark| line.strip_prefix(mark));
    let numbered = || {
        let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let rest = line.get(digits..).filter(|_| (1..=3).contains(&digits))?;
        rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "))
    };
    marked.or_else(numbered).map(str::trim)
}

/// Splits a line into its sentences.
pub(super) fn sentences(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        if rest.is_empty() {
            return None;
        }
        let mut is_code = false;
        let mut before = ' ';
        for (at, character) in rest.char_indices() {
            if character == '`' {
                is_code = !is_code;
            }
            if !is_code && character == ' ' && matches!(before, '.' | '!' | '?' | ';') {
                let (sentence, after) = rest.split_at(at);
                rest = after;
                return Some(sentence);
            }
            before = character;
        }
        Some(std::mem::take(&mut rest))
    })
}

/// Takes the marks of Markdown out of a sentence; names in code keep their words.
pub(super) fn plain(sentence: &str) -> String {
    let mut out = String::with_capacity(sentence.len());
    let mut characters = sentence.trim().char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '*' | '`' => {}
            // `[words](target)` is its words.
            '[' => {
                let rest = sentence.trim().get(at..).unwrap_or_default();
                let link = rest
                    .split_once("](")
                    .and_then(|(words, target)| Some((words.get(1..)?, target.find(')')?)));
                match link.filter(|(words, _)| !words.contains([']', '\n'])) {
                    Some((words, close)) => {
                        out.push_str(words);
                        let end = at + 1 + words.len() + 2 + close;
                        while characters.next_if(|(next, _)| *next <= end).is_some() {}
                    }
                    None => out.push(character),
                }
            }
            _ => out.push(character),
        }
    }
    out
}
