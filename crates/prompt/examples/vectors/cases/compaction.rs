//! Cases of seed 003's implementation about compaction: when, where it splits, what it estimates, what it archives.

use serde_json::{Value, json};
use stemmata_model::{Entry, EntryId, EntryKind, Estimate, ImageSource, Part, Role, Tokens};

use super::CaseVerdict;
use super::context::{list, text};
use stemmata_prompt::tool_output::{archived_results, digest, head_tail, plan_archive};
use stemmata_prompt::window::{
    Borders, CompactSettings, KeepRecent, NothingToCompact, SUMMARY_PREFIX, entry_tokens, result_text, split,
    summary_input, tool_summary_entry,
};

/// Results of a made-up conversation at most.
const RESULTS_MAX: u64 = 10_000;

/// Runs every case of a file of the shape of `ai_compact.json`.
///
/// # Errors
/// As [`super::run`].
pub(crate) fn run_compaction(root: &Value) -> Result<Vec<CaseVerdict>, String> {
    let groups = root.as_object().ok_or("the file is not a JSON object")?;
    let mut verdicts = Vec::new();
    for (group, cases) in groups {
        let one = |found: Value| vec![CaseVerdict::of(group.clone(), cases, &found)];
        verdicts.extend(match group.as_str() {
            "source" => Vec::new(),
            "aliasing_after_call_original_slice_mutated" => one(original_after_plan()?),
            "compactToolResultsInRecent" => indexed(group, cases, recent_case)?,
            "estimateMessageTokens" => named(group, cases, estimate_case)?,
            "projectMessagesForSummary" => indexed(group, cases, project_case)?,
            "serializeConversation" => one(json!(summary_input(&conversation()?, &[], None, &Estimate).text)),
            "shouldCompact" => named(group, cases, due_case)?,
            "splitMessagesByTokenBudget" => indexed(group, cases, split_case)?,
            "summaryPrefix" => one(json!(format!("{SUMMARY_PREFIX}\n\n%s"))),
            "trimTextWithTail" => indexed(group, cases, trim_case)?,
            _ => one(json!("a group of cases that is not known")),
        });
    }
    Ok(verdicts)
}

/// What a case expects, and what the product answers.
type Answer = fn(&Value) -> Result<(Value, Value), String>;

/// Runs the cases of a group, each named by its place.
pub(super) fn indexed(group: &str, cases: &Value, answer: Answer) -> Result<Vec<CaseVerdict>, String> {
    let cases = list(cases)?.iter().enumerate();
    cases.map(|(index, case)| verdict(format!("{group}/{index}"), case, answer)).collect()
}

/// Runs the cases of a group, each named by its field `name`.
pub(super) fn named(group: &str, cases: &Value, answer: Answer) -> Result<Vec<CaseVerdict>, String> {
    list(cases)?
        .iter()
        .map(|case| verdict(format!("{group}/{}", text(case, "name")?), case, answer))
        .collect()
}

fn verdict(name: String, case: &Value, answer: Answer) -> Result<CaseVerdict, String> {
    let (expected, found) = answer(case).map_err(|error| format!("{name}: {error}"))?;
    Ok(CaseVerdict::of(name, &expected, &found))
}

pub(super) fn said(role: Role, parts: Vec<Part>) -> Result<Entry, String> {
    Ok(Entry::said(EntryId::new("e").map_err(|error| error.to_string())?, role, parts))
}

pub(super) fn of_text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

pub(super) fn call(id: &str, name: &str, arguments: &str) -> Result<Entry, String> {
    let part =
        Part::ToolCall { call_id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() };
    said(Role::Assistant, vec![part])
}

pub(super) fn result(id: &str, is_error: bool, text: &str) -> Result<Entry, String> {
    said(Role::Tool, vec![Part::ToolResult { call_id: id.to_owned(), is_error, parts: vec![of_text(text)] }])
}

/// Shows entries as the file does. The file's conversations have no calls: here each result has one, which is not shown.
pub(super) fn shown(entries: &[Entry], with_calls: bool) -> Value {
    let one = |entry: &Entry| {
        let said = match entry.parts.first() {
            Some(Part::ToolResult { parts, .. }) => stemmata_prompt::tool_output::text_of(parts),
            _ => stemmata_prompt::tool_output::text_of(&entry.parts),
        };
        let role = if entry.role == Role::Tool { "toolResult" } else { entry.role.as_str() };
        let kind = if entry.kind == EntryKind::Message { role } else { entry.kind.as_str() };
        let mut shown = json!({
            "agentVisible": entry.meta.visibility.agent,
            "kind": kind,
            "role": role,
            "text": said,
            "userVisible": entry.meta.visibility.user,
        });
        if with_calls {
            shown["callId"] = json!(entry.answers().next().unwrap_or_default());
        }
        shown
    };
    entries.iter().filter(|entry| entry.calls().next().is_none()).map(one).collect()
}

/// Marks what a plan archives.
pub(super) fn archive(entries: &mut [Entry], places: impl Iterator<Item = usize>) {
    for place in places {
        if let Some(entry) = entries.get_mut(place) {
            entry.meta.visibility.agent = false;
            entry.kind = EntryKind::ToolResultArchived;
        }
    }
}

fn results(count: u64) -> Result<Vec<Entry>, String> {
    if count > RESULTS_MAX {
        return Err(format!("{count} results are too many"));
    }
    let mut entries = vec![said(Role::User, vec![of_text("u")])?];
    for number in 1..=count {
        let id = format!("c{number}");
        entries.push(call(&id, "bash", "{}")?);
        entries.push(result(&id, number % 2 == 0, &format!("line1 of {number}\nline2"))?);
    }
    Ok(entries)
}

fn original_after_plan() -> Result<Value, String> {
    let entries = results(5)?;
    let _plan = plan_archive(&entries, &|_| false, 3);
    Ok(shown(&entries, false))
}

fn recent_case(case: &Value) -> Result<(Value, Value), String> {
    let mut entries = match case.get("nToolResults").and_then(Value::as_u64) {
        Some(count) => results(count)?,
        None => vec![
            call("c1", "", "{}")?,
            result("c1", false, &"é".repeat(250))?,
            call("c2", "r", "{}")?,
            result("c2", true, "")?,
            call("c3", "r", "{}")?,
            result("c3", false, "")?,
        ],
    };
    let plan = plan_archive(&entries, &|_| false, case["cutoff"].as_i64().unwrap_or(0));
    let groups: Vec<_> = plan.batches.iter().flatten().cloned().collect();
    let digest = (!groups.is_empty()).then(|| digest(&archived_results(&entries, &groups)));
    archive(&mut entries, plan.entries());
    if let Some(digest) = digest {
        entries.push(tool_summary_entry(EntryId::new("d").map_err(|error| error.to_string())?, digest));
    }
    Ok((case["out"].clone(), shown(&entries, false)))
}

fn estimate_case(case: &Value) -> Result<(Value, Value), String> {
    let user = |text: &str| said(Role::User, vec![of_text(text)]);
    let entry = match text(case, "name")? {
        "empty" => user("")?,
        "one_char" => user("x")?,
        "four" => user("xxxx")?,
        "five" => user("xxxxx")?,
        "utf8_bytes_not_runes" => user("éééé")?,
        "emoji" => user("😀")?,
        "assistant_mixed" => {
            let thinking = Part::Thinking { text: "12345678".to_owned(), signature: None, encrypted: None };
            let mut entry = call("c", "bash", "{\"command\":\"ls -la\"}")?;
            entry.parts.splice(0..0, [thinking, of_text("1234")]);
            entry
        }
        "toolcall_nil_args" => call("c", "bash", "")?,
        "toolcall_html_escaped_args" => call("c", "w", "{\"t\":\"<a>&é\"}")?,
        "image" => {
            let source = ImageSource::Base64(String::new());
            said(Role::User, vec![of_text("hi"), Part::Image { media_type: "image/png".to_owned(), source }])?
        }
        "invisible" => {
            let mut entry = user(&"x".repeat(40))?;
            entry.meta.visibility.agent = false;
            entry
        }
        _ => return Ok((case["tokens"].clone(), json!("a case that is not known"))),
    };
    Ok((case["tokens"].clone(), json!(entry_tokens(&entry, &Estimate).0)))
}

/// The file has how many characters of a text are left; the text itself is shortened in it.
fn project_case(case: &Value) -> Result<(Value, Value), String> {
    let projected = match (text(case, "role")?, text(case, "text")?) {
        ("user", text) => text.to_owned(),
        (_, "(empty output)") => result_text(false, &[of_text("")]),
        _ => result_text(false, &[of_text(&format!("{}{}", "h".repeat(3_000), "t".repeat(3_000)))]),
    };
    Ok((case["runes"].clone(), json!(projected.chars().count())))
}

fn conversation() -> Result<Vec<Entry>, String> {
    let thinking = Part::Thinking { text: "12345678".to_owned(), signature: None, encrypted: None };
    let mut first = call("c1", "bash", "{\"command\":\"ls -la\"}")?;
    first.parts.splice(0..0, [thinking, of_text("1234")]);
    Ok(vec![
        said(Role::User, vec![of_text("do it")])?,
        first,
        result("c1", false, "ok")?,
        result("stranger", false, "ok2")?,
        call("c2", "bash", "")?,
    ])
}

fn due_case(case: &Value) -> Result<(Value, Value), String> {
    let number =
        |field: &str| case.get(field).and_then(Value::as_u64).ok_or_else(|| format!("no number `{field}`"));
    let count = |field: &str| usize::try_from(number(field)?).map_err(|error| error.to_string());
    let settings = CompactSettings {
        messages_max: count("maxMessages")?,
        tokens_max: Tokens(number("maxTokens")?),
        keep_recent_tokens: Tokens(number("keepRecentTokens")?),
        reserve_tokens: Tokens(number("reserveTokens")?),
        is_automatic: case["autoCompact"].as_bool().unwrap_or(false),
        ..CompactSettings::default()
    };
    // The file's estimate has no system prompt in it.
    let estimate = Tokens(number("estimate")?) + Tokens(number("systemPromptLen")?.div_ceil(4));
    let window = Some(Tokens(number("contextWindow")?)).filter(|window| *window > Tokens(0));
    let limit = settings.limit(window);
    let found = json!({
        "effectiveKeepRecentTokens": limit.keep_recent_tokens.0,
        "effectiveLimit": limit.tokens.map_or(0, |tokens| tokens.0),
        "limitSource": limit.from.as_str(),
        "shouldCompact": settings.due(window, estimate, count("nMessages")?).is_due,
    });
    let fields = ["effectiveKeepRecentTokens", "effectiveLimit", "limitSource", "shouldCompact"];
    let expected = fields.iter().map(|field| ((*field).to_owned(), case[*field].clone())).collect();
    Ok((Value::Object(expected), found))
}

fn split_case(case: &Value) -> Result<(Value, Value), String> {
    let tokens = list(&case["messageTokens"])?;
    let sizes: Vec<Tokens> = tokens.iter().map(|tokens| Tokens(tokens.as_u64().unwrap_or(0))).collect();
    let keep = KeepRecent::Tokens(Tokens(case["budget"].as_u64().unwrap_or(0)));
    let old = match split(&sizes, &Borders::of_messages(sizes.len()), keep, false) {
        Ok(split) => split.recent_from,
        Err(NothingToCompact::AllRecent | NothingToCompact::Empty | NothingToCompact::OneGroup) => 0,
    };
    let expected = json!({"old": case["old"], "recent": case["recent"]});
    Ok((expected, json!({"old": old, "recent": sizes.len() - old})))
}

fn trim_case(case: &Value) -> Result<(Value, Value), String> {
    let chars_max =
        case["maxRunes"].as_u64().and_then(|chars| usize::try_from(chars).ok()).ok_or("no maxRunes")?;
    Ok((case["output"].clone(), json!(head_tail(text(case, "input")?, chars_max))))
}
