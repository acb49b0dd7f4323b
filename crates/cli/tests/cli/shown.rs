//! `show`, `tree`, `diff` and `blame` as a person reads them, on the example sessions: at four widths, with and without
//! colour, and off a terminal.

use std::io::Read;
use std::path::Path;
use std::process::Stdio;

use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::Value;

use crate::stage::Stage;
use crate::story::{self, SESSION, Story};
use crate::terminal;

/// The example session with a subagent.
const TEATIME: &str = "961444ca-2288-40cf-9fbb-3ff7b4c317f8";

pub(crate) fn examples() -> Stage {
    let stage = Stage::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/claude-code/projects");
    stage.run(&["import", folder.to_str().unwrap()]).ok();
    stage
}

pub(crate) fn retry() -> Stage {
    let stage = Stage::new();
    let path = format!("home/.claude/projects/-home-ann-shop/{SESSION}.jsonl");
    let path = stage.home.write(&path, story::retry("/home/ann/shop").text().as_bytes());
    stage.import(&path);
    stage
}

/// Returns what a command prints on a terminal of so many columns.
fn printed(stage: &Stage, args: &[&str], columns: u16, color: &str) -> String {
    let (mut device, own) = terminal::open();
    tcsetwinsize(&own, Winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    let mut command = stage.command(&[&["--color", color], args].concat());
    command.env_remove("COLUMNS").env("TERM", "xterm").env("STEMMATA_PAGER", "never");
    command.stdin(Stdio::null()).stderr(Stdio::null()).stdout(Stdio::from(own));
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut bytes = Vec::new();
    // The end of a terminal that nobody has open any more reads as an error.
    let _closed = device.read_to_end(&mut bytes);
    child.wait().unwrap();
    let text = String::from_utf8(bytes).unwrap().replace("\r\n", "\n").replace('\u{1b}', "␛");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").canonicalize().unwrap();
    let text = stage.tame(&text).replace(folder.to_str().unwrap(), "[EXAMPLES]");
    // The words of a person in an example are not held to ours.
    let text = text
        .replace("drive. Go on with", "drive. Continue with")
        .replace("must go on working", "must keep working");
    // A size that differs from run to run may be cut.
    regex::Regex::new("captured, [^\n␛]*").unwrap().replace_all(&text, "captured, [SIZE]").into_owned()
}

/// Shows what a command prints at each width; its lines fit.
#[track_caller]
fn at_all_widths(stage: &Stage, name: &str, args: &[&str]) {
    for columns in [60, 80, 120, 200] {
        for line in printed(stage, args, columns, "never").lines() {
            let width = unicode_width::UnicodeWidthStr::width(line);
            // Paragraphs are the terminal's to wrap; lines of ours fit.
            let is_ours = line.starts_with("  ") || line.contains("ctx-");
            assert!(!is_ours || width <= usize::from(columns).max(72), "{columns}: {line}");
        }
    }
    drawn_at_all_widths(stage, name, args);
}

/// Shows what a command prints at each width, also where a terminal wraps its lines.
#[track_caller]
pub(crate) fn drawn_at_all_widths(stage: &Stage, name: &str, args: &[&str]) {
    for color in ["never", "always"] {
        let widths = [60, 80, 120, 200]
            .map(|columns| format!("—— {columns} columns\n{}", printed(stage, args, columns, color)));
        insta::assert_snapshot!(format!("{name}_{color}"), widths.concat());
    }
}

#[test]
fn turns_and_sessions_at_all_widths() {
    let stage = examples();
    at_all_widths(&stage, "shown_session", &["show", TEATIME]);
    at_all_widths(&stage, "shown_turn", &["show", &format!("{TEATIME}:1")]);
    at_all_widths(&stage, "shown_tree", &["tree", TEATIME]);
    let stage = retry();
    at_all_widths(&stage, "shown_compacted", &["show", SESSION]);
    at_all_widths(&stage, "shown_compacted_tree", &["tree", SESSION]);
    drawn_at_all_widths(&stage, "shown_diff", &["diff", SESSION]);
}

#[test]
fn off_a_terminal_nothing_is_cut() {
    let stage = examples();
    for (name, args) in [
        ("full", vec!["show", "961444ca:1", "--full"]),
        ("prompts", vec!["show", TEATIME, "--prompts"]),
        ("lists", vec!["show", TEATIME, "--full"]),
        ("collapsed", vec!["tree", TEATIME, "--collapse"]),
    ] {
        let output = stage.command(&args).env_remove("COLUMNS").output().unwrap();
        let told = stage.tame(&String::from_utf8(output.stdout).unwrap());
        // What ends with `…` before its own end is short as it is stored.
        assert!(!told.lines().any(|line| line.ends_with('…')), "{told}");
        insta::assert_snapshot!(format!("shown_whole_{name}"), told);
    }
}

/// The id of a session means the session, and the ids and numbers that it lists mean its turns.
#[test]
fn numbers_of_prompts_mean_the_same_everywhere() {
    let stage = retry();
    let shown = stage.json(&["show", SESSION]);
    let overview = &shown["overview"];
    assert_eq!(shown["id"], overview["session"]["tip"], "the newest commit, as ever");
    let turns: Vec<&Value> = overview["turns"].as_array().unwrap().iter().collect();
    let numbers: Vec<u64> = turns.iter().filter_map(|turn| turn["number"].as_u64()).collect();
    assert_eq!(numbers, [1, 2, 3], "over the compaction, without its summary");
    let tree = stage.json(&["tree", SESSION]);
    let drawn: Vec<&Value> = tree["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|node| node["turns"].as_array())
        .flatten()
        .collect();
    for turn in turns {
        let (number, prompt) = (&turn["number"], turn["prompt"].as_str().unwrap());
        assert!(drawn.iter().any(|other| other["number"] == *number && other["prompt"] == prompt), "{turn}");
        let of_prompt = stage.json(&["show", &format!("5e55104e:{number}")]);
        assert_eq!(of_prompt["id"], turn["ctx"]);
        let pieces = of_prompt["turn"]["pieces"].as_array().unwrap();
        let said = pieces.iter().find(|piece| piece["kind"] == "prompt").unwrap();
        assert_eq!((&said["text"], &said["entry"]), (&turn["prompt"], &turn["entry"]));
        // Its ordinal is the one that `--entry` takes.
        let at = format!("@{}", turn["ordinal"]);
        let page = stage.json(&["show", SESSION, "--entry", &at, "--around", "0"]);
        assert_eq!(page["entries"][0]["id"], turn["entry"]);
    }
    // Whatever asks for one prompt too many hears how many there are, by the name that was typed.
    for args in [
        &["show", "5e55104e:4"][..],
        &["show", "5e55104e:4", "--meta"],
        &["fork", "5e55104e:4", "--dry-run"],
        &["diff", "5e55104e:4", "5e55104e:1"],
        &["log", "5e55104e:4"],
    ] {
        stage.run(args).code(3).complains(&["`5e55104e` has 3 prompts; there is no prompt 4", "hint:"]);
    }
    stage.run(&["show", "5e55104e:0"]).code(3).complains(&["has 3 prompts; there is no prompt 0"]);
    // A tag or a commit is a turn, also with `--meta`.
    let tip = shown["id"].as_str().unwrap();
    let turn = stage.json(&["show", tip]);
    assert!(turn["turn"].is_object() && turn["overview"].is_null());
    assert!(stage.run(&["show", SESSION, "--meta"]).ok().text().contains("artifact"));
}

#[test]
fn two_sessions_differ_from_where_they_parted() {
    let stage = Stage::new();
    let mut first = Story::new(SESSION, "/home/ann/shop");
    first.user("One").assistant("1").user("Two").tool("cargo test", "test result: FAILED").assistant("2");
    let path = stage.home.write("a.jsonl", first.text().as_bytes());
    let one = stage.import(&path)["tip"].as_str().unwrap().to_owned();
    let mut second = Story::new(SESSION, "/home/ann/shop");
    second
        .user("One")
        .assistant("1")
        .user("Other")
        .writes("/home/ann/shop/src/a.rs", "fn a() {}\n")
        .assistant("o");
    stage.home.write("a.jsonl", second.text().as_bytes());
    let two = stage.import(&path)["tip"].as_str().unwrap().to_owned();
    let found = stage.json(&["diff", &one, &two]);
    assert_eq!(
        (&found["first"]["prompts"], &found["second"]["prompts"]),
        (&["Two"][..].into(), &["Other"][..].into())
    );
    assert_eq!(found["first"]["tests_failed"], 1);
    assert_eq!(found["second"]["files"][0]["path"], "src/a.rs");
    let ancestor = stage.json(&["show", found["ancestor"].as_str().unwrap()]);
    assert_eq!(ancestor["turn"]["pieces"][0]["text"], "One");
    let swapped = stage.json(&["diff", &two, &one]);
    assert_eq!((&swapped["first"], &swapped["second"]), (&found["second"], &found["first"]));
    let same = stage.json(&["diff", &one, &one]);
    assert_eq!((&same["first"]["entries"], &same["ancestor"]), (&0.into(), &one.as_str().into()));
    insta::assert_snapshot!("shown_differ", stage.told(&["diff", &one, &two, "--details"]));
    // The sides go by what was typed.
    stage.run(&["tag", "add", &one, "before"]).ok();
    let told = stage.run(&["diff", "before", SESSION]).ok().text();
    let side = |named: &str, id: &str| format!("\nOnly {named} ({}): ", &id[..12]);
    assert!(told.contains(&side("before", &one)) && told.contains(&side(SESSION, &two)), "{told}");
    let told = stage.run(&["diff", &one[..10], &two]).ok().text();
    assert!(told.contains(&format!("\nOnly {}: ", &one[..12])), "{told}");
}

#[test]
fn a_time_to_come_makes_no_session_long() {
    let stage = Stage::new();
    let line = |number: u32, kind: &str, at: &str| {
        format!(
            "{{\"type\":\"{kind}\",\"uuid\":\"00000000-0000-4000-8000-00000000000{number}\",\"parentUuid\":null,\"sessionId\":\"s\",\
             \"timestamp\":\"{at}\",\"cwd\":\"/p\",\"message\":{{\"role\":\"{kind}\",\"content\":\"words {number}\"}}}}\n"
        )
    };
    let text = line(1, "user", "2026-01-01T00:00:00.000Z")
        + &line(2, "assistant", "2026-01-01T00:01:00.000Z")
        + &line(3, "assistant", "2099-01-01T00:00:00.000Z");
    let path = stage
        .home
        .write("home/.claude/projects/-p/5e1f0000-0000-4000-8000-0000000000a1.jsonl", text.as_bytes());
    stage.import(&path);
    let shown = stage.told(&["show", "5e1f0000"]);
    assert!(shown.contains("a record is of the future") && !shown.contains("2099"), "{shown}");
    let log = stage.told(&["log", "5e1f0000"]);
    assert!(log.contains("(in the future)"), "{log}");
}

/// Ranges of prompts: `show` and `export` take them, what needs one point says so.
#[test]
fn a_range_of_prompts_is_shown_and_exported() {
    let stage = Stage::new();
    let session = stemmata_testkit::claude::ClaudeSession::new(3).turns(4).build();
    let path = stage.home.write("a.jsonl", session.text().as_bytes());
    let id = stage.import(&path)["session_id"].as_str().unwrap().to_owned();
    let text = |args: &[&str]| String::from_utf8(stage.run(args).ok().stdout).unwrap();
    let all = text(&["export", &id]);
    let prompts = stage.json(&["show", &id])["overview"]["turns"].as_array().unwrap().len();
    assert!(prompts >= 3, "{prompts}");
    let of = |range: &str| format!("{id}:{range}");
    let shown = text(&["show", &of("2..3")]);
    assert!(
        shown.contains("prompt 2") && shown.contains("prompt 3") && !shown.contains("prompt 1"),
        "{shown}"
    );
    assert_eq!(stage.json(&["show", &of("2..3")])["turns"].as_array().unwrap().len(), 2);
    let part = text(&["export", &of("..1")]);
    assert!(!part.is_empty() && part.len() < all.len());
    assert_eq!(text(&["export", &of("1..")]), all);
    for command in [&["fork", &of("2..3"), "--dry-run"][..], &["handoff", &of("2..3")]] {
        stage.run(command).code(2).complains(&["is a range of prompts", ":2` is the state before prompt 2"]);
    }
    stage.run(&["show", &of("3..2")]).code(2).complains(&["ends before it begins"]);
    stage.run(&["show", &of("2..99")]).code(3).complains(&["99"]);
    let file = stage.home.path().join("page.pdf");
    stage.run(&["export", &id, "-o", file.to_str().unwrap()]).code(2).complains(&["no .pdf", "--format"]);
    assert!(!file.exists());
}
