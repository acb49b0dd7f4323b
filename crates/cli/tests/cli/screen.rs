//! What foreign text does to a terminal: nothing, whatever command or error shows it.
//! A pseudo-terminal stands for the person's; what is replaced by what, `output/screen.rs` tests.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::stage::Stage;
use crate::story::{SESSION, Story};
use crate::terminal;

/// What somebody would write to clear a screen, to name a window, to turn a line around, to hide words in tags, and to
/// pass for a style of ours.
const HOSTILE: &str =
    "Evil\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}txt\u{e0041}\u{2066}\u{200b}\u{1b}[1mbold\u{8}\r!";

/// Bytes that a command may print; more is a command that does not end.
const PRINTED_BYTES_MAX: usize = 4 << 20;

/// How a command is called, in words; `{…}` is filled in. Commands that go on until they are stopped are at the end.
pub(crate) const CALLS: &[&str] = &[
    "import {file}",
    "import {hostile_file} {garbage}",
    "import",
    "list",
    "log",
    "log {tip}",
    "tree {tip}",
    "show {tip}",
    "show {hostile}",
    "show {tip} --entry @1 --around 50",
    "show {tip} --entry {hostile}",
    "search evil",
    "search {hostile}",
    "search {hostile} --pick --json",
    "search --literal {hostile}",
    "search --regex ( --kind {hostile}",
    "search evil --project {hostile} --session {hostile}",
    "search evil --fork --print",
    "history {tip}",
    "children {tip}",
    "sidecars {tip}",
    "sidecars {hostile}",
    "tips",
    "pointer set {hostile} {tip}",
    "pointer set evil {tip}",
    "pointer",
    "pointer list {hostile}",
    "pointer show {hostile}",
    "pointer delete evil",
    "jobs",
    "audit",
    "tips --ticket {hostile}",
    "diff {tip}",
    "resolve --session s1 --at now",
    "resolve --session {hostile} --at {hostile}",
    "native {tip} --out -",
    "materialize {tip} --out -",
    "export {tip}",
    "export {tip} --format html",
    "export {tip} --format {hostile}",
    "handoff {tip}",
    "handoff {tip} --for pr",
    "handoff {tip} --for commit",
    "stats",
    "stats --by project",
    "stats --by model --project {hostile}",
    "stats --by client --client {hostile}",
    "resume {tip} --print",
    "resume {tip} --in {hostile} --print",
    "resume {tip} --in codex --print",
    "resume {tip} --at {hostile} --print",
    "resume {tip} --at e0000001 --print",
    "fork {tip} --at {hostile}",
    "fork {tip} --at {prompt} --print",
    "fork {tip} --print",
    "start --template {hostile} --print",
    "start --template evil --print",
    "blame {cwd}/evil.txt:1",
    "blame {cwd}/{hostile}:1",
    "compact {tip} --summary-file {file}",
    "compact {tip} --summary-file {hostile}",
    "compact {tip} --focus {hostile}",
    "compact {tip} --with llm --dry-run",
    "compact {tip} --range {hostile}..@3",
    "guard {tip} --window 1000",
    "guard {tip} --window 20 --counter {hostile}",
    "guard {hostile}",
    "artifact read {hostile}",
    "artifact read {hostile} --lines {hostile}",
    "uncompact {tip}",
    "uncompact {tip} --out -",
    "checkpoint --format claude-code-v1 --session {hostile} --content {file} --summary {hostile}",
    "checkpoint --format {hostile} --session s1 --content {file}",
    "checkpoint {tip} --out {cwd}/{hostile}",
    "checkpoint --load {hostile}",
    "checkpoint --load {garbage}",
    "snapshot {tip}",
    "current",
    "current {hostile}",
    "update {tip} --summary {hostile}",
    "update {tip} --note {hostile}",
    "tag {tip} {hostile}",
    "tag {tip} evil",
    "tag add {tip} {hostile}",
    "tag remove {tip} evil",
    "tag list",
    "recover {hostile}",
    "recover",
    "setup --dry-run",
    "setup --yes",
    "pin {tip}",
    "unpin {tip}",
    "pin {hostile}",
    "show {tip}",
    "list",
    "decision add {hostile}",
    "decision add other --supersedes {hostile}",
    "decision add {hostile} --thread",
    "decision list",
    "decision close {hostile}",
    "decision",
    "task add {hostile}",
    "task done nothing",
    "task list",
    "task",
    "state",
    "state --at 1",
    "assemble --strategy live --say {hostile}",
    "assemble --strategy {hostile}",
    "assemble --strategy worker --profile {hostile}",
    "assemble --template {hostile}",
    "assemble --strategy worker --agent evil --json",
    "context debug --strategy live --say {hostile}",
    "context debug --strategy live --diff 1",
    "context debug --strategy {garbage}",
    "context debug",
    "context debug --session {hostile}",
    "recall evil",
    "recall evil --everywhere",
    "search evil --project {hostile}",
    "search evil --file {hostile} --client {hostile}",
    "search evil --file {hostile}",
    "list --project {hostile}",
    "recall {hostile} --max-tokens 200",
    "recall evil --ticket {hostile}",
    "turn begin",
    "turn step --ledger {hostile}",
    "turn end",
    "turn window",
    "turn recover",
    "turn rehydrate",
    "turn pin",
    "turn unpin",
    "strategy check {hostile_file}",
    "strategy check {hostile}",
    "strategy show {hostile}",
    "strategy show worker",
    "strategy list",
    "events append {hostile} {hostile} --from {hostile}",
    "events append STATUS {hostile} --from bot --data {hostile}",
    "events append STATUS {hostile} --from bot",
    "events query",
    "events tail",
    "events query --topic {hostile}",
    "events follow --beginning --count 1",
    "events forget {hostile}",
    "ledger list",
    "ledger adopt {hostile}",
    "ledger export --out {cwd}/{hostile}/x.db",
    "ledger import {garbage}",
    "replay",
    "replay --ledger {hostile}",
    "restore",
    "restore {hostile}",
    "restore {hostile} --yes",
    "scan",
    "scan --clients",
    "scrub {tip}",
    "scrub {tip} --dry-run",
    "secrets list",
    "secrets trust {hostile}",
    "secrets trust {cwd}",
    "secrets distrust {hostile}",
    "forget --vault",
    "gc",
    "gc --yes",
    "gc --dry-run",
    "bundle export {tip} --out {cwd}/evil.bundle",
    "bundle show {cwd}/evil.bundle",
    "bundle import {cwd}/evil.bundle",
    "bundle show {garbage}",
    "bundle import {hostile_file}",
    "bundle have",
    "verify",
    "verify --repair --from {hostile}",
    "doctor {session}",
    "doctor {hostile_file}",
    "doctor {garbage}",
    "doctor {hostile}",
    "repair {garbage}",
    "repair {hostile_file}",
    "repair {file} --out -",
    "repair {hostile}",
    "index",
    "index status",
    "index rebuild",
    "du",
    "du --chains",
    "pack",
    "backup {cwd}/backup",
    "backup {hostile_file}",
    "migrate",
    "migrate --rollback --dry-run",
    "migrate --dry-run",
    "install claude-code --dry-run",
    "install {hostile}",
    "install claude-code",
    "status",
    "uninstall claude-code",
    "git install",
    "git install --dry-run",
    "git uninstall",
    "git trailer {hostile}",
    "exclude add {hostile}",
    "exclude list",
    "exclude remove {hostile}",
    "exclude {cwd}/{hostile}",
    "exclude --list",
    "exclude {cwd}/{hostile} --remove",
    "pause",
    "pause {hostile}",
    "unpause",
    "status",
    "config",
    "config explain output.color",
    "config explain window --window 1000",
    "config explain window --model {hostile}",
    "config path",
    "config set {hostile} 1",
    "config set output.color {hostile}",
    "config unset {hostile}",
    "completions bash",
    "completions {hostile}",
    "hook claude-code --input {hostile}",
    "hook {hostile}",
    "status",
    "run -- true",
    "run -- {hostile}",
    "forget {session}",
    "forget {hostile}",
    "forget {tip} --dry-run",
    "forget --copies --dry-run",
    "undo --dry-run",
    "{hostile}",
    "--{hostile}",
];

/// A command whose screen is the wrapped program's own, or that goes on until it is stopped.
const OTHERS: &[&str] = &["watch", "serve"];

/// A stage full of text that means no good.
pub(crate) struct Scene {
    pub(crate) stage: Stage,
    file: String,
    hostile_file: String,
    garbage: String,
    cwd: String,
    tip: String,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let stage = Stage::new();
        let cwd = stage.home.project().to_str().unwrap().to_owned();
        let mut story = Story::new(SESSION, &cwd);
        story
            .user(&format!("Fix {HOSTILE}\nover two lines {HOSTILE}"))
            .assistant(&format!("I decided to use {HOSTILE}."))
            .writes(&format!("{cwd}/evil.txt"), &format!("first {HOSTILE}\n"))
            .tool(&format!("cat {HOSTILE}"), &format!("error: {HOSTILE}"))
            .compacted(&format!("Summary {HOSTILE}"))
            .user(&format!("Next {HOSTILE}"))
            .assistant(&format!("Done {HOSTILE}"));
        let broken = json!({"type": HOSTILE, "message": HOSTILE}).to_string();
        let text = story.text();
        let file = stage.home.write(&format!("in/{SESSION}.jsonl"), text.as_bytes());
        let hostile_file = stage.home.write(
            &format!("in/{HOSTILE}.jsonl"),
            format!(
                "{broken}\n{}{HOSTILE}\n{broken}",
                text.replace(SESSION, &format!("s-{}", "1".repeat(6)))
            )
            .as_bytes(),
        );
        stage.home.write(&format!("in/{SESSION}/tool-results/{HOSTILE}"), HOSTILE.as_bytes());
        let garbage = stage.home.write("in/garbage.jsonl", format!("{HOSTILE}\n{HOSTILE}").as_bytes());
        stage.home.write("home/project/evil.txt", format!("first {HOSTILE}\n").as_bytes());
        let config =
            format!("[templates.evil]\nruntime = \"claude-code\"\ncommand = {}\n", json!("claude \u{202e}x"));
        stage.home.write("home/.config/stemmata/config.toml", config.as_bytes());
        let git = |args: &[&str]| {
            let mut git = Command::new("git");
            git.args(args).current_dir(stage.home.project()).env("HOME", stage.home.path());
            git.stdout(Stdio::null()).stderr(Stdio::null());
            assert!(git.status().unwrap().success());
        };
        git(&["init", "--quiet"]);
        git(&["add", "evil.txt"]);
        let who = ["-c", "user.name=A", "-c", "user.email=a@b"];
        git(&[who.as_slice(), &["commit", "--quiet", "--allow-empty", "-m", &HOSTILE.replace('\r', "")]]
            .concat());
        let tip = stage.import(&file)["tip"].as_str().unwrap().to_owned();
        let text = |path: std::path::PathBuf| path.to_str().unwrap().to_owned();
        Self { file: text(file), hostile_file: text(hostile_file), garbage: text(garbage), cwd, tip, stage }
    }

    pub(crate) fn filled(&self, call: &str) -> Vec<String> {
        let fill = |word: &str| {
            word.replace("{hostile}", HOSTILE)
                .replace("{file}", &self.file)
                .replace("{hostile_file}", &self.hostile_file)
                .replace("{garbage}", &self.garbage)
                .replace("{cwd}", &self.cwd)
                .replace("{tip}", &self.tip)
                .replace("{prompt}", "e0000001-0000-4000-8000-000000000001")
                .replace("{session}", SESSION)
        };
        call.split(' ').map(fill).collect()
    }

    /// Runs a command on a terminal, answers no, and returns what the terminal got.
    fn on_terminal(&self, args: &[String], color: &str) -> String {
        let (mut terminal, mut command) = self.at_terminal(args, color);
        let mut child = command.spawn().unwrap();
        drop(command);
        terminal.write_all(b"no\n").unwrap();
        let got = read(&mut terminal);
        child.wait().unwrap();
        got
    }

    fn at_terminal(&self, args: &[String], color: &str) -> (File, Command) {
        let (terminal, own) = terminal::open();
        let mut command = self.stage.command(args);
        command.env_remove("NO_COLOR").env("STEMMATA_COLOR", color).env("TERM", "xterm");
        command.env("STEMMATA_PAGER", "cat").env("PATH", "/usr/bin:/bin");
        terminal::give(&mut command, &own);
        (terminal, command)
    }
}

/// Reads until nobody writes to the terminal any more.
fn read(terminal: &mut File) -> String {
    let mut got = Vec::new();
    let mut buffer = [0; 4096];
    while got.len() < PRINTED_BYTES_MAX {
        match terminal.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => got.extend_from_slice(&buffer[..length]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // This is how the end of the other side is told.
            Err(_) => break,
        }
    }
    String::from_utf8(got).expect("text")
}

/// Returns what of a screen a terminal would obey, without the styles and the progress that are ours.
fn obeyed(screen: &str) -> String {
    let ours = regex::Regex::new(r"\x1b\[(0|1|2|3[1-6])m|\r\x1b\[2K").unwrap();
    // The terminal itself makes `\r\n` of a line end, and shows what is typed.
    let text = ours.replace_all(screen, "").replace("\r\n", "\n");
    text.chars().filter(|character| is_obeyed(*character)).collect()
}

pub(crate) fn is_obeyed(character: char) -> bool {
    (character.is_control() && character != '\n' && character != '\t')
        || matches!(character, '\u{200b}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
}

#[test]
fn no_command_and_no_error_lets_foreign_text_speak_to_the_terminal() {
    let scene = Scene::new();
    let (mut shown, mut bad) = (0, Vec::new());
    for call in CALLS {
        let args = scene.filled(call);
        for color in ["always", "never"] {
            let screen = scene.on_terminal(&args, color);
            // Progress is drawn over, in colour or not.
            let is_plain = !screen.replace("\r\u{1b}[2K", "").contains('\u{1b}');
            // The last is a style of ours that the transcript wrote itself.
            let is_good = obeyed(&screen).is_empty()
                && (is_plain || color == "always")
                && !screen.contains("\u{1b}[1mbold");
            if !is_good {
                bad.push(format!("`{call}` ({color}): {:?}\n{screen:?}", obeyed(&screen)));
            }
            shown += usize::from(screen.contains("Evil"));
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n\n"));
    assert!(shown > CALLS.len(), "only {shown} screens of {} had foreign text at all", 2 * CALLS.len());
}

#[test]
fn watch_lets_foreign_text_not_speak_to_the_terminal() {
    let scene = Scene::new();
    let folder = scene.stage.home.path().join("in");
    let args = ["watch".to_owned(), folder.to_str().unwrap().to_owned()];
    let (mut terminal, mut command) = scene.at_terminal(&args, "always");
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut got = String::new();
    let mut buffer = [0; 4096];
    while !got.contains("garbage") && !got.contains("Evil") {
        let length = terminal.read(&mut buffer).unwrap();
        got.push_str(&String::from_utf8_lossy(&buffer[..length]));
    }
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM)
        .unwrap();
    got.push_str(&read(&mut terminal));
    child.wait().unwrap();
    assert_eq!(obeyed(&got), "", "{got:?}");
}

#[test]
fn every_command_is_shown_hostile_text() {
    let stage = Stage::new();
    let pages = stage.home.path().join("pages");
    std::fs::create_dir(&pages).unwrap();
    stage.run(&["generate-reference", pages.to_str().unwrap()]).ok();
    let page = std::fs::read_to_string(pages.join("cli.md")).unwrap();
    let called = |name: &str| {
        CALLS.iter().chain(OTHERS).any(|call| format!("{call} ").starts_with(&format!("{name} ")))
    };
    let headings = page.lines().filter_map(|line| line.trim_start_matches('#').strip_prefix(" stemma "));
    let missing: BTreeSet<&str> = headings.filter(|name| !called(name)).collect();
    assert_eq!(missing, BTreeSet::new(), "add calls of these to `CALLS`");
}
