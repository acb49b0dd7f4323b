//! The state of a picker. `update` changes it for each key and each answer, and returns the effects that the caller carries
//! out. Pure: it reads no terminal and starts no search.

use std::ffi::c_int;

use stemmata_api::Answer;

use super::keys::Key;
use super::line::Line;
use super::{Asked, Effect, Listing, Preview, Row, Target};

/// Rows that are asked for at first: few, so that they are there at once. Then the rest of the screen is.
const ROWS_FIRST: usize = 8;

/// How many times as many are asked for where somebody comes near their end.
const ROWS_TIMES: usize = 4;

/// What a person can do with what is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    /// Read it.
    Show,
    /// Go on from it in its client.
    Resume,
    /// Place it as a new session.
    Fork,
}

/// How a picker begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setup {
    /// The text to begin with.
    pub(crate) text: String,
    /// What the list is of at first, for a person: a directory.
    pub(crate) near: String,
    /// What Enter does.
    pub(crate) enter: Act,
    /// Whether the terminal takes colour.
    pub(crate) color: bool,
}

/// Something that happened.
#[derive(Debug)]
pub(crate) enum Event {
    /// A key was pressed.
    Key(Key),
    /// The list that was asked for under this number.
    Listed(u64, Answer<Listing>),
    /// What is shown of a row, as it was asked for under this number.
    Previewed(u64, Answer<Preview>),
    /// What is listed is being brought up to date.
    Preparing {
        /// How far that is.
        done: u64,
        /// Of how many.
        total: Option<u64>,
    },
    /// What is listed is up to date.
    Prepared(Answer<Option<String>>),
    /// The terminal has another size.
    Resized,
    /// A signal asks this process to end.
    Signal(c_int),
}

/// How a picker ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Nothing was chosen.
    Left,
    /// This was chosen.
    Chosen(Act, Target),
    /// A signal ended it.
    Signal(c_int),
}

/// How far it is that what is listed is brought up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Preparation {
    /// Nothing is to be said of it.
    Silent,
    /// So much is done, of so much.
    Going(u64, Option<u64>),
}

/// A picker.
#[derive(Debug)]
pub(crate) struct Pick {
    pub(super) setup: Setup,
    pub(super) line: Line,
    pub(super) is_wide: bool,
    /// Rows of the list that are in view.
    pub(super) height: usize,
    pub(super) listing: Listing,
    pub(super) selected: usize,
    pub(super) preview: Option<Preview>,
    pub(super) preparation: Preparation,
    /// What went wrong, or was done; until the next key.
    pub(super) message: Option<String>,
    /// The id that was copied last.
    pub(super) copied: Option<String>,
    /// The number of the list that was asked for last, and of the one that is there.
    lists: (u64, u64),
    previews: u64,
    /// What was pressed before its list was there.
    waiting: Option<Key>,
    /// Whether rows are of the text that is there: the selection is kept then.
    is_same: bool,
    /// Rows that are asked for.
    wanted: usize,
    /// The session whose prompts are listed, and the list that it was in.
    inside: Option<Box<Inside>>,
}

/// A session whose prompts are listed, and what was there before.
#[derive(Debug)]
struct Inside {
    session: String,
    line: Line,
    listing: Listing,
    selected: usize,
    wanted: usize,
}

impl Pick {
    /// Returns a picker that has asked for nothing yet.
    pub(super) const fn new(setup: Setup) -> Self {
        Self {
            line: Line::new(),
            is_wide: false,
            height: 1,
            listing: Listing { rows: Vec::new(), about: String::new(), has_more: false },
            selected: 0,
            preview: None,
            preparation: Preparation::Silent,
            message: None,
            copied: None,
            lists: (1, 0),
            previews: 0,
            waiting: None,
            is_same: false,
            wanted: ROWS_FIRST,
            inside: None,
            setup,
        }
    }

    /// Takes the text to begin with, and returns what is to be done first.
    pub(super) fn begin(&mut self) -> Vec<Effect> {
        let text = std::mem::take(&mut self.setup.text);
        text.chars().for_each(|char| self.line.insert(char));
        self.list(false)
    }

    /// Says whether rows are on their way.
    pub(super) const fn is_listing(&self) -> bool {
        self.lists.0 != self.lists.1
    }

    /// Says whether the rows that are there are of what was asked before: no key acts on them.
    pub(super) const fn is_stale(&self) -> bool {
        self.is_listing() && !self.is_same
    }

    /// Says whether the prompts of a session are listed.
    pub(super) const fn is_inside(&self) -> bool {
        self.inside.is_some()
    }

    /// Returns the row that is selected.
    pub(super) fn row(&self) -> Option<&Row> {
        self.listing.rows.get(self.selected)
    }

    /// Takes an event, and returns what is to be done. After the end nothing is.
    pub(super) fn update(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Key(key) => self.press(key),
            Event::Listed(number, listed) if number == self.lists.0 => self.listed(listed),
            Event::Previewed(number, read) if number == self.previews => {
                self.preview = Some(read.unwrap_or_else(|problem| Preview::of_text(&problem.detail)));
                Vec::new()
            }
            // It is of what was asked for before.
            Event::Listed(..) | Event::Previewed(..) | Event::Resized => Vec::new(),
            Event::Preparing { done, total } => {
                self.preparation = Preparation::Going(done, total);
                Vec::new()
            }
            Event::Prepared(done) => self.prepared(done),
            Event::Signal(signal) => vec![Effect::End(Ended::Signal(signal))],
        }
    }

    fn press(&mut self, key: Key) -> Vec<Effect> {
        self.message = None;
        self.waiting = None;
        let last = self.listing.rows.len().saturating_sub(1);
        match key {
            Key::Char(char) => {
                self.line.insert(char);
                self.list(false)
            }
            Key::Erase if self.line.erase() => self.list(false),
            Key::EraseNext if self.line.erase_next() => self.list(false),
            Key::Erase | Key::EraseNext => Vec::new(),
            Key::EraseWord => {
                self.line.erase_word();
                self.list(false)
            }
            Key::Clear => {
                self.line.clear();
                self.list(false)
            }
            Key::Right if self.line.halves().1.is_empty() => self.open(),
            Key::Left if self.line.halves().0.is_empty() => self.close(),
            Key::Left | Key::Right | Key::Home | Key::End => self.move_cursor(key),
            Key::Widen if self.is_inside() => Vec::new(),
            Key::Widen => {
                self.is_wide = !self.is_wide;
                self.list(false)
            }
            Key::Up => self.select(self.selected.saturating_sub(1)),
            Key::Down => self.select(self.selected.saturating_add(1)),
            Key::PageUp => self.select(self.selected.saturating_sub(self.height.max(1))),
            Key::PageDown => self.select(self.selected.saturating_add(self.height.max(1))),
            Key::First => self.select(0),
            Key::Last => self.select(last),
            Key::Enter | Key::Resume | Key::Fork | Key::Copy if self.is_stale() => {
                self.waiting = Some(key);
                Vec::new()
            }
            Key::Enter => self.choose(self.setup.enter),
            Key::Resume => self.choose(Act::Resume),
            Key::Fork => self.choose(Act::Fork),
            Key::Copy => self.copy(),
            Key::Leave => vec![Effect::End(Ended::Left)],
        }
    }

    /// Moves the cursor in the line; the list stays.
    fn move_cursor(&mut self, key: Key) -> Vec<Effect> {
        match key {
            Key::Left => self.line.left(),
            Key::Right => self.line.right(),
            Key::Home => self.line.home(),
            _ => self.line.end(),
        }
        Vec::new()
    }

    /// Goes into the session of the row that is selected: lists its prompts.
    fn open(&mut self) -> Vec<Effect> {
        if self.is_stale() {
            self.waiting = Some(Key::Right);
            return Vec::new();
        }
        let Some(session) = self.row().and_then(|row| row.target.opens.clone()) else { return Vec::new() };
        self.inside = Some(Box::new(Inside {
            session,
            line: std::mem::replace(&mut self.line, Line::new()),
            listing: std::mem::take(&mut self.listing),
            selected: std::mem::take(&mut self.selected),
            wanted: self.wanted,
        }));
        self.list(false)
    }

    /// Leaves the session whose prompts are listed: the list is there as it was.
    fn close(&mut self) -> Vec<Effect> {
        let Some(inside) = self.inside.take() else { return Vec::new() };
        let Inside { session: _, line, listing, selected, wanted } = *inside;
        (self.line, self.listing, self.selected, self.wanted) = (line, listing, selected, wanted);
        self.lists.0 += 1;
        self.lists.1 = self.lists.0;
        self.look()
    }

    /// Asks for the list of what was typed; with `is_same` for the same one again.
    fn list(&mut self, is_same: bool) -> Vec<Effect> {
        // What goes on while rows of another text are on their way makes nothing the same.
        self.is_same = is_same && !self.is_stale();
        self.lists.0 += 1;
        if !is_same {
            self.wanted = ROWS_FIRST;
        }
        let asked = Asked {
            text: self.line.text().to_owned(),
            is_wide: self.is_wide,
            rows: self.wanted,
            within: self.inside.as_ref().map(|inside| inside.session.clone()),
        };
        vec![Effect::List(self.lists.0, asked)]
    }

    fn listed(&mut self, listed: Answer<Listing>) -> Vec<Effect> {
        self.lists.1 = self.lists.0;
        let was_selected = self.row().map(|row| row.target.clone()).filter(|_| self.is_same);
        let waiting = self.waiting.take().filter(|_| listed.is_ok());
        match listed {
            Ok(listing) => self.listing = listing,
            Err(problem) => {
                self.listing = Listing::default();
                self.message = Some(problem.detail);
            }
        }
        let again = was_selected.and_then(|was| self.listing.rows.iter().position(|row| row.target == was));
        self.selected = again.unwrap_or(0);
        if let Some(key) = waiting {
            let mut done = self.press(key);
            if self.is_listing() || done.iter().any(|effect| matches!(effect, Effect::End(_))) {
                return done;
            }
            done.extend(self.look());
            return done;
        }
        let mut due = self.look();
        due.extend(self.more());
        due
    }

    fn prepared(&mut self, done: Answer<Option<String>>) -> Vec<Effect> {
        let has_news = self.preparation != Preparation::Silent;
        self.preparation = Preparation::Silent;
        match done {
            Ok(None) => {}
            Ok(Some(trouble)) => self.message = Some(trouble),
            Err(problem) => self.message = Some(problem.detail),
        }
        // What is listed already may lack what came in since.
        if has_news { self.list(!self.is_stale()) } else { Vec::new() }
    }

    fn select(&mut self, row: usize) -> Vec<Effect> {
        let row = row.min(self.listing.rows.len().saturating_sub(1));
        if row == self.selected {
            return Vec::new();
        }
        self.selected = row;
        let mut due = self.look();
        due.extend(self.more());
        due
    }

    /// Asks for more rows where what is selected is near the end of those that are there.
    fn more(&mut self) -> Vec<Effect> {
        let is_near_end = self.selected + self.height.max(1) >= self.listing.rows.len();
        if !is_near_end || !self.listing.has_more || self.is_listing() {
            return Vec::new();
        }
        self.wanted = self.wanted.saturating_mul(ROWS_TIMES);
        self.list(true)
    }

    /// Asks for what is shown of the row that is selected.
    fn look(&mut self) -> Vec<Effect> {
        self.previews += 1;
        let Some(row) = self.row().cloned() else {
            self.preview = None;
            return Vec::new();
        };
        vec![Effect::Preview(self.previews, row)]
    }

    /// Ends with what is selected.
    fn choose(&mut self, act: Act) -> Vec<Effect> {
        let Some(row) = self.row() else { return Vec::new() };
        if row.target.reference.is_none() {
            self.message = Some(format!("{} has no session to show or to continue", row.target.id));
            return Vec::new();
        }
        vec![Effect::End(Ended::Chosen(act, row.target.clone()))]
    }

    fn copy(&mut self) -> Vec<Effect> {
        let Some(id) = self.row().map(|row| row.target.id.clone()) else { return Vec::new() };
        self.message = Some(format!("copied {id}"));
        self.copied = Some(id.clone());
        vec![Effect::Copy(id)]
    }
}

impl Preview {
    /// Returns a preview that is a text.
    pub(crate) fn of_text(text: &str) -> Self {
        let line = |line: &str| vec![(crate::output::style::Style::Plain, line.to_owned())];
        Self { lines: text.lines().map(line).collect(), focus: 0 }
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
