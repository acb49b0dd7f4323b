//! The keyword prefilter: one pass that finds where any rule could apply.
//! Decides nothing: a keyword is a place to look, not a finding.

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind, StartKind};

use crate::rules::{Engine, Method, Rules};

/// What a keyword leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// Try this rule.
    Rule(usize),
    /// Look whether this name has a value assigned.
    Name(usize),
    /// An escape that spells a printable ASCII byte: any keyword could hide behind it.
    Escape,
}

/// Escapes of the printable ASCII bytes, as they stand in the raw line at any depth of nesting: the innermost `\u00`
/// of a chain of escapes is always spelled out.
const PRINTABLE_ESCAPES: [&str; 6] = [r"\u002", r"\u003", r"\u004", r"\u005", r"\u006", r"\u007"];

/// The automaton over all keywords.
#[derive(Debug)]
pub(crate) struct Automaton {
    search: AhoCorasick,
    targets: Vec<Vec<Target>>,
}

impl Automaton {
    pub(crate) fn of(rules: &Rules) -> Automaton {
        let mut keywords: Vec<String> = Vec::new();
        let mut targets: Vec<Vec<Target>> = Vec::new();
        let mut known = std::collections::HashMap::new();
        let mut add = |keyword: String, target: Target| {
            let index = *known.entry(keyword.clone()).or_insert_with(|| {
                keywords.push(keyword);
                targets.push(Vec::new());
                targets.len() - 1
            });
            if let Some(list) = targets.get_mut(index) {
                list.push(target);
            }
        };
        for (index, rule) in rules.list.iter().enumerate() {
            if !matches!(rule.method, Method::Engine(Engine::Assignment)) {
                for keyword in &rule.spec.keys {
                    add(keyword.clone(), Target::Rule(index));
                }
            }
        }
        for (index, name) in rules.names.iter().enumerate() {
            for spelling in spellings(&name.spec.word) {
                add(spelling, Target::Name(index));
            }
        }
        for escape in PRINTABLE_ESCAPES {
            add(escape.to_owned(), Target::Escape);
        }
        let search = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .start_kind(StartKind::Unanchored)
            .kind(Some(AhoCorasickKind::DFA))
            .build(&keywords)
            .expect("a few hundred short keywords fit any automaton");
        Automaton { search, targets }
    }

    /// Calls `visit` with each keyword's place and what it leads to, in the order of the ends.
    /// Stops when `visit` returns `true`, and says so.
    pub(crate) fn any(&self, text: &[u8], mut visit: impl FnMut(usize, usize, Target) -> bool) -> bool {
        self.search.find_overlapping_iter(text).any(|found| {
            let targets = self.targets.get(found.pattern().as_usize()).map_or(&[][..], Vec::as_slice);
            targets.iter().any(|&target| visit(found.start(), found.end(), target))
        })
    }
}

/// All spellings of a name: `api_key` is also `apikey`, `api-key`, `apiKey`, `ApiKey`, `API_KEY` …
/// A word with `_` in front is taken as written, in lower and in upper case.
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

fn capitalise(part: &str) -> String {
    let (first, rest) = part.split_at(part.len().min(1));
    first.to_uppercase() + rest
}

#[cfg(test)]
mod tests {
    use super::spellings;

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
