//! The corpus of real transcripts, for the tests of all formats, and the laws that its sessions keep.

use proptest::prelude::ProptestConfig;

use crate::adapter::{Adapter, DETECT_BYTES_MAX, Detection};
use crate::chain_tests::checked;
use crate::codex::FORMAT_EXEC as CODEX_EXEC;
use crate::conformance::{SMALL_SAMPLE_BYTES_MAX, check, passes};
use crate::openhands::FORMAT as OPENHANDS;
use crate::{opencode, registry};

/// Name and bytes of every file of one runtime's folder with this ending; says so where there is no corpus.
pub(crate) fn files(folder: &str, ending: &str) -> Vec<(String, Vec<u8>)> {
    files_below(&[folder], |name| name.ends_with(ending))
}

/// Name and bytes of every wanted file below some folders of the corpus; says so where there is none.
pub(crate) fn files_below(folders: &[&str], is_wanted: impl Fn(&str) -> bool) -> Vec<(String, Vec<u8>)> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the corpus is not part of the project: tests may run without"
    )]
    let Some(root) = std::env::var_os("STEMMATA_CORPUS").map(std::path::PathBuf::from) else {
        println!("skipped: STEMMATA_CORPUS is not set");
        return Vec::new();
    };
    let mut folders: Vec<_> = folders.iter().map(|folder| root.join(folder)).collect();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the corpus") {
            let path = entry.expect("an entry of the corpus").path();
            let name = path.strip_prefix(&root).expect("below the root").display().to_string();
            if path.is_dir() {
                folders.push(path);
            } else if is_wanted(&name) {
                files.push((name, std::fs::read(&path).expect("a file of the corpus")));
            }
        }
    }
    files.sort();
    assert!(!files.is_empty(), "no session below {}", root.display());
    files
}

/// Bytes of a file that each run of the tests reads; longer ones are left to `cargo xtask test --full`.
const SAMPLE_FILE_BYTES_MAX: usize = 1_300_000;

/// Returns whether this run of the tests does everything, as `cargo xtask test --full` does.
pub(crate) fn is_full() -> bool {
    ProptestConfig::default().cases >= 256
}

/// Returns the files that this run reads, and says how many it leaves out.
pub(crate) fn sampled(files: Vec<(String, Vec<u8>)>) -> Vec<(String, Vec<u8>)> {
    let (taken, left): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|(_, bytes)| is_full() || bytes.len() <= SAMPLE_FILE_BYTES_MAX);
    if !left.is_empty() {
        println!("sampled: {} files are not read, `cargo xtask test --full` reads them", left.len());
    }
    taken
}

/// Returns the adapter that claims a file.
pub(crate) fn adapter_of(bytes: &[u8]) -> Option<(&'static dyn Adapter, Detection)> {
    registry::detect(bytes.get(..DETECT_BYTES_MAX).unwrap_or(bytes))
}

/// Folders of the corpus, and what the names of the sessions in them have in common.
const SESSIONS: [(&str, &str); 11] = [
    ("aider", ".md"),
    ("claude-code", ".jsonl"),
    ("codex", ".jsonl"),
    ("gemini", ".jsonl"),
    ("opencode", ".json"),
    ("openhands", ".jsonl"),
    ("parser-fixtures", "claude-code"),
    ("parser-fixtures", "codex"),
    ("parser-fixtures", "gemini"),
    ("pi", ".jsonl"),
    ("swe-agent", ".traj"),
];

#[test]
fn the_corpus_keeps_the_laws() {
    std::thread::scope(|threads| {
        for (folder, name) in SESSIONS {
            threads.spawn(move || keep_the_laws(folder, name));
        }
    });
}

/// Every such file is claimed, and its adapter keeps the laws; some formats promise more.
fn keep_the_laws(folder: &str, of_name: &str) {
    for (name, bytes) in sampled(files_below(&[folder], |name| name.contains(of_name))) {
        let (adapter, _) = adapter_of(&bytes).unwrap_or_else(|| panic!("{name}: no adapter claims it"));
        let format = adapter.format();
        let report = if bytes.len() <= SMALL_SAMPLE_BYTES_MAX {
            passes(adapter, &name, &bytes)
        } else {
            check(adapter, &bytes).unwrap_or_else(|violation| panic!("{name}: {violation}"))
        };
        let entries = adapter.decode(&bytes).entries;
        let calls: usize = entries.iter().map(|entry| entry.calls().count()).sum();
        let results: usize = entries.iter().map(|entry| entry.answers().count()).sum();
        println!("{name} ({format}): {} bytes, {calls} calls, {results} results, {report:?}", bytes.len());
        match format.as_str() {
            CODEX_EXEC => assert!(calls > 0 && calls == results, "{name}: {calls} calls, {results} results"),
            OPENHANDS => assert!(calls > 0, "{name}"),
            opencode::FORMAT => {
                assert_eq!((report.notes, checked(adapter, &bytes).findings), (vec![], vec![]), "{name}");
            }
            _ => {}
        }
    }
}
