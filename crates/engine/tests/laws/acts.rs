//! What tool calls of real sessions did, as `diff`, `handoff`, the brief and `blame` tell it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Value, json};
use stemmata_acts::{Act, Certainty, FileChange, Outcome, ToolUse, tool_uses};
use stemmata_engine::{BlameQuery, Engine, Stop};
use stemmata_model::{CommitId, CommitType, Entry, EntryId, FormatId, Part, Role};
use stemmata_runtimes::registry;
use stemmata_runtimes::translate::translate;

use crate::support::{Folder, chain, corpus, engine, import};

const CODEX: &str = "codex/jdx_hk/rollout-019f5cfd-b70b-73a1-ad47-32159be95bba.jsonl";
const TRACKER: &str = "claude-code/entireio_cli/6dccd523-72ba-4cb2-b043-2422d5fa2cda.jsonl";
const COMPACTED: &str = "claude-code/entireio_cli/1e0816ef-6f89-4f05-b331-dab09bb14485.jsonl";
const LIST: &str = "claude-code/entireio_cli/847ff7d2-4a55-44d7-a3f5-a3afd89f1ee1.jsonl";

/// Takes the first lines of a session of the corpus in; none without the corpus.
fn first(name: &str, lines: usize) -> Option<(Engine, CommitId)> {
    let bytes = std::fs::read(corpus(name)?.join(name)).expect("a session of the corpus");
    let kept: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').take(lines).collect();
    let (engine, folder) = (engine(), Folder::new());
    let file = name.rsplit('/').next().expect("a name");
    let tip = import(&engine, &folder.write(file, &kept.concat())).session.tip.expect("commits");
    Some((engine, tip))
}

fn compactions(engine: &Engine, tip: CommitId) -> Vec<CommitId> {
    let is_compaction = |commit: &stemmata_model::Commit| commit.core.commit_type == CommitType::Compaction;
    chain(engine, tip).iter().filter(|commit| is_compaction(commit)).map(|commit| commit.id).collect()
}

fn has(files: &[String], end: &str) -> bool {
    files.iter().any(|file| file.ends_with(end))
}

#[test]
fn a_diff_of_a_codex_compaction_names_files_and_commands() {
    let Some((engine, tip)) = first(CODEX, usize::MAX) else { return };
    let diff = engine.diff(tip).expect("a compaction");
    assert_eq!(diff.lost_entries.len(), 581);
    for file in ["/src/step/batching.rs", "/src/test_runner.rs", "/test/structured_argv.bats"] {
        assert!(has(&diff.lost_files, file), "{file} in {:#?}", diff.lost_files);
    }
    assert!(has(&diff.kept_files, "/pkl/Config.pkl"), "{:#?}", diff.kept_files);
    assert!(diff.lost_commands.len() >= 60, "{}", diff.lost_commands.len());
    let all = || diff.lost_files.iter().chain(&diff.kept_files);
    assert!(!all().any(|file| file.ends_with("/src") || file.starts_with("/tmp/")), "{:#?}", diff.lost_files);
}

#[test]
fn a_handoff_lists_the_open_tasks_of_a_tracker() {
    let Some((engine, tip)) = first(TRACKER, 130) else { return };
    let told = engine.handoff(tip, Stop::Compaction, 8_000).expect("a narrative").told.text;
    let tasks =
        told.split("## Open tasks\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap_or_default();
    let tasks: Vec<&str> = tasks.lines().collect();
    assert_eq!(tasks.first(), Some(&"> [x] Add IsWingmanEnabled() to settings package"), "{told}");
    assert_eq!(tasks.get(1), Some(&"> [~] Create wingman command group (enable/disable/status)"));
    assert_eq!(tasks.iter().filter(|task| task.starts_with("> [ ] ")).count(), 7, "{tasks:#?}");
    assert_eq!(tasks.last(), Some(&"> [ ] Run fmt, lint, and tests"));
}

#[test]
fn open_tasks_are_known_after_a_compaction() {
    let Some((engine, tip)) = first(COMPACTED, usize::MAX) else { return };
    let tasks = |ctx: CommitId| {
        let told = engine.handoff(ctx, Stop::Compaction, 8_000).expect("a narrative").told.text;
        let rest = told.split("## Open tasks\n").nth(1)?.to_owned();
        Some(rest.lines().take_while(|line| line.starts_with("> ")).map(str::to_owned).collect::<Vec<_>>())
    };
    let first = *compactions(&engine, tip).first().expect("a compaction");
    let commits = chain(&engine, tip);
    let before = commits.iter().find(|commit| commit.id == first).and_then(|commit| commit.core.parent);
    for ctx in [before.expect("a parent"), first] {
        let tasks = tasks(ctx).expect("open tasks");
        assert!(tasks[0].starts_with("> [~] Add SummariseOptions to config.go"), "{tasks:#?}");
        assert_eq!(tasks.len(), 7, "{tasks:#?}");
    }
    assert_eq!(tasks(tip), None, "all of them are done at the end");
}

#[test]
fn a_brief_knows_the_tasks_of_a_tracker() {
    let Some((engine, tip)) = first(TRACKER, 130) else { return };
    let told = engine.brief(tip).expect("read").expect("something to tell");
    let tasks =
        "Tasks that were open:\n> [in_progress] Create wingman command group (enable/disable/status)\n";
    assert!(told.contains(tasks), "{told}");
    assert_eq!(told.matches("> [pending] ").count(), 7, "{told}");
    let Some((engine, tip)) = first(LIST, 40) else { return };
    let told = engine.brief(tip).expect("read").expect("something to tell");
    assert!(told.contains("Tasks that were open:\n> [in_progress] "), "{told}");
}

#[test]
fn blame_finds_a_patch_within_code() {
    let name = "codex/jdx_hk/rollout-019f690c-8f7b-7631-86d1-935c66dbf4f4.jsonl";
    let Some(root) = corpus(name) else { return };
    let entries = read(&root.join(name));
    let uses = tool_uses(&entries);
    let added = |used: &ToolUse<'_>| {
        let files = used.files();
        let file = files
            .into_iter()
            .find(|file| file.path.ends_with("src/cli/install.rs") && !file.added_lines().is_empty())?;
        Some((file.path.clone(), file.added_lines().join("\n")))
    };
    let (path, text) =
        uses.iter().filter(|used| used.name == "exec").find_map(added).expect("a patch in code");
    let (engine, _) = first(name, usize::MAX).expect("the corpus");
    let cwd = entries.iter().find_map(|entry| entry.meta.cwd.clone());
    let file = std::path::Path::new(cwd.as_deref().unwrap_or("/")).join(&path);
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let project = std::path::Path::new(cwd.as_deref().unwrap_or("/"));
    let query =
        BlameQuery { file: &file, project, lines: &lines, wanted: 0..lines.len(), known: &HashMap::new() };
    let found = engine.blame(&query).expect("an answer");
    assert!(found.iter().any(|origin| origin.tool.as_deref() == Some("exec")), "{found:?}");
}

fn read(path: &std::path::Path) -> Vec<Entry> {
    let bytes = std::fs::read(path).expect("a session of the corpus");
    let head = bytes.get(..64 * 1024).unwrap_or(&bytes);
    registry::detect(head).map(|(adapter, _)| adapter.decode(&bytes).entries).unwrap_or_default()
}

#[test]
fn a_command_that_writes_a_file_is_told_of_every_client() {
    for (folder, has_code) in [
        ("claude-code/generated/cc-2.1.330", true),
        ("claude-code/generated/cc-1.0.60", true),
        ("codex/generated/codex-0.169.0", true),
        ("pi/generated/pi-0.73.1", true),
        ("gemini/generated/gemini-0.61.0", true),
        // The exit code stands where no entry carries it.
        ("opencode/generated/opencode-1.18.33", false),
    ] {
        let Some(root) = corpus(folder) else { return };
        let files = std::fs::read_dir(root.join(folder)).expect("a folder of the corpus");
        let sessions: Vec<Vec<Entry>> = files
            .map(|file| file.expect("a file").path())
            .filter(|path| path.is_file())
            .map(|path| read(&path))
            .collect();
        let uses: Vec<ToolUse<'_>> = sessions.iter().flat_map(|entries| tool_uses(entries)).collect();
        let of = |line: &str| {
            let runs = |used: &&ToolUse<'_>| used.commands().any(|command| command.line.starts_with(line));
            uses.iter().find(runs).unwrap_or_else(|| panic!("{folder}: {line}"))
        };
        let note: Vec<_> =
            of("printf 'alpha").files().into_iter().filter(stemmata_acts::FileAct::is_change).collect();
        assert!(note[0].path.ends_with("note.txt"), "{folder} {note:?}");
        assert_eq!(
            (&note[0].change, note[0].certainty),
            (&FileChange::Write { text: None }, Certainty::Likely)
        );
        let failed = of("cat does-not-exist");
        let is_failed = matches!(&failed.outcome, Outcome::Failed { .. });
        assert_eq!(is_failed, has_code, "{folder}: {:?}", failed.outcome);
        assert!(failed.files().iter().all(|file| file.certainty == Certainty::Possible), "{folder}");
    }
}

#[test]
fn every_call_of_the_corpus_is_understood() {
    let mut unknown: BTreeSet<String> = BTreeSet::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for runtime in ["claude-code", "codex", "gemini", "openhands", "opencode", "pi"] {
        let Some(root) = corpus(runtime) else { return };
        let mut folders = vec![root.join(runtime)];
        while let Some(folder) = folders.pop() {
            for file in std::fs::read_dir(folder).expect("a folder of the corpus") {
                let path = file.expect("an entry of the corpus").path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let entries = read(&path);
                for used in tool_uses(&entries) {
                    for act in &used.acts {
                        let kind = match act {
                            Act::File(file) if file.is_change() => "change",
                            Act::OpenFile(_) => "change",
                            Act::File(_) => "read",
                            Act::Command(_) => "command",
                            Act::Follow { .. } => "follow",
                            Act::Search => "search",
                            Act::Tasks(_) => "tasks",
                            Act::Fetch | Act::Ask | Act::Subagent | Act::Think | Act::Client => "other",
                            Act::Unknown => "unknown",
                        };
                        *counts.entry(format!("{runtime} {kind}")).or_default() += 1;
                        if *act == Act::Unknown {
                            unknown.insert(used.name.to_owned());
                        }
                    }
                }
            }
        }
    }
    // Whoever changes the reading looks at what came of it.
    println!("{counts:#?}");
    // Code may call such a server too.
    assert!(unknown.iter().all(|name| name == "exec" || name.starts_with("mcp__")), "{unknown:?}");
    for (of, least) in
        [("claude-code command", 600), ("codex command", 370), ("codex change", 36), ("pi change", 290)]
    {
        assert!(counts.get(of).is_some_and(|count| *count >= least), "{of}: {counts:#?}");
    }
}

const LINE: &str = "sed -i s/a/b/ src/lib.rs && make";
const PATCH: &str = "*** Begin Patch\n*** Update File: src/main.rs\n@@\n-x\n+y\n*** End Patch";

/// A conversation in which the calls were made and went well.
fn worked(calls: &[(&str, Value)]) -> Vec<Entry> {
    let entry = |number: usize, role: Role, parts: Vec<Part>| {
        Entry::said(EntryId::new(format!("e{number}")).expect("an id"), role, parts)
    };
    let text = |text: &str| vec![Part::Text(text.to_owned())];
    let mut entries = vec![entry(0, Role::User, text("Fire the kiln"))];
    for (number, (name, arguments)) in calls.iter().enumerate() {
        let call_id = format!("call_{number}");
        let (name, arguments) = ((*name).to_owned(), arguments.to_string());
        let call = Part::ToolCall { call_id: call_id.clone(), name, arguments };
        entries.push(entry(2 * number + 1, Role::Assistant, vec![call]));
        let result = Part::ToolResult { call_id, is_error: false, parts: text("fine") };
        entries.push(entry(2 * number + 2, Role::Tool, vec![result]));
    }
    entries.push(entry(100, Role::Assistant, text(&"It is done. ".repeat(50))));
    entries
}

/// The same work in the words of five runtimes.
fn rows() -> [(&'static str, Vec<(&'static str, Value)>); 7] {
    let tasks = |list: &str, text: &str| json!({ list: [{ text: "glaze", "status": "completed" }, { text: "fire", "status": "in_progress" }] });
    let edit = |path: &str, old: &str, new: &str| json!({ path: "src/main.rs", old: "x", new: "y" });
    let code = format!(
        "const p = {}; await tools.apply_patch(p);\nawait tools.exec_command({{cmd: {}}});\n\
         await tools.update_plan({{plan: [{{step: 'glaze', status: 'completed'}}, {{step: 'fire', status: 'in_progress'}}]}})",
        json!(PATCH),
        json!(LINE)
    );
    [
        (
            "claude-code",
            vec![
                ("Bash", json!({ "command": LINE })),
                ("Edit", edit("file_path", "old_string", "new_string")),
                ("TodoWrite", tasks("todos", "content")),
            ],
        ),
        (
            "claude-code",
            vec![
                ("Bash", json!({ "command": LINE })),
                ("Write", json!({ "file_path": "src/main.rs", "content": "y" })),
                ("TaskCreate", json!({ "subject": "fire" })),
                ("TaskUpdate", json!({ "taskId": "1", "status": "in_progress" })),
            ],
        ),
        (
            "codex",
            vec![
                ("exec_command", json!({ "cmd": LINE })),
                ("apply_patch", json!({ "input": PATCH })),
                ("update_plan", tasks("plan", "step")),
            ],
        ),
        ("codex", vec![("exec", json!({ "input": code }))]),
        // It has no tool for tasks.
        ("pi", vec![("bash", json!({ "command": LINE })), ("edit", edit("path", "oldText", "newText"))]),
        (
            "gemini",
            vec![
                ("run_shell_command", json!({ "command": LINE })),
                ("replace", edit("file_path", "old_string", "new_string")),
                ("write_todos", tasks("todos", "description")),
            ],
        ),
        (
            "opencode",
            vec![
                ("bash", json!({ "command": LINE })),
                ("edit", edit("filePath", "oldString", "newString")),
                ("todowrite", tasks("todos", "content")),
            ],
        ),
    ]
}

#[test]
fn the_same_work_is_told_of_five_runtimes() {
    for (runtime, calls) in rows() {
        let adapter = registry::by_runtime(runtime).expect("a runtime that is written");
        let ours = FormatId::new("stemmata-v1").expect("a name");
        let bytes = adapter.encode(&translate(worked(&calls), &ours, &adapter.format()).entries);
        let (engine, folder) = (engine(), Folder::new());
        let name = if runtime == "opencode" { "s.json" } else { "s.jsonl" };
        let tip = import(&engine, &folder.write(name, &bytes)).session.tip.expect("commits");
        let recalled = engine.brief(tip).expect("read").unwrap_or_default();
        assert_eq!(recalled.contains("> [in_progress] fire\n"), runtime != "pi", "{runtime}: {recalled}");
        let compacted = engine.compact_given(tip, "It went well.").expect("compacted").id;
        let diff = engine.diff(compacted).expect("a compaction");
        assert!(has(&diff.lost_files, "src/main.rs"), "{runtime}: {diff:?}");
        assert!(has(&diff.lost_files, "src/lib.rs"), "{runtime}: {diff:?}");
        assert_eq!(diff.lost_commands, [LINE], "{runtime}");
        let told = engine.handoff(compacted, Stop::Compaction, 8_000).expect("a narrative").told.text;
        assert_eq!(told.contains("> [~] fire\n"), runtime != "pi", "{runtime}: {told}");
        let told = engine.handoff(compacted, Stop::Root, 8_000).expect("a narrative").told.text;
        assert!(told.contains("> src/main.rs\n") && told.contains("> src/lib.rs\n"), "{runtime}: {told}");
    }
}
