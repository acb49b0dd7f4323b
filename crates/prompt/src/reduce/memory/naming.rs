//! What a sentence names: whether it can be understood by itself, and what it says is no longer chosen.
//!
//! Whether it decides anything is decided in `phrases` and `wishes`.

/// What is no thing to be chosen without what was said before it.
pub(super) const POINTING: &[&str] = &[
    "that",
    "this",
    "it",
    "them",
    "those",
    "these",
    "a",
    "b",
    "c",
    "d",
    "1",
    "2",
    "3",
    "4",
    "option",
    "your",
    "the first",
    "the second",
    "both",
    "going",
    "looking",
];

/// Words that carry a wish and name nothing of it.
#[rustfmt::skip]
const BARE_WORDS: &[&str] = &[
    "use", "keep", "make", "put", "leave", "go", "let", "let's", "lets", "take", "do", "don't", "want", "need", "needs",
    "prefer", "like", "think", "stay", "stays", "remain", "please", "ever", "never", "always", "instead", "rather", "okay",
    "ok", "yes", "yeah", "fine", "good", "right", "actually", "first", "second", "option", "options", "approach", "really",
    "i'd", "i'll", "i'm", "we'll", "we're", "bit", "lot", "maybe", "sure", "well", "as-is", "decided", "skip", "drop",
];
/// Says whether a sentence, in lower case, can be understood without what was said before it: it has so many words of its
/// own, and does not end by pointing at something.
pub(super) fn is_clear(lower: &str, own_words_min: usize) -> bool {
    let word = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let is_own = |word: &String| {
        word.chars().any(char::is_alphabetic)
            && word.chars().nth(1).is_some()
            && !BARE_WORDS.contains(&word.as_str())
            && !is_function_word(word)
    };
    let own: std::collections::BTreeSet<String> = lower.split_whitespace().map(word).filter(is_own).collect();
    let clauses = lower.split([',', '.', '!', ';', '(']).map(str::trim);
    let points = |clause: &str| {
        let ends =
            [" that", " this", " it", " them", " those", " these", " as is", " as it is", " as they are"];
        clause.contains("should") && ends.iter().any(|end| clause.ends_with(end))
    };
    let ends = lower.trim_end_matches(|c: char| !c.is_alphanumeric());
    let points_last = [" that", " this", " it", " as is", " as it is"].iter().any(|end| ends.ends_with(end));
    own.len() >= own_words_min && !points_last && !clauses.into_iter().any(points)
}

/// Returns what a sentence says is no longer chosen: «… instead of Y», «switch from Y to …».
pub(super) fn replaced(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let after = [
        "instead of ",
        "rather than ",
        "no longer use ",
        "switch from ",
        "switching from ",
        "don't use ",
        "stop using ",
    ]
    .into_iter()
    .find_map(|words| lower.split_once(words).map(|(_, after)| after.to_owned()))?;
    let end = after
        .find(" to ")
        .into_iter()
        .chain(after.find([',', '.', ';', '(', '—']))
        .min()
        .unwrap_or(after.len());
    let words = after.get(..end)?.split_whitespace().take(5).skip_while(|word| is_article(word));
    let words: Vec<&str> = words.collect();
    // «instead of that» names nothing: only what was said before tells what it is.
    let is_name = words.first().is_some_and(|first| !is_function_word(first));
    let name = words.join(" ");
    (is_name && name.chars().count() >= 3).then_some(name)
}

fn is_article(word: &str) -> bool {
    matches!(word, "the" | "a" | "an" | "our" | "your" | "my" | "its" | "their" | "any" | "both" | "all")
}

/// Words that stand for others, or between them, and name nothing by themselves.
#[rustfmt::skip]
const FUNCTION_WORDS: &[&str] = &[
    "that", "this", "it", "them", "those", "these", "they", "he", "she", "we", "you", "i", "me", "us", "him", "her",
    "the", "a", "an", "our", "your", "my", "its", "their", "any", "both", "all", "some", "each", "every", "one", "ones",
    "of", "in", "on", "at", "by", "for", "from", "with", "to", "into", "onto", "as", "about", "over", "under", "after",
    "before", "and", "or", "but", "not", "no", "so", "if", "then", "than", "when", "while", "where", "what", "which",
    "who", "how", "why", "there", "here", "just", "only", "also", "too", "very", "more", "most", "less", "same", "such",
    "other", "another", "either", "neither", "something", "anything", "nothing", "everything", "thing", "things", "is",
    "are", "was", "were", "be", "been", "being", "am", "do", "does", "did", "have", "has", "had", "will", "would", "can",
    "could", "should", "shall", "may", "might", "must", "it's", "that's", "now", "again", "still", "yet", "way", "stuff",
];

pub(super) fn is_function_word(word: &str) -> bool {
    FUNCTION_WORDS.contains(&word.trim_matches(|character: char| !character.is_alphanumeric()))
}

/// Says whether an earlier decision, in lower case, chose what a later one replaces.
pub(super) fn chose(lower: &str, name: &str) -> bool {
    // What it gave up itself it did not choose.
    let chosen = lower.split(" instead of ").next().unwrap_or_default();
    let chosen = chosen.split(" rather than ").next().unwrap_or_default();
    chosen.match_indices(name).any(|(at, _)| {
        let is_edge =
            |character: Option<char>| character.is_none_or(|character| !character.is_alphanumeric());
        is_edge(chosen.get(..at).and_then(|before| before.chars().next_back()))
            && is_edge(chosen.get(at + name.len()..).and_then(|after| after.chars().next()))
    })
}
