//! What an answer quotes. Not whether somebody said it.

/// Marks of quotes in several languages.
const PAIRS: [(char, char); 9] = [
    ('"', '"'),
    ('“', '”'),
    ('„', '“'),
    ('«', '»'),
    ('»', '«'),
    ('‘', '’'),
    ('‚', '‘'),
    ('\'', '\''),
    ('‹', '›'),
];

/// Returns what stands between quotation marks. A mark opens a quote where no word ends, and closes one where no word goes on: an
/// apostrophe does neither.
pub(super) fn quotes(text: &str) -> impl Iterator<Item = &str> {
    PAIRS.into_iter().flat_map(move |(open, close)| {
        let mut from = 0;
        std::iter::from_fn(move || {
            let is_open = |at: usize| {
                let before = text.get(..at).and_then(|text| text.chars().next_back());
                let after = text.get(at + open.len_utf8()..).and_then(|text| text.chars().next());
                !before.is_some_and(char::is_alphanumeric) && after.is_some_and(|char| !char.is_whitespace())
            };
            let opens = |(at, _): &(usize, &str)| is_open(from + at);
            let start = text.get(from..)?.match_indices(open).find(opens).map(|(at, _)| from + at)?;
            let begin = start + open.len_utf8();
            let rest = text.get(begin..)?;
            let closes = |(at, _): &(usize, &str)| {
                let (before, after) = rest.split_at(*at);
                let after = after.chars().nth(1);
                !before.ends_with(char::is_whitespace) && !after.is_some_and(char::is_alphanumeric)
            };
            let Some((end, _)) = rest.match_indices(close).find(closes) else {
                // Nothing closes what is behind it either.
                from = text.len();
                return None;
            };
            from = begin + end + close.len_utf8();
            rest.get(..end)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_of_several_languages_are_found_and_apostrophes_are_none() {
        for (text, found) in [
            ("a \"b c\" d", vec!["b c"]),
            ("Er sagte: „nie das“ und “now that”.", vec!["now that", "nie das"]),
            ("‘don’t do it’ and 'isn't it'", vec!["don’t do it", "isn't it"]),
            ("it's the user's and the others' way", vec![]),
            ("«a» »b« ‹c›", vec!["a", "b", "c"]),
            ("5\" and 6\" wide", vec![]),
        ] {
            assert_eq!(quotes(text).collect::<Vec<_>>(), found, "{text}");
        }
        assert_eq!(quotes(&"\"a ".repeat(60_000)).count(), 0);
    }
}
