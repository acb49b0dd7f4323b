//! Listings: sessions, children, tips, a page at a time.

use stemmata_api::v1::{
    Children, ChildrenRequest, Commit, CommitPage, CommitsFound, CommitsRequest, SessionDetails, SessionPage,
    SessionsRequest, TipsRequest,
};
use stemmata_engine::{Engine, ProjectScope, SessionOnly, SessionQuery};
use stemmata_model::CommitId;
use stemmata_store::{CommitFilter, PAGE_ROWS_MAX, Page, SessionFilter, StoreError, TipFilter};

use super::session_id;
use crate::fault::Fault;
use crate::local::{ctx, items_max, next_of, position, size};
use crate::wire;

/// Commits that are read at once.
const PAGE_ROWS: usize = 1_000;

pub(super) fn sessions(engine: &Engine, request: &SessionsRequest) -> Result<SessionPage, Fault> {
    const LISTING: &str = "sessions";
    let projects = request.project.as_deref().map(|project| engine.project_scope(project)).transpose()?;
    let query = SessionQuery {
        filter: SessionFilter {
            // The store looks for one directory; of a repository the listing looks at every session.
            project: projects.as_ref().and_then(ProjectScope::folder).map(str::to_owned),
            session_prefix: request.session_prefix.clone(),
            main_only: !request.with_subagents,
            ..SessionFilter::default()
        },
        only: SessionOnly {
            client: request.client.as_deref().map(|name| engine.client_named(name)).transpose()?,
            since: request.since,
            until: request.until,
            branch: request.branch.clone(),
            title: request.title.clone(),
            projects,
        },
        with_emptied: request.with_emptied,
        folded: request.folded,
        counts: matches!(request.details, Some(SessionDetails::Counts | SessionDetails::CountsAndTip)),
        tips: request.details == Some(SessionDetails::CountsAndTip),
        skip: position(&request.page, LISTING)?,
        rows_max: items_max(request.page.limit),
    };
    let found = engine.sessions(&query)?;
    let mut sessions: Vec<_> = found.rows.iter().map(wire::session::listed).collect();
    if request.details == Some(SessionDetails::Figures) {
        let chains = found.rows.iter().filter_map(|row| Some((row.session.tip?, row.session.bytes)));
        let figures = engine.session_figures(&chains.collect::<Vec<_>>())?;
        for (listed, row) in sessions.iter_mut().zip(&found.rows) {
            wire::session::add_figures(listed, row.session.tip.and_then(|tip| figures.get(&tip)));
            listed.only_here = engine.is_only_here(&row.session).then_some(true);
        }
    }
    Ok(SessionPage { sessions, next: found.next_skip.map(|skip| next_of(LISTING, skip)) })
}

pub(super) fn children(engine: &Engine, request: &ChildrenRequest) -> Result<Children, Fault> {
    const LISTING: &str = "children";
    let of = ctx(engine, &request.ctx)?;
    let skip = size(position(&request.page, LISTING)?, "after")?;
    let end = skip.saturating_add(items_max(request.page.limit));
    let found = engine.store().children(of, end.saturating_add(1))?;
    let wanted: Vec<CommitId> = found.iter().take(end).skip(skip).map(|commit| commit.id).collect();
    Ok(Children {
        of,
        commits: described(engine, &wanted)?,
        next: (found.len() > end).then(|| next_of(LISTING, end as u64)),
    })
}

pub(super) fn tips(engine: &Engine, request: &TipsRequest) -> Result<CommitPage, Fault> {
    let filter = TipFilter {
        session: request.session.as_deref().map(|text| session_id(engine, text)).transpose()?,
        ticket: request.ticket.clone(),
        thread: request.thread.clone(),
        principal: None,
    };
    let (tips, next_skip) =
        in_pages(request.skip, items_max(request.limit), |page| engine.store().tips(&filter, page))?;
    Ok(CommitPage { commits: described(engine, &tips)?, next_skip })
}

pub(super) fn commits(engine: &Engine, request: &CommitsRequest) -> Result<CommitsFound, Fault> {
    const LISTING: &str = "commits";
    let text = |name: &dyn ToString| Some(name.to_string());
    let filter = CommitFilter {
        seen: TipFilter {
            session: request.session.as_deref().map(|text| session_id(engine, text)).transpose()?,
            ticket: request.ticket.as_ref().and_then(|ticket| text(ticket)),
            thread: request.thread.as_ref().and_then(|thread| text(thread)),
            principal: request.principal.clone(),
        },
        format: request.format.clone(),
        since: request.since,
        until: request.until,
        summary: request.summary_source,
    };
    let skip = position(&request.page, LISTING)?;
    let (found, next) =
        in_pages(skip, items_max(request.page.limit), |page| engine.store().listed(&filter, page))?;
    Ok(CommitsFound { commits: described(engine, &found)?, next: next.map(|skip| next_of(LISTING, skip)) })
}

/// Reads a listing of the store up to a number of commits, and says where it goes on.
fn in_pages(
    skip: u64,
    wanted: usize,
    read: impl Fn(Page) -> std::result::Result<Vec<stemmata_model::Commit>, StoreError>,
) -> Result<(Vec<CommitId>, Option<u64>), Fault> {
    let mut found: Vec<CommitId> = Vec::new();
    while found.len() <= wanted {
        let rows_max = (wanted + 1 - found.len()).min(PAGE_ROWS).min(PAGE_ROWS_MAX);
        let page = read(Page { skip: skip.saturating_add(found.len() as u64), rows_max })?;
        let is_last = page.len() < rows_max;
        found.extend(page.into_iter().map(|commit| commit.id));
        if is_last {
            break;
        }
    }
    let next = (found.len() > wanted).then(|| skip.saturating_add(wanted as u64));
    found.truncate(wanted);
    Ok((found, next))
}

pub(super) fn described(engine: &Engine, ids: &[CommitId]) -> Result<Vec<Commit>, Fault> {
    Ok(engine.describe(ids)?.iter().map(wire::commit::commit).collect())
}
