//! The table of a run: what was tried, and what came of it.

use std::fmt::Write as _;
use std::time::Duration;

use crate::check::Verdict;

/// Descriptions that are kept of what went wrong in one part: more say nothing new.
const NOTES_MAX: usize = 30;

/// One part's figures.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// The part.
    pub part: &'static str,
    /// Operations of the workload that faults were placed at.
    pub operations: u64,
    /// Faults.
    pub faults: u64,
    /// Stores that were opened and looked through.
    pub states: u64,
    /// Things that were promised and are not there.
    pub lost: u64,
    /// Things that cannot be read, opened or done again.
    pub unreadable: u64,
    /// Changed bytes that were handed out, and that nothing noticed.
    pub undetected: u64,
    /// Changed facts that no hash covers (notes, listings, places), handed out as they are.
    pub unguarded: u64,
    /// Errors that do not say what is wrong.
    pub unclear: u64,
    /// Damages that `verify --repair` mended.
    pub repaired: u64,
    /// How long it took.
    pub took: Duration,
    /// What went wrong, in words; and what was left out, and why.
    pub notes: Vec<String>,
}

impl Row {
    /// Begins a part.
    pub fn new(part: &'static str) -> Self {
        Self { part, ..Self::default() }
    }

    /// Counts a state that was looked at.
    pub fn judge(&mut self, verdict: &Verdict, place: &dyn std::fmt::Display) {
        self.states += 1;
        self.lost += u64::from(!verdict.lost.is_empty());
        self.unreadable += u64::from(!verdict.unreadable.is_empty());
        self.repaired += verdict.repaired;
        for text in verdict.all().take(3) {
            self.note(format!("{place}: {text}"));
        }
    }

    /// Keeps a description, if there are not too many.
    pub fn note(&mut self, note: String) {
        if self.notes.len() < NOTES_MAX {
            self.notes.push(note);
        }
    }

    /// Says whether nothing went wrong.
    pub fn is_sound(&self) -> bool {
        self.lost + self.unreadable + self.undetected + self.unclear == 0
    }

    /// Adds the figures of another run of the same part.
    pub fn add(&mut self, other: Self) {
        self.operations += other.operations;
        self.faults += other.faults;
        self.states += other.states;
        self.lost += other.lost;
        self.unreadable += other.unreadable;
        self.undetected += other.undetected;
        self.unguarded += other.unguarded;
        self.unclear += other.unclear;
        self.repaired += other.repaired;
        other.notes.into_iter().for_each(|note| self.note(note));
    }
}

/// Lays the rows out as a table for people.
pub fn table(rows: &[Row]) -> String {
    let heads = [
        "part",
        "operations",
        "faults",
        "states",
        "lost",
        "unreadable",
        "undetected",
        "unguarded",
        "unclear",
        "repaired",
        "seconds",
    ];
    let mut text = String::new();
    for head in heads {
        let _written = write!(text, "{head:>12}");
    }
    text.push('\n');
    for row in rows {
        let _written = write!(text, "{:>12}", row.part);
        let counts = [
            row.operations,
            row.faults,
            row.states,
            row.lost,
            row.unreadable,
            row.undetected,
            row.unguarded,
            row.unclear,
            row.repaired,
        ];
        for count in counts {
            let _written = write!(text, "{count:>12}");
        }
        let _written = writeln!(text, "{:>12.1}", row.took.as_secs_f64());
    }
    for row in rows {
        for note in &row.notes {
            let _written = writeln!(text, "{}: {note}", row.part);
        }
    }
    text
}
