//! Counts with their noun, for texts that people read.

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
}
