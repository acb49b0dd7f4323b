//! A program that keeps its agents' contexts in Stemmata: it makes a commit, forks it, materializes it and takes a turn.
//! Not a tour of all verbs: the methods of `Engine` are.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use stemmata_engine::model::{
    CommitId, Entry, EntryId, Estimate, FormatId, LedgerId, Part, Party, Role, SessionId, Template,
};
use stemmata_engine::prompt::profile::Profile;
use stemmata_engine::prompt::strategy::shipped;
use stemmata_engine::{
    BeginTurn, CheckpointRequest, Engine, Home, HomeOptions, MachineFacts, OpenFor, PlaceOptions, Placed,
    PromptWanted, RandomIds, Settings, Stop, SystemClock, TurnMade, TurnOf,
};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Stores what an agent has read and said so far. The commit is durable when this returns.
fn checkpoint(engine: &Engine) -> Result<CommitId> {
    let lines = [
        r#"{"v":"stemmata-v1","id":"1","role":"user","kind":"message","body":"text","parts":[{"type":"text","text":"Why is the build slow?"}]}"#,
        r#"{"v":"stemmata-v1","id":"2","role":"assistant","kind":"message","body":"text","parts":[{"type":"text","text":"SQLite is compiled without a cache."}]}"#,
    ];
    let request = CheckpointRequest {
        summary: Some("The build is slow because of SQLite".to_owned()),
        ..CheckpointRequest::delta(
            format!("{}\n", lines.join("\n")).into_bytes(),
            FormatId::new("stemmata-v1")?,
            Template::new("reviewer")?,
            SessionId::new("slow-build")?,
        )
    };
    Ok(engine.checkpoint(&request)?.id)
}

/// Writes a commit as a new session of Claude Code, which goes on from there. The chain stays as it is.
fn fork(engine: &Engine, ctx: CommitId, folder: &Path) -> Result<Placed> {
    let placed = engine.place(
        ctx,
        &PlaceOptions {
            runtime: Some("claude-code".to_owned()),
            // For a real session: `~/.claude`, and the project's folder.
            config_dir: folder.join("claude"),
            cwd: folder.to_owned(),
            stop: Stop::Compaction,
            at_entry: None,
            client_version: None,
        },
    )?;
    Ok(placed)
}

/// Returns the conversation up to a commit, as the program's own agent should read it.
fn materialize(engine: &Engine, ctx: CommitId) -> Result<String> {
    let mut bytes = Vec::new();
    let format = FormatId::new("stemmata-v1")?;
    let made = engine.materialize(Some(ctx), Some(&format), Stop::Compaction, &mut bytes)?;
    for note in &made.notes {
        eprintln!("note: {}", note.message);
    }
    Ok(String::from_utf8(bytes)?)
}

/// Records a turn of an agent: what the user said before the model runs, what came of it afterwards.
fn turn(engine: &Engine, ledger: &LedgerId) -> Result<Option<CommitId>> {
    let said = |id: &str, role, text: &str| -> Result<Entry> {
        Ok(Entry::said(EntryId::new(id)?, role, vec![Part::Text(text.to_owned())]))
    };
    let (session, agent) = (SessionId::new("nightly")?, Party::new("reviewer")?);
    let turn = TurnOf::new(ledger.clone(), session, agent, Template::new("reviewer")?);
    // The prompt that the program's model gets: who it is, and what a strategy selects of the ledger.
    let strategy = shipped("live").ok_or("the live strategy ships with Stemmata")?;
    let profile = Profile::new(Party::new("reviewer")?, "reviewer");
    let begin = BeginTurn {
        prompt: Some(PromptWanted::new(&profile, &strategy, &Estimate)),
        ..BeginTurn::new(turn.clone(), said("prompt", Role::User, "Is the build faster now?")?)
    };
    let begun = engine.begin_turn(&begin)?;
    println!("prompt       {} characters", begun.prompt.map_or(0, |prompt| prompt.trace.chars));
    // The program's model and tools run here; after each tool's result, `engine.step` stores what came so far.
    let answer = said("answer", Role::Assistant, "Yes: 40 seconds instead of 190.")?;
    let ended = engine.end_turn(&turn, TurnMade { entries: vec![answer], ..TurnMade::default() })?;
    Ok(ended.checkpoint.map(|made| made.id))
}

/// Opens a data directory. A program that shares `stemma`'s passes its directory, configuration and machine.
fn open(folder: &Path) -> Result<Home> {
    let options = HomeOptions {
        settings: Settings::of_texts("[identity]\nuser = \"ada\"\n", &|_| None)?,
        machine: MachineFacts { mark: None, host_name: "workshop".to_owned(), user_id: 0 },
        open_for: OpenFor::Command,
        clock: Arc::new(SystemClock),
        ids: Arc::new(RandomIds),
        temp: None,
    };
    Ok(Home::open(&folder.join("data"), options)?)
}

fn run(folder: &Path) -> Result<()> {
    let home = open(folder)?;
    let engine = home.engine()?;
    let ctx = checkpoint(engine)?;
    println!("checkpoint   {ctx}");
    let placed = fork(engine, ctx, folder)?;
    println!("fork         {} messages, {}", placed.messages, placed.resume_command.join(" "));
    println!("materialize  {} entries", materialize(engine, ctx)?.lines().count());
    let ledger = LedgerId::new("reviews")?;
    engine.create_cluster(&ledger)?;
    let made = turn(engine, &ledger)?.ok_or("the turn made no commit")?;
    println!("turn         {made}");
    Ok(())
}

fn main() -> Result<()> {
    let folder = std::env::temp_dir().join(format!("stemmata-embed-{}", std::process::id()));
    std::fs::create_dir(&folder)?;
    let done = run(&folder);
    std::fs::remove_dir_all(&folder)?;
    done
}
