//! The sessions that ship in `examples/` are the stories as they are written, and hang together.

use std::path::{Path, PathBuf};

use stemmata_testkit::claude::faults;
use stemmata_testkit::stories;

fn projects() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/claude-code/projects")
}

fn shipped(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of examples") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            shipped(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn the_files_are_the_stories() {
    let mut files = stories::files();
    for (name, text) in &files {
        let shipped = std::fs::read_to_string(projects().join(name)).unwrap_or_default();
        assert!(
            shipped == *text,
            "{name} is stale: run `cargo run -p stemmata-testkit --example write_stories`"
        );
    }
    let mut found = Vec::new();
    shipped(&projects(), &mut found);
    let mut found: Vec<String> = found
        .iter()
        .filter_map(|path| path.strip_prefix(projects()).ok())
        .map(|path| path.to_string_lossy().replace('\\', "/"))
        .collect();
    found.sort();
    files.sort();
    let told: Vec<String> = files.into_iter().map(|(name, _)| name).collect();
    assert_eq!(found, told, "a file that no story tells");
}

#[test]
fn every_story_hangs_together_and_is_small() {
    let mut total = 0;
    for (name, text) in stories::files() {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        assert_eq!(faults(&lines), Vec::<String>::new(), "{name}");
        assert!((10_000..=60_000).contains(&text.len()), "{name}: {} bytes", text.len());
        total += text.len();
    }
    assert!(total < 250_000, "{total} bytes");
}

#[test]
fn the_stories_show_what_they_are_there_for() {
    let texts: String = stories::files().into_iter().map(|(_, text)| text).collect();
    for mark in [
        "\"compact_boundary\"",
        "\"preservedMessages\"",
        "\"isCompactSummary\":true",
        "\"isSidechain\":true",
        "\"customTitle\"",
        "\"is_error\":true",
        "\"type\":\"thinking\"",
    ] {
        assert!(texts.contains(mark), "{mark}");
    }
    let rewound = stories::all().iter().any(|transcript| {
        let mut prompts: Vec<String> = transcript
            .lines
            .iter()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
            .filter(|line| line["message"]["role"] == "user" && line["message"]["content"].is_string())
            .map(|line| line["parentUuid"].to_string())
            .collect();
        let count = prompts.len();
        prompts.sort();
        prompts.dedup();
        prompts.len() < count
    });
    assert!(rewound, "two prompts hang off the same line");
}
