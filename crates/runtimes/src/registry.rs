//! All adapters of this build.
//!
//! A list and look-ups; which files there are, and where runtimes keep them, is the engine's to know.

mod opening;
#[cfg(test)]
mod opening_tests;

use std::sync::LazyLock;

use stemmata_model::FormatId;

use self::opening::Opening;
use crate::adapter::{Adapter, Detection};
use crate::bureau::Bureau;
use crate::captured::Captured;
use crate::clients;
use crate::messages::Messages;
use crate::translate::runtime_of;

pub(crate) use self::opening::Mark;

/// A format: what reads and writes it, and what a file has to begin with for that to be asked, which is all that its `detect`
/// cannot do without.
#[derive(Clone, Copy)]
pub struct Registered {
    /// What reads and writes it.
    pub adapter: &'static dyn Adapter,
    begins: &'static [Mark],
}

impl Registered {
    /// Names a format's adapter and the marks of which its files begin with one.
    pub(crate) const fn new(adapter: &'static dyn Adapter, begins: &'static [Mark]) -> Self {
        Self { adapter, begins }
    }
}

/// The formats that no client writes.
const OTHERS: &[Registered] = &[
    Registered::new(&Captured::GENERIC, &[Mark::Keys(&["t", "fd", "line"])]),
    Registered::new(&Captured::ENTRIES, &[Mark::Keys(&["v"])]),
    Registered::new(&Messages::ANTHROPIC, &[Mark::List]),
    Registered::new(&Messages::CHAT, &[Mark::List]),
    Registered::new(&Messages::RESPONSES, &[Mark::List]),
    Registered::new(&Bureau::AGENT, &[Mark::CborList]),
    Registered::new(&Bureau::EVENTS, &[Mark::CborList]),
];

/// Returns all formats, in the order in which their adapters are asked.
fn formats() -> impl Iterator<Item = &'static Registered> {
    clients::ALL.iter().flat_map(|client| client.formats).chain(OTHERS)
}

/// Returns all adapters, in the order in which they are asked.
pub fn adapters() -> &'static [&'static dyn Adapter] {
    static ADAPTERS: LazyLock<Vec<&'static dyn Adapter>> =
        LazyLock::new(|| formats().map(|format| format.adapter).collect());
    &ADAPTERS
}

/// Returns the adapter of a format: of a transcript's, or of a file's beside one, which no file is asked about.
pub fn by_format(format: &FormatId) -> Option<&'static dyn Adapter> {
    let beside: &'static dyn Adapter = &crate::sidecar::FILE;
    adapters().iter().copied().chain([beside]).find(|adapter| adapter.format() == *format)
}

/// Returns the adapter in which sessions for a runtime are written: of several formats, the one that its loader takes
/// most readily. None for what no client loads.
pub fn by_runtime(runtime: &str) -> Option<&'static dyn Adapter> {
    let named = clients::by_id(runtime).and_then(|client| client.placed_as);
    let is_loaded =
        |adapter: &&dyn Adapter| adapter.is_placeable() && runtime_of(&adapter.format()) == runtime;
    named.or_else(|| adapters().iter().copied().find(is_loaded))
}

/// Returns the adapter that is surest that these first bytes of a file are its own; of several equally sure ones, the one
/// whose record comes first: a file that goes on in another format is what it began as. Else the first in the list.
///
/// It is given at most [`DETECT_BYTES_MAX`](crate::adapter::DETECT_BYTES_MAX) bytes.
pub fn detect(head: &[u8]) -> Option<(&'static dyn Adapter, Detection)> {
    let opening = Opening::of(head);
    let asked = formats().filter(|format| opening.has_any(format.begins)).map(|format| format.adapter);
    let first = head.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty());
    let begins = |adapter: &&dyn Adapter| first.is_some_and(|line| adapter.detect(line).is_some());
    surest(asked.filter_map(|adapter| Some((adapter, adapter.detect(head)?))), begins)
}

fn surest<A>(
    found: impl Iterator<Item = (A, Detection)>,
    begins: impl Fn(&A) -> bool,
) -> Option<(A, Detection)> {
    let found: Vec<(A, Detection)> = found.collect();
    let best = found.iter().map(|(_, claim)| claim.confidence).max();
    let mut equals: Vec<_> = found.into_iter().filter(|(_, claim)| Some(claim.confidence) == best).collect();
    let at = if equals.len() > 1 { equals.iter().position(|(adapter, _)| begins(adapter)) } else { None };
    (!equals.is_empty()).then(|| equals.swap_remove(at.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::Confidence;
    use crate::claude_code::samples_tests::transcript;
    use crate::corpus_tests::{adapter_of, files_below};

    #[test]
    fn every_adapter_is_found_by_its_format() {
        for adapter in adapters() {
            let found = by_format(&adapter.format()).map(Adapter::format);
            assert_eq!(found, Some(adapter.format()));
        }
        assert!(by_format(&FormatId::new("clay-tablet-v1").expect("a name")).is_none());
    }

    #[test]
    fn bytes_find_their_adapter() {
        let found =
            detect(&transcript("UA")).map(|(adapter, detection)| (adapter.format(), detection.format));
        let claude = FormatId::new("claude-code-v1").expect("a name");
        assert_eq!(found, Some((claude.clone(), claude)));
        assert!(detect(b"dear diary\n").is_none());
    }

    #[test]
    fn the_surest_is_taken_and_of_equals_the_one_that_begins() {
        let found = |confidence| {
            let format = FormatId::new("clay-tablet-v1").expect("a name");
            Detection { format, version: None, confidence }
        };
        let taken = |all: &[Confidence], first: &[usize]| {
            let all = all.iter().copied().map(found).enumerate();
            surest(all, |index| first.contains(index)).map(|(index, _)| index)
        };
        let three = [Confidence::Possible, Confidence::Certain, Confidence::Certain];
        assert_eq!(
            (taken(&three, &[]), taken(&three, &[0]), taken(&three, &[0, 2])),
            (Some(1), Some(1), Some(2))
        );
        assert_eq!(taken(&[Confidence::Possible, Confidence::Possible], &[]), Some(0));
        assert_eq!(taken(&[], &[0]), None);
    }

    #[test]
    fn a_file_is_claimed_by_its_own_runtime_or_by_none() {
        let folders = [
            "aider",
            "claude-code",
            "codex",
            "gemini",
            "opencode",
            "openhands",
            "parser-fixtures",
            "pi",
            "swe-agent",
        ];
        let mut claimed = std::collections::BTreeMap::<String, usize>::new();
        for (name, bytes) in files_below(&folders, |_| true) {
            let Some((_, found)) = adapter_of(&bytes) else { continue };
            let folder = name.split('/').next().unwrap_or_default();
            let is_fixture = folder == "parser-fixtures"
                && name.contains(found.format.as_str().split('-').next().unwrap_or("?"));
            let is_stream =
                name.ends_with(".stream.jsonl") && found.format.as_str() == crate::claude_code::FORMAT_STREAM;
            assert!(
                is_fixture || is_stream || found.format.as_str().starts_with(folder),
                "{name}: {}",
                found.format
            );
            *claimed.entry(found.format.to_string()).or_default() += 1;
        }
        println!("claimed: {claimed:?}");
    }
}
