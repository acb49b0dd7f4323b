//! Cases of seed 003's implementation about output of tools: limits, summaries, what an overflow is called.

use serde_json::{Value, json};
use stemmata_model::{Entry, EntryId, Role, artifact_id};

use super::compaction::{archive, call, indexed, named, of_text, result, said, shown};
use super::context::{TEXT_CHARS_MAX, list, text};
use super::{CaseVerdict, Verdict};
use stemmata_prompt::tool_output::{
    OutputLimits, SpillPlace, ToolResultText, archived_results, heuristic_summary, normalize, plan_archive,
    spill_notice, summary_message,
};
use stemmata_prompt::window::{ToolSummaryStrategy, overflow_of, tool_summary_entry};

/// Runs every case of a file of the shape of `ai_tool_output.json`.
///
/// # Errors
/// As [`super::run`].
pub(crate) fn run_outputs(root: &Value) -> Result<Vec<CaseVerdict>, String> {
    let groups = root.as_object().ok_or("the file is not a JSON object")?;
    let mut verdicts = Vec::new();
    for (group, cases) in groups {
        verdicts.extend(match group.as_str() {
            "source" | "convertMessagesToLLM_inputs" => Vec::new(),
            "batch" => vec![CaseVerdict::of(group.clone(), cases, &batch())],
            "contextLengthErrors" => errors(group, cases)?,
            "convertMessagesToLLM" => vec![not_asked(group)],
            "fallbackToolSummary" => indexed(group, cases, summary_case)?,
            "maybeSummarizeToolResults" => indexed(group, cases, archive_case)?,
            "truncateToolContent" => named(group, cases, output_case)?,
            _ => vec![CaseVerdict::of(group.clone(), cases, &json!("a group of cases that is not known"))],
        });
    }
    Ok(verdicts)
}

fn not_asked(group: &str) -> CaseVerdict {
    let reason = "messages are encoded by the format of each provider, which keeps every text of a message; the source keeps \
                  the last";
    let verdict = Verdict::Deviates { reason, difference: "not asked".to_owned() };
    CaseVerdict { name: group.to_owned(), verdict }
}

fn told<'a>(name: &'a str, call_id: &'a str, is_error: bool, text: &'a str) -> ToolResultText<'a> {
    ToolResultText { name, call_id, is_error, text: text.into() }
}

fn batch() -> Value {
    let results = [
        told("bash", "call_1", false, "out\nline"),
        told("read", "call_2", true, "boom\nbad"),
        told("", "", false, ""),
    ];
    let summary = heuristic_summary(&results);
    json!({"fallbackBatch": summary, "message": summary_message(&results, &summary)})
}

fn errors(group: &str, cases: &Value) -> Result<Vec<CaseVerdict>, String> {
    let one = |case: &Value| {
        let error = text(case, "error")?;
        let found = json!(overflow_of(error, None).is_some());
        Ok(CaseVerdict::of(format!("{group}/{error}"), &case["isContextLengthExceeded"], &found))
    };
    list(cases)?.iter().map(one).collect()
}

fn summary_case(case: &Value) -> Result<(Value, Value), String> {
    let is_error = case["isError"].as_bool().unwrap_or(false);
    let result = told(text(case, "tool")?, text(case, "callId")?, is_error, text(case, "inputText")?);
    let summary = heuristic_summary(std::slice::from_ref(&result));
    let message = summary_message(&[result], &summary);
    let entry = tool_summary_entry(EntryId::new("s").map_err(|error| error.to_string())?, message.clone());
    let found = json!({
        "agentVisible": entry.meta.visibility.agent,
        "fallbackSummary": summary,
        "kind": entry.kind.as_str(),
        "role": entry.role.as_str(),
        "summaryMessageText": message,
        "userVisible": entry.meta.visibility.user,
    });
    let fields = found.as_object().into_iter().flatten();
    let expected = fields.map(|(field, _)| (field.clone(), case[field].clone())).collect();
    Ok((Value::Object(expected), found))
}

/// A model that is asked answers what the file says; the rules answer where it fails.
fn archive_case(case: &Value) -> Result<(Value, Value), String> {
    let expected = case["messages"].clone();
    let strategy = match text(case, "strategy")? {
        "llm (call failed)" => ToolSummaryStrategy::Heuristic,
        name => match name.parse::<ToolSummaryStrategy>() {
            Ok(strategy) => strategy,
            Err(error) => return Ok((expected, json!(error.to_string()))),
        },
    };
    let mut entries: Vec<Entry> = vec![said(Role::User, vec![of_text("start")])?];
    for number in 1..=case["nToolResults"].as_u64().unwrap_or(0).min(1_000) {
        let id = format!("c{number}");
        entries.push(call(&id, "bash", "{}")?);
        entries.push(result(&id, number % 3 == 0, &format!("result {number}"))?);
    }
    if strategy != ToolSummaryStrategy::Off {
        let plan = plan_archive(&entries, &|_| false, case["cutoff"].as_i64().unwrap_or(0));
        let summaries = plan.batches.iter().map(|batch| {
            let results = archived_results(&entries, batch);
            let id = EntryId::new("s").map_err(|error| error.to_string())?;
            Ok(tool_summary_entry(id, summary_message(&results, &heuristic_summary(&results))))
        });
        let summaries: Vec<Entry> = summaries.collect::<Result<_, String>>()?;
        archive(&mut entries, plan.entries());
        entries.extend(summaries);
    }
    Ok((expected, shown(&entries, true)))
}

fn output_case(case: &Value) -> Result<(Value, Value), String> {
    let input = input(case)?;
    let limits = limits(&case["limits"])?;
    let normalized = normalize(&input, &limits);
    let text = if normalized.spill.is_some() {
        let artifact = artifact_id(&input).to_string();
        let place = SpillPlace { path: Some("<tmp>/x.txt"), artifact: &artifact, sha256: "" };
        spill_notice(place, &normalized.text, &limits)
    } else {
        normalized.text.to_string()
    };
    let found = json!({
        "output": text,
        "output_bytes": text.len(),
        "unchanged": normalized.cut.is_none() && normalized.spill.is_none(),
    });
    let expected = json!({
        "output": case["output"],
        "output_bytes": case["output_bytes"],
        "unchanged": case["unchanged"],
    });
    Ok((expected, found))
}

/// Long inputs are left out of the file, which describes them.
fn input(case: &Value) -> Result<Vec<u8>, String> {
    let name = text(case, "name")?;
    let of_chars =
        |character: &str, count: usize| Ok(character.repeat(count.min(TEXT_CHARS_MAX)).into_bytes());
    match name {
        "empty" => Ok(Vec::new()),
        "bytes_limit_ascii" => of_chars("x", 3_000),
        "default_60KB_single_line" => of_chars("y", 61_440),
        "default_205000_chars_spills" => of_chars("z", 205_000),
        "default_2500_lines" => {
            let lines: Vec<String> = (1..=2_500).map(|line| format!("line {line}")).collect();
            Ok(lines.join("\n").into_bytes())
        }
        // The file holds it as text, where the byte is replaced already.
        "invalid_utf8_bytes_limit" => Ok(b"ab\xffcdefgh".to_vec()),
        _ => text(case, "input").map(|input| input.as_bytes().to_vec()),
    }
}

fn limits(limits: &Value) -> Result<OutputLimits, String> {
    let number = |field: &str| {
        let number =
            limits.get(field).and_then(Value::as_u64).ok_or_else(|| format!("no limit `{field}`"))?;
        usize::try_from(number).map_err(|error| error.to_string())
    };
    // An empty mode is the default one.
    let keep = text(limits, "TruncateMode")?;
    Ok(OutputLimits {
        lines_max: number("MaxLines")?,
        bytes_max: number("MaxBytes")?,
        chars_max: number("MaxChars")?,
        spill_chars: number("LargeOutputThreshold")?,
        keep: if keep.is_empty() { stemmata_prompt::tool_output::Keep::default() } else { keep.parse()? },
    })
}
