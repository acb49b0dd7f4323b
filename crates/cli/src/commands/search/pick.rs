//! `search` as a list that follows what is typed: sessions while nothing is, hits from then on.

use std::cmp::Reverse;

use stemmata_api::v1::{
    FindRequest, HITS_MAX, SearchFilter, SearchHit, SearchHits, SearchRequest, Session, SessionsRequest,
    ShortIdsRequest,
};
use stemmata_api::{Answer, Control, PageRequest, Service};
use stemmata_model::{CommitId, Timestamp};

use super::screen::{FOREIGN_COLUMNS, matched_line};
use crate::args::search::Search;
use crate::commands::opening::Opening;
use crate::commands::show::around::who;
use crate::errors::{CliError, Exit};
use crate::output::commit::ShortIds;
use crate::output::session;
use crate::output::size::{many, plural};
use crate::output::style::{Style, tame};
use crate::output::table::fit;
use crate::pick::{self, Act, Asked, Ended, Listing, Piece, Row, Setup, Target};
use crate::wiring::App;

/// Rows of a list at most: more than a person looks through.
const ROWS_MAX: u64 = 1_000;

/// Runs the picker, and does what was chosen.
pub(super) fn run(app: &App, args: &Search, request: SearchRequest) -> Result<Exit, CliError> {
    let service = app.service()?;
    if request.filter != SearchFilter::all() {
        // What a filter names wrongly is said before there is a list.
        let text = String::new();
        let one = SearchRequest { text, limit: Some(1), settle_ms: Some(0), ..request.clone() };
        service.search(&one, &Control::none())?;
    }
    let here = app.environment.current_dir.to_string_lossy().into_owned();
    let near = if request.filter.project.is_empty() { vec![here] } else { request.filter.project.clone() };
    let shown: Vec<String> =
        near.iter().map(|folder| app.environment.shown(std::path::Path::new(folder))).collect();
    let setup = Setup {
        text: request.text.clone(),
        near: shown.join(", "),
        enter: match (args.resume, args.fork) {
            (true, _) => Act::Resume,
            (_, true) => Act::Fork,
            (false, false) => Act::Show,
        },
        color: app.console.out.color,
    };
    let most = match args.limit {
        None => ROWS_MAX,
        Some(0) => HITS_MAX,
        Some(limit) => limit,
    };
    let request = SearchRequest { settle_ms: Some(0), is_unfinished: true, ..request };
    let now = app.now();
    let found = Found { service, request, most, near, now };
    let source =
        Opening::new(service, now, |asked: &Asked, control: &Control<'_>| found.list(asked, control));
    let (ended, copied) = pick::pick(&source, setup)?;
    if let Some(id) = copied {
        app.console.text(&format!("{}\n", tame(&id)))?;
    }
    match ended {
        Ended::Chosen(act, Target { prompt: Some(prompt), .. }) => super::act(app, args, act, (prompt, None)),
        Ended::Chosen(act, Target { reference: Some(reference), entry, session, .. }) => {
            // By its own name a session is brought up to date first, where that names no other one too.
            let session = session
                .filter(|_| act != Act::Show)
                .filter(|session| service.find(&FindRequest::of(session.clone())).is_ok());
            let reference = session.unwrap_or(reference);
            super::act(app, args, act, (reference, entry))
        }
        Ended::Chosen(..) | Ended::Left | Ended::Signal(_) => Ok(Exit::Done),
    }
}

/// What a search lists.
struct Found<'a> {
    service: &'a dyn Service,
    /// What was asked for on the command line; the text is what is typed.
    request: SearchRequest,
    /// Rows at most.
    most: u64,
    /// The directories that are looked at first.
    near: Vec<String>,
    now: Timestamp,
}

impl Found<'_> {
    fn list(&self, asked: &Asked, control: &Control<'_>) -> Answer<Listing> {
        let project = if asked.is_wide { Vec::new() } else { self.near.clone() };
        let limit = self.most.min(asked.rows as u64);
        if asked.text.trim().is_empty() && self.is_of_sessions() {
            return self.sessions(project, limit);
        }
        let filter = SearchFilter { project, ..self.request.filter.clone() };
        let text = asked.text.clone();
        let request = SearchRequest { text, filter, limit: Some(limit), ..self.request.clone() };
        let found = self.service.search(&request, control)?;
        let ids = self.short_ids(found.hits.iter().filter_map(|hit| hit.ctx))?;
        Ok(Listing {
            rows: found.hits.iter().map(|hit| self.hit(hit, ids)).collect(),
            about: about(&found, asked, limit),
            has_more: found.hits.len() as u64 >= limit && limit < self.most,
        })
    }

    /// Returns whether the filter is one of sessions, so that these are listed while nothing is typed; else the newest entries are
    /// that pass it.
    fn is_of_sessions(&self) -> bool {
        let SearchFilter { session, project, .. } = self.request.filter.clone();
        self.request.filter == SearchFilter { session, project, ..SearchFilter::all() }
    }

    /// Lists the newest sessions of these directories; of all where there are none.
    fn sessions(&self, projects: Vec<String>, limit: u64) -> Answer<Listing> {
        let session = self.request.filter.session.clone();
        let is_near = !projects.is_empty();
        let projects = if is_near { projects.into_iter().map(Some).collect() } else { vec![None] };
        let (mut sessions, mut has_more): (Vec<Session>, bool) = (Vec::new(), false);
        for project in projects {
            let request = SessionsRequest {
                project,
                session_prefix: session.clone(),
                folded: true,
                page: PageRequest { limit: Some(limit), after: None },
                ..SessionsRequest::all()
            };
            let page = self.service.sessions(&request)?;
            has_more |= page.next.is_some() && limit < self.most;
            let is_new = |one: &Session| !sessions.iter().any(|known| known.path == one.path);
            let new: Vec<Session> = page.sessions.into_iter().filter(is_new).collect();
            sessions.extend(new);
        }
        sessions.sort_by_key(|session| Reverse(session.last_at));
        let about = match (sessions.len(), is_near) {
            (0, true) => "no session worked here; Tab looks everywhere".to_owned(),
            (0, false) => "no sessions yet: `stemma import` reads those of this machine".to_owned(),
            (count, _) => {
                let more = if has_more { "the newest " } else { "" };
                format!("{more}{}, the newest first", plural(count, "session"))
            }
        };
        Ok(Listing { rows: sessions.iter().map(|session| self.session(session)).collect(), about, has_more })
    }

    fn short_ids(&self, ids: impl Iterator<Item = CommitId>) -> Answer<ShortIds> {
        let ids = ids.collect();
        Ok(ShortIds::at(self.service.short_ids(&ShortIdsRequest { ids, sessions: Vec::new() })?.chars))
    }

    fn session(&self, session: &Session) -> Row {
        let project = session::project(session);
        let place = pick::place_of(session.last_at, &session.client, &project, self.now).to_vec();
        let mut line: Vec<Piece> = foreign(session.foreign_machine.as_deref()).into_iter().collect();
        line.push((Style::Plain, format!("{}{}", session::mark(session), session::title(session))));
        let id = session::short(session);
        let reference = session.tip.map(|tip| tip.to_string());
        let opens = Some(session.path.clone());
        let session = Some(session.session_id.to_string());
        let target = Target { reference, entry: None, session, prompt: None, opens, id };
        Row { place, line, target, focus: None }
    }

    fn hit(&self, hit: &SearchHit, ids: ShortIds) -> Row {
        let project = session::project_of_hit(hit);
        let place = pick::place_of(hit.timestamp, &hit.client, &project, self.now).to_vec();
        let mut line: Vec<Piece> = foreign(hit.foreign_machine.as_deref()).into_iter().collect();
        let who = who(hit.author.as_deref(), &hit.kind, hit.role.as_str());
        line.push((Style::Faint, format!("{who}: ")));
        let matched = matched_line(hit);
        let focus: String = matched.iter().map(|(_, text)| text.as_str()).collect();
        line.extend(matched);
        let target = Target {
            reference: hit.ctx.map(|ctx| ctx.to_string()),
            entry: Some(hit.entry.clone()),
            session: None,
            prompt: None,
            opens: hit.ctx.is_some().then(|| hit.path.clone()),
            id: hit.ctx.map_or_else(|| hit.entry.clone(), |ctx| ids.cut(ctx)),
        };
        Row { place, line, target, focus: Some(focus.trim_matches('…').trim().to_owned()) }
    }
}

fn foreign(machine: Option<&str>) -> Option<Piece> {
    let label = fit(&tame(machine?), FOREIGN_COLUMNS);
    Some((Style::Plain, format!("⇄ {label}: ")))
}

/// Returns what a list says of itself.
fn about(found: &SearchHits, asked: &Asked, limit: u64) -> String {
    let mut parts = vec![match found.hits.len() {
        0 if asked.is_wide => "nothing found".to_owned(),
        0 => "nothing found here; Tab looks everywhere".to_owned(),
        count if asked.text.trim().is_empty() => format!("{}, the newest first", many(count as u64, "entry")),
        count if count as u64 >= limit => format!("the best {}", plural(count, "hit")),
        count => plural(count, "hit"),
    }];
    parts.push(format!("{} searched", many(found.entries, "entry")));
    parts.extend(found.notes.iter().map(|note| note.message.clone()));
    parts.join(" · ")
}
