//! The sessions that ship in `examples/` hang together and show what they are there for.

use std::path::{Path, PathBuf};

use serde_json::Value;
use stemmata_testkit::claude::faults;

/// Returns the shipped files: name and lines.
fn shipped() -> Vec<(String, Vec<String>)> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/claude-code/projects")];
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder of examples") {
            let path = entry.expect("an entry").path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("text");
        (path.display().to_string(), text.lines().map(str::to_owned).collect())
    };
    files.into_iter().map(read).collect()
}

#[test]
fn every_story_hangs_together_and_is_small() {
    let mut total = 0;
    for (name, lines) in shipped() {
        assert_eq!(faults(&lines), Vec::<String>::new(), "{name}");
        let bytes: usize = lines.iter().map(|line| line.len() + 1).sum();
        assert!((10_000..=60_000).contains(&bytes), "{name}: {bytes} bytes");
        total += bytes;
    }
    assert!((50_000..250_000).contains(&total), "{total} bytes");
}

#[test]
fn the_stories_show_what_they_are_there_for() {
    let all = shipped();
    for mark in [
        "\"compact_boundary\"",
        "\"preservedMessages\"",
        "\"isCompactSummary\":true",
        "\"isSidechain\":true",
        "\"customTitle\"",
        "\"is_error\":true",
        "\"type\":\"thinking\"",
    ] {
        assert!(all.iter().flat_map(|(_, lines)| lines).any(|line| line.contains(mark)), "{mark}");
    }
    let rewound = all.iter().any(|(_, lines)| {
        let records = lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let prompts = records
            .filter(|line| line["message"]["role"] == "user" && line["message"]["content"].is_string());
        let mut parents: Vec<String> = prompts.map(|line| line["parentUuid"].to_string()).collect();
        let count = parents.len();
        parents.sort();
        parents.dedup();
        parents.len() < count
    });
    assert!(rewound, "two prompts hang off the same line");
}
