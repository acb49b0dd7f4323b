//! Who takes part in a conversation: names that a query asks *about*, which say nothing as words.
//!
//! In a conversation of two people nearly every entry is by one of them and names the other. Everywhere else a name is a
//! word like any other, and a store with one chatty bundle in it is no conversation.

use super::source::{Scope, Segment};

/// One in so many of a scope's entries must have an author before the scope is a conversation.
const AUTHORED: u64 = 2;
/// One in so many of the entries with authors must be by somebody who takes part.
const SPOKEN: u64 = 100;

/// Returns the names of those who take part in the conversation that a scope is; none if it is no conversation.
///
/// # Errors
/// As the segments.
pub fn participants<S: Segment>(segments: &[S], scope: &Scope<'_>) -> Result<Vec<String>, S::Error> {
    if scope.authors.is_empty() {
        return Ok(Vec::new());
    }
    let mut spoken = vec![0_u64; usize::from(u16::MAX) + 1];
    let mut entries = 0;
    for segment in segments {
        let authors = segment.authors()?;
        let mut count = |number: u32| {
            entries += 1;
            let author = authors.get(number as usize).copied().unwrap_or_default();
            if let Some(count) = spoken.get_mut(usize::from(author)) {
                *count += 1;
            }
        };
        match scope.allowed {
            Some(allowed) => {
                allowed
                    .range(segment.base(), segment.span())
                    .for_each(|number| count(number - segment.base()));
            }
            None => (0..segment.span()).for_each(count),
        }
    }
    let authored: u64 = spoken.iter().skip(1).sum();
    if authored * AUTHORED < entries {
        return Ok(Vec::new());
    }
    let takes_part = |author: u16| {
        let count = spoken.get(usize::from(author)).copied().unwrap_or_default();
        count > 0 && count * SPOKEN >= authored
    };
    let names = scope.authors.iter().filter(|(author, _)| takes_part(*author));
    Ok(names.map(|(_, name)| name.clone()).collect())
}

#[cfg(test)]
mod tests {
    use super::super::{MemoryEntry, MemorySegment, NumberSet};
    use super::*;

    fn said(authors: &[u16]) -> Vec<MemorySegment> {
        let entry = |author: &u16| MemoryEntry {
            key: 0,
            terms: Vec::new(),
            length: 0,
            class: 0,
            marks: 0,
            minute: 0,
            author: *author,
            group: 0,
        };
        let entries: Vec<MemoryEntry> = authors.iter().map(entry).collect();
        let (one, two) = entries.split_at(entries.len() / 2);
        vec![MemorySegment::of(0, one), MemorySegment::of(u32::try_from(one.len()).expect("few"), two)]
    }

    #[test]
    fn names_are_asked_about_only_in_conversations_and_only_of_those_who_speak() {
        let names = [(1, "ann".to_owned()), (2, "bob".to_owned()), (3, "build bot".to_owned())];
        let all = Scope { authors: &names, ..Scope::ALL };
        let of = |authors: &[u16], scope: &Scope<'_>| match participants(&said(authors), scope) {
            Ok(names) => names,
            Err(never) => match never {},
        };
        assert_eq!(of(&[1, 2, 1, 2, 0], &all), ["ann", "bob"]);
        assert_eq!(of(&[0, 0, 0, 3, 0], &all), [""; 0]);
        let many: Vec<u16> = (0..300).map(|at| 1 + at % 2).chain([3]).collect();
        assert_eq!(of(&many, &all), ["ann", "bob"]);
        // The filter leaves nothing but what the bot said.
        let mut allowed = NumberSet::default();
        allowed.insert(3);
        assert_eq!(of(&[0, 0, 0, 3, 0], &Scope { allowed: Some(&allowed), ..all }), ["build bot"]);
    }
}
