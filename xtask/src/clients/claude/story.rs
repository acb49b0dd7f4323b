//! The story: a session with tools, branches and a compaction, resumed and forked in every way that matters.
//! Not one scene is judged by what the client prints: only by what it sent.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::Value;

use super::super::model::SUMMARY;
use super::super::talk::{Item, mentions, missing};
use super::{Bench, Talk};
use crate::process::say;

/// The session that the client itself makes.
const SESSION: &str = "5e550000-0000-4000-8000-000000000001";

const FIRST: &str = "FIRST PROMPT of the story";
const SECOND: &str = "SECOND PROMPT [[call Bash {\"command\":\"echo one\",\"description\":\"a\"}]] and \
                      [[call Bash {\"command\":\"echo two\",\"description\":\"b\"}]]";
const THIRD: &str = "THIRD PROMPT of the story";
const FOURTH: &str = "FOURTH PROMPT after the compaction";

/// Plays all scenes.
pub(super) fn play(bench: &Bench) -> anyhow::Result<()> {
    let told = tell(bench)?;
    whole_session(bench, &told)?;
    earlier_turn(bench, &told)?;
    open_call(bench, &told)?;
    compaction(bench, &told)?;
    say("all scenes passed");
    Ok(())
}

/// The session that everything starts from.
struct Told {
    file: PathBuf,
    bytes: Vec<u8>,
    tip: String,
    conversation: Vec<Item>,
}

/// The client makes a session of three turns, the second with parallel calls; `stemma` imports it.
fn tell(bench: &Bench) -> anyhow::Result<Told> {
    bench.client("work", &["--session-id", SESSION], FIRST)?;
    let resume = ["--resume", SESSION];
    bench.client("work", &resume, SECOND)?;
    let third = bench.client("work", &resume, THIRD)?;
    let file = find(&bench.path("home"), SESSION)?;
    let bytes = fs::read(&file).context("reading the session")?;
    let tip = import(bench, &file)?;
    let out = bench.path("native.jsonl");
    bench.stemma(&["native", &tip, "--out", &out.to_string_lossy()])?;
    anyhow::ensure!(fs::read(&out)? == bytes, "native of the tip is not the file");
    passed("a session of the client is imported, byte for byte");
    Ok(Told { file, bytes, tip, conversation: third.last.all() })
}

/// The tip is resumed, goes on, is captured again as a child, and is resumed once more.
fn whole_session(bench: &Bench, told: &Told) -> anyhow::Result<()> {
    let placed = place(bench, &["resume", &told.tip])?;
    let talk = go_on(bench, &placed, "NEXT PROMPT in the resumed session")?;
    holds("the resumed session", &talk, &told.conversation)?;
    anyhow::ensure!(fs::read(&told.file)? == told.bytes, "the original session was touched");
    passed("the whole session is resumed from a copy, and the original is as it was");

    let child = import(bench, Path::new(&placed.path))?;
    let history = bench.stemma(&["history", &child])?;
    let commits = history["commits"].as_array().map_or(&[][..], Vec::as_slice);
    let is_child = commits.iter().any(|commit| commit["id"] == *told.tip);
    anyhow::ensure!(is_child, "what the client appended is no child of {}: {history}", told.tip);
    let again = place(bench, &["resume", &child])?;
    let more = go_on(bench, &again, "ONE MORE PROMPT in the child")?;
    holds("the child, resumed", &more, &talk.last.all())?;
    passed("what the client appended is a child of the tip, and is resumed once more");
    Ok(())
}

/// A fork at the first answer knows the first turn only; one at the second turn's commit knows two.
fn earlier_turn(bench: &Bench, told: &Told) -> anyhow::Result<()> {
    let answer = entry(&told.bytes, |line| line["type"] == "assistant")?;
    let placed = place(bench, &["fork", &told.tip, "--at", &answer])?;
    let talk = go_on(bench, &placed, "OTHER PROMPT after the first turn")?;
    holds("the fork at the first answer", &talk, first_turn(&told.conversation))?;
    lacks("the fork at the first answer", &talk, &["SECOND PROMPT", "THIRD PROMPT"])?;
    passed("a fork at an earlier answer knows what was said up to there, and no more");

    let tip = bench.stemma(&["show", &told.tip])?;
    let parent = tip["commit"]["parent"]
        .as_str()
        .or_else(|| tip["parent"].as_str())
        .context("the tip has no parent")?;
    let placed = place(bench, &["fork", parent])?;
    let talk = go_on(bench, &placed, "OTHER PROMPT after the second turn")?;
    let third = told.conversation.iter().position(|item| mentions(std::slice::from_ref(item), THIRD));
    let two_turns = told.conversation.split_at(third.context("the third prompt")?).0;
    holds("the fork at the second turn", &talk, two_turns)?;
    lacks("the fork at the second turn", &talk, &["THIRD PROMPT"])?;
    passed("a fork at a commit knows its turns, parallel calls with both results included");
    Ok(())
}

/// A fork inside a group of calls closes what is open, and the model is told.
fn open_call(bench: &Bench, told: &Told) -> anyhow::Result<()> {
    let call = entry(&told.bytes, |line| line["message"]["content"][0]["type"] == "tool_use")?;
    let placed = place(bench, &["fork", &told.tip, "--at", &call])?;
    let talk = go_on(bench, &placed, "PROMPT after an open call")?;
    let calls = talk.first.said.iter().filter(|item| matches!(item, Item::Call { .. })).count();
    let results = talk.first.said.iter().filter(|item| matches!(item, Item::Result { .. })).count();
    anyhow::ensure!(calls > 0 && calls == results, "{calls} calls and {results} results were sent");
    anyhow::ensure!(
        mentions(&talk.first.said, "Closed by Stemmata"),
        "no result is marked: {:?}",
        talk.first.said
    );
    holds("the fork inside a turn", &talk, first_turn(&told.conversation))?;
    passed("a fork inside a group of calls answers each with a marked result");
    Ok(())
}

/// The client compacts and goes on; before, after and over the compaction all is as it should be.
fn compaction(bench: &Bench, told: &Told) -> anyhow::Result<()> {
    bench.client("work", &["--resume", SESSION], "/compact")?;
    let fourth = bench.client("work", &["--resume", SESSION], FOURTH)?;
    let tip = import(bench, &told.file)?;
    let placed = place(bench, &["resume", &tip])?;
    let talk = go_on(bench, &placed, "PROMPT after the compacted session")?;
    holds("the session after its compaction", &talk, &fourth.last.all())?;
    anyhow::ensure!(mentions(&talk.first.said, SUMMARY), "the summary was not sent");
    lacks("the session after its compaction", &talk, &["FIRST PROMPT", "SECOND PROMPT"])?;
    passed("a compacted session is resumed with its summary and what it keeps, as the client itself does");

    let history = bench.stemma(&["history", &tip])?;
    let commits = history["commits"].as_array().map_or(&[][..], Vec::as_slice);
    let compaction = commits.iter().find(|commit| commit["commit_type"] == "compaction");
    let before =
        compaction.and_then(|commit| commit["parent"].as_str()).context("no compaction in the chain")?;
    let placed = place(bench, &["resume", before])?;
    let talk = go_on(bench, &placed, "PROMPT before the compaction")?;
    holds("the session before its compaction", &talk, &told.conversation)?;
    passed("the session before its compaction is resumed with all that was said");

    let placed = place(bench, &["resume", &tip, "--stop", "root"])?;
    let talk = go_on(bench, &placed, "PROMPT over the compaction")?;
    holds("all real entries", &talk, &told.conversation)?;
    anyhow::ensure!(mentions(&talk.first.said, FOURTH), "what followed the compaction is missing");
    anyhow::ensure!(!mentions(&talk.first.said, SUMMARY), "the summary doubles what it stands for");
    passed("with the stop at the root all real entries are sent, and the summary is not");
    Ok(())
}

/// A placed session.
struct Placed {
    path: String,
    command: Vec<String>,
}

fn place(bench: &Bench, arguments: &[&str]) -> anyhow::Result<Placed> {
    let cwd = bench.path("elsewhere");
    let mut all = arguments.to_vec();
    let cwd = cwd.to_string_lossy();
    all.extend(["--cwd", &cwd]);
    let placed = bench.stemma(&all)?;
    let words = placed["resume_command"].as_array().map_or(&[][..], Vec::as_slice);
    let words = words.iter().filter_map(|word| word.as_str().map(str::to_owned));
    let path = placed["path"].as_str().context("no path was printed")?.to_owned();
    anyhow::ensure!(Path::new(&path).is_file(), "nothing was placed at {path}");
    Ok(Placed { path, command: words.skip(1).collect() })
}

fn go_on(bench: &Bench, placed: &Placed, prompt: &str) -> anyhow::Result<Talk> {
    let talk = bench.client("elsewhere", &placed.command, prompt)?;
    anyhow::ensure!(mentions(&talk.first.said, prompt), "`{prompt}` is not what was sent first");
    Ok(talk)
}

fn import(bench: &Bench, file: &Path) -> anyhow::Result<String> {
    let imported = bench.stemma(&["import", &file.to_string_lossy()])?;
    let tip = imported["sessions"][0]["tip"].as_str();
    Ok(tip.with_context(|| format!("no tip in {imported}"))?.to_owned())
}

/// Judges: the request that reached the model holds the whole earlier conversation.
fn holds(what: &str, talk: &Talk, expected: &[Item]) -> anyhow::Result<()> {
    anyhow::ensure!(!expected.is_empty(), "nothing to expect of {what}");
    match missing(&talk.first.said, expected) {
        None => Ok(()),
        Some(item) => anyhow::bail!("{what} lost {item:?}; sent: {:#?}", talk.first.said),
    }
}

fn lacks(what: &str, talk: &Talk, unwanted: &[&str]) -> anyhow::Result<()> {
    match unwanted.iter().find(|text| mentions(&talk.first.said, text)) {
        None => Ok(()),
        Some(text) => anyhow::bail!("{what} still knows `{text}`"),
    }
}

/// Returns the first prompt and its answer.
fn first_turn(conversation: &[Item]) -> &[Item] {
    let second = conversation.iter().position(|item| mentions(std::slice::from_ref(item), "SECOND PROMPT"));
    conversation.split_at(second.unwrap_or_default()).0
}

/// Returns the id of the first line of a transcript that is wanted.
fn entry(transcript: &[u8], is_wanted: impl Fn(&Value) -> bool) -> anyhow::Result<String> {
    let lines = transcript.split(|&byte| byte == b'\n');
    let mut lines = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let line = lines.find(is_wanted).context("the session has no such line")?;
    Ok(line["uuid"].as_str().context("the line has no id")?.to_owned())
}

/// Finds a session's file in the client's home.
fn find(home: &Path, session: &str) -> anyhow::Result<PathBuf> {
    let projects = home.join(".claude").join("projects");
    let folders = fs::read_dir(&projects).with_context(|| format!("reading {}", projects.display()))?;
    let files = folders.flatten().map(|folder| folder.path().join(format!("{session}.jsonl")));
    let mut files = files.filter(|file| file.is_file());
    files.next().context("the client wrote no session")
}

fn passed(scene: &str) {
    say(&format!("ok: {scene}"));
}
