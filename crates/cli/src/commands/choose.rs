//! `show`, `resume` and `fork` without a REF: a list of sessions to choose from, narrowed by what is typed.
//!
//! Where no key can be read, the newest sessions are printed, and the command ends as one that lacks an argument.

use std::collections::HashSet;
use std::path::Path;
use std::sync::OnceLock;

use stemmata_api::v1::{SearchFilter, SearchForm, SearchRequest, Session, SessionDetails, SessionsRequest};
use stemmata_api::{Answer, Control, PageRequest, Service};
use stemmata_model::Timestamp;
use unicode_width::UnicodeWidthStr as _;

use crate::args::browse::Show;
use crate::args::give::{Fork, Resume};
use crate::commands::opening::Opening;
use crate::commands::search::matched_line;
use crate::commands::show::around::who;
use crate::commands::{self, list};
use crate::errors::{CliError, Exit};
use crate::output::session;
use crate::output::size::plural;
use crate::output::style::{Style, tame};
use crate::pick::{self, Act, Asked, Ended, Listing, Row, Setup, Target};
use crate::wiring::App;

/// Sessions that can be chosen from, the newest first.
const SESSIONS_MAX: u64 = 10_000;

/// Sessions that are printed where there is nobody to choose.
const PRINTED: usize = 10;

/// Sessions that are looked at for these.
const LOOKED_AT: usize = 200;

/// Characters from which on a text is looked for in what was said, too.
const SAID_CHARS_MIN: usize = 3;

/// Places that are looked at for the sessions in which a text was said.
const SAID_HITS: u64 = 60;

/// The score of a word that stands within another one.
const SCORE_WITHIN: u64 = 2;

/// Runs `show`.
pub(crate) fn show(app: &App, args: Show) -> Result<Exit, CliError> {
    if !args.reference.is_empty() {
        return commands::show::run(app, &args);
    }
    match choose(app, Act::Show, "show", |_| true)? {
        Choice::Made(act, reference) => run(app, act, reference, Wanted::Show(args)),
        Choice::None(exit) => Ok(exit),
    }
}

/// Runs `resume`.
pub(crate) fn resume(app: &App, args: Resume) -> Result<Exit, CliError> {
    if args.reference.is_some() || args.last {
        return commands::resume::run(app, &args);
    }
    match choose(app, Act::Resume, "resume", is_placed(args.placement.runtime.as_deref()))? {
        Choice::Made(act, reference) => run(app, act, reference, Wanted::Resume(args)),
        Choice::None(exit) => Ok(exit),
    }
}

/// Runs `fork`.
pub(crate) fn fork(app: &App, args: Fork) -> Result<Exit, CliError> {
    if !args.reference.is_empty() {
        return commands::fork::run(app, &args);
    }
    match choose(app, Act::Fork, "fork", is_placed(args.placement.runtime.as_deref()))? {
        Choice::Made(act, reference) => run(app, act, reference, Wanted::Fork(args)),
        Choice::None(exit) => Ok(exit),
    }
}

/// The command that was typed, with its flags.
enum Wanted {
    Show(Show),
    Resume(Resume),
    Fork(Fork),
}

/// What a person chose.
enum Choice {
    Made(Act, String),
    None(Exit),
}

/// Runs what was chosen: the command that was typed, or another one by its key, with that one's defaults.
fn run(app: &App, act: Act, reference: String, wanted: Wanted) -> Result<Exit, CliError> {
    match (act, wanted) {
        (Act::Show, Wanted::Show(args)) => commands::show::run(app, &Show { reference, ..args }),
        (Act::Resume, Wanted::Resume(args)) => {
            commands::resume::run(app, &Resume { reference: Some(reference), ..args })
        }
        (Act::Fork, Wanted::Fork(args)) => commands::fork::run(app, &Fork { reference, ..args }),
        (Act::Show, _) => commands::search::show(app, reference, None),
        (Act::Resume, _) => commands::search::resume(app, reference),
        (Act::Fork, _) => commands::search::fork(app, reference),
    }
}

/// Returns which sessions can be placed: for a client that is named all of them, else those of clients that load them again.
fn is_placed(runtime: Option<&str>) -> fn(&Session) -> bool {
    if runtime.is_some() { |_| true } else { |session| App::is_continued(&session.client) }
}

fn choose(app: &App, enter: Act, command: &str, offers: fn(&Session) -> bool) -> Result<Choice, CliError> {
    let service = app.service()?;
    // A session that was never imported is one to choose from, too.
    if !app.is_remote() {
        let unread = app.host()?.catch_up(Some(&app.environment.current_dir))?;
        for one in &unread {
            app.console.warn(one);
        }
    }
    if !app.takes_keys() {
        return missing(app, command, offers);
    }
    let here = app.environment.current_dir.to_string_lossy().into_owned();
    let setup = Setup {
        text: String::new(),
        near: app.environment.shown(Path::new(&here)),
        enter,
        color: app.console.out.color,
    };
    let now = app.now();
    let sessions = Sessions { service, here, offers, now, near: OnceLock::new(), all: OnceLock::new() };
    let source =
        Opening::new(service, now, |asked: &Asked, control: &Control<'_>| sessions.list(asked, control));
    let (ended, copied) = pick::pick(&source, setup)?;
    if let Some(id) = copied {
        app.console.text(&format!("{}\n", tame(&id)))?;
    }
    Ok(match ended {
        Ended::Chosen(act, target) => Choice::Made(act, target.id),
        Ended::Left | Ended::Signal(_) => Choice::None(Exit::Done),
    })
}

/// Prints the newest sessions of this directory, else of all, and says how to name one.
fn missing(app: &App, command: &str, offers: fn(&Session) -> bool) -> Result<Choice, CliError> {
    let usage = || {
        CliError::Usage(format!(
            "`stemma {command}` needs a session: `stemma {command} @` takes the newest one of this directory"
        ))
    };
    if app.console.json {
        return Err(usage());
    }
    let here = Some(app.environment.current_dir.to_string_lossy().into_owned());
    let all =
        SessionsRequest { folded: true, details: Some(SessionDetails::Figures), ..SessionsRequest::all() };
    for project in [here, None] {
        let mut page = list::sessions(app, &SessionsRequest { project, ..all.clone() }, LOOKED_AT)?;
        page.sessions.retain(offers);
        page.sessions.truncate(PRINTED);
        if !page.sessions.is_empty() {
            app.console.text(&list::table(app, &page.sessions))?;
            break;
        }
    }
    Err(usage())
}

/// The sessions to choose from.
struct Sessions<'a> {
    service: &'a dyn Service,
    here: String,
    /// Which of them are offered.
    offers: fn(&Session) -> bool,
    now: Timestamp,
    /// Those of this directory's project. Read once: what is typed only narrows them.
    near: OnceLock<Vec<Session>>,
    /// Those of every directory.
    all: OnceLock<Vec<Session>>,
}

impl Sessions<'_> {
    fn list(&self, asked: &Asked, control: &Control<'_>) -> Answer<Listing> {
        let near: Vec<&Session> = self.offered(asked.is_wide)?.iter().collect();
        let (total, columns) = (near.len(), id_columns(&near));
        let Matching { mut named, loosely } = matching(&asked.text, near.clone());
        let said = if named.len() < asked.rows {
            self.said(asked, (&near, &named), columns, control)?
        } else {
            Vec::new()
        };
        // Letters of a title that stand apart say less than words that were said.
        if said.is_empty() {
            named.extend(loosely);
        }
        let mut rows: Vec<Row> = named.into_iter().map(|session| self.row(session, columns)).collect();
        rows.extend(said);
        let about = match (rows.len(), total) {
            (0, 0) if !asked.is_wide => {
                "no session worked here; Tab shows those of every directory".to_owned()
            }
            (0, 0) => "no sessions yet: `stemma import` reads those of this machine".to_owned(),
            (0, _) => "no session has this in its title or its text".to_owned(),
            (count, total) if count == total => format!("{}, the newest first", plural(count, "session")),
            (count, total) => format!("{count} of {}", plural(total, "session")),
        };
        Ok(Listing { rows, about, has_more: false })
    }

    fn offered(&self, is_wide: bool) -> Answer<&Vec<Session>> {
        let (read, project) = if is_wide { (&self.all, None) } else { (&self.near, Some(self.here.clone())) };
        if let Some(all) = read.get() {
            return Ok(all);
        }
        let mut all = Vec::new();
        let mut after = None;
        loop {
            let page = PageRequest { limit: Some(SESSIONS_MAX - all.len() as u64), after };
            let project = project.clone();
            let page = self.service.sessions(&SessionsRequest {
                project,
                folded: true,
                page,
                ..SessionsRequest::all()
            })?;
            all.extend(page.sessions.into_iter().filter(self.offers));
            after = page.next;
            if after.is_none() || all.len() as u64 >= SESSIONS_MAX {
                return Ok(read.get_or_init(|| all));
            }
        }
    }

    /// Returns sessions in which a text was said, with the best place of each; those that are named already are left out.
    fn said(
        &self,
        asked: &Asked,
        (near, named): (&[&Session], &[&Session]),
        columns: usize,
        control: &Control<'_>,
    ) -> Answer<Vec<Row>> {
        let text = asked.text.trim().to_owned();
        if text.chars().count() < SAID_CHARS_MIN {
            return Ok(Vec::new());
        }
        let project = if asked.is_wide { Vec::new() } else { vec![self.here.clone()] };
        let found = self.service.search(
            &SearchRequest {
                text,
                filter: SearchFilter { project, ..SearchFilter::all() },
                limit: Some(SAID_HITS),
                settle_ms: Some(0),
                is_unfinished: true,
                form: SearchForm::Words,
            },
            control,
        )?;
        let mut known: HashSet<&str> = named.iter().map(|session| session.session_id.as_str()).collect();
        let mut rows = Vec::new();
        for hit in &found.hits {
            let session = near.iter().find(|session| session.session_id.as_str() == hit.session_id);
            let Some(session) = session.filter(|session| known.insert(session.session_id.as_str())) else {
                continue;
            };
            let matched = matched_line(hit);
            let focus: String = matched.iter().map(|(_, text)| text.as_str()).collect();
            let mut row = self.row(session, columns);
            row.line = vec![(
                Style::Faint,
                format!("{}: ", who(hit.author.as_deref(), &hit.kind, hit.role.as_str())),
            )];
            row.line.extend(matched);
            row.focus = Some(focus.trim_matches('…').trim().to_owned());
            (row.target.reference, row.target.entry) =
                (hit.ctx.map(|ctx| ctx.to_string()), Some(hit.entry.clone()));
            rows.push(row);
        }
        Ok(rows)
    }

    fn row(&self, session: &Session, columns: usize) -> Row {
        let id = session::short(session);
        let mut place = vec![(Style::Id, format!("{id:columns$}  "))];
        place.extend(pick::place_of(session.last_at, &session.client, &session::project(session), self.now));
        Row {
            place,
            line: vec![(Style::Plain, format!("{}{}", session::mark(session), session::title(session)))],
            target: Target {
                reference: session.tip.map(|tip| tip.to_string()),
                entry: None,
                session: Some(session.session_id.to_string()),
                prompt: None,
                opens: Some(session.path.clone()),
                id,
            },
            focus: None,
        }
    }
}

/// Returns the columns of the longest short id of sessions.
fn id_columns(sessions: &[&Session]) -> usize {
    sessions.iter().map(|session| session::short(session).width()).max().unwrap_or_default()
}

/// The sessions that match what was typed, the best first and of equals the newest.
struct Matching<'s> {
    /// Those that have each word.
    named: Vec<&'s Session>,
    /// Those that have the letters of each word, in this order.
    loosely: Vec<&'s Session>,
}

/// Returns the sessions whose titles, projects, clients or ids match what was typed.
fn matching<'s>(text: &str, sessions: Vec<&'s Session>) -> Matching<'s> {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    let mut found: Vec<((u64, u64), &Session)> = sessions
        .into_iter()
        .filter_map(|session| {
            let texts = [
                session::title(session),
                session::project(session),
                session.client.clone(),
                session::short(session),
                session.session_id.to_string(),
            ];
            let texts = texts.map(|text| text.to_lowercase());
            let scores = words.iter().map(|word| texts.iter().filter_map(|text| score(word, text)).max());
            let scores = scores.collect::<Option<Vec<u64>>>()?;
            let least = scores.iter().copied().min().unwrap_or(SCORE_WITHIN);
            Some(((scores.iter().sum(), least), session))
        })
        .collect();
    found.sort_by_key(|((score, _), _)| std::cmp::Reverse(*score));
    let (named, loosely): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|((_, least), _)| *least >= SCORE_WITHIN);
    let sessions = |found: Vec<(_, &'s Session)>| found.into_iter().map(|(_, session)| session).collect();
    Matching { named: sessions(named), loosely: sessions(loosely) }
}

/// Says how well a word matches a text: at the beginning of a word of it, within one, or with letters left out; none where it does
/// not.
fn score(word: &str, text: &str) -> Option<u64> {
    if let Some(at) = text.find(word) {
        let is_begin = text.get(..at).is_none_or(|before| !before.ends_with(char::is_alphanumeric));
        return Some(if is_begin { SCORE_WITHIN + 1 } else { SCORE_WITHIN });
    }
    // Two letters are in nearly every text.
    let mut rest = text.chars();
    let is_within = word.chars().count() > 2 && word.chars().all(|letter| rest.any(|other| other == letter));
    is_within.then_some(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_match_at_beginnings_within_and_with_letters_left_out() {
        for (word, text, found) in [
            ("time", "fix the timer", Some(3)),
            ("imer", "fix the timer", Some(2)),
            ("tmr", "fix the timer", Some(1)),
            ("xt", "fix the timer", None),
            ("timers", "fix the timer", None),
            ("käse", "der käse", Some(3)),
        ] {
            assert_eq!(score(word, text), found, "{word}");
        }
    }
}
