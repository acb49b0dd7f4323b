//! What commands print: JSON by its wire types, or text for people. Decides where bytes go and in what dress.
//!
//! What is printed comes from the commands.

pub(crate) mod commit;
pub(crate) mod draw;
pub(crate) mod event;
pub(crate) mod file;
pub(crate) mod outline;
pub(crate) mod pager;
pub(crate) mod screen;
pub(crate) mod session;
pub(crate) mod size;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod time;
pub(crate) mod turns;

/// Appends formatted text to a `String`.
macro_rules! put {
    ($text:expr, $($format:tt)+) => {{
        use std::fmt::Write as _;
        write!($text, $($format)+).expect("a string takes any text")
    }};
}
pub(crate) use put;

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

/// One of the two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stream {
    /// Whether it is a terminal.
    pub(crate) is_terminal: bool,
    /// Whether it takes colour.
    pub(crate) color: bool,
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
    /// Columns for text.
    pub(crate) width: usize,
    /// Columns of the lines of lists, where these are cut.
    pub(crate) cut: Option<usize>,
    /// The command that long output goes through on a terminal.
    pub(crate) pager: Option<String>,
}

impl Console {
    /// Returns the columns for text in a terminal of so many.
    pub(crate) fn width_in(columns: usize) -> usize {
        columns.clamp(WIDTH_MIN, WIDTH_MAX)
    }

    /// Returns the columns that a list has: as many as it wants where nothing is cut.
    pub(crate) fn list_width(&self) -> usize {
        self.cut.map_or(usize::MAX, Self::width_in)
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
        match &self.pager {
            Some(command) if self.out.is_terminal && !self.json && text.lines().nth(1).is_some() => {
                pager::show(command, &screen::finish(text, self.out.color)).or_else(|_| self.text(text))
            }
            _ => self.text(text),
        }
    }

    /// Says something on standard error that is neither result nor error.
    pub(crate) fn say(&self, text: &str) {
        if !self.quiet {
            self.to_stderr(text);
        }
    }

    /// Asks something on standard error; the answer is typed behind it.
    pub(crate) fn ask(&self, question: &str) -> Result<(), CliError> {
        let mut stderr = std::io::stderr().lock();
        let text = screen::finish(question, self.err.color);
        stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()).map_err(CliError::Output)
    }

    /// Shows notes of a degraded result; these reach the user even where results are JSON, which holds them too.
    pub(crate) fn notes(&self, notes: &[impl Display]) {
        for note in notes {
            self.say(&format!("{}: {}", Style::Note.paint("note"), screen::tame(&note.to_string())));
        }
    }

    /// Warns about something that does not stop the command.
    pub(crate) fn warn(&self, text: &str) {
        // A name with a line end in it cannot pass for a line of ours.
        let text = text.replace('\n', "\n  ");
        self.to_stderr(&format!("{}: {text}", Style::Warning.paint("warning")));
    }

    fn to_stderr(&self, text: &str) {
        Self::plain_error(text, self.err.color);
    }

    /// Writes a problem to standard error as one JSON object: who reads the results on standard output does not meet it there.
    pub(crate) fn json_error(problem: &Problem) {
        let mut out = Screened::new(io::stderr().lock(), Form::Json);
        let written = serde_json::to_writer_pretty(&mut out, problem).map_err(io::Error::from);
        let _closed = written.and_then(|()| out.write_all(b"\n")).and_then(|()| out.finish());
    }

    /// Writes lines to standard error; where that is closed there is nobody to tell.
    pub(crate) fn plain_error(text: &str, color: bool) {
        let line = format!("{}\n", screen::finish(text, color));
        let _closed = io::stderr().lock().write_all(line.as_bytes());
    }
}

fn json_failed(error: serde_json::Error) -> CliError {
    CliError::Output(error.io_error_kind().map_or_else(|| io::Error::other(error), Into::into))
}
