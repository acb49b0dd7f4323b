//! What a query asks for: words, phrases in quotes, file names, participants.

use std::collections::HashSet;
use std::ops::Range;

use super::{dates, stops, words};

/// The longest query in bytes: longer than any question, shorter than a pasted file.
pub const QUERY_BYTES_MAX: usize = 16 * 1024;
/// How many different terms a query may have; each is a look-up in every segment.
pub const QUERY_TERMS_MAX: usize = 256;
/// How many phrases a query may have; quotes after them are characters.
const PHRASES_MAX: usize = 16;
/// A longer text in quotes is words: every phrase becomes an expression.
pub(super) const PHRASE_BYTES_MAX: usize = 1_024;
/// Digits of a number that says nothing where it is a part of a name; longer ones are numbers of issues and the like.
const SCRAP_DIGITS_MAX: usize = 4;
/// What a term counts that stands in for one that no entry holds.
const MENDED: f64 = 0.7;

/// A query as it was typed, and who takes part in what is searched.
#[derive(Debug, Clone, Copy)]
pub struct QueryInput<'a> {
    /// The text.
    pub text: &'a str,
    /// The names of the authors in the scope.
    pub participants: &'a [String],
}

/// Why a text is no query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// There is only white space.
    #[error("there is nothing to search for")]
    Empty,
    /// The text is longer than [`QUERY_BYTES_MAX`].
    #[error("the query has {bytes} bytes, at most {bytes_max}")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The longest.
        bytes_max: usize,
    },
}

/// One term that is looked for.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryTerm {
    /// The term.
    pub term: String,
    /// The term that it may mean as well: a date's, or the same name in other letters (`github` and `GitHub`).
    pub also: Option<String>,
    /// What one occurrence counts.
    pub weight: f64,
    /// The words as they were typed.
    pub typed: String,
}

/// A text in quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase {
    /// The text between the quotes.
    pub text: String,
    /// Terms that every entry with the phrase holds.
    pub terms: Vec<Needed>,
}

/// A term that an entry has to hold, or the one beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needed {
    /// The term.
    pub term: String,
    /// The term that is as good.
    pub also: Option<String>,
}

/// What a query asks for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Query {
    /// The terms, each once, in the order of the text. Any of them makes a hit.
    pub terms: Vec<QueryTerm>,
    /// Phrases that a hit must have.
    pub phrases: Vec<Phrase>,
    /// The file names among the terms.
    pub files: Vec<String>,
    /// The words of the text that name participants, lower case.
    pub asked: Vec<String>,
    /// The text to look for literally, where no term is left: stop words, operators, emoji.
    pub literal: Option<String>,
    /// Terms were left out because there are too many.
    pub is_cut: bool,
    /// A quote has no counterpart, and is a character.
    pub is_quote_open: bool,
    /// The length of the text as that of an entry: see [`words::Terms::length`].
    pub length: u16,
}

/// Reads a query.
///
/// # Errors
/// [`QueryError`] when the text is empty or too long.
pub fn parse_query(input: &QueryInput<'_>) -> Result<Query, QueryError> {
    let text = input.text.trim();
    if text.is_empty() {
        return Err(QueryError::Empty);
    }
    if text.len() > QUERY_BYTES_MAX {
        return Err(QueryError::TooLong { bytes: text.len(), bytes_max: QUERY_BYTES_MAX });
    }
    let lower: Vec<String> = input.participants.iter().map(|name| name.to_lowercase()).collect();
    let participants = lower.iter().flat_map(|name| name.split_whitespace()).collect();
    let mut query = Query { length: words::entry_terms(text).length, ..Query::default() };
    let (phrases, is_quote_open) = quoted(text);
    query.is_quote_open = is_quote_open;
    for phrase in phrases {
        query.add_phrase(text.get(phrase).unwrap_or_default());
    }
    query.add_words(text, &participants);
    if query.terms.is_empty() && !query.asked.is_empty() {
        // Only names: these are what is looked for.
        query.asked.clear();
        query.add_words(text, &HashSet::new());
    }
    if query.terms.iter().all(|term| is_lone(&term.term)) {
        query.terms.clear();
        query.phrases.clear();
        query.literal = Some(text.to_owned());
    }
    Ok(query)
}

impl Query {
    /// Adds names that stand in for a file name that no entry holds.
    pub fn mend(&mut self, file: &str, names: Vec<String>) {
        for term in names {
            let is_new = self.terms.iter().all(|known| known.term != term);
            if is_new && self.terms.len() < QUERY_TERMS_MAX {
                let typed = file.trim_start_matches('=').to_owned();
                self.terms.push(QueryTerm { term, also: None, weight: MENDED, typed });
            }
        }
    }

    /// Returns the terms that a hit must hold.
    pub fn required(&self) -> impl Iterator<Item = &Needed> {
        self.phrases.iter().flat_map(|phrase| &phrase.terms)
    }

    fn add_phrase(&mut self, text: &str) {
        let (mut stops, mut others, mut has_words) = (Vec::new(), Vec::new(), false);
        // A phrase is found in any case, and so are the names in it.
        let lower = text.to_lowercase();
        let mut name_end = 0;
        words::scan(&lower, &mut |term, range| {
            let typed = lower.get(range.clone()).unwrap_or_default();
            let is_name = term.starts_with('=');
            let is_part = range.end <= name_end;
            if is_name {
                name_end = range.end;
            }
            let is_stop = stops::is_stop(typed);
            has_words |= !is_stop;
            // A name may be longer in the entry than in quotes, and be cut into other parts.
            if !is_name && !is_part && !is_lone(term) {
                let needed = Needed { term: term.to_owned(), also: same_name(typed, (is_name, is_part)) };
                let of_its_kind = if is_stop { &mut stops } else { &mut others };
                if !of_its_kind.contains(&needed) {
                    of_its_kind.push(needed);
                }
            }
        });
        // A phrase of stop words is still something to look for.
        if !has_words {
            for Needed { term, .. } in &stops {
                if self.terms.iter().all(|known| known.term != *term) {
                    let (term, typed) = (term.clone(), term.clone());
                    self.terms.push(QueryTerm { term, also: None, weight: 1.0, typed });
                }
            }
            others = stops;
        }
        self.phrases.push(Phrase { text: text.to_owned(), terms: others });
    }

    fn add_words(&mut self, text: &str, participants: &HashSet<&str>) {
        let mut known: HashSet<String> = self.terms.iter().map(|term| term.term.clone()).collect();
        // Up to where the name goes whose parts come next.
        let mut name_end = 0;
        words::scan(text, &mut |term, range| {
            let typed = text.get(range.clone()).unwrap_or_default();
            let lower = typed.to_lowercase();
            let is_name = term.starts_with('=');
            let is_part = !is_name && range.end <= name_end;
            let also = same_name(&lower, (is_name, is_part));
            if is_name {
                name_end = range.end;
            }
            if !is_name && participants.contains(lower.as_str()) {
                if !self.asked.contains(&lower) {
                    self.asked.push(lower);
                }
                return;
            }
            if is_part && is_scrap(term) {
                return;
            }
            if !is_name && stops::is_stop(&lower) || !known.insert(term.to_owned()) {
                return;
            }
            if self.terms.len() == QUERY_TERMS_MAX {
                self.is_cut = true;
                return;
            }
            if is_name && term.contains('.') {
                self.files.push(term.to_owned());
            }
            self.terms.push(QueryTerm {
                term: term.to_owned(),
                also: dates::date_of(term).or(also),
                weight: 1.0,
                typed: typed.to_owned(),
            });
        });
    }
}

/// Returns the term of the same name in other letters: of a word the name that is written in parts (`github` and `GitHub`), and
/// of such a name the word. A part of a name is no name.
fn same_name(lower: &str, (is_name, is_part): (bool, bool)) -> Option<String> {
    if is_part || !lower.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    if !is_name {
        return Some(format!("={lower}"));
    }
    let mut terms = Vec::new();
    words::scan(lower, &mut |term, _| terms.push(term.to_owned()));
    // `e0308` comes apart again: its parts are not the name.
    if terms.len() == 1 { terms.pop().filter(|term| !term.starts_with('=')) } else { None }
}

/// Returns whether a part of a name says nothing by itself: the `E` and the `0308` of `E0308` are in thousands of entries
/// that have nothing to do with it.
fn is_scrap(part: &str) -> bool {
    let is_number = part.len() <= SCRAP_DIGITS_MAX && part.bytes().all(|byte| byte.is_ascii_digit());
    is_number || part.chars().nth(1).is_none()
}

/// Returns whether a term is one character of a script without blanks: entries hold it in pairs only.
fn is_lone(term: &str) -> bool {
    term.strip_prefix('~').is_some_and(|chars| chars.chars().nth(1).is_none())
}

/// Returns what stands in quotes, and whether a quote has no counterpart: that one is a character.
fn quoted(text: &str) -> (Vec<Range<usize>>, bool) {
    let (mut found, mut is_open) = (Vec::new(), false);
    let mut at = 0;
    while let Some((open, quote)) =
        text.get(at..).and_then(|rest| rest.char_indices().find(|(_, char)| "\"“".contains(*char)))
    {
        let start = at + open + quote.len_utf8();
        let close = if quote == '"' { '"' } else { '”' };
        let Some(length) = text.get(start..).and_then(|rest| rest.find(close)) else {
            at = start;
            is_open = true;
            continue;
        };
        let inside = text.get(start..start + length).unwrap_or_default();
        if inside.chars().any(char::is_alphanumeric)
            && length <= PHRASE_BYTES_MAX
            && found.len() < PHRASES_MAX
        {
            found.push(start..start + length);
        }
        at = start + length + close.len_utf8();
    }
    (found, is_open)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str, participants: &[&str]) -> Result<Query, QueryError> {
        let participants: Vec<String> = participants.iter().map(|name| (*name).to_owned()).collect();
        parse_query(&QueryInput { text, participants: &participants })
    }

    fn terms(query: &Query) -> Vec<&str> {
        query.terms.iter().map(|term| term.term.as_str()).collect()
    }

    #[test]
    fn queries_are_read() {
        for (text, wanted, required) in [
            ("why did we drop retries", vec!["drop", "retri"], vec![]),
            ("where does \"the broker\" redeliver? The Broker", vec!["broker", "redeliv"], vec!["broker"]),
            ("an \"unbalanced quote", vec!["unbalanc", "quot"], vec![]),
            ("fix words.rs", vec!["fix", "word", "rs", "=words.rs"], vec![]),
            ("\"to be\"", vec!["to", "be"], vec!["to", "be"]),
            ("\"to be\" \"to do\"", vec!["to", "be", "do"], vec!["to", "be", "to", "do"]),
            ("\"why does it\"", vec!["whi", "doe", "it"], vec!["whi", "doe", "it"]),
            ("\"the JavaScript\"", vec!["=javascript", "java", "script"], vec!["javascript"]),
            // What a code comes apart into is in thousands of entries; a person's own numbers and letters are looked for.
            ("E0308", vec!["=e0308"], vec![]),
            ("exit code 128", vec!["exit", "code", "128"], vec![]),
            ("E0308 e v2.1", vec!["=e0308", "e", "=v2", "1"], vec![]),
            ("parseJson5 utf8", vec!["=parsejson5", "pars", "json", "=utf8", "utf"], vec![]),
            ("commit 9e1b2c3d4", vec!["commit", "=9e1b2c3d4"], vec![]),
            ("“so war es” Größe", vec!["so", "war", "es", "gross"], vec!["so", "war", "es"]),
        ] {
            let query = parse(text, &[]).expect("a query");
            assert_eq!(terms(&query), wanted, "{text}");
            let needed: Vec<&str> = query.required().map(|needed| needed.term.as_str()).collect();
            assert_eq!(needed, required, "{text}");
            assert_eq!(query.literal, None, "{text}");
            assert_eq!(query.is_quote_open, text.contains("unbalanced"), "{text}");
        }
    }

    #[test]
    fn a_name_that_comes_apart_in_small_letters_is_no_other_name() {
        for (text, wanted) in
            [("E0308", None), ("HTTPServer2", None), ("1f2e3d4c", None), ("GitHub", Some("github"))]
        {
            let query = parse(text, &[]).expect("a query");
            assert_eq!(query.terms.first().and_then(|term| term.also.as_deref()), wanted, "{text}");
        }
    }

    #[test]
    fn what_has_no_terms_is_looked_for_literally() {
        for text in ["why is it", "-- && ||", "🦀🦀", "字", "\"\"", "\"字\""] {
            let query = parse(text, &[]).expect("a query");
            assert_eq!(
                (query.literal.as_deref(), query.terms.len(), query.phrases.len()),
                (Some(text), 0, 0)
            );
        }
        assert_eq!(parse(" \n", &[]), Err(QueryError::Empty));
        let long = "x".repeat(1 << 20);
        assert_eq!(
            parse(&long, &[]),
            Err(QueryError::TooLong { bytes: 1 << 20, bytes_max: QUERY_BYTES_MAX })
        );
    }

    #[test]
    fn participants_are_asked_for_not_looked_for() {
        let query = parse("When did Ann buy it, Ann?", &["Ann Lee", "Bob"]).expect("a query");
        assert_eq!((terms(&query), &query.asked), (vec!["buy"], &vec!["ann".to_owned()]));
        let query = parse("Ann", &["Ann Lee"]).expect("a query");
        assert_eq!((terms(&query), query.asked.len()), (vec!["ann"], 0));
    }

    #[test]
    fn dates_and_mended_names_are_terms() {
        let mut query = parse("What happened in July 2023", &[]).expect("a query");
        let also = query.terms.iter().filter_map(|term| term.also.as_deref());
        let dates: Vec<_> = also.filter(|also| also.starts_with('@')).collect();
        assert_eq!(dates, ["@juli", "@2023"]);
        query.mend("=wrods.rs", vec!["=words.rs".to_owned(), "happen".to_owned()]);
        assert_eq!(query.terms.iter().filter(|term| term.weight < 1.0).count(), 1);
    }

    proptest! {
        #[test]
        fn any_text_is_a_query_with_terms_or_a_literal(text in "(\\PC|[\"“” a-z]){0,60}") {
            if let Ok(query) = parse(&text, &[]) {
                prop_assert_eq!(query.terms.is_empty(), query.literal.is_some());
                prop_assert!(query.phrases.iter().all(|phrase| text.contains(&phrase.text)));
            } else {
                prop_assert!(text.trim().is_empty());
            }
        }

        #[test]
        fn queries_are_bounded(words in proptest::collection::vec("[a-z]{5,9}", 300..400)) {
            let query = parse(&words.join(" "), &[]).expect("a query");
            prop_assert!(query.terms.len() <= QUERY_TERMS_MAX);
        }
    }
}
