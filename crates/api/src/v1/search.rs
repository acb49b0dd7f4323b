//! Searching, and reading what was found.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::{CommitId, LedgerId, Role, Timestamp};

use super::Note;

/// Hits that an answer has at most.
pub const HITS_MAX: u64 = 1_000;

/// Hits that an answer has where nobody says how many.
pub const HITS_DEFAULT: u64 = 20;

/// The code of the note of a search in a store into which nothing was imported yet.
pub const NOTHING_IMPORTED: &str = "nothing_imported";

/// Bytes of a query at most.
pub const QUERY_BYTES_MAX: u64 = 16 * 1024;

/// Entries before and after the one that is asked for, at most.
pub const AROUND_MAX: u64 = 200;

/// Tokens of a page of entries, where nobody says how many.
pub const AROUND_TOKENS_DEFAULT: u64 = 4_000;

/// Tokens of a page of entries, at most.
pub const AROUND_TOKENS_MAX: u64 = 200_000;

/// How the text of a query is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SearchForm {
    /// Words, any of them, the best first; quotes mean a phrase.
    Words,
    /// Exactly this text.
    Literal,
    /// A regular expression.
    Regex,
}

/// Which entries are searched. Everything that is set has to hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SearchFilter {
    /// Only sessions of this client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// Only entries of this role: `user`, `assistant`, `system`, `tool`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Only sessions that worked in one of these directories, or below it. A text without a separator is a project's name, which
    /// is the last part of its directory, or the id of its ledger.
    #[serde(default)]
    pub project: Vec<String>,
    /// Only sessions on this branch of git.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Only entries that name this file; its last parts are enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Only entries of these kinds: one that `show --entries` says, or `prompt`, `answer`, `call`, `error`, `decision`,
    /// `edit`, `thinking`, `event`.
    #[serde(default)]
    pub kind: Vec<String>,
    /// Only entries of this time or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Only entries of this time or earlier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Only this session: its id, or the beginning of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Leave out what tools answered.
    #[serde(default)]
    pub no_tool_output: bool,
}

impl SearchForm {
    /// Words, as where nobody says what is meant.
    const fn words() -> Self {
        Self::Words
    }
}

impl SearchFilter {
    /// Returns the filter that everything passes.
    pub const fn all() -> Self {
        Self {
            client: None,
            role: None,
            project: Vec::new(),
            branch: None,
            file: None,
            kind: Vec::new(),
            since: None,
            until: None,
            session: None,
            no_tool_output: false,
        }
    }
}

/// Asks for entries that say something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SearchRequest {
    /// What to look for, at most [`QUERY_BYTES_MAX`] bytes. Empty beside a filter: the newest entries that pass it are listed.
    pub text: String,
    /// How it is meant.
    #[serde(default = "SearchForm::words")]
    pub form: SearchForm,
    /// Where to look.
    #[serde(default = "SearchFilter::all")]
    pub filter: SearchFilter,
    /// Whether somebody still types: words that begin with the last one are looked for, too.
    #[serde(default)]
    pub is_unfinished: bool,
    /// Hits at most; [`HITS_DEFAULT`] where absent, never more than [`HITS_MAX`], which 0 stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Milliseconds for which what is new may be put into the index first. Absent: all of it is. What is left is searched
    /// directly, as far as bounds allow, and a note says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settle_ms: Option<u64>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SearchHits {
    /// The best first.
    pub hits: Vec<SearchHit>,
    /// How many entries the index holds, and were searched.
    pub entries: u64,
    /// What the answer lacks, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

/// An entry that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SearchHit {
    /// The commit that holds it: the newest one that is kept. Absent for an event of a ledger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ctx: Option<CommitId>,
    /// The ledger of an event, for `events query --ledger`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerId>,
    /// The session that it is in.
    pub session_id: String,
    /// Its id, for `show REF --entry`; `event:N` for event N of a ledger.
    pub entry: String,
    /// The beginning of its id that names no other entry of its commit.
    pub short_entry: String,
    /// Who said it, where the format knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// When it was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Timestamp>,
    /// Its role.
    pub role: Role,
    /// What it is.
    pub kind: String,
    /// The client of the session; `ledger` for an event.
    pub client: String,
    /// How good it is, comparable within one answer.
    pub score: f64,
    /// What made the score.
    pub reasons: Vec<SearchReason>,
    /// The line that matches best, with one before and one after.
    pub snippet: String,
    /// Where in the snippet words of the query are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<SearchSpan>,
    /// The transcript, or the ledger's directory.
    pub path: String,
    /// Further sessions that hold the same entry, or one that shows the same text.
    #[serde(default)]
    pub also_in: Vec<String>,
    /// Hits that show the same text and were left out for this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alike: Option<u64>,
    /// Where what was looked for is: `itself`, or `nearby` if only entries around it have it.
    #[serde(default)]
    pub matched: String,
    /// The session's title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Where the session worked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The name of its project, as lists show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The branch that it worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The machine that recorded it, if it came in another user's bundle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreign_machine: Option<String>,
}

/// A part of a score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SearchReason {
    /// `words` and `near` add up; all others multiply.
    pub name: String,
    /// The points, or the factor.
    pub value: f64,
    /// What it is about: the words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A range of bytes of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SearchSpan {
    /// Its first byte.
    pub start: u64,
    /// The byte behind it.
    pub end: u64,
}

/// Asks for entries of a chain as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EntriesRequest {
    /// A commit of the chain.
    pub ctx: String,
    /// The entry in the middle: its id, the beginning of it, or `@N` for the N-th of the chain. The last one of the commit
    /// where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// Entries with text before and after it, at most [`AROUND_MAX`].
    #[serde(default)]
    pub around: u64,
    /// Estimated tokens of the whole page at most; [`AROUND_TOKENS_DEFAULT`] where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
}

/// Entries of a chain, one after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct EntryPage {
    /// The commit that the chain ends with.
    pub ctx: CommitId,
    /// The entries.
    pub entries: Vec<EntryText>,
    /// How many entries the chain has.
    pub total: u64,
    /// The entry before the first, to continue from: `@N`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The entry after the last, to continue from: `@N`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Whether the entry that was asked for is on a branch beside the way to the commit that was asked for: a context of that
    /// commit does not have it. `fork --at` the entry continues from it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_beside: bool,
    /// What the page lacks, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

/// An entry as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct EntryText {
    /// Its place in the chain, from 1.
    pub ordinal: u64,
    /// The commit that holds it.
    pub ctx: CommitId,
    /// Its id.
    pub id: String,
    /// Its role.
    pub role: String,
    /// What it is.
    pub kind: String,
    /// Who said it, where the format knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// When it was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Timestamp>,
    /// What it says: texts, calls with their arguments, results.
    pub text: String,
    /// The estimated tokens of the whole entry.
    pub tokens: u64,
    /// Whether the text is only its beginning.
    pub is_cut: bool,
    /// Whether it is the one that was asked for.
    pub is_match: bool,
}

/// The state of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema), schemars(inline, with = "String"))]
#[serde(rename_all = "snake_case")]
pub enum IndexState {
    /// It has everything that the store has.
    Whole,
    /// It does not have the newest commits.
    Behind,
    /// There is no index.
    Missing,
    /// It cannot be read. The next search rebuilds it.
    Damaged,
    /// An older version made it. The next search rebuilds it.
    Older,
    /// A newer version made it.
    Newer,
}

/// How the index is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct IndexStatus {
    /// `whole`, `behind`, `missing`, `damaged`, `older`, `newer`.
    pub state: IndexState,
    /// Entries that it holds.
    pub entries: u64,
    /// Bytes of its files.
    pub bytes: u64,
    /// Its parts, each sorted by word.
    pub segments: u64,
    /// Commits that are not in it yet; counted up to 10,000.
    pub behind_commits: u64,
    /// Commits of which nothing is searched: their format cannot be read, their content is not there or too long.
    pub skipped_commits: u64,
    /// Why the index could not be brought up to date, where that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

/// The result of rebuilding the index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct IndexBuilt {
    /// Entries that it holds.
    pub entries: u64,
    /// Bytes of its files.
    pub bytes: u64,
    /// How long it took, in milliseconds.
    pub elapsed_ms: u64,
}
