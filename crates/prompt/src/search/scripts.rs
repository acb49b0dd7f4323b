//! Letters beyond ASCII: which belong to words, which scripts write without blanks, and Latin diacritics.

use std::ops::Range;

/// How a piece of text is cut into terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    /// As words.
    Words,
    /// As neighbouring pairs of characters: the script has no blanks between words.
    Bigrams,
    /// As both: Korean writes endings onto its words.
    Both,
}

/// Combining diacritical marks.
const MARKS: Range<char> = '\u{300}'..'\u{370}';
/// Thai, Lao, Myanmar, Khmer; kana; Han with its extensions.
const WITHOUT_BLANKS: [Range<char>; 9] = [
    '\u{e00}'..'\u{f00}',
    '\u{1000}'..'\u{10a0}',
    '\u{1780}'..'\u{1800}',
    '\u{3005}'..'\u{3008}',
    '\u{3040}'..'\u{3100}',
    '\u{3400}'..'\u{a000}',
    '\u{f900}'..'\u{fb00}',
    '\u{ff66}'..'\u{ffa0}',
    '\u{20000}'..'\u{32000}',
];
/// Jamo and syllables of Hangul.
const HANGUL: [Range<char>; 3] = ['\u{1100}'..'\u{1200}', '\u{3130}'..'\u{3190}', '\u{ac00}'..'\u{d7b0}'];
/// The lower-case letters from U+00DF to U+017F without their diacritics; a blank where a letter has none.
const BARE: &str = concat!(
    " aaaaaa ceeeeiiii nooooo ouuuuy y", // U+00DF to U+00FF
    "aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiii  jjkk lllllll", // U+0100 to U+013F
    "lllnnnnnnn  oooooo  rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs", // U+0140 to U+017F
);
const BARE_FIRST: u32 = 0xdf;

/// Returns whether a character beyond ASCII belongs to a word.
pub(super) fn is_word(char: char) -> bool {
    char.is_alphanumeric() || MARKS.contains(&char) || is_in(&WITHOUT_BLANKS[..3], char)
}

/// Cuts a run into pieces of one script each.
pub(super) fn pieces(run: &str) -> Vec<(Script, Range<usize>)> {
    let mut pieces: Vec<(Script, Range<usize>)> = Vec::new();
    for (at, char) in run.char_indices() {
        let end = at + char.len_utf8();
        let script = script(char);
        match pieces.last_mut() {
            Some((last, range)) if *last == script => range.end = end,
            _ => pieces.push((script, at..end)),
        }
    }
    pieces
}

/// Returns a lower-case letter without its diacritic, nothing for a mark that combines.
pub(super) fn without_diacritic(char: char) -> Option<char> {
    if MARKS.contains(&char) {
        return None;
    }
    let index = u32::from(char).checked_sub(BARE_FIRST).and_then(|index| usize::try_from(index).ok());
    let bare = index.and_then(|index| BARE.as_bytes().get(index)).filter(|bare| **bare != b' ');
    Some(bare.map_or(char, |bare| char::from(*bare)))
}

pub(super) fn script(char: char) -> Script {
    if is_in(&WITHOUT_BLANKS, char) {
        Script::Bigrams
    } else if is_in(&HANGUL, char) {
        Script::Both
    } else {
        Script::Words
    }
}

fn is_in(ranges: &[Range<char>], char: char) -> bool {
    ranges.iter().any(|range| range.contains(&char))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_lose_their_diacritics() {
        for (letters, wanted) in [
            ("àéîõüÿ", "aeiouy"),
            ("āćďěğħįķłňőřšţůŵźż", "acdeghiklnorstuwzz"),
            ("ßæøđ", "ßæod"),
            ("ж検", "ж検"),
        ] {
            let found: String = letters.chars().filter_map(without_diacritic).collect();
            assert_eq!(found, wanted);
        }
    }

    #[test]
    fn runs_come_apart_by_script() {
        let found: Vec<Script> = pieces("検索index검색").into_iter().map(|piece| piece.0).collect();
        assert_eq!(found, [Script::Bigrams, Script::Words, Script::Both]);
    }
}
