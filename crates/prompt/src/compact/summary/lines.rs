//! Texts in lines and sentences, as summaries take them apart.
//!
//! Not which of them are kept.

use std::sync::LazyLock;

use regex::Regex;

/// Shorter lines say nothing by themselves.
const LINE_CHARS_MIN: usize = 4;
/// Longer lines are read in pieces.
const LINE_CHARS_MAX: usize = 400;
/// Characters of a piece of a long line.
const PIECE_CHARS: usize = 240;
/// Characters of a long line that are read: what follows is data.
const LONG_LINE_CHARS_MAX: usize = 20_000;
/// Characters of a command that are kept.
const COMMAND_CHARS_MAX: usize = 100;
/// Shorter commands are typed anew sooner than found.
const COMMAND_CHARS_MIN: usize = 6;
/// Lines of errors of one result.
const ERRORS_MAX: usize = 8;
/// Characters of a line of an error: shorter ones tell nothing, and longer ones are data.
const ERROR_CHARS: std::ops::Range<usize> = 12..300;
/// Characters of an error that are kept.
const ERROR_KEPT_CHARS: usize = 80;
/// Characters of a sentence that is taken.
const SENTENCE_CHARS_MIN: usize = 20;
/// Characters of a sentence that are kept.
const SENTENCE_CHARS_MAX: usize = 300;
/// Sentences of one text.
const SENTENCES_MAX: usize = 256;

/// Lines that report an error.
static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b[Ee]rror\b[:\[( ]|error TS\d|panicked|Traceback|\bFAIL(?:ED)?\b|\bfatal:|not found|[Cc]annot |undefined:|No such file|permission denied|--- FAIL",
    )
});

/// Words of decisions, reasons and results.
static DECISION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:instead|decid|because|should|must|never|always|don't|do not|root cause|turns out|the (?:issue|problem|bug|fix)|fixed|works|workaround|need(?:s)? to|prefer|so that|constraint|important|note that|summary|next|remaining|todo)\b",
    )
});

/// Words of what a user demands or forbids.
static CONSTRAINT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:must|mustn't|never|always|don't|do not|only|should(?:n't)?|make sure|required?|without|at most|at least|no more than|keep|avoid|prefer|instead)\b",
    )
});

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of this file, which a test compiles")
}

/// Calls `visit` with the lines of a text, trimmed and cut in pieces where they are long. `is_listing`: numbers of lines before
/// them are taken away.
pub(super) fn each_line<'t>(text: &'t str, is_listing: bool, visit: &mut dyn FnMut(&'t str)) {
    for line in text.split('\n') {
        let line = if is_listing { without_gutter(line) } else { line }.trim();
        match char_end(line, LINE_CHARS_MAX) {
            Some(_) => each_piece(line, visit),
            None if line.len() >= LINE_CHARS_MIN => visit(line),
            None => {}
        }
    }
}

fn each_piece<'t>(line: &'t str, visit: &mut dyn FnMut(&'t str)) {
    let mut rest = char_end(line, LONG_LINE_CHARS_MAX).and_then(|end| line.get(..end)).unwrap_or(line);
    while !rest.is_empty() {
        let end = match char_end(rest, PIECE_CHARS) {
            None => rest.len(),
            Some(end) => {
                let head = rest.get(..end).unwrap_or(rest);
                head.rfind(char::is_whitespace).filter(|at| *at > 0).unwrap_or(end)
            }
        };
        let (piece, after) = rest.split_at(end);
        if piece.trim().len() >= LINE_CHARS_MIN {
            visit(piece.trim());
        }
        rest = after.trim_start();
    }
}

/// Returns where the first `chars` characters end, where there are more.
pub(super) fn char_end(text: &str, chars: usize) -> Option<usize> {
    if text.len() <= chars {
        return None;
    }
    text.char_indices().nth(chars).map(|(at, _)| at)
}

/// `  12→text`, as tools number lines.
fn without_gutter(line: &str) -> &str {
    let number = line.trim_start();
    let rest = number.trim_start_matches(|char: char| char.is_ascii_digit());
    if rest.len() == number.len() {
        return line;
    }
    let marks = ["→", "\t", ": ", ":", "|"];
    marks.iter().find_map(|mark| rest.strip_prefix(mark)).unwrap_or(line)
}

/// Returns a command as it is known again: its first line, without the folder that it goes to first.
pub(in crate::compact) fn command(line: &str) -> Option<String> {
    let line = line.trim();
    let entered = || {
        let rest = line.strip_prefix("cd ")?;
        let at = rest.find(['&', ';', '\n']).filter(|at| *at > 0)?;
        let rest = rest.get(at..)?;
        let rest = rest.strip_prefix("&&").or_else(|| rest.strip_prefix(';'))?.trim_start_matches(' ');
        (!rest.is_empty()).then_some(rest)
    };
    let first = entered().unwrap_or(line).split('\n').next().unwrap_or_default();
    let whole = collapsed(first);
    let kept = char_end(&whole, COMMAND_CHARS_MAX).and_then(|end| whole.get(..end)).unwrap_or(&whole).trim();
    (kept.len() >= COMMAND_CHARS_MIN).then(|| kept.to_owned())
}

/// Returns the first lines of a result that report an error, cut.
pub(super) fn errors(text: &str) -> Vec<&str> {
    let lines = text.split('\n').map(|line| (line, without_gutter(line).trim()));
    let found = lines.filter(|(whole, line)| {
        whole.len() < 4 * ERROR_CHARS.end
            && line.len() >= ERROR_CHARS.start
            && whole.chars().count() < ERROR_CHARS.end
            && ERROR.is_match(line)
    });
    let cut = |line: &'_ str| char_end(line, ERROR_KEPT_CHARS).unwrap_or(line.len());
    found.take(ERRORS_MAX).map(|(_, line)| line.get(..cut(line)).unwrap_or(line).trim_end()).collect()
}

/// Returns the sentences of a text that may be kept, cut.
pub(super) fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in text.split('\n') {
        let mut rest = line;
        while !rest.is_empty() && found.len() < SENTENCES_MAX {
            let end = sentence_end(rest);
            let (sentence, after) = rest.split_at(end);
            let marks = |char: char| char.is_whitespace() || "-*#>".contains(char);
            let sentence = sentence.trim_matches(marks);
            if char_end(sentence, SENTENCE_CHARS_MIN - 1).is_some() {
                let end = char_end(sentence, SENTENCE_CHARS_MAX).unwrap_or(sentence.len());
                found.extend(sentence.get(..end));
            }
            rest = after;
        }
    }
    found
}

/// Returns where the first sentence ends: behind a stop before a blank.
fn sentence_end(text: &str) -> usize {
    let stops = text.match_indices(['.', '!', '?']).map(|(at, stop)| at + stop.len());
    let blank = |at: usize| text.get(at..).is_some_and(|rest| rest.starts_with(char::is_whitespace));
    stops.into_iter().find(|at| blank(*at)).unwrap_or(text.len())
}

/// Whether a sentence of the assistant tells a decision or a result.
pub(super) fn decides(sentence: &str) -> bool {
    DECISION.is_match(sentence)
}

/// Whether a sentence of a user demands or forbids something.
pub(super) fn constrains(sentence: &str) -> bool {
    CONSTRAINT.is_match(sentence)
}

/// Returns a text with single blanks between its words, and without control characters.
pub(super) fn collapsed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.extend(word.chars().filter(|char| !char.is_control()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_known_again() {
        let rows = [
            ("cd /x/y && cargo  test\nls", Some("cargo test")),
            ("cd x; make all", Some("make all")),
            ("cd x", None),
            ("cd crates/x", Some("cd crates/x")),
            ("ls", None),
        ];
        for (line, wanted) in rows {
            assert_eq!(command(line).as_deref(), wanted, "{line}");
        }
        assert_eq!(command(&"é".repeat(300)).map(|line| line.chars().count()), Some(100));
    }

    #[test]
    fn lines_lose_their_numbers_and_long_ones_come_in_pieces() {
        let long = "word ".repeat(200);
        let text = format!("  12→let x = 1;\n7: match\nab\n{long}\n2024 is not a number of a line");
        let mut found = Vec::new();
        each_line(&text, true, &mut |line| found.push(line));
        assert_eq!(found.first(), Some(&"let x = 1;"));
        assert_eq!(found.get(1), Some(&"match"));
        assert_eq!(found.last(), Some(&"2024 is not a number of a line"));
        assert!(found.iter().all(|line| line.chars().count() <= PIECE_CHARS), "{found:?}");
    }

    #[test]
    fn errors_and_sentences_are_found() {
        assert_eq!(
            errors("fine\nerror: no such thing\n12: --- FAIL: TestOne (0.1s)\nE"),
            ["error: no such thing", "--- FAIL: TestOne (0.1s)"]
        );
        assert_eq!(
            sentences("- One sentence that is long enough. Short. v1.2 of this is long enough!"),
            ["One sentence that is long enough.", "v1.2 of this is long enough!"]
        );
        assert!(decides("We must do it") && constrains("never do it") && !constrains("go on"));
    }
}
