//! What is shown of a hit: the line that matches best, with one before and one after.

mod plain;

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use plain::plain;

/// Characters of the line that matches.
const LINE_CHARS_MAX: usize = 240;
/// Characters of the lines around it.
const BESIDE_CHARS_MAX: usize = 160;
/// Stands for what was cut off.
const CUT: char = '…';

/// A snippet, and the bytes of it that match.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Snippet {
    pub(crate) text: String,
    pub(crate) matches: Vec<Range<usize>>,
}

/// What a search found in a text: the bytes that match, in order, and the first phrase.
pub(crate) type FoundIn = (Vec<Range<usize>>, Option<Range<usize>>);

/// What a snippet is cut for.
pub(crate) struct Sought<'f> {
    /// Finds what matches in a text.
    pub(crate) find: &'f dyn Fn(&str) -> FoundIn,
    /// Returns what a match is worth by the words in it: a bit for each word of the query, the rarest the highest.
    pub(crate) rarity: &'f dyn Fn(&str) -> u64,
}

/// Cuts the snippet of a text. Codes that colour a terminal are left out, unless they are what matches.
pub(crate) fn plain_snippet(text: &str, sought: &Sought<'_>) -> Snippet {
    let Sought { find, rarity } = *sought;
    let found = find(text);
    let is_found = |(spans, phrase): &FoundIn| !spans.is_empty() || phrase.is_some();
    if let Cow::Owned(plain) = plain(text) {
        let in_plain = find(&plain);
        if is_found(&in_plain) || !is_found(&found) {
            return snippet(&plain, &in_plain, rarity);
        }
    }
    snippet(text, &found, rarity)
}

/// Cuts the snippet of a text of which these bytes match, in order: the line where the phrase begins, else the one that matches
/// best.
fn snippet(text: &str, (spans, phrase): &FoundIn, rarity: &dyn Fn(&str) -> u64) -> Snippet {
    let phrase = phrase.as_ref();
    // A phrase may stand behind what words are marked in.
    let mut spans = spans.clone();
    if let Some(phrase) = phrase
        && spans.iter().all(|span| span.end <= phrase.start || phrase.end <= span.start)
    {
        spans.push(phrase.clone());
        spans.sort_unstable_by_key(|span| span.start);
    }
    let lines = lines_of(text);
    let said: Vec<&Range<usize>> = lines.iter().filter(|line| !of(text, line).trim().is_empty()).collect();
    let within = |line: &Range<usize>| -> Vec<Range<usize>> {
        let first = spans.partition_point(|span| span.end <= line.start);
        let here = spans.iter().skip(first).take_while(|span| span.start < line.end);
        here.map(|span| span.start.max(line.start)..span.end.min(line.end)).collect()
    };
    // The phrase, then the rarest words, then most different forms of them, then the longest, then most matches; of equal lines
    // the first. A line at the beginning that has only the query's common words says little about why the entry was found.
    let worth = |line: &Range<usize>| {
        let spans = within(line);
        let has_phrase = phrase.is_some_and(|phrase| (line.start..=line.end).contains(&phrase.start));
        let words: HashSet<String> = spans.iter().map(|span| of(text, span).to_lowercase()).collect();
        let longest = spans.iter().map(|span| span.end - span.start).max().unwrap_or(0);
        let rarest = spans.iter().fold(0, |bits, span| bits | rarity(of(text, span)));
        (has_phrase, rarest, words.len(), longest, spans.len())
    };
    let mut best = (0, (false, 0, 0, 0, 0));
    for (at, line) in said.iter().enumerate() {
        let worth = worth(line);
        if worth > best.1 {
            best = (at, worth);
        }
    }
    let mut shown = Snippet::default();
    for at in best.0.saturating_sub(1)..(best.0 + 2).min(said.len()) {
        let Some(line) = said.get(at) else { break };
        if !shown.text.is_empty() {
            shown.text.push('\n');
        }
        let chars_max = if at == best.0 { LINE_CHARS_MAX } else { BESIDE_CHARS_MAX };
        add(&mut shown, text, line, (&within(line), chars_max));
    }
    shown
}

/// Adds a line, cut to so many characters around its first match.
fn add(shown: &mut Snippet, text: &str, line: &Range<usize>, (spans, chars_max): (&[Range<usize>], usize)) {
    let trimmed = of(text, line).trim_end();
    let start = line.start + (trimmed.len() - trimmed.trim_start().len());
    let end = line.start + trimmed.len();
    let focus = spans.first().map_or(start, |span| span.start.max(start));
    // A third of the room before the match, the rest from there on; what stays unused goes to the other side.
    let before = of(text, &(start..focus)).chars().rev().map(char::len_utf8);
    let after: Vec<usize> = of(text, &(focus..end)).chars().map(char::len_utf8).collect();
    let room = (chars_max / 3).max(chars_max.saturating_sub(after.len()));
    let before: Vec<usize> = before.take(room).collect();
    let from = focus - before.iter().sum::<usize>();
    let to = focus + after.iter().take(chars_max - before.len()).sum::<usize>();
    if from > start {
        shown.text.push(CUT);
    }
    let base = shown.text.len();
    shown.text.push_str(of(text, &(from..to)));
    if to < end {
        shown.text.push(CUT);
    }
    let clipped = spans.iter().map(|span| span.start.max(from)..span.end.min(to));
    shown.matches.extend(
        clipped
            .filter(|span| span.start < span.end)
            .map(|span| base + span.start - from..base + span.end - from),
    );
}

fn of<'t>(text: &'t str, range: &Range<usize>) -> &'t str {
    text.get(range.clone()).unwrap_or_default()
}

/// Returns the bytes of the lines, without their ends.
fn lines_of(text: &str) -> Vec<Range<usize>> {
    let mut start = 0;
    let mut lines = Vec::new();
    for line in text.split('\n') {
        lines.push(start..start + line.len());
        start += line.len() + 1;
    }
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spans(text: &str, word: &str) -> Vec<Range<usize>> {
        text.match_indices(word).map(|(at, found)| at..at + found.len()).collect()
    }

    #[test]
    fn the_best_line_stands_between_its_neighbours() {
        let text = "one\n\n  drop it\nwe drop the retries, drop\n\nlast\nmore";
        let mut found: Vec<Range<usize>> = [spans(text, "drop"), spans(text, "retries")].concat();
        found.sort_by_key(|span| span.start);
        let shown = snippet(text, &(found, None), &|_| 0);
        assert_eq!(shown.text, "drop it\nwe drop the retries, drop\nlast");
        let matched: Vec<&str> = shown.matches.iter().map(|span| &shown.text[span.clone()]).collect();
        assert_eq!(matched, ["drop", "drop", "retries", "drop"]);
        assert_eq!(snippet("first\nsecond\nthird", &FoundIn::default(), &|_| 0).text, "first\nsecond");
        assert_eq!(snippet(" \n", &FoundIn::default(), &|_| 0), Snippet::default());
    }

    #[test]
    fn a_phrase_shows_its_own_line_and_not_one_with_more_of_its_words() {
        let text = "drop, drop it, or retries\nand\nor\nwe drop the retries\nlast";
        let found = spans(text, "drop the retries");
        let mut words = [spans(text, "drop"), spans(text, "retries"), spans(text, "or")].concat();
        words.retain(|span| span.end <= found[0].start);
        words.sort_by_key(|span| span.start);
        let shown = snippet(text, &(words, Some(found[0].clone())), &|_| 0);
        assert_eq!(shown.text, "or\nwe drop the retries\nlast");
        assert_eq!(&shown.text[shown.matches.last().unwrap().clone()], "drop the retries");
    }

    #[test]
    fn the_rarest_word_chooses_the_line() {
        let text = "the build of all parts\nbuild, build part, parts built\nthe linter of it\nlast";
        let mut found = [spans(text, "build"), spans(text, "part"), spans(text, "linter")].concat();
        found.sort_by_key(|span| span.start);
        let rarity = |word: &str| {
            ["part", "build", "linter"].iter().position(|rare| *rare == word).map_or(0, |at| 1 << at)
        };
        let shown = snippet(text, &(found.clone(), None), &rarity);
        assert_eq!(shown.text, "build, build part, parts built\nthe linter of it\nlast");
        let shown = snippet(text, &(found, None), &|_| 0);
        assert_eq!(shown.text, "the build of all parts\nbuild, build part, parts built\nthe linter of it");
    }

    #[test]
    fn a_long_line_is_cut_around_its_match() {
        let text = format!("{}match{}", "ä".repeat(1_000), "z".repeat(1_000));
        let shown = snippet(&text, &(spans(&text, "match"), None), &|_| 0);
        assert_eq!(shown.text.chars().count(), LINE_CHARS_MAX + 2);
        assert_eq!(&shown.text[shown.matches[0].clone()], "match");
    }

    proptest! {
        #[test]
        fn matches_are_pieces_of_the_snippet(text in "([a-c \n]|\\PC){0,400}", word in "[a-c]{1,2}") {
            let found = spans(&text, &word);
            let shown = snippet(&text, &(found.clone(), None), &|_| 0);
            prop_assert_eq!(shown.matches.is_empty(), found.is_empty());
            for span in &shown.matches {
                let piece = shown.text.get(span.clone()).expect("a piece");
                prop_assert!(!piece.is_empty() && word.contains(piece));
            }
            prop_assert!(shown.text.chars().count() <= LINE_CHARS_MAX + 2 * BESIDE_CHARS_MAX + 8);
        }
    }
}
