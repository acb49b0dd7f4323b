//! Memories of real sessions: what must be in them, and that lines and entries, and edits and files, say the same.

use std::collections::BTreeSet;

use stemmata_acts::{Certainty, FileAct, Reach, ToolUse, tool_uses};
use stemmata_model::{
    ArtifactId, Entry, Event, EventSeq, FormatId, Json, Part, Party, Payload, SessionId, Timestamp, Topic,
    topics,
};
use stemmata_prompt::reduce::Reducer as _;
use stemmata_prompt::reduce::memory::v1::TaskStatus;
use stemmata_prompt::reduce::memory::{Bounds, MemoryReducer, ProjectMemory, SessionMemory};
use stemmata_runtimes::registry;

use crate::support::corpus;

/// The sessions of one folder of the corpus: name, directory of the agent, entries.
fn sessions(folder: &str) -> Vec<(String, Option<String>, Vec<Entry>)> {
    let Some(root) = corpus(folder) else { return Vec::new() };
    let mut sessions = Vec::new();
    for file in std::fs::read_dir(root.join(folder)).expect("a folder of the corpus") {
        let path = file.expect("an entry of the corpus").path();
        if !path.is_file() {
            continue;
        }
        let bytes = std::fs::read(&path).expect("a file of the corpus");
        let head = bytes.get(..64 * 1024).unwrap_or(&bytes);
        let Some((adapter, _)) = registry::detect(head) else { continue };
        let mut splitter = adapter.splitter(stemmata_model::Granularity::default(), None);
        for line in bytes.split(|byte| *byte == b'\n') {
            splitter.line(line, &mut Vec::new());
        }
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        sessions.push((name, splitter.facts().cwd.clone(), adapter.decode(&bytes).entries));
    }
    sessions.sort_by(|one, other| one.0.cmp(&other.0));
    sessions
}

fn folded(name: &str, root: Option<&str>, entries: &[Entry]) -> SessionMemory {
    let mut memory = SessionMemory::new(&SessionId::new(name).expect("a name"), root);
    for (ordinal, entry) in (0..).zip(entries) {
        memory.entry(entry, ordinal);
    }
    memory
}

fn memory(folder: &str) -> Option<ProjectMemory> {
    let sessions = sessions(folder);
    let memories: Vec<SessionMemory> =
        sessions.iter().map(|(name, cwd, entries)| folded(name, cwd.as_deref(), entries)).collect();
    let merged = ProjectMemory::merge(memories.iter().rev(), []);
    assert_eq!(merged, ProjectMemory::merge(&memories, []), "the order of import does not matter");
    #[expect(clippy::print_stdout, reason = "whoever changes what is extracted reads what came of it")]
    let () = println!("{folder}:\n{}\n", merged.text(12_000));
    (!memories.is_empty()).then_some(merged)
}

/// Checks what must be in a memory: words of decisions, files with their changes at least, words of resolved and of open
/// errors, words of open tasks.
struct Expected<'a> {
    decisions: &'a [&'a str],
    decisions_max: usize,
    files: &'a [(&'a str, u32)],
    resolved: &'a [&'a str],
    open: &'a [&'a str],
    tasks: &'a [&'a str],
}

/// Says whether a text has all these words.
fn has(text: &str, words: &str) -> bool {
    words.split(' ').all(|word| text.contains(word))
}

fn check(folder: &str, expected: &Expected<'_>) {
    let Some(memory) = memory(folder) else { return };
    let items = &memory.items;
    for words in expected.decisions {
        assert!(items.decisions.iter().any(|one| has(&one.text, words)), "{folder}: decision {words}");
    }
    assert!(items.decisions.len() <= expected.decisions_max, "{folder}: {:#?}", items.decisions);
    for (path, changes) in expected.files {
        let file = items.files.iter().find(|file| file.path == *path);
        assert!(file.is_some_and(|file| file.edited + file.created >= *changes), "{folder}: {path} {file:?}");
    }
    for (words, is_resolved) in expected
        .resolved
        .iter()
        .map(|words| (words, true))
        .chain(expected.open.iter().map(|words| (words, false)))
    {
        let found = items
            .errors
            .iter()
            .find(|error| has(&error.text, words) && error.resolved.is_some() == is_resolved);
        assert!(found.is_some(), "{folder}: error {words}, resolved {is_resolved}");
    }
    for words in expected.tasks {
        let found = items.tasks.iter().any(|task| has(&task.text, words) && task.status != TaskStatus::Done);
        assert!(found, "{folder}: task {words}");
    }
}

#[test]
fn the_memories_of_real_repositories() {
    check(
        "claude-code/entireio_cli",
        &Expected {
            decisions: &["british spelling", "manual commit for now", "--setting-sources"],
            decisions_max: 12,
            files: &[("cmd/entire/cli/resume.go", 15), ("cmd/entire/cli/wingman.go", 10)],
            resolved: &[
                "TestShadow_TranscriptCondensation",
                "TestResume_SessionLogAlreadyExists",
                "undefined defaultAgent",
            ],
            open: &[],
            // A subagent did it, whose call is no entry; the list that was asked for says so.
            tasks: &[],
        },
    );
    check(
        "claude-code/spotter",
        &Expected {
            decisions: &[],
            decisions_max: 6,
            files: &[("lib/spotter_web/controllers/otel_trace_helpers.ex", 15), ("config/config.exs", 3)],
            resolved: &["pattern_match", "upstream"],
            open: &[],
            tasks: &[],
        },
    );
    check(
        "pi/pi-mono",
        &Expected {
            decisions: &["themes NEVER", "pendingMessageContainer", "AgentSession modes"],
            decisions_max: 14,
            files: &[
                ("packages/coding-agent/src/core/agent-session.ts", 40),
                ("packages/coding-agent/src/theme/dark.json", 20),
            ],
            resolved: &["main-new.js", "queuedMessages"],
            open: &[],
            tasks: &[],
        },
    );
    check(
        "codex/jdx_hk",
        &Expected {
            decisions: &["cargo update", "builtin changes"],
            decisions_max: 8,
            files: &[("src/step/batching.rs", 8), ("mise-tasks/release-plz", 1)],
            resolved: &["RenderedCommand"],
            open: &["trailing semicolon"],
            tasks: &[],
        },
    );
}

/// A ledger's event that carries a line.
fn event(seq: u64, line: &str, at: Option<Timestamp>) -> Event {
    let party = |name: &str| Party::new(name).expect("a name");
    Event {
        seq: EventSeq::new(seq).expect("a place"),
        session: SessionId::new("s").expect("a name"),
        at: at.unwrap_or(Timestamp::EPOCH),
        topic: Topic::new(topics::USER_TURN).expect("a name"),
        sender: party("agent"),
        receiver: party("broadcast"),
        payload: Payload::Line {
            id: ArtifactId::from_bytes([0; 32]),
            line: Json::parse(line).expect("a line is JSON"),
        },
        metadata: None,
        replayable: true,
    }
}

#[test]
fn a_line_and_the_entry_that_it_says_are_remembered_alike() {
    let ours = registry::by_format(&FormatId::new("stemmata-v1").expect("a name")).expect("our format");
    for folder in ["claude-code/spotter", "pi/pi-mono", "codex/jdx_hk"] {
        for (name, cwd, mut entries) in sessions(folder) {
            // The log gives every event a time; entries without one have none.
            entries.retain(|entry| entry.timestamp.is_some());
            let bytes = ours.encode(&entries);
            let lines: Vec<&str> = std::str::from_utf8(&bytes).expect("text").lines().collect();
            assert_eq!(lines.len(), entries.len());
            let mut by_line = SessionMemory::new(&SessionId::new("s").expect("a name"), cwd.as_deref());
            let mut by_entry = by_line.clone();
            for ((seq, line), entry) in (1..).zip(&lines).zip(&entries) {
                by_line.event(&event(seq, line, entry.timestamp));
                by_entry.entry(entry, seq);
            }
            assert_eq!(by_line.save(), by_entry.save(), "{folder} {name}");
        }
    }
}

#[test]
fn what_was_edited_is_among_the_files_of_the_memory() {
    for folder in ["claude-code/spotter", "claude-code/entireio_cli", "pi/pi-mono", "codex/jdx_hk"] {
        for (name, _, entries) in sessions(folder) {
            // Only what was answered is known to have been done.
            let uses = tool_uses(&entries);
            let made = uses.iter().flat_map(ToolUse::files).filter(FileAct::is_change);
            let made = made.filter(|file| file.certainty > Certainty::Possible && file.reach == Reach::File);
            let made = made.filter(|file| file.certainty == Certainty::Sure || !file.is_scratch([]));
            let edited: BTreeSet<String> = made.map(|file| file.path_after().to_owned()).collect();
            let memory = folded(&name, Some("/nowhere"), &entries);
            let touched = memory.items().files.iter().filter(|file| !file.is_only_read());
            let touched: BTreeSet<String> = touched.map(|file| file.path.clone()).collect();
            assert!(touched.len() < Bounds::SESSION.files_max, "nothing was let go of");
            let missed: Vec<&String> = edited.difference(&touched).collect();
            // A result that says that the user stopped it is no error to the client.
            assert_eq!(missed, Vec::<&String>::new(), "{folder} {name}");
        }
    }
}

#[test]
fn calls_are_folded_once_their_results_are_there() {
    let calls = |entries: &[Entry]| {
        let parts = entries.iter().flat_map(|entry| &entry.parts);
        parts.filter(|part| matches!(part, Part::ToolCall { .. })).count()
    };
    for (name, cwd, entries) in sessions("pi/pi-mono") {
        assert!(calls(&entries) > 100);
        // Saved and loaded after every entry, the fold says the same.
        let whole = folded(&name, cwd.as_deref(), &entries);
        let mut memory = SessionMemory::new(&SessionId::new(name.as_str()).expect("a name"), cwd.as_deref());
        for (ordinal, entry) in (0..).zip(&entries) {
            if ordinal % 50 == 0 {
                memory = SessionMemory::load(MemoryReducer::VERSION, &memory.save())
                    .expect("what was saved can be loaded");
            }
            memory.entry(entry, ordinal);
        }
        assert_eq!(memory.save(), whole.save());
    }
}
