//! What the corpus becomes in other runtimes, held by hashes: whoever reads tools anew must not change a byte of it.

use stemmata_model::FormatId;

use super::translate;
use crate::adapter::Adapter;
use crate::corpus_tests::{adapter_of, files_below};
use crate::registry::by_runtime;

#[test]
fn the_corpus_becomes_the_same_bytes_in_every_runtime() {
    let folders = ["claude-code", "codex", "gemini", "opencode", "openhands", "pi", "swe-agent"];
    let files = files_below(&folders, |name| name.contains(".json") || name.contains(".traj"));
    let read = |bytes: &[u8]| {
        let (adapter, _) = adapter_of(bytes)?;
        Some((adapter.format(), adapter.decode(bytes).entries))
    };
    let decoded: Vec<(FormatId, _)> = files.iter().filter_map(|(_, bytes)| read(bytes)).collect();
    for (runtime, wanted) in HASHES {
        let to: &dyn Adapter = by_runtime(runtime).expect("a runtime that is written");
        let mut hash = blake3::Hasher::new();
        for (from, entries) in &decoded {
            hash.update(&to.encode(&translate(entries.clone(), from, &to.format()).entries));
        }
        let hash = hash.finalize().to_hex();
        assert!(decoded.is_empty() || hash.as_str().starts_with(wanted), "{runtime}: {hash}");
    }
}

const HASHES: [(&str, &str); 5] = [
    ("claude-code", "512306ee34655cf0"),
    ("codex", "90e581a6ddd7837c"),
    ("pi", "aa7447442d364cc6"),
    ("gemini", "61f0b5a0df8f9c12"),
    ("opencode", "36c77233d28fe6e1"),
];
