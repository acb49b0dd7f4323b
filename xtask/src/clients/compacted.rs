//! What is Claude Code's own: a session with parallel calls, branches and a compaction, resumed and forked in every way
//! that matters. Where the client behaves oddly by itself, that is in docs/reference/claude-code-loader.md.

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;
use serde_json::Value;

use super::bench::{Bench, Placed, Talk, holds, lacks, passed};
use super::client::Client;
use super::model::SUMMARY;
use super::talk::{Item, mentions};

/// The session that the client itself makes.
const SESSION: &str = "5e550000-0000-4000-8000-000000000001";

const FIRST: &str = "FIRST PROMPT of the story";
const SECOND: &str = "SECOND PROMPT [[call Bash {\"command\":\"echo one\",\"description\":\"a\"}]] and \
                      [[call Bash {\"command\":\"echo two\",\"description\":\"b\"}]]";
const THIRD: &str = "THIRD PROMPT of the story";
const FOURTH: &str = "FOURTH PROMPT after the compaction";

/// Plays all scenes.
pub(crate) fn play(bench: &Bench) -> anyhow::Result<()> {
    let told = tell(bench)?;
    whole_session(bench, &told)?;
    earlier_turn(bench, &told)?;
    open_call(bench, &told)?;
    compaction(bench, &told)?;
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
    bench.ask(Client::Claude, "work", &["--session-id", SESSION].map(str::to_owned), FIRST)?;
    let resume = ["--resume", SESSION].map(str::to_owned);
    bench.ask(Client::Claude, "work", &resume, SECOND)?;
    let third = bench.ask(Client::Claude, "work", &resume, THIRD)?;
    let file = bench.session_with(Client::Claude, FIRST)?;
    let bytes = fs::read(&file).context("reading the session")?;
    let tip = bench.import(&file)?;
    let out = bench.path("native.jsonl");
    bench.stemma(&["native", &tip, "--out", &out.to_string_lossy()])?;
    anyhow::ensure!(fs::read(&out)? == bytes, "native of the tip is not the file");
    passed("a session of the client is imported, byte for byte");
    Ok(Told { file, bytes, tip, conversation: third.last.all() })
}

/// The tip is resumed, goes on, is captured again as a child, and is resumed once more.
fn whole_session(bench: &Bench, told: &Told) -> anyhow::Result<()> {
    let placed = bench.place(&["resume", &told.tip])?;
    let talk = go_on(bench, &placed, "NEXT PROMPT in the resumed session")?;
    holds("the resumed session", &talk, &told.conversation)?;
    anyhow::ensure!(fs::read(&told.file)? == told.bytes, "the original session was touched");
    passed("the whole session is resumed from a copy, and the original is as it was");

    let child = bench.import(&placed.path)?;
    bench.stands_on(&child, &told.tip)?;
    let again = bench.place(&["resume", &child])?;
    let more = go_on(bench, &again, "ONE MORE PROMPT in the child")?;
    holds("the child, resumed", &more, &talk.last.all())?;
    passed("what the client appended is a child of the tip, and is resumed once more");
    Ok(())
}

/// A fork at the first answer knows the first turn only; one at the second turn's commit knows two.
fn earlier_turn(bench: &Bench, told: &Told) -> anyhow::Result<()> {
    let answer = entry(&told.bytes, |line| line["type"] == "assistant")?;
    let placed = bench.place(&["fork", &told.tip, "--at", &answer])?;
    let talk = go_on(bench, &placed, "OTHER PROMPT after the first turn")?;
    holds("the fork at the first answer", &talk, first_turn(&told.conversation))?;
    lacks("the fork at the first answer", &talk, &["SECOND PROMPT", "THIRD PROMPT"])?;
    passed("a fork at an earlier answer knows what was said up to there, and no more");

    let tip = bench.stemma(&["show", &told.tip])?;
    let parent = tip["commit"]["parent"]
        .as_str()
        .or_else(|| tip["parent"].as_str())
        .context("the tip has no parent")?;
    let placed = bench.place(&["fork", parent])?;
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
    let placed = bench.place(&["fork", &told.tip, "--at", &call])?;
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
    let resume = ["--resume", SESSION].map(str::to_owned);
    bench.ask(Client::Claude, "work", &resume, "/compact")?;
    let fourth = bench.ask(Client::Claude, "work", &resume, FOURTH)?;
    let tip = bench.import(&told.file)?;
    let placed = bench.place(&["resume", &tip])?;
    let talk = go_on(bench, &placed, "PROMPT after the compacted session")?;
    holds("the session after its compaction", &talk, &fourth.last.all())?;
    anyhow::ensure!(mentions(&talk.first.said, SUMMARY), "the summary was not sent");
    lacks("the session after its compaction", &talk, &["FIRST PROMPT", "SECOND PROMPT"])?;
    passed("a compacted session is resumed with its summary and what it keeps, as the client itself does");

    let commits = bench.history(&tip)?;
    let compaction = commits.iter().find(|commit| commit["commit_type"] == "compaction");
    let before =
        compaction.and_then(|commit| commit["parent"].as_str()).context("no compaction in the chain")?;
    let placed = bench.place(&["resume", before])?;
    let talk = go_on(bench, &placed, "PROMPT before the compaction")?;
    holds("the session before its compaction", &talk, &told.conversation)?;
    passed("the session before its compaction is resumed with all that was said");

    let placed = bench.place(&["resume", &tip, "--stop", "root"])?;
    let talk = go_on(bench, &placed, "PROMPT over the compaction")?;
    holds("all real entries", &talk, &told.conversation)?;
    anyhow::ensure!(mentions(&talk.first.said, FOURTH), "what followed the compaction is missing");
    anyhow::ensure!(!mentions(&talk.first.said, SUMMARY), "the summary doubles what it stands for");
    passed("with the stop at the root all real entries are sent, and the summary is not");
    Ok(())
}

/// Has the client go on with a placed session.
fn go_on(bench: &Bench, placed: &Placed, prompt: &str) -> anyhow::Result<Talk> {
    bench.go_on(Client::Claude, placed, prompt)
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
