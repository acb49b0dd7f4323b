//! The title of a session on one line: what a person asked, without what clients, terminals and Markdown put around it.
//!
//! A pure function of the text that was stored, so that better rules need no new import.

mod link;

use crate::reduce::memory::is_of_client;

/// Characters of a title at most: no listing shows more.
const CHARS_MAX: usize = 200;

/// What a session is called that has no title.
pub const NO_PROMPT: &str = "(no prompt)";

/// Elements that clients write into prompts, beside those whose names are two words: people write HTML with one.
const CLIENT_ELEMENTS: &[&str] = &["instructions", "cwd", "shell", "skill", "attachment"];

/// Returns a session's title on one line, [`NO_PROMPT`] where nothing is left of it.
pub fn title(stored: Option<&str>) -> String {
    let clean = clean(stored.unwrap_or_default());
    if clean.is_empty() { NO_PROMPT.to_owned() } else { clean }
}

/// Returns a text as a title: on one line, without control characters, escape sequences, elements of clients and marks of
/// Markdown, each address once and short. Empty where nothing is left.
pub fn clean(text: &str) -> String {
    let text = without_escapes(text);
    let asked = command(&text).unwrap_or_else(|| without_elements(&text));
    let asked = asked.trim();
    if is_of_client(asked) {
        return String::new();
    }
    let mut line = String::new();
    let mut chars = 0;
    // A stored title of this length was cut when it was captured.
    let mut is_cut = text.chars().count() == CHARS_MAX;
    for word in link::without_links(asked).split_whitespace() {
        let word = without_marks(word, line.is_empty());
        let room = CHARS_MAX.saturating_sub(chars + usize::from(chars > 0));
        if word.is_empty() {
            continue;
        }
        if room == 0 {
            is_cut = true;
            break;
        }
        line.extend((chars > 0).then_some(' '));
        line.extend(word.chars().take(room));
        is_cut |= word.chars().count() > room;
        chars = line.chars().count();
    }
    if is_cut && !line.is_empty() {
        if chars == CHARS_MAX {
            line.pop();
        }
        line.truncate(line.trim_end().len());
        line.push('…');
    }
    line
}

/// Takes the sequences that a terminal obeys out of a text, also those that lost their first character or their last one when
/// the text was cut; any other control character becomes a space.
fn without_escapes(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let (is_escape, after) = match rest.strip_prefix('\u{1b}') {
            Some(after) => (true, after),
            None => (false, rest),
        };
        if let Some(end) = sequence_end(after, is_escape) {
            rest = after.get(end..).unwrap_or_default();
            continue;
        }
        rest = rest.get(character.len_utf8()..).unwrap_or_default();
        // Marks of direction and of no width change what stands beside them.
        let is_hidden = matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
        if !is_hidden {
            shown.push(if character.is_control() { ' ' } else { character });
        }
    }
    shown
}

/// Returns where a sequence ends that sets colours: `[` and numbers up to a letter, which is `m` where the escape character is
/// missing; or up to the end of the text.
fn sequence_end(text: &str, is_escape: bool) -> Option<usize> {
    let numbers = text.strip_prefix('[')?;
    let length =
        numbers.find(|c: char| !c.is_ascii_digit() && !matches!(c, ';' | '?')).unwrap_or(numbers.len());
    match numbers.get(length..).and_then(|rest| rest.chars().next()) {
        Some('m') if length > 0 || is_escape => Some(length + 2),
        Some(letter) if is_escape && letter.is_ascii_alphabetic() => Some(length + 2),
        None if is_escape || length > 0 => Some(length + 1),
        _ => None,
    }
}

/// Returns the command that a client was given, as a person types it: `/review 12`, `!ls`.
fn command(text: &str) -> Option<String> {
    let inside = |name: &str| {
        let after = text.split_once(&format!("<{name}>"))?.1;
        let whole = after.split_once(&format!("</{name}>")).map(|(inside, _)| inside);
        // A stored title may be cut anywhere.
        Some(
            whole
                .unwrap_or_else(|| after.split_once('<').map_or(after, |(inside, _)| inside))
                .trim()
                .to_owned(),
        )
    };
    let filled = |name| inside(name).filter(|text| !text.is_empty());
    let name = filled("command-name").or_else(|| filled("command-message").map(|name| format!("/{name}")));
    let Some(name) = name else {
        return filled("bash-input").map(|command| without_elements(&format!("!{command}")));
    };
    let arguments = filled("command-args").unwrap_or_default();
    Some(without_elements(&format!("{name} {arguments}")))
}

/// Takes the elements of clients out of a text. One that is cut takes the rest with it.
fn without_elements(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        let closing = after.strip_prefix('/');
        let inner = closing.unwrap_or(after);
        let length = inner
            .find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_'))
            .unwrap_or(inner.len());
        let name = inner.get(..length).unwrap_or_default();
        shown.push_str(before);
        if !is_client_element(name) {
            shown.push('<');
            rest = after;
            continue;
        }
        shown.push(' ');
        let end =
            if closing.is_some() { inner.split_once('>') } else { inner.split_once(&format!("</{name}>")) };
        rest = end.map_or("", |(_, after)| after);
    }
    shown + rest
}

/// Says whether an element of this name is a client's: its name is two words, or one that clients are known to use.
fn is_client_element(name: &str) -> bool {
    let is_two_words = name.contains(['-', '_']) && name.starts_with(|c: char| c.is_ascii_alphabetic());
    is_two_words || CLIENT_ELEMENTS.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Takes the marks of Markdown off a word: emphasis and code, and, of the first word, a heading's, a list's and a quote's.
fn without_marks(word: &str, is_first: bool) -> String {
    let marks: &[char] = if is_first { &['*', '`', '#', '>', '-', '+', '•'] } else { &['*', '`'] };
    let is_rule =
        word.chars().count() > 1 && word.chars().all(|c| matches!(c, '#' | '-' | '=' | '*' | '`' | '~'));
    let is_list = is_first && matches!(word, "-" | "+" | "*" | ">" | "•" | "#");
    if is_rule || is_list {
        return String::new();
    }
    // `--flag` at the beginning of a prompt is a word of its own.
    let is_flag = word.starts_with('-') && word.len() > 1;
    let start = if is_flag { word } else { word.trim_start_matches(marks) };
    // `main.rs`: is a name and a colon.
    let core = start.trim_end_matches([':', ',', '.', ';', '!', '?', ')']);
    let behind = start.get(core.len()..).unwrap_or_default();
    format!("{}{behind}", core.trim_end_matches(['*', '`']))
}

#[cfg(test)]
#[path = "title_tests.rs"]
mod tests;
