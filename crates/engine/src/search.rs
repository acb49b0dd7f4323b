//! Search over everything that was said: what is asked becomes a ranking, and what was found is read from the store.
//!
//! How texts become terms and terms become scores is `stemmata_prompt`'s to know.

mod filter;
mod groups;
mod hits;
mod key;
mod overlay;
mod prepared;
mod scan;
mod snippet;
mod text;

use std::convert::Infallible;
use std::ops::ControlFlow;

use stemmata_prompt::search::{
    Matcher, MemorySegment, Query, QueryError, QueryInput, RegexError, Scope, Scored, Search, Statistics,
    Wanted, Weights, parse_query, search,
};

pub use filter::SearchFilter;
pub use hits::{HitPlace, SearchHit, SearchReason};

use crate::engine::Engine;
use crate::error::Result;
use filter::Scoped;
use hits::{HitReader, Ranked};
use scan::{ScanBounds, ScanEnd};

/// Candidates that are read where a text decides: phrases and files.
const CHECKED_MAX: usize = 500;
/// Hits that are ranked more than are wanted: some may be gone from the store.
const SPARE_HITS: usize = 16;

/// How the text of a query is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchForm {
    /// Words, any of them; quotes mean a phrase.
    Words,
    /// Exactly this text.
    Literal,
    /// A regular expression.
    Regex,
}

/// What to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchQuery {
    /// The text.
    pub text: String,
    /// How it is meant.
    pub form: SearchForm,
    /// Where to look.
    pub filter: SearchFilter,
    /// Hits at most.
    pub hits_max: usize,
}

/// What a search is counted in while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepUnit {
    /// Bytes of transcripts that were looked through.
    Bytes,
    /// Commits that were put into the index.
    Commits,
}

/// Hears how far a search is: done, and of how many where that is known. Ends it by breaking.
pub type SearchStep<'a> = dyn FnMut(StepUnit, u64, Option<u64>) -> ControlFlow<()> + 'a;

/// Why a search cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// There is no text.
    #[error("there is nothing to search for")]
    Empty,
    /// The text is too long.
    #[error("the query has {bytes} bytes, at most {bytes_max}")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The longest.
        bytes_max: usize,
    },
    /// The text is no regular expression.
    #[error(transparent)]
    Regex(#[from] RegexError),
    /// A filter means nothing.
    #[error("`{field}`: {reason}")]
    Filter {
        /// Which.
        field: &'static str,
        /// Why.
        reason: String,
    },
}

impl From<QueryError> for SearchError {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::Empty => Self::Empty,
            QueryError::TooLong { bytes, bytes_max } => Self::TooLong { bytes, bytes_max },
        }
    }
}

/// What an answer lacks, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchNote {
    /// There is no index, or not one that can be read; only the newest entries were searched.
    NotIndexed,
    /// Not everything was scanned: so many bytes were.
    ScanCut {
        /// The bytes that were looked through at most.
        bytes_max: u64,
    },
    /// The query has no words, so its text was looked for.
    SearchedText,
    /// The query has too many words; those at its end were left out.
    QueryCut,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SearchAnswer {
    /// The best first.
    pub hits: Vec<SearchHit>,
    /// How many entries were searched.
    pub entries: u64,
    /// What the answer lacks.
    pub notes: Vec<SearchNote>,
}

impl Engine {
    /// Finds entries. The same question to the same store has the same answer.
    ///
    /// # Errors
    /// `Search` for a query or a filter that means nothing; store errors. Where `step` breaks, what was found until then is
    /// the answer.
    pub fn search(&self, query: &SearchQuery, step: &mut SearchStep<'_>) -> Result<SearchAnswer> {
        let scoped = Scoped::of(&query.filter)?;
        // Its bounds hold for every form.
        let parsed =
            parse_query(&QueryInput { text: &query.text, participants: &[] }).map_err(SearchError::from)?;
        let text = query.text.trim();
        match query.form {
            SearchForm::Words if parsed.literal.is_some() => {
                let mut answer = self.search_text(query, &scoped, &Matcher::literal(text), step)?;
                answer.notes.insert(0, SearchNote::SearchedText);
                Ok(answer)
            }
            SearchForm::Words => self.search_words(query, &scoped, step),
            SearchForm::Literal => self.search_text(query, &scoped, &Matcher::literal(&query.text), step),
            SearchForm::Regex => {
                let matcher = Matcher::regex(&query.text).map_err(SearchError::Regex)?;
                self.search_text(query, &scoped, &matcher, step)
            }
        }
    }

    fn search_words(
        &self,
        query: &SearchQuery,
        scoped: &Scoped<'_>,
        step: &mut SearchStep<'_>,
    ) -> Result<SearchAnswer> {
        let (overlay, end) = self.overlay_of_newest(scoped, step)?;
        let authors = overlay.authors();
        let participants: Vec<String> = authors.iter().map(|(_, name)| name.clone()).collect();
        let mut parsed = parse_query(&QueryInput { text: &query.text, participants: &participants })
            .map_err(SearchError::from)?;
        let segments = [overlay.segment()];
        let mut notes = vec![SearchNote::NotIndexed];
        notes.extend(
            (end == ScanEnd::Cut).then_some(SearchNote::ScanCut { bytes_max: ScanBounds::WORDS.bytes_max }),
        );
        notes.extend(parsed.is_cut.then_some(SearchNote::QueryCut));
        let matcher = Matcher::words(&parsed);
        let mut required: Vec<Matcher> = parsed.phrases.iter().map(Matcher::phrase).collect();
        if let Some(file) = scoped.file() {
            required.push(Matcher::phrase(&file));
            parsed.phrases.push(file);
        }
        let wanted =
            if required.is_empty() { query.hits_max + SPARE_HITS } else { CHECKED_MAX.max(query.hits_max) };
        let ranked = self.ranked(&segments, (scoped, &authors), &parsed, wanted);
        let mut reader = HitReader::new(self, scoped, &matcher, required);
        let mut hits = Vec::new();
        for scored in ranked {
            let standing = overlay.standing(scored.number).unwrap_or_default().to_vec();
            hits.extend(reader.hit(ranked_of(scored, standing, &query.filter))?);
            if hits.len() >= query.hits_max {
                break;
            }
        }
        Ok(SearchAnswer { hits, entries: overlay.len() as u64, notes })
    }

    #[expect(clippy::unused_self, reason = "the index is asked here next")]
    fn ranked(
        &self,
        segments: &[MemorySegment],
        (scoped, authors): (&Scoped<'_>, &[(u16, String)]),
        query: &Query,
        wanted: usize,
    ) -> Vec<Scored> {
        let statistics =
            segments.iter().map(MemorySegment::statistics).fold(Statistics::default(), |all, one| {
                Statistics { entries: all.entries + one.entries, length: all.length + one.length }
            });
        let scope =
            Scope { classes: scoped.mask(), since_minute: scoped.since_minute, authors, ..Scope::ALL };
        let asked = Search { segments, statistics, scope, weights: &Weights::MEASURED };
        let Some(groups) = segments.first() else { return Vec::new() };
        let found: Result<Vec<Scored>, Infallible> = search(&asked, groups, query, Wanted::hits(wanted));
        found.unwrap_or_default()
    }

    /// Looks through the texts themselves, the newest first.
    fn search_text(
        &self,
        query: &SearchQuery,
        scoped: &Scoped<'_>,
        matcher: &Matcher,
        step: &mut SearchStep<'_>,
    ) -> Result<SearchAnswer> {
        let file = scoped.file().as_ref().map(Matcher::phrase);
        let mut reader = HitReader::new(self, scoped, matcher, Vec::new());
        let mut answer = SearchAnswer::default();
        let mut known = std::collections::HashSet::new();
        let end = self.scan_newest(scoped, ScanBounds::TEXT, step, &mut |decoded| {
            for (position, entry) in decoded.entries.iter().enumerate().rev() {
                answer.entries += 1;
                let text = text::text_of(entry);
                let is_match = matcher.is_match(&text)
                    && file.as_ref().is_none_or(|file| file.is_match(&text))
                    && scoped.admits_entry(entry)
                    && known.insert(key::key_of(entry));
                if is_match {
                    let reason =
                        SearchReason { name: "phrase", value: 1.0, text: query.text.trim().to_owned() };
                    answer.hits.extend(reader.matched(&decoded, position, vec![reason])?);
                }
                if answer.hits.len() >= query.hits_max {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        if end == ScanEnd::Cut {
            answer.notes.push(SearchNote::ScanCut { bytes_max: ScanBounds::TEXT.bytes_max });
        }
        Ok(answer)
    }
}

/// Returns what was scored, with where it stands.
fn ranked_of(scored: Scored, standing: Vec<overlay::Standing>, filter: &SearchFilter) -> Ranked {
    let reasons = scored.reasons.into_iter().map(|reason| {
        let is_file = filter.file.as_ref() == Some(&reason.text);
        let name = if is_file { "file" } else { reason.name.as_str() };
        SearchReason { name, value: reason.value, text: reason.text }
    });
    Ranked { key: scored.key, score: scored.score, reasons: reasons.collect(), standing }
}
