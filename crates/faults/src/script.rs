//! The scripted workload: steps that each return when what they did is promised to last.

mod bundles;
mod copies;
pub(crate) mod events;
mod maintain;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::Context as _;
use stemmata_engine::{CaptureOptions, CheckpointRequest, Engine, Update};
use stemmata_model::{CommitId, FormatId, Principal, SessionId, Template, Timestamp};
use stemmata_testkit::claude::ClaudeSession;
use stemmata_testkit::disk::Image;
use stemmata_testkit::rng::Rng;

use crate::ledger::{CHAIN_MAX, Done, Ledger};
use crate::stage::{self, Stage, scratch};

/// What a step works with.
pub struct Act<'a> {
    /// Where.
    pub stage: &'a Stage,
    /// The engine over the main store, opened for this step.
    pub engine: &'a Engine,
    /// What was promised before.
    pub ledger: &'a Ledger,
    /// The day of the script.
    pub day: u32,
}

impl Act<'_> {
    /// Returns the present of the script.
    pub(crate) fn now(&self) -> Timestamp {
        stage::now(self.day)
    }
}

/// One step of the workload. Doing it again completes it.
pub struct Step {
    /// What it does.
    pub name: &'static str,
    /// The day of the script on which it runs.
    pub day: u32,
    /// Does it.
    pub act: fn(&Act<'_>) -> anyhow::Result<Done>,
}

/// The steps of the workload, in order.
pub const STEPS: &[Step] = &[
    Step { name: "open", day: 0, act: |_| Ok(Done::default()) },
    Step { name: "import", day: 0, act: |act| import(act, "first", 9) },
    Step { name: "checkpoint", day: 0, act: |act| checkpoint(act, None, "own1", 700) },
    Step { name: "import again", day: 1, act: |act| import(act, "first", 31) },
    Step { name: "checkpoint on it", day: 1, act: |act| checkpoint(act, Some("own1"), "own2", 900) },
    Step { name: "annotate", day: 1, act: annotate },
    Step { name: "import another", day: 2, act: |act| import(act, "second", 40) },
    Step { name: "compact", day: 2, act: compact },
    Step { name: "pack", day: 2, act: maintain::pack },
    Step { name: "import to the end", day: 3, act: |act| import(act, "first", usize::MAX) },
    Step { name: "checkpoint much", day: 3, act: |act| checkpoint(act, Some("own2"), "own3", 900_000) },
    Step { name: "checkpoint after it", day: 3, act: |act| checkpoint(act, Some("own3"), "own4", 500) },
    Step { name: "import a third", day: 3, act: |act| import(act, "third", 25) },
    Step { name: "import a fourth", day: 3, act: |act| import(act, "fourth", 25) },
    Step { name: "append events", day: 3, act: |act| events::append(act, 0, 30) },
    Step { name: "events and a commit", day: 3, act: |act| events::with_commit(act, 30, 42) },
    Step { name: "pack again", day: 4, act: maintain::pack },
    Step { name: "backup", day: 4, act: copies::backup },
    Step { name: "forget", day: 5, act: |act| maintain::forget(act, "third") },
    Step { name: "import the forgotten", day: 5, act: |act| maintain::import_forgotten(act, "third", 25) },
    Step { name: "forget a commit", day: 5, act: |act| maintain::forget_commit(act, "own4") },
    Step { name: "append after it", day: 5, act: |act| events::append(act, 42, 50) },
    Step { name: "lines that are known", day: 5, act: |act| events::known_lines(act, 50, 53) },
    Step { name: "forget events", day: 5, act: maintain::forget_events },
    Step { name: "bundle out", day: 5, act: bundles::out },
    Step { name: "bundle in", day: 5, act: bundles::into_second },
    Step { name: "work in the second", day: 5, act: bundles::work_in_second },
    Step { name: "bundle back", day: 5, act: bundles::back },
    Step { name: "bundle home", day: 5, act: bundles::home },
    Step { name: "condemn", day: 6, act: |act| maintain::condemn(act, "fourth") },
    Step { name: "delete", day: 40, act: |act| maintain::delete(act, "fourth") },
    Step { name: "backup again", day: 41, act: copies::backup },
    Step { name: "hurt a copy", day: 41, act: copies::hurt },
    Step { name: "repair it", day: 41, act: copies::repair },
    Step { name: "restore", day: 41, act: copies::restore },
    Step { name: "restore over it", day: 41, act: copies::restore },
    Step { name: "an old store", day: 41, act: copies::old_store },
    Step { name: "migrate", day: 41, act: copies::migrate },
    Step { name: "import after it", day: 41, act: |act| import(act, "second", usize::MAX) },
];

/// Does a step with an engine opened for it, as a short-lived process would.
///
/// # Errors
/// What the step fails with.
pub fn run(step: &Step, stage: &Stage, ledger: &Ledger) -> anyhow::Result<Done> {
    let engine = stage.engine(step.day)?;
    (step.act)(&Act { stage, engine: &engine, ledger, day: step.day })
}

/// A run of the workload without faults: what every other run is held to.
pub struct Reference {
    /// What is promised before step k; one more at the end.
    pub ledgers: Vec<Ledger>,
    /// The disk before step k; one more at the end.
    pub images: Vec<Image>,
    /// How long step k took, in microseconds.
    pub micros: Vec<u64>,
}

impl Reference {
    /// Runs the workload without faults.
    ///
    /// # Errors
    /// Where a step fails.
    pub fn run(seed: u64) -> anyhow::Result<Self> {
        let scratch = scratch()?;
        let on = Stage::new(&scratch.path().join("disk"), &scratch.path().join("outside"), seed);
        std::fs::create_dir_all(&on.disk)?;
        std::fs::create_dir_all(&on.outside)?;
        let mut reference = Self {
            ledgers: vec![Ledger::default()],
            images: vec![Image::read(&on.disk)?],
            micros: Vec::new(),
        };
        for step in STEPS {
            let before = reference.ledgers.last().context("the ledger before")?;
            let started = Instant::now();
            let done = run(step, &on, before).with_context(|| format!("step `{}`", step.name))?;
            reference.micros.push(u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX));
            // The image first: looking into the store may write to its log's index.
            reference.images.push(Image::read(&on.disk)?);
            let after = before.after(&done, &on, step.day)?;
            reference.ledgers.push(after);
        }
        Ok(reference)
    }
}

fn import(act: &Act<'_>, name: &'static str, lines_max: usize) -> anyhow::Result<Done> {
    let path = transcript(act, name, lines_max)?;
    let (tip, chain) = captured(act.engine, &path)?;
    Ok(Done { tips: vec![tip], names: vec![(name, chain)], ..Done::default() })
}

/// Captures a transcript; returns its tip and its chain.
pub(crate) fn captured(engine: &Engine, path: &Path) -> anyhow::Result<(CommitId, Vec<CommitId>)> {
    let captured = engine.capture(path, &CaptureOptions::import())?;
    let tip = captured.session.tip.context("a tip")?;
    let chain = engine.store().ancestors(tip, CHAIN_MAX)?.iter().map(|commit| commit.id).collect();
    Ok((tip, chain))
}

/// Has the transcript of a session hold its first lines.
pub(crate) fn transcript(act: &Act<'_>, name: &str, lines_max: usize) -> anyhow::Result<PathBuf> {
    let number = name.bytes().fold(0, |sum, byte| sum * 7 + u64::from(byte));
    let lines = session(name, act.stage.seed ^ number);
    act.stage.transcript(name, lines.get(..lines_max).unwrap_or(&lines))
}

/// Returns where a made-up session works: each in a folder of its own, so that rules can mean one.
pub(crate) fn project(name: &str) -> String {
    format!("/home/ada/{name}")
}

/// Returns the lines of a made-up session; made once for all the checks of a run.
fn session(name: &str, seed: u64) -> Arc<Vec<String>> {
    static MADE: Mutex<BTreeMap<u64, Arc<Vec<String>>>> = Mutex::new(BTreeMap::new());
    let mut sessions = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let make =
        || Arc::new(ClaudeSession::new(seed).cwd(&project(name)).turns(5).compactions(1).build().lines);
    Arc::clone(sessions.entry(seed).or_insert_with(make))
}

/// Returns the chain that a step before has named.
pub(crate) fn chain<'a>(act: &Act<'a>, name: &str) -> anyhow::Result<&'a [CommitId]> {
    act.ledger.names.get(name).map(Vec::as_slice).with_context(|| format!("no step made `{name}`"))
}

fn named(act: &Act<'_>, name: &str) -> anyhow::Result<CommitId> {
    chain(act, name)?.first().copied().with_context(|| format!("`{name}` has no commit"))
}

fn checkpoint(act: &Act<'_>, parent: Option<&str>, name: &'static str, bytes: usize) -> anyhow::Result<Done> {
    let parent = parent.map(|name| named(act, name)).transpose()?;
    let mut rng = Rng::new(act.stage.seed ^ u64::try_from(bytes).unwrap_or(0));
    // Bytes that nothing compresses, in lines that the scrubber takes for text.
    let mut text = String::with_capacity(bytes + 100);
    while text.len() < bytes {
        let line = (0..12).map(|_| rng.id(6)).collect::<Vec<_>>().join(" ");
        text.push_str(&line);
        text.push('\n');
    }
    let request = CheckpointRequest {
        parent,
        summary: Some(format!("checkpoint {name}")),
        created_at: Some(Timestamp::from_micros(1_772_400_000_000_000 + i64::from(name.as_bytes()[3]))),
        ..CheckpointRequest::delta(
            text.into_bytes(),
            FormatId::new("own-v1")?,
            Template::new("own")?,
            SessionId::new("own-session")?,
        )
    };
    let made = act.engine.checkpoint(&request)?;
    Ok(Done { tips: vec![made.id], names: vec![(name, vec![made.id])], ..Done::default() })
}

fn annotate(act: &Act<'_>) -> anyhow::Result<Done> {
    let update = Update {
        summary: Some("what was decided".to_owned()),
        add_tags: vec!["keep".to_owned(), "release".to_owned()],
        remove_tags: Vec::new(),
        notes: vec!["a note".to_owned()],
        pin: Some(true),
    };
    let on = named(act, "own1")?;
    if !act.engine.store().annotations(on)?.pinned {
        act.engine.update(on, update, &Principal::new("ada@m1/own")?)?;
    }
    Ok(Done { tips: vec![on], ..Done::default() })
}

fn compact(act: &Act<'_>) -> anyhow::Result<Done> {
    let on = named(act, "second")?;
    let made = act.engine.compact_given(on, "They looked at the failing test and mended it.")?;
    Ok(Done { tips: vec![made.id], names: vec![("compacted", vec![made.id])], ..Done::default() })
}
