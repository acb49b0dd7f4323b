//! Finding what was said and done, and reading it.

use crate::v1::{EntriesRequest, EntryPage, IndexBuilt, IndexStatus, SearchHits, SearchRequest};
use crate::{Answer, Control};

/// Search.
///
/// The index is made of what is stored and never needed for an answer to be right: where it lags, is damaged or cannot be
/// written, entries are searched directly within bounds, and notes say what is missing.
pub trait Search: Send + Sync {
    /// Finds entries and events. Equal requests over equal data give equal answers, in the same order.
    ///
    /// # Errors
    /// `query_empty`, `query_too_long`, `regex_bad`; `filter_unknown`, `range_empty`, `project_not_found`, `project_ambiguous`;
    /// `bad_request`, `cancelled`.
    fn search(&self, request: &SearchRequest, control: &Control<'_>) -> Answer<SearchHits>;

    /// Returns entries of a chain as text, around one of them.
    ///
    /// # Errors
    /// Those of [`find`](super::Chains::find); `entry_not_found`, `format_unreadable`, `commit_forgotten`.
    fn entries(&self, request: &EntriesRequest) -> Answer<EntryPage>;

    /// Returns the state and the size of the index. Changes nothing.
    ///
    /// # Errors
    /// Those of opening the store.
    fn index_status(&self) -> Answer<IndexStatus>;

    /// Brings the index up to date, however long that takes, and returns its state. Progress is counted in commits. A search does
    /// that by itself; this is for a program that searches many times while it goes on.
    ///
    /// # Errors
    /// Those of opening the store; `cancelled`. Trouble with the index is a note, and no error: searches do without it.
    fn settle_index(&self, control: &Control<'_>) -> Answer<IndexStatus>;

    /// Rebuilds the index. Searches use the old one meanwhile.
    ///
    /// # Errors
    /// `store_locked` while another process changes it, `disk_full`, `cancelled`.
    fn rebuild_index(&self, control: &Control<'_>) -> Answer<IndexBuilt>;
}

/// The operations of [`Search`], each beside its method.
#[expect(missing_docs, reason = "a row is documented at the method of its name")]
pub mod rows {
    use crate::operation::Scope::{Manage, Read};
    use crate::operation::{EmptyRequest, Op, Repeat, Row};
    use crate::v1;

    /// All of them.
    pub static ALL: &[&dyn Row] = &[&SEARCH, &ENTRIES, &INDEX_STATUS, &SETTLE_INDEX, &REBUILD_INDEX];

    pub static SEARCH: Op<v1::SearchRequest, v1::SearchHits> =
        Op::get("search.search", "/v1/search", Read, |s, q, c| s.search(q, c)).shown_by(&["search"]);
    pub static ENTRIES: Op<v1::EntriesRequest, v1::EntryPage> =
        Op::get("search.entries", "/v1/commits/{ctx}/entries", Read, |s, q, _| s.entries(q))
            .shown_by(&["show REF --entry"]);
    pub static INDEX_STATUS: Op<EmptyRequest, v1::IndexStatus> =
        Op::get("search.index_status", "/v1/index", Read, |s, _, _| s.index_status()).shown_by(&["index"]);
    // The index is derived, and each search may bring it up to date.
    pub static SETTLE_INDEX: Op<EmptyRequest, v1::IndexStatus> =
        Op::ask("search.settle_index", "/v1/index/settle", Read, |s, _, c| s.settle_index(c));
    pub static REBUILD_INDEX: Op<EmptyRequest, v1::IndexBuilt> =
        Op::post("search.rebuild_index", "/v1/index/rebuild", Manage, Repeat::Same, |s, _, c| {
            s.rebuild_index(c)
        })
        .shown_by(&["index rebuild"]);
}
