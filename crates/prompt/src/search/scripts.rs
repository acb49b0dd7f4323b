//! Letters beyond ASCII: which belong to words, which scripts write without blanks, and what people write for each other.

use std::iter::{once, successors};
use std::ops::Range;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::decompose_canonical;

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
/// Points and signs of Hebrew and Arabic that most texts leave out, and the stroke that makes an Arabic word wider. Between
/// those of Hebrew stand marks that end a word.
const POINTS: [Range<char>; 8] = [
    '\u{591}'..'\u{5be}',
    '\u{5bf}'..'\u{5c0}',
    '\u{5c1}'..'\u{5c3}',
    '\u{5c4}'..'\u{5c6}',
    '\u{5c7}'..'\u{5c8}',
    '\u{640}'..'\u{641}',
    '\u{64b}'..'\u{660}',
    '\u{670}'..'\u{671}',
];
/// What makes a kana voiced, behind it or alone, in both widths.
const VOICED: [char; 4] = ['\u{3099}', '\u{309a}', '\u{ff9e}', '\u{ff9f}'];
/// Letters that Hebrew writes onto the front of a word, also several of them: prepositions, `that` and `when`.
const HEBREW_PREFIXES: &str = "בכלמש";
/// `and` of Hebrew, which stands before all others, and its article, which stands behind them.
const HEBREW_AND: char = 'ו';
const HEBREW_ARTICLE: char = 'ה';
/// Letters that Arabic writes onto the front of a word or of its article: `and`, `so`, prepositions.
const ARABIC_PREFIXES: &str = "وفبكل";
/// The article of Arabic, and how it is written behind one of the prepositions.
const ARABIC_ARTICLES: [&str; 2] = ["ال", "لل"];
/// Letters that are left where something is taken off a word, at least.
const LEFT_MIN: usize = 2;
/// How much Arabic writes onto the front of one word, at most.
const ARABIC_PREFIXES_MAX: usize = 3;
/// How much Hebrew does: `ולכשה` is `and`, `to`, `as`, `that` and the article.
const HEBREW_PREFIXES_MAX: usize = 5;
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
    char.is_alphanumeric()
        || MARKS.contains(&char)
        || VOICED.contains(&char)
        || is_in(&POINTS, char)
        || is_in(&WITHOUT_BLANKS[..3], char)
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

/// Returns a word as words are compared: in lower case and the usual width, without diacritics and points, and with one
/// spelling where people use two.
pub(super) fn fold(word: &str) -> String {
    let mut folded = String::with_capacity(word.len());
    for char in word.nfkc().flat_map(char::to_lowercase) {
        match char {
            'ß' => folded.push_str("ss"),
            'æ' => folded.push_str("ae"),
            'œ' => folded.push_str("oe"),
            'ς' => folded.push('σ'),
            'ё' => folded.push('е'),
            // Alef with and without its signs; and letters that keyboards of Persian and Urdu write for those of Arabic.
            'أ' | 'إ' | 'آ' | 'ٱ' => folded.push('ا'),
            'ى' | 'ی' => folded.push('ي'),
            'ک' => folded.push('ك'),
            'ة' => folded.push('ه'),
            _ if MARKS.contains(&char) || is_in(&POINTS, char) || char.is_whitespace() => {}
            _ => folded.push(bare(char)),
        }
    }
    folded
}

/// Returns a lower-case letter without its diacritic, where it is Latin or Greek: `й` is no `и`.
fn bare(char: char) -> char {
    let index = u32::from(char).checked_sub(BARE_FIRST).and_then(|index| usize::try_from(index).ok());
    if let Some(bare) = index.and_then(|index| BARE.as_bytes().get(index)).filter(|bare| **bare != b' ') {
        return char::from(*bare);
    }
    let mut first = None;
    decompose_canonical(char, |part| first = first.or(Some(part)));
    let is_kept = |base: &char| base.is_ascii_lowercase() || ('α'..='ω').contains(base);
    first.filter(is_kept).unwrap_or(char)
}

/// Returns a folded word, and what is left of it without the article and other short words that Arabic and Hebrew write onto its
/// front. Nobody can say without a dictionary whether a letter is one, so each is another term, and the word itself is always one.
pub(super) fn forms(word: &str) -> impl Iterator<Item = &str> {
    let arabic = successors(without_arabic(word), |word| without_arabic(word)).take(ARABIC_PREFIXES_MAX);
    let first = without_hebrew(word, true);
    let hebrew = successors(first, |(word, may_go_on)| may_go_on.then(|| without_hebrew(word, false))?);
    once(word).chain(arabic).chain(hebrew.take(HEBREW_PREFIXES_MAX).map(|(word, _)| word))
}

fn without_arabic(word: &str) -> Option<&str> {
    let article = ARABIC_ARTICLES.iter().find_map(|article| word.strip_prefix(article));
    article
        .or_else(|| word.strip_prefix(|first| ARABIC_PREFIXES.contains(first)))
        .filter(|left| is_enough(left))
}

/// Returns what is left of a word behind a prefix, and whether there may be another one. A letter that stands where none can is
/// the word's own: so few words that merely begin with such letters come apart.
fn without_hebrew(word: &str, is_first: bool) -> Option<(&str, bool)> {
    let first = word.chars().next()?;
    let is_prefix =
        HEBREW_PREFIXES.contains(first) || first == HEBREW_ARTICLE || (is_first && first == HEBREW_AND);
    let left = word.get(first.len_utf8()..).filter(|left| is_prefix && is_enough(left))?;
    Some((left, first != HEBREW_ARTICLE))
}

fn is_enough(left: &str) -> bool {
    left.chars().nth(LEFT_MIN - 1).is_some()
}

/// Returns the characters of a text without blanks in their usual width, each with its bytes: `ﾃﾞ` is one.
pub(super) fn whole_chars(text: &str) -> Vec<(char, Range<usize>)> {
    let mut whole: Vec<Range<usize>> = Vec::new();
    for (at, char) in text.char_indices() {
        let end = at + char.len_utf8();
        match whole.last_mut() {
            Some(last) if VOICED.contains(&char) => last.end = end,
            _ => whole.push(at..end),
        }
    }
    let chars = |range: Range<usize>| {
        let chars: Vec<char> = text.get(range.clone()).unwrap_or_default().nfkc().collect();
        chars.into_iter().map(move |char| (char, range.clone()))
    };
    whole.into_iter().flat_map(chars).collect()
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
            ("ßẞæœøđ", "ssssaeoeod"),
            ("ếợ e\u{301}", "eoe"),
            ("ж検й", "ж検й"),
            ("ΛΌΓΟΣ λόγος ΰ", "λογοσλογοσυ"),
            ("Ёлка", "елка"),
            ("ＡＰＩ２ ﬁle", "api2file"),
            ("كِتَابٌ كـتاب أإآ ة", "كتابكتاباااه"),
            ("שָׁלוֹם", "שלום"),
        ] {
            assert_eq!(fold(letters), wanted, "{letters}");
        }
    }

    #[test]
    fn words_come_without_what_is_written_onto_their_front() {
        for (word, wanted) in [
            ("الاعدادات", vec!["اعدادات"]),
            ("وبالكتاب", vec!["بالكتاب", "الكتاب", "كتاب"]),
            ("للمستخدم", vec!["مستخدم"]),
            ("والمفتاح", vec!["المفتاح", "مفتاح"]),
            ("והשומר", vec!["השומר", "שומר"]),
            ("וכשהמפתח", vec!["כשהמפתח", "שהמפתח", "המפתח", "מפתח"]),
            ("ולכשהמפתח", vec!["לכשהמפתח", "כשהמפתח", "שהמפתח", "המפתח", "מפתח"]),
            ("ושהמפתח", vec!["שהמפתח", "המפתח", "מפתח"]),
            ("כשהבית", vec!["שהבית", "הבית", "בית"]),
            ("ובבית", vec!["בבית", "בית", "ית"]),
            ("הוא", vec!["וא"]),
            ("שוק", vec!["וק"]),
            ("של", vec![]),
            ("поиск", vec![]),
        ] {
            let wanted: Vec<&str> = once(word).chain(wanted).collect();
            assert_eq!(forms(word).collect::<Vec<_>>(), wanted, "{word}");
        }
    }

    #[test]
    fn a_voiced_kana_is_one_character() {
        let found: Vec<(char, Range<usize>)> = whole_chars("ﾃﾞｰﾊﾟ");
        assert_eq!(found, [('デ', 0..6), ('ー', 6..9), ('パ', 9..15)]);
    }

    #[test]
    fn runs_come_apart_by_script() {
        let found: Vec<Script> = pieces("検索index검색").into_iter().map(|piece| piece.0).collect();
        assert_eq!(found, [Script::Bigrams, Script::Words, Script::Both]);
    }
}
