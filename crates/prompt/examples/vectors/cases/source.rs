//! The retrieval rule of seed 004's implementation: the baseline that recall is measured against. The engine's tests take this file, too.

/// A turn as the source's retrieval rule sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceTurn {
    /// What was said.
    pub(crate) text: String,
    /// Whether an assistant said it and called tools.
    pub(crate) has_calls: bool,
    /// Whether it touched files.
    pub(crate) has_files: bool,
}

/// Returns the places of the turns that the source's rule finds, best first: 4 points for the whole query in the text in
/// whatever case, 2 for files where the query has `file`, 1 for calls, 3 for the last four turns. The best `max` with any
/// points, the newest first among equals.
pub(crate) fn relevant_by_the_source(turns: &[SourceTurn], query: &str, max: usize) -> Vec<usize> {
    let query = query.to_lowercase();
    let points = |at: usize| {
        let turn = &turns[at];
        let mut points = if turn.text.to_lowercase().contains(&query) { 4 } else { 0 };
        points += if query.contains("file") && turn.has_files { 2 } else { 0 };
        points + u32::from(turn.has_calls) + if at + 4 >= turns.len() { 3 } else { 0 }
    };
    let mut scored: Vec<(u32, usize)> = (0..turns.len()).map(|at| (points(at), at)).collect();
    scored.retain(|(points, _)| *points > 0);
    scored.sort_unstable_by(|one, other| other.cmp(one));
    scored.into_iter().take(max).map(|(_, at)| at).collect()
}
