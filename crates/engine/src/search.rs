//! Search over everything that was said: ranks entries by a query, and reads the best ones from the store.
//!
//! How texts become terms and terms become scores is in `stemmata_prompt::search`.

mod bridge;
mod events;
mod feed;
mod filter;
mod groups;
mod hit_page;
mod hits;
mod key;
mod literal;
mod overlay;
mod passage;
mod prepared;
mod reach;
mod scan;
mod settle;
mod slot;
mod snippet;
mod status;
mod sweep;
mod text;
mod words;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use stemmata_prompt::retrieve::TaskWords;
pub use stemmata_prompt::search::QueryError;
use stemmata_prompt::search::{Matcher, QueryInput, RegexError, parse_query};
use stemmata_runtimes::registry::adapters;
use stemmata_runtimes::translate::runtime_of;
use stemmata_store::{Page, SessionFilter};

pub use filter::SearchFilter;
pub use hits::{HitPlace, SearchHit, SearchReason};
pub(crate) use passage::{BesideHit, Passage};
pub use settle::{IndexTrouble, SettleBudget, Settled};
pub(crate) use slot::IndexSlot;
pub use status::{IndexReport, IndexState};
pub(crate) use text::text_of;

use crate::engine::Engine;
use crate::error::Result;
pub(crate) use filter::{Belonging, SessionsOf};
use filter::{LEDGER_CLIENT, Scoped};

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
    /// The text. Without one, the newest entries that pass the filter are listed; without a filter, too, it is an error.
    pub text: String,
    /// How it is meant.
    pub form: SearchForm,
    /// Where to look.
    pub filter: SearchFilter,
    /// Whether the last word may go on: words that begin with it are looked for, too.
    pub is_unfinished: bool,
    /// Hits at most.
    pub hits_max: usize,
    /// Whether hits that show the same text are one, and the first hits are of several sessions, as people read them; words only.
    pub is_spread: bool,
    /// How long the index may take in what is new before.
    pub budget: SettleBudget,
}

impl SearchQuery {
    /// Returns whether the newest entries that pass the filter are listed, because there are no words to rank by.
    fn is_list(&self) -> bool {
        self.text.trim().is_empty() && self.filter != SearchFilter::default()
    }
}

/// What a search is counted in while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepUnit {
    /// Bytes of transcripts that were scanned.
    Bytes,
    /// Commits that were added to the index.
    Commits,
}

/// Called with the progress of a search: how much is done, and of how much where that is known. `Break` ends the search.
pub type SearchStep<'a> = dyn FnMut(StepUnit, u64, Option<u64>) -> ControlFlow<()> + 'a;

/// Why a search cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// The text is empty or too long.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The text is no regular expression.
    #[error(transparent)]
    Regex(#[from] RegexError),
    /// A filter has a value that no entry can have.
    #[error("`{field}`: {reason}")]
    Filter {
        /// The filter's name.
        field: &'static str,
        /// What is wrong with the value, and which values there are.
        reason: String,
    },
}

/// What an answer lacks, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchNote {
    /// There is no index that can be read, so that only the newest entries were searched.
    NotIndexed,
    /// The index could not be used, or only a part of it.
    Index(IndexTrouble),
    /// The index does not have the newest commits, and not all of these were searched directly.
    Behind {
        /// Commits that were left out.
        commits: u64,
    },
    /// The index does not have the newest events of ledgers, which were not searched.
    EventsBehind,
    /// No entry has a file of this name, so that similar names were searched for.
    Mended {
        /// The name.
        asked: String,
        /// The similar names.
        meant: Vec<String>,
    },
    /// The scan reached its limit before the oldest entries.
    ScanCut {
        /// The limit.
        bytes_max: u64,
    },
    /// More entries have the words than were checked for the phrase or the file.
    CheckedCut {
        /// The entries that were checked.
        checked: u64,
    },
    /// Content of so many commits is damaged, so that they were not searched.
    Damaged {
        /// The commits.
        commits: u64,
    },
    /// The store has no session and never had one, and there is no ledger.
    NothingImported,
    /// No session of this store has an id that begins so.
    NoSuchSession {
        /// What was asked for.
        session: String,
    },
    /// No client of this name is known.
    NoSuchClient {
        /// What was asked for.
        client: String,
        /// The clients that transcripts are read of.
        known: Vec<String>,
    },
    /// The query has no words, so its text was looked for.
    SearchedText,
    /// The query has too many words; those at its end were left out.
    QueryCut,
}

impl SearchNote {
    /// Returns the note of commits whose content is damaged, if there are any.
    fn damaged(commits: usize) -> Option<Self> {
        (commits > 0).then_some(Self::Damaged { commits: commits as u64 })
    }
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
    /// The words of the query and what each is worth, where passages are wanted.
    pub(crate) words: TaskWords,
}

impl Engine {
    /// Finds entries. The same question to the same store has the same answer.
    ///
    /// # Errors
    /// `Search` for a query or a filter that means nothing; store errors. Where `step` breaks, what was found until then is
    /// the answer.
    pub fn search(&self, query: &SearchQuery, step: &mut SearchStep<'_>) -> Result<SearchAnswer> {
        let mut answer = self.search_scoped(query, &Scoped::of(&query.filter)?, step)?;
        if answer.hits.is_empty() {
            answer.notes.extend(self.nothing_of(&query.filter)?);
        }
        Ok(answer)
    }

    /// Says why nothing can be found: there are no sessions, or a filter names something that is not there.
    fn nothing_of(&self, filter: &SearchFilter) -> Result<Option<SearchNote>> {
        let has_sessions =
            !self.store.sessions(&SessionFilter::default(), Page { skip: 0, rows_max: 1 })?.is_empty();
        if !has_sessions && !self.store.has_tombstones()? && self.all_ledgers()?.is_empty() {
            return Ok(Some(SearchNote::NothingImported));
        }
        if let Some(session) = &filter.session {
            let wanted = SessionFilter { session_prefix: Some(session.clone()), ..SessionFilter::default() };
            if self.store.sessions(&wanted, Page { skip: 0, rows_max: 1 })?.is_empty() {
                return Ok(Some(SearchNote::NoSuchSession { session: session.clone() }));
            }
        }
        let Some(client) = &filter.client else { return Ok(None) };
        let known: BTreeSet<String> = adapters()
            .iter()
            .map(|adapter| runtime_of(&adapter.format()).to_owned())
            .chain([LEDGER_CLIENT.to_owned()])
            .collect();
        let is_known = known.contains(client);
        let known = known.into_iter().collect();
        Ok((!is_known).then(|| SearchNote::NoSuchClient { client: client.clone(), known }))
    }

    /// Finds entries with what retrieval needs of them: their passages, and the words of the query. With a ledger only what
    /// belongs to it.
    pub(crate) fn search_passages(
        &self,
        query: &SearchQuery,
        belonging: Option<&Belonging>,
    ) -> Result<SearchAnswer> {
        let scoped = Scoped::of(&query.filter)?.for_retrieval(belonging);
        self.search_scoped(query, &scoped, &mut |_, _, _| ControlFlow::Continue(()))
    }

    fn search_scoped(
        &self,
        query: &SearchQuery,
        scoped: &Scoped<'_>,
        step: &mut SearchStep<'_>,
    ) -> Result<SearchAnswer> {
        if query.is_list() && !scoped.has_passages {
            return self.search_words(query, scoped, step);
        }
        // Its bounds hold for every form.
        let parsed =
            parse_query(&QueryInput { text: &query.text, participants: &[] }).map_err(SearchError::from)?;
        let text = query.text.trim();
        match query.form {
            SearchForm::Words if parsed.literal.is_some() => {
                let mut answer = self.search_text(query, scoped, &Matcher::literal(text), step)?;
                answer.notes.insert(0, SearchNote::SearchedText);
                Ok(answer)
            }
            SearchForm::Words => self.search_words(query, scoped, step),
            SearchForm::Literal => self.search_text(query, scoped, &Matcher::literal(&query.text), step),
            SearchForm::Regex => {
                let matcher = Matcher::regex(&query.text).map_err(SearchError::Regex)?;
                self.search_text(query, scoped, &matcher, step)
            }
        }
    }
}
