//! Counts with their noun and lists of names, for texts that people read.

use std::fmt::Display;

/// Returns a number with a noun in its singular or plural: `1 entry`, `2 entries`, `0 commits`.
///
/// The noun is a regular English one, in its singular.
pub fn plural(count: impl TryInto<u64>, noun: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    format!("{count} {}", noun_of(count, noun))
}

/// Returns the noun alone as it follows the number.
pub fn noun_of(count: u64, noun: &str) -> String {
    match noun.strip_suffix('y') {
        _ if count == 1 => noun.to_owned(),
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ => format!("{noun}s"),
    }
}

/// Returns the first `max` of some names, and how many more there are: `a, b and 3 more`.
pub fn listed<T: Display>(names: &[T], max: usize) -> String {
    let shown: Vec<String> = names.iter().take(max).map(ToString::to_string).collect();
    let shown = shown.join(", ");
    match names.len().saturating_sub(max) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noun_follows_its_number() {
        let told: Vec<String> = [(0_u64, "commit"), (1, "entry"), (2, "entry"), (3, "day"), (1, "turn")]
            .into_iter()
            .map(|(count, noun)| plural(count, noun))
            .collect();
        assert_eq!(told, ["0 commits", "1 entry", "2 entries", "3 days", "1 turn"]);
    }

    #[test]
    fn what_a_list_leaves_out_is_counted() {
        let told = [listed(&["a", "b"], 2), listed(&["a", "b", "c"], 2), listed::<String>(&[], 2)];
        assert_eq!(told, ["a, b", "a, b and 1 more", ""]);
    }
}
