//! The conversations of `LoCoMo` that may be tuned on: people who chat over months, and questions about it.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Context as _;
use regex::Regex;
use serde_json::Value;
use stemmata_model::{EntryKind, Role, Timestamp};
use stemmata_prompt::search::class;

use super::{Case, Item, Question};

const FILE: &str = "benchmarks/locomo-dev3.json";
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Reads the conversations.
pub(super) fn load(corpus: &Path) -> anyhow::Result<Vec<Case>> {
    let path = corpus.join(FILE);
    let text = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
    let all: Vec<Value> = serde_json::from_slice(&text)?;
    all.iter().map(case).collect()
}

fn case(value: &Value) -> anyhow::Result<Case> {
    let conversation = value.get("conversation").context("a conversation")?;
    let mut items = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for group in 1.. {
        let Some(date) = text(conversation, &format!("session_{group}_date_time")) else { break };
        let at = Some(timestamp(date)?);
        let turns = conversation.get(format!("session_{group}")).and_then(Value::as_array);
        for turn in turns.into_iter().flatten() {
            places.insert(text(turn, "dia_id").context("a turn's id")?, items.len());
            let said = text(turn, "text").unwrap_or_default();
            let seen = text(turn, "blip_caption").map(|caption| format!("\n{caption}")).unwrap_or_default();
            items.push(Item {
                text: format!("{said}{seen}"),
                author: text(turn, "speaker").map(str::to_owned),
                at,
                group,
                class: class(Role::User, &EntryKind::Message).unwrap_or_default(),
                marks: 0,
                has_files: false,
            });
        }
    }
    let evidence = Regex::new(r"D\d+:\d+")?;
    let mut questions = Vec::new();
    for asked in value.get("qa").and_then(Value::as_array).into_iter().flatten() {
        let named = asked.get("evidence").map(Value::to_string).unwrap_or_default().replace(['(', ')'], "");
        let relevant = evidence.find_iter(&named).filter_map(|id| places.get(id.as_str()).copied()).collect();
        let text = text(asked, "question").unwrap_or_default().to_owned();
        questions.push(Question { text, before: items.len(), relevant });
    }
    questions.retain(|question| !question.relevant.is_empty());
    Ok(Case { items, questions })
}

fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field).and_then(Value::as_str)
}

/// Reads `1:56 pm on 8 May, 2023`.
fn timestamp(text: &str) -> anyhow::Result<Timestamp> {
    let words: Vec<&str> = text.split([' ', ':', ',']).filter(|word| !word.is_empty()).collect();
    let [hour, minute, half, "on", day, month, year] = words[..] else {
        anyhow::bail!("`{text}` is no date")
    };
    let month = MONTHS.iter().position(|name| *name == month).context("a month")? + 1;
    let hour = hour.parse::<u32>()? % 12 + if half == "pm" { 12 } else { 0 };
    Ok(Timestamp::parse(&format!("{year}-{month:02}-{day:0>2}T{hour:02}:{minute}:00Z"))?)
}
