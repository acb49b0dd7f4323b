//! The keyword prefilter: one pass that finds where any rule could apply.
//! Decides nothing: a keyword is a place to look, not a finding.
//!
//! Three bytes at a time are looked up in a table of 8 KiB, which stays in the fastest cache whatever else the machine
//! does; an Aho-Corasick automaton over the same keywords takes a megabyte and milliseconds to build, and was slower.

use std::collections::BTreeMap;

use crate::entropy::Mode;
use crate::rules::Rules;

/// What a keyword leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// Try this rule.
    Rule(usize),
    /// Look whether this name has a value assigned.
    Name(usize),
    /// Look whether a token that looks drawn is near.
    Word,
    /// An escape that spells a printable ASCII byte or a tab: any keyword, or a blank, could hide behind it.
    Escape,
    /// A colour, which may hide a name or a value.
    Colour,
}

/// Escapes of the printable ASCII bytes and the tab, as they stand in the raw line at any depth of nesting: the innermost `\u00`
/// of a chain of escapes is always spelled out.
const PRINTABLE_ESCAPES: [&str; 7] = [r"\u0009", r"\u002", r"\u003", r"\u004", r"\u005", r"\u006", r"\u007"];

/// How control sequences begin, as bytes and as they stand in a raw line.
const COLOURS: [&str; 19] = [
    r"\u001b[", r"\u001B[", r"\u001b(", r"\u001B(", "\x1b[0", "\x1b[1", "\x1b[2", "\x1b[3", "\x1b[4",
    "\x1b[5", "\x1b[6", "\x1b[7", "\x1b[8", "\x1b[9", "\x1b[m", "\x1b[K", "\x1b[?", "\x1b(B", "\x1b(0",
];
/// How links and titles of a terminal begin: seldom, and what ends them may be escaped.
const COMMANDS: [&str; 9] =
    [r"\u001b]", r"\u001B]", "\x1b]0", "\x1b]1", "\x1b]2", "\x1b]4", "\x1b]5", "\x1b]8", "\x1b]9"];

/// Bytes of a keyword that the table knows; a rule set has no shorter ones.
pub(crate) const KEYWORD_BYTES_MIN: usize = 3;
/// Bits of a hash of three bytes.
const HASH_BITS: u32 = 16;
const TABLE_WORDS: usize = 1 << (HASH_BITS - 6);

/// One keyword and everything that begins with a look at it.
#[derive(Debug)]
struct Keyword {
    hash: u16,
    /// Where the three bytes that are hashed stand in it: the rarest ones, so that few places need a look.
    at: usize,
    bytes: Vec<u8>,
    targets: Vec<Target>,
}

/// All keywords of a rule set.
#[derive(Debug)]
pub(crate) struct Keywords {
    /// One bit for each hash that a keyword has.
    table: Box<[u64; TABLE_WORDS]>,
    /// How many bits are set before each word of the table.
    ranks: Box<[u16; TABLE_WORDS]>,
    /// The keywords of each hash, in the order of the bits.
    buckets: Vec<Vec<Keyword>>,
}

impl Keywords {
    pub(crate) fn of(rules: &Rules) -> Keywords {
        let mut found: BTreeMap<&str, Vec<Target>> = BTreeMap::new();
        for (index, rule) in rules.list.iter().enumerate() {
            for keyword in &rule.spec.keys {
                found.entry(keyword).or_default().push(Target::Rule(index));
            }
        }
        let spoken = |word| if rules.edition.looks_beside() { spoken(word) } else { Vec::new() };
        let spellings_of = |word| [spellings(word), spoken(word)].concat();
        let names: Vec<Vec<String>> =
            rules.names.iter().map(|name| spellings_of(name.spec.word.as_str())).collect();
        for (index, spellings) in names.iter().enumerate() {
            for spelling in spellings {
                found.entry(spelling).or_default().push(Target::Name(index));
            }
        }
        let words = rules.entropy.words.iter().filter(|_| rules.entropy.mode == Mode::Context);
        let words: Vec<String> = words.flat_map(|word| spellings(word)).collect();
        for word in &words {
            found.entry(word).or_default().push(Target::Word);
        }
        for escape in PRINTABLE_ESCAPES {
            found.entry(escape).or_default().push(Target::Escape);
        }
        if rules.edition.looks_beside() {
            for colour in COLOURS {
                found.entry(colour).or_default().push(Target::Colour);
            }
            for command in COMMANDS {
                found.entry(command).or_default().push(Target::Escape);
            }
        }
        let mut by_hash: BTreeMap<u16, Vec<Keyword>> = BTreeMap::new();
        for (keyword, targets) in found {
            let (at, hash) = rarest(keyword.as_bytes());
            by_hash.entry(hash).or_default().push(Keyword { hash, at, bytes: keyword.into(), targets });
        }
        Keywords::from_buckets(by_hash.into_values().collect())
    }

    /// Builds the table over keywords that are sorted by hash.
    fn from_buckets(buckets: Vec<Vec<Keyword>>) -> Keywords {
        let (mut table, mut ranks) = (Box::new([0u64; TABLE_WORDS]), Box::new([0u16; TABLE_WORDS]));
        for hash in buckets.iter().filter_map(|bucket| Some(bucket.first()?.hash)) {
            if let Some(word) = table.get_mut(usize::from(hash >> 6)) {
                *word |= 1 << (hash & 63);
            }
        }
        let mut before = 0;
        for (rank, word) in ranks.iter_mut().zip(table.iter()) {
            *rank = before;
            before += u16::try_from(word.count_ones()).unwrap_or_default();
        }
        Keywords { table, ranks, buckets }
    }

    /// Calls `visit` with each keyword's place and what it leads to, roughly from left to right.
    /// Stops when `visit` returns `true`, and says so.
    pub(crate) fn any(&self, text: &[u8], mut visit: impl FnMut(usize, usize, Target) -> bool) -> bool {
        let mut last = 0;
        for (end, &byte) in text.iter().enumerate() {
            last = (last << 8 | u32::from(byte)) & 0x00ff_ffff;
            let hash = hash(last);
            let word = self.table.get(usize::from(hash >> 6)).copied().unwrap_or_default();
            if word >> (hash & 63) & 1 == 0 {
                continue;
            }
            for keyword in self.bucket(hash, word) {
                let Some(start) = (end + 1).checked_sub(KEYWORD_BYTES_MIN + keyword.at) else { continue };
                let is_here = text.get(start..).is_some_and(|rest| rest.starts_with(&keyword.bytes));
                if is_here
                    && keyword.targets.iter().any(|&target| visit(start, start + keyword.bytes.len(), target))
                {
                    return true;
                }
            }
        }
        false
    }

    /// Returns the keywords of a hash whose bit is set in its word of the table.
    fn bucket(&self, hash: u16, word: u64) -> &[Keyword] {
        let before = self.ranks.get(usize::from(hash >> 6)).copied().unwrap_or_default();
        let within = (word & ((1 << (hash & 63)) - 1)).count_ones() as usize;
        self.buckets.get(usize::from(before) + within).map_or(&[], Vec::as_slice)
    }
}

fn hash(three: u32) -> u16 {
    // Fibonacci hashing: the upper bits are the mixed ones.
    u16::try_from(three.wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS)).unwrap_or_default()
}

/// Finds the three bytes of a keyword that texts have least, and their hash.
fn rarest(keyword: &[u8]) -> (usize, u16) {
    let commonness = |byte: &u8| match byte {
        b'e' | b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' | b' ' => 4,
        b'v' | b'k' | b'x' | b'j' | b'q' | b'z' => 0,
        b'a'..=b'z' => 2,
        _ => 1,
    };
    let windows = keyword.windows(KEYWORD_BYTES_MIN).enumerate();
    let rarest = windows.min_by_key(|(_, window)| window.iter().map(commonness).sum::<u32>());
    let Some((at, &[a, b, c])) = rarest else { return (0, 0) };
    (at, hash(u32::from_be_bytes([0, a, b, c])))
}

/// All spellings of a name: `api_key` is also `apikey`, `api-key`, `apiKey`, `ApiKey`, `API_KEY` …
/// A word with `_` in front is taken as written and in upper case.
fn spellings(word: &str) -> Vec<String> {
    let mut all = vec![word.to_owned(), word.to_uppercase()];
    if !word.starts_with('_') {
        let parts: Vec<&str> = word.split('_').collect();
        let capitalised: Vec<String> = parts.iter().map(|part| capitalise(part)).collect();
        let camel = parts.iter().take(1).copied().chain(capitalised.iter().skip(1).map(String::as_str));
        all.push(camel.collect());
        // `X-API-Key`, `APIKey`.
        let mut acronym = capitalised.clone();
        if let Some(first) = acronym.first_mut() {
            *first = first.to_uppercase();
        }
        for separator in ["", "_", "-"] {
            all.push(capitalised.join(separator));
            all.push(acronym.join(separator));
            all.push(parts.join(separator));
            all.push(parts.join(separator).to_uppercase());
        }
    }
    all.sort();
    all.dedup();
    all
}

/// How a text spells a name of several words: `API key`, `Access key`.
fn spoken(word: &str) -> Vec<String> {
    let Some((first, rest)) = word.split_once('_').filter(|(first, _)| !first.is_empty()) else {
        return Vec::new();
    };
    let rest = rest.replace('_', " ");
    let capitalised = rest.split(' ').map(capitalise).collect::<Vec<_>>().join(" ");
    let (upper, title) = (first.to_uppercase(), capitalise(first));
    let mut all = vec![format!("{first} {rest}"), format!("{upper} {}", rest.to_uppercase())];
    let titles = [title, upper].into_iter().take(if first.len() > 3 { 1 } else { 2 });
    all.extend(titles.flat_map(|title| [format!("{title} {rest}"), format!("{title} {capitalised}")]));
    all
}

fn capitalise(part: &str) -> String {
    let (first, rest) = part.split_at(part.len().min(1));
    first.to_uppercase() + rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Keywords, spellings};
    use crate::rules::Rules;
    use crate::scrubber::BUILTIN;

    proptest! {
        /// Beside any other bytes each keyword is found where it stands.
        #[test]
        fn no_keyword_is_missed(before in "[ -~]{0,9}", index in any::<prop::sample::Index>(), after in "[ -~]{0,9}") {
            let rules = Rules::parse(BUILTIN).unwrap();
            let all: Vec<String> = rules
                .list
                .iter()
                .flat_map(|rule| rule.spec.keys.clone())
                .chain(rules.names.iter().flat_map(|name| spellings(&name.spec.word)))
                .chain(rules.entropy.words.iter().flat_map(|word| spellings(word)))
                .collect();
            let keyword = index.get(&all);
            let text = format!("{before}{keyword}{after}");
            let place = (before.len(), before.len() + keyword.len());
            prop_assert!(Keywords::of(&rules).any(text.as_bytes(), |start, end, _| (start, end) == place));
        }
    }

    #[test]
    fn spellings_of_names() {
        assert_eq!(spellings("token"), ["TOKEN", "Token", "token"]);
        assert_eq!(spellings("_pass"), ["_PASS", "_pass"]);
        let all = spellings("api_key");
        for spelling in [
            "api_key", "apikey", "api-key", "apiKey", "ApiKey", "Api-Key", "API-Key", "API_KEY", "APIKEY",
            "API-KEY",
        ] {
            assert!(all.iter().any(|known| known == spelling), "{spelling}");
        }
    }
}
