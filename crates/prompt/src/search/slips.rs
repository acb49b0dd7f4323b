//! File names that a mistyped one may mean.

/// How many names are offered.
const NEAR_MAX: usize = 4;
/// How many names are compared: a dictionary of a million entries has fewer that begin with one letter.
pub const NAMES_READ_MAX: usize = 100_000;
/// How many slips a name may have; a short one half of it.
const SLIPS_MAX: usize = 2;
/// Shorter names may have one slip.
const LONG_NAME_CHARS: usize = 6;

/// Returns the names nearest to a mistyped one, the nearest first, then the more frequent.
///
/// Names come with the number of entries that hold them. A slip is a character too much, too few, another one, or
/// two in the wrong order; the first character has to be right, so that a caller reads one range of a dictionary.
pub fn near_names<'a>(wanted: &str, names: impl Iterator<Item = (&'a str, u32)>) -> Vec<String> {
    let letters: Vec<char> = wanted.chars().collect();
    let first = |name: &str| name.trim_start_matches('=').chars().next();
    let slips_max = if letters.len() < LONG_NAME_CHARS { SLIPS_MAX / 2 } else { SLIPS_MAX };
    let mut near: Vec<(usize, u32, &str)> = names
        .take(NAMES_READ_MAX)
        .filter(|(name, _)| {
            first(name) == first(wanted) && name.len().abs_diff(wanted.len()) <= 4 * slips_max
        })
        .filter_map(|(name, entries)| {
            let slips = slips(&letters, &name.chars().collect::<Vec<_>>(), slips_max)?;
            Some((slips, u32::MAX - entries, name))
        })
        .collect();
    near.sort_unstable();
    near.into_iter().take(NEAR_MAX).map(|(_, _, name)| name.to_owned()).collect()
}

/// Says whether two names differ by one slip: a letter more, less or else, or two that changed places.
pub fn is_slip(one: &str, two: &str) -> bool {
    let letters = |name: &str| name.chars().collect::<Vec<_>>();
    slips(&letters(one), &letters(two), 1).is_some()
}

/// Returns the distance of two names (optimal string alignment), nothing where it is 0 or more than the limit.
fn slips(one: &[char], two: &[char], slips_max: usize) -> Option<usize> {
    if one.len().abs_diff(two.len()) > slips_max {
        return None;
    }
    let at = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX / 2);
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=two.len()).collect();
    for (row, letter) in one.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, other) in two.iter().enumerate() {
            let changed = at(&last, column) + usize::from(letter != other);
            let mut fewest = changed.min(at(&last, column + 1) + 1).min(at(&next, column) + 1);
            let is_swapped = row > 0
                && column > 0
                && one.get(row - 1) == Some(other)
                && two.get(column - 1) == Some(letter);
            if is_swapped {
                fewest = fewest.min(at(&before, column - 1) + 1);
            }
            next.push(fewest);
        }
        if next.iter().all(|slips| *slips > slips_max) {
            return None;
        }
        before = std::mem::replace(&mut last, next);
    }
    last.last().copied().filter(|slips| (1..=slips_max).contains(slips))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistyped_names_are_found() {
        let names = [
            ("=words.rs", 9),
            ("=word.rs", 3),
            ("=wards.rs", 20),
            ("=swords.rs", 9),
            ("=windows.rs", 9),
            ("=a.rs", 9),
        ];
        for (wanted, found) in [
            ("=wrods.rs", vec!["=words.rs", "=wards.rs", "=word.rs"]),
            ("=wordss.rs", vec!["=words.rs", "=wards.rs", "=word.rs"]),
            ("=words.rs", vec!["=wards.rs", "=word.rs"]),
            ("=b.rs", vec![]),
        ] {
            assert_eq!(near_names(wanted, names.iter().copied()), found, "{wanted}");
        }
    }
}
