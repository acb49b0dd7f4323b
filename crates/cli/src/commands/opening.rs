//! What every picker does beside its own list: waits for the index, previews a row, and opens a session into its prompts, which are
//! read once and narrowed by what is typed.

use std::sync::{Arc, Mutex, PoisonError};

use stemmata_api::v1::{OverviewRequest, OverviewTurn, SessionRequest};
use stemmata_api::{Answer, Control, Service};
use stemmata_model::Timestamp;

use crate::commands::preview;
use crate::output::outline;
use crate::output::session;
use crate::output::size::plural;
use crate::output::style::Style;
use crate::output::time;
use crate::pick::{Asked, Listing, Piece, Preview, Row, Source, Target};

/// Columns of a time.
const WHEN_COLUMNS: usize = 8;

/// A list whose sessions open into their prompts.
pub(super) struct Opening<'a, L> {
    service: &'a dyn Service,
    now: Timestamp,
    list: L,
    /// The session that was opened last.
    last: Mutex<Option<(String, Arc<Opened>)>>,
}

/// A session that was opened.
struct Opened {
    short: String,
    turns: Vec<OverviewTurn>,
}

impl<'a, L: Fn(&Asked, &Control<'_>) -> Answer<Listing> + Sync> Opening<'a, L> {
    /// Makes what a picker asks of a list, which `list` makes from what was typed.
    pub(super) fn new(service: &'a dyn Service, now: Timestamp, list: L) -> Self {
        Self { service, now, list, last: Mutex::default() }
    }
}

impl<L: Fn(&Asked, &Control<'_>) -> Answer<Listing> + Sync> Source for Opening<'_, L> {
    fn prepare(&self, control: &Control<'_>) -> Answer<Option<String>> {
        let status = self.service.settle_index(control)?;
        Ok(status.notes.into_iter().next().map(|note| note.message))
    }

    fn list(&self, asked: &Asked, control: &Control<'_>) -> Answer<Listing> {
        match &asked.within {
            Some(session) => self.prompts(session, &asked.text),
            None => (self.list)(asked, control),
        }
    }

    fn preview(&self, row: &Row) -> Answer<Preview> {
        preview::of(self.service, row, self.now)
    }
}

impl<L> Opening<'_, L> {
    /// Lists the prompts of a session that have all words of a text, the first one first.
    fn prompts(&self, session: &str, text: &str) -> Answer<Listing> {
        let opened = self.opened(session)?;
        let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
        let has_all = |turn: &&OverviewTurn| {
            let prompt = turn.prompt.as_deref().unwrap_or_default().to_lowercase();
            words.iter().all(|word| prompt.contains(word.as_str()))
        };
        let numbered = opened.turns.iter().filter(|turn| turn.number.is_some());
        let rows: Vec<Row> =
            numbered.filter(has_all).map(|turn| row(&opened.short, turn, self.now)).collect();
        let about = match rows.len() {
            0 if words.is_empty() => "no prompts in this session".to_owned(),
            0 => "no prompt has these words".to_owned(),
            count => format!("{} of {}", plural(count, "prompt"), opened.short),
        };
        Ok(Listing { rows, about, has_more: false })
    }

    fn opened(&self, session: &str) -> Answer<Arc<Opened>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, opened)) = last.as_ref().filter(|(known, _)| known == session) {
            return Ok(Arc::clone(opened));
        }
        let request = OverviewRequest { reference: session.to_owned(), here: None };
        let turns =
            self.service.overview(&request)?.overview.map_or_else(Vec::new, |overview| overview.turns);
        let named = self.service.session(&SessionRequest { reference: session.to_owned() })?;
        let opened = Arc::new(Opened { short: session::short(&named), turns });
        *last = Some((session.to_owned(), Arc::clone(&opened)));
        Ok(opened)
    }
}

fn row(session: &str, turn: &OverviewTurn, now: Timestamp) -> Row {
    let number = turn.number.unwrap_or_default();
    let when = turn.outline.began_at.map(|at| time::ago(at, now));
    let mut line: Vec<Piece> = vec![(Style::Plain, turn.title.clone().unwrap_or_default())];
    for piece in outline::outcome(&turn.outline, true) {
        line.extend([(Style::Plain, "  ".to_owned()), piece]);
    }
    let named = format!("{session}:{number}");
    Row {
        place: vec![
            (Style::Id, format!("{number:>4}. ")),
            (Style::Faint, format!("{:WHEN_COLUMNS$}  ", when.unwrap_or_default())),
        ],
        line,
        target: Target {
            reference: Some(turn.ctx.to_string()),
            entry: turn.entry.as_ref().map(ToString::to_string),
            session: None,
            prompt: Some(named.clone()),
            opens: None,
            id: named,
        },
        focus: None,
    }
}
