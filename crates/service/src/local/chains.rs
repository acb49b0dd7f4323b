//! The facet `Chains` over a store of this machine.

mod blame;
mod compacting;
mod listing;
mod making;
mod stats;
mod story;
mod tree;

use std::collections::HashMap;
use std::io::Read;

use stemmata_api::v1::{
    Blame, BlameRequest, Changed, CheckpointRequest, Checkpointed, Children, ChildrenRequest, Commit,
    CommitPage, CommitsFound, CommitsRequest, CompactRequest, Compacted, CompareRequest, Comparison,
    CutTranscript, Diff, FindRequest, Found, FoundRange, HistoryRequest, LastCompactionRequest,
    LatestSessionRequest, Named, OverviewRequest, ResolveRequest, ResolveScope, Resolved, Session,
    SessionMeant, SessionPage, SessionRequest, SessionsRequest, ShortIds, ShortIdsRequest, ShowRequest,
    ShowTurnRequest, ShowTurnsRequest, ShownTurn, ShownTurns, SnapshotRequest, Stats, StatsRequest,
    TaggedCommit, Tags, TagsRequest, TipsRequest, Tree, TreeRequest, Uncompacted, UpdateRequest,
};
use stemmata_api::{Answer, Chains, Control};
use stemmata_engine::{Engine, EngineError, MeantRange, Wanted};
use stemmata_model::{CommitId, Principal, SessionId, shortest_unique};
use stemmata_store::{ResolveScope as Scope, Session as StoredSession};

use super::{Local, ctx, is_path, items_max, redirected_from, size, stop};
use crate::fault::Fault;
use crate::wire;

/// Ids of one output that are checked against the whole store; beyond, they are only told apart from each other.
const CHECKED_IDS_MAX: usize = 256;

/// Tags of one listing.
const TAGS_MAX: usize = 1_000;

impl Chains for Local {
    fn find(&self, request: &FindRequest) -> Answer<Found> {
        self.with(|engine| found(engine, request))
    }

    fn short_ids(&self, request: &ShortIdsRequest) -> Answer<ShortIds> {
        self.with(|engine| {
            let mut chars = shortest_unique(&request.ids);
            for id in request.ids.iter().take(CHECKED_IDS_MAX) {
                chars = engine.unique_chars(*id, chars)?;
            }
            let sessions = request.sessions.iter().map(|id| Ok::<_, Fault>(engine.short_id(id)?.text));
            Ok(ShortIds { chars: chars as u64, sessions: sessions.collect::<Result<_, _>>()? })
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

    fn turn(&self, request: &ShowTurnRequest) -> Answer<ShownTurn> {
        self.with(|engine| story::turn(engine, request))
    }

    fn turns(&self, request: &ShowTurnsRequest) -> Answer<ShownTurns> {
        self.with(|engine| story::turns(engine, request))
    }

    fn overview(&self, request: &OverviewRequest) -> Answer<SessionMeant> {
        self.with(|engine| story::overview(engine, request))
    }

    fn history(&self, request: &HistoryRequest) -> Answer<CommitPage> {
        self.with(|engine| {
            let id = ctx(engine, &request.ctx)?;
            let wanted = items_max(request.limit);
            let skip = size(request.skip, "skip")?;
            let mut rows = engine.history(id, skip, wanted.saturating_add(1))?;
            let next_skip = (rows.len() > wanted).then(|| request.skip.saturating_add(wanted as u64));
            rows.truncate(wanted);
            let mut commits: Vec<Commit> = rows.iter().map(wire::commit::commit).collect();
            if request.numbered {
                number(engine, id, &mut commits)?;
            }
            Ok(CommitPage { commits, next_skip })
        })
    }

    fn sessions(&self, request: &SessionsRequest) -> Answer<SessionPage> {
        self.with(|engine| listing::sessions(engine, request))
    }

    fn stats(&self, request: &StatsRequest, control: &Control<'_>) -> Answer<Stats> {
        self.with(|engine| stats::stats(engine, request, control))
    }

    fn session(&self, request: &SessionRequest) -> Answer<Session> {
        self.with(|engine| {
            let text = &request.reference;
            let missing = || EngineError::NotFound { what: Wanted::Session, text: text.clone() };
            wire::session::named(engine, &engine.find_session(text)?.ok_or_else(missing)?)
        })
    }

    fn latest_session(&self, request: &LatestSessionRequest) -> Answer<Session> {
        self.with(|engine| {
            let latest = match engine.latest_session(request.project.as_deref()) {
                Err(EngineError::NothingThere { .. }) if request.or_any => engine.latest_session(None)?,
                there => there?,
            };
            wire::session::named(engine, &latest)
        })
    }

    fn children(&self, request: &ChildrenRequest) -> Answer<Children> {
        self.with(|engine| listing::children(engine, request))
    }

    fn tips(&self, request: &TipsRequest) -> Answer<CommitPage> {
        self.with(|engine| listing::tips(engine, request))
    }

    fn commits(&self, request: &CommitsRequest) -> Answer<CommitsFound> {
        self.with(|engine| listing::commits(engine, request))
    }

    fn tags(&self, request: &TagsRequest) -> Answer<Tags> {
        self.with(|engine| {
            let found = engine.store().tags(&request.prefix, TAGS_MAX)?;
            let tag = |(name, ctx): (String, CommitId)| TaggedCommit { name, ctx };
            Ok(Tags { tags: found.into_iter().map(tag).collect() })
        })
    }

    fn tree(&self, request: &TreeRequest) -> Answer<Tree> {
        self.with(|engine| tree::tree(engine, request))
    }

    fn resolve(&self, request: &ResolveRequest) -> Answer<Resolved> {
        self.with(|engine| {
            let scope = match &request.scope {
                ResolveScope::Principal(name) => Scope::Principal(Principal::new(name.as_str())?),
                ResolveScope::Session(text) => Scope::Session(session_id(engine, text)?),
                ResolveScope::Project(dir) => Scope::Project(dir.clone()),
            };
            let commits = listing::described(engine, &engine.resolve(&scope, request.at)?)?;
            Ok(Resolved { at: request.at, commits })
        })
    }

    fn diff(&self, request: &LastCompactionRequest) -> Answer<Diff> {
        self.with(|engine| compacting::diff(engine, request))
    }

    fn compare(&self, request: &CompareRequest) -> Answer<Comparison> {
        self.with(|engine| story::compare(engine, request))
    }

    fn blame(&self, request: &BlameRequest) -> Answer<Blame> {
        self.with(|engine| blame::blame(engine, request))
    }

    fn checkpoint(&self, request: &CheckpointRequest, content: &mut dyn Read) -> Answer<Checkpointed> {
        self.with(|engine| making::checkpoint(engine, request, content))
    }

    fn snapshot(&self, request: &SnapshotRequest) -> Answer<Named> {
        self.with(|engine| {
            let made = engine.snapshot(ctx(engine, &request.ctx)?, stop(engine, &request.stop)?)?;
            Ok(wire::commit::named(&engine.show(made)?))
        })
    }

    fn compact(&self, request: &CompactRequest) -> Answer<Compacted> {
        let rules = self.home.options().settings.window;
        self.with(|engine| compacting::compact(engine, request, (&|of| self.model(engine, of), &rules)))
    }

    fn before_compaction(&self, request: &LastCompactionRequest) -> Answer<Uncompacted> {
        self.with(|engine| compacting::before(engine, request))
    }

    fn update(&self, request: &UpdateRequest) -> Answer<Changed> {
        self.with(|engine| making::update(engine, request, self.by()))
    }
}

/// Returns the id of the session that a text means by a part of its id or otherwise; else the text, since a program's checkpoints
/// have sessions that were never read.
fn session_id(engine: &Engine, text: &str) -> Result<SessionId, Fault> {
    match engine.find_session(text)? {
        Some(session) => Ok(session.session),
        None => Ok(SessionId::new(text)?),
    }
}

/// Numbers the prompts in commits of one chain.
fn number(engine: &Engine, tip: CommitId, commits: &mut [Commit]) -> Result<(), Fault> {
    let mut numbers: HashMap<CommitId, u64> = HashMap::new();
    for prompt in engine.numbered_prompts(tip)? {
        numbers.entry(prompt.ctx).or_insert(prompt.number);
    }
    for commit in commits {
        commit.prompt = numbers.get(&commit.id).copied();
    }
    Ok(())
}

fn found(engine: &Engine, request: &FindRequest) -> Result<Found, Fault> {
    let at = |ctx: CommitId| Found {
        ctx,
        session_id: None,
        prompt: None,
        range: None,
        redirected_from: None,
        cut: None,
    };
    // A path is the caller's; a tag may look like one.
    if let Some(path) = request.path.as_deref().filter(|_| is_path(&request.text))
        && let Some(session) = engine.find_session(path)?
        && let Some(tip) = session.tip
    {
        let session_id = Some(session.session);
        return Ok(Found { session_id, ..at(tip) });
    }
    let text = request.text.as_str();
    if request.takes_range
        && let Some(MeantRange { ctx, within, from, through }) =
            engine.meant_range(text, request.here.as_deref())?
    {
        let cut = cut(engine, within.as_ref())?;
        return Ok(Found { range: Some(FoundRange { from, through }), cut, ..at(ctx) });
    }
    let meant = engine.meant(text, request.here.as_deref())?;
    let session_id = meant.session.as_ref().map(|session| session.session.clone());
    let cut = cut(engine, meant.session.as_ref().or(meant.within.as_ref()))?;
    let is_id = meant.session.is_none() && meant.prompt.is_none();
    let redirected_from = if is_id { redirected_from(engine, text, meant.ctx)? } else { None };
    Ok(Found { session_id, prompt: meant.prompt, redirected_from, cut, ..at(meant.ctx) })
}

/// Returns what is left of a session that was named in its transcript, where that was cut.
fn cut(engine: &Engine, named: Option<&StoredSession>) -> Result<Option<CutTranscript>, Fault> {
    named.map_or(Ok(None), |session| wire::session::cut(engine, session))
}
