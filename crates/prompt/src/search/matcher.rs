//! Where a text matches: literally, by a regular expression, by a phrase or by the words of a query.

use std::collections::HashMap;
use std::ops::Range;

use regex::{Regex, RegexBuilder};

use super::query::{PHRASE_BYTES_MAX, Phrase, Query};
use super::scripts::{self, Script};
use super::words;

/// What a compiled expression, and the automaton made of it while it runs, may take. `a{1000}{1000}` takes more.
const EXPRESSION_BYTES_MAX: usize = 1 << 20;
/// The same for texts of our own making, which are bounded already: case folding makes them large.
const LITERAL_BYTES_MAX: usize = 16 << 20;
/// How deep an expression may be nested.
const NESTING_MAX: u32 = 64;

/// Why an expression cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegexError {
    /// It is no expression.
    #[error("`{text}` is not a regular expression: {reason}")]
    Bad {
        /// Its first characters.
        text: String,
        /// The parser's words, on one line.
        reason: String,
    },
    /// It takes too much memory.
    #[error("the regular expression `{text}` is too large: compiled it takes more than {bytes_max} bytes")]
    TooLarge {
        /// Its first characters.
        text: String,
        /// The limit.
        bytes_max: usize,
    },
}

/// Finds what matches in a text.
#[derive(Debug, Clone)]
pub struct Matcher {
    expressions: Vec<Regex>,
    /// The terms, each with the word of the query that it is of.
    terms: HashMap<String, String>,
}

impl Matcher {
    /// Matches a text as it is; without capitals it matches them, too.
    pub fn literal(text: &str) -> Self {
        let is_any_case = text.len() <= PHRASE_BYTES_MAX && !text.chars().any(char::is_uppercase);
        Self::of(bounded(&regex::escape(text), is_any_case))
    }

    /// Matches a regular expression; `^` and `$` match at lines.
    ///
    /// # Errors
    /// [`RegexError`] when the text is no expression or a too large one.
    pub fn regex(text: &str) -> Result<Self, RegexError> {
        let shown = || words::first_chars(text, 64).to_owned();
        RegexBuilder::new(text)
            .multi_line(true)
            .size_limit(EXPRESSION_BYTES_MAX)
            .dfa_size_limit(EXPRESSION_BYTES_MAX)
            .nest_limit(NESTING_MAX)
            .build()
            .map(Self::of)
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(bytes_max) => RegexError::TooLarge { text: shown(), bytes_max },
                error => RegexError::Bad { text: shown(), reason: reason(&error) },
            })
    }

    /// Matches a phrase: its words in this order, any case, any white space between them.
    pub fn phrase(phrase: &Phrase) -> Self {
        let words: Vec<String> = phrase.text.split_whitespace().map(regex::escape).collect();
        // Where a script has no blanks, words have no edges.
        let has_edge = |char: char| char.is_alphanumeric() && scripts::script(char) == Script::Words;
        let edge = |char: Option<char>| if char.is_some_and(has_edge) { r"\b" } else { "" };
        let text = phrase.text.trim();
        let (before, after) = (edge(text.chars().next()), edge(text.chars().next_back()));
        Self::of(bounded(&format!("{before}{}{after}", words.join(r"\s+")), true))
    }

    /// Matches the words of a query, its phrases, and its text where that is looked for literally.
    pub fn words(query: &Query) -> Self {
        let phrases = query.phrases.iter().map(Self::phrase);
        let literal = query.literal.as_deref().map(Self::literal);
        Self {
            expressions: phrases.chain(literal).flat_map(|matcher| matcher.expressions).collect(),
            terms: query
                .terms
                .iter()
                .flat_map(|term| [Some(&term.term), term.also.as_ref()].map(|name| (name, &term.typed)))
                .filter_map(|(name, typed)| Some((name?.clone(), typed.clone())))
                .collect(),
        }
    }

    /// Reports the words of the query, as they were typed, whose terms a text has; a word may come more than once.
    pub fn each_word(&self, text: &str, found: &mut dyn FnMut(&str)) {
        words::scan(text, &mut |term, _| {
            if let Some(typed) = self.terms.get(term) {
                found(typed);
            }
        });
    }

    /// Returns whether anything in a text matches.
    pub fn is_match(&self, text: &str) -> bool {
        !self.spans(text, 1).is_empty()
    }

    /// Returns the bytes of a text that match, in order and apart from each other, the first so many.
    ///
    /// Matches of no bytes are left out.
    pub fn spans(&self, text: &str, spans_max: usize) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        for expression in &self.expressions {
            let matches = expression.find_iter(text).map(|found| found.range());
            found.extend(matches.filter(|range| !range.is_empty()).take(spans_max));
        }
        if !self.terms.is_empty() {
            words::scan(text, &mut |term, range| {
                if self.terms.contains_key(term) {
                    found.push(range);
                }
            });
        }
        found.sort_unstable_by_key(|range| (range.start, range.end));
        let mut spans: Vec<Range<usize>> = Vec::new();
        for range in found {
            let is_full = spans.len() == spans_max;
            match spans.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                _ if is_full => break,
                _ => spans.push(range),
            }
        }
        spans
    }

    /// Returns the first match of a phrase, a literal text or an expression. Single words are no such match.
    pub fn first_phrase(&self, text: &str) -> Option<Range<usize>> {
        let found = self.expressions.iter().filter_map(|expression| expression.find(text));
        found.map(|found| found.range()).filter(|range| !range.is_empty()).min_by_key(|range| range.start)
    }

    fn of(expression: Regex) -> Self {
        Self { expressions: vec![expression], terms: HashMap::new() }
    }
}

/// Compiles an expression of our own making.
fn bounded(text: &str, is_any_case: bool) -> Regex {
    RegexBuilder::new(text)
        .case_insensitive(is_any_case)
        .size_limit(LITERAL_BYTES_MAX)
        .build()
        .expect("an escaped text of bounded length is an expression within the limit")
}

/// Returns the last line of a parser's message, which has several with a pointer into the expression.
fn reason(error: &regex::Error) -> String {
    let shown = error.to_string();
    let last = shown.lines().last().unwrap_or_default();
    last.trim().trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::query::{QUERY_BYTES_MAX, QueryInput, parse_query};
    use super::*;

    fn query(text: &str) -> Query {
        parse_query(&QueryInput { text, participants: &[] }).expect("a query")
    }

    #[test]
    fn texts_match() {
        let regex = |text: &str| Matcher::regex(text).expect("an expression");
        for (matcher, text, wanted) in [
            (Matcher::literal("foo::bar"), "use Foo::Bar; foo::bar()", vec!["Foo::Bar", "foo::bar"]),
            (Matcher::literal("E0502"), "error[E0502] e0502", vec!["E0502"]),
            (Matcher::literal("--no-verify"), "git commit --no-verify", vec!["--no-verify"]),
            (regex("(a+)+$"), "aaaa\nab\na", vec!["aaaa", "a"]),
            (regex("x*"), "aaa", vec![]),
            (
                Matcher::words(&query("drop retries")),
                "We dropped Retries, retried",
                vec!["dropped", "Retries", "retried"],
            ),
            (
                Matcher::words(&query("\"drop the retries\"")),
                "Drop  the\nretries now",
                vec!["Drop  the\nretries"],
            ),
            (Matcher::words(&query("words.rs")), "src/words.rs", vec!["words.rs"]),
            (Matcher::words(&query("検索")), "全文検索する", vec!["検索"]),
            (Matcher::words(&query("E0308")), "e.g. the error E0308, -e 0308", vec!["E0308"]),
            (
                Matcher::words(&query("exit code 128")),
                "1e128f9 had exit code 128",
                vec!["exit", "code", "128"],
            ),
            (Matcher::words(&query("--")), "a -- b", vec!["--"]),
        ] {
            let found: Vec<&str> = matcher.spans(text, 9).into_iter().map(|range| &text[range]).collect();
            assert_eq!(found, wanted, "{matcher:?}");
        }
        assert_eq!(Matcher::literal("a").spans("a a a a", 2), [0..1, 2..3]);
    }

    #[test]
    fn hostile_expressions_are_refused() {
        let shown = |text: &str| Matcher::regex(text).map(|_| ()).map_err(|error| error.to_string());
        assert_eq!(shown("("), Err("`(` is not a regular expression: unclosed group".to_owned()));
        assert!(matches!(Matcher::regex("a{1000}{1000}"), Err(RegexError::TooLarge { .. })));
        assert!(matches!(Matcher::regex(&"(".repeat(1_000)), Err(RegexError::Bad { .. })));
        assert!(shown(&format!("{}a{}", "(".repeat(100), ")".repeat(100))).is_err());
    }

    #[test]
    fn the_longest_queries_can_be_matched() {
        for char in ['k', 'ſ', 'a', 'ǆ'] {
            let text = char.to_string().repeat(QUERY_BYTES_MAX / char.len_utf8());
            assert!(Matcher::literal(&text).is_match(&text));
            let text = char.to_string().repeat(PHRASE_BYTES_MAX / char.len_utf8());
            assert!(Matcher::phrase(&Phrase { text: text.clone(), terms: Vec::new() }).is_match(&text));
        }
    }

    proptest! {
        #[test]
        fn spans_are_pieces_of_the_text_in_order(words in "\\PC{1,20}", text in "(\\PC|[a-c ]){0,60}", expression in "[a-c*+|(). ]{0,6}") {
            let mut matchers = vec![Matcher::literal(&words)];
            matchers.extend(Matcher::regex(&expression));
            matchers.extend(parse_query(&QueryInput { text: &words, participants: &[] }).map(|query| Matcher::words(&query)));
            for matcher in matchers {
                let spans = matcher.spans(&text, 4);
                prop_assert!(spans.len() <= 4 && spans.is_sorted_by(|one, two| one.end <= two.start));
                prop_assert!(spans.into_iter().all(|span| text.get(span).is_some_and(|found| !found.is_empty())));
            }
        }
    }
}
