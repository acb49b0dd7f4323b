//! Sessions and chains: finding, reading and adding commits.

use std::io::Read;

use crate::v1::{
    Blame, BlameRequest, Changed, CheckpointRequest, Checkpointed, Children, ChildrenRequest, Commit,
    CommitPage, CompactRequest, Compacted, CompareRequest, Comparison, Diff, FindRequest, Found,
    HistoryRequest, LastCompactionRequest, LatestSessionRequest, Named, OverviewRequest, ResolveRequest,
    Resolved, Session, SessionMeant, SessionPage, SessionRequest, SessionsRequest, ShortIds, ShortIdsRequest,
    ShowRequest, ShowTurnRequest, ShowTurnsRequest, ShownTurn, ShownTurns, SnapshotRequest, Stats,
    StatsRequest, Tags, TagsRequest, TipsRequest, Tree, TreeRequest, Uncompacted, UpdateRequest,
};
use crate::{Answer, Control};

/// Sessions and chains.
///
/// Every `ctx` of a request may be a whole id, a unique prefix, a session or a tag; a caller that shows what it found asks
/// [`find`](Self::find) first and passes the whole id on. Methods that read change nothing and may be repeated; listings
/// have the order that their request names and see one state of the store a page.
pub trait Chains: Send + Sync {
    /// Finds the commit that a name means.
    ///
    /// # Errors
    /// `reference_not_found`, `session_empty`; `ambiguous` with candidates.
    fn find(&self, request: &FindRequest) -> Answer<Found>;

    /// Returns how many characters tell ids apart in this store.
    ///
    /// # Errors
    /// `bad_id`.
    fn short_ids(&self, request: &ShortIdsRequest) -> Answer<ShortIds>;

    /// Lists sessions, the one with the latest activity first.
    ///
    /// # Errors
    /// `bad_request` where `after` is of another listing; `project_not_found`, `project_ambiguous`.
    fn sessions(&self, request: &SessionsRequest) -> Answer<SessionPage>;

    /// Counts sessions, time and tokens. Reads a transcript once; the next call is told what was read.
    ///
    /// # Errors
    /// `project_not_found`, `project_ambiguous`, `bad_time`, `cancelled`.
    fn stats(&self, request: &StatsRequest, control: &Control<'_>) -> Answer<Stats>;

    /// Returns one session.
    ///
    /// # Errors
    /// `session_not_found`, `ambiguous`.
    fn session(&self, request: &SessionRequest) -> Answer<Session>;

    /// Returns the session with the latest activity.
    ///
    /// # Errors
    /// `no_session_here` where none worked in the directory, `no_session` where there is none at all.
    fn latest_session(&self, request: &LatestSessionRequest) -> Answer<Session>;

    /// Returns everything that is known about a commit.
    ///
    /// # Errors
    /// Those of [`find`](Self::find); with entries `format_unreadable`, `commit_forgotten`.
    fn show(&self, request: &ShowRequest) -> Answer<Commit>;

    /// Returns what was said and done in a commit, as a person reads it.
    ///
    /// # Errors
    /// Those of [`find`](Self::find); `format_unreadable`, `commit_forgotten`.
    fn turn(&self, request: &ShowTurnRequest) -> Answer<ShownTurn>;

    /// Returns what was said and done for prompts that follow each other.
    ///
    /// # Errors
    /// As [`turn`](Self::turn), `prompt_not_found`.
    fn turns(&self, request: &ShowTurnsRequest) -> Answer<ShownTurns>;

    /// Returns a session at a glance; nothing where the name is a commit's or a tag's.
    ///
    /// # Errors
    /// `session_empty` where nothing of it is left; `ambiguous`, `format_unreadable`, `commit_forgotten`.
    fn overview(&self, request: &OverviewRequest) -> Answer<SessionMeant>;

    /// Lists a commit and its ancestors, the newest first.
    ///
    /// # Errors
    /// Those of [`find`](Self::find).
    fn history(&self, request: &HistoryRequest) -> Answer<CommitPage>;

    /// Lists the commits that continue one, in the order in which they were stored.
    ///
    /// # Errors
    /// Those of [`find`](Self::find); `bad_request` where `after` is of another listing.
    fn children(&self, request: &ChildrenRequest) -> Answer<Children>;

    /// Lists the ends of branches.
    ///
    /// # Errors
    /// `bad_name`.
    fn tips(&self, request: &TipsRequest) -> Answer<CommitPage>;

    /// Lists tags.
    ///
    /// # Errors
    /// Those of the store.
    fn tags(&self, request: &TagsRequest) -> Answer<Tags>;

    /// Returns the whole tree that a commit is part of, parents before children, or what a drawing of it shows.
    ///
    /// # Errors
    /// Those of [`find`](Self::find).
    fn tree(&self, request: &TreeRequest) -> Answer<Tree>;

    /// Returns the nearest checkpoints at or before a point in time.
    ///
    /// # Errors
    /// `no_checkpoint_before`, `bad_time`.
    fn resolve(&self, request: &ResolveRequest) -> Answer<Resolved>;

    /// Says what a compaction lost.
    ///
    /// # Errors
    /// `no_compaction`, `format_unreadable`, and those of [`find`](Self::find).
    fn diff(&self, request: &LastCompactionRequest) -> Answer<Diff>;

    /// Says what two chains have that the other has not.
    ///
    /// # Errors
    /// Those of [`find`](Self::find); `format_unreadable`.
    fn compare(&self, request: &CompareRequest) -> Answer<Comparison>;

    /// Says where lines of a file came from.
    ///
    /// # Errors
    /// `line_not_found`, `bad_request`.
    fn blame(&self, request: &BlameRequest) -> Answer<Blame>;

    /// Stores a commit for a program. Idempotent with an idempotency key: the second answer says that it existed. `content` is
    /// read to its end, and not at all where the request names an artifact. Not cancel-safe: a call that was cut off
    /// may have stored the commit, which the key finds again.
    ///
    /// # Errors
    /// `parent_missing`, `content_missing`, `bad_name`, `bad_request` where there is too much content, `not_a_transcript`, `excluded`, `paused`, `secret_rules_bad`.
    fn checkpoint(&self, request: &CheckpointRequest, content: &mut dyn Read) -> Answer<Checkpointed>;

    /// Stores a commit's context as a commit of its own. Idempotent: the same context gives the same commit.
    ///
    /// # Errors
    /// `not_an_ancestor`, `format_unreadable`, and those of [`find`](Self::find).
    fn snapshot(&self, request: &SnapshotRequest) -> Answer<Named>;

    /// Stores a compaction: a summary, the caller's or one that is made, and what stays as it is. A session of ours goes on from
    /// it; of any other one it is a branch. A model that cannot be used is done without, and a note says so. With `dry_run` nothing
    /// is stored.
    ///
    /// # Errors
    /// `summary_empty`, `summary_too_long`, `summary_not_smaller`, `nothing_to_compact`, `range_not_compactable`,
    /// `session_busy`, `no_model` where one is asked for and none is configured, `no_compaction` with `again`,
    /// `format_unwritable`, `session_not_found`, and those of [`find`](Self::find).
    fn compact(&self, request: &CompactRequest) -> Answer<Compacted>;

    /// Returns the commit just before the last compaction of a chain, or of a session.
    ///
    /// # Errors
    /// `no_compaction`, and those of [`find`](Self::find).
    fn before_compaction(&self, request: &LastCompactionRequest) -> Answer<Uncompacted>;

    /// Changes what stands beside a commit. Idempotent but for notes, which are added each time.
    ///
    /// # Errors
    /// `empty`, `out_of_bounds`, and those of [`find`](Self::find).
    fn update(&self, request: &UpdateRequest) -> Answer<Changed>;
}
