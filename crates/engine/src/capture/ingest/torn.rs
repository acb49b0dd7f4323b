//! An unfinished last line: what it says is shown, and decides no commit, for more of it may come.

use stemmata_model::{Counts, Template};
use stemmata_runtimes::adapter::{SegmentFacts, Splitter};

/// What the splitter said before it read an unfinished last line. Ids and cursors are made of this.
pub(super) struct Torn {
    /// Bytes of the open segment before the line.
    pub(super) from: u64,
    /// The open segment. Its counts, which no id is made of, are with the line.
    pub(super) open: SegmentFacts,
    pub(super) state: Vec<u8>,
    pub(super) template: Template,
    /// Unreadable records: the line is not one, it is not finished.
    pub(super) unreadable: u64,
}

impl Torn {
    /// Has the splitter read the line, whose facts it then holds.
    pub(super) fn read(splitter: &mut dyn Splitter, line: &[u8], from: u64) -> Self {
        let (before, state) = (splitter.open(), splitter.state());
        let (template, unreadable) = (splitter.template(), splitter.unreadable());
        let cut = splitter.line(line, &mut Vec::new());
        // A commit that the line would end is open all the same.
        let parts = [cut.before, cut.after, Some(splitter.open())];
        let counts = parts.into_iter().flatten().fold(Counts::default(), |sum, part| Counts {
            messages: sum.messages.saturating_add(part.counts.messages),
            entries: sum.entries.saturating_add(part.counts.entries),
            tokens: sum.tokens.saturating_add(part.counts.tokens),
        });
        Self { from, open: SegmentFacts { counts, ..before }, state, template, unreadable }
    }
}
