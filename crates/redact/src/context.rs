//! What stands before a line in its stream, as far as it says something of the line: a name whose value may follow, the head of a
//! table. Finds nothing itself, and keeps nothing of a stream in which no such line stands.

use serde::{Deserialize, Serialize};

use crate::beside::LINES_MAX;
use crate::edits::{Edit, What};
use crate::pieces::{self, Piece};
use crate::rules::RuleFailure;
use crate::scrubber::Scrubber;

/// Bytes of lines that are kept of a stream at most, and of one line that is.
const CONTEXT_BYTES_MAX: usize = 2048;
/// Streams whose lines are kept: what a command reads and what it prints are two.
const STREAMS_MAX: usize = 4;

/// The lines before the next one, for each stream.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Contexts {
    streams: Vec<Context>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Context {
    stream: u64,
    /// The first opens something; each with whether it does.
    lines: Vec<(Vec<u8>, bool)>,
}

impl Contexts {
    /// Finds what the lines before it say has to be replaced in a line, and keeps the line where it may say so of the next ones.
    pub(crate) fn take_in(&mut self, scrubber: &Scrubber, line: &[u8]) -> Result<Vec<Edit>, RuleFailure> {
        let Some((stream, piece)) = pieces::shown(line) else { return Ok(Vec::new()) };
        let known = self.streams.iter().position(|context| context.stream == stream);
        let mut context = known.map(|at| self.streams.remove(at)).unwrap_or_default();
        context.stream = stream;
        let edits = context.edits(scrubber, &piece)?;
        context.push(scrubber, piece.text);
        if !context.lines.is_empty() {
            self.streams.push(context);
            let many = self.streams.len().saturating_sub(STREAMS_MAX);
            self.streams.drain(..many);
        }
        Ok(edits)
    }
}

impl Context {
    fn edits(&mut self, scrubber: &Scrubber, piece: &Piece) -> Result<Vec<Edit>, RuleFailure> {
        if self.lines.is_empty() || !scrubber.looks_beside() || piece.text.len() > CONTEXT_BYTES_MAX {
            return Ok(Vec::new());
        }
        let mut text: Vec<u8> = Vec::new();
        for (line, _) in &self.lines {
            text.extend_from_slice(line);
            text.push(b'\n');
        }
        let at = text.len();
        text.extend_from_slice(&piece.text);
        // Many lines end with a name, and few go on with its sign.
        if self.lines.len() == 1 && !scrubber.opens(&[&text[..], b"\n"].concat()) {
            self.lines.clear();
            return Ok(Vec::new());
        }
        let found = scrubber.edits_beside(&text)?;
        let own = found.into_iter().filter(|edit| edit.start >= at && matches!(edit.what, What::Secret(_)));
        Ok(own
            .map(|edit| {
                let (start, end) = piece.in_line(edit.start - at, edit.end - at);
                Edit { start, end, ..edit }
            })
            .collect())
    }

    fn push(&mut self, scrubber: &Scrubber, line: Vec<u8>) {
        if line.len() > CONTEXT_BYTES_MAX {
            return self.lines.clear();
        }
        let opens = scrubber.opens(&[&line[..], b"\n"].concat());
        if self.lines.is_empty() && !opens {
            return;
        }
        self.lines.push((line, opens));
        let bytes = |lines: &[(Vec<u8>, bool)]| lines.iter().map(|(line, _)| line.len() + 1).sum::<usize>();
        while self.lines.len() > LINES_MAX || bytes(&self.lines) > CONTEXT_BYTES_MAX {
            // The head of a table says what all its rows are.
            let is_row = match self.lines.as_slice() {
                [(head, _), (next, _), .., (row, _)] => scrubber.is_row(&[&head[..], next, row].join(&b'\n')),
                _ => false,
            };
            if is_row {
                self.lines.remove(1);
                continue;
            }
            self.lines.remove(0);
            let next = self.lines.iter().position(|(_, opens)| *opens).unwrap_or(self.lines.len());
            self.lines.drain(..next);
        }
    }
}
