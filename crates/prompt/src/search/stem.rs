//! English words without their endings: the Snowball stemmer «English» (Porter2), version 3.1.
//!
//! <https://snowballstem.org/algorithms/english/stemmer.html>; apostrophes never get here. Written by hand because
//! the crate that has it is unmaintained. `fixtures/stems.tsv` holds vectors of Snowball's own implementation.

/// Words that the rules would stem wrongly, with what they become.
const EXCEPTIONS: [(&str, &str); 15] = [
    ("andes", "andes"),
    ("atlas", "atlas"),
    ("bias", "bias"),
    ("cosmos", "cosmos"),
    ("early", "earli"),
    ("gently", "gentl"),
    ("howe", "howe"),
    ("idly", "idl"),
    ("news", "news"),
    ("only", "onli"),
    ("singly", "singl"),
    ("skies", "sky"),
    ("skis", "ski"),
    ("sky", "sky"),
    ("ugly", "ugli"),
];
/// Beginnings after which the first region starts.
const REGION_STARTS: [&str; 9] =
    ["arsen", "commun", "emerg", "gener", "inter", "later", "organ", "past", "univers"];
/// Step 2, longest first: the ending and what replaces it. `ogi` and `li` have conditions of their own.
const STEP_2: [(&str, &str); 25] = [
    ("ational", "ate"),
    ("fulness", "ful"),
    ("iveness", "ive"),
    ("ization", "ize"),
    ("ousness", "ous"),
    ("biliti", "ble"),
    ("lessli", "less"),
    ("tional", "tion"),
    ("alism", "al"),
    ("aliti", "al"),
    ("ation", "ate"),
    ("entli", "ent"),
    ("fulli", "ful"),
    ("iviti", "ive"),
    ("ogist", "og"),
    ("ousli", "ous"),
    ("abli", "able"),
    ("alli", "al"),
    ("anci", "ance"),
    ("ator", "ate"),
    ("enci", "ence"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("ogi", "og"),
    ("li", ""),
];
/// Step 3, longest first. `ative` goes only from the second region.
const STEP_3: [(&str, &str); 9] = [
    ("ational", "ate"),
    ("tional", "tion"),
    ("alize", "al"),
    ("ative", ""),
    ("icate", "ic"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ness", ""),
    ("ful", ""),
];
/// Step 4, longest first. `ion` goes only after `s` or `t`.
const STEP_4: [&str; 18] = [
    "ement", "able", "ance", "ence", "ible", "ment", "ant", "ate", "ent", "ion", "ism", "iti", "ive", "ize",
    "ous", "al", "er", "ic",
];

/// Replaces a word of lower-case ASCII letters by its stem.
pub(super) fn stem(word: &mut String) {
    if word.len() < 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return;
    }
    if let Some((_, stem)) = EXCEPTIONS.iter().find(|(exception, _)| exception == word) {
        word.replace_range(.., stem);
        return;
    }
    let mut stemmer = Stemmer::new(std::mem::take(word));
    stemmer.plural();
    stemmer.past();
    stemmer.final_y();
    stemmer.replace(&STEP_2);
    stemmer.replace(&STEP_3);
    stemmer.residue();
    stemmer.final_e();
    *word = stemmer.word;
    // A `y` that was a consonant.
    word.make_ascii_lowercase();
}

/// A word being stemmed; a `y` that is a consonant is written `Y`.
struct Stemmer {
    word: String,
    first: usize,
    second: usize,
}

const fn is_vowel(byte: u8) -> bool {
    matches!(byte, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

impl Stemmer {
    fn new(mut word: String) -> Self {
        if word.contains('y') {
            word = marked(&word);
        }
        let start = REGION_STARTS.iter().find(|start| word.starts_with(**start));
        let first = start.map_or_else(|| region(&word, 0), |start| start.len());
        let second = region(&word, first);
        Self { word, first, second }
    }

    /// Returns the byte `back` places before `end`, counted from 1.
    fn before(&self, end: usize, back: usize) -> Option<u8> {
        self.word.as_bytes().get(end.checked_sub(back)?).copied()
    }

    fn has_vowel_before(&self, end: usize) -> bool {
        self.word.bytes().take(end).any(is_vowel)
    }

    /// Returns whether the first `end` letters end in a short syllable.
    fn is_short(&self, end: usize) -> bool {
        if self.word.get(..end).is_some_and(|word| word.ends_with("past")) {
            return true;
        }
        let (last, vowel) = (self.before(end, 1), self.before(end, 2));
        let (Some(last), Some(true)) = (last, vowel.map(is_vowel)) else { return false };
        match self.before(end, 3) {
            None => !is_vowel(last),
            Some(before) => !is_vowel(before) && !is_vowel(last) && !matches!(last, b'w' | b'x' | b'Y'),
        }
    }

    /// Step 1a.
    fn plural(&mut self) {
        let length = self.word.len();
        if self.word.ends_with("sses") {
            self.word.truncate(length - 2);
        } else if self.word.ends_with("ied") || self.word.ends_with("ies") {
            self.word.truncate(if length > 4 { length - 2 } else { length - 1 });
        } else if self.word.ends_with('s')
            && !self.word.ends_with("ss")
            && !self.word.ends_with("us")
            && self.has_vowel_before(length - 2)
        {
            self.word.truncate(length - 1);
        }
    }

    /// Step 1b.
    fn past(&mut self) {
        for suffix in ["eedly", "eed"] {
            if let Some(before) = self.word.strip_suffix(suffix) {
                let end = before.len();
                if end >= self.first && !matches!(before, "succ" | "proc" | "exc") {
                    self.word.truncate(end + 2);
                }
                return;
            }
        }
        let Some(end) = ["ingly", "edly", "ing", "ed"].iter().find_map(|suffix| {
            let before = self.word.strip_suffix(suffix)?;
            Some(before.len())
        }) else {
            return;
        };
        if self.word.ends_with("ing") {
            let before = self.word.get(..end).unwrap_or_default();
            if matches!(before, "even" | "cann" | "inn" | "earr" | "herr" | "out") {
                return;
            }
            // `dying` is `die`.
            if end == 2 && before.ends_with('y') && !self.before(1, 1).is_some_and(is_vowel) {
                self.word.replace_range(1.., "ie");
                return;
            }
        }
        if !self.has_vowel_before(end) {
            return;
        }
        self.word.truncate(end);
        let is_whole = || end == 3 && matches!(self.word.as_bytes().first(), Some(b'a' | b'e' | b'o'));
        match (self.before(end, 2), self.before(end, 1)) {
            (Some(b'a'), Some(b't')) | (Some(b'b'), Some(b'l')) | (Some(b'i'), Some(b'z')) => {
                self.word.push('e');
            }
            // `add` and `egg` stay.
            (Some(one), Some(two)) if one == two && b"bdfgmnprt".contains(&one) && !is_whole() => {
                self.word.truncate(end - 1);
            }
            _ if end == self.first && self.is_short(end) => self.word.push('e'),
            _ => {}
        }
    }

    /// Step 1c.
    fn final_y(&mut self) {
        let length = self.word.len();
        if length > 2 && self.word.ends_with(['y', 'Y']) && !self.before(length, 2).is_some_and(is_vowel) {
            self.word.replace_range(length - 1.., "i");
        }
    }

    /// Steps 2 and 3: the longest ending, if it lies in the first region, is replaced.
    fn replace(&mut self, endings: &[(&str, &str)]) {
        let Some((suffix, with)) = endings.iter().find(|(suffix, _)| ends(&self.word, suffix)) else {
            return;
        };
        let end = self.word.len() - suffix.len();
        let applies = match *suffix {
            "ogi" => self.before(end, 1) == Some(b'l'),
            "li" => self.before(end, 1).is_some_and(|byte| b"cdeghkmnrt".contains(&byte)),
            "ative" => end >= self.second,
            _ => true,
        };
        if end >= self.first && applies {
            self.word.replace_range(end.., with);
        }
    }

    /// Step 4.
    fn residue(&mut self) {
        let Some(suffix) = STEP_4.iter().find(|suffix| ends(&self.word, suffix)) else { return };
        let end = self.word.len() - suffix.len();
        let applies = *suffix != "ion" || matches!(self.before(end, 1), Some(b's' | b't'));
        if end >= self.second && applies {
            self.word.truncate(end);
        }
    }

    /// Step 5.
    fn final_e(&mut self) {
        let Some(end) = self.word.len().checked_sub(1) else { return };
        let goes = match self.word.as_bytes().last() {
            Some(b'e') => end >= self.second || end >= self.first && !self.is_short(end),
            Some(b'l') => end >= self.second && self.before(end, 1) == Some(b'l'),
            _ => false,
        };
        if goes {
            self.word.truncate(end);
        }
    }
}

/// Writes a `y` that is a consonant as `Y`: at the beginning, and after a vowel.
fn marked(word: &str) -> String {
    let mut marked = String::with_capacity(word.len() + 1);
    for byte in word.bytes() {
        let is_consonant = byte == b'y' && marked.as_bytes().last().is_none_or(|last| is_vowel(*last));
        marked.push(if is_consonant { 'Y' } else { char::from(byte) });
    }
    marked
}

/// Returns whether a word has an ending. Most have not, which the last letter says.
fn ends(word: &str, suffix: &str) -> bool {
    word.as_bytes().last() == suffix.as_bytes().last() && word.ends_with(suffix)
}

/// Returns where the region after the first consonant that follows a vowel begins.
fn region(word: &str, from: usize) -> usize {
    let bytes = word.as_bytes().get(from..).unwrap_or_default();
    let vowel = bytes.iter().position(|byte| is_vowel(*byte));
    let consonant =
        vowel.and_then(|at| Some(at + bytes.get(at..)?.iter().position(|byte| !is_vowel(*byte))?));
    consonant.map_or(word.len(), |at| from + at + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn stems_are_those_of_snowball() {
        for line in include_str!("fixtures/stems.tsv").lines() {
            let (word, wanted) = line.split_once('\t').expect("two fields");
            let mut found = word.to_owned();
            stem(&mut found);
            assert_eq!(found, wanted, "{word}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_a_stem(word in "\\PC{0,12}", letters in "[a-z]{0,12}") {
            for mut word in [word, letters] {
                let length = word.len();
                stem(&mut word);
                prop_assert!(word.len() <= length + 1);
            }
        }
    }
}
