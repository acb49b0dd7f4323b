//! What tools returned, before it is stored: cut to the limits; what is far beyond them is stored whole beside the turn, and a
//! notice stands in its place.
//!
//! What is cut is decided in `stemmata_prompt::tool_output`. The whole output is lines of the session's ledger, so that it is
//! stored in the same act as the turn, and scrubbed and forgotten with it.

use sha2::{Digest as _, Sha256};
use stemmata_model::{
    ArtifactId, Entry, EntryId, Json, NewEvent, NewPayload, Note, NoteCode, Part, Role, topics,
};
use stemmata_prompt::tool_output::{
    OUTPUT_BYTES_MAX, OutputPart, SpillPlace, StoredOutput, line_artifact, normalize, part_line, part_text,
    spill_notice, text_of, text_parts, with_text,
};
use stemmata_redact::Scrubber;
use stemmata_store::{Ledger, StoreError};

use super::{TurnMade, TurnOf};
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};
use crate::ledger::publish::{scrub_json, scrub_text};

/// Events that hold whole outputs, each with the entry that the output is of.
pub(super) type OutputEvents = Vec<(EntryId, NewEvent)>;

/// The outputs of one turn, while they are made smaller.
struct Outputs<'e> {
    engine: &'e Engine,
    scrubber: Scrubber,
    turn: &'e TurnOf,
    events: OutputEvents,
    notes: Vec<Note>,
    /// Secrets that were replaced.
    found: usize,
}

impl Engine {
    /// Returns a turn whose results of tools are within the limits, and the events that hold the whole of those that were far
    /// beyond. The same results give the same turn and the same events, which are scrubbed already: a head is digits, and a rule of
    /// one's own that finds some would leave an output that nobody can read.
    pub(super) fn within_output_limits(
        &self,
        turn: &TurnOf,
        ledger: Option<&Ledger>,
        mut made: TurnMade,
    ) -> Result<(TurnMade, OutputEvents, Vec<Note>)> {
        if !made.entries.iter().any(|entry| entry.role == Role::Tool) {
            return Ok((made, Vec::new(), Vec::new()));
        }
        let scrubber = self.scrubber_in(ledger)?;
        let (events, notes) = (Vec::new(), Vec::new());
        let mut outputs = Outputs { engine: self, scrubber, turn, events, notes, found: 0 };
        for entry in made.entries.iter_mut().filter(|entry| entry.role == Role::Tool) {
            outputs.entry(entry)?;
        }
        if outputs.found > 0 {
            let message = format!("secrets were replaced in large outputs of tools: {}", outputs.found);
            outputs.notes.push(Note::new(NoteCode::Redacted, message));
        }
        Ok((made, outputs.events, outputs.notes))
    }
}

impl Outputs<'_> {
    fn entry(&mut self, entry: &mut Entry) -> Result<()> {
        let id = entry.id.clone();
        for part in &mut entry.parts {
            match part {
                Part::ToolResult { parts, .. } => {
                    if let Some(text) = self.smaller(&id, &text_of(parts))? {
                        *parts = with_text(parts, &text);
                    }
                }
                Part::Text(text) => {
                    if let Some(smaller) = self.smaller(&id, text)? {
                        *text = smaller;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns what stands in the place of an output, or `None` where it is within the limits.
    fn smaller(&mut self, id: &EntryId, output: &str) -> Result<Option<String>> {
        let limits = self.engine.outputs.limits;
        let normalized = normalize(output.as_bytes(), &limits);
        if normalized.spill.is_none() && normalized.cut.is_none() {
            return Ok(None);
        }
        check_length(output)?;
        // Before it is cut: half of a secret is one that no rule knows any more.
        let clean = scrub_text(&self.scrubber, output.to_owned(), &mut self.found)?;
        let normalized = normalize(clean.as_bytes(), &limits);
        if normalized.spill.is_some() {
            return self.spilled(id, &clean).map(Some);
        }
        Ok(Some(normalized.text.into_owned()))
    }

    /// Stores an output whole, and returns its notice.
    fn spilled(&mut self, id: &EntryId, clean: &str) -> Result<String> {
        // What stands for a secret may be longer than it.
        check_length(clean)?;
        let (mut whole, mut parts, mut lines) = (String::with_capacity(clean.len()), Vec::new(), Vec::new());
        for part in text_parts(clean) {
            // As the ledger will store it: what the scrubber sees in a line only is replaced before it is hashed.
            let line = scrub_json(&self.scrubber, part_line(part), &mut self.found)?;
            let text = part_text(line.as_str()).ok_or_else(broken)?;
            parts.push(OutputPart::of(&line, &text));
            lines.push(line);
            whole.push_str(&text);
        }
        let sha256 = format!("{:x}", Sha256::digest(whole.as_bytes()));
        let head = StoredOutput { sha256, parts };
        let line = head.line();
        let artifact = line_artifact(&line);
        lines.push(line);
        let events: Vec<NewEvent> = lines.into_iter().map(|line| self.event(line)).collect();
        self.events.extend(events.into_iter().map(|event| (id.clone(), event)));
        let path = self.file_of(&head.sha256, artifact, &whole);
        let place =
            SpillPlace { path: path.as_deref(), artifact: &artifact.to_string(), sha256: &head.sha256 };
        Ok(spill_notice(place, &whole, &self.engine.outputs.limits))
    }

    /// Writes the file of an output, and returns its path. Where it cannot be written, the artifact alone is named.
    fn file_of(&mut self, sha256: &str, artifact: ArtifactId, output: &str) -> Option<String> {
        let files = self.engine.outputs.files.as_ref()?;
        match files.write(sha256, artifact, output) {
            Ok(path) => path?.to_str().map(str::to_owned),
            Err(error) => {
                let message = format!(
                    "a large output of a tool is in {artifact} and in no file, because none could be written: {error}"
                );
                self.notes.push(Note::new(NoteCode::Degraded, message));
                None
            }
        }
    }

    fn event(&self, line: Json) -> NewEvent {
        let topic = topics::topic(topics::TOOL_OUTPUT);
        NewEvent::new(self.turn.session.clone(), topic, self.turn.agent.clone(), NewPayload::Line(line))
    }
}

fn check_length(output: &str) -> Result<()> {
    if output.len() <= OUTPUT_BYTES_MAX {
        return Ok(());
    }
    let [value, bound] =
        [output.len(), OUTPUT_BYTES_MAX].map(|bytes| u64::try_from(bytes).unwrap_or(u64::MAX));
    Err(StoreError::Bound { what: "bytes of one output of a tool", value, bound }.into())
}

fn broken() -> EngineError {
    EngineError::Refused {
        what: Refusal::Publish,
        reasons: vec![
            "a tool's output holds a secret that cannot be replaced without breaking it".to_owned(),
        ],
    }
}
