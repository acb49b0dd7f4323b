//! The commands that give conversations back: whole, as a context, as a session of the client.

use std::path::Path;

use serde_json::Value;
use stemmata_testkit::claude::ClaudeSession;

use crate::stage::Stage;
use crate::story::{self, SESSION};

fn stage() -> (Stage, String, String) {
    let stage = Stage::new();
    let text = story::retry(stage.home.project().to_str().unwrap()).text();
    let path = stage.home.write(&format!("home/.claude/projects/-p/{SESSION}.jsonl"), text.as_bytes());
    let tip = stage.import(&path)["tip"].as_str().unwrap().to_owned();
    (stage, tip, text)
}

fn mode(path: &Path) -> u32 {
    std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(path).unwrap()) & 0o777
}

#[test]
fn native_at_each_commit_is_a_prefix_and_its_file_is_the_owners() {
    let (stage, tip, text) = stage();
    let history = stage.json(&["history", &tip]);
    let mut lengths = Vec::new();
    for commit in history["commits"].as_array().unwrap() {
        let bytes = stage.native(commit["id"].as_str().unwrap());
        assert!(text.as_bytes().starts_with(&bytes));
        lengths.push(bytes.len());
    }
    assert_eq!(lengths[0], text.len());
    assert!(lengths.windows(2).all(|pair| pair[0] > pair[1]), "{lengths:?}");
    let out = stage.home.path().join("out.jsonl");
    stage.run(&["native", &tip, "--out", out.to_str().unwrap()]).ok();
    assert_eq!(std::fs::read(&out).unwrap(), text.as_bytes());
    assert_eq!(mode(&out), 0o600);
    let missing = stage.home.path().join("no/such/folder/out.jsonl");
    stage.run(&["native", &tip, "--out", missing.to_str().unwrap()]).code(3).complains(&["out.jsonl"]);
}

#[test]
fn a_context_stops_where_it_is_told() {
    let (stage, tip, text) = stage();
    let context = |args: &[&str]| {
        let mut all = vec!["materialize", tip.as_str(), "--out", "-"];
        all.extend(args);
        String::from_utf8(stage.run(&all).ok().stdout).unwrap()
    };
    let nearest = context(&[]);
    assert!(nearest.contains("This session is being continued") && !nearest.contains("Fix the retry loop"));
    let root = context(&["--stop", "root"]);
    assert!(root.contains("Fix the retry loop") && !root.contains("This session is being continued"));
    assert!(text.contains(nearest.lines().last().unwrap()));
    assert_eq!(stage.run(&["materialize", "none", "--out", "-"]).ok().stdout, b"");
    let history = stage.json(&["history", &tip]);
    let root_id = history["commits"].as_array().unwrap().last().unwrap()["id"].as_str().unwrap();
    stage
        .run(&["materialize", root_id, "--stop", &tip, "--out", "-"])
        .code(3)
        .complains(&["not an ancestor", "hint:"]);
    stage.run(&["materialize", &tip, "--format", "abacus-v1", "--out", "-"]).code(1).complains(&[
        "abacus-v1",
        "claude-code-v1",
        "hint:",
    ]);
    let told = stage.run(&["materialize", &tip, "--format", "codex-v1", "--out", "-"]).ok();
    insta::assert_snapshot!("translated", told.stderr);
    let out = stage.home.project().join("codex.jsonl");
    let made = stage.json(&["materialize", &tip, "--format", "codex-v1", "--out", out.to_str().unwrap()]);
    assert_eq!((made["tier"].as_str(), made["losses"]["kept"].as_u64()), (Some("transcoded"), Some(3)));
}

#[test]
fn a_fork_is_placed_beside_and_goes_on_as_a_child() {
    let (stage, tip, _) = stage();
    let placed = stage.json(&["fork", &tip]);
    let path = Path::new(placed["path"].as_str().unwrap());
    assert_eq!(placed["ctx"], tip.as_str());
    assert_eq!(placed["cwd"], stage.home.project().to_str().unwrap());
    assert_eq!(placed["bytes"].as_u64().unwrap(), std::fs::metadata(path).unwrap().len());
    assert_eq!(mode(path), 0o600);
    let command: Vec<&str> =
        placed["resume_command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    assert_eq!(command, ["claude", "--resume", placed["session_id"].as_str().unwrap()]);
    // What the client appends becomes a child.
    let mut text = std::fs::read_to_string(path).unwrap();
    let mut story =
        story::Story::new(placed["session_id"].as_str().unwrap(), placed["cwd"].as_str().unwrap());
    story.user("And now the documentation").assistant("Written.");
    text.push_str(&story.text());
    std::fs::write(path, text).unwrap();
    let session = stage.import(path);
    let child = stage.json(&["show", session["tip"].as_str().unwrap()]);
    assert_eq!(child["parent"], tip.as_str());
    let children = stage.json(&["children", &tip]);
    assert_eq!(children["commits"][0]["id"], child["id"]);
}

#[test]
fn a_fork_before_a_prompt_gives_the_prompt_back() {
    let (stage, tip, _) = stage();
    let entries = stage.json(&["show", &tip, "--entries"])["entries"].clone();
    let prompt = entries.as_array().unwrap().iter().find(|entry| entry["role"] == "user").unwrap();
    let at = prompt["id"].as_str().unwrap();
    let placed = stage.json(&["fork", &tip, "--at", at]);
    assert_eq!(placed["prompt"], "Write it into the changelog");
    let said = stage.run(&["fork", &tip, "--at", &at[..8], "--print"]).ok();
    assert!(said.text().starts_with("claude --resume "), "{}", said.text());
    assert!(said.stderr.contains("Write it into the changelog"), "{}", said.stderr);
    stage.run(&["fork", &tip, "--at", "no-such-entry"]).code(3).complains(&["no-such-entry", "--entries"]);
}

#[test]
fn resume_takes_the_session_of_this_directory_even_one_that_was_never_imported() {
    let stage = Stage::new();
    let cwd = stage.home.project();
    let transcript = story::retry(cwd.to_str().unwrap());
    let folder = stemmata_testkit::home::slug(cwd.to_str().unwrap());
    stage
        .home
        .write(&format!("home/.claude/projects/{folder}/{SESSION}.jsonl"), transcript.text().as_bytes());
    let placed = stage.json(&["resume", "@", "--copy"]);
    let current = stage.json(&["current"]);
    assert_eq!(current["session_id"], SESSION);
    assert_eq!(placed["ctx"], current["id"]);
    // What a mere command printed is newer, and no client loads it.
    stage.run(&["run", "--", "echo", "hi"]).ok();
    let printed = stage.run(&["resume", "--last", "--print"]).ok();
    assert!(printed.text().starts_with("claude --resume "));
    let elsewhere = stage.home.path().join("home");
    let mut command = stage.command(&["resume", SESSION, "--print"]);
    let output = command.current_dir(&elsewhere).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with(&format!("cd {} && claude --resume {SESSION}", cwd.display())), "{text}");
    let mut command = stage.command(&["resume", SESSION, "--print", "--cwd", cwd.to_str().unwrap()]);
    let output = command.current_dir(&elsewhere).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with(&format!("cd {} && claude --resume ", cwd.display())), "{text}");
}

/// Without hooks nothing is known of what was worked in since the last import.
#[test]
fn the_newest_session_is_one_that_was_never_imported() {
    let (stage, _, _) = stage();
    let cwd = stage.home.project();
    let folder = stemmata_testkit::home::slug(cwd.to_str().unwrap());
    // Each later than the one before.
    let place = |id: &str, turns: usize| {
        let mut story = story::Story::new(id, cwd.to_str().unwrap());
        for turn in 0..turns {
            story.user(&format!("Prompt {turn} of {turns}")).assistant("Done.");
        }
        let path = format!("home/.claude/projects/{folder}/{id}.jsonl");
        stage.home.write(&path, story.text().as_bytes());
    };
    let ids = ["a", "b", "c"].map(|last| format!("62687def-0000-4000-8000-00000000000{last}"));
    place(&ids[0], 15);
    let printed = stage.run(&["resume", "@", "--print"]).ok();
    assert!(printed.text().contains(&ids[0]), "{}{}", printed.text(), printed.stderr);
    place(&ids[1], 20);
    // Off a terminal the sessions to choose from are printed.
    let offered = stage.run(&["resume"]).code(2).text();
    assert!(offered.contains("Prompt 0 of 20"), "{offered}");
    place(&ids[2], 25);
    let mut command = stage.command(&["resume", "--last", "--print"]);
    let output = command.current_dir(stage.home.path().join("home")).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(&ids[2]), "{text}{}", String::from_utf8_lossy(&output.stderr));
}

/// A copy that nobody used is the newest session of its directory, and none that anybody means.
#[test]
fn a_copy_that_nobody_used_is_not_the_latest_session() {
    let (stage, tip, _) = stage();
    let placed = stage.json(&["fork", &tip]);
    let copy = placed["session_id"].as_str().unwrap().to_owned();
    let resumed = stage.run(&["resume", "--last", "--print"]).ok();
    assert!(!resumed.text().contains(&copy), "{}{}", resumed.text(), resumed.stderr);
    assert_eq!(stage.json(&["current"])["session_id"], SESSION);
}

#[test]
fn resume_hands_over_to_the_client_or_says_where_it_is_missing() {
    let (stage, tip, _) = stage();
    stage
        .run(&["resume", &tip])
        .code(3)
        .complains(&["`claude` is not on the `PATH`; nothing was written", "`--print`"]);
    let client = stage.home.write("bin/claude", b"#!/bin/sh\necho \"client $* in $(pwd)\"\nexit 7\n");
    std::fs::set_permissions(&client, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let mut command = stage.command(&["resume", &tip]);
    let path = format!("{}:/usr/bin:/bin", client.parent().unwrap().display());
    let output = command.env("PATH", path).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("client --resume ") && text.contains(" in "), "{text}");
    assert_eq!(output.status.code(), Some(7));
}

#[test]
fn a_compaction_of_ours_can_be_seen_and_undone() {
    let (stage, tip, _) = stage();
    let made = stage.feed(&["compact", &tip, "--summary-file", "-", "--json"], b"All is done.").ok().json();
    let id = made["id"].as_str().unwrap();
    assert_eq!(made["parent"], tip.as_str());
    assert!(made["tokens_after"].as_u64() < made["tokens_before"].as_u64());
    assert_eq!(stage.json(&["uncompact", id])["id"], tip.as_str());
    let before = stage.home.path().join("before.jsonl");
    let undone = stage.json(&["uncompact", id, "--out", before.to_str().unwrap()]);
    assert_eq!(undone["context"]["bytes"].as_u64().unwrap(), std::fs::metadata(&before).unwrap().len());
    let lost = stage.json(&["diff", id]);
    assert_eq!(lost["before"], tip.as_str());
    assert!(!lost["lost_entries"].as_array().unwrap().is_empty());
    for bad in ["", "   \n", &"long ".repeat(10_000)] {
        stage.feed(&["compact", &tip, "--summary-file", "-"], bad.as_bytes()).code(5).complains(&["refused"]);
    }
    let root = stage.json(&["history", &tip, "-n", "0"])["commits"].as_array().unwrap().last().unwrap()["id"]
        .clone();
    stage.run(&["uncompact", root.as_str().unwrap()]).code(3).complains(&["compaction", "stemma tree"]);
}

#[test]
fn a_summary_without_a_model_is_printed_and_nothing_is_stored() {
    let (stage, tip, _) = stage();
    let stored = stage.json(&["history", &tip, "-n", "0"]);
    let path = stage.home.path().join("entries.jsonl");
    let out = path.to_str().unwrap();
    stage.json(&["materialize", &tip, "--stop", "root", "--format", "stemmata-v1", "--out", out]);
    let lines = std::fs::read_to_string(&path).unwrap();
    let entries = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let ids: Vec<String> = entries.map(|entry| entry["id"].as_str().unwrap().to_owned()).collect();
    let (recent, last) = (ids.len() / 2, ids.len() - 1);
    let print = ["compact", &tip, "--with", "heuristic", "--print", "--exclude-user", "--ratio", "0.95"];
    let at = [&print[..], &["--recent-from", &ids[recent], "--at", &ids[last]]].concat();
    let made = stage.json(&at);
    assert_eq!(
        (made["entries"].as_u64(), made["recent_entries"].as_u64()),
        (Some(recent as u64), Some((last - recent) as u64))
    );
    assert!(made["token_count"].as_u64() <= made["tokens_max"].as_u64());
    // A summary without room for its heading is none, and that is said.
    let tiny = [&at[..7], &["0.5"], &at[8..]].concat();
    stage.run(&tiny).code(0).complains(&["0.5 of the conversation", "of it is the smallest size"]);
    assert!(made["tokens_max"].as_u64().unwrap() <= made["tokens_before"].as_u64().unwrap());
    assert_eq!(made, stage.json(&at));
    assert_eq!(stored, stage.json(&["history", &tip, "-n", "0"]));
    let turned = [&print[..], &["--recent-from", &ids[last], "--at", &ids[recent]]].concat();
    stage.run(&turned).code(2).complains(&["`--recent-from`"]);
    stage.run(&[&print[..], &["--at", "nobody"]].concat()).code(3).complains(&["nobody"]);
    stage
        .run(&["compact", &tip, "--with", "heuristic", "--print", "--ratio", "0"])
        .code(2)
        .complains(&["--ratio"]);
}

#[test]
fn a_program_checkpoints_what_it_likes() {
    let (stage, tip, _) = stage();
    let content = story::Story::new("s", "/x").user("Hello").assistant("Hi").text();
    let args = [
        "checkpoint",
        "--format",
        "claude-code-v1",
        "--session",
        "review-7",
        "--parent",
        &tip,
        "--template",
        "reviewer",
        "--ticket",
        "T-12",
        "--thread",
        "!room:x",
        "--summary",
        "looked at it",
        "--messages",
        "9",
        "--trigger",
        "tool_call",
        "--created-at",
        "2026-03-09T11:00:00Z",
        "--idempotency-key",
        "k1",
        "--json",
    ];
    let first = stage.feed(&args, content.as_bytes()).ok().json();
    assert_eq!(first["existed"], false);
    assert_eq!(first["notes"][0]["code"], "counts_corrected");
    let again = stage.feed(&args, content.as_bytes()).ok().json();
    assert_eq!((&again["id"], &again["existed"]), (&first["id"], &true.into()));
    let shown = stage.json(&["show", first["id"].as_str().unwrap()]);
    for (field, value) in [
        ("parent", tip.as_str()),
        ("template", "reviewer"),
        ("session_id", "review-7"),
        ("ticket_id", "T-12"),
        ("thread_id", "!room:x"),
        ("checkpoint", "tool_call"),
        ("created_at", "2026-03-09T11:00:00.000000Z"),
        ("principal", "ann@box/claude-code"),
        ("closure", "closed"),
    ] {
        assert_eq!(shown[field], value, "{field}");
    }
    for filter in [["--ticket", "T-12"], ["--thread", "!room:x"], ["--session", "review-7"]] {
        let tips = stage.json(&["tips", filter[0], filter[1]]);
        assert_eq!(tips["commits"][0]["id"], first["id"], "{filter:?}");
    }
    let artifact = shown["artifact"].as_str().unwrap();
    let args = ["checkpoint", "--format", "claude-code-v1", "--session", "other", "--artifact", artifact];
    let stored = stage.run(&args).ok().text();
    assert_eq!(stored.trim().len(), 30);
    let missing = format!("art-{}", "0".repeat(64));
    let args = ["checkpoint", "--format", "x-v1", "--session", "other", "--artifact", missing.as_str()];
    stage.run(&args).code(3).complains(&[&missing]);
    stage.run(&["checkpoint", "--format", "x-v1", "--session", "s", "--parent", "ctx-zzzz"]).code(3);
}

#[test]
fn a_snapshot_gives_the_context_without_what_is_above() {
    let (stage, tip, _) = stage();
    let id = stage.run(&["snapshot", &tip, "--stop", "root"]).ok().text();
    let shown = stage.json(&["show", id.trim()]);
    assert_eq!((&shown["commit_type"], &shown["parent"]), (&"snapshot".into(), &tip.as_str().into()));
    let context =
        |reference: &str| stage.run(&["materialize", reference, "--stop", "root", "--out", "-"]).ok().stdout;
    assert_eq!(context(id.trim()), context(&tip));
}

#[test]
fn a_conversation_is_exported_to_read_and_for_programs() {
    let (stage, tip, _) = stage();
    let page = stage.home.path().join("talk.html");
    stage.run(&["export", &tip, "-o", page.to_str().unwrap()]).ok();
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.starts_with("<!doctype html>") && text.contains(&tip), "{text}");
    assert!(text.contains("Fix the retry loop") && !text.contains("This session is being continued"));
    assert_eq!(mode(&page), 0o600);
    let printed = |args: &[&str]| String::from_utf8(stage.run(args).ok().stdout).unwrap();
    let nearest = printed(&["export", &tip, "--stop", "compaction"]);
    assert!(nearest.starts_with("# ") && nearest.contains("This session is being continued"), "{nearest}");
    for form in ["atif", "acp", "otel-genai"] {
        let json = printed(&["export", &tip, "--format", form]);
        assert!(json.contains("Fix the retry loop"), "{form}");
        let first = if form == "acp" { json.lines().next().unwrap() } else { json.as_str() };
        serde_json::from_str::<serde_json::Value>(first).unwrap_or_else(|error| panic!("{form}: {error}"));
    }
    let told = stage.json(&["export", &tip, "--format", "markdown", "-o", page.to_str().unwrap()]);
    assert_eq!((told["format"].as_str(), told["stop"].as_str()), (Some("markdown"), Some("root")));
    stage.run(&["export", &tip, "--format", "pdf"]).code(2).complains(&["otel-genai"]);
}

#[test]
fn what_is_not_there_is_named_with_its_place_and_a_next_step_that_helps() {
    let stage = Stage::new();
    stage.run(&["resume", "--last"]).code(3).complains(&["no session yet in this store", "`stemma import`"]);
    let transcript = ClaudeSession::new(3).turns(2).build();
    let path = stage.home.write("in/a.jsonl", (transcript.lines.join("\n") + "\n").as_bytes());
    let session = stage.import(&path);
    let tip = session["tip"].as_str().unwrap();
    stage.run(&["handoff"]).code(3).complains(&[
        "no session that worked in or below ",
        "home/project",
        "take the latest of all with `--last`",
    ]);
    stage.run(&["resume"]).code(2).complains(&["`stemma resume @`"]);
    for (args, wanted) in [
        (&["uncompact", tip][..], &["no compaction at or before ctx-", "`stemma tree ctx-"]),
        (
            &["resolve", "--project", "/", "--at", "2001-01-01T00:00:00Z"],
            &["at or before 2001-01-01", "`stemma log`"],
        ),
    ] {
        stage.run(args).code(3).complains(wanted);
    }
    let empty = stage.home.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    stage.run(&["import", empty.to_str().unwrap()]).ok().complains(&["No transcripts found in", "empty"]);
    let page = stage.home.path().join("talk.pdf");
    stage.run(&["export", tip, "-o", page.to_str().unwrap()]).code(2).complains(&["no .pdf", "--format"]);
}

/// Stores two API messages, which have no times, as a commit of session `rev-1` in a thread and for a ticket.
fn untimed(stage: &Stage, said: &str, at: &str, parent: &[&str]) -> String {
    let messages = format!(
        r#"[{{"role":"user","content":"{said}"}},{{"role":"assistant","content":[{{"type":"text","text":"Yes."}}]}}]"#
    );
    let args = ["checkpoint", "--format", "anthropic-messages-v1", "--session", "rev-1", "--created-at", at];
    let args = [&args[..], &["--thread", "th", "--ticket", "T-1", "--json"], parent].concat();
    stage.feed(&args, messages.as_bytes()).ok().json()["id"].as_str().unwrap().to_owned()
}

/// None of them was said in 1970: the commit knows when it was made.
#[test]
fn messages_without_times_are_of_the_time_of_their_commit_and_of_none_where_that_has_none() {
    let stage = Stage::new();
    let config = b"[templates.t]\nclient = \"claude-code\"\nstrategy = \"live\"\n";
    stage.home.write("home/.config/stemmata/config.toml", config);
    let first = untimed(&stage, "Is it reviewed?", "2026-03-09T11:00:00Z", &[]);
    let tip = untimed(&stage, "Is it merged?", "2026-03-10T12:00:00Z", &["--parent", &first]);
    for format in ["claude-code-v1", "codex-v1", "pi-v3", "gemini-v1", "stemmata-v1"] {
        let args = ["materialize", &tip, "--from", "root", "--format", format, "--out", "-"];
        let given = stage.run(&args).ok().text();
        assert!(given.contains("2026-03-09T11:00:00") && given.contains("2026-03-10T12:00:00"), "{given}");
        assert!(!given.contains("1970-01-01"), "{format}: {given}");
    }
    let begin = |session: &str, resumed: &str| {
        let input = format!(
            r#"{{"turn":{{"ledger":"c1","session":"{session}","agent":"a","template":"t"}},
                "context":{{"resume":"{resumed}"}},"said":{{"role":"user","text":"And now?"}}}}"#
        );
        stage.feed(&["turn", "begin", "--template", "t"], input.as_bytes()).ok().json()["prompt"].to_string()
    };
    let prompt = begin("s1", &tip);
    assert!(prompt.contains("[2026-03-09T11:00:00.000Z] user:") && !prompt.contains("1970"), "{prompt}");
    let without = untimed(&stage, "Has it a time?", "1970-01-01T00:00:00Z", &[]);
    let prompt = begin("s2", &without);
    assert!(prompt.contains("Has it a time?") && !prompt.contains("1970"), "{prompt}");
}

/// Found by a check: what no entry said stayed `/` in what was placed, and on another machine the session was one of that directory.
#[test]
fn a_placed_conversion_is_of_the_directory_that_it_is_placed_for() {
    let stage = Stage::new();
    let tip = untimed(&stage, "Is it reviewed?", "2026-03-09T11:00:00Z", &[]);
    let cwd = stage.home.project().to_str().unwrap().to_owned();
    for client in ["claude-code", "codex", "pi"] {
        let placed = stage.json(&["fork", &tip, "--in", client, "--cwd", &cwd, "--print"]);
        let text = std::fs::read_to_string(placed["path"].as_str().unwrap()).unwrap();
        let cwds: Vec<&str> =
            text.split("\"cwd\":").skip(1).map(|rest| rest.split(',').next().unwrap()).collect();
        assert!(!cwds.is_empty() && cwds.iter().all(|own| own.contains(&cwd)), "{client}: {cwds:?}");
    }
}

/// A ticket's commit was found by nothing once anything followed it, and a translation that was placed became the thread's tip.
#[test]
fn the_last_commits_of_a_ticket_and_a_thread_stay_their_tips() {
    let stage = Stage::new();
    let first = untimed(&stage, "Is it reviewed?", "2026-03-09T11:00:00Z", &[]);
    let tip = untimed(&stage, "Is it merged?", "2026-03-10T12:00:00Z", &["--parent", &first]);
    let check = |filter: [&str; 2]| {
        let tips = stage.json(&["tips", filter[0], filter[1]]);
        let tips: Vec<&Value> = tips["commits"].as_array().unwrap().iter().map(|tip| &tip["id"]).collect();
        assert_eq!(tips, [tip.as_str()], "{filter:?}");
    };
    stage.run(&["fork", &tip, "--in", "codex", "--print", "--here"]).ok();
    for filter in [["--thread", "th"], ["--ticket", "T-1"], ["--session", "rev-1"]] {
        check(filter);
    }
    let args = ["checkpoint", "--format", "anthropic-messages-v1", "--session", "rev-2", "--parent", &tip];
    stage.feed(&args, br#"[{"role":"user","content":"Elsewhere"}]"#).ok();
    for filter in [["--thread", "th"], ["--ticket", "T-1"], ["--session", "rev-1"]] {
        check(filter);
    }
}
