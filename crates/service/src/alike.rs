//! What is said of many files, folded: each kind of trouble once, with the number of files that have it.

use std::collections::HashMap;

/// Folds what is said of files: returns the first of each kind, in their order, and how many others there are. Two are of a kind
/// where they say the same but for the path.
pub fn alike<T>(all: &[T], said: impl Fn(&T) -> (String, String)) -> Vec<(&T, usize)> {
    let mut kinds: Vec<(&T, usize)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for one in all {
        let (path, text) = said(one);
        let kind = if path.is_empty() { text } else { text.replace(&path, "") };
        if let Some((_, others)) = places.get(&kind).and_then(|place| kinds.get_mut(*place)) {
            *others += 1;
        } else {
            places.insert(kind, kinds.len());
            kinds.push((one, 0));
        }
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_the_same_trouble_are_one_kind() {
        let all =
            [("/a", "read /a failed"), ("/b", "no space"), ("/c", "read /c failed"), ("/d", "no space")];
        let folded = alike(&all, |(path, text)| ((*path).to_owned(), (*text).to_owned()));
        assert_eq!(folded, [(&all[0], 1), (&all[1], 1)]);
    }
}
