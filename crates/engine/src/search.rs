//! Search over everything that was said: what is asked becomes a ranking, and what was found is read from the store.
//!
//! How texts become terms and terms become scores is `stemmata_prompt`'s to know.

mod bridge;
mod events;
mod feed;
mod filter;
mod groups;
mod hits;
mod key;
mod literal;
mod overlay;
mod prepared;
mod scan;
mod settle;
mod slot;
mod snippet;
mod status;
mod sweep;
mod text;
mod words;

use std::ops::ControlFlow;

use stemmata_prompt::search::{Matcher, QueryError, QueryInput, RegexError, parse_query};

pub use filter::SearchFilter;
pub use hits::{HitPlace, SearchHit, SearchReason};
pub use settle::{IndexTrouble, SettleBudget, Settled};
pub(crate) use slot::IndexSlot;
pub use status::{IndexReport, IndexState};
pub(crate) use text::text_of;

use crate::engine::Engine;
use crate::error::Result;
use filter::Scoped;

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
    /// Whether the last word may go on: words that begin with it are looked for, too.
    pub is_unfinished: bool,
    /// Hits at most.
    pub hits_max: usize,
    /// How long the index may take in what is new before.
    pub budget: SettleBudget,
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
    /// The index could not be used, or not wholly.
    Index(IndexTrouble),
    /// The index does not have the newest commits; so many of them were not searched.
    Behind {
        /// Commits that were left out.
        commits: u64,
    },
    /// Nothing has a file of this name, so that names like it were looked for.
    Mended {
        /// The name.
        asked: String,
        /// Those like it.
        meant: Vec<String>,
    },
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
}
