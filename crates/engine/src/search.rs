//! Search over everything that was said: ranks entries by a query, and reads the best ones from the store.
//!
//! How texts become terms and terms become scores is in `stemmata_prompt::search`.

mod bridge;
mod clients;
mod events;
mod feed;
mod filter;
mod groups;
mod hit_page;
mod hits;
mod keeper;
mod key;
mod literal;
mod nothing;
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

use std::ops::ControlFlow;

use stemmata_api::v1::SearchForm;
use stemmata_model::Timestamp;
use stemmata_prompt::retrieve::TaskWords;
pub use stemmata_prompt::search::QueryError;
use stemmata_prompt::search::{Matcher, QueryInput, RegexError, parse_query};

pub use filter::SearchFilter;
pub use hits::{HitPlace, SearchHit, SearchReason};
pub use keeper::IndexKeeper;
pub(crate) use passage::{BesideHit, Passage};
pub use settle::{IndexTrouble, SettleBudget, Settled};
pub(crate) use slot::IndexSlot;
pub(crate) use text::text_of;

use crate::engine::Engine;
use crate::error::Result;
use crate::ledger::ProjectDir;
use filter::Scoped;
pub(crate) use filter::{Belonging, SessionsOf};

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
    /// A filter, or another value beside the text, makes no sense.
    #[error("`{field}`: {reason}")]
    Filter {
        /// The filter's name.
        field: &'static str,
        /// What is wrong with the value.
        reason: String,
    },
    /// A filter names a client, a role or a kind that there is not.
    #[error("unknown {filter} `{given}`{}", near.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
    NoSuchName {
        /// The filter's name.
        filter: &'static str,
        /// What was given.
        given: String,
        /// The known name that is nearly the same.
        near: Option<String>,
        /// All known names.
        known: Vec<String>,
    },
    /// The time since which entries are wanted is after the time until which they are.
    #[error("`--since {since}` is after `--until {until}`")]
    NoTime {
        /// Since when.
        since: Timestamp,
        /// Until when.
        until: Timestamp,
    },
    /// No project has this name.
    #[error("no project has the name or the id `{name}`{}", near.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
    NoProject {
        /// What was given.
        name: String,
        /// The known name that is nearly the same.
        near: Option<String>,
        /// The projects that there are, those of the similar name first, then the one of the latest session.
        known: Vec<ProjectDir>,
    },
    /// Several projects have this name.
    #[error("`{name}` is the name of {} projects", found.len())]
    ManyProjects {
        /// What was given.
        name: String,
        /// These projects.
        found: Vec<ProjectDir>,
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
    /// A turn that has begun says it; no step of it is stored, so no index has it.
    OpenTurn {
        /// The session of the turn.
        session: String,
    },
    /// Filters exclude what the words would find.
    Excluded {
        /// The filters without any one of which something is found, as flags of the command line; none where only several of
        /// them together exclude everything.
        by: Vec<String>,
    },
    /// A quote has no counterpart, so that the words after it were searched for one by one.
    QuoteOpen,
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
        let scoped = Scoped::of(&query.filter)?;
        if let Some(client) = &query.filter.client {
            self.check_client(client)?;
        }
        let answer = self.search_scoped(query, &scoped, step)?;
        if answer.hits.is_empty() { self.nothing_found(query, answer, step) } else { Ok(answer) }
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
