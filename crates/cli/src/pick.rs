//! A list to choose from on a terminal: type to narrow it, look at what is selected, act on it.
//!
//! What is listed is a [`Source`]'s to know. What keys do is decided in `state`, without a terminal.

mod draw;
mod keys;
mod line;
mod state;
mod terminal;
mod work;

use std::sync::mpsc::{Receiver, Sender, channel};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGWINCH};
use stemmata_api::{Answer, CancelToken, Control, Progress, Step};
use stemmata_model::Timestamp;

use crate::errors::CliError;
use crate::output::style::{Style, tame};
use crate::output::table::fit;
use crate::output::time;
use crate::signals;
use keys::Keys;
use state::Pick;
pub(crate) use state::{Act, Ended, Event, Setup};
use terminal::{Screen, Waker, Woken};
use work::Latest;

/// Text in a style.
pub(crate) type Piece = (Style, String);

/// What somebody asks a list for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    /// What was typed.
    pub(crate) text: String,
    /// Whether everything is listed, and not only what is near.
    pub(crate) is_wide: bool,
    /// Rows that are wanted. More are asked for where somebody moves down to them.
    pub(crate) rows: usize,
    /// The session whose prompts are listed, as [`Target::opens`] named it.
    pub(crate) within: Option<String>,
}

/// A line of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// Where and when it was, in columns: a narrow terminal leaves out the last one first.
    pub(crate) place: Vec<Piece>,
    /// What it says.
    pub(crate) line: Vec<Piece>,
    /// What it stands for.
    pub(crate) target: Target,
    /// The line of its preview that matters.
    pub(crate) focus: Option<String>,
}

impl Row {
    /// Returns what it says without its styles.
    pub(crate) fn text(&self) -> String {
        self.place.iter().chain(&self.line).map(|(_, text)| text.as_str()).collect()
    }
}

/// Columns of a time, and of a client's and a project's name.
const WHEN_COLUMNS: usize = 8;
const CLIENT_COLUMNS: usize = 11;
const PROJECT_COLUMNS: usize = 14;

/// Returns when and where something was, in columns.
pub(crate) fn place_of(at: Option<Timestamp>, client: &str, project: &str, now: Timestamp) -> [Piece; 3] {
    let when = at.map(|at| time::ago(at, now)).unwrap_or_default();
    let (client, project) = (fit(&tame(client), CLIENT_COLUMNS), fit(project, PROJECT_COLUMNS));
    [
        (Style::Faint, format!("{when:WHEN_COLUMNS$}  ")),
        (Style::Faint, format!("{client:CLIENT_COLUMNS$}  ")),
        (Style::Branch, format!("{project:PROJECT_COLUMNS$}  ")),
    ]
}

/// What a row stands for. Equal targets are the same thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// The reference for `show`, `resume` and `fork`, or `None` if these commands cannot take the row.
    pub(crate) reference: Option<String>,
    /// The entry of it.
    pub(crate) entry: Option<String>,
    /// For a whole session: its id. Another one may have the same, as copies do.
    pub(crate) session: Option<String>,
    /// For a prompt: `SESSION:N`, which commands take in the place of the reference.
    pub(crate) prompt: Option<String>,
    /// The transcript of the session that it is of, whose prompts can be listed. Sessions may share an id.
    pub(crate) opens: Option<String>,
    /// What is copied.
    pub(crate) id: String,
}

/// What a source lists.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Listing {
    /// The best first.
    pub(crate) rows: Vec<Row>,
    /// What the list says of itself: how many there are, what it lacks.
    pub(crate) about: String,
    /// Whether there may be more than was asked for.
    pub(crate) has_more: bool,
}

/// What is shown of the row that is selected.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Preview {
    /// Its lines.
    pub(crate) lines: Vec<Vec<Piece>>,
    /// The line that is always in view.
    pub(crate) focus: usize,
}

/// What a picker lists. Called in threads of its own, so that keys are never waited for.
pub(crate) trait Source: Sync {
    /// Brings what is listed up to date, for as long as that takes. Returns what kept it from that.
    fn prepare(&self, control: &Control<'_>) -> Answer<Option<String>>;

    /// Lists what was asked for. Ends soon once it is cancelled.
    fn list(&self, asked: &Asked, control: &Control<'_>) -> Answer<Listing>;

    /// Reads what is shown of a row.
    fn preview(&self, row: &Row) -> Answer<Preview>;
}

/// What a picker does next; the answer of [`Pick::update`].
#[derive(Debug, Clone, PartialEq, Eq)]
enum Effect {
    /// List this, in place of what was asked for before.
    List(u64, Asked),
    /// Read what is shown of this row, in place of the one before.
    Preview(u64, Row),
    /// Put a text into the clipboard.
    Copy(String),
    /// Leave the terminal.
    End(Ended),
}

/// Lets a person choose. Returns how that ended, and the id that was copied last.
///
/// A signal that asks this process to end does so once the terminal is as it was.
pub(crate) fn pick(source: &dyn Source, setup: Setup) -> Result<(Ended, Option<String>), CliError> {
    let failed = CliError::Output;
    let (waker, woken) = terminal::waker().map_err(failed)?;
    let (sender, events) = channel();
    let link = Link { sender, waker };
    let heard = link.clone();
    let _listening = signals::hear(&[SIGINT, SIGTERM, SIGHUP, SIGWINCH], move |signal| {
        heard.send(if signal == SIGWINCH { Event::Resized } else { Event::Signal(signal) });
    })
    .map_err(failed)?;
    let workers = Workers::default();
    let mut pick = Pick::new(setup);
    let ended = std::thread::scope(|scope| {
        // Threads of this scope end with it, also where drawing panics.
        let _end = workers.ended_on_drop();
        let mut screen = Screen::enter()?;
        screen.draw(&pick)?;
        for work in [Workers::prepare, Workers::list, Workers::preview] {
            let (workers, link) = (&workers, link.clone());
            std::thread::Builder::new()
                .name("stemma-pick".to_owned())
                .spawn_scoped(scope, move || work(workers, source, &link))?;
        }
        show(&mut pick, &mut screen, &workers, (&events, &woken))
    })
    .map_err(failed)?;
    if let Ended::Signal(signal) = ended {
        signals::end_by(signal);
    }
    Ok((ended, pick.copied))
}

/// Shows the list until somebody chooses or leaves.
fn show(
    pick: &mut Pick,
    screen: &mut Screen,
    workers: &Workers,
    (events, woken): (&Receiver<Event>, &Woken),
) -> std::io::Result<Ended> {
    let mut keys = Keys::default();
    let mut due = pick.begin();
    loop {
        for effect in due.drain(..) {
            match effect {
                Effect::List(number, asked) => workers.lists.ask((number, asked)),
                Effect::Preview(number, row) => workers.previews.ask((number, row)),
                Effect::Copy(text) => terminal::copy(&text)?,
                Effect::End(ended) => return Ok(ended),
            }
        }
        pick.height = screen.rows();
        screen.draw(pick)?;
        let typed = terminal::wait(woken, &mut keys)?;
        for event in typed.into_iter().map(Event::Key).chain(events.try_iter()) {
            due.extend(pick.update(event));
        }
    }
}

/// How threads reach the one that draws.
#[derive(Clone)]
struct Link {
    sender: Sender<Event>,
    waker: Waker,
}

impl Link {
    fn send(&self, event: Event) {
        // Where nobody listens any more the picker has ended.
        if self.sender.send(event).is_ok() {
            self.waker.wake();
        }
    }
}

/// What is asked of the threads that read.
#[derive(Default)]
struct Workers {
    lists: Latest<(u64, Asked)>,
    previews: Latest<(u64, Row)>,
    preparing: CancelToken,
}

impl Workers {
    fn ended_on_drop(&self) -> impl Drop {
        struct EndWorkers<'w>(&'w Workers);
        impl Drop for EndWorkers<'_> {
            fn drop(&mut self) {
                self.0.preparing.cancel();
                self.0.lists.end();
                self.0.previews.end();
            }
        }
        EndWorkers(self)
    }

    fn prepare(&self, source: &dyn Source, link: &Link) {
        let progress = Told(link);
        let control = Control { progress: &progress, cancel: Some(&self.preparing), ..Control::none() };
        link.send(Event::Prepared(source.prepare(&control)));
    }

    fn list(&self, source: &dyn Source, link: &Link) {
        while let Some(((number, asked), cancel)) = self.lists.next() {
            let control = Control { cancel: Some(&cancel), ..Control::none() };
            link.send(Event::Listed(number, source.list(&asked, &control)));
        }
    }

    fn preview(&self, source: &dyn Source, link: &Link) {
        while let Some(((number, row), _)) = self.previews.next() {
            link.send(Event::Previewed(number, source.preview(&row)));
        }
    }
}

/// Passes on how far preparing is.
struct Told<'l>(&'l Link);

impl Progress for Told<'_> {
    fn step(&self, step: &Step<'_>) {
        self.0.send(Event::Preparing { done: step.done, total: step.total });
    }
}
