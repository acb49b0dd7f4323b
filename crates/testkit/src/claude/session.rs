//! Whole made-up sessions, as a list or as an endless stream of lines.
//! Not single lines: `lines` makes those; here is decided what follows what.

mod writing;

use std::io::{self, Write};

use stemmata_model::Timestamp;

use crate::clock::{Clock, START};
use crate::rng::Rng;

pub use writing::SessionLines;

/// What a made-up session is like. Every session is a function of its seed and these settings.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent switches, each set by a method of its own name"
)]
pub struct ClaudeSession {
    seed: u64,
    version: String,
    session_id: Option<String>,
    cwd: Option<String>,
    start: Timestamp,
    turns: u64,
    bytes: Option<u64>,
    tool_calls: u64,
    parallel: u64,
    compactions: u64,
    keep_messages: bool,
    rewinds: u64,
    subagents: u64,
    thinking: bool,
    progress: bool,
    attachments: bool,
}

/// A made-up session with its side files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// The session's id, a UUID.
    pub session_id: String,
    /// The working directory the session ran in.
    pub cwd: String,
    /// The lines of `<session_id>.jsonl`, without line ends.
    pub lines: Vec<String>,
    /// The subagents' files.
    pub subagents: Vec<SideFile>,
}

/// A file beside the session's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SideFile {
    /// Its path relative to the project's folder, such as `<session>/subagents/agent-1f2e3d4.jsonl`.
    pub path: String,
    /// Its lines, without line ends.
    pub lines: Vec<String>,
}

impl ClaudeSession {
    /// Starts a session of three turns by the version 2.1.39.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            version: "2.1.39".to_owned(),
            session_id: None,
            cwd: None,
            start: Timestamp::parse(START).expect("START is a timestamp"),
            turns: 3,
            bytes: None,
            tool_calls: 4,
            parallel: 2,
            compactions: 0,
            keep_messages: false,
            rewinds: 0,
            subagents: 0,
            thinking: true,
            progress: true,
            attachments: true,
        }
    }

    /// Sets the client's version, which decides the shape of the lines.
    #[must_use]
    pub fn version(mut self, version: &str) -> Self {
        version.clone_into(&mut self.version);
        self
    }

    /// Sets the session's id instead of drawing one.
    #[must_use]
    pub fn session_id(mut self, session_id: &str) -> Self {
        self.session_id = Some(session_id.to_owned());
        self
    }

    /// Sets the working directory instead of drawing one.
    #[must_use]
    pub fn cwd(mut self, cwd: &str) -> Self {
        self.cwd = Some(cwd.to_owned());
        self
    }

    /// Sets when the session starts.
    #[must_use]
    pub const fn start(mut self, start: Timestamp) -> Self {
        self.start = start;
        self
    }

    /// Sets how many turns there are; without effect beside `approx_bytes`.
    #[must_use]
    pub const fn turns(mut self, turns: u64) -> Self {
        self.turns = turns;
        self
    }

    /// Goes on with turns until the session has so many bytes; it ends with the turn that passes them.
    #[must_use]
    pub const fn approx_bytes(mut self, bytes: u64) -> Self {
        self.bytes = Some(bytes);
        self
    }

    /// Sets how many rounds of tool calls a turn has on average; 0 for none.
    #[must_use]
    pub const fn tool_calls(mut self, rounds: u64) -> Self {
        self.tool_calls = rounds;
        self
    }

    /// Sets how many calls the model makes at once in every third round; 1 for never more than one.
    #[must_use]
    pub const fn parallel(mut self, calls: u64) -> Self {
        self.parallel = calls;
        self
    }

    /// Sets how many compactions there are, spread evenly.
    #[must_use]
    pub const fn compactions(mut self, count: u64) -> Self {
        self.compactions = count;
        self
    }

    /// Sets whether compactions keep the last messages verbatim, where the version can.
    #[must_use]
    pub const fn keep_messages(mut self, keep: bool) -> Self {
        self.keep_messages = keep;
        self
    }

    /// Sets how often the person goes back to the prompt before and asks something else.
    #[must_use]
    pub const fn rewinds(mut self, count: u64) -> Self {
        self.rewinds = count;
        self
    }

    /// Sets how many subagents run, spread evenly.
    #[must_use]
    pub const fn subagents(mut self, count: u64) -> Self {
        self.subagents = count;
        self
    }

    /// Sets whether the model's thinking is recorded.
    #[must_use]
    pub const fn thinking(mut self, thinking: bool) -> Self {
        self.thinking = thinking;
        self
    }

    /// Sets whether progress lines stand in the chain, where the version has them.
    #[must_use]
    pub const fn progress(mut self, progress: bool) -> Self {
        self.progress = progress;
        self
    }

    /// Sets whether attachments stand in the chain, where the version has them.
    #[must_use]
    pub const fn attachments(mut self, attachments: bool) -> Self {
        self.attachments = attachments;
        self
    }

    /// Returns the lines one after the other, in memory that does not grow with the session.
    pub fn lines(&self) -> SessionLines {
        SessionLines::new(self, Rng::new(self.seed), Clock::at(self.start))
    }

    /// Makes the session.
    pub fn build(&self) -> Transcript {
        let mut stream = self.lines();
        let session_id = stream.session_id().to_owned();
        let cwd = stream.cwd().to_owned();
        let mut lines = Vec::new();
        let mut subagents = Vec::new();
        while let Some(line) = stream.next() {
            lines.push(line);
            subagents.append(&mut stream.take_side_files());
        }
        Transcript { session_id, cwd, lines, subagents }
    }

    /// Writes the session's own lines, each with its line end, and returns the bytes written.
    ///
    /// # Errors
    /// What the output returns.
    pub fn write_to(&self, output: &mut impl Write) -> io::Result<u64> {
        let mut bytes = 0;
        let mut stream = self.lines();
        while let Some(line) = stream.next() {
            output.write_all(line.as_bytes())?;
            output.write_all(b"\n")?;
            bytes += u64::try_from(line.len()).unwrap_or(u64::MAX) + 1;
            drop(stream.take_side_files());
        }
        Ok(bytes)
    }
}

impl Transcript {
    /// Returns the session's own file, every line with its line end.
    pub fn text(&self) -> String {
        joined(&self.lines)
    }
}

impl SideFile {
    /// Returns the file, every line with its line end.
    pub fn text(&self) -> String {
        joined(&self.lines)
    }
}

fn joined(lines: &[String]) -> String {
    let mut text = lines.join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    text
}
