//! Assembling the prompt of a turn over ledgers of several lengths.
//! Not the reads below it: those are `ledger`'s.

use stemmata_engine::{Engine, PromptOf, PromptWanted};
use stemmata_model::{Estimate, NewEvent, NewPayload, Party, SessionId, topics};
use stemmata_prompt::profile::Profile;
use stemmata_prompt::strategy::{DocumentFormat, Strategy, parse};
use stemmata_store::Durability;

use super::Bench;
use super::ledger::{STORED, append, events, ledger, message};
use crate::measure::{Contender, alternate, timed};
use crate::report::{Figure, Line, Section, Target};
use crate::{scratch, stores};

/// How often a prompt is made.
const ROUNDS: usize = 200;

/// Events that are filled in at once.
const FILL: usize = 2_000;

/// A prompt, whatever the ledger's length.
const FLAT: Target = Target::AtMost(Figure::Seconds(0.001));

/// The strategy of seed 000, with every kind of anchor.
const STRATEGY: &str = r#"{"sources": [
  {"topic": "ISSUE_OPENED", "priority": "required", "strategy": "latest", "amount": 1},
  {"topic": "PLAN_READY", "priority": "required", "strategy": "latest", "amount": 1},
  {"topic": "STATE_SNAPSHOT", "priority": "required", "strategy": "latest", "amount": 1},
  {"topic": "VALIDATION_RESULT", "priority": "high", "since": "last_task_end", "strategy": "latest", "amount": 5, "compactAmount": 1},
  {"topic": "WORKER_PROGRESS", "priority": "medium", "since": "last_agent_start", "strategy": "latest", "amount": 3, "compactAmount": 1}
], "maxTokens": 100000}"#;

pub(super) fn run(bench: &Bench) -> anyhow::Result<Section> {
    let strategy = parse(STRATEGY, DocumentFormat::Json)?;
    let mut lines = Vec::new();
    for scale in bench.scales() {
        let folder = scratch::folder()?;
        let engine = stores::engine(&folder.path().join("store"))?;
        let count = STORED * usize::try_from(*scale)?;
        fill(&engine, count)?;
        for (case, agent) in [("anchors 1 % before the end", "worker"), ("no anchor yet", "newcomer")] {
            let profile = Profile::new(Party::new(agent)?, "worker");
            lines.push(prompts(*scale, case, &engine, (&profile, &strategy))?);
        }
    }
    Ok(Section {
        name: "assemble",
        title: "the prompt of a turn, with the strategy of seed 000".to_owned(),
        notes: vec![
            "Events of about 300 bytes, 10,000 at size 1. The agent's last task ended 1 % before the end, or it has done nothing \
             yet; every prompt is made from the ledger's end."
                .to_owned(),
        ],
        lines,
    })
}

fn fill(engine: &Engine, count: usize) -> anyhow::Result<()> {
    let anchors_at = count - count / 100;
    for start in (0..count).step_by(FILL) {
        let end = count.min(start + FILL);
        let mut batch = events(&(start..end).map(message).collect::<Vec<_>>())?;
        if (start..end).contains(&anchors_at) {
            for topic in [topics::TASK_ENDED, topics::AGENT_STARTED] {
                batch.push(NewEvent::new(
                    SessionId::new("bench")?,
                    topics::topic(topic),
                    Party::new("worker")?,
                    NewPayload::Plain { text: None, data: None },
                ));
            }
        }
        append(engine.log(), batch, Durability::None)?;
    }
    Ok(())
}

fn prompts(
    scale: u32,
    case: &str,
    engine: &Engine,
    (profile, strategy): (&Profile, &Strategy),
) -> anyhow::Result<Line> {
    let of = PromptOf { ledger: ledger(), session: None, tip: None };
    let ours: Contender<'_> = Box::new(|_| {
        let wanted = PromptWanted::new(profile, strategy, &Estimate);
        let (spent, made) = timed(|| Ok(engine.assemble(&of, &wanted)?))?;
        anyhow::ensure!(made.text.contains("PLAN_READY"), "a prompt without its plan");
        Ok(spent)
    });
    let [ours] = alternate(ROUNDS, [ours])?;
    Ok(Line::ours(scale, format!("{case}, p50"), Figure::time(ours.wall.median())).target(FLAT))
}
