//! The facet `Chains` over a store of this machine.

use std::io::Read;

use stemmata_api::v1::{
    Blame, BlameRequest, Changed, CheckpointRequest, Checkpointed, Children, ChildrenRequest, Commit,
    CommitPage, CommitRequest, CompactRequest, Compacted, Diff, FindRequest, Found, HistoryRequest,
    LatestSessionRequest, Named, ResolveRequest, Resolved, Session, SessionPage, SessionRequest,
    SessionsRequest, ShortIds, ShortIdsRequest, ShowRequest, SnapshotRequest, TipsRequest, Tree, Uncompacted,
    UpdateRequest,
};
use stemmata_api::{Answer, Chains, Code, Problem};
use stemmata_engine::Engine;
use stemmata_model::{CommitId, shortest_unique};

use super::{Local, ctx, is_path, items_max, size};
use crate::fault::Fault;
use crate::wire;

/// Ids of one output that are checked against the whole store; beyond, they are only told apart from each other.
const CHECKED_IDS_MAX: usize = 256;

impl Chains for Local {
    fn find(&self, request: &FindRequest) -> Answer<Found> {
        self.with(|engine| found(engine, request))
    }

    fn short_ids(&self, request: &ShortIdsRequest) -> Answer<ShortIds> {
        self.with(|engine| {
            let ids: Vec<CommitId> = request.ids.iter().map(|id| id.parse()).collect::<Result<_, _>>()?;
            let mut chars = shortest_unique(&ids);
            for id in ids.iter().take(CHECKED_IDS_MAX) {
                while let Ok(prefix) = id.short(chars).parse()
                    && engine.store().commits_in(prefix, 2)?.len() > 1
                {
                    chars += 1;
                }
            }
            Ok(ShortIds { chars: chars as u64 })
        })
    }

    fn show(&self, request: &ShowRequest) -> Answer<Commit> {
        self.with(|engine| {
            let id = ctx(engine, &request.ctx)?;
            let entries = if request.entries {
                Some(engine.entries(id)?.iter().map(wire::commit::entry).collect())
            } else {
                None
            };
            Ok(Commit { entries, ..wire::commit::shown(&engine.show(id)?) })
        })
    }

    fn history(&self, request: &HistoryRequest) -> Answer<CommitPage> {
        self.with(|engine| {
            let id = ctx(engine, &request.ctx)?;
            let wanted = items_max(request.limit);
            let skip = size(request.skip, "skip")?;
            let mut rows = engine.history(id, skip, wanted.saturating_add(1))?;
            let next_skip = (rows.len() > wanted).then(|| request.skip.saturating_add(wanted as u64));
            rows.truncate(wanted);
            Ok(CommitPage { commits: rows.iter().map(wire::commit::commit).collect(), next_skip })
        })
    }

    fn sessions(&self, _request: &SessionsRequest) -> Answer<SessionPage> {
        Err(not_yet())
    }

    fn session(&self, _request: &SessionRequest) -> Answer<Session> {
        Err(not_yet())
    }

    fn latest_session(&self, _request: &LatestSessionRequest) -> Answer<Session> {
        Err(not_yet())
    }

    fn children(&self, _request: &ChildrenRequest) -> Answer<Children> {
        Err(not_yet())
    }

    fn tips(&self, _request: &TipsRequest) -> Answer<CommitPage> {
        Err(not_yet())
    }

    fn tree(&self, _request: &CommitRequest) -> Answer<Tree> {
        Err(not_yet())
    }

    fn resolve(&self, _request: &ResolveRequest) -> Answer<Resolved> {
        Err(not_yet())
    }

    fn diff(&self, _request: &CommitRequest) -> Answer<Diff> {
        Err(not_yet())
    }

    fn blame(&self, _request: &BlameRequest) -> Answer<Blame> {
        Err(not_yet())
    }

    fn checkpoint(&self, _request: &CheckpointRequest, _content: &mut dyn Read) -> Answer<Checkpointed> {
        Err(not_yet())
    }

    fn snapshot(&self, _request: &SnapshotRequest) -> Answer<Named> {
        Err(not_yet())
    }

    fn compact(&self, _request: &CompactRequest) -> Answer<Compacted> {
        Err(not_yet())
    }

    fn before_compaction(&self, _request: &CommitRequest) -> Answer<Uncompacted> {
        Err(not_yet())
    }

    fn update(&self, _request: &UpdateRequest) -> Answer<Changed> {
        Err(not_yet())
    }
}

fn not_yet() -> Box<Problem> {
    Box::new(Problem::new(Code::NotSupported, "not built yet"))
}

fn found(engine: &Engine, request: &FindRequest) -> Result<Found, Fault> {
    // A path is the caller's; a tag may look like one.
    if let Some(path) = request.path.as_deref().filter(|_| is_path(&request.text))
        && let Some(session) = engine.find_session(path)?
        && let Some(tip) = session.tip
    {
        let session_id = Some(session.session.to_string());
        return Ok(Found { ctx: tip.to_string(), session_id, redirected_from: None });
    }
    let text = request.text.as_str();
    let ctx = engine.find(text)?.to_string();
    let is_it = ctx.starts_with(text) || ctx.get(4..).is_some_and(|id| id.starts_with(text));
    let redirected = if is_it { Vec::new() } else { engine.redirected(text)? };
    let redirected_from = redirected.first().map(|(from, _)| from.to_string());
    Ok(Found { ctx, session_id: None, redirected_from })
}
