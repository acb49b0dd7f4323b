//! Prompts of recorded coding sessions: what earlier entries name a file which the next turn edits or reads?
//!
//! The label is lexical and small. It guards against damage; it does not rank fine variants.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use regex::Regex;
use serde_json::Value;
use stemmata_model::{Role, Timestamp};
use stemmata_prompt::search::{ClassMask, kinds, marks};

use super::{Case, Item, Question};

/// Shorter sessions have nothing to search.
const ENTRIES_MIN: usize = 60;
/// Prompts that come earlier in their session are not asked.
const EARLY: f64 = 0.3;
/// How user lines begin that no person wrote.
const NOT_TYPED: [&str; 4] = ["<", "Caveat:", "[Request interrupted", "This session is being continued"];

/// An entry of a session before it is an [`Item`].
struct Line {
    item: Item,
    files: Vec<String>,
}

/// Reads the sessions with their prompts.
pub(super) fn load(corpus: &Path) -> anyhow::Result<Vec<Case>> {
    // A path is not found within a longer one.
    let paths = Regex::new(r"(?:^|[^\w/.@-])((?:/?[\w.@-]+/)+[\w.@-]+\.[A-Za-z]\w{0,5})\b")?;
    let mut cases = Vec::new();
    for folder in folders(&corpus.join("claude-code"))? {
        for file in files(&folder)? {
            cases.push(case(read(&file, &mut |value, lines| claude(value, lines))?));
        }
    }
    for file in files(&corpus.join("codex/jdx_hk"))? {
        cases.push(case(read(&file, &mut |value, lines| codex(value, &paths, lines))?));
    }
    cases.retain(|case| !case.questions.is_empty());
    Ok(cases)
}

fn sorted(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<PathBuf>>>()?;
    paths.sort();
    Ok(paths)
}

fn folders(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    Ok(sorted(folder)?.into_iter().filter(|path| path.is_dir()).collect())
}

fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let is_session = |path: &PathBuf| {
        path.extension().is_some_and(|end| end == "jsonl") && !path.to_string_lossy().contains("subagent")
    };
    Ok(sorted(folder)?.into_iter().filter(is_session).collect())
}

fn read(path: &Path, add: &mut dyn FnMut(&Value, &mut Vec<Line>)) -> anyhow::Result<Vec<Line>> {
    let bytes = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    let mut lines = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Ok(value) = serde_json::from_slice(line) {
            add(&value, &mut lines);
        }
    }
    Ok(lines)
}

/// Makes questions of a session's prompts.
fn case(lines: Vec<Line>) -> Case {
    let is_prompt = |at: &usize| lines.get(*at).is_some_and(|line| line.item.marks & marks::PROMPT != 0);
    let prompts: Vec<usize> = (0..lines.len()).filter(is_prompt).collect();
    let mut questions = Vec::new();
    for (at, prompt) in prompts.iter().enumerate() {
        let next = prompts.get(at + 1).copied().unwrap_or(lines.len());
        #[expect(clippy::cast_precision_loss, reason = "a session's entries are few")]
        let is_early = (*prompt as f64) < EARLY * lines.len() as f64;
        if is_early || lines.len() < ENTRIES_MIN {
            continue;
        }
        let turn = lines.get(prompt + 1..next).unwrap_or_default();
        let wanted: BTreeSet<String> =
            turn.iter().flat_map(|line| &line.files).filter_map(|path| tail(path)).collect();
        let before = lines.iter().take(*prompt).enumerate();
        let names_one = |line: &Line| wanted.iter().any(|path| line.item.text.contains(path));
        let relevant: BTreeSet<usize> =
            before.filter(|(_, line)| names_one(line)).map(|(at, _)| at).collect();
        if let (false, Some(line)) = (relevant.is_empty(), lines.get(*prompt)) {
            questions.push(Question { text: line.item.text.clone(), before: *prompt, relevant });
        }
    }
    Case { items: lines.into_iter().map(|line| line.item).collect(), questions }
}

/// Returns the last two parts of a path that has two.
fn tail(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let from = parts.len().checked_sub(2)?;
    parts.get(from..).map(|parts| parts.join("/"))
}

/// Adds an entry; a prompt begins a group.
fn add(lines: &mut Vec<Line>, value: &Value, (class, marks): (u8, u8), text: String) {
    let group = lines.last().map_or(0, |line| line.item.group) + u32::from(marks & marks::PROMPT != 0);
    let at = value.get("timestamp").and_then(Value::as_str).and_then(|at| Timestamp::parse(at).ok());
    let item = Item { text, author: None, at, group, class, marks, has_files: false };
    lines.push(Line { item, files: Vec::new() });
}

const PROMPT: (u8, u8) = (ClassMask::of(Role::User, kinds::MESSAGE), marks::PROMPT);
const ANSWER: (u8, u8) = (ClassMask::of(Role::Assistant, kinds::MESSAGE), 0);
const CALL: (u8, u8) = (ClassMask::of(Role::Assistant, kinds::MESSAGE), marks::CALL);
const RESULT: (u8, u8) = (RESULT_CLASS, 0);

/// The class of what a tool answered.
pub(super) const RESULT_CLASS: u8 = ClassMask::of(Role::Tool, kinds::TOOL_RESULT);

/// Adds what a line of Claude Code holds.
fn claude(value: &Value, lines: &mut Vec<Line>) {
    let kind = text(value, "type");
    let is_aside = ["isMeta", "isSidechain", "isCompactSummary"].iter().any(|field| value[*field] == true);
    if !matches!(kind, "user" | "assistant") || is_aside {
        return;
    }
    let content = &value["message"]["content"];
    let whole = content.as_str().map(|text| serde_json::json!([{ "type": "text", "text": text }]));
    for block in whole.as_ref().unwrap_or(content).as_array().into_iter().flatten() {
        let said = text(block, "text").to_owned();
        match text(block, "type") {
            "text" if kind == "assistant" => add(lines, value, ANSWER, said),
            "text" if !NOT_TYPED.iter().any(|start| said.starts_with(start)) => {
                add(lines, value, PROMPT, said);
            }
            "tool_use" => {
                let name = text(block, "name");
                let is_edit = matches!(name, "Edit" | "MultiEdit" | "Write" | "NotebookEdit");
                let marks = CALL.1 | if is_edit { marks::EDIT } else { 0 };
                add(lines, value, (CALL.0, marks), format!("{name} {}", flat(&block["input"])));
                let named = ["file_path", "notebook_path"].map(|field| block["input"][field].as_str());
                named.into_iter().flatten().for_each(|path| add_file(lines, path));
            }
            "tool_result" => {
                let marks = if block["is_error"] == true { marks::ERROR } else { 0 };
                add(lines, value, (RESULT.0, marks), result(&block["content"]));
            }
            _ => {}
        }
    }
}

/// Adds what a line of Codex holds.
fn codex(value: &Value, paths: &Regex, lines: &mut Vec<Line>) {
    let payload = &value["payload"];
    let either = |one: &str, other: &str| {
        let one = &payload[one];
        if one.is_null() { payload[other].clone() } else { one.clone() }
    };
    match (text(value, "type"), text(payload, "type")) {
        ("event_msg", "user_message") => add(lines, value, PROMPT, text(payload, "message").to_owned()),
        ("event_msg", "agent_message") => add(lines, value, ANSWER, text(payload, "message").to_owned()),
        ("event_msg", "patch_apply_end") => {
            let changed = payload["changes"].as_object().into_iter().flat_map(|changes| changes.keys());
            changed.for_each(|path| add_file(lines, path));
        }
        ("response_item", "custom_tool_call" | "function_call") => {
            let input = flat(&either("input", "arguments"));
            let is_edit = input.contains("apply_patch") || input.contains("Update File");
            let has_files = is_edit || input.contains("sed -n") || input.contains("cat ");
            let marks = CALL.1 | if is_edit { marks::EDIT } else { 0 };
            add(lines, value, (CALL.0, marks), format!("{} {input}", text(payload, "name")));
            if has_files {
                let found = paths.captures_iter(&input).filter_map(|found| found.get(1));
                found.for_each(|path| add_file(lines, path.as_str()));
            }
        }
        ("response_item", "custom_tool_call_output" | "function_call_output") => {
            add(lines, value, RESULT, result(&payload["output"]));
        }
        _ => {}
    }
}

fn add_file(lines: &mut [Line], path: &str) {
    if let Some(line) = lines.last_mut() {
        line.files.push(path.to_owned());
        line.item.has_files = true;
    }
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the texts of a tool's result.
fn result(value: &Value) -> String {
    match value {
        Value::Array(blocks) => {
            let texts = blocks.iter().map(|block| if block.is_object() { &block["text"] } else { block });
            texts.map(flat).collect::<Vec<_>>().join("\n")
        }
        other => flat(other),
    }
}

/// Returns every value of a tree, a line each.
fn flat(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(flat).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => fields.values().map(flat).collect::<Vec<_>>().join("\n"),
        other => other.to_string(),
    }
}
