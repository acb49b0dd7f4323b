//! Foreign text in a text for a model: whatever anybody wrote, it begins no section, closes no frame and hides nothing.
//! Not a filter of what it says.

use std::fmt::Write as _;

/// Characters that begin a heading of Markdown, and those that look like one.
pub const NUMBER_SIGNS: [char; 3] = ['#', '＃', '﹟'];

/// Characters of a [`label`].
const LABEL_CHARS_MAX: usize = 200;

/// Words before a colon that begin what somebody says, or data.
const SPEAKERS: [&str; 10] =
    ["human", "user", "person", "system", "developer", "assistant", "agent", "ai", "tool", "data"];

/// Characters of a speaker with the marks behind it.
const SPEAKER_CHARS_MAX: usize = 64;

/// Returns a text as a quote: each line begins with `> `, lines without words and hidden characters are left out. Empty where
/// nothing of it can be shown.
pub fn quoted(text: &str) -> String {
    let mut quote = String::new();
    for line in visible_lines(text).filter(|line| !line.trim().is_empty()) {
        let _infallible = writeln!(quote, "> {}", line.trim_end());
    }
    quote
}

/// Returns a text that reads the same without quotation marks, without hidden characters; a quote of it where one of its lines
/// could be taken for a heading, a fence, a tag, a rule or a mark of ours. Has no line break at its end.
///
/// Plain words stay as they are: quoting all would cost two characters a line and change prompts that say nothing else.
pub fn contained(text: &str) -> String {
    // Nearly all texts: a prompt has hundreds.
    if is_plain(text) && !text.split('\n').any(begins_something) {
        return text.trim_end_matches('\n').to_owned();
    }
    let lines: Vec<String> = visible_lines(text).collect();
    let text = if lines.iter().any(|line| begins_something(line)) { quoted(text) } else { lines.join("\n") };
    text.trim_end_matches('\n').to_owned()
}

/// Returns a text on one line: single blanks between its words, and no hidden characters.
pub fn one_line(text: &str) -> String {
    if is_plain(text) && !text.contains(['\n', '\t']) && !text.contains("  ") {
        return text.trim().to_owned();
    }
    let words = text.split(|char: char| char.is_whitespace() || is_line_break(char)).map(visible);
    words.filter(|word| !word.is_empty()).collect::<Vec<String>>().join(" ")
}

/// Returns a text on one line as [`one_line`] does, at most so many characters: one that was cut ends in `…`.
pub fn one_line_within(text: &str, chars_max: usize) -> String {
    let line = one_line(text);
    if line.chars().nth(chars_max).is_none() {
        return line;
    }
    let cut: String = line.chars().take(chars_max.saturating_sub(1)).collect();
    format!("{}…", cut.trim_end())
}

/// Returns a name for a heading in brackets: on one line, cut, and without brackets, so that it cannot end that heading.
pub fn label(name: &str) -> String {
    let name = one_line_within(name, LABEL_CHARS_MAX);
    if !name.contains(['[', '［', ']', '］']) {
        return name;
    }
    name.replace(['[', '［'], "(").replace([']', '］'], ")")
}

/// Splits a text at everything that some reader takes for a line break, and leaves hidden characters out.
pub fn visible_lines(text: &str) -> impl Iterator<Item = String> {
    // Two characters and one line break.
    let text = text.replace("\r\n", "\n");
    text.split(is_line_break).map(visible).collect::<Vec<String>>().into_iter()
}

/// Whether a text has only characters that everybody sees, and line feeds between its lines.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n'))
}

/// Returns a line without characters that nobody sees.
pub fn visible(line: &str) -> String {
    line.chars().filter(|char| !is_hidden(*char)).collect()
}

/// Whether a character begins a line somewhere; `str::lines` knows of one alone.
pub const fn is_line_break(char: char) -> bool {
    matches!(char, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Whether nobody sees a character that a model reads: controls, zero-width ones, those that turn a text round, variation
/// selectors, tags.
pub const fn is_hidden(char: char) -> bool {
    matches!(char, '\0'..='\u{8}' | '\n'..='\u{1f}' | '\u{7f}'..='\u{9f}')
        || matches!(
            char,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        )
        || matches!(char, '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(char, '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}')
        || matches!(char, '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}')
        || matches!(char, '\u{e0000}'..='\u{e0fff}')
}

/// Whether a line could be taken for more than words: a heading or what underlines one, a fence, a tag, a rule, a quote, a speaker,
/// `[time] speaker:`, `@7` or `Data:`.
pub fn begins_something(line: &str) -> bool {
    let line = line.trim();
    let is_all = |of: &str| line.chars().all(|char| of.contains(char) || char.is_whitespace());
    if line.is_empty() {
        return false;
    }
    let is_tag = line.strip_prefix(['<', '＜']).is_some_and(|rest| {
        let rest = rest.trim_start_matches(|char: char| char.is_whitespace() || "<＜".contains(char));
        rest.starts_with(|char: char| char.is_alphabetic() || "/|!?".contains(char))
    });
    begins_section(line)
        || is_tag
        || line.starts_with(['[', '［', '>'])
        || line.starts_with("```")
        || line.starts_with("~~~")
        || names_speaker(line)
        || line.strip_prefix(['@', '＠']).is_some_and(|rest| rest.starts_with(char::is_numeric))
        || is_all("=")
        || is_all("-")
        || line.len() > 1 && (is_all("_") || is_all("*"))
}

/// Whether a line begins with `Human:` or another that speaks, also in bold type.
fn names_speaker(line: &str) -> bool {
    let is_mark = |char: char| char.is_whitespace() || "*_`".contains(char);
    let line = line.trim_start_matches(is_mark);
    let mut begin = line.char_indices().take(SPEAKER_CHARS_MAX);
    let colon = begin.find(|(_, char)| matches!(char, ':' | '：'));
    colon.and_then(|(end, _)| line.get(..end)).is_some_and(|head| {
        let head = head.trim_matches(is_mark);
        SPEAKERS.iter().any(|speaker| head.eq_ignore_ascii_case(speaker))
    })
}

/// Whether a line has the form of a heading. `#7` has not.
pub fn begins_section(line: &str) -> bool {
    let line = line.trim_start();
    let rest = line.trim_start_matches(NUMBER_SIGNS);
    match line.chars().take_while(|char| NUMBER_SIGNS.contains(char)).count() {
        0 => false,
        1 => !rest.starts_with(|char: char| char.is_alphanumeric()),
        _ => true,
    }
}

#[cfg(test)]
#[path = "quote_tests.rs"]
mod tests;
