//! Decisions that others replaced, and the mark on what repeats them: among what was said, their words would pass for ones that hold.

use super::project::ProjectMemory;
use super::v1::Decision;
use super::words::cut;

/// A decision of fewer characters is in other sentences by chance.
const REPEATED_CHARS_MIN: usize = 12;
/// Characters of a decision that a mark quotes at most.
const QUOTED_CHARS_MAX: usize = 120;

/// The decisions of a memory that others replaced and that nothing decides again.
pub(crate) struct Replaced<'m>(Vec<(String, &'m Decision)>);

impl<'m> Replaced<'m> {
    pub(crate) fn of(memory: &'m ProjectMemory) -> Self {
        let (replaced, standing): (Vec<&Decision>, Vec<&Decision>) =
            memory.items.decisions.iter().partition(|one| one.superseded.is_some());
        let replaced = replaced.into_iter().filter(|one| standing.iter().all(|other| other.text != one.text));
        Self(replaced.map(|one| (one.text.to_lowercase(), one)).collect())
    }

    /// Returns the mark for a text that says such decisions, and whether the text says nothing else. `is_its_own` tells whether the
    /// text is the event of the decision, which may word it in another way.
    pub(crate) fn mark(&self, said: &str, is_its_own: impl Fn(&Decision) -> bool) -> Option<(String, bool)> {
        let said = said.trim().to_lowercase();
        let repeats = |text: &str| text.chars().count() >= REPEATED_CHARS_MIN && said.contains(text);
        let is_one =
            |(text, one): &&(String, &Decision)| said == *text || (!repeats(text) && is_its_own(one));
        if self.0.iter().any(|one| is_one(&one)) {
            return Some(("[superseded]".to_owned(), true));
        }
        let said: Vec<_> = self.0.iter().filter(|(text, _)| repeats(text)).collect();
        // A decision within the words of another one is not said apart.
        let is_within = |text: &str| said.iter().any(|(other, _)| other != text && other.contains(text));
        let quoted = said.iter().filter(|(text, _)| !is_within(text));
        let quoted: Vec<String> = quoted.map(|(_, one)| cut(&one.text, QUOTED_CHARS_MAX)).collect();
        (!quoted.is_empty()).then(|| (format!("[superseded: {}]", quoted.join("; ")), false))
    }
}
