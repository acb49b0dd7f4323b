//! What commands print: JSON by its wire types, or text for people. Decides where bytes go and in what dress.
//!
//! What is printed comes from the commands.

pub(crate) mod commit;
pub(crate) mod draw;
pub(crate) mod event;
pub(crate) mod file;
pub(crate) mod left_out;
pub(crate) mod outline;
pub(crate) mod pager;
pub(crate) mod screen;
pub(crate) mod session;
pub(crate) mod size;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod time;
pub(crate) mod turns;
mod wrap;

/// Appends formatted text to a `String`.
macro_rules! put {
    ($text:expr, $($format:tt)+) => {{
        use std::fmt::Write as _;
        write!($text, $($format)+).expect("a string takes any text")
    }};
}
pub(crate) use put;

use std::cell::RefCell;
use std::fmt::Display;
use std::io::{self, Write};

use serde::Serialize;
use stemmata_api::Problem;

use crate::errors::CliError;
use crate::output::screen::{Form, Screened};
use crate::output::style::Style;

/// Columns that text fits into at least, so that a table in a narrow window still says something.
const WIDTH_MIN: usize = 60;

/// Columns that a table uses at most: longer lines are hard to read.
const WIDTH_MAX: usize = 200;

/// Warnings and notes that wait for the end of a command at most.
const HELD_MAX: usize = 1_000;

/// One of the two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stream {
    /// Whether it is a terminal.
    pub(crate) is_terminal: bool,
    /// Whether it takes colour.
    pub(crate) color: bool,
    /// Columns that a text is broken to between words: those of a terminal, else [`usize::MAX`].
    pub(crate) columns: usize,
}

impl Stream {
    /// Makes a stream; `terminal` has the columns of the terminal that it goes to.
    pub(crate) fn new(terminal: Option<usize>, color: bool) -> Self {
        let columns = terminal.map_or(usize::MAX, Console::width_in);
        Self { is_terminal: terminal.is_some(), color, columns }
    }
}

/// Where output goes, and how.
#[derive(Debug, Clone)]
pub(crate) struct Console {
    /// Whether results are JSON.
    pub(crate) json: bool,
    /// Whether notes and progress are left out.
    pub(crate) quiet: bool,
    /// Standard output.
    pub(crate) out: Stream,
    /// Standard error.
    pub(crate) err: Stream,
    /// Columns that a line has: those of the terminal or of `COLUMNS`. Off a terminal a program reads it and nothing is cut:
    /// [`usize::MAX`].
    pub(crate) width: usize,
    /// What is said on standard error before it is known how the command ends: with JSON a failure is one object there, and with
    /// `--quiet` a success says nothing. `None` where it is said at once.
    pub(crate) held: Option<RefCell<Vec<String>>>,
    /// The command that long output goes through on a terminal.
    pub(crate) pager: Option<String>,
}

impl Console {
    /// Returns the columns for text in a terminal of so many.
    pub(crate) fn width_in(columns: usize) -> usize {
        columns.clamp(WIDTH_MIN, WIDTH_MAX)
    }

    /// Says whether lines are cut to the width.
    pub(crate) const fn is_cut(&self) -> bool {
        self.width != usize::MAX
    }

    /// Returns a part of a line, cut to so many columns where lines are cut at all.
    pub(crate) fn fit(&self, text: &str, columns: usize) -> String {
        table::fit(text, if self.is_cut() { columns } else { usize::MAX })
    }

    /// Prints one JSON object. Characters that a terminal would obey are escaped.
    #[expect(clippy::unused_self, reason = "all output goes through the console")]
    pub(crate) fn json(&self, value: &impl Serialize) -> Result<(), CliError> {
        let mut out = Screened::new(io::BufWriter::new(io::stdout().lock()), Form::Json);
        serde_json::to_writer_pretty(&mut out, value).map_err(json_failed)?;
        out.write_all(b"\n").and_then(|()| out.finish()).map_err(CliError::Output)
    }

    /// Prints one JSON object as one line, of several that a command prints.
    #[expect(clippy::unused_self, reason = "all output goes through the console")]
    pub(crate) fn json_line(&self, value: &impl Serialize) -> Result<(), CliError> {
        let mut out = Screened::new(io::LineWriter::new(io::stdout().lock()), Form::Json);
        serde_json::to_writer(&mut out, value).map_err(json_failed)?;
        out.write_all(b"\n").and_then(|()| out.finish()).map_err(CliError::Output)
    }

    /// Prints text that a command made, with the styles in it or without.
    pub(crate) fn text(&self, text: &str) -> Result<(), CliError> {
        let mut out = io::stdout().lock();
        let text = screen::finish(text, self.out.color);
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(CliError::Output)
    }

    /// Prints text that may be longer than the terminal is high; a single line needs no pager.
    pub(crate) fn long_text(&self, text: &str) -> Result<(), CliError> {
        if !self.out.is_terminal || self.json {
            return self.text(text);
        }
        let shown = wrap::words(&screen::finish(text, self.out.color), self.width);
        let printed = || {
            let mut out = io::stdout().lock();
            out.write_all(shown.as_bytes()).and_then(|()| out.flush()).map_err(CliError::Output)
        };
        match &self.pager {
            Some(command) if text.lines().nth(1).is_some() => {
                pager::show(command, &shown).or_else(|_| printed())
            }
            _ => printed(),
        }
    }

    /// Says something on standard error that is neither result nor error.
    pub(crate) fn say(&self, text: &str) {
        if !self.quiet {
            self.to_stderr(text);
        }
    }

    /// Says what may be done next.
    pub(crate) fn hint(&self, text: &str) {
        self.say(&format!("{}: {text}", Style::Hint.paint("hint")));
    }

    /// Asks something on standard error; the answer is typed behind it.
    pub(crate) fn ask(&self, question: &str) -> Result<(), CliError> {
        let mut stderr = std::io::stderr().lock();
        // What may be answered stays in one piece.
        let text = wrap::words(&screen::finish(question, self.err.color), self.err.columns);
        stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()).map_err(CliError::Output)
    }

    /// Shows notes of a degraded result; these reach the user even where results are JSON, which holds them too.
    pub(crate) fn notes(&self, notes: &[impl Display]) {
        for note in notes {
            self.say(&format!("{}: {}", Style::Note.paint("note"), screen::tame(note.to_string())));
        }
    }

    /// Warns about something that does not stop the command; with `--quiet` only where the command ends with another code than 0.
    pub(crate) fn warn(&self, text: &str) {
        // A name with a line end in it cannot pass for a line of ours.
        let text = text.replace('\n', "\n  ");
        self.to_stderr(&format!("{}: {text}", Style::Warning.paint("warning")));
    }

    /// Warns about something that a person must know even with `--quiet`, because no exit code says it.
    pub(crate) fn warn_always(&self, text: &str) {
        if self.json {
            self.warn(text);
        } else {
            Self::plain_error(&format!("{}: {text}", Style::Warning.paint("warning")), self.err);
        }
    }

    fn to_stderr(&self, text: &str) {
        match &self.held {
            Some(held) => {
                let mut held = held.borrow_mut();
                if held.len() < HELD_MAX {
                    held.push(text.to_owned());
                }
            }
            None => Self::plain_error(text, self.err),
        }
    }

    /// Returns what was held back, without colour, for an object that says it.
    pub(crate) fn take_held(&self) -> Vec<String> {
        let held = self.held.as_ref().map(RefCell::take).unwrap_or_default();
        held.iter().map(|text| screen::finish(text, false)).collect()
    }

    /// Says what was held back.
    pub(crate) fn say_held(&self) {
        for text in self.held.as_ref().map(RefCell::take).unwrap_or_default() {
            Self::plain_error(&text, self.err);
        }
    }

    /// Says from now on everything at once, for a command that ends only when it is stopped.
    pub(crate) fn hold_nothing(&mut self) {
        self.say_held();
        self.held = None;
    }

    /// Writes a problem to standard error as one JSON object: who reads the results on standard output does not meet it there.
    pub(crate) fn json_error(problem: &Problem) {
        let mut out = Screened::new(io::stderr().lock(), Form::Json);
        let written = serde_json::to_writer_pretty(&mut out, problem).map_err(io::Error::from);
        let _closed = written.and_then(|()| out.write_all(b"\n")).and_then(|()| out.finish());
    }

    /// Writes lines to standard error; where that is closed there is nobody to tell.
    pub(crate) fn plain_error(text: &str, stream: Stream) {
        let line = format!("{}\n", wrap::message(&screen::finish(text, stream.color), stream.columns));
        let _closed = io::stderr().lock().write_all(line.as_bytes());
    }
}

fn json_failed(error: serde_json::Error) -> CliError {
    CliError::Output(error.io_error_kind().map_or_else(|| io::Error::other(error), Into::into))
}
