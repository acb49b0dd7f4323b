//! The scripted model and its user: what is said and done in each turn, by seed.

use stemmata_model::{Entry, EntryId, Part, Role};
use stemmata_testkit::rng::Rng;
use stemmata_testkit::text::{self, Language};

/// What the session is about: its first prompt.
pub(super) const TASK: &str =
    "Move the billing service to the new ledger. Keep every invoice byte for byte, and keep the tests green.";

/// Turns from one pin to the next.
const PIN_EVERY: usize = 61;
/// Calls of one turn at most.
const CALLS_MAX: u64 = 6;
/// In so many of a hundred calls a whole file is read.
const FILE_PERCENT: u64 = 8;

/// One turn.
pub(super) struct Turn {
    pub(super) said: Entry,
    /// What the model says and calls, and what the tools return: one group after the other.
    pub(super) groups: Vec<[Entry; 2]>,
    pub(super) answer: Entry,
    /// Whether the user pins what was said.
    pub(super) is_pinned: bool,
}

pub(super) struct Script {
    rng: Rng,
    language: Language,
    turns: usize,
}

impl Script {
    pub(super) fn new(seed: u64) -> Self {
        Self { rng: Rng::new(seed), language: Language::Rust, turns: 0 }
    }

    /// Draws the next turn.
    pub(super) fn turn(&mut self) -> Turn {
        let turn = self.turns;
        self.turns += 1;
        // Not the task: a summary has it without a pin.
        let is_pinned = turn % PIN_EVERY == PIN_EVERY / 2;
        let said = match turn {
            0 => TASK.to_owned(),
            _ if is_pinned => format!("Rule {turn}: never write to invoices-{}.", self.rng.hex(12)),
            _ => text::prompt(&mut self.rng),
        };
        let calls = self.rng.range(0, CALLS_MAX);
        let groups = (0..calls).map(|call| self.group(turn, call)).collect();
        let answer = text::answer(&mut self.rng);
        Turn {
            said: entry(format!("t{turn}-said"), Role::User, vec![Part::Text(said)]),
            groups,
            answer: entry(format!("t{turn}-answer"), Role::Assistant, vec![Part::Text(answer)]),
            is_pinned,
        }
    }

    fn group(&mut self, turn: usize, call: u64) -> [Entry; 2] {
        let rng = &mut self.rng;
        let call_id = format!("t{turn}-{call}");
        let (name, arguments, output) = if rng.chance(FILE_PERCENT) {
            let lines = rng.range(40, 600);
            let file = text::source_file(rng, self.language, usize::try_from(lines).expect("few lines"));
            ("read_file", serde_json::json!({ "path": file.path }), file.text)
        } else {
            let command = text::command(rng, self.language);
            let output = text::command_output(rng, &command, self.language);
            ("shell", serde_json::json!({ "command": command }), output)
        };
        let says = Part::Text(text::narration(rng));
        let arguments = arguments.to_string();
        let calls = Part::ToolCall { call_id: call_id.clone(), name: name.to_owned(), arguments };
        let is_error = rng.chance(4);
        let result = Part::ToolResult { call_id: call_id.clone(), is_error, parts: vec![Part::Text(output)] };
        [
            entry(format!("{call_id}-call"), Role::Assistant, vec![says, calls]),
            entry(format!("{call_id}-result"), Role::Tool, vec![result]),
        ]
    }
}

fn entry(id: String, role: Role, parts: Vec<Part>) -> Entry {
    Entry::said(EntryId::new(id).expect("a name"), role, parts)
}
