//! Sessions and chains: finding, reading and adding commits.

use std::io::Read;

use crate::v1::{
    Blame, BlameRequest, Changed, CheckpointRequest, Checkpointed, Children, ChildrenRequest, Commit,
    CommitPage, CommitsFound, CommitsRequest, CompactRequest, Compacted, CompareRequest, Comparison, Diff,
    FindRequest, Found, HistoryRequest, LastCompactionRequest, LatestSessionRequest, Named, OverviewRequest,
    ResolveRequest, Resolved, Session, SessionMeant, SessionPage, SessionRequest, SessionsRequest, ShortIds,
    ShortIdsRequest, ShowRequest, ShowTurnRequest, ShowTurnsRequest, ShownTurn, ShownTurns, SnapshotRequest,
    Stats, StatsRequest, Tags, TagsRequest, TipsRequest, Tree, TreeRequest, Uncompacted, UpdateRequest,
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

    /// Lists commits of all sessions, newest first: by who ran them, ticket, thread, format, time and where their summary is from.
    ///
    /// # Errors
    /// Those of [`find`](Self::find) where a session is named; `bad_request` where `after` is of another listing.
    fn commits(&self, request: &CommitsRequest) -> Answer<CommitsFound>;

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

/// The operations of [`Chains`], each beside its method.
#[expect(missing_docs, reason = "a row is documented at the method of its name")]
pub mod rows {
    use crate::operation::Scope::{Publish, Read};
    use crate::operation::{Flow, Head, Method, Op, Repeat, Row};
    use crate::v1;

    /// All of them.
    pub static ALL: &[&dyn Row] = &[
        &FIND,
        &SHORT_IDS,
        &SESSIONS,
        &STATS,
        &SESSION,
        &LATEST_SESSION,
        &SHOW,
        &TURN,
        &TURNS,
        &OVERVIEW,
        &HISTORY,
        &CHILDREN,
        &TIPS,
        &COMMITS,
        &TAGS,
        &TREE,
        &RESOLVE,
        &DIFF,
        &COMPARE,
        &BLAME,
        &CHECKPOINT,
        &SNAPSHOT,
        &COMPACT,
        &BEFORE_COMPACTION,
        &UPDATE,
    ];

    pub static FIND: Op<v1::FindRequest, v1::Found> =
        Op::get("chains.find", "/v1/find", Read, |s, q, _| s.find(q));
    pub static SHORT_IDS: Op<v1::ShortIdsRequest, v1::ShortIds> =
        Op::ask("chains.short_ids", "/v1/short-ids", Read, |s, q, _| s.short_ids(q));
    pub static SESSIONS: Op<v1::SessionsRequest, v1::SessionPage> =
        Op::get("chains.sessions", "/v1/sessions", Read, |s, q, _| s.sessions(q)).shown_by(&["list", "log"]);
    pub static STATS: Op<v1::StatsRequest, v1::Stats> =
        Op::get("chains.stats", "/v1/stats", Read, |s, q, c| s.stats(q, c)).shown_by(&["stats"]);
    pub static SESSION: Op<v1::SessionRequest, v1::Session> =
        Op::get("chains.session", "/v1/sessions/{reference}", Read, |s, q, _| s.session(q));
    pub static LATEST_SESSION: Op<v1::LatestSessionRequest, v1::Session> =
        Op::get("chains.latest_session", "/v1/latest-session", Read, |s, q, _| s.latest_session(q));
    pub static SHOW: Op<v1::ShowRequest, v1::Commit> =
        Op::get("chains.show", "/v1/commits/{ctx}", Read, |s, q, _| s.show(q)).shown_by(&["show"]);
    pub static TURN: Op<v1::ShowTurnRequest, v1::ShownTurn> =
        Op::get("chains.turn", "/v1/commits/{ctx}/turn", Read, |s, q, _| s.turn(q));
    pub static TURNS: Op<v1::ShowTurnsRequest, v1::ShownTurns> =
        Op::get("chains.turns", "/v1/commits/{ctx}/turns", Read, |s, q, _| s.turns(q))
            .shown_by(&["show REF:N..M"]);
    pub static OVERVIEW: Op<v1::OverviewRequest, v1::SessionMeant> =
        Op::get("chains.overview", "/v1/sessions/{reference}/overview", Read, |s, q, _| s.overview(q));
    pub static HISTORY: Op<v1::HistoryRequest, v1::CommitPage> =
        Op::get("chains.history", "/v1/commits/{ctx}/history", Read, |s, q, _| s.history(q))
            .shown_by(&["log REF", "history"]);
    pub static CHILDREN: Op<v1::ChildrenRequest, v1::Children> =
        Op::get("chains.children", "/v1/commits/{ctx}/children", Read, |s, q, _| s.children(q))
            .shown_by(&["children"]);
    pub static TIPS: Op<v1::TipsRequest, v1::CommitPage> =
        Op::get("chains.tips", "/v1/tips", Read, |s, q, _| s.tips(q))
            .also_at(&["/v1/threads/{thread}/tip"])
            .shown_by(&["tips"]);
    pub static COMMITS: Op<v1::CommitsRequest, v1::CommitsFound> =
        Op::get("chains.commits", "/v1/commits", Read, |s, q, _| s.commits(q))
            .also_at(&["/v1/tickets/{ticket}/contexts"]);
    pub static TAGS: Op<v1::TagsRequest, v1::Tags> =
        Op::get("chains.tags", "/v1/tags", Read, |s, q, _| s.tags(q));
    pub static TREE: Op<v1::TreeRequest, v1::Tree> =
        Op::get("chains.tree", "/v1/commits/{ctx}/tree", Read, |s, q, _| s.tree(q)).shown_by(&["tree"]);
    pub static RESOLVE: Op<v1::ResolveRequest, v1::Resolved> =
        Op::get("chains.resolve", "/v1/resolve", Read, |s, q, _| s.resolve(q)).shown_by(&["resolve"]);
    pub static DIFF: Op<v1::LastCompactionRequest, v1::Diff> =
        Op::get("chains.diff", "/v1/commits/{ctx}/diff", Read, |s, q, _| s.diff(q)).shown_by(&["diff"]);
    pub static COMPARE: Op<v1::CompareRequest, v1::Comparison> =
        Op::get("chains.compare", "/v1/compare", Read, |s, q, _| s.compare(q)).shown_by(&["diff A B"]);
    // The lines of a file have no room in a query.
    pub static BLAME: Op<v1::BlameRequest, v1::Blame> =
        Op::ask("chains.blame", "/v1/blame", Read, |s, q, _| s.blame(q)).shown_by(&["blame"]);
    pub static CHECKPOINT: Op<v1::CheckpointRequest, v1::Checkpointed> = Op::by_hand(
        Flow::In,
        Head::post("chains.checkpoint", "/v1/commits", Publish, Repeat::Keyed("idempotency_key")),
    )
    .shown_by(&["checkpoint"]);
    pub static SNAPSHOT: Op<v1::SnapshotRequest, v1::Named> =
        Op::post("chains.snapshot", "/v1/commits/{ctx}/snapshot", Publish, Repeat::Same, |s, q, _| {
            s.snapshot(q)
        })
        .shown_by(&["snapshot"]);
    pub static COMPACT: Op<v1::CompactRequest, v1::Compacted> =
        Op::post("chains.compact", "/v1/compact", Publish, Repeat::Again, |s, q, _| s.compact(q))
            .shown_by(&["compact"]);
    pub static BEFORE_COMPACTION: Op<v1::LastCompactionRequest, v1::Uncompacted> =
        Op::get("chains.before_compaction", "/v1/commits/{ctx}/before-compaction", Read, |s, q, _| {
            s.before_compaction(q)
        })
        .shown_by(&["uncompact"]);
    // Notes are added each time.
    pub static UPDATE: Op<v1::UpdateRequest, v1::Changed> =
        Op::post("chains.update", "/v1/commits/{ctx}", Publish, Repeat::Again, |s, q, _| s.update(q))
            .over(Method::Patch)
            .shown_by(&["update", "tag", "pin", "unpin"]);
}
